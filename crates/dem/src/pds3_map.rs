//! Georeference of a PDS3 image, from its IMAGE_MAP_PROJECTION: sample s and line l, both counted from one, are at
//! x = (s − 1 − S₀)·scale and y = (L₀ + 1 − l)·scale, where S₀ and L₀ are the projection offsets (PDS standards
//! reference; LOLA's DSMAP.CAT, DSMAP_POLAR.CAT as corrected in 2021: longitude 0° points down in the north and up in
//! the south, 90° E to the right).
//!
//! Labels differ in two signs. Where POSITIVE_LONGITUDE_DIRECTION is WEST, longitudes count west: the image is the
//! same, but its longitudes change sign. Old labels have projection offsets of the opposite sign; the label's own
//! bounds decide which is meant, and a label whose bounds fit neither is refused.

use std::f64::consts::PI;

use crate::body::{check_radius, equirectangular, polar, unknown_projection};
use crate::crs::{Crs, GeoPoint, MOON_RADIUS_M, Pole};
use crate::error::Refusal;
use crate::odl::Block;
use crate::transform::GeoTransform;

/// Tolerance between the bounds and the image's edge, pixels: labels round, or give the bounds of pixel middles.
const BOUNDS_TOLERANCE_PX: f64 = 2.0;
/// Largest relative difference between MAP_SCALE, which labels round, and MAP_RESOLUTION, which is used instead.
const SCALE_TOLERANCE: f64 = 1e-4;

/// Transform and coordinate system of an image of `shape` columns and rows.
pub(super) fn georeference(map: &Block, shape: [usize; 2]) -> Result<(GeoTransform, Crs), Refusal> {
    for key in ["A_AXIS_RADIUS", "B_AXIS_RADIUS", "C_AXIS_RADIUS"] {
        match map.length_m(key, "km")? {
            Some(radius_m) => check_radius(key, radius_m)?,
            None if key == "A_AXIS_RADIUS" => return Err(Refusal::new(key, "is missing; must be 1737.4 <km>")),
            None => {}
        }
    }
    if map.number("MAP_PROJECTION_ROTATION")?.is_some_and(|rotation| rotation != 0.0) {
        return Err(Refusal::new("MAP_PROJECTION_ROTATION", "is not 0; must be 0"));
    }
    let east = match map.upper("POSITIVE_LONGITUDE_DIRECTION").as_str() {
        "EAST" | "" => 1.0,
        "WEST" => -1.0,
        other => return Err(Refusal::new("POSITIVE_LONGITUDE_DIRECTION", format!("is {other}; must be EAST or WEST"))),
    };
    let crs = crs(map, east)?;
    let scale_m = scale_m(map, &crs)?;
    let [s0, l0] = [map.needed("SAMPLE_PROJECTION_OFFSET")?, map.needed("LINE_PROJECTION_OFFSET")?];
    let bounds = MapBounds::of(map, east)?;
    let signs = [[1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]];
    let candidates = signs
        .map(|[a, b]| GeoTransform::north_up(-(a * s0 + 0.5) * scale_m, (b * l0 + 0.5) * scale_m, scale_m, scale_m));
    let tolerance_rad = BOUNDS_TOLERANCE_PX * scale_m / MOON_RADIUS_M;
    for candidate in candidates {
        let transform = candidate.checked("SAMPLE_PROJECTION_OFFSET")?;
        if bounds.miss_rad(&crs, &transform, shape).is_some_and(|miss| miss <= tolerance_rad) {
            return Ok((transform, crs));
        }
    }
    let miss_deg = bounds
        .miss_rad(&crs, &candidates[0], shape)
        .map_or("more than the map".to_owned(), |miss| format!("{:.4}°", miss.to_degrees()));
    let what = format!(
        "{l0}, {s0} put the image {miss_deg} away from the label's own MINIMUM_LATITUDE … EASTERNMOST_LONGITUDE, with either sign"
    );
    Err(Refusal::new("LINE_PROJECTION_OFFSET, SAMPLE_PROJECTION_OFFSET", what))
}

fn crs(map: &Block, east: f64) -> Result<Crs, Refusal> {
    let field = "MAP_PROJECTION_TYPE";
    let name = map.upper(field).replace(['_', '-'], " ");
    let latitude_deg = map.number("CENTER_LATITUDE")?;
    let meridian_deg = east * map.number("CENTER_LONGITUDE")?.unwrap_or(0.0);
    match name.as_str() {
        "SIMPLE CYLINDRICAL" => equirectangular(field, 0.0, meridian_deg, [0.0; 2]),
        "EQUIRECTANGULAR" => equirectangular(field, latitude_deg.unwrap_or(0.0), meridian_deg, [0.0; 2]),
        "SINUSOIDAL" => {
            Ok(Crs::Sinusoidal { central_meridian_rad: meridian_deg.to_radians(), false_origin_m: [0.0; 2] })
        }
        "POLAR STEREOGRAPHIC" | "STEREOGRAPHIC" => {
            let latitude_deg =
                latitude_deg.ok_or_else(|| Refusal::new("CENTER_LATITUDE", "is missing; must be 90 or -90"))?;
            if latitude_deg.abs() != 90.0 {
                return Err(Refusal::new(
                    "CENTER_LATITUDE",
                    format!("is {latitude_deg}; must be 90 or -90 for a polar map"),
                ));
            }
            polar(field, latitude_deg, meridian_deg, 1.0, [0.0; 2])
        }
        _ => Err(unknown_projection(field, &name)),
    }
}

/// Metres per pixel. In polar maps MAP_SCALE is exact, in others MAP_RESOLUTION.
fn scale_m(map: &Block, crs: &Crs) -> Result<f64, Refusal> {
    let stated_m = map.length_m("MAP_SCALE", "km")?;
    let is_polar = matches!(crs, Crs::PolarStereographic { .. });
    let by_degree_m = map.number("MAP_RESOLUTION")?.map(|per_degree| MOON_RADIUS_M * PI / 180.0 / per_degree);
    let scale_m = match (stated_m, by_degree_m) {
        (Some(stated_m), None) => stated_m,
        (Some(stated_m), Some(_)) if is_polar => stated_m,
        (Some(stated_m), Some(exact_m)) if (stated_m / exact_m - 1.0).abs() <= SCALE_TOLERANCE => exact_m,
        (Some(stated_m), Some(exact_m)) => {
            return Err(Refusal::new(
                "MAP_SCALE",
                format!("is {stated_m} m, and MAP_RESOLUTION makes it {exact_m} m; they must agree"),
            ));
        }
        (None, Some(exact_m)) => exact_m,
        (None, None) => return Err(Refusal::new("MAP_SCALE", "is missing, and MAP_RESOLUTION too; one is needed")),
    };
    let is_scale = scale_m.is_finite() && scale_m > 0.0;
    if is_scale { Ok(scale_m) } else { Err(Refusal::new("MAP_SCALE", format!("is {scale_m} m; must be above 0"))) }
}

/// The label's own bounds, rad, as far as it gives them.
struct MapBounds {
    south: Option<f64>,
    north: Option<f64>,
    west: Option<f64>,
    east: Option<f64>,
}

impl MapBounds {
    fn of(map: &Block, east: f64) -> Result<Self, Refusal> {
        let radians =
            |key: &str, sign: f64| map.number(key).map(|degrees| degrees.map(|degrees| (sign * degrees).to_radians()));
        Ok(Self {
            south: radians("MINIMUM_LATITUDE", 1.0)?,
            north: radians("MAXIMUM_LATITUDE", 1.0)?,
            west: radians("WESTERNMOST_LONGITUDE", east)?,
            east: radians("EASTERNMOST_LONGITUDE", east)?,
        })
    }

    /// Distance of the image's edges from the bounds, rad; `None` when the image leaves the map.
    fn miss_rad(&self, crs: &Crs, transform: &GeoTransform, [columns, rows]: [usize; 2]) -> Option<f64> {
        let [columns, rows] = [columns as f64, rows as f64];
        let at = |column: f64, row: f64| crs.inverse(transform.xy([column, row]));
        match crs {
            Crs::PolarStereographic { pole, .. } => self.miss_of_polar_rad(*pole, transform, [columns, rows], at),
            _ => {
                let [top, bottom] = [at(columns / 2.0, 0.0)?, at(columns / 2.0, rows)?];
                let latitudes = [(self.north, top.latitude_rad), (self.south, bottom.latitude_rad)];
                let misses = latitudes.into_iter().filter_map(|(stated, is)| stated.map(|stated| (stated - is).abs()));
                let [left, right] = [at(0.0, rows / 2.0)?, at(columns, rows / 2.0)?];
                let longitudes = [(self.west, left.longitude_rad), (self.east, right.longitude_rad)];
                let turned = longitudes.into_iter().filter_map(|(stated, is)| stated.map(|stated| around(stated - is)));
                Some(misses.chain(turned).fold(0.0, f64::max))
            }
        }
    }

    /// In a polar map, labels give the bound away from the pole at the map's edges or at its corners; the bound toward
    /// the pole is the pole itself if that is inside.
    fn miss_of_polar_rad(
        &self,
        pole: Pole,
        transform: &GeoTransform,
        [columns, rows]: [f64; 2],
        at: impl Fn(f64, f64) -> Option<GeoPoint>,
    ) -> Option<f64> {
        let edges = [(0.5, 0.0), (0.5, 1.0), (0.0, 0.5), (1.0, 0.5)];
        let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
        let from_pole = |(u, v): (f64, f64)| Some(PI / 2.0 - at(u * columns, v * rows)?.latitude_rad.abs());
        let all = |points: [(f64, f64); 4]| points.map(|point| from_pole(point).unwrap_or(f64::NAN));
        let [edges, corners] = [all(edges), all(corners)];
        let [column, row] = transform.column_row([0.0, 0.0]);
        let has_pole = (0.0..=columns).contains(&column) && (0.0..=rows).contains(&row);
        let least = |list: &[f64]| list.iter().copied().fold(f64::INFINITY, f64::min);
        let far = (least(&edges), corners.iter().copied().fold(0.0, f64::max));
        let near = if has_pole { (0.0, 0.0) } else { (0.0, least(&edges).min(least(&corners))) };
        let (toward, away) = match pole {
            Pole::North => (self.north, self.south),
            Pole::South => (self.south, self.north),
        };
        let miss = |stated: Option<f64>, (low, high): (f64, f64)| {
            let from_pole = stated.map(|latitude| PI / 2.0 - latitude.abs());
            from_pole.map_or(0.0, |is| (low - is).max(is - high).max(0.0))
        };
        Some(miss(toward, near).max(miss(away, far)))
    }
}

/// Absolute difference of two angles, rad, ignoring whole turns.
fn around(angle_rad: f64) -> f64 {
    (angle_rad - 2.0 * PI * (angle_rad / (2.0 * PI)).round()).abs()
}
