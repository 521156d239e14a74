//! The Moon's attitude: mean Earth/polar axis frame by the IAU/WGCCRE rotation model
//! (Archinal et al. 2018, constants as in NAIF's pck00011: pole and prime meridian as
//! sums over the thirteen arguments E1…E13). Good to about 150 m on the ground, 0.005°.

use nalgebra::{Rotation3, Vector3};

/// E1…E13: value at J2000 [°] and rate [°/day].
const ARGUMENTS: [(f64, f64); 13] = [
    (125.045, -0.052_992_1),
    (250.089, -0.105_984_2),
    (260.008, 13.012_000_9),
    (176.625, 13.340_715_4),
    (357.529, 0.985_600_3),
    (311.589, 26.405_708_4),
    (134.963, 13.064_993_0),
    (276.617, 0.328_714_6),
    (34.226, 1.748_487_7),
    (15.134, -0.158_976_3),
    (119.743, 0.003_609_6),
    (239.961, 0.164_357_3),
    (25.053, 12.959_008_8),
];

/// Coefficients of sin E in the pole's right ascension, °.
const POLE_RA: [f64; 13] = [-3.8787, -0.1204, 0.0700, -0.0172, 0.0, 0.0072, 0.0, 0.0, 0.0, -0.0052, 0.0, 0.0, 0.0043];
/// Coefficients of cos E in the pole's declination, °.
const POLE_DEC: [f64; 13] =
    [1.5419, 0.0239, -0.0278, 0.0068, 0.0, -0.0029, 0.0009, 0.0, 0.0, 0.0008, 0.0, 0.0, -0.0009];
/// Coefficients of sin E in the prime meridian, °.
const MERIDIAN: [f64; 13] =
    [3.5610, 0.1208, -0.0642, 0.0158, 0.0252, -0.0066, -0.0047, -0.0046, 0.0028, 0.0052, 0.0040, 0.0019, -0.0044];

/// The rotation that takes Moon-fixed coordinates (x to 0° N 0° E, z to the pole) to
/// J2000 equatorial axes.
pub(crate) fn j2000_from_moon(tdb_days: f64) -> Rotation3<f64> {
    let t = tdb_days / 36_525.0;
    let waves = ARGUMENTS.map(|(start, rate)| ((start + rate * tdb_days) % 360.0).to_radians().sin_cos());
    let sines = |coefficients: &[f64; 13]| coefficients.iter().zip(&waves).map(|(c, (sin, _))| c * sin).sum::<f64>();
    let cosines = |coefficients: &[f64; 13]| coefficients.iter().zip(&waves).map(|(c, (_, cos))| c * cos).sum::<f64>();
    let ra_deg = 269.9949 + 0.0031 * t + sines(&POLE_RA);
    let dec_deg = 66.5392 + 0.0130 * t + cosines(&POLE_DEC);
    let meridian_deg = 38.3213 + (13.176_358_15 - 1.4e-12 * tdb_days) * tdb_days + sines(&MERIDIAN);
    let about = |axis, degrees: f64| Rotation3::from_axis_angle(&axis, (degrees % 360.0).to_radians());
    about(Vector3::z_axis(), 90.0 + ra_deg)
        * about(Vector3::x_axis(), 90.0 - dec_deg)
        * about(Vector3::z_axis(), meridian_deg)
}
