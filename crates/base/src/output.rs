//! Writing files as a whole or not at all, and never over a file of another kind. A file is written under a temporary
//! name in the same folder and then renamed, so that an interrupted write leaves the old file as it was.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Number of first bytes by which a file's kind is recognised.
const HEAD_BYTES: usize = 512;

/// A kind of file, recognised by its first bytes.
#[derive(Clone, Copy, Debug)]
pub struct FileKind {
    /// Name of the kind, for messages.
    pub name: &'static str,
    /// Whether a file that begins with these bytes is of this kind.
    pub is: fn(&[u8]) -> bool,
}

/// A PNG picture.
pub const PNG: FileKind = FileKind { name: "PNG picture", is: |head| head.starts_with(b"\x89PNG\r\n\x1a\n") };

/// A little-endian GeoTIFF: classic TIFF, up to 4 GB, or BigTIFF.
pub const TIFF: FileKind =
    FileKind { name: "TIFF file", is: |head| head.starts_with(b"II*\0") || head.starts_with(b"II+\0") };

/// A table with a line of column names.
pub const CSV: FileKind = FileKind { name: "CSV table", is: is_csv };

/// Whether the first line is a list of column names: words and commas.
fn is_csv(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_,. ()/%-\r".contains(byte);
    line.contains(&b',') && line.iter().all(is_word)
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The folder of the file does not exist.
    #[error("{}: its folder does not exist; make it first", .0.display())]
    NoFolder(PathBuf),
    /// The path is a folder.
    #[error("{}: is a folder; name a file", .0.display())]
    Folder(PathBuf),
    /// A file of another kind is there.
    #[error("{}: is there already and is no {kind}; name another file, or remove it first", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// Kind of the file that was to be written.
        kind: &'static str,
    },
}

/// Checks that a file of this kind can be written at `path` now.
///
/// # Errors
/// When the folder does not exist or is not writable, or something of another kind is at `path`.
pub fn check(path: &Path, kind: &FileKind) -> Result<(), OutputError> {
    check_kind(path, kind)?;
    let beside = beside(path);
    let tried = File::create(&beside).and_then(|_| fs::remove_file(&beside));
    tried.map_err(|source| OutputError::Write { path: path.to_owned(), source })
}

/// Calls `write` with a temporary path beside `path`, and renames that file to `path` when it is complete.
///
/// # Errors
/// As [`check`], and any error of `write`; an older file at `path` then stays as it was.
pub fn write_whole<E: From<OutputError>>(
    path: &Path,
    kind: &FileKind,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    check_kind(path, kind)?;
    let beside = beside(path);
    let moved = || fs::rename(&beside, path).map_err(|source| OutputError::Write { path: path.to_owned(), source });
    let written = write(&beside).and_then(|()| Ok(moved()?));
    if written.is_err() {
        // The partial file is of no use. If it cannot be removed either, the cause is that of the error returned below.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Writes `bytes` to `path` as [`write_whole`] does.
///
/// # Errors
/// When the file cannot be written.
pub fn write_bytes(path: &Path, kind: &FileKind, bytes: &[u8]) -> Result<(), OutputError> {
    let failed = |source| OutputError::Write { path: path.to_owned(), source };
    write_whole(path, kind, |beside| fs::write(beside, bytes).map_err(failed))
}

fn check_kind(path: &Path, kind: &FileKind) -> Result<(), OutputError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(OutputError::NoFolder(path.to_owned()));
    }
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if metadata.is_dir() {
        return Err(OutputError::Folder(path.to_owned()));
    }
    let mut head = Vec::new();
    if metadata.is_file() {
        let file = File::open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
        file.map_err(|source| OutputError::Write { path: path.to_owned(), source })?;
    }
    let is_ours = metadata.is_file() && (head.is_empty() || (kind.is)(&head));
    if is_ours { Ok(()) } else { Err(OutputError::OtherKind { path: path.to_owned(), kind: kind.name }) }
}

/// Temporary path beside `path`, for a file that is not complete yet.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{CSV, OutputError, PNG, check, is_csv, write_bytes, write_whole};
    use std::fs;
    use std::io;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("selene-output-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("made");
        folder
    }

    #[test]
    fn a_file_of_another_kind_is_never_replaced() {
        let folder = folder("kinds");
        let (yaml, csv, picture) = (folder.join("x.yaml"), folder.join("x.csv"), folder.join("x.png"));
        fs::write(&yaml, "name: x\nsite: y\n").expect("written");
        for kind in [&PNG, &CSV] {
            let reported = write_bytes(&yaml, kind, b"1,2").expect_err("another kind").to_string();
            assert!(reported.contains("x.yaml") && reported.contains(kind.name), "{reported}");
            assert!(check(&yaml, kind).is_err());
        }
        assert_eq!(fs::read_to_string(&yaml).expect("still there"), "name: x\nsite: y\n");
        for (path, kind, text) in [(&csv, &CSV, "a,b\n1,2\n"), (&picture, &PNG, "\u{89}PNG")] {
            check(path, kind).expect("free");
            write_bytes(path, kind, text.as_bytes()).expect("written");
        }
        write_bytes(&csv, &CSV, b"a,b\n3,4\n").expect("its own kind");
        assert!(matches!(check(&folder, &PNG), Err(OutputError::Folder(_))));
        assert!(matches!(check(&folder.join("no/x.png"), &PNG), Err(OutputError::NoFolder(_))));
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_write_that_breaks_off_leaves_what_was_there_and_nothing_else() {
        let folder = folder("whole");
        let file = folder.join("x.csv");
        write_bytes(&file, &CSV, b"a,b\n1,2\n").expect("written");
        let broken = write_whole(&file, &CSV, |beside| {
            fs::write(beside, "a,b\n3").expect("begun");
            let source = io::Error::other("disk full");
            Err(OutputError::Write { path: beside.to_owned(), source })
        });
        assert!(broken.is_err());
        assert_eq!(fs::read_to_string(&file).expect("there"), "a,b\n1,2\n");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_table_is_recognised_by_the_names_of_its_columns() {
        assert!(is_csv(b"slope_deg,speed_m_s\n1,2\n") && is_csv(b"time (s),x\r\n"));
        assert!(!is_csv(b"name: a, b\n") && !is_csv(b"slope_deg\n") && !is_csv(b"\x89PNG,"));
    }
}
