//! Independence of sensors, and the stages that their data pass: another sensor, or other stages, change no other
//! sensor's bytes. A sample is handed over at the time given by rate, lag and jitter, with the time stamp of its
//! measurement.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use selene_base::SimTime;
use selene_observe::{Cameras, Device, Feed, Instruments, Lidars, Ranging, SkyInstruments};
use selene_sensors::{OwnStages, SensorSpec};
use selene_sim::{LoadOptions, Scenario, World};
use selene_tests::repository_file;

const HEARTBEATS: usize = 30;
/// A sensor of each kind, with changes to its file that make it fast and productive within the run.
const SENSORS: [(&str, &[(&str, &str)]); 18] = [
    ("navcam_left", &[("width: 640", "width: 64"), ("height: 360", "height: 36"), ("rate_hz: 2", "rate_hz: 10")]),
    ("obstacle_lidar", &[]),
    ("ars408_near", &[("rays: [240, 40]", "rays: [60, 10]")]),
    ("azure_kinect", &[("width: 640", "width: 40"), ("height: 576", "height: 36"), ("rate_hz: 5\n", "rate_hz: 10\n")]),
    ("altimeter", &[]),
    ("imu", &[]),
    ("gps", &[]),
    ("icm20948_mag", &[]),
    ("inclinometer", &[]),
    ("wheel_encoders", &[]),
    ("wheel_odometry", &[]),
    ("drive_torques", &[]),
    ("battery", &[("rate_hz: 1\n", "rate_hz: 10\n")]),
    ("deck", &[("rate_hz: 1\n", "rate_hz: 10\n")]),
    ("sun_sensor", &[]),
    ("star_tracker", &[("lag_s: 0.6 ", "lag_s: 0 ")]),
    ("contact_front_left", &[]),
    ("hub_front_left", &[]),
];

/// A sample of a sensor: begin and end of the interval in which it was handed over, its time stamp, its index and its
/// content.
#[derive(Clone, Debug, PartialEq)]
struct SensorSample {
    left: [SimTime; 2],
    stamp: SimTime,
    index: u64,
    content: String,
}

/// The files of one test, removed with it.
struct Files(PathBuf);

impl Files {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("selene-rows-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// The file of a sensor, changed, with `more` lines at its end.
    fn sensor(&self, name: &str, more: &str) -> PathBuf {
        let (_, changes) = SENSORS.iter().find(|(of, _)| *of == name).expect("a sensor");
        let text = std::fs::read_to_string(repository_file("config/sensor").join(format!("{name}.yaml")));
        let text = changes.iter().fold(text.expect("a file"), |text, (from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{from} in {name}");
            text.replace(from, to)
        });
        let path = self.0.join(format!("{name}.yaml"));
        std::fs::write(&path, text + more).expect("written");
        path
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A failed test reports its own reason.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A world in which VIPER drives over the yard with these sensors.
fn world(sensors: &[PathBuf]) -> World {
    let sensors: Vec<_> = sensors.iter().map(|file| file.display().to_string()).collect();
    let text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\n\
         rover: {{ file: ../rover/viper.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 90 }}\n\
         sensors: [{}]\nroute: {{ speed_m_s: 0.2, waypoints_m: [[0, 2], [2, 2]] }}\n",
        sensors.join(", ")
    );
    let scenario = Scenario::parse(&text, &repository_file("config/scenario/test.yaml"), &LoadOptions::default());
    World::new(Arc::new(scenario.unwrap_or_else(|error| panic!("{error}")))).unwrap_or_else(|error| panic!("{error}"))
}

/// Samples of each sensor, by name.
fn reported(sensors: &[PathBuf]) -> BTreeMap<String, Vec<SensorSample>> {
    let mut world = world(sensors);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let (mut instruments, mut of_sky) = (Instruments::default(), SkyInstruments::default());
    let (mut cameras, mut lidars) = (Cameras::new(Device::cpu(), OwnStages::new()), Lidars::new(Device::cpu()));
    let mut ranging = Ranging::new(Device::cpu());
    let mut all: BTreeMap<String, Vec<SensorSample>> = BTreeMap::new();
    for _ in 0..HEARTBEATS {
        let interval = feed.heartbeat(&mut world).expect("heartbeat");
        let left = [interval.after(), interval.next.time];
        let mut keep = |name: &str, stamp: SimTime, index: u64, content: String| {
            all.entry(name.to_owned()).or_default().push(SensorSample { left, stamp, index, content });
        };
        for of in instruments.take(&interval).into_iter().chain(of_sky.take(&interval).expect("seen")) {
            keep(&of.sensor.name, of.stamp, of.index, format!("{:?}", (&of.measured, &of.truth)));
        }
        for of in cameras.take(&interval).expect("seen") {
            keep(&of.sensor.name, of.stamp, of.index, format!("{of:?}"));
        }
        for of in lidars.take(&interval).expect("scanned") {
            keep(&of.sensor.name, of.stamp, of.index, format!("{of:?}"));
        }
        for of in ranging.take(&interval).expect("measured") {
            keep(&of.sensor.name, of.stamp, of.index, format!("{of:?}"));
        }
    }
    all
}

/// Sample k is measured at k over the rate and handed over at the first heartbeat at or after that plus its lag; a scan
/// at the first one at or after its end plus its lag. A scan ends at most a period after its stamp.
fn leaves_by_rate_and_lag(sensor: &SensorSpec, reported: &[SensorSample]) {
    const ROUNDING_S: f64 = 2e-9;
    let header = sensor.header();
    let period_s = 1.0 / header.rate_hz;
    let scan_s = if matches!(sensor, SensorSpec::Lidar(_)) { period_s } else { 0.0 };
    for (k, of) in reported.iter().enumerate() {
        assert_eq!(of.index, reported[0].index + k as u64, "{}", header.name);
        let [after_s, until_s] = of.left.map(SimTime::secs_f64);
        let due_s = of.stamp.secs_f64() + header.lag_s;
        assert!((of.stamp.secs_f64() - of.index as f64 * period_s).abs() < ROUNDING_S, "{}: {}", header.name, of.stamp);
        let is_due = after_s < due_s + scan_s + ROUNDING_S && until_s > due_s - ROUNDING_S;
        assert!(is_due, "{}, stamped {}, left by {until_s} s", header.name, of.stamp);
    }
}

#[test]
fn another_sensor_or_another_row_changes_no_other_sensors_bytes() {
    let files = Files::new("beside");
    let plain = |name: &str| files.sensor(name, "");
    let names = SENSORS.map(|(name, _)| name);
    let together = reported(&names.map(plain));
    assert_eq!(together.len(), names.len(), "each publishes something: {:?}", together.keys());
    for name in names {
        leaves_by_rate_and_lag(&SensorSpec::load(&plain(name)).expect("good"), &together[name]);
    }
    for first in [0, 1] {
        let half: Vec<PathBuf> = names.into_iter().skip(first).step_by(2).map(plain).collect();
        let apart = reported(&half);
        assert_eq!(apart.len(), half.len());
        for (name, alone) in apart {
            assert_eq!(alone, together[&name], "{name}");
        }
    }
    // Stages on three of them, and a different device for a fourth.
    let changed = names.map(|name| match name {
        "imu" => files.sensor(name, "  stages: [{noise: {sigma: [0.1, 0.1]}}, {drop_out: {probability: 0.5}}]\n"),
        "obstacle_lidar" => files.sensor(name, "  stages: [{crop: {range_m: [0, 3]}}]\n"),
        "ars408_near" => files.sensor(name, "  stages: [{decimate: {every: 2}}]\n"),
        "navcam_left" => files.sensor(name, "  device: cpu\n"),
        _ => plain(name),
    });
    for (name, with_rows) in reported(&changed) {
        let is_changed = ["imu", "obstacle_lidar", "ars408_near"].contains(&name.as_str());
        assert_eq!(with_rows != together[&name], is_changed, "{name}");
    }
}

#[test]
fn measurements_of_every_sensor_but_a_scanning_one_are_as_uneven_as_its_row_says() {
    const ROUNDING_S: f64 = 2e-9;
    const PART: f64 = 0.4;
    let files = Files::new("uneven");
    let names = SENSORS.map(|(name, _)| name).into_iter().filter(|name| *name != "obstacle_lidar");
    let specs: BTreeMap<&str, SensorSpec> =
        names.map(|name| (name, SensorSpec::load(&files.sensor(name, "")).expect("good"))).collect();
    let uneven = |(name, spec): (&&str, &SensorSpec)| {
        let stage = format!("rate_jitter: {{max_s: {}, of: measurement}}", PART / spec.header().rate_hz);
        if *name != "navcam_left" {
            return files.sensor(name, &format!("  stages: [{{{stage}}}]\n"));
        }
        let path = files.sensor(name, "");
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, text.replacen("  truth:", &format!("    - {stage}\n  truth:"), 1)).expect("written");
        path
    };
    let all = reported(&specs.iter().map(uneven).collect::<Vec<_>>());
    assert_eq!(all.len(), specs.len(), "each publishes something: {:?}", all.keys());
    for (name, reported) in all {
        let header = specs[&name[..]].header();
        let period_s = 1.0 / header.rate_hz;
        let late_s = |of: &SensorSample| of.stamp.secs_f64() - of.index as f64 * period_s;
        for of in &reported {
            assert!((-ROUNDING_S..=PART * period_s + ROUNDING_S).contains(&late_s(of)), "{name}: {}", of.stamp);
            let (due_s, [after_s, until_s]) = (of.stamp.secs_f64() + header.lag_s, of.left.map(SimTime::secs_f64));
            assert!(after_s < due_s + ROUNDING_S && until_s > due_s - ROUNDING_S, "{name}: left by {until_s} s");
        }
        assert!(reported.windows(2).all(|pair| pair[0].index + 1 == pair[1].index), "{name}");
        assert!(reported.iter().any(|of| late_s(of) > 0.02 * period_s), "{name}");
    }
}

#[test]
fn a_row_moves_hand_overs_and_leaves_samples_out_but_keeps_stamps_and_values() {
    let files = Files::new("times");
    let plain = files.sensor("imu", "");
    let SensorSpec::Imu(spec) = SensorSpec::load(&plain).expect("good") else { panic!("an inertial unit") };
    let before = reported(std::slice::from_ref(&plain)).remove("imu").expect("readings");
    let row = "  stages: [{decimate: {every: 3}}, {lag: {by_s: 0.03}}, {lag: {by_s: 0.012}}, \
               {rate_jitter: {max_s: 0.004}}]\n";
    let after = reported(&[files.sensor("imu", row)]).remove("imu").expect("readings");
    let indices: Vec<u64> = after.iter().map(|reported| reported.index).collect();
    assert!(indices.len() > 10 && indices.iter().enumerate().all(|(k, index)| *index == 3 * k as u64), "{indices:?}");
    let lag = SimTime::from_secs_f64(spec.lag_s);
    let (least, most) = (lag + SimTime::from_secs_f64(0.042), lag + SimTime::from_secs_f64(0.046));
    for reported in &after {
        let same = before.iter().find(|same| same.index == reported.index).expect("measured in both");
        assert_eq!((reported.stamp, &reported.content), (same.stamp, &same.content));
        // Sample k is measured at k over the rate, and handed over at the first heartbeat at or after its due instant.
        assert_eq!(reported.stamp, SimTime::from_secs_f64(reported.index as f64 / spec.rate_hz));
        assert!(reported.left[1] >= reported.stamp + least && reported.left[0] < reported.stamp + most, "{reported:?}");
    }
    for reported in before {
        assert!(reported.left[0] < reported.stamp + lag && reported.stamp + lag <= reported.left[1], "{reported:?}");
    }
}
