//! Port for soil that a device other than the CPU advances, with the kernels of `kernel`. Its points are on the device
//! between `load` and `save`.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::body::Body;
use crate::error::CrmError;
use crate::model::Model;
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

    /// Sets the points of `state`, which are those that were loaded in the same order, to those on the device.
    ///
    /// # Errors
    /// When the device fails, or `state` has another number of points.
    fn save(&self, state: &mut State) -> Result<(), CrmError>;
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
