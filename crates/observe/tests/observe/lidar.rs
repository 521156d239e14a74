//! Scans of a driving rover: the same bytes for any number of threads and beside other sensors; what a lidar's file
//! asks for is in its samples.

use crate::common;

use std::path::PathBuf;

use common::{config, world};
use selene_observe::{Device, Feed, LidarSample, Lidars};
use selene_scene::Class;

/// Longer than a scan of a fifth of a second.
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

/// The lidar's file with other lines in it.
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
fn images_planar_scans_and_truth_are_there_where_they_are_asked_for() {
    let asked = "  images: true\n  scan_ring: 2\n  truth: true\n  range_sigma_m:";
    let file = changed("views", &[["  range_sigma_m:", asked]]);
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
