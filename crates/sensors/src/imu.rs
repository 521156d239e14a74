//! An inertial measurement unit: gyroscope and accelerometer (SENSOR §3.3) on any link of a rover. They measure the
//! angular velocity and the specific force a − g at their place, in their own axes: a = a_link + α × r + ω × (ω × r)
//! with the lever arm r from the link's origin. At rest on the Moon they read +1.62 m/s² up. `triad` models the errors
//! of both; the accelerometer is treated as a point.
//!
//! With a collection window the true values are means over it, of four instants evenly spaced in it; it ends at the
//! reading's stamp. Noise has the same size with a window and without.
//!
//! The attitude output is the true one (an ideal filter), none, or an estimate: the true one turned about the map's
//! axes by one Gauss–Markov error per axis, with the statistics of the errors of a unit's own filter. The estimate is
//! not computed from these readings: a filter's state depends on all past readings, while readings here are functions
//! of their index.

use garde::Validate;
use nalgebra::{UnitQuaternion, Vector3};
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime};
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian3;
use crate::process::{Law, Process};
use crate::spec::{lag, rate, ros_name, schedule};
use crate::triad::{Triad, TriadSpec, one_family};
use crate::{PlacementSpec, Sample, Schedule, SensorQos};

/// Number of instants sampled in a collection window.
const WINDOW_INSTANTS: u32 = 4;

/// An inertial measurement unit.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ImuSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link; left out, its frame is the link's.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<Box<PlacementSpec>>,
    /// Sampling rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from measurement to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topic.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the readings pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::Imu, self.rate_hz)))]
    pub stages: Augments,
    /// Whether the truth is published beside its readings.
    #[serde(default)]
    #[garde(skip)]
    pub truth: bool,
    /// Collection window over which a reading is averaged, s; at most one sampling period.
    #[serde(default)]
    #[garde(custom(non_negative), custom(within_a_period(self.rate_hz)))]
    pub window_s: f64,
    /// Which attitude it publishes. May be left out.
    #[serde(default)]
    #[garde(skip)]
    pub attitude: AttitudeSource,
    /// Errors of an estimated attitude; only with `attitude: estimate`.
    #[serde(default)]
    #[garde(dive, custom(of_an_estimate(self.attitude)))]
    pub attitude_errors: Option<AttitudeErrorSpec>,
    /// Errors of the angular velocity, rad/s.
    #[garde(dive, custom(one_family))]
    pub gyro_rad_s: TriadSpec,
    /// Errors of the specific force, m/s².
    #[garde(dive, custom(one_family), custom(without_per_m_s2))]
    pub accelerometer_m_s2: TriadSpec,
}

/// Which attitude an inertial unit publishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttitudeSource {
    /// The true attitude.
    #[default]
    Truth,
    /// No attitude.
    None,
    /// An estimate, off by `attitude_errors`.
    Estimate,
}

/// Slow errors of an estimated attitude, as those of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct AttitudeErrorSpec {
    /// Standard deviation about each of the two horizontal axes, degrees, 0 to 45.
    #[garde(custom(within(0.0, 45.0)))]
    pub tilt_sigma_deg: f64,
    /// Standard deviation about the vertical, degrees, 0 to 180.
    #[garde(custom(within(0.0, 180.0)))]
    pub heading_sigma_deg: f64,
    /// Correlation time of the errors, s.
    #[garde(custom(positive))]
    pub time_s: f64,
}

impl AttitudeErrorSpec {
    /// The same with standard deviations of 0.
    pub(crate) fn without_noise(self) -> Self {
        Self { tilt_sigma_deg: 0.0, heading_sigma_deg: 0.0, ..self }
    }
}

impl ImuSpec {
    /// Sampling schedule, from the start of the scenario.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        schedule(self.rate_hz, self.lag_s + self.stages.lag_s())
    }
}

/// Motion of a body at an instant; vectors in the map frame.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// Pose of the body's frame.
    pub world_from_body: Pose,
    /// Angular velocity, rad/s.
    pub angular_velocity: Vector3<f64>,
    /// Angular acceleration, rad/s².
    pub angular_acceleration: Vector3<f64>,
    /// Acceleration of the body frame's origin, gravity's effect included, m/s².
    pub linear_acceleration: Vector3<f64>,
}

impl Motion {
    /// A body at rest at a pose.
    #[must_use]
    pub fn at_rest(world_from_body: Pose) -> Self {
        let zero = Vector3::zeros();
        Self { world_from_body, angular_velocity: zero, angular_acceleration: zero, linear_acceleration: zero }
    }

    /// Acceleration of a point of the body, `arm` from its frame's origin (map axes), m/s².
    #[must_use]
    pub fn acceleration_at(&self, arm: Vector3<f64>) -> Vector3<f64> {
        let omega = self.angular_velocity;
        self.linear_acceleration + self.angular_acceleration.cross(&arm) + omega.cross(&omega.cross(&arm))
    }
}

/// One reading, in the sensor's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImuReading {
    /// Attitude of the sensor in the map frame, without errors unless the sensor publishes an estimate.
    pub world_from_imu: UnitQuaternion<f64>,
    /// Angular velocity, rad/s.
    pub angular_velocity: Vector3<f64>,
    /// Specific force, m/s².
    pub linear_acceleration: Vector3<f64>,
}

impl ImuReading {
    /// The same attitude with the mean angular velocity and specific force of the readings `over`; unchanged if
    /// `over` is empty.
    #[must_use]
    pub fn averaged(self, over: &[Self]) -> Self {
        if over.is_empty() {
            return self;
        }
        let mean = |of: fn(&Self) -> Vector3<f64>| over.iter().map(of).sum::<Vector3<f64>>() / over.len() as f64;
        Self {
            angular_velocity: mean(|reading| reading.angular_velocity),
            linear_acceleration: mean(|reading| reading.linear_acceleration),
            ..self
        }
    }
}

/// An IMU mounted on a body, with the biases and scale errors drawn for one run.
#[derive(Clone, Debug)]
pub struct Imu {
    spec: ImuSpec,
    body_from_imu: Pose,
    seed: u64,
    gyro: Triad,
    accelerometer: Triad,
    /// Error of an estimated attitude: its spec and the random process.
    attitude_error: Option<(AttitudeErrorSpec, Process)>,
}

impl Imu {
    /// An IMU mounted at `body_from_imu`; `seed` is the scenario's.
    #[must_use]
    pub fn new(spec: ImuSpec, body_from_imu: Pose, seed: u64) -> Self {
        let dt_s = 1.0 / spec.rate_hz;
        let triad = |of: &TriadSpec, what: &str| Triad::new(of, dt_s, seed, &format!("{}/{what}", spec.name));
        let gyro = triad(&spec.gyro_rad_s, "gyro");
        let accelerometer = triad(&spec.accelerometer_m_s2, "accelerometer");
        let attitude_error = spec.attitude_errors.map(|errors| {
            let law = Law::GaussMarkov { time_steps: errors.time_s * spec.rate_hz };
            (errors, Process::new(law, seed, format!("{}/attitude", spec.name)))
        });
        Self { spec, body_from_imu, seed, gyro, accelerometer, attitude_error }
    }

    /// The spec that it was made from.
    #[must_use]
    pub fn spec(&self) -> &ImuSpec {
        &self.spec
    }

    /// The instants over which angular velocity and specific force are averaged; none without a collection window.
    pub fn window(&self, sample: Sample) -> impl Iterator<Item = SimTime> + use<> {
        let window_s = self.spec.window_s;
        let before = move |part: u32| window_s * (1.0 - (f64::from(part) + 0.5) / f64::from(WINDOW_INSTANTS));
        let count = if window_s > 0.0 { WINDOW_INSTANTS } else { 0 };
        (0..count).map(move |part| sample.instant - SimTime::from_secs_f64(before(part)))
    }

    /// The reading at `sample`, where a perfect instrument would read `exact`.
    #[must_use]
    pub fn read(&mut self, sample: Sample, exact: &ImuReading) -> ImuReading {
        let mut rng = stream_at(self.seed, &self.spec.name, sample.index);
        let (for_gyro, for_accelerometer) = (gaussian3(&mut rng), gaussian3(&mut rng));
        let (rate, force) = (exact.angular_velocity, exact.linear_acceleration);
        ImuReading {
            world_from_imu: self.reported_attitude(sample.index, exact.world_from_imu),
            angular_velocity: self.gyro.read(sample.index, rate, force, for_gyro),
            linear_acceleration: self.accelerometer.read(sample.index, force, force, for_accelerometer),
        }
    }

    /// The true attitude, turned by the error if the sensor publishes an estimate.
    fn reported_attitude(&mut self, index: u64, world_from_imu: UnitQuaternion<f64>) -> UnitQuaternion<f64> {
        let Some((errors, process)) = &mut self.attitude_error else { return world_from_imu };
        let [tilt, heading] = [errors.tilt_sigma_deg, errors.heading_sigma_deg].map(f64::to_radians);
        let error = process.at(index).component_mul(&Vector3::new(tilt, tilt, heading));
        UnitQuaternion::from_scaled_axis(error) * world_from_imu
    }

    /// The biases at `sample`: of the gyroscope, rad/s, and of the accelerometer, m/s².
    #[must_use]
    pub fn biases(&mut self, sample: Sample) -> [Vector3<f64>; 2] {
        [self.gyro.bias_at(sample.index), self.accelerometer.bias_at(sample.index)]
    }

    /// The reading of a perfect instrument at this mounting. `gravity` is the acceleration of free fall in map axes,
    /// (0, 0, −1.62) m/s² on the Moon.
    #[must_use]
    pub fn exact(&self, motion: &Motion, gravity: Vector3<f64>) -> ImuReading {
        let world_from_imu = motion.world_from_body.rotation * self.body_from_imu.rotation;
        let arm = motion.world_from_body.rotation * self.body_from_imu.translation.vector;
        let imu_from_world = world_from_imu.inverse();
        ImuReading {
            world_from_imu,
            angular_velocity: imu_from_world * motion.angular_velocity,
            linear_acceleration: imu_from_world * (motion.acceleration_at(arm) - gravity),
        }
    }

    /// Variances of the white noise: of angular velocity, rad²/s², and specific force, m²/s⁴.
    #[must_use]
    pub fn white_variances(&self) -> [f64; 2] {
        let dt_s = 1.0 / self.spec.rate_hz;
        [&self.spec.gyro_rad_s, &self.spec.accelerometer_m_s2].map(|triad| triad.white_sigma(dt_s).powi(2))
    }
}

/// A garde check: the window is at most one sampling period, so that windows do not overlap.
pub(crate) fn within_a_period(rate_hz: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |window_s, ()| {
        let period_s = 1.0 / rate_hz;
        if *window_s <= period_s {
            return Ok(());
        }
        let what = format!("value {window_s} is not allowed: must be at most 1/rate_hz ({period_s})");
        Err(garde::Error::new(what))
    }
}

/// A garde check: `attitude_errors` are given exactly when the attitude is an estimate.
fn of_an_estimate(attitude: AttitudeSource) -> impl FnOnce(&Option<AttitudeErrorSpec>, &()) -> garde::Result {
    move |errors, ()| match (attitude == AttitudeSource::Estimate, errors.is_some()) {
        (true, false) => {
            Err(garde::Error::new("attitude: estimate needs tilt_sigma_deg, heading_sigma_deg and time_s"))
        }
        (false, true) => Err(garde::Error::new("is not allowed: it goes with attitude: estimate")),
        _ => Ok(()),
    }
}

/// A garde check: no `per_m_s2`, because an accelerometer's sensitivity to force is its scale.
fn without_per_m_s2(spec: &TriadSpec, (): &()) -> garde::Result {
    if spec.per_m_s2.is_none() {
        return Ok(());
    }
    Err(garde::Error::new("per_m_s2 is not allowed: an accelerometer has scale_error and misalignment_rad"))
}

#[cfg(test)]
mod tests {
    use super::{AttitudeErrorSpec, AttitudeSource, Imu, ImuReading, ImuSpec, Motion};
    use crate::{DriftSpec, Sample, SensorSpec, TriadSpec};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::{Pose, SimTime};
    use std::path::Path;

    const GRAVITY: Vector3<f64> = Vector3::new(0.0, 0.0, -1.62);

    fn spec() -> ImuSpec {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/imu.yaml");
        match SensorSpec::load(&path).expect("good") {
            SensorSpec::Imu(spec) => spec,
            other => panic!("{other:?}"),
        }
    }

    fn sample(index: u64) -> Sample {
        Sample { index, instant: SimTime::ZERO }
    }

    fn mount(x: f64, y: f64, z: f64, axis_angle: Vector3<f64>) -> Pose {
        Pose::new(Vector3::new(x, y, z), axis_angle)
    }

    #[test]
    fn at_rest_on_the_moon_it_reads_one_gravity_up_and_no_turning() {
        let mut imu = Imu::new(spec(), Pose::identity(), 1);
        let exact = imu.exact(&Motion::at_rest(Pose::translation(10.0, 20.0, 3.0)), GRAVITY);
        let n = 2000;
        let (mut force, mut turning) = (Vector3::zeros(), Vector3::zeros());
        for index in 0..n {
            let reading = imu.read(sample(index), &exact);
            force += reading.linear_acceleration / n as f64;
            turning += reading.angular_velocity / n as f64;
        }
        let [gyro_variance, force_variance] = imu.white_variances();
        // Five standard errors of the mean, and the bias, which changes little in ten seconds.
        let bound = |variance: f64, bias: Vector3<f64>| 5.0 * (variance / n as f64).sqrt() + 2.0 * bias.norm();
        let [gyro_bias, force_bias] = imu.biases(sample(n - 1));
        assert!((force + GRAVITY).norm() < bound(force_variance, force_bias), "{force}");
        assert!(turning.norm() < bound(gyro_variance, gyro_bias), "{turning}");
        assert!(force.z > 1.5);
    }

    #[test]
    fn a_tilted_mounting_sees_gravity_in_its_own_axes() {
        let imu = Imu::new(spec(), mount(0.0, 0.0, 0.0, Vector3::x() * std::f64::consts::FRAC_PI_2), 1);
        let reading = imu.exact(&Motion::at_rest(Pose::identity()), GRAVITY);
        assert!((reading.linear_acceleration - Vector3::new(0.0, 1.62, 0.0)).norm() < 1e-12);
    }

    #[test]
    fn away_from_the_axis_a_turn_shows_as_centripetal_and_tangential_acceleration() {
        // Yaw at ω with ω̇ = α, mounted r ahead: ax = −ω² r, ay = α r; the body heads north.
        let (omega, alpha, r) = (0.7, 0.3, 1.5);
        let heading = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::FRAC_PI_2);
        let motion = Motion {
            angular_velocity: Vector3::z() * omega,
            angular_acceleration: Vector3::z() * alpha,
            ..Motion::at_rest(Pose::from_parts(Vector3::zeros().into(), heading))
        };
        let reading = Imu::new(spec(), mount(r, 0.0, 0.4, Vector3::zeros()), 1).exact(&motion, GRAVITY);
        let expected = Vector3::new(-omega * omega * r, alpha * r, 1.62);
        assert!((reading.linear_acceleration - expected).norm() < 1e-12, "{}", reading.linear_acceleration);
        assert!((reading.angular_velocity - Vector3::z() * omega).norm() < 1e-12);
    }

    #[test]
    fn an_estimated_attitude_is_off_as_configured_and_forgets_in_its_time() {
        // The standard deviation of a variance over 2000 units is 3.2 %, that of a correlation 0.024.
        const UNITS: u64 = 2000;
        let errors = AttitudeErrorSpec { tilt_sigma_deg: 0.5, heading_sigma_deg: 2.0, time_s: 10.0 };
        let spec = ImuSpec { attitude: AttitudeSource::Estimate, attitude_errors: Some(errors), ..spec() };
        let turned = UnitQuaternion::from_euler_angles(0.1, 0.2, 1.0);
        let pose = Pose::from_parts(Vector3::zeros().into(), turned);
        let exact = Imu::new(spec.clone(), Pose::identity(), 1).exact(&Motion::at_rest(pose), GRAVITY);
        let off_deg = |seed: u64, index: u64| {
            let reported = Imu::new(spec.clone(), Pose::identity(), seed).read(sample(index), &exact).world_from_imu;
            (reported * exact.world_from_imu.inverse()).scaled_axis().map(f64::to_degrees)
        };
        let later = 40 + (errors.time_s * spec.rate_hz) as u64;
        let pairs: Vec<[Vector3<f64>; 2]> = (0..UNITS).map(|seed| [off_deg(seed, 40), off_deg(seed, later)]).collect();
        let mean = |of: &dyn Fn(&[Vector3<f64>; 2]) -> f64| pairs.iter().map(of).sum::<f64>() / UNITS as f64;
        for (axis, sigma_deg) in [(0, 0.5), (1, 0.5), (2, 2.0)] {
            let share = mean(&|pair| pair[0][axis].powi(2)) / (sigma_deg * sigma_deg);
            assert!((share - 1.0).abs() < 0.16, "axis {axis}: {share}");
            let kept = mean(&|pair| pair[0][axis] * pair[1][axis]) / (sigma_deg * sigma_deg);
            assert!((kept - (-1.0_f64).exp()).abs() < 0.12, "axis {axis}: {kept}");
        }
        assert_eq!(exact.world_from_imu, turned, "the truth stays");
    }

    #[test]
    fn in_free_fall_it_reads_nothing() {
        let motion = Motion { linear_acceleration: GRAVITY, ..Motion::at_rest(Pose::identity()) };
        let reading = Imu::new(spec(), Pose::identity(), 1).exact(&motion, GRAVITY);
        assert!(reading.linear_acceleration.norm() < 1e-15);
    }

    #[test]
    fn the_bias_of_the_sensor_family_walks_with_a_variance_that_grows_linearly_in_time() {
        // Var b = b0² t/t_b on each axis; 600 walks × 3 axes: one sigma of the estimate is 3.3 %.
        const TOLERANCE: f64 = 0.12;
        let drift = DriftSpec { offset: 0.0, white_sigma: 1e-4, walk_mean: 0.0, walk_sigma: 4e-6, walk_time_s: 100.0 };
        let spec = ImuSpec { gyro_rad_s: TriadSpec { sensor: Some(drift), ..TriadSpec::default() }, ..spec() };
        let walks = 600;
        let variance_after = |steps: u64| {
            let squares = (0..walks)
                .map(|seed| Imu::new(spec.clone(), Pose::identity(), seed).biases(sample(steps - 1))[0].norm_squared());
            squares.sum::<f64>() / (3.0 * walks as f64)
        };
        for steps in [50, 200] {
            let t_s = steps as f64 / spec.rate_hz;
            let expected = drift.walk_sigma.powi(2) * t_s / drift.walk_time_s;
            let ratio = variance_after(steps) / expected;
            assert!((ratio - 1.0).abs() < TOLERANCE, "{ratio} after {steps} steps");
        }
    }

    #[test]
    fn a_window_is_the_mean_of_four_instants_within_it() {
        let spec = ImuSpec { window_s: 0.004, ..spec() };
        let imu = Imu::new(spec, Pose::identity(), 1);
        let at =
            |index: u64, milliseconds: i64| Sample { index, instant: SimTime::from_nanos(1_000_000 * milliseconds) };
        let instants: Vec<i64> = imu.window(at(3, 20)).map(SimTime::nanos).collect();
        assert_eq!(instants, [16_500_000, 17_500_000, 18_500_000, 19_500_000]);
        let reading = |rate: f64| ImuReading {
            world_from_imu: UnitQuaternion::identity(),
            angular_velocity: Vector3::x() * rate,
            linear_acceleration: Vector3::y() * rate,
        };
        let mean = reading(9.0).averaged(&[1.0, 2.0, 3.0, 6.0].map(reading));
        assert_eq!(mean, reading(3.0));
        assert_eq!(reading(9.0).averaged(&[]), reading(9.0));
    }
}
