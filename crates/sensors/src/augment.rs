//! The row of stages between a sensor's model and its topics (SENSOR Fig. 3: data augmentation and data access). The
//! model generates a datum of one type; each stage takes a type and gives one; what the last one gives is published.
//!
//! | stage | takes | does |
//! | --- | --- | --- |
//! | `noise` | what has quantities (`Datum::quantities`) | adds N(0, σ²) to each of their numbers |
//! | `crop` | an image, a point cloud | keeps a rectangle, a box, a span of ranges |
//! | `convert` | an image | gives it another encoding |
//! | `lag` | any | hands the datum over so much later; the stamp stays |
//! | `rate_jitter` | any | hands it over, or measures it, up to so much later still, uniformly; the stamp is the measurement's |
//! | `drop_out` | any | loses it with a probability |
//! | `decimate` | any | keeps the first of every so many |
//! | `own` | any | has another process change it |
//!
//! Lags of a row add to the sensor's `lag_s`. Noise, jitter and loss are drawn from (seed, sensor's name, place in the
//! row, number of the sample), so a stage changes no other sensor's data, and no other sample's. What a row leaves out
//! is known from the sample's number alone: wherever in the row that is, no other stage is asked for the sample.

use std::collections::BTreeSet;
use std::fmt;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite_array, non_negative, positive, within};
use selene_base::random::{RngExt, Stream, stream, stream_at};
use selene_base::{SimTime, one_of};
use serde::Deserialize;

use crate::Schedule;
use crate::noise::gaussian;
use crate::spec::{LAG_MAX_S, PIXELS_MAX, count_within, lag, pixels, ros_name};

/// Stages of one row at most.
const STAGES_MAX: usize = 16;
/// The most samples of which `decimate` keeps one.
const EVERY_MAX: usize = 1_000_000;
/// The longest wall time that an answer of another process is waited for, s.
const TIMEOUT_MAX_S: f64 = 3600.0;

/// What a sensor gives, and what a stage takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datum {
    /// An image of this encoding.
    Image(&'static str),
    /// Points of a scan.
    PointCloud,
    /// Turn rate and specific force.
    Imu,
    /// A fix and perhaps a velocity.
    Position,
    /// A magnetic field.
    MagneticField,
    /// Two angles.
    Tilt,
    /// Positions, rates or efforts of joints.
    Joints,
    /// A pose and a twist.
    Odometry,
    /// What a battery tells.
    Battery,
    /// One number.
    Temperature,
    /// A unit vector.
    Direction,
    /// A rotation.
    Attitude,
    /// Touch and load.
    Contact,
    /// A force and a torque.
    Wrench,
    /// What a radar detected.
    RadarScan,
    /// Images of depth, amplitude and intensity.
    DepthImages,
    /// One distance.
    Range,
}

impl Datum {
    /// The quantities to which `noise` adds, each with its unit; none where it does not.
    #[must_use]
    pub fn quantities(self) -> &'static [&'static str] {
        match self {
            Self::Imu => &["angular velocity, rad/s", "specific force, m/s²"],
            Self::MagneticField => &["field, T"],
            Self::Tilt => &["angles, rad"],
            Self::Temperature => &["temperature, °C"],
            Self::Wrench => &["force, N", "torque, N m"],
            Self::Image(_)
            | Self::PointCloud
            | Self::Position
            | Self::Joints
            | Self::Odometry
            | Self::Battery
            | Self::Direction
            | Self::Attitude
            | Self::Contact
            | Self::RadarScan
            | Self::DepthImages
            | Self::Range => &[],
        }
    }

    /// The stages that it can have, for people to read.
    fn stages(self) -> String {
        let typed: &[&str] = match self {
            Self::Image(_) => &["crop", "convert"],
            Self::PointCloud => &["crop"],
            _ if self.quantities().is_empty() => &[],
            _ => &["noise"],
        };
        let any = ["lag", "rate_jitter", "drop_out", "decimate", "own"];
        typed.iter().copied().chain(any).collect::<Vec<_>>().join(", ")
    }

    /// Whether what another process makes of it is understood, so that stages can follow.
    fn comes_back(self) -> bool {
        matches!(self, Self::Image(_) | Self::PointCloud)
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(encoding) => write!(f, "an image ({encoding})"),
            Self::PointCloud => f.write_str("a point cloud"),
            Self::Imu => f.write_str("an inertial sample"),
            Self::Position => f.write_str("a position fix"),
            Self::MagneticField => f.write_str("a magnetic field"),
            Self::Tilt => f.write_str("a tilt"),
            Self::Joints => f.write_str("joint readings"),
            Self::Odometry => f.write_str("an odometry"),
            Self::Battery => f.write_str("a battery's state"),
            Self::Temperature => f.write_str("a temperature"),
            Self::Direction => f.write_str("a direction"),
            Self::Attitude => f.write_str("an attitude"),
            Self::Contact => f.write_str("a contact"),
            Self::Wrench => f.write_str("a wrench"),
            Self::RadarScan => f.write_str("a radar scan"),
            Self::DepthImages => f.write_str("depth images"),
            Self::Range => f.write_str("a distance"),
        }
    }
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "AugmentKeys")]
pub enum AugmentSpec {
    /// White noise.
    Noise(WhiteNoiseSpec),
    /// A part of an image or a cloud.
    Crop(CropSpec),
    /// Another encoding.
    Convert(ConvertSpec),
    /// A later hand-over.
    Lag(LagSpec),
    /// Hand-overs that are not evenly spaced.
    RateJitter(RateJitterSpec),
    /// Data that are lost.
    DropOut(DropOutSpec),
    /// A lower rate.
    Decimate(DecimateSpec),
    /// A stage of another process.
    Own(OwnTopicSpec),
}

/// A stage as the file has it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AugmentKeys {
    noise: Option<WhiteNoiseSpec>,
    crop: Option<CropSpec>,
    convert: Option<ConvertSpec>,
    lag: Option<LagSpec>,
    rate_jitter: Option<RateJitterSpec>,
    drop_out: Option<DropOutSpec>,
    decimate: Option<DecimateSpec>,
    own: Option<OwnTopicSpec>,
}

impl TryFrom<AugmentKeys> for AugmentSpec {
    type Error = String;

    fn try_from(keys: AugmentKeys) -> Result<Self, String> {
        let stage = one_of([
            ("noise", keys.noise.map(Self::Noise)),
            ("crop", keys.crop.map(Self::Crop)),
            ("convert", keys.convert.map(Self::Convert)),
            ("lag", keys.lag.map(Self::Lag)),
            ("rate_jitter", keys.rate_jitter.map(Self::RateJitter)),
            ("drop_out", keys.drop_out.map(Self::DropOut)),
            ("decimate", keys.decimate.map(Self::Decimate)),
            ("own", keys.own.map(Self::Own)),
        ]);
        stage.map_err(|refusal| format!("{refusal}, with its keys"))
    }
}

/// `noise`: white, beside that of the sensor's own model.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WhiteNoiseSpec {
    /// Standard deviation, one for each quantity of the datum, in its SI unit.
    #[garde(length(min = 1, max = 2), inner(custom(positive)))]
    pub sigma: Vec<f64>,
}

/// `crop`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CropSpec {
    /// The rectangle of an image that is kept.
    #[serde(default)]
    #[garde(dive)]
    pub region_px: Option<RegionSpec>,
    /// Two corners, m, in the frame of a cloud: points between them are kept.
    #[serde(default)]
    #[garde(inner(custom(corners)))]
    pub box_m: Option<[[f64; 3]; 2]>,
    /// The nearest and the farthest point of a cloud that are kept, m from its frame's origin.
    #[serde(default)]
    #[garde(inner(custom(span)))]
    pub range_m: Option<[f64; 2]>,
}

/// A rectangle of an image, as `sensor_msgs/RegionOfInterest` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RegionSpec {
    /// Its first column.
    #[garde(custom(offset))]
    pub x_offset: u32,
    /// Its first row.
    #[garde(custom(offset))]
    pub y_offset: u32,
    /// Columns.
    #[garde(custom(pixels))]
    pub width: u32,
    /// Rows.
    #[garde(custom(pixels))]
    pub height: u32,
}

/// `convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ConvertSpec {
    /// The encoding that comes out.
    #[garde(skip)]
    pub to: PixelFormat,
}

/// An encoding of one byte a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PixelFormat {
    /// Grey.
    Mono8,
    /// Red, green, blue.
    Rgb8,
    /// Blue, green, red.
    Bgr8,
}

impl PixelFormat {
    const ALL: [Self; 3] = [Self::Mono8, Self::Rgb8, Self::Bgr8];

    /// The name that `sensor_msgs/Image` gives it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mono8 => "mono8",
            Self::Rgb8 => "rgb8",
            Self::Bgr8 => "bgr8",
        }
    }

    /// Bytes of one pixel.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Mono8 => 1,
            Self::Rgb8 | Self::Bgr8 => 3,
        }
    }

    /// That of an encoding's name; none for those that are not converted.
    #[must_use]
    pub fn of(encoding: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == encoding)
    }
}

/// `lag`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LagSpec {
    /// How much later, s.
    #[garde(custom(lag))]
    pub by_s: f64,
}

/// `rate_jitter`: of the hand-over or of the measurement. Data stay in their order.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RateJitterSpec {
    /// How much later at most, s; all of a row not more than a sample's period, and of measurements half of it.
    #[garde(custom(non_negative))]
    pub max_s: f64,
    /// What comes later; publication by default.
    #[serde(default)]
    #[garde(skip)]
    pub of: JitterOf,
}

/// What a rate jitters of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JitterOf {
    /// Data leave later; they are measured evenly.
    #[default]
    Publication,
    /// They are measured later, and leave as much later.
    Measurement,
}

/// `drop_out`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DropOutSpec {
    /// Of losing a sample, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub probability: f64,
}

/// `decimate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DecimateSpec {
    /// Of so many samples the first is kept.
    #[garde(custom(a_count))]
    pub every: u32,
}

/// `own` of another process: what it is given leaves on `SENSOR/stages/NAME/in`, what it makes of that is taken from
/// `SENSOR/stages/NAME/out`, with the same stamp.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OwnTopicSpec {
    /// Its name within the sensor.
    #[garde(custom(ros_name))]
    pub name: String,
    /// Wall time that an answer is waited for, s; a sample without an answer is lost.
    #[garde(custom(within(1e-3, TIMEOUT_MAX_S)))]
    pub timeout_s: f64,
}

impl AugmentSpec {
    /// Its key in a sensor's file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Noise(_) => "noise",
            Self::Crop(_) => "crop",
            Self::Convert(_) => "convert",
            Self::Lag(_) => "lag",
            Self::RateJitter(_) => "rate_jitter",
            Self::DropOut(_) => "drop_out",
            Self::Decimate(_) => "decimate",
            Self::Own(_) => "own",
        }
    }

    /// Whether it changes what a datum holds, not only when and whether it leaves.
    #[must_use]
    pub fn changes_content(&self) -> bool {
        matches!(self, Self::Noise(_) | Self::Crop(_) | Self::Convert(_) | Self::Own(_))
    }

    /// What it gives for what it is given.
    fn gives(&self, given: Datum) -> Result<Datum, String> {
        let key = self.key();
        let takes = |what: &str| {
            let allowed = given.stages();
            format!("{key} is not allowed here: it takes {what} and is given {given}, which can have {allowed}")
        };
        match self {
            Self::Noise(noise) => {
                let (quantities, sigmas) = (given.quantities(), noise.sigma.len());
                match quantities.len() {
                    0 => Err(takes("quantities that have a unit")),
                    count if count == sigmas => Ok(given),
                    count => Err(format!(
                        "noise: sigma: {sigmas} numbers are not allowed: {given} takes {count} ({})",
                        quantities.join("; ")
                    )),
                }
            }
            Self::Crop(crop) => match (crop.region_px, crop.box_m.is_some() || crop.range_m.is_some()) {
                (Some(_), false) if matches!(given, Datum::Image(_)) => Ok(given),
                (Some(_), false) => Err(takes("an image (region_px)")),
                (None, true) if given == Datum::PointCloud => Ok(given),
                (None, true) => Err(takes("a point cloud (box_m, range_m)")),
                _ => Err("crop: must have region_px for an image, or box_m, range_m or both for a point cloud".into()),
            },
            Self::Convert(convert) => match given {
                Datum::Image(encoding) if PixelFormat::of(encoding).is_some_and(|from| from != convert.to) => {
                    Ok(Datum::Image(convert.to.name()))
                }
                _ => Err(takes(&format!(
                    "an image of another encoding among mono8, rgb8, bgr8 (to {})",
                    convert.to.name()
                ))),
            },
            Self::Lag(_) | Self::RateJitter(_) | Self::DropOut(_) | Self::Decimate(_) | Self::Own(_) => Ok(given),
        }
    }
}

/// Paths as in the file, so that a refusal finds its line.
impl Validate for AugmentSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        let key = self.key();
        let mut path = garde::util::nested_path!(parent, key);
        match self {
            Self::Noise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Crop(spec) => spec.validate_into(&(), &mut path, report),
            Self::Convert(spec) => spec.validate_into(&(), &mut path, report),
            Self::Lag(spec) => spec.validate_into(&(), &mut path, report),
            Self::RateJitter(spec) => spec.validate_into(&(), &mut path, report),
            Self::DropOut(spec) => spec.validate_into(&(), &mut path, report),
            Self::Decimate(spec) => spec.validate_into(&(), &mut path, report),
            Self::Own(spec) => spec.validate_into(&(), &mut path, report),
        }
    }
}

/// The stages of a sensor in their order.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Augments(pub Vec<AugmentSpec>);

impl Augments {
    /// Itself: what a camera's longer list has at its end.
    pub(crate) fn augments(&self) -> Self {
        self.clone()
    }

    /// By how much its lags add up, s.
    #[must_use]
    pub fn lag_s(&self) -> f64 {
        self.0.iter().map(|stage| if let AugmentSpec::Lag(lag) = stage { lag.by_s } else { 0.0 }).sum()
    }

    /// How much later than that data may leave, s, for one of the two reasons.
    #[must_use]
    pub fn jitter_s(&self, of: JitterOf) -> f64 {
        let jitter_s = |stage: &AugmentSpec| match stage {
            AugmentSpec::RateJitter(jitter) if jitter.of == of => jitter.max_s,
            _ => 0.0,
        };
        self.0.iter().map(jitter_s).sum()
    }

    /// The same for both together, s.
    #[must_use]
    pub fn longest_jitter_s(&self) -> f64 {
        self.jitter_s(JitterOf::Publication) + self.jitter_s(JitterOf::Measurement)
    }

    /// The stages of other processes.
    pub fn own(&self) -> impl Iterator<Item = &OwnTopicSpec> {
        self.0.iter().filter_map(|stage| if let AugmentSpec::Own(own) = stage { Some(own) } else { None })
    }

    /// Refuses a row that does not fit what the sensor generates; `first` is the place of its first stage in the
    /// file's list.
    pub(crate) fn check(&self, generated: Datum, rate_hz: f64, first: usize) -> Result<(), String> {
        let mut given = generated;
        let (mut is_foreign, mut names) = (false, BTreeSet::new());
        for (at, stage) in self.0.iter().enumerate() {
            let refuse = |what: String| format!("stage {}: {what}", first + at + 1);
            if is_foreign && matches!(stage, AugmentSpec::Noise(_)) {
                let what = "noise is not allowed after own: what another process makes of";
                return Err(refuse(format!("{what} {given} is published as it is; put noise before own")));
            }
            given = stage.gives(given).map_err(refuse)?;
            if let AugmentSpec::Own(own) = stage {
                is_foreign |= !given.comes_back();
                if !names.insert(&own.name) {
                    let what = format!("own: name: value {} is not allowed: an earlier stage has it", own.name);
                    return Err(refuse(what));
                }
            }
        }
        self.check_measured(generated, rate_hz)?;
        self.check_times(rate_hz)
    }

    /// Samples need instants of their own, and a scan begins where the one before it ends.
    fn check_measured(&self, generated: Datum, rate_hz: f64) -> Result<(), String> {
        let jitter_s = self.jitter_s(JitterOf::Measurement);
        if jitter_s > 0.0 && generated == Datum::PointCloud {
            let allowed = "scans follow one another without a gap; publication is allowed";
            return Err(format!("rate_jitter: of: value measurement is not allowed for {generated}: {allowed}"));
        }
        let half_s = 0.5 / rate_hz;
        if jitter_s > half_s {
            let allowed = format!("must be at most half of the sample's period, {half_s} s, of measurements");
            return Err(format!("rate_jitter: max_s: value {jitter_s} is not allowed: {allowed}"));
        }
        Ok(())
    }

    fn check_times(&self, rate_hz: f64) -> Result<(), String> {
        let (count, lag_s, jitter_s) = (self.0.len(), self.lag_s(), self.longest_jitter_s());
        if count > STAGES_MAX {
            return Err(format!("{count} stages are not allowed: must be at most {STAGES_MAX}"));
        }
        if lag_s > LAG_MAX_S {
            return Err(format!("lags of {lag_s} s together are not allowed: must be at most {LAG_MAX_S}"));
        }
        let period_s = 1.0 / rate_hz;
        if jitter_s > period_s {
            let allowed = format!("must be at most the sample's period, {period_s} s");
            return Err(format!("rate_jitter: max_s: value {jitter_s} is not allowed: {allowed}"));
        }
        Ok(())
    }
}

/// Paths as in the file, so that a refusal finds its line.
impl Validate for Augments {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        for (i, stage) in self.0.iter().enumerate() {
            stage.validate_into(&(), &mut garde::util::nested_path!(parent, i), report);
        }
    }
}

/// A garde check: a row that fits what a sensor of this rate generates.
pub(crate) fn fits(generated: Datum, rate_hz: f64) -> impl FnOnce(&Augments, &()) -> garde::Result {
    move |row, ()| row.check(generated, rate_hz, 0).map_err(garde::Error::new)
}

fn offset(count: &u32, (): &()) -> garde::Result {
    count_within(0, PIXELS_MAX, *count as usize)
}

fn a_count(count: &u32, (): &()) -> garde::Result {
    count_within(1, EVERY_MAX, *count as usize)
}

fn corners([low, high]: &[[f64; 3]; 2], (): &()) -> garde::Result {
    finite_array(low, &())?;
    finite_array(high, &())?;
    if low.iter().zip(high).all(|(low, high)| low < high) {
        return Ok(());
    }
    let what = format!("value [{low:?}, {high:?}] is not allowed: the second corner must be beyond the first");
    Err(garde::Error::new(what))
}

fn span([near, far]: &[f64; 2], (): &()) -> garde::Result {
    non_negative(near, &())?;
    if far.is_finite() && far > near {
        return Ok(());
    }
    Err(garde::Error::new(format!("value [{near}, {far}] is not allowed: the second must be more than the first")))
}

/// The row of one sensor in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRow {
    name: String,
    seed: u64,
    augments: Augments,
}

impl StageRow {
    /// That of the sensor of this name; `seed` is that of the rover's sensors.
    #[must_use]
    pub fn new(name: &str, augments: Augments, seed: u64) -> Self {
        Self { name: name.to_owned(), seed, augments }
    }

    /// Its stages.
    #[must_use]
    pub fn stages(&self) -> &[AugmentSpec] {
        &self.augments.0
    }

    /// Its stages of other processes.
    pub fn own(&self) -> impl Iterator<Item = &OwnTopicSpec> {
        self.augments.own()
    }

    /// Whether no stage leaves out the sample of this number.
    #[must_use]
    pub fn keeps(&self, index: u64) -> bool {
        let mut number = index;
        self.augments.0.iter().enumerate().all(|(at, stage)| match stage {
            AugmentSpec::DropOut(spec) => self.stream(at, index).random_range(0.0..1.0_f64) >= spec.probability,
            AugmentSpec::Decimate(spec) => {
                let every = u64::from(spec.every.max(1));
                let is_first = number.is_multiple_of(every);
                number /= every;
                is_first
            }
            _ => true,
        })
    }

    /// The sensor's schedule, its measurements and its hand-overs as uneven as the row makes them.
    #[must_use]
    pub fn schedule(&self, schedule: Schedule) -> Schedule {
        let seed = |what: &str| stream(self.seed, &format!("{}/{what}", self.name)).random();
        let longest = |of: JitterOf| SimTime::from_secs_f64(self.augments.jitter_s(of));
        let handed_over = schedule.with_jitter(seed("rate_jitter"), longest(JitterOf::Publication));
        handed_over.with_uneven_instants(seed("uneven_instants"), longest(JitterOf::Measurement))
    }

    /// Draws from N(0, 1) for the stage at place `at`, from 0, and the sample of this number.
    pub fn draws(&self, at: usize, index: u64) -> impl FnMut() -> f64 + use<> {
        let mut rng = self.stream(at, index);
        move || gaussian(&mut rng)
    }

    fn stream(&self, at: usize, index: u64) -> Stream {
        stream_at(self.seed, &format!("{}/stages/{at}", self.name), index)
    }
}

#[cfg(test)]
mod tests {
    use super::{Augments, Datum, StageRow};
    use crate::{Sample, Schedule};
    use selene_base::SimTime;
    use selene_base::input::parse_yaml;
    use std::path::Path;

    fn augments(text: &str) -> Augments {
        parse_yaml(text, Path::new("stages")).unwrap_or_else(|error| panic!("{error}"))
    }

    fn row(text: &str) -> StageRow {
        StageRow::new("unit", augments(text), 7)
    }

    #[test]
    fn a_row_that_does_not_fit_is_refused_with_both_types() {
        for (given, text, parts) in [
            (
                Datum::Imu,
                "[{drop_out: {probability: 0.1}}, {crop: {range_m: [0, 1]}}]",
                vec!["stage 2", "crop", "takes a point cloud", "given an inertial sample", "noise, lag"],
            ),
            (Datum::PointCloud, "[{noise: {sigma: [1]}}]", vec!["noise", "given a point cloud", "crop, lag"]),
            (Datum::Imu, "[{noise: {sigma: [1]}}]", vec!["sigma", "1 numbers", "takes 2", "rad/s"]),
            (Datum::Image("mono16"), "[{convert: {to: rgb8}}]", vec!["convert", "given an image (mono16)"]),
            (
                Datum::Image("rgb8"),
                "[{convert: {to: mono8}}, {convert: {to: mono8}}]",
                vec!["stage 2", "given an image (mono8)"],
            ),
            (Datum::Image("rgb8"), "[{crop: {}}]", vec!["region_px", "box_m"]),
            (Datum::Tilt, "[{lag: {by_s: 6}}, {lag: {by_s: 6}}]", vec!["12 s together", "at most 10"]),
            (Datum::Tilt, "[{rate_jitter: {max_s: 0.2}}]", vec!["max_s", "0.2", "at most the sample's period, 0.1"]),
            (
                Datum::Tilt,
                "[{rate_jitter: {max_s: 0.06, of: measurement}}]",
                vec!["max_s", "0.06", "at most half of the sample's period, 0.05"],
            ),
            (
                Datum::Tilt,
                "[{rate_jitter: {max_s: 0.04, of: measurement}}, {rate_jitter: {max_s: 0.07}}]",
                vec!["max_s", "0.11", "at most the sample's period, 0.1"],
            ),
            (
                Datum::PointCloud,
                "[{rate_jitter: {max_s: 0.01, of: measurement}}]",
                vec!["of: value measurement", "a point cloud", "publication is allowed"],
            ),
            (
                Datum::Tilt,
                "[{own: {name: a, timeout_s: 1}}, {noise: {sigma: [1]}}]",
                vec!["stage 2", "noise", "after own"],
            ),
            (
                Datum::Tilt,
                "[{own: {name: a, timeout_s: 1}}, {own: {name: a, timeout_s: 1}}]",
                vec!["stage 2", "value a", "earlier stage"],
            ),
        ] {
            let told = augments(text).check(given, 10.0, 0).expect_err(text);
            for part in parts {
                assert!(told.contains(part), "'{part}' is missing in: {told}");
            }
        }
        let cropped = "[{crop: {region_px: {x_offset: 0, y_offset: 0, width: 2, height: 2}}}, {convert: {to: mono8}}]";
        assert_eq!(augments(cropped).check(Datum::Image("bgr8"), 10.0, 0), Ok(()));
    }

    #[test]
    fn bad_numbers_are_told_with_what_is_allowed() {
        for (text, parts) in [
            ("[{drop_out: {probability: 1.5}}]", vec!["line 1", "probability", "1.5", "0 to 1"]),
            ("[{decimate: {every: 0}}]", vec!["every", "value 0", "1 to 1000000"]),
            ("[{crop: {range_m: [2, 1]}}]", vec!["range_m", "[2, 1]", "more than the first"]),
            ("[{noise: {sigma: [-1]}}]", vec!["sigma", "-1", "more than 0"]),
            ("[{own: {name: a, timeout_s: 0}}]", vec!["timeout_s", "value 0", "0.001 to 3600"]),
            ("[{blur: {}}]", vec!["blur", "noise", "decimate"]),
            ("[{rate_jitter: {max_s: 1, of: time}}]", vec!["time", "publication", "measurement"]),
            ("[{}]", vec!["exactly one of", "rate_jitter"]),
        ] {
            let told = parse_yaml::<Augments>(text, Path::new("stages")).expect_err(text).to_string();
            for part in parts {
                assert!(told.contains(part), "'{part}' is missing in: {told}");
            }
        }
    }

    #[test]
    fn as_many_are_lost_as_is_said_and_the_same_ones_each_time() {
        // 10 000 draws of p = 0.3: five sigma of the share are 0.023.
        let losing = row("[{drop_out: {probability: 0.3}}]");
        let lost: Vec<u64> = (0..10_000).filter(|index| !losing.keeps(*index)).collect();
        assert!((lost.len() as f64 / 1e4 - 0.3).abs() < 0.023, "{}", lost.len());
        assert!(lost.iter().rev().all(|index| !losing.keeps(*index)));
        let other = StageRow::new("other", losing.augments.clone(), 7);
        assert!(lost.iter().any(|index| other.keeps(*index)), "each sensor loses its own");
    }

    #[test]
    fn decimation_keeps_the_first_of_every_so_many() {
        let kept = |text: &str| (0..13).filter(|index| row(text).keeps(*index)).collect::<Vec<u64>>();
        assert_eq!(kept("[{decimate: {every: 5}}]"), [0, 5, 10]);
        assert_eq!(kept("[{decimate: {every: 2}}, {decimate: {every: 3}}]"), [0, 6, 12]);
    }

    #[test]
    fn jitter_of_measurements_moves_their_instants_within_its_bounds_and_hand_overs_with_them() {
        let (lag, most) = (SimTime::from_nanos(3_000_000), SimTime::from_nanos(5_000_000));
        let plain = Schedule::new(100.0, SimTime::ZERO, lag);
        let schedule = row("[{rate_jitter: {max_s: 0.005, of: measurement}}]").schedule(plain);
        let until = SimTime::from_sec_nanosec(2, 0);
        let samples: Vec<Sample> = schedule.measured_in(SimTime::from_nanos(-1), until).collect();
        assert!(samples.len() >= 200 && samples.iter().enumerate().all(|(k, sample)| sample.index == k as u64));
        let late: Vec<SimTime> = samples.iter().map(|sample| sample.instant - plain.instant(sample.index)).collect();
        assert!(late.iter().all(|late| (SimTime::ZERO..=most).contains(late)));
        let mean_s = late.iter().map(|late| late.secs_f64()).sum::<f64>() / late.len() as f64;
        // Of 200 even draws: 2.5 ms, off by 0.1 ms in one standard deviation.
        assert!((mean_s - 2.5e-3).abs() < 5e-4, "{mean_s}");
        assert!(samples.iter().all(|sample| schedule.handed_over(*sample) == sample.instant + lag));
        assert!(samples.windows(2).all(|pair| pair[0].instant < pair[1].instant));
    }

    #[test]
    fn jitter_delays_hand_overs_within_its_bounds_and_keeps_stamps_and_order() {
        let (lag, most) = (SimTime::from_nanos(3_000_000), SimTime::from_nanos(10_000_000));
        let plain = Schedule::new(100.0, SimTime::ZERO, lag);
        let schedule = row("[{rate_jitter: {max_s: 0.01}}]").schedule(plain);
        let samples: Vec<Sample> = schedule.measured_in(SimTime::ZERO, SimTime::from_sec_nanosec(2, 0)).collect();
        assert_eq!(samples, plain.measured_in(SimTime::ZERO, SimTime::from_sec_nanosec(2, 0)).collect::<Vec<_>>());
        let late: Vec<SimTime> = samples.iter().map(|sample| schedule.handed_over(*sample) - sample.instant).collect();
        assert!(late.iter().all(|late| *late >= lag && *late <= lag + most));
        let [least, longest] = [late.iter().min(), late.iter().max()].map(|late| *late.expect("some"));
        assert!(longest - least > SimTime::from_nanos(9_000_000), "uniform over all of it");
        assert!(samples.windows(2).all(|pair| schedule.handed_over(pair[0]) <= schedule.handed_over(pair[1])));
        // Every sample is due once, whatever the heartbeat.
        let beat = |k: i64| SimTime::from_nanos(k * 7_000_000);
        let due: Vec<Sample> = (0..250).flat_map(|k| schedule.due_in(beat(k), beat(k + 1))).collect();
        assert!(due.len() > 170);
        assert!(due.iter().enumerate().all(|(k, sample)| sample.index == k as u64));
    }
}
