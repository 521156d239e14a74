//! Rigid ground: Coulomb's cone, rest, energy, and what must not happen.

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::drive_rig::{DriveRig, drive};
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, Rigid, RigidSpec, SoilContext, Soils, WheelContact, WheelMemory,
    WheelMotion, WheelShape, step,
};
use selene_terrain::{GroundPatch, Level};

const WHEEL: WheelShape = WheelShape::plain(0.25, 0.2);
const FRICTION: RigidSpec = RigidSpec { static_friction: 0.6, dynamic_friction: 0.5 };

fn rigid() -> Law {
    Law::Rigid(Rigid::from(&FRICTION))
}

/// F ≤ μ N: on a slope that steepens by 1° a second a locked wheel stays to atan μ_s and
/// then slides at g (sin α − μ_d cos α). The slope is level ground under leaning gravity.
#[test]
fn a_locked_wheel_rests_below_the_friction_angle_and_slides_above_it() {
    for heading in [0.0, 0.5, 1.5] {
        let mut ground = GroundPatch::flat(0.05, 12.0);
        let mut memory = MemoryPatch::new(&ground);
        let (soils, mut scratch) = (Soils::uniform(rigid()), PressScratch::default());
        let mut context =
            SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        let mut drop = Drop::new(60.0, 0.0, 1e-3, 0.0);
        drop.memory = WheelMemory::carrying(97.0);
        drop.rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, heading);
        let mut let_go_deg = f64::INFINITY;
        for i in 0..34_000 {
            let angle_deg = 1e-3 * f64::from(i);
            let (sin, cos) = angle_deg.to_radians().sin_cos();
            drop.lean_m_s2 = Vector3::new(1.62 * sin, 0.0, -1.62 * cos);
            let before = drop.velocity_m_s.x;
            drop.fall(&mut context);
            if i > 2000 && let_go_deg > 90.0 {
                if drop.velocity_m_s.x > 1e-3 {
                    let_go_deg = angle_deg;
                }
            } else if angle_deg > let_go_deg + 0.1 {
                let gained = (drop.velocity_m_s.x - before) / 1e-3;
                assert!((gained - 1.62 * (sin - 0.5 * cos)).abs() < 1e-3, "{heading}: {gained}");
            }
        }
        assert!((let_go_deg - 0.6_f64.atan().to_degrees()).abs() < 0.1, "{heading}: {let_go_deg}");
    }
}

/// A parked wheel: its position after 10 s is that after 600 s to the last digits.
#[test]
fn a_parked_wheel_does_not_creep_in_ten_minutes() {
    let rig = DriveRig { slope_deg: 15.0, duration_s: 600.0, grid_m: 0.05, ..DriveRig::new(rigid(), WHEEL, 60.0, 0.0) };
    let (samples, _) = drive(&rig).expect("runs");
    let crept: f64 = samples[10_000..].iter().map(|s| 1e-3 * s.speed_m_s.hypot(s.left_m_s)).sum();
    assert!(crept < 1e-9, "{crept}");
}

/// Rolling without slip: v = ωR, on the flat and up a slope that friction carries.
#[test]
fn a_driven_wheel_rolls_at_its_rims_speed() {
    for slope_deg in [0.0, 10.0, -10.0, 20.0] {
        let rig = DriveRig { slope_deg, grid_m: 0.05, ..DriveRig::new(rigid(), WHEEL, 60.0, 0.3) };
        let (samples, _) = drive(&rig).expect("runs");
        let last = samples.last().expect("samples");
        assert!(last.slip.abs() < 1e-3, "{slope_deg}: {last:?}");
        let expected_nm = -60.0 * 1.62 * slope_deg.to_radians().sin() * 0.25;
        assert!((last.torque_nm - expected_nm).abs() < 0.01 * 60.0, "{slope_deg}: {last:?} {expected_nm}");
    }
}

/// Loads of 2 N to 10 kN, steps of 0.5 to 2 ms, Moon and Earth: a wheel set down comes to
/// rest at its load without jitter, and without an input of its load.
#[test]
fn any_load_comes_to_rest_in_any_step() {
    for load_n in [2.0, 20.0, 200.0, 2e3, 1e4] {
        for (step_s, gravity_m_s2) in [(5e-4, 1.62), (1e-3, 1.62), (2e-3, 1.62), (5e-4, 9.81), (2e-3, 9.81)] {
            let mut drop = Drop::new(load_n / gravity_m_s2, gravity_m_s2, step_s, 0.005);
            let contacts = drop.run(&rigid(), 4.0);
            let tail = &contacts[contacts.len() * 3 / 4..];
            let worst = tail.iter().map(|c| (c.normal_n / load_n - 1.0).abs()).fold(0.0, f64::max);
            let sink = tail.last().expect("steps").sinkage_m;
            assert!(worst < 1e-3, "{load_n} N, {step_s} s, {gravity_m_s2} m/s²: {worst}");
            assert!(sink < 2e-3, "{load_n} N sinks {sink} m");
        }
    }
}

/// A falling body that does not turn.
struct Drop {
    mass_kg: f64,
    gravity_m_s2: f64,
    step_s: f64,
    centre_m: Vector3<f64>,
    velocity_m_s: Vector3<f64>,
    rotation: UnitQuaternion<f64>,
    /// Acceleration in addition to gravity, m/s².
    lean_m_s2: Vector3<f64>,
    spin_rad_s: f64,
    memory: WheelMemory,
}

impl Drop {
    fn new(mass_kg: f64, gravity_m_s2: f64, step_s: f64, height_m: f64) -> Self {
        let (centre_m, rotation) = (Vector3::z() * (0.25 + height_m), UnitQuaternion::identity());
        let memory = WheelMemory::default();
        Self {
            mass_kg,
            gravity_m_s2,
            step_s,
            centre_m,
            velocity_m_s: Vector3::zeros(),
            rotation,
            spin_rad_s: 0.0,
            lean_m_s2: Vector3::zeros(),
            memory,
        }
    }

    fn energy_j(&self) -> f64 {
        self.mass_kg * (0.5 * self.velocity_m_s.norm_squared() + self.gravity_m_s2 * self.centre_m.z)
    }

    fn run(&mut self, law: &Law, duration_s: f64) -> Vec<WheelContact> {
        let mut ground = GroundPatch::flat(0.05, 12.0);
        let mut memory = MemoryPatch::new(&ground);
        let (soils, mut scratch) = (Soils::uniform(law.clone()), PressScratch::default());
        let steps = (duration_s / self.step_s).round() as usize;
        let mut context =
            SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        (0..steps).map(|_| self.fall(&mut context)).collect()
    }

    fn fall(&mut self, context: &mut SoilContext) -> WheelContact {
        let motion = WheelMotion {
            world_from_wheel: Pose::from_parts(self.centre_m.into(), self.rotation),
            linear_m_s: self.velocity_m_s,
            angular_rad_s: self.rotation * Vector3::y() * self.spin_rad_s,
        };
        let conditions = Conditions { dt_s: self.step_s, gravity_m_s2: self.gravity_m_s2.max(1.62) };
        let contact = step(context, &WHEEL, &mut self.memory, &motion, &conditions);
        let gravity_m_s2 = self.lean_m_s2 - Vector3::z() * self.gravity_m_s2;
        self.velocity_m_s += (contact.wrench.force / self.mass_kg + gravity_m_s2) * self.step_s;
        self.centre_m += self.velocity_m_s * self.step_s;
        contact
    }
}

/// A bouncing, sliding wheel loses energy: kinetic and potential together at each return
/// to free flight are never more than at the last.
#[test]
fn a_bouncing_sliding_wheel_only_loses_energy() {
    for height_m in [0.05, 1.0, 100.0] {
        let mut drop = Drop::new(60.0, 1.62, 5e-4, height_m);
        drop.memory = WheelMemory::carrying(60.0 * 1.62);
        drop.velocity_m_s.x = 0.3;
        let mut ground = GroundPatch::flat(0.1, 200.0);
        let mut memory = MemoryPatch::new(&ground);
        let (soils, mut scratch) = (Soils::uniform(rigid()), PressScratch::default());
        let mut context =
            SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        let (start_j, mut free_j, mut deepest_m) = (drop.energy_j(), drop.energy_j(), 0.0_f64);
        for _ in 0..200_000 {
            let contact = drop.fall(&mut context);
            deepest_m = deepest_m.max(contact.sinkage_m);
            if contact.contact_nodes == 0 {
                // Euler steps of free flight change the energy by up to m g² dt²/2 each.
                assert!(drop.energy_j() <= free_j + 1e-3 * start_j, "{} after {free_j}", drop.energy_j());
                free_j = free_j.min(drop.energy_j() + 1e-4 * start_j);
            }
        }
        println!("dropped {height_m} m: {start_j:.1} J to {:.1} J, deepest {deepest_m:.4} m", drop.energy_j());
        assert!(drop.velocity_m_s.norm() < 1e-3, "{}", drop.velocity_m_s);
        assert!(deepest_m < 0.25, "{deepest_m}");
    }
}

/// On posts of random height a rolling wheel keeps its load on average and stays down.
#[test]
fn a_wheel_rolls_over_rough_ground_without_leaping() {
    let level = Level::sample([-4.0, -4.0], 0.02, 401, |x, y| 0.004 * ((37.0 * x).sin() + (29.0 * y + x).cos()));
    let mut ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
    let mut memory = MemoryPatch::new(&ground);
    let (soils, mut scratch) = (Soils::uniform(rigid()), PressScratch::default());
    let mut context = SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
    let mut drop = Drop::new(60.0, 1.62, 1e-3, 0.01);
    drop.memory = WheelMemory::carrying(97.2);
    (drop.centre_m.x, drop.velocity_m_s.x, drop.spin_rad_s) = (-2.0, 0.2, 0.8);
    let mut sum = 0.0;
    for i in 0..15_000 {
        let contact = drop.fall(&mut context);
        assert!(contact.wrench.force.norm() < 20.0 * 97.0, "{i}: {contact:?}");
        sum += contact.wrench.force.z;
    }
    assert!((sum / 15_000.0 / 97.2 - 1.0).abs() < 0.02, "{}", sum / 15_000.0);
    assert!((drop.velocity_m_s.x - 0.2).abs() < 0.05, "{}", drop.velocity_m_s);
}
