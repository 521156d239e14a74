//! In place of `rerun_file.rs` where the program is built without the feature `rerun`: there are no such files.

use std::path::Path;
use std::sync::Arc;

use selene_ros::transport::Transport;
use selene_sim::Model;
use selene_terrain::Ruts;

use crate::fault::Fault;

/// A file that there is not.
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

    /// The transport of no file.
    pub(crate) fn tap(&self) -> Arc<dyn Transport> {
        match *self {}
    }

    /// The end of no file.
    pub(crate) fn end(self) -> Result<Vec<(&'static str, String)>, Fault> {
        match self {}
    }
}

fn absent(path: &Path) -> Fault {
    let told = "this program was built without Rerun; build it with `cargo build --release --features rerun`";
    Fault::input(format!("--rerun {}: {told}", path.display()))
}
