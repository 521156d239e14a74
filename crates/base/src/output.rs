//! Files that Selene writes: whole or not at all, and never in the place of a file of another kind. A file is
//! written beside its place and renamed, so that a write that breaks off leaves what was there.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How many of its first bytes tell what a file is.
const HEAD_BYTES: usize = 512;

/// What a file is, told by its first bytes.
#[derive(Clone, Copy, Debug)]
pub struct FileKind {
    /// What it is called.
    pub name: &'static str,
    /// Whether these are its first bytes.
    pub is: fn(&[u8]) -> bool,
}

/// A PNG picture.
pub const PNG: FileKind = FileKind { name: "PNG picture", is: |head| head.starts_with(b"\x89PNG\r\n\x1a\n") };

/// A GeoTIFF, of 4 or 8 GB and more.
pub const TIFF: FileKind =
    FileKind { name: "TIFF file", is: |head| head.starts_with(b"II*\0") || head.starts_with(b"II+\0") };

/// A table with a line of column names.
pub const CSV: FileKind = FileKind { name: "CSV table", is: is_csv };

/// A table's first line names columns: words and commas.
fn is_csv(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_,. ()/%-\r".contains(byte);
    line.contains(&b',') && line.iter().all(is_word)
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It cannot be.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its folder is not there.
    #[error("{}: its folder does not exist; make it first", .0.display())]
    NoFolder(PathBuf),
    /// A folder has its name.
    #[error("{}: is a folder; name a file", .0.display())]
    Folder(PathBuf),
    /// Something else is there.
    #[error("{}: is there already and is no {kind}; name another file, or remove it first", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        kind: &'static str,
    },
}

/// Refuses a place where a file of this kind could not be written now.
///
/// # Errors
/// When its folder is not there or cannot be written to, or something of another kind has its name.
pub fn check(path: &Path, kind: &FileKind) -> Result<(), OutputError> {
    check_kind(path, kind)?;
    let beside = beside(path);
    let tried = File::create(&beside).and_then(|_| fs::remove_file(&beside));
    tried.map_err(|source| OutputError::Write { path: path.to_owned(), source })
}

/// Has `write` write a file at the path that it is given, which is beside `path`, and moves it there when it
/// is whole.
///
/// # Errors
/// As `check`, and what `write` says; an older file of the name is then still there.
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
        // What is left of it is of no use; that it cannot be removed either is the same fault.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Writes bytes in the same way.
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

/// A name beside a file's, for what is not whole yet.
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
            let told = write_bytes(&yaml, kind, b"1,2").expect_err("another kind").to_string();
            assert!(told.contains("x.yaml") && told.contains(kind.name), "{told}");
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
    fn a_table_is_told_by_the_names_of_its_columns() {
        assert!(is_csv(b"slope_deg,speed_m_s\n1,2\n") && is_csv(b"time (s),x\r\n"));
        assert!(!is_csv(b"name: a, b\n") && !is_csv(b"slope_deg\n") && !is_csv(b"\x89PNG,"));
    }
}
