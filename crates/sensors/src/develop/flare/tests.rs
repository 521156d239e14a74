//! The flare against its formulas: shares, places, colours.

use super::{FlareSpec, GhostSpec};
use crate::camera::Intrinsics;
use crate::develop::SunSight;
use std::f64::consts::FRAC_PI_4;

const SIZE: [usize; 2] = [320, 180];
const LENS: Intrinsics = Intrinsics { fx_px: 343.0, fy_px: 343.0, cx_px: 159.5, cy_px: 89.5 };

fn sun(u: f64, v: f64) -> SunSight {
    let tan = (u - LENS.cx_px).hypot(v - LENS.cy_px) / LENS.fx_px;
    SunSight { at_px: [u, v], irradiance_w_m2: 1361.0, cos_axis: (1.0 + tan * tan).sqrt().recip() }
}

/// The flare alone, channel by channel.
fn flare(spec: &FlareSpec, sun: Option<&SunSight>, channels: usize) -> Vec<Vec<f64>> {
    let work = spec.rows(sun, channels, LENS, SIZE);
    let of_channel = |channel| {
        let mut plane = vec![0.0_f32; SIZE[0] * SIZE[1]];
        plane.chunks_exact_mut(SIZE[0]).enumerate().for_each(|(row, values)| work(channel, row, values));
        plane.into_iter().map(f64::from).collect()
    };
    (0..channels).map(of_channel).collect()
}

fn only_bloom() -> FlareSpec {
    FlareSpec { streak_share: 0.0, ghosts: Vec::new(), ..FlareSpec::default() }
}

fn only_ghost(along: f64) -> FlareSpec {
    let ghosts = vec![GhostSpec { along, radius: 0.04, share: 1e-4 }];
    FlareSpec { bloom_share: 0.0, streak_share: 0.0, ghosts, ..FlareSpec::default() }
}

fn sum(plane: &[f64]) -> f64 {
    plane.iter().sum()
}

fn centroid(plane: &[f64]) -> [f64; 2] {
    let moment = |along: fn(usize) -> usize| {
        plane.iter().enumerate().map(|(i, value)| value * along(i) as f64).sum::<f64>() / sum(plane)
    };
    [moment(|i| i % SIZE[0]), moment(|i| i / SIZE[0])]
}

#[test]
fn the_bloom_follows_its_formula_and_has_its_share_of_the_suns_light() {
    const ROUNDING: f64 = 1e-5; // f32 powers
    let spec = FlareSpec { bloom_slope: 5.0, ..only_bloom() };
    let sun = sun(150.3, 80.6);
    let bloom = flare(&spec, Some(&sun), 1).remove(0);
    let light = FRAC_PI_4 * 1361.0 * sun.cos_axis * 343.0 * 343.0;
    let radius = 0.35_f64.to_radians() * 343.0;
    for (u, v) in [(150, 81), (160, 81), (20, 170)] {
        let r = (u as f64 - 150.3).hypot(v as f64 - 80.6);
        let expected =
            light * 0.003 * 1.5 / (std::f64::consts::PI * radius * radius) * (1.0 + (r / radius).powi(2)).powf(-2.5);
        assert!((bloom[v * SIZE[0] + u] / expected - 1.0).abs() < ROUNDING, "{u} {v}");
    }
    // Pixels are coarse for the peak, and the frame cuts the tail.
    assert!((sum(&bloom) / (0.003 * light) - 1.0).abs() < 0.02, "{}", sum(&bloom) / light);
}

#[test]
fn the_blooms_middle_is_the_sun() {
    // What is above half the full scale: saturated, as a detector has it.
    for at in [[160.0, 90.0], [61.3, 40.2], [250.0, 130.0]] {
        let bloom = flare(&FlareSpec::default(), Some(&sun(at[0], at[1])), 1).remove(0);
        let bright: Vec<f64> = bloom.iter().map(|value| f64::from(u8::from(*value > 20.0))).collect();
        let middle = centroid(&bright);
        assert!((middle[0] - at[0]).hypot(middle[1] - at[1]) < 0.5, "{at:?} {middle:?}");
    }
}

#[test]
fn ghosts_lie_on_the_line_through_the_principal_point_and_have_their_share() {
    const OFF_PX: f64 = 0.1; // edges cut by pixels
    let sun = sun(100.0, 60.0);
    for along in [0.5, -0.5, -0.9] {
        let ghost = flare(&only_ghost(along), Some(&sun), 1).remove(0);
        let expected = [159.5 + along * (100.0 - 159.5), 89.5 + along * (60.0 - 89.5)];
        let middle = centroid(&ghost);
        assert!((middle[0] - expected[0]).hypot(middle[1] - expected[1]) < OFF_PX, "{along}: {middle:?}");
        let light = FRAC_PI_4 * 1361.0 * sun.cos_axis * 343.0 * 343.0;
        assert!((sum(&ghost) / (1e-4 * light) - 1.0).abs() < 0.02, "{}", sum(&ghost) / light);
    }
}

#[test]
fn streaks_are_as_many_as_even_blades_and_twice_as_many_as_odd_ones() {
    for (blades, rays) in [(6, 6), (5, 10)] {
        let spec = FlareSpec { blades, bloom_share: 0.0, ghosts: Vec::new(), ..FlareSpec::default() };
        let streaks = flare(&spec, Some(&sun(160.0, 90.0)), 1).remove(0);
        // Around a circle of 60 px, peaks above their neighbourhood.
        let around: Vec<f64> = (0..720)
            .map(|k| {
                let (sin, cos) = (f64::from(k) * std::f64::consts::PI / 360.0).sin_cos();
                let [u, v] = [160.0 + 60.0 * cos, 90.0 + 60.0 * sin].map(|at| at.round() as usize);
                streaks[v * SIZE[0] + u]
            })
            .collect();
        let half = around.iter().copied().fold(0.0, f64::max) * 0.2;
        let lit = |k: usize| around[k % 720] > half;
        let peaks = (0..720).filter(|k| lit(k + 1) && !lit(*k)).count();
        assert_eq!(peaks, rays, "{blades}");
    }
}

#[test]
fn red_is_outside_and_blue_inside() {
    let [red, green, blue]: [Vec<f64>; 3] =
        flare(&only_ghost(-0.6), Some(&sun(100.0, 60.0)), 3).try_into().expect("three channels");
    let out = |plane: &[f64]| {
        let [u, v] = centroid(plane);
        (u - LENS.cx_px).hypot(v - LENS.cy_px)
    };
    assert!(out(&red) > out(&green) && out(&green) > out(&blue));
    let grey = flare(&FlareSpec { chromatic: 0.0, ..only_ghost(-0.6) }, Some(&sun(100.0, 60.0)), 3);
    assert!(grey[0] == grey[1] && grey[1] == grey[2]);
}

#[test]
fn there_is_none_without_a_sun_and_it_fades_as_the_sun_leaves_the_frame() {
    assert_eq!(sum(&flare(&FlareSpec::default(), None, 1)[0]), 0.0);
    let behind = SunSight { cos_axis: -0.5, ..sun(100.0, 60.0) };
    assert_eq!(sum(&flare(&FlareSpec::default(), Some(&behind), 1)[0]), 0.0);
    // Reach: 0.3 of 320 px. Ghosts of a Sun beside the frame lie within it.
    let light = |u: f64| sum(&flare(&only_ghost(-0.2), Some(&SunSight { cos_axis: 0.9, ..sun(u, 90.0) }), 1)[0]);
    let edge = 319.5;
    assert!((light(edge + 48.0) / light(edge) - 0.5).abs() < 1e-3);
    assert!(light(edge + 20.0) > 0.0 && light(edge + 97.0) == 0.0);
}
