//! The file below the MCAP writer. Bytes are collected in memory until a flush, then written at once together with an
//! MCAP ending (DataEnd, Footer without summary, magic), which the next flush overwrites. So the file is a complete
//! MCAP whenever the process may die between two writes, and after a failed write it is cut back to the last complete
//! state.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The ending of an MCAP file: DataEnd without checksum, Footer with no summary and no checksum, magic (MCAP
/// specification, "Records").
const ENDING: [u8; 50] = [
    0x0f, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // DataEnd
    0x02, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // Footer
    0x89, b'M', b'C', b'A', b'P', b'0', b'\r', b'\n',
];

/// A file to which bytes are written.
pub(super) trait Disk: Send {
    /// Writes all of `bytes` from `offset` on.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Disk for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Creates a file with this name; refuses one that exists.
pub(super) type Disks = Box<dyn FnMut(&Path) -> io::Result<Box<dyn Disk>> + Send>;

/// Creates files in the file system.
pub(super) fn files() -> Disks {
    fn file(path: &Path) -> io::Result<Box<dyn Disk>> {
        Ok(Box::new(File::create_new(path)?))
    }
    Box::new(file)
}

/// A file that is a complete MCAP after every flush.
pub(super) struct WholeFile {
    disk: Box<dyn Disk>,
    /// Number of bytes before the ending.
    committed: u64,
    /// The same number, for the code that decides when a file is full.
    written_bytes: Arc<AtomicU64>,
    pending: Vec<u8>,
}

impl WholeFile {
    pub(super) fn new(disk: Box<dyn Disk>) -> Self {
        Self { disk, committed: 0, written_bytes: Arc::default(), pending: Vec::new() }
    }

    /// A live count of the bytes written; the MCAP writer owns the file itself.
    pub(super) fn written_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written_bytes)
    }

    /// Writes the pending bytes, which end the MCAP themselves; returns the file's size.
    pub(super) fn close(&mut self) -> io::Result<u64> {
        self.disk.write_at(self.committed, &self.pending)?;
        let size = self.committed + self.pending.len() as u64;
        self.disk.cut(size)?;
        Ok(size)
    }

    /// Cuts the file back to its last complete state and returns its size. The space for the ending was already used by
    /// the last flush, so that a full disk does not prevent it.
    pub(super) fn restore(&mut self) -> u64 {
        self.pending.clear();
        if self.committed > 0 {
            let cut = self.disk.cut(self.committed + ENDING.len() as u64);
            if let Err(error) = cut.and_then(|()| self.disk.write_at(self.committed, &ENDING)) {
                tracing::warn!("the bag has no proper end: {error}");
            }
        }
        self.committed + ENDING.len() as u64
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let added = self.pending.len() as u64;
        self.pending.extend_from_slice(&ENDING);
        let result = self.disk.write_at(self.committed, &self.pending);
        self.pending.clear();
        if result.is_ok() {
            self.committed += added;
            self.written_bytes.store(self.committed, Ordering::Relaxed);
        }
        result
    }
}
