//! The prepared stages of one camera, and the processing of a frame by them.

use selene_scene::CameraFrame;

use super::bayer::Pattern;
use super::defocus::Defocus;
use super::dust::Dust;
use super::exposure::Exposure;
use super::flare::Flare;
use super::intensity_noise::IntensityNoiseSpec;
use super::jpeg::JpegSpec;
use super::noise::Noise;
use super::own::{OwnStages, UserStage};
use super::plate::{Plate, Quantity};
use super::quantise::QuantiseSpec;
use super::response::ResponseSpec;
use super::shot::{RowStreams, RowWork, Shot, SunSight};
use super::stage::StageSpec;
use super::vignetting::VignettingSpec;
use super::wells::WellsSpec;
use super::{DevelopError, DevelopedImage, Encoding, aggregator, bayer, first_plate, image, jpeg};
use crate::camera::{CameraSpec, Intrinsics};
use crate::setting::SensorSetting;

/// A camera prepared for development: everything that does not change from frame to frame is precomputed, and the
/// detector's fixed pattern is drawn.
#[derive(Clone, Debug)]
pub struct Pipeline {
    spec: CameraSpec,
    seed: u64,
    encoding: Encoding,
    stages: Vec<Stage>,
    outputs: Vec<Quantity>,
}

/// A prepared stage.
#[derive(Clone, Debug)]
enum Stage {
    Defocus(Defocus),
    Vignetting(VignettingSpec),
    Flare(Box<Flare>),
    Dust(Dust),
    Aggregator(Vec<f64>),
    Wells(WellsSpec),
    Noise(Noise),
    Response(ResponseSpec),
    IntensityNoise(IntensityNoiseSpec),
    Bayer(Pattern),
    Quantise(QuantiseSpec, Quantity),
    Jpeg(JpegSpec),
    Own(UserStage),
}

impl Pipeline {
    /// The pipeline of a camera without user's stages.
    ///
    /// # Errors
    /// When the order of stages is invalid or one is a user's.
    pub fn new(spec: &CameraSpec, seed: u64) -> Result<Self, DevelopError> {
        Self::with(spec, seed, &OwnStages::new())
    }

    /// The pipeline of a camera whose YAML may name the user's stages `own`.
    ///
    /// # Errors
    /// When the order of stages is invalid, or a user's stage is unknown or works on another quantity than it is given.
    pub fn with(spec: &CameraSpec, seed: u64, own: &OwnStages) -> Result<Self, DevelopError> {
        let refuse = |at: usize, what| DevelopError::Stages { camera: spec.name.clone(), number: at + 1, what };
        let encoding = spec.stages.encoding().map_err(|error| refuse(error.index, error.what))?;
        let mut pipeline = Self { spec: spec.clone(), seed, encoding, stages: Vec::new(), outputs: Vec::new() };
        let mut quantity = Quantity::Irradiance;
        let mut channels = spec.stages.channels();
        for (at, stage) in spec.stages.0.iter().enumerate() {
            let ready = pipeline.ready(stage, quantity, channels, own).map_err(|what| refuse(at, what))?;
            // The remaining stages take the developed image and are not part of the pipeline.
            let Some(ready) = ready else { break };
            quantity = stage.gives(quantity);
            channels = if matches!(stage, StageSpec::Bayer(_)) { 1 } else { channels };
            pipeline.stages.push(ready);
            pipeline.outputs.push(quantity);
        }
        Ok(pipeline)
    }

    /// Prepares a stage; `None` if it takes the developed image.
    fn ready(
        &self,
        stage: &StageSpec,
        taken: Quantity,
        channels: usize,
        own: &OwnStages,
    ) -> Result<Option<Stage>, String> {
        let (spec, name) = (&self.spec, &self.spec.name);
        Ok(Some(match stage {
            StageSpec::Defocus(defocus) => {
                spec.focuses(defocus.focus_m)?;
                Stage::Defocus(Defocus::new(*defocus, spec))
            }
            StageSpec::Vignetting(vignetting) => Stage::Vignetting(*vignetting),
            StageSpec::Flare(flare) => Stage::Flare(Box::new(Flare::new(flare, spec, channels))),
            StageSpec::Dust(dust) => Stage::Dust(Dust::new(*dust, name, self.seed, spec.size())),
            StageSpec::Aggregator(aggregator) => Stage::Aggregator(aggregator.electrons_per_s(spec)),
            StageSpec::Wells(wells) => Stage::Wells(*wells),
            StageSpec::Noise(noise) => Stage::Noise(Noise::new(*noise, name, self.seed, channels, spec.size())),
            StageSpec::Response(response) => Stage::Response(*response),
            StageSpec::IntensityNoise(noise) => Stage::IntensityNoise(*noise),
            StageSpec::Bayer(pattern) => Stage::Bayer(*pattern),
            StageSpec::Quantise(quantise) => Stage::Quantise(*quantise, taken),
            StageSpec::Jpeg(jpeg) => Stage::Jpeg(*jpeg),
            StageSpec::Own(named) => Stage::Own(found(own, &named.name, taken)?),
            StageSpec::Augment(_) => return Ok(None),
        }))
    }

    /// The same camera with a setting applied; the detector's fixed pattern stays.
    #[must_use]
    pub fn set_to(&self, setting: &SensorSetting) -> Self {
        let keeps = |stage: &Stage| setting.noise || !matches!(stage, Stage::Noise(_) | Stage::IntensityNoise(_));
        let kept = self.stages.iter().zip(&self.outputs).filter(|(stage, _)| keeps(stage));
        let (stages, outputs) = kept.map(|(stage, output)| (stage.clone(), *output)).unzip();
        Self { spec: self.spec.set_to(setting), seed: self.seed, encoding: self.encoding, stages, outputs }
    }

    /// The spec of the camera, with its settings applied.
    #[must_use]
    pub fn spec(&self) -> &CameraSpec {
        &self.spec
    }

    /// The encoding of its images.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether a stage needs the Sun's position.
    #[must_use]
    pub fn wants_sun(&self) -> bool {
        self.stages.iter().any(|stage| matches!(stage, Stage::Flare(_) | Stage::Dust(_) | Stage::Own(_)))
    }

    /// Develops frame `index`; `sun` is given if any of it is visible from the lens.
    ///
    /// # Errors
    /// When the frame does not have the camera's size, or JPEG fails.
    pub fn develop(
        &self,
        frame: &CameraFrame,
        sun: Option<&SunSight>,
        index: u64,
    ) -> Result<DevelopedImage, DevelopError> {
        let (got, has) = ([frame.width, frame.height], [self.spec.width, self.spec.height]);
        if got != has {
            return Err(DevelopError::Size { camera: self.spec.name.clone(), got, has });
        }
        let Exposure { exposure_s, gain } = self.expose(frame);
        let shot = Shot { frame, sun, seed: self.seed, index, exposure_s, gain };
        let mut plate = first_plate(frame, self.spec.stages.channels());
        self.pass(&mut plate, &shot)?;
        let data = image::bytes(&plate, self.encoding);
        Ok(DevelopedImage { width: frame.width, height: frame.height, encoding: self.encoding, data, exposure_s, gain })
    }

    /// Exposure time of a frame, s: metered if the camera meters; the frame may have any size.
    #[must_use]
    pub fn exposure_s(&self, frame: &CameraFrame) -> f64 {
        self.expose(frame).exposure_s
    }

    /// Exposure of this frame. Colour cameras are metered by their green channel.
    fn expose(&self, frame: &CameraFrame) -> Exposure {
        let spec = &self.spec;
        let meter = spec.metering;
        let Some(aggregator) = spec.stages.aggregator().filter(|_| spec.auto_exposure) else {
            return Exposure { exposure_s: spec.exposure_s, gain: 1.0 };
        };
        let per_s = aggregator.electrons_per_s(spec);
        // With three bands, grey ground has a third of its light in each.
        let electrons_per_s = per_s[per_s.len() / 2] / per_s.len() as f64;
        let wanted_e = match (spec.stages.response(), spec.stages.quantise()) {
            (Some(response), _) => response.curve.electrons(meter.target) / response.iso,
            (None, Some(quantise)) => meter.target * quantise.highest(),
            (None, None) => f64::NAN,
        };
        meter.meter(frame, electrons_per_s, wanted_e, spec.exposure_s)
    }

    /// Passes a plate through the stages; consecutive stages that work by rows are applied together.
    fn pass(&self, plate: &mut Plate, shot: &Shot<'_>) -> Result<(), DevelopError> {
        let chances = self.chances(shot.index);
        let mut next = 0;
        while let Some(stage) = self.stages.get(next) {
            let works: Vec<RowWork<'_>> = (next..self.stages.len())
                .map_while(|at| self.row_work(&self.stages[at], &chances[at], shot, plate.planes.len()))
                .collect();
            if works.is_empty() {
                whole_work(stage, plate, shot)?;
                next += 1;
            } else {
                plate.for_each_row(|channel, row, values| works.iter().for_each(|work| work(channel, row, values)));
                next += works.len();
            }
            plate.quantity = self.outputs[next - 1];
        }
        Ok(())
    }

    /// Random streams of each stage; the first stage that draws uses the camera's own name.
    fn chances(&self, index: u64) -> Vec<RowStreams> {
        let draws = |stage: &Stage| matches!(stage, Stage::Noise(_) | Stage::IntensityNoise(_));
        let first = self.stages.iter().position(draws);
        let name = |at: usize| {
            if first == Some(at) { self.spec.name.clone() } else { format!("{}/stage {at}", self.spec.name) }
        };
        (0..self.stages.len()).map(|at| RowStreams::new(self.seed, &name(at), index)).collect()
    }

    /// The work of a stage on a row; `None` if it needs several rows at once.
    fn row_work<'a>(
        &'a self,
        stage: &'a Stage,
        chance: &'a RowStreams,
        shot: &Shot<'_>,
        channels: usize,
    ) -> Option<RowWork<'a>> {
        let lens: Intrinsics = self.spec.intrinsics();
        match stage {
            Stage::Vignetting(spec) => Some(spec.rows(lens)),
            Stage::Dust(dust) => Some(dust.rows(shot.sun, channels)),
            Stage::Aggregator(electrons_per_s) => Some(aggregator::rows(electrons_per_s, shot.exposure_s)),
            Stage::Noise(noise) => Some(noise.rows(chance, shot.exposure_s)),
            Stage::Response(spec) => Some(spec.rows(shot.gain)),
            Stage::IntensityNoise(spec) => Some(spec.rows(chance)),
            Stage::Quantise(spec, from) => Some(spec.rows(*from)),
            Stage::Defocus(_)
            | Stage::Flare(_)
            | Stage::Wells(_)
            | Stage::Bayer(_)
            | Stage::Jpeg(_)
            | Stage::Own(_) => None,
        }
    }
}

/// Applies a stage that works on a whole plate; does nothing for stages that work by rows.
fn whole_work(stage: &Stage, plate: &mut Plate, shot: &Shot<'_>) -> Result<(), DevelopError> {
    match stage {
        Stage::Defocus(defocus) => defocus.blur(plate, &shot.frame.depth_m),
        Stage::Flare(flare) => flare.add(plate, shot),
        Stage::Wells(wells) => wells.fill(plate),
        Stage::Bayer(pattern) => bayer::mosaic(plate, *pattern),
        Stage::Jpeg(spec) => jpeg::lose(plate, spec.quality)?,
        Stage::Own(own) => own.apply(plate, shot)?,
        Stage::Vignetting(_)
        | Stage::Dust(_)
        | Stage::Aggregator(_)
        | Stage::Noise(_)
        | Stage::Response(_)
        | Stage::IntensityNoise(_)
        | Stage::Quantise(..) => {}
    }
    Ok(())
}

fn found(own: &OwnStages, name: &str, taken: Quantity) -> Result<UserStage, String> {
    let Some(found) = own.find(name) else {
        let others = "a stage of another process has timeout_s beside its name and comes after quantise";
        return Err(format!(
            "own: '{name}' is no stage of this program; own stages that it has: {}; {others}",
            own.names()
        ));
    };
    if found.on != taken {
        return Err(format!("own: '{name}' is not allowed here: it takes {} and is given {taken}", found.on));
    }
    Ok(found.clone())
}
