//! Tests of Sun sensors, star trackers, contact and force–torque sensors of a VIPER on the test yard, with the Sun six
//! degrees high in the north: readings follow from the rover's pose and weight.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_observe::{Feed, Instruments, Interval, Measured, Reading, SkyInstruments};
use selene_sim::{EntityId, LoadOptions, Scenario, World};

const ROVER: EntityId = EntityId(1);
/// Rounding of poses that are interpolated: an angle by its cosine keeps half of the digits.
const ROUNDING: f64 = 1e-8;
const WHEELS: [&str; 4] = ["front_left", "front_right", "rear_left", "rear_right"];

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

/// Files of one test, deleted on drop.
struct Files(PathBuf);

impl Files {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("selene-sky-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// A file of `config/` with some of its text replaced.
    fn with(&self, file: &str, replaced: &[(&str, &str)]) -> PathBuf {
        let text = std::fs::read_to_string(config().join(file)).unwrap();
        let text = replaced.iter().fold(text, |text, (from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{from} in {file}");
            text.replace(from, to)
        });
        let path = self.0.join(Path::new(file).file_name().unwrap());
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The file of a Sun sensor without errors, with published truth.
    fn exact_sun_sensor(&self, also: &[(&str, &str)]) -> PathBuf {
        let exact = [
            ("noise_deg: 0.05 ", "noise_deg: 0 "),
            ("[0.05, -0.04]", "[0, 0]"),
            ("quantisation_deg: 0.01", "quantisation_deg: 0"),
            ("truth: false", "truth: true"),
        ];
        self.with("sensor/sun_sensor.yaml", &[&exact[..], also].concat())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Errors are ignored: a failing test reports its own reason.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A VIPER that faces north on a site, with these sensors; it drives if there is a route.
fn viper(site: &Path, sensors: &[PathBuf], route: &str) -> World {
    let sensors: Vec<_> = sensors.iter().map(|file| file.display().to_string()).collect();
    let text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: {}\nsoil: ../soil/lunar.yaml\n\
         rover: {{ file: ../rover/viper.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 90 }}\n\
         sensors: [{}]\n{route}",
        site.display(),
        sensors.join(", ")
    );
    let scenario = Scenario::parse(&text, &config().join("scenario/test.yaml"), &LoadOptions::default());
    World::new(Arc::new(scenario.unwrap_or_else(|e| panic!("{e}")))).unwrap()
}

fn yard() -> PathBuf {
    config().join("site/test_yard.yaml")
}

/// The readings of instruments of one kind over this many heartbeats, each with the interval in which it was returned.
fn watch(
    world: &mut World,
    heartbeats: usize,
    mut take: impl FnMut(&Interval) -> Vec<Reading>,
) -> Vec<(Interval, Reading)> {
    let mut feed = Feed::begin(world).unwrap();
    let mut reported = Vec::new();
    for _ in 0..heartbeats {
        let interval = feed.heartbeat(world).unwrap();
        reported.extend(take(&interval).into_iter().map(|reading| (interval.clone(), reading)));
    }
    reported
}

fn watch_sky(world: &mut World, heartbeats: usize) -> Vec<(Interval, Reading)> {
    let mut instruments = SkyInstruments::default();
    watch(world, heartbeats, |interval| instruments.take(interval).unwrap())
}

/// Pose of a frame of the rover at the end of an interval.
fn pose_at_end(interval: &Interval, frame: &str) -> Pose {
    let link = interval.model.rovers()[&ROVER].setup().model.link_index(frame).unwrap();
    interval.next.rover(ROVER).unwrap().world_from_links[link]
}

#[test]
fn a_sun_sensor_reports_the_skys_direction_turned_by_the_rovers_attitude() {
    let files = Files::new("direction");
    // Without lag a reading is due in the interval that ends with its instant.
    let sensor = files.exact_sun_sensor(&[("lag_s: 0.05", "lag_s: 0")]);
    let mut world = viper(&yard(), &[sensor], "route: { speed_m_s: 0.2, waypoints_m: [[0, 2], [2, 2]] }\n");
    let reported = watch_sky(&mut world, 100);
    assert_eq!(reported.len(), 6, "0, 0.2 … 1 s");
    for (interval, reading) in &reported[1..] {
        assert_eq!((reading.stamp, reading.frame.as_str()), (interval.next.time, "sun_sensor_frame"));
        let scenario = interval.model.scenario();
        let sun = scenario.sky.sun(scenario.utc.after(reading.stamp)).unwrap();
        assert!((4.0..8.0).contains(&sun.elevation_rad.to_degrees()), "{}", sun.elevation_rad);
        let expected = pose_at_end(interval, "sun_sensor_frame").rotation.inverse() * sun.unit_enu;
        let Measured::SunDirection(direction) = &reading.measured else { panic!("{:?}", reading.measured) };
        assert!((direction - expected).norm() < ROUNDING, "{direction} for {expected}");
        let Some(Measured::SunDirection(truth)) = &reading.truth else { panic!("{:?}", reading.truth) };
        assert!((truth - expected).norm() < ROUNDING, "{truth} for {expected}");
    }
}

#[test]
fn there_is_no_datum_behind_a_ridge_behind_the_rover_itself_and_out_of_the_field_of_view() {
    let files = Files::new("hidden");
    let ridge = "landforms: [{ ridge: { from_m: [-60, 40], to_m: [60, 40], height_m: 15, width_m: 15 } }]";
    let behind = files.with("site/test_yard.yaml", &[("landforms: []", ridge)]);
    let sensor = files.exact_sun_sensor(&[]);
    let kinds = |site: &Path, sensor: &PathBuf| {
        let reported = watch_sky(&mut viper(site, std::slice::from_ref(sensor), ""), 30);
        let is_reported = reported.iter().map(|(_, reading)| {
            assert!(matches!(reading.truth, Some(Measured::SunDirection(_))), "{:?}", reading.truth);
            reading.measured != Measured::Nothing
        });
        is_reported.collect::<Vec<_>>()
    };
    assert_eq!(kinds(&yard(), &sensor), [true, true]);
    assert_eq!(kinds(&behind, &sensor), [false, false], "the Sun stands behind the ridge");
    let turned = files.exact_sun_sensor(&[("rpy_deg: [0, 60, 0]", "rpy_deg: [0, -60, 0]")]);
    assert_eq!(kinds(&yard(), &turned), [false, false], "it looks backward");
    let in_the_body = [("link: mast", "link: base_link"), ("at_m: [0, 0, 1.27]", "at_m: [0, 0, 0.75]")];
    let inside = files.exact_sun_sensor(&in_the_body);
    assert_eq!(kinds(&yard(), &inside), [false, false], "the body is in the way");
}

#[test]
fn a_star_tracker_reports_its_attitude_against_stars_and_map() {
    let files = Files::new("stars");
    let exact = files.with(
        "sensor/star_tracker.yaml",
        &[
            ("cross_boresight_sigma_arcsec: 3.2", "cross_boresight_sigma_arcsec: 0"),
            ("roll_sigma_arcsec: 16", "roll_sigma_arcsec: 0"),
            ("rate_hz: 1.7", "rate_hz: 10"),
            ("lag_s: 0.6 ", "lag_s: 0 "),
            // A settling rover turns a little.
            ("slew_max_rad_s: 0.01", "slew_max_rad_s: 1"),
            ("truth: false", "truth: true"),
        ],
    );
    let reported = watch_sky(&mut viper(&yard(), &[exact], ""), 50);
    assert_eq!(reported.len(), 6);
    for (interval, reading) in &reported[1..] {
        let Measured::StarAttitude(attitude) = &reading.measured else { panic!("{:?}", reading.measured) };
        assert_eq!(reading.truth.as_ref(), Some(&reading.measured));
        let map_from_sensor = pose_at_end(interval, "star_tracker_frame").rotation;
        assert!(attitude.map_from_sensor.angle_to(&map_from_sensor) < ROUNDING);
        // The direction of the celestial north pole, from the sky's own rotation.
        let scenario = interval.model.scenario();
        let sky = scenario.sky.at(scenario.utc.after(reading.stamp)).unwrap();
        let pole = map_from_sensor.inverse() * (sky.enu_from_icrf * Vector3::z());
        assert!((attitude.icrf_from_sensor * pole - Vector3::z()).norm() < ROUNDING);
    }
}

#[test]
fn a_star_tracker_that_looks_at_the_horizon_gives_nothing() {
    let files = Files::new("horizon");
    let level = files.with(
        "sensor/star_tracker.yaml",
        &[("{at_m: [-0.3, 0, 1.1]}", "{at_m: [-0.3, 0, 1.1], rpy_deg: [0, 80, 0]}"), ("truth: false", "truth: true")],
    );
    let reported = watch_sky(&mut viper(&yard(), &[level], ""), 130);
    assert_eq!(reported.len(), 2, "0 and 0.59 s");
    for (_, reading) in &reported {
        assert_eq!(reading.measured, Measured::Nothing);
        assert!(matches!(reading.truth, Some(Measured::StarAttitude(_))));
    }
}

/// Sensor files without errors, with published truth.
fn without_errors(files: &Files, wheel: &str) -> [PathBuf; 2] {
    let contact = [("bias: 2.5, noise_sigma: 0.5", "bias: 0, noise_sigma: 0"), ("resolution: 0.25", "resolution: 0")];
    let hub = [
        ("bias: [0.5, 0.9, -0.5], noise_sigma: [0.1, 0.18, 0.1]", "bias: [0, 0, 0], noise_sigma: [0, 0, 0]"),
        ("resolution: [0.1, 0.2, 0.1]", "resolution: [0, 0, 0]"),
        ("lag_s: 0.002", "lag_s: 0"),
        ("window_s: 0.01 ", "window_s: 0.5 "),
    ];
    let truth = [("truth: false", "truth: true")];
    [
        files.with(&format!("sensor/contact_{wheel}.yaml"), &[&contact[..], &truth[..]].concat()),
        files.with(&format!("sensor/hub_{wheel}.yaml"), &[&hub[..], &truth[..]].concat()),
    ]
}

#[test]
fn wheels_of_a_rover_at_rest_bear_its_weight_and_hubs_all_but_the_wheels() {
    /// Relative tolerance of the weight: after three seconds the rover still sinks and swings a little.
    const AT_REST: f64 = 0.02;
    let files = Files::new("weight");
    let sensors: Vec<_> = WHEELS.iter().flat_map(|wheel| without_errors(&files, wheel)).collect();
    let mut world = viper(&yard(), &sensors, "");
    let mut instruments = Instruments::default();
    let reported = watch(&mut world, 350, |interval| instruments.take(interval));
    let model = Arc::clone(&world.model().rovers()[&ROVER].setup().model);
    let wheels_kg: f64 = model.wheels().iter().map(|wheel| model.links()[wheel.link].inertial.unwrap().mass_kg).sum();
    let last_s = reported.last().unwrap().1.stamp.secs_f64() - 0.5;
    let late: Vec<_> = reported.iter().filter(|(_, reading)| reading.stamp.secs_f64() > last_s).collect();
    let (mut loads_n, mut hubs_n) = ((0.0, 0.0), (Vector3::zeros(), 0.0));
    for (interval, reading) in late {
        match &reading.measured {
            Measured::Contact(contact) => {
                assert!(contact.in_contact && contact.load_n > 50.0, "{reading:?}");
                assert_eq!(reading.truth, Some(Measured::Contact(*contact)));
                loads_n = (loads_n.0 + contact.load_n, loads_n.1 + 0.25);
            }
            Measured::Load(load) => {
                let turn: UnitQuaternion<f64> = pose_at_end(interval, &reading.frame).rotation;
                hubs_n = (hubs_n.0 + turn * load.force, hubs_n.1 + 0.25);
            }
            other => panic!("{other:?}"),
        }
    }
    let (borne_n, carried_n) = (loads_n.0 / loads_n.1, hubs_n.0 / hubs_n.1);
    let (weight_n, but_wheels_n) = (model.mass_kg() * 1.62, (model.mass_kg() - wheels_kg) * 1.62);
    assert!((borne_n / weight_n - 1.0).abs() < AT_REST, "wheels bear {borne_n} N of {weight_n} N");
    assert!((carried_n.z / but_wheels_n - 1.0).abs() < AT_REST, "hubs carry {carried_n} of {but_wheels_n} N");
    assert!(carried_n.xy().norm() < AT_REST * but_wheels_n, "{carried_n}");
}

#[test]
fn a_wrench_is_reported_about_the_hub_in_the_uprights_axes() {
    let files = Files::new("frame");
    let [_, hub] = without_errors(&files, "front_left");
    let mut world = viper(&yard(), &[hub], "route: { speed_m_s: 0.2, waypoints_m: [[0, 4]] }\n");
    let mut instruments = Instruments::default();
    let reported = watch(&mut world, 100, |interval| instruments.take(interval));
    let (interval, reading) = reported.last().unwrap();
    assert_eq!(reading.frame, "hub_front_left_frame");
    let (frame, upright) = (pose_at_end(interval, &reading.frame), pose_at_end(interval, "front_left_upright"));
    let wheel = pose_at_end(interval, "front_left_wheel");
    assert!(frame.rotation.angle_to(&upright.rotation) < ROUNDING, "it turns with the wheel");
    assert!((frame.translation.vector - wheel.translation.vector).norm() < ROUNDING, "it is not in the hub");
    let Measured::Load(load) = &reading.measured else { panic!("{:?}", reading.measured) };
    assert!(load.force.z > 100.0, "the ground pushes up: {}", load.force);
}
