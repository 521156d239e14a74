//! GeoTIFF (OGC 19-008), BigTIFF and cloud-optimised GeoTIFF: one band of integers or
//! floats in strips or tiles, uncompressed or by deflate, LZW or PackBits, with
//! predictors; GDAL's no-data (42113) and scale (42112) tags. Compressed blocks are
//! decoded one at a time, uncompressed ones read by rows; overviews are left alone.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use tiff::TiffError;
use tiff::decoder::Decoder;
use tiff::tags::{ByteOrder, Tag};

use super::error::{ElevationError, Refusal, read_error};
use super::geokeys::GeoKeys;
use super::header::{Format, Header, Source};
use super::raw::{RawSource, SampleType};
use super::transform::GeoTransform;
use super::unpack::{Packing, Predictor, undo, unpack};
use super::values::Values;
use super::window::Window;

/// The largest block decoded, bytes.
const BLOCK_BYTES_MAX: u64 = 256 << 20;
/// Deflate and LZW make at most 1032 and 1400 times as much of what they are given.
const RATIO_MAX: u64 = 2000;
const NEW_SUBFILE_TYPE: Tag = Tag::NewSubfileType;
const GDAL_METADATA: Tag = Tag::Unknown(42112);
/// The bit of NewSubfileType that marks a transparency mask.
const IS_MASK: u32 = 4;

type TiffDecoder = Decoder<BufReader<File>>;

/// A file whose blocks are compressed.
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
    /// Where each block is and how many bytes it has; 0 for one left out.
    places: Vec<(u64, u64)>,
}

/// Opens a GeoTIFF.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let file = File::open(path).map_err(read_error(path))?;
    let size = file.metadata().map_err(read_error(path))?.len();
    read_header(file, path, size).map_err(|refusal| refusal.at(path))
}

fn read_header(file: File, path: &Path, size: u64) -> Result<Header, Refusal> {
    let mut decoder = Decoder::new(BufReader::new(file)).map_err(refused("header"))?;
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
    let packing = packing(&mut decoder)?;
    let is_tiled = unsigned(&mut decoder, Tag::TileWidth)?.is_some();
    let places = places(&mut decoder, is_tiled)?;
    let (across, down) = decoder.chunk_dimensions();
    let block = [across as usize, if is_tiled { down as usize } else { (down as usize).min(shape[1]) }];
    check_blocks(&places, shape, block, is_tiled, packing, sample, size)?;
    refuse_mask(&mut decoder)?;
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

/// How blocks are packed; none when they are not.
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

/// Where each block is and how many bytes it has.
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

/// Refuses blocks beyond the file's end, and blocks that cannot hold what they must.
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
                let [column, row] = [block_column * across, block_row * down];
                let block = Window { column, row, columns: across, rows: down };
                let Some(overlap) = window.overlap(&block) else { continue };
                let samples = self.block(block_row * blocks_across + block_column)?;
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

    /// The samples of a block; none of one that was left out.
    fn block(&mut self, index: usize) -> Result<Option<Samples>, Refusal> {
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
    /// Heights of the samples from number `from` on.
    fn heights(&self, from: usize, values: &Values, sample: SampleType, out: &mut [f32]) {
        let samples = self.bytes[from * sample.bytes()..].chunks_exact(sample.bytes());
        for (out, bytes) in out.iter_mut().zip(samples) {
            *out = values.height_m(sample.decode(bytes, self.is_big_endian)) as f32;
        }
    }
}
