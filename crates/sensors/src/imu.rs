//! Gyroscope and accelerometer (SENSOR §3.3): ω_out = ω + η_a + b, a_out = (a − g) +
//! η_a + b, with the white noise and bias walk of `noise`. Rigid mounting anywhere on the
//! body: a = a_body + α × r + ω × (ω × r). At rest on the Moon it reads +1.62 m/s² up.
//! Attitude is the true one, as if an ideal filter stood behind it. Averaging over the
//! sample period, saturation and quantisation are not modelled yet.

use garde::Validate;
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::noise::{DriftSpec, gaussian3};
use crate::spec::{lag, rate, ros_name, schedule};
use crate::{PlacementSpec, Sample, Schedule, SensorQos};

/// An inertial measurement unit.
#[derive(Clone, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct ImuSpec {
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link; none: in the link's frame.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
    /// Samples a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From measurement to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topic is offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Whether the truth is told beside its readings.
    #[serde(default)]
    #[garde(skip)]
    pub truth: bool,
    /// Noise of the angular velocity, rad/s.
    #[garde(dive)]
    pub gyro_rad_s: DriftSpec,
    /// Noise of the specific force, m/s².
    #[garde(dive)]
    pub accelerometer_m_s2: DriftSpec,
}

impl ImuSpec {
    /// When it takes readings, from the scenario's start on.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        schedule(self.rate_hz, self.lag_s)
    }
}

/// How a body moves; vectors in the map frame.
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
    /// At rest at a pose.
    #[must_use]
    pub fn at_rest(world_from_body: Pose) -> Self {
        let zero = Vector3::zeros();
        Self { world_from_body, angular_velocity: zero, angular_acceleration: zero, linear_acceleration: zero }
    }

    /// Acceleration of a point of the body, `arm` from its frame's origin (map axes).
    fn acceleration_at(&self, arm: Vector3<f64>) -> Vector3<f64> {
        let omega = self.angular_velocity;
        self.linear_acceleration + self.angular_acceleration.cross(&arm) + omega.cross(&omega.cross(&arm))
    }
}

/// One reading, in the sensor's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImuReading {
    /// True attitude of the sensor in the map frame.
    pub world_from_imu: UnitQuaternion<f64>,
    /// Angular velocity, rad/s.
    pub angular_velocity: Vector3<f64>,
    /// Specific force, m/s².
    pub linear_acceleration: Vector3<f64>,
}

/// An IMU mounted on a body.
#[derive(Clone, Debug)]
pub struct Imu {
    spec: ImuSpec,
    body_from_imu: Pose,
    seed: u64,
}

impl Imu {
    /// Mounted at `body_from_imu`; `seed` is the scenario's.
    #[must_use]
    pub fn new(spec: ImuSpec, body_from_imu: Pose, seed: u64) -> Self {
        Self { spec, body_from_imu, seed }
    }

    /// The reading of `sample`. `gravity` is the acceleration of free fall in map axes,
    /// (0, 0, −1.62) m/s² on the Moon.
    #[must_use]
    pub fn read(&self, sample: Sample, motion: &Motion, gravity: Vector3<f64>) -> ImuReading {
        let mut rng = stream_at(self.seed, &self.spec.name, sample.index);
        let (gyro, accelerometer) = (&self.spec.gyro_rad_s, &self.spec.accelerometer_m_s2);
        let [gyro_bias, accelerometer_bias] = self.biases(sample);
        let exact = self.exact(motion, gravity);
        ImuReading {
            world_from_imu: exact.world_from_imu,
            angular_velocity: exact.angular_velocity + gyro.white(&mut rng) + gyro_bias,
            linear_acceleration: exact.linear_acceleration + accelerometer.white(&mut rng) + accelerometer_bias,
        }
    }

    /// The biases at `sample`: of the gyroscope, rad/s, and of the accelerometer, m/s². They have walked one
    /// step for each sample since the scenario's start, this one included.
    #[must_use]
    pub fn biases(&self, sample: Sample) -> [Vector3<f64>; 2] {
        let dt_s = 1.0 / self.spec.rate_hz;
        let quantities = [(&self.spec.gyro_rad_s, "gyro"), (&self.spec.accelerometer_m_s2, "accelerometer")];
        quantities.map(|(drift, quantity)| {
            let name = format!("{}/{quantity} bias", self.spec.name);
            drift.bias(sample.index + 1, dt_s, |number| gaussian3(&mut stream_at(self.seed, &name, number)))
        })
    }

    /// What a perfect instrument at this mounting would read.
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

    /// Variance of the white part: angular velocity [rad²/s²], then force [m²/s⁴].
    #[must_use]
    pub fn white_variances(&self) -> [f64; 2] {
        [self.spec.gyro_rad_s.white_sigma.powi(2), self.spec.accelerometer_m_s2.white_sigma.powi(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::{Imu, ImuSpec, Motion};
    use crate::{Sample, SensorSpec};
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
        let imu = Imu::new(spec(), Pose::identity(), 1);
        let motion = Motion::at_rest(Pose::translation(10.0, 20.0, 3.0));
        let n = 2000;
        let (mut force, mut turning) = (Vector3::zeros(), Vector3::zeros());
        for index in 0..n {
            let reading = imu.read(sample(index), &motion, GRAVITY);
            force += reading.linear_acceleration / n as f64;
            turning += reading.angular_velocity / n as f64;
        }
        let [gyro_variance, force_variance] = imu.white_variances();
        // Five standard errors of the mean, and the bias that ten seconds of walk leave.
        let bound = |variance: f64, bias: Vector3<f64>| 5.0 * (variance / n as f64).sqrt() + bias.norm();
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
    fn in_free_fall_it_reads_nothing() {
        let motion = Motion { linear_acceleration: GRAVITY, ..Motion::at_rest(Pose::identity()) };
        let reading = Imu::new(spec(), Pose::identity(), 1).exact(&motion, GRAVITY);
        assert!(reading.linear_acceleration.norm() < 1e-15);
    }

    #[test]
    fn the_bias_walks_with_a_variance_that_grows_linearly_in_time() {
        // Var b = b0² t/t_b on each axis; 600 walks × 3 axes: one sigma of the estimate is 3.3 %.
        const TOLERANCE: f64 = 0.12;
        let spec = spec();
        let walks = 600;
        let variance_after = |steps: u64| {
            let squares = (0..walks)
                .map(|seed| Imu::new(spec.clone(), Pose::identity(), seed).biases(sample(steps - 1))[0].norm_squared());
            squares.sum::<f64>() / (3.0 * walks as f64)
        };
        for steps in [50, 200] {
            let t_s = steps as f64 / spec.rate_hz;
            let expected = spec.gyro_rad_s.walk_sigma.powi(2) * t_s / spec.gyro_rad_s.walk_time_s;
            let ratio = variance_after(steps) / expected;
            assert!((ratio - 1.0).abs() < TOLERANCE, "{ratio} after {steps} steps");
        }
    }
}
