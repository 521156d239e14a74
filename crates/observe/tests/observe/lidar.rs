//! Tests of scans of a driving rover: the same bytes for any number of threads and beside other sensors; samples
//! contain what a lidar's file requests. Also tests of other ranging sensors on it.

use crate::common;

use std::path::PathBuf;

use common::{config, world};
use selene_observe::{Device, Feed, LidarSample, Lidars, Ranged, Ranging, RangingSample};
use selene_scene::Class;

/// Number of heartbeats: longer than a scan of a fifth of a second.
const HEARTBEATS: usize = 45;

fn rover(sensors: &str) -> String {
    format!(
        "rover: {{ file: ../rover/rassor.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 0 }}\n\
         sensors: [{sensors}]\nroute: {{ speed_m_s: 0.3, waypoints_m: [[4, 0]] }}\n"
    )
}

/// The scans of a rover with these sensors.
fn scans(sensors: &str) -> Vec<LidarSample> {
    let mut world = world(&rover(sensors));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut lidars = Lidars::new(Device::cpu());
    let beat = |_| lidars.take(&feed.heartbeat(&mut world).expect("heartbeat")).expect("traced");
    (0..HEARTBEATS).flat_map(beat).collect()
}

fn named(scans: &[LidarSample], name: &str) -> Vec<LidarSample> {
    scans.iter().filter(|scan| scan.sensor.name == name).cloned().collect()
}

/// The lidar's file with some lines replaced.
fn changed(name: &str, changes: &[[&str; 2]]) -> PathBuf {
    let mut text = std::fs::read_to_string(config().join("sensor/obstacle_lidar.yaml")).expect("text");
    for [from, to] in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    let path = std::env::temp_dir().join(format!("selene-lidar-{name}-{}.yaml", std::process::id()));
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn scans_are_the_same_for_any_number_of_threads_and_beside_other_sensors() {
    let on = |threads: usize, sensors: &str| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| scans(sensors))
    };
    let alone = on(1, "../sensor/lidar.yaml");
    assert_eq!(alone.len(), 2);
    assert!(alone.iter().all(|scan| scan.cloud.points > 10_000), "{}", alone[0].cloud.points);
    assert!(alone == on(3, "../sensor/lidar.yaml"), "threads matter");
    let beside = on(2, "../sensor/obstacle_lidar.yaml, ../sensor/lidar.yaml, ../sensor/imu.yaml");
    assert!(named(&beside, "lidar") == alone, "another sensor matters");
    assert_eq!(named(&beside, "obstacle_lidar").len(), 4);
}

#[test]
fn images_planar_scans_and_truth_are_there_where_they_are_requested() {
    let requested = "  images: true\n  scan_ring: 2\n  truth: true\n  range_sigma_m:";
    let file = changed("views", &[["  range_sigma_m:", requested]]);
    let scans = scans(&file.display().to_string());
    std::fs::remove_file(file).expect("clean");
    let scan = &scans[0];
    let [ranges, intensities] = scan.images.as_ref().expect("images");
    assert_eq!((ranges.width, ranges.height, ranges.data.len()), (180, 8, 4 * 180 * 8));
    assert_eq!(intensities.data.len(), ranges.data.len());
    let values: Vec<f32> =
        ranges.data.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four"))).collect();
    assert_eq!(values.iter().filter(|range| range.is_finite()).count(), scan.cloud.points);
    let planar = scan.planar.as_ref().expect("a planar scan");
    // The third ring from below is the third row from below.
    assert_eq!(planar.range_m, values[5 * 180..6 * 180]);
    let [first, last] = planar.azimuths_rad.map(f64::to_degrees);
    assert!((first - last - 358.0).abs() < 1e-6 && planar.azimuth_step_rad < 0.0, "{first} to {last}");
    let names: Vec<_> = scan.cloud.fields.iter().map(|field| field.name).collect();
    assert_eq!(names[6..], ["instance", "true_range", "class"]);
    let plain = scans.iter().all(|scan| scan.cloud.data.len() == scan.cloud.points * 32);
    assert!(plain, "22 bytes and 10 of truth");
}

#[test]
fn returns_from_the_rover_itself_are_kept_or_dropped() {
    let classes = |file: &PathBuf| {
        let scans = scans(&file.display().to_string());
        let class = |point: &[u8]| u16::from_le_bytes([point[30], point[31]]);
        scans[0].cloud.data.chunks_exact(32).map(class).collect::<Vec<_>>()
    };
    let own = |classes: &[u16]| classes.iter().filter(|class| **class == Class::Rover as u16).count();
    // The lowest channel meets the post that carries the lidar.
    let down = ["lowest_deg: -14", "lowest_deg: -60"];
    let near = ["  min_range_m: 0.5", "  truth: true\n  min_range_m: 0.01"];
    let drop = ["  lag_s: 0\n", "  lag_s: 0\n  self_hits: drop\n"];
    let (kept, dropped) = (changed("kept", &[down, near]), changed("dropped", &[down, near, drop]));
    let [with, without] = [&kept, &dropped].map(classes);
    for file in [kept, dropped] {
        std::fs::remove_file(file).expect("clean");
    }
    assert!(own(&with) >= 180, "{} points on the post", own(&with));
    assert_eq!(own(&without), 0);
    assert_eq!(without.len(), with.len() - own(&with), "what is behind stays unseen");
}

/// The samples of a driving rover with these ranging sensors.
fn ranged(sensors: &str) -> Vec<RangingSample> {
    let mut world = world(&rover(sensors));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut ranging = Ranging::new(Device::cpu());
    let beat = |_| ranging.take(&feed.heartbeat(&mut world).expect("heartbeat")).expect("traced");
    (0..HEARTBEATS).flat_map(beat).collect()
}

/// A sensor's file of `config/sensor` with some lines replaced.
fn sensor_file(name: &str, changes: &[[&str; 2]]) -> PathBuf {
    let mut text = std::fs::read_to_string(config().join(format!("sensor/{name}.yaml"))).expect("text");
    for [from, to] in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    let path = std::env::temp_dir().join(format!("selene-ranging-{name}-{}.yaml", std::process::id()));
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn an_altimeter_reports_its_height_over_a_level_yard() {
    // Straight down from 0.8 m over the chassis' frame, 1.5 m ahead of it, so that nothing of the rover is below.
    let place = "mount: {at_m: [0, 0, 0.05], rpy_deg: [0, 90, 0]}";
    let file = sensor_file(
        "altimeter",
        &[[place, "mount: {at_m: [1.5, 0, 0.8], rpy_deg: [0, 90, 0]}"], ["truth: false", "truth: true"]],
    );
    let samples = ranged(&file.display().to_string());
    std::fs::remove_file(file).expect("clean");
    // In 0.45 s, at 50 Hz from 0 s on, each 20 ms late.
    assert_eq!(samples.len(), 22);
    let ranges = |of: &RangingSample| {
        let Ranged::Range(reported) = of.measured else { panic!("a range") };
        let Some(Ranged::Range(truth)) = of.truth else { panic!("its truth") };
        [reported.range_m, truth.range_m]
    };
    let [_, first] = ranges(&samples[0]);
    for sample in &samples {
        let [reported, truth] = ranges(sample);
        // The yard has millimetres of relief, and the rover pitches by less than a degree as it starts.
        assert!((truth - first).abs() < 0.1 && truth > 0.8 && truth < 1.6, "{truth}");
        assert!(reported.is_infinite() || (reported - truth).abs() < 5.0 * 0.0354, "{reported} and not {truth}");
    }
    assert!(samples.iter().any(|sample| ranges(sample)[0] != ranges(sample)[1]), "it has noise");
}

#[test]
fn a_radar_on_a_rover_that_drives_sees_the_ground_come_nearer_as_fast() {
    let file = sensor_file(
        "ars408_near",
        &[
            ["mount: {at_m: [0.8, 0, 0.6]}", "mount: {at_m: [1.0, 0, 1.0], rpy_deg: [0, 10, 0]}"],
            ["lag_s: 0.072", "lag_s: 0"],
            ["truth: false", "truth: true"],
            ["speed_resolution_m_s: 0.12", "speed_resolution_m_s: 0.01"],
            ["returns_max: 250", "returns_max: 4000"],
        ],
    );
    let mut world = world(&rover(&file.display().to_string()));
    std::fs::remove_file(file).expect("clean");
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut ranging = Ranging::new(Device::cpu());
    let (mut last, mut speed_m_s) = (None, 0.0);
    for _ in 0..100 {
        let interval = feed.heartbeat(&mut world).expect("heartbeat");
        if let Some(scan) = ranging.take(&interval).expect("traced").pop() {
            (last, speed_m_s) = (Some(scan), interval.next.rovers[0].base_twist.linear.x);
        }
    }
    let last = last.expect("a scan");
    let Some(Ranged::Radar(truth)) = &last.truth else { panic!("a radar's truth") };
    assert!(truth.returns.len() > 20, "{} returns", truth.returns.len());
    // The radar pitches with the rover, at some centimetres per second.
    let ahead: Vec<_> =
        truth.returns.iter().filter(|reported| reported.azimuth_rad.abs() < 0.3 && reported.range_m > 4.0).collect();
    assert!(!ahead.is_empty());
    let nearer: Vec<f64> = ahead.iter().map(|reported| -reported.speed_m_s / reported.azimuth_rad.cos()).collect();
    let mean = nearer.iter().sum::<f64>() / nearer.len() as f64;
    assert!(speed_m_s > 0.1 && (mean - speed_m_s).abs() < 0.05, "{mean} and not {speed_m_s} m/s");
    assert!(nearer.iter().all(|speed| (speed - mean).abs() < 0.05), "{nearer:?}");
    let Ranged::Radar(reported) = &last.measured else { panic!("a radar") };
    let cloud = reported.cloud.as_ref().expect("a cloud");
    assert_eq!((cloud.points, cloud.point_bytes), (reported.returns.len(), 20));
}

#[test]
fn a_time_of_flight_camera_reports_the_ground_ahead_and_the_same_for_any_number_of_threads() {
    let file = sensor_file(
        "azure_kinect",
        &[
            ["width: 640", "width: 64"],
            ["height: 576", "height: 58"],
            ["look_at_m: [2.0, 0, 0]", "look_at_m: [1.6, 0, 0]"],
            // Enough light to unwrap the two frequencies in sunlight over the whole image.
            ["emitted_w: 2", "emitted_w: 21.5"],
            ["illumination_deg: [75, 65]", "illumination_deg: [75, 70]"],
            ["truth: false", "truth: true"],
            ["cloud: false", "cloud: true"],
        ],
    );
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| ranged(&file.display().to_string()))
    };
    let samples = on(1);
    assert!(samples == on(3), "threads matter");
    std::fs::remove_file(&file).expect("clean");
    assert_eq!(samples.len(), 3);
    let (Ranged::Depth(reported), Some(Ranged::Depth(truth))) = (&samples[1].measured, &samples[1].truth) else {
        panic!("depth and its truth")
    };
    let depths = |image: &selene_observe::Image| {
        let value = |four: &[u8]| f32::from_le_bytes(four.try_into().expect("four"));
        image.data.chunks_exact(4).map(value).collect::<Vec<_>>()
    };
    let (reported_m, truth_m) = (depths(&reported.depth), depths(&truth.depth));
    assert_eq!(
        (reported_m.len(), reported.amplitude.data.len(), reported.amplitude.encoding),
        (64 * 58, 2 * 64 * 58, "mono16")
    );
    let seen = reported_m.iter().zip(&truth_m).filter(|(reported, truth)| reported.is_finite() && **truth < 3.0);
    let near = seen.clone().filter(|(reported, truth)| (*reported - *truth).abs() < 0.3).count();
    assert!(near > 500 && near * 10 > seen.count() * 8, "{near} pixels are right");
    let finite = reported_m.iter().filter(|depth| depth.is_finite()).count();
    assert_eq!(reported.cloud.as_ref().expect("a cloud").points, finite);
    assert_eq!((reported.calibration.k[2], reported.calibration.k[5]), (31.5, 28.5));
}

#[test]
fn late_joiners_receive_the_same_of_radars_and_altimeters() {
    let mut world = world(&rover("../sensor/altimeter.yaml, ../sensor/ars408_near.yaml"));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let (mut early, mut late) = (Ranging::new(Device::cpu()), Ranging::new(Device::cpu()));
    let (mut received, mut received_late) = (Vec::new(), Vec::new());
    for beat in 0..HEARTBEATS {
        let interval = feed.heartbeat(&mut world).expect("heartbeat");
        received.extend(early.take(&interval).expect("traced"));
        if beat >= 15 {
            received_late.extend(late.take(&interval).expect("traced"));
        }
    }
    let joined = received_late.first().map(|sample: &RangingSample| sample.stamp).expect("some");
    // Measurements that began before it joined are left out; the rest is the same.
    assert!(joined.secs_f64() >= 0.14 && joined.secs_f64() < 0.2, "{joined}");
    let same: Vec<RangingSample> =
        received_late.iter().filter_map(|late| received.iter().find(|early| *early == late).cloned()).collect();
    assert_eq!(same.len(), received_late.len());
    assert!(received_late.iter().any(|sample| matches!(sample.measured, Ranged::Radar(_))));
}
