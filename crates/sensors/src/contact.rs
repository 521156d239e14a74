//! A contact sensor in a wheel: whether the wheel bears on something, and with what load. The load is the part
//! along `base_link`'s z axis of the force that soil, rocks and bodies together exert on the wheel; that is the
//! load normal to the ground where the rover stands parallel to it. A load cell tells it (see `transducer`), and
//! contact is what exceeds the threshold, by a comparator behind the same cell.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::non_negative;
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, Datum, fits};
use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::transducer::TransducerSpec;
use crate::{Sample, SensorQos};

/// A wheel's contact sensor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ContactSpec {
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The wheel's link.
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
    #[garde(dive, custom(fits(Datum::Contact, self.rate_hz)))]
    pub stages: Augments,
    /// The load cell, N.
    #[garde(dive)]
    pub load_n: TransducerSpec,
    /// The load that it tells above which it tells contact, N, 0 or more.
    #[garde(custom(non_negative))]
    pub threshold_n: f64,
    /// Whether the true contact is told beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// A wheel's contact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contact {
    /// Whether it bears on something.
    pub in_contact: bool,
    /// With what load, N.
    pub load_n: f64,
}

impl ContactSpec {
    /// What it tells at `sample` of a true load; `seed` is the rover's.
    #[must_use]
    pub fn read(&self, load_n: f64, seed: u64, sample: Sample) -> Contact {
        let load_n = self.load_n.tell(load_n, gaussian(&mut stream_at(seed, &self.name, sample.index)));
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
    fn contact_is_what_the_cell_tells_above_the_threshold() {
        let exact = sensor(0.0);
        for (load_n, told_n, in_contact) in
            [(0.0, 0.0, false), (10.1, 10.0, false), (10.3, 10.5, true), (9e3, 500.0, true)]
        {
            let told = exact.read(load_n, 1, sample(0));
            assert_eq!((told.load_n, told.in_contact), (told_n, in_contact), "{load_n} N");
        }
    }

    #[test]
    fn noise_at_the_threshold_tells_contact_half_of_the_time() {
        const SAMPLES: u64 = 4000;
        let noisy = ContactSpec { load_n: TransducerSpec { resolution: 0.0, ..sensor(3.0).load_n }, ..sensor(3.0) };
        let told = (0..SAMPLES).filter(|index| noisy.read(10.0, 5, sample(*index)).in_contact).count();
        // Binomial: one sigma is 31.6; 4.5 of them.
        assert!((told as f64 - 2000.0).abs() < 143.0, "{told}");
    }
}
