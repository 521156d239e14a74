//! One stage in a camera's YAML: a closed set, each with its name, the quantity that it takes and the one that it gives
//! (table in `stages`). Stages of images that other sensors' lists can also have are in `augment`.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::one_of;
use serde::Deserialize;

use super::aggregator::AggregatorSpec;
use super::bayer::Pattern;
use super::defocus::DefocusSpec;
use super::dust::LensDustSpec;
use super::flare::FlareSpec;
use super::intensity_noise::IntensityNoiseSpec;
use super::jpeg::JpegSpec;
use super::noise::NoiseSpec;
use super::own::OwnSpec;
use super::plate::Quantity;
use super::quantise::QuantiseSpec;
use super::response::ResponseSpec;
use super::vignetting::VignettingSpec;
use super::wells::WellsSpec;
use crate::augment::{
    AugmentSpec, ConvertSpec, CropSpec, DecimateSpec, DropOutSpec, LagSpec, OwnTopicSpec, RateJitterSpec,
};

/// The spec of one stage.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "StageKeys")]
pub enum StageSpec {
    /// Blur of objects out of focus.
    Defocus(DefocusSpec),
    /// Darker corners.
    Vignetting(VignettingSpec),
    /// Stray light: bloom, veil, streaks and ghosts.
    Flare(FlareSpec),
    /// Dust spots on the lens.
    Dust(LensDustSpec),
    /// Light to electrons.
    Aggregator(AggregatorSpec),
    /// Full wells and blooming.
    Wells(WellsSpec),
    /// Noise of the detector.
    Noise(NoiseSpec),
    /// Electrons to signal.
    Response(ResponseSpec),
    /// Noise that depends on the signal alone.
    IntensityNoise(IntensityNoiseSpec),
    /// A colour mosaic.
    Bayer(Pattern),
    /// Signal to whole numbers.
    Quantise(QuantiseSpec),
    /// Artefacts of JPEG compression.
    Jpeg(JpegSpec),
    /// A user's stage on a plate, in this process.
    Own(OwnSpec),
    /// A stage on the developed image.
    Augment(AugmentSpec),
}

/// A stage in the file: a single key names its kind.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StageKeys {
    defocus: Option<DefocusSpec>,
    vignetting: Option<VignettingSpec>,
    flare: Option<FlareSpec>,
    dust: Option<LensDustSpec>,
    aggregator: Option<AggregatorSpec>,
    wells: Option<WellsSpec>,
    noise: Option<NoiseSpec>,
    response: Option<ResponseSpec>,
    intensity_noise: Option<IntensityNoiseSpec>,
    bayer: Option<Pattern>,
    quantise: Option<QuantiseSpec>,
    jpeg: Option<JpegSpec>,
    own: Option<OwnKeys>,
    crop: Option<CropSpec>,
    convert: Option<ConvertSpec>,
    lag: Option<LagSpec>,
    rate_jitter: Option<RateJitterSpec>,
    drop_out: Option<DropOutSpec>,
    decimate: Option<DecimateSpec>,
}

/// A user's stage in the file: with a timeout it runs in another process.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OwnKeys {
    name: String,
    timeout_s: Option<f64>,
}

impl From<OwnKeys> for StageSpec {
    fn from(OwnKeys { name, timeout_s }: OwnKeys) -> Self {
        match timeout_s {
            None => Self::Own(OwnSpec { name }),
            Some(timeout_s) => Self::Augment(AugmentSpec::Own(OwnTopicSpec { name, timeout_s })),
        }
    }
}

impl TryFrom<StageKeys> for StageSpec {
    type Error = String;

    fn try_from(keys: StageKeys) -> Result<Self, String> {
        let stage = one_of([
            ("defocus", keys.defocus.map(Self::Defocus)),
            ("vignetting", keys.vignetting.map(Self::Vignetting)),
            ("flare", keys.flare.map(Self::Flare)),
            ("dust", keys.dust.map(Self::Dust)),
            ("aggregator", keys.aggregator.map(Self::Aggregator)),
            ("wells", keys.wells.map(Self::Wells)),
            ("noise", keys.noise.map(Self::Noise)),
            ("response", keys.response.map(Self::Response)),
            ("intensity_noise", keys.intensity_noise.map(Self::IntensityNoise)),
            ("bayer", keys.bayer.map(Self::Bayer)),
            ("quantise", keys.quantise.map(Self::Quantise)),
            ("jpeg", keys.jpeg.map(Self::Jpeg)),
            ("own", keys.own.map(Self::from)),
            ("crop", keys.crop.map(AugmentSpec::Crop).map(Self::Augment)),
            ("convert", keys.convert.map(AugmentSpec::Convert).map(Self::Augment)),
            ("lag", keys.lag.map(AugmentSpec::Lag).map(Self::Augment)),
            ("rate_jitter", keys.rate_jitter.map(AugmentSpec::RateJitter).map(Self::Augment)),
            ("drop_out", keys.drop_out.map(AugmentSpec::DropOut).map(Self::Augment)),
            ("decimate", keys.decimate.map(AugmentSpec::Decimate).map(Self::Augment)),
        ]);
        // Some stages need no keys, but YAML reads a key without a value as if it were left out.
        stage.map_err(|refusal| format!("{refusal}, with its keys ({{}} for none)"))
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
            Self::Wells(_) => "wells",
            Self::Noise(_) => "noise",
            Self::Response(_) => "response",
            Self::IntensityNoise(_) => "intensity_noise",
            Self::Bayer(_) => "bayer",
            Self::Quantise(_) => "quantise",
            Self::Jpeg(_) => "jpeg",
            Self::Own(_) => "own",
            Self::Augment(augment) => augment.key(),
        }
    }

    /// Quantities that it takes; for a user's stage any, because the file does not say which.
    pub(super) fn takes(&self) -> &'static [Quantity] {
        match self {
            Self::Defocus(_) | Self::Vignetting(_) | Self::Flare(_) | Self::Dust(_) | Self::Aggregator(_) => {
                &[Quantity::Irradiance]
            }
            Self::Wells(_) | Self::Noise(_) | Self::Response(_) => &[Quantity::Electrons],
            Self::IntensityNoise(_) => &[Quantity::Signal],
            Self::Bayer(_) | Self::Quantise(_) => &[Quantity::Electrons, Quantity::Signal],
            Self::Jpeg(_) | Self::Augment(_) => &[Quantity::Numbers],
            Self::Own(_) => &[Quantity::Irradiance, Quantity::Electrons, Quantity::Signal, Quantity::Numbers],
        }
    }

    /// The quantity that it gives for the one that it takes.
    pub(super) fn gives(&self, taken: Quantity) -> Quantity {
        match self {
            Self::Aggregator(_) => Quantity::Electrons,
            Self::Response(_) => Quantity::Signal,
            Self::Quantise(_) => Quantity::Numbers,
            Self::Defocus(_)
            | Self::Vignetting(_)
            | Self::Flare(_)
            | Self::Dust(_)
            | Self::Wells(_)
            | Self::Noise(_)
            | Self::IntensityNoise(_)
            | Self::Bayer(_)
            | Self::Jpeg(_)
            | Self::Own(_)
            | Self::Augment(_) => taken,
        }
    }
}

/// Validation paths follow the keys of the file, so that an error names its line.
impl Validate for StageSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        if let Self::Augment(augment) = self {
            return augment.validate_into(&(), parent, report);
        }
        let key = self.key();
        let mut path = garde::util::nested_path!(parent, key);
        match self {
            Self::Defocus(spec) => spec.validate_into(&(), &mut path, report),
            Self::Vignetting(spec) => spec.validate_into(&(), &mut path, report),
            Self::Flare(spec) => spec.validate_into(&(), &mut path, report),
            Self::Dust(spec) => spec.validate_into(&(), &mut path, report),
            Self::Aggregator(spec) => spec.validate_into(&(), &mut path, report),
            Self::Wells(spec) => spec.validate_into(&(), &mut path, report),
            Self::Noise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Response(spec) => spec.validate_into(&(), &mut path, report),
            Self::IntensityNoise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Bayer(_) | Self::Augment(_) => {}
            Self::Quantise(spec) => spec.validate_into(&(), &mut path, report),
            Self::Jpeg(spec) => spec.validate_into(&(), &mut path, report),
            Self::Own(spec) => spec.validate_into(&(), &mut path, report),
        }
    }
}
