//! Tests of inertial measurement units on a driving rover, against the world's snapshots.

use crate::common;

use std::path::{Path, PathBuf};

use common::world;
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::SimTime;
use selene_observe::{Feed, ImuSample, Instruments, Interval, Measured, Reading};
use selene_sensors::SensorSetting;
use selene_sim::{EntityId, Settings, World};

const GRAVITY: Vector3<f64> = Vector3::new(0.0, 0.0, -1.62);
/// Sampling period, s.
const DT_S: f64 = 0.001;

/// The file of a unit without errors on a link, at a mount there.
fn sensor(name: &str, link: &str, mount: &str) -> PathBuf {
    let text = format!(
        "imu:\n  name: perfect\n  link: {link}\n{mount}  rate_hz: 1000\n  lag_s: 0\n  qos: sensor_data\n  truth: true\n  \
         gyro_rad_s: {{allan: {{density: 0}}}}\n  accelerometer_m_s2: {{allan: {{density: 0}}}}\n"
    );
    let path = std::env::temp_dir().join(format!("selene-imu-{name}-{}.yaml", std::process::id()));
    std::fs::write(&path, text).expect("written");
    path
}

fn world_with(sensor: &Path, speed_m_s: f64) -> World {
    let route = if speed_m_s > 0.0 {
        format!("route: {{ speed_m_s: {speed_m_s}, waypoints_m: [[2, 0], [4, 2]] }}\n")
    } else {
        String::new()
    };
    let rover = "rover: { file: ../rover/rassor.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 0 }\n";
    let world = world(&format!("{rover}sensors: ['{}']\n{route}", sensor.display()));
    std::fs::remove_file(sensor).expect("removed");
    world
}

/// The intervals of a run and what was read in each.
fn watch(world: &mut World, heartbeats: usize) -> Vec<(Interval, Vec<ImuSample>)> {
    let mut feed = Feed::begin(world).expect("begins");
    let mut instruments = Instruments::default();
    let heartbeat = |_| {
        let interval = feed.heartbeat(world).expect("heartbeat");
        let read = instruments.take(&interval).into_iter().map(|reading| {
            assert_eq!(reading.truth.as_ref(), Some(&reading.measured), "it has no faults");
            match reading.measured {
                Measured::Imu(sample) => sample,
                other => panic!("{other:?}"),
            }
        });
        let read: Vec<ImuSample> = read.collect();
        (interval, read)
    };
    (0..heartbeats).map(heartbeat).collect()
}

/// True position and attitude of the unit at an interval's end: its frame is the last link.
fn place(interval: &Interval) -> (Vector3<f64>, UnitQuaternion<f64>) {
    let pose = interval.next.rovers[0].world_from_links.last().copied().expect("links");
    (pose.translation.vector, pose.rotation)
}

/// True velocity of the unit at an interval's end.
fn velocity_m_s(interval: &Interval) -> Vector3<f64> {
    let rover = &interval.next.rovers[0];
    let arm = place(interval).0 - rover.world_from_base().translation.vector;
    rover.base_twist.linear + rover.base_twist.angular.cross(&arm)
}

#[test]
fn set_to_have_no_noise_it_has_none_of_its_row_either() {
    let stages = "  stages: [{noise: {sigma: [1.0e-3, 2.0e-2]}}]\n";
    let mut world = world_with(&sensor("quiet", "base_link", stages), 0.0);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut instruments = Instruments::default();
    let mut read = |world: &mut World| -> Vec<Reading> {
        let heartbeats = (0..3).map(|_| feed.heartbeat(world).expect("heartbeat")).collect::<Vec<_>>();
        heartbeats.iter().flat_map(|interval| instruments.take(interval)).collect()
    };
    let variances = |reading: &Reading| match &reading.measured {
        Measured::Imu(sample) => sample.white_variances,
        other => panic!("{other:?}"),
    };
    let readings = read(&mut world);
    assert!(readings.len() >= 20, "{} readings", readings.len());
    for reading in readings {
        assert!(reading.truth.as_ref() != Some(&reading.measured) && variances(&reading) != [0.0; 2]);
    }
    let quiet = SensorSetting { noise: false, ..SensorSetting::default() };
    let sensors = [((EntityId(1), "perfect".to_owned()), quiet)].into();
    world.set(&Settings { sensors, ..Settings::default() }).expect("set");
    let readings = read(&mut world);
    assert!(readings.len() >= 20, "{} readings", readings.len());
    for reading in readings {
        assert_eq!((reading.truth.as_ref(), variances(&reading)), (Some(&reading.measured), [0.0; 2]));
    }
}

#[test]
fn integrating_a_unit_without_faults_gives_the_way_that_it_went() {
    // Dead reckoning with the trapezoidal rule over three seconds of driving. The remaining error is that readings
    // use the mean motion of a heartbeat.
    const POSITION_M: f64 = 0.02;
    const VELOCITY_M_S: f64 = 0.02;
    const ATTITUDE_RAD: f64 = 2e-3;
    let mount = "  mount: {at_m: [0.4, -0.2, 0.3], rpy_deg: [10, -20, 130]}\n";
    let mut world = world_with(&sensor("integrated", "base_link", mount), 0.4);
    let run = watch(&mut world, 400);
    let (begin_m, mut attitude) = place(&run[100].0);
    let mut velocity = velocity_m_s(&run[100].0);
    let mut position = begin_m;
    let mut last = run[100].1.last().expect("read").clone();
    for sample in run[101..].iter().flat_map(|(_, read)| read) {
        let mean_rate = (last.angular_velocity_rad_s + sample.angular_velocity_rad_s) * 0.5;
        let after = attitude * UnitQuaternion::from_scaled_axis(mean_rate * DT_S);
        let felt = (attitude * last.linear_acceleration_m_s2 + after * sample.linear_acceleration_m_s2) * 0.5;
        let acceleration = felt + GRAVITY;
        position += velocity * DT_S + acceleration * (0.5 * DT_S * DT_S);
        velocity += acceleration * DT_S;
        (attitude, last) = (after, sample.clone());
    }
    let (end_m, end) = place(&run[399].0);
    let off_m_s = (velocity - velocity_m_s(&run[399].0)).norm();
    assert!((end_m - begin_m).norm() > 0.8, "it stands: {begin_m} to {end_m}");
    assert!(attitude.angle_to(&end) < ATTITUDE_RAD, "{} rad off", attitude.angle_to(&end));
    assert!(off_m_s < VELOCITY_M_S, "{off_m_s} m/s off");
    assert!((position - end_m).norm() < POSITION_M, "{} m off", (position - end_m).norm());
}

#[test]
fn on_a_wheel_it_turns_with_the_wheel_and_feels_its_rim() {
    // On a spoke at r from the axle it measures ω² r inward in addition to gravity. Other motion of the axle is
    // independent of the wheel's phase and averages out.
    const R_M: f64 = 0.15;
    const BOUND_M_S2: f64 = 0.1;
    let mount = format!("  mount: {{at_m: [{R_M}, 0, 0]}}\n");
    let mut world = world_with(&sensor("wheel", "front_left_wheel", &mount), 0.4);
    let run = watch(&mut world, 450);
    let (mut felt, mut expected, mut turned, mut n) = (0.0, 0.0, 0.0, 0.0);
    for (interval, read) in &run[100..] {
        let rate = interval.next.rovers[0].wheels[0].rate_rad_s;
        for sample in read {
            let attitude = sample.attitude.expect("the true one");
            felt += (sample.linear_acceleration_m_s2 + attitude.inverse() * GRAVITY).x;
            expected -= sample.angular_velocity_rad_s.y.powi(2) * R_M;
            turned += sample.angular_velocity_rad_s.y * DT_S;
            n += 1.0;
        }
        let last = read.last().expect("read").angular_velocity_rad_s.y;
        assert!((last.abs() - rate.abs()).abs() < 0.3, "{last} on a wheel that turns at {rate} rad/s");
    }
    assert!(turned.abs() > std::f64::consts::TAU, "it turned {turned} rad");
    assert!(expected / n < -3.0 * BOUND_M_S2, "{} m/s² is too little to measure", expected / n);
    assert!(((felt - expected) / n).abs() < BOUND_M_S2, "{} m/s² along the spoke, not {}", felt / n, expected / n);
}

#[test]
fn at_rest_it_reads_the_reaction_to_gravity_along_its_own_axes() {
    let mount = "  mount: {at_m: [0.5, 0.5, 1], rpy_deg: [35, -50, 80]}\n";
    let mut world = world_with(&sensor("rest", "base_link", mount), 0.0);
    let run = watch(&mut world, 400);
    // After settling, over the last second: residual rocking averages out.
    let mut settled = Vec::new();
    for (interval, read) in &run[300..] {
        settled.extend(read.iter().map(|sample| (place(interval).1, sample)));
    }
    let readings = settled.len() as f64;
    let felt = settled.iter().map(|(_, sample)| sample.linear_acceleration_m_s2).sum::<Vector3<f64>>() / readings;
    let reaction = settled.iter().map(|(attitude, _)| attitude.inverse() * -GRAVITY).sum::<Vector3<f64>>() / readings;
    assert!((felt - reaction).norm() < 1e-2, "{felt} not {reaction}");
    assert!(run[399].0.next.time > SimTime::from_secs_f64(3.9));
}

#[test]
fn who_joins_late_reads_the_same_bits() {
    let files = ["adis16495", "icm20948", "icm20948_mag", "inclinometer"].map(|name| format!("../sensor/{name}.yaml"));
    let mut world = world(&format!(
        "rover: {{ file: ../rover/rassor.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 0 }}\nsensors: [{}]\n\
         route: {{ speed_m_s: 0.2, waypoints_m: [[4, 0]] }}\n",
        files.join(", ")
    ));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let (mut whole, mut late) = (Instruments::default(), Instruments::default());
    let mut compared = 0;
    for heartbeat in 0..100 {
        let interval = feed.heartbeat(&mut world).expect("heartbeat");
        let all = whole.take(&interval);
        if heartbeat < 40 {
            continue;
        }
        let known = late.take(&interval);
        // Earlier, the inclinometer has not yet had its whole window of 0.1 s.
        if heartbeat >= 52 {
            assert_eq!(known, all, "heartbeat {heartbeat}");
            compared += all.len();
        }
    }
    assert!(compared > 150, "{compared} readings");
}
