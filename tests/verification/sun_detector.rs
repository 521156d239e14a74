//! HEADING §IV with Sorato's own side cameras while it drives. The detector (grey 128 × 72, half of the maximum, a
//! disc, the largest sum) must find the Sun in every image that shows it, with every disc of the paper's table. The
//! heading from the Sun, gravity from the inertial unit and the ephemeris must be as accurate as the paper's. The
//! images also show sunlit wheels and rocks; only a flare the size that the lens makes it outshines them.
//! `selene study heading` does the same on whole loops at four elevations of the Sun.

use std::f64::consts::PI;

use selene_base::SimTime;
use selene_observe::Device;
use selene_studies::heading::{DISCS_PX, DiscResult, DrivePlan, Figures, HeadingShot, judge, shots};
use selene_tests::{model, scenario};
use selene_vehicle::BodyTwist;

/// A tight bend: most of a turn within the test, so that the Sun moves across the images.
const BEND: BodyTwist = BodyTwist::arc(0.05, 0.35);
const INSTANTS: usize = 16;
const PERIOD_S: f64 = 1.5;
/// Fewest instants that must show the Sun. Two cameras with 150° each cover five of six directions.
const WITH_SUN_LEAST: usize = INSTANTS / 2;
/// Shortest path of the Sun across the images, px: part of a turn, at 0.28° per pixel.
const CROSSED_LEAST_PX: f64 = 200.0;
/// Values of HEADING §IV.iv.
const MEAN_HEADING_ERROR_DEG: f64 = 0.8;
const LARGEST_HEADING_ERROR_DEG: f64 = 5.0;

fn drive() -> Vec<HeadingShot> {
    let plan = DrivePlan {
        instants: INSTANTS,
        period: SimTime::from_secs_f64(PERIOD_S),
        twist: Some(BEND),
        sun_within_rad: PI,
    };
    shots(&model(scenario("sorato_loop", None)), &Device::cpu(), &plan).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn sorato_finds_the_sun_in_its_side_cameras_while_it_drives_and_knows_its_heading() {
    let shots = drive();
    let columns: Vec<f64> = shots.iter().filter_map(|shot| Some(shot.sun_px?[0])).collect();
    assert!(columns.len() >= WITH_SUN_LEAST, "the Sun is in {} images only", columns.len());
    let [least, most] = [f64::min, f64::max].map(|of| columns.iter().copied().reduce(of).expect("some"));
    assert!(most - least > CROSSED_LEAST_PX, "from column {least} to {most} only");
    for disc_px in DISCS_PX {
        let judged: Vec<DiscResult> = shots.iter().filter_map(|shot| judge(shot, disc_px)).collect();
        let figures = Figures::of(judged.iter(), disc_px);
        eprintln!("disc of {disc_px} px: {figures:?}");
        let missed: Vec<_> = judged.iter().filter(|of| !of.is_found()).collect();
        assert_eq!(figures.images, columns.len(), "every image with the Sun is judged");
        assert!(missed.is_empty(), "disc of {disc_px} px misses {missed:?}");
        assert!(figures.mean_deg <= MEAN_HEADING_ERROR_DEG, "disc of {disc_px} px: {figures:?}");
        assert!(figures.largest_deg < LARGEST_HEADING_ERROR_DEG, "disc of {disc_px} px: {figures:?}");
    }
}

#[test]
fn without_flare_the_detector_takes_sunlit_wheels_and_rocks_for_the_sun() {
    let mut bare = scenario("sorato_loop", None);
    for sensor in bare.rovers.iter_mut().flat_map(|rover| &mut rover.sensors) {
        if let selene_sensors::SensorSpec::Camera(camera) = &mut sensor.spec {
            camera.stages.0.retain(|stage| stage.key() != "flare");
        }
    }
    let plan =
        DrivePlan { instants: 4, period: SimTime::from_secs_f64(PERIOD_S), twist: Some(BEND), sun_within_rad: PI };
    let shots = shots(&model(bare), &Device::cpu(), &plan).unwrap_or_else(|error| panic!("{error}"));
    let judged: Vec<DiscResult> = shots.iter().filter_map(|shot| judge(shot, 15.0)).collect();
    let found = judged.iter().filter(|of| of.is_found()).count();
    assert!(!judged.is_empty() && 2 * found < judged.len(), "{found} of {}", judged.len());
}
