//! `selene render`: an image of one camera or of each, as the camera node would publish it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::SimTime;
use selene_camera::{Darkroom, Exposure};
use selene_coherence::Interval;
use selene_sensors::{CameraSpec, Pipeline, Sample, Schedule, SensorSpec};
use selene_sim::{Scenario, World};

use crate::args::RenderArgs;
use crate::fault::Fault;
use crate::{device, places, reading};

/// Renders the images and writes them.
pub(crate) fn render(args: &RenderArgs) -> Result<(), Fault> {
    let scenario = places::load_driven(Some(&args.scenario), &args.world, args.ruts.as_deref())?;
    let mut shots = shots(&scenario, args)?;
    let tracer = device::open(args.device.device)?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    let mut darkroom = Darkroom::new(&scenario, &ground, tracer).map_err(Fault::run)?;
    let mut world = World::new(Arc::clone(&scenario), ground).map_err(Fault::run)?;
    let mut previous = world.first_snapshot();
    while shots.iter().any(|shot| shot.exposure.is_none()) {
        let next = world.heartbeat().map_err(Fault::run)?;
        let edits = next.edits.clone();
        let interval = Interval { previous, next, edits };
        darkroom.take(&interval);
        for shot in shots.iter_mut().filter(|shot| shot.exposure.is_none()) {
            shot.take(args.at, &interval, &mut darkroom)?;
        }
        previous = interval.next;
    }
    let device = darkroom.device();
    shots.iter().try_for_each(|shot| shot.save(&device))
}

/// One camera's image on its way to a file.
struct Shot {
    pipeline: Pipeline,
    link: usize,
    schedule: Schedule,
    file: PathBuf,
    /// The last sample so far.
    latest: Option<Sample>,
    exposure: Option<Exposure>,
}

/// The shots that are asked for.
fn shots(scenario: &Scenario, args: &RenderArgs) -> Result<Vec<Shot>, Fault> {
    let cameras: Vec<_> = scenario
        .sensors
        .iter()
        .filter_map(|sensor| match sensor {
            SensorSpec::Camera(spec) => Some((spec, sensor.schedule())),
            SensorSpec::Lidar(_) | SensorSpec::Imu(_) | SensorSpec::Position(_) => None,
        })
        .collect();
    let Some(name) = &args.camera else {
        if cameras.is_empty() {
            return Err(Fault::input("the scenario has no camera"));
        }
        std::fs::create_dir_all(&args.out)
            .map_err(|e| Fault::input(format!("--out {}: cannot be made: {e}", args.out.display())))?;
        let file = |spec: &CameraSpec| args.out.join(format!("{}.png", spec.name.replace('/', "_")));
        return cameras.into_iter().map(|(spec, schedule)| Shot::new(scenario, spec, schedule, file(spec))).collect();
    };
    let Some((spec, schedule)) = cameras.iter().find(|(spec, _)| spec.name == *name) else {
        let known: Vec<_> = cameras.iter().map(|(spec, _)| spec.name.as_str()).collect();
        let told = format!("--camera {name}: the scenario has no such camera; it has {}", known.join(", "));
        return Err(Fault::input(told));
    };
    Ok(vec![Shot::new(scenario, spec, *schedule, args.out.clone())?])
}

impl Shot {
    fn new(scenario: &Scenario, spec: &CameraSpec, schedule: Schedule, file: PathBuf) -> Result<Self, Fault> {
        let pipeline = Pipeline::new(spec, scenario.seed).map_err(Fault::input)?;
        let link = scenario.link_index(&spec.link);
        Ok(Self { pipeline, link, schedule, file, latest: None, exposure: None })
    }

    /// Exposes the camera's last sample until `at` as soon as the world is known until its end.
    fn take(&mut self, at: SimTime, interval: &Interval, darkroom: &mut Darkroom) -> Result<(), Fault> {
        let until = interval.next.time;
        let schedule = self.schedule;
        self.latest = schedule.measured_in(interval.after(), until.min(at)).last().or(self.latest);
        // The last sample before `at` is the one: no other can follow.
        let next_sample = self.latest.map(|sample| schedule.instant(sample.index + 1));
        let is_last = next_sample.is_some_and(|instant| instant > at) || until >= at;
        let exposed = self.latest.is_none_or(|sample| darkroom.exposed_at(self.pipeline.spec(), sample) <= until);
        if !(is_last && exposed) {
            return Ok(());
        }
        let name = &self.pipeline.spec().name;
        let sample = self.latest.ok_or_else(|| Fault::input(format!("--at: {name} takes no image until then")))?;
        self.exposure = Some(darkroom.expose(&self.pipeline, self.link, sample).map_err(Fault::run)?);
        Ok(())
    }

    fn save(&self, device: &str) -> Result<(), Fault> {
        let Some(exposure) = &self.exposure else { return Ok(()) };
        let at = SimTime::from(exposure.image.header.stamp);
        write(exposure, &self.file)?;
        eprintln!("{}: {} at {at}, traced on {device}", self.file.display(), self.pipeline.spec().name);
        Ok(())
    }
}

fn write(exposure: &Exposure, file: &Path) -> Result<(), Fault> {
    let still = reading::still(&exposure.image);
    let image = still.and_then(|still| still.coloured()).ok_or_else(|| Fault::run("the image has no pixels"))?;
    image
        .save_with_format(file, image::ImageFormat::Png)
        .map_err(|e| Fault::run(format!("{}: cannot be written: {e}", file.display())))
}
