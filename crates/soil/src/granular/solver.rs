//! What advances a window's points: the CPU, or a device, on which they stay from one exchange of forces to the next.

use selene_crm::{Body, CrmError, DeviceSoil, Model, Scratch, SoilDevice, State, StepResults};

/// Advances a window's points.
#[derive(Debug)]
pub enum PointSolver {
    /// On the CPU.
    Cpu(Box<Scratch>),
    /// On a device.
    Device(Box<SoilOnDevice>),
}

/// A window's soil on a device.
#[derive(Debug)]
pub struct SoilOnDevice {
    device: SoilDevice,
    /// The soil, and the model that it was made for; `None` before the first step and after a failed one.
    soil: Option<(Model, Box<dyn DeviceSoil>)>,
    /// Whether the points there are newer than those of the state.
    is_ahead: bool,
}

impl PointSolver {
    /// A solver on the CPU, or on `device`.
    #[must_use]
    pub fn new(device: Option<&SoilDevice>) -> Self {
        match device {
            None => Self::Cpu(Box::default()),
            Some(device) => {
                Self::Device(Box::new(SoilOnDevice { device: device.clone(), soil: None, is_ahead: false }))
            }
        }
    }

    /// Advances the soil as [`selene_crm::step()`] does. On a device the points of `state` stay as they are until
    /// [`PointSolver::bring_back`].
    pub(crate) fn step(
        &mut self,
        model: &Model,
        state: &mut State,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<StepResults, CrmError> {
        match self {
            Self::Cpu(scratch) => selene_crm::step(model, state, bodies, duration_s, scratch),
            Self::Device(soil) => soil.step(model, state, bodies, duration_s),
        }
    }

    /// Sets the points of `state` to those on the device, if they are newer.
    pub(crate) fn bring_back(&mut self, state: &mut State) -> Result<(), CrmError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Device(soil) => soil.bring_back(state),
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
    ) -> Result<StepResults, CrmError> {
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
