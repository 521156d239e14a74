//! What shows a run beside the console, as it was asked for: a server for Foxglove and a file for Rerun. Both are given
//! what the bag recorder is given.

use std::sync::Arc;

use selene_coherence::RunId;
use selene_console::{Door, Foxglove};
use selene_ros::transport::Transport;
use selene_sim::Model;
use selene_terrain::Ruts;

use crate::args::ViewersArgs;
use crate::commands::console;
use crate::fault::Fault;
use crate::rerun_file::RerunFile;
use crate::summary::Summary;

/// What shows a run.
pub(crate) struct Viewers {
    foxglove: Option<Foxglove>,
    rerun: Option<RerunFile>,
}

/// Refuses what would not begin, before anything is loaded.
pub(crate) fn check(args: &ViewersArgs) -> Result<(), Fault> {
    args.rerun.as_deref().map_or(Ok(()), RerunFile::check)
}

/// The address that Foxglove's server is asked to listen at, if there is to be one.
pub(crate) fn door(args: &ViewersArgs) -> Result<Option<Door>, Fault> {
    args.foxglove.map(|address| Door::open(address).map_err(Fault::input)).transpose()
}

impl Viewers {
    /// Begins what was asked for, and says where; `ruts` are those that the run begins on.
    pub(crate) fn begin(
        args: &ViewersArgs,
        door: Option<Door>,
        run: &RunId,
        model: &Arc<Model>,
        ruts: Ruts,
    ) -> Result<Self, Fault> {
        let serve = |door| Foxglove::serve(door, &run.to_string(), args.foxglove_origin.clone()).map_err(Fault::run);
        let foxglove = door.map(serve).transpose()?;
        if let Some(foxglove) = &foxglove {
            eprintln!("foxglove: ws://{}", foxglove.address());
        }
        let rerun = args.rerun.as_deref().map(|path| RerunFile::begin(path, model, ruts)).transpose()?;
        Ok(Self { foxglove, rerun })
    }

    /// The transports through which they get what is published.
    pub(crate) fn taps(&self) -> Vec<Arc<dyn Transport>> {
        let foxglove = self.foxglove.as_ref().map(Foxglove::tap);
        foxglove.into_iter().chain(self.rerun.as_ref().map(RerunFile::tap)).collect()
    }

    /// Ends them and tells in `summary` what they came to.
    ///
    /// # Errors
    /// When a file is not whole.
    pub(crate) fn end(self, summary: &mut Summary) -> Result<(), Fault> {
        if let Some(foxglove) = &self.foxglove {
            tell(foxglove, summary);
        }
        let rows = self.rerun.map(RerunFile::end).transpose()?;
        rows.into_iter().flatten().for_each(|(label, told)| summary.row(label, told));
        Ok(())
    }
}

fn tell(foxglove: &Foxglove, summary: &mut Summary) {
    console::in_words(&foxglove.refused()).into_iter().for_each(|told| summary.row("foxglove refused", told));
    let dropped = foxglove.dropped();
    if dropped > 0 {
        summary.row("foxglove dropped", format!("{dropped} messages that clients were too slow for"));
    }
}
