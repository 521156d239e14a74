//! Publishers of the run as a whole: clock, snapshots, added entities, and the run's beginning and end.

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext, NodeError, RUN_INFO, entities_to_message, run_info, state_to_message};
use selene_ros::transport::Publisher;
use selene_ros::{Qos, rosgraph_msgs, selene_msgs};
use selene_sim::{EntityId, Fingerprint, Model, Snapshot, World};

pub(crate) struct RunPublishers {
    links: Links,
    process: String,
    fingerprint: Fingerprint,
    published_until: Option<SimTime>,
    clock: Publisher<rosgraph_msgs::Clock>,
    world_state: Publisher<selene_msgs::WorldState>,
    entities: Publisher<selene_msgs::EntityTable>,
    run_info: Publisher<selene_msgs::RunInfo>,
    /// Number of resets, and of entities added or removed since the last one, as of the table published last.
    entities_version: (u32, u64),
}

impl RunPublishers {
    pub(crate) fn new(
        context: &NodeContext,
        process: &str,
        published_until: Option<SimTime>,
    ) -> Result<Self, NodeError> {
        let NodeContext { links, model, .. } = context;
        let (public, internal) = (links.public.as_ref(), links.internal.as_ref());
        Ok(Self {
            process: process.to_owned(),
            fingerprint: Fingerprint::of(model.scenario(), model.terrain()),
            published_until,
            clock: Publisher::new(public, "/clock", Qos::clock())?,
            world_state: Publisher::new(internal, &links.world_state(), Qos::state())?,
            entities: Publisher::new(internal, &links.entities(), Qos::latched())?,
            run_info: Publisher::new(internal, RUN_INFO, Qos::latched())?,
            entities_version: (0, 0),
            links: links.clone(),
        })
    }

    /// Publishes that the run begins, or that it has ended with state hash `end`.
    pub(crate) fn info(&self, model: &Model, end: Option<u64>, time: SimTime) -> Result<(), NodeError> {
        let (run, scenario) = (&self.links.run, model.scenario());
        let info = run_info(run, &self.process, scenario, &self.fingerprint, self.published_until, end);
        Ok(self.run_info.publish(&info, time)?)
    }

    /// Publishes the clock.
    pub(crate) fn clock(&self, time: SimTime) -> Result<(), NodeError> {
        Ok(self.clock.publish(&rosgraph_msgs::Clock { clock: time.into() }, time)?)
    }

    /// Publishes the clock again for nodes that missed it; this repetition is not recorded.
    pub(crate) fn clock_again(&self, time: SimTime) -> Result<(), NodeError> {
        Ok(self.clock.repeat(&rosgraph_msgs::Clock { clock: time.into() }, time)?)
    }

    /// Publishes a snapshot, and the table of added entities if it changed.
    pub(crate) fn state(&mut self, world: &World, snapshot: &Snapshot) -> Result<(), NodeError> {
        let (model, state) = (world.model(), world.state());
        let version = (snapshot.epoch, state.entities_version);
        if version != self.entities_version {
            self.entities_version = version;
            let table = entities_to_message(snapshot.epoch, state.entities_version, &state.spawned);
            self.entities.publish(&table, snapshot.time)?;
        }
        let message = state_to_message(&self.links.run, snapshot, |id| name_of(model, id));
        Ok(self.world_state.publish(&message, snapshot.time)?)
    }
}

/// The depth is greater than the default, so that a subscriber that is killed does not block the others before DDS
/// gives it up.
pub(crate) fn reliable() -> Qos {
    Qos { depth: 100, ..Qos::reliable() }
}

/// The name of a rover or an object.
pub(crate) fn name_of(model: &Model, id: EntityId) -> &str {
    let rover = model.rovers().get(&id).map(|kind| kind.setup().name.as_str());
    rover.or_else(|| model.objects().get(&id).map(|kind| kind.name.as_str())).unwrap_or_default()
}
