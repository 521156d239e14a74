//! Contacts of loose rocks with fixed ones and with a rover's wheels: loads carried,
//! friction, momentum.

use std::path::PathBuf;
use std::sync::Arc;

use nalgebra::{Point3, UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, Wrench};
use selene_terrain::{GroundPatch, Level, Rock, RockShape};
use selene_vehicle::contact::{
    ContactForces, ContactGroup, ContactMemory, ContactRover, ContactScratch, ContactShapes, FloorMemory, LooseRock,
    LooseRockState, RockInertia, RockSolids,
};
use selene_vehicle::{Forces, Rover, RoverModel, Targets, WheelTargets};

const MOON_M_S2: f64 = 1.62;

fn viper() -> Arc<RoverModel> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../config/rover/viper.yaml");
    Arc::new(RoverModel::load(&file).expect("viper"))
}

/// A block by its edges; corners of the unit shape are at distance 1.
fn block(size: Vector3<f64>) -> RockShape {
    let corner = |i: u32| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>().component_mul(&size);
    RockShape::hull(&(0..8).map(corner).collect::<Vec<_>>()).expect("a volume")
}

/// Half of a block's height at unit size.
fn half_height(shape: &RockShape) -> f64 {
    shape.vertices.iter().map(|v| f64::from(v[2])).fold(0.0, f64::max)
}

/// Shapes, memory and forces of one rover's contacts.
struct Contacts {
    shapes: ContactShapes,
    solids: RockSolids,
    floors: Vec<FloorMemory>,
    memory: ContactMemory,
    scratch: ContactScratch,
    forces: ContactForces,
}

impl Contacts {
    fn new(model: &RoverModel, ground: &GroundPatch) -> Self {
        let shapes = ContactShapes::new(model);
        Self {
            floors: vec![FloorMemory::default(); shapes.floor_count()],
            shapes,
            solids: RockSolids::new(ground.shapes()),
            memory: ContactMemory::default(),
            scratch: ContactScratch::default(),
            forces: ContactForces::default(),
        }
    }

    fn act(&mut self, rover: &Rover, rocks: &mut [LooseRock], ground: &GroundPatch, dt_s: f64) -> &ContactForces {
        let Self { shapes, solids, floors, memory, scratch, forces } = self;
        let mut rovers = [ContactRover { id: 0, rover, stands: false, shapes, floors, in_points: &[], forces }];
        let mut group = ContactGroup { ground, rock_solids: solids, obstacles: &[], rovers: &mut rovers, rocks };
        group.act(memory, scratch, dt_s);
        forces
    }
}

/// One fixed slab of 4 m with a loose rock over it, and a rover far above.
struct SlabScene {
    ground: GroundPatch,
    loose: [LooseRock; 1],
    contacts: Contacts,
    rover: Rover,
    dt_s: f64,
}

impl SlabScene {
    /// The slab's top goes through the origin, tilted about y.
    fn new(shapes: [RockShape; 2], tilt_rad: f64, radius_m: f64, density_kg_m3: f64, dt_s: f64) -> Self {
        let level = Level::sample([-10.0, -10.0], 0.5, 41, |_, _| -20.0);
        let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), tilt_rad);
        let [slab, stone] = &shapes;
        let up = turn * Vector3::z();
        let at = |height_m: f64| Pose::from_parts((up * height_m).into(), turn);
        let slab = Rock { id: 0, shape: 0, world_from_rock: at(-2.0 * half_height(slab)), radius_m: 2.0 };
        let state = LooseRockState::at_rest(at(radius_m * half_height(stone)));
        let inertia = RockInertia::new(&shapes, 1, radius_m, density_kg_m3).expect("a shape");
        let ground = GroundPatch::of_level(level, vec![slab], shapes.to_vec());
        let model = viper();
        let gravity = Vector3::z() * -MOON_M_S2;
        let rover = Rover::new(&model, Pose::translation(5.0, 0.0, 50.0), gravity, dt_s).expect("a rover");
        let contacts = Contacts::new(&model, &ground);
        Self { loose: [LooseRock::new(1, Arc::new(inertia), state)], contacts, ground, rover, dt_s }
    }

    fn forces(&mut self) -> &ContactForces {
        self.contacts.act(&self.rover, &mut self.loose, &self.ground, self.dt_s)
    }

    /// Steps the loose rock; the last force on it.
    fn run(&mut self, seconds: f64) -> Wrench {
        let mut last = Wrench::default();
        for _ in 0..(seconds / self.dt_s).round() as usize {
            self.forces();
            last = *self.loose[0].wrench();
            self.loose[0].step(&(Vector3::z() * -MOON_M_S2), self.dt_s);
        }
        last
    }

    fn at(&self) -> Vector3<f64> {
        self.loose[0].state.world_from_rock.translation.vector
    }
}

/// A rock of 60 corners.
fn boulder() -> RockShape {
    let chance = |i: u32, k: u32| f64::from(i.wrapping_mul(2_654_435_761).rotate_left(k) >> 8) / f64::from(1 << 24);
    let corner = |i: u32| {
        let (z, turn) = (2.0 * chance(i + 1, 3) - 1.0, std::f64::consts::TAU * chance(i + 1, 11));
        let flat = (1.0 - z * z).sqrt();
        Vector3::new(flat * turn.cos(), 0.8 * flat * turn.sin(), 0.7 * z)
    };
    RockShape::hull(&(0..60).map(corner).collect::<Vec<_>>()).expect("a volume")
}

/// Largest depth of a rock at rest in another, m.
const DEPTH_MAX_M: f64 = 1e-3;
/// Rest of a rock's sway when it is about to sleep, share of its weight.
const WEIGHT_TOLERANCE: f64 = 0.02;

#[test]
fn a_rock_comes_to_rest_carrying_its_weight_less_than_a_millimetre_deep() {
    for shape in [block(Vector3::new(1.0, 1.0, 0.8)), boulder()] {
        // 0.1 kg to tonnes.
        for (radius_m, dt_s) in [(0.025, 1e-3), (0.025, 2e-3), (0.2, 5e-4), (0.2, 2e-3), (0.8, 5e-4), (0.8, 2e-3)] {
            let slab = block(Vector3::new(1.0, 1.0, 0.2));
            let mut yard = SlabScene::new([slab, shape.clone()], 0.0, radius_m, 2700.0, dt_s);
            let weight_n = yard.loose[0].inertia.mass_kg * MOON_M_S2;
            let (mut last, mut steps) = (Wrench::default(), 0);
            while !yard.loose[0].asleep() {
                last = yard.run(dt_s);
                steps += 1;
                assert!(f64::from(steps) * dt_s < 30.0, "never at rest: {:?}", yard.loose[0].state.twist);
            }
            let depth_m = -lowest_m(&yard);
            println!(
                "{:.2} kg at {dt_s} s: rests after {:.2} s, {depth_m:.1e} m deep",
                weight_n / MOON_M_S2,
                f64::from(steps) * dt_s
            );
            assert!(depth_m > 0.0 && depth_m < DEPTH_MAX_M, "{depth_m}");
            assert!((last.force.z / weight_n - 1.0).abs() < WEIGHT_TOLERANCE, "{last:?} {weight_n}");
            assert!(last.force.xy().norm() < WEIGHT_TOLERANCE * weight_n, "{last:?}");
        }
    }
}

/// Lowest corner of the loose rock over the slab's top.
fn lowest_m(yard: &SlabScene) -> f64 {
    let rock = &yard.loose[0];
    let corners = &yard.ground.shapes()[rock.inertia.shape].vertices;
    let height = |v: &[f32; 3]| {
        let corner = Vector3::from(*v).cast::<f64>() * rock.inertia.radius_m;
        (rock.state.world_from_rock * Point3::from(corner)).z
    };
    corners.iter().map(height).fold(f64::INFINITY, f64::min)
}

/// Friction of rock on rock, and metal on rock.
const FRICTION: f64 = 0.7;

/// A block on a slope stays while tan θ < μ and slides with g (sin θ − μ cos θ) above.
#[test]
fn a_block_on_a_slope_stays_within_the_friction_cone_and_slides_beyond_it() {
    let shapes = || [block(Vector3::new(1.0, 1.0, 0.2)), block(Vector3::new(1.0, 1.0, 0.3))];
    let edge_rad = FRICTION.atan();
    let mut yard = SlabScene::new(shapes(), edge_rad - 0.02, 0.2, 2700.0, 1e-3);
    yard.run(0.4);
    let settled = yard.at();
    for _ in 0..25 {
        yard.loose[0].wake();
        yard.run(0.4);
    }
    let crept = (yard.at() - settled).x;
    println!("crept {crept:.2e} m down the slope in 10 s");
    assert!(crept.abs() < 1e-4, "crept {crept} m");

    let slope_rad = edge_rad + 0.05;
    let mut yard = SlabScene::new(shapes(), slope_rad, 0.2, 2700.0, 1e-3);
    yard.run(0.2);
    let before = yard.loose[0].state.twist.linear.norm();
    yard.run(1.0);
    let gained = yard.loose[0].state.twist.linear.norm() - before;
    let expected = MOON_M_S2 * (slope_rad.sin() - FRICTION * slope_rad.cos());
    println!("gained {gained:.4} m/s in 1 s, expected {expected:.4}");
    assert!((gained / expected - 1.0).abs() < 0.02, "{gained} {expected}");
}

/// Rounding of sums of newtons.
const BALANCE_TOLERANCE: f64 = 1e-9;

#[test]
fn what_a_wheel_does_to_a_loose_rock_the_rock_does_to_the_wheel() {
    let slab = block(Vector3::new(1.0, 1.0, 0.2));
    let mut yard = SlabScene::new([slab, boulder()], 0.0, 0.2, 2700.0, 1e-3);
    let mut met = 0;
    for i in 0..60 {
        let wheel = yard.rover.wheel_motions()[0].world_from_wheel;
        let turn = f64::from(i) * 0.7;
        let arm = Vector3::new(turn.cos(), 0.3 * turn.sin(), -0.5).normalize() * (0.36 + 0.002 * f64::from(i % 30));
        let rock = &mut yard.loose[0];
        rock.state.world_from_rock.translation.vector = wheel.translation.vector + arm;
        rock.state.twist = Twist { linear: Vector3::new(0.1, -0.3, 0.2), angular: Vector3::new(1.0, 0.2, -0.5) };
        rock.add(&Wrench { force: -rock.wrench().force, torque: -rock.wrench().torque });
        let on_wheel = yard.forces().on_wheels[0];
        let rock = &yard.loose[0];
        let on_rock = *rock.wrench();
        met += usize::from(on_rock.force.norm() > 0.0);
        assert!((on_wheel.force + on_rock.force).norm() < BALANCE_TOLERANCE * on_rock.force.norm().max(1.0));
        let about_map = |wrench: &Wrench, at: Vector3<f64>| wrench.torque + at.cross(&wrench.force);
        let rest = about_map(&on_wheel, wheel.translation.vector) + about_map(&on_rock, yard.at());
        assert!(rest.norm() < BALANCE_TOLERANCE * on_rock.force.norm().max(1.0) * 100.0, "{rest:?}");
    }
    assert!(met > 10, "only {met} of 60 places touch");
}

/// The force of a wheel pressed half a millimetre into a block, as it rolls over the edge:
/// per 0.1 mm of travel it changes by little.
#[test]
fn a_wheels_force_changes_smoothly_as_it_rolls_over_an_edge() {
    let slab = block(Vector3::new(1.0, 1.0, 0.2));
    let mut yard = SlabScene::new([slab.clone(), slab], 0.0, 0.3, 2700.0, 1e-3);
    let rock_radius_m = yard.loose[0].inertia.radius_m;
    let corner = yard.ground.shapes()[1].vertices[0].map(|c| f64::from(c).abs() * rock_radius_m);
    let radius_m = yard.rover.model().wheels()[0].radius_m;
    let (mut before, mut greatest, mut change) = (None::<Vector3<f64>>, 0.0_f64, 0.0_f64);
    for i in 0..4000 {
        // The wheel's centre keeps its distance from the block: along its top, round the edge.
        let along = f64::from(i) * 1e-4 - 0.2;
        let turn = (along / radius_m).clamp(0.0, 1.2);
        let above = Vector3::new(along.min(0.0) + radius_m * turn.sin(), 0.0, radius_m * turn.cos());
        let outward = Vector3::new(turn.sin(), 0.0, turn.cos());
        let from_rock = Vector3::new(corner[0], 0.0, corner[2]) + above - outward * 5e-4;
        let wheel = yard.rover.wheel_motions()[0].world_from_wheel;
        let rock = &mut yard.loose[0];
        rock.state.world_from_rock.translation.vector = wheel.translation.vector - from_rock;
        rock.add(&Wrench { force: -rock.wrench().force, torque: -rock.wrench().torque });
        let force = yard.forces().on_wheels[0].force;
        if let Some(before) = before {
            change = change.max((force - before).norm());
        }
        greatest = greatest.max(force.norm());
        before = Some(force);
    }
    println!("force up to {greatest:.0} N, change per 0.1 mm up to {change:.1} N");
    assert!(greatest > 100.0 && change < 0.02 * greatest, "{greatest} {change}");
}

/// A rover alone over `ground`, stepped with its contacts and wheels that stand still.
struct FallingRover {
    ground: GroundPatch,
    contacts: Contacts,
    rover: Rover,
}

const STEP_S: f64 = 1e-3;

impl FallingRover {
    fn new(ground: GroundPatch, world_from_base: Pose) -> Self {
        let model = viper();
        let gravity = Vector3::z() * -MOON_M_S2;
        let rover = Rover::new(&model, world_from_base, gravity, STEP_S).expect("a rover");
        Self { contacts: Contacts::new(&model, &ground), ground, rover }
    }

    fn run(&mut self, seconds: f64) {
        let targets = Targets::from(WheelTargets::rest(self.rover.model().wheels().len()));
        for _ in 0..(seconds / STEP_S).round() as usize {
            let touched = self.contacts.act(&self.rover, &mut [], &self.ground, STEP_S);
            self.rover.step(&targets, &Forces { soil_on_wheel: &touched.on_wheels, on_links: &touched.on_links });
        }
    }

    fn up(&self) -> Vector3<f64> {
        self.rover.world_from_base().rotation * Vector3::z()
    }
}

/// Centre of mass in the base link, joints at zero.
fn centre_of_mass_m(model: &RoverModel) -> Vector3<f64> {
    let (mut mass_kg, mut moment) = (0.0, Vector3::zeros());
    for (link, pose) in model.links().iter().zip(model.base_from_links_at_zero()) {
        if let Some(inertial) = link.inertial {
            mass_kg += inertial.mass_kg;
            moment += (pose * inertial.link_from_com).translation.vector * inertial.mass_kg;
        }
    }
    moment / mass_kg
}

/// Rolled to stand on its left wheels' outer rims over a hard slab, VIPER falls back while
/// its centre of mass is inside of them and over when it is outside: static stability,
/// tan φ = (half track + half width)/(height of the centre of mass). Rims are rounded.
#[test]
fn viper_tips_over_when_the_static_stability_angle_is_exceeded_and_not_before() {
    let model = viper();
    let wheel = &model.wheels()[0];
    let rounding_m = 0.1 * wheel.radius_m.min(0.5 * wheel.width_m);
    let pivot = Vector3::new(
        0.0,
        wheel.centre_in_base_m.y + 0.5 * wheel.width_m - rounding_m,
        wheel.centre_in_base_m.z - wheel.radius_m + rounding_m,
    );
    let arm = pivot - centre_of_mass_m(&model);
    let critical_rad = arm.y.atan2(-arm.z);
    println!("critical roll {:.2} deg", critical_rad.to_degrees());
    for (over_deg, tips) in [(-1.0_f64, false), (1.0, true)] {
        // Rolling left (y down) is about -x.
        let turn = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), -(critical_rad + over_deg.to_radians()));
        let pose = Pose::from_parts((Vector3::z() * rounding_m - turn * pivot).into(), turn);
        let mut fall = FallingRover::new(slab_ground(), pose);
        fall.run(8.0);
        let tilt = fall.up().z.clamp(-1.0, 1.0).acos().to_degrees();
        println!("{over_deg:+} deg: ends at {tilt:.1} deg");
        assert!(if tips { tilt > 70.0 } else { tilt < 10.0 }, "{over_deg} deg ends at {tilt} deg");
    }
}

/// A slab whose top is at height zero, over ground far below.
fn slab_ground() -> GroundPatch {
    let slab = block(Vector3::new(1.0, 1.0, 0.2));
    let at = Pose::translation(0.0, 0.0, -6.0 * half_height(&slab));
    let rock = Rock { id: 0, shape: 0, world_from_rock: at, radius_m: 6.0 };
    let level = Level::sample([-10.0, -10.0], 0.5, 41, |_, _| -20.0);
    GroundPatch::of_level(level, vec![rock], vec![slab])
}

/// Kinetic and potential energy, the springs' left out, J.
fn energy_j(fall: &FallingRover) -> f64 {
    let model = fall.rover.model();
    let lifted = |(i, link): (usize, &selene_vehicle::Link)| {
        let inertial = link.inertial?;
        Some(inertial.mass_kg * (fall.rover.world_from_links()[i] * inertial.link_from_com).translation.z)
    };
    fall.rover.kinetic_energy_j() + MOON_M_S2 * model.links().iter().enumerate().filter_map(lifted).sum::<f64>()
}

/// Springs that give back what a landing put into them, share of the energy at first.
const SPRING_SHARE: f64 = 0.01;

#[test]
fn a_rover_put_upside_down_comes_to_rest_on_its_body_and_gains_no_energy() {
    // On hard ground (the points of its body) its wheels have no contact; on rock they have.
    for (ground, roll_rad, height_m) in [
        (slab_ground(), std::f64::consts::PI, 2.4),
        (slab_ground(), std::f64::consts::PI - 0.3, 3.0),
        (GroundPatch::flat(0.1, 40.0), 1.7, 1.2),
        (GroundPatch::flat(0.1, 40.0), 0.0, 0.5),
    ] {
        let turn = UnitQuaternion::from_euler_angles(roll_rad, 0.05, 0.3);
        let mut fall = FallingRover::new(ground, Pose::from_parts(Vector3::new(0.0, 0.0, height_m).into(), turn));
        let first_j = energy_j(&fall);
        for _ in 0..300 {
            fall.run(0.1);
            assert!(energy_j(&fall) < first_j * (1.0 + SPRING_SHARE), "{} {first_j}", energy_j(&fall));
        }
        let (twist, at) = (fall.rover.base_twist(), fall.rover.world_from_base().translation.vector);
        println!(
            "rolled {roll_rad:.2}: at {at:?}, up {:?}, {:.1e} m/s {:.1e} rad/s",
            fall.up(),
            twist.linear.norm(),
            twist.angular.norm()
        );
        assert!(twist.linear.norm() < 1e-3 && twist.angular.norm() < 1e-3, "{twist:?}");
        assert!(at.z > -0.1 && at.z < 3.0, "{at:?}");
    }
}
