//! A simple model of a plate's temperature: it approaches T_dark + (T_sun − T_dark) · max(0, cos i) with one time
//! constant, where i is the angle from the plate's normal (its link's z axis) to the Sun. Shadows, the ground's heat
//! and the rover's interior are left out: this is test telemetry, not a thermal model.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime};
use serde::Deserialize;

use super::{BodyHeartbeat, BodyReading, BodySample};
use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::{PlacementSpec, Sample, SensorQos};

/// The lowest and highest temperatures allowed, °C.
const RANGE_C: [f64; 2] = [-273.15, 1000.0];

/// A thermometer on a plate.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TemperatureSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link whose z axis is the plate's normal.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where the plate sits on that link; left out, its frame is the link's.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
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
    #[garde(dive, custom(fits(DataType::Temperature, self.rate_hz)))]
    pub stages: Augments,
    /// Temperature at the start, °C.
    #[garde(custom(within(RANGE_C[0], RANGE_C[1])))]
    pub initial_c: f64,
    /// Equilibrium temperature with the Sun behind the plate, °C.
    #[garde(custom(within(RANGE_C[0], RANGE_C[1])))]
    pub dark_c: f64,
    /// Equilibrium temperature with the Sun along the plate's normal, °C.
    #[garde(custom(within(RANGE_C[0], RANGE_C[1])))]
    pub sunlit_c: f64,
    /// Time constant, s.
    #[garde(custom(positive))]
    pub time_constant_s: f64,
    /// Standard deviation of the white noise, °C.
    #[garde(custom(non_negative))]
    #[serde(default)]
    pub white_sigma_c: f64,
    /// Whether the truth is published beside its readings.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// A thermometer on a rover's link.
#[derive(Clone, Debug)]
pub(super) struct Thermometer {
    spec: TemperatureSpec,
    link: usize,
    seed: u64,
}

impl Thermometer {
    pub(super) fn new(spec: TemperatureSpec, link: usize, seed: u64) -> Self {
        Self { spec, link, seed }
    }

    pub(super) fn take(
        &self,
        known: Option<&[f64]>,
        beat: &BodyHeartbeat,
        samples: impl Iterator<Item = Sample>,
        mut reported: impl FnMut(BodySample),
    ) -> Vec<f64> {
        let at_start_c = known.and_then(remembered).unwrap_or(self.spec.initial_c);
        let tends_to_c = self.tends_to_c(beat);
        let after = |until: SimTime| {
            let kept = (-(until - beat.from).secs_f64().max(0.0) / self.spec.time_constant_s).exp();
            tends_to_c + (at_start_c - tends_to_c) * kept
        };
        for sample in samples {
            let truth_c = after(sample.instant);
            let noise = gaussian(&mut stream_at(self.seed, &self.spec.name, sample.index));
            reported(BodySample {
                sample,
                reported: BodyReading::Temperature(truth_c + self.spec.white_sigma_c * noise),
                truth: Some(BodyReading::Temperature(truth_c)),
            });
        }
        vec![after(beat.until)]
    }

    fn tends_to_c(&self, beat: &BodyHeartbeat) -> f64 {
        let world_from_plate = beat.now.world_from_links.get(self.link).copied().unwrap_or_else(Pose::identity);
        let incidence = (world_from_plate.rotation * Vector3::z()).dot(&beat.sun).max(0.0);
        self.spec.dark_c + (self.spec.sunlit_c - self.spec.dark_c) * incidence
    }
}

fn remembered(numbers: &[f64]) -> Option<f64> {
    let &[celsius] = numbers else { return None };
    Some(celsius)
}

#[cfg(test)]
mod tests {
    use super::{TemperatureSpec, Thermometer};
    use crate::body::{BodyHeartbeat, BodyReading, Posture};
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::{Pose, SimTime};
    use std::f64::consts::FRAC_PI_3;

    /// Temperature after this many heartbeats of one second under a Sun at the zenith, with the plate tilted.
    fn after(beats: u64, tilt_rad: f64) -> f64 {
        let spec = TemperatureSpec {
            name: "deck".into(),
            link: "deck".into(),
            mount: None,
            rate_hz: 1.0,
            lag_s: 0.0,
            qos: SensorQos::Reliable,
            stages: crate::Augments::default(),
            initial_c: 20.0,
            dark_c: -100.0,
            sunlit_c: 60.0,
            time_constant_s: 500.0,
            white_sigma_c: 0.0,
            truth: false,
        };
        let (thermometer, links) = (Thermometer::new(spec, 0, 1), [Pose::rotation(Vector3::x() * tilt_rad)]);
        let (mut numbers, mut last) = (None, f64::NAN);
        for index in 1..=beats {
            let [from, until] = [index - 1, index].map(|at| SimTime::from_nanos(1_000_000_000 * at as i64));
            let body = Posture { world_from_links: &links, position: &[], velocity: &[], effort: &[] };
            let beat = BodyHeartbeat { after: from, from, until, before: body, now: body, sun: Vector3::z() };
            let sample = std::iter::once(Sample { index, instant: until });
            let next = thermometer.take(numbers.as_deref(), &beat, sample, |read| {
                if let BodyReading::Temperature(celsius) = read.reported {
                    last = celsius;
                }
            });
            numbers = Some(next);
        }
        last
    }

    #[test]
    fn it_tends_to_what_the_suns_incidence_says_with_its_time_constant() {
        for (tilt_rad, end_c) in [(0.0, 60.0), (FRAC_PI_3, -20.0), (2.0, -100.0)] {
            let expected = end_c + (20.0 - end_c) * (-1.0_f64).exp();
            let found = after(500, tilt_rad);
            assert!((found - expected).abs() < 1e-6, "tilted by {tilt_rad}: {found}, not {expected}");
        }
    }
}
