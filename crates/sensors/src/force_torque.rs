//! A six-axis force–torque sensor between a link and the one that carries it, at the joint between them. It tells
//! the wrench that the link puts on its carrier: at rest a wheel's sensor tells the ground's push upward, less the
//! wheel's own weight. The sensor is fixed to the carrier, so its axes are those of the carrier at the joint's
//! place and do not turn with a wheel; torques are about that place.
//!
//! A sample is the mean over a window that ends at its instant; then each of the six channels has its errors
//! (see `transducer`). Channels do not talk to each other; the sensor itself is stiff and weighs nothing.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::Wrench;
use selene_base::input::{finite_array, within};
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, Datum, fits};
use crate::noise::gaussian3;
use crate::spec::{lag, rate, ros_name};
use crate::transducer::TransducerSpec;
use crate::{Sample, SensorQos};

/// The longest window taken, s.
const WINDOW_MAX_S: f64 = 1.0;

/// A force–torque sensor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ForceTorqueSpec {
    /// Topic prefix and stream name. Its frame is `<name>_frame`.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link whose load on its carrier is measured; the joint that it hangs from moves.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Samples a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From measurement to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topic is offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The stages that its readings pass before they leave.
    #[serde(default)]
    #[garde(dive, custom(fits(Datum::Wrench, self.rate_hz)))]
    pub stages: Augments,
    /// How long it gathers for a sample, s, 0 to 1; 0 for an instant. Shorter than a heartbeat is an instant.
    #[garde(custom(within(0.0, WINDOW_MAX_S)))]
    pub window_s: f64,
    /// The channels of x, y and z, N.
    #[garde(dive)]
    pub force_n: ChannelsSpec,
    /// Those about x, y and z, N m.
    #[garde(dive)]
    pub torque_nm: ChannelsSpec,
    /// Whether the exact wrench is told beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// Three channels, x, y, z.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ChannelsSpec {
    /// What each tells when nothing loads it.
    #[garde(custom(finite_array))]
    pub bias: [f64; 3],
    /// Standard deviation of each one's white noise.
    #[garde(custom(none_negative))]
    pub noise_sigma: [f64; 3],
    /// The largest magnitude that each tells; more is told as this much.
    #[garde(custom(all_positive))]
    pub range: [f64; 3],
    /// The step between values that each tells; 0 for none, at most the range.
    #[garde(custom(none_negative), custom(at_most(self.range)))]
    pub resolution: [f64; 3],
}

impl ForceTorqueSpec {
    /// The frame that it measures in, fixed to the carrier.
    #[must_use]
    pub fn frame(&self) -> String {
        format!("{}_frame", self.name)
    }

    /// What it tells at `sample` of a true wrench, the mean over its window in its own frame; `seed` is the
    /// rover's.
    #[must_use]
    pub fn read(&self, wrench: &Wrench, seed: u64, sample: Sample) -> Wrench {
        let mut rng = stream_at(seed, &self.name, sample.index);
        let force = self.force_n.tell(&wrench.force, &gaussian3(&mut rng));
        Wrench { force, torque: self.torque_nm.tell(&wrench.torque, &gaussian3(&mut rng)) }
    }
}

impl ChannelsSpec {
    fn tell(&self, values: &Vector3<f64>, gaussians: &Vector3<f64>) -> Vector3<f64> {
        Vector3::from_fn(|axis, _| self.channel(axis).tell(values[axis], gaussians[axis]))
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

/// A garde check: steps that the ranges have room for.
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
        /// Of a variance from 4000 samples, whose own sigma is 2.24 %, and of a correlation, 1.58 %: 4.5 sigma.
        const TOLERANCE: [f64; 2] = [0.1, 0.071];
        let (true_wrench, sigmas) = (
            Wrench { force: Vector3::new(20.0, -5.0, 180.0), torque: Vector3::new(1.0, 12.0, -3.0) },
            [1.0, 2.0, 4.0, 0.1, 0.2, 0.4],
        );
        let spec = sensor();
        let mut products = [[0.0; 6]; 6];
        for index in 0..SAMPLES {
            let told = spec.read(&true_wrench, 3, sample(index));
            let (force, torque) = (told.force - true_wrench.force, told.torque - true_wrench.torque);
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
    fn a_channel_that_is_full_tells_its_range() {
        let full = sensor().read(&Wrench { force: Vector3::z() * 1e4, torque: -Vector3::y() * 1e4 }, 3, sample(0));
        assert_eq!((full.force.z, full.torque.y), (1000.0, -120.0));
        assert!(full.force.x.abs() < 10.0);
    }
}
