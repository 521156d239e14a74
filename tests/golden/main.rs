//! Stored images: what a camera of the default site sees must not change unnoticed. On
//! failure the new image is written beside the stored one; `SELENE_BLESS=1` stores it.
//! Look at an image before storing it.

mod driven;
mod scenes;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use image::{DynamicImage, GrayImage, RgbImage};
use selene_base::SimTime;
use selene_camera::Darkroom;
use selene_coherence::Interval;
use selene_scene::CpuTracer;
use selene_sensors::{CameraSpec, Pipeline, Sample, SensorSpec};
use selene_sim::{Scenario, World};
use selene_tests::{data_dir, repository_file, scenario, skip};

/// Size of the stored images: small files, yet rocks and shadows show.
const SIZE: (u32, u32) = (320, 180);
/// A pixel that differs by more than this has changed, of 255: other machines' math
/// libraries may round a grazing shadow or the auto exposure differently.
const PIXEL_TOLERANCE: i16 = 4;
/// Share of pixels that may have changed: shadow edges.
const CHANGED_SHARE: f64 = 0.01;

/// What these cameras see after driving for `seconds`, without noise.
fn photographs(scenario: &Arc<Scenario>, seconds: f64, cameras: &[&str]) -> Vec<DynamicImage> {
    let ground = scenario.generate_ground().expect("ground");
    let mut world = World::new(Arc::clone(scenario), ground.clone()).expect("world");
    let mut darkroom = Darkroom::new(scenario, &ground, Box::new(CpuTracer)).expect("darkroom");
    let mut previous = world.first_snapshot();
    loop {
        let next = world.heartbeat().expect("heartbeat");
        let interval = Interval { previous, edits: next.edits.clone(), next };
        darkroom.take(&interval);
        if interval.next.time >= SimTime::from_secs_f64(seconds) {
            return cameras.iter().map(|camera| expose(scenario, &mut darkroom, &interval, camera)).collect();
        }
        previous = interval.next;
    }
}

fn expose(scenario: &Scenario, darkroom: &mut Darkroom, interval: &Interval, camera: &str) -> DynamicImage {
    let spec = small(scenario, camera);
    let link = scenario.link_index(&spec.link);
    let sample = Sample { index: 0, instant: interval.next.time };
    let pipeline = Pipeline::new(&spec, scenario.seed).expect("stages");
    let image = darkroom.expose(&pipeline, link, sample).expect("exposure").image;
    match image.encoding.as_str() {
        "rgb8" => RgbImage::from_raw(SIZE.0, SIZE.1, image.data).expect("rgb8").into(),
        _ => GrayImage::from_raw(SIZE.0, SIZE.1, image.data).expect("mono8").into(),
    }
}

/// A camera of the scenario with the stored images' size.
fn small(scenario: &Scenario, camera: &str) -> CameraSpec {
    let named = scenario.sensors.iter().find_map(|sensor| match sensor {
        SensorSpec::Camera(spec) if spec.name == camera => Some(spec.clone()),
        _ => None,
    });
    let mut spec = named.unwrap_or_else(|| panic!("{camera} is no camera of {}", scenario.name));
    (spec.width, spec.height) = SIZE;
    spec.stages = spec.stages.without("noise");
    spec
}

/// What the left NavCam sees after half a second.
fn start_of(scenario: &Arc<Scenario>) -> DynamicImage {
    photographs(scenario, 0.5, &["navcam_left"]).remove(0)
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

/// Where a differing image is left.
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
    let Some(data) = data_dir() else { return skip("SELENE_DATA names no folder with the Hadley terrain model") };
    compare("hadley_start", &start_of(&scenario("hadley", Some(data))));
}
