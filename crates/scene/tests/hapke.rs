//! Hapke's reflectance against f64 values and what physics asks of it.

use std::f64::consts::FRAC_PI_2;

use nalgebra::Vector3;
use selene_base::random::{RngExt, stream};
use selene_scene::{HapkeParams, Material, kernel::hapke};

/// The equations lose a few digits of `f32`.
const RELATIVE_TOLERANCE: f64 = 2e-5;

/// Toward grazing directions rounding of the angles counts for more.
const RECIPROCITY_TOLERANCE: f64 = 1e-3;

#[test]
fn reflectance_has_the_values_computed_in_f64() {
    let expected = [(0.0, 0.098_916), (90.0, 0.039_041), (180.0, 0.031_664)];
    for (azimuth_deg, value) in expected {
        let i = 30f64.to_radians();
        let f = HapkeParams::REGOLITH.reflectance_per_sr(i, i, f64::to_radians(azimuth_deg));
        assert!((f / value - 1.0).abs() < RELATIVE_TOLERANCE, "{azimuth_deg}°: {f}, not {value}");
    }
}

#[test]
fn reflectance_is_reciprocal() {
    let mut random = stream(1, "hapke");
    for _ in 0..20_000 {
        let [i, e] = [random.random_range(0.0..1.5), random.random_range(0.0..1.5)];
        let azimuth = random.random_range(0.0..std::f64::consts::PI);
        let there = HapkeParams::REGOLITH.reflectance_per_sr(i, e, azimuth);
        let back = HapkeParams::REGOLITH.reflectance_per_sr(e, i, azimuth);
        assert!((there / back - 1.0).abs() < RECIPROCITY_TOLERANCE, "{i} {e} {azimuth}: {there} {back}");
    }
}

#[test]
fn less_light_leaves_than_came() {
    let near = |x: f64, y: f64| (x - y).abs() < 0.003;
    let albedo = |deg: f64| HapkeParams::REGOLITH.hemispherical_albedo(deg.to_radians());
    assert!(near(albedo(0.0), 0.122) && near(albedo(80.0), 0.137), "{} {}", albedo(0.0), albedo(80.0));
    for deg in [0.0, 20.0, 45.0, 70.0, 89.0] {
        assert!(HapkeParams::ROCK.hemispherical_albedo(f64::to_radians(deg)) < 1.0);
    }
}

#[test]
fn reflectance_is_finite_everywhere_and_zero_below_the_horizon() {
    let edges = [0.0, 1e-9, 1e-4, 0.5, FRAC_PI_2 - 1e-7, FRAC_PI_2, FRAC_PI_2 + 1e-7, 2.0];
    for params in [HapkeParams::REGOLITH, HapkeParams::ROCK, HapkeParams { theta_rad: 0.0, ..HapkeParams::REGOLITH }] {
        for (i, e) in edges.iter().flat_map(|i| edges.iter().map(move |e| (*i, *e))) {
            for azimuth in [0.0, 1e-9, 1.0, std::f64::consts::PI] {
                let f = params.reflectance_per_sr(i, e, azimuth);
                assert!(f.is_finite() && f >= 0.0, "{i} {e} {azimuth}: {f}");
                assert!(f == 0.0 || (i < FRAC_PI_2 + 1e-6 && e < FRAC_PI_2 + 1e-6));
            }
        }
    }
}

#[test]
fn random_directions_never_give_what_is_no_number() {
    let mut random = stream(2, "hapke");
    let record = Material::Hapke(HapkeParams::REGOLITH).record();
    let mut unit = || {
        let v = Vector3::from_fn(|_, _| random.random_range(-1.0f32..1.0));
        v.try_normalize(1e-3).unwrap_or(Vector3::z())
    };
    for _ in 0..100_000 {
        let (normal, sun, viewer) = (unit(), unit(), unit());
        for viewer in [viewer, sun, normal] {
            let f = hapke::reflected(&record, &normal, &sun, &viewer);
            assert!(f.is_finite() && f >= 0.0);
        }
    }
}
