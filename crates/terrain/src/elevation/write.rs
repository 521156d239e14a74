//! Writing heights as GeoTIFF: 32-bit floats, NaN as no data, the Moon's sphere and
//! projection in user-defined keys as GDAL writes and reads them.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use tiff::TiffResult;
use tiff::encoder::colortype::Gray32Float;
use tiff::encoder::{Compression as TiffCompression, DeflateLevel, DirectoryEncoder, TiffEncoder, TiffKind};
use tiff::tags::Tag;

use super::dem::Dem;
use super::error::ElevationError;
use super::geokeys::GeoKeys;

/// How a GeoTIFF is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// Deflate.
    #[default]
    Deflate,
}

/// Writes heights with their georeference; a local grid has its transform only.
///
/// # Errors
/// When the file cannot be written, or would exceed 4 GiB.
pub fn write_geotiff(dem: &Dem, path: &Path, compression: Compression) -> Result<(), ElevationError> {
    let failed = |what: String| ElevationError::Write { path: path.to_owned(), what };
    let file = File::create(path).map_err(|e| failed(e.to_string()))?;
    write(dem, BufWriter::new(file), compression).map_err(|e| failed(e.to_string()))
}

fn write(dem: &Dem, file: BufWriter<File>, compression: Compression) -> TiffResult<()> {
    let compression = match compression {
        Compression::None => TiffCompression::Uncompressed,
        Compression::Deflate => TiffCompression::Deflate(DeflateLevel::Balanced),
    };
    let mut encoder = TiffEncoder::new(file)?.with_compression(compression);
    let mut image = encoder.new_image::<Gray32Float>(u32::try_from(dem.columns)?, u32::try_from(dem.rows)?)?;
    georeference(dem, image.encoder())?;
    image.write_data(&dem.heights_m)
}

fn georeference<K: TiffKind>(dem: &Dem, directory: &mut DirectoryEncoder<'_, BufWriter<File>, K>) -> TiffResult<()> {
    let t = dem.transform;
    if t.column_step[1] == 0.0 && t.row_step[0] == 0.0 && t.column_step[0] > 0.0 && t.row_step[1] < 0.0 {
        directory.write_tag(Tag::ModelPixelScaleTag, &[t.column_step[0], -t.row_step[1], 0.0][..])?;
        directory.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, t.corner[0], t.corner[1], 0.0][..])?;
    } else {
        let [[a, c], [b, d], [x, y]] = [t.column_step, t.row_step, t.corner];
        let matrix = [a, b, 0.0, x, c, d, 0.0, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        directory.write_tag(Tag::ModelTransformationTag, &matrix[..])?;
    }
    if let Some(keys) = GeoKeys::of(&dem.crs) {
        directory.write_tag(Tag::GeoKeyDirectoryTag, &keys.directory[..])?;
        directory.write_tag(Tag::GeoDoubleParamsTag, &keys.doubles[..])?;
        directory.write_tag(Tag::GeoAsciiParamsTag, keys.ascii.as_str())?;
    }
    directory.write_tag(Tag::GdalNodata, "nan")
}
