//! The node at work: the world, all that is told of it, and who it waits for.

mod changing;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use selene_base::SimTime;
use selene_coherence::{NodeContext, NodeError};
use selene_observe::{Feed, Interval, Recorder};
use selene_sim::{AllowedFolders, Checkpoint, EntityId, Recent, Snapshot, World};
use selene_terrain::Ruts;

use crate::changes::Changes;
use crate::checkpoints::Checkpoints;
use crate::command_inputs::CommandInputs;
use crate::control::entities::Infos;
use crate::control::{Control, Serving};
use crate::diagnostics::{Load, RunDiagnostics};
use crate::going::Going;
use crate::holds::HoldReport;
use crate::loading::Worlds;
use crate::lockstep::Lockstep;
use crate::maps::Maps;
use crate::pace::{PaceReport, Pacer};
use crate::publishers::RunPublishers;
use crate::rover_publishers::RoverPublishers;
use crate::settings::LiveSettings;
use crate::sharing::{Arrival, Sharing};
use crate::terrain::TerrainAnswers;
use crate::{Begin, Ending, SimulationOptions};
use waiting::Patience;

/// The name of a simulation that is alone in its run.
const ALONE: &str = "simulation";

pub(crate) struct Node {
    world: World,
    feed: Feed,
    /// The last while of the run before, which is told again where the world begins.
    recent: Option<Recent>,
    /// While it is: the number of edits until then, and what they led to.
    ground_then: Option<(u64, Ruts)>,
    run: RunPublishers,
    diagnostics: RunDiagnostics,
    rovers: RoverPublishers,
    inputs: CommandInputs,
    lockstep: Lockstep,
    terrain: TerrainAnswers,
    maps: Maps,
    /// Whether this process led in the last heartbeat.
    has_led: bool,
    checkpoints: Option<Checkpoints>,
    changes: Changes,
    settings: LiveSettings,
    /// Whether simulated time passes.
    going: Going,
    /// What somebody said of entities.
    pub(crate) infos: Infos,
    folders: AllowedFolders,
    /// Where other processes simulate rovers of this world.
    sharing: Option<Sharing>,
    /// Whether this process tells of the run: it leads, or it led.
    told_of_run: bool,
    pacer: Pacer,
    distances_m: BTreeMap<EntityId, f64>,
    /// Rovers that were put elsewhere: that was no way that they drove.
    placed: BTreeSet<EntityId>,
    service: Serving,
    /// Where this process leads.
    control: Option<Control>,
}

impl Node {
    pub(crate) fn new(
        context: &NodeContext,
        begin: Begin,
        options: &SimulationOptions,
        stop: &AtomicBool,
    ) -> Result<Self, NodeError> {
        let (mut world, mut recent) = match begin {
            Begin::Start(driven) => (World::begin(Arc::clone(&context.model), driven.as_ref())?, None),
            Begin::Resume(checkpoint) => {
                let Checkpoint { state, recent } = *checkpoint;
                (World::resume(&context.model, state, &context.folders)?, Some(recent))
            }
        };
        context.model.remarks().iter().for_each(|remark| tracing::warn!("{remark}"));
        if options.shared.is_none() {
            options.settings.begin_world(&mut world);
        }
        let mut sharing = match &options.shared {
            Some(shared) => Some(Sharing::open(context, shared, place(&world))?),
            None => None,
        };
        if let (Some(sharing), Some(shared)) = (&mut sharing, &options.shared)
            && let Arrival::Late(state) = sharing.arrive(&context.model, shared, stop)?
        {
            world = World::resume(&context.model, *state, &context.folders)?;
            recent = None;
        }
        sharing.iter_mut().for_each(|sharing| sharing.begin(&mut world));
        let links = &context.links;
        let mut maps = Maps::start(&links.public)?;
        let leads = sharing.as_ref().is_none_or(Sharing::leads);
        let (feed, recorder) = begin_feed(&mut world, recent.as_ref(), leads.then_some(&mut maps))?;
        options.changes.open();
        let service = Serving {
            transport: Arc::clone(&links.public),
            options: options.control.clone(),
            folders: context.folders.clone(),
        };
        Ok(Self {
            control: leads.then(|| service.open(&options.changes, sharing.is_some())).transpose()?,
            service,
            // Nobody can hold the time of a world that several share.
            going: Going::new(options.control.starts_paused && sharing.is_none()),
            infos: Infos::default(),
            placed: BTreeSet::new(),
            checkpoints: options.checkpoints.as_ref().map(|options| Checkpoints::new(options, &world, recorder)),
            changes: options.changes.clone(),
            settings: options.settings.clone(),
            folders: context.folders.clone(),
            run: RunPublishers::new(context, ALONE, recent.as_ref().map(|_| world.time()))?,
            diagnostics: RunDiagnostics::open(links, world.time())?,
            rovers: RoverPublishers::new(&links.public)?,
            inputs: CommandInputs::new(&links.public, world.model(), options.twist_unstamped, world.time())?,
            lockstep: Lockstep::new(links, &options.participants)?,
            terrain: TerrainAnswers::new(links)?,
            maps,
            has_led: leads,
            feed,
            recent,
            ground_then: None,
            sharing,
            told_of_run: false,
            pacer: Pacer::new(options.pace, &options.timeline),
            distances_m: BTreeMap::new(),
            world,
        })
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// Who can go over to another world.
    pub(crate) fn worlds(&self) -> Option<&Worlds> {
        self.service.options.worlds.as_ref().filter(|_| self.sharing.is_none())
    }

    /// All heartbeats; why it ended and the wall time, s.
    pub(crate) fn drive(&mut self, options: &SimulationOptions, stop: &AtomicBool) -> Result<(Ending, f64), NodeError> {
        let began_at = self.world.time();
        self.follow_rovers()?;
        self.tell_of_the_run(began_at)?;
        let recent = self.recent.clone();
        self.tell_the_beginning(recent.as_ref(), &mut Patience::Endless, stop)?;
        self.await_participants(true, stop)?;
        self.going.start(began_at);
        loop {
            if let Some(ending) = self.ending(options, began_at, stop) {
                // Participants finish what they have before the run is called ended.
                let mut patience = if self.going.quits() { Patience::UntilSilent } else { Patience::Endless };
                self.await_told(&Arc::clone(self.feed.last()), &mut patience, stop)?;
                return Ok((ending, self.going.wall_s()));
            }
            self.carry_out(stop)?;
            if !self.going.moves() {
                self.stand()?;
                continue;
            }
            self.going.begin_heartbeat();
            self.heartbeat(&Arc::clone(self.feed.last()), stop)?;
            self.await_others(stop)?;
            self.keep_pace()?;
        }
    }

    /// Tells the end, and saves what is to be saved; why the run failed matters more than that its end could
    /// not be told.
    pub(crate) fn finish(&mut self, ended: Result<(Ending, f64), NodeError>) -> Result<(Ending, f64), NodeError> {
        let (hash, time) = (self.world.hash(), self.world.time());
        self.going.end_steps("the run has ended");
        self.changes.close();
        // A process that is stopped leaves the run to the others.
        let has_ended = matches!(ended, Ok((Ending::Duration | Ending::RouteDone, _)));
        let ends_it = self.leads() && (has_ended || self.sharing.as_ref().is_none_or(Sharing::is_alone));
        let told = if ends_it { self.run.info(self.world.model(), Some(hash), time) } else { Ok(()) };
        if let Some(sharing) = &mut self.sharing {
            // Who leads next serves under the same names.
            self.control = None;
            sharing.leave();
        }
        let mapped = self.maps.end();
        let saved = self.checkpoints.as_mut().map_or(Ok(()), |checkpoints| checkpoints.end(&self.world));
        let ended = ended?;
        told.and(mapped).and(saved).map(|()| ended)
    }

    /// Simulated time that wall time is counted from.
    pub(crate) fn since(&self) -> SimTime {
        self.going.since()
    }

    /// How far each rover came, by its name, m.
    pub(crate) fn distances_m(&self) -> Vec<(String, f64)> {
        let named = |(id, way_m): (&EntityId, &f64)| {
            let kind = self.world.model().rovers().get(id)?;
            Some((kind.setup().name.clone(), *way_m))
        };
        self.distances_m.iter().filter_map(named).collect()
    }

    /// How well the pace was kept.
    pub(crate) fn pace(&self) -> PaceReport {
        self.pacer.report().clone()
    }

    /// Bytes that the other processes of the world have been told; none where this one is the only one by its options.
    pub(crate) fn told_bytes(&self) -> Option<u64> {
        self.sharing.as_ref().map(Sharing::told_bytes)
    }

    /// What came of holding for the scenario's topics.
    pub(crate) fn holds(&self) -> HoldReport {
        self.inputs.holds()
    }

    /// Tells once that the run is there: nodes find it by that.
    fn tell_of_the_run(&mut self, time: SimTime) -> Result<(), NodeError> {
        if self.leads() && !self.told_of_run {
            self.told_of_run = true;
            self.run.info(self.world.model(), None, time)?;
        }
        Ok(())
    }

    /// Tells where the world begins, or the last while of the run that it goes on from.
    fn tell_the_beginning(
        &mut self,
        recent: Option<&Recent>,
        patience: &mut Patience,
        stop: &AtomicBool,
    ) -> Result<(), NodeError> {
        match recent {
            None => self.tell_the_start(),
            Some(recent) => self.tell_again(recent, patience, stop),
        }
    }

    fn tell_the_start(&mut self) -> Result<(), NodeError> {
        let first = Arc::clone(self.feed.last());
        if self.leads() {
            self.run.clock(first.time)?;
            self.run.state(&self.world, &first)?;
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.take(&self.world, &first)?;
        }
        Ok(())
    }

    /// Tells the nodes the last while of the run before; nobody else hears of it.
    fn tell_again(&mut self, recent: &Recent, patience: &mut Patience, stop: &AtomicBool) -> Result<(), NodeError> {
        let mut last = SimTime::ZERO;
        let mut ruts = recent.ruts_before.clone();
        for snapshot in &recent.snapshots {
            self.ground_then = Some((snapshot.terrain_sequence, ruts.clone()));
            if self.leads() {
                self.run.state(&self.world, snapshot)?;
            }
            self.rovers.truth(last, snapshot, true)?;
            self.await_told(snapshot, patience, stop)?;
            ruts.apply(&snapshot.edits);
            last = snapshot.time;
        }
        self.ground_then = None;
        Ok(())
    }

    fn ending(&self, options: &SimulationOptions, began_at: SimTime, stop: &AtomicBool) -> Option<Ending> {
        if stop.load(Ordering::Relaxed) || self.going.quits() {
            return Some(Ending::Stopped);
        }
        match options.duration {
            Some(duration) => (self.world.time() >= began_at + duration).then_some(Ending::Duration),
            None => self.world.routes_done().then_some(Ending::RouteDone),
        }
    }

    fn heartbeat(&mut self, last: &Snapshot, stop: &AtomicBool) -> Result<(), NodeError> {
        self.inputs.hand_to(&mut self.world);
        let interval = self.step(stop)?;
        let next = Arc::clone(&interval.next);
        let is_hold = self.inputs.begin_hold(next.time);
        self.tell_of_the_run(next.time)?;
        self.follow_rovers()?;
        self.rovers.truth(last.time, &next, false)?;
        if self.leads() {
            // At a hold the clock comes after all sensor data.
            if !is_hold {
                self.run.clock(next.time)?;
            }
            self.run.state(&self.world, &next)?;
            self.tell_diagnostics(&next)?;
            self.answer_terrain()?;
        }
        self.follow_lead(interval)?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.take(&self.world, &next)?;
        }
        self.measure_ways(last, &next);
        Ok(())
    }

    fn tell_diagnostics(&mut self, snapshot: &Snapshot) -> Result<(), NodeError> {
        if !self.diagnostics.are_due(snapshot.time) {
            return Ok(());
        }
        let load = Load {
            pace: self.pacer.report().clone(),
            holds: self.inputs.holds(),
            maps: self.maps.requests(),
            behind: self.lockstep.behind(snapshot.sequence),
            commands: self.inputs.publishers(),
            changes: self.changes.counts(),
        };
        self.diagnostics.tell(snapshot, &self.world, &load)
    }

    /// Steps the world, with what other processes did where some of its rovers are theirs.
    fn step(&mut self, stop: &AtomicBool) -> Result<Interval, NodeError> {
        let Some(sharing) = &mut self.sharing else { return Ok(self.feed.heartbeat(&mut self.world)?) };
        let own = self.world.heartbeat()?;
        let merged = sharing.exchange(&mut self.world, own, stop)?;
        Ok(self.feed.interval(&self.world, Arc::new(merged)))
    }

    /// Whether this process tells the world to everybody: one of those that share it does.
    fn leads(&self) -> bool {
        self.sharing.as_ref().is_none_or(Sharing::leads)
    }

    /// Maps and services of the world are those of the process that leads. One that comes to lead has its maps take
    /// in the ground as it stands then.
    fn follow_lead(&mut self, interval: Interval) -> Result<(), NodeError> {
        let leads = self.leads();
        match (std::mem::replace(&mut self.has_led, leads), leads) {
            (true, true) => self.maps.take(interval),
            (false, true) => {
                self.control = Some(self.service.open(&self.changes, self.sharing.is_some())?);
                self.maps.take(self.feed.standing(&self.world))
            }
            (true, false) => {
                self.control = None;
                self.maps.begin_anew()
            }
            (false, false) => Ok(()),
        }
    }

    /// Opens and closes the topics of rovers that came and went; those of other processes' rovers are theirs.
    fn follow_rovers(&mut self) -> Result<(), NodeError> {
        let is_own = |id: &EntityId| self.sharing.as_ref().is_none_or(|sharing| sharing.owns(*id));
        let rovers: Vec<_> = self.world.state().rovers.keys().copied().filter(is_own).collect();
        self.inputs.follow(self.world.model(), &rovers)?;
        self.rovers.follow(self.world.model(), &rovers, self.world.time())
    }

    fn measure_ways(&mut self, last: &Snapshot, next: &Snapshot) {
        for rover in &next.rovers {
            if self.placed.remove(&rover.id) {
                continue;
            }
            let Some(before) = last.rover(rover.id) else { continue };
            let way = rover.world_from_base().translation.vector - before.world_from_base().translation.vector;
            *self.distances_m.entry(rover.id).or_default() += way.xy().norm();
        }
    }
}

/// What is told of a world that begins, or that goes on after the last while of the run before.
fn begin_feed(
    world: &mut World,
    recent: Option<&Recent>,
    maps: Option<&mut Maps>,
) -> Result<(Feed, Recorder), NodeError> {
    let Some(recent) = recent else {
        let recorder = Recorder::new(world.state().ruts.clone());
        return Ok((Feed::begin(world)?, recorder));
    };
    let (feed, intervals) = Feed::resumed(world, recent);
    if let Some(maps) = maps {
        intervals.into_iter().try_for_each(|interval| maps.take(interval))?;
    }
    Ok((feed, Recorder::resumed(recent)))
}

/// Where a world begins, for those who are to begin at the same place.
fn place(world: &World) -> String {
    match world.state().sequence {
        0 => format!("the start, state {:016x}", world.hash()),
        // Contacts are each process's own.
        sequence => format!("heartbeat {sequence}, ground and bodies {:016x}", world.state().shared_hash()),
    }
}
