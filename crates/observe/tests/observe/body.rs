//! Tests of sensors of a rover's own body: readings follow from snapshots, independent of who observes and from when
//! on; odometry is blind to slip and to nothing else; a battery delivers the integral of the power demand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::frames;
use selene_observe::{Feed, Instruments, Interval, Measured, Reading};
use selene_sensors::{BatteryReading, OdometryReading};
use selene_sim::{AllowedFolders, Command, EntityId, LoadOptions, RoverSnapshot, Scenario, Snapshot, World};
use selene_vehicle::BodyTwist;

const ROVER: EntityId = EntityId(1);
const SENSORS: [&str; 6] = ["gps", "wheel_encoders", "wheel_odometry", "drive_torques", "battery", "deck"];
/// Relative tolerance of the distance on rigid ground: wheels slip a little there too, and the path over the relief
/// is longer than on the map.
const RIGID_WAY: f64 = 0.02;
/// Relative tolerance of the distance lost by slip: slip is sampled at the ends of heartbeats, along the ground.
const SLIP_WAY: f64 = 0.15;

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

/// A world with the rover of this file name on the test yard, with the sensors above.
fn world_of(rover: &str, soil: &str) -> World {
    let sensors: Vec<_> = SENSORS.iter().map(|name| format!("../sensor/{name}.yaml")).collect();
    let text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: ../site/test_yard.yaml\nsoil: ../soil/{soil}.yaml\n\
         rover: {{ file: ../rover/{rover}.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 0 }}\n\
         sensors: [{}]\n",
        sensors.join(", ")
    );
    let path = config().join("scenario/test.yaml");
    let scenario = Scenario::parse(&text, &path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    World::new(Arc::new(scenario)).unwrap_or_else(|e| panic!("{e}"))
}

fn driven(world: &mut World, heartbeats: usize, twist: BodyTwist) -> Vec<Interval> {
    let mut feed = Feed::begin(world).expect("begins");
    let mut next = || {
        world.drive(ROVER, Command::Body(twist)).expect("there");
        feed.heartbeat(world).expect("heartbeat")
    };
    (0..heartbeats).map(|_| next()).collect()
}

fn readings(intervals: &[Interval]) -> Vec<Reading> {
    let mut instruments = Instruments::default();
    intervals.iter().flat_map(|interval| instruments.take(interval)).collect()
}

fn odometry(readings: &[Reading]) -> Vec<&OdometryReading> {
    let measured = readings.iter().map(|reading| &reading.measured);
    measured.filter_map(|of| if let Measured::Odometry(sample) = of { Some(&sample.reading) } else { None }).collect()
}

fn rover(snapshot: &Snapshot) -> &RoverSnapshot {
    snapshot.rover(ROVER).expect("there")
}

#[test]
fn who_comes_late_reads_what_is_read_from_the_start() {
    let mut world = world_of("viper", "lunar");
    let intervals = driven(&mut world, 230, BodyTwist::arc(0.15, 0.05));
    let (whole, late) = (readings(&intervals), readings(&intervals[117..]));
    let since = intervals[117].previous.time;
    // Here neither a fix nor any other sensor needs a past beyond the memories in snapshots.
    let whole: Vec<_> = whole.into_iter().filter(|reading| reading.stamp > since).collect();
    assert_eq!(late, whole);
    for name in SENSORS {
        assert!(late.iter().any(|reading| reading.sensor.name == name), "nothing of {name}");
    }
}

#[test]
fn what_is_remembered_is_in_the_state_and_follows_from_snapshots() {
    let mut world = world_of("rassor", "lunar");
    driven(&mut world, 60, BodyTwist::arc(0.2, 0.1));
    let folders = AllowedFolders::new([config()]);
    let mut again = World::resume(world.model(), world.state().clone(), &folders).expect("its own state");
    let mut last = world.first_snapshot().expect("stands");
    for _ in 0..40 {
        let next = world.heartbeat().expect("heartbeat");
        assert!(again.heartbeat().expect("heartbeat") == next, "another world at {}", next.time);
        let mut reported = next.clone();
        reported.rovers.iter_mut().for_each(|rover| rover.memories.clear());
        world.model().remember(&last, &mut reported);
        assert_eq!(rover(&reported).memories, rover(&next).memories, "at {}", next.time);
        last = next;
    }
    let names: Vec<_> = rover(&last).memories.iter().map(|memory| memory.name.as_str()).collect();
    assert_eq!(names, ["wheel_encoders", "wheel_odometry", "battery", "deck"]);
    assert_eq!(world.state().hash(), again.state().hash());
}

/// Distance along x by odometry, true distance, and distance lost by slip according to the wheels' truth, m.
fn ways_m(soil: &str) -> [f64; 3] {
    let mut world = world_of("viper", soil);
    let radius_m = world.model().rovers()[&ROVER].model().wheels()[0].radius_m;
    let intervals = driven(&mut world, 800, BodyTwist::arc(0.15, 0.0));
    let readings = readings(&intervals);
    let reported = odometry(&readings);
    let odometry_m =
        reported[reported.len() - 1].odom_from_base.translation.x - reported[0].odom_from_base.translation.x;
    let place = |snapshot: &Snapshot| rover(snapshot).world_from_base().translation.x;
    let (first, last) = (&intervals[0].previous, &intervals[intervals.len() - 1].next);
    let slipped = |interval: &Interval| {
        let wheels = &rover(&interval.next).wheels;
        let rates = wheels.iter().map(|wheel| wheel.slip_ratio.max(0.0) * wheel.rate_rad_s * radius_m);
        rates.sum::<f64>() / wheels.len() as f64 * (interval.next.time - interval.previous.time).secs_f64()
    };
    [odometry_m, place(last) - place(first), intervals.iter().map(slipped).sum()]
}

#[test]
fn without_slip_odometry_reports_the_way_and_on_soft_soil_it_overestimates_it_by_the_slip() {
    let [odometry_m, true_m, slipped_m] = ways_m("rigid");
    println!("rigid: {odometry_m} m measured, {true_m} m driven, {slipped_m} m slipped");
    assert!(true_m > 0.8 && (odometry_m / true_m - 1.0).abs() < RIGID_WAY, "{odometry_m} m for {true_m} m");
    let [odometry_m, true_m, slipped_m] = ways_m("soft");
    println!("soft: {odometry_m} m measured, {true_m} m driven, {slipped_m} m slipped");
    assert!(odometry_m > 1.02 * true_m, "{odometry_m} m for {true_m} m");
    let more_m = odometry_m - true_m;
    assert!((more_m / slipped_m - 1.0).abs() < SLIP_WAY, "{more_m} m more, {slipped_m} m slipped");
}

#[test]
fn on_an_arc_odometry_of_steered_wheels_keeps_place_and_heading() {
    let mut world = world_of("viper", "rigid");
    let intervals = driven(&mut world, 800, BodyTwist::arc(0.15, 0.1));
    let readings = readings(&intervals);
    let reported = &odometry(&readings).pop().expect("a reading").odom_from_base;
    let truth = rover(&intervals[intervals.len() - 1].next).world_from_base();
    let apart_m = (reported.translation.vector - truth.translation.vector).xy().norm();
    let turned = [reported, &truth].map(frames::yaw_rad);
    println!("{apart_m} m apart, headings {turned:?}");
    assert!(turned[1] > 0.3 && (turned[0] - turned[1]).abs() < 0.05, "{turned:?}");
    assert!(apart_m < 0.05, "{apart_m} m");
}

#[test]
fn a_batterys_energy_is_the_integral_of_the_power_requested_of_it() {
    let mut world = world_of("viper", "lunar");
    let model = Arc::clone(world.model());
    let of = model.rovers()[&ROVER].model();
    let drives = of.wheels().iter().flat_map(|wheel| [Some(wheel.drive_joint), wheel.steer_joint]).flatten();
    let motors: Vec<_> = drives.chain(of.servos().iter().map(|servo| servo.joint)).collect();
    let moving = of.moving_joints();
    let intervals = driven(&mut world, 200, BodyTwist::arc(0.15, 0.1));
    // The values of config/sensor/battery.yaml.
    let (idle_w, efficiency) = (40.0, 0.6);
    let energy_j = |interval: &Interval| {
        let rover = rover(&interval.next);
        let joints = (0..moving.len()).filter(|place| motors.contains(&moving[*place]));
        let mechanical_w: f64 =
            joints.map(|place| (rover.joint_effort[place] * rover.joint_velocity[place]).abs()).sum();
        (idle_w + mechanical_w / efficiency) * (interval.next.time - interval.previous.time).secs_f64()
    };
    let expected: f64 = intervals.iter().map(energy_j).sum();
    let last = readings(&intervals).into_iter().filter_map(|reading| battery(&reading)).next_back();
    let reported = last.expect("a reading at 2 s");
    println!("{} J, {expected} J expected", reported.energy_j);
    assert!(expected > idle_w * 2.0 * 1.01, "the motors take something");
    assert!((reported.energy_j / expected - 1.0).abs() < 1e-9, "{} J, not {expected}", reported.energy_j);
}

/// The true state of a battery in a reading.
fn battery(reading: &Reading) -> Option<BatteryReading> {
    match reading.truth {
        Some(Measured::Battery(of)) => Some(of),
        _ => None,
    }
}

#[test]
fn a_sensor_that_does_not_fit_the_rover_is_refused_with_what_there_is() {
    let folder = std::env::temp_dir().join(format!("selene-body-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let file = folder.join("wheel_encoders.yaml");
    let good = std::fs::read_to_string(config().join("sensor/wheel_encoders.yaml")).expect("text");
    let with = |text: &str| {
        std::fs::write(&file, text).expect("written");
        let options = LoadOptions { sensors: vec![file.clone()], ..LoadOptions::default() };
        Scenario::load(&config().join("scenario/polar.yaml"), &options).expect_err("refused").to_string()
    };
    let refused = [
        ("  truth: true\n", "  joints: [no_joint]\n", vec!["wheel_encoders.yaml", "'no_joint'", "front_left_drive"]),
        ("ticks_per_turn: 4096", "ticks_per_turn: 0", vec!["line 8", "value 0", "1 to 16777216"]),
        ("probability: 1.0e-5", "probability: 1.5", vec!["line 9", "1.5", "0 to 1"]),
        ("rate_window_s: 0.1", "rate_window_s: 60", vec!["line 10", "60", "1 to 100 samples"]),
    ];
    for (from, to, parts) in refused {
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let message = with(&good.replace(from, to));
        for part in parts {
            assert!(message.contains(part), "'{part}' is missing in: {message}");
        }
    }
    std::fs::remove_dir_all(&folder).expect("clean");
}
