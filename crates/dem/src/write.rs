//! Writer of heights as GeoTIFF: 32-bit floats, NaN as no data, and the Moon's sphere and projection in user-defined
//! keys as GDAL writes and reads them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use flate2::write::ZlibEncoder;
use selene_base::output::{self, TIFF};
use tiff::TiffResult;
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKind};
use tiff::tags::{CompressionMethod, PhotometricInterpretation, SampleFormat, Tag};

use crate::crs::Crs;
use crate::dem::Dem;
use crate::error::ElevationError;
use crate::geokeys::GeoKeys;
use crate::transform::GeoTransform;

/// Bytes of a strip before compression.
const STRIP_BYTES: usize = 1 << 20;
/// The tag in which GDAL stores a band's description.
const GDAL_METADATA: u16 = 42112;

/// Compression of a written GeoTIFF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    None,
    /// Compressed by deflate.
    #[default]
    Deflate,
}

/// Writes heights with their georeference; a local grid gets its transform only.
///
/// # Errors
/// When the file cannot be written, or would exceed 4 GiB.
pub fn write_geotiff(dem: &Dem, path: &Path, compression: Compression) -> Result<(), ElevationError> {
    let failed = |what: String| ElevationError::Write { path: path.to_owned(), what };
    let head = RasterHead { shape: [dem.columns, dem.rows], transform: dem.transform, crs: dem.crs, description: None };
    let row =
        |row: usize, values: &mut [f32]| values.copy_from_slice(&dem.heights_m[row * dem.columns..][..dem.columns]);
    output::write_whole(path, &TIFF, |beside| {
        let file = File::create(beside).map_err(|e| failed(e.to_string()))?;
        write(&head, BufWriter::new(file), compression, row).map_err(|e| failed(e.to_string()))
    })
}

/// Header of a GeoTIFF that is written row by row.
#[derive(Clone, Debug)]
pub struct RasterHead {
    /// Number of columns and rows.
    pub shape: [usize; 2],
    /// Transform from pixels to map coordinates.
    pub transform: GeoTransform,
    /// Coordinate system of the map.
    pub crs: Crs,
    /// What the values are, with their unit; written as the band's description.
    pub description: Option<String>,
}

/// Writes a raster of 32-bit floats. It asks for the rows one after the other, so memory holds only a strip of them.
/// NaN is no data.
///
/// # Errors
/// When the file cannot be written, or would exceed 4 GiB.
pub fn write_geotiff_rows(
    head: &RasterHead,
    path: &Path,
    row: impl FnMut(usize, &mut [f32]),
) -> Result<(), ElevationError> {
    let failed = |what: String| ElevationError::Write { path: path.to_owned(), what };
    output::write_whole(path, &TIFF, |beside| {
        let file = File::create(beside).map_err(|e| failed(e.to_string()))?;
        write(head, BufWriter::new(file), Compression::Deflate, row).map_err(|e| failed(e.to_string()))
    })
}

fn write(
    head: &RasterHead,
    file: BufWriter<File>,
    compression: Compression,
    mut row: impl FnMut(usize, &mut [f32]),
) -> TiffResult<()> {
    let [columns, rows] = head.shape;
    let strip_rows = (STRIP_BYTES / (4 * columns.max(1))).clamp(1, rows.max(1));
    let mut encoder = TiffEncoder::new(file)?;
    let mut directory = encoder.image_directory()?;
    describe(head, compression, strip_rows, &mut directory)?;
    georeference(head, &mut directory)?;
    let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
    for first in (0..rows).step_by(strip_rows) {
        let mut strip = vec![f32::NAN; strip_rows.min(rows - first) * columns];
        strip.chunks_mut(columns).zip(first..).for_each(|(values, at)| row(at, values));
        let bytes = packed(&strip, compression)?;
        offsets.push(u32::try_from(directory.write_data(&bytes[..])?)?);
        sizes.push(u32::try_from(bytes.len())?);
    }
    directory.write_tag(Tag::StripOffsets, &offsets[..])?;
    directory.write_tag(Tag::StripByteCounts, &sizes[..])?;
    directory.finish()
}

/// Writes the tags for the samples' type and layout.
fn describe<K: TiffKind>(
    head: &RasterHead,
    compression: Compression,
    strip_rows: usize,
    directory: &mut DirectoryEncoder<'_, BufWriter<File>, K>,
) -> TiffResult<()> {
    let [columns, rows] = head.shape;
    let compression = match compression {
        Compression::None => CompressionMethod::None,
        Compression::Deflate => CompressionMethod::Deflate,
    };
    directory.write_tag(Tag::ImageWidth, u32::try_from(columns)?)?;
    directory.write_tag(Tag::ImageLength, u32::try_from(rows)?)?;
    directory.write_tag(Tag::BitsPerSample, 32_u16)?;
    directory.write_tag(Tag::SampleFormat, SampleFormat::IEEEFP.to_u16())?;
    directory.write_tag(Tag::SamplesPerPixel, 1_u16)?;
    directory.write_tag(Tag::PhotometricInterpretation, PhotometricInterpretation::BlackIsZero.to_u16())?;
    directory.write_tag(Tag::Compression, compression.to_u16())?;
    directory.write_tag(Tag::RowsPerStrip, u32::try_from(strip_rows)?)
}

/// The bytes of a strip. The `tiff` crate compresses whole images only: its `write_strip` does not.
fn packed(strip: &[f32], compression: Compression) -> TiffResult<Vec<u8>> {
    let bytes: Vec<u8> = strip.iter().flat_map(|value| value.to_ne_bytes()).collect();
    match compression {
        Compression::None => Ok(bytes),
        Compression::Deflate => {
            let mut packed = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            packed.write_all(&bytes)?;
            Ok(packed.finish()?)
        }
    }
}

fn georeference<K: TiffKind>(
    head: &RasterHead,
    directory: &mut DirectoryEncoder<'_, BufWriter<File>, K>,
) -> TiffResult<()> {
    let t = head.transform;
    if t.column_step[1] == 0.0 && t.row_step[0] == 0.0 && t.column_step[0] > 0.0 && t.row_step[1] < 0.0 {
        directory.write_tag(Tag::ModelPixelScaleTag, &[t.column_step[0], -t.row_step[1], 0.0][..])?;
        directory.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, t.corner[0], t.corner[1], 0.0][..])?;
    } else {
        let [[a, c], [b, d], [x, y]] = [t.column_step, t.row_step, t.corner];
        let matrix = [a, b, 0.0, x, c, d, 0.0, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        directory.write_tag(Tag::ModelTransformationTag, &matrix[..])?;
    }
    if let Some(keys) = GeoKeys::of(&head.crs) {
        directory.write_tag(Tag::GeoKeyDirectoryTag, &keys.directory[..])?;
        directory.write_tag(Tag::GeoDoubleParamsTag, &keys.doubles[..])?;
        directory.write_tag(Tag::GeoAsciiParamsTag, keys.ascii.as_str())?;
    }
    if let Some(text) = &head.description {
        let item = format!("<Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">{text}</Item>");
        directory.write_tag(Tag::Unknown(GDAL_METADATA), format!("<GDALMetadata>{item}</GDALMetadata>").as_str())?;
    }
    directory.write_tag(Tag::GdalNodata, "nan")
}
