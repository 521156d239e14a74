//! `selene render`: one image of one camera, as the camera node would publish it.

use std::sync::Arc;

use selene_base::SimTime;
use selene_camera::{Darkroom, Exposure};
use selene_coherence::Interval;
use selene_sensors::{CameraSpec, Pipeline, Schedule, SensorSpec};
use selene_sim::{Scenario, World};

use crate::args::RenderArgs;
use crate::fault::Fault;
use crate::{device, places, reading};

/// Renders the image and writes it.
pub(crate) fn render(args: &RenderArgs) -> Result<(), Fault> {
    let scenario = places::load_driven(Some(&args.scenario), &args.world, args.ruts.as_deref())?;
    let (spec, schedule) = camera(&scenario, &args.camera)?;
    let tracer = device::open(args.device.device)?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    let mut darkroom = Darkroom::new(&scenario, &ground, tracer).map_err(Fault::run)?;
    let world = World::new(Arc::clone(&scenario), ground).map_err(Fault::run)?;
    let pipeline = Pipeline::new(spec, scenario.seed).map_err(Fault::input)?;
    let exposure = expose_at(args.at, world, &mut darkroom, &pipeline, schedule, &scenario)?;
    let at = SimTime::from(exposure.image.header.stamp);
    let still = reading::still(&exposure.image);
    let image = still.and_then(|still| still.coloured()).ok_or_else(|| Fault::run("the image has no pixels"))?;
    image
        .save_with_format(&args.out, image::ImageFormat::Png)
        .map_err(|e| Fault::run(format!("{}: cannot be written: {e}", args.out.display())))?;
    eprintln!("{}: {} at {at}, traced on {}", args.out.display(), args.camera, darkroom.device());
    Ok(())
}

fn camera<'a>(scenario: &'a Scenario, name: &str) -> Result<(&'a CameraSpec, Schedule), Fault> {
    let cameras = || {
        scenario.sensors.iter().filter_map(|sensor| match sensor {
            SensorSpec::Camera(spec) => Some((spec, sensor.schedule())),
            SensorSpec::Lidar(_) | SensorSpec::Imu(_) | SensorSpec::Position(_) => None,
        })
    };
    cameras().find(|(spec, _)| spec.name == name).ok_or_else(|| {
        let known: Vec<_> = cameras().map(|(spec, _)| spec.name.as_str()).collect();
        Fault::input(format!("--camera {name}: the scenario has no such camera; it has {}", known.join(", ")))
    })
}

/// Drives the world up to `at` and exposes the camera's last sample until then.
fn expose_at(
    at: SimTime,
    mut world: World,
    darkroom: &mut Darkroom,
    pipeline: &Pipeline,
    schedule: Schedule,
    scenario: &Scenario,
) -> Result<Exposure, Fault> {
    let link = scenario.link_index(&pipeline.spec().link);
    let mut previous = world.first_snapshot();
    let mut latest = None;
    loop {
        let next = world.heartbeat().map_err(Fault::run)?;
        let edits = next.edits.clone();
        let interval = Interval { previous, next, edits };
        darkroom.take(&interval);
        latest = schedule.measured_in(interval.after(), interval.next.time.min(at)).last().or(latest);
        // The last sample before `at` is the one: no other can follow.
        let next_sample = latest.map(|sample| schedule.instant(sample.index + 1));
        let is_last = next_sample.is_some_and(|instant| instant > at) || interval.next.time >= at;
        let exposed = latest.is_none_or(|sample| darkroom.exposed_at(pipeline.spec(), sample) <= interval.next.time);
        if is_last && exposed {
            break;
        }
        previous = interval.next;
    }
    let sample = latest.ok_or_else(|| Fault::input("--at: the camera takes no image until then"))?;
    darkroom.expose(pipeline, link, sample).map_err(Fault::run)
}
