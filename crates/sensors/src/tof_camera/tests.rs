use super::{TofCamera, TofCameraSpec, TofImage};
use crate::{Sample, SensorQos};
use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_scene::BeamReturn;
use std::f64::consts::{PI, TAU};

const SEED: u64 = 5;
const LIGHT_M_S: f64 = 299_792_458.0;
/// Tolerance of depths that are stored as f32, m.
const F32_M: f64 = 1e-5;

/// A small camera with a lot of light and no read noise.
fn spec() -> TofCameraSpec {
    TofCameraSpec {
        name: "tof".into(),
        link: "tof_optical".into(),
        mount: None,
        rate_hz: 5.0,
        lag_s: 0.0,
        qos: SensorQos::SensorData,
        stages: crate::Augments::default(),
        width: 100,
        height: 80,
        horizontal_fov_deg: 60.0,
        samples_across: 1,
        frequencies_mhz: vec![20],
        modulation_contrast: 0.8,
        emitted_w: 2.0,
        illumination_deg: [60.0, 50.0],
        wavelength_nm: 860.0,
        filter_width_nm: 40.0,
        f_number: 1.4,
        pixel_pitch_m: 1e-5,
        transmission: 0.8,
        quantum_efficiency: 0.5,
        integration_s: 1e-3,
        full_well_e: 60_000.0,
        read_noise_e: 0.0,
        amplitude_min_e: 1.0,
        multipath: false,
        cloud: false,
        truth: false,
    }
}

fn met(range_m: f64) -> BeamReturn {
    BeamReturn {
        range_m: range_m as f32,
        cos_incidence: 1.0,
        reflectance: 0.5,
        near_infrared: [0.5; 2],
        radar: None,
        class: 1,
        instance: 0,
    }
}

fn sample(index: u64) -> Sample {
    Sample { index, instant: SimTime::ZERO }
}

/// The image of a sunlit sphere around the camera, and the same without noise.
fn of_sphere(camera: &TofCamera, range_m: f64, sunlit: f32) -> [TofImage; 2] {
    let pixels = (camera.spec().width * camera.spec().height) as usize;
    let (met, sunlit) = (vec![met(range_m); pixels * camera.rays_of_pixel()], vec![sunlit; pixels]);
    let depth_m = vec![0.0; pixels];
    [camera.image(&met, &sunlit, SEED, sample(3)), camera.exact(&met, &sunlit, &depth_m)]
}

/// Distances along the rays.
fn ranges_m(camera: &TofCamera, image: &TofImage) -> Vec<f64> {
    image.depth_m.iter().zip(&camera.along_axis).map(|(depth, along)| f64::from(*depth) / along).collect()
}

fn mean_and_sigma(values: &[f64]) -> [f64; 2] {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    [mean, variance.sqrt()]
}

/// One pixel's distance without noise, along its ray.
fn exact_m(spec: TofCameraSpec, met: &[BeamReturn]) -> f64 {
    let camera = TofCamera::new(spec);
    let (depth_m, ..) = camera.pixel(met, &vec![true; met.len()], 0.0, 1.0, None);
    f64::from(depth_m)
}

#[test]
fn distances_begin_anew_at_half_a_wavelength_of_the_modulation() {
    let wrap_m = LIGHT_M_S / (2.0 * 20e6);
    assert!((TofCameraSpec::wrap_m(20) - wrap_m).abs() < 1e-12);
    for range_m in [0.4, 3.0, 7.4, 7.6, 9.0, 16.0] {
        let got = exact_m(spec(), &[met(range_m)]);
        assert!((got - range_m.rem_euclid(wrap_m)).abs() < F32_M, "{range_m}: {got}");
    }
}

#[test]
fn two_frequencies_distinguish_what_one_cannot() {
    let two = TofCameraSpec { frequencies_mhz: vec![80, 100], ..spec() };
    // Their common divisor is 20 MHz.
    assert!((two.unambiguous_m() - LIGHT_M_S / 40e6).abs() < 1e-12);
    // Below 0.5 m pixels saturate.
    for range_m in [0.5, 1.0, 1.8, 2.5, 4.9, 7.2] {
        let got = exact_m(two.clone(), &[met(range_m)]);
        assert!((got - range_m).abs() < F32_M, "{range_m}: {got}");
        let alone = exact_m(TofCameraSpec { frequencies_mhz: vec![100], ..spec() }, &[met(range_m)]);
        assert!((alone - range_m.rem_euclid(LIGHT_M_S / 200e6)).abs() < F32_M, "{range_m}: {alone}");
    }
    let beyond = exact_m(two.clone(), &[met(8.0)]);
    assert!((beyond - (8.0 - two.unambiguous_m())).abs() < F32_M, "{beyond}");
}

#[test]
fn electrons_follow_from_the_radiometric_formula() {
    let camera = TofCamera::new(spec());
    let [_, image] = of_sphere(&camera, 2.0, 0.0);
    let solid_angle = 4.0 * (30.0_f64.to_radians().sin() * 25.0_f64.to_radians().sin()).asin();
    let radiance = 0.5 / PI * 2.0 / solid_angle / 4.0;
    let joules = radiance * 1e-10 * PI / (4.0 * 1.96) * 0.8 * 1e-3 / 4.0;
    let electrons = 0.5 * joules * 860e-9 / (6.626_070_15e-34 * LIGHT_M_S);
    assert!(electrons > 100.0, "{electrons}");
    let [amplitude, intensity] = [&image.amplitude_e, &image.intensity_e].map(|image| f64::from(image[0]));
    assert!((intensity - 0.5 * electrons).abs() <= 0.5, "{intensity} and not {}", 0.5 * electrons);
    assert!((amplitude - 0.4 * electrons).abs() <= 0.5, "{amplitude} and not {}", 0.4 * electrons);
}

#[test]
fn its_own_light_is_within_its_pyramid_alone() {
    let camera = TofCamera::new(TofCameraSpec { illumination_deg: [30.0, 20.0], ..spec() });
    let [_, image] = of_sphere(&camera, 2.0, 0.0);
    // An image from −tan 30° to tan 30° across has 100 of these pixels.
    let half_px = |deg: f64| 50.0 * deg.to_radians().tan() / 30.0_f64.to_radians().tan();
    let (wide_px, high_px) = (half_px(15.0), half_px(10.0));
    for (pixel, amplitude_e) in image.amplitude_e.iter().enumerate() {
        let (right, down) = ((pixel % 100) as f64 - 49.5, (pixel / 100) as f64 - 39.5);
        let is_lit = right.abs() < wide_px && down.abs() < high_px;
        assert_eq!(*amplitude_e > 0, is_lit, "pixel {pixel}");
    }
    let lit = image.amplitude_e.iter().filter(|amplitude_e| **amplitude_e > 0).count();
    assert_eq!(lit, 46 * 30);
}

#[test]
fn distances_scatter_as_lange_and_seitz_have_it_in_the_dark_and_in_sunlight() {
    for (sunlit, read_noise_e) in [(0.0, 0.0), (60.0, 0.0), (60.0, 25.0)] {
        let camera = TofCamera::new(TofCameraSpec { read_noise_e, ..spec() });
        let [noisy, exact] = of_sphere(&camera, 2.0, sunlit);
        let [a, b] = [&exact.amplitude_e, &exact.intensity_e].map(|image| f64::from(image[0]));
        // The formula is linear in the noise, which must be small against the amplitude.
        let phase_sigma = ((b + read_noise_e * read_noise_e) / 2.0).sqrt() / a;
        assert!(phase_sigma < 0.15, "{phase_sigma}");
        let expected_m = LIGHT_M_S / (2.0 * TAU * 20e6) * phase_sigma;
        let [mean_m, sigma_m] = mean_and_sigma(&ranges_m(&camera, &noisy));
        // The standard deviation of 8000 pixels is known to 0.8 %; besides, electrons are rounded and the arc tangent
        // is not linear.
        assert!((sigma_m / expected_m - 1.0).abs() < 0.04, "{sunlit} W/(m² sr): {sigma_m} and not {expected_m}");
        assert!((mean_m - 2.0).abs() < 5.0 * expected_m / 8000.0_f64.sqrt(), "{mean_m}");
    }
}

#[test]
fn a_pixel_at_an_edge_reports_the_phase_of_the_sum() {
    let near_and_far = |near: usize| {
        let mut rays = vec![met(2.5); 4];
        rays[..near].fill(met(2.0));
        exact_m(TofCameraSpec { samples_across: 2, ..spec() }, &rays)
    };
    for near in 0..=4 {
        let phase = |range_m: f64| 2.0 * TAU * 20e6 * range_m / LIGHT_M_S;
        let part = |range_m: f64, rays: usize| {
            let signal = rays as f64 / (range_m * range_m);
            [signal * phase(range_m).cos(), signal * phase(range_m).sin()]
        };
        let ([c0, s0], [c1, s1]) = (part(2.0, near), part(2.5, 4 - near));
        let expected = (s0 + s1).atan2(c0 + c1) * LIGHT_M_S / (2.0 * TAU * 20e6);
        let got = near_and_far(near);
        assert!((got - expected).abs() < F32_M, "{near}: {got} and not {expected}");
        assert!((near == 4 || got > 2.01) && (near == 0 || got < 2.49), "{near}: {got} flies");
    }
}

#[test]
fn full_dark_and_empty_pixels_give_no_distance() {
    let camera = TofCamera::new(spec());
    let depth = |met: &BeamReturn, sunlit: f64| camera.pixel(std::slice::from_ref(met), &[true], sunlit, 1.0, None).0;
    assert!(depth(&met(2.0), 0.0).is_finite());
    assert!(depth(&met(2.0), 1e6).is_nan(), "the Sun fills its well");
    assert!(depth(&met(500.0), 0.0).is_nan(), "too little comes back");
    assert!(depth(&BeamReturn::NONE, 0.0).is_nan());
    let (.., full) = camera.pixel(&[met(2.0)], &[true], 1e6, 1.0, None);
    assert_eq!(full, 60_000);
}

#[test]
fn depth_is_along_the_axis_and_the_middle_looks_ahead() {
    let camera = TofCamera::new(spec());
    let beams = camera.beams(&Pose::identity());
    assert_eq!(beams.len(), 8000);
    let middle: Vector3<f32> = [39 * 100 + 49, 39 * 100 + 50, 40 * 100 + 49, 40 * 100 + 50]
        .map(|pixel| Vector3::from(beams[pixel].direction))
        .iter()
        .sum();
    assert!((middle / 4.0 - Vector3::z()).norm() < 1e-3, "{middle}");
    let edge = f64::from(beams[39 * 100].direction[0]) / f64::from(beams[39 * 100].direction[2]);
    // The centre of the first pixel is half a pixel inside the edge at tan 30°.
    assert!((edge + 30.0_f64.to_radians().tan() * 0.99).abs() < 1e-6, "{edge}");
    let ratio = camera.along_axis[39 * 100] - f64::from(beams[39 * 100].direction[2]);
    assert!(ratio.abs() < 1e-6, "{ratio}");
}

#[test]
fn the_filter_passes_its_part_of_a_black_bodys_light() {
    let share = |wavelength_nm: f64| TofCameraSpec { wavelength_nm, filter_width_nm: 1.0, ..spec() }.sun_share();
    // For a black body at 5772 K, by the series 15/π⁴ Σ e^(−nx) (x³ + 3x²/n + 6x/n² + 6/n³)/n at both wavelengths.
    let sum: f64 = (550..1550).map(|nm| 0.5 * (share(f64::from(nm)) + share(f64::from(nm) + 1.0))).sum();
    assert!((sum - 0.5760).abs() < 1e-3, "{sum}");
}

#[test]
fn an_image_depends_on_seed_name_and_number_alone_and_a_pixel_not_on_its_neighbours() {
    let camera = TofCamera::new(spec());
    let (mut scene, sunlit) = (vec![met(2.0); 8000], vec![10.0; 8000]);
    let image = |scene: &[BeamReturn], seed, index| camera.image(scene, &sunlit, seed, sample(index)).depth_m;
    let first = image(&scene, SEED, 3);
    assert_eq!(first, image(&scene, SEED, 3));
    assert!(first != image(&scene, SEED, 4) && first != image(&scene, SEED + 1, 3));
    scene[4321] = met(1.0);
    let other = image(&scene, SEED, 3);
    let changed = first.iter().zip(&other).filter(|(a, b)| a != b).count();
    assert_eq!(changed, 1);
}
