//! A square of the finest level, 256 posts on a side, with the rocks whose middle is on it.

use std::sync::Arc;

use crate::level::Level;
use crate::surface::rock::Rock;

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) level: Arc<Level>,
    pub(crate) rocks: Vec<Rock>,
}
