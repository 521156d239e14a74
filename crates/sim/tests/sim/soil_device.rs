//! Points of granular soil on a device that refuses a step when told to: here the CPU's own solver behind the port for
//! devices. What happens on GPUs is tested in `tests/parity`.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use selene_crm::{
    Body, CrmError, DeviceSoil, LAYERS, Model as SoilModel, PlacedDrum, Point, Scratch, SoilDevice, SoilPiece, State,
    StepResults, Totals, step,
};
use selene_sim::{Model, World};
use selene_soil::GranularDevice;
use selene_spheres::{SpheresDevice, SpheresError};

use crate::common::{drive, parsed};
use crate::granular::{scenario, window};

/// Soil that the CPU steps as a device does.
#[derive(Debug)]
struct OnCpu {
    model: SoilModel,
    state: State,
    /// Order in which the points were loaded.
    order: Vec<u32>,
    marked: Option<State>,
    scratch: Scratch,
    /// Steps until one is refused.
    left: Arc<AtomicU32>,
}

fn device(left: &Arc<AtomicU32>) -> GranularDevice {
    let left = Arc::clone(left);
    let points = SoilDevice::new("a test", move |model| {
        Ok(Box::new(OnCpu {
            model: model.clone(),
            state: State::default(),
            order: Vec::new(),
            marked: None,
            scratch: Scratch::default(),
            left: Arc::clone(&left),
        }))
    });
    let no_grains = |_: &selene_spheres::Model| Err(SpheresError::Device("a test: no grains".to_owned()));
    GranularDevice { points, grains: SpheresDevice::new("a test", no_grains) }
}

impl DeviceSoil for OnCpu {
    fn load(&mut self, state: &State) -> Result<(), CrmError> {
        self.order = state.points.iter().map(|point| point.id).collect();
        (self.state, self.marked) = (state.clone(), None);
        Ok(())
    }

    fn step(&mut self, bodies: &[Body], duration_s: f64) -> Result<StepResults, CrmError> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.state.points.iter_mut().for_each(|point| point.position_m.z = f64::NAN);
            return Err(CrmError::Device("a test: refused".to_owned()));
        }
        step(&self.model, &mut self.state, bodies, duration_s, &mut self.scratch)
    }

    fn save(&self, state: &mut State) -> Result<(), CrmError> {
        let points: BTreeMap<u32, &Point> = self.state.points.iter().map(|point| (point.id, point)).collect();
        let masses: BTreeMap<u32, u32> = state.points.iter().map(|point| (point.id, point.mass_mg)).collect();
        let saved = |id: &u32| Point { mass_mg: *masses.get(id).unwrap_or(&points[id].mass_mg), ..*points[id] };
        let mut all = State::default();
        all.points.extend(self.order.iter().map(saved));
        *state = all;
        Ok(())
    }

    fn set_masses(&mut self, state: &State) -> Result<(), CrmError> {
        let masses: BTreeMap<u32, u32> = state.points.iter().map(|point| (point.id, point.mass_mg)).collect();
        self.state.points.iter_mut().for_each(|point| point.mass_mg = masses[&point.id]);
        Ok(())
    }

    fn mark(&mut self) -> Result<(), CrmError> {
        self.marked = Some(self.state.clone());
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), CrmError> {
        self.state = self.marked.take().ok_or_else(|| CrmError::Device("a test: not marked".to_owned()))?;
        Ok(())
    }

    fn totals(&mut self, drums: &[PlacedDrum]) -> Result<Totals, CrmError> {
        Ok(self.state.totals(drums))
    }

    fn tops_m(&self) -> Result<Vec<f32>, CrmError> {
        Ok(self.state.tops_m(&self.model))
    }

    fn highest(&self, outside: &[PlacedDrum]) -> Result<Vec<[Option<SoilPiece>; LAYERS]>, CrmError> {
        Ok(self.state.highest(self.model.grid(), outside))
    }
}

/// A rover that drives from one window of soil that throws dust into another.
fn on_device(left: &Arc<AtomicU32>) -> World {
    let text = scenario("lunar_dust", &[window("pit", -0.36), window("next", 0.6)]);
    let model = Model::new(Arc::new(parsed(&text).unwrap())).unwrap().with_soil_device(device(left));
    World::begin(Arc::new(model), None).unwrap()
}

/// A device that refuses a step leaves its points of before the heartbeat, and the CPU goes on as if it had made them.
#[test]
fn the_cpu_makes_a_heartbeat_that_a_device_refuses() {
    const BEFORE: usize = 40;
    let always = Arc::new(AtomicU32::new(u32::MAX));
    let mut before = on_device(&always);
    before.first_snapshot().unwrap();
    drive(&mut before, BEFORE);
    assert!(before.state().granular[&0].is_on_device());
    let taken = u32::MAX - always.load(Ordering::Relaxed);
    let mut on_cpu = World::begin(Arc::new(Model::new(Arc::clone(before.scenario())).unwrap()), None).unwrap();
    on_cpu.set_state(before.copy_state().unwrap());
    drive(&mut on_cpu, 20);
    // In the middle of the next heartbeat.
    let mut refused = on_device(&Arc::new(AtomicU32::new(taken + 5)));
    drive(&mut refused, BEFORE + 20);
    assert!(!refused.state().granular[&0].is_on_device());
    assert_eq!(refused.hash().unwrap(), on_cpu.hash().unwrap());
}

#[test]
fn points_on_a_device_are_those_of_every_copy_and_sleep_as_on_the_cpu() {
    let left = Arc::new(AtomicU32::new(u32::MAX));
    let mut world = on_device(&left);
    let total_mg = world.state().granular[&0].total_mg();
    drive(&mut world, 30);
    let mut branch = world.branch().unwrap();
    let hash = world.hash().unwrap();
    assert_eq!((branch.hash().unwrap(), world.hash().unwrap()), (hash, hash));
    drive(&mut world, 30);
    drive(&mut branch, 30);
    assert_eq!(world.hash().unwrap(), branch.hash().unwrap());
    // Far behind the rover the first window sleeps, and has all its soil but what flew away as dust.
    for _ in 0..3000 {
        world.heartbeat().unwrap();
        if !world.state().granular[&0].is_flowing() {
            break;
        }
    }
    let pit = &world.state().granular[&0];
    assert!(!pit.is_flowing() && world.state().granular[&1].is_on_device());
    assert_eq!(pit.soil_ug(), total_mg as i64 * 1000 + pit.dust_ug());
}
