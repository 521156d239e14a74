//! Reading a bag, of this recorder or of another one that writes MCAP. The files come in the order in which
//! `metadata.yaml` tells of them; files that it does not tell of (a process that was killed did not come to it)
//! come after them by their numbers, and without metadata all come by their numbers. A file that breaks off gives
//! all of its whole chunks; a damaged chunk is left out, and what follows it is read. Of each file one chunk is in
//! memory at a time.

mod chunk;
mod contents;
mod file;
mod index;
mod message;
mod messages;
mod metadata_file;
mod summary;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use contents::{BagContents, BagFile, FileEnding, TopicCount};
pub use message::{BagDamage, BagMessage, BagTopic};
pub use messages::Messages;
pub use metadata_file::{BagMetadata, ToldFile};

/// The largest record taken, bytes: images are a quarter of it at most.
const RECORD_BYTES_MAX: usize = 256 << 20;
/// What `metadata.yaml` calls the storage that is read.
const STORAGE: &str = "mcap";

/// A bag that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be looked at.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The bag.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is none.
    #[error("{}: {what}", path.display())]
    NoBag {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// A bag.
#[derive(Clone, Debug)]
pub struct BagReader {
    path: PathBuf,
    files: Vec<PathBuf>,
    metadata: Option<BagMetadata>,
    faults: Vec<String>,
}

impl BagReader {
    /// Opens the folder of a bag, or one MCAP file.
    ///
    /// # Errors
    /// When it cannot be read, or has no MCAP file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let kind = fs::metadata(path).map_err(|source| ReadError::Read { path: path.to_owned(), source })?;
        if kind.is_dir() { Self::open_folder(path) } else { Self::open_file(path) }
    }

    fn open_file(path: &Path) -> Result<Self, ReadError> {
        if !is_mcap(path) {
            return Err(no_bag(path, "is neither the folder of a bag nor an .mcap file"));
        }
        Ok(Self { path: path.to_owned(), files: vec![path.to_owned()], metadata: None, faults: Vec::new() })
    }

    fn open_folder(path: &Path) -> Result<Self, ReadError> {
        let present = mcap_files(path).map_err(|source| ReadError::Read { path: path.to_owned(), source })?;
        let mut faults = Vec::new();
        let metadata = metadata_file::read(path).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        if present.is_empty() {
            return Err(no_bag(path, why_empty(metadata.as_ref())));
        }
        let told = metadata.as_ref().map(BagMetadata::file_names).unwrap_or_default();
        let files = in_order(path, present, &told, &mut faults);
        if metadata.is_none() && faults.is_empty() {
            faults.push("metadata.yaml is missing".to_owned());
        }
        Ok(Self { path: path.to_owned(), files, metadata, faults })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its MCAP files in order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// What `metadata.yaml` tells, where it can be read.
    #[must_use]
    pub fn metadata(&self) -> Option<&BagMetadata> {
        self.metadata.as_ref()
    }

    /// Where `metadata.yaml` is missing, cannot be read, or tells of other files than there are.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// All messages, file by file in the order in which they were written; latched messages that a later file
    /// repeats come once.
    #[must_use]
    pub fn messages(&self) -> Messages<'_> {
        Messages::new(&self.files)
    }

    /// The same from the file on that holds `log_ns`: messages before it may come first, latched ones among them.
    #[must_use]
    pub fn messages_around(&self, log_ns: u64) -> Messages<'_> {
        let begins_before = |file: &PathBuf| {
            let span_ns = contents::of_file(file).span_ns;
            span_ns.is_some_and(|(first_ns, _)| first_ns <= log_ns)
        };
        let first = self.files.iter().rposition(begins_before).unwrap_or(0);
        Messages::new(&self.files[first..])
    }

    /// What it holds, from the files' own summaries where they have them; else the files are read.
    #[must_use]
    pub fn contents(&self) -> BagContents {
        BagContents { files: self.files.iter().map(|file| contents::of_file(file)).collect() }
    }
}

fn no_bag(path: &Path, what: impl Into<String>) -> ReadError {
    ReadError::NoBag { path: path.to_owned(), what: what.into() }
}

/// Why a folder has no MCAP file, as far as its metadata say.
fn why_empty(metadata: Option<&BagMetadata>) -> String {
    match metadata {
        Some(told) if told.storage_identifier != STORAGE => {
            format!("its storage is {}; only mcap is read: convert it with `ros2 bag convert`", told.storage_identifier)
        }
        Some(told) if told.compression_mode == "file" => {
            "its files are compressed as a whole; unpack them, or record with compressed chunks".to_owned()
        }
        _ => "is no bag: there is no .mcap file in it".to_owned(),
    }
}

fn is_mcap(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == STORAGE)
}

/// The MCAP files of a folder, by their numbers.
fn mcap_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if is_mcap(&path) && path.is_file() {
            files.push(path);
        }
    }
    files.sort_by_cached_key(|path| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let number = stem.rsplit_once('_').and_then(|(_, number)| number.parse::<u64>().ok());
        (number, stem)
    });
    Ok(files)
}

/// The files that are there: first those that metadata tell of, in that order.
fn in_order(folder: &Path, present: Vec<PathBuf>, told: &[String], faults: &mut Vec<String>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for name in told {
        let file = folder.join(name);
        match present.contains(&file) {
            true if !files.contains(&file) => files.push(file),
            true => {}
            false => faults.push(format!("metadata.yaml tells of {name}, which is not there")),
        }
    }
    for file in present {
        if !files.contains(&file) {
            if !told.is_empty() {
                faults.push(format!("metadata.yaml does not tell of {}", name_of(&file)));
            }
            files.push(file);
        }
    }
    files
}

/// A file's name without its folder.
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
