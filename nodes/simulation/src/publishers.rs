//! What the simulation tells of the run as a whole: clock, snapshots, what was added, that it begins and ends.

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext, NodeError, RUN_INFO, entities_to_message, run_info, state_to_message};
use selene_ros::transport::Publisher;
use selene_ros::{Qos, rosgraph_msgs, selene_msgs};
use selene_sim::{EntityId, Fingerprint, Model, Snapshot, World};

pub(crate) struct RunPublishers {
    links: Links,
    process: String,
    fingerprint: Fingerprint,
    told_until: Option<SimTime>,
    clock: Publisher<rosgraph_msgs::Clock>,
    world_state: Publisher<selene_msgs::WorldState>,
    entities: Publisher<selene_msgs::EntityTable>,
    run_info: Publisher<selene_msgs::RunInfo>,
    /// How many times the world was reset, and entities were added and removed since, until the table that was
    /// told last.
    entities_version: (u32, u64),
}

impl RunPublishers {
    pub(crate) fn new(context: &NodeContext, process: &str, told_until: Option<SimTime>) -> Result<Self, NodeError> {
        let NodeContext { links, model, .. } = context;
        let (public, internal) = (links.public.as_ref(), links.internal.as_ref());
        Ok(Self {
            process: process.to_owned(),
            fingerprint: Fingerprint::of(model.scenario(), model.terrain()),
            told_until,
            clock: Publisher::new(public, "/clock", Qos::clock())?,
            world_state: Publisher::new(internal, &links.world_state(), Qos::state())?,
            entities: Publisher::new(internal, &links.entities(), Qos::latched())?,
            run_info: Publisher::new(internal, RUN_INFO, Qos::latched())?,
            entities_version: (0, 0),
            links: links.clone(),
        })
    }

    /// That the run begins, or has ended in a state.
    pub(crate) fn info(&self, model: &Model, end: Option<u64>, time: SimTime) -> Result<(), NodeError> {
        let (run, scenario) = (&self.links.run, model.scenario());
        let info = run_info(run, &self.process, scenario, &self.fingerprint, self.told_until, end);
        Ok(self.run_info.publish(&info, time)?)
    }

    /// The clock.
    pub(crate) fn clock(&self, time: SimTime) -> Result<(), NodeError> {
        Ok(self.clock.publish(&rosgraph_msgs::Clock { clock: time.into() }, time)?)
    }

    /// The clock once more, for those who missed it: nobody records it.
    pub(crate) fn clock_again(&self, time: SimTime) -> Result<(), NodeError> {
        Ok(self.clock.repeat(&rosgraph_msgs::Clock { clock: time.into() }, time)?)
    }

    /// A snapshot, and what was added since the one before.
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

/// Deeper than the default, so that a subscriber killed without a goodbye does not
/// stop the others before DDS has given it up.
pub(crate) fn reliable() -> Qos {
    Qos { depth: 100, ..Qos::reliable() }
}

/// The name of a rover or an object.
pub(crate) fn name_of(model: &Model, id: EntityId) -> &str {
    let rover = model.rovers().get(&id).map(|kind| kind.setup().name.as_str());
    rover.or_else(|| model.objects().get(&id).map(|kind| kind.name.as_str())).unwrap_or_default()
}
