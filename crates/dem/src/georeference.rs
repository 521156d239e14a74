//! Georeferencing shared by all formats: the transform that the caller gives for files without one, and the check that
//! a grid lies on its map.

use crate::crs::{Crs, MOON_RADIUS_M};
use crate::error::Refusal;
use crate::transform::GeoTransform;

/// The transform given by the caller's options.
pub(super) fn stated_transform(
    [columns, rows]: [usize; 2],
    crs: &Crs,
    spacing_m: Option<f64>,
    origin: Option<[f64; 2]>,
) -> Result<GeoTransform, Refusal> {
    let missing = |field: &str, what: &str| {
        Refusal::new(field, format!("is missing, and the file does not say it; state {what}"))
    };
    let spacing_m =
        spacing_m.ok_or_else(|| missing("spacing", "the distance between posts in metres (--spacing-m)"))?;
    if !(spacing_m.is_finite() && spacing_m > 0.0) {
        return Err(Refusal::new("spacing", format!("is {spacing_m} m; must be finite and above 0")));
    }
    let step = spacing_m / crs.unit_m();
    let middle = [-0.5 * columns as f64 * step, 0.5 * rows as f64 * step];
    let corner = match origin {
        Some(corner) => corner,
        None if *crs == Crs::Local => middle,
        None => {
            return Err(missing("origin", "the map coordinates of the outer corner of the first pixel (--origin X,Y)"));
        }
    };
    GeoTransform::north_up(corner[0], corner[1], step, step).checked("origin")
}

/// Refuses a grid that does not lie on its map: a corner beyond a pole, or more than once around the Moon. One pixel of
/// tolerance allows for rounding in labels.
pub(super) fn check_extent(crs: &Crs, transform: &GeoTransform, [columns, rows]: [usize; 2]) -> Result<(), Refusal> {
    let [columns, rows] = [columns as f64, rows as f64];
    let Some(turn) = crs.circumference() else { return Ok(()) };
    let unit_per_rad = if *crs == Crs::Geographic { 1.0_f64.to_degrees() } else { MOON_RADIUS_M };
    let [step_x, step_y] = transform.spacing();
    let false_north = if let Crs::Equirectangular { false_origin_m, .. } = crs { false_origin_m[1] } else { 0.0 };
    let pole = unit_per_rad * std::f64::consts::FRAC_PI_2 + step_y;
    for corner in [[0.0, 0.0], [columns, 0.0], [0.0, rows], [columns, rows]] {
        let [_, y] = transform.xy(corner);
        if (y - false_north).abs() > pole {
            return Err(Refusal::new(
                "georeference",
                format!("puts the grid's corner at y = {y}, beyond the pole at {}", pole - step_y),
            ));
        }
    }
    if columns * step_x > turn + step_x {
        return Err(Refusal::new(
            "georeference",
            format!("makes the grid {} wide, more than once around the Moon ({turn})", columns * step_x),
        ));
    }
    Ok(())
}
