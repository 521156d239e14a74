//! Whether simulated time passes: it plays, stands, or goes on by so many heartbeats while it is paused. A step is
//! one heartbeat of the world, as fast as it can be made.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::action::GoalHandle;
use selene_ros::service::Reply;
use selene_ros::simulation_interfaces::action::{SimulateSteps, SimulateStepsFeedback, SimulateStepsResult};
use selene_ros::simulation_interfaces::srv::{StepSimulation, StepSimulationResponse};

use crate::changes::{Answer, ChangeError};
use crate::control::response::{ok, result_of};

/// What a run does, in the words of `simulation_interfaces`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// The world is where it began and stays there.
    Stopped,
    /// Time passes at its pace.
    Playing,
    /// Time stands.
    Paused,
    /// The run ends.
    Quitting,
}

/// Whether time passes.
pub(crate) struct Going {
    state: RunState,
    steps: Option<Steps>,
    clock: Stopwatch,
    /// Simulated time that the clock counts from.
    since: SimTime,
}

/// Heartbeats that are made while time stands.
struct Steps {
    asked: u64,
    done: u64,
    /// Whether a heartbeat that counts as one of them is under way.
    is_made: bool,
    waiting: Waiting,
}

/// Who waits for the end of steps.
pub(crate) enum Waiting {
    /// Somebody in the process.
    Process(Sender<Answer>),
    /// A client of the service.
    Service(Reply<StepSimulation>),
    /// A client of the action.
    Action(GoalHandle<SimulateSteps>),
}

/// Wall time while something goes on.
#[derive(Default)]
struct Stopwatch {
    since: Option<Instant>,
    before: Duration,
}

impl Going {
    /// A run that plays, or begins paused.
    pub(crate) fn new(starts_paused: bool) -> Self {
        let state = if starts_paused { RunState::Paused } else { RunState::Playing };
        Self { state, steps: None, clock: Stopwatch::default(), since: SimTime::ZERO }
    }

    /// The first heartbeat may be made from now on, at simulated time `now`.
    pub(crate) fn start(&mut self, now: SimTime) {
        self.since = now;
        self.clock.run(self.moves());
    }

    pub(crate) fn state(&self) -> RunState {
        self.state
    }

    /// Whether a heartbeat is to be made.
    pub(crate) fn moves(&self) -> bool {
        self.state == RunState::Playing || self.steps.is_some()
    }

    /// Whether the run is to end.
    pub(crate) fn quits(&self) -> bool {
        self.state == RunState::Quitting
    }

    /// Goes over to another state; steps that are under way end.
    pub(crate) fn enter(&mut self, state: RunState) {
        self.end_steps("the simulation went over to another state");
        self.state = state;
        self.clock.run(self.moves());
    }

    /// The world was reset, and stands at `now`: what is measured of the run begins anew.
    pub(crate) fn begin_anew(&mut self, now: SimTime) {
        self.since = now;
        self.end_steps("the world was reset");
        self.clock = Stopwatch::default();
        self.clock.run(self.moves());
    }

    /// Makes so many heartbeats, if time stands and nobody else has asked for some.
    pub(crate) fn begin_steps(&mut self, asked: u64, waiting: Waiting) {
        match (self.state, self.steps.is_some()) {
            (RunState::Paused, false) if asked == 0 => waiting.end(),
            (RunState::Paused, false) => {
                self.steps = Some(Steps { asked, done: 0, is_made: false, waiting });
                self.clock.run(true);
            }
            (RunState::Paused, true) => waiting.fail(ChangeError::Stepping),
            (RunState::Stopped | RunState::Playing | RunState::Quitting, _) => waiting.fail(ChangeError::NotPaused),
        }
    }

    /// A heartbeat is about to be made.
    pub(crate) fn begin_heartbeat(&mut self) {
        if let Some(steps) = &mut self.steps {
            steps.is_made = true;
        }
    }

    /// Whether steps are under way and the heartbeat that is made is the last of them.
    pub(crate) fn is_last_step(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.is_made && steps.done + 1 == steps.asked)
    }

    /// A heartbeat was made and dealt with; it is no step for who asked for steps only after it was made.
    pub(crate) fn stepped(&mut self) {
        let Some(steps) = &mut self.steps else { return };
        if !std::mem::take(&mut steps.is_made) {
            return;
        }
        steps.done += 1;
        steps.waiting.tell(steps.done, steps.asked - steps.done);
        let is_over = steps.done == steps.asked || steps.waiting.is_cancelled();
        if let Some(steps) = is_over.then(|| self.take_steps()).flatten() {
            steps.end();
        }
    }

    /// Ends steps that are under way before their time, and says why.
    pub(crate) fn end_steps(&mut self, why: &'static str) {
        if let Some(Steps { done, waiting, .. }) = self.take_steps() {
            waiting.fail(ChangeError::StepsEnded { done, why });
        }
    }

    /// Wall time since the run began or the world was reset, without the time in which it stood, s.
    pub(crate) fn wall_s(&self) -> f64 {
        self.clock.read().as_secs_f64()
    }

    /// Simulated time at which the run began or the world stood after its last reset.
    pub(crate) fn since(&self) -> SimTime {
        self.since
    }

    fn take_steps(&mut self) -> Option<Steps> {
        let steps = self.steps.take();
        self.clock.run(self.moves());
        steps
    }
}

impl Steps {
    /// All were made, or somebody has asked for their end.
    fn end(self) {
        match self.waiting {
            Waiting::Action(goal) if self.done < self.asked => {
                let why = ChangeError::StepsEnded { done: self.done, why: "it was cancelled" };
                goal.cancelled(SimulateStepsResult { result: result_of(&why) });
            }
            waiting => waiting.end(),
        }
    }
}

impl Waiting {
    fn tell(&self, completed_steps: u64, remaining_steps: u64) {
        match self {
            Self::Action(goal) => goal.feedback(&SimulateStepsFeedback { completed_steps, remaining_steps }),
            Self::Process(_) | Self::Service(_) => {}
        }
    }

    fn is_cancelled(&self) -> bool {
        match self {
            Self::Action(goal) => goal.is_cancel_requested(),
            Self::Process(_) | Self::Service(_) => false,
        }
    }

    fn end(self) {
        match self {
            // Who asked may not wait for the answer.
            Self::Process(answer) => drop(answer.send(Ok(None))),
            Self::Service(reply) => told(reply.send(&StepSimulationResponse { result: ok() })),
            Self::Action(goal) => goal.succeed(SimulateStepsResult { result: ok() }),
        }
    }

    /// Says why there are no steps, or no more.
    pub(crate) fn fail(self, why: ChangeError) {
        match self {
            Self::Process(answer) => drop(answer.send(Err(why))),
            Self::Service(reply) => told(reply.send(&StepSimulationResponse { result: result_of(&why) })),
            Self::Action(goal) => goal.abort(SimulateStepsResult { result: result_of(&why) }),
        }
    }
}

/// Whoever asked may be gone.
fn told(sent: Result<(), selene_ros::transport::TransportError>) {
    if let Err(error) = sent {
        tracing::debug!("{error}");
    }
}

impl Stopwatch {
    fn run(&mut self, runs: bool) {
        match (self.since, runs) {
            (None, true) => self.since = Some(Instant::now()),
            (Some(since), false) => {
                self.before += since.elapsed();
                self.since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    fn read(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::{Going, RunState, Waiting};
    use crate::changes::{Answer, ChangeError};
    use selene_base::SimTime;
    use std::sync::mpsc::{Receiver, channel};

    fn ask(going: &mut Going, steps: u64) -> Receiver<Answer> {
        let (answer, answered) = channel();
        going.begin_steps(steps, Waiting::Process(answer));
        answered
    }

    fn make_step(going: &mut Going) {
        going.begin_heartbeat();
        going.stepped();
    }

    #[test]
    fn a_heartbeat_made_before_steps_were_asked_for_is_none_of_them() {
        let mut going = Going::new(false);
        going.begin_heartbeat();
        // While the heartbeat is waited for.
        going.enter(RunState::Paused);
        let answered = ask(&mut going, 1);
        going.stepped();
        assert!(going.moves() && answered.try_recv().is_err());
        make_step(&mut going);
        assert!(!going.moves() && matches!(answered.try_recv(), Ok(Ok(None))));
    }

    #[test]
    fn steps_are_made_while_time_stands_and_then_it_stands_again() {
        let mut going = Going::new(true);
        assert!(!going.moves());
        let answered = ask(&mut going, 2);
        assert!(going.moves() && !going.is_last_step() && going.state() == RunState::Paused);
        make_step(&mut going);
        assert!(!going.is_last_step() && answered.try_recv().is_err());
        going.begin_heartbeat();
        assert!(going.is_last_step());
        going.stepped();
        assert!(!going.moves() && matches!(answered.try_recv(), Ok(Ok(None))));
        assert!(matches!(ask(&mut going, 0).try_recv(), Ok(Ok(None))) && !going.moves());
    }

    #[test]
    fn steps_are_refused_while_time_passes_and_while_others_are_made() {
        let mut going = Going::new(false);
        assert!(matches!(ask(&mut going, 1).try_recv(), Ok(Err(ChangeError::NotPaused))));
        going.enter(RunState::Paused);
        let first = ask(&mut going, 5);
        assert!(matches!(ask(&mut going, 1).try_recv(), Ok(Err(ChangeError::Stepping))));
        make_step(&mut going);
        going.enter(RunState::Playing);
        assert!(matches!(first.try_recv(), Ok(Err(ChangeError::StepsEnded { done: 1, .. }))));
        assert!(going.moves());
    }

    #[test]
    fn wall_time_counts_while_something_goes_on() {
        let mut going = Going::new(true);
        going.start(SimTime::ZERO);
        assert_eq!(going.wall_s(), 0.0);
        going.enter(RunState::Playing);
        going.enter(RunState::Paused);
        let stood = going.wall_s();
        assert_eq!(going.wall_s(), stood);
        going.begin_anew(SimTime::ZERO);
        assert_eq!(going.wall_s(), 0.0);
    }
}
