//! The surface that wheels press: its changes, and the rocks on it.

pub(crate) mod icosphere;
pub(crate) mod neighbourhood;
pub(crate) mod node_set;
pub(crate) mod page;
pub(crate) mod patch;
pub(crate) mod print;
pub(crate) mod rock;
pub(crate) mod rock_grid;
pub(crate) mod ruts;
pub(crate) mod tile;
