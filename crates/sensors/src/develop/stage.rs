//! The list of stages as a sensor's YAML has it: a closed set, each by its name, each with
//! the quantity it takes and the one it gives, so that an order that makes no sense (noise
//! before there are electrons) is refused with the file's line.
//!
//! | stage | takes | gives |
//! | --- | --- | --- |
//! | `defocus`, `vignetting`, `flare`, `dust` | irradiance | irradiance |
//! | `aggregator` | irradiance | electrons |
//! | `noise` | electrons | electrons |
//! | `bayer` | electrons or signal, in colour | the same, in one plane |
//! | `response` | electrons | signal |
//! | `intensity_noise` | signal | signal |
//! | `quantise` | signal, or electrons where there is no response | numbers |
//! | `jpeg` | numbers of 8 bits, no mosaic | the same |
//! | `own` | what its author said | the same |

use garde::Validate;
use selene_base::random::{Stream, stream_at};
use selene_scene::CameraFrame;
use serde::Deserialize;

use super::aggregator::AggregatorSpec;
use super::bayer::Pattern;
use super::defocus::DefocusSpec;
use super::dust::DustSpec;
use super::flare::FlareSpec;
use super::intensity_noise::IntensityNoiseSpec;
use super::jpeg::JpegSpec;
use super::noise::NoiseSpec;
use super::own::OwnSpec;
use super::plate::Quantity;
use super::quantise::QuantiseSpec;
use super::response::ResponseSpec;
use super::vignetting::VignettingSpec;
use super::{Encoding, SunSight};
use crate::spec::PIXELS_MAX;

/// What a stage does to a row: channel, row, values.
pub(super) type RowWork<'a> = Box<dyn Fn(usize, usize, &mut [f32]) + Sync + 'a>;

/// What is known of an exposure beside its plate.
#[derive(Clone, Copy, Debug)]
pub struct Shot<'a> {
    /// Depth and classes, pixel for pixel.
    pub frame: &'a CameraFrame,
    /// The Sun where any of it is seen from the lens.
    pub sun: Option<&'a SunSight>,
    /// The scenario's seed.
    pub seed: u64,
    /// The frame's number.
    pub index: u64,
    /// Exposure time, s.
    pub exposure_s: f64,
    /// What auto exposure multiplies the ISO number by.
    pub gain: f64,
}

/// The random streams of one stage in one frame: one a row, so that no row's noise depends
/// on which thread takes it.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    seed: u64,
    name: String,
    index: u64,
}

impl Chance {
    pub(super) fn new(seed: u64, name: &str, index: u64) -> Self {
        Self { seed, name: name.to_owned(), index }
    }

    pub(super) fn of_row(&self, channel: usize, row: usize) -> Stream {
        let at = self.index * PIXELS_MAX as u64 + row as u64;
        match channel {
            0 => stream_at(self.seed, &self.name, at),
            _ => self.of_lines("pixels", channel, row),
        }
    }

    pub(super) fn of_lines(&self, what: &str, channel: usize, line: usize) -> Stream {
        let at = self.index * PIXELS_MAX as u64 + line as u64;
        stream_at(self.seed, &format!("{}/{what}/{channel}", self.name), at)
    }
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "StageKeys")]
pub enum StageSpec {
    /// Blur of what is out of focus.
    Defocus(DefocusSpec),
    /// Darker corners.
    Vignetting(VignettingSpec),
    /// Bloom, streaks and ghosts of the Sun.
    Flare(FlareSpec),
    /// Spots on the lens.
    Dust(DustSpec),
    /// Light to electrons.
    Aggregator(AggregatorSpec),
    /// Noise of the detector.
    Noise(NoiseSpec),
    /// Electrons to signal.
    Response(ResponseSpec),
    /// Noise by the signal alone.
    IntensityNoise(IntensityNoiseSpec),
    /// A colour mosaic.
    Bayer(Pattern),
    /// Signal to whole numbers.
    Quantise(QuantiseSpec),
    /// Artefacts of compression.
    Jpeg(JpegSpec),
    /// A user's.
    Own(OwnSpec),
}

/// A stage as the file has it. A mapping and not serde's enum, whose values lose their lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageKeys {
    defocus: Option<DefocusSpec>,
    vignetting: Option<VignettingSpec>,
    flare: Option<FlareSpec>,
    dust: Option<DustSpec>,
    aggregator: Option<AggregatorSpec>,
    noise: Option<NoiseSpec>,
    response: Option<ResponseSpec>,
    intensity_noise: Option<IntensityNoiseSpec>,
    bayer: Option<Pattern>,
    quantise: Option<QuantiseSpec>,
    jpeg: Option<JpegSpec>,
    own: Option<OwnSpec>,
}

impl TryFrom<StageKeys> for StageSpec {
    type Error = &'static str;

    fn try_from(keys: StageKeys) -> Result<Self, Self::Error> {
        let stages = [
            keys.defocus.map(Self::Defocus),
            keys.vignetting.map(Self::Vignetting),
            keys.flare.map(Self::Flare),
            keys.dust.map(Self::Dust),
            keys.aggregator.map(Self::Aggregator),
            keys.noise.map(Self::Noise),
            keys.response.map(Self::Response),
            keys.intensity_noise.map(Self::IntensityNoise),
            keys.bayer.map(Self::Bayer),
            keys.quantise.map(Self::Quantise),
            keys.jpeg.map(Self::Jpeg),
            keys.own.map(Self::Own),
        ];
        let mut stages = stages.into_iter().flatten();
        match (stages.next(), stages.next()) {
            (Some(stage), None) => Ok(stage),
            _ => Err("a stage must be exactly one of defocus, vignetting, flare, dust, aggregator, noise, response, \
                      intensity_noise, bayer, quantise, jpeg and own, with its keys ({} for none)"),
        }
    }
}

impl StageSpec {
    /// Its key in a sensor file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Defocus(_) => "defocus",
            Self::Vignetting(_) => "vignetting",
            Self::Flare(_) => "flare",
            Self::Dust(_) => "dust",
            Self::Aggregator(_) => "aggregator",
            Self::Noise(_) => "noise",
            Self::Response(_) => "response",
            Self::IntensityNoise(_) => "intensity_noise",
            Self::Bayer(_) => "bayer",
            Self::Quantise(_) => "quantise",
            Self::Jpeg(_) => "jpeg",
            Self::Own(_) => "own",
        }
    }

    /// Quantities it takes; of a user's stage any, as far as a file can tell.
    fn takes(&self) -> &'static [Quantity] {
        match self {
            Self::Defocus(_) | Self::Vignetting(_) | Self::Flare(_) | Self::Dust(_) | Self::Aggregator(_) => {
                &[Quantity::Irradiance]
            }
            Self::Noise(_) | Self::Response(_) => &[Quantity::Electrons],
            Self::IntensityNoise(_) => &[Quantity::Signal],
            Self::Bayer(_) | Self::Quantise(_) => &[Quantity::Electrons, Quantity::Signal],
            Self::Jpeg(_) => &[Quantity::Numbers],
            Self::Own(_) => &[Quantity::Irradiance, Quantity::Electrons, Quantity::Signal, Quantity::Numbers],
        }
    }

    /// The quantity it gives for the one it takes.
    pub(super) fn gives(&self, taken: Quantity) -> Quantity {
        match self {
            Self::Aggregator(_) => Quantity::Electrons,
            Self::Response(_) => Quantity::Signal,
            Self::Quantise(_) => Quantity::Numbers,
            Self::Defocus(_)
            | Self::Vignetting(_)
            | Self::Flare(_)
            | Self::Dust(_)
            | Self::Noise(_)
            | Self::IntensityNoise(_)
            | Self::Bayer(_)
            | Self::Jpeg(_)
            | Self::Own(_) => taken,
        }
    }
}

/// Paths as in the file, so that a refusal finds its line.
impl Validate for StageSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        let key = self.key();
        let mut path = garde::util::nested_path!(parent, key);
        match self {
            Self::Defocus(spec) => spec.validate_into(&(), &mut path, report),
            Self::Vignetting(spec) => spec.validate_into(&(), &mut path, report),
            Self::Flare(spec) => spec.validate_into(&(), &mut path, report),
            Self::Dust(spec) => spec.validate_into(&(), &mut path, report),
            Self::Aggregator(spec) => spec.validate_into(&(), &mut path, report),
            Self::Noise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Response(spec) => spec.validate_into(&(), &mut path, report),
            Self::IntensityNoise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Bayer(_) => {}
            Self::Quantise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Jpeg(spec) => spec.validate_into(&(), &mut path, report),
            Self::Own(spec) => spec.validate_into(&(), &mut path, report),
        }
    }
}

/// The stages of a camera in their order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Stages(pub Vec<StageSpec>);

/// Where a list of stages has come to.
struct Progress {
    quantity: Quantity,
    colour: bool,
    mosaic: Option<Pattern>,
    bits: u32,
}

impl Stages {
    /// The same list without the stages of this name.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.0.retain(|stage| stage.key() != key);
        self
    }

    /// The aggregator's numbers, where there is one.
    #[must_use]
    pub fn aggregator(&self) -> Option<&AggregatorSpec> {
        self.0.iter().find_map(|stage| if let StageSpec::Aggregator(spec) = stage { Some(spec) } else { None })
    }

    /// The response's numbers, where there is one.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseSpec> {
        self.0.iter().find_map(|stage| if let StageSpec::Response(spec) = stage { Some(spec) } else { None })
    }

    /// The quantiser's numbers, where there is one.
    #[must_use]
    pub fn quantise(&self) -> Option<&QuantiseSpec> {
        self.0.iter().find_map(|stage| if let StageSpec::Quantise(spec) = stage { Some(spec) } else { None })
    }

    /// Planes that the list begins with: three of a camera for colours, else one.
    #[must_use]
    pub fn channels(&self) -> usize {
        if self.aggregator().is_some_and(AggregatorSpec::is_colour) { 3 } else { 1 }
    }

    /// The pixel format that comes out at the end.
    ///
    /// # Errors
    /// When the order makes no sense: the place in the list, from 0, and why.
    pub fn encoding(&self) -> Result<Encoding, (usize, String)> {
        let mut at = Progress { quantity: Quantity::Irradiance, colour: self.channels() == 3, mosaic: None, bits: 0 };
        for (i, stage) in self.0.iter().enumerate() {
            at.pass(stage).map_err(|why| (i, why))?;
        }
        if at.quantity != Quantity::Numbers {
            let why = format!("the last stage gives {}; a list must have aggregator and quantise", at.quantity);
            return Err((self.0.len().saturating_sub(1), why));
        }
        let channels = if at.colour { 3 } else { 1 };
        Ok(Encoding::of(at.mosaic, channels, at.bits > 8))
    }
}

impl Progress {
    fn pass(&mut self, stage: &StageSpec) -> Result<(), String> {
        let (key, given) = (stage.key(), self.quantity);
        if !stage.takes().contains(&given) {
            let takes: Vec<_> = stage.takes().iter().map(Quantity::to_string).collect();
            return Err(format!("{key} is not allowed here: it takes {} and is given {given}", takes.join(" or ")));
        }
        match stage {
            StageSpec::Bayer(_) if !self.colour => {
                return Err("bayer is not allowed here: it takes three colours (quantum_efficiency_rgb of the \
                            aggregator) once"
                    .to_owned());
            }
            StageSpec::Bayer(pattern) => (self.mosaic, self.colour) = (Some(*pattern), false),
            StageSpec::Response(ResponseSpec { white_balance_rgb: Some(_), .. }) if !self.colour => {
                return Err("white_balance_rgb is not allowed here: response is given one plane".to_owned());
            }
            StageSpec::Quantise(spec) => self.bits = spec.bits,
            StageSpec::Jpeg(_) if self.bits != 8 => {
                return Err(format!("jpeg is not allowed after quantise with {} bits: it takes 8", self.bits));
            }
            StageSpec::Jpeg(_) if self.mosaic.is_some() => {
                return Err("jpeg is not allowed after bayer: it would mix the colours of a mosaic".to_owned());
            }
            _ => {}
        }
        self.quantity = stage.gives(given);
        Ok(())
    }
}

/// Paths as in the file, so that a refusal finds its line.
impl Validate for Stages {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        for (i, stage) in self.0.iter().enumerate() {
            stage.validate_into(&(), &mut garde::util::nested_path!(parent, i), report);
        }
        if let Err((i, why)) = self.encoding() {
            let path = match self.0.get(i) {
                Some(stage) => parent().join(i).join(stage.key()),
                None => parent(),
            };
            report.append(path, garde::Error::new(why));
        }
    }
}
