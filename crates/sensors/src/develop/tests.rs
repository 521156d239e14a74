//! Tests of whole lists of stages: order, light to numbers, exposure, colours.

use selene_scene::{CameraFrame, Class};

use super::{Encoding, MeteringSpec, OwnStages, Pattern, Pipeline, Quantity, StageSpec, Stages};
use crate::camera::CameraSpec;
use crate::camera::tests::camera;
use selene_base::input::parse_yaml;
use std::path::Path;

const HALF_DN: f64 = 0.51; // rounding to whole numbers, and f32

/// The left NavCam with other stages, 16 bits, and a fixed exposure.
fn with_stages(text: &str) -> CameraSpec {
    let mut spec = camera("navcam_left.yaml");
    spec.stages = parse_yaml(text, Path::new("stages")).unwrap_or_else(|e| panic!("{e}"));
    spec.auto_exposure = false;
    spec
}

const PLAIN: &str = "- aggregator: {quantum_efficiency: 0.5}
- noise: {read_sigma_e: 12}
- response: {linear: {full_well_e: 12000}}
- quantise: {bits: 16}
";

/// A camera with a fixed exposure that turns radiance 1 into `electrons`.
fn bench_camera(electrons: f64) -> CameraSpec {
    let mut spec = with_stages(PLAIN);
    spec.exposure_s = electrons / electrons_per_radiance_second(&spec);
    spec
}

/// Electrons that a pixel collects per second under 1 W/(m² sr), of which π/(4 N²) reach the detector.
fn electrons_per_radiance_second(spec: &CameraSpec) -> f64 {
    let irradiance = std::f64::consts::PI / (4.0 * spec.f_number.powi(2));
    irradiance * spec.pixel_pitch_m.powi(2) * 0.5 / 3.611_720e-19
}

fn flat(spec: &CameraSpec, radiance: f32) -> CameraFrame {
    let mut frame = CameraFrame::sized(spec.width, spec.height);
    frame.radiance.fill([radiance / 3.0; 3]);
    frame.class.fill(Class::Ground as u16);
    frame
}

fn words(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|pair| f64::from(u16::from_le_bytes(*pair))).collect()
}

fn developed(spec: &CameraSpec, radiance: f32) -> super::DevelopedImage {
    Pipeline::new(spec, 0).expect("stages").develop(&flat(spec, radiance), None, 0).expect("an image")
}

fn refusal(text: &str) -> String {
    parse_yaml::<Stages>(text, Path::new("stages")).expect_err(text).to_string()
}

#[test]
fn without_noise_a_pixel_is_linear_in_radiance_up_to_the_full_well() {
    let mut spec = bench_camera(1000.0);
    spec.stages = spec.stages.without("noise");
    let value = |l: f32| words(&developed(&spec, l).data)[0];
    for l in [0.0_f32, 2.0, 7.0] {
        let expected = f64::from(l) * 1000.0 * 65_535.0 / 12_000.0;
        assert!((value(l) - expected).abs() < HALF_DN, "{} {expected}", value(l));
    }
    assert_eq!((value(1e9), value(-1.0), value(f32::NAN)), (65_535.0, 0.0, 0.0));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_and_every_frame_its_own() {
    let spec = with_stages(
        "- defocus: {focus_m: 0.1}
- vignetting: {}
- dust: {}
- aggregator: {quantum_efficiency_rgb: [0.3, 0.4, 0.3]}
- noise: {read_sigma_e: 12, row_sigma_e: 2, column_sigma_e: 2, hot_pixels: 0.001}
- response: {gamma: {a: 0.004, gamma: 2.2, b: 0}}
- intensity_noise: {sigma1: 0.01, sigma2: 0.01}
- quantise: {bits: 8}
- jpeg: {quality: 80}
",
    );
    let frame = flat(&spec, 0.3);
    let pipeline = Pipeline::new(&spec, 3).expect("stages");
    let with = |threads, index| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("pool");
        pool.install(|| pipeline.develop(&frame, None, index)).expect("an image")
    };
    let one = with(1, 5);
    assert!(one == with(3, 5));
    assert!(one != with(1, 6));
    assert_eq!((one.data.len(), one.encoding), (640 * 360 * 3, Encoding::Rgb8));
}

#[test]
fn auto_exposure_shows_a_lit_strip_in_a_shadowed_frame_under_a_blinding_sun() {
    let mut spec = camera("navcam_left.yaml");
    spec.stages = spec.stages.without("noise");
    for (target, lit_radiance) in [(0.6, 0.5), (0.6, 100.0), (0.3, 5.0)] {
        spec.metering = MeteringSpec { target, ..MeteringSpec::default() };
        let mut frame = flat(&spec, 0.001);
        frame.radiance[..640 * 40].fill([lit_radiance / 3.0; 3]);
        frame.radiance[640 * 300..640 * 301].fill([2e7; 3]);
        frame.class[640 * 300..640 * 301].fill(Class::Sky as u16);
        let image = Pipeline::new(&spec, 0).expect("stages").develop(&frame, None, 0).expect("an image");
        let lit = f64::from(image.data[100]) / 255.0;
        assert!((lit - target).abs() < 0.01, "{lit} at {lit_radiance}");
        assert_eq!(image.data[640 * 300], 255);
    }
}

#[test]
fn a_rover_that_glints_does_not_darken_the_ground_and_is_metered_where_there_is_none() {
    let mut spec = camera("navcam_left.yaml");
    spec.stages = spec.stages.without("noise");
    let seen = |radiance: f32, rover_from: usize| {
        let mut frame = flat(&spec, radiance);
        frame.radiance[rover_from..].fill([50.0; 3]);
        frame.class[rover_from..].fill(Class::Rover as u16);
        let image = Pipeline::new(&spec, 0).expect("stages").develop(&frame, None, 0).expect("an image");
        [image.data[0], image.data[640 * 360 - 1]].map(|value| f64::from(value) / 255.0)
    };
    let [ground, rover] = seen(0.5, 640 * 100);
    assert!((ground - 0.6).abs() < 0.01 && rover == 1.0, "{ground} {rover}");
    let alone = seen(0.5, 0);
    assert!(alone.iter().all(|value| (value - 0.6).abs() < 0.01), "{alone:?}");
}

#[test]
fn in_the_dark_auto_exposure_is_the_longest_one_and_gain_makes_up_as_far_as_allowed() {
    let mut spec = camera("navcam_left.yaml");
    assert_eq!(developed(&spec, 0.0).exposure_s, spec.exposure_s);
    spec.stages = spec.stages.without("noise");
    // A tenth of the light that the longest exposure needs for the target.
    let dim = (0.1 * 0.6 * 12_000.0 / (electrons_per_radiance_second(&spec) * spec.exposure_s)) as f32;
    for (gain_max, expected) in [(1.0, 0.06), (4.0, 0.24), (50.0, 0.6)] {
        spec.metering = MeteringSpec { gain_max, ..MeteringSpec::default() };
        let image = developed(&spec, dim);
        let seen = f64::from(image.data[0]) / 255.0;
        assert!((seen - expected).abs() < 0.01 && image.exposure_s == spec.exposure_s, "{seen} {expected}");
    }
    spec.metering = MeteringSpec { shortest_s: 0.01, ..MeteringSpec::default() };
    assert_eq!(developed(&spec, 1e5).exposure_s, 0.01);
}

#[test]
fn the_list_of_stages_says_the_encoding() {
    let colour = "- aggregator: {quantum_efficiency_rgb: [0.3, 0.4, 0.3]}\n";
    let end = |bits| format!("- response: {{linear: {{full_well_e: 9000}}}}\n- quantise: {{bits: {bits}}}\n");
    let grey = "- aggregator: {quantum_efficiency: 0.5}\n";
    for (text, encoding) in [
        (format!("{grey}{}", end(8)), Encoding::Mono8),
        (format!("{grey}{}", end(10)), Encoding::Mono16),
        (format!("{colour}{}", end(8)), Encoding::Rgb8),
        (format!("{colour}{}", end(14)), Encoding::Rgb16),
        (format!("{colour}- bayer: gbrg\n{}", end(8)), Encoding::Bayer8(Pattern::Gbrg)),
        (format!("{colour}- bayer: rggb\n{}", end(12)), Encoding::Bayer16(Pattern::Rggb)),
    ] {
        let spec = with_stages(&text);
        assert_eq!(spec.stages.encoding(), Ok(encoding), "{text}");
        let image = developed(&spec, 1.0);
        assert_eq!(image.encoding, encoding);
        assert_eq!(image.data.len(), 640 * 360 * encoding.bytes_per_pixel());
    }
}

#[test]
fn an_order_that_makes_no_sense_is_refused_with_line_and_reason() {
    for (text, parts) in [
        (PLAIN.replace("- aggregator: {quantum_efficiency: 0.5}\n", ""), ["line 1", "noise", "is given irradiance"]),
        (PLAIN.replace("- quantise: {bits: 16}\n", ""), ["line 3", "gives signal", "quantise"]),
        (format!("{PLAIN}- flare: {{}}\n"), ["line 5", "flare", "is given numbers"]),
        (format!("{PLAIN}- jpeg: {{quality: 90}}\n"), ["line 5", "jpeg", "16 bits"]),
        (PLAIN.replace("- resp", "- bayer: rggb\n- resp"), ["line 3", "bayer", "three colours"]),
        (PLAIN.replace("linear", "white_balance_rgb: [1, 1, 2], linear"), ["line 3", "white_balance_rgb", "one plane"]),
        (PLAIN.replace("bits: 16", "bits: 11"), ["line 4", "11", "8, 10, 12, 14 or 16"]),
        (PLAIN.replace("full_well_e: 12000", "full_well_e: 0"), ["line 3", "value 0", "more than 0"]),
        (PLAIN.replace("0.5}", "0.5, gain: 0}"), ["line 1", "gain", "value 0"]),
        (PLAIN.replace("0.5}", "0.5, quantum_efficiency_rgb: [1, 1, 1]}"), ["line 1", "exactly one", "rgb"]),
        (PLAIN.replace("read_sigma_e: 12", "hot_pixels: 2"), ["line 2", "hot_pixels", "0 to 1"]),
        (PLAIN.replace("- noise: {read_sigma_e: 12}", "- grain: {}"), ["line 2", "grain", "intensity_noise"]),
        (PLAIN.replace("{linear:", "{sigmoid: {a: 1, b: 0}, linear:"), ["line 3", "exactly one", "sigmoid"]),
    ] {
        let message = refusal(&text);
        for part in parts {
            assert!(message.contains(part), "'{part}' is missing in: {message}");
        }
    }
}

#[test]
fn a_stage_of_ones_own_is_found_by_name_and_refused_where_it_does_not_belong() {
    let text = PLAIN.replace("- response", "- own: {name: halve}\n- response");
    let spec = with_stages(&text.replace("- noise: {read_sigma_e: 12}\n", ""));
    let halve = |on| {
        OwnStages::new().with_stage("halve", on, |plate, _| {
            plate.for_each_row(|_, _, values| values.iter_mut().for_each(|value| *value /= 2.0));
        })
    };
    let own = Pipeline::with(&spec, 0, &halve(Quantity::Electrons)).expect("a known stage");
    let plain = CameraSpec { stages: spec.stages.clone().without("own"), ..spec.clone() };
    let value = |image: super::DevelopedImage| words(&image.data)[0];
    let half = value(own.develop(&flat(&spec, 0.1), None, 0).expect("an image"));
    assert!(half > 100.0 && (half * 2.0 - value(developed(&plain, 0.1))).abs() <= 1.0);
    let unknown = Pipeline::new(&spec, 0).expect_err("unknown").to_string();
    assert!(unknown.contains("stage 2") && unknown.contains("'halve'") && unknown.contains("none"), "{unknown}");
    let misplaced = Pipeline::with(&spec, 0, &halve(Quantity::Signal)).expect_err("misplaced").to_string();
    assert!(misplaced.contains("takes signal and is given electrons"), "{misplaced}");
    let cut = OwnStages::new().with_stage("halve", Quantity::Electrons, |plate, _| plate.planes[0].truncate(5));
    let cut = Pipeline::with(&spec, 0, &cut).expect("a known stage");
    assert!(cut.develop(&flat(&spec, 0.1), None, 0).is_err());
}

#[test]
fn a_frame_of_another_size_is_refused() {
    let spec = camera("navcam_left.yaml");
    let pipeline = Pipeline::new(&spec, 0).expect("stages");
    assert!(pipeline.develop(&CameraFrame::sized(64, 64), None, 0).is_err());
}

#[test]
fn focus_within_the_focal_length_is_refused() {
    let mut spec = camera("navcam_left.yaml");
    spec.stages.0.insert(0, StageSpec::Defocus(super::DefocusSpec { gain: 1.0, focus_m: 0.001 }));
    let message = Pipeline::new(&spec, 0).expect_err("too near").to_string();
    assert!(message.contains("0.001") && message.contains("more than the focal length"), "{message}");
}
