//! Tests of the flare against its formulas: shares, positions, colours.

use super::{Flare, FlareSpec, GhostSpec, Lobe, SUN_RADIUS_RAD, ScatterSpec};
use crate::camera::CameraSpec;
use crate::camera::tests::camera;
use crate::develop::shot::Shot;
use crate::develop::{Plate, Quantity, StageSpec, SunSight, VignettingSpec};
use selene_scene::{CameraFrame, Class};
use std::f64::consts::{FRAC_PI_4, PI};

const SIZE: [usize; 2] = [320, 180];
const E_W_M2: f64 = 1361.0;

/// A pinhole of 50° behind f/4.
fn lens() -> CameraSpec {
    let mut spec = camera("navcam_left.yaml");
    (spec.width, spec.height, spec.horizontal_fov_deg) = (SIZE[0] as u32, SIZE[1] as u32, Some(50.0));
    (spec.f_number, spec.pixel_pitch_m) = (4.0, 6e-6);
    spec.stages.0.retain(|stage| !matches!(stage, StageSpec::Vignetting(_)));
    spec
}

fn sun(u: f64, v: f64) -> SunSight {
    let i = lens().intrinsics();
    let tan = (u - i.cx_px).hypot(v - i.cy_px) / i.fx_px;
    SunSight { at_px: [u, v], irradiance_w_m2: E_W_M2, cos_axis: (1.0 + tan * tan).sqrt().recip() }
}

/// The light of the Sun's image: divided by a pixel's solid angle in a pinhole, cos³ θ/f².
fn light(sun: &SunSight) -> f64 {
    FRAC_PI_4 * E_W_M2 * lens().intrinsics().fx_px.powi(2) / sun.cos_axis.powi(3)
}

/// An image of uniform radiance `scene` after the flare, channel by channel.
fn through(camera: &CameraSpec, spec: &FlareSpec, sun: Option<&SunSight>, bands: usize, scene: f32) -> Vec<Vec<f64>> {
    let mut frame = CameraFrame::sized(camera.width, camera.height);
    frame.class.fill(if scene > 0.0 { Class::Ground as u16 } else { Class::Sky as u16 });
    let planes = vec![vec![scene; SIZE[0] * SIZE[1]]; bands];
    let mut plate = Plate { width: SIZE[0], height: SIZE[1], quantity: Quantity::Irradiance, planes };
    let shot = Shot { frame: &frame, sun, seed: 0, index: 0, exposure_s: 0.01, gain: 1.0 };
    Flare::new(spec, camera, bands).add(&mut plate, &shot);
    plate.planes.into_iter().map(|plane| plane.into_iter().map(f64::from).collect()).collect()
}

/// The Sun's flare alone.
fn flare(spec: &FlareSpec, sun: Option<&SunSight>, bands: usize) -> Vec<Vec<f64>> {
    through(&lens(), spec, sun, bands, 0.0)
}

fn without_ghosts() -> FlareSpec {
    FlareSpec { ghosts: Vec::new(), ..FlareSpec::default() }
}

fn only_ghost(along: f64) -> FlareSpec {
    FlareSpec { ghosts: vec![GhostSpec { along, radius: 0.04, share: 1e-2 }], ..FlareSpec::default() }
}

/// The difference of two flares: `of` minus `than`.
fn more(of: &FlareSpec, than: &FlareSpec, sun: &SunSight, bands: usize) -> Vec<Vec<f64>> {
    let (with, without) = (flare(of, Some(sun), bands), flare(than, Some(sun), bands));
    with.iter().zip(&without).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a - b).collect()).collect()
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
fn the_bloom_is_diffraction_and_scatter_of_the_suns_light() {
    const TABLE: f64 = 2e-3; // its steps, and f32
    let (spec, sun, camera) = (without_ghosts(), sun(150.3, 80.6), lens());
    let bloom = flare(&spec, Some(&sun), 1).remove(0);
    let focal_px = camera.intrinsics().fx_px;
    let aperture_m = camera.focal_length_m() / 4.0;
    let lobes =
        [Lobe::new(1.0, 2.0 * 550e-9 / (PI * PI * aperture_m), 3.0), Lobe::new(0.01, 0.1_f64.to_radians(), 2.0)];
    let soft = SUN_RADIUS_RAD.hypot(0.5 / focal_px);
    for (u, v) in [(150_usize, 81_usize), (160, 81), (20, 170), (319, 0)] {
        let t = (u as f64 - 150.3).hypot(v as f64 - 80.6) / focal_px;
        let share: f64 = lobes.iter().map(|lobe| lobe.at(t * t + soft * soft)).sum();
        let expected = light(&sun) * share / (focal_px * focal_px);
        assert!((bloom[v * SIZE[0] + u] / expected - 1.0).abs() < TABLE, "{u} {v}");
    }
}

#[test]
fn the_blooms_middle_is_the_sun() {
    for at in [[160.0, 90.0], [61.3, 40.2], [250.0, 130.0]] {
        let bloom = flare(&without_ghosts(), Some(&sun(at[0], at[1])), 1).remove(0);
        let bright: Vec<f64> = bloom.iter().map(|value| f64::from(u8::from(*value > 1000.0))).collect();
        let middle = centroid(&bright);
        assert!(sum(&bright) > 50.0 && (middle[0] - at[0]).hypot(middle[1] - at[1]) < 0.5, "{at:?} {middle:?}");
    }
}

#[test]
fn the_suns_light_is_what_vignetting_before_leaves() {
    let (sun, spec) = (sun(300.0, 170.0), without_ghosts());
    let mut dimmed = lens();
    dimmed.stages.0.insert(0, StageSpec::Vignetting(VignettingSpec { gain: 0.5 }));
    let [bare, dim] = [lens(), dimmed].map(|camera| sum(&through(&camera, &spec, Some(&sun), 1, 0.0)[0]));
    let expected = 1.0 - 0.5 * (1.0 - sun.cos_axis.powi(4));
    assert!((dim / bare / expected - 1.0).abs() < 1e-5, "{} {expected}", dim / bare);
}

#[test]
fn ghosts_lie_on_the_line_through_the_principal_point_and_have_their_share() {
    const OFF_PX: f64 = 0.1; // edges cut by pixels
    let sun = sun(100.0, 60.0);
    for (along, blades) in [(0.5, Some(6)), (-0.5, Some(5)), (-0.9, None)] {
        let [of, than] = [only_ghost(along), without_ghosts()].map(|spec| FlareSpec { blades, ..spec });
        let ghost = more(&of, &than, &sun, 1).remove(0);
        let expected = [159.5 + along * (100.0 - 159.5), 89.5 + along * (60.0 - 89.5)];
        let middle = centroid(&ghost);
        assert!((middle[0] - expected[0]).hypot(middle[1] - expected[1]) < OFF_PX, "{along}: {middle:?}");
        assert!((sum(&ghost) / (1e-2 * light(&sun)) - 1.0).abs() < 0.02, "{}", sum(&ghost) / light(&sun));
    }
}

#[test]
fn streaks_are_as_many_as_even_blades_and_twice_as_many_as_odd_ones() {
    for (blades, rays) in [(6, 6), (5, 10)] {
        let spec = FlareSpec { blades: Some(blades), scatter: Vec::new(), ..without_ghosts() };
        let streaks = flare(&spec, Some(&sun(160.0, 90.0)), 1).remove(0);
        // Counts the peaks along a circle of 60 px.
        let around: Vec<f64> = (0..720)
            .map(|k| {
                let (sin, cos) = (f64::from(k) * PI / 360.0).sin_cos();
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
fn streaks_have_the_light_that_a_round_aperture_diffracts() {
    let far = |blades| {
        let spec = FlareSpec { blades, scatter: Vec::new(), ..without_ghosts() };
        let plane = flare(&spec, Some(&sun(160.0, 90.0)), 1).remove(0);
        let out = |i: usize| (i as f64 % 320.0 - 160.0).hypot((i / 320) as f64 - 90.0);
        plane.iter().enumerate().filter(|(i, _)| (20.0..85.0).contains(&out(*i))).map(|(_, value)| value).sum::<f64>()
    };
    // Tolerance for rings cut by pixels, and streaks cut by the border of the ring.
    assert!((far(Some(8)) / far(None) - 1.0).abs() < 0.05, "{} {}", far(Some(8)), far(None));
}

#[test]
fn red_is_outside_and_blue_inside() {
    let sun = sun(100.0, 60.0);
    let [red, green, blue]: [Vec<f64>; 3] =
        more(&only_ghost(-0.6), &without_ghosts(), &sun, 3).try_into().expect("three channels");
    let i = lens().intrinsics();
    let out = |plane: &[f64]| {
        let [u, v] = centroid(plane);
        (u - i.cx_px).hypot(v - i.cy_px)
    };
    assert!(out(&red) > out(&green) && out(&green) > out(&blue));
    let [red, _, blue]: [Vec<f64>; 3] = flare(&without_ghosts(), Some(&sun), 3).try_into().expect("three channels");
    // Long waves are diffracted farther.
    assert!(sum(&red) > sum(&blue));
}

#[test]
fn there_is_none_without_a_sun_and_it_fades_as_the_sun_leaves_the_frame() {
    assert_eq!(sum(&flare(&FlareSpec::default(), None, 1)[0]), 0.0);
    // Reach: 0.3 of 320 px.
    let light = |u: f64| sum(&flare(&FlareSpec::default(), Some(&sun(u, 90.0)), 1)[0]);
    let beside: Vec<f64> = [319.5, 335.0, 360.0, 400.0].map(light).to_vec();
    assert!(beside.windows(2).all(|pair| pair[1] < pair[0]) && beside[3] > 0.0, "{beside:?}");
    assert_eq!(light(319.5 + 97.0), 0.0);
}

#[test]
fn a_scene_under_the_suns_flare_keeps_what_does_not_go_astray() {
    let spec = FlareSpec { scatter: vec![ScatterSpec { share: 0.1, radius_deg: 1.0, slope: 2.0 }], ..without_ghosts() };
    let plane = through(&lens(), &spec, None, 1, 8.0).remove(0);
    // Some light leaves the frame, most of it near the frame's edge.
    let [middle, corner] = [plane[90 * SIZE[0] + 160], plane[0]];
    assert!(middle < 8.0 && middle > 7.6 && corner < middle, "{middle} {corner}");
}
