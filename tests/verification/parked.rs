//! A rover parked on a slope: brakes hold the wheels, and the soil's mobilised shear holds the rover for as long as it
//! stands. The slope is level ground with tilted gravity.

use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_sim::{press_wheels, wheel_shapes};
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, SoilContext, SoilSpec, Soils, WheelContact, WheelMemory, WheelShape,
};
use selene_terrain::GroundPatch;
use selene_vehicle::{Forces, Rover, RoverModel, Targets, WheelTargets};

const STEP_S: f64 = 1e-3;
const SETTLING_S: f64 = 10.0;
const PARKED_S: f64 = 600.0;
/// Largest creep allowed on 15° in ten minutes.
const CREEP_MAX_M: f64 = 1e-3;

/// A rover on level soil with nodes 2 cm apart, under tilted gravity.
struct Slope {
    rover: Rover,
    soils: Soils,
    ground: GroundPatch,
    memory: MemoryPatch,
    scratch: PressScratch,
    shapes: Vec<WheelShape>,
    wheels: Vec<WheelMemory>,
    contacts: Vec<WheelContact>,
    gravity_m_s2: f64,
}

impl Slope {
    fn new(rover: &str, soil: &str, slope_deg: f64) -> Self {
        let file = |path: String| selene_tests::repository_file(&path);
        let model = Arc::new(RoverModel::load(&file(format!("config/rover/{rover}.yaml"))).expect("rover"));
        let spec = SoilSpec::load(&file(format!("config/soil/{soil}.yaml"))).expect("soil");
        let (sine, cosine) = slope_deg.to_radians().sin_cos();
        let gravity_m_s2 = 1.62;
        let lean = Vector3::new(-sine, 0.0, -cosine) * gravity_m_s2;
        let first = &model.wheels()[0];
        let start = Pose::translation(0.0, 0.0, first.radius_m - first.centre_in_base_m.z);
        let ground = GroundPatch::flat(0.02, 6.0);
        let shapes = wheel_shapes(&model);
        Self {
            wheels: vec![WheelMemory::default(); shapes.len()],
            contacts: vec![WheelContact::default(); shapes.len()],
            shapes,
            rover: Rover::new(&model, start, lean, STEP_S).expect("starts"),
            soils: Soils::uniform(Law::try_from(&spec).expect("valid")),
            memory: MemoryPatch::new(&ground),
            ground,
            scratch: PressScratch::default(),
            gravity_m_s2,
        }
    }

    fn park(&mut self, seconds: f64) -> Vector3<f64> {
        let rest = Targets::from(WheelTargets::rest(self.wheels.len()));
        for _ in 0..(seconds / STEP_S) as usize {
            let soil = self.press();
            self.rover.step(&rest, &Forces { soil_on_wheel: &soil, on_links: &[] });
        }
        self.rover.world_from_base().translation.vector
    }

    fn press(&mut self) -> Vec<Wrench> {
        let Self { soils, ground, memory, scratch, .. } = self;
        let mut context = SoilContext { soils, ground, memory, scratch };
        let conditions = Conditions { dt_s: STEP_S, gravity_m_s2: self.gravity_m_s2 };
        press_wheels(&mut context, &self.rover, &self.shapes, &mut self.wheels, &conditions, &mut self.contacts);
        self.contacts.iter().map(|contact| contact.wrench).collect()
    }
}

#[test]
fn a_rover_parked_on_fifteen_degrees_creeps_less_than_a_millimetre_in_ten_minutes() {
    let mut slope = Slope::new("viper", "lunar", 15.0);
    let before = slope.park(SETTLING_S);
    let crept_m = (slope.park(PARKED_S) - before).norm();
    println!("crept {:.3e} m in {PARKED_S} s", crept_m);
    assert!(crept_m < CREEP_MAX_M, "{crept_m} m");
}
