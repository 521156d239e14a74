//! Arguments of the commands that list and create files, and that support editors and shells: `list`, `new`, `schema`,
//! `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(super) const LIST_EXAMPLES: &str = "Examples:
  selene list                 everything
  selene list rovers soils    these alone

A file may be given by its name: `selene run NAME`, `--rover NAME`, `--soil NAME`, and in a scenario's file. Your own \
folder config/ here or above comes first, then what is installed, then what is compiled in.";

/// Arguments of `selene list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list [default: all]
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) kinds: Vec<ListedKind>,
}

/// Kinds of files that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListedKind {
    Scenarios,
    Rovers,
    Sites,
    Soils,
    Sensors,
}

impl ListedKind {
    /// All kinds, in the order of the list.
    pub(crate) const ALL: [Self; 5] = [Self::Scenarios, Self::Rovers, Self::Sites, Self::Soils, Self::Sensors];

    /// The folder of this kind in the configuration.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Scenarios => "scenario",
            Self::Rovers => "rover",
            Self::Sites => "site",
            Self::Soils => "soil",
            Self::Sensors => "sensor",
        }
    }
}

/// Subcommands of `selene new`.
#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    /// Create a scenario: a file that explains what can be changed
    #[command(after_long_help = NEW_SCENARIO_EXAMPLES)]
    Scenario(NewScenarioArgs),
}

const NEW_SCENARIO_EXAMPLES: &str = "Example:
  selene new scenario mine --rover ex1 --site mare && selene run mine.yaml

Writes mine.yaml into the current folder, or into the one of the name. A file that is there already is never replaced.";

/// Arguments of `selene new scenario`.
#[derive(Debug, Args)]
pub(crate) struct NewScenarioArgs {
    /// Name of the scenario and, without the ending .yaml, of its file
    #[arg(value_name = "NAME")]
    pub(crate) name: PathBuf,
    /// Its rover: a name of `selene list rovers`
    #[arg(long, value_name = "NAME", default_value = "viper")]
    pub(crate) rover: String,
    /// Its site: a name of `selene list sites`
    #[arg(long, value_name = "NAME", default_value = "polar")]
    pub(crate) site: String,
}

pub(super) const SCHEMA_EXAMPLES: &str = "Examples:
  selene schema scenario             to standard output
  selene schema --out config/schema  scenario.json, rover.json and so on

An editor with a YAML language server completes and explains keys in a file with the line
  # yaml-language-server: $schema=../schema/scenario.json";

/// Arguments of `selene schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The kind of file [default: all of them, by kind]
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: Option<SchemaKind>,
    /// Folder to write KIND.json to; made if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Kinds of files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    Scenario,
    Rover,
    Soil,
    Sensor,
    Site,
    Learning,
    Campaign,
}

impl SchemaKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 7] =
        [Self::Scenario, Self::Rover, Self::Soil, Self::Sensor, Self::Site, Self::Learning, Self::Campaign];

    /// Its name, which is also that of its schema's file and of the folder of such files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Rover => "rover",
            Self::Soil => "soil",
            Self::Sensor => "sensor",
            Self::Site => "site",
            Self::Learning => "learning",
            Self::Campaign => "campaign",
        }
    }
}

pub(super) const COMPLETIONS_EXAMPLES: &str = "Examples:
  selene completions bash > ~/.local/share/bash-completion/completions/selene
  selene completions fish > ~/.config/fish/completions/selene.fish
  selene completions zsh > _selene    in a folder of $fpath";

/// Arguments of `selene completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

pub(super) const MAN_EXAMPLES: &str = "Examples:
  selene man | man -l -
  selene man --out ~/.local/share/man/man1    selene.1, selene-run.1 and so on";

/// Arguments of `selene man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages of all commands; made if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
