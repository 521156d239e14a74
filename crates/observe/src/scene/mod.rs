//! The scene that a rover's tracing sensors look at, kept up to date: the ground around the rover with all
//! ruts, the parts of every rover, objects, loose rocks, grains, dust and lamps where they are, Sun and Earth where
//! they stand.

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
use grains::Shown;

/// Ground that nobody stands on: many scenes of one ground share its heights, see [`TracedScene::on`].
#[derive(Clone, Debug)]
pub struct SceneGround {
    clipmap: Clipmap,
    scene: Scene,
}

impl SceneGround {
    /// The ground about `centre` to which `ruts` was done, under the scenario's sky as it begins.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover its start.
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
    /// Of which snapshots its ground and grains are.
    shown: Shown,
    prefetch: WindowPrefetch,
}

impl TracedScene {
    /// The scene around the rover `viewer` as a snapshot tells it, on ground to which `ruts` was done.
    ///
    /// # Errors
    /// When shapes do not fit into a scene, or the scenario's kernels do not cover the instant.
    pub fn new(model: &Arc<Model>, viewer: EntityId, snapshot: &Snapshot, ruts: &Ruts) -> Result<Self, ObserveError> {
        let centre = snapshot.rover(viewer).map_or([0, 0], |rover| rover.clipmap_centre);
        let scene = Self::on(SceneGround::new(model, centre, ruts)?, model, viewer, snapshot)?;
        Ok(Self { prefetch: WindowPrefetch::default(), ..scene })
    }

    /// The scene around the rover `viewer` as a snapshot tells it, on a ground of the model's terrain. It has no
    /// threads of its own: windows of ground are made when the rover comes to them.
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
            shown: Shown::default(),
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

    /// Takes over what changed in an interval: ground, windows, who is there.
    ///
    /// # Errors
    /// When shapes of what is new do not fit into a scene.
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

    /// Goes with the windows around the rover, and has the next ones made.
    fn follow(&mut self, centre: ClipmapCentre, at_m: Vector2<f64>, velocity_m_s: Vector2<f64>) {
        self.enter(centre);
        self.prefetch.look_ahead(self.model.terrain(), centre, at_m, velocity_m_s);
    }

    /// Goes to the windows about a centre.
    fn enter(&mut self, centre: ClipmapCentre) {
        if centre != self.clipmap.centre()
            && let Some(windows) = self.prefetch.windows(self.model.terrain(), centre)
        {
            self.clipmap.enter(windows);
            self.scene.set_ground(&self.clipmap);
        }
    }

    /// Moves all that moves to where it is at `time`, which the history covers.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover `time`, or lamps or grains are too many.
    pub fn move_to(&mut self, history: &History, time: SimTime) -> Result<(), ObserveError> {
        self.move_through(history, [time; 2], time)
    }

    /// Has all that moves go as it does in a span of time, see
    /// `Scene::sweep_instances`, with grains, dust, lamps and the sky's lights as they are at `stamp`. Over a span of
    /// several heartbeats it goes evenly from where it is first to where it is last;
    /// before the first snapshot it rests.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover `stamp`, or lamps or grains are too many.
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

    /// Has all that moves go as it does in a span of time, evenly from where it is first to where it is last. Lights
    /// and grains stay as they were: for sensors that bring their own. Dust is where it is at the end.
    pub fn sweep(&mut self, history: &History, span: [SimTime; 2]) {
        self.scene.sweep_instances(&self.bodies.moves(history, span));
        self.blow_dust(history, span[1]);
    }

    /// Has grains where those points are that the first snapshot at or after `time` tells of, crumbs along ruts
    /// and pebbles beside them.
    ///
    /// # Errors
    /// When they are too many for a scene.
    pub fn show_grains(&mut self, history: &History, time: SimTime) -> Result<(), ObserveError> {
        let Some((_, told)) = history.around(time) else { return Ok(()) };
        let now = Shown { grains: Some(told.sequence), ..self.shown };
        if self.shown != now {
            let heaps = self.heaps(told);
            if !(heaps.is_empty() && self.scene.heaps().is_empty()) {
                self.scene.set_heaps(heaps)?;
            }
            self.shown = now;
        }
        Ok(())
    }

    /// Grains, crumbs and pebbles about the viewer.
    fn heaps(&self, told: &Snapshot) -> Vec<Heap> {
        let Some(rover) = told.rover(self.viewer) else { return Vec::new() };
        let viewer_m = rover.world_from_base().translation.vector;
        let mut heaps = grains::heaps(&self.model, &self.clipmap, viewer_m, told);
        heaps.extend(crumbs::heap(&self.model, &self.clipmap, viewer_m));
        heaps.extend(pebbles::heap(&self.model, &self.clipmap, viewer_m));
        heaps
    }

    /// Has dust where it is at `time`.
    fn blow_dust(&mut self, history: &History, time: SimTime) {
        let gravity_m_s2 = self.model.scenario().gravity_m_s2;
        let puffs = history.around(time).map(|(_, next)| dust::puffs(next, time, gravity_m_s2));
        self.scene.set_dust(puffs.unwrap_or_default());
    }

    /// Where all that moves is at both ends of a span, by its number in instance images.
    pub(crate) fn poses(&self, history: &History, span: [SimTime; 2]) -> BTreeMap<u32, [Pose; 2]> {
        self.bodies.poses(history, span)
    }

    /// Turns the sky to where it stands when simulated time would be `time` by the scenario.
    fn turn_sky(&mut self, time: SimTime) -> Result<(), ObserveError> {
        let scenario = self.model.scenario();
        let sky = scenario.sky.at(scenario.utc.after(time))?;
        self.scene.set_sun(lights::sun(&sky));
        self.scene.set_earth(Some(lights::earth(&sky)));
        self.scene.set_stars(lights::stars(&sky, &scenario.stars));
        Ok(())
    }
}
