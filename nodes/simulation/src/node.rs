//! The node's main loop: steps the world, publishes its state, and waits for participants and the clock.

mod changing;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

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
use crate::holds::HoldReport;
use crate::loading::Worlds;
use crate::lockstep::Lockstep;
use crate::maps::Maps;
use crate::pace::{PaceReport, Pacer};
use crate::publishers::RunPublishers;
use crate::rover_publishers::{BEFORE_START, RoverPublishers};
use crate::run_control::RunControl;
use crate::settings::LiveSettings;
use crate::sharing::{ExchangeReport, Sharing, WorldEntry};
use crate::terrain::TerrainAnswers;
use crate::{EndReason, RunStart, SimulationOptions};
use waiting::WaitLimit;

/// Name of the simulation process in `RunInfo`.
const ALONE: &str = "simulation";

pub(crate) struct Node {
    world: World,
    feed: Feed,
    /// The end of the previous run, whose snapshots are published again where this run begins.
    recent: Option<Recent>,
    /// While `recent` is being published: the number of edits so far, and the ground that they led to.
    ground_then: Option<(u64, Ruts)>,
    run: RunPublishers,
    diagnostics: RunDiagnostics,
    rovers: RoverPublishers,
    inputs: CommandInputs,
    lockstep: Lockstep,
    terrain: TerrainAnswers,
    maps: Maps,
    /// Whether this process was the leader in the last heartbeat.
    has_led: bool,
    checkpoints: Option<Checkpoints>,
    changes: Changes,
    settings: LiveSettings,
    /// Whether simulated time advances.
    run_control: RunControl,
    /// Descriptions and tags that clients have set for entities.
    pub(crate) infos: Infos,
    folders: AllowedFolders,
    /// Exchange with the other processes that simulate rovers of this world; `None` if there are none.
    sharing: Option<Sharing>,
    /// Whether this process has published `RunInfo`: only the leader does.
    reported_of_run: bool,
    pacer: Pacer,
    /// When clock and rovers were last published again while time is paused (wall time).
    repeated: Instant,
    distances_m: BTreeMap<EntityId, f64>,
    /// Rovers that were placed elsewhere since the last heartbeat: that jump does not count as distance driven.
    placed: BTreeSet<EntityId>,
    service: Serving,
    /// The services, while this process leads.
    control: Option<Control>,
}

impl Node {
    pub(crate) fn new(
        context: &NodeContext,
        begin: RunStart,
        options: &SimulationOptions,
        stop: &AtomicBool,
    ) -> Result<Self, NodeError> {
        let (mut world, mut recent) = match begin {
            RunStart::Start(driven) => (World::begin(Arc::clone(&context.model), driven.as_ref())?, None),
            RunStart::Resume(checkpoint) => {
                let Checkpoint { state, recent } = *checkpoint;
                (World::resume_with(&context.model, state, &recent, &context.folders)?, Some(recent))
            }
        };
        context.model.remarks().iter().for_each(|remark| tracing::warn!("{remark}"));
        if options.shared.is_none() {
            options.settings.begin_world(&mut world);
        }
        let mut sharing = match &options.shared {
            Some(shared) => Some(Sharing::open(context, shared, place(&world)?)?),
            None => None,
        };
        if let (Some(sharing), Some(shared)) = (&mut sharing, &options.shared)
            && let WorldEntry::Late(state) = sharing.arrive(&context.model, shared, stop)?
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
            // No process can pause a world that several share.
            run_control: RunControl::new(options.control.starts_paused && sharing.is_none()),
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
            reported_of_run: false,
            pacer: Pacer::new(options.pace, &options.timeline),
            repeated: Instant::now(),
            distances_m: BTreeMap::new(),
            world,
        })
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// The means of loading another world; `None` if nobody can, as in a shared world.
    pub(crate) fn worlds(&self) -> Option<&Worlds> {
        self.service.options.worlds.as_ref().filter(|_| self.sharing.is_none())
    }

    /// Runs all heartbeats; returns why the run ended and its wall time, s.
    pub(crate) fn drive(
        &mut self,
        options: &SimulationOptions,
        stop: &AtomicBool,
    ) -> Result<(EndReason, f64), NodeError> {
        let began_at = self.world.time();
        self.follow_rovers()?;
        self.publish_run_info(began_at)?;
        let recent = self.recent.clone();
        self.publish_beginning(recent.as_ref(), &mut WaitLimit::Endless, stop)?;
        self.await_participants(true, stop)?;
        self.run_control.start(began_at);
        loop {
            if let Some(ending) = self.ending(options, began_at, stop) {
                // Participants finish what they have before the end of the run is published.
                let mut limit = if self.run_control.quits() { WaitLimit::UntilSilent } else { WaitLimit::Endless };
                self.await_delivery(&Arc::clone(self.feed.last()), &mut limit, stop)?;
                return Ok((ending, self.run_control.wall_s()));
            }
            self.carry_out(stop)?;
            if !self.run_control.moves() {
                self.stand()?;
                continue;
            }
            self.run_control.begin_heartbeat();
            self.heartbeat(&Arc::clone(self.feed.last()), stop)?;
            self.await_others(stop)?;
            self.keep_pace()?;
        }
    }

    /// Publishes the end of the run and saves what has to be saved; returns why it ended, its wall time in s, and the hash
    /// of the state. The run's own error takes precedence over a failure to do so.
    pub(crate) fn finish(
        &mut self,
        ended: Result<(EndReason, f64), NodeError>,
    ) -> Result<(EndReason, f64, u64), NodeError> {
        let (hash, time) = (self.world.hash(), self.world.time());
        // Soil whose device failed has none.
        let known = hash.as_ref().ok().copied();
        self.run_control.end_steps("the run has ended");
        self.changes.close();
        // A process that is stopped leaves the run to the other processes.
        let has_ended = matches!(ended, Ok((EndReason::Duration | EndReason::RouteDone, _)));
        let ends_it = self.leads() && (has_ended || self.sharing.as_ref().is_none_or(Sharing::is_alone));
        let reported = if ends_it { self.run.info(self.world.model(), known, time) } else { Ok(()) };
        if let Some(sharing) = &mut self.sharing {
            // The next leader serves under the same names.
            self.control = None;
            sharing.leave();
        }
        let mapped = self.maps.end();
        let saved = self.checkpoints.as_mut().map_or(Ok(()), |checkpoints| checkpoints.end(&self.world));
        let (ending, wall_s) = ended?;
        reported.and(mapped).and(saved)?;
        Ok((ending, wall_s, hash?))
    }

    /// Simulated time from which wall time is counted.
    pub(crate) fn since(&self) -> SimTime {
        self.run_control.since()
    }

    /// Horizontal distance that each rover travelled, by its name, m.
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

    /// What was exchanged with the other processes of the world; `None` if the world is not shared.
    pub(crate) fn exchange(&self) -> Option<ExchangeReport> {
        self.sharing.as_ref().map(Sharing::report)
    }

    /// Holds, timeouts and wall time spent holding for the scenario's topics.
    pub(crate) fn holds(&self) -> HoldReport {
        self.inputs.holds()
    }

    /// Publishes `RunInfo` once, by which other nodes find the run.
    fn publish_run_info(&mut self, time: SimTime) -> Result<(), NodeError> {
        if self.leads() && !self.reported_of_run {
            self.reported_of_run = true;
            self.run.info(self.world.model(), None, time)?;
        }
        Ok(())
    }

    /// Publishes the first snapshot, or the end of the run that is resumed.
    fn publish_beginning(
        &mut self,
        recent: Option<&Recent>,
        limit: &mut WaitLimit,
        stop: &AtomicBool,
    ) -> Result<(), NodeError> {
        match recent {
            None => self.report_start(),
            Some(recent) => {
                self.send_again(recent, limit, stop)?;
                self.rovers.stand(self.feed.last())
            }
        }
    }

    /// Publishes the first snapshot and where the rovers are.
    fn report_start(&mut self) -> Result<(), NodeError> {
        let first = Arc::clone(self.feed.last());
        // First the clock: after a reset, listeners drop what they got when it goes back.
        if self.leads() {
            self.run.clock(first.time)?;
            self.run.state(&self.world, &first)?;
        }
        self.rovers.truth(BEFORE_START, &first, false)?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.take(&self.world, &first)?;
        }
        Ok(())
    }

    /// Publishes the end of the previous run again, for the nodes of this run only.
    fn send_again(&mut self, recent: &Recent, limit: &mut WaitLimit, stop: &AtomicBool) -> Result<(), NodeError> {
        let mut last = BEFORE_START;
        let mut ruts = recent.ruts_before.clone();
        for snapshot in &recent.snapshots {
            self.ground_then = Some((snapshot.terrain_sequence, ruts.clone()));
            if self.leads() {
                self.run.state(&self.world, snapshot)?;
            }
            self.rovers.truth(last, snapshot, true)?;
            self.await_delivery(snapshot, limit, stop)?;
            ruts.apply(&snapshot.edits);
            last = snapshot.time;
        }
        self.ground_then = None;
        Ok(())
    }

    fn ending(&self, options: &SimulationOptions, began_at: SimTime, stop: &AtomicBool) -> Option<EndReason> {
        if stop.load(Ordering::Relaxed) || self.run_control.quits() {
            return Some(EndReason::Stopped);
        }
        match options.duration {
            Some(duration) => (self.world.time() >= began_at + duration).then_some(EndReason::Duration),
            None => self.world.routes_done().then_some(EndReason::RouteDone),
        }
    }

    fn heartbeat(&mut self, last: &Snapshot, stop: &AtomicBool) -> Result<(), NodeError> {
        self.inputs.hand_to(&mut self.world);
        let interval = self.step(stop)?;
        let next = Arc::clone(&interval.next);
        let is_hold = self.inputs.begin_hold(next.time);
        self.publish_run_info(next.time)?;
        self.follow_rovers()?;
        self.rovers.truth(last.time, &next, false)?;
        if self.leads() {
            // At a hold, the clock is published after all sensor data.
            if !is_hold {
                self.run.clock(next.time)?;
            }
            self.run.state(&self.world, &next)?;
            self.publish_diagnostics(&next)?;
            self.answer_terrain()?;
        }
        self.follow_lead(interval)?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.take(&self.world, &next)?;
        }
        self.measure_ways(last, &next);
        Ok(())
    }

    fn publish_diagnostics(&mut self, snapshot: &Snapshot) -> Result<(), NodeError> {
        if !self.diagnostics.are_due(snapshot.time) {
            return Ok(());
        }
        let load = Load {
            pace: self.pacer.report().clone(),
            holds: self.inputs.holds(),
            maps: self.maps.requests(),
            behind: self.lockstep.behind(snapshot.sequence),
            commands: self.inputs.topics(),
            changes: self.changes.counts(),
            undecodable: self.control.as_ref().map_or(0, Control::undecodable),
        };
        self.diagnostics.report(snapshot, &self.world, &load)
    }

    /// Steps the world; in a shared one, merges in what the other processes stepped.
    fn step(&mut self, stop: &AtomicBool) -> Result<Interval, NodeError> {
        let Some(sharing) = &mut self.sharing else { return Ok(self.feed.heartbeat(&mut self.world)?) };
        let own = self.world.heartbeat()?;
        let merged = sharing.exchange(&mut self.world, own, stop)?;
        Ok(self.feed.interval(&self.world, Arc::new(merged)))
    }

    /// Whether this process publishes the world: of the processes that share it, exactly one does.
    fn leads(&self) -> bool {
        self.sharing.as_ref().is_none_or(Sharing::leads)
    }

    /// Opens maps and services when this process becomes the leader and closes them when it no longer is. A new
    /// leader's maps begin with the ground as it is then.
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

    /// Opens and closes the topics of rovers that were added and removed; other processes open those of their own
    /// rovers.
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

/// The feed and recorder of a world that begins, or that resumes after the end of a previous run.
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

/// The state in which a world begins, as text that processes compare: all must begin in the same state.
fn place(world: &World) -> Result<String, NodeError> {
    Ok(match world.state().sequence {
        0 => format!("the start, state {:016x}", world.hash()?),
        // The hash leaves out contacts: each process has its own.
        sequence => format!("heartbeat {sequence}, ground and bodies {:016x}", world.state().shared_hash()),
    })
}
