//! The sphere that a file's coordinates and heights refer to. Only the Moon's, of radius 1 737 400 m, is accepted;
//! other bodies are refused by name. Radii: IAU 2015 (Archinal et al. 2018) and the usual ellipsoids of the planets.

use crate::crs::{Crs, MOON_RADIUS_M, Pole};
use crate::error::Refusal;

/// Tolerance for matching a radius, m: labels round to 0.1 km at worst, and bodies differ by more.
const RADIUS_TOLERANCE_M: f64 = 1.0;

/// Bodies and the radii used to map them, m.
const BODIES: [(&str, &[f64]); 12] = [
    (
        "the Earth",
        &[6_378_137.0, 6_378_388.0, 6_378_206.4, 6_378_160.0, 6_377_397.155, 6_371_000.0, 6_371_007.0, 6_356_752.3],
    ),
    ("Mars", &[3_396_190.0, 3_396_000.0, 3_389_500.0, 3_376_200.0, 3_393_400.0, 3_397_200.0]),
    ("Mercury", &[2_439_400.0, 2_439_700.0, 2_440_530.0, 2_440_000.0]),
    ("Venus", &[6_051_800.0, 6_051_000.0]),
    ("Ceres", &[470_000.0, 487_300.0]),
    ("Vesta", &[255_000.0, 265_000.0]),
    ("Io", &[1_821_490.0, 1_829_400.0]),
    ("Europa", &[1_560_800.0, 1_562_600.0]),
    ("Ganymede", &[2_631_200.0]),
    ("Callisto", &[2_410_300.0]),
    ("Titan", &[2_574_730.0, 2_575_150.0]),
    ("another sphere of the Moon", &[1_738_000.0, 1_738_140.0, 1_737_151.0, 1_737_151.4, 1_737_150.0, 1_736_000.0]),
];

/// Refuses a radius that is not the Moon's, naming the body that has it.
pub(super) fn check_radius(field: &str, radius_m: f64) -> Result<(), Refusal> {
    if (radius_m - MOON_RADIUS_M).abs() <= RADIUS_TOLERANCE_M {
        return Ok(());
    }
    let is_radius = |other: &f64| (radius_m - other).abs() <= RADIUS_TOLERANCE_M;
    let whose = BODIES.iter().find(|(_, radii)| radii.iter().any(is_radius));
    let whose = whose.map_or_else(String::new, |(name, _)| format!(", that of {name}"));
    Err(Refusal::new(field, format!("is a sphere of {radius_m} m{whose}; must be the Moon's, {MOON_RADIUS_M} m")))
}

/// Refuses a named target that is not the Moon; a file that names none is checked by its radius alone.
pub(super) fn check_target(field: &str, name: &str) -> Result<(), Refusal> {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_unnamed = matches!(lower.as_str(), "" | "unknown" | "unnamed" | "n/a");
    if is_unnamed || words.any(|word| matches!(word, "moon" | "luna")) {
        return Ok(());
    }
    Err(Refusal::new(field, format!("is {name:?}; must be the Moon")))
}

/// The refusal of a projection that this crate does not support.
pub(super) fn unknown_projection(field: &str, name: &str) -> Refusal {
    let known = "must be geographic, equirectangular (simple cylindrical), sinusoidal or polar stereographic";
    Refusal::new(field, format!("is {name}; {known}"))
}

/// The equirectangular system of true scale at `parallel_deg`.
pub(super) fn equirectangular(
    field: &str,
    parallel_deg: f64,
    meridian_deg: f64,
    origin_m: [f64; 2],
) -> Result<Crs, Refusal> {
    if !(parallel_deg.abs() < 89.9 && meridian_deg.abs() <= 720.0) {
        let what = format!(
            "has true scale at latitude {parallel_deg}° and meridian {meridian_deg}°; must be below 89.9° and within 720°"
        );
        return Err(Refusal::new(field, what));
    }
    let [standard_parallel_rad, central_meridian_rad] = [parallel_deg, meridian_deg].map(f64::to_radians);
    Ok(Crs::Equirectangular { standard_parallel_rad, central_meridian_rad, false_origin_m: origin_m })
}

/// The polar stereographic system. When `latitude_deg` is the pole, `scale` is the scale there; otherwise the scale is
/// 1 at that latitude: k₀ = (1 + sin |φ|)/2 (Snyder, equation 21-7).
pub(super) fn polar(
    field: &str,
    latitude_deg: f64,
    meridian_deg: f64,
    scale: f64,
    origin_m: [f64; 2],
) -> Result<Crs, Refusal> {
    let is_meridian = meridian_deg.abs() <= 720.0;
    if !(is_meridian && (1.0..=90.0).contains(&latitude_deg.abs()) && (0.1..=2.0).contains(&scale)) {
        let what = format!(
            "latitude {latitude_deg}°, meridian {meridian_deg}° and scale {scale}; must be a pole (±90) or the latitude of true scale, within 720°, and 0.1 to 2"
        );
        return Err(Refusal::new(field, what));
    }
    let pole = if latitude_deg > 0.0 { Pole::North } else { Pole::South };
    let at_pole = (1.0 + latitude_deg.abs().to_radians().sin()) / 2.0;
    let central_meridian_rad = meridian_deg.to_radians();
    Ok(Crs::PolarStereographic { pole, central_meridian_rad, scale: scale * at_pole, false_origin_m: origin_m })
}

#[cfg(test)]
mod tests {
    use super::{check_radius, check_target};

    #[test]
    fn foreign_planets_are_refused_by_name() {
        for (radius_m, name) in
            [(6_378_137.0, "Earth"), (3_396_190.0, "Mars"), (1_738_000.0, "another sphere of the Moon")]
        {
            let refusal = check_radius("SPHEROID", radius_m).unwrap_err();
            assert!(refusal.what.contains(name) && refusal.what.contains("1737400"), "{refusal:?}");
        }
        assert!(check_radius("SPHEROID", f64::NAN).is_err());
        assert_eq!(check_radius("SPHEROID", 1_737_400.0), Ok(()));
        assert!(
            check_target("TARGET_NAME", "MARS").is_err() && check_target("TARGET_NAME", "Moon (2015) - Sphere").is_ok()
        );
    }
}
