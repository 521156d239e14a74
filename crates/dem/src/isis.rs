//! Reader of ISIS cubes (USGS): a label of nested groups, then samples in tiles or band by band. Elevation is stored as
//! a radius, `DN · Multiplier + Base`. Special pixels (nulls and saturations, ISIS's SpecialPixel.h) are no data. The
//! Mapping group's corner places the map. A cube of longitude domain 360 spans 0° to 360° from its central meridian
//! instead of being centred on it, and is read that way.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use selene_base::input::open_regular;

use crate::body::{check_radius, check_target, equirectangular, polar, unknown_projection};
use crate::crs::Crs;
use crate::error::{ElevationError, Refusal, read_error};
use crate::format::Format;
use crate::header::{Header, Source};
use crate::odl::Block;
use crate::raw::{RawSource, SampleType};
use crate::transform::GeoTransform;
use crate::values::Values;

/// The most bytes of a label that are read; ISIS reserves 64 kB.
const LABEL_BYTES_MAX: u64 = 4 << 20;

/// Opens a cube or its detached label.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let mut bytes = Vec::new();
    let file = open_regular(path)?;
    file.take(LABEL_BYTES_MAX).read_to_end(&mut bytes).map_err(read_error(path))?;
    let label = Block::parse(&String::from_utf8_lossy(&bytes)).map_err(|refusal| refusal.at(path))?;
    let core = label.find("Core").ok_or_else(|| Refusal::new("Object = Core", "is missing").at(path))?;
    let image = match core.value("^Core") {
        Some(name) => path.with_file_name(Path::new(name.text()).file_name().unwrap_or_default()),
        None => path.to_owned(),
    };
    let file = open_regular(&image)?;
    header(&label, core, file).map_err(|refusal| refusal.at(path))
}

fn header(label: &Block, core: &Block, file: File) -> Result<Header, Refusal> {
    let group = |name: &str| core.find(name).ok_or_else(|| Refusal::new(format!("Group = {name}"), "is missing"));
    let [dimensions, pixels] = [group("Dimensions")?, group("Pixels")?];
    let shape = [dimensions.count("Samples")?, dimensions.count("Lines")?];
    if dimensions.number("Bands")?.is_some_and(|bands| bands != 1.0) {
        return Err(Refusal::new("Bands", "is more than one; must be 1"));
    }
    let (sample, special) = match pixels.upper("Type").as_str() {
        "UNSIGNEDBYTE" => (SampleType::U8, vec![0.0..=0.0, 255.0..=255.0]),
        "SIGNEDWORD" => (SampleType::I16, vec![-32768.0..=-32753.0]),
        "UNSIGNEDWORD" => (SampleType::U16, vec![0.0..=2.0, 65523.0..=65535.0]),
        "SIGNEDINTEGER" => (SampleType::I32, vec![-2_147_483_648.0..=-2_147_483_633.0]),
        "REAL" => (SampleType::F32, vec![f64::NEG_INFINITY..=-3.402_822_5e38]),
        other => {
            return Err(Refusal::new(
                "Type",
                format!("is {other:?}; must be UnsignedByte, SignedWord, UnsignedWord, SignedInteger or Real"),
            ));
        }
    };
    let is_big_endian = match pixels.upper("ByteOrder").as_str() {
        "LSB" | "" => false,
        "MSB" => true,
        other => return Err(Refusal::new("ByteOrder", format!("is {other:?}; must be Lsb or Msb"))),
    };
    let [base, multiplier] = [pixels.number("Base")?.unwrap_or(0.0), pixels.number("Multiplier")?.unwrap_or(1.0)];
    let mut values = Values::new("Base, Multiplier", multiplier, base)?;
    values.no_data = special;
    let start = core.count("StartByte")? as u64 - 1;
    let mut source = RawSource::contiguous(file, start, shape, sample, is_big_endian);
    match core.upper("Format").as_str() {
        "BANDSEQUENTIAL" => {}
        "TILE" => tiles(&mut source, start, shape, [core.count("TileSamples")?, core.count("TileLines")?])?,
        other => return Err(Refusal::new("Format", format!("is {other:?}; must be Tile or BandSequential"))),
    }
    let source = Source::Raw(source.checked("Core", shape[1])?);
    let (transform, crs) = label.find("Mapping").map(mapping).transpose()?.unzip();
    Ok(Header { format: Format::Isis, shape, transform, crs, values, has_own_scale: true, source })
}

/// Tiles are stored in full, even where they extend beyond the image.
fn tiles(
    source: &mut RawSource,
    start: u64,
    [columns, rows]: [usize; 2],
    [across, down]: [usize; 2],
) -> Result<(), Refusal> {
    let count = columns.div_ceil(across) * rows.div_ceil(down);
    let tile_bytes =
        (across as u64).checked_mul(down as u64).and_then(|posts| posts.checked_mul(source.sample.bytes() as u64));
    let wrong = || {
        Refusal::new(
            "TileSamples, TileLines",
            format!("make {count} tiles of {across} × {down}; the file cannot hold them"),
        )
    };
    let size = source.file.metadata().map_or(0, |metadata| metadata.len());
    let tile_bytes = tile_bytes
        .filter(|bytes| bytes.saturating_mul(count as u64).saturating_add(start) <= size)
        .ok_or_else(wrong)?;
    source.block_columns = across;
    source.block_rows = down;
    source.row_bytes = across * source.sample.bytes();
    source.starts = (0..count as u64).map(|tile| Some(start + tile * tile_bytes)).collect();
    Ok(())
}

fn mapping(map: &Block) -> Result<(GeoTransform, Crs), Refusal> {
    check_target("TargetName", map.value("TargetName").map_or("", |value| value.text()))?;
    for key in ["EquatorialRadius", "PolarRadius"] {
        let radius_m = map.length_m(key, "m")?.ok_or_else(|| Refusal::new(key, "is missing; must be 1737400 m"))?;
        check_radius(key, radius_m)?;
    }
    let east = match map.upper("LongitudeDirection").as_str() {
        "POSITIVEEAST" | "" => 1.0,
        "POSITIVEWEST" => -1.0,
        other => {
            return Err(Refusal::new(
                "LongitudeDirection",
                format!("is {other:?}; must be PositiveEast or PositiveWest"),
            ));
        }
    };
    if !matches!(map.upper("LongitudeDomain").as_str(), "180" | "360" | "") {
        return Err(Refusal::new("LongitudeDomain", "is neither 180 nor 360"));
    }
    let meridian_deg = east * map.number("CenterLongitude")?.unwrap_or(0.0);
    let latitude_deg = map.number("CenterLatitude")?.unwrap_or(0.0);
    let field = "ProjectionName";
    let crs = match map.upper(field).as_str() {
        "EQUIRECTANGULAR" => equirectangular(field, latitude_deg, meridian_deg, [0.0; 2])?,
        "SIMPLECYLINDRICAL" => equirectangular(field, 0.0, meridian_deg, [0.0; 2])?,
        "SINUSOIDAL" => Crs::Sinusoidal { central_meridian_rad: meridian_deg.to_radians(), false_origin_m: [0.0; 2] },
        "POLARSTEREOGRAPHIC" => {
            polar(field, latitude_deg, meridian_deg, map.number("scaleFactor")?.unwrap_or(1.0), [0.0; 2])?
        }
        other => return Err(unknown_projection(field, other)),
    };
    let needed = |key: &str| map.length_m(key, "m")?.ok_or_else(|| Refusal::new(key, "is missing; must be metres"));
    let [x, y, step] = [needed("UpperLeftCornerX")?, needed("UpperLeftCornerY")?, needed("PixelResolution")?];
    Ok((GeoTransform::north_up(x, y, step, step).checked("PixelResolution")?, crs))
}
