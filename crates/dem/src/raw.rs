//! Uncompressed samples in a file, in blocks (the whole image, strips or tiles) that are each stored row by row. Only
//! the rows of a window are read, so a file larger than memory can be read anywhere.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::error::Refusal;
use crate::values::Values;
use crate::window::Window;

/// How a sample is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    F64,
}

impl SampleType {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Decodes the sample at the start of `bytes`.
    pub(super) fn decode(self, bytes: &[u8], is_big_endian: bool) -> f64 {
        let mut word = [0; 8];
        let size = self.bytes();
        word[..size].copy_from_slice(&bytes[..size]);
        if is_big_endian {
            word[..size].reverse();
        }
        let [a, b, c, d, ..] = word;
        match self {
            Self::U8 => f64::from(a),
            Self::I8 => f64::from(a as i8),
            Self::U16 => f64::from(u16::from_le_bytes([a, b])),
            Self::I16 => f64::from(i16::from_le_bytes([a, b])),
            Self::U32 => f64::from(u32::from_le_bytes([a, b, c, d])),
            Self::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
            Self::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
            Self::F64 => f64::from_le_bytes(word),
        }
    }
}

/// An image of uncompressed blocks.
#[derive(Debug)]
pub(super) struct RawSource {
    pub(super) file: File,
    pub(super) sample: SampleType,
    pub(super) is_big_endian: bool,
    pub(super) columns: usize,
    pub(super) block_columns: usize,
    pub(super) block_rows: usize,
    /// Bytes from one row of a block to the next: its samples and the format's padding.
    pub(super) row_bytes: usize,
    /// Where each block begins in the file, row by row of blocks; `None` for a block that the file omits.
    pub(super) starts: Vec<Option<u64>>,
}

impl RawSource {
    /// A source of a single block: all rows one after the other from byte `start` on.
    pub(super) fn contiguous(
        file: File,
        start: u64,
        [columns, rows]: [usize; 2],
        sample: SampleType,
        is_big_endian: bool,
    ) -> Self {
        let row_bytes = columns * sample.bytes();
        Self {
            file,
            sample,
            is_big_endian,
            columns,
            block_columns: columns,
            block_rows: rows,
            row_bytes,
            starts: vec![Some(start)],
        }
    }

    /// Refuses an image of `rows` rows that extends beyond the end of the file.
    pub(super) fn checked(self, field: &str, rows: usize) -> Result<Self, Refusal> {
        let across = self.columns.div_ceil(self.block_columns);
        let size = self.file.metadata().map_or(0, |metadata| metadata.len());
        for (index, start) in self.starts.iter().enumerate() {
            let Some(start) = *start else { continue };
            let first = index / across * self.block_rows;
            let rows_here = self.block_rows.min(rows.saturating_sub(first)) as u64;
            let last = rows_here.saturating_sub(1).checked_mul(self.row_bytes as u64);
            let samples = (self.block_columns * self.sample.bytes()) as u64;
            let end = last.and_then(|last| last.checked_add(samples)).and_then(|bytes| bytes.checked_add(start));
            if end.is_none_or(|end| end > size) {
                let wanted = end.map_or("more bytes than can be counted".to_owned(), |end| format!("{end} bytes"));
                return Err(Refusal::new(
                    field,
                    format!(
                        "needs {wanted} for {} × {rows} posts, and the file has {size}: it is truncated or its label is another file's",
                        self.columns
                    ),
                ));
            }
        }
        Ok(self)
    }

    /// Reads a window that lies inside of the image into `out`, as heights row by row, m.
    pub(super) fn read(&mut self, window: &Window, values: &Values, out: &mut [f32]) -> io::Result<()> {
        let size = self.sample.bytes();
        let across = self.columns.div_ceil(self.block_columns);
        let end = window.column + window.columns;
        let mut bytes = vec![0; self.block_columns.min(window.columns) * size];
        for (row, out) in (window.row..).zip(out.chunks_mut(window.columns)) {
            let mut column = window.column;
            while column < end {
                let block = column / self.block_columns;
                let until = end.min((block + 1) * self.block_columns);
                let out = &mut out[column - window.column..until - window.column];
                match self.starts[row / self.block_rows * across + block] {
                    None => out.fill(f32::NAN),
                    Some(start) => {
                        let inside =
                            row % self.block_rows * self.row_bytes + (column - block * self.block_columns) * size;
                        let bytes = &mut bytes[..out.len() * size];
                        self.file.seek(SeekFrom::Start(start + inside as u64))?;
                        self.file.read_exact(bytes)?;
                        for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(size)) {
                            *out = values.height_m(self.sample.decode(bytes, self.is_big_endian)) as f32;
                        }
                    }
                }
                column = until;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SampleType;

    #[test]
    fn samples_are_decoded_in_both_byte_orders() {
        for (sample, little, value) in [
            (SampleType::U8, vec![200], 200.0),
            (SampleType::I8, vec![200], -56.0),
            (SampleType::U16, vec![0x34, 0x92], 37428.0),
            (SampleType::I16, vec![0x34, 0x92], -28108.0),
            (SampleType::U32, vec![1, 0, 0, 128], 2_147_483_649.0),
            (SampleType::I32, vec![255, 255, 255, 255], -1.0),
            (SampleType::F32, (-2.5_f32).to_le_bytes().to_vec(), -2.5),
            (SampleType::F64, 1e-3_f64.to_le_bytes().to_vec(), 1e-3),
        ] {
            let big: Vec<u8> = little.iter().rev().copied().collect();
            assert_eq!([sample.decode(&little, false), sample.decode(&big, true)], [value; 2], "{sample:?}");
        }
    }
}
