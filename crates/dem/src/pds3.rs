//! Reader of PDS3 images, whose label is a file of its own or precedes the image. Heights are
//! `DN · SCALING_FACTOR + OFFSET` in the label's UNIT; an OFFSET of 1737400 m means radii. The label's MISSING_CONSTANT
//! marks no data, and so does the smallest 16-bit integer, as in GDAL. MINIMUM and MAXIMUM are counts; an image with
//! values beyond them is refused, which also detects a wrong byte order.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use selene_base::input::open_regular;

use crate::body::check_target;
use crate::error::{ElevationError, Refusal, read_error};
use crate::format::Format;
use crate::header::{Header, Source};
use crate::odl::{Block, Value};
use crate::pds3_map;
use crate::raw::{RawSource, SampleType};
use crate::values::Values;

/// The most bytes of a label that are read.
const LABEL_BYTES_MAX: u64 = 4 << 20;

/// Opens a label or an image that begins with one.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let mut bytes = Vec::new();
    let file = open_regular(path)?;
    file.take(LABEL_BYTES_MAX).read_to_end(&mut bytes).map_err(read_error(path))?;
    let refuse = |refusal: Refusal| refusal.at(path);
    let label = Block::parse(&String::from_utf8_lossy(&bytes)).map_err(refuse)?;
    let image = label.find("IMAGE").ok_or_else(|| refuse(Refusal::new("OBJECT = IMAGE", "is missing")))?;
    let (image_path, start) = locate(&label, path).map_err(refuse)?;
    let file = open_regular(&image_path)?;
    let source = source(image, file, start).and_then(|(shape, source)| {
        let is_detached = image_path != path;
        check_size(&label, shape, &source, is_detached)?;
        Ok((shape, source.checked("IMAGE", shape[1])?))
    });
    let (shape, source) = source.map_err(refuse)?;
    if let Some(target) = label.find_value("TARGET_NAME") {
        check_target("TARGET_NAME", target.text()).map_err(refuse)?;
    }
    let values = values(image, source.sample).map_err(refuse)?;
    let map =
        label.find("IMAGE_MAP_PROJECTION").map(|map| pds3_map::georeference(map, shape)).transpose().map_err(refuse)?;
    let (transform, crs) = map.unzip();
    Ok(Header { format: Format::Pds3, shape, transform, crs, values, has_own_scale: true, source: Source::Raw(source) })
}

/// The file of the image, and the byte at which it begins.
fn locate(label: &Block, path: &Path) -> Result<(PathBuf, u64), Refusal> {
    let pointer =
        label.find_value("^IMAGE").ok_or_else(|| Refusal::new("^IMAGE", "is missing: it says where the image is"))?;
    let is_place = |text: &str| text.parse::<f64>().is_ok();
    let (name, place) = match &pointer.parts[..] {
        [place] if is_place(place) => (None, Some(0)),
        [name] => (Some(name), None),
        [name, place] if is_place(place) => (Some(name), Some(1)),
        _ => return Err(Refusal::new("^IMAGE", "must be a file, a place in it, or (file, place)")),
    };
    let start = place.map_or(Ok(0), |index| start(label, pointer, index))?;
    let Some(name) = name else { return Ok((path.to_owned(), start)) };
    let name = Path::new(name)
        .file_name()
        .ok_or_else(|| Refusal::new("^IMAGE", format!("is {name:?}; must be a file's name")))?;
    let lower = name.to_string_lossy().to_lowercase();
    let beside = [path.with_file_name(name), path.with_file_name(lower)];
    let found = beside.iter().find(|candidate| candidate.is_file());
    let missing = || Refusal::new("^IMAGE", format!("is {}, which is not beside the label", name.display()));
    Ok((found.ok_or_else(missing)?.clone(), start))
}

/// First byte of the image. The pointer counts from 1, in records, or in bytes when it says so.
fn start(label: &Block, pointer: &Value, index: usize) -> Result<u64, Refusal> {
    let wrong = || Refusal::new("^IMAGE", format!("is at {:?}; must be a whole number from 1", pointer.parts[index]));
    let place = pointer.parts[index].parse::<u64>().ok().filter(|place| *place >= 1).ok_or_else(wrong)?;
    if pointer.units[index].eq_ignore_ascii_case("bytes") {
        return Ok(place - 1);
    }
    let record_bytes = label.find_value("RECORD_BYTES").and_then(|value| value.text().parse::<u64>().ok());
    let record_bytes =
        record_bytes.ok_or_else(|| Refusal::new("RECORD_BYTES", "is missing, and ^IMAGE counts records"))?;
    (place - 1).checked_mul(record_bytes).ok_or_else(wrong)
}

fn source(image: &Block, file: File, start: u64) -> Result<([usize; 2], RawSource), Refusal> {
    let shape = [image.count("LINE_SAMPLES")?, image.count("LINES")?];
    if image.number("BANDS")?.is_some_and(|bands| bands != 1.0) {
        return Err(Refusal::new("BANDS", "is more than one; must be 1"));
    }
    if !matches!(image.upper("ENCODING_TYPE").as_str(), "" | "N/A" | "NONE") {
        return Err(Refusal::new("ENCODING_TYPE", format!("is {}; must be none", image.upper("ENCODING_TYPE"))));
    }
    let [name, bits] = [image.upper("SAMPLE_TYPE"), image.count("SAMPLE_BITS")?.to_string()];
    let is_little = name.starts_with("LSB") || name.starts_with("PC_") || name.starts_with("VAX_I");
    let kind = ["UNSIGNED", "INTEGER", "REAL"].into_iter().find(|kind| name.contains(kind));
    let is_known = is_little
        || ["MSB_", "SUN_", "MAC_", "IEEE_", "UNSIGNED_INTEGER", "INTEGER", "REAL", "FLOAT"]
            .iter()
            .any(|start| name.starts_with(start));
    let sample = match (kind, bits.as_str()) {
        (Some("UNSIGNED"), "8") => SampleType::U8,
        (Some("INTEGER"), "8") => SampleType::I8,
        (Some("UNSIGNED"), "16") => SampleType::U16,
        (Some("INTEGER"), "16") => SampleType::I16,
        (Some("UNSIGNED"), "32") => SampleType::U32,
        (Some("INTEGER"), "32") => SampleType::I32,
        (Some("REAL"), "32") => SampleType::F32,
        (Some("REAL"), "64") => SampleType::F64,
        _ => {
            return Err(Refusal::new(
                "SAMPLE_TYPE",
                format!(
                    "is {name} of {bits} bits; must be an LSB or MSB integer of 8, 16 or 32 bits or a PC or IEEE real of 32 or 64"
                ),
            ));
        }
    };
    if !is_known {
        return Err(Refusal::new(
            "SAMPLE_TYPE",
            format!("is {name}, whose byte order is not known here; must be LSB_, MSB_, PC_ or IEEE_"),
        ));
    }
    let mut source = RawSource::contiguous(file, start, shape, sample, !is_little);
    let [prefix, suffix] = ["LINE_PREFIX_BYTES", "LINE_SUFFIX_BYTES"].map(|key| image.number(key));
    let [prefix, suffix] = [prefix?.unwrap_or(0.0), suffix?.unwrap_or(0.0)].map(|bytes| bytes.clamp(0.0, 1e6) as usize);
    source.row_bytes += prefix + suffix;
    source.starts = vec![Some(start + prefix as u64)];
    Ok((shape, source))
}

/// A detached image must fill its file, in whole records.
fn check_size(
    label: &Block,
    [columns, rows]: [usize; 2],
    source: &RawSource,
    is_detached: bool,
) -> Result<(), Refusal> {
    let size = source.file.metadata().map_or(0, |metadata| metadata.len());
    let number = |key: &str| label.find_value(key).and_then(|value| value.text().parse::<u64>().ok());
    let [records, record_bytes] = [number("FILE_RECORDS"), number("RECORD_BYTES")];
    let stated = records.zip(record_bytes).and_then(|(records, bytes)| records.checked_mul(bytes));
    let needed = (source.row_bytes as u64).saturating_mul(rows as u64);
    let record = record_bytes.unwrap_or(0).max(source.row_bytes as u64);
    if is_detached && size > needed.saturating_add(record) && Some(size) != stated {
        let what =
            format!("are {rows} × {columns}, {needed} bytes, and the image has {size}: the label is another file's");
        return Err(Refusal::new("LINES, LINE_SAMPLES", what));
    }
    Ok(())
}

fn values(image: &Block, sample: SampleType) -> Result<Values, Refusal> {
    let unit_m = match image.upper("UNIT").as_str() {
        "" | "N/A" | "METER" | "METERS" | "M" => 1.0,
        "KILOMETER" | "KILOMETERS" | "KM" => 1000.0,
        other => return Err(Refusal::new("UNIT", format!("is {other}; must be METER or KILOMETER"))),
    };
    let [scale, offset] = [image.number("SCALING_FACTOR")?.unwrap_or(1.0), image.number("OFFSET")?.unwrap_or(0.0)];
    let mut values = Values::new("SCALING_FACTOR, OFFSET", scale * unit_m, offset * unit_m)?;
    for key in ["MISSING_CONSTANT", "CORE_NULL", "MISSING"] {
        if let Some(constant) = image.value(key).map(|value| constant(key, value.text(), sample)).transpose()?.flatten()
        {
            values.without(constant, sample == SampleType::F32);
        }
    }
    if sample == SampleType::I16 {
        values.without(f64::from(i16::MIN), false);
    }
    let is_integer = !matches!(sample, SampleType::F32 | SampleType::F64);
    if let (true, Some(low), Some(high)) = (is_integer, image.number("MINIMUM")?, image.number("MAXIMUM")?) {
        values.state_range(low, high);
    }
    Ok(values)
}

/// A constant: a number, or its bits written as `16#FF7FFFFB#`.
fn constant(key: &str, text: &str, sample: SampleType) -> Result<Option<f64>, Refusal> {
    let wrong = || Refusal::new(key, format!("is {text:?}; must be a number or 16#…#"));
    if matches!(text.to_ascii_uppercase().as_str(), "N/A" | "NULL" | "UNK") {
        return Ok(None);
    }
    let Some(digits) = text.strip_prefix("16#") else { return text.parse().map(Some).map_err(|_| wrong()) };
    let bits = u64::from_str_radix(digits.trim_end_matches('#'), 16).map_err(|_| wrong())?;
    Ok(Some(match sample {
        SampleType::F32 => f64::from(f32::from_bits(bits as u32)),
        SampleType::F64 => f64::from_bits(bits),
        SampleType::I16 => f64::from(bits as u16 as i16),
        SampleType::I32 => f64::from(bits as u32 as i32),
        SampleType::I8 => f64::from(bits as u8 as i8),
        SampleType::U8 | SampleType::U16 | SampleType::U32 => bits as f64,
    }))
}
