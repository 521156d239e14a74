//! Time of one wheel step by grid and steering angle: a wheel of 0.25 × 0.20 m at 20 %
//! slip under 100 N.

use std::path::Path;
use std::time::Instant;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::{
    Bulldozing, Conditions, Law, MemoryPatch, PressScratch, Scm, SoilContext, SoilSpec, Soils, WheelMemory,
    WheelMotion, WheelShape, step,
};
use selene_terrain::GroundPatch;

const STEPS: usize = 8000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/soil");
    for name in ["lunar", "viper_demo"] {
        let scm = Scm::try_from(&SoilSpec::load(&directory.join(format!("{name}.yaml")))?)?;
        for (grid_m, steer_deg, bulldozing) in [
            (0.02, 0.0, false),
            (0.02, 40.0, false),
            (0.02, 0.0, true),
            (0.01, 0.0, false),
            (0.01, 0.0, true),
            (0.05, 0.0, false),
        ] {
            let soil = Soils::uniform(Law::Scm(scm.with_bulldozing(bulldozing.then(Bulldozing::default))));
            let micros = micros_a_step(&soil, grid_m, f64::to_radians(steer_deg));
            println!(
                "{name:10} grid {grid_m} m, steered {steer_deg:2}°, bulldozing {bulldozing:5}: {micros:6.2} µs a step"
            );
        }
    }
    Ok(())
}

fn micros_a_step(soils: &Soils, grid_m: f64, steer_rad: f64) -> f64 {
    let wheel = WheelShape { radius_m: 0.25, width_m: 0.20, ..WheelShape::default() };
    let mut ground = GroundPatch::flat(grid_m, 4.0);
    let (mut memory, mut scratch) = (MemoryPatch::new(&ground), PressScratch::default());
    let mut context = SoilContext { soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
    let conditions = Conditions { dt_s: 5e-4, gravity_m_s2: 1.62 };
    let mut wheel_memory = WheelMemory::default();
    let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, steer_rad);
    let (ahead, mut centre_m, mut rise_m_s) = (rotation * Vector3::x() * 0.16, Vector3::z() * 0.25, 0.0);
    let start = Instant::now();
    for _ in 0..STEPS {
        let motion = WheelMotion {
            world_from_wheel: Pose::from_parts(centre_m.into(), rotation),
            linear_m_s: ahead + Vector3::z() * rise_m_s,
            angular_rad_s: rotation * Vector3::y() * 0.8,
        };
        let contact = step(&mut context, &wheel, &mut wheel_memory, &motion, &conditions);
        rise_m_s += (contact.wrench.force.z / 100.0 - 1.0) * 1.62 * 5e-4;
        centre_m += (ahead + Vector3::z() * rise_m_s) * 5e-4;
    }
    start.elapsed().as_secs_f64() * 1e6 / STEPS as f64
}
