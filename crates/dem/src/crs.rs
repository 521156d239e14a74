//! Map projections of the sphere that lunar heights refer to (radius 1 737 400 m,
//! IAU 2015): forward and inverse. Equations: Snyder, Map Projections, USGS PP 1395,
//! for the sphere: equirectangular (12), sinusoidal (30), polar stereographic (21),
//! orthographic (20).

use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::fmt;

use nalgebra::Vector3;

pub use selene_base::MOON_RADIUS_M;

/// A position as planetocentric latitude, east longitude and height above the sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeoPoint {
    /// Latitude, rad.
    pub latitude_rad: f64,
    /// East longitude, rad; from −π to π where this crate computes it.
    pub longitude_rad: f64,
    /// Height above the sphere of 1 737 400 m, m.
    pub height_m: f64,
}

impl GeoPoint {
    /// A position on the sphere, from degrees.
    #[must_use]
    pub fn from_degrees(latitude_deg: f64, longitude_deg: f64) -> Self {
        Self { latitude_rad: latitude_deg.to_radians(), longitude_rad: longitude_deg.to_radians(), height_m: 0.0 }
    }

    /// The position in direction `v` from the Moon's centre; the norm of `v` is its distance from there, m.
    pub(super) fn from_direction(v: &Vector3<f64>) -> Self {
        let latitude_rad = v.z.atan2(v.x.hypot(v.y));
        Self { latitude_rad, longitude_rad: v.y.atan2(v.x), height_m: v.norm() - MOON_RADIUS_M }
    }

    /// The unit direction from the Moon's centre: x toward 0° E, z toward the north pole.
    #[must_use]
    pub fn direction(&self) -> Vector3<f64> {
        let (sin_lat, cos_lat) = self.latitude_rad.sin_cos();
        let (sin_lon, cos_lon) = self.longitude_rad.sin_cos();
        Vector3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat)
    }

    /// Latitude, degrees.
    #[must_use]
    pub fn latitude_deg(&self) -> f64 {
        self.latitude_rad.to_degrees()
    }

    /// East longitude, degrees.
    #[must_use]
    pub fn longitude_deg(&self) -> f64 {
        self.longitude_rad.to_degrees()
    }
}

/// The North or the South Pole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pole {
    /// Latitude 90°.
    North,
    /// Latitude −90°.
    South,
}

/// A map projection of the Moon, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crs {
    /// x is east longitude, y latitude, both in degrees.
    Geographic,
    /// x = R cos φ₁ (λ − λ₀), y = R φ.
    Equirectangular {
        /// Latitude of true scale φ₁, rad.
        standard_parallel_rad: f64,
        /// Central meridian λ₀, rad.
        central_meridian_rad: f64,
        /// x and y of the origin, m.
        false_origin_m: [f64; 2],
    },
    /// x = R cos φ (λ − λ₀), y = R φ.
    Sinusoidal {
        /// Central meridian λ₀, rad.
        central_meridian_rad: f64,
        /// x and y of the origin, m.
        false_origin_m: [f64; 2],
    },
    /// ρ = 2 R k₀ tan(π/4 − |φ|/2), x = ρ sin(λ − λ₀), y = −ρ cos(λ − λ₀) in the north
    /// and +ρ cos(λ − λ₀) in the south.
    PolarStereographic {
        /// The pole at the centre of the map.
        pole: Pole,
        /// The meridian λ₀ along the y axis, rad.
        central_meridian_rad: f64,
        /// Scale k₀ at the pole.
        scale: f64,
        /// x and y of the pole, m.
        false_origin_m: [f64; 2],
    },
    /// Orthographic projection onto the plane that touches a sphere: x and y of a site's map frame, for points of the
    /// sphere through the frame's origin.
    Orthographic {
        /// Latitude of the point of contact, rad.
        latitude_rad: f64,
        /// East longitude of the point of contact, rad.
        longitude_rad: f64,
        /// Radius of the sphere, m. Heights are above the sphere of 1 737 400 m nevertheless.
        radius_m: f64,
    },
    /// Metres east and north of an unknown position.
    Local,
}

impl Crs {
    /// Map coordinates of a position; `None` in a local system, and at the pole opposite to a polar map's. Longitudes
    /// are taken within half a turn of the central meridian.
    #[must_use]
    pub fn forward(&self, place: &GeoPoint) -> Option<[f64; 2]> {
        self.forward_direction(&place.direction(), || *place)
    }

    /// Same as `forward`, for a direction of unit length. `place` is called only where angles are needed, since they
    /// cost much more than the rest.
    pub(super) fn forward_direction(&self, unit: &Vector3<f64>, place: impl Fn() -> GeoPoint) -> Option<[f64; 2]> {
        match *self {
            Self::Geographic => {
                let place = place();
                Some([half_turn(place.longitude_rad).to_degrees(), place.latitude_deg()])
            }
            Self::Equirectangular { standard_parallel_rad, central_meridian_rad, false_origin_m } => {
                let place = place();
                let east = half_turn(place.longitude_rad - central_meridian_rad) * standard_parallel_rad.cos();
                Some(shifted([MOON_RADIUS_M * east, MOON_RADIUS_M * place.latitude_rad], false_origin_m))
            }
            Self::Sinusoidal { central_meridian_rad, false_origin_m } => {
                let place = place();
                let east = half_turn(place.longitude_rad - central_meridian_rad) * place.latitude_rad.cos();
                Some(shifted([MOON_RADIUS_M * east, MOON_RADIUS_M * place.latitude_rad], false_origin_m))
            }
            Self::PolarStereographic { pole, central_meridian_rad, scale, false_origin_m } => {
                // tan(π/4 − |φ|/2) = cos |φ| / (1 + sin |φ|).
                let (up, toward_y) = match pole {
                    Pole::North => (unit.z, -1.0),
                    Pole::South => (-unit.z, 1.0),
                };
                let stretch = 2.0 * MOON_RADIUS_M * scale / (1.0 + up);
                let (sin, cos) = central_meridian_rad.sin_cos();
                let [east, along] = [unit.y * cos - unit.x * sin, unit.x * cos + unit.y * sin];
                let xy = [stretch * east, toward_y * stretch * along];
                (up > -1.0 && xy[0].is_finite() && xy[1].is_finite()).then(|| shifted(xy, false_origin_m))
            }
            Self::Orthographic { latitude_rad, longitude_rad, radius_m } => {
                let [east, north, up] = axes_at(latitude_rad, longitude_rad);
                (up.dot(unit) > 0.0).then(|| [radius_m * east.dot(unit), radius_m * north.dot(unit)])
            }
            Self::Local => None,
        }
    }

    /// The position on the sphere at map coordinates; `None` in a local system and beyond the map's edge.
    #[must_use]
    pub fn inverse(&self, [x, y]: [f64; 2]) -> Option<GeoPoint> {
        let (latitude_rad, longitude_rad) = match *self {
            Self::Geographic => (y.to_radians(), x.to_radians()),
            Self::Equirectangular { standard_parallel_rad, central_meridian_rad, false_origin_m } => {
                let [x, y] = [x - false_origin_m[0], y - false_origin_m[1]];
                (y / MOON_RADIUS_M, central_meridian_rad + x / (MOON_RADIUS_M * standard_parallel_rad.cos()))
            }
            Self::Sinusoidal { central_meridian_rad, false_origin_m } => {
                let [x, y] = [x - false_origin_m[0], y - false_origin_m[1]];
                let latitude_rad = y / MOON_RADIUS_M;
                let east_rad = x / (MOON_RADIUS_M * latitude_rad.cos());
                if east_rad.abs() > PI {
                    return None;
                }
                (latitude_rad, central_meridian_rad + east_rad)
            }
            Self::PolarStereographic { pole, central_meridian_rad, scale, false_origin_m } => {
                let [x, y] = [x - false_origin_m[0], y - false_origin_m[1]];
                let colatitude_rad = 2.0 * (x.hypot(y) / (2.0 * MOON_RADIUS_M * scale)).atan();
                match pole {
                    Pole::North => (FRAC_PI_2 - colatitude_rad, central_meridian_rad + x.atan2(-y)),
                    Pole::South => (colatitude_rad - FRAC_PI_2, central_meridian_rad + x.atan2(y)),
                }
            }
            Self::Orthographic { latitude_rad, longitude_rad, radius_m } => {
                let [east, north, up] = axes_at(latitude_rad, longitude_rad);
                let [x, y] = [x / radius_m, y / radius_m];
                let rest = 1.0 - x * x - y * y;
                if rest.is_nan() || rest < 0.0 {
                    return None;
                }
                let place = GeoPoint::from_direction(&(east * x + north * y + up * rest.sqrt()));
                (place.latitude_rad, place.longitude_rad)
            }
            Self::Local => return None,
        };
        // Rounding may put a file's corner slightly beyond the pole; anything farther is not a position.
        let is_place = latitude_rad.abs() < FRAC_PI_2 + 1e-6 && longitude_rad.is_finite();
        let latitude_rad = latitude_rad.clamp(-FRAC_PI_2, FRAC_PI_2);
        is_place.then(|| GeoPoint { latitude_rad, longitude_rad: half_turn(longitude_rad), height_m: 0.0 })
    }

    /// Length of a parallel in map units, for projections in which all parallels have the same length.
    #[must_use]
    pub fn circumference(&self) -> Option<f64> {
        match *self {
            Self::Geographic => Some(360.0),
            Self::Equirectangular { standard_parallel_rad, .. } => {
                Some(TAU * MOON_RADIUS_M * standard_parallel_rad.cos())
            }
            Self::Sinusoidal { .. } | Self::PolarStereographic { .. } | Self::Orthographic { .. } | Self::Local => None,
        }
    }

    /// Metres of one map unit (at the equator, for degrees).
    #[must_use]
    pub fn unit_m(&self) -> f64 {
        if *self == Self::Geographic { MOON_RADIUS_M.to_radians() } else { 1.0 }
    }
}

/// The same angle between −π and π; angles already in that range are kept exactly.
fn half_turn(angle_rad: f64) -> f64 {
    if (-PI..=PI).contains(&angle_rad) { angle_rad } else { angle_rad - TAU * (angle_rad / TAU).round() }
}

/// Unit vectors to the east, north and up at a position.
fn axes_at(latitude_rad: f64, longitude_rad: f64) -> [Vector3<f64>; 3] {
    let (sin, cos) = longitude_rad.sin_cos();
    let [east, up] =
        [Vector3::new(-sin, cos, 0.0), GeoPoint { latitude_rad, longitude_rad, height_m: 0.0 }.direction()];
    [east, up.cross(&east), up]
}

fn shifted([x, y]: [f64; 2], [east, north]: [f64; 2]) -> [f64; 2] {
    [x + east, y + north]
}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let degrees = |rad: f64| (rad.to_degrees() * 1e9).round() / 1e9;
        let offset = |f: &mut fmt::Formatter<'_>, [x, y]: [f64; 2]| {
            if [x, y] == [0.0; 2] { Ok(()) } else { write!(f, ", origin at {x}, {y} m") }
        };
        match *self {
            Self::Geographic => write!(f, "geographic, degrees"),
            Self::Equirectangular { standard_parallel_rad, central_meridian_rad, false_origin_m } => {
                let [parallel, meridian] = [standard_parallel_rad, central_meridian_rad].map(degrees);
                write!(f, "equirectangular, true scale at latitude {parallel}°, central meridian {meridian}°")?;
                offset(f, false_origin_m)
            }
            Self::Sinusoidal { central_meridian_rad, false_origin_m } => {
                write!(f, "sinusoidal, central meridian {}°", degrees(central_meridian_rad))?;
                offset(f, false_origin_m)
            }
            Self::PolarStereographic { pole, central_meridian_rad, scale, false_origin_m } => {
                let side = if pole == Pole::North { "north" } else { "south" };
                let meridian = degrees(central_meridian_rad);
                write!(f, "{side} polar stereographic, meridian {meridian}°, scale {scale} at the pole")?;
                offset(f, false_origin_m)
            }
            Self::Orthographic { latitude_rad, longitude_rad, radius_m } => {
                let [latitude, longitude] = [latitude_rad, longitude_rad].map(degrees);
                write!(f, "orthographic, about latitude {latitude}°, longitude {longitude}°, sphere of {radius_m} m")
            }
            Self::Local => write!(f, "local, metres, at no stated place"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crs, GeoPoint, MOON_RADIUS_M, Pole};
    use crate::MapFrame;

    fn polar(pole: Pole) -> Crs {
        Crs::PolarStereographic { pole, central_meridian_rad: 0.0, scale: 1.0, false_origin_m: [0.0; 2] }
    }

    #[test]
    fn every_projection_comes_back_to_the_place() {
        // f64 has 15 digits; the stereographic radius loses one near the other pole.
        const TOLERANCE_RAD: f64 = 1e-13;
        let [standard_parallel_rad, central_meridian_rad] = [0.7, 3.0];
        let false_origin_m = [1000.0, -500.0];
        let all = [
            Crs::Geographic,
            Crs::Equirectangular { standard_parallel_rad, central_meridian_rad, false_origin_m },
            Crs::Sinusoidal { central_meridian_rad, false_origin_m },
            Crs::PolarStereographic { pole: Pole::North, central_meridian_rad, scale: 0.97, false_origin_m },
            polar(Pole::South),
        ];
        for crs in all {
            for (latitude_deg, longitude_deg) in [(12.5, 33.0), (-71.0, -170.0), (84.9, 101.5), (-0.25, 179.5)] {
                let place = GeoPoint::from_degrees(latitude_deg, longitude_deg);
                let back = crs.inverse(crs.forward(&place).unwrap()).unwrap();
                let apart = (back.direction() - place.direction()).norm();
                assert!(apart < TOLERANCE_RAD, "{crs}: {place:?} came back as {back:?}");
            }
        }
    }

    #[test]
    fn an_orthographic_map_has_x_and_y_of_a_sites_frame_and_ends_at_the_limb() {
        let [latitude_deg, longitude_deg, datum_m] = [-85.4_f64, 31.6_f64, 5400.0];
        let [latitude_rad, longitude_rad] = [latitude_deg, longitude_deg].map(f64::to_radians);
        let crs = Crs::Orthographic { latitude_rad, longitude_rad, radius_m: MOON_RADIUS_M + datum_m };
        let frame = MapFrame::new(latitude_deg, longitude_deg, datum_m);
        for [east_m, north_m] in [[0.0, 0.0], [2600.0, -2600.0], [-9000.0, 10_000.0]] {
            let place = crs.inverse([east_m, north_m]).unwrap();
            let [x, y, _] = frame.to_map(&GeoPoint { height_m: datum_m, ..place });
            // The f64 error of positions from the Moon's centre is 2e-10 m.
            assert!((x - east_m).abs() < 1e-8 && (y - north_m).abs() < 1e-8, "{x} {y}");
            let back = crs.forward(&place).unwrap();
            assert!((back[0] - east_m).abs() < 1e-8 && (back[1] - north_m).abs() < 1e-8, "{back:?}");
        }
        assert_eq!(crs.forward(&GeoPoint::from_degrees(85.0, 0.0)), None);
        assert_eq!(crs.inverse([1.8e6, 0.0]), None);
    }

    #[test]
    fn polar_maps_have_longitude_zero_down_in_the_north_and_up_in_the_south() {
        // LOLA's DSMAP_POLAR.CAT of 2021: longitude 90° E is to the right in both maps.
        let rho_m = 2.0 * MOON_RADIUS_M * (5.0_f64.to_radians() / 2.0).tan();
        for (pole, latitude_deg, y_m) in [(Pole::North, 85.0, -rho_m), (Pole::South, -85.0, rho_m)] {
            let [x, y] = polar(pole).forward(&GeoPoint::from_degrees(latitude_deg, 0.0)).unwrap();
            assert!(x.abs() < 1e-6 && (y - y_m).abs() < 1e-6, "{x} {y}");
            let [x, y] = polar(pole).forward(&GeoPoint::from_degrees(latitude_deg, 90.0)).unwrap();
            assert!((x - rho_m).abs() < 1e-6 && y.abs() < 1e-6, "{x} {y}");
        }
    }

    #[test]
    fn there_is_nothing_beyond_a_maps_edge() {
        assert_eq!(polar(Pole::South).forward(&GeoPoint::from_degrees(90.0, 0.0)), None);
        assert_eq!(Crs::Geographic.inverse([0.0, 91.0]), None);
        let sinusoidal = Crs::Sinusoidal { central_meridian_rad: 0.0, false_origin_m: [0.0; 2] };
        assert_eq!(sinusoidal.inverse([5e6, 2e6]), None);
        assert_eq!(Crs::Local.inverse([0.0, 0.0]), None);
    }
}
