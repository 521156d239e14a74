//! Sun, Earth and stars in the sky of a site on the Moon. The vector from the site to a body,
//! corrected for aberration, is rotated to Moon-fixed axes and to the site's east, north, up.
//! The vertical is that of the sphere; there is no air, hence no refraction.

use nalgebra::{Rotation3, Vector3};

use crate::ephemeris::{Ephemeris, SkyState};
use crate::kernels::KernelError;
use crate::light::{EarthLight, solar_irradiance_w_m2};
use crate::stars::CatalogueStar;
use crate::{MOON_RADIUS_M, Utc};

/// The Sun's nominal radius, m (IAU 2015 resolution B3).
const SUN_RADIUS_M: f64 = 695_700_000.0;
/// The Earth's equatorial radius, m.
const EARTH_RADIUS_M: f64 = 6_378_137.0;

/// Position of a body in a site's sky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// Azimuth, clockwise from north, rad, 0 up to 2π.
    pub azimuth_rad: f64,
    /// Elevation of the disc's centre above the horizontal plane, rad.
    pub elevation_rad: f64,
    /// Unit vector toward the body: x east, y north, z up (the `map` frame).
    pub unit_enu: Vector3<f64>,
    /// Half of the disc's apparent angular width, rad.
    pub angular_radius_rad: f64,
    /// Distance from the site to the body's centre, m.
    pub distance_m: f64,
}

/// The sky over one place on the Moon.
#[derive(Clone, Debug)]
pub struct SiteSky {
    moon_from_enu: Rotation3<f64>,
    /// Distance of the site from the Moon's centre, m.
    radius_m: f64,
    ephemeris: Ephemeris,
}

/// The sky at an instant, from one evaluation of the ephemeris.
#[derive(Clone, Debug)]
pub struct Sky {
    /// The Sun.
    pub sun: Direction,
    /// The Sun's irradiance on a surface that faces it, W/m².
    pub sun_irradiance_w_m2: f64,
    /// The Earth.
    pub earth: Direction,
    /// The Earth's phase and its light at the site.
    pub earth_light: EarthLight,
    /// Rotation from the ICRF to the site's east, north, up.
    pub enu_from_icrf: Rotation3<f64>,
    sky: SkyState,
}

impl SiteSky {
    /// The sky over a site on the sphere of 1 737 400 m, by the analytic ephemeris. Takes mean
    /// Earth/polar axis coordinates, degrees north and east.
    #[must_use]
    pub fn new(latitude_deg: f64, longitude_deg: f64) -> Self {
        let moon_from_enu = moon_from_enu(latitude_deg, longitude_deg);
        Self { moon_from_enu, radius_m: MOON_RADIUS_M, ephemeris: Ephemeris::Analytic }
    }

    /// The sky of the same site at a height above the sphere, m.
    #[must_use]
    pub fn at_height(self, height_m: f64) -> Self {
        Self { radius_m: MOON_RADIUS_M + height_m, ..self }
    }

    /// The sky of the same site by another ephemeris.
    #[must_use]
    pub fn with(self, ephemeris: Ephemeris) -> Self {
        Self { ephemeris, ..self }
    }

    /// The ephemeris that gives the positions of Sun, Earth and Moon.
    #[must_use]
    pub fn ephemeris(&self) -> &Ephemeris {
        &self.ephemeris
    }

    /// Position of the Sun at `utc`.
    ///
    /// # Errors
    /// When the kernels do not cover the instant; never without kernels.
    pub fn sun(&self, utc: Utc) -> Result<Direction, KernelError> {
        let sky = self.ephemeris.sky_state(utc)?;
        Ok(self.direction(&sky, &sky.sun_m, SUN_RADIUS_M))
    }

    /// Position of the Earth at `utc`.
    ///
    /// # Errors
    /// When the kernels do not cover the instant; never without kernels.
    pub fn earth(&self, utc: Utc) -> Result<Direction, KernelError> {
        let sky = self.ephemeris.sky_state(utc)?;
        Ok(self.direction(&sky, &sky.earth_m, EARTH_RADIUS_M))
    }

    /// Sun, Earth and their light at `utc`.
    ///
    /// # Errors
    /// When the kernels do not cover the instant; never without kernels.
    pub fn at(&self, utc: Utc) -> Result<Sky, KernelError> {
        let sky = self.ephemeris.sky_state(utc)?;
        let sun = self.direction(&sky, &sky.sun_m, SUN_RADIUS_M);
        let earth = self.direction(&sky, &sky.earth_m, EARTH_RADIUS_M);
        let enu_from_icrf = self.enu_from_icrf(&sky);
        let sun_from_earth_m = enu_from_icrf * (sky.sun_m - sky.earth_m);
        Ok(Sky {
            sun,
            sun_irradiance_w_m2: solar_irradiance_w_m2(sun.distance_m),
            earth,
            earth_light: EarthLight::new(&sun_from_earth_m, &(earth.unit_enu * earth.distance_m)),
            enu_from_icrf,
            sky,
        })
    }

    fn enu_from_icrf(&self, sky: &SkyState) -> Rotation3<f64> {
        (sky.icrf_from_moon * self.moon_from_enu).inverse()
    }

    /// Position in the sky of a body of `radius_m` at `from_moon_m` from the Moon's centre, ICRF.
    fn direction(&self, sky: &SkyState, from_moon_m: &Vector3<f64>, radius_m: f64) -> Direction {
        let enu_from_icrf = self.enu_from_icrf(sky);
        let from_site_m = from_moon_m - enu_from_icrf.inverse() * Vector3::z() * self.radius_m;
        let distance_m = from_site_m.norm();
        let unit_enu = enu_from_icrf * sky.aberrated(&(from_site_m / distance_m));
        let [azimuth_rad, elevation_rad] = azimuth_elevation_rad(&unit_enu);
        let angular_radius_rad = (radius_m / distance_m).asin();
        Direction { azimuth_rad, elevation_rad, unit_enu, angular_radius_rad, distance_m }
    }
}

impl Sky {
    /// Unit vector toward a star: east, north, up. It includes aberration (up to 0.006°), but not
    /// the star's parallax nor its motion since the catalogue's epoch.
    #[must_use]
    pub fn star_enu(&self, star: &CatalogueStar) -> Vector3<f64> {
        self.enu_from_icrf * self.sky.aberrated(&star.unit_icrf)
    }
}

/// Azimuth (clockwise from north, 0 up to 2π) and elevation of a unit vector in east,
/// north, up; rad.
#[must_use]
pub fn azimuth_elevation_rad(unit_enu: &Vector3<f64>) -> [f64; 2] {
    let azimuth_rad = unit_enu.x.atan2(unit_enu.y).rem_euclid(std::f64::consts::TAU);
    [azimuth_rad, unit_enu.z.atan2(unit_enu.x.hypot(unit_enu.y))]
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

#[cfg(test)]
mod tests {
    use super::{Direction, SiteSky};
    use crate::{MOON_RADIUS_M, Utc};

    /// Shadows and solar power at a polar site depend on a tenth of the Sun's disc, 0.05°.
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
            assert_agrees(&sky.sun(utc).expect("analytic"), r.sun, &format!("Sun at {}", r.utc));
            assert_agrees(&sky.earth(utc).expect("analytic"), r.earth, &format!("Earth at {}", r.utc));
        }
    }

    #[test]
    fn azimuth_and_elevation_say_the_same_as_the_unit_vector() {
        let sun = SiteSky::new(-89.4, 30.0).sun("2026-11-21T12:00:00Z".parse().expect("good")).expect("analytic");
        let angles = [sun.azimuth_rad.to_degrees(), sun.elevation_rad.to_degrees(), sun.distance_m];
        assert!((sun.unit_enu.norm() - 1.0).abs() < 1e-12);
        assert!(apart_deg(&sun, angles) < 1e-9);
    }

    #[test]
    fn the_sun_is_half_a_degree_wide_and_the_earth_two() {
        let (sky, utc) = (SiteSky::new(0.0, 0.0), "2026-11-21T12:00:00Z".parse().expect("good"));
        let width_deg = |direction: Direction| 2.0 * direction.angular_radius_rad.to_degrees();
        assert!((0.52..0.55).contains(&width_deg(sky.sun(utc).expect("analytic"))));
        assert!((1.75..2.1).contains(&width_deg(sky.earth(utc).expect("analytic"))));
    }

    #[test]
    fn from_higher_up_the_earth_stands_elsewhere_by_the_parallax_of_the_height() {
        let utc: Utc = "2026-11-21T12:00:00Z".parse().expect("good");
        let at = |height_m| SiteSky::new(-89.5, 40.0).at_height(height_m).earth(utc).expect("analytic");
        let (low, high) = (at(0.0), at(5000.0));
        let expected_rad = -5000.0 * low.elevation_rad.cos() / low.distance_m;
        assert!(((high.elevation_rad - low.elevation_rad) / expected_rad - 1.0).abs() < 1e-3);
        assert!((high.distance_m - low.distance_m + 5000.0 * low.elevation_rad.sin()).abs() < 1.0);
        assert!(low.distance_m > 100.0 * MOON_RADIUS_M);
    }

    #[test]
    fn one_look_at_the_sky_says_what_the_single_ones_say() {
        let (sky, utc) = (SiteSky::new(26.1, 3.6), "2026-11-21T12:00:00Z".parse().expect("good"));
        let all = sky.at(utc).expect("analytic");
        assert_eq!(all.sun, sky.sun(utc).expect("analytic"));
        assert_eq!(all.earth, sky.earth(utc).expect("analytic"));
    }
}
