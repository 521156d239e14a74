//! The viewers of a run beside the console: a server for Foxglove and a file for Rerun. Both get the same messages as
//! the bag recorder.

use std::sync::Arc;

use selene_coherence::RunId;
use selene_console::{Foxglove, ListeningSocket};
use selene_ros::transport::Transport;
use selene_sim::Model;
use selene_terrain::Ruts;

use crate::args::ViewersArgs;
use crate::commands::console;
use crate::fault::Fault;
use crate::rerun_file::RerunFile;
use crate::summary::Summary;
use crate::verbosity::Verbosity;

/// The viewers of a run.
pub(crate) struct Viewers {
    foxglove: Option<Foxglove>,
    rerun: Option<RerunFile>,
}

/// Refuses a Rerun file that could not be created, before anything is loaded.
pub(crate) fn check(args: &ViewersArgs) -> Result<(), Fault> {
    args.rerun.as_deref().map_or(Ok(()), RerunFile::check)
}

/// Opens the address of Foxglove's server, if one is requested.
pub(crate) fn listening_socket(args: &ViewersArgs) -> Result<Option<ListeningSocket>, Fault> {
    args.foxglove.map(|address| ListeningSocket::open(address).map_err(Fault::input)).transpose()
}

impl Viewers {
    /// Starts the requested viewers and prints Foxglove's address; `ruts` are those on which the run begins.
    pub(crate) fn begin(
        args: &ViewersArgs,
        listening_socket: Option<ListeningSocket>,
        run: &RunId,
        model: &Arc<Model>,
        ruts: Ruts,
    ) -> Result<Self, Fault> {
        let serve = |listening_socket| {
            Foxglove::serve(listening_socket, &run.to_string(), args.foxglove_origin.clone()).map_err(Fault::run)
        };
        let foxglove = listening_socket.map(serve).transpose()?;
        if let Some(foxglove) = &foxglove {
            // Even with `--quiet`: without it nobody could connect.
            Verbosity::Usual.note(format_args!("foxglove: ws://{}", foxglove.address()));
        }
        let rerun = args.rerun.as_deref().map(|path| RerunFile::begin(path, model, ruts)).transpose()?;
        Ok(Self { foxglove, rerun })
    }

    /// The transports through which the viewers get messages.
    pub(crate) fn taps(&self) -> Vec<Arc<dyn Transport>> {
        let foxglove = self.foxglove.as_ref().map(Foxglove::tap);
        foxglove.into_iter().chain(self.rerun.as_ref().map(RerunFile::tap)).collect()
    }

    /// Ends the viewers and adds their results to `summary`.
    ///
    /// # Errors
    /// When a file is incomplete.
    pub(crate) fn end(self, summary: &mut Summary) -> Result<(), Fault> {
        if let Some(foxglove) = &self.foxglove {
            print(foxglove, summary);
        }
        let rows = self.rerun.map(RerunFile::end).transpose()?;
        rows.into_iter().flatten().for_each(|(label, reported)| summary.row(label, reported));
        Ok(())
    }
}

fn print(foxglove: &Foxglove, summary: &mut Summary) {
    console::in_words(&foxglove.refused()).into_iter().for_each(|reported| summary.row("foxglove refused", reported));
    let dropped = foxglove.dropped();
    if dropped > 0 {
        summary.row("foxglove dropped", format!("{dropped} messages that clients were too slow for"));
    }
}
