//! Cameras of one rover on two devices: both see the same world at the same time.

use selene_base::SimTime;
use selene_observe::{CameraSample, Cameras, Device, Devices, Feed};
use selene_sensors::{OwnStages, SensorSpec};
use selene_sim::Scenario;
use selene_tests::{model, scenario, world};

use crate::{agree, device_of, gpu};

/// Three images of either camera: the default world has heartbeats of 10 ms.
const HEARTBEATS: usize = 220;
/// Largest difference of 8-bit images, from rounding of values that differ in their last digit.
const ROUNDED: u8 = 1;

/// The default scenario, with its left camera on the CPU and the right one on the default device.
fn left_on_cpu() -> Scenario {
    let mut scenario = scenario("polar", None);
    let sensors = &mut scenario.rovers[0].sensors;
    let left = sensors.iter_mut().find(|sensor| sensor.spec.header().name == "navcam_left").expect("a camera");
    let SensorSpec::Camera(left) = &mut left.spec else { panic!("no camera") };
    left.device = Some("cpu".to_owned());
    scenario
}

/// Images of both cameras, with `usual` as the default device.
fn images(usual: Device) -> Vec<CameraSample> {
    let mut world = world(&model(left_on_cpu()));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut cameras = Cameras::new(Devices::from(usual), OwnStages::new());
    let heartbeats = (0..HEARTBEATS).flat_map(|_| {
        let interval = feed.heartbeat(&mut world).expect("a heartbeat");
        cameras.take(&interval).expect("seen")
    });
    heartbeats.collect()
}

fn of<'a>(all: &'a [CameraSample], name: &str) -> Vec<&'a CameraSample> {
    all.iter().filter(|image| image.sensor.name == name).collect()
}

fn agrees(ours: &CameraSample, theirs: &CameraSample) -> bool {
    agree(&ours.image.data, &theirs.image.data, ROUNDED)
}

#[test]
fn two_cameras_on_two_devices_see_one_moving_world_at_the_same_instants() {
    let Some(gpu) = gpu() else { return };
    let device = device_of(gpu);
    let device_name = device.name();
    let (spread, on_cpu) = (images(device.clone()), images(Device::cpu()));
    assert_eq!(device.name(), device_name, "the device failed and the CPU took over");
    let stamps = |of: &[&CameraSample]| of.iter().map(|image| image.stamp).collect::<Vec<SimTime>>();
    let [left, right] = ["navcam_left", "navcam_right"].map(|name| of(&spread, name));
    assert!(left.len() >= 3, "{} images", left.len());
    assert_eq!(stamps(&left), stamps(&right), "both cameras have one rate");
    for (name, spread) in [("navcam_left", &left), ("navcam_right", &right)] {
        let alone = of(&on_cpu, name);
        assert_eq!(stamps(spread), stamps(&alone), "{name}");
        assert!(!agrees(alone[0], alone[alone.len() - 1]), "{name} sees another thing as the rover drives");
        for (ours, theirs) in spread.iter().zip(&alone) {
            let same = if name == "navcam_left" { ours.image == theirs.image } else { agrees(ours, theirs) };
            assert!(same, "{name} at {} is not what the CPU sees then", ours.stamp);
        }
    }
}
