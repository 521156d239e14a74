//! `selene render`: writes an image of one camera or of each, as the camera node would publish it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selene_base::SimTime;
use selene_observe::{CameraSample, Feed, Interval, RoverCameras};
use selene_pictures::save_png;
use selene_pictures::tile::Still;
use selene_sensors::{CameraSpec, Sample, Schedule, StageRow};
use selene_sim::{EntityId, Model, World};

use crate::args::{RenderArgs, SoilDevice};
use crate::bar::Work;
use crate::fault::Fault;
use crate::verbosity::Verbosity;
use crate::{device, places};

/// Weight of an image in the progress bar, in milliseconds of the drive.
const IMAGE_MS: u64 = 1000;

/// The cameras of each rover that takes an image.
type Viewers = BTreeMap<EntityId, RoverCameras>;

/// Renders the images and writes them.
pub(crate) fn render(args: &RenderArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let model = places::load_model(Some(&args.scenario), &args.world, SoilDevice::Cpu)?;
    let mut shots = shots(&model, args)?;
    shots.iter().try_for_each(|shot| places::check_writable("--out", &shot.file, &selene_base::output::PNG))?;
    let driven = places::load_ruts(args.ruts.as_deref(), &model)?;
    let devices = device::open(args.device.device)?;
    device::check(&devices, &model)?;
    let mut world = World::begin(model, driven.as_ref()).map_err(Fault::run)?;
    let mut feed = Feed::begin(&mut world).map_err(Fault::run)?;
    let mut viewers = Viewers::new();
    for shot in &shots {
        if let std::collections::btree_map::Entry::Vacant(e) = viewers.entry(shot.rover) {
            let ruts = &world.state().ruts;
            let cameras =
                RoverCameras::new(world.model(), shot.rover, feed.last(), ruts, &devices, &Default::default());
            e.insert(cameras.map_err(Fault::run)?);
        }
    }
    // The bar counts the drive until then and an image for each camera, which takes about as long as a second of it.
    let driven_ms = |time: SimTime| (time.min(args.at).secs_f64() * 1e3) as u64;
    let work = Work::begin(verbosity, "rendering", driven_ms(args.at) + IMAGE_MS * shots.len() as u64);
    while shots.iter().any(|shot| shot.image.is_none()) {
        let interval = feed.heartbeat(&mut world).map_err(Fault::run)?;
        viewers.values_mut().try_for_each(|cameras| cameras.see(&interval)).map_err(Fault::run)?;
        for shot in shots.iter_mut().filter(|shot| shot.image.is_none()) {
            shot.take(args.at, &interval, &mut viewers)?;
        }
        let taken = shots.iter().filter(|shot| shot.image.is_some()).count() as u64;
        work.reached(driven_ms(interval.next.time) + IMAGE_MS * taken);
    }
    drop(work);
    shots.iter().try_for_each(|shot| shot.save(&viewers, verbosity))
}

/// One camera and the image that it is to take.
struct Shot {
    rover: EntityId,
    /// The camera's name for `--camera`.
    name: String,
    camera: String,
    schedule: Schedule,
    file: PathBuf,
    /// The latest sample so far.
    latest: Option<Sample>,
    image: Option<CameraSample>,
}

/// The shots of the requested cameras.
fn shots(model: &Model, args: &RenderArgs) -> Result<Vec<Shot>, Fault> {
    let mut shots = cameras(model);
    match &args.camera {
        None if shots.is_empty() => Err(Fault::input("the scenario has no camera")),
        None => {
            places::check_folder("--out", &args.out)?;
            for shot in &mut shots {
                shot.file = args.out.join(format!("{}.png", shot.name.replace('/', "_")));
            }
            Ok(shots)
        }
        Some(name) => {
            let known = shots.iter().map(|shot| shot.name.as_str()).collect::<Vec<_>>().join(", ");
            let reported = format!("--camera {name}: the scenario has no such camera; it has {known}");
            let found = shots.into_iter().find(|shot| shot.name == *name);
            let shot = found.ok_or_else(|| Fault::input(reported))?;
            Ok(vec![Shot { file: args.out.clone(), ..shot }])
        }
    }
}

/// A shot for every camera; with several rovers they are named `ROVER/CAMERA`.
fn cameras(model: &Model) -> Vec<Shot> {
    let several = model.rovers().len() > 1;
    let of_rover = |(id, kind): (&EntityId, &std::sync::Arc<selene_sim::RoverKind>)| {
        let (rover, setup) = (*id, kind.setup().clone());
        let shot = |camera: selene_sim::Mounted<'_, CameraSpec>| {
            let row = StageRow::new(&camera.spec.name, camera.spec.stages.augments(), setup.sensor_seed);
            Shot {
                rover,
                name: if several { format!("{}/{}", setup.name, camera.spec.name) } else { camera.spec.name.clone() },
                camera: camera.spec.name.clone(),
                schedule: row.schedule(camera.spec.schedule()),
                file: PathBuf::new(),
                latest: None,
                image: None,
            }
        };
        setup.cameras().map(shot).collect::<Vec<_>>()
    };
    model.rovers().iter().flat_map(of_rover).collect()
}

impl Shot {
    /// Exposes the camera's last sample up to `at` as soon as the world is known up to the end of the exposure.
    fn take(&mut self, at: SimTime, interval: &Interval, viewers: &mut Viewers) -> Result<(), Fault> {
        let until = interval.next.time;
        let schedule = self.schedule;
        self.latest = schedule.measured_in(interval.after(), until.min(at)).last().or(self.latest);
        // It is the one to expose once no later sample can fall before `at`.
        let next_sample = self.latest.map(|sample| schedule.instant(sample.index + 1));
        let is_last = next_sample.is_some_and(|instant| instant > at) || until >= at;
        let Some(cameras) = viewers.get_mut(&self.rover).filter(|_| is_last) else { return Ok(()) };
        let name = &self.name;
        let sample = self.latest.ok_or_else(|| Fault::input(format!("--at: {name} takes no image until then")))?;
        if cameras.exposed_at(&self.camera, sample) <= until {
            self.image = Some(cameras.expose(&self.camera, sample).map_err(Fault::run)?);
        }
        Ok(())
    }

    fn save(&self, viewers: &Viewers, verbosity: Verbosity) -> Result<(), Fault> {
        let Some((sample, cameras)) = self.image.as_ref().zip(viewers.get(&self.rover)) else { return Ok(()) };
        write(sample, &self.file)?;
        let (file, device) = (places::whole(&self.file), cameras.device());
        verbosity.note(format_args!("{}: {} at {}, traced on {device}", file.display(), self.name, sample.stamp));
        Ok(())
    }
}

fn write(sample: &CameraSample, file: &Path) -> Result<(), Fault> {
    let image = &sample.image;
    let still = Still::read(sample.stamp, [image.width, image.height], image.encoding, &image.data);
    let picture = still.and_then(|still| still.coloured()).ok_or_else(|| Fault::run("the image has no pixels"))?;
    save_png(&picture, file).map_err(Fault::run)
}
