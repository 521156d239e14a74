//! Reads bags of this recorder or of another one that writes MCAP. Files are read in the order of `metadata.yaml`;
//! files that it does not list (because the process was killed) follow in order of their numbers, and without metadata
//! all are in order of their numbers. From a truncated file all complete chunks are read; a damaged chunk is left out,
//! and reading continues after it. Only one chunk of a file is in memory at a time.

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

use selene_base::InputError;
use selene_base::input::open_regular;

pub use contents::{BagContents, BagFile, FileEnding, TopicCount};
pub use message::{BagDamage, BagMessage, BagTopic};
pub use messages::Messages;
pub use metadata_file::{BagMetadata, FileMetadata};

/// Maximum size of a record, bytes: an image is at most a quarter of it.
const RECORD_BYTES_MAX: usize = 256 << 20;
/// The name in `metadata.yaml` of the supported storage.
const STORAGE: &str = "mcap";

/// A bag that can be read.
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
    /// When it cannot be read, has no MCAP file, or is a device or a pipe.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let kind = fs::metadata(path).map_err(read_error(path))?;
        if kind.is_dir() { Self::open_folder(path) } else { Self::open_file(path) }
    }

    fn open_file(path: &Path) -> Result<Self, InputError> {
        if !is_mcap(path) {
            return Err(InputError::content(path, "is neither the folder of a bag nor an .mcap file"));
        }
        open_regular(path)?;
        Ok(Self { path: path.to_owned(), files: vec![path.to_owned()], metadata: None, faults: Vec::new() })
    }

    fn open_folder(path: &Path) -> Result<Self, InputError> {
        let present = mcap_files(path).map_err(read_error(path))?;
        let mut faults = Vec::new();
        let metadata = metadata_file::read(path).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        if present.is_empty() {
            return Err(InputError::content(path, why_empty(metadata.as_ref())));
        }
        let reported = metadata.as_ref().map(BagMetadata::file_names).unwrap_or_default();
        let files = in_order(path, present, &reported, &mut faults);
        if metadata.is_none() && faults.is_empty() {
            faults.push("metadata.yaml is missing".to_owned());
        }
        Ok(Self { path: path.to_owned(), files, metadata, faults })
    }

    /// The bag's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bag's MCAP files in order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The content of `metadata.yaml`, if it can be read.
    #[must_use]
    pub fn metadata(&self) -> Option<&BagMetadata> {
        self.metadata.as_ref()
    }

    /// Faults of `metadata.yaml`: it is missing, cannot be read, or lists other files than there are.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// All messages, file by file in the order in which they were written, without the latched messages that later
    /// files repeat.
    #[must_use]
    pub fn messages(&self) -> Messages<'_> {
        Messages::new(&self.files)
    }

    /// The messages from the file on that contains log time `log_ns`; earlier messages may come first, including
    /// latched ones.
    #[must_use]
    pub fn messages_around(&self, log_ns: u64) -> Messages<'_> {
        let begins_before = |file: &PathBuf| {
            let span_ns = contents::of_file(file).span_ns;
            span_ns.is_some_and(|(first_ns, _)| first_ns <= log_ns)
        };
        let first = self.files.iter().rposition(begins_before).unwrap_or(0);
        Messages::new(&self.files[first..])
    }

    /// The bag's content, from the files' summaries if they have them; else the files are read.
    #[must_use]
    pub fn contents(&self) -> BagContents {
        BagContents { files: self.files.iter().map(|file| contents::of_file(file)).collect() }
    }
}

fn read_error(path: &Path) -> impl FnOnce(io::Error) -> InputError {
    move |source| InputError::Read { path: path.to_owned(), source }
}

/// Why a folder has no MCAP file, as far as its metadata tell.
fn why_empty(metadata: Option<&BagMetadata>) -> String {
    match metadata {
        Some(reported) if reported.storage_identifier != STORAGE => {
            format!(
                "its storage is {}; only mcap is read: convert it with `ros2 bag convert`",
                reported.storage_identifier
            )
        }
        Some(reported) if reported.compression_mode == "file" => {
            "its files are compressed as a whole; unpack them, or record with compressed chunks".to_owned()
        }
        _ => "is no bag: there is no .mcap file in it".to_owned(),
    }
}

fn is_mcap(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == STORAGE)
}

/// The MCAP files of a folder, in order of their numbers.
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

/// The files that exist: first those that the metadata list, in that order.
fn in_order(folder: &Path, present: Vec<PathBuf>, reported: &[String], faults: &mut Vec<String>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for name in reported {
        let file = folder.join(name);
        match present.contains(&file) {
            true if !files.contains(&file) => files.push(file),
            true => {}
            false => faults.push(format!("metadata.yaml lists {name}, which does not exist")),
        }
    }
    for file in present {
        if !files.contains(&file) {
            if !reported.is_empty() {
                faults.push(format!("metadata.yaml does not list {}", name_of(&file)));
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
