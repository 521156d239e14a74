//! A receiver of position fixes: latitude, longitude and altitude of an antenna, and its velocity.
//!
//! The place is the mean over the collection window that ends at the stamp (SENSOR §3.3), in the site's map frame: a
//! plane that touches the Moon (x east, y north, z up). So along that plane altitude grows with the square of the
//! distance from the map's origin (0.29 m at 1 km), as along any straight line over a round Moon. White noise and a
//! slow drift are added to it, in metres east, north and up; the drift is first-order Gauss–Markov on each axis
//! (`process`), like the errors that orbits and clocks of a navigation service leave. The velocity has white noise
//! only.
//!
//! During outages of the service (`outages`), fixes continue without a place, as the drivers of receivers publish them.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::stream_at;
use selene_dem::MapFrame;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::figure::{Coordinates, ReferenceFigure};
use crate::noise::gaussian3;
use crate::outages::OutageSpec;
use crate::process::{Law, Process};
use crate::spec::{lag, rate, ros_name, schedule};
use crate::{PlacementSpec, Sample, Schedule, SensorQos};

/// The longest collection window allowed, s.
const WINDOW_MAX_S: f64 = 10.0;

/// A receiver of position fixes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PositionSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame whose origin is the antenna.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link; left out, its frame is the link's.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
    /// Rate of fixes, Hz.
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
    #[garde(dive, custom(fits(DataType::Position, self.rate_hz)))]
    pub stages: Augments,
    /// Whether the truth is published beside its readings.
    #[serde(default)]
    #[garde(skip)]
    pub truth: bool,
    /// Standard deviation of the white noise to the east and to the north, each, m.
    #[garde(custom(non_negative))]
    pub horizontal_sigma_m: f64,
    /// Standard deviation of the white noise upward, m.
    #[garde(custom(non_negative))]
    pub vertical_sigma_m: f64,
    /// The body whose coordinates it reports; the Moon when left out.
    #[garde(skip)]
    #[serde(default)]
    pub figure: ReferenceFigure,
    /// Time over which a fix is averaged, up to the stamp, s; an instant when left out.
    #[garde(custom(within(0.0, WINDOW_MAX_S)))]
    #[serde(default)]
    pub window_s: f64,
    /// Slow error of the place; none when left out.
    #[garde(dive)]
    #[serde(default)]
    pub drift: Option<PositionDriftSpec>,
    /// Publishes the velocity beside the place, with this noise; not published when left out.
    #[garde(dive)]
    #[serde(default)]
    pub velocity: Option<VelocitySpec>,
    /// Outages of the service; none when left out.
    #[garde(dive)]
    #[serde(default)]
    pub outages: OutageSpec,
}

/// A slow error of the place: one Gauss–Markov process per axis.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PositionDriftSpec {
    /// Standard deviation to the east and to the north, each, m.
    #[garde(custom(non_negative))]
    pub horizontal_sigma_m: f64,
    /// Standard deviation upward, m.
    #[garde(custom(non_negative))]
    pub vertical_sigma_m: f64,
    /// Correlation time, s.
    #[garde(custom(positive))]
    pub time_s: f64,
}

/// White noise of the velocity.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct VelocitySpec {
    /// Standard deviation to the east and to the north, each, m/s.
    #[garde(custom(non_negative))]
    pub horizontal_sigma_m_s: f64,
    /// Standard deviation upward, m/s.
    #[garde(custom(non_negative))]
    pub vertical_sigma_m_s: f64,
}

/// One fix of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Where; none without service.
    pub place: Option<Coordinates>,
    /// East, north, up, row by row, m².
    pub covariance_m2: [f64; 9],
    /// Velocity to the east, north and up, m/s; none without service or where it is not asked for.
    pub velocity_m_s: Option<Vector3<f64>>,
}

/// How an antenna moves, in the map frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AntennaMotion {
    /// Its mean place in the collection window, m.
    pub place_m: Vector3<f64>,
    /// Its velocity, m/s.
    pub velocity_m_s: Vector3<f64>,
}

impl PositionSpec {
    /// Sampling schedule, from the start of the scenario.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        schedule(self.rate_hz, self.lag_s)
    }

    /// The fix of `sample`; `seed` is the scenario's.
    #[must_use]
    pub fn fix(&self, map: &MapFrame, antenna: &AntennaMotion, seed: u64, sample: Sample) -> Fix {
        let is_out = self.outages.is_out(sample.instant, seed, &self.name);
        let place_m = antenna.place_m + self.error_m(seed, sample);
        let velocity = self.velocity.map(|spec| antenna.velocity_m_s + spec.noise_m_s(&self.name, seed, sample));
        Fix {
            place: (!is_out).then(|| self.figure.coordinates(map, place_m)),
            covariance_m2: self.covariance_m2(),
            velocity_m_s: velocity.filter(|_| !is_out),
        }
    }

    /// The fix of a perfect receiver without outages.
    #[must_use]
    pub fn exact(&self, map: &MapFrame, antenna: &AntennaMotion) -> Fix {
        Fix {
            place: Some(self.figure.coordinates(map, antenna.place_m)),
            covariance_m2: [0.0; 9],
            velocity_m_s: self.velocity.map(|_| antenna.velocity_m_s),
        }
    }

    /// Noise and drift of `sample`, east, north and up, m.
    fn error_m(&self, seed: u64, sample: Sample) -> Vector3<f64> {
        let white = gaussian3(&mut stream_at(seed, &self.name, sample.index));
        let white_m = axes(self.horizontal_sigma_m, self.vertical_sigma_m).component_mul(&white);
        white_m + self.drift.map_or_else(Vector3::zeros, |drift| self.drift_m(&drift, seed, sample))
    }

    fn drift_m(&self, drift: &PositionDriftSpec, seed: u64, sample: Sample) -> Vector3<f64> {
        let law = Law::GaussMarkov { time_steps: drift.time_s * self.rate_hz };
        let unit = Process::new(law, seed, format!("{}/drift", self.name)).at(sample.index);
        axes(drift.horizontal_sigma_m, drift.vertical_sigma_m).component_mul(&unit)
    }

    /// Covariance of noise and drift together, row by row, m²: a receiver cannot separate them.
    fn covariance_m2(&self) -> [f64; 9] {
        let drift = self.drift.map_or([0.0; 2], |drift| [drift.horizontal_sigma_m, drift.vertical_sigma_m]);
        let horizontal = self.horizontal_sigma_m.powi(2) + drift[0].powi(2);
        let vertical = self.vertical_sigma_m.powi(2) + drift[1].powi(2);
        [horizontal, 0.0, 0.0, 0.0, horizontal, 0.0, 0.0, 0.0, vertical]
    }
}

impl VelocitySpec {
    fn noise_m_s(&self, name: &str, seed: u64, sample: Sample) -> Vector3<f64> {
        let white = gaussian3(&mut stream_at(seed, &format!("{name}/velocity"), sample.index));
        axes(self.horizontal_sigma_m_s, self.vertical_sigma_m_s).component_mul(&white)
    }
}

fn axes(horizontal: f64, vertical: f64) -> Vector3<f64> {
    Vector3::new(horizontal, horizontal, vertical)
}

#[cfg(test)]
mod tests {
    use super::{AntennaMotion, OutageSpec, PositionDriftSpec, PositionSpec, ReferenceFigure, VelocitySpec};
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::{MOON_RADIUS_M, SimTime};
    use selene_dem::{GeoPoint, MapFrame};

    fn receiver(horizontal_sigma_m: f64, vertical_sigma_m: f64) -> PositionSpec {
        PositionSpec {
            name: "gps".into(),
            link: "gps_link".into(),
            mount: None,
            rate_hz: 5.0,
            lag_s: 0.0,
            qos: SensorQos::Reliable,
            stages: crate::Augments::default(),
            truth: false,
            horizontal_sigma_m,
            vertical_sigma_m,
            figure: ReferenceFigure::Moon,
            window_s: 0.0,
            drift: None,
            velocity: None,
            outages: OutageSpec::default(),
        }
    }

    fn standing(place_m: Vector3<f64>) -> AntennaMotion {
        AntennaMotion { place_m, velocity_m_s: Vector3::zeros() }
    }

    fn sample(index: u64) -> Sample {
        Sample { index, instant: SimTime::from_nanos(200_000_000 * index as i64) }
    }

    /// Errors of fixes on the map, m.
    fn errors_m(gps: &PositionSpec, seed: u64, indices: impl Iterator<Item = u64>) -> Vec<Vector3<f64>> {
        let (map, place) = (MapFrame::new(-85.0, 31.0, 0.0), Vector3::new(5.0, 6.0, 7.0));
        let error = |index| {
            let found = gps.fix(&map, &standing(place), seed, sample(index)).place.expect("service");
            let point = GeoPoint::from_degrees(found.latitude_deg, found.longitude_deg);
            Vector3::from(map.to_map(&GeoPoint { height_m: found.altitude_m, ..point })) - place
        };
        indices.map(error).collect()
    }

    #[test]
    fn a_kilometre_north_is_a_known_arc_and_a_little_higher() {
        let exact = receiver(0.0, 0.0);
        let fix = exact.fix(&MapFrame::new(26.0, 3.0, 0.0), &standing(Vector3::y() * 1000.0), 1, sample(0));
        let place = fix.place.expect("service");
        let arc_deg = (1000.0 / MOON_RADIUS_M).atan().to_degrees();
        assert!((place.latitude_deg - 26.0 - arc_deg).abs() < 1e-10 && (place.longitude_deg - 3.0).abs() < 1e-10);
        assert!((place.altitude_m - 1000.0_f64.powi(2) / (2.0 * MOON_RADIUS_M)).abs() < 1e-3);
    }

    #[test]
    fn fixes_scatter_as_their_covariance_says() {
        const TOLERANCE: f64 = 0.11; // of the variance, from 4000 fixes: one sigma is 2.2 %
        let gps = receiver(0.5, 1.5);
        let errors = errors_m(&gps, 1, 0..4000);
        for axis in 0..3 {
            let variance = errors.iter().map(|error| error[axis].powi(2)).sum::<f64>() / errors.len() as f64;
            let expected = gps.covariance_m2()[4 * axis];
            assert!((variance / expected - 1.0).abs() < TOLERANCE, "axis {axis}: {variance}, not {expected}");
        }
    }

    #[test]
    fn drift_is_in_the_covariance_and_forgets_with_its_time() {
        // 2000 seeds; a product of two unit Gaussians scatters by sqrt 2 at most: one sigma is 3.2 %; five sigma.
        const TOLERANCE: f64 = 0.16;
        let drift = PositionDriftSpec { horizontal_sigma_m: 3.0, vertical_sigma_m: 8.0, time_s: 60.0 };
        let gps = PositionSpec { drift: Some(drift), ..receiver(0.0, 0.0) };
        let pairs: Vec<_> = (0..2000).map(|seed| errors_m(&gps, seed, [100, 250].into_iter())).collect();
        for axis in 0..3 {
            let of = |pick: fn(&[Vector3<f64>], usize) -> f64| {
                pairs.iter().map(|pair| pick(pair, axis)).sum::<f64>()
                    / pairs.len() as f64
                    / gps.covariance_m2()[4 * axis]
            };
            let variance = of(|pair, axis| pair[1][axis].powi(2));
            assert!((variance - 1.0).abs() < TOLERANCE, "axis {axis}: {variance}");
            // 150 fixes at 5 Hz are half of the correlation time.
            let kept = of(|pair, axis| pair[0][axis] * pair[1][axis]);
            assert!((kept - (-0.5_f64).exp()).abs() < TOLERANCE, "axis {axis}: {kept}");
        }
    }

    #[test]
    fn without_service_there_is_neither_place_nor_velocity() {
        let velocity = VelocitySpec { horizontal_sigma_m_s: 0.1, vertical_sigma_m_s: 0.2 };
        let outages = OutageSpec { windows_s: vec![[1.0, 2.0]], random: None };
        let gps = PositionSpec { velocity: Some(velocity), outages, ..receiver(1.0, 1.0) };
        let map = MapFrame::new(0.0, 0.0, 0.0);
        let has = |index| {
            let fix = gps.fix(&map, &standing(Vector3::zeros()), 1, sample(index));
            (fix.place.is_some(), fix.velocity_m_s.is_some())
        };
        assert_eq!([4, 5, 9, 10].map(has), [(true, true), (false, false), (false, false), (true, true)]);
    }

    #[test]
    fn velocities_scatter_about_the_true_one() {
        // The mean of 4000 lies within five standard errors; the variances within the same tolerance as above.
        let spec = VelocitySpec { horizontal_sigma_m_s: 0.05, vertical_sigma_m_s: 0.1 };
        let gps = PositionSpec { velocity: Some(spec), ..receiver(1.0, 1.0) };
        let map = MapFrame::new(0.0, 0.0, 0.0);
        let motion = AntennaMotion { place_m: Vector3::zeros(), velocity_m_s: Vector3::new(0.2, -0.1, 0.05) };
        let n = 4000;
        let errors: Vec<_> = (0..n)
            .map(|index| {
                gps.fix(&map, &motion, 3, sample(index)).velocity_m_s.expect("requested") - motion.velocity_m_s
            })
            .collect();
        for (axis, sigma) in [0.05, 0.05, 0.1].into_iter().enumerate() {
            let mean = errors.iter().map(|error| error[axis]).sum::<f64>() / n as f64;
            let variance = errors.iter().map(|error| error[axis].powi(2)).sum::<f64>() / n as f64;
            assert!(mean.abs() < 5.0 * sigma / (n as f64).sqrt(), "axis {axis}: mean {mean}");
            assert!((variance / (sigma * sigma) - 1.0).abs() < 0.11, "axis {axis}: variance {variance}");
        }
    }
}
