//! Tests the principled reflectance: the white furnace over a numerical hemisphere, reciprocity, the reflections of
//! metals and paints, and finite values for every direction. Runs the furnace for Lambert and for Hapke's function,
//! too.

use std::f64::consts::PI;

use nalgebra::Vector3;
use selene_base::random::{RngExt, stream};
use selene_scene::kernel::{Bands, hapke, principled};
use selene_scene::record::MaterialRecord;
use selene_scene::{HapkeParams, Material, PrincipledParams};

/// Error of the finite steps of cosine and azimuth.
const FURNACE_SLACK: f64 = 2e-3;

/// Rounding of `f32` near the horizon.
const RECIPROCITY_TOLERANCE: f32 = 1e-4;

fn paint(metallic: f64, roughness: f64, specular: f64) -> MaterialRecord {
    let base = [1.0; 3];
    Material::Principled(PrincipledParams { base, metallic, roughness, specular, near_infrared: None, radar: None })
        .record()
}

fn toward(cos: f64, azimuth: f64) -> Vector3<f32> {
    let sin = (1.0 - cos * cos).max(0.0).sqrt();
    Vector3::new(sin * azimuth.cos(), sin * azimuth.sin(), cos).cast::<f32>()
}

/// Light reflected toward `cos` under uniform illumination from all sides: the integral of f cos i.
fn furnace(reflected: impl Fn(&Vector3<f32>, &Vector3<f32>) -> f64, cos: f64) -> f64 {
    const RINGS: u32 = 400;
    const SPOKES: u32 = 400;
    let viewer = toward(cos, 0.0);
    let middle = |i: u32, n: u32| (f64::from(i) + 0.5) / f64::from(n);
    let directions = (0..RINGS).flat_map(|i| (0..SPOKES).map(move |j| (i, j)));
    let sum: f64 =
        directions.map(|(i, j)| reflected(&toward(middle(i, RINGS), 2.0 * PI * middle(j, SPOKES)), &viewer)).sum();
    sum * 2.0 * PI / f64::from(RINGS * SPOKES)
}

#[test]
fn a_white_furnace_gives_no_more_back_than_it_gets() {
    for (metallic, roughness, specular) in [
        (0.0, 0.4, 0.5),
        (0.0, 1.0, 0.0),
        (0.0, 0.5, 0.0),
        (0.0, 0.6, 1.0),
        (0.5, 0.5, 0.5),
        (1.0, 0.35, 0.5),
        (1.0, 1.0, 0.5),
    ] {
        let m = paint(metallic, roughness, specular);
        for cos in [0.05, 0.2, 0.5, 0.8, 1.0] {
            let back = furnace(|l, v| f64::from(principled::reflected(&m, &Vector3::z(), l, v, [0.0, 1.0]).y), cos);
            assert!(back <= 1.0 + FURNACE_SLACK, "{back} of the light at cos {cos}: {metallic} {roughness} {specular}");
            // Light scattered between facets is not modelled.
            let least = if metallic == 1.0 && roughness == 1.0 {
                roughest_metal(cos)
            } else if cos < 0.1 {
                0.2
            } else {
                0.4
            };
            assert!(back > least - FURNACE_SLACK, "{back} at cos {cos}: {metallic} {roughness} {specular}");
        }
    }
}

/// Light that white facets with α = 1 reflect once: with D = 1/π and Smith's masking it is ∫ μ₀/(μ₀ + μ) dμ₀ = 1 − μ
/// ln(1 + 1/μ).
fn roughest_metal(cos: f64) -> f64 {
    1.0 - cos * (1.0 + 1.0 / cos).ln()
}

#[test]
fn the_roughest_metal_gives_back_what_the_integral_of_its_facets_says() {
    let m = paint(1.0, 1.0, 0.5);
    for cos in [0.05, 0.2, 0.5, 0.8, 1.0] {
        let back = furnace(|l, v| f64::from(principled::reflected(&m, &Vector3::z(), l, v, [0.0, 1.0]).y), cos);
        assert!((back - roughest_metal(cos)).abs() < FURNACE_SLACK, "{back} at cos {cos}");
    }
}

#[test]
fn regolith_and_a_matt_plate_lose_what_their_albedo_says_in_the_furnace() {
    let regolith = Material::Hapke(HapkeParams::REGOLITH).record();
    for cos in [0.1, 0.5, 1.0] {
        let back = furnace(|l, v| f64::from(hapke::reflected(&regolith, &Vector3::z(), l, v)), cos);
        // By reciprocity, the light reflected under uniform illumination is the albedo for light from that direction.
        let albedo = HapkeParams::REGOLITH.hemispherical_albedo(f64::acos(cos));
        assert!((back / albedo - 1.0).abs() < 0.02, "{back}, not {albedo}, at cos {cos}");
    }
    let matt = furnace(|l, _| 0.7 / PI * f64::from(l.z), 0.5);
    assert!((matt - 0.7).abs() < FURNACE_SLACK);
}

#[test]
fn light_goes_either_way_alike() {
    let mut random = stream(5, "principled");
    for _ in 0..20_000 {
        let m = paint(random.random(), random.random_range(0.3..1.0), random.random());
        let [a, b] = [0, 1].map(|_| toward(random.random_range(0.02..1.0), random.random_range(-PI..PI)));
        let there = principled::reflected(&m, &Vector3::z(), &a, &b, [0.0, 1.0]) / a.z;
        let back = principled::reflected(&m, &Vector3::z(), &b, &a, [0.0, 1.0]) / b.z;
        let apart = (there - back).abs().max() / there.max();
        assert!(apart < RECIPROCITY_TOLERANCE, "{there:?} {back:?} for {a:?} {b:?}");
    }
}

#[test]
fn metals_gleam_in_their_own_colour_and_paints_in_white() {
    let gold = |metallic| PrincipledParams {
        base: [0.9, 0.6, 0.2],
        metallic,
        roughness: 0.4,
        specular: 0.5,
        near_infrared: None,
        radar: None,
    };
    // Toward the mirror direction, 20° from the normal, minus a direction aside with the same diffuse part.
    let [l, v, aside] = [toward(0.94, 0.0), toward(0.94, PI), toward(0.94, 0.5 * PI)];
    let gleam = |metallic: f64| -> Bands {
        let m = Material::Principled(gold(metallic)).record();
        principled::reflected(&m, &Vector3::z(), &l, &v, [0.0, 1.0])
            - principled::reflected(&m, &Vector3::z(), &l, &aside, [0.0, 1.0])
    };
    let (metal, paint) = (gleam(1.0), gleam(0.0));
    assert!((metal.x / metal.z / 4.5 - 1.0).abs() < 0.1, "{metal:?}");
    assert!((paint.x / paint.z - 1.0).abs() < 1e-3 && paint.x > 0.0, "{paint:?}");
}

#[test]
fn every_direction_has_a_number() {
    let mut random = stream(6, "principled");
    let mut unit = || {
        let v = Vector3::from_fn(|_, _| random.random_range(-1.0f32..1.0));
        v.try_normalize(1e-3).unwrap_or(Vector3::z())
    };
    for m in [paint(0.0, 0.1, 1.0), paint(1.0, 0.1, 0.0), paint(0.3, 1.0, 0.5)] {
        for _ in 0..100_000 {
            let (normal, source, viewer) = (unit(), unit(), unit());
            for viewer in [viewer, source, normal] {
                let back = principled::reflected(&m, &normal, &source, &viewer, [0.0, 1.0]);
                assert!(back.iter().all(|band| band.is_finite() && *band >= 0.0), "{back:?}");
            }
        }
    }
}
