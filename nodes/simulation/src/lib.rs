//! The simulation node: steps the world heartbeat by heartbeat at the asked pace,
//! publishes /clock, TF, state and truth, takes driving commands, and answers those
//! who missed terrain. In lockstep it never runs more than a window of heartbeats
//! ahead of the slowest declared participant.

mod commands;
mod encoders;
mod lockstep;
mod map;
mod occupancy;
mod pace;
mod publish;
mod terrain;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use selene_base::SimTime;
pub use selene_coherence::NodeError;
use selene_ros::transport::Transport;
use selene_sim::{SavedRuts, Scenario, World, WorldState};
use selene_terrain::Ground;

use commands::Commands;
use lockstep::Lockstep;
use map::Maps;
pub use pace::Pace;
use pace::Pacer;
use publish::Publishers;
use terrain::TerrainAnswers;

/// How a run goes.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    /// How fast simulated time passes.
    pub pace: Pace,
    /// When to end, simulated time; else at the route's end.
    pub duration: Option<SimTime>,
    /// Participants that the simulation waits for (lockstep); empty runs free.
    pub participants: Vec<String>,
    /// Take `cmd_vel` as Twist, not TwistStamped.
    pub twist_unstamped: bool,
    /// Where the driven ground is saved at the end, however the run ends.
    pub save_ruts: Option<PathBuf>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The asked time is over.
    Duration,
    /// The built-in driver reached the last waypoint.
    RouteDone,
    /// Somebody asked it to stop.
    Stopped,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Simulated time at the end.
    pub simulated: SimTime,
    /// Wall time from the first heartbeat on, s.
    pub wall_s: f64,
    /// Hash of the world's state at the end.
    pub state_hash: u64,
    /// Way of `base_link` over the ground, m.
    pub distance_m: f64,
    /// Why it ended.
    pub ending: Ending,
}

/// Runs the scenario on `ground` until its end, `options.duration` or `stop`.
///
/// # Errors
/// When a topic cannot be opened, the world cannot go on or its ruts cannot be saved.
pub fn run(
    transport: &dyn Transport,
    scenario: &Arc<Scenario>,
    ground: Ground,
    options: &SimulationOptions,
    stop: &AtomicBool,
) -> Result<Outcome, NodeError> {
    let mut node = Node {
        world: World::new(Arc::clone(scenario), ground)?,
        publishers: Publishers::new(transport, scenario)?,
        commands: Commands::new(transport, scenario, options.twist_unstamped)?,
        lockstep: Lockstep::new(transport, &options.participants)?,
        terrain: TerrainAnswers::new(transport)?,
        maps: Maps::new(transport, scenario)?,
        overruns: 0,
    };
    node.publishers.begin(scenario)?;
    let ended = node.drive(options, stop);
    let hash = node.world.hash();
    let told = node.publishers.end(scenario, hash, node.world.time());
    let saved = options.save_ruts.as_ref().map(|file| SavedRuts::of(&node.world)?.save(file)).transpose();
    // Why the run failed matters more than that its end could not be told or its ruts saved.
    let (ending, wall_s, distance_m) = ended?;
    told?;
    saved?;
    Ok(Outcome { simulated: node.world.time(), wall_s, state_hash: hash, distance_m, ending })
}

struct Node {
    world: World,
    publishers: Publishers,
    commands: Commands,
    lockstep: Lockstep,
    terrain: TerrainAnswers,
    maps: Maps,
    /// Heartbeats that came too late for the pace.
    overruns: u64,
}

impl Node {
    /// All heartbeats; returns why it ended, the wall time [s] and the way [m].
    fn drive(&mut self, options: &SimulationOptions, stop: &AtomicBool) -> Result<(Ending, f64, f64), NodeError> {
        let mut last = self.world.first_snapshot();
        self.publishers.state(&last)?;
        self.await_participants(&last, true, stop)?;
        let begun = Instant::now();
        let mut pacer = Pacer::new(options.pace);
        let mut distance_m = 0.0;
        loop {
            if let Some(ending) = self.ending(options, stop) {
                // Participants finish what they have before the run is called ended.
                self.await_participants(&last, true, stop)?;
                return Ok((ending, begun.elapsed().as_secs_f64(), distance_m));
            }
            let next = self.heartbeat(&last)?;
            let way = next.world_from_base().translation.vector - last.world_from_base().translation.vector;
            distance_m += way.xy().norm();
            last = next;
            self.await_participants(&last, false, stop)?;
            pacer.wait_for(self.world.time());
            self.overruns = pacer.overruns();
        }
    }

    fn ending(&self, options: &SimulationOptions, stop: &AtomicBool) -> Option<Ending> {
        if stop.load(Ordering::Relaxed) {
            return Some(Ending::Stopped);
        }
        match options.duration {
            Some(duration) => (self.world.time() >= duration).then_some(Ending::Duration),
            None => self.world.route_done().then_some(Ending::RouteDone),
        }
    }

    fn heartbeat(&mut self, last: &WorldState) -> Result<WorldState, NodeError> {
        self.commands.hand_to(&mut self.world);
        let next = self.world.heartbeat()?;
        self.publishers.state(&next)?;
        self.publishers.truth(last, &next)?;
        self.publishers.diagnostics(&next, &self.world, self.overruns)?;
        self.terrain.answer(&self.world)?;
        self.maps.tell(&self.world)?;
        Ok(next)
    }

    /// Waits while a participant is too far behind, answering requests and repeating
    /// the latest snapshot for one that was started again.
    fn await_participants(&mut self, last: &WorldState, to_the_last: bool, stop: &AtomicBool) -> Result<(), NodeError> {
        while self.lockstep.must_wait(last.sequence, to_the_last) && !stop.load(Ordering::Relaxed) {
            if self.lockstep.wait() {
                self.publishers.state(last)?;
            }
            self.terrain.answer(&self.world)?;
        }
        Ok(())
    }
}
