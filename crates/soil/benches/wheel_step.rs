//! One step of a wheel of 0.25 × 0.20 m at 20 % slip under 100 N: the soil contact model
//! by grid, and every other law. `cargo bench -p selene-soil`.

use std::path::Path;

use divan::Bencher;
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, SoilContext, SoilSpec, Soils, WheelMemory, WheelMotion, WheelShape,
    step,
};
use selene_terrain::GroundPatch;

const LOAD_N: f64 = 100.0;
const SIDE_M: f64 = 4.0;
const OMEGA_RAD_S: f64 = 0.8;
const SPEED_M_S: f64 = 0.16;
const CONDITIONS: Conditions = Conditions { dt_s: 5e-4, gravity_m_s2: 1.62 };

fn main() {
    divan::main();
}

#[divan::bench(args = [0.01, 0.02, 0.05])]
fn scm(bencher: Bencher, grid_m: f64) {
    wheel_step(bencher, "lunar", grid_m);
}

#[divan::bench(args = ["tohoku_silica5_ex1", "rigid", "slip_map_lunar"])]
fn other_law(bencher: Bencher, soil: &str) {
    wheel_step(bencher, soil, 0.02);
}

fn wheel_step(bencher: Bencher, soil: &str, grid_m: f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/soil/{soil}.yaml"));
    let spec = SoilSpec::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let soils = Soils::uniform(Law::try_from(&spec).unwrap_or_else(|error| panic!("{error}")));
    let mut rig = Rig::new(grid_m);
    // On its way and at its depth.
    (0..2000).for_each(|_| rig.step(&soils));
    bencher.bench_local(|| rig.step(&soils));
}

/// A wheel that sinks under its load and drives to and fro on its ground.
struct Rig {
    ground: GroundPatch,
    memory: MemoryPatch,
    scratch: PressScratch,
    wheel: WheelShape,
    wheel_memory: WheelMemory,
    centre_m: Vector3<f64>,
    rise_m_s: f64,
    ahead: f64,
}

impl Rig {
    fn new(grid_m: f64) -> Self {
        let ground = GroundPatch::flat(grid_m, SIDE_M);
        let wheel = WheelShape::plain(0.25, 0.2);
        Self {
            memory: MemoryPatch::new(&ground),
            ground,
            scratch: PressScratch::default(),
            wheel,
            wheel_memory: WheelMemory::carrying(LOAD_N),
            centre_m: Vector3::z() * wheel.radius_m,
            rise_m_s: 0.0,
            ahead: 1.0,
        }
    }

    fn step(&mut self, soils: &Soils) {
        if self.centre_m.x.abs() > 0.25 * SIDE_M {
            self.ahead = -self.centre_m.x.signum();
        }
        let mut context =
            SoilContext { soils, ground: &mut self.ground, memory: &mut self.memory, scratch: &mut self.scratch };
        let motion = WheelMotion {
            world_from_wheel: Pose::from_parts(self.centre_m.into(), UnitQuaternion::identity()),
            linear_m_s: Vector3::new(self.ahead * SPEED_M_S, 0.0, self.rise_m_s),
            angular_rad_s: Vector3::y() * (self.ahead * OMEGA_RAD_S),
        };
        let contact = step(&mut context, &self.wheel, &mut self.wheel_memory, &motion, &CONDITIONS);
        let (dt_s, gravity_m_s2) = (CONDITIONS.dt_s, CONDITIONS.gravity_m_s2);
        self.rise_m_s += (contact.wrench.force.z / LOAD_N - 1.0) * gravity_m_s2 * dt_s;
        self.centre_m += Vector3::new(self.ahead * SPEED_M_S, 0.0, self.rise_m_s) * dt_s;
    }
}
