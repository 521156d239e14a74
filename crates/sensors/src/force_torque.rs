//! A six-axis force–torque sensor between a link and its parent link, at the joint between them. It measures the wrench
//! that the link exerts on its parent: at rest a wheel's sensor reads the ground's push upward, minus the wheel's own
//! weight. The sensor is fixed to the parent, so its axes are those of the parent at the joint's position and do not
//! turn with a wheel; torques are about that position.
//!
//! A sample is the mean over a window that ends at its instant; then the errors of `transducer` are applied to each of
//! the six channels. There is no cross-talk between channels; the sensor itself is rigid and massless.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::Wrench;
use selene_base::input::{finite_array, within};
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian3;
use crate::spec::{lag, rate, ros_name};
use crate::transducer::TransducerSpec;
use crate::{Sample, SensorQos};

/// The longest window allowed, s.
const WINDOW_MAX_S: f64 = 1.0;

/// A force–torque sensor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ForceTorqueSpec {
    /// Prefix of its topics and name of its random streams. Its frame is `<name>_frame`.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link whose load on its parent is measured; its joint must be movable.
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
    #[garde(dive, custom(fits(DataType::Wrench, self.rate_hz)))]
    pub stages: Augments,
    /// Averaging window of a sample, s, 0 to 1; 0, or less than a heartbeat, means an instantaneous sample.
    #[garde(custom(within(0.0, WINDOW_MAX_S)))]
    pub window_s: f64,
    /// Errors of the force channels x, y and z, N.
    #[garde(dive)]
    pub force_n: ChannelsSpec,
    /// Errors of the torque channels about x, y and z, N m.
    #[garde(dive)]
    pub torque_nm: ChannelsSpec,
    /// Whether the exact wrench is published beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// Errors of three channels, in the order x, y, z.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ChannelsSpec {
    /// Output of each channel without load.
    #[garde(custom(finite_array))]
    pub bias: [f64; 3],
    /// Standard deviation of each channel's white noise.
    #[garde(custom(none_negative))]
    pub noise_sigma: [f64; 3],
    /// Measuring range of each channel: values beyond ± this are clipped.
    #[garde(custom(all_positive))]
    pub range: [f64; 3],
    /// Resolution of each channel: step between output values, at most the range; 0 for no rounding.
    #[garde(custom(none_negative), custom(at_most(self.range)))]
    pub resolution: [f64; 3],
}

impl ForceTorqueSpec {
    /// Name of the frame that it measures in, fixed to the parent link.
    #[must_use]
    pub fn frame(&self) -> String {
        format!("{}_frame", self.name)
    }

    /// The reading at `sample` for a true wrench, the mean over its window in its own frame; `seed` is the rover's.
    #[must_use]
    pub fn read(&self, wrench: &Wrench, seed: u64, sample: Sample) -> Wrench {
        let mut rng = stream_at(seed, &self.name, sample.index);
        let force = self.force_n.measure(&wrench.force, &gaussian3(&mut rng));
        Wrench { force, torque: self.torque_nm.measure(&wrench.torque, &gaussian3(&mut rng)) }
    }
}

impl ChannelsSpec {
    fn measure(&self, values: &Vector3<f64>, gaussians: &Vector3<f64>) -> Vector3<f64> {
        Vector3::from_fn(|axis, _| self.channel(axis).measure(values[axis], gaussians[axis]))
    }

    fn channel(&self, axis: usize) -> TransducerSpec {
        TransducerSpec {
            bias: self.bias[axis],
            noise_sigma: self.noise_sigma[axis],
            range: self.range[axis],
            resolution: self.resolution[axis],
        }
    }
}

/// A garde check: every element finite and 0 or more.
fn none_negative(values: &[f64; 3], (): &()) -> garde::Result {
    values.iter().try_for_each(|value| selene_base::input::non_negative(value, &()))
}

/// A garde check: every element finite and more than 0.
fn all_positive(values: &[f64; 3], (): &()) -> garde::Result {
    values.iter().try_for_each(|value| selene_base::input::positive(value, &()))
}

/// A garde check: each resolution is at most its range.
fn at_most(range: [f64; 3]) -> impl FnOnce(&[f64; 3], &()) -> garde::Result {
    move |resolution, ()| {
        if resolution.iter().zip(range).all(|(resolution, range)| *resolution <= range) {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {resolution:?} is not allowed: must be at most the range ({range:?})")))
    }
}

#[cfg(test)]
mod tests {
    use super::{ChannelsSpec, ForceTorqueSpec};
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::{SimTime, Wrench};

    fn channels(noise: [f64; 3], range: f64) -> ChannelsSpec {
        ChannelsSpec { bias: [0.0; 3], noise_sigma: noise, range: [range; 3], resolution: [0.0; 3] }
    }

    fn sensor() -> ForceTorqueSpec {
        ForceTorqueSpec {
            name: "hub_fl".into(),
            link: "front_left_wheel".into(),
            rate_hz: 100.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            window_s: 0.0,
            force_n: channels([1.0, 2.0, 4.0], 1000.0),
            torque_nm: channels([0.1, 0.2, 0.4], 120.0),
            truth: false,
        }
    }

    fn sample(index: u64) -> Sample {
        Sample { index, instant: SimTime::ZERO }
    }

    #[test]
    fn each_channel_has_its_own_noise_and_none_that_of_another() {
        const SAMPLES: u64 = 4000;
        /// Relative error of a variance from 4000 samples (sigma 2.24 %) and error of a correlation (sigma 1.58 %): 4.5
        /// sigma.
        const TOLERANCE: [f64; 2] = [0.1, 0.071];
        let (true_wrench, sigmas) = (
            Wrench { force: Vector3::new(20.0, -5.0, 180.0), torque: Vector3::new(1.0, 12.0, -3.0) },
            [1.0, 2.0, 4.0, 0.1, 0.2, 0.4],
        );
        let spec = sensor();
        let mut products = [[0.0; 6]; 6];
        for index in 0..SAMPLES {
            let reported = spec.read(&true_wrench, 3, sample(index));
            let (force, torque) = (reported.force - true_wrench.force, reported.torque - true_wrench.torque);
            let errors = [force.x, force.y, force.z, torque.x, torque.y, torque.z];
            for (i, row) in products.iter_mut().enumerate() {
                for (j, product) in row.iter_mut().enumerate() {
                    *product += errors[i] * errors[j] / (sigmas[i] * sigmas[j] * SAMPLES as f64);
                }
            }
        }
        for (i, row) in products.iter().enumerate() {
            for (j, product) in row.iter().enumerate() {
                let off = product - f64::from(u8::from(i == j));
                let bound = if i == j { TOLERANCE[0] } else { TOLERANCE[1] };
                assert!(off.abs() < bound, "channels {i} and {j}: off by {off}");
            }
        }
    }

    #[test]
    fn a_channel_that_is_full_reports_its_range() {
        let full = sensor().read(&Wrench { force: Vector3::z() * 1e4, torque: -Vector3::y() * 1e4 }, 3, sample(0));
        assert_eq!((full.force.z, full.torque.y), (1000.0, -120.0));
        assert!(full.force.x.abs() < 10.0);
    }
}
