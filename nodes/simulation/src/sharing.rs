//! One world in several simulation processes. Each names the rovers that it steps (`Member`), tells after every
//! heartbeat what it did (`Part`), and goes on when it has heard from all, or freely with what has come. The
//! process that has the rover of the lowest number leads: it tells the world to everybody else.
//!
//! - A world begins when every rover that is waited for has a process. All must be of one world: scenario, seed
//!   and data.
//! - A process that comes later gets the whole state from the one that leads and takes part from the next
//!   heartbeat on; until then its rovers stand.
//! - One whose connection ends, or that is silent for `LOST_AFTER`, is given up, and its rovers stand from then
//!   on. What it did last counts if any process that is left has it (`gone`).
//! - Of two that name one rover the one that runs already stays, else the one whose name is first; the other
//!   ends with an error.

mod gone;
mod members;
mod streams;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_coherence::{NodeContext, NodeError, RunId};
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{EntityId, Fingerprint, Model, Part, Share, Snapshot, State, World};
use selene_terrain::TileIndex;

use members::LOST_AFTER;
use members::Others;
use streams::{Arrived, Frame, Gone, Greeting, Streams, Taking, Told, ToldPart};

/// How often a process says that it is there (wall time).
const SAY_EVERY: Duration = Duration::from_millis(200);
/// How often one that waits for others says for whom (wall time).
const WARN_EVERY: Duration = Duration::from_secs(5);
/// Somebody who is asked to stop waits so long for the others' parts of the heartbeat (wall time).
const STOP_AFTER: Duration = Duration::from_secs(1);
/// Who has all rovers that are awaited listens so long for a world that runs already (wall time).
const LISTEN_FIRST: Duration = Duration::from_secs(1);
/// Own parts that are kept for one that joins: it takes part from the next heartbeat on.
const PARTS_KEPT: usize = 2;
/// Without waiting, parts come this much late at most: a node that was written since then takes only what is
/// lower (simulated time).
const FREE_DELAY: SimTime = SimTime::from_nanos(1_000_000_000);

/// Which rovers a process simulates, and for which it waits before it begins.
#[derive(Clone, Debug, Default)]
pub struct SharedRovers {
    /// Names of the rovers that it simulates.
    pub own: Vec<String>,
    /// Names of those that must have a process before the world begins; all when none is named.
    pub awaited: Vec<String>,
    /// Whether it goes on without waiting for the others' heartbeats.
    pub is_free: bool,
    /// The only address at which the other processes may call it; none for every address of the machine.
    pub address: Option<IpAddr>,
}

/// How a process comes into its world.
pub(crate) enum Arrival {
    /// With all others, at the world's start.
    AtTheStart,
    /// Later, into this state.
    Late(Box<State>),
}

pub(crate) struct Sharing {
    run: RunId,
    process: String,
    own: BTreeSet<EntityId>,
    names: BTreeMap<EntityId, String>,
    others: Others,
    /// Those of them whose parts are waited for.
    active: BTreeSet<String>,
    /// To be told with the next part.
    joined: Vec<Taking>,
    /// Who is gone, as this process said last.
    gone: Gone,
    /// Those that this process went on without.
    given_up: BTreeSet<String>,
    /// The last heartbeat that was put together.
    put_together: u64,
    /// The last parts told, oldest first.
    recent: VecDeque<Frame>,
    is_running: bool,
    is_free: bool,
    /// Where it is free: the nodes that it wrote a little while ago, and when.
    written: BTreeMap<(TileIndex, u16), SimTime>,
    /// With whom it began, itself included.
    founders: Vec<String>,
    /// The world that it was given when it came late, and who takes part in it.
    given: Option<(Vec<Taking>, Box<State>)>,
    said: Instant,
    /// When it last took in what had come.
    listened: Instant,
    arrived: Receiver<Arrived>,
    streams: Streams,
    members: Publisher<selene_msgs::SharedMember>,
    _subscription: Subscription,
}

impl Sharing {
    /// `begins` says where this process begins: all of one world begin at the same place.
    pub(crate) fn open(context: &NodeContext, shared: &SharedRovers, begins: String) -> Result<Self, NodeError> {
        let NodeContext { links, model, .. } = context;
        if let Some(window) = model.windows().first() {
            return Err(NodeError::NotShared { window: window.name().to_owned() });
        }
        let own = numbers(model, "--own", &shared.own)?;
        let (sender, arrived) = channel();
        let process = RunId::random().to_string();
        let world = Fingerprint::of(model.scenario(), model.terrain());
        let greeting =
            Greeting { run: links.run.to_string(), process: process.clone(), world, begins, is_free: shared.is_free };
        let streams = Streams::open(greeting, shared.address, sender.clone())?;
        let transport = links.internal.as_ref();
        // The channel closes with the node: nobody is left then to be told.
        let note = move |member| drop(sender.send(Arrived::Member(member)));
        Ok(Self {
            run: links.run.clone(),
            process,
            own,
            names: model.rovers().iter().map(|(id, kind)| (*id, kind.setup().name.clone())).collect(),
            others: Others::default(),
            active: BTreeSet::new(),
            joined: Vec::new(),
            gone: Gone::default(),
            given_up: BTreeSet::new(),
            put_together: 0,
            recent: VecDeque::new(),
            is_running: false,
            is_free: shared.is_free,
            written: BTreeMap::new(),
            founders: Vec::new(),
            given: None,
            said: Instant::now(),
            listened: Instant::now(),
            arrived,
            streams,
            members: Publisher::new(transport, &links.shared_members(), Qos::latched())?,
            _subscription: subscribe(transport, &links.shared_members(), Qos::latched(), note)?,
        })
    }

    /// Waits for the other processes, or for the state of a world that runs already.
    pub(crate) fn arrive(
        &mut self,
        model: &Model,
        shared: &SharedRovers,
        stop: &AtomicBool,
    ) -> Result<Arrival, NodeError> {
        let awaited = match &shared.awaited[..] {
            [] => self.names.keys().copied().collect(),
            names => numbers(model, "--await-rovers", names)?,
        };
        self.say();
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
                return Ok(Arrival::Late(state));
            }
            let founders = self.others.founders_with((&self.process, &self.own), &awaited);
            if let Some(founders) = founders.filter(|all| all.len() > 1 || opened.elapsed() >= LISTEN_FIRST) {
                self.active = founders.iter().filter(|name| **name != self.process).cloned().collect();
                self.founders = founders;
                return Ok(Arrival::AtTheStart);
            }
            if warned.elapsed() >= WARN_EVERY {
                warned = Instant::now();
                self.warn_of_missing(&awaited);
            }
        }
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

    /// Takes part from now on.
    pub(crate) fn begin(&mut self, world: &mut World) {
        self.is_running = true;
        self.share_out(world);
        // Who has no process stands.
        let stepped = self.stepped_elsewhere();
        let has_process = |id: &EntityId| stepped.contains(id) || self.own.contains(id);
        world.halt(&self.names.keys().copied().filter(|id| !has_process(id)).collect());
        self.say();
    }

    /// Whether this process tells the world to others.
    pub(crate) fn leads(&self) -> bool {
        let of_active = self.active.iter().filter_map(|name| self.others.get(name));
        let lowest = of_active.filter_map(|other| other.rovers.first()).min();
        lowest.is_none_or(|lowest| self.own.first().is_some_and(|own| own < lowest))
    }

    /// Whether nobody else takes part.
    pub(crate) fn is_alone(&self) -> bool {
        self.active.is_empty()
    }

    pub(crate) fn owns(&self, rover: EntityId) -> bool {
        self.own.contains(&rover)
    }

    /// Says now and then that this process is there: for those who wait for somebody else.
    pub(crate) fn stay_alive(&mut self) {
        if self.said.elapsed() >= SAY_EVERY {
            self.say();
        }
    }

    /// Tells what this process did in a heartbeat, and puts it together with what the others did.
    pub(crate) fn exchange(
        &mut self,
        world: &mut World,
        snapshot: Snapshot,
        stop: &AtomicBool,
    ) -> Result<Snapshot, NodeError> {
        let own = world.part(&snapshot);
        let sequence = own.sequence;
        let told = Told::Part(ToldPart { joined: std::mem::take(&mut self.joined), part: own });
        self.tell(&told);
        let Told::Part(ToldPart { joined, part: own }) = told else { return Ok(snapshot) };
        self.active.extend(joined.into_iter().map(|taking| taking.process));
        let merged = if self.is_free {
            self.merge_what_came(world, snapshot, &own)?
        } else {
            let mut parts = self.await_parts(world, sequence, stop)?;
            parts.push(own);
            world.merge(snapshot, &parts)
        };
        self.welcome(world)?;
        Ok(merged)
    }

    /// Bytes that all others together have been told.
    pub(crate) fn told_bytes(&self) -> u64 {
        self.streams.told_bytes()
    }

    /// Says that this process has ended.
    pub(crate) fn leave(&mut self) {
        self.pass_on_all();
        self.streams.tell_all(&Frame::of(&Told::Leaves));
        self.streams.close();
        self.tell_member(true);
    }

    fn tell(&mut self, part: &Told) {
        let frame = Frame::of(part);
        self.streams.tell_all(&frame);
        self.recent.push_back(frame);
        if self.recent.len() > PARTS_KEPT {
            self.recent.pop_front();
        }
    }

    /// The parts of all others that take part in heartbeat `sequence`.
    fn await_parts(&mut self, world: &mut World, sequence: u64, stop: &AtomicBool) -> Result<Vec<Part>, NodeError> {
        let begun = Instant::now();
        loop {
            self.excuse_after_a_pause();
            self.take_in_joined(sequence);
            self.give_up_gone(world, sequence);
            let has_told = |name: &String| self.others.get(name).is_some_and(|other| other.part(sequence).is_some());
            let is_stopped = stop.load(Ordering::Relaxed) && begun.elapsed() >= STOP_AFTER;
            if self.active.iter().all(has_told) || is_stopped {
                break;
            }
            self.listen()?;
        }
        self.share_out(world);
        self.put_together = sequence;
        self.others.forget_said(sequence);
        // Who goes on in a world of its own ends: this one went on without it.
        for process in self.others.take_strangers(sequence, &self.active) {
            self.streams.tell(&process, Frame::of(&Told::GivenUp));
        }
        let others = &mut self.others;
        let part = |name: &String| others.get_mut(name)?.take_part(sequence).map(|told| told.part);
        Ok(self.active.iter().filter_map(part).collect())
    }

    /// Waits from this heartbeat on for those whom another's part of it names as new.
    fn take_in_joined(&mut self, sequence: u64) {
        let is_new = |taking: &&Taking| taking.process != self.process && !self.given_up.contains(&taking.process);
        let told = self.others.parts_of(sequence).flat_map(|(_, part)| &part.joined);
        let new: Vec<Taking> = told.filter(is_new).cloned().collect();
        for taking in new {
            self.others.introduce(&taking);
            self.active.insert(taking.process);
        }
    }

    /// Nobody is given up for what was said while this process did not listen: it waited for sensors, for the
    /// pace or for the disk, or was stopped.
    fn excuse_after_a_pause(&mut self) {
        if self.listened.elapsed() > LOST_AFTER / 2 {
            self.others.excuse_all();
        }
        self.listened = Instant::now();
    }

    /// Puts together what has come until now; nobody is waited for.
    fn merge_what_came(&mut self, world: &mut World, snapshot: Snapshot, own: &Part) -> Result<Snapshot, NodeError> {
        self.excuse_after_a_pause();
        while let Ok(arrived) = self.arrived.try_recv() {
            self.note(arrived)?;
        }
        self.stay_alive();
        let running = self.others.iter().filter(|(_, other)| other.is_there() && other.is_running);
        self.active.extend(running.map(|(name, _)| name.clone()));
        let parts: Vec<Part> = self.others.take_parts(&self.active).into_iter().map(|told| told.part).collect();
        let now = snapshot.time;
        let nodes = own.edits.iter().map(|edit| (edit.tile_index(), edit.node));
        self.written.extend(nodes.map(|at| (at, now)));
        self.written.retain(|_, written| now - *written <= FREE_DELAY);
        let merged = world.merge_free(snapshot, own, &parts, |tile, node| self.written.contains_key(&(tile, node)));
        // After what they did last.
        let is_gone = |name: &&String| self.others.get(name).is_none_or(|other| !other.is_there());
        let gone: Vec<_> = self.active.iter().filter(is_gone).cloned().collect();
        gone.iter().for_each(|name| self.give_up(world, name, own.sequence));
        self.share_out(world);
        Ok(merged)
    }

    /// Gives the state to those who came while the world runs, if this process leads.
    fn welcome(&mut self, world: &World) -> Result<(), NodeError> {
        while let Ok(arrived) = self.arrived.try_recv() {
            self.note(arrived)?;
        }
        let is_new = |(name, other): &(&String, &members::Other)| {
            let is_free = self.members().iter().all(|member| member.rovers.is_disjoint(&other.rovers));
            let is_known = other.has_called() && !other.rovers.is_empty() && is_free;
            !other.is_running && other.is_there() && is_known && !self.active.contains(*name)
        };
        if !self.leads() {
            return Ok(());
        }
        // One a heartbeat: two that name one rover are not both taken in.
        let new = self.others.iter().find(is_new);
        if let Some(new) = new.map(|(name, other)| Taking { process: name.clone(), rovers: other.rovers.clone() }) {
            let state = Box::new(world.state().clone());
            let frame = Frame::of(&Told::World { members: self.members(), state });
            self.streams.tell(&new.process, frame);
            self.others.introduce(&new);
            self.joined.push(new);
        }
        Ok(())
    }

    /// All that take part, this process included.
    fn members(&self) -> Vec<Taking> {
        let taking = |name: &String| {
            let rovers = self.others.get(name).map(|other| other.rovers.clone()).unwrap_or_default();
            Taking { process: name.clone(), rovers }
        };
        let own = Taking { process: self.process.clone(), rovers: self.own.clone() };
        self.active.iter().map(taking).chain([own]).chain(self.joined.iter().cloned()).collect()
    }

    /// The rovers of all others that take part.
    fn stepped_elsewhere(&self) -> BTreeSet<EntityId> {
        self.active.iter().filter_map(|name| self.others.get(name)).flat_map(|other| &other.rovers).copied().collect()
    }

    /// Tells the world which rovers it steps.
    fn share_out(&self, world: &mut World) {
        let ghosts: BTreeSet<_> = self.names.keys().copied().filter(|id| !self.own.contains(id)).collect();
        let standing = ghosts.difference(&self.stepped_elsewhere()).copied().collect();
        world.set_share(Some(Share { ghosts, standing, leads: self.leads() }));
    }

    /// Takes in what has come, or waits a while for something.
    fn listen(&mut self) -> Result<(), NodeError> {
        self.stay_alive();
        match self.arrived.recv_timeout(SAY_EVERY) {
            Ok(arrived) => self.note(arrived),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    fn note(&mut self, arrived: Arrived) -> Result<(), NodeError> {
        match arrived {
            Arrived::Member(told) if told.process == self.process => Ok(()),
            Arrived::Member(told) => self.note_member(told),
            Arrived::Told { process, told } => self.note_told(process, told),
            Arrived::Called { process } => {
                self.others.note_called(&process);
                Ok(())
            }
            Arrived::Closed { process } => {
                self.others.note_gone(&process);
                Ok(())
            }
            Arrived::OutOfReach { process, why } => self.note_out_of_reach(process, why),
            // Who runs already stays; the newcomer ends by itself.
            Arrived::OtherWorld { process, .. } if self.is_running => {
                tracing::warn!("process {process} of run {} is of another world and does not take part", self.run);
                self.others.note_gone(&process);
                Ok(())
            }
            Arrived::OtherWorld { difference, .. } => Err(NodeError::OtherWorld { run: self.run.clone(), difference }),
            Arrived::Unreadable { process, what } => Err(NodeError::SharedWorld { process, what }),
        }
    }

    fn note_member(&mut self, told: selene_msgs::SharedMember) -> Result<(), NodeError> {
        let taken = told.rovers.iter().map(|id| EntityId(*id)).find(|id| self.own.contains(id));
        if let Some(rover) = taken.filter(|_| !told.left) {
            let it_stays = if told.running == self.is_running { told.process < self.process } else { told.running };
            if it_stays {
                let rover = self.names.get(&rover).cloned().unwrap_or_default();
                return Err(NodeError::RoverTaken { rover, process: told.process, run: self.run.clone() });
            }
            return Ok(());
        }
        if !told.left {
            let said = (!self.gone.processes.is_empty()).then(|| Frame::of(&Told::Gone(self.gone.clone())));
            self.streams.connect(&told.process, &told.addresses, self.recent.iter().cloned().chain(said));
        }
        self.others.note_member(told);
        Ok(())
    }

    fn note_told(&mut self, process: String, told: Told) -> Result<(), NodeError> {
        let is_given_up = match &told {
            Told::Gone(gone) => gone.processes.contains(&self.process),
            Told::GivenUp => true,
            _ => false,
        };
        if is_given_up {
            return Err(NodeError::GivenUp { process: self.process.clone(), run: self.run.clone() });
        }
        // Nobody takes anything more from one that is gone.
        if self.others.get(&process).is_some_and(|other| other.has_left) {
            return Ok(());
        }
        match told {
            Told::Part(part) => self.others.note_part(&process, part),
            Told::Passed { process: of, part } => self.others.note_passed(&of, part),
            Told::Gone(gone) => self.note_gone_elsewhere(&process, gone),
            Told::WentOn(gone) => self.others.note_said(&process, gone),
            Told::World { members, state } => self.given = Some((members, state)),
            Told::Leaves => self.others.note_gone(&process),
            Told::GivenUp => {}
        }
        Ok(())
    }

    /// A process that is there and cannot be called cannot be in a world with this one.
    fn note_out_of_reach(&mut self, process: String, why: String) -> Result<(), NodeError> {
        match self.others.get(&process) {
            Some(other) if other.is_there() && (!self.is_running || self.active.contains(&process)) => {
                Err(NodeError::OutOfReach { process, why, run: self.run.clone() })
            }
            _ => {
                tracing::warn!("process {process} cannot be called ({why}) and does not take part");
                self.others.note_gone(&process);
                Ok(())
            }
        }
    }

    fn say(&mut self) {
        self.tell_member(false);
    }

    fn tell_member(&mut self, left: bool) {
        self.said = Instant::now();
        let member = selene_msgs::SharedMember {
            process: self.process.clone(),
            addresses: self.streams.addresses().to_vec(),
            rovers: self.own.iter().map(|id| id.0).collect(),
            running: self.is_running,
            founders: self.founders.clone(),
            left,
        };
        // Said again soon; DDS may still wait for a process that was killed.
        if let Err(error) = self.members.publish(&member, SimTime::ZERO) {
            tracing::debug!("{error}");
        }
    }
}

/// The numbers of rovers by name.
fn numbers(model: &Model, option: &'static str, names: &[String]) -> Result<BTreeSet<EntityId>, NodeError> {
    let number = |name: &String| {
        model.rover_named(name).ok_or_else(|| {
            let known: Vec<_> = model.rovers().values().map(|kind| kind.setup().name.as_str()).collect();
            NodeError::NoSuchRover { option, name: name.clone(), known: known.join(", ") }
        })
    };
    names.iter().map(number).collect()
}
