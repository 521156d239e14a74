//! Calibrations from pictures that the pipeline developed.

use std::path::Path;

use selene_base::input::parse_yaml;
use selene_scene::{CameraFrame, Class};

use super::{CalibrateError, Calibration, CurveName, SignalLevel, calibrate};
use crate::camera::CameraSpec;
use crate::camera::tests::camera;
use crate::develop::{Pipeline, Stages};

const FULL_SCALE: f64 = 65_535.0;
/// Electrons per second in the flats.
const RATE: f64 = 40_000.0;

/// A camera of 256 × 256 pixels of 16 bits, with a fixed pattern that must not affect the result.
fn detector(noise: &str, response: &str) -> CameraSpec {
    let mut spec = camera("navcam_left.yaml");
    (spec.width, spec.height, spec.auto_exposure) = (256, 256, false);
    let text = format!(
        "- aggregator: {{quantum_efficiency: 0.5}}\n- noise: {{{noise}, gain_sigma: 0.01}}\n- response: {{{response}}}\n\
         - quantise: {{bits: 16}}\n"
    );
    spec.stages = parse_yaml::<Stages>(&text, Path::new("stages")).expect("stages");
    spec
}

/// Statistics of a pair of pictures at each exposure.
fn levels(spec: &CameraSpec, rate: f64, exposures_s: &[f64]) -> Vec<SignalLevel> {
    let of = |(k, exposure_s): (usize, &f64)| {
        let spec = CameraSpec { exposure_s: *exposure_s, ..spec.clone() };
        let per_s = spec.stages.aggregator().expect("an aggregator").electrons_per_s(&spec)[0];
        let mut frame = CameraFrame::sized(spec.width, spec.height);
        frame.class.fill(Class::Ground as u16);
        frame.radiance.fill([(rate / per_s / std::f64::consts::FRAC_PI_4 / 3.0) as f32; 3]);
        let pipeline = Pipeline::new(&spec, 4).expect("stages");
        let picture = |index: u64| {
            let data = pipeline.develop(&frame, None, index).expect("a picture").data;
            data.as_chunks().0.iter().map(|word| u16::from_le_bytes(*word)).collect()
        };
        let index = 2 * k as u64 + if rate > 0.0 { 100 } else { 0 };
        SignalLevel::of(*exposure_s, &[picture(index), picture(index + 1)], FULL_SCALE).expect("a level")
    };
    exposures_s.iter().enumerate().map(of).collect()
}

fn found(calibration: &Calibration, name: &str) -> f64 {
    let parameter = calibration.parameters.iter().find(|(known, _)| *known == name);
    parameter.map_or(f64::NAN, |(_, value)| value.value)
}

/// Required relative accuracy.
const TOLERANCE: f64 = 0.02;

#[track_caller]
fn assert_near(what: &str, value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < TOLERANCE, "{what}: {value}, must be {expected}");
}

#[test]
fn a_linear_detectors_gain_read_noise_and_dark_current_are_found_within_two_percent() {
    let spec = detector("read_sigma_e: 12, dark_current_e_per_s: 400", "linear: {full_well_e: 12000, black: 0.03}");
    let flats = levels(&spec, RATE, &[0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.23]);
    let darks = levels(&spec, 0.0, &[0.001, 0.1, 0.2, 0.4]);
    let detector = calibrate(&flats, &darks, FULL_SCALE, None).expect("a detector");
    assert_eq!(detector.response, CurveName::Linear);
    assert_near("full well", found(&detector, "full_well_e"), 12_000.0);
    assert_near("gain", detector.gain_e_per_dn.value, 12_000.0 / FULL_SCALE);
    assert_near("read noise", detector.read_sigma_e.value, 12.0);
    assert_near("black", found(&detector, "black"), 0.03);
    assert_near("dark current", detector.dark_current_e_per_s.expect("darks").value, 400.0);
    for value in [detector.gain_e_per_dn, detector.read_sigma_e] {
        assert!(value.sigma > 0.0 && value.sigma < TOLERANCE * value.value, "{value:?}");
    }
}

#[test]
fn darks_cut_off_at_zero_are_left_out_and_flats_still_give_the_gain() {
    let spec = detector("read_sigma_e: 12", "linear: {full_well_e: 12000}");
    let flats = levels(&spec, RATE, &[0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.23, 0.27]);
    let darks = levels(&spec, 0.0, &[0.001, 0.1, 0.2]);
    assert!(darks.iter().all(|level| level.cut_off == [true, false]));
    let detector = calibrate(&flats, &darks, FULL_SCALE, None).expect("a detector");
    assert_near("gain", detector.gain_e_per_dn.value, 12_000.0 / FULL_SCALE);
    assert_eq!((detector.levels, detector.dark_current_e_per_s), ([9, 0], None));
}

#[test]
fn a_sigmoids_parameters_are_found_within_two_percent() {
    let spec = detector("read_sigma_e: 8", "sigmoid: {a: 0.7, b: -7.5}");
    let flats = levels(&spec, RATE, &[0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]);
    let detector = calibrate(&flats, &[], FULL_SCALE, None).expect("a detector");
    assert_eq!(detector.response, CurveName::Sigmoid);
    assert_near("a", found(&detector, "a"), 0.7);
    assert_near("b", found(&detector, "b"), -7.5);
}

#[test]
fn a_gamma_curves_parameters_are_found_within_two_percent() {
    let spec = detector("read_sigma_e: 8", "gamma: {a: 0.0045, gamma: 2.1, b: 0.05}");
    let flats = levels(&spec, RATE, &[0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]);
    let detector = calibrate(&flats, &[], FULL_SCALE, None).expect("a detector");
    assert_eq!(detector.response, CurveName::Gamma);
    assert_near("a", found(&detector, "a"), 0.0045);
    assert_near("gamma", found(&detector, "gamma"), 2.1);
    assert_near("b", found(&detector, "b"), 0.05);
}

#[test]
fn the_yaml_is_read_back_as_stages() {
    let spec = detector("read_sigma_e: 12", "linear: {full_well_e: 12000, black: 0.03}");
    let flats = levels(&spec, RATE, &[0.02, 0.05, 0.11, 0.17, 0.23]);
    let detector = calibrate(&flats, &levels(&spec, 0.0, &[0.001, 0.1, 0.2]), FULL_SCALE, None).expect("a detector");
    let text = format!("- aggregator: {{quantum_efficiency: 0.5}}\n{}- quantise: {{bits: 16}}\n", detector.yaml());
    let stages = parse_yaml::<Stages>(&text, Path::new("stages")).unwrap_or_else(|e| panic!("{e}"));
    let curve = stages.response().expect("a response").curve;
    assert!((curve.signal(6000.0) - 0.53).abs() < 0.01);
}

#[test]
fn what_is_no_series_of_pictures_is_refused() {
    let alone = SignalLevel::of(0.1, &[vec![1, 2, 3]], 255.0).expect_err("one picture");
    assert!(alone.to_string().contains("0.1 s") && alone.to_string().contains("two pictures"));
    let sizes = SignalLevel::of(0.1, &[vec![1, 2, 3], vec![1, 2]], 255.0).expect_err("two sizes");
    assert!(sizes.to_string().contains("differ in size"));
    let level = SignalLevel { exposure_s: 0.1, mean: 0.5, variance: 1e-5, samples: 1e4, cut_off: [false; 2] };
    assert_eq!(calibrate(&[level], &[], 255.0, None), Err(CalibrateError::TooFew { got: 1 }));
    let same: Vec<SignalLevel> = (0..5).map(|_| level).collect();
    assert!(calibrate(&same, &[], 255.0, Some(CurveName::Linear)).is_err());
}
