//! Sensors that measure one distance: laser altimeters and rangefinders, ultrasonic cones. The beam is a cone about
//! the x axis of the sensor's frame, traced by several rays (`lidar::divergence`). A ray of weight w that meets a
//! surface of reflectance ρ at range r and incidence angle i returns the signal w ρ cos i / r², as a lidar's does;
//! the unit of signals is the return of a facing surface that fills the beam at `detection_range_m`. Surfaces along
//! the beam that are closer together than `range_resolution_m` give one echo at the mean of their ranges, weighted by
//! their signals. Of the echoes with a signal of at least 1, the sensor reports the nearest or the strongest, with
//! white noise, in whole steps; some samples miss the echo (`dropout_share`).
//!
//! As in REP-117, minus infinity means that something is nearer than `min_range_m`, and infinity that nothing returned
//! from within `max_range_m`. Sound needs air, and all surfaces are equally hard for it; cross-talk, the change of its
//! speed with temperature and side lobes are not modelled. Neither is sunlight.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::{RngExt, stream_at};
use selene_scene::{Beam, BeamReturn, RayOfBeam};
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::lidar::{BeamProfile, DivergenceSpec};
use crate::noise::gaussian;
use crate::spec::{count_within, lag, rate, ros_name};
use crate::{PlacementSpec, Sample, SensorQos};

/// The widest cone allowed, full angle, degrees.
const CONE_MAX_DEG: f64 = 90.0;
/// The largest number of rays of the beam.
const RAYS_MAX: usize = 256;
/// The reflectance for which the `detection_range_m` of light is given.
const REFERENCE_REFLECTANCE: f64 = 0.1;

/// A sensor that measures one distance.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RangeFinderSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in, with the beam along its x axis; with `mount`, the link that carries it.
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
    /// Stages that the distances pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::Range, self.rate_hz)))]
    pub stages: Augments,
    /// Where it sits on that link, with the beam along its own x axis; left out, its frame is the link's.
    #[garde(dive)]
    #[serde(default)]
    pub mount: Option<PlacementSpec>,
    /// Kind of radiation that it emits.
    #[garde(skip)]
    pub radiation: Radiation,
    /// Full angle of the cone, degrees, 0 to 90.
    #[garde(custom(within(0.0, CONE_MAX_DEG)))]
    pub field_of_view_deg: f64,
    /// Rays in the cone, 1 to 256; 1 if `field_of_view_deg` is 0.
    #[garde(custom(ray_count(self.field_of_view_deg)))]
    pub rays: u32,
    /// Intensity profile of the cone: uniform, or Gaussian with 1/e² of the central intensity at the edge.
    #[garde(skip)]
    #[serde(default)]
    pub profile: BeamProfile,
    /// Which of several echoes the sensor reports.
    #[garde(skip)]
    pub tells: EchoChoice,
    /// Least range, m; nearer echoes are reported as minus infinity.
    #[garde(custom(non_negative))]
    pub min_range_m: f64,
    /// Greatest range, m, above `min_range_m`; farther echoes are reported as infinity.
    #[garde(custom(more_than(self.min_range_m)))]
    pub max_range_m: f64,
    /// Range at which a facing surface that fills the beam is just detected, m: of 10 % reflectance for light, a hard
    /// one for sound.
    #[garde(custom(positive))]
    pub detection_range_m: f64,
    /// Wavelength of the light, nm, 550 to 1550; unused for sound.
    #[garde(custom(within(550.0, 1550.0)))]
    #[serde(default = "usual_wavelength_nm")]
    pub wavelength_nm: f64,
    /// Surfaces along the beam that are closer together than this give one echo, m.
    #[garde(custom(positive))]
    pub range_resolution_m: f64,
    /// Constant part of the range's standard deviation, m.
    #[garde(custom(non_negative))]
    pub range_sigma_m: f64,
    /// Part of the standard deviation proportional to the range, as a share of it, 0 to 1; both parts add in squares.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub range_sigma_share: f64,
    /// Resolution: step between reported ranges, m; 0 for no rounding.
    #[garde(custom(non_negative))]
    #[serde(default)]
    pub step_m: f64,
    /// Fraction of the samples in which the echo is missed, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub dropout_share: f64,
    /// Whether the exact distance is published beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// The radiation of a distance sensor, as in `sensor_msgs/Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Radiation {
    /// Sound.
    Ultrasound,
    /// Light.
    Infrared,
}

/// Which of several echoes the sensor reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EchoChoice {
    /// The nearest echo.
    Nearest,
    /// The echo with the strongest signal.
    Strongest,
}

/// The reading of a distance sensor, and that of a perfect one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeReading {
    /// Distance, m; minus infinity if something is too near, infinity if there is no echo.
    pub range_m: f64,
    /// The same without noise, rounding and misses.
    pub true_range_m: f64,
}

/// A distance sensor with the rays of its beam.
#[derive(Clone, Debug)]
pub struct RangeFinder {
    spec: RangeFinderSpec,
    rays: Vec<RayOfBeam>,
}

/// The echo of a surface, or of several close ones.
#[derive(Clone, Copy, Debug)]
struct Echo {
    range_m: f64,
    /// In multiples of the detection threshold.
    signal: f64,
}

impl RangeFinderSpec {
    /// Standard deviation of the measurement of a range `range_m`, m.
    #[must_use]
    pub fn sigma_m(&self, range_m: f64) -> f64 {
        self.range_sigma_m.hypot(self.range_sigma_share * range_m)
    }
}

impl RangeFinder {
    /// The sensor of a spec; computes the rays of its beam.
    #[must_use]
    pub fn new(spec: RangeFinderSpec) -> Self {
        let full_mrad = spec.field_of_view_deg.to_radians() * 1e3;
        let cone = DivergenceSpec {
            horizontal_mrad: full_mrad,
            vertical_mrad: full_mrad,
            samples: spec.rays,
            profile: spec.profile,
        };
        Self { rays: cone.rays(), spec }
    }

    /// The spec that it was made from.
    #[must_use]
    pub fn spec(&self) -> &RangeFinderSpec {
        &self.spec
    }

    /// The rays of the beam of a sensor at this pose in the map frame.
    #[must_use]
    pub fn beams(&self, world_from_sensor: &Pose) -> Vec<Beam> {
        let origin_m = world_from_sensor.translation.vector.into();
        let beam = |ray: &RayOfBeam| {
            let [y, z] = ray.off_axis;
            let direction = world_from_sensor.rotation * Vector3::new(1.0, y, z).normalize();
            Beam::new(origin_m, direction.map(|c| c as f32).into())
        };
        self.rays.iter().map(beam).collect()
    }

    /// The reading at `sample` from the returns of its rays, in the order of `beams`; `seed` is the rover's.
    #[must_use]
    pub fn read(&self, met: &[BeamReturn], seed: u64, sample: Sample) -> RangeReading {
        // The draws come first and in this order, whatever the rays met: a sample's noise does not depend on the scene.
        let mut rng = stream_at(seed, &self.spec.name, sample.index);
        let (is_missed, noise) = (rng.random::<f64>() < self.spec.dropout_share, gaussian(&mut rng));
        let Some(true_m) = self.echo(met).map(|echo| echo.range_m) else {
            return RangeReading { range_m: f64::INFINITY, true_range_m: f64::INFINITY };
        };
        let noisy_m = self.in_steps(true_m + self.spec.sigma_m(true_m) * noise);
        let range_m = if is_missed { f64::INFINITY } else { self.within_limits(noisy_m) };
        RangeReading { range_m, true_range_m: self.within_limits(true_m) }
    }

    /// The echo that the sensor reports, if any.
    fn echo(&self, met: &[BeamReturn]) -> Option<Echo> {
        let mut rays: Vec<Echo> =
            met.iter().zip(&self.rays).filter_map(|(met, ray)| self.ray(met, ray.weight)).collect();
        rays.sort_by(|a, b| a.range_m.total_cmp(&b.range_m));
        let groups = rays.chunk_by(|a, b| b.range_m - a.range_m <= self.spec.range_resolution_m);
        let mut echoes = groups.map(joined).filter(|echo| echo.signal >= 1.0);
        match self.spec.tells {
            EchoChoice::Nearest => echoes.next(),
            EchoChoice::Strongest => echoes.max_by(|a, b| a.signal.total_cmp(&b.signal)),
        }
    }

    /// The echo of one ray; `None` where it meets nothing.
    fn ray(&self, met: &BeamReturn, weight: f64) -> Option<Echo> {
        let range_m = f64::from(met.range_m);
        if !(range_m > 0.0 && range_m.is_finite()) {
            return None;
        }
        let reflected = match self.spec.radiation {
            Radiation::Infrared => met.reflectance_at(self.spec.wavelength_nm) / REFERENCE_REFLECTANCE,
            Radiation::Ultrasound => 1.0,
        };
        let spread = (self.spec.detection_range_m / range_m).powi(2);
        let signal = weight * reflected * f64::from(met.cos_incidence) * spread;
        (signal > 0.0).then_some(Echo { range_m, signal })
    }

    fn in_steps(&self, range_m: f64) -> f64 {
        let step_m = self.spec.step_m;
        if step_m == 0.0 { range_m } else { (range_m / step_m).round() * step_m }
    }

    fn within_limits(&self, range_m: f64) -> f64 {
        if range_m < self.spec.min_range_m {
            f64::NEG_INFINITY
        } else if range_m > self.spec.max_range_m {
            f64::INFINITY
        } else {
            range_m
        }
    }
}

/// Merges the echoes of several rays into one.
fn joined(rays: &[Echo]) -> Echo {
    if let [one] = rays {
        return *one;
    }
    let signal: f64 = rays.iter().map(|ray| ray.signal).sum();
    Echo { range_m: rays.iter().map(|ray| ray.signal * ray.range_m).sum::<f64>() / signal, signal }
}

fn usual_wavelength_nm() -> f64 {
    905.0
}

/// A garde check: a greatest range above `min_range_m`, and finite.
pub(crate) fn more_than(min_range_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |max_range_m, ()| {
        if max_range_m.is_finite() && *max_range_m > min_range_m {
            return Ok(());
        }
        let allowed = format!("must be more than min_range_m ({min_range_m}) and finite");
        Err(garde::Error::new(format!("value {max_range_m} is not allowed: {allowed}")))
    }
}

/// A garde check: the number of rays of a cone of this full angle, degrees.
fn ray_count(cone_deg: f64) -> impl FnOnce(&u32, &()) -> garde::Result {
    move |rays, ()| {
        count_within(1, RAYS_MAX, *rays as usize)?;
        if *rays > 1 && cone_deg == 0.0 {
            let why = "must be 1 where field_of_view_deg is 0: all rays would be one";
            return Err(garde::Error::new(format!("value {rays} is not allowed: {why}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{EchoChoice, Radiation, RangeFinder, RangeFinderSpec};
    use crate::lidar::BeamProfile;
    use crate::{Sample, SensorQos};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::{Pose, SimTime};
    use selene_scene::BeamReturn;
    use std::f64::consts::FRAC_PI_2;

    const SEED: u64 = 11;
    /// Ranges are stored as f32.
    const F32: f64 = 1e-5;

    fn spec() -> RangeFinderSpec {
        RangeFinderSpec {
            name: "altimeter".into(),
            link: "base_link".into(),
            rate_hz: 10.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            mount: None,
            radiation: Radiation::Infrared,
            field_of_view_deg: 0.0,
            rays: 1,
            profile: BeamProfile::Uniform,
            tells: EchoChoice::Nearest,
            min_range_m: 0.1,
            max_range_m: 100.0,
            detection_range_m: 100.0,
            wavelength_nm: 905.0,
            range_resolution_m: 0.05,
            range_sigma_m: 0.0,
            range_sigma_share: 0.0,
            step_m: 0.0,
            dropout_share: 0.0,
            truth: false,
        }
    }

    fn sample(index: u64) -> Sample {
        Sample { index, instant: SimTime::ZERO }
    }

    fn met(range_m: f64, reflectance: f32, cos_incidence: f64) -> BeamReturn {
        BeamReturn {
            range_m: range_m as f32,
            cos_incidence: cos_incidence as f32,
            reflectance,
            near_infrared: [reflectance; 2],
            radar: None,
            class: 1,
            instance: 0,
        }
    }

    /// The reading from `height_m` over level ground, looking down with a tilt.
    fn over_ground(finder: &RangeFinder, height_m: f64, tilt_rad: f64) -> f64 {
        let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), FRAC_PI_2 - tilt_rad);
        let beams = finder.beams(&Pose::from_parts(Vector3::new(0.0, 0.0, height_m).into(), turn));
        let on_plane = |beam: &selene_scene::Beam| {
            let down = -f64::from(beam.direction[2]);
            if down > 0.0 { met(height_m / down, 0.5, down) } else { BeamReturn::NONE }
        };
        finder.read(&beams.iter().map(on_plane).collect::<Vec<_>>(), SEED, sample(0)).range_m
    }

    #[test]
    fn over_a_plane_a_thin_beam_reports_the_height_over_the_cosine_of_the_tilt() {
        let finder = RangeFinder::new(spec());
        for tilt_deg in [0.0_f64, 5.0, 20.0, 45.0] {
            let (got, tilt) = (over_ground(&finder, 8.0, tilt_deg.to_radians()), tilt_deg.to_radians());
            assert!((got - 8.0 / tilt.cos()).abs() < F32 * 20.0, "{tilt_deg}°: {got}");
        }
    }

    #[test]
    fn a_cone_that_gives_the_nearest_reaches_back_by_the_tilt_of_its_outermost_ray() {
        let cone = RangeFinderSpec { field_of_view_deg: 30.0, rays: 25, range_resolution_m: 1e-4, ..spec() };
        let finder = RangeFinder::new(cone);
        // 25 rays: the axis and two rings. The rays of the outer ring are at 2/2.5 of the half-angle's tangent; one of
        // its sixteen
        // rays is in the plane of the tilt.
        let inner = (0.8 * 15.0_f64.to_radians().tan()).atan();
        let tilt = 40.0_f64.to_radians();
        let got = over_ground(&finder, 3.0, tilt);
        assert!((got - 3.0 / (tilt - inner).cos()).abs() < 1e-3, "{got}");
    }

    #[test]
    fn the_nearest_or_the_strongest_of_two_echoes_is_reported() {
        let two = |tells| {
            let cone = RangeFinderSpec { field_of_view_deg: 2.0, rays: 9, tells, ..spec() };
            // One ray in nine meets a twig, the others a wall.
            let mut rays = vec![met(6.0, 0.5, 1.0); 9];
            rays[4] = met(2.0, 0.1, 1.0);
            RangeFinder::new(cone).read(&rays, SEED, sample(0)).range_m
        };
        assert!((two(EchoChoice::Nearest) - 2.0).abs() < F32);
        // 8/9 · 5/36 of the wall against 1/9 · 1/4 of the twig.
        assert!((two(EchoChoice::Strongest) - 6.0).abs() < F32);
    }

    #[test]
    fn a_target_of_ten_percent_is_lost_just_beyond_the_detection_range() {
        let finder = RangeFinder::new(RangeFinderSpec { detection_range_m: 40.0, ..spec() });
        let at = |range_m, reflectance, cos| finder.read(&[met(range_m, reflectance, cos)], SEED, sample(0)).range_m;
        assert!(at(39.9, 0.1, 1.0).is_finite() && at(40.1, 0.1, 1.0) == f64::INFINITY);
        // Four times the reflectance reaches twice as far, a slant of 60° √½ as far.
        assert!(at(79.9, 0.4, 1.0).is_finite() && at(80.1, 0.4, 1.0) == f64::INFINITY);
        assert!(at(28.2, 0.1, 0.5).is_finite() && at(28.4, 0.1, 0.5) == f64::INFINITY);
    }

    #[test]
    fn what_is_too_near_too_far_or_not_there_is_reported_as_rep_117_has_it() {
        let finder = RangeFinder::new(RangeFinderSpec { detection_range_m: 1e3, ..spec() });
        let at = |range_m| finder.read(&[met(range_m, 0.5, 1.0)], SEED, sample(0)).range_m;
        assert_eq!([at(0.05), at(150.0)], [f64::NEG_INFINITY, f64::INFINITY]);
        assert_eq!(finder.read(&[BeamReturn::NONE], SEED, sample(0)).true_range_m, f64::INFINITY);
    }

    #[test]
    fn ranges_scatter_and_go_missing_as_configured_and_the_truth_stays() {
        const SAMPLES: u64 = 20_000;
        let noisy = RangeFinderSpec { range_sigma_m: 0.03, range_sigma_share: 0.004, dropout_share: 0.1, ..spec() };
        let finder = RangeFinder::new(noisy);
        let read = |index| finder.read(&[met(10.0, 0.5, 1.0)], SEED, sample(index));
        let reported: Vec<f64> = (0..SAMPLES).map(|i| read(i).range_m).filter(|range| range.is_finite()).collect();
        let missed = 1.0 - reported.len() as f64 / SAMPLES as f64;
        // A fraction of 0.1 has the standard deviation √(0.1 · 0.9/20 000) = 0.0021.
        assert!((missed - 0.1).abs() < 0.009, "{missed}");
        let mean = reported.iter().sum::<f64>() / reported.len() as f64;
        let variance = reported.iter().map(|range| (range - mean).powi(2)).sum::<f64>() / reported.len() as f64;
        // 3 cm and 4 cm add to 5 cm in squares. A variance of 18 000 samples has a standard deviation of 1.05 %.
        assert!((variance / 0.0025 - 1.0).abs() < 0.05 && (mean - 10.0).abs() < 0.002, "{variance}, {mean}");
        assert!((read(7).true_range_m - 10.0).abs() < F32);
        assert_eq!(read(7), read(7));
    }

    #[test]
    fn ranges_are_reported_in_whole_steps() {
        let finder = RangeFinder::new(RangeFinderSpec { step_m: 0.1, ..spec() });
        let got = finder.read(&[met(7.34, 0.5, 1.0)], SEED, sample(0)).range_m;
        assert!((got - 7.3).abs() < 1e-9, "{got}");
    }
}
