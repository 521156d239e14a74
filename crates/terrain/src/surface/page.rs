//! A square of the finest level, 256 posts along a side, with the rocks whose centres are on it.

use std::sync::Arc;

use crate::level::Level;
use crate::surface::rock::Rock;

/// Heights and rocks of a page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) level: Arc<Level>,
    pub(crate) rocks: Vec<Rock>,
}
