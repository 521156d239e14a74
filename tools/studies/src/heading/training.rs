//! Training images for the network (`network`): the study's rover in many worlds, each with its own ground, Sun,
//! reflectance, lenses and metering, so that a network cannot memorise any of them (domain randomisation; J. Tobin et
//! al., IROS 2017).
//!
//! Drawn from uniform distributions, of the logarithm where a range is given by a factor: the ground's seed, the
//! orientation of its landforms, position and heading at the start, the bend that is driven, the Sun's elevation (over
//! the paper's four), the single-scattering albedo of soil and rocks, the cameras' metering target, scatter and ghosts
//! of their flare, and spots of dust. Tilt follows from the ground. No world has the study's own ground or cameras.
//! Cameras have half the columns and rows, on a detector of the same size: a quarter of the work, and still several
//! pixels for each of the network's.

use std::f64::consts::PI;
use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use image::GrayImage;
use nalgebra::Vector3;
use selene_base::SimTime;
use selene_base::random::{RngExt, Stream, stream_at};
use selene_observe::Device;
use selene_sensors::develop::{FlareSpec, ScatterSpec, StageSpec};
use selene_sensors::{CameraSpec, SensorSpec};
use selene_sim::{LoadOptions, Model, Scenario};
use selene_terrain::{ElevationSpec, HapkeSpec, LandformSpec, ReflectanceSpec, SiteSpec};
use selene_vehicle::BodyTwist;

use super::drive::{DrivePlan, HeadingShot, shots};
use super::when;
use crate::Failure;

/// Range of the Sun's elevation, degrees.
const ELEVATION_DEG: Range<f64> = 6.5..23.0;
/// Range of the start's x and of its y on the map, m.
const START_M: Range<f64> = -120.0..120.0;
/// Forward speed and turn rate of the bend, to either side: most of a turn within a world.
const SPEED_M_S: Range<f64> = 0.03..0.09;
const TURN_RAD_S: Range<f64> = 0.2..0.35;
/// The most images of a camera in a world, and the time between them.
const INSTANTS: usize = 24;
const PERIOD_S: Range<f64> = 0.9..1.3;
/// Cameras whose axis is farther from the Sun than this take no images: more than a right angle, so that positions just
/// outside of the frame have neighbours beyond them.
const SUN_WITHIN_RAD: f64 = 110.0 * PI / 180.0;
/// Range of the single-scattering albedo; a mean lunar one is within.
const ALBEDO: Range<f64> = 0.2..0.45;
/// Range of the signal that metered ground has, as a fraction of full scale.
const TARGET: Range<f64> = 0.2..0.55;
/// Fraction of light that a clean lens scatters, angle at which its lobe begins to fall (degrees), and slope of the
/// fall.
const SCATTER: Range<f64> = 0.004..0.025;
const SCATTER_DEG: Range<f64> = 0.05..0.2;
const SCATTER_SLOPE: Range<f64> = 1.8..2.2;
/// Fraction of light that a dirty lens scatters in addition, for every second one.
const DIRT: Range<f64> = 0.002..0.02;
const DIRT_DEG: Range<f64> = 1.0..4.0;
const DIRT_SLOPE: f64 = 3.0;
/// Factors of a ghost's light and radius, and its displacement along its line.
const GHOST_LIGHT: Range<f64> = 0.2..3.0;
const GHOST_RADIUS: Range<f64> = 0.7..1.4;
const GHOST_ALONG: Range<f64> = -0.1..0.1;
/// The most spots of dust.
const SPOTS_MAX: u32 = 24;
/// Positions that are tried in a world: a rock may lie where a wheel would stand.
const PLACES: u32 = 8;
/// Columns of the table of labels.
const COLUMNS: &str = "image,world,camera,sun_x,sun_y,sun_z,in_frame,in_sight,sun_elevation_deg\n";

/// Set-up of the training images.
#[derive(Clone, Debug)]
pub struct Training {
    /// The study's scenario, from which all worlds are varied.
    pub scenario: PathBuf,
    /// Options for loading it; seed, UTC and start are drawn.
    pub options: LoadOptions,
    /// Number of images.
    pub count: usize,
    /// Seed of all drawn values.
    pub seed: u64,
    /// Device that traces the images.
    pub device: Device,
}

/// An image with its label.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// Number of its world; validation images are held out by whole worlds.
    pub world: u64,
    /// Name of the camera.
    pub camera: String,
    /// Image for the network.
    pub image: GrayImage,
    /// Unit vector towards the Sun in the optical frame.
    pub sun_in_optical: Vector3<f64>,
    /// Whether the Sun is in the frame and visible.
    pub in_frame: bool,
    /// Whether the Sun is visible from the lens.
    pub in_sight: bool,
    /// The Sun's elevation at the start of the world, degrees.
    pub sun_elevation_deg: f64,
}

impl Training {
    /// Makes the images, world by world, and passes each to `keep` with its number.
    ///
    /// # Errors
    /// When the scenario cannot be varied, no start position is found, something cannot be traced, or `keep` fails.
    pub fn make(&self, mut keep: impl FnMut(usize, &Labelled) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut made = 0;
        let mut world = 0;
        while made < self.count {
            let images = self.world(world)?;
            for labelled in images.iter().take(self.count - made) {
                keep(made, labelled)?;
                made += 1;
            }
            world += 1;
        }
        Ok(())
    }

    /// The images of a world.
    fn world(&self, world: u64) -> Result<Vec<Labelled>, Failure> {
        let mut draw = stream_at(self.seed, "study/heading/training", world);
        let sun_elevation_deg = draw.random_range(ELEVATION_DEG);
        let varied = self.varied(sun_elevation_deg, &mut draw)?;
        let plan = plan(self.count.min(INSTANTS), &mut draw);
        let mut tried = 1;
        loop {
            let model = Arc::new(Model::new(Arc::new(placed(&varied, &mut draw)))?);
            match shots(&model, &self.device, &plan) {
                Ok(shots) => return Ok(labelled(shots, world, sun_elevation_deg)),
                Err(error) if tried == PLACES => return Err(format!("world {world}: {error}").into()),
                Err(_) => tried += 1,
            }
        }
    }

    /// The scenario with another Sun, other ground and other lenses.
    fn varied(&self, sun_elevation_deg: f64, draw: &mut Stream) -> Result<Scenario, Failure> {
        let first = Scenario::load(&self.scenario, &self.options)?;
        let utc = when(&first.sky, first.utc, sun_elevation_deg)?;
        let seed = Some(u64::from(draw.random::<u32>()));
        let options = LoadOptions { utc: Some(utc), seed, ..self.options.clone() };
        let mut scenario = Scenario::load(&self.scenario, &options)?;
        vary_site(&mut scenario.site, draw);
        let file = self.scenario.display();
        let rover = scenario.rovers.first_mut().ok_or_else(|| format!("{file}: has no rover"))?;
        if rover.cameras().count() == 0 {
            return Err(format!("{file}: must have cameras").into());
        }
        for sensor in &mut rover.sensors {
            if let SensorSpec::Camera(camera) = &mut sensor.spec {
                vary_camera(camera, draw);
            }
        }
        Ok(scenario)
    }
}

/// Table of labels as CSV, with a line for each image.
#[must_use]
pub fn labels(all: &[Labelled]) -> String {
    let mut text = COLUMNS.to_owned();
    for (number, of) in all.iter().enumerate() {
        let Labelled { world, camera, sun_in_optical: sun, sun_elevation_deg, .. } = of;
        let [in_frame, in_sight] = [of.in_frame, of.in_sight].map(u8::from);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{number},{world},{camera},{:.7},{:.7},{:.7},{in_frame},{in_sight},{sun_elevation_deg:.4}",
            sun.x, sun.y, sun.z
        );
    }
    text
}

fn labelled(shots: Vec<HeadingShot>, world: u64, sun_elevation_deg: f64) -> Vec<Labelled> {
    let of = |shot: HeadingShot| Labelled {
        world,
        camera: shot.camera,
        image: shot.tiny,
        sun_in_optical: shot.sun_in_optical,
        in_frame: shot.sun_px.is_some(),
        in_sight: shot.sun_in_sight,
        sun_elevation_deg,
    };
    shots.into_iter().map(of).collect()
}

/// Plan of a drive in a bend to either side.
fn plan(instants: usize, draw: &mut Stream) -> DrivePlan {
    let side = if draw.random_bool(0.5) { 1.0 } else { -1.0 };
    let twist = BodyTwist::arc(draw.random_range(SPEED_M_S), side * draw.random_range(TURN_RAD_S));
    let period = SimTime::from_secs_f64(draw.random_range(PERIOD_S));
    DrivePlan { instants, period, twist: Some(twist), sun_within_rad: SUN_WITHIN_RAD }
}

/// The scenario with its rover at another position.
fn placed(scenario: &Scenario, draw: &mut Stream) -> Scenario {
    let mut scenario = scenario.clone();
    for rover in &mut scenario.rovers {
        rover.start.x_m = draw.random_range(START_M);
        rover.start.y_m = draw.random_range(START_M);
        rover.start.yaw_rad = draw.random_range(-PI..PI);
    }
    scenario
}

/// Varies the reflectance, and turns the landforms around the map's origin: the skyline must not reveal where north is.
fn vary_site(site: &mut SiteSpec, draw: &mut Stream) {
    for surface in [&mut site.surface.regolith, &mut site.surface.rock] {
        let albedo = Some(draw.random_range(ALBEDO));
        if let ReflectanceSpec::Hapke(hapke) = surface {
            *hapke = HapkeSpec { w: albedo, ..*hapke };
        }
    }
    let (sin, cos) = draw.random_range(-PI..PI).sin_cos();
    let turn = |[x, y]: &mut [f64; 2]| [*x, *y] = [cos * *x - sin * *y, sin * *x + cos * *y];
    let ElevationSpec::Procedural(procedural) = &mut site.elevation else { return };
    for landform in &mut procedural.landforms {
        match landform {
            LandformSpec::Rise(rise) => turn(&mut rise.at_m),
            LandformSpec::Ridge(ridge) => [&mut ridge.from_m, &mut ridge.to_m].into_iter().for_each(turn),
            LandformSpec::Crater(crater) => turn(&mut crater.at_m),
        }
    }
}

/// Varies the lens, its dirt, and the metering.
fn vary_camera(camera: &mut CameraSpec, draw: &mut Stream) {
    coarsen(camera);
    camera.metering.target = draw.random_range(TARGET);
    for stage in &mut camera.stages.0 {
        match stage {
            StageSpec::Flare(flare) => vary_flare(flare, draw),
            StageSpec::Dust(dust) => dust.spots = draw.random_range(0..=SPOTS_MAX),
            _ => {}
        }
    }
}

/// Halves columns and rows if both are even and the camera is given by its field of view, not by a focal length in
/// pixels.
fn coarsen(camera: &mut CameraSpec) {
    if camera.horizontal_fov_deg.is_some() && camera.width.is_multiple_of(2) && camera.height.is_multiple_of(2) {
        camera.width /= 2;
        camera.height /= 2;
        camera.pixel_pitch_m *= 2.0;
    }
}

fn vary_flare(flare: &mut FlareSpec, draw: &mut Stream) {
    let share = by_factor(SCATTER, draw);
    let (radius_deg, slope) = (by_factor(SCATTER_DEG, draw), draw.random_range(SCATTER_SLOPE));
    flare.scatter = vec![ScatterSpec { share, radius_deg, slope }];
    if draw.random_bool(0.5) {
        let (share, radius_deg) = (by_factor(DIRT, draw), by_factor(DIRT_DEG, draw));
        flare.scatter.push(ScatterSpec { share, radius_deg, slope: DIRT_SLOPE });
    }
    for ghost in &mut flare.ghosts {
        ghost.share *= by_factor(GHOST_LIGHT, draw);
        ghost.radius *= by_factor(GHOST_RADIUS, draw);
        ghost.along += draw.random_range(GHOST_ALONG);
    }
}

/// Draws a number whose logarithm is uniform.
fn by_factor(range: Range<f64>, draw: &mut Stream) -> f64 {
    draw.random_range(range.start.ln()..range.end.ln()).exp()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nalgebra::Vector3;
    use selene_base::random::stream_at;
    use selene_observe::Device;
    use selene_sensors::SensorSpec;
    use selene_sim::{LoadOptions, Scenario};

    use super::{Labelled, Training, labels, vary_camera};
    use crate::Failure;
    use crate::heading::TINY_PX;

    fn training() -> Training {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/sorato_loop.yaml");
        Training { scenario, options: LoadOptions::default(), count: 2, seed: 7, device: Device::cpu() }
    }

    #[test]
    fn worlds_differ_in_ground_light_and_lenses_and_are_the_same_again() {
        let varied = |world: u64| {
            let scenario = training().varied(12.0, &mut stream_at(7, "worlds", world)).expect("varied");
            let camera = scenario.rovers[0].cameras().next().expect("a camera").spec.clone();
            (scenario.seed, format!("{:?}", scenario.site.surface), format!("{:?}", scenario.site.elevation), camera)
        };
        let [first, again, second] = [varied(0), varied(0), varied(1)];
        assert_eq!((first.0, &first.1, &first.2, &first.3), (again.0, &again.1, &again.2, &again.3));
        assert!(first.0 != second.0 && first.1 != second.1 && first.2 != second.2);
        assert!(first.3.stages != second.3.stages && first.3.metering.target != second.3.metering.target);
    }

    #[test]
    fn cameras_are_varied_within_what_their_files_may_say() {
        let options = LoadOptions::default();
        let own = Scenario::load(&training().scenario, &options).expect("the scenario");
        for world in 0..20 {
            let mut draw = stream_at(7, "worlds", world);
            for sensor in &own.rovers[0].sensors {
                let SensorSpec::Camera(camera) = &sensor.spec else { continue };
                let mut camera = camera.clone();
                vary_camera(&mut camera, &mut draw);
                garde::Validate::validate(&camera).expect("allowed");
            }
        }
    }

    #[test]
    fn a_world_gives_images_whose_labels_agree_with_their_pixels() {
        let mut made = Vec::new();
        let keep = |number: usize, of: &Labelled| -> Result<(), Failure> {
            assert_eq!(number, made.len());
            made.push(of.clone());
            Ok(())
        };
        training().make(keep).expect("images");
        assert_eq!(made.len(), 2);
        for of in &made {
            assert_eq!([of.image.width(), of.image.height()], TINY_PX);
            assert!((of.sun_in_optical.norm() - 1.0).abs() < 1e-9);
            assert!(of.sun_in_optical.angle(&Vector3::z()) < super::SUN_WITHIN_RAD + 1e-6);
            let white = of.image.pixels().any(|pixel| pixel.0[0] > 200);
            assert!(white || !of.in_frame, "the Sun in the frame is white: {of:?}");
        }
        let rows = labels(&made);
        assert!(rows.lines().count() == 3 && rows.lines().nth(1).is_some_and(|row| row.starts_with("0,0,")), "{rows}");
    }
}
