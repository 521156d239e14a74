//! Cameras of learners: one camera of each learner takes an image at the end of each step. All environments of a course
//! share the undisturbed ground for their images, which therefore show no tracks. Everything else in them is as in a
//! run.

use std::path::Path;
use std::sync::Arc;

use selene_base::{InputError, SimTime};
use selene_observe::{Image, Interval, ObserveError, RoverCameras, SceneGround};
use selene_sensors::Sample;
use selene_sim::{EntityId, Model, Scratch, Snapshot};
use selene_terrain::Ruts;

use crate::LearnError;

/// The size of an image: 8-bit values, row by row from the top, channels of a pixel side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
    /// Number of channels: one for grey, three for red, green and blue.
    pub channels: usize,
}

/// The part of the cameras that all environments of a course share.
#[derive(Clone, Debug)]
pub(crate) struct CourseCameras {
    camera: String,
    ground: SceneGround,
    shape: ImageShape,
}

/// The cameras of one environment's learners in one episode.
#[derive(Debug)]
pub(crate) struct EpisodeCameras {
    camera: String,
    of_learners: Vec<RoverCameras>,
    /// Index of the episode's first image: random numbers of an image follow from its index.
    first: u64,
}

impl ImageShape {
    /// Bytes of an image.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.height * self.width * self.channels
    }

    fn of(image: &Image) -> Option<Self> {
        let channels = match image.encoding {
            "mono8" => 1,
            "rgb8" => 3,
            _ => return None,
        };
        Some(Self { height: image.height as usize, width: image.width as usize, channels })
    }
}

impl CourseCameras {
    /// The camera of this name on each learner, for a scenario at its start. Takes one image of each, to get its
    /// size.
    pub(crate) fn new(
        camera: &str,
        model: &Arc<Model>,
        learners: &[EntityId],
        course: &Path,
    ) -> Result<Self, LearnError> {
        learners.iter().try_for_each(|id| refuse_missing(camera, model, *id, course))?;
        let refused = |what: String| LearnError::from(InputError::at(course, "camera", what));
        let now = begun(model).map_err(|error| refused(error.to_string()))?;
        let centre = learners.first().and_then(|id| now.rover(*id)).map_or([0, 0], |rover| rover.clipmap_centre);
        let ground = SceneGround::new(model, centre, &Ruts::default())?;
        let mut sight =
            Self { camera: camera.to_owned(), ground, shape: ImageShape { height: 0, width: 0, channels: 0 } };
        let images = sight.open(model, learners, &now, 0)?.look(&now, 0)?;
        for image in images {
            let shape = ImageShape::of(&image);
            let shape =
                shape.ok_or_else(|| refused(format!("{camera} gives {}; must be mono8 or rgb8", image.encoding)))?;
            if ![0, shape.bytes()].contains(&sight.shape.bytes()) {
                return Err(refused(format!("images of {camera} differ in size from rover to rover; must be alike")));
            }
            sight.shape = shape;
        }
        Ok(sight)
    }

    pub(crate) fn shape(&self) -> ImageShape {
        self.shape
    }

    /// The learners' cameras at the start of an episode.
    pub(crate) fn open(
        &self,
        model: &Arc<Model>,
        learners: &[EntityId],
        now: &Arc<Snapshot>,
        first: u64,
    ) -> Result<EpisodeCameras, ObserveError> {
        let open = |id: &EntityId| RoverCameras::on(self.ground.clone(), model, *id, now);
        let of_learners = learners.iter().map(open).collect::<Result<_, _>>()?;
        Ok(EpisodeCameras { camera: self.camera.clone(), of_learners, first })
    }
}

impl EpisodeCameras {
    /// Lets the cameras observe a heartbeat.
    pub(crate) fn go_on(
        &mut self,
        model: &Arc<Model>,
        previous: &Arc<Snapshot>,
        next: &Arc<Snapshot>,
    ) -> Result<(), ObserveError> {
        let (model, previous, next) = (Arc::clone(model), Arc::clone(previous), Arc::clone(next));
        let interval = Interval { model, previous, next, edits: Vec::new(), published_until: None };
        self.of_learners.iter_mut().try_for_each(|cameras| cameras.see(&interval))
    }

    /// The image of each learner after `steps` steps, whose exposure ends now.
    pub(crate) fn look(&mut self, now: &Snapshot, steps: u64) -> Result<Vec<Image>, ObserveError> {
        let Self { camera, of_learners, first } = self;
        let index = first.wrapping_add(steps);
        let image = |cameras: &mut RoverCameras| {
            let closes_after = cameras.exposed_at(camera, Sample { index, instant: SimTime::ZERO });
            let sample = Sample { index, instant: now.time - closes_after };
            cameras.expose(camera, sample).map(|taken| taken.image)
        };
        of_learners.iter_mut().map(image).collect()
    }
}

/// The first snapshot of a model.
fn begun(model: &Model) -> Result<Arc<Snapshot>, selene_sim::WorldError> {
    let (mut state, edits) = model.start(None)?;
    Ok(Arc::new(model.first_snapshot(&mut state, &mut Scratch::without_prefetch(), edits)?))
}

fn refuse_missing(camera: &str, model: &Model, learner: EntityId, course: &Path) -> Result<(), InputError> {
    let Some(setup) = model.rovers().get(&learner).map(|kind| kind.setup()) else { return Ok(()) };
    let known: Vec<_> = setup.cameras().map(|camera| camera.spec.name.as_str()).collect();
    if known.contains(&camera) {
        return Ok(());
    }
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(InputError::at(course, "camera", format!("rover '{}' has no camera '{camera}'; it has {known}", setup.name)))
}
