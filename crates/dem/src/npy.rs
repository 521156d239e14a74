//! Reader of two-dimensional NumPy arrays (`.npy`, format versions 1 to 3), rows from the north. Floats are metres
//! unless the caller gives a scale; integers need one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use selene_base::input::open_regular;

use crate::error::{ElevationError, Refusal, read_error};
use crate::file::ReadOptions;
use crate::format::Format;
use crate::header::{Header, Source};
use crate::raw::{RawSource, SampleType};
use crate::values::Values;

/// The longest header accepted, bytes; NumPy writes 118.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// Opens an array.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Header, ElevationError> {
    let mut file = open_regular(path)?;
    let mut start = [0; 12];
    file.read_exact(&mut start).map_err(read_error(path))?;
    let (length, before) = match start[6] {
        1 => (usize::from(u16::from_le_bytes([start[8], start[9]])), 10),
        _ => (u32::from_le_bytes([start[8], start[9], start[10], start[11]]) as usize, 12),
    };
    if length > HEADER_BYTES_MAX {
        let what = format!("is {length} bytes; at most {HEADER_BYTES_MAX} are taken");
        return Err(Refusal::new("header", what).at(path));
    }
    let mut text = start[before..].to_vec();
    let rest = (before + length).saturating_sub(start.len());
    file.by_ref().take(rest as u64).read_to_end(&mut text).map_err(read_error(path))?;
    header(&String::from_utf8_lossy(&text), (before + length) as u64, file, options).map_err(|refusal| refusal.at(path))
}

fn header(text: &str, start: u64, file: File, options: &ReadOptions) -> Result<Header, Refusal> {
    let descr = after(text, "'descr'").and_then(|rest| rest.split('\'').nth(1));
    let descr = descr
        .ok_or_else(|| Refusal::new("descr", "is missing or of several fields; must be one type such as '<f4'"))?;
    let is_big_endian = descr.starts_with('>');
    let sample = match descr.trim_start_matches(['<', '>', '|', '=']) {
        "u1" => SampleType::U8,
        "i1" => SampleType::I8,
        "u2" => SampleType::U16,
        "i2" => SampleType::I16,
        "u4" => SampleType::U32,
        "i4" => SampleType::I32,
        "f4" => SampleType::F32,
        "f8" => SampleType::F64,
        _ => {
            return Err(Refusal::new(
                "descr",
                format!("is {descr:?}; must be an integer of 1, 2 or 4 bytes or a float of 4 or 8"),
            ));
        }
    };
    if after(text, "'fortran_order'").is_some_and(|rest| rest.trim_start_matches([':', ' ']).starts_with("True")) {
        return Err(Refusal::new("fortran_order", "is True; must be False (numpy.ascontiguousarray)"));
    }
    let shape =
        after(text, "'shape'").and_then(|rest| rest.split_once('(')?.1.split_once(')')).map_or("", |(shape, _)| shape);
    let sides: Vec<usize> = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
    let [rows, columns] = sides[..] else {
        return Err(Refusal::new("shape", format!("is ({shape}); must be (rows, columns)")));
    };
    if !(1..=1_000_000_000).contains(&rows) || !(1..=1_000_000_000).contains(&columns) {
        return Err(Refusal::new("shape", format!("is {rows} × {columns}; must be from 1 to 1e9 each")));
    }
    let is_float = matches!(sample, SampleType::F32 | SampleType::F64);
    let missing = || Refusal::new("scale", "is missing: these are integers; state the metres of one count (--scale)");
    let scale = options.scale.or(is_float.then_some(1.0)).ok_or_else(missing)?;
    let values = Values::new("scale, offset", scale, options.offset_m.unwrap_or(0.0))?;
    let shape = [columns, rows];
    let source = RawSource::contiguous(file, start, shape, sample, is_big_endian).checked("shape", rows)?;
    Ok(Header {
        format: Format::Npy,
        shape,
        transform: None,
        crs: None,
        values,
        has_own_scale: false,
        source: Source::Raw(source),
    })
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}
