//! What advances a window's soil: the CPU, or a device, on which points and grains stay from one exchange of forces to
//! the next.

use selene_crm::{Body, CrmError, DeviceSoil, Model, Reaction, Scratch, SoilDevice, State};
use selene_spheres::kernel::check_bodies;
use selene_spheres::{DeviceSpheres, SpheresDevice, SpheresError};

/// A device that steps soil, of either kind.
#[derive(Clone, Debug)]
pub struct GranularDevice {
    /// For points.
    pub points: SoilDevice,
    /// For single grains.
    pub grains: SpheresDevice,
}

/// Advances a window's soil. It holds nothing that a state would lack.
#[derive(Debug, Default)]
pub struct SoilSolver {
    pub(crate) points: PointSolver,
    pub(crate) grains: GrainSolver,
}

impl SoilSolver {
    /// A solver on the CPU, or on `device`.
    #[must_use]
    pub fn new(device: Option<&GranularDevice>) -> Self {
        let Some(GranularDevice { points, grains }) = device else { return Self::default() };
        Self { points: PointSolver::Device(Box::new(OnDevice::new(points))), grains: GrainSolver::new(Some(grains)) }
    }
}

/// Advances points.
#[derive(Debug)]
pub(crate) enum PointSolver {
    /// On the CPU.
    Cpu(Box<Scratch>),
    /// On a device.
    Device(Box<OnDevice<SoilDevice, Model, dyn DeviceSoil>>),
}

impl Default for PointSolver {
    fn default() -> Self {
        Self::Cpu(Box::default())
    }
}

impl PointSolver {
    /// Advances points as [`selene_crm::step()`] does, and returns the impulses on bodies. On a device the points of
    /// `state` stay as they are until [`PointSolver::bring_back`].
    pub(crate) fn step(
        &mut self,
        model: &Model,
        state: &mut State,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<Vec<Reaction>, CrmError> {
        let on_device = match self {
            Self::Cpu(scratch) => return Ok(selene_crm::step(model, state, bodies, duration_s, scratch)?.reactions),
            Self::Device(on_device) => on_device,
        };
        let (made_for, mut soil, is_behind) = on_device.take(model, SoilDevice::open)?;
        if is_behind {
            soil.load(state)?;
        }
        let results = soil.step(bodies, duration_s)?;
        on_device.put(made_for, soil);
        Ok(results.reactions)
    }

    /// Sets the points of `state` to those on the device, if they are newer.
    pub(crate) fn bring_back(&mut self, state: &mut State) -> Result<(), CrmError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Device(on_device) => on_device.newer().map_or(Ok(()), |soil| soil.save(state)),
        }
    }
}

/// Advances single grains.
#[derive(Debug)]
pub(crate) enum GrainSolver {
    /// On the CPU.
    Cpu(Box<selene_spheres::Scratch>),
    /// On a device, and on the CPU while bodies are among them that the device does not take.
    Device(Box<OnDevice<SpheresDevice, selene_spheres::Model, dyn DeviceSpheres>>, Box<selene_spheres::Scratch>),
}

impl Default for GrainSolver {
    fn default() -> Self {
        Self::Cpu(Box::default())
    }
}

impl GrainSolver {
    /// A solver on the CPU, or on `device`.
    pub(crate) fn new(device: Option<&SpheresDevice>) -> Self {
        device.map(|device| Self::Device(Box::new(OnDevice::new(device)), Box::default())).unwrap_or_default()
    }

    /// Advances grains as [`selene_spheres::step()`] does, and returns the impulses on bodies. On a device those of
    /// `state` stay as they are until [`GrainSolver::bring_back`].
    pub(crate) fn step(
        &mut self,
        model: &selene_spheres::Model,
        state: &mut selene_spheres::State,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<Vec<Reaction>, SpheresError> {
        // Only the bodies decide it, so that a resumed run decides the same.
        let takes_bodies = check_bodies(bodies).is_ok();
        if !takes_bodies {
            self.bring_back(state)?;
        }
        let on_device = match self {
            Self::Device(on_device, _) if takes_bodies => on_device,
            Self::Cpu(scratch) | Self::Device(_, scratch) => {
                return Ok(selene_spheres::step(model, state, bodies, duration_s, scratch)?.reactions);
            }
        };
        let (made_for, mut grains, is_behind) = on_device.take(model, SpheresDevice::open)?;
        if is_behind {
            grains.load(state)?;
        }
        let results = grains.step(bodies, duration_s)?;
        on_device.put(made_for, grains);
        Ok(results.reactions)
    }

    /// Sets the grains of `state` to those on the device, if they are newer.
    pub(crate) fn bring_back(&mut self, state: &mut selene_spheres::State) -> Result<(), SpheresError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Device(on_device, _) => on_device.newer().map_or(Ok(()), |grains| grains.save(state)),
        }
    }
}

/// Soil on a device of kind `D`, for models `M`.
#[derive(Debug)]
pub(crate) struct OnDevice<D, M, S: ?Sized> {
    device: D,
    /// The soil, and the model that it was made for; `None` before the first step and after a failed one.
    soil: Option<(M, Box<S>)>,
    /// Whether what is there is newer than the state.
    is_ahead: bool,
}

impl<D: Clone, M: Clone + PartialEq, S: ?Sized> OnDevice<D, M, S> {
    fn new(device: &D) -> Self {
        Self { device: device.clone(), soil: None, is_ahead: false }
    }

    /// Takes out the soil for `model`, and whether the state must be loaded first.
    fn take<E>(&mut self, model: &M, open: impl FnOnce(&D, &M) -> Result<Box<S>, E>) -> Result<(M, Box<S>, bool), E> {
        let is_ahead = std::mem::take(&mut self.is_ahead);
        match self.soil.take() {
            Some((made_for, soil)) if made_for == *model => Ok((made_for, soil, !is_ahead)),
            _ => Ok((model.clone(), open(&self.device, model)?, true)),
        }
    }

    /// Puts back the soil after a step.
    fn put(&mut self, made_for: M, soil: Box<S>) {
        (self.soil, self.is_ahead) = (Some((made_for, soil)), true);
    }

    /// The soil, if it is newer than the state, which is then to be set to it.
    fn newer(&mut self) -> Option<&S> {
        let is_ahead = std::mem::take(&mut self.is_ahead);
        self.soil.as_ref().filter(|_| is_ahead).map(|(_, soil)| &**soil)
    }
}
