//! Arguments of `selene campaign`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use selene_campaign::Shard;

pub(super) const EXAMPLES: &str = "Examples:
  selene campaign config/campaign/soils.yaml --out out/soils    run it, or go on where it was
  selene campaign plan config/campaign/soils.yaml               what would be run, a JSON line for each row
  selene campaign config/campaign/soils.yaml --out /shared/soils --shard 2/8
  selene campaign collect config/campaign/soils.yaml --out /shared/soils

Each row is a run of its own process, of the world alone: neither sensors nor DDS. What came of a row is a file in the \
folder, so a campaign that was killed goes on with the rows that are missing. A row whose process fails or dies is reported as \
failed, with the reason; --retry-failed runs it again. campaign.csv, campaign.parquet and campaign.png are written at the end.

On a cluster: a task of a Slurm array (SLURM_ARRAY_TASK_ID, _MIN, _COUNT) or of an indexed Kubernetes job \
(JOB_COMPLETION_INDEX, and JOB_COMPLETIONS, which is yours to set) takes its share of the rows; `collect` makes the table \
when all have ended. For Ray see docs/campaigns.md.";

/// Arguments of `selene campaign`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CampaignArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CampaignCommand>,
    #[command(flatten)]
    pub(crate) run: CampaignRunArgs,
}

/// Subcommands of `selene campaign`.
#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    /// Make the table of the rows that have been run
    Collect(CampaignCollectArgs),
    /// Print a JSON line for each row, with the command that runs it
    Plan(CampaignPlanArgs),
}

/// Arguments for running a campaign.
#[derive(Debug, Args)]
pub(crate) struct CampaignRunArgs {
    /// The campaign's file
    #[arg(value_name = "FILE.yaml", required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Folder for rows and table [default: out/ and the file's name]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of rows to run at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = super::values::threads)]
    pub(crate) workers: Option<usize>,
    /// Run only these rows: every N-th from I on, counted from 0 [default: as a Slurm array or Kubernetes job says]
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Run only this row, by its number
    #[arg(long, value_name = "ROW", conflicts_with = "shard")]
    pub(crate) only: Option<usize>,
    /// Run failed rows again
    #[arg(long)]
    pub(crate) retry_failed: bool,
}

/// Arguments of `selene campaign collect`.
#[derive(Debug, Args)]
pub(crate) struct CampaignCollectArgs {
    /// The campaign's file
    #[arg(value_name = "FILE.yaml")]
    pub(crate) file: PathBuf,
    /// Folder with its rows, for the table [default: out/ and the file's name]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `selene campaign plan`.
#[derive(Debug, Args)]
pub(crate) struct CampaignPlanArgs {
    /// The campaign's file
    #[arg(value_name = "FILE.yaml")]
    pub(crate) file: PathBuf,
}
