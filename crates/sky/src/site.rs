//! Sun and Earth as a site on the Moon sees them. A body's geocentric place less the
//! Moon's is turned into Moon-fixed axes, less the site's own place on the sphere, and
//! read in the site's east, north, up. Light time beyond the Sun's aberration is left
//! out (0.0003° for the Earth); so is the site's height above the sphere.

use nalgebra::{Rotation3, Vector3};

use crate::ephemeris::{moon_m, sun_m};
use crate::rotation::j2000_from_moon;
use crate::{AU_M, MOON_RADIUS_M, Utc};

const SUN_RADIUS_M: f64 = 695_700_000.0;
/// The Earth's equatorial radius.
const EARTH_RADIUS_M: f64 = 6_378_137.0;
/// Total solar irradiance at one astronomical unit (Kopp and Lean 2011).
const SOLAR_CONSTANT_W_M2: f64 = 1361.0;

/// Where a body stands in a site's sky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// Clockwise from north, rad, 0 up to 2π.
    pub azimuth_rad: f64,
    /// Above the horizontal plane, rad; the centre of the disc.
    pub elevation_rad: f64,
    /// Unit vector toward the body: x east, y north, z up (the `map` frame).
    pub unit_enu: Vector3<f64>,
    /// Half of the disc's apparent width, rad.
    pub angular_radius_rad: f64,
    /// From the site to the body's centre, m.
    pub distance_m: f64,
}

/// The sky over one place on the Moon.
#[derive(Clone, Copy, Debug)]
pub struct SiteSky {
    moon_from_enu: Rotation3<f64>,
}

impl SiteSky {
    /// Over a site in mean Earth/polar axis coordinates: degrees north and east.
    #[must_use]
    pub fn new(latitude_deg: f64, longitude_deg: f64) -> Self {
        Self { moon_from_enu: moon_from_enu(latitude_deg, longitude_deg) }
    }

    /// Where the Sun stands at `utc`.
    #[must_use]
    pub fn sun(&self, utc: Utc) -> Direction {
        let days = utc.tdb_days();
        self.direction(sun_m(days) - moon_m(days), SUN_RADIUS_M, days)
    }

    /// Where the Earth stands at `utc`.
    #[must_use]
    pub fn earth(&self, utc: Utc) -> Direction {
        let days = utc.tdb_days();
        self.direction(-moon_m(days), EARTH_RADIUS_M, days)
    }

    /// `from_moon_m` runs from the Moon's centre in J2000 axes.
    fn direction(&self, from_moon_m: Vector3<f64>, radius_m: f64, tdb_days: f64) -> Direction {
        let moon_fixed = j2000_from_moon(tdb_days).inverse() * from_moon_m;
        let from_site = self.moon_from_enu.inverse() * moon_fixed - Vector3::z() * MOON_RADIUS_M;
        let distance_m = from_site.norm();
        let unit_enu = from_site / distance_m;
        Direction {
            azimuth_rad: unit_enu.x.atan2(unit_enu.y).rem_euclid(std::f64::consts::TAU),
            elevation_rad: unit_enu.z.asin(),
            unit_enu,
            angular_radius_rad: (radius_m / distance_m).asin(),
            distance_m,
        }
    }
}

/// The rotation that takes a site's east, north, up to Moon-fixed axes (x to 0° N 0° E,
/// z to the north pole); degrees north and east. At a pole, east is 90° ahead of the longitude.
#[must_use]
pub fn moon_from_enu(latitude_deg: f64, longitude_deg: f64) -> Rotation3<f64> {
    let (sin_lat, cos_lat) = latitude_deg.to_radians().sin_cos();
    let (sin_lon, cos_lon) = longitude_deg.to_radians().sin_cos();
    let east = Vector3::new(-sin_lon, cos_lon, 0.0);
    let north = Vector3::new(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat);
    let up = Vector3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
    Rotation3::from_basis_unchecked(&[east, north, up])
}

/// The Sun's irradiance at `distance_m` on a surface that faces it, W/m²
/// (inverse square from 1361 W/m² at one astronomical unit).
#[must_use]
pub fn solar_irradiance_w_m2(distance_m: f64) -> f64 {
    SOLAR_CONSTANT_W_M2 * (AU_M / distance_m).powi(2)
}

#[cfg(test)]
mod tests {
    use super::{Direction, SiteSky, solar_irradiance_w_m2};
    use crate::{AU_M, Utc};

    /// What the sky is for: shadows and solar power at a polar site turn on a tenth of
    /// the Sun's disc, 0.05°.
    const TOLERANCE_DEG: f64 = 0.05;
    /// The series leave out 10 km of the Moon's distance and 1e-4 of the Sun's.
    const DISTANCE_TOLERANCE: f64 = 2e-4;

    struct Reference {
        utc: &'static str,
        site_deg: [f64; 2],
        /// Azimuth [°], elevation [°], distance [m].
        sun: [f64; 3],
        earth: [f64; 3],
    }

    const fn reference(utc: &'static str, site_deg: [f64; 2], sun: [f64; 3], earth: [f64; 3]) -> Reference {
        Reference { utc, site_deg, sun, earth }
    }

    /// Skyfield 1.x with JPL DE421 and its frame MOON_ME_DE421 (moon_080317.tf,
    /// moon_pa_de421_1900-2050.bpc): `PlanetaryConstants.build_latlon_degrees` at zero
    /// elevation, `.observe().apparent().altaz()`, at random instants and sites, every
    /// fourth within 10° of the south pole.
    const REFERENCES: [Reference; 12] = [
        reference(
            "2038-11-20T02:50:01Z",
            [-86.3926, 167.2061],
            [93.1101, -1.0812, 147_823_550_640.0],
            [185.3100, 1.8768, 380_843_641.0],
        ),
        reference(
            "2047-08-02T15:12:51Z",
            [-17.5316, 91.8798],
            [284.5966, 40.3228, 152_104_057_719.0],
            [272.2723, 0.6658, 372_677_836.0],
        ),
        reference(
            "2047-04-03T07:07:59Z",
            [-60.366, -120.1661],
            [210.1124, -27.7702, 149_513_158_607.0],
            [110.5659, -10.0098, 391_346_228.0],
        ),
        reference(
            "2045-03-29T22:00:22Z",
            [5.7758, 20.6672],
            [104.1130, 71.1919, 149_661_830_236.0],
            [254.6636, 69.1237, 364_217_265.0],
        ),
        reference(
            "2013-10-31T00:36:19Z",
            [-85.6995, -27.1931],
            [245.9005, -1.7439, 148_250_316_884.0],
            [21.6065, -1.0461, 387_530_193.0],
        ),
        reference(
            "2023-02-22T23:14:33Z",
            [-4.8094, 121.4897],
            [83.8213, 61.9303, 147_694_973_403.0],
            [270.8400, -25.6083, 370_210_434.0],
        ),
        reference(
            "2048-03-28T08:45:04Z",
            [-62.6549, -41.1886],
            [60.3197, 12.6852, 149_661_975_161.0],
            [36.5730, 15.7657, 374_259_730.0],
        ),
        reference(
            "2048-04-29T06:00:38Z",
            [13.9244, -89.9934],
            [91.7508, 11.9314, 150_999_883_742.0],
            [86.2050, 1.6147, 359_195_178.0],
        ),
        reference(
            "2027-12-21T14:15:35Z",
            [-86.4236, 160.9222],
            [99.1116, 0.2735, 147_073_149_749.0],
            [204.5531, -9.9183, 377_865_064.0],
        ),
        reference(
            "2009-09-18T02:10:08Z",
            [-60.3893, -161.2165],
            [352.7550, 30.7117, 149_966_255_514.0],
            [161.2573, -33.4780, 367_145_477.0],
        ),
        reference(
            "2029-03-11T13:55:30Z",
            [-35.2541, -130.3838],
            [352.6900, 53.0419, 148_323_124_195.0],
            [123.2916, -33.4688, 398_589_043.0],
        ),
        reference(
            "2033-06-28T03:44:55Z",
            [-83.9911, -48.2963],
            [217.6125, -3.2490, 151_711_791_758.0],
            [52.9981, -3.1994, 386_434_896.0],
        ),
    ];

    /// The angle between the unit vectors of two directions, degrees.
    fn apart_deg(direction: &Direction, [azimuth_deg, elevation_deg, _]: [f64; 3]) -> f64 {
        let (az, el) = (azimuth_deg.to_radians(), elevation_deg.to_radians());
        let expected = nalgebra::Vector3::new(el.cos() * az.sin(), el.cos() * az.cos(), el.sin());
        direction.unit_enu.cross(&expected).norm().atan2(direction.unit_enu.dot(&expected)).to_degrees()
    }

    fn assert_agrees(direction: &Direction, expected: [f64; 3], what: &str) {
        let apart = apart_deg(direction, expected);
        assert!(apart < TOLERANCE_DEG, "{what}: {apart}° apart");
        let stretch = direction.distance_m / expected[2] - 1.0;
        assert!(stretch.abs() < DISTANCE_TOLERANCE, "{what}: distance off by {stretch}");
    }

    #[test]
    fn sun_and_earth_stand_where_de421_has_them() {
        for r in &REFERENCES {
            let sky = SiteSky::new(r.site_deg[0], r.site_deg[1]);
            let utc: Utc = r.utc.parse().expect("good");
            assert_agrees(&sky.sun(utc), r.sun, &format!("Sun at {}", r.utc));
            assert_agrees(&sky.earth(utc), r.earth, &format!("Earth at {}", r.utc));
        }
    }

    #[test]
    fn azimuth_and_elevation_say_the_same_as_the_unit_vector() {
        let sun = SiteSky::new(-89.4, 30.0).sun("2026-11-21T12:00:00Z".parse().expect("good"));
        let angles = [sun.azimuth_rad.to_degrees(), sun.elevation_rad.to_degrees(), sun.distance_m];
        assert!((sun.unit_enu.norm() - 1.0).abs() < 1e-12);
        assert!(apart_deg(&sun, angles) < 1e-9);
    }

    #[test]
    fn the_sun_is_half_a_degree_wide_and_the_earth_two() {
        let (sky, utc) = (SiteSky::new(0.0, 0.0), "2026-11-21T12:00:00Z".parse().expect("good"));
        let width_deg = |direction: Direction| 2.0 * direction.angular_radius_rad.to_degrees();
        assert!((0.52..0.55).contains(&width_deg(sky.sun(utc))));
        assert!((1.75..2.1).contains(&width_deg(sky.earth(utc))));
    }

    #[test]
    fn sunlight_falls_with_the_square_of_the_distance() {
        assert!((solar_irradiance_w_m2(AU_M) - 1361.0).abs() < 1e-9);
        assert!((solar_irradiance_w_m2(2.0 * AU_M) - 340.25).abs() < 1e-9);
    }
}
