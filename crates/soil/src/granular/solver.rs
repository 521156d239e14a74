//! What advances a window's soil: the CPU, or a device, on which points stay from one exchange of forces to the next.

use selene_crm::{Body, CrmError, DeviceSoil, Model, Reaction, Scratch, SoilDevice, State};
use selene_spheres::SpheresError;

use crate::granular::bed::{Bed, Grains};

/// Advances a window's soil. It holds nothing that a state would lack.
#[derive(Debug, Default)]
pub struct SoilSolver {
    points: PointSolver,
    grains: Box<selene_spheres::Scratch>,
}

/// Advances points.
#[derive(Debug)]
enum PointSolver {
    /// On the CPU.
    Cpu(Box<Scratch>),
    /// On a device.
    Device(Box<SoilOnDevice>),
}

/// A window's soil on a device.
#[derive(Debug)]
struct SoilOnDevice {
    device: SoilDevice,
    /// The soil, and the model that it was made for; `None` before the first step and after a failed one.
    soil: Option<(Model, Box<dyn DeviceSoil>)>,
    /// Whether the points there are newer than those of the state.
    is_ahead: bool,
}

impl Default for PointSolver {
    fn default() -> Self {
        Self::Cpu(Box::default())
    }
}

impl SoilSolver {
    /// A solver on the CPU, or for points on `device`.
    #[must_use]
    pub fn new(device: Option<&SoilDevice>) -> Self {
        let on_device = |device: &SoilDevice| {
            PointSolver::Device(Box::new(SoilOnDevice { device: device.clone(), soil: None, is_ahead: false }))
        };
        Self { points: device.map(on_device).unwrap_or_default(), ..Self::default() }
    }

    /// Advances points as [`selene_crm::step()`] does, and returns the impulses on bodies. On a device the points of
    /// `state` stay as they are until [`SoilSolver::bring_back`].
    pub(crate) fn step_points(
        &mut self,
        model: &Model,
        state: &mut State,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<Vec<Reaction>, CrmError> {
        let results = match &mut self.points {
            PointSolver::Cpu(scratch) => selene_crm::step(model, state, bodies, duration_s, scratch)?,
            PointSolver::Device(soil) => soil.step(model, state, bodies, duration_s)?,
        };
        Ok(results.reactions)
    }

    /// Advances grains as [`Bed::step`] does.
    pub(crate) fn step_grains(
        &mut self,
        grains: &Grains,
        bed: &mut Bed,
        bodies: impl Iterator<Item = (u64, Body)>,
        duration_s: f64,
    ) -> Result<Vec<Reaction>, SpheresError> {
        bed.step(grains, bodies, duration_s, &mut self.grains)
    }

    /// Sets the points of `state` to those on the device, if they are newer.
    pub(crate) fn bring_back(&mut self, state: &mut State) -> Result<(), CrmError> {
        match &mut self.points {
            PointSolver::Cpu(_) => Ok(()),
            PointSolver::Device(soil) => soil.bring_back(state),
        }
    }
}

impl SoilOnDevice {
    fn step(
        &mut self,
        model: &Model,
        state: &State,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<selene_crm::StepResults, CrmError> {
        let (made_for, mut soil) = match self.soil.take() {
            Some((made_for, soil)) if made_for == *model => (made_for, soil),
            _ => (model.clone(), self.device.open(model)?),
        };
        if !std::mem::take(&mut self.is_ahead) {
            soil.load(state)?;
        }
        let results = soil.step(bodies, duration_s)?;
        (self.soil, self.is_ahead) = (Some((made_for, soil)), true);
        Ok(results)
    }

    fn bring_back(&mut self, state: &mut State) -> Result<(), CrmError> {
        match &self.soil {
            Some((_, soil)) if std::mem::take(&mut self.is_ahead) => soil.save(state),
            _ => Ok(()),
        }
    }
}
