//! What advances a window's points: the CPU, or a device, on which they stay from one exchange of forces to the next.

use selene_crm::{Body, CrmError, DeviceSoil, Model, Scratch, SoilDevice, State, StepResults};

/// Advances a window's points.
#[derive(Debug)]
pub enum PointSolver {
    /// On the CPU.
    Cpu(Box<Scratch>),
    /// On a device.
    Device {
        /// The device.
        device: SoilDevice,
        /// The window's soil there; `None` before the first step.
        soil: Option<Box<dyn DeviceSoil>>,
        /// Whether the points there are newer than those of the state.
        is_ahead: bool,
    },
}

impl PointSolver {
    /// A solver on the CPU, or on `device`.
    #[must_use]
    pub fn new(device: Option<&SoilDevice>) -> Self {
        match device {
            None => Self::Cpu(Box::default()),
            Some(device) => Self::Device { device: device.clone(), soil: None, is_ahead: false },
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
        let (device, soil, is_ahead) = match self {
            Self::Cpu(scratch) => return selene_crm::step(model, state, bodies, duration_s, scratch),
            Self::Device { device, soil, is_ahead } => (device, soil, is_ahead),
        };
        let soil = match soil {
            Some(soil) => soil,
            None => soil.insert(device.open(model)?),
        };
        if !*is_ahead {
            soil.load(state)?;
        }
        *is_ahead = true;
        soil.step(bodies, duration_s)
    }

    /// Sets the points of `state` to those on the device, if they are newer.
    pub(crate) fn bring_back(&mut self, state: &mut State) -> Result<(), CrmError> {
        let Self::Device { soil: Some(soil), is_ahead, .. } = self else { return Ok(()) };
        if std::mem::take(is_ahead) {
            soil.save(state)?;
        }
        Ok(())
    }
}
