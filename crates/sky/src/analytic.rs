//! Geocentric Sun and Moon in the axes of J2000 (ICRF to 0.03″). Source: J. Meeus,
//! Astronomical Algorithms (2nd ed.): Sun ch. 25 with the Earth's motion about the
//! barycentre added, Moon ch. 47 (after ELP-2000/82, terms below 0.001° left out),
//! precession ch. 21, mean obliquity ch. 22. Good to 0.01° from 1900 to 2100.
//! Positions are geometric. Velocities are the derivatives of the same series, with constant
//! coefficients and with precession in longitude alone (0.02 m/s); they are good to 20 m/s, since
//! the Sun is taken as at rest.

use std::f64::consts::TAU;
use std::ops::{Add, Mul, Sub};

use nalgebra::{Rotation3, Vector3};

use crate::AU_M;
use crate::ephemeris::{LIGHT_M_S, SkyState};
use crate::rotation::j2000_from_moon;

const DAYS_PER_CENTURY: f64 = 36_525.0;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// General precession in longitude, ″ per Julian century.
const PRECESSION_ARCSEC: f64 = 5_029.096_6;
/// Amplitude in the Sun's longitude of the Earth's motion about the barycentre, degrees (6.45″).
const BARYCENTRE_DEG: f64 = 0.001_79;

/// One term of the Moon's series: multiples of D, M, M′, F, then the coefficients of
/// longitude [1e-6 °] and distance [m].
type OrbitTerm = ([i8; 4], f64, f64);

const LONGITUDE_TERMS: [OrbitTerm; 40] = [
    ([0, 0, 1, 0], 6_288_774.0, -20_905_355.0),
    ([2, 0, -1, 0], 1_274_027.0, -3_699_111.0),
    ([2, 0, 0, 0], 658_314.0, -2_955_968.0),
    ([0, 0, 2, 0], 213_618.0, -569_925.0),
    ([0, 1, 0, 0], -185_116.0, 48_888.0),
    ([0, 0, 0, 2], -114_332.0, -3_149.0),
    ([2, 0, -2, 0], 58_793.0, 246_158.0),
    ([2, -1, -1, 0], 57_066.0, -152_138.0),
    ([2, 0, 1, 0], 53_322.0, -170_733.0),
    ([2, -1, 0, 0], 45_758.0, -204_586.0),
    ([0, 1, -1, 0], -40_923.0, -129_620.0),
    ([1, 0, 0, 0], -34_720.0, 108_743.0),
    ([0, 1, 1, 0], -30_383.0, 104_755.0),
    ([2, 0, 0, -2], 15_327.0, 10_321.0),
    ([0, 0, 1, 2], -12_528.0, 0.0),
    ([0, 0, 1, -2], 10_980.0, 79_661.0),
    ([4, 0, -1, 0], 10_675.0, -34_782.0),
    ([0, 0, 3, 0], 10_034.0, -23_210.0),
    ([4, 0, -2, 0], 8_548.0, -21_636.0),
    ([2, 1, -1, 0], -7_888.0, 24_208.0),
    ([2, 1, 0, 0], -6_766.0, 30_824.0),
    ([1, 0, -1, 0], -5_163.0, -8_379.0),
    ([1, 1, 0, 0], 4_987.0, -16_675.0),
    ([2, -1, 1, 0], 4_036.0, -12_831.0),
    ([2, 0, 2, 0], 3_994.0, -10_445.0),
    ([4, 0, 0, 0], 3_861.0, -11_650.0),
    ([2, 0, -3, 0], 3_665.0, 14_403.0),
    ([0, 1, -2, 0], -2_689.0, -7_003.0),
    ([2, 0, -1, 2], -2_602.0, 0.0),
    ([2, -1, -2, 0], 2_390.0, 10_056.0),
    ([1, 0, 1, 0], -2_348.0, 6_322.0),
    ([2, -2, 0, 0], 2_236.0, -9_884.0),
    ([0, 1, 2, 0], -2_120.0, 5_751.0),
    ([0, 2, 0, 0], -2_069.0, 0.0),
    ([2, -2, -1, 0], 2_048.0, -4_950.0),
    ([2, 0, 1, -2], -1_773.0, 4_130.0),
    ([2, 0, 0, 2], -1_595.0, 0.0),
    ([4, -1, -1, 0], 1_215.0, -3_958.0),
    ([0, 0, 2, 2], -1_110.0, 0.0),
    ([2, 0, -1, -2], 0.0, 8_752.0),
];

/// Multiples of D, M, M′, F and the coefficient of latitude [1e-6 °].
const LATITUDE_TERMS: [([i8; 4], f64); 29] = [
    ([0, 0, 0, 1], 5_128_122.0),
    ([0, 0, 1, 1], 280_602.0),
    ([0, 0, 1, -1], 277_693.0),
    ([2, 0, 0, -1], 173_237.0),
    ([2, 0, -1, 1], 55_413.0),
    ([2, 0, -1, -1], 46_271.0),
    ([2, 0, 0, 1], 32_573.0),
    ([0, 0, 2, 1], 17_198.0),
    ([2, 0, 1, -1], 9_266.0),
    ([0, 0, 2, -1], 8_822.0),
    ([2, -1, 0, -1], 8_216.0),
    ([2, 0, -2, -1], 4_324.0),
    ([2, 0, 1, 1], 4_200.0),
    ([2, 1, 0, -1], -3_359.0),
    ([2, -1, -1, 1], 2_463.0),
    ([2, -1, 0, 1], 2_211.0),
    ([2, -1, -1, -1], 2_065.0),
    ([0, 1, -1, -1], -1_870.0),
    ([4, 0, -1, -1], 1_828.0),
    ([0, 1, 0, 1], -1_794.0),
    ([0, 0, 0, 3], -1_749.0),
    ([0, 1, -1, 1], -1_565.0),
    ([1, 0, 0, 1], -1_491.0),
    ([0, 1, 1, 1], -1_475.0),
    ([0, 1, 1, -1], -1_410.0),
    ([0, 1, 0, -1], -1_344.0),
    ([1, 0, 0, -1], -1_335.0),
    ([0, 0, 3, 1], 1_107.0),
    ([4, 0, 0, -1], 1_021.0),
];

/// A quantity and its rate of change per Julian century.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Varying {
    value: f64,
    rate: f64,
}

/// A body in the ecliptic and equinox of date, as seen from the Earth's centre.
struct EclipticPosition {
    longitude_rad: Varying,
    latitude_rad: Varying,
    distance_m: Varying,
}

impl Varying {
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (Self { value: sin, rate: cos * self.rate }, Self { value: cos, rate: -sin * self.rate })
    }

    fn sin(self) -> Self {
        self.sin_cos().0
    }

    fn cos(self) -> Self {
        self.sin_cos().1
    }

    fn to_radians(self) -> Self {
        Self { value: self.value.to_radians(), rate: self.rate.to_radians() }
    }
}

impl Add for Varying {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, rate: self.rate + other.rate }
    }
}

impl Sub for Varying {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, rate: self.rate - other.rate }
    }
}

impl Mul for Varying {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { value: self.value * other.value, rate: self.rate * other.value + self.value * other.rate }
    }
}

impl Mul<f64> for Varying {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { value: self.value * factor, rate: self.rate * factor }
    }
}

/// The arguments of the lunar series at an instant, rad, and the eccentricity factor.
struct Arguments {
    moon_longitude: Varying,
    elongation: Varying,
    sun_anomaly: Varying,
    moon_anomaly: Varying,
    latitude_argument: Varying,
    eccentricity: f64,
}

impl Arguments {
    fn at(t: f64) -> Self {
        Self {
            moon_longitude: angle(&[218.316_447_7, 481_267.881_234_21, -0.001_578_6, 1.0 / 538_841.0], t),
            elongation: elongation(t),
            sun_anomaly: angle(&[357.529_109_2, 35_999.050_290_9, -0.000_153_6], t),
            moon_anomaly: angle(&[134.963_396_4, 477_198.867_505_5, 0.008_741_4, 1.0 / 69_699.0], t),
            latitude_argument: angle(&[93.272_095_0, 483_202.017_523_3, -0.003_653_9], t),
            eccentricity: polynomial(&[1.0, -0.002_516, -0.000_007_4], t),
        }
    }

    /// The angle of a term, rad, and the factor of its amplitude (one E per multiple of M).
    fn angle_and_weight(&self, [d, m, mp, f]: [i8; 4]) -> (Varying, f64) {
        let angle = self.elongation * f64::from(d)
            + self.sun_anomaly * f64::from(m)
            + self.moon_anomaly * f64::from(mp)
            + self.latitude_argument * f64::from(f);
        (angle, self.eccentricity.powi(i32::from(m.abs())))
    }
}

/// Sun and Earth from the Moon's centre, and the Moon's velocity and attitude, at `tdb_days` since J2000.0.
pub(crate) fn sky_state(tdb_days: f64) -> SkyState {
    let t = tdb_days / DAYS_PER_CENTURY;
    let [sun_m, sun_m_s] = in_j2000(&sun(t), t);
    let [moon_m, moon_m_s] = in_j2000(&moon(t), t);
    let earth_m_s = -sun_m_s;
    SkyState {
        sun_m: sun_m - moon_m,
        // Light time: the Earth is seen where it was when its light left it.
        earth_m: -moon_m - earth_m_s * (moon_m.norm() / LIGHT_M_S),
        velocity_m_s: earth_m_s + moon_m_s,
        icrf_from_moon: j2000_from_moon(tdb_days),
    }
}

/// The Sun from the Earth's centre.
fn sun(t: f64) -> EclipticPosition {
    let anomaly = angle(&[357.529_11, 35_999.050_29, -0.000_153_7], t);
    let centre_deg = anomaly.sin() * polynomial(&[1.914_602, -0.004_817, -0.000_014], t)
        + (anomaly * 2.0).sin() * polynomial(&[0.019_993, -0.000_101], t)
        + (anomaly * 3.0).sin() * 0.000_289;
    let eccentricity = polynomial(&[0.016_708_634, -0.000_042_037, -0.000_000_126_7], t);
    let true_anomaly = anomaly + centre_deg.to_radians();
    let e_cos = true_anomaly.cos() * eccentricity;
    let distance_au = 1.000_001_018 * (1.0 - eccentricity.powi(2)) / (1.0 + e_cos.value);
    let distance = Varying { value: distance_au, rate: -distance_au * e_cos.rate / (1.0 + e_cos.value) };
    let swing_deg = elongation(t).sin() * BARYCENTRE_DEG;
    let mean_longitude = angle(&[280.466_46, 36_000.769_83, 0.000_303_2], t);
    EclipticPosition {
        longitude_rad: mean_longitude + (centre_deg + swing_deg).to_radians(),
        latitude_rad: Varying::default(),
        distance_m: distance * AU_M,
    }
}

/// The Moon from the Earth's centre.
fn moon(t: f64) -> EclipticPosition {
    let args = Arguments::at(t);
    let (longitude_microdeg, distance_m) = longitude_and_distance(&args, t);
    EclipticPosition {
        longitude_rad: args.moon_longitude + (longitude_microdeg * 1e-6).to_radians(),
        latitude_rad: (latitude_microdeg(&args, t) * 1e-6).to_radians(),
        distance_m,
    }
}

fn longitude_and_distance(args: &Arguments, t: f64) -> (Varying, Varying) {
    let venus = angle(&[119.75, 131.849], t);
    // Action of Venus and flattening of the Earth.
    let others = venus.sin() * 3958.0 + (args.moon_longitude - args.latitude_argument).sin() * 1962.0;
    let mean_m = Varying { value: 385_000_560.0, rate: 0.0 };
    LONGITUDE_TERMS.iter().fold((others, mean_m), |(longitude, distance), (multiples, sine, cosine)| {
        let (angle, weight) = args.angle_and_weight(*multiples);
        let (sin, cos) = angle.sin_cos();
        (longitude + sin * (weight * sine), distance + cos * (weight * cosine))
    })
}

fn latitude_microdeg(args: &Arguments, t: f64) -> Varying {
    let third = angle(&[313.45, 481_266.484], t);
    let others = args.moon_longitude.sin() * -2235.0 + third.sin() * 382.0;
    LATITUDE_TERMS.iter().fold(others, |latitude, (multiples, sine)| {
        let (angle, weight) = args.angle_and_weight(*multiples);
        latitude + angle.sin() * (weight * sine)
    })
}

/// Mean elongation of the Moon from the Sun, rad.
fn elongation(t: f64) -> Varying {
    angle(&[297.850_192_1, 445_267.111_403_4, -0.001_881_9, 1.0 / 545_868.0], t)
}

/// Position [m] and velocity [m/s] in J2000 equatorial axes.
fn in_j2000(position: &EclipticPosition, t: f64) -> [Vector3<f64>; 2] {
    // The equinox from which longitudes count moves, but the velocity is that in fixed axes.
    let Varying { value, rate } = position.longitude_rad;
    let (sin_lon, cos_lon) = Varying { value, rate: rate - (PRECESSION_ARCSEC / 3600.0).to_radians() }.sin_cos();
    let (sin_lat, cos_lat) = position.latitude_rad.sin_cos();
    let of_date = Vector3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat).map(|unit| unit * position.distance_m);
    let axes = j2000_from_ecliptic_of_date(t);
    let century_s = SECONDS_PER_DAY * DAYS_PER_CENTURY;
    [axes * of_date.map(|m| m.value), axes * of_date.map(|m| m.rate) / century_s]
}

/// Mean ecliptic and equinox of date to J2000 equatorial axes: obliquity, then the
/// IAU 1976 precession angles.
fn j2000_from_ecliptic_of_date(t: f64) -> Rotation3<f64> {
    let arcsec = |coefficients: &[f64]| (polynomial(coefficients, t) / 3600.0).to_radians();
    let obliquity = arcsec(&[84_381.448, -46.815, -0.000_59, 0.001_813]);
    let zeta = arcsec(&[0.0, 2306.2181, 0.301_88, 0.017_998]);
    let z = arcsec(&[0.0, 2306.2181, 1.094_68, 0.018_203]);
    let theta = arcsec(&[0.0, 2004.3109, -0.426_65, -0.041_833]);
    let about = Rotation3::from_axis_angle;
    about(&Vector3::z_axis(), -zeta)
        * about(&Vector3::y_axis(), theta)
        * about(&Vector3::z_axis(), -z)
        * about(&Vector3::x_axis(), obliquity)
}

fn polynomial(coefficients: &[f64], t: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c)
}

/// A polynomial in degrees as an angle within one turn, rad, with its rate per century.
fn angle(coefficients_deg: &[f64], t: f64) -> Varying {
    let step = |(sum, slope): (f64, f64), c: &f64| (sum * t + c, slope * t + sum);
    let (degrees, per_century) = coefficients_deg.iter().rev().fold((0.0, 0.0), step);
    Varying { value: degrees.to_radians() % TAU, rate: per_century.to_radians() }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::{DAYS_PER_CENTURY, EclipticPosition, SECONDS_PER_DAY, in_j2000, moon, sun};
    use crate::AU_M;

    fn position_m(of: fn(f64) -> EclipticPosition, tdb_days: f64) -> Vector3<f64> {
        let t = tdb_days / DAYS_PER_CENTURY;
        in_j2000(&of(t), t)[0]
    }

    /// Asserts right ascension and declination of JPL's DE421 (Skyfield 1.55, geometric, ICRF). The series are good to
    /// 0.01° and come within 0.002° here; the Moon moves 0.005° in half a minute.
    #[track_caller]
    fn stands_at(place_m: &Vector3<f64>, ra_deg: f64, dec_deg: f64) {
        let [(sin_ra, cos_ra), (sin_dec, cos_dec)] = [ra_deg, dec_deg].map(|deg| deg.to_radians().sin_cos());
        let expected = Vector3::new(cos_dec * cos_ra, cos_dec * sin_ra, sin_dec);
        let apart_deg = place_m.angle(&expected).to_degrees();
        assert!(apart_deg < 0.005, "{apart_deg}° off");
    }

    #[test]
    fn the_sun_of_meeus_example_25_is_found() {
        // Example 25.a: 1992-10-13 0h TD, JD 2448908.5, R = 0.99766 au, apparent declination −7.78507°.
        let sun = position_m(sun, 2_448_908.5 - 2_451_545.0);
        assert!((sun.norm() / AU_M - 0.997_66).abs() < 1e-5);
        // Precession to J2000 moves the declination by 0.04° in these seven years.
        assert!(((sun.z / sun.norm()).asin().to_degrees() + 7.785).abs() < 0.06);
        stands_at(&sun, 198.473_54, -7.822_45);
    }

    #[test]
    fn the_moon_of_meeus_example_47_is_found() {
        // Example 47.a: 1992-04-12 0h TD, JD 2448724.5, distance 368 409.7 km; 15 km of
        // terms are left out here.
        let moon = position_m(moon, 2_448_724.5 - 2_451_545.0);
        assert!((moon.norm() - 368_409_700.0).abs() < 15_000.0, "{}", moon.norm());
        stands_at(&moon, 134.789_90, 13.739_17);
    }

    #[test]
    fn velocities_are_the_change_of_positions() {
        let half_days = 0.01;
        for tdb_days in [-5_000.0, 0.0, 9_876.5] {
            for body in [sun, moon] {
                let [after, before] = [half_days, -half_days].map(|days| position_m(body, tdb_days + days));
                let t = tdb_days / DAYS_PER_CENTURY;
                let difference_m_s = (after - before) / (2.0 * half_days * SECONDS_PER_DAY);
                let off_m_s = (in_j2000(&body(t), t)[1] - difference_m_s).norm();
                assert!(off_m_s < 0.05, "{off_m_s} m/s off");
            }
        }
    }
}
