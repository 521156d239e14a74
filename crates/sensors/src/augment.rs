//! The list of stages between a sensor's model and its topics (SENSOR Fig. 3: data augmentation and data access). The
//! model generates a datum of one type; each stage takes and gives a datum; the output of the last one is published.
//!
//! | stage | takes | does |
//! | --- | --- | --- |
//! | `noise` | a datum with quantities (`DataType::quantities`) | adds N(0, σ²) to each of their numbers |
//! | `crop` | an image, a point cloud | keeps a rectangle, a box or a span of ranges |
//! | `convert` | an image | changes its encoding |
//! | `lag` | any | delays publication by a constant; the stamp stays |
//! | `rate_jitter` | any | delays publication or measurement by a uniform random time; the stamp is the measurement's |
//! | `drop_out` | any | loses samples with a probability |
//! | `decimate` | any | keeps the first of every n samples |
//! | `own` | any | sends it through another process |
//!
//! Lags add to the sensor's `lag_s`. Noise, jitter and loss are drawn from (seed, sensor's name, place in the list,
//! index of the sample), so a stage affects no other sensor and no other sample. Whether a sample is left out depends
//! on its index alone: wherever in the list it is lost, no other stage processes it.

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

/// The largest number of stages of one sensor.
const STAGES_MAX: usize = 16;
/// The largest `every` of `decimate`.
const EVERY_MAX: usize = 1_000_000;
/// The longest wall time to wait for the answer of another process, s.
const TIMEOUT_MAX_S: f64 = 3600.0;

/// The type of the data that a sensor generates and that stages take and give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// An image of this `sensor_msgs/Image` encoding.
    Image(&'static str),
    /// The points of one scan.
    PointCloud,
    /// Angular velocity and specific force.
    Imu,
    /// A position fix, with or without a velocity.
    Position,
    /// A magnetic field.
    MagneticField,
    /// Roll and pitch.
    Tilt,
    /// Positions, rates or efforts of joints.
    Joints,
    /// A pose and a twist.
    Odometry,
    /// Voltage, current and charge of a battery.
    Battery,
    /// A temperature.
    Temperature,
    /// A unit vector toward the Sun.
    Direction,
    /// An attitude: a rotation.
    Attitude,
    /// Contact and load of a wheel.
    Contact,
    /// A force and a torque.
    Wrench,
    /// The detections of a radar.
    RadarScan,
    /// Images of depth, amplitude and intensity.
    DepthImages,
    /// A single distance.
    Range,
}

impl DataType {
    /// The quantities to which `noise` adds, each with its unit; empty where `noise` is not allowed.
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

    /// The stages allowed for it, as text for error messages.
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

    /// Whether the simulator reads the answer of another process back, so that stages that change content can follow.
    fn comes_back(self) -> bool {
        matches!(self, Self::Image(_) | Self::PointCloud)
    }
}

impl fmt::Display for DataType {
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

/// The spec of one stage.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "AugmentKeys")]
pub enum AugmentSpec {
    /// Adds white noise.
    Noise(WhiteNoiseSpec),
    /// Keeps a part of an image or a point cloud.
    Crop(CropSpec),
    /// Changes an image's encoding.
    Convert(ConvertSpec),
    /// Delays publication by a constant.
    Lag(LagSpec),
    /// Makes publication or measurement uneven.
    RateJitter(RateJitterSpec),
    /// Loses samples at random.
    DropOut(DropOutSpec),
    /// Keeps one of every n samples.
    Decimate(DecimateSpec),
    /// Sends the data through another process.
    Own(OwnTopicSpec),
}

/// A stage in the file: a single key names its kind.
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

/// `noise`: white noise in addition to that of the sensor's own model.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WhiteNoiseSpec {
    /// Standard deviation, one for each quantity of the datum, in its SI unit.
    #[garde(length(min = 1, max = 2), inner(custom(positive)))]
    pub sigma: Vec<f64>,
}

/// `crop`: the part of an image or a point cloud that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CropSpec {
    /// Rectangle of an image that is kept.
    #[serde(default)]
    #[garde(dive)]
    pub region_px: Option<RegionSpec>,
    /// Two opposite corners of a box in the cloud's frame, m: points in it are kept.
    #[serde(default)]
    #[garde(inner(custom(corners)))]
    pub box_m: Option<[[f64; 3]; 2]>,
    /// Least and greatest distance from the cloud's origin, m: points between them are kept.
    #[serde(default)]
    #[garde(inner(custom(span)))]
    pub range_m: Option<[f64; 2]>,
}

/// A rectangle of an image, as in `sensor_msgs/RegionOfInterest`.
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

/// `convert`: the encoding of the image that is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ConvertSpec {
    /// Encoding after the conversion.
    #[garde(skip)]
    pub to: PixelFormat,
}

/// An image encoding with one byte per channel.
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

    /// Its name in `sensor_msgs/Image`.
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

    /// The format of this name; `None` for an encoding that cannot be converted.
    #[must_use]
    pub fn of(encoding: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == encoding)
    }
}

/// `lag`: publication later by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LagSpec {
    /// Additional delay of publication, s.
    #[garde(custom(lag))]
    pub by_s: f64,
}

/// `rate_jitter`: random delay of publication or of measurement. Data stay in their order.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RateJitterSpec {
    /// Largest delay, s. The sum over all jitter stages is at most the sampling period, and at most half of it for
    /// measurements.
    #[garde(custom(non_negative))]
    pub max_s: f64,
    /// What is delayed; publication by default.
    #[serde(default)]
    #[garde(skip)]
    pub of: JitterOf,
}

/// What `rate_jitter` delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JitterOf {
    /// Data are measured evenly and published later.
    #[default]
    Publication,
    /// Data are measured later, and published later by the same time.
    Measurement,
}

/// `drop_out`: samples that are lost at random.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DropOutSpec {
    /// Probability of losing a sample, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub probability: f64,
}

/// `decimate`: a lower rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DecimateSpec {
    /// n: of every n samples the first is kept.
    #[garde(custom(a_count))]
    pub every: u32,
}

/// `own` of another process: publishes the data on `SENSOR/stages/NAME/in` and takes the answer, with the same stamp,
/// from `SENSOR/stages/NAME/out`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OwnTopicSpec {
    /// Name of the stage, unique within the sensor.
    #[garde(custom(ros_name))]
    pub name: String,
    /// Longest wall time to wait for an answer, s; a sample without an answer is lost.
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

    /// Whether it changes the content of the data, not only their time or loss.
    #[must_use]
    pub fn changes_content(&self) -> bool {
        matches!(self, Self::Noise(_) | Self::Crop(_) | Self::Convert(_) | Self::Own(_))
    }

    /// The type of its output for an input of type `given`, or why it does not take that type.
    fn gives(&self, given: DataType) -> Result<DataType, String> {
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
                (Some(_), false) if matches!(given, DataType::Image(_)) => Ok(given),
                (Some(_), false) => Err(takes("an image (region_px)")),
                (None, true) if given == DataType::PointCloud => Ok(given),
                (None, true) => Err(takes("a point cloud (box_m, range_m)")),
                _ => Err("crop: must have region_px for an image, or box_m, range_m or both for a point cloud".into()),
            },
            Self::Convert(convert) => match given {
                DataType::Image(encoding) if PixelFormat::of(encoding).is_some_and(|from| from != convert.to) => {
                    Ok(DataType::Image(convert.to.name()))
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

/// Validation paths follow the keys of the file, so that an error names its line.
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
    /// A copy of itself. A camera's `Stages` has a method of the same name that gives the end of its longer list.
    pub(crate) fn augments(&self) -> Self {
        self.clone()
    }

    /// Sum of its lags, s.
    #[must_use]
    pub fn lag_s(&self) -> f64 {
        self.0.iter().map(|stage| if let AugmentSpec::Lag(lag) = stage { lag.by_s } else { 0.0 }).sum()
    }

    /// Largest delay by jitter of publication or of measurement, s.
    #[must_use]
    pub fn jitter_s(&self, of: JitterOf) -> f64 {
        let jitter_s = |stage: &AugmentSpec| match stage {
            AugmentSpec::RateJitter(jitter) if jitter.of == of => jitter.max_s,
            _ => 0.0,
        };
        self.0.iter().map(jitter_s).sum()
    }

    /// Largest delay of publication by both kinds of jitter together, s.
    #[must_use]
    pub fn longest_jitter_s(&self) -> f64 {
        self.jitter_s(JitterOf::Publication) + self.jitter_s(JitterOf::Measurement)
    }

    /// The stages in other processes.
    pub fn own(&self) -> impl Iterator<Item = &OwnTopicSpec> {
        self.0.iter().filter_map(|stage| if let AugmentSpec::Own(own) = stage { Some(own) } else { None })
    }

    /// Refuses stages that do not fit the data that the sensor generates; `first` is the place of the first of them
    /// in the file's list, for error messages.
    pub(crate) fn check(&self, generated: DataType, rate_hz: f64, first: usize) -> Result<(), String> {
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

    /// Refuses jitter of measurements that is too large, or of scans: a scan begins where the one before it ends.
    fn check_measured(&self, generated: DataType, rate_hz: f64) -> Result<(), String> {
        let jitter_s = self.jitter_s(JitterOf::Measurement);
        if jitter_s > 0.0 && generated == DataType::PointCloud {
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

/// Validation paths follow the keys of the file, so that an error names its line.
impl Validate for Augments {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        for (i, stage) in self.0.iter().enumerate() {
            stage.validate_into(&(), &mut garde::util::nested_path!(parent, i), report);
        }
    }
}

/// A garde check: stages that fit data of type `generated` at this rate.
pub(crate) fn fits(generated: DataType, rate_hz: f64) -> impl FnOnce(&Augments, &()) -> garde::Result {
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

/// The stages of one sensor in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRow {
    name: String,
    seed: u64,
    augments: Augments,
}

impl StageRow {
    /// The stages of the sensor of this name; `seed` is that of the rover's sensors.
    #[must_use]
    pub fn new(name: &str, augments: Augments, seed: u64) -> Self {
        Self { name: name.to_owned(), seed, augments }
    }

    /// Its stages.
    #[must_use]
    pub fn stages(&self) -> &[AugmentSpec] {
        &self.augments.0
    }

    /// Its stages in other processes.
    pub fn own(&self) -> impl Iterator<Item = &OwnTopicSpec> {
        self.augments.own()
    }

    /// Whether no stage drops the sample of this index.
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

    /// The sensor's schedule with the jitter of its stages added.
    #[must_use]
    pub fn schedule(&self, schedule: Schedule) -> Schedule {
        let seed = |what: &str| stream(self.seed, &format!("{}/{what}", self.name)).random();
        let longest = |of: JitterOf| SimTime::from_secs_f64(self.augments.jitter_s(of));
        let handed_over = schedule.with_jitter(seed("rate_jitter"), longest(JitterOf::Publication));
        handed_over.with_uneven_instants(seed("uneven_instants"), longest(JitterOf::Measurement))
    }

    /// Draws from N(0, 1) for the stage at place `at` (from 0) and the sample of this index.
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
    use super::{Augments, DataType, StageRow};
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
                DataType::Imu,
                "[{drop_out: {probability: 0.1}}, {crop: {range_m: [0, 1]}}]",
                vec!["stage 2", "crop", "takes a point cloud", "given an inertial sample", "noise, lag"],
            ),
            (DataType::PointCloud, "[{noise: {sigma: [1]}}]", vec!["noise", "given a point cloud", "crop, lag"]),
            (DataType::Imu, "[{noise: {sigma: [1]}}]", vec!["sigma", "1 numbers", "takes 2", "rad/s"]),
            (DataType::Image("mono16"), "[{convert: {to: rgb8}}]", vec!["convert", "given an image (mono16)"]),
            (
                DataType::Image("rgb8"),
                "[{convert: {to: mono8}}, {convert: {to: mono8}}]",
                vec!["stage 2", "given an image (mono8)"],
            ),
            (DataType::Image("rgb8"), "[{crop: {}}]", vec!["region_px", "box_m"]),
            (DataType::Tilt, "[{lag: {by_s: 6}}, {lag: {by_s: 6}}]", vec!["12 s together", "at most 10"]),
            (DataType::Tilt, "[{rate_jitter: {max_s: 0.2}}]", vec!["max_s", "0.2", "at most the sample's period, 0.1"]),
            (
                DataType::Tilt,
                "[{rate_jitter: {max_s: 0.06, of: measurement}}]",
                vec!["max_s", "0.06", "at most half of the sample's period, 0.05"],
            ),
            (
                DataType::Tilt,
                "[{rate_jitter: {max_s: 0.04, of: measurement}}, {rate_jitter: {max_s: 0.07}}]",
                vec!["max_s", "0.11", "at most the sample's period, 0.1"],
            ),
            (
                DataType::PointCloud,
                "[{rate_jitter: {max_s: 0.01, of: measurement}}]",
                vec!["of: value measurement", "a point cloud", "publication is allowed"],
            ),
            (
                DataType::Tilt,
                "[{own: {name: a, timeout_s: 1}}, {noise: {sigma: [1]}}]",
                vec!["stage 2", "noise", "after own"],
            ),
            (
                DataType::Tilt,
                "[{own: {name: a, timeout_s: 1}}, {own: {name: a, timeout_s: 1}}]",
                vec!["stage 2", "value a", "earlier stage"],
            ),
        ] {
            let reported = augments(text).check(given, 10.0, 0).expect_err(text);
            for part in parts {
                assert!(reported.contains(part), "'{part}' is missing in: {reported}");
            }
        }
        let cropped = "[{crop: {region_px: {x_offset: 0, y_offset: 0, width: 2, height: 2}}}, {convert: {to: mono8}}]";
        assert_eq!(augments(cropped).check(DataType::Image("bgr8"), 10.0, 0), Ok(()));
    }

    #[test]
    fn bad_numbers_are_reported_with_what_is_allowed() {
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
            let reported = parse_yaml::<Augments>(text, Path::new("stages")).expect_err(text).to_string();
            for part in parts {
                assert!(reported.contains(part), "'{part}' is missing in: {reported}");
            }
        }
    }

    #[test]
    fn as_many_are_lost_as_configured_and_the_same_ones_each_time() {
        // 10 000 draws of p = 0.3: five sigma of the fraction are 0.023.
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
        // Mean of 200 uniform draws: 2.5 ms with a standard deviation of 0.1 ms.
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
        // Every sample is due exactly once, whatever the heartbeat.
        let beat = |k: i64| SimTime::from_nanos(k * 7_000_000);
        let due: Vec<Sample> = (0..250).flat_map(|k| schedule.due_in(beat(k), beat(k + 1))).collect();
        assert!(due.len() > 170);
        assert!(due.iter().enumerate().all(|(k, sample)| sample.index == k as u64));
    }
}
