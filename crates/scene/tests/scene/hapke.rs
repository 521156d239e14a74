//! Tests Hapke's reflectance against the formulas in f64, written here with angles as in Sato et al. 2014, App. A, and
//! against physical requirements.

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::Vector3;
use selene_base::random::{RngExt, stream};
use selene_scene::{HapkeParams, Material, kernel::hapke};

/// The equations lose a few digits of `f32`.
const RELATIVE_TOLERANCE: f64 = 2e-5;

/// At 87° the cosines have lost some digits.
const GRAZING_TOLERANCE: f64 = 5e-4;

/// Toward grazing directions, rounding of the angles matters more.
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

/// The function in f64, angles in radians: p(g), Bs, M, S and Lommel–Seeliger.
fn by_formula(p: &HapkeParams, i: f64, e: f64, psi: f64) -> f64 {
    let k_phi = 1.209 * p.filling.powf(2.0 / 3.0);
    let k = -(1.0 - k_phi).ln() / k_phi;
    let cos_g = (i.cos() * e.cos() + i.sin() * e.sin() * psi.cos()).clamp(-1.0, 1.0);
    let lobe = |sign: f64| (1.0 - p.b * p.b) / (1.0 + sign * 2.0 * p.b * cos_g + p.b * p.b).powf(1.5);
    let phase = 0.5 * (1.0 + p.c) * lobe(-1.0) + 0.5 * (1.0 - p.c) * lobe(1.0);
    let surge = 1.0 / (1.0 + (0.5 * cos_g.acos()).tan() / p.hs);
    let (mu0e, mue, s) = by_roughness(p.theta_rad, i, e, psi);
    let r0 = (1.0 - (1.0 - p.w).sqrt()) / (1.0 + (1.0 - p.w).sqrt());
    let h = |x: f64| 1.0 / (1.0 - p.w * x * (r0 + 0.5 * (1.0 - 2.0 * r0 * x) * ((1.0 + x) / x).ln()));
    let multiple = h(mu0e / k) * h(mue / k) - 1.0;
    let lommel_seeliger = mu0e / (mu0e + mue);
    k * p.w / (4.0 * PI) * lommel_seeliger / i.cos() * (phase * (1.0 + p.bs0 * surge) + multiple) * s
}

/// Effective cosines of incidence and emission, and S, of a surface of mean slope `theta`.
fn by_roughness(theta: f64, i: f64, e: f64, psi: f64) -> (f64, f64, f64) {
    let (tan, chi) = (theta.tan(), (1.0 + PI * theta.tan().powi(2)).powf(-0.5));
    let e1 = |y: f64| (-2.0 / PI / tan / y.tan()).exp();
    let e2 = |y: f64| (-1.0 / PI / (tan * y.tan()).powi(2)).exp();
    let eta = |y: f64| chi * (y.cos() + y.sin() * tan * e2(y) / (2.0 - e1(y)));
    let half = (0.5 * psi).sin().powi(2);
    let f = (-2.0 * (0.5 * psi).tan()).exp();
    let (mu0e, mue, lesser) = if i <= e {
        let q = 2.0 - e1(e) - psi / PI * e1(i);
        let mu0e = chi * (i.cos() + i.sin() * tan * (psi.cos() * e2(e) + half * e2(i)) / q);
        let mue = chi * (e.cos() + e.sin() * tan * (e2(e) - half * e2(i)) / q);
        (mu0e, mue, i)
    } else {
        let q = 2.0 - e1(i) - psi / PI * e1(e);
        let mu0e = chi * (i.cos() + i.sin() * tan * (e2(i) - half * e2(e)) / q);
        let mue = chi * (e.cos() + e.sin() * tan * (psi.cos() * e2(i) + half * e2(e)) / q);
        (mu0e, mue, e)
    };
    let bracket = 1.0 - f + f * chi * lesser.cos() / eta(lesser);
    (mu0e, mue, mue / eta(e) * (i.cos() / eta(i)) * chi / bracket)
}

#[test]
fn reflectance_is_that_of_the_formulas_all_over_the_hemisphere() {
    let checked = by_formula(&HapkeParams::REGOLITH, 30f64.to_radians(), 30f64.to_radians(), 1e-9);
    assert!((checked - 0.098_916).abs() < 1e-6, "{checked}: the formulas themselves");
    let mut worst: f64 = 0.0;
    for params in [HapkeParams::REGOLITH, HapkeParams::ROCK] {
        for (i, e, psi) in table() {
            let [i, e, psi] = [i, e, psi].map(f64::to_radians);
            let (got, expected) = (params.reflectance_per_sr(i, e, psi), by_formula(&params, i, e, psi));
            worst = worst.max((got / expected - 1.0).abs());
        }
    }
    assert!(worst < GRAZING_TOLERANCE, "{worst} off");
}

/// Incidence, emission and azimuth, degrees; the pole is left out because the formulas divide by zero there.
fn table() -> impl Iterator<Item = (f64, f64, f64)> {
    const SLANTS: [f64; 9] = [0.5, 10.0, 25.0, 40.0, 55.0, 65.0, 75.0, 82.0, 87.0];
    const TURNS: [f64; 7] = [0.5, 20.0, 60.0, 90.0, 120.0, 160.0, 179.0];
    let slants = SLANTS.into_iter().flat_map(|i| SLANTS.into_iter().map(move |e| (i, e)));
    slants.flat_map(|(i, e)| TURNS.into_iter().map(move |psi| (i, e, psi)))
}

#[test]
fn toward_the_source_the_ground_surges() {
    // At i = 40° the viewer approaches the source from 30° away: the brightness grows all the way, by about 1 + Bs0 in
    // single scattering, half of it within 2 atan(hs) = 8.2°.
    let i = 40f64.to_radians();
    let beside = |deg: f64| HapkeParams::REGOLITH.reflectance_per_sr(i, i, deg.to_radians());
    let course = [30.0, 20.0, 12.0, 6.0, 3.0, 1.0, 0.0].map(beside);
    assert!(course.windows(2).all(|pair| pair[0] < pair[1]), "{course:?}");
    let flat = HapkeParams { bs0: 0.0, ..HapkeParams::REGOLITH };
    let surge = beside(0.0) / flat.reflectance_per_sr(i, i, 0.0);
    assert!(surge > 2.0 && surge < 1.0 + HapkeParams::REGOLITH.bs0, "{surge} times as bright");
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
    // A million pairs: any viewer, one in the source's direction and one overhead, and the source itself overhead and
    // on the horizon.
    for _ in 0..200_000 {
        let (normal, sun, viewer) = (unit(), unit(), unit());
        let level = normal.cross(&sun).try_normalize(1e-6).unwrap_or(sun);
        let pairs = [(sun, viewer), (sun, sun), (sun, normal), (normal, viewer), (level, viewer)];
        for (sun, viewer) in pairs {
            let f = hapke::reflected(&record, &normal, &sun, &viewer);
            assert!(f.is_finite() && f >= 0.0);
        }
    }
}
