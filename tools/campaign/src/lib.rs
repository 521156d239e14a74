//! Campaigns: many runs that a file describes ([`CampaignSpec`]), one table of what came of them. A [`Plan`] has a row for
//! each run: scenario, seed, and values that are set in the scenario. A row is run by a process of its own ([`run_all`]),
//! and what came of it is a file of its own in the campaign's folder ([`Folder`]), written whole or not at all. So a
//! campaign that was killed goes on where it was, shards of it run anywhere that shares the folder, and nothing but files
//! is between them. [`Table`] puts the files together as CSV, as Parquet and as a chart.
//!
//! What is drawn for a row is a function of (the campaign's seed, the key, the row's number) alone.

mod axis;
mod chart;
mod folder;
mod parquet_file;
mod plan;
mod pool;
mod shard;
mod spec;
mod table;

use std::path::PathBuf;

pub use axis::Axis;
pub use chart::chart;
pub use folder::{Folder, Record, Status};
pub use plan::{Plan, Row};
pub use pool::{Pool, run_all};
pub use shard::{Shard, ShardError};
pub use spec::{CampaignSpec, SeedsSpec};
pub use table::Table;

/// Why a campaign cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Its file is refused.
    #[error(transparent)]
    Input(#[from] selene_base::InputError),
    /// A result cannot be written.
    #[error(transparent)]
    Output(#[from] selene_base::OutputError),
    /// The folder has results of another campaign.
    #[error("{}: is of another campaign: {what}; name another folder, or remove this one", path.display())]
    OtherCampaign {
        /// The row's file.
        path: PathBuf,
        /// How the two differ.
        what: String,
    },
    /// A process cannot be started.
    #[error("row {row}: its process cannot be started: {source}")]
    Start {
        /// Number of the row.
        row: usize,
        /// Why.
        source: std::io::Error,
    },
    /// A folder or log cannot be made.
    #[error("{}: cannot be made: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The table is no Parquet.
    #[error("the table cannot be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}
