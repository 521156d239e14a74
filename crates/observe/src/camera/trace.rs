//! Tracing of camera images: the recent past of the world, the scene, and its tracers.

use std::collections::BTreeMap;
use std::sync::Arc;

use selene_base::Pose;
use selene_scene::{CameraFrame, CameraView, FlowReference, TruthFrame};
use selene_sensors::{Sample, SunSight};
use selene_sim::EntityId;

use crate::ObserveError;
use crate::boxes;
use crate::camera::rover::Mounting;
use crate::device::Tracers;
use crate::history::History;
use crate::interval::Interval;
use crate::scene::TracedScene;
use crate::sun_sight::sun_in_sight;
use crate::values::{Box2d, Box3d};

/// The recent past, the scene and the tracers that the cameras of one rover share.
pub(crate) struct CameraContext {
    rover: EntityId,
    history: History,
    scene: TracedScene,
    tracers: Tracers,
    /// The last sighting of each camera that publishes flow.
    last: BTreeMap<String, Arc<FlowReference>>,
}

/// A traced image that is not yet developed. It shares nothing, so that the next one can be traced meanwhile.
#[derive(Debug)]
pub(crate) struct TracedFrame {
    pub(crate) sample: Sample,
    pub(crate) frame: CameraFrame,
    pub(crate) truth: TruthFrame,
    pub(crate) sun: Option<SunSight>,
    /// Sightings of this image and of the previous one, for flow.
    pub(crate) sightings: [Option<Arc<FlowReference>>; 2],
    pub(crate) boxes_2d: Option<Vec<Box2d>>,
    pub(crate) boxes_3d: Option<Vec<Box3d>>,
}

impl CameraContext {
    pub(crate) fn new(rover: EntityId, history: History, scene: TracedScene, tracers: Tracers) -> Self {
        Self { rover, history, scene, tracers, last: BTreeMap::new() }
    }

    pub(crate) fn take(&mut self, interval: &Interval) -> Result<(), ObserveError> {
        self.history.take(interval, self.rover);
        self.scene.take(interval)
    }

    pub(crate) fn device(&self) -> String {
        self.tracers.device()
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Whether the world is known from the beginning of an image's exposure. A node that joined later leaves the image
    /// out.
    pub(crate) fn knows(&self, lens: &Mounting, sample: Sample) -> bool {
        let spec = lens.spec();
        self.history.reaches_back_to(sample.instant - spec.shutter(spec.exposure_s).opens_before())
    }

    /// Forgets a camera's last sighting, because the next image will not follow it directly.
    pub(crate) fn forget(&mut self, lens: &Mounting) {
        self.last.remove(&lens.sensor.name);
    }

    /// Traces the image of a camera at `sample`, into spare buffers if there are any.
    pub(crate) fn trace(
        &mut self,
        lens: &Mounting,
        sample: Sample,
        spare: Option<(CameraFrame, TruthFrame)>,
    ) -> Result<TracedFrame, ObserveError> {
        let (mut frame, mut truth) = spare.unwrap_or_default();
        let exposure_s = self.exposure_s(lens, sample, &mut frame)?;
        let view = self.look(lens, sample, exposure_s)?;
        let sun = self.trace_all(lens, &view, sample, &mut frame, &mut truth)?;
        let (spec, scene) = (lens.spec(), self.scene.scene());
        let boxes = spec.truth.boxes_2d || spec.truth.boxes_3d;
        let visible = if boxes { selene_scene::visible(&frame) } else { Vec::new() };
        let boxes_2d = spec.truth.boxes_2d.then(|| boxes::in_image(&visible));
        let boxes_3d = spec.truth.boxes_3d.then(|| boxes::in_space(&visible, scene, &view));
        let now = spec.truth.flow.then(|| Arc::new(FlowReference::new(scene, &view)));
        let before = now.as_ref().and_then(|now| self.last.insert(spec.name.clone(), Arc::clone(now)));
        Ok(TracedFrame { sample, frame, truth, sun, sightings: [now, before], boxes_2d, boxes_3d })
    }

    /// Exposure time of an image for motion blur, s; if its camera meters it, from a coarse image at the same instant.
    fn exposure_s(&mut self, lens: &Mounting, sample: Sample, frame: &mut CameraFrame) -> Result<f64, ObserveError> {
        let spec = lens.spec();
        if !spec.meters_before_tracing() {
            return Ok(spec.exposure_s);
        }
        let view = spec.metering_view(&self.look(lens, sample, 0.0)?);
        let Self { scene, tracers, .. } = self;
        let what = format!("the metering of {} at {}", spec.name, sample.instant);
        let traced = tracers.of(lens.tracer).trace(&what, |tracer| tracer.camera(scene.scene(), &view, frame));
        traced.map_err(|error| lens.fault(&error))?;
        Ok(lens.pipeline.exposure_s(frame))
    }

    /// Traces everything that an image needs; returns the Sun if it is visible and the pipeline needs it.
    fn trace_all(
        &mut self,
        lens: &Mounting,
        view: &CameraView,
        sample: Sample,
        frame: &mut CameraFrame,
        truth: &mut TruthFrame,
    ) -> Result<Option<SunSight>, ObserveError> {
        let spec = lens.spec();
        let Self { scene, tracers, .. } = self;
        let scene = scene.scene();
        let traced =
            tracers.of(lens.tracer).trace(&format!("the image of {} at {}", spec.name, sample.instant), |tracer| {
                tracer.camera(scene, view, frame)?;
                if spec.truth.needs_surfaces() {
                    tracer.truth(scene, view, truth)?;
                }
                lens.pipeline.wants_sun().then(|| sun_in_sight(tracer, scene, view)).transpose()
            });
        traced.map(Option::flatten).map_err(|error| lens.fault(&error))
    }

    /// Moves the scene to the time span of an exposure and returns the camera's view in it.
    fn look(&mut self, lens: &Mounting, sample: Sample, exposure_s: f64) -> Result<CameraView, ObserveError> {
        let spec = lens.spec();
        let shutter = spec.shutter(exposure_s);
        let span = [sample.instant - shutter.opens_before(), sample.instant + shutter.closes_after()];
        let unknown = || lens.fault(&"its rover is in no snapshot of that time");
        let pose = |time| -> Result<Pose, ObserveError> {
            self.history.link_at(self.rover, lens.link, time).ok_or_else(unknown)
        };
        let (stamp, ends) = (pose(sample.instant)?, [pose(span[0])?, pose(span[1])?]);
        self.scene.move_through(&self.history, span, sample.instant)?;
        Ok(CameraView { sweep: shutter.sweep(ends), ..spec.frame_view(stamp, lens.seed, sample.index) })
    }
}

impl std::fmt::Debug for CameraContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eye").field("rover", &self.rover).field("device", &self.device()).finish_non_exhaustive()
    }
}
