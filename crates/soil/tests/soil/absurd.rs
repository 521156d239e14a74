//! Motion that no rover has: every law answers with numbers, and stays in use afterwards.

use std::path::Path;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, SoilContext, SoilSpec, Soils, WheelContact, WheelMemory, WheelMotion,
    WheelShape, step,
};
use selene_terrain::GroundPatch;

const WHEEL: WheelShape = WheelShape { grouser_height_m: 0.01, grousers: 12, ..WheelShape::plain(0.1, 0.08) };

fn law(name: &str) -> Law {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/soil/{name}.yaml"));
    Law::try_from(&SoilSpec::load(&path).expect("preset")).expect("valid")
}

fn is_finite(contact: &WheelContact) -> bool {
    let wrench = &contact.wrench;
    wrench.force.iter().chain(wrench.torque.iter()).all(|v| v.is_finite()) && contact.sinkage_m.is_finite()
}

#[test]
fn absurd_motion_gives_finite_forces_in_every_law() {
    for name in ["lunar", "rigid", "tohoku_silica5_ex1", "slip_map_lunar"] {
        let mut ground = GroundPatch::flat(0.02, 4.0);
        let (mut memory, soils) = (MemoryPatch::new(&ground), Soils::uniform(law(name)));
        let (mut wheel_memory, mut scratch) = (WheelMemory::default(), PressScratch::default());
        let mut press = |at: [f64; 3], attitude: [f64; 3], linear: [f64; 3], spin: f64| {
            let [roll, pitch, yaw] = attitude;
            let rotation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
            let motion = WheelMotion {
                world_from_wheel: Pose::from_parts(Vector3::from(at).into(), rotation),
                linear_m_s: Vector3::from(linear),
                angular_rad_s: rotation * Vector3::y() * spin,
            };
            let mut context =
                SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
            let conditions = Conditions { dt_s: 5e-4, gravity_m_s2: 1.62 };
            step(&mut context, &WHEEL, &mut wheel_memory, &motion, &conditions)
        };
        assert_eq!(press([f64::NAN, 0.0, 0.09], [0.0; 3], [0.0; 3], 0.0), WheelContact::default());
        assert_eq!(press([1e9, 0.0, 0.09], [0.0; 3], [0.0; 3], 0.0), WheelContact::default());
        for spin in [0.0, 1e6, -1e6] {
            for attitude in [[0.0; 3], [3.1, 0.0, 0.3], [1.57, 0.0, 0.0], [0.8, 2.0, 1.0]] {
                for z in [0.099, 0.0, -0.3, -50.0] {
                    for linear in [[0.0; 3], [100.0, 0.0, -50.0], [-1e6, 1e6, 1e6]] {
                        let contact = press([0.1, 0.0, z], attitude, linear, spin);
                        assert!(is_finite(&contact), "{name} {spin} {attitude:?} {z} {linear:?}: {contact:?}");
                        assert!(z > -0.2 || contact.contact_nodes == 0 || contact.sinkage_beyond_radius, "{name} {z}");
                    }
                }
            }
        }
        // Lifted out of what it has done, and set down beside it.
        assert_eq!(press([1.2, -1.2, 0.2], [0.0; 3], [0.0; 3], 0.0).contact_nodes, 0);
        let after = (0..4000).map(|_| press([1.2, -1.2, 0.088], [0.0; 3], [0.0; 3], 0.0)).last();
        assert!(after.is_some_and(|after| is_finite(&after) && after.normal_n > 0.0), "{name}: {after:?}");
    }
}

/// A wheel falls from 100 m, turning and on any side, and lies still in the end.
#[test]
fn a_wheel_dropped_from_a_hundred_metres_comes_to_rest() {
    for name in ["rigid", "tohoku_silica5_ex1", "slip_map_lunar"] {
        let mut ground = GroundPatch::flat(0.05, 40.0);
        let (mut memory, soils) = (MemoryPatch::new(&ground), Soils::uniform(law(name)));
        let (mut wheel_memory, mut scratch) = (WheelMemory::default(), PressScratch::default());
        let (mut at_m, mut velocity_m_s, mass_kg) = (Vector3::z() * 100.0, Vector3::new(0.2, 0.1, 0.0), 5.4);
        let rotation = UnitQuaternion::from_euler_angles(std::f64::consts::PI, 0.2, 0.4);
        let mut contact = WheelContact::default();
        for _ in 0..200_000 {
            let motion = WheelMotion {
                world_from_wheel: Pose::from_parts(at_m.into(), rotation),
                linear_m_s: velocity_m_s,
                angular_rad_s: Vector3::zeros(),
            };
            let mut context =
                SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
            let conditions = Conditions { dt_s: 5e-4, gravity_m_s2: 1.62 };
            contact = step(&mut context, &WHEEL, &mut wheel_memory, &motion, &conditions);
            velocity_m_s += (contact.wrench.force / mass_kg - Vector3::z() * 1.62) * 5e-4;
            at_m += velocity_m_s * 5e-4;
        }
        assert!(velocity_m_s.norm() < 1e-3, "{name}: {velocity_m_s:?}");
        assert!((contact.normal_n / (mass_kg * 1.62) - 1.0).abs() < 0.01, "{name}: {contact:?}");
    }
}
