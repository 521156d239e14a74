//! Torque sensors on joints: effort + offset + white noise, rounded to the resolution and clipped to the range. The
//! effort is that of a joint's motor, spring or brake, as in the joint states.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite, non_negative, positive};
use selene_base::random::stream_at;
use serde::Deserialize;

use super::{BodyError, BodyHeartbeat, BodyPlan, BodyReading, BodySample};
use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::{Sample, SensorQos};

/// Torque sensors on joints.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TorqueSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link that it belongs to; its readings do not depend on it.
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
    #[garde(dive, custom(fits(DataType::Joints, self.rate_hz)))]
    pub stages: Augments,
    /// Names of the joints; left out, the joints that drive wheels.
    #[garde(skip)]
    #[serde(default)]
    pub joints: Vec<String>,
    /// Standard deviation of the white noise, N m.
    #[garde(custom(non_negative))]
    pub white_sigma_nm: f64,
    /// Constant error, N m.
    #[garde(custom(finite))]
    #[serde(default)]
    pub offset_nm: f64,
    /// Resolution, N m; 0 for no rounding.
    #[garde(custom(non_negative))]
    #[serde(default)]
    pub resolution_nm: f64,
    /// Measuring range: torques beyond ± this are clipped, N m.
    #[garde(custom(positive))]
    pub range_nm: f64,
    /// Whether the truth is published beside its readings.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// Torque sensors on a rover's joints.
#[derive(Clone, Debug)]
pub(super) struct TorqueSensor {
    spec: TorqueSpec,
    joints: Vec<usize>,
    names: Vec<String>,
    seed: u64,
}

impl TorqueSensor {
    pub(super) fn new(spec: TorqueSpec, plan: &BodyPlan, seed: u64) -> Result<Self, BodyError> {
        let joints = plan.places(&spec.joints)?;
        let names = joints.iter().filter_map(|&joint| plan.joints.get(joint).cloned()).collect();
        Ok(Self { spec, joints, names, seed })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn take(
        &self,
        beat: &BodyHeartbeat,
        samples: impl Iterator<Item = Sample>,
        mut reported: impl FnMut(BodySample),
    ) {
        for sample in samples {
            let all = beat.at(sample.instant, |posture| posture.effort);
            let truth: Vec<f64> =
                self.joints.iter().map(|&joint| all.get(joint).copied().unwrap_or_default()).collect();
            let reading = self.read(&truth, sample);
            reported(BodySample {
                sample,
                reported: BodyReading::Torques(reading),
                truth: Some(BodyReading::Torques(truth)),
            });
        }
    }

    fn read(&self, torques_nm: &[f64], sample: Sample) -> Vec<f64> {
        let TorqueSpec { white_sigma_nm, offset_nm, resolution_nm, range_nm, .. } = self.spec;
        let mut rng = stream_at(self.seed, &self.spec.name, sample.index);
        let rounded = |nm: f64| if resolution_nm > 0.0 { (nm / resolution_nm).round() * resolution_nm } else { nm };
        let reported = |nm: &f64| {
            let nm = nm + offset_nm + white_sigma_nm * gaussian(&mut rng);
            rounded(nm).clamp(-range_nm, range_nm)
        };
        torques_nm.iter().map(reported).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{TorqueSensor, TorqueSpec};
    use crate::body::BodyPlan;
    use crate::{Sample, SensorQos};
    use selene_base::SimTime;

    fn sensor(white_sigma_nm: f64, offset_nm: f64, resolution_nm: f64) -> TorqueSensor {
        let spec = TorqueSpec {
            name: "torques".into(),
            link: "base_link".into(),
            rate_hz: 50.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            joints: vec!["left".into()],
            white_sigma_nm,
            offset_nm,
            resolution_nm,
            range_nm: 100.0,
            truth: false,
        };
        let plan = BodyPlan { joints: vec!["left".into()], wheels: Vec::new(), motors: Vec::new() };
        TorqueSensor::new(spec, &plan, 1).expect("a joint")
    }

    fn read(sensor: &TorqueSensor, torque_nm: f64, index: u64) -> f64 {
        sensor.read(&[torque_nm], Sample { index, instant: SimTime::ZERO })[0]
    }

    #[test]
    fn readings_are_off_by_the_offset_and_scatter_as_configured() {
        // 4000 readings: the mean within five standard errors, the variance (one sigma 2.2 %) within five.
        let (n, sigma) = (4000, 0.8);
        let noisy = sensor(sigma, 0.5, 0.0);
        let errors: Vec<f64> = (0..n).map(|index| read(&noisy, 12.0, index) - 12.5).collect();
        let mean = errors.iter().sum::<f64>() / n as f64;
        let variance = errors.iter().map(|error| error * error).sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 * sigma / (n as f64).sqrt(), "{mean}");
        assert!((variance / (sigma * sigma) - 1.0).abs() < 0.11, "{variance}");
    }

    #[test]
    fn readings_come_in_steps_and_end_at_the_range() {
        let coarse = sensor(0.0, 0.0, 0.25);
        assert_eq!([12.1, 12.2, -3.4].map(|nm| read(&coarse, nm, 0)), [12.0, 12.25, -3.5]);
        assert_eq!([250.0, -250.0].map(|nm| read(&coarse, nm, 0)), [100.0, -100.0]);
    }
}
