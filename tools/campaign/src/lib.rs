//! Campaigns: many runs described by one file ([`CampaignSpec`]), with one table of results. A [`Plan`] has a row for
//! each run: scenario, seed, and values set in the scenario. Each row is run by its own process ([`run_all`]), and its
//! result is a file in the campaign's folder ([`Folder`]), written atomically. So a campaign that was killed can be
//! resumed, and its shards can run on any machines that share the folder. [`ResultTable`] collects the files as CSV, as
//! Parquet and as a chart.
//!
//! Drawn values depend only on the campaign's seed, the key and the row's number.

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
pub use table::ResultTable;

/// Why a campaign cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A file is refused.
    #[error(transparent)]
    Input(#[from] selene_base::InputError),
    /// A result cannot be written.
    #[error(transparent)]
    Output(#[from] selene_base::OutputError),
    /// The folder has results of another campaign.
    #[error("{}: is of another campaign: {what}; name another folder, or remove this one", path.display())]
    OtherCampaign {
        /// Path of the row's result.
        path: PathBuf,
        /// How the two campaigns differ.
        what: String,
    },
    /// A row's process cannot be started.
    #[error("row {row}: its process cannot be started: {source}")]
    Start {
        /// Number of the row.
        row: usize,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A folder or log cannot be created.
    #[error("{}: cannot be made: {source}", path.display())]
    Folder {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The table cannot be written as Parquet.
    #[error("the table cannot be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}
