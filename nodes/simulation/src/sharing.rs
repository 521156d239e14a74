//! Shares one world between several simulation processes. Each names the rovers that it steps (`Member`), sends the
//! others the result of every heartbeat (`Part`), and goes on when it has the parts of all, or freely with those that
//! have arrived. The process that has the rover with the lowest number is the leader: it publishes the world for all
//! other nodes, and alone waits for participants.
//!
//! - A world begins when every awaited rover has a process. All must have the same scenario, seed and data.
//! - A process that joins later gets the whole state from the leader and takes part from the next heartbeat on; until
//!   then its rovers stand still.
//! - A process whose connection ends, or that is silent for `LOST_AFTER`, is given up, and its rovers stand still from
//!   then on. Its last part counts if any remaining process has it (`gone`).
//! - If two processes name the same rover, the one that already runs stays, else the one that began first, whose name
//!   sorts first; the other ends with an error, and the others do not count it.

mod lost_processes;
mod members;
mod streams;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use selene_base::SimTime;
use selene_coherence::{NodeContext, NodeError, RunId};
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{EntityId, Fingerprint, Model, Part, ProcessShare, Snapshot, State, World};
use selene_terrain::TileIndex;

use members::LOST_AFTER;
use members::PeerProcesses;
use streams::{Frame, HeartbeatPart, Hello, LostProcesses, Participant, PeerEvent, PeerMessage, Streams};

/// How often a process announces itself (wall time).
const ANNOUNCE_EVERY: Duration = Duration::from_millis(200);
/// How often a waiting process logs what it waits for (wall time).
const WARN_EVERY: Duration = Duration::from_secs(5);
/// A stopped process waits at most this long for the others' parts of its last heartbeat (wall time).
const STOP_AFTER: Duration = Duration::from_secs(1);
/// A process that has all awaited rovers itself first listens this long for a running world (wall time).
const LISTEN_FIRST: Duration = Duration::from_secs(1);
/// A process that cannot be called, but still announces itself after this time, does not fit: another may just have
/// ended (wall time).
const UNREACHABLE_AFTER: Duration = Duration::from_secs(1);
/// Number of own parts that are kept for a process that joins: it takes part from the next heartbeat on.
const PARTS_KEPT: usize = 2;
/// Greatest expected delay of parts in a free run (simulated time): within it, others' edits can only lower a terrain
/// node that this process has written.
const FREE_DELAY: SimTime = SimTime::from_nanos(1_000_000_000);

/// The rovers that a process simulates, and those that it waits for before it begins.
#[derive(Clone, Debug, Default)]
pub struct SharedRovers {
    /// Names of the rovers that this process simulates.
    pub own: Vec<String>,
    /// Names of the rovers that must have a process before the world begins; all rovers if empty.
    pub awaited: Vec<String>,
    /// Whether the process goes on without waiting for the others' parts.
    pub is_free: bool,
    /// The only address on which the other processes may connect; `None` for all addresses of the machine.
    pub address: Option<IpAddr>,
}

/// What a process of a shared world exchanged with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExchangeReport {
    /// Bytes sent to all others together.
    pub sent_bytes: u64,
    /// Number of heartbeats exchanged.
    pub exchanges: u64,
    /// Wall time spent encoding, decoding and merging them, without waiting and without the network, s.
    pub work_s: f64,
}

impl ExchangeReport {
    /// Wall time of that work in a heartbeat, s; 0 if nothing was exchanged.
    #[must_use]
    pub fn work_each_s(&self) -> f64 {
        if self.exchanges > 0 { self.work_s / self.exchanges as f64 } else { 0.0 }
    }
}

/// How a process enters its world.
pub(crate) enum WorldEntry {
    /// With all others, at the world's start.
    AtTheStart,
    /// Later, with this state.
    Late(Box<State>),
}

pub(crate) struct Sharing {
    run: RunId,
    process: String,
    own: BTreeSet<EntityId>,
    names: BTreeMap<EntityId, String>,
    others: PeerProcesses,
    /// Processes that could not be called before the world began, when that was found, and why.
    out_of_reach: BTreeMap<String, (Instant, String)>,
    /// Names of the processes whose parts are merged.
    active: BTreeSet<String>,
    /// Processes to announce as new members in the next part.
    joined: Vec<Participant>,
    /// The latest statement of this process about which processes are gone.
    gone: LostProcesses,
    /// Processes that this process has given up.
    given_up: BTreeSet<String>,
    /// The last heartbeat that was merged.
    put_together: u64,
    /// Number of heartbeats that were merged.
    exchanges: u64,
    /// The last own parts sent, oldest first.
    recent: VecDeque<Frame>,
    is_running: bool,
    is_free: bool,
    /// In a free run: the terrain nodes that this process wrote recently, with the simulated time.
    written: BTreeMap<(TileIndex, u16), SimTime>,
    /// Names of the processes with which the world began, including this one.
    founders: Vec<String>,
    /// The members and the state received on joining late.
    given: Option<(Vec<Participant>, Box<State>)>,
    announced: Instant,
    /// When the arrived messages were last read.
    listened: Instant,
    arrived: Receiver<PeerEvent>,
    streams: Streams,
    members: Publisher<selene_msgs::SharedMember>,
    _subscription: Subscription,
}

impl Sharing {
    /// `begins` describes the state in which this process begins; all processes of a world begin in the same one.
    pub(crate) fn open(context: &NodeContext, shared: &SharedRovers, begins: String) -> Result<Self, NodeError> {
        let NodeContext { links, model, .. } = context;
        if let Some(window) = model.windows().first() {
            return Err(NodeError::NotShared { window: window.name().to_owned() });
        }
        let own = numbers(model, "--own", &shared.own)?;
        let (sender, arrived) = channel();
        let process = process_name();
        let world = Fingerprint::of(model.scenario(), model.terrain());
        let hello =
            Hello { run: links.run.to_string(), process: process.clone(), world, begins, is_free: shared.is_free };
        let streams = Streams::open(hello, shared.address, sender.clone())?;
        let transport = links.internal.as_ref();
        // Sending fails only when the node has ended.
        let note = move |member| drop(sender.send(PeerEvent::Member(member)));
        Ok(Self {
            run: links.run.clone(),
            process,
            own,
            names: model.rovers().iter().map(|(id, kind)| (*id, kind.setup().name.clone())).collect(),
            others: PeerProcesses::default(),
            out_of_reach: BTreeMap::new(),
            active: BTreeSet::new(),
            joined: Vec::new(),
            gone: LostProcesses::default(),
            given_up: BTreeSet::new(),
            put_together: 0,
            exchanges: 0,
            recent: VecDeque::new(),
            is_running: false,
            is_free: shared.is_free,
            written: BTreeMap::new(),
            founders: Vec::new(),
            given: None,
            announced: Instant::now(),
            listened: Instant::now(),
            arrived,
            streams,
            members: Publisher::new(transport, &links.shared_members(), Qos::latched())?,
            _subscription: subscribe(transport, &links.shared_members(), Qos::latched(), note)?,
        })
    }

    /// Waits for the other processes, or for the state of a running world; on an error, tells the others that this
    /// process leaves.
    pub(crate) fn arrive(
        &mut self,
        model: &Model,
        shared: &SharedRovers,
        stop: &AtomicBool,
    ) -> Result<WorldEntry, NodeError> {
        let entered = self.await_others(model, shared, stop);
        if entered.is_err() {
            self.publish_member(true);
        }
        entered
    }

    fn await_others(
        &mut self,
        model: &Model,
        shared: &SharedRovers,
        stop: &AtomicBool,
    ) -> Result<WorldEntry, NodeError> {
        let awaited = match &shared.awaited[..] {
            [] => self.names.keys().copied().collect(),
            names => numbers(model, "--await-rovers", names)?,
        };
        self.announce();
        let opened = Instant::now();
        let mut warned = opened;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(NodeError::Stopped { run: self.run.clone() });
            }
            self.listen()?;
            if let Some((members, state)) = self.given.take() {
                members.iter().for_each(|member| self.others.introduce(member));
                self.active = members.into_iter().map(|member| member.process).collect();
                return Ok(WorldEntry::Late(state));
            }
            let founders = self.others.founders_with((&self.process, &self.own), &awaited);
            if let Some(founders) = founders.filter(|all| all.len() > 1 || opened.elapsed() >= LISTEN_FIRST) {
                self.active = founders.iter().filter(|name| **name != self.process).cloned().collect();
                self.founders = founders;
                return Ok(WorldEntry::AtTheStart);
            }
            if warned.elapsed() >= WARN_EVERY {
                warned = Instant::now();
                self.warn_of_missing(&awaited);
            }
        }
    }

    /// Warns of processes whose parts have not come for a while: they may wait for a participant themselves.
    fn warn_of_silent(&self, processes: &[&String]) {
        let rovers = processes.iter().filter_map(|name| self.others.get(name)).flat_map(|other| &other.rovers);
        let rovers: Vec<_> = rovers.filter_map(|id| self.names.get(id)).map(String::as_str).collect();
        tracing::warn!("run {} waits for the process that simulates {}", self.run, rovers.join(", "));
    }

    fn warn_of_missing(&self, awaited: &BTreeSet<EntityId>) {
        let has_process = |id: &EntityId| {
            self.own.contains(id) || self.others.iter().any(|(_, other)| other.is_there() && other.rovers.contains(id))
        };
        let missing: Vec<_> =
            awaited.iter().filter(|id| !has_process(id)).filter_map(|id| self.names.get(id)).collect();
        let missing = missing.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let what = if missing.is_empty() {
            "that all call each other".to_owned()
        } else {
            format!("a process that simulates {missing}")
        };
        tracing::warn!("run {} waits for {what}", self.run);
    }

    /// Starts taking part.
    pub(crate) fn begin(&mut self, world: &mut World) {
        self.is_running = true;
        self.share_out(world);
        // Rovers without a process stand still.
        let stepped = self.stepped_elsewhere();
        let has_process = |id: &EntityId| stepped.contains(id) || self.own.contains(id);
        world.halt(&self.names.keys().copied().filter(|id| !has_process(id)).collect());
        self.announce();
    }

    /// Whether this process is the leader, which publishes the world.
    pub(crate) fn leads(&self) -> bool {
        let of_active = self.active.iter().filter_map(|name| self.others.get(name));
        let lowest = of_active.filter_map(|other| other.rovers.first()).min();
        lowest.is_none_or(|lowest| self.own.first().is_some_and(|own| own < lowest))
    }

    /// Whether no other process takes part.
    pub(crate) fn is_alone(&self) -> bool {
        self.active.is_empty()
    }

    pub(crate) fn owns(&self, rover: EntityId) -> bool {
        self.own.contains(&rover)
    }

    /// Announces this process if it has not done so recently, for processes that wait.
    pub(crate) fn stay_alive(&mut self) {
        if self.announced.elapsed() >= ANNOUNCE_EVERY {
            self.announce();
        }
    }

    /// Sends the result of this process's heartbeat, and merges it with those of the others.
    pub(crate) fn exchange(
        &mut self,
        world: &mut World,
        snapshot: Snapshot,
        stop: &AtomicBool,
    ) -> Result<Snapshot, NodeError> {
        let own = world.part(&snapshot);
        let sequence = own.sequence;
        let reported = PeerMessage::Part(HeartbeatPart { joined: std::mem::take(&mut self.joined), part: own });
        self.send_message(&reported);
        let PeerMessage::Part(HeartbeatPart { joined, part: own }) = reported else { return Ok(snapshot) };
        self.active.extend(joined.into_iter().map(|taking| taking.process));
        let merged = if self.is_free {
            self.merge_what_came(world, snapshot, &own)?
        } else {
            let mut parts = self.await_parts(world, sequence, stop)?;
            parts.push(own);
            self.streams.work().time(|| world.merge(snapshot, &parts))
        };
        self.exchanges += 1;
        self.welcome(world)?;
        Ok(merged)
    }

    /// What was exchanged with the other processes, and the time that it took.
    pub(crate) fn report(&self) -> ExchangeReport {
        let (sent_bytes, work_s) = (self.streams.sent_bytes(), self.streams.work().total_s());
        ExchangeReport { sent_bytes, exchanges: self.exchanges, work_s }
    }

    /// Announces that this process leaves.
    pub(crate) fn leave(&mut self) {
        self.pass_on_all();
        self.streams.send_all(&Frame::of(&PeerMessage::Leaves));
        self.streams.close();
        self.publish_member(true);
    }

    fn send_message(&mut self, part: &PeerMessage) {
        let frame = self.streams.work().time(|| Frame::of(part));
        self.streams.send_all(&frame);
        self.recent.push_back(frame);
        if self.recent.len() > PARTS_KEPT {
            self.recent.pop_front();
        }
    }

    /// Waits for the parts of all others that take part in heartbeat `sequence`.
    fn await_parts(&mut self, world: &mut World, sequence: u64, stop: &AtomicBool) -> Result<Vec<Part>, NodeError> {
        let begun = Instant::now();
        let mut warned = begun;
        loop {
            self.excuse_after_a_pause();
            self.take_in_joined(sequence);
            self.give_up_lost(world, sequence);
            let has_reported =
                |name: &String| self.others.get(name).is_some_and(|other| other.part(sequence).is_some());
            let is_stopped = stop.load(Ordering::Relaxed) && begun.elapsed() >= STOP_AFTER;
            let silent: Vec<_> = self.active.iter().filter(|name| !has_reported(name)).collect();
            if silent.is_empty() || is_stopped {
                break;
            }
            if warned.elapsed() >= WARN_EVERY {
                warned = Instant::now();
                self.warn_of_silent(&silent);
            }
            self.listen()?;
        }
        self.share_out(world);
        self.put_together = sequence;
        self.others.forget_announced(sequence);
        // A process that went on in a world of its own must end: this one has gone on without it.
        for process in self.others.take_strangers(sequence, &self.active) {
            self.streams.send_message(&process, Frame::of(&PeerMessage::GivenUp));
        }
        let others = &mut self.others;
        let part = |name: &String| others.get_mut(name)?.take_part(sequence).map(|reported| reported.part);
        Ok(self.active.iter().filter_map(part).collect())
    }

    /// Counts as members, from this heartbeat on, the processes that another's part names as new.
    fn take_in_joined(&mut self, sequence: u64) {
        let is_new = |taking: &&Participant| taking.process != self.process && !self.given_up.contains(&taking.process);
        let reported = self.others.parts_of(sequence).flat_map(|(_, part)| &part.joined);
        let new: Vec<Participant> = reported.filter(is_new).cloned().collect();
        for taking in new {
            self.others.introduce(&taking);
            self.active.insert(taking.process);
        }
    }

    /// Does not count others as silent for the time in which this process did not listen: it may have waited for
    /// sensors, for the pace or for the disk, or been suspended.
    fn excuse_after_a_pause(&mut self) {
        if self.listened.elapsed() > LOST_AFTER / 2 {
            self.others.excuse_all();
        }
        self.listened = Instant::now();
    }

    /// Merges the parts that have arrived, without waiting for others.
    fn merge_what_came(&mut self, world: &mut World, snapshot: Snapshot, own: &Part) -> Result<Snapshot, NodeError> {
        self.excuse_after_a_pause();
        while let Ok(arrived) = self.arrived.try_recv() {
            self.note(arrived)?;
        }
        self.stay_alive();
        let running = self.others.iter().filter(|(_, other)| other.is_there() && other.is_running);
        self.active.extend(running.map(|(name, _)| name.clone()));
        let parts: Vec<Part> = self.others.take_parts(&self.active).into_iter().map(|reported| reported.part).collect();
        let now = snapshot.time;
        let nodes = own.edits.iter().map(|edit| (edit.tile_index(), edit.node));
        self.written.extend(nodes.map(|at| (at, now)));
        self.written.retain(|_, written| now - *written <= FREE_DELAY);
        let is_written = |tile, node| self.written.contains_key(&(tile, node));
        let merged = self.streams.work().time(|| world.merge_free(snapshot, own, &parts, is_written));
        // Give up silent processes only now, after their last parts are merged.
        let is_gone = |name: &&String| self.others.get(name).is_none_or(|other| !other.is_there());
        let gone: Vec<_> = self.active.iter().filter(is_gone).cloned().collect();
        gone.iter().for_each(|name| self.give_up(world, name, own.sequence));
        self.share_out(world);
        Ok(merged)
    }

    /// If this process is the leader, sends the state to a process that joins the running world.
    fn welcome(&mut self, world: &World) -> Result<(), NodeError> {
        while let Ok(arrived) = self.arrived.try_recv() {
            self.note(arrived)?;
        }
        let is_new = |(name, other): &(&String, &members::PeerProcess)| {
            let is_free = self.members().iter().all(|member| member.rovers.is_disjoint(&other.rovers));
            let is_known = other.has_called() && !other.rovers.is_empty() && is_free;
            !other.is_running && other.is_there() && is_known && !self.active.contains(*name)
        };
        if !self.leads() {
            return Ok(());
        }
        // Only one for each heartbeat, so that of two with the same rover only one is accepted.
        let new = self.others.iter().find(is_new);
        if let Some(new) = new.map(|(name, other)| Participant { process: name.clone(), rovers: other.rovers.clone() })
        {
            let state = Box::new(world.copy_state()?);
            let frame = Frame::of(&PeerMessage::World { members: self.members(), state });
            self.streams.send_message(&new.process, frame);
            self.others.introduce(&new);
            self.joined.push(new);
        }
        Ok(())
    }

    /// All members, including this process.
    fn members(&self) -> Vec<Participant> {
        let taking = |name: &String| {
            let rovers = self.others.get(name).map(|other| other.rovers.clone()).unwrap_or_default();
            Participant { process: name.clone(), rovers }
        };
        let own = Participant { process: self.process.clone(), rovers: self.own.clone() };
        self.active.iter().map(taking).chain([own]).chain(self.joined.iter().cloned()).collect()
    }

    /// The rovers of all other members.
    fn stepped_elsewhere(&self) -> BTreeSet<EntityId> {
        self.active.iter().filter_map(|name| self.others.get(name)).flat_map(|other| &other.rovers).copied().collect()
    }

    /// Sets which rovers the world steps in this process.
    fn share_out(&self, world: &mut World) {
        let ghosts: BTreeSet<_> = self.names.keys().copied().filter(|id| !self.own.contains(id)).collect();
        let standing = ghosts.difference(&self.stepped_elsewhere()).copied().collect();
        world.set_share(Some(ProcessShare { ghosts, standing, leads: self.leads() }));
    }

    /// Handles the next message, or waits for one for a while.
    fn listen(&mut self) -> Result<(), NodeError> {
        self.stay_alive();
        match self.arrived.recv_timeout(ANNOUNCE_EVERY) {
            Ok(arrived) => self.note(arrived),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    fn note(&mut self, arrived: PeerEvent) -> Result<(), NodeError> {
        match arrived {
            PeerEvent::Member(reported) if reported.process == self.process => Ok(()),
            PeerEvent::Member(reported) => self.note_member(reported),
            PeerEvent::PeerMessage { process, reported } => self.note_message(process, reported),
            PeerEvent::Called { process } => {
                self.others.note_called(&process);
                Ok(())
            }
            PeerEvent::Closed { process } => {
                self.others.note_lost(&process);
                Ok(())
            }
            PeerEvent::OutOfReach { process, why } => self.note_out_of_reach(process, why),
            // The running world stays; the newcomer ends by itself.
            PeerEvent::OtherWorld { process, .. } if self.is_running => {
                tracing::warn!("process {process} of run {} is of another world and does not take part", self.run);
                self.others.note_lost(&process);
                Ok(())
            }
            PeerEvent::OtherWorld { difference, .. } => {
                Err(NodeError::OtherWorld { run: self.run.clone(), difference })
            }
            PeerEvent::Unreadable { process, what } => Err(NodeError::SharedWorld { process, what }),
        }
    }

    fn note_member(&mut self, reported: selene_msgs::SharedMember) -> Result<(), NodeError> {
        let taken = reported.rovers.iter().map(|id| EntityId(*id)).find(|id| self.own.contains(id));
        if let Some(rover) = taken.filter(|_| !reported.left) {
            let it_stays =
                if reported.running == self.is_running { reported.process < self.process } else { reported.running };
            if it_stays {
                let rover = self.names.get(&rover).cloned().unwrap_or_default();
                return Err(NodeError::RoverTaken { rover, process: reported.process, run: self.run.clone() });
            }
            return Ok(());
        }
        if !reported.left {
            if let Some((since, why)) = self.out_of_reach.get(&reported.process)
                && since.elapsed() >= UNREACHABLE_AFTER
            {
                let (process, why) = (reported.process, why.clone());
                return Err(NodeError::OutOfReach { process, why, run: self.run.clone() });
            }
            let announced =
                (!self.gone.processes.is_empty()).then(|| Frame::of(&PeerMessage::LostProcesses(self.gone.clone())));
            self.streams.connect(&reported.process, &reported.addresses, self.recent.iter().cloned().chain(announced));
        }
        self.others.note_member(reported);
        Ok(())
    }

    fn note_message(&mut self, process: String, reported: PeerMessage) -> Result<(), NodeError> {
        let is_given_up = match &reported {
            PeerMessage::LostProcesses(gone) => gone.processes.contains(&self.process),
            PeerMessage::GivenUp => true,
            _ => false,
        };
        if is_given_up {
            return Err(NodeError::GivenUp { process: self.process.clone(), run: self.run.clone() });
        }
        // Nothing from a process that is gone is accepted any more.
        if self.others.get(&process).is_some_and(|other| other.has_left) {
            return Ok(());
        }
        match reported {
            PeerMessage::Part(part) => self.others.note_part(&process, part),
            PeerMessage::Passed { process: of, part } => self.others.note_passed(&of, part),
            PeerMessage::LostProcesses(gone) => self.note_lost_elsewhere(&process, gone),
            PeerMessage::WentOn(gone) => self.others.note_announced(&process, gone),
            PeerMessage::World { members, state } => self.given = Some((members, state)),
            PeerMessage::Leaves => self.others.note_lost(&process),
            PeerMessage::GivenUp => {}
        }
        Ok(())
    }

    /// A process that is alive but cannot be connected to cannot share a world with this one. Before the world begins, it
    /// may have ended: its next announcements tell.
    fn note_out_of_reach(&mut self, process: String, why: String) -> Result<(), NodeError> {
        let is_there = self.others.get(&process).is_some_and(|other| other.is_there());
        if is_there && self.is_running && self.active.contains(&process) {
            return Err(NodeError::OutOfReach { process, why, run: self.run.clone() });
        }
        tracing::warn!("process {process} cannot be called ({why}) and does not take part");
        self.others.note_lost(&process);
        if is_there && !self.is_running {
            self.out_of_reach.insert(process, (Instant::now(), why));
        }
        Ok(())
    }

    fn announce(&mut self) {
        self.publish_member(false);
    }

    fn publish_member(&mut self, left: bool) {
        self.announced = Instant::now();
        let member = selene_msgs::SharedMember {
            process: self.process.clone(),
            addresses: self.streams.addresses().to_vec(),
            rovers: self.own.iter().map(|id| id.0).collect(),
            running: self.is_running,
            founders: self.founders.clone(),
            left,
        };
        // A lost announcement is repeated soon; DDS may still be waiting for a killed process.
        if let Err(error) = self.members.publish(&member, SimTime::ZERO) {
            tracing::debug!("{error}");
        }
    }
}

/// A name that no other process has. The name of a process that begins earlier, by the machines' clocks, sorts first.
fn process_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let random = RunId::random().to_string();
    format!("p{:011x}{}", since.as_millis(), &random[random.len() - 5..])
}

/// Numbers of the rovers with these names.
fn numbers(model: &Model, option: &'static str, names: &[String]) -> Result<BTreeSet<EntityId>, NodeError> {
    let number = |name: &String| {
        model.rover_named(name).ok_or_else(|| {
            let known: Vec<_> = model.rovers().values().map(|kind| kind.setup().name.as_str()).collect();
            NodeError::UnknownRover { option, name: name.clone(), known: known.join(", ") }
        })
    };
    names.iter().map(number).collect()
}
