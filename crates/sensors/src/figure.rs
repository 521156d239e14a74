//! Latitude, longitude and height of places of the map frame, on the body on which a position service works: the Moon's
//! sphere, or the Earth's ellipsoid (WGS 84) for field tests, whose site is then placed at the same latitude and
//! longitude on the Earth.

use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_dem::MapFrame;
use serde::Deserialize;

/// WGS 84: semi-major axis, m.
const EARTH_A_M: f64 = 6_378_137.0;
/// WGS 84: flattening.
const EARTH_F: f64 = 1.0 / 298.257_223_563;
/// Fixed-point steps; each shrinks the error of the latitude by e² ≈ 1/150.
const LATITUDE_STEPS: usize = 8;

/// The body whose coordinates a receiver reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceFigure {
    /// The sphere of 1 737 400 m.
    #[default]
    Moon,
    /// The ellipsoid of WGS 84.
    Earth,
}

/// Geodetic coordinates of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinates {
    /// Latitude, degrees north.
    pub latitude_deg: f64,
    /// Longitude, degrees east, −180 to 180.
    pub longitude_deg: f64,
    /// Height above the sphere or ellipsoid, m.
    pub altitude_m: f64,
}

impl ReferenceFigure {
    /// Coordinates of a point of the map frame (x east, y north, z up), m.
    #[must_use]
    pub fn coordinates(self, map: &MapFrame, map_m: Vector3<f64>) -> Coordinates {
        match self {
            Self::Moon => {
                let place = map.to_geodetic(map_m.into());
                Coordinates {
                    latitude_deg: place.latitude_deg(),
                    longitude_deg: place.longitude_deg(),
                    altitude_m: place.height_m,
                }
            }
            Self::Earth => on_earth(map, map_m),
        }
    }
}

fn eccentricity_squared() -> f64 {
    EARTH_F * (2.0 - EARTH_F)
}

/// Radius of curvature in the prime vertical, m.
fn prime_vertical_m(sin_latitude: f64) -> f64 {
    EARTH_A_M / (1.0 - eccentricity_squared() * sin_latitude * sin_latitude).sqrt()
}

fn on_earth(map: &MapFrame, map_m: Vector3<f64>) -> Coordinates {
    let origin = map.origin();
    let (sin_lat, cos_lat) = origin.latitude_rad.sin_cos();
    let (sin_lon, cos_lon) = origin.longitude_rad.sin_cos();
    let n = prime_vertical_m(sin_lat);
    let origin_m = Vector3::new(
        (n + origin.height_m) * cos_lat * cos_lon,
        (n + origin.height_m) * cos_lat * sin_lon,
        (n * (1.0 - eccentricity_squared()) + origin.height_m) * sin_lat,
    );
    let east = Vector3::new(-sin_lon, cos_lon, 0.0);
    let up = Vector3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
    let at_m = origin_m + east * map_m.x + up.cross(&east) * map_m.y + up * map_m.z;
    geodetic(at_m)
}

/// Geodetic coordinates of a point in Earth-centred axes, m, by the fixed-point iteration of
/// tan φ = (z + e² N(φ) sin φ)/p.
fn geodetic(at_m: Vector3<f64>) -> Coordinates {
    let p = at_m.x.hypot(at_m.y);
    let mut latitude = at_m.z.atan2(p * (1.0 - eccentricity_squared()));
    for _ in 0..LATITUDE_STEPS {
        let sin = latitude.sin();
        latitude = (at_m.z + eccentricity_squared() * prime_vertical_m(sin) * sin).atan2(p);
    }
    let (sin, cos) = latitude.sin_cos();
    // p cos φ + z sin φ − a²/N holds everywhere, at the poles too.
    let altitude_m = p * cos + at_m.z * sin - EARTH_A_M * EARTH_A_M / prime_vertical_m(sin);
    Coordinates { latitude_deg: latitude.to_degrees(), longitude_deg: at_m.y.atan2(at_m.x).to_degrees(), altitude_m }
}

#[cfg(test)]
mod tests {
    use super::ReferenceFigure;
    use nalgebra::Vector3;
    use selene_dem::MapFrame;

    #[test]
    fn the_maps_origin_is_where_it_is_on_either_body() {
        for (latitude_deg, longitude_deg, height_m) in
            [(35.426, -116.89, 900.0), (-85.0, 31.0, -20.0), (0.0, 179.0, 0.0)]
        {
            let map = MapFrame::new(latitude_deg, longitude_deg, height_m);
            for figure in [ReferenceFigure::Moon, ReferenceFigure::Earth] {
                let found = figure.coordinates(&map, Vector3::zeros());
                assert!((found.latitude_deg - latitude_deg).abs() < 1e-10, "{found:?}");
                assert!((found.longitude_deg - longitude_deg).abs() < 1e-10, "{found:?}");
                assert!((found.altitude_m - height_m).abs() < 1e-6, "{found:?}");
            }
        }
    }

    #[test]
    fn a_way_north_and_east_on_the_earth_follows_its_radii_of_curvature() {
        // At 45 degrees: M = 6367381.8 m along the meridian, N = 6388838.3 m across; over 100 m the
        // meridians' convergence changes either by less than the bounds.
        let map = MapFrame::new(45.0, 10.0, 0.0);
        let found = ReferenceFigure::Earth.coordinates(&map, Vector3::new(100.0, 100.0, 0.0));
        let north_deg = (100.0 / 6_367_381.8_f64).to_degrees();
        let east_deg = (100.0 / (6_388_838.3 * 45_f64.to_radians().cos())).to_degrees();
        assert!((found.latitude_deg - 45.0 - north_deg).abs() < 2e-8, "{found:?}");
        assert!((found.longitude_deg - 10.0 - east_deg).abs() < 5e-8, "{found:?}");
    }
}
