//! A digital two-axis Sun sensor: sunlight through slits or a pinhole falls on photodiodes, which give the two angles
//! of the Sun's direction from the boresight, α = atan2(x, z) and β = atan2(y, z), in a frame whose z is the
//! boresight. Each angle has a bias and white noise and is rounded to whole steps; the published unit vector is
//! computed from them: (tan α, tan β, 1), normalised. Wertz (ed.), Spacecraft Attitude Determination and Control,
//! 1978, §6.1 and §7.1.
//!
//! There is no reading while the Sun's centre is outside the field of view, a cone about the boresight, or while less
//! of the Sun's disc is visible than the sensor needs. Not modelled: the shift of the image's centre by a partly
//! hidden disc, light that ground and Earth reflect into the aperture, and temperature.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::{PlacementSpec, Sample, SensorQos};

/// The largest half-angle of the cone, degrees: with noise and bias, angles stay below 90°.
const HALF_ANGLE_MAX_DEG: f64 = 80.0;
/// The largest noise and bias of an angle allowed, degrees.
const ANGLE_ERROR_MAX_DEG: f64 = 1.0;

/// A Sun sensor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SunSensorSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in, whose z is the boresight; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
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
    #[garde(dive, custom(fits(DataType::Direction, self.rate_hz)))]
    pub stages: Augments,
    /// Where it sits on that link, with the boresight along its own z; left out, its frame is the link's.
    #[garde(dive)]
    #[serde(default)]
    pub mount: Option<PlacementSpec>,
    /// Half-angle of the cone in which it sees the Sun, degrees, 0.1 to 80.
    #[garde(custom(within(0.1, HALF_ANGLE_MAX_DEG)))]
    pub fov_half_angle_deg: f64,
    /// Standard deviation of each of the two angles, degrees, 0 to 1.
    #[garde(custom(within(0.0, ANGLE_ERROR_MAX_DEG)))]
    pub noise_deg: f64,
    /// Constant error of α and of β, degrees, −1 to 1.
    #[garde(custom(small_angles))]
    pub bias_deg: [f64; 2],
    /// Resolution: step between reported angles, degrees, 0 (no rounding) to 1.
    #[garde(custom(within(0.0, ANGLE_ERROR_MAX_DEG)))]
    pub quantisation_deg: f64,
    /// The least visible fraction of the Sun's disc for a reading, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub sun_share_min: f64,
    /// Whether the exact direction is published beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

impl SunSensorSpec {
    /// Whether the Sun's centre, in this direction of the sensor's frame, is in the field of view.
    #[must_use]
    pub fn sees(&self, sun: &Vector3<f64>) -> bool {
        sun.angle(&Vector3::z()) <= self.fov_half_angle_deg.to_radians()
    }

    /// The reading at `sample`: the measured unit vector in the sensor's frame, or `None`. `sun` is the unit vector
    /// to the Sun's centre in the sensor's frame, `sun_share` (0 to 1) the visible fraction of its disc, `seed` the
    /// rover's.
    #[must_use]
    pub fn read(&self, sun: &Vector3<f64>, sun_share: f64, seed: u64, sample: Sample) -> Option<Vector3<f64>> {
        (self.sees(sun) && sun_share >= self.sun_share_min).then(|| self.measured(sun, seed, sample))
    }

    fn measured(&self, sun: &Vector3<f64>, seed: u64, sample: Sample) -> Vector3<f64> {
        let mut rng = stream_at(seed, &self.name, sample.index);
        let [alpha, beta] = [(sun.x, self.bias_deg[0]), (sun.y, self.bias_deg[1])].map(|(across, bias_deg)| {
            let angle_deg = across.atan2(sun.z).to_degrees();
            self.quantised_deg(angle_deg + bias_deg + self.noise_deg * gaussian(&mut rng)).to_radians()
        });
        Vector3::new(alpha.tan(), beta.tan(), 1.0).normalize()
    }

    fn quantised_deg(&self, angle_deg: f64) -> f64 {
        let step_deg = self.quantisation_deg;
        if step_deg == 0.0 { angle_deg } else { (angle_deg / step_deg).round() * step_deg }
    }
}

/// A garde check: angles of −1° to 1°, degrees.
fn small_angles(angles_deg: &[f64; 2], (): &()) -> garde::Result {
    angles_deg.iter().try_for_each(|angle| within(-ANGLE_ERROR_MAX_DEG, ANGLE_ERROR_MAX_DEG)(angle, &()))
}

#[cfg(test)]
mod tests {
    use super::SunSensorSpec;
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::SimTime;

    const EXACT: f64 = 1e-12;

    fn sensor(noise_deg: f64) -> SunSensorSpec {
        SunSensorSpec {
            name: "sun_sensor".into(),
            link: "mast".into(),
            rate_hz: 5.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            mount: None,
            fov_half_angle_deg: 70.0,
            noise_deg,
            bias_deg: [0.0; 2],
            quantisation_deg: 0.0,
            sun_share_min: 0.5,
            truth: false,
        }
    }

    fn sample(index: u64) -> Sample {
        Sample { index, instant: SimTime::ZERO }
    }

    /// The direction with these two angles.
    fn at_deg(alpha: f64, beta: f64) -> Vector3<f64> {
        Vector3::new(alpha.to_radians().tan(), beta.to_radians().tan(), 1.0).normalize()
    }

    fn angles_deg(direction: &Vector3<f64>) -> [f64; 2] {
        [direction.x.atan2(direction.z).to_degrees(), direction.y.atan2(direction.z).to_degrees()]
    }

    #[test]
    fn a_sensor_without_errors_reports_the_direction() {
        for sun in [at_deg(0.0, 0.0), at_deg(30.0, -20.0), at_deg(-60.0, 10.0), at_deg(0.0, 69.9)] {
            let reported = sensor(0.0).read(&sun, 1.0, 1, sample(3)).expect("in sight");
            assert!((reported - sun).norm() < EXACT, "{reported} for {sun}");
        }
    }

    #[test]
    fn outside_the_cone_and_behind_too_little_disc_there_is_no_datum() {
        let exact = sensor(0.0);
        assert!(exact.read(&at_deg(0.0, 70.1), 1.0, 1, sample(0)).is_none());
        assert!(exact.read(&at_deg(65.0, 65.0), 1.0, 1, sample(0)).is_none(), "a cone, not a square");
        assert!(exact.read(&-Vector3::z(), 1.0, 1, sample(0)).is_none());
        assert!(exact.read(&Vector3::z(), 0.49, 1, sample(0)).is_none());
        assert!(exact.read(&Vector3::z(), 0.5, 1, sample(0)).is_some());
    }

    #[test]
    fn bias_shifts_each_angle_and_steps_round_it() {
        let biased = SunSensorSpec { bias_deg: [0.3, -0.2], ..sensor(0.0) };
        let [alpha, beta] = angles_deg(&biased.read(&at_deg(25.0, -40.0), 1.0, 1, sample(0)).expect("in sight"));
        assert!((alpha - 25.3).abs() < 1e-9 && (beta + 40.2).abs() < 1e-9, "{alpha}, {beta}");
        let coarse = SunSensorSpec { quantisation_deg: 0.25, ..sensor(0.0) };
        let [alpha, beta] = angles_deg(&coarse.read(&at_deg(10.1, -10.2), 1.0, 1, sample(0)).expect("in sight"));
        assert!((alpha - 10.0).abs() < 1e-9 && (beta + 10.25).abs() < 1e-9, "{alpha}, {beta}");
    }

    #[test]
    fn both_angles_scatter_as_configured() {
        /// Relative error of a variance of 4000 samples, whose sigma is 2.24 %: 4.5 sigma, which a random seed exceeds
        /// once in 10⁵
        /// tests; the seed here is fixed.
        const TOLERANCE: f64 = 0.1;
        const SAMPLES: u64 = 4000;
        let (noisy, sun) = (sensor(0.1), at_deg(35.0, -50.0));
        let mut squares = [0.0; 2];
        for index in 0..SAMPLES {
            let reported = angles_deg(&noisy.read(&sun, 1.0, 7, sample(index)).expect("in sight"));
            for (square, (reported, true_deg)) in squares.iter_mut().zip(reported.into_iter().zip([35.0, -50.0])) {
                *square += (reported - true_deg).powi(2) / SAMPLES as f64;
            }
        }
        for variance in squares {
            assert!((variance / 0.01 - 1.0).abs() < TOLERANCE, "{squares:?}");
        }
    }

    #[test]
    fn a_sample_depends_on_seed_name_and_number_alone() {
        let (noisy, sun) = (sensor(0.1), at_deg(5.0, 5.0));
        let read = |spec: &SunSensorSpec, seed, index| spec.read(&sun, 1.0, seed, sample(index));
        assert_eq!(read(&noisy, 1, 9), read(&noisy, 1, 9));
        assert_ne!(read(&noisy, 1, 9), read(&noisy, 1, 10));
        assert_ne!(read(&noisy, 1, 9), read(&noisy, 2, 9));
        assert_ne!(read(&noisy, 1, 9), read(&SunSensorSpec { name: "other".into(), ..sensor(0.1) }, 1, 9));
    }
}
