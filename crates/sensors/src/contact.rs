//! A contact sensor in a wheel: whether the wheel presses on something, and with what load. The load is the component
//! along `base_link`'s z axis of the total force of soil, rocks and bodies on the wheel; that is the load normal to the
//! ground where the rover stands parallel to it. A load cell measures it (see `transducer`), and contact means that the
//! cell's output exceeds the threshold.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::non_negative;
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::transducer::TransducerSpec;
use crate::{Sample, SensorQos};

/// A wheel's contact sensor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ContactSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The wheel's link.
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
    #[garde(dive, custom(fits(DataType::Contact, self.rate_hz)))]
    pub stages: Augments,
    /// Errors of the load cell, N.
    #[garde(dive)]
    pub load_n: TransducerSpec,
    /// Measured load above which it reports contact, N, 0 or more.
    #[garde(custom(non_negative))]
    pub threshold_n: f64,
    /// Whether the true contact is published beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// A reading: a wheel's contact and load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contact {
    /// Whether the wheel presses on something.
    pub in_contact: bool,
    /// Load, N.
    pub load_n: f64,
}

impl ContactSpec {
    /// The reading at `sample` for a true load, N; `seed` is the rover's.
    #[must_use]
    pub fn read(&self, load_n: f64, seed: u64, sample: Sample) -> Contact {
        let load_n = self.load_n.measure(load_n, gaussian(&mut stream_at(seed, &self.name, sample.index)));
        Contact { in_contact: load_n > self.threshold_n, load_n }
    }
}

#[cfg(test)]
mod tests {
    use super::ContactSpec;
    use crate::transducer::TransducerSpec;
    use crate::{Sample, SensorQos};
    use selene_base::SimTime;

    fn sensor(noise_sigma: f64) -> ContactSpec {
        ContactSpec {
            name: "contact_fl".into(),
            link: "front_left_wheel".into(),
            rate_hz: 50.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            load_n: TransducerSpec { bias: 0.0, noise_sigma, range: 500.0, resolution: 0.5 },
            threshold_n: 10.0,
            truth: false,
        }
    }

    fn sample(index: u64) -> Sample {
        Sample { index, instant: SimTime::ZERO }
    }

    #[test]
    fn contact_is_what_the_cell_reports_above_the_threshold() {
        let exact = sensor(0.0);
        for (load_n, reported_n, in_contact) in
            [(0.0, 0.0, false), (10.1, 10.0, false), (10.3, 10.5, true), (9e3, 500.0, true)]
        {
            let reported = exact.read(load_n, 1, sample(0));
            assert_eq!((reported.load_n, reported.in_contact), (reported_n, in_contact), "{load_n} N");
        }
    }

    #[test]
    fn noise_at_the_threshold_reports_contact_half_of_the_time() {
        const SAMPLES: u64 = 4000;
        let noisy = ContactSpec { load_n: TransducerSpec { resolution: 0.0, ..sensor(3.0).load_n }, ..sensor(3.0) };
        let reported = (0..SAMPLES).filter(|index| noisy.read(10.0, 5, sample(*index)).in_contact).count();
        // Binomial: one sigma is 31.6; the bound is 4.5 sigma.
        assert!((reported as f64 - 2000.0).abs() < 143.0, "{reported}");
    }
}
