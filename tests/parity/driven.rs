//! Images of rovers that have driven, developed as in their files, on either device: lenses, lamps, several rays per
//! pixel with light off the ground, and the ground that the rovers changed, each with what moves during the exposure.

use selene_base::SimTime;
use selene_observe::{Device, Feed, Image, RoverCameras};
use selene_sensors::{Sample, SensorSpec};
use selene_sim::{Scenario, World};
use selene_tests::{ROVER, model, scenario, world};

use crate::{agree, device_of, gpu};

/// Size of the images: software devices take a second for a large one.
const SIZE: (u32, u32) = (320, 180);
/// Least value of a pixel that is not black, with a camera's noise.
const LIT: u8 = 32;
/// Largest difference of 8-bit images, from rounding of values that differ in their last digits before exposure and
/// noise.
const ROUNDED: u8 = 2;

/// The scenario with small cameras only; those of these names.
fn with_small(mut scenario: Scenario, cameras: &[&str]) -> Scenario {
    let sensors = &mut scenario.rovers[0].sensors;
    sensors.retain(|sensor| cameras.contains(&sensor.spec.header().name));
    assert_eq!(sensors.len(), cameras.len(), "{cameras:?} are no cameras of {}", scenario.name);
    for sensor in sensors {
        let SensorSpec::Camera(spec) = &mut sensor.spec else { panic!("no camera") };
        (spec.width, spec.height) = SIZE;
    }
    scenario
}

fn cameras_on(device: Device, world: &World, feed: &Feed) -> RoverCameras {
    let ruts = &world.state().ruts;
    RoverCameras::new(world.model(), ROVER, feed.last(), ruts, &device.into(), &Default::default()).expect("cameras")
}

/// Compares the cameras of a scenario's first rover after a drive.
fn compare_after(name: &str, seconds: f64, cameras: &[&str]) {
    let Some(gpu) = gpu() else { return };
    let mut world = world(&model(with_small(scenario(name, None), cameras)));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let device = device_of(gpu);
    let device_name = device.name();
    let mut on_both = [Device::cpu(), device.clone()].map(|device| cameras_on(device, &world, &feed));
    let end = SimTime::from_secs_f64(seconds);
    while feed.last().time < end {
        let interval = feed.heartbeat(&mut world).expect("a heartbeat");
        on_both.iter_mut().for_each(|seen| seen.see(&interval).expect("seen"));
    }
    let sample = Sample { index: 0, instant: feed.last().time };
    for camera in cameras {
        let [ours, theirs] = on_both.each_mut().map(|seen| seen.expose(camera, sample).expect("exposed").image);
        compare_images(&format!("{name}, {camera}"), &ours, &theirs);
    }
    assert_eq!(device.name(), device_name, "{name}: the device failed and the CPU took over");
}

fn compare_images(name: &str, ours: &Image, theirs: &Image) {
    let lit = ours.data.iter().filter(|value| **value >= LIT).count();
    println!("{name}: {lit} values are lit");
    assert!(lit > ours.data.len() / 20, "{name}: the image is dark");
    assert!(agree(&ours.data, &theirs.data, ROUNDED), "{name}: CPU and GPU see another thing");
}

#[test]
fn fisheyes_and_light_off_the_ground_around_a_wheel() {
    compare_after("viper_views", 3.0, &["viper_wheel", "hazcam", "aftcam"]);
}

#[test]
fn headlights_at_night() {
    compare_after("night", 1.0, &["navcam_left"]);
}

#[test]
fn a_stereographic_lens() {
    compare_after("sorato", 1.0, &["sorato_side"]);
}

#[test]
fn a_wheel_that_throws_dust() {
    compare_after("viper_dust", 2.0, &["viper_wheel"]);
}

#[test]
fn a_wheel_beside_granular_ground() {
    compare_after("rassor_dig", 3.5, &["rassor_dig_wheel"]);
}
