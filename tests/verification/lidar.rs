//! Lidars on scenes whose returns have closed forms: a wall, and Fig. 5 of SENSOR, where an HDL-32E at 20 Hz drives at
//! 20 m/s between two rows of cylinders.
//!
//! Consider a cylinder of radius r whose axis is abeam of the sensor, at the distance d, at the middle of its sweep.
//! The beam meets its tangents at ±τ with d sin ωτ ± v τ cos ωτ = r: + where the beam moves along with the drive (on
//! the right of a lidar that turns counter-clockwise), − where it moves against it. In the sensor's frame, each tangent
//! at its own instant, the cylinder is 2 (d cos ωτ ∓ v τ sin ωτ) sin ωτ long. To first order that is its length at rest
//! ∓ v times the time that the beam takes to cross it.

use std::f64::consts::TAU;
use std::path::Path;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_scene::{Class, CpuTracer, InstanceId, Material, Puff, Scene, Sun, primitives};
use selene_sensors::lidar::{IntensityScale, ReturnMode, SceneOverTime, Spin};
use selene_sensors::{Lidar, LidarPoint, LidarSpec, SensorSpec};
use selene_terrain::Clipmap;

const RATE_HZ: f64 = 20.0;
const SPEED_M_S: f64 = 20.0;
const RADIUS_M: f64 = 0.5;
const BESIDE_M: f64 = 3.0;
const SENSOR_M: f64 = 1.5;
/// Rounding of a beam's time within a scan, stored as f32, and of poses in f32, m.
const MOTION_M: f32 = 2e-3;

/// The specification of an HDL-32E without noise.
fn hdl32e() -> LidarSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/sensor/lidar/hdl32e.yaml");
    let spec = match SensorSpec::load(&path).expect("good") {
        SensorSpec::Lidar(spec) => spec,
        other => panic!("{other:?}"),
    };
    LidarSpec { range_sigma_m: 0.0, azimuth_sigma_deg: 0.0, elevation_sigma_deg: 0.0, ..spec }
}

/// The same lidar at 20 Hz, turning with `spin`.
fn turning(spin: Spin) -> Lidar {
    let mut spec = LidarSpec { rate_hz: RATE_HZ, ..hdl32e() };
    spec.scanner.spinning.as_mut().expect("it spins").spin = spin;
    Lidar::new(spec)
}

fn level_ground() -> Scene {
    let sun = Sun { direction_to_sun: Vector3::z(), irradiance_w_m2: 1361.0, angular_radius_rad: 0.00465 };
    Scene::new(&Clipmap::flat(0.5, 100.0), sun)
}

/// Axes of the cylinders of both rows, m: numbers 3 and 10 are abeam when the beam points at them.
fn axes(spin: Spin) -> Vec<[f64; 2]> {
    let quarter_m = SPEED_M_S / RATE_HZ / 4.0;
    let [right_m, left_m] = match spin {
        Spin::CounterClockwise => [quarter_m, 3.0 * quarter_m],
        Spin::Clockwise => [3.0 * quarter_m, quarter_m],
    };
    let row = |first_m: f64, y_m: f64| (-3..=3).map(move |k| [first_m + 2.0 * f64::from(k), y_m]);
    row(right_m, -BESIDE_M).chain(row(left_m, BESIDE_M)).collect()
}

fn cylinder_at([x, y]: [f64; 2], back_m: f64) -> Pose {
    Pose::translation(x - back_m, y, SENSOR_M)
}

/// A scene with the two rows on level ground.
fn rows(spin: Spin) -> (Scene, Vec<InstanceId>) {
    let mut scene = level_ground();
    let mesh = scene.add_mesh(&primitives::cylinder(RADIUS_M, 2.5)).expect("a mesh");
    let grey = Material::Lambert { albedo: 0.5 };
    let add = |(number, axis): (u32, [f64; 2])| {
        scene.add_instance(mesh, &cylinder_at(axis, 0.0), Class::Object.numbered(number), &grey).expect("room")
    };
    let instances = (0x1000_0000..).zip(axes(spin)).map(add).collect();
    (scene, instances)
}

/// A scan whose slices are traced one by one; `place` prepares the scene for each.
fn scan(
    lidar: &Lidar,
    scene: &mut Scene,
    world_from_lidar_at: impl Fn(SimTime) -> Pose + Sync,
    place: impl FnMut(&mut Scene, [SimTime; 2]),
) -> Vec<LidarPoint> {
    let scan = lidar.scan(SimTime::ZERO);
    let pose_at = |time| Some(world_from_lidar_at(time));
    let traced = scan.trace(&mut CpuTracer, &mut Placed { scene, place }, lidar.receiver(), pose_at, [1, 0]);
    traced.expect("traced").expect("known")
}

/// A scene that `place` prepares for each slice.
struct Placed<'a, P> {
    scene: &'a mut Scene,
    place: P,
}

impl<P: FnMut(&mut Scene, [SimTime; 2])> SceneOverTime for Placed<'_, P> {
    fn during(&mut self, span: [SimTime; 2]) -> &Scene {
        (self.place)(self.scene, span);
        self.scene
    }
}

fn driving(time: SimTime) -> Pose {
    Pose::translation(SPEED_M_S * time.secs_f64(), 0.0, SENSOR_M)
}

/// Length along the drive, m, of the cylinder with this number, from its points at the sensor's height.
fn length_m(points: &[LidarPoint], number: u32) -> f64 {
    let of_it = points.iter().filter(|p| p.truth.instance == 0x1000_0000 + number && p.position_m[2].abs() < 1e-4);
    let along: Vec<f32> = of_it.map(|p| p.position_m[0]).collect();
    assert!(along.len() > 40, "{} points on cylinder {number}", along.len());
    let longest = along.iter().copied().fold(f32::MIN, f32::max) - along.iter().copied().fold(f32::MAX, f32::min);
    f64::from(longest)
}

/// Length by the closed form, m; `along` is 1 where the beam moves with the drive, −1 where it moves against it.
fn expected_m(along: f64) -> f64 {
    let omega = TAU * RATE_HZ;
    let off = |t: f64| BESIDE_M * (omega * t).sin() + along * SPEED_M_S * t * (omega * t).cos() - RADIUS_M;
    let [mut low, mut high] = [0.0, 0.25 / RATE_HZ];
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if off(middle) < 0.0 { low = middle } else { high = middle }
    }
    let (sin, cos) = (omega * low).sin_cos();
    2.0 * (BESIDE_M * cos - along * SPEED_M_S * low * sin) * sin
}

#[test]
fn cylinders_that_the_beam_passes_along_with_the_drive_come_out_shorter() {
    // The outermost beams that hit a cylinder miss its tangents by up to one column of the scan, 17 mm at 3 m; the
    // surface curves away there, by some 20 mm along the drive at either end.
    const ENDS_M: f64 = 0.06;
    const DIFFERENCE_M: f64 = 0.02;
    for (spin, [right, left]) in [(Spin::CounterClockwise, [1.0, -1.0]), (Spin::Clockwise, [-1.0, 1.0])] {
        let (mut scene, _) = rows(spin);
        let points = scan(&turning(spin), &mut scene, driving, |_, _| ());
        let got = [length_m(&points, 3), length_m(&points, 10)];
        let expected = [expected_m(right), expected_m(left)];
        for (got, expected) in got.into_iter().zip(expected) {
            assert!(
                (0.0..ENDS_M).contains(&(expected - got)),
                "{spin:?}: {got} m, and {expected} m by the closed form"
            );
        }
        let [shorter, by_form] = [got, expected].map(|[right, left]| left - right);
        assert!((shorter - by_form).abs() < DIFFERENCE_M, "{spin:?}: {shorter} m shorter, not {by_form} m");
        assert!(by_form.abs() > 0.1, "the drive matters");
    }
}

#[test]
fn a_sensor_that_passes_and_a_scene_that_passes_give_the_same_points() {
    let lidar = turning(Spin::CounterClockwise);
    let (mut scene, instances) = rows(Spin::CounterClockwise);
    let passing = scan(&lidar, &mut scene, driving, |_, _| ());
    let places = axes(Spin::CounterClockwise);
    let at_rest = |_| Pose::translation(0.0, 0.0, SENSOR_M);
    let passed = scan(&lidar, &mut scene, at_rest, |scene, span| {
        let back_m = span.map(|time| SPEED_M_S * time.secs_f64());
        let moves: Vec<_> =
            instances.iter().zip(&places).map(|(id, at)| (*id, back_m.map(|m| cylinder_at(*at, m)))).collect();
        scene.sweep_instances(&moves);
    });
    let of_cylinders = |points: &[LidarPoint]| {
        let met = points.iter().filter(|p| p.truth.class == Class::Object as u16);
        met.map(|p| ((p.ring, p.column), *p)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let [passing, passed] = [&passing, &passed].map(|points| of_cylinders(points));
    let both: Vec<_> = passing.iter().filter_map(|(place, p)| Some((p, passed.get(place)?))).collect();
    // Beams that graze an outline may hit or miss.
    assert!(both.len() > 3000 && both.len() * 200 > passing.len().max(passed.len()) * 199, "{} of both", both.len());
    let off = both.iter().filter(|(a, b)| {
        let is_other = a.truth.instance != b.truth.instance;
        is_other || a.position_m.iter().zip(b.position_m).any(|(a, b)| (a - b).abs() > MOTION_M)
    });
    let off = off.count();
    assert!(off * 200 < both.len(), "{off} of {} points are elsewhere", both.len());
}

#[test]
fn a_wall_is_at_its_range_with_the_noise_of_the_file_and_as_bright_as_its_incidence() {
    const SIGMA_M: f64 = 0.03;
    const ALBEDO: f64 = 0.3;
    let (wall_m, yaw_rad) = (Vector3::new(20.0, 2.0, 5.0), 0.7);
    let world_from_wall = Pose::from_parts(wall_m.into(), UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad));
    let mut scene = level_ground();
    let mesh = scene.add_mesh(&primitives::cuboid([0.2, 10.0, 6.0])).expect("a mesh");
    let grey = Material::Lambert { albedo: ALBEDO };
    scene.add_instance(mesh, &world_from_wall, Class::Object.numbered(0x1000_0007), &grey).expect("room");
    let origin = Vector3::new(0.0, 0.0, 5.0);
    let lidar = Lidar::new(LidarSpec { range_sigma_m: SIGMA_M, ..hdl32e() });
    let points = scan(&lidar, &mut scene, |_| Pose::from_parts(origin.into(), UnitQuaternion::identity()), |_, _| ());
    let normal = world_from_wall.rotation * -Vector3::x();
    let face = wall_m + normal * 0.1;
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for point in points.iter().filter(|p| p.truth.instance == 0x1000_0007) {
        let toward = Vector3::from(point.position_m.map(f64::from)).normalize();
        let range_m = (face - origin).dot(&normal) / toward.dot(&normal);
        let on_wall = world_from_wall.inverse() * nalgebra::Point3::from(origin + toward * range_m);
        if on_wall.y.abs() > 4.9 || on_wall.z.abs() > 2.9 {
            continue;
        }
        assert_eq!(point.truth.class, Class::Object as u16);
        assert!((f64::from(point.truth.range_m) - range_m).abs() < 2e-3, "{} and {range_m} m", point.truth.range_m);
        let expected = 100.0 * ALBEDO * -toward.dot(&normal);
        assert!((f64::from(point.intensity) - expected).abs() < 0.51, "{} and not {expected}", point.intensity);
        let off = f64::from(point.range_m) - range_m;
        (sum, squares, count) = (sum + off, squares + off * off, count + 1.0);
    }
    assert!(count > 800.0, "{count} points");
    // Four sigma of the mean and of the standard deviation, each exceeded once in 16 000 tests.
    let (bias_m, sigma_m) = (sum / count, (squares / count).sqrt());
    assert!(bias_m.abs() < 4.0 * SIGMA_M / f64::sqrt(count), "a bias of {bias_m} m");
    assert!((sigma_m / SIGMA_M - 1.0).abs() < 4.0 / f64::sqrt(2.0 * count), "a deviation of {sigma_m} m");
}

/// A wall seen through a puff of dust: the puff has returns of its own, and each beam keeps e^(−2τ) of the wall's
/// light.
#[test]
fn dust_before_a_wall_gives_early_returns_and_dims_the_wall_on_both_ways() {
    const DEVIATION_M: f64 = 0.3;
    const PUFF_M: f64 = 8.0;
    let mut scene = level_ground();
    let mesh = scene.add_mesh(&primitives::cuboid([0.2, 10.0, 6.0])).expect("a mesh");
    let wall = Class::Object.numbered(0x1000_0007);
    let grey = Material::Lambert { albedo: 0.3 };
    scene.add_instance(mesh, &Pose::translation(20.0, 0.0, 5.0), wall, &grey).expect("room");
    let (returns, intensity) = (ReturnMode::Dual, IntensityScale::Raw);
    let spec = LidarSpec { returns, intensity, intensity_sigma: 0.0, saturation: None, ..hdl32e() };
    let (lidar, origin) = (Lidar::new(spec), [0.0, 0.0, 5.0]);
    let all = |scene: &mut Scene| scan(&lidar, scene, |_| Pose::translation(0.0, 0.0, 5.0), |_, _| ());
    let of_class = |points: &[LidarPoint], class: Class| {
        let met = points.iter().filter(|point| point.truth.class == class as u16);
        met.map(|point| ((point.ring, point.column), *point)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let clear = all(&mut scene);
    assert!(of_class(&clear, Class::Dust).is_empty());
    let cross_section_m2 = 0.5 * TAU * DEVIATION_M * DEVIATION_M;
    scene.set_dust(vec![Puff { centre_m: Vector3::new(PUFF_M, 0.0, 5.0), deviation_m: DEVIATION_M, cross_section_m2 }]);
    let dusty = all(&mut scene);
    let (clear, walls, early) =
        (of_class(&clear, Class::Object), of_class(&dusty, Class::Object), of_class(&dusty, Class::Dust));
    assert!(early.len() > 20 && early.values().all(|point| (f64::from(point.range_m) - PUFF_M).abs() < 0.2));
    assert!(early.keys().filter(|place| walls.contains_key(place)).count() > 20, "both are reported of a beam");
    let mut deep = 0;
    for (place, point) in &walls {
        let toward = Vector3::from(point.position_m).normalize();
        let depth = scene.optical_depth(origin, toward.into(), point.range_m);
        let left = point.intensity / clear[place].intensity;
        assert!((left / (-2.0 * depth).exp() - 1.0).abs() < 1e-3, "{left} of the light is left through {depth}");
        deep += usize::from(depth > 0.25);
    }
    assert!(walls.len() == clear.len() && deep > 10, "{} of {}, {deep} deep", walls.len(), clear.len());
}
