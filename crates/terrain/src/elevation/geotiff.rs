//! GeoTIFF (OGC 19-008), BigTIFF and cloud-optimised GeoTIFF: one band of integers or
//! floats in strips or tiles, uncompressed or by deflate, LZW or PackBits, with
//! predictors; GDAL's no-data (42113) and scale (42112) tags. Compressed blocks are
//! decoded one at a time, uncompressed ones read by rows; overviews are left alone.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use tiff::TiffError;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::tags::{ByteOrder, Tag};

use super::error::{ElevationError, Refusal, read_error};
use super::geokeys::GeoKeys;
use super::header::{Format, Header, Source};
use super::raw::{RawSource, SampleType};
use super::transform::GeoTransform;
use super::values::Values;
use super::window::Window;

/// The largest block decoded, bytes.
const BLOCK_BYTES_MAX: u64 = 256 << 20;
/// Deflate and LZW make at most 1032 and 1400 times as much of what they are given.
const RATIO_MAX: u64 = 2000;
/// Compressions read, by the number of tag 259.
const COMPRESSIONS: [(u16, &str); 5] =
    [(1, "none"), (5, "LZW"), (8, "deflate"), (32946, "old deflate"), (32773, "PackBits")];

const NEW_SUBFILE_TYPE: Tag = Tag::NewSubfileType;
const GDAL_METADATA: Tag = Tag::Unknown(42112);
/// The bit of NewSubfileType that marks a transparency mask.
const IS_MASK: u32 = 4;

type TiffDecoder = Decoder<BufReader<File>>;

/// A file whose blocks are compressed.
pub(super) struct TiffSource {
    decoder: TiffDecoder,
    shape: [usize; 2],
    block: [usize; 2],
    /// Bytes of each compressed block; 0 for one left out.
    sizes: Vec<u64>,
}

impl std::fmt::Debug for TiffSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TiffSource of {:?} posts in blocks of {:?}", self.shape, self.block)
    }
}

/// Opens a GeoTIFF.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let file = File::open(path).map_err(read_error(path))?;
    let size = file.metadata().map_err(read_error(path))?.len();
    read_header(file, path, size).map_err(|refusal| refusal.at(path))
}

fn read_header(file: File, path: &Path, size: u64) -> Result<Header, Refusal> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = BLOCK_BYTES_MAX as usize;
    limits.intermediate_buffer_size = BLOCK_BYTES_MAX as usize;
    let mut decoder = Decoder::new(BufReader::new(file)).map_err(refused("header"))?.with_limits(limits);
    let (width, height) = decoder.dimensions().map_err(refused("ImageWidth, ImageLength"))?;
    let shape = [width as usize, height as usize];
    let sample = sample_type(&mut decoder)?;
    let values = values(&mut decoder, sample)?;
    let (transform, crs) = georeference(&mut decoder)?;
    let source = source(decoder, path, shape, sample, size)?;
    Ok(Header { format: Format::GeoTiff, shape, transform, crs, values, has_own_scale: true, source })
}

/// Turns errors of the decoder into refusals of `field`.
fn refused(field: &str) -> impl Fn(TiffError) -> Refusal {
    let field = field.to_owned();
    move |error| Refusal::new(field.clone(), format!("is not readable: {error}"))
}

fn unsigned(decoder: &mut TiffDecoder, tag: Tag) -> Result<Option<u32>, Refusal> {
    decoder.find_tag_unsigned(tag).map_err(refused(&format!("{tag:?}")))
}

fn doubles(decoder: &mut TiffDecoder, tag: Tag) -> Result<Vec<f64>, Refusal> {
    let found = decoder.find_tag(tag).map_err(refused(&format!("{tag:?}")))?;
    found.map_or(Ok(Vec::new()), |value| value.into_f64_vec().map_err(refused(&format!("{tag:?}"))))
}

fn text(decoder: &mut TiffDecoder, tag: Tag) -> Result<Option<String>, Refusal> {
    let found = decoder.find_tag(tag).map_err(refused(&format!("{tag:?}")))?;
    found.map(|value| value.into_string().map_err(refused(&format!("{tag:?}")))).transpose()
}

fn sample_type(decoder: &mut TiffDecoder) -> Result<SampleType, Refusal> {
    let samples = unsigned(decoder, Tag::SamplesPerPixel)?.unwrap_or(1);
    if samples != 1 {
        return Err(Refusal::new("SamplesPerPixel", format!("is {samples}; must be 1: heights have one band")));
    }
    if unsigned(decoder, Tag::PhotometricInterpretation)?.is_some_and(|value| value != 1) {
        return Err(Refusal::new("PhotometricInterpretation", "is no plain band of values; must be 1 (BlackIsZero)"));
    }
    let one = |decoder: &mut TiffDecoder, tag: Tag| -> Result<Option<u32>, Refusal> {
        let all = decoder.find_tag_unsigned_vec::<u32>(tag).map_err(refused(&format!("{tag:?}")))?;
        Ok(all.and_then(|all| all.first().copied()))
    };
    let bits = one(decoder, Tag::BitsPerSample)?.unwrap_or(1);
    let format = one(decoder, Tag::SampleFormat)?.unwrap_or(1);
    match (format, bits) {
        (1, 8) => Ok(SampleType::U8),
        (2, 8) => Ok(SampleType::I8),
        (1, 16) => Ok(SampleType::U16),
        (2, 16) => Ok(SampleType::I16),
        (1, 32) => Ok(SampleType::U32),
        (2, 32) => Ok(SampleType::I32),
        (3, 32) => Ok(SampleType::F32),
        (3, 64) => Ok(SampleType::F64),
        _ => {
            let what = format!(
                "is {format} with {bits} bits; must be integers (1, 2) of 8, 16 or 32 bits or floats (3) of 32 or 64"
            );
            Err(Refusal::new("SampleFormat", what))
        }
    }
}

/// Scale, offset and no-data as GDAL keeps them.
fn values(decoder: &mut TiffDecoder, sample: SampleType) -> Result<Values, Refusal> {
    let field = "GDAL_METADATA (42112)";
    let [mut scale, mut offset_m] = [1.0, 0.0];
    if let Some(xml) = text(decoder, GDAL_METADATA)? {
        let xml = xml.trim_end_matches('\0').trim();
        let document = roxmltree::Document::parse(xml).map_err(|e| Refusal::new(field, format!("is not XML: {e}")))?;
        for item in document.descendants().filter(|node| node.has_tag_name("Item")) {
            let target = match item.attribute("role") {
                Some("scale") => &mut scale,
                Some("offset") => &mut offset_m,
                _ => continue,
            };
            let value = item.text().unwrap_or_default().trim();
            *target = value.parse().map_err(|_| Refusal::new(field, format!("has {value:?}; must be a number")))?;
        }
    }
    let mut values = Values::new(field, scale, offset_m)?;
    if let Some(no_data) = text(decoder, Tag::GdalNodata)? {
        let no_data = no_data.trim_end_matches('\0').trim();
        let refusal = || Refusal::new("GDAL_NODATA (42113)", format!("is {no_data:?}; must be a number"));
        values.without(no_data.parse().map_err(|_| refusal())?, sample == SampleType::F32);
    }
    Ok(values)
}

/// Transform and system, each none where the file has none at all.
fn georeference(decoder: &mut TiffDecoder) -> Result<(Option<GeoTransform>, Option<super::Crs>), Refusal> {
    let field = "GeoKeyDirectory (34735)";
    let directory = decoder.find_tag_unsigned_vec::<u16>(Tag::GeoKeyDirectoryTag).map_err(refused(field))?;
    let ascii = text(decoder, Tag::GeoAsciiParamsTag)?.unwrap_or_default();
    let keys = GeoKeys {
        directory: directory.unwrap_or_default(),
        doubles: doubles(decoder, Tag::GeoDoubleParamsTag)?,
        ascii,
    };
    let crs = if keys.directory.is_empty() { None } else { Some(keys.crs()?) };
    let matrix = doubles(decoder, Tag::ModelTransformationTag)?;
    let [scale, tie] = [doubles(decoder, Tag::ModelPixelScaleTag)?, doubles(decoder, Tag::ModelTiepointTag)?];
    let (transform, field) = match (&matrix[..], &scale[..], &tie[..]) {
        (&[a, b, _, x, c, d, _, y, ..], ..) => {
            (GeoTransform { corner: [x, y], column_step: [a, c], row_step: [b, d] }, "ModelTransformation (34264)")
        }
        (_, &[dx, dy, ..], &[column, row, _, x, y, _]) => {
            (GeoTransform::north_up(x - column * dx, y + row * dy, dx, dy), "ModelPixelScale (33550)")
        }
        ([], [], []) => return Ok((None, crs)),
        _ => {
            let what = format!(
                "has {} numbers beside a pixel scale of {}; must be one tie point (6) with a pixel scale (3)",
                tie.len(),
                scale.len()
            );
            return Err(Refusal::new("ModelTiepoint (33922)", what));
        }
    };
    let transform = transform.checked(field)?;
    // A point is in the middle of its pixel, whose corner is half a pixel before it.
    let corner = if keys.is_point()? { transform.xy([-0.5, -0.5]) } else { transform.corner };
    Ok((Some(GeoTransform { corner, ..transform }), crs))
}

fn source(
    mut decoder: TiffDecoder,
    path: &Path,
    shape: [usize; 2],
    sample: SampleType,
    size: u64,
) -> Result<Source, Refusal> {
    let compression = unsigned(&mut decoder, Tag::Compression)?.unwrap_or(1);
    if !COMPRESSIONS.iter().any(|(known, _)| u32::from(*known) == compression) {
        let known: Vec<_> = COMPRESSIONS.iter().map(|(number, name)| format!("{number} ({name})")).collect();
        return Err(Refusal::new("Compression (259)", format!("is {compression}; must be {}", known.join(", "))));
    }
    let is_tiled = unsigned(&mut decoder, Tag::TileWidth)?.is_some();
    let (offsets, sizes) =
        if is_tiled { (Tag::TileOffsets, Tag::TileByteCounts) } else { (Tag::StripOffsets, Tag::StripByteCounts) };
    let mut list = |tag: Tag| {
        decoder.find_tag_unsigned_vec::<u64>(tag).map_err(refused(&format!("{tag:?}"))).map(Option::unwrap_or_default)
    };
    let [offsets, sizes] = [list(offsets)?, list(sizes)?];
    let (across, down) = decoder.chunk_dimensions();
    let block = [across as usize, if is_tiled { down as usize } else { (down as usize).min(shape[1]) }];
    let name = if is_tiled { "tile" } else { "strip" };
    let whole = across as u64 * block[1] as u64;
    for (index, (offset, bytes)) in offsets.iter().zip(&sizes).enumerate() {
        if offset.checked_add(*bytes).is_none_or(|end| end > size) {
            let what = format!("is {bytes} bytes at {offset}, and the file has {size}: it is truncated");
            return Err(Refusal::new(format!("{name} {index}"), what));
        }
        // The last strip may be short.
        let posts = if is_tiled { whole } else { across as u64 * block[1].min(shape[1] - index * block[1]) as u64 };
        let wanted = posts.saturating_mul(sample.bytes() as u64);
        if *bytes > 0 && compression == 1 && *bytes < wanted {
            return Err(Refusal::new(
                format!("{name} {index}"),
                format!("has {bytes} bytes for {wanted}: it is truncated"),
            ));
        }
        if *bytes > 0 && wanted > bytes.saturating_mul(RATIO_MAX) {
            let what = format!(
                "would make {wanted} bytes of {bytes}, more than compression can: a decompression bomb or a wrong label"
            );
            return Err(Refusal::new(format!("{name} {index}"), what));
        }
    }
    refuse_mask(&mut decoder)?;
    if compression == 1 {
        let file = File::open(path).map_err(|e| Refusal::new("file", e.to_string()))?;
        let starts = offsets.iter().zip(&sizes).map(|(offset, bytes)| (*bytes > 0).then_some(*offset)).collect();
        let is_big_endian = decoder.byte_order() == ByteOrder::BigEndian;
        let row_bytes = block[0] * sample.bytes();
        return Ok(Source::Raw(RawSource {
            file,
            sample,
            is_big_endian,
            columns: shape[0],
            block_columns: block[0],
            block_rows: block[1],
            row_bytes,
            starts,
        }));
    }
    if whole * sample.bytes() as u64 > BLOCK_BYTES_MAX {
        let what = format!(
            "is {} × {} posts; at most {BLOCK_BYTES_MAX} bytes are decoded at once: write the file in tiles",
            block[0], block[1]
        );
        return Err(Refusal::new(name, what));
    }
    Ok(Source::Tiff(Box::new(TiffSource { decoder, shape, block, sizes })))
}

/// A mask beside the heights says where they do not hold: not read, so not taken.
fn refuse_mask(decoder: &mut TiffDecoder) -> Result<(), Refusal> {
    while decoder.more_images() {
        decoder.next_image().map_err(refused("overview directory"))?;
        if unsigned(decoder, NEW_SUBFILE_TYPE)?.is_some_and(|kind| kind & IS_MASK != 0) {
            let what = "marks a mask, which is not read; write no-data as a value (gdal_translate -a_nodata)";
            return Err(Refusal::new("NewSubfileType (254)", what));
        }
    }
    decoder.seek_to_image(0).map_err(refused("image directory"))
}

impl TiffSource {
    /// Reads a window that lies inside; heights in `out`, row by row.
    pub(super) fn read(&mut self, window: &Window, values: &Values, out: &mut [f32]) -> Result<(), Refusal> {
        let [across, down] = self.block;
        let blocks_across = self.shape[0].div_ceil(across);
        for block_row in window.row / down..(window.row + window.rows).div_ceil(down) {
            for block_column in window.column / across..(window.column + window.columns).div_ceil(across) {
                let index = block_row * blocks_across + block_column;
                let columns = across.min(self.shape[0] - block_column * across);
                let rows = down.min(self.shape[1] - block_row * down);
                let block = Window { column: block_column * across, row: block_row * down, columns, rows };
                let Some(overlap) = window.overlap(&block) else { continue };
                let samples = if self.sizes.get(index).is_none_or(|size| *size == 0) {
                    None
                } else {
                    Some(self.decode(index, columns * rows)?)
                };
                for row in overlap.row..overlap.row + overlap.rows {
                    let from = (row - block.row) * columns + overlap.column - block.column;
                    let to = (row - window.row) * window.columns + overlap.column - window.column;
                    for (i, out) in out[to..to + overlap.columns].iter_mut().enumerate() {
                        *out = samples
                            .as_ref()
                            .map_or(f32::NAN, |samples| values.height_m(sample_at(samples, from + i)) as f32);
                    }
                }
            }
        }
        Ok(())
    }

    fn decode(&mut self, index: usize, posts: usize) -> Result<DecodingResult, Refusal> {
        let field = format!("block {index}");
        let broken = |error: TiffError| {
            Refusal::new(field.clone(), format!("cannot be decoded, so that the file is truncated or damaged: {error}"))
        };
        let mut samples = self.decoder.read_chunk(index as u32).map_err(broken)?;
        let found = samples.as_buffer(0).byte_len();
        let whole = sample_bytes(&samples) * posts;
        if found == whole {
            Ok(samples)
        } else {
            Err(Refusal::new(field, format!("has {found} bytes; must have {whole}")))
        }
    }
}

fn sample_bytes(samples: &DecodingResult) -> usize {
    match samples {
        DecodingResult::U8(_) | DecodingResult::I8(_) => 1,
        DecodingResult::U16(_) | DecodingResult::I16(_) | DecodingResult::F16(_) => 2,
        DecodingResult::U32(_) | DecodingResult::I32(_) | DecodingResult::F32(_) => 4,
        DecodingResult::U64(_) | DecodingResult::I64(_) | DecodingResult::F64(_) => 8,
    }
}

fn sample_at(samples: &DecodingResult, i: usize) -> f64 {
    match samples {
        DecodingResult::U8(all) => f64::from(all[i]),
        DecodingResult::I8(all) => f64::from(all[i]),
        DecodingResult::U16(all) => f64::from(all[i]),
        DecodingResult::I16(all) => f64::from(all[i]),
        DecodingResult::U32(all) => f64::from(all[i]),
        DecodingResult::I32(all) => f64::from(all[i]),
        DecodingResult::F32(all) => f64::from(all[i]),
        DecodingResult::F64(all) => all[i],
        // Not among the sample types taken.
        DecodingResult::U64(_) | DecodingResult::I64(_) | DecodingResult::F16(_) => f64::NAN,
    }
}
