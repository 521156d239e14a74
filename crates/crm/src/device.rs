//! Port for soil that a device other than the CPU advances, with the kernels of `kernel`. Its points are on the device
//! from `load` on; `save` copies them, and the other methods tell of them what a world needs at each heartbeat.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::body::Body;
use crate::error::CrmError;
use crate::model::Model;
use crate::reading::{LAYERS, PlacedDrum, SoilPiece, Totals};
use crate::state::State;
use crate::step::StepResults;

/// Granular soil on a device.
pub trait DeviceSoil: Debug + Send + Sync {
    /// Replaces all points on the device by those of `state`.
    ///
    /// # Errors
    /// When a point is not valid, or the points do not fit on the device. Those there are then as before.
    fn load(&mut self, state: &State) -> Result<(), CrmError>;

    /// Advances the soil by `duration_s`, while each of `bodies` moves along its twist, as [`crate::step()`] does.
    ///
    /// # Errors
    /// When the duration or a body is not valid, there are more than 512 bodies or four drums, or more than 100 000
    /// substeps are needed at once: the soil is then as before. When more are needed later, a point leaves the grid
    /// through an open face, the soil becomes too fast or too dense, or the device fails: it must then be loaded again.
    fn step(&mut self, bodies: &[Body], duration_s: f64) -> Result<StepResults, CrmError>;

    /// Sets the points of `state`, which are those that were loaded in the same order or none, to those on the device. Those
    /// of a state keep their masses, which may be newer.
    ///
    /// # Errors
    /// When the device fails, or `state` has another number of points.
    fn save(&self, state: &mut State) -> Result<(), CrmError>;

    /// Sets the masses of the points to those of `state`, which are the points that were loaded in the same order.
    ///
    /// # Errors
    /// When a mass is that of many cells, or `state` has another number of points.
    fn set_masses(&mut self, state: &State) -> Result<(), CrmError>;

    /// Keeps a copy of the points on the device.
    ///
    /// # Errors
    /// When the device fails.
    fn mark(&mut self) -> Result<(), CrmError>;

    /// Sets the points to those of the last [`DeviceSoil::mark`]; the soil must be loaded again before a step.
    ///
    /// # Errors
    /// When the device fails, or nothing was marked since the soil was loaded.
    fn rewind(&mut self) -> Result<(), CrmError>;

    /// Sums over the points, as [`State::totals`]. The next step takes the speed of the fastest point from the last such
    /// sum: take it after the last step of a heartbeat, as loading does, so that a resumed run makes the same substeps.
    ///
    /// # Errors
    /// When the device fails.
    fn totals(&mut self, drums: &[PlacedDrum]) -> Result<Totals, CrmError>;

    /// Heights of the surface, as [`State::tops_m`].
    ///
    /// # Errors
    /// When the device fails.
    fn tops_m(&self) -> Result<Vec<f32>, CrmError>;

    /// The highest points of each column, as [`State::highest`]; of equally high points the one that was loaded first.
    ///
    /// # Errors
    /// When the device fails.
    fn highest(&self, outside: &[PlacedDrum]) -> Result<Vec<[Option<SoilPiece>; LAYERS]>, CrmError>;
}

type Open = dyn Fn(&Model) -> Result<Box<dyn DeviceSoil>, CrmError> + Send + Sync;

/// A device that can advance granular soil.
#[derive(Clone)]
pub struct SoilDevice {
    name: String,
    open: Arc<Open>,
}

impl SoilDevice {
    /// A device of this name; `open` makes room on it for the soil of a model.
    pub fn new(
        name: &str,
        open: impl Fn(&Model) -> Result<Box<dyn DeviceSoil>, CrmError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), open: Arc::new(open) }
    }

    /// Makes room for the soil of `model`.
    ///
    /// # Errors
    /// When the device fails, or has too little room.
    pub fn open(&self, model: &Model) -> Result<Box<dyn DeviceSoil>, CrmError> {
        (self.open)(model)
    }
}

impl Debug for SoilDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SoilDevice").field(&self.name).finish()
    }
}
