//! Reader of GeoTIFF (OGC 19-008), BigTIFF and cloud-optimised GeoTIFF: one band of integers or floats in strips or
//! tiles, uncompressed or compressed by deflate, LZW or PackBits, with predictors; GDAL's no-data (42113) and scale
//! (42112) tags. Compressed blocks are decoded one at a time, uncompressed ones read by rows. Overviews are ignored.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use selene_base::input::open_regular;
use tiff::TiffError;
use tiff::decoder::Decoder;
use tiff::tags::Tag;

use crate::error::{ElevationError, Refusal, read_error};
use crate::format::Format;
use crate::geokeys::GeoKeys;
use crate::header::Header;
use crate::raw::SampleType;
use crate::tiff_blocks;
use crate::transform::GeoTransform;
use crate::values::Values;

const NEW_SUBFILE_TYPE: Tag = Tag::NewSubfileType;
const GDAL_METADATA: Tag = Tag::Unknown(42112);
/// The bit of NewSubfileType that marks a transparency mask.
const IS_MASK: u32 = 4;

pub(super) type TiffDecoder = Decoder<BufReader<File>>;

/// Opens a GeoTIFF.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let file = open_regular(path)?;
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
    refuse_mask(&mut decoder)?;
    let source = tiff_blocks::source(decoder, path, shape, sample, size)?;
    Ok(Header { format: Format::GeoTiff, shape, transform, crs, values, has_own_scale: true, source })
}

/// Turns a decoder's error into a refusal of `field`.
pub(super) fn refused(field: &str) -> impl Fn(TiffError) -> Refusal {
    let field = field.to_owned();
    move |error| Refusal::new(field.clone(), format!("is not readable: {error}"))
}

pub(super) fn unsigned(decoder: &mut TiffDecoder, tag: Tag) -> Result<Option<u32>, Refusal> {
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

/// Scale, offset and no-data value, from GDAL's tags.
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

/// Transform and coordinate system, each `None` if the file has none.
fn georeference(decoder: &mut TiffDecoder) -> Result<(Option<GeoTransform>, Option<crate::Crs>), Refusal> {
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
    // A point is at the middle of its pixel, whose corner is half a pixel before it.
    let corner = if keys.is_point()? { transform.xy([-0.5, -0.5]) } else { transform.corner };
    Ok((Some(GeoTransform { corner, ..transform }), crs))
}

/// Refuses a mask: it marks heights as invalid, and this reader does not read it.
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
