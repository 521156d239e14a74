//! Reader of Esri ASCII grids: a header of `key value` lines, then heights row by row from the north, in metres. The
//! coordinate system comes from a `.prj` file beside the grid, or from the caller.

use std::path::Path;

use selene_base::input::{InputError, read_bytes};

use crate::crs::Crs;
use crate::error::{ElevationError, Refusal};
use crate::format::Format;
use crate::header::{Header, Source};
use crate::transform::GeoTransform;
use crate::values::Values;
use crate::wkt::from_text;

/// The largest grid accepted, bytes: the whole text is held in memory.
const BYTES_MAX: u64 = 256 << 20;
/// The largest `.prj` file accepted, bytes.
const PRJ_BYTES_MAX: u64 = 64 << 10;

/// Opens a grid.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let text = read_text(path, BYTES_MAX)?;
    let prj = path.with_extension("prj");
    let prj_text = if prj.is_file() { Some(read_text(&prj, PRJ_BYTES_MAX)?) } else { None };
    let crs =
        prj_text.map(|text| from_text("coordinate system", &text)).transpose().map_err(|refusal| refusal.at(&prj))?;
    read(&text, crs).map_err(|refusal| refusal.at(path))
}

fn read_text(path: &Path, bytes_max: u64) -> Result<String, ElevationError> {
    let bytes = read_bytes(path, bytes_max).map_err(|error| match error {
        InputError::Read { path, source } => ElevationError::Read { path, source },
        InputError::Content { what, .. } => Refusal::new("file", what).at(path),
    })?;
    String::from_utf8(bytes).map_err(|e| Refusal::new("file", format!("is not text: {e}")).at(path))
}

fn read(text: &str, crs: Option<Crs>) -> Result<Header, Refusal> {
    let mut words = text.split_ascii_whitespace().peekable();
    let mut keys = Vec::new();
    while let Some(key) =
        words.next_if(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.eq_ignore_ascii_case("nan"))
    {
        let key = key.to_ascii_lowercase();
        let value = words.next().unwrap_or_default();
        let number: f64 =
            value.parse().map_err(|_| Refusal::new(key.clone(), format!("is {value:?}; must be a number")))?;
        keys.push((key, number));
    }
    let number = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, number)| *number);
    let count = |name: &str| {
        let count = number(name).filter(|count| (1.0..=1e9).contains(count) && count.fract() == 0.0);
        count.map(|count| count as usize).ok_or_else(|| Refusal::new(name, "is missing or no whole number from 1"))
    };
    let shape = [count("ncols")?, count("nrows")?];
    // A post takes at least two bytes of text.
    let posts = shape[0].checked_mul(shape[1]).filter(|posts| *posts <= text.len());
    let posts = posts.ok_or_else(|| {
        Refusal::new("ncols, nrows", format!("are {} × {} posts, more than the file can hold", shape[0], shape[1]))
    })?;
    let transform = transform(number, shape)?;
    let mut samples = Vec::with_capacity(posts);
    for word in words {
        let field = || format!("row {}, column {}", samples.len() / shape[0], samples.len() % shape[0]);
        samples.push(word.parse().map_err(|_| Refusal::new(field(), format!("is {word:?}; must be a number")))?);
    }
    if samples.len() != posts {
        return Err(Refusal::new(
            "ncols, nrows",
            format!(
                "are {} × {} posts, and the file has {}: it is truncated or its header wrong",
                shape[0],
                shape[1],
                samples.len()
            ),
        ));
    }
    let mut values = Values::new("heights", 1.0, 0.0)?;
    if let Some(no_data) = number("nodata_value") {
        values.without(no_data, false);
    }
    Ok(Header {
        format: Format::AsciiGrid,
        shape,
        transform: Some(transform),
        crs,
        values,
        has_own_scale: true,
        source: Source::Held(samples),
    })
}

/// The header gives the corner or the middle of the last row's first cell.
fn transform(number: impl Fn(&str) -> Option<f64>, [_, rows]: [usize; 2]) -> Result<GeoTransform, Refusal> {
    let missing = |name: &str| Refusal::new(name, "is missing; must be a number");
    let cell = number("cellsize");
    let dx = number("dx").or(cell).ok_or_else(|| missing("cellsize"))?;
    let dy = number("dy").or(cell).ok_or_else(|| missing("cellsize"))?;
    let place = |corner: &str, middle: &str, step: f64| {
        number(corner).or_else(|| number(middle).map(|middle| middle - step / 2.0)).ok_or_else(|| missing(corner))
    };
    let [west, south] = [place("xllcorner", "xllcenter", dx)?, place("yllcorner", "yllcenter", dy)?];
    if !(dx > 0.0 && dy > 0.0) {
        return Err(Refusal::new("cellsize", format!("is {dx} × {dy}; must be above 0")));
    }
    GeoTransform::north_up(west, south + rows as f64 * dy, dx, dy).checked("cellsize")
}

#[cfg(test)]
mod tests {
    use super::read;

    const GRID: &str =
        "ncols 3\nnrows 2\nxllcorner 100\nyllcenter 205\ncellsize 10\nNODATA_value -9999\n1 2.5 3\n-4e1 -9999 6\n";

    #[test]
    fn rows_begin_in_the_north_and_corners_and_middles_are_distinguished() {
        let header = read(GRID, None).unwrap();
        assert_eq!(header.transform.unwrap().corner, [100.0, 220.0]);
        assert!(header.values.height_m(-9999.0).is_nan());
    }

    #[test]
    fn a_grid_that_is_not_what_its_header_says_is_refused() {
        for (from, to, part) in [
            ("ncols 3", "ncols 4", "truncated"),
            ("6\n", "6 7\n", "has 7"),
            ("nrows 2", "nrows 1e9", "more than the file can hold"),
            ("2.5", "2,5", "row 0, column 1"),
            ("cellsize 10", "cellsize 0", "above 0"),
            ("xllcorner 100", "xllcorner east", "xllcorner"),
        ] {
            let refusal = read(&GRID.replace(from, to), None).unwrap_err();
            let message = format!("{}: {}", refusal.field, refusal.what);
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }
}
