//! What advances a window's soil: the CPU, or a device, on which grains stay until the end of a heartbeat, and points
//! until they sleep or the device fails.

use selene_crm::{Body, CrmError, DeviceSoil, Model, Reaction, Scratch, SoilDevice, State};
use selene_spheres::kernel::check_bodies;
use selene_spheres::{DeviceSpheres, SpheresDevice, SpheresError};

use crate::granular::place::{Place, StepNumber};

/// A device that steps soil, of either kind.
#[derive(Clone, Debug)]
pub struct GranularDevice {
    /// For points.
    pub points: SoilDevice,
    /// For single grains.
    pub grains: SpheresDevice,
}

/// Advances a window's soil. It holds nothing that a state would lack, but for points that are on a device.
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
        Self {
            points: PointSolver::Device(Box::new(PointsOnDevice::new(points))),
            grains: GrainSolver::new(Some(grains)),
        }
    }
}

/// Advances points.
#[derive(Debug)]
pub(crate) enum PointSolver {
    /// On the CPU.
    Cpu(Box<Scratch>),
    /// On a device.
    Device(Box<PointsOnDevice>),
}

/// Points as a state has them, where they really are, and what says that their masses are new.
#[derive(Debug)]
pub(crate) struct PlacedPoints<'a> {
    pub(crate) points: &'a State,
    pub(crate) place: Place,
    pub(crate) turn: u64,
}

impl Default for PointSolver {
    fn default() -> Self {
        Self::Cpu(Box::default())
    }
}

impl PointSolver {
    /// Advances points as [`selene_crm::step()`] does, and returns the impulses on bodies. On a device the points of
    /// `state` stay as they are, and `place` says that newer ones are there.
    pub(crate) fn step(
        &mut self,
        model: &Model,
        (state, place, turn): (&mut State, &mut Place, u64),
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<Vec<Reaction>, CrmError> {
        match (self, *place) {
            (Self::Device(on_device), _) => {
                let points = PlacedPoints { points: state, place: *place, turn };
                let (reactions, number) = on_device.step(model, &points, bodies, duration_s)?;
                *place = Place::Device(number);
                Ok(reactions)
            }
            (Self::Cpu(scratch), Place::State) => {
                Ok(selene_crm::step(model, state, bodies, duration_s, scratch)?.reactions)
            }
            (Self::Cpu(_), Place::Device(_)) => Err(gone()),
        }
    }

    /// The device on which points are, with their masses; `None` if they are in the state.
    pub(crate) fn device(&mut self, points: &PlacedPoints) -> Option<Result<&mut dyn DeviceSoil, CrmError>> {
        let Place::Device(number) = points.place else { return None };
        Some(match self {
            Self::Cpu(_) => Err(gone()),
            Self::Device(on_device) => on_device.after(number, points),
        })
    }

    /// Sets the points of `state`, which are at `place`, to those on the device, if they are there.
    pub(crate) fn save(&self, state: &mut State, place: Place) -> Result<(), CrmError> {
        match (self, place) {
            (_, Place::State) => Ok(()),
            (Self::Cpu(_), Place::Device(_)) => Err(gone()),
            (Self::Device(on_device), Place::Device(number)) => on_device.save(state, number),
        }
    }

    /// Keeps a copy of points that are on the device there.
    pub(crate) fn mark(&mut self, points: &PlacedPoints) -> Result<(), CrmError> {
        match (self, points.place) {
            (_, Place::State) => Ok(()),
            (Self::Cpu(_), Place::Device(_)) => Err(gone()),
            (Self::Device(on_device), Place::Device(number)) => on_device.mark(number, points),
        }
    }

    /// Sets the points of `state` to those that were marked on the device at `place`.
    pub(crate) fn rewind(&mut self, state: &mut State, place: Place) -> Result<(), CrmError> {
        match (self, place) {
            (Self::Device(on_device), Place::Device(before)) => on_device.rewind(state, before),
            _ => Err(gone()),
        }
    }
}

fn gone() -> CrmError {
    CrmError::Device("a device: the points are no longer there".to_owned())
}

/// Points on a device.
#[derive(Debug)]
pub(crate) struct PointsOnDevice {
    device: SoilDevice,
    /// The soil, and the model that it was made for.
    soil: Option<(Model, Box<dyn DeviceSoil>)>,
    /// The step that left the points where they are; `None` after one that failed.
    number: Option<StepNumber>,
    /// The step that left the points where they were marked.
    marked: Option<StepNumber>,
    /// The `turn` whose masses the device has.
    turn: u64,
}

impl PointsOnDevice {
    fn new(device: &SoilDevice) -> Self {
        Self { device: device.clone(), soil: None, number: None, marked: None, turn: 0 }
    }

    fn step(
        &mut self,
        model: &Model,
        points: &PlacedPoints,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<(Vec<Reaction>, StepNumber), CrmError> {
        let soil = match points.place {
            Place::State => self.load(model, points)?,
            Place::Device(number) => self.after(number, points)?,
        };
        let results = soil.step(bodies, duration_s);
        self.number = results.is_ok().then(StepNumber::next);
        Ok((results?.reactions, self.number.ok_or_else(gone)?))
    }

    fn load(&mut self, model: &Model, points: &PlacedPoints) -> Result<&mut dyn DeviceSoil, CrmError> {
        (self.number, self.marked) = (None, None);
        let soil = match self.soil.take() {
            Some((made_for, soil)) if made_for == *model => soil,
            _ => self.device.open(model)?,
        };
        let (_, soil) = self.soil.insert((model.clone(), soil));
        soil.load(points.points)?;
        self.turn = points.turn;
        Ok(&mut **soil)
    }

    fn save(&self, state: &mut State, number: StepNumber) -> Result<(), CrmError> {
        match &self.soil {
            Some((_, soil)) if self.number == Some(number) => soil.save(state),
            _ => Err(gone()),
        }
    }

    fn mark(&mut self, number: StepNumber, points: &PlacedPoints) -> Result<(), CrmError> {
        self.marked = None;
        self.after(number, points)?.mark()?;
        self.marked = Some(number);
        Ok(())
    }

    fn rewind(&mut self, state: &mut State, before: StepNumber) -> Result<(), CrmError> {
        let Some((_, soil)) = self.soil.as_mut().filter(|_| self.marked == Some(before)) else { return Err(gone()) };
        (self.number, self.marked) = (None, None);
        soil.rewind()?;
        soil.save(state)
    }

    /// The soil that a step of this number left, with the points' masses.
    fn after(&mut self, number: StepNumber, points: &PlacedPoints) -> Result<&mut dyn DeviceSoil, CrmError> {
        let Some((_, soil)) = self.soil.as_mut().filter(|_| self.number == Some(number)) else { return Err(gone()) };
        if self.turn != points.turn {
            soil.set_masses(points.points)?;
            self.turn = points.turn;
        }
        Ok(&mut **soil)
    }
}

/// Advances single grains.
#[derive(Debug)]
pub(crate) enum GrainSolver {
    /// On the CPU.
    Cpu(Box<selene_spheres::Scratch>),
    /// On a device, and on the CPU while bodies are among them that the device does not take.
    Device(Box<GrainsOnDevice>, Box<selene_spheres::Scratch>),
}

impl Default for GrainSolver {
    fn default() -> Self {
        Self::Cpu(Box::default())
    }
}

impl GrainSolver {
    /// A solver on the CPU, or on `device`.
    pub(crate) fn new(device: Option<&SpheresDevice>) -> Self {
        device.map(|device| Self::Device(Box::new(GrainsOnDevice::new(device)), Box::default())).unwrap_or_default()
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
        match self {
            Self::Device(on_device, _) if takes_bodies => on_device.step(model, state, bodies, duration_s),
            Self::Cpu(scratch) | Self::Device(_, scratch) => {
                Ok(selene_spheres::step(model, state, bodies, duration_s, scratch)?.reactions)
            }
        }
    }

    /// Sets the grains of `state` to those on the device, if they are newer.
    pub(crate) fn bring_back(&mut self, state: &mut selene_spheres::State) -> Result<(), SpheresError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Device(on_device, _) => on_device.newer().map_or(Ok(()), |grains| grains.save(state)),
        }
    }
}

/// Grains on a device.
#[derive(Debug)]
pub(crate) struct GrainsOnDevice {
    device: SpheresDevice,
    /// The grains, and the model that they were made for; `None` before the first step and after a failed one.
    grains: Option<(selene_spheres::Model, Box<dyn DeviceSpheres>)>,
    /// Whether what is there is newer than the state.
    is_ahead: bool,
}

impl GrainsOnDevice {
    fn new(device: &SpheresDevice) -> Self {
        Self { device: device.clone(), grains: None, is_ahead: false }
    }

    fn step(
        &mut self,
        model: &selene_spheres::Model,
        state: &selene_spheres::State,
        bodies: &[Body],
        duration_s: f64,
    ) -> Result<Vec<Reaction>, SpheresError> {
        let is_ahead = std::mem::take(&mut self.is_ahead);
        let (mut grains, is_ahead) = match self.grains.take() {
            Some((made_for, grains)) if made_for == *model => (grains, is_ahead),
            _ => (self.device.open(model)?, false),
        };
        if !is_ahead {
            grains.load(state)?;
        }
        let results = grains.step(bodies, duration_s)?;
        (self.grains, self.is_ahead) = (Some((model.clone(), grains)), true);
        Ok(results.reactions)
    }

    /// The grains, if they are newer than the state, which is then to be set to them.
    fn newer(&mut self) -> Option<&dyn DeviceSpheres> {
        let is_ahead = std::mem::take(&mut self.is_ahead);
        self.grains.as_ref().filter(|_| is_ahead).map(|(_, grains)| &**grains)
    }
}
