//! What the simulation tells of the run as a whole: clock, snapshots, what was added, that it begins and ends,
//! and how it goes.

use std::time::Instant;

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext, NodeError, RUN_INFO, entities_to_message, run_info, state_to_message};
use selene_ros::transport::Publisher;
use selene_ros::{Qos, diagnostic_msgs, rosgraph_msgs, selene_msgs, std_msgs};
use selene_sensors::Schedule;
use selene_sim::{EntityId, Fingerprint, Model, RoverEntityState, Snapshot, World};

/// Rate of diagnostics, Hz.
const DIAGNOSTICS_RATE_HZ: f64 = 1.0;

pub(crate) struct RunPublishers {
    links: Links,
    process: String,
    fingerprint: Fingerprint,
    told_until: Option<SimTime>,
    clock: Publisher<rosgraph_msgs::Clock>,
    world_state: Publisher<selene_msgs::WorldState>,
    entities: Publisher<selene_msgs::EntityTable>,
    run_info: Publisher<selene_msgs::RunInfo>,
    diagnostics: Publisher<diagnostic_msgs::DiagnosticArray>,
    diagnostics_due: Schedule,
    /// How many times entities were added and removed until the table that was told last.
    entities_version: u64,
    since: (Instant, SimTime),
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
            diagnostics: Publisher::new(public, "/diagnostics", reliable())?,
            diagnostics_due: Schedule::new(DIAGNOSTICS_RATE_HZ, SimTime::ZERO, SimTime::ZERO),
            entities_version: 0,
            since: (Instant::now(), told_until.unwrap_or(SimTime::ZERO)),
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

    /// A snapshot, and what was added since the one before.
    pub(crate) fn state(&mut self, world: &World, snapshot: &Snapshot) -> Result<(), NodeError> {
        let (model, state) = (world.model(), world.state());
        if state.entities_version != self.entities_version {
            self.entities_version = state.entities_version;
            let table = entities_to_message(state.entities_version, &state.spawned);
            self.entities.publish(&table, snapshot.time)?;
        }
        let message = state_to_message(&self.links.run, snapshot, |id| name_of(model, id));
        Ok(self.world_state.publish(&message, snapshot.time)?)
    }

    /// How the run goes, once a simulated second.
    pub(crate) fn diagnostics(&mut self, snapshot: &Snapshot, world: &World, overruns: u64) -> Result<(), NodeError> {
        let (wall, simulated) = self.since;
        if self.diagnostics_due.measured_in(simulated, snapshot.time).next().is_none() {
            return Ok(());
        }
        let factor = wall.elapsed().as_secs_f64() / (snapshot.time - simulated).secs_f64();
        self.since = (Instant::now(), snapshot.time);
        let simulation = status(
            "selene: simulation",
            "running",
            diagnostic_msgs::DiagnosticStatus::OK,
            vec![
                ("real_time_factor", format!("{factor:.3}")),
                ("pace_overruns", overruns.to_string()),
                ("heartbeat", snapshot.sequence.to_string()),
            ],
        );
        let rovers = world.state().rovers.iter();
        let rovers = rovers.map(|(id, of)| rover_status(name_of(world.model(), *id), *id, of, snapshot));
        let status = std::iter::once(simulation).chain(rovers).collect();
        let header = std_msgs::Header::new(snapshot.time, "");
        Ok(self.diagnostics.publish(&diagnostic_msgs::DiagnosticArray { header, status }, snapshot.time)?)
    }
}

/// Deeper than the default, so that a subscriber killed without a goodbye does not
/// stop the others before DDS has given it up.
pub(crate) fn reliable() -> Qos {
    Qos { depth: 100, ..Qos::reliable() }
}

fn name_of(model: &Model, id: EntityId) -> &str {
    let rover = model.rovers().get(&id).map(|kind| kind.setup().name.as_str());
    rover.or_else(|| model.objects().get(&id).map(|kind| kind.name.as_str())).unwrap_or_default()
}

fn rover_status(
    name: &str,
    id: EntityId,
    of: &RoverEntityState,
    snapshot: &Snapshot,
) -> diagnostic_msgs::DiagnosticStatus {
    let (notices, driver) = (&of.notices, &of.driver);
    let is_outside = *notices != selene_sim::Notices::default() || driver.limited() > 0;
    let (level, message) = match (driver.refused(), is_outside) {
        (0, false) => (diagnostic_msgs::DiagnosticStatus::OK, "running"),
        (0, true) => (diagnostic_msgs::DiagnosticStatus::WARN, "something left its valid range: see the values"),
        _ => (diagnostic_msgs::DiagnosticStatus::WARN, "commands were refused: see last_refusal"),
    };
    let wheels = snapshot.rover(id).map(|rover| rover.wheels.as_slice()).unwrap_or_default();
    let deepest_m = wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    let values = vec![
        ("commands_refused", driver.refused().to_string()),
        ("last_refusal", driver.last_refusal().unwrap_or_default().to_owned()),
        ("commands_limited", driver.limited().to_string()),
        ("soil_modulus_floored", notices.floored_contacts.to_string()),
        ("sinkage_beyond_radius", notices.buried_wheels.to_string()),
        ("slip_outside_fit", notices.outside_fit.to_string()),
        ("deepest_sinkage_m", format!("{deepest_m:.4}")),
    ];
    status(&format!("selene: {name}"), message, level, values)
}

fn status(name: &str, message: &str, level: u8, values: Vec<(&str, String)>) -> diagnostic_msgs::DiagnosticStatus {
    let value = |(key, value): (&str, String)| diagnostic_msgs::KeyValue { key: key.to_owned(), value };
    diagnostic_msgs::DiagnosticStatus {
        level,
        name: name.to_owned(),
        message: message.to_owned(),
        hardware_id: "simulated".to_owned(),
        values: values.into_iter().map(value).collect(),
    }
}
