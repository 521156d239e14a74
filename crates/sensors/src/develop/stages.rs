//! The list of stages in a camera's YAML: a closed set, each with its name, the quantity that it takes and the one
//! that it gives, so that an invalid order (noise before there are electrons) is refused with the file's line.
//!
//! | stage | takes | gives |
//! | --- | --- | --- |
//! | `defocus`, `vignetting`, `flare`, `dust` | irradiance | irradiance |
//! | `aggregator` | irradiance | electrons |
//! | `wells`, `noise` | electrons | electrons |
//! | `bayer` | electrons or signal, in colour | the same, in one plane |
//! | `response` | electrons | signal |
//! | `intensity_noise` | signal | signal |
//! | `quantise` | signal, or electrons where there is no response | numbers |
//! | `jpeg` | numbers of 8 bits, no mosaic | the same |
//! | `own` | the quantity that its author chose | the same |
//!
//! The stages after these take the image made of the numbers: the stages of `augment`, which every sensor can have,
//! among them `own` with `timeout_s`, which runs in another process.

use garde::Validate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Encoding;
use super::aggregator::AggregatorSpec;
use super::bayer::Pattern;
use super::plate::Quantity;
use super::quantise::QuantiseSpec;
use super::response::ResponseSpec;
use super::stage::StageSpec;
use crate::augment::Augments;

/// The stages of a camera in their order.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Stages(pub Vec<StageSpec>);

/// A list of stages with an invalid order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stage {}: {what}", index + 1)]
pub struct StageOrderError {
    /// Place of the stage in the list, from 0.
    pub index: usize,
    /// What is wrong and what is allowed.
    pub what: String,
}

/// State of the data after the stages checked so far.
struct Progress {
    quantity: Quantity,
    colour: bool,
    mosaic: Option<Pattern>,
    bits: u32,
    /// Whether a stage on the developed image has been reached.
    is_image: bool,
}

impl Stages {
    /// The same list without the stages of this key.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.0.retain(|stage| stage.key() != key);
        self
    }

    /// The spec of the aggregator, if there is one.
    #[must_use]
    pub fn aggregator(&self) -> Option<&AggregatorSpec> {
        self.0.iter().find_map(|stage| if let StageSpec::Aggregator(spec) = stage { Some(spec) } else { None })
    }

    /// The spec of the response, if there is one.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseSpec> {
        self.0.iter().find_map(|stage| if let StageSpec::Response(spec) = stage { Some(spec) } else { None })
    }

    /// The spec of the quantiser, if there is one.
    #[must_use]
    pub fn quantise(&self) -> Option<&QuantiseSpec> {
        self.0.iter().find_map(|stage| if let StageSpec::Quantise(spec) = stage { Some(spec) } else { None })
    }

    /// Number of planes at the beginning: three for a colour camera, otherwise one.
    #[must_use]
    pub fn channels(&self) -> usize {
        if self.aggregator().is_some_and(AggregatorSpec::is_colour) { 3 } else { 1 }
    }

    /// The stages at the end of the list, which take the developed image.
    #[must_use]
    pub fn augments(&self) -> Augments {
        let augment = |stage: &StageSpec| if let StageSpec::Augment(spec) = stage { Some(spec.clone()) } else { None };
        Augments(self.0.iter().filter_map(augment).collect())
    }

    /// The encoding of the developed image.
    ///
    /// # Errors
    /// When the order is invalid.
    pub fn encoding(&self) -> Result<Encoding, StageOrderError> {
        let (quantity, colour) = (Quantity::Irradiance, self.channels() == 3);
        let mut at = Progress { quantity, colour, mosaic: None, bits: 0, is_image: false };
        for (index, stage) in self.0.iter().enumerate() {
            at.pass(stage).map_err(|what| StageOrderError { index, what })?;
        }
        if at.quantity != Quantity::Numbers {
            let what = format!("the last stage gives {}; a list must have aggregator and quantise", at.quantity);
            return Err(StageOrderError { index: self.0.len().saturating_sub(1), what });
        }
        let channels = if at.colour { 3 } else { 1 };
        Ok(Encoding::of(at.mosaic, channels, at.bits > 8))
    }
}

impl Progress {
    fn pass(&mut self, stage: &StageSpec) -> Result<(), String> {
        let (key, given) = (stage.key(), self.quantity);
        if matches!(stage, StageSpec::Augment(_)) {
            self.is_image = true;
            return match given {
                Quantity::Numbers => Ok(()),
                _ => Err(format!("{key} is not allowed here: it takes an image and is given {given}; put it last")),
            };
        }
        if self.is_image {
            let takes: Vec<_> = stage.takes().iter().map(Quantity::to_string).collect();
            return Err(format!("{key} is not allowed here: it takes {} and is given an image", takes.join(" or ")));
        }
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

/// Validation paths follow the keys of the file, so that an error names its line.
impl Validate for Stages {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        for (i, stage) in self.0.iter().enumerate() {
            stage.validate_into(&(), &mut garde::util::nested_path!(parent, i), report);
        }
        if let Err(StageOrderError { index, what }) = self.encoding() {
            let path = match self.0.get(index) {
                Some(stage) => parent().join(index).join(stage.key()),
                None => parent(),
            };
            report.append(path, garde::Error::new(what));
        }
    }
}
