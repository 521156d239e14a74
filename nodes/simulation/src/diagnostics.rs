//! Diagnostics of the simulation and of each rover, on `/diagnostics`: pace, waiting and refused requests, and
//! publishers of commands.

use std::time::Instant;

use selene_base::SimTime;
use selene_coherence::{Diagnostics, DiagnosticsTopic, Links, NodeError, Severity};
use selene_sim::{EntityId, RoverEntityState, Snapshot, World};

use crate::command_inputs::{CommandTopic, CommandTopics};
use crate::holds::HoldReport;
use crate::loops;
use crate::maps::RequestCounts;
use crate::pace::PaceReport;
use crate::publishers::name_of;

/// What the node reports about its work besides the world's state.
pub(crate) struct Load {
    /// How well the pace was kept so far.
    pub(crate) pace: PaceReport,
    /// Statistics of the holds so far.
    pub(crate) holds: HoldReport,
    /// Numbers of waiting and refused requests for maps.
    pub(crate) maps: RequestCounts,
    /// Heartbeats that the slowest participant is behind, in lockstep.
    pub(crate) behind: Option<u64>,
    /// Command topics of each rover.
    pub(crate) commands: CommandTopics,
    /// Numbers of waiting and refused requests for changes of the world.
    pub(crate) changes: (usize, u64),
    /// Number of requests to services that did not decode.
    pub(crate) undecodable: u64,
}

pub(crate) struct RunDiagnostics {
    topic: DiagnosticsTopic,
    /// Wall time and simulated time of the last diagnostics.
    since: (Instant, SimTime),
    /// Counts of late heartbeats, refused map requests and refused changes at that time.
    before: [u64; 3],
}

impl RunDiagnostics {
    /// Diagnostics of a run that begins or is resumed at simulated time `time`.
    pub(crate) fn open(links: &Links, time: SimTime) -> Result<Self, NodeError> {
        Ok(Self { topic: DiagnosticsTopic::open(links)?, since: (Instant::now(), time), before: [0; 3] })
    }

    /// Restarts measuring at `time`: the clock went back, or time was paused.
    pub(crate) fn begin_anew(&mut self, time: SimTime) {
        self.since = (Instant::now(), time);
    }

    pub(crate) fn are_due(&self, time: SimTime) -> bool {
        self.topic.is_due(self.since.1, time)
    }

    pub(crate) fn report(&mut self, snapshot: &Snapshot, world: &World, load: &Load) -> Result<(), NodeError> {
        let mut statuses = vec![self.of_simulation(snapshot, load)];
        statuses.extend(loops::of_pace(&self.topic, &load.pace));
        statuses.extend(loops::of_holds(&self.topic, &load.holds));
        for (id, of) in &world.state().rovers {
            let mut status = self.topic.status(name_of(world.model(), *id));
            report_rover(&mut status, of, *id, snapshot);
            report_commands(&mut status, load.commands.get(id).map(Vec::as_slice).unwrap_or_default());
            statuses.push(status);
        }
        self.topic.publish(statuses, snapshot.time)
    }

    fn of_simulation(&mut self, snapshot: &Snapshot, load: &Load) -> Diagnostics {
        let (wall, simulated) = std::mem::replace(&mut self.since, (Instant::now(), snapshot.time));
        let factor = (snapshot.time - simulated).secs_f64() / wall.elapsed().as_secs_f64().max(1e-9);
        let (waiting, refused) = load.changes;
        let now = [load.pace.forgiven, load.maps.refused, refused];
        let before = std::mem::replace(&mut self.before, now);
        let [late, no_map, no_answer] = std::array::from_fn(|i| now[i] - before[i]);
        let mut status = self.topic.status("simulation");
        status
            .value("real_time_factor", format_args!("{factor:.3}"))
            .value("pace_overruns", load.pace.forgiven)
            .value("heartbeat", snapshot.sequence)
            .value("resets", snapshot.epoch)
            .value("requests_waiting", waiting)
            .value("requests_refused", refused)
            .value("requests_undecodable", load.undecodable)
            .value("map_requests_waiting", load.maps.waiting)
            .value("map_requests_refused", load.maps.refused);
        if let Some(behind) = load.behind {
            status.value("slowest_participant_heartbeats_behind", behind);
        }
        if late > 0 {
            status.raise(Severity::Warning, format!("fell behind its pace (lags forgiven: {late})"));
        }
        if load.undecodable > 0 {
            status.raise(Severity::Warning, "requests did not decode: see requests_undecodable");
        }
        if no_map > 0 {
            status.raise(Severity::Warning, format!("{no_map} map requests were refused"));
        }
        if no_answer > 0 {
            status.raise(Severity::Warning, format!("{no_answer} requests were refused: too many waited"));
        }
        status
    }
}

fn report_rover(status: &mut Diagnostics, of: &RoverEntityState, id: EntityId, snapshot: &Snapshot) {
    let (notices, driver) = (&of.notices, &of.driver);
    let wheels = snapshot.rover(id).map(|rover| rover.wheels.as_slice()).unwrap_or_default();
    let deepest_m = wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    status
        .value("commands_refused", driver.refused())
        .value("last_refusal", driver.last_refusal().unwrap_or_default())
        .value("commands_limited", driver.limited())
        .value("soil_modulus_floored", notices.floored_contacts)
        .value("sinkage_beyond_radius", notices.buried_wheels)
        .value("slip_outside_fit", notices.outside_fit)
        .value("deepest_sinkage_m", format_args!("{deepest_m:.4}"));
    if driver.refused() > 0 {
        status.raise(Severity::Warning, "commands were refused: see last_refusal");
    }
    let of_steps = [
        (notices.floored_contacts, "a contact too narrow for the soil's negative Kc"),
        (notices.buried_wheels, "a wheel in the ground deeper than its radius"),
        (notices.outside_fit, "a wheel outside the range to which its soil was fitted"),
    ];
    for (count, what) in of_steps.into_iter().filter(|(count, _)| *count > 0) {
        status.raise(Severity::Warning, format!("{what}, in {count} wheel steps so far"));
    }
    if driver.limited() > 0 {
        status.raise(Severity::Warning, format!("{} commands were limited to what the rover can do", driver.limited()));
    }
}

fn report_commands(status: &mut Diagnostics, topics: &[CommandTopic]) {
    for CommandTopic { name, publishers, dropped } in topics {
        if *publishers > 0 {
            status.value(format!("publishers {name}"), publishers);
        }
        if *publishers > 1 {
            let what = format!("{publishers} publishers command {name}: the newest message wins");
            status.raise(Severity::Warning, what);
        }
        if *dropped > 0 {
            status.value(format!("messages_dropped {name}"), dropped);
            status.raise(Severity::Warning, format!("messages on {name} were dropped: see the log"));
        }
    }
}
