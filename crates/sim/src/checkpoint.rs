//! A state in a file: all of a world, or its driven ground alone, so that a run can go on where another
//! ended. What sensors need of the time before goes with it: they remember nothing else.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `SELSTATE` |
//! | 4 | version of the format, little-endian |
//! | to the end | one zlib stream (RFC 1950, with its checksum) of [`Saved`], by serde in postcard's format |
//!
//! A file is written beside its place and renamed: a write that is cut off leaves the last good one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use selene_base::InputError;
use selene_base::input::open_regular;
use selene_base::output::{self, FileKind, OutputError};
use selene_terrain::Ruts;
use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::world::{DrivenGround, Snapshot, State};

const MAGIC: [u8; 8] = *b"SELSTATE";
/// A file of a state.
pub const STATE_FILE: FileKind = FileKind { name: "saved state", is: |head| head.starts_with(&MAGIC) };
/// To be raised with every change of what is saved.
const VERSION: u32 = 2;
/// More than any state has, unpacked: 80 km of tracks at 2 cm.
const BYTES_MAX: u64 = 8 << 30;

/// Why a state cannot be saved or taken.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file is damaged, foreign, or of another world.
    #[error("{}: {what}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
}

/// What a file holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Saved {
    /// Driven ground.
    Ground { of: Fingerprint, ground: DrivenGround },
    /// A whole world.
    World { of: Fingerprint, checkpoint: Box<Checkpoint> },
}

/// A whole world, and what its sensors need of the time before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The state.
    pub state: State,
    /// The last while.
    pub recent: Recent,
}

/// Snapshots of the last while, and the ground before the first of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// In order; the last one is that of the state.
    pub snapshots: Vec<Snapshot>,
    /// What had been done to the ground before the first snapshot's edits.
    pub ruts_before: Ruts,
}

impl Checkpoint {
    /// Reads the checkpoint of a world.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, cut off, of another version or of another world.
    pub fn load(path: &Path, of: &Fingerprint) -> Result<Self, CheckpointError> {
        let refuse = |what: String| Err(CheckpointError::Refused { path: path.to_owned(), what });
        match read(path)? {
            Saved::Ground { .. } => refuse("holds driven ground alone; --ruts takes it".to_owned()),
            Saved::World { of: theirs, checkpoint } => match of.difference(&theirs) {
                Some(difference) => refuse(format!("is of another run: {difference}")),
                None => Ok(*checkpoint),
            },
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the file cannot be written; an older one of its name is then still there.
    pub fn save(&self, path: &Path, of: &Fingerprint) -> Result<(), CheckpointError> {
        write(path, &Saved::World { of: of.clone(), checkpoint: Box::new(self.clone()) })
    }
}

impl DrivenGround {
    /// Reads driven ground, of a file of its own or of a checkpoint.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, cut off, of another version or of other ground.
    pub fn load(path: &Path, of: &Fingerprint) -> Result<Self, CheckpointError> {
        let (theirs, ground) = match read(path)? {
            Saved::Ground { of, ground } => (of, ground),
            Saved::World { of, checkpoint } => (of, Self::of(&checkpoint.state)),
        };
        // A checkpoint's world may be another one: its ground is what counts.
        let parts = theirs.parts.into_iter().filter(|(part, _)| of.parts.contains_key(part)).collect();
        match of.difference(&Fingerprint { parts, ..theirs }) {
            Some(difference) => Err(CheckpointError::Refused {
                path: path.to_owned(),
                what: format!("is of other ground: {difference}"),
            }),
            None => Ok(ground),
        }
    }

    /// The seed of the ground that a file is of.
    ///
    /// # Errors
    /// As `load`, whatever ground it is.
    pub fn seed_of(path: &Path) -> Result<u64, CheckpointError> {
        let (Saved::Ground { of, .. } | Saved::World { of, .. }) = read(path)?;
        let what = || CheckpointError::Refused { path: path.to_owned(), what: "names no seed".to_owned() };
        of.seed().ok_or_else(what)
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the file cannot be written; an older one of its name is then still there.
    pub fn save(&self, path: &Path, of: &Fingerprint) -> Result<(), CheckpointError> {
        write(path, &Saved::Ground { of: of.clone(), ground: self.clone() })
    }
}

fn write(path: &Path, saved: &Saved) -> Result<(), CheckpointError> {
    let failed = |source| OutputError::Write { path: path.to_owned(), source };
    output::write_whole(path, &STATE_FILE, |beside| write_to(beside, saved).map_err(failed))?;
    Ok(())
}

fn write_to(path: &Path, saved: &Saved) -> io::Result<()> {
    let bytes = postcard::to_allocvec(saved).map_err(io::Error::other)?;
    let mut file = File::create(path)?;
    file.write_all(&MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    let mut packed = ZlibEncoder::new(&mut file, Compression::fast());
    packed.write_all(&bytes)?;
    packed.finish()?;
    file.sync_all()
}

fn read(path: &Path) -> Result<Saved, CheckpointError> {
    let refuse = |what: String| CheckpointError::Refused { path: path.to_owned(), what };
    let mut file = open_regular(path)?;
    let mut head = [0; 12];
    file.read_exact(&mut head).map_err(|_| refuse("is no saved state: it has fewer than 12 bytes".to_owned()))?;
    let (magic, version) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(refuse("is no saved state: it does not begin with SELSTATE".to_owned()));
    }
    let version = u32::from_le_bytes([version[0], version[1], version[2], version[3]]);
    if version != VERSION {
        return Err(refuse(format!(
            "has version {version}; this Selene reads version {VERSION}: use the one that wrote it"
        )));
    }
    let mut bytes = Vec::new();
    let cut = |error| refuse(format!("is cut off or damaged ({error}); take an earlier one"));
    ZlibDecoder::new(file).take(BYTES_MAX).read_to_end(&mut bytes).map_err(cut)?;
    postcard::from_bytes(&bytes).map_err(|error| refuse(format!("is damaged: {error}; take an earlier one")))
}
