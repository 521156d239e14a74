//! Port for grains that a device other than the CPU steps, with the kernels of `kernel`. The grains and the memory of
//! their contacts are on the device between `load` and `save`.

use std::fmt::{self, Debug};
use std::sync::Arc;

use selene_crm::Body;

use crate::error::SpheresError;
use crate::model::Model;
use crate::state::State;
use crate::step::StepResults;

/// Grains on a device.
pub trait DeviceSpheres: Debug + Send + Sync {
    /// Replaces all grains and contacts on the device by those of `state`.
    ///
    /// # Errors
    /// When the state is not valid, a grain has more contacts than there is room for, or the grains do not fit on the
    /// device. The grains there are then as before.
    fn load(&mut self, state: &State) -> Result<(), SpheresError>;

    /// Advances the grains by `duration_s`, while each of `bodies` moves along its twist, as [`crate::step()`] does.
    ///
    /// # Errors
    /// When the duration or a body is not valid, a body is a drum, or there are more than 512: the grains are then as
    /// before. When more than 1 000 000 substeps are needed, a grain leaves through an open wall, overlaps too deeply,
    /// becomes too fast or has too many neighbours, or the device fails: they must then be loaded again.
    fn step(&mut self, bodies: &[Body], duration_s: f64) -> Result<StepResults, SpheresError>;

    /// Sets the grains of `state`, which are those that were loaded in the same order, and its contacts to those on the
    /// device. Loaded again, they go on as if there had been no break.
    ///
    /// # Errors
    /// When the device or the last step failed, or `state` has another number of grains.
    fn save(&self, state: &mut State) -> Result<(), SpheresError>;
}

type Open = dyn Fn(&Model) -> Result<Box<dyn DeviceSpheres>, SpheresError> + Send + Sync;

/// A device that can step grains.
#[derive(Clone)]
pub struct SpheresDevice {
    name: String,
    open: Arc<Open>,
}

impl SpheresDevice {
    /// A device of this name; `open` prepares it for the grains of a model.
    pub fn new(
        name: &str,
        open: impl Fn(&Model) -> Result<Box<dyn DeviceSpheres>, SpheresError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), open: Arc::new(open) }
    }

    /// Prepares the device for the grains of `model`.
    ///
    /// # Errors
    /// When the device fails.
    pub fn open(&self, model: &Model) -> Result<Box<dyn DeviceSpheres>, SpheresError> {
        (self.open)(model)
    }
}

impl Debug for SpheresDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpheresDevice").field(&self.name).finish()
    }
}
