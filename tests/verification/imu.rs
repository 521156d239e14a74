//! Noise of inertial units: the overlapping Allan deviation of data at rest gives back the density and the instability
//! of their files (IEEE Std 952-1997, annex C).

use std::path::Path;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::random::{RngExt, stream};
use selene_base::{Pose, SimTime};
use selene_sensors::{AllanSpec, Imu, ImuReading, ImuSpec, InstabilitySpec, Motion, Sample, SensorSpec, TriadSpec};

const GRAVITY: Vector3<f64> = Vector3::new(0.0, 0.0, -1.62);
const HOUR_S: f64 = 3600.0;
/// Relative tolerance of density and instability.
const TOLERANCE: f64 = 0.1;
/// Number of units measured for an hour each; with all axes, one sigma of an instability is then about 1.3 %.
const UNITS: u64 = 2;

fn spec() -> ImuSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/sensor/adis16495.yaml");
    match SensorSpec::load(&path).unwrap_or_else(|error| panic!("{error}")) {
        SensorSpec::Imu(spec) => spec,
        other => panic!("{other:?}"),
    }
}

fn sample(index: u64) -> Sample {
    Sample { index, instant: SimTime::ZERO }
}

/// Overlapping Allan variance of readings `dt_s` apart, with an averaging time of `m` readings.
fn allan_variance(readings: &[f64], m: usize) -> f64 {
    let mut sums = vec![0.0];
    // Relative to the mean, so that the sums stay small.
    let mean = readings.iter().sum::<f64>() / readings.len() as f64;
    readings.iter().for_each(|reading| sums.push(sums[sums.len() - 1] + reading - mean));
    let count = sums.len() - 2 * m;
    let second = |k: usize| sums[k + 2 * m] - 2.0 * sums[k + m] + sums[k];
    (0..count).map(|k| second(k).powi(2)).sum::<f64>() / (2.0 * (m as f64).powi(2) * count as f64)
}

/// Allan variance of a Gauss–Markov process at the averaging time τ, given in its correlation times; its maximum is 1.
fn gauss_markov_variance(tau_over_time: f64) -> f64 {
    let x = tau_over_time;
    let shape = |x: f64| 2.0 / x * (1.0 - (3.0 - 4.0 * (-x).exp() + (-2.0 * x).exp()) / (2.0 * x));
    shape(x) / shape(1.8926)
}

/// Readings of the gyroscopes and accelerometers of units at rest over an hour, axis by axis.
fn still_hours(spec: &ImuSpec) -> [Vec<Vec<f64>>; 2] {
    let mut hours = [Vec::new(), Vec::new()];
    for seed in 0..UNITS {
        let mut imu = Imu::new(spec.clone(), Pose::identity(), seed);
        let exact = imu.exact(&Motion::at_rest(Pose::identity()), GRAVITY);
        let count = (HOUR_S * spec.rate_hz) as u64;
        let readings: Vec<ImuReading> = (0..count).map(|index| imu.read(sample(index), &exact)).collect();
        for axis in 0..3 {
            hours[0].push(readings.iter().map(|reading| reading.angular_velocity[axis]).collect());
            hours[1].push(readings.iter().map(|reading| reading.linear_acceleration[axis]).collect());
        }
    }
    hours
}

/// Density and instability by least squares of σ²(τ) = N²/τ + B² g(τ/T) at several τ. Each equation is weighted by its
/// expected accuracy at the configured values.
fn fitted(hours: &[Vec<f64>], rate_hz: f64, allan: &AllanSpec) -> (f64, f64) {
    let InstabilitySpec { instability, time_s } = allan.bias.expect("a drift");
    let (mut normal, mut right) = (nalgebra::Matrix2::<f64>::zeros(), nalgebra::Vector2::<f64>::zeros());
    for tau_s in [0.05, 0.2, 1.0, 4.0, 8.0, 16.0, 24.0] {
        let m = (tau_s * rate_hz).round() as usize;
        let found = hours.iter().map(|hour| allan_variance(hour, m)).sum::<f64>() / hours.len() as f64;
        let row = nalgebra::Vector2::new(1.0 / tau_s, gauss_markov_variance(tau_s / time_s));
        let expected = row.x * allan.density.powi(2) + row.y * instability.powi(2);
        // The longer τ, the fewer independent averages an hour has.
        let weight = 1.0 / (expected * expected * tau_s);
        normal += row * row.transpose() * weight;
        right += row * (found * weight);
    }
    let squares = normal.try_inverse().expect("two unknowns") * right;
    (squares.x.sqrt(), squares.y.sqrt())
}

#[test]
fn the_allan_deviation_of_a_still_hour_gives_back_density_and_instability() {
    // The device's grade, but with a drift that stands out from its white noise and a correlation time that is short
    // against an hour. Turn-on bias, scale and quantisation stay as they are. No estimator can find an instability far
    // below the white noise from an hour of data.
    let drift = |of: &TriadSpec, instability: f64| {
        let density = of.allan.expect("Allan parameters").density;
        let bias = Some(InstabilitySpec { instability, time_s: 8.0 });
        TriadSpec { allan: Some(AllanSpec { density, bias, random_walk: 0.0 }), resolution: None, ..of.clone() }
    };
    let device = spec();
    let spec = ImuSpec {
        rate_hz: 100.0,
        gyro_rad_s: drift(&device.gyro_rad_s, 4.0e-5),
        accelerometer_m_s2: drift(&device.accelerometer_m_s2, 2.0e-4),
        ..device
    };
    let triads = [&spec.gyro_rad_s, &spec.accelerometer_m_s2];
    for (triad, hours) in triads.into_iter().zip(still_hours(&spec)) {
        let allan = triad.allan.expect("Allan parameters");
        let requested = [allan.density, allan.bias.expect("a drift").instability];
        let (density, instability) = fitted(&hours, spec.rate_hz, &allan);
        for (found, requested) in [density, instability].into_iter().zip(requested) {
            assert!((found / requested - 1.0).abs() < TOLERANCE, "{found}, not {requested}");
        }
    }
}

#[test]
fn the_devices_own_steps_and_noise_show_as_its_density_at_one_second() {
    let device = ImuSpec { rate_hz: 100.0, ..spec() };
    let hours = still_hours(&device);
    for (triad, hours) in [&device.gyro_rad_s, &device.accelerometer_m_s2].into_iter().zip(hours) {
        let found = hours.iter().map(|hour| allan_variance(hour, 100)).sum::<f64>() / hours.len() as f64;
        let allan = triad.allan.expect("Allan parameters");
        // Quantisation by q adds white noise of variance q²/12 to each reading, if the noise exceeds half a step.
        let of_steps = triad.resolution.expect("steps").powi(2) / 12.0 / device.rate_hz;
        let drift = allan.bias.expect("a drift");
        let of_drift = drift.instability.powi(2) * gauss_markov_variance(1.0 / drift.time_s);
        let expected = allan.density.powi(2) + of_steps + of_drift;
        assert!((found / expected - 1.0).abs() < 2.0 * TOLERANCE, "variance {found}, not {expected}");
    }
}

#[test]
fn at_rest_in_any_tilt_and_at_any_offset_it_reads_the_reaction_to_gravity() {
    let mut rng = stream(1, "tilts");
    let mut any = |limit: f64| Vector3::from_fn(|_, _| rng.random_range(-limit..limit));
    for _ in 0..200 {
        let (at_m, offset_m) = (any(1000.0), any(2.0));
        let [attitude, mounting] = [any(3.0), any(3.0)].map(UnitQuaternion::from_scaled_axis);
        let imu = Imu::new(spec(), Pose::from_parts(offset_m.into(), mounting), 1);
        let body = Pose::from_parts(at_m.into(), attitude);
        let read = imu.exact(&Motion::at_rest(body), GRAVITY);
        let up = read.world_from_imu * read.linear_acceleration;
        assert!((up + GRAVITY).norm() < 1e-12 && read.angular_velocity.norm() == 0.0, "{read:?}");
    }
}

#[test]
fn every_reading_is_a_whole_step_within_the_range() {
    let device = spec();
    let mut imu = Imu::new(device.clone(), Pose::identity(), 1);
    let mut rng = stream(1, "rates");
    let mut at_limit = 0;
    for index in 0..2000 {
        let exact = ImuReading {
            world_from_imu: UnitQuaternion::identity(),
            angular_velocity: Vector3::from_fn(|_, _| rng.random_range(-4.0..4.0)),
            linear_acceleration: Vector3::from_fn(|_, _| rng.random_range(-150.0..150.0)),
        };
        let read = imu.read(sample(index), &exact);
        let quantities =
            [(read.angular_velocity, &device.gyro_rad_s), (read.linear_acceleration, &device.accelerometer_m_s2)];
        for (value, triad) in quantities {
            let (step, range) = (triad.resolution.expect("steps"), triad.range.expect("range"));
            let last = (range / step + 1e-9).floor() * step;
            for value in value.iter() {
                assert_eq!((value / step).round() * step, *value, "no whole step");
                assert!(value.abs() <= last, "{value} beyond {last}");
                at_limit += u32::from(value.abs() == last);
            }
        }
    }
    assert!(at_limit > 1000, "{at_limit} readings at the limit");
}

#[test]
fn a_unit_that_joins_late_reads_what_one_from_the_start_reads() {
    let exact = Imu::new(spec(), Pose::identity(), 5).exact(&Motion::at_rest(Pose::identity()), GRAVITY);
    let mut from_start = Imu::new(spec(), Pose::identity(), 5);
    let all: Vec<_> = (0..5000).map(|index| from_start.read(sample(index), &exact)).collect();
    for begin in [1, 1234, 4999] {
        let mut late = Imu::new(spec(), Pose::identity(), 5);
        for index in begin..5000 {
            assert_eq!(late.read(sample(index), &exact), all[index as usize], "sample {index} from {begin} on");
        }
    }
}
