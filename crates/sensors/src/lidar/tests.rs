use super::{Lidar, LidarSpec, Spin, UniformChannels};
use crate::SensorSpec;
use nalgebra::{Point3, UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_scene::BeamReturn;
use std::f64::consts::PI;
use std::path::Path;

/// Beams are stored as f32.
const F32: f64 = 1e-6;

fn spec() -> LidarSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/lidar.yaml");
    match SensorSpec::load(&path).expect("good") {
        SensorSpec::Lidar(spec) => spec,
        other => panic!("{other:?}"),
    }
}

/// Without noise, and strong enough to see anything.
fn exact(mut spec: LidarSpec) -> LidarSpec {
    (spec.range_sigma_m, spec.angle_sigma_deg, spec.range_at_10_percent_m) = (0.0, 0.0, 1e6);
    spec
}

fn white_at(range_m: f32) -> BeamReturn {
    BeamReturn { range_m, cos_incidence: 1.0, reflectance: 1.0, class: 1, instance: 0 }
}

fn vector(p: [f32; 3]) -> Vector3<f64> {
    Vector3::from(p.map(f64::from))
}

#[test]
fn every_beam_leaves_along_its_closed_form_direction() {
    let spec = spec();
    let lidar = Lidar::new(spec.clone());
    let beams = lidar.beams(SimTime::ZERO, |_| Some(Pose::identity())).expect("known");
    assert_eq!(beams.len(), 16 * spec.columns as usize);
    for (i, beam) in beams.iter().enumerate() {
        let (column, channel) = (i / 16, i % 16);
        let after_s = column as f64 / (spec.rate_hz * f64::from(spec.columns)) + channel as f64 * 2.304e-6;
        let azimuth = PI - 2.0 * PI * after_s * spec.rate_hz;
        // The VLP-16's firing order in closed form: even channels −15 + channel, odd ones their number.
        let channel = channel as f64;
        let elevation = (if channel % 2.0 == 0.0 { channel - 15.0 } else { channel }).to_radians();
        let expected = Vector3::new(elevation.cos() * azimuth.cos(), elevation.cos() * azimuth.sin(), elevation.sin());
        assert!((vector(beam.direction) - expected).norm() < F32, "beam {i}");
    }
}

#[test]
fn times_rise_strictly_within_the_scan_and_each_ring_has_one_point_a_column() {
    let spec = exact(spec());
    let lidar = Lidar::new(spec.clone());
    let points = lidar.points(&vec![white_at(10.0); 16 * spec.columns as usize], 1, 0);
    assert!(points.windows(2).all(|pair| pair[0].time < pair[1].time));
    assert!(lidar.scan_duration() < SimTime::period(spec.rate_hz));
    for ring in 0..16 {
        assert_eq!(points.iter().filter(|p| p.ring == ring).count(), spec.columns as usize);
    }
    assert!(points.iter().filter(|p| p.ring == 0).all(|p| p.z < -2.5));
    assert!(points.iter().filter(|p| p.ring == 15).all(|p| p.z > 2.5));
}

#[test]
fn beams_leave_from_where_the_sensor_is_at_their_own_instant() {
    // 20 m/s forward while turning: the origin of a beam is speed × its own time.
    let lidar = Lidar::new(exact(spec()));
    let (start, speed, yaw_rate) = (SimTime::from_secs_f64(3.0), 20.0, 0.5);
    let pose_at = |t: SimTime| {
        let turned = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw_rate * t.secs_f64());
        Pose::from_parts(Vector3::new(speed * t.secs_f64(), 0.0, 2.0).into(), turned)
    };
    let beams = lidar.beams(start, |time| Some(pose_at(time))).expect("known");
    let points = lidar.points(&vec![white_at(10.0); beams.len()], 1, 0);
    for (beam, point) in beams.iter().zip(&points) {
        let t = start + SimTime::from_secs_f64(f64::from(point.time));
        let expected = pose_at(t) * Point3::new(f64::from(point.x), f64::from(point.y), f64::from(point.z));
        let hit = Vector3::from(beam.origin_m) + vector(beam.direction) * 10.0;
        // f32 coordinates of 60 m, f32 seconds × 20 m/s.
        assert!((hit - expected.coords).norm() < 3e-5, "{hit} {expected}");
    }
}

#[test]
fn a_scan_from_where_nobody_knows_has_no_beams() {
    let known_at_first = |time: SimTime| (time == SimTime::ZERO).then(Pose::identity);
    assert!(Lidar::new(spec()).beams(SimTime::ZERO, known_at_first).is_none());
}

#[test]
fn a_scan_begins_behind_and_turns_as_it_is_told() {
    let quarter = |spin| {
        let mut spec = spec();
        (spec.spin, spec.columns) = (spin, 4);
        let beam = Lidar::new(spec).beams(SimTime::ZERO, |_| Some(Pose::identity())).expect("known")[16];
        vector(beam.direction).y
    };
    assert!(quarter(Spin::Clockwise) > 0.9, "clockwise from behind, the left side comes first");
    assert!(quarter(Spin::CounterClockwise) < -0.9);
}

#[test]
fn noise_is_on_range_and_angles_as_told() {
    const TOLERANCE: f64 = 0.05; // 14 400 samples: one sigma of a standard deviation is 0.6 %
    let mut spec = spec();
    (spec.range_sigma_m, spec.angle_sigma_deg, spec.range_at_10_percent_m) = (0.05, 0.1, 1e6);
    let (noisy, clean) = (Lidar::new(spec.clone()), Lidar::new(exact(spec.clone())));
    let returns = vec![white_at(50.0); 16 * spec.columns as usize];
    let (mut range2, mut azimuth2) = (0.0, 0.0);
    let (a, b) = (noisy.points(&returns, 1, 0), clean.points(&returns, 1, 0));
    for (p, q) in a.iter().zip(&b) {
        let (p, q) = (vector([p.x, p.y, p.z]), vector([q.x, q.y, q.z]));
        range2 += (p.norm() - q.norm()).powi(2);
        azimuth2 += (p.x * q.y - p.y * q.x).atan2(p.x * q.x + p.y * q.y).powi(2);
    }
    let sigma = |sum: f64| (sum / returns.len() as f64).sqrt();
    assert!((sigma(range2) / 0.05 - 1.0).abs() < TOLERANCE);
    assert!((sigma(azimuth2).to_degrees() / 0.1 - 1.0).abs() < TOLERANCE);
    assert_eq!(a, noisy.points(&returns, 1, 0));
    assert_ne!(a, noisy.points(&returns, 1, 1));
}

#[test]
fn returns_too_near_too_far_too_faint_or_absent_are_left_out() {
    let mut spec = exact(spec());
    (spec.min_range_m, spec.max_range_m, spec.range_at_10_percent_m) = (1.0, 100.0, 50.0);
    let lidar = Lidar::new(spec);
    let dark = |range_m, cos_incidence| BeamReturn { reflectance: 0.1, cos_incidence, ..white_at(range_m) };
    let seen = |met| lidar.points(&[met], 1, 0).len();
    assert_eq!([seen(white_at(0.9)), seen(white_at(1.1)), seen(white_at(99.0)), seen(white_at(101.0))], [0, 1, 1, 0]);
    assert_eq!([seen(dark(49.0, 1.0)), seen(dark(51.0, 1.0)), seen(dark(30.0, 0.3))], [1, 0, 0]);
    assert_eq!(seen(BeamReturn::NONE), 0);
}

#[test]
fn one_lost_return_leaves_the_others_noise_alone() {
    let lidar = Lidar::new(spec());
    let all = vec![white_at(10.0); 100];
    let mut fewer = all.clone();
    fewer[50] = BeamReturn::NONE;
    let (a, b) = (lidar.points(&all, 1, 0), lidar.points(&fewer, 1, 0));
    assert_eq!(a[..50], b[..50]);
    assert_eq!(a[51..], b[50..]);
}

#[test]
fn uniform_channels_run_from_the_lowest_to_the_highest() {
    let channels = UniformChannels { count: 5, lowest_deg: -10.0, highest_deg: 10.0 };
    assert_eq!(channels.elevations_deg(), [-10.0, -5.0, 0.0, 5.0, 10.0]);
}
