//! Stored images: the view of a camera at the default site must not change unnoticed. On failure the new image is
//! written beside the stored one; `SELENE_BLESS=1` stores it. Look at an image before storing it.

mod convoy;
mod driven;
mod scenes;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use image::{DynamicImage, GrayImage, RgbImage};
use selene_base::SimTime;
use selene_observe::{Device, Feed, RoverCameras};
use selene_sensors::{Sample, SensorSpec};
use selene_sim::{EntityId, Scenario, World};
use selene_tests::{ROVER, data_dir, model, repository_file, scenario, skip_data, world};

/// Size of the stored images: small files in which rocks and shadows are still visible.
const SIZE: (u32, u32) = (320, 180);
/// Largest difference, of 255, for which a pixel counts as unchanged: other machines' math libraries may round a
/// grazing shadow or the auto exposure differently.
const PIXEL_TOLERANCE: i16 = 4;
/// Fraction of pixels that may change: those at shadow edges.
const CHANGED_SHARE: f64 = 0.01;

/// Noise-free images of these cameras of the first rover after driving for `seconds`.
fn images_of(scenario: &Scenario, seconds: f64, cameras: &[&str]) -> Vec<DynamicImage> {
    images_of_rover(ROVER, scenario, seconds, cameras)
}

fn images_of_rover(rover: EntityId, scenario: &Scenario, seconds: f64, cameras: &[&str]) -> Vec<DynamicImage> {
    let mut world = world(&model(with_small(rover, scenario, cameras)));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut seen = cameras_of(rover, &world, &feed);
    loop {
        let interval = feed.heartbeat(&mut world).expect("heartbeat");
        seen.see(&interval).expect("seen");
        if interval.next.time >= SimTime::from_secs_f64(seconds) {
            return cameras.iter().map(|camera| expose(&mut seen, camera, interval.next.time)).collect();
        }
    }
}

fn cameras_of(rover: EntityId, world: &World, feed: &Feed) -> RoverCameras {
    let ruts = &world.state().ruts;
    RoverCameras::new(world.model(), rover, feed.last(), ruts, &Device::cpu().into(), &Default::default())
        .expect("cameras")
}

fn expose(cameras: &mut RoverCameras, camera: &str, instant: SimTime) -> DynamicImage {
    let image = cameras.expose(camera, Sample { index: 0, instant }).expect("exposure").image;
    match image.encoding {
        "rgb8" => RgbImage::from_raw(SIZE.0, SIZE.1, image.data).expect("rgb8").into(),
        _ => GrayImage::from_raw(SIZE.0, SIZE.1, image.data).expect("mono8").into(),
    }
}

/// The scenario with only these cameras of a rover, at the size of the stored images.
fn with_small(rover: EntityId, scenario: &Scenario, cameras: &[&str]) -> Scenario {
    let mut scenario = scenario.clone();
    let sensors = &mut scenario.rovers[rover.0 as usize - 1].sensors;
    sensors.retain(|sensor| cameras.contains(&sensor.spec.header().name));
    assert_eq!(sensors.len(), cameras.len(), "{cameras:?} are no cameras of {}", scenario.name);
    for sensor in sensors {
        let SensorSpec::Camera(spec) = &mut sensor.spec else { panic!("{} is no camera", sensor.spec.header().name) };
        (spec.width, spec.height) = SIZE;
        spec.stages = spec.stages.clone().without("noise");
    }
    scenario
}

/// Image of the left NavCam after half a second.
fn start_of(scenario: &Scenario) -> DynamicImage {
    images_of(scenario, 0.5, &["navcam_left"]).remove(0)
}

fn compare(name: &str, image: &DynamicImage) {
    let stored = repository_file(&format!("tests/golden/images/{name}.png"));
    if std::env::var_os("SELENE_BLESS").is_some() {
        image.save(&stored).expect("store");
        return;
    }
    let golden = image::open(&stored).unwrap_or_else(|error| panic!("{}: {error}", stored.display()));
    assert_eq!((golden.width(), golden.height(), golden.color()), (SIZE.0, SIZE.1, image.color()));
    let values = golden.as_bytes().iter().zip(image.as_bytes());
    let changed = values.filter(|(a, b)| (i16::from(**a) - i16::from(**b)).abs() > PIXEL_TOLERANCE);
    let share = changed.count() as f64 / golden.as_bytes().len() as f64;
    if share > CHANGED_SHARE {
        let seen = seen_path(name);
        image.save(&seen).expect("write");
        panic!("{name}: {:.1} % of the values changed; look at {}", share * 100.0, seen.display());
    }
}

/// Path at which a differing image is stored.
fn seen_path(name: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("selene-golden-{name}-{}-{count}.png", std::process::id()))
}

#[test]
fn the_polar_site_looks_as_it_did() {
    compare("polar_start", &start_of(&scenario("polar", None)));
}

#[test]
fn the_night_by_headlights_looks_as_it_did() {
    compare("night_headlights", &start_of(&scenario("night", None)));
}

#[test]
fn hadley_looks_as_it_did() {
    let Some(data) = data_dir() else { return skip_data("SELENE_DATA names no folder with the Hadley terrain model") };
    compare("hadley_start", &start_of(&scenario("hadley", Some(data))));
}
