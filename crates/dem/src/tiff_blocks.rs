//! The strips or tiles of a TIFF: their positions, a check of their sizes, and their samples, decoded one block at a
//! time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tiff::tags::{ByteOrder, Tag};

use crate::error::Refusal;
use crate::geotiff::{TiffDecoder, refused, unsigned};
use crate::header::Source;
use crate::raw::{RawSource, SampleType};
use crate::unpack::{Packing, Predictor, undo, unpack};
use crate::values::Values;
use crate::window::Window;

/// The largest block accepted, bytes.
const BLOCK_BYTES_MAX: u64 = 256 << 20;
/// Largest ratio of decoded to packed bytes accepted; deflate reaches 1032, LZW 1400.
const RATIO_MAX: u64 = 2000;
/// A TIFF whose blocks are compressed.
#[derive(Debug)]
pub(super) struct TiffSource {
    file: File,
    shape: [usize; 2],
    block: [usize; 2],
    is_tiled: bool,
    packing: Packing,
    predictor: Predictor,
    sample: SampleType,
    is_big_endian: bool,
    /// Position in the file and size of each block, bytes; a size of 0 marks a block that the file omits.
    places: Vec<(u64, u64)>,
}

/// The blocks of the decoder's current image, in a file of `size` bytes.
pub(super) fn source(
    mut decoder: TiffDecoder,
    path: &Path,
    shape: [usize; 2],
    sample: SampleType,
    size: u64,
) -> Result<Source, Refusal> {
    let packing = packing(&mut decoder)?;
    let is_tiled = unsigned(&mut decoder, Tag::TileWidth)?.is_some();
    let places = places(&mut decoder, is_tiled)?;
    let (across, down) = decoder.chunk_dimensions();
    let block = [across as usize, if is_tiled { down as usize } else { (down as usize).min(shape[1]) }];
    check_blocks(&places, shape, block, is_tiled, packing, sample, size)?;
    let file = File::open(path).map_err(|e| Refusal::new("file", e.to_string()))?;
    let is_big_endian = decoder.byte_order() == ByteOrder::BigEndian;
    let Some(packing) = packing else {
        let starts = places.iter().map(|(offset, bytes)| (*bytes > 0).then_some(*offset)).collect();
        let row_bytes = block[0] * sample.bytes();
        let [block_columns, block_rows] = block;
        let columns = shape[0];
        return Ok(Source::Raw(RawSource {
            file,
            sample,
            is_big_endian,
            columns,
            block_columns,
            block_rows,
            row_bytes,
            starts,
        }));
    };
    let is_float = matches!(sample, SampleType::F32 | SampleType::F64);
    let predictor = match unsigned(&mut decoder, Tag::Predictor)? {
        None | Some(1) => Predictor::None,
        Some(2) => Predictor::Horizontal,
        Some(3) if is_float => Predictor::Float,
        Some(other) => {
            return Err(Refusal::new("Predictor (317)", format!("is {other}; must be 1, 2, or 3 of floats")));
        }
    };
    Ok(Source::Tiff(TiffSource { file, shape, block, is_tiled, packing, predictor, sample, is_big_endian, places }))
}

/// The compression of the blocks; `None` if they are uncompressed.
fn packing(decoder: &mut TiffDecoder) -> Result<Option<Packing>, Refusal> {
    match unsigned(decoder, Tag::Compression)?.unwrap_or(1) {
        1 => Ok(None),
        5 => Ok(Some(Packing::Lzw)),
        8 | 32946 => Ok(Some(Packing::Deflate)),
        32773 => Ok(Some(Packing::PackBits)),
        other => {
            let what = format!("is {other}; must be 1 (none), 5 (LZW), 8 or 32946 (deflate) or 32773 (PackBits)");
            Err(Refusal::new("Compression (259)", what))
        }
    }
}

/// Position in the file and size of each block, bytes.
fn places(decoder: &mut TiffDecoder, is_tiled: bool) -> Result<Vec<(u64, u64)>, Refusal> {
    let strips = (Tag::StripOffsets, Tag::StripByteCounts);
    let (offsets, sizes) = if is_tiled { (Tag::TileOffsets, Tag::TileByteCounts) } else { strips };
    let mut list = |tag: Tag| {
        let list = decoder.find_tag_unsigned_vec::<u64>(tag).map_err(refused(&format!("{tag:?}")))?;
        list.ok_or_else(|| Refusal::new(format!("{tag:?}"), "is missing"))
    };
    let [offsets, sizes] = [list(offsets)?, list(sizes)?];
    Ok(offsets.into_iter().zip(sizes).collect())
}

/// Refuses blocks that extend beyond the end of the file, or are too small for their samples.
fn check_blocks(
    places: &[(u64, u64)],
    shape: [usize; 2],
    [across, down]: [usize; 2],
    is_tiled: bool,
    packing: Option<Packing>,
    sample: SampleType,
    size: u64,
) -> Result<(), Refusal> {
    let name = if is_tiled { "tile" } else { "strip" };
    for (index, (offset, bytes)) in places.iter().enumerate().filter(|(_, (_, bytes))| *bytes > 0) {
        let refuse = |what: String| Err(Refusal::new(format!("{name} {index}"), what));
        if offset.checked_add(*bytes).is_none_or(|end| end > size) {
            return refuse(format!("is {bytes} bytes at {offset}, and the file has {size}: it is truncated"));
        }
        // The last strip may be short.
        let rows = if is_tiled { down } else { down.min(shape[1].saturating_sub(index.saturating_mul(down))) };
        let wanted = (across as u64).saturating_mul(rows as u64).saturating_mul(sample.bytes() as u64);
        match packing {
            None if *bytes < wanted => return refuse(format!("has {bytes} bytes for {wanted}: it is truncated")),
            Some(_) if wanted > bytes.saturating_mul(RATIO_MAX) => {
                let more = "more than compression can: a decompression bomb or a wrong header";
                return refuse(format!("would make {wanted} bytes of {bytes}, {more}"));
            }
            Some(_) if wanted > BLOCK_BYTES_MAX => {
                let what = format!(
                    "makes {wanted} bytes; at most {BLOCK_BYTES_MAX} are decoded at once: write the file in tiles"
                );
                return refuse(what);
            }
            _ => {}
        }
    }
    Ok(())
}

impl TiffSource {
    /// Columns and rows of a block.
    pub(super) fn block(&self) -> [usize; 2] {
        self.block
    }

    /// Reads a window that lies inside of the image into `out`, as heights row by row, m.
    pub(super) fn read(&mut self, window: &Window, values: &Values, out: &mut [f32]) -> Result<(), Refusal> {
        let [across, down] = self.block;
        let blocks_across = self.shape[0].div_ceil(across);
        for block_row in window.row / down..(window.row + window.rows).div_ceil(down) {
            for block_column in window.column / across..(window.column + window.columns).div_ceil(across) {
                let [column, row] = [block_column * across, block_row * down];
                let block = Window { column, row, columns: across, rows: down };
                let Some(overlap) = window.overlap(&block) else { continue };
                let samples = self.samples(block_row * blocks_across + block_column)?;
                for row in overlap.row..overlap.row + overlap.rows {
                    let from = (row - block.row) * across + overlap.column - block.column;
                    let to = (row - window.row) * window.columns + overlap.column - window.column;
                    let out = &mut out[to..to + overlap.columns];
                    match &samples {
                        None => out.fill(f32::NAN),
                        Some(samples) => samples.heights(from, values, self.sample, out),
                    }
                }
            }
        }
        Ok(())
    }

    /// The samples of a block; `None` for a block that the file omits.
    fn samples(&mut self, index: usize) -> Result<Option<Samples>, Refusal> {
        let Some(&(offset, packed_bytes)) = self.places.get(index).filter(|(_, bytes)| *bytes > 0) else {
            return Ok(None);
        };
        let name = if self.is_tiled { "tile" } else { "strip" };
        let broken = |what: String| {
            Refusal::new(
                format!("{name} {index}"),
                format!("cannot be decoded, so that the file is truncated or damaged: {what}"),
            )
        };
        let [across, down] = self.block;
        // The last strip may be short.
        let rows = if self.is_tiled { down } else { down.min(self.shape[1] - index * down) };
        let mut packed = vec![0; packed_bytes as usize];
        self.file.seek(SeekFrom::Start(offset)).map_err(|e| broken(e.to_string()))?;
        self.file.read_exact(&mut packed).map_err(|e| broken(e.to_string()))?;
        let mut bytes = unpack(&packed, self.packing, across * rows * self.sample.bytes()).map_err(broken)?;
        let is_big_endian = undo(self.predictor, &mut bytes, across, self.sample, self.is_big_endian);
        Ok(Some(Samples { bytes, is_big_endian }))
    }
}

/// A decoded block.
struct Samples {
    bytes: Vec<u8>,
    is_big_endian: bool,
}

impl Samples {
    /// Writes heights, m, to `out`, from sample number `from` on.
    fn heights(&self, from: usize, values: &Values, sample: SampleType, out: &mut [f32]) {
        let samples = self.bytes[from * sample.bytes()..].chunks_exact(sample.bytes());
        for (out, bytes) in out.iter_mut().zip(samples) {
            *out = values.height_m(sample.decode(bytes, self.is_big_endian)) as f32;
        }
    }
}
