//! Replaces `rerun_file.rs` in programs built without the feature `rerun`: it refuses every such file.

use std::path::Path;
use std::sync::Arc;

use selene_ros::transport::Transport;
use selene_sim::Model;
use selene_terrain::Ruts;

use crate::fault::Fault;

/// A type without values: without Rerun there is no such file.
pub(crate) enum RerunFile {}

impl RerunFile {
    /// Refuses every file.
    pub(crate) fn check(path: &Path) -> Result<(), Fault> {
        Err(absent(path))
    }

    /// Refuses every file.
    pub(crate) fn begin(path: &Path, _model: &Arc<Model>, _ruts: Ruts) -> Result<Self, Fault> {
        Err(absent(path))
    }

    /// Never called: there is no value.
    pub(crate) fn tap(&self) -> Arc<dyn Transport> {
        match *self {}
    }

    /// Never called: there is no value.
    pub(crate) fn end(self) -> Result<Vec<(&'static str, String)>, Fault> {
        match self {}
    }
}

fn absent(path: &Path) -> Fault {
    let reported = "this program was built without Rerun; build it with `cargo build --release --features rerun`";
    Fault::input(format!("--rerun {}: {reported}", path.display()))
}
