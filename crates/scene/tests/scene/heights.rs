//! Tests rays against the ground and its rocks, compared with brute force in `f64`.

use crate::common;

use common::{PART, bumpy_ground, look, sun};
use nalgebra::{Point3, Vector3};
use selene_base::random::{RngExt, stream};
use selene_scene::{Beam, BeamReturn, Class, CpuTracer, Material, Scene, Tracer, primitives};
use selene_terrain::{Clipmap, Edit, Level, Node, Rock};

/// `f32` precision: a few parts in 10^6 of the rays' 20 m, times the steepness at which they hit the ground.
const RANGE_TOLERANCE_M: f64 = 2e-4;

/// Vertical rays: rounding of a height of metres and of its interpolation.
const HEIGHT_TOLERANCE_M: f64 = 1e-4;

/// Step of the brute-force march, m: too short to pass through a bump of the test ground unnoticed, except for grazing
/// rays.
const BRUTE_STEP_M: f64 = 0.002;

/// Share of rays that may graze: brute force may step over the tip of a bump.
const GRAZING_SHARE: f64 = 0.005;

fn site() -> Clipmap {
    bumpy_ground(&[(0.05, 130), (0.3, 60), (1.0, 40)], 250)
}

fn trace(scene: &Scene, beams: &[Beam]) -> Vec<BeamReturn> {
    let mut out = Vec::new();
    CpuTracer.beams(scene, beams, &mut out).expect("traced");
    out
}

/// First point below the ground on a fine march, refined by bisection.
fn brute_ground_m(ground: &Clipmap, beam: &Beam, range_max_m: f64) -> f64 {
    let at = |t: f64| Vector3::from(beam.origin_m).cast::<f64>() + Vector3::from(beam.direction).cast::<f64>() * t;
    let above = |t: f64| ground.height_m(at(t).x, at(t).y).map(|h| at(t).z - h);
    let mut t = 0.0;
    while t < range_max_m {
        match above(t + BRUTE_STEP_M) {
            None => return f64::INFINITY,
            Some(h) if h <= 0.0 => {
                let halve = |(low, high): (f64, f64), _| {
                    let mid = 0.5 * (low + high);
                    if above(mid).is_some_and(|h| h > 0.0) { (mid, high) } else { (low, mid) }
                };
                return (0..40).fold((t, t + BRUTE_STEP_M), halve).1;
            }
            Some(_) => t += BRUTE_STEP_M,
        }
    }
    f64::INFINITY
}

/// Nearest hit on any triangle of any rock, in `f64`.
fn brute_rocks_m(ground: &Clipmap, beam: &Beam) -> f64 {
    let mut nearest = f64::INFINITY;
    for rock in ground.rocks().iter().filter(|rock| may_meet(rock, beam)) {
        let shape = &ground.rock_shapes()[rock.shape];
        let corner = |i: u32| {
            let p = Vector3::from(shape.vertices[i as usize]).cast::<f64>() * rock.radius_m;
            (rock.world_from_rock * Point3::from(p)).coords
        };
        let direction = Vector3::from(beam.direction).cast::<f64>();
        for [a, b, c] in shape.triangles.iter().map(|t| t.map(corner)) {
            let from = Vector3::from(beam.origin_m).cast::<f64>() - a;
            let (p, q) = (direction.cross(&(c - a)), from.cross(&(b - a)));
            let determinant = (b - a).dot(&p);
            let [u, v, t] = [from.dot(&p), direction.dot(&q), (c - a).dot(&q)].map(|x| x / determinant);
            if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0 {
                nearest = nearest.min(t);
            }
        }
    }
    nearest
}

/// Whether the beam's line passes within the radius of the shape's farthest vertex.
fn may_meet(rock: &Rock, beam: &Beam) -> bool {
    let to_centre = rock.world_from_rock.translation.vector - Vector3::from(beam.origin_m).cast::<f64>();
    to_centre.cross(&Vector3::from(beam.direction).cast::<f64>()).norm() < 1.5 * rock.radius_m
}

fn random_beams(ground: &Clipmap, count: usize) -> Vec<Beam> {
    let mut random = stream(11, "beams");
    let mut beam = || {
        let [x, y] = [random.random_range(-3.0..3.0), random.random_range(-3.0..3.0)];
        let up = random.random_range(0.2..2.0);
        let azimuth: f64 = random.random_range(0.0..std::f64::consts::TAU);
        let sink: f64 = random.random_range(-0.6..0.1);
        let direction = Vector3::new(azimuth.cos(), azimuth.sin(), sink).normalize().cast::<f32>();
        let z = ground.height_m(x, y).expect("on the site") + up;
        Beam::new([x, y, z], direction.into())
    };
    (0..count).map(|_| beam()).collect()
}

#[test]
fn random_rays_meet_what_brute_force_meets() {
    let ground = site();
    let beams = random_beams(&ground, 1000);
    let returns = trace(&Scene::new(&ground, sun(0.2, 0.0)), &beams);
    let mut differing = 0;
    let mut rocks = 0;
    for (beam, got) in beams.iter().zip(&returns) {
        let (soil, rock) = (brute_ground_m(&ground, beam, 40.0), brute_rocks_m(&ground, beam));
        let expected = soil.min(rock);
        let class = if expected == f64::INFINITY {
            Class::Sky
        } else if rock < soil {
            Class::Rock
        } else {
            Class::Ground
        };
        let same_range = (f64::from(got.range_m) - expected).abs() < RANGE_TOLERANCE_M * (1.0 + expected);
        let same = got.class == class as u16 && (same_range || class == Class::Sky);
        differing += usize::from(!same);
        rocks += usize::from(class == Class::Rock);
    }
    assert!(rocks > 50, "{rocks} rays met rocks");
    assert!(differing as f64 <= GRAZING_SHARE * beams.len() as f64, "{differing} rays differ");
}

#[test]
fn vertical_rays_give_the_height_of_the_ground() {
    let ground = bumpy_ground(&[(0.05, 130), (0.3, 60), (1.0, 40)], 0);
    let mut random = stream(12, "vertical");
    let mut beam = || {
        let [x, y] = [random.random_range(-19.0..19.0), random.random_range(-19.0..19.0)];
        Beam::new([x, y, 30.0], [0.0, 0.0, -1.0])
    };
    let beams: Vec<_> = (0..5000).map(|_| beam()).collect();
    for (beam, got) in beams.iter().zip(trace(&Scene::new(&ground, sun(0.2, 0.0)), &beams)) {
        let [x, y, z] = beam.origin_m;
        let height = ground.height_m(x, y).expect("on the site");
        assert!((z - f64::from(got.range_m) - height).abs() < HEIGHT_TOLERANCE_M, "at {x} {y}");
    }
}

/// A coarse level may lie above a finer one that covers it: the covered part does not exist for rays.
#[test]
fn a_ray_that_starts_on_a_finer_level_does_not_meet_the_coarser_ones_under_it() {
    let level = |half: f64, spacing: f64, z: f64| {
        let posts = (2.0 * half / spacing).round() as usize + 1;
        Level::sample([-half, -half], spacing, posts, move |_, _| z)
    };
    let ground = Clipmap::new(vec![level(5.0, 0.1, 0.0), level(20.0, 0.5, 0.0), level(80.0, 2.0, 1.0)], vec![], vec![]);
    let up = |x: f64, dx: f32| Beam::new([x, 0.3, 0.01], [dx * 0.94, 0.0, 0.342]);
    for got in
        trace(&Scene::new(&ground, sun(0.2, 0.0)), &[up(12.0, -1.0), up(-12.0, 1.0), up(12.0, 1.0), up(2.0, 1.0)])
    {
        assert!(got == BeamReturn::NONE, "{got:?}");
    }
}

#[test]
fn a_ray_along_an_axis_and_a_ray_along_a_grid_line_meet_a_wall() {
    let mut ground = Clipmap::flat(0.1, 10.0);
    let wall = (0..=100).map(|row| Edit::of(Node { column: 80, row }, 1.0));
    ground.apply(&wall.collect::<Vec<_>>());
    let scene = Scene::new(&ground, sun(0.2, 0.0));
    let along = |y: f64| Beam::new([0.0, y, 0.5], [1.0, 0.0, 0.0]);
    for got in trace(&scene, &[along(0.0), along(0.1), along(0.03), along(-4.99)]) {
        assert!((f64::from(got.range_m) - 2.95).abs() < RANGE_TOLERANCE_M, "{}", got.range_m);
        assert!(got.cos_incidence > 0.0);
    }
}

#[test]
fn a_box_casts_a_shadow_of_its_height_over_the_tangent_of_the_sun() {
    let elevation = 10f64.to_radians();
    let mut scene = Scene::new(&Clipmap::flat(0.02, 20.0), sun(elevation, std::f64::consts::PI));
    let gnomon = scene.add_mesh(&primitives::cuboid([0.2, 0.2, 1.0])).expect("a mesh");
    let pose = selene_base::Pose::translation(0.0, 0.0, 0.5);
    scene.add_instance(gnomon, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.3 }).expect("room");
    let above = look([3.0, 0.0, 12.0], [3.0, 0.0, 0.0], 800, 9);
    let view = selene_scene::CameraView { light: selene_scene::LightSampling::POINT, ..above };
    let mut frame = selene_scene::CameraFrame::default();
    CpuTracer.camera(&scene, &view, &mut frame).expect("traced");
    let row = 4 * 800..5 * 800;
    let ground: Vec<_> = row.filter(|&i| frame.class[i] == 1).map(|i| frame.radiance[i][1]).collect();
    let dark = ground.iter().filter(|&&radiance| radiance == 0.0).count();
    let metres_a_pixel = 12.0 / view.fx_px;
    let [length, expected] = [dark as f64 * metres_a_pixel, 1.0 / elevation.tan()];
    assert!((length - expected).abs() < 2.0 * metres_a_pixel, "{length} m, not {expected} m");
}

#[test]
fn beams_that_are_no_beams_meet_nothing_and_end() {
    let scene = Scene::new(&site(), sun(0.2, 0.0));
    let beam = Beam::new;
    let odd = [
        beam([f64::NAN; 3], [1.0, 0.0, 0.0]),
        beam([0.0, 0.0, 50.0], [f32::NAN; 3]),
        beam([0.0, 0.0, 50.0], [0.0; 3]),
        beam([0.0, 0.0, 50.0], [0.0, 0.0, 1.0]),
        beam([1e9, 1e9, 50.0], [1.0, 0.0, 0.0]),
    ];
    for got in trace(&scene, &odd) {
        assert!(got == BeamReturn::NONE, "{got:?}");
    }
}
