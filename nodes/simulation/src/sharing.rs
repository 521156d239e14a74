//! One world in several simulation processes. Each names the rovers that it steps (`Member`), tells after every
//! heartbeat what it did (`Part`), and goes on when it has heard from all. The process that has the rover of the
//! lowest number leads: it tells the world to everybody else.
//!
//! - A world begins when every rover that is waited for has a process.
//! - A process that comes later gets the whole state from the one that leads and takes part from the next
//!   heartbeat on; until then its rovers stand.
//! - One that is silent for `LOST_AFTER` is given up, and its rovers stand from then on.
//! - Of two that name one rover the one that runs already stays, else the one whose name is first; the other
//!   ends with an error.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_coherence::{NodeContext, NodeError, RunId, terrain_qos};
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{EntityId, Model, Part, Share, Snapshot, State, Unreadable, World};

/// How often a process says that it is there (wall time).
const SAY_EVERY: Duration = Duration::from_millis(200);
/// A process that says nothing for so long is given up (wall time).
const LOST_AFTER: Duration = Duration::from_secs(5);
/// Parts that the network keeps for a slow reader.
const PARTS_KEPT: usize = 200;
/// Parts that are told again while others are waited for: nobody lacks an older one, since it told its own.
const PARTS_AGAIN: usize = 2;
/// Bytes of a state in one message.
const STATE_PART_BYTES: usize = 48 << 10;

/// Which rovers a process simulates, and for which it waits before it begins.
#[derive(Clone, Debug, Default)]
pub struct SharedRovers {
    /// Names of the rovers that it simulates.
    pub own: Vec<String>,
    /// Names of those that must have a process before the world begins; all when none is named.
    pub awaited: Vec<String>,
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
    others: BTreeMap<String, Other>,
    /// Those of them whose parts are waited for.
    active: BTreeSet<String>,
    /// To be told with the next part.
    joined: Vec<String>,
    lost: Vec<String>,
    told: u64,
    /// The last parts told, oldest first.
    recent: VecDeque<selene_msgs::SharedPart>,
    is_running: bool,
    /// With whom it began, itself included.
    founders: Vec<String>,
    said: Instant,
    arrived: Receiver<Arrived>,
    members: Publisher<selene_msgs::SharedMember>,
    parts: Publisher<selene_msgs::SharedPart>,
    states: Publisher<selene_msgs::SharedState>,
    _subscriptions: [Subscription; 3],
}

/// Another process.
struct Other {
    rovers: BTreeSet<EntityId>,
    is_running: bool,
    founders: Vec<String>,
    has_left: bool,
    heard: Instant,
    parts: BTreeMap<u64, selene_msgs::SharedPart>,
}

enum Arrived {
    Member(selene_msgs::SharedMember),
    Part(selene_msgs::SharedPart),
    State(selene_msgs::SharedState),
}

impl Sharing {
    pub(crate) fn open(context: &NodeContext, shared: &SharedRovers) -> Result<Self, NodeError> {
        let NodeContext { links, model, .. } = context;
        let own = numbers(model, &shared.own)?;
        let (sender, arrived) = channel();
        let transport = links.internal.as_ref();
        let parts_qos = Qos { depth: PARTS_KEPT, ..Qos::reliable() };
        // The channel closes with the node: nobody is left then to be told.
        let [to_members, to_parts, to_states] = [sender.clone(), sender.clone(), sender];
        let subscriptions = [
            subscribe(transport, &links.shared_members(), Qos::latched(), move |m| {
                drop(to_members.send(Arrived::Member(m)))
            })?,
            subscribe(transport, &links.shared_parts(), parts_qos, move |m| drop(to_parts.send(Arrived::Part(m))))?,
            subscribe(transport, &links.shared_state(), terrain_qos(), move |m| {
                drop(to_states.send(Arrived::State(m)))
            })?,
        ];
        Ok(Self {
            run: links.run.clone(),
            process: RunId::random().to_string(),
            own,
            names: model.rovers().iter().map(|(id, kind)| (*id, kind.setup().name.clone())).collect(),
            others: BTreeMap::new(),
            active: BTreeSet::new(),
            joined: Vec::new(),
            lost: Vec::new(),
            told: 0,
            recent: VecDeque::new(),
            is_running: false,
            founders: Vec::new(),
            said: Instant::now(),
            arrived,
            members: Publisher::new(transport, &links.shared_members(), Qos::latched())?,
            parts: Publisher::new(transport, &links.shared_parts(), parts_qos)?,
            states: Publisher::new(transport, &links.shared_state(), terrain_qos())?,
            _subscriptions: subscriptions,
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
            names => numbers(model, names)?,
        };
        self.say()?;
        let mut state = StateParts::default();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(NodeError::Stopped { run: self.run.clone() });
            }
            self.listen(|told| state.take(told))?;
            if let Some(told) = state.whole(&self.process)? {
                self.active = told.members.into_iter().collect();
                return Ok(Arrival::Late(Box::new(told.state)));
            }
            if let Some(founders) = self.founders_of(&awaited) {
                self.active = founders.iter().filter(|name| **name != self.process).cloned().collect();
                self.founders = founders;
                return Ok(Arrival::AtTheStart);
            }
        }
    }

    /// With whom the world begins: the processes that have the rovers that are waited for, once all have one. None
    /// where that is not so yet, and for who comes to a world that runs without it.
    fn founders_of(&self, awaited: &BTreeSet<EntityId>) -> Option<Vec<String>> {
        let mut running = self.others.values().filter(|other| other.is_running && !other.has_left).peekable();
        let runs_with_us = |other: &Other| other.founders.contains(&self.process);
        if running.peek().is_some() {
            return running.find(|other| runs_with_us(other)).map(|other| other.founders.clone());
        }
        let is_founder = |rovers: &BTreeSet<EntityId>| !rovers.is_disjoint(awaited);
        let others = self.others.iter().filter(|(_, other)| is_founder(&other.rovers) && !other.has_left);
        let founders: Vec<_> =
            others.map(|(name, other)| (name, &other.rovers)).chain([(&self.process, &self.own)]).collect();
        let all_taken = awaited.iter().all(|id| founders.iter().any(|(_, rovers)| rovers.contains(id)));
        let mut names: Vec<_> = founders.into_iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        (all_taken && is_founder(&self.own)).then_some(names)
    }

    /// Takes part from now on.
    pub(crate) fn begin(&mut self, world: &mut World) -> Result<(), NodeError> {
        self.is_running = true;
        self.told = world.state().sequence;
        self.share_out(world);
        self.say()
    }

    /// Whether this process tells the world to others.
    pub(crate) fn leads(&self) -> bool {
        let of_active = self.active.iter().filter_map(|name| self.others.get(name));
        let lowest = of_active.filter_map(|other| other.rovers.first()).min();
        lowest.is_none_or(|lowest| self.own.first().is_some_and(|own| own < lowest))
    }

    pub(crate) fn owns(&self, rover: EntityId) -> bool {
        self.own.contains(&rover)
    }

    /// Says now and then that this process is there: for those who wait for somebody else.
    pub(crate) fn stay_alive(&mut self) -> Result<(), NodeError> {
        if self.said.elapsed() >= SAY_EVERY { self.say() } else { Ok(()) }
    }

    /// Tells what this process did in a heartbeat, waits for what the others did, and puts it together.
    pub(crate) fn exchange(
        &mut self,
        world: &mut World,
        snapshot: Snapshot,
        stop: &AtomicBool,
    ) -> Result<Snapshot, NodeError> {
        let own = world.part(&snapshot);
        self.tell(&own, snapshot.time)?;
        let mut parts = self.await_parts(world, own.sequence, stop)?;
        parts.push(own);
        let merged = world.merge(snapshot, &parts);
        self.welcome(world)?;
        Ok(merged)
    }

    /// Says that this process has ended.
    pub(crate) fn leave(&mut self) -> Result<(), NodeError> {
        self.tell_member(true)
    }

    fn tell(&mut self, own: &Part, time: SimTime) -> Result<(), NodeError> {
        self.told = own.sequence;
        let (joined, lost) = (std::mem::take(&mut self.joined), std::mem::take(&mut self.lost));
        self.active.extend(joined.iter().cloned());
        let (process, data) = (self.process.clone(), own.to_bytes());
        let part = selene_msgs::SharedPart { process, sequence: own.sequence, joined, lost, data };
        self.parts.publish(&part, time)?;
        self.recent.push_back(part);
        if self.recent.len() > PARTS_AGAIN {
            self.recent.pop_front();
        }
        Ok(())
    }

    /// Tells the last parts again: the network may not have known of a reader yet.
    fn tell_again(&self) -> Result<(), NodeError> {
        self.recent.iter().try_for_each(|part| Ok(self.parts.publish(part, SimTime::ZERO)?))
    }

    /// The parts of all others that take part in heartbeat `sequence`.
    fn await_parts(&mut self, world: &mut World, sequence: u64, stop: &AtomicBool) -> Result<Vec<Part>, NodeError> {
        loop {
            self.take_in_joined(sequence);
            self.give_up_silent(world, sequence);
            let has_told =
                |name: &String| self.others.get(name).is_some_and(|other| other.parts.contains_key(&sequence));
            if self.active.iter().all(has_told) || stop.load(Ordering::Relaxed) {
                break;
            }
            self.listen(|_| ())?;
        }
        self.share_out(world);
        let mut parts = Vec::new();
        for name in &self.active {
            let Some(other) = self.others.get_mut(name) else { continue };
            let told = other.parts.remove(&sequence);
            other.parts.retain(|kept, _| *kept > sequence);
            if let Some(told) = told {
                parts.push(Part::from_bytes(&told.data).map_err(|error| unreadable(name, &error))?);
            }
        }
        Ok(parts)
    }

    /// Waits from this heartbeat on for those whom another's part of it names as new.
    fn take_in_joined(&mut self, sequence: u64) {
        let parts = self.others.values().filter_map(|other| other.parts.get(&sequence));
        let new: Vec<_> = parts.flat_map(|part| part.joined.iter().cloned()).collect();
        self.active.extend(new.into_iter().filter(|name| *name != self.process));
    }

    /// Goes on without those who have left or are silent: their rovers stand.
    fn give_up_silent(&mut self, world: &mut World, sequence: u64) {
        let is_gone = |name: &&String| {
            self.others.get(*name).is_some_and(|other| {
                !other.parts.contains_key(&sequence) && (other.has_left || other.heard.elapsed() > LOST_AFTER)
            })
        };
        let gone: Vec<String> = self.active.iter().filter(is_gone).cloned().collect();
        for name in gone {
            self.active.remove(&name);
            let Some(other) = self.others.get_mut(&name) else { continue };
            other.is_running = false;
            world.halt(&other.rovers);
            if !other.has_left {
                let rovers: Vec<_> = other.rovers.iter().filter_map(|id| self.names.get(id).cloned()).collect();
                tracing::warn!("process {name} is silent: {} stand from heartbeat {sequence} on", rovers.join(", "));
                self.lost.push(name);
            }
        }
    }

    /// Gives the state to those who came while the world runs, if this process leads.
    fn welcome(&mut self, world: &World) -> Result<(), NodeError> {
        while let Ok(arrived) = self.arrived.try_recv() {
            self.note(arrived, |_| ())?;
        }
        let is_new = |(name, other): &(&String, &Other)| {
            !other.is_running && !other.has_left && !self.active.contains(*name) && other.heard.elapsed() < LOST_AFTER
        };
        let new: Vec<String> = self.others.iter().filter(is_new).map(|(name, _)| name.clone()).collect();
        if new.is_empty() || !self.leads() {
            return Ok(());
        }
        let state = world.state();
        let bytes = state.to_bytes();
        for name in new {
            let members = self.active.iter().chain([&self.process]).chain(&self.joined).cloned().collect::<Vec<_>>();
            let parts = bytes.len().div_ceil(STATE_PART_BYTES) as u32;
            for (part, data) in (0..).zip(bytes.chunks(STATE_PART_BYTES)) {
                let (receiver, members, data) = (name.clone(), members.clone(), data.to_vec());
                let told = selene_msgs::SharedState { receiver, members, sequence: state.sequence, part, parts, data };
                self.states.publish(&told, state.time)?;
            }
            if let Some(other) = self.others.get_mut(&name) {
                other.is_running = true;
            }
            self.joined.push(name);
        }
        Ok(())
    }

    /// Tells the world which rovers it steps.
    fn share_out(&self, world: &mut World) {
        let ghosts = self.names.keys().copied().filter(|id| !self.own.contains(id)).collect();
        world.set_share(Some(Share { ghosts, leads: self.leads() }));
    }

    /// Takes in what has come, or waits a while for something.
    fn listen(&mut self, on_state: impl FnMut(selene_msgs::SharedState)) -> Result<(), NodeError> {
        self.stay_alive()?;
        match self.arrived.recv_timeout(SAY_EVERY) {
            Ok(arrived) => self.note(arrived, on_state),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => self.tell_again(),
        }
    }

    fn note(&mut self, arrived: Arrived, mut on_state: impl FnMut(selene_msgs::SharedState)) -> Result<(), NodeError> {
        match arrived {
            Arrived::Member(told) if told.process != self.process => self.note_member(told),
            Arrived::Part(told) if told.process != self.process => self.note_part(told),
            Arrived::State(told) => {
                on_state(told);
                Ok(())
            }
            Arrived::Member(_) | Arrived::Part(_) => Ok(()),
        }
    }

    fn note_member(&mut self, told: selene_msgs::SharedMember) -> Result<(), NodeError> {
        let rovers: BTreeSet<EntityId> = told.rovers.iter().copied().map(EntityId).collect();
        if let Some(rover) = rovers.intersection(&self.own).next().filter(|_| !told.left) {
            let it_stays = if told.running == self.is_running { told.process < self.process } else { told.running };
            if it_stays {
                let rover = self.names.get(rover).cloned().unwrap_or_default();
                return Err(NodeError::RoverTaken { rover, process: told.process, run: self.run.clone() });
            }
            return Ok(());
        }
        let other = self.others.entry(told.process).or_insert_with(Other::new);
        other.rovers = rovers;
        other.is_running |= told.running;
        other.founders = told.founders;
        other.has_left |= told.left;
        other.heard = Instant::now();
        Ok(())
    }

    fn note_part(&mut self, told: selene_msgs::SharedPart) -> Result<(), NodeError> {
        if told.lost.contains(&self.process) {
            return Err(NodeError::GivenUp { process: self.process.clone(), run: self.run.clone() });
        }
        let other = self.others.entry(told.process.clone()).or_insert_with(Other::new);
        other.heard = Instant::now();
        other.parts.insert(told.sequence, told);
        Ok(())
    }

    fn say(&mut self) -> Result<(), NodeError> {
        self.tell_member(false)
    }

    fn tell_member(&mut self, left: bool) -> Result<(), NodeError> {
        self.said = Instant::now();
        let (process, rovers) = (self.process.clone(), self.own.iter().map(|id| id.0).collect());
        let (running, founders, sequence) = (self.is_running, self.founders.clone(), self.told);
        let member = selene_msgs::SharedMember { process, rovers, running, founders, left, sequence };
        Ok(self.members.publish(&member, SimTime::ZERO)?)
    }
}

impl Other {
    fn new() -> Self {
        Self {
            rovers: BTreeSet::new(),
            is_running: false,
            founders: Vec::new(),
            has_left: false,
            heard: Instant::now(),
            parts: BTreeMap::new(),
        }
    }
}

/// The parts of a state that have come.
#[derive(Default)]
struct StateParts {
    parts: BTreeMap<u32, selene_msgs::SharedState>,
}

/// A state that is whole, and who takes part in its world.
struct ToldState {
    members: Vec<String>,
    state: State,
}

impl StateParts {
    fn take(&mut self, told: selene_msgs::SharedState) {
        self.parts.retain(|_, kept| kept.sequence == told.sequence || kept.receiver != told.receiver);
        self.parts.insert(told.part, told);
    }

    fn whole(&mut self, receiver: &str) -> Result<Option<ToldState>, NodeError> {
        self.parts.retain(|_, part| part.receiver == receiver);
        let Some(first) = self.parts.values().next() else { return Ok(None) };
        if self.parts.len() != first.parts as usize {
            return Ok(None);
        }
        let members = first.members.clone();
        let bytes: Vec<u8> = self.parts.values().flat_map(|part| part.data.iter().copied()).collect();
        let process = members.first().cloned().unwrap_or_default();
        let state = State::from_bytes(&bytes).map_err(|error| unreadable(&process, &error))?;
        Ok(Some(ToldState { members, state }))
    }
}

fn unreadable(process: &str, error: &Unreadable) -> NodeError {
    NodeError::SharedWorld { process: process.to_owned(), what: error.to_string() }
}

/// The numbers of rovers by name.
fn numbers(model: &Model, names: &[String]) -> Result<BTreeSet<EntityId>, NodeError> {
    let number = |name: &String| {
        model.rover_named(name).ok_or_else(|| {
            let known: Vec<_> = model.rovers().values().map(|kind| kind.setup().name.as_str()).collect();
            NodeError::NoSuchRover { name: name.clone(), known: known.join(", ") }
        })
    };
    names.iter().map(number).collect()
}
