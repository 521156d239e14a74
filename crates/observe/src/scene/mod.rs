//! The scene that a rover's tracing sensors observe, kept up to date: the ground around the rover with all ruts, the
//! parts of every rover, objects, loose rocks, grains, dust and lamps at their poses, Sun and Earth in their
//! directions.

mod bodies;
mod crumbs;
mod dust;
mod grains;
mod lights;
mod pebbles;

use std::collections::BTreeMap;
use std::sync::Arc;

use nalgebra::Vector2;
use selene_base::{Pose, SimTime};
use selene_scene::{Heap, Scene};
use selene_sim::{EntityId, Model, Snapshot};
use selene_terrain::{Clipmap, ClipmapCentre, Ruts};

use crate::ObserveError;
use crate::history::History;
use crate::interval::Interval;
use crate::prefetch::WindowPrefetch;

use bodies::Bodies;
pub use bodies::mesh_of;
use grains::SceneVersion;

/// Ground without rovers: many scenes of one ground share its heights, see [`TracedScene::on`].
#[derive(Clone, Debug)]
pub struct SceneGround {
    clipmap: Clipmap,
    scene: Scene,
}

impl SceneGround {
    /// The ground around `centre` with the edits `ruts`, under the sky of the scenario's start.
    ///
    /// # Errors
    /// When the scenario's SPICE kernels do not cover its start.
    pub fn new(model: &Model, centre: ClipmapCentre, ruts: &Ruts) -> Result<Self, ObserveError> {
        let mut clipmap = Clipmap::at(model.terrain(), centre);
        clipmap.take_ruts(ruts);
        let sky = model.scenario().sky.at(model.scenario().utc)?;
        let scene = Scene::new(&clipmap, lights::sun(&sky));
        Ok(Self { clipmap, scene })
    }
}

/// A scene around one rover.
#[derive(Debug)]
pub struct TracedScene {
    model: Arc<Model>,
    viewer: EntityId,
    clipmap: Clipmap,
    scene: Scene,
    bodies: Bodies,
    /// The snapshots that its ground and grains show.
    shown: SceneVersion,
    prefetch: WindowPrefetch,
}

impl TracedScene {
    /// The scene around the rover `viewer` in a snapshot, on ground with the edits `ruts`.
    ///
    /// # Errors
    /// When shapes do not fit into a scene, or the scenario's SPICE kernels do not cover the instant.
    pub fn new(model: &Arc<Model>, viewer: EntityId, snapshot: &Snapshot, ruts: &Ruts) -> Result<Self, ObserveError> {
        let centre = snapshot.rover(viewer).map_or([0, 0], |rover| rover.clipmap_centre);
        let scene = Self::on(SceneGround::new(model, centre, ruts)?, model, viewer, snapshot)?;
        Ok(Self { prefetch: WindowPrefetch::default(), ..scene })
    }

    /// The scene around the rover `viewer` in a snapshot, on a shared ground of the model's terrain. It has no
    /// threads of its own: windows of ground are made when the rover needs them.
    ///
    /// # Errors
    /// As `new`.
    pub fn on(
        ground: SceneGround,
        model: &Arc<Model>,
        viewer: EntityId,
        snapshot: &Snapshot,
    ) -> Result<Self, ObserveError> {
        let mut traced = Self {
            model: Arc::clone(model),
            viewer,
            clipmap: ground.clipmap,
            scene: ground.scene,
            bodies: Bodies::default(),
            shown: SceneVersion::default(),
            prefetch: WindowPrefetch::off(),
        };
        traced.scene.set_surface(&model.scenario().site);
        if let Some(rover) = snapshot.rover(viewer) {
            traced.enter(rover.clipmap_centre);
        }
        traced.bodies.become_those_of(&mut traced.scene, model, snapshot)?;
        traced.turn_sky(snapshot.time + snapshot.sky_offset)?;
        Ok(traced)
    }

    /// The scene as it is now.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The ground around the rover as it is now.
    #[must_use]
    pub fn clipmap(&self) -> &Clipmap {
        &self.clipmap
    }

    /// Applies the changes of an interval: edits of the ground, moved windows, added and removed entities.
    ///
    /// # Errors
    /// When shapes of new entities do not fit into a scene.
    pub fn take(&mut self, interval: &Interval) -> Result<(), ObserveError> {
        self.model = Arc::clone(&interval.model);
        let shown = self.clipmap.apply(&interval.edits);
        self.scene.apply_edits(&shown);
        self.shown.ground = Some(interval.next.sequence);
        if let Some(rover) = interval.next.rover(self.viewer) {
            let at_m = rover.world_from_base().translation.vector.xy();
            self.follow(rover.clipmap_centre, at_m, rover.base_twist.linear.xy());
        }
        if !self.bodies.are_those_of(&self.model, &interval.next) {
            self.bodies.become_those_of(&mut self.scene, &self.model, &interval.next)?;
        }
        Ok(())
    }

    /// Moves to the rover's current windows of ground, and prefetches the next ones.
    fn follow(&mut self, centre: ClipmapCentre, at_m: Vector2<f64>, velocity_m_s: Vector2<f64>) {
        self.enter(centre);
        self.prefetch.look_ahead(self.model.terrain(), centre, at_m, velocity_m_s);
    }

    /// Moves to the windows of ground around a centre.
    fn enter(&mut self, centre: ClipmapCentre) {
        if centre != self.clipmap.centre()
            && let Some(windows) = self.prefetch.windows(self.model.terrain(), centre)
        {
            self.clipmap.enter(windows);
            self.scene.set_ground(&self.clipmap);
        }
    }

    /// Moves all bodies to their poses at `time`, which the history must cover.
    ///
    /// # Errors
    /// When the scenario's SPICE kernels do not cover `time`, or there are too many lamps or grains.
    pub fn move_to(&mut self, history: &History, time: SimTime) -> Result<(), ObserveError> {
        self.move_through(history, [time; 2], time)
    }

    /// Moves all bodies through a time span, see `Scene::sweep_instances`, with grains, dust, lamps and the sky's
    /// lights as they are at `stamp`. Over a span of several heartbeats, bodies move uniformly from the first to the
    /// last pose; before the first snapshot they rest.
    ///
    /// # Errors
    /// When the scenario's SPICE kernels do not cover `stamp`, or there are too many lamps or grains.
    pub fn move_through(&mut self, history: &History, span: [SimTime; 2], stamp: SimTime) -> Result<(), ObserveError> {
        self.show_grains(history, stamp)?;
        self.scene.sweep_instances(&self.bodies.moves(history, span));
        self.blow_dust(history, stamp);
        let around = history.around(stamp);
        if let Some((previous, next)) = around {
            self.scene.set_lamps(lights::lamps(&self.model, previous, next, stamp))?;
        }
        self.turn_sky(stamp + around.map_or(SimTime::ZERO, |(_, next)| next.sky_offset))
    }

    /// Moves all bodies through a time span, uniformly from the first to the last pose. Lights and grains stay
    /// unchanged: for sensors with their own light. Dust is at its position at the end.
    pub fn sweep(&mut self, history: &History, span: [SimTime; 2]) {
        self.scene.sweep_instances(&self.bodies.moves(history, span));
        self.blow_dust(history, span[1]);
    }

    /// Shows the grains of the first snapshot at or after `time`, with crumbs along ruts and pebbles beside them.
    ///
    /// # Errors
    /// When there are too many for a scene.
    pub fn show_grains(&mut self, history: &History, time: SimTime) -> Result<(), ObserveError> {
        let Some((_, reported)) = history.around(time) else { return Ok(()) };
        let now = SceneVersion { grains: Some(reported.sequence), ..self.shown };
        if self.shown != now {
            let heaps = self.heaps(reported);
            if !(heaps.is_empty() && self.scene.heaps().is_empty()) {
                self.scene.set_heaps(heaps)?;
            }
            self.shown = now;
        }
        Ok(())
    }

    /// Grains, crumbs and pebbles around the viewer.
    fn heaps(&self, reported: &Snapshot) -> Vec<Heap> {
        let Some(rover) = reported.rover(self.viewer) else { return Vec::new() };
        let viewer_m = rover.world_from_base().translation.vector;
        let mut heaps = grains::heaps(&self.model, &self.clipmap, viewer_m, reported);
        heaps.extend(crumbs::heap(&self.model, &self.clipmap, viewer_m));
        heaps.extend(pebbles::heap(&self.model, &self.clipmap, viewer_m));
        heaps
    }

    /// Moves the dust to its position at `time`.
    fn blow_dust(&mut self, history: &History, time: SimTime) {
        let gravity_m_s2 = self.model.scenario().gravity_m_s2;
        let puffs = history.around(time).map(|(_, next)| dust::puffs(next, time, gravity_m_s2));
        self.scene.set_dust(puffs.unwrap_or_default());
    }

    /// Poses of all moving bodies at both ends of a time span, by their numbers in instance images.
    pub(crate) fn poses(&self, history: &History, span: [SimTime; 2]) -> BTreeMap<u32, [Pose; 2]> {
        self.bodies.poses(history, span)
    }

    /// Sets Sun, Earth and stars to their directions at the scenario's UTC plus `time`.
    fn turn_sky(&mut self, time: SimTime) -> Result<(), ObserveError> {
        let scenario = self.model.scenario();
        let sky = scenario.sky.at(scenario.utc.after(time))?;
        self.scene.set_sun(lights::sun(&sky));
        self.scene.set_earth(Some(lights::earth(&sky)));
        self.scene.set_stars(lights::stars(&sky, &scenario.stars));
        Ok(())
    }
}
