//! Whether simulated time advances: it plays, is paused, or makes a given number of steps while paused. A step is one
//! heartbeat of the world, made as fast as possible.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::action::GoalHandle;
use selene_ros::service::Reply;
use selene_ros::simulation_interfaces::action::{SimulateSteps, SimulateStepsFeedback, SimulateStepsResult};
use selene_ros::simulation_interfaces::srv::{StepSimulation, StepSimulationResponse};

use crate::changes::{Answer, ChangeError};
use crate::control::response::{ok, result_of};

/// The state of a run, in the terms of `simulation_interfaces`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// The world is at its beginning and stays there.
    Stopped,
    /// Simulated time advances at its pace.
    Playing,
    /// Simulated time stands still.
    Paused,
    /// The run is ending.
    Quitting,
}

/// The run state, the steps under way and the wall time spent running.
pub(crate) struct RunControl {
    state: RunState,
    steps: Option<Steps>,
    clock: Stopwatch,
    /// Simulated time from which `clock` counts.
    since: SimTime,
}

/// Heartbeats to make while time is paused.
struct Steps {
    requested: u64,
    done: u64,
    /// Whether the current heartbeat counts as one of them.
    is_made: bool,
    waiting: StepClient,
}

/// The client that waits for the steps to end.
pub(crate) enum StepClient {
    /// Code in this process.
    Process(Sender<Answer>),
    /// A client of the service `StepSimulation`.
    Service(Reply<StepSimulation>),
    /// A client of the action `SimulateSteps`.
    Action(GoalHandle<SimulateSteps>),
}

/// Wall time spent running, without pauses.
#[derive(Default)]
struct Stopwatch {
    since: Option<Instant>,
    before: Duration,
}

impl RunControl {
    /// A run that plays, or begins paused.
    pub(crate) fn new(starts_paused: bool) -> Self {
        let state = if starts_paused { RunState::Paused } else { RunState::Playing };
        Self { state, steps: None, clock: Stopwatch::default(), since: SimTime::ZERO }
    }

    /// Starts the stopwatch; the first heartbeat may be made from now on, at simulated time `now`.
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

    /// Changes to another state; ends steps that are under way.
    pub(crate) fn enter(&mut self, state: RunState) {
        self.end_steps("the simulation went over to another state");
        self.state = state;
        self.clock.run(self.moves());
    }

    /// Begins measuring the run anew after the world was reset to simulated time `now`.
    pub(crate) fn begin_anew(&mut self, now: SimTime) {
        self.since = now;
        self.end_steps("the world was reset");
        self.clock = Stopwatch::default();
        self.clock.run(self.moves());
    }

    /// Begins `requested` steps if time is paused and no other steps are under way.
    pub(crate) fn begin_steps(&mut self, requested: u64, waiting: StepClient) {
        match (self.state, self.steps.is_some()) {
            (RunState::Paused, false) if requested == 0 => waiting.end(),
            (RunState::Paused, false) => {
                self.steps = Some(Steps { requested, done: 0, is_made: false, waiting });
                self.clock.run(true);
            }
            (RunState::Paused, true) => waiting.fail(ChangeError::Stepping),
            (RunState::Stopped | RunState::Playing | RunState::Quitting, _) => waiting.fail(ChangeError::NotPaused),
        }
    }

    /// Notes that a heartbeat is about to be made.
    pub(crate) fn begin_heartbeat(&mut self) {
        if let Some(steps) = &mut self.steps {
            steps.is_made = true;
        }
    }

    /// Whether the current heartbeat is the last of the requested steps.
    pub(crate) fn is_last_step(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.is_made && steps.done + 1 == steps.requested)
    }

    /// Counts a completed heartbeat as a step, unless the steps were requested only after it had begun.
    pub(crate) fn stepped(&mut self) {
        let Some(steps) = &mut self.steps else { return };
        if !std::mem::take(&mut steps.is_made) {
            return;
        }
        steps.done += 1;
        steps.waiting.report(steps.done, steps.requested - steps.done);
        let is_over = steps.done == steps.requested || steps.waiting.is_cancelled();
        if let Some(steps) = is_over.then(|| self.take_steps()).flatten() {
            steps.end();
        }
    }

    /// Ends steps early and reports why.
    pub(crate) fn end_steps(&mut self, why: &'static str) {
        if let Some(Steps { done, waiting, .. }) = self.take_steps() {
            waiting.fail(ChangeError::StepsEnded { done, why });
        }
    }

    /// Wall time since the run began or the world was reset, without pauses, s.
    pub(crate) fn wall_s(&self) -> f64 {
        self.clock.read().as_secs_f64()
    }

    /// Simulated time at which the run began, or at which its last reset left the world.
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
    /// Answers the client: all steps were made, or it cancelled them.
    fn end(self) {
        match self.waiting {
            StepClient::Action(goal) if self.done < self.requested => {
                let why = ChangeError::StepsEnded { done: self.done, why: "it was cancelled" };
                goal.cancelled(SimulateStepsResult { result: result_of(&why) });
            }
            waiting => waiting.end(),
        }
    }
}

impl StepClient {
    fn report(&self, completed_steps: u64, remaining_steps: u64) {
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
            // The receiver may already be dropped.
            Self::Process(answer) => drop(answer.send(Ok(None))),
            Self::Service(reply) => reported(reply.send(&StepSimulationResponse { result: ok() })),
            Self::Action(goal) => goal.succeed(SimulateStepsResult { result: ok() }),
        }
    }

    /// Answers that no steps, or no more steps, are made, and why.
    pub(crate) fn fail(self, why: ChangeError) {
        match self {
            Self::Process(answer) => drop(answer.send(Err(why))),
            Self::Service(reply) => reported(reply.send(&StepSimulationResponse { result: result_of(&why) })),
            Self::Action(goal) => goal.abort(SimulateStepsResult { result: result_of(&why) }),
        }
    }
}

/// Only logs an error: the client may be gone.
fn reported(sent: Result<(), selene_ros::transport::TransportError>) {
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
    use super::{RunControl, RunState, StepClient};
    use crate::changes::{Answer, ChangeError};
    use selene_base::SimTime;
    use std::sync::mpsc::{Receiver, channel};

    fn request(run_control: &mut RunControl, steps: u64) -> Receiver<Answer> {
        let (answer, answered) = channel();
        run_control.begin_steps(steps, StepClient::Process(answer));
        answered
    }

    fn make_step(run_control: &mut RunControl) {
        run_control.begin_heartbeat();
        run_control.stepped();
    }

    #[test]
    fn a_heartbeat_made_before_steps_were_requested_is_none_of_them() {
        let mut run_control = RunControl::new(false);
        run_control.begin_heartbeat();
        // Pause while this heartbeat is still waited for.
        run_control.enter(RunState::Paused);
        let answered = request(&mut run_control, 1);
        run_control.stepped();
        assert!(run_control.moves() && answered.try_recv().is_err());
        make_step(&mut run_control);
        assert!(!run_control.moves() && matches!(answered.try_recv(), Ok(Ok(None))));
    }

    #[test]
    fn steps_are_made_while_time_stands_and_then_it_stands_again() {
        let mut run_control = RunControl::new(true);
        assert!(!run_control.moves());
        let answered = request(&mut run_control, 2);
        assert!(run_control.moves() && !run_control.is_last_step() && run_control.state() == RunState::Paused);
        make_step(&mut run_control);
        assert!(!run_control.is_last_step() && answered.try_recv().is_err());
        run_control.begin_heartbeat();
        assert!(run_control.is_last_step());
        run_control.stepped();
        assert!(!run_control.moves() && matches!(answered.try_recv(), Ok(Ok(None))));
        assert!(matches!(request(&mut run_control, 0).try_recv(), Ok(Ok(None))) && !run_control.moves());
    }

    #[test]
    fn steps_are_refused_while_time_passes_and_while_others_are_made() {
        let mut run_control = RunControl::new(false);
        assert!(matches!(request(&mut run_control, 1).try_recv(), Ok(Err(ChangeError::NotPaused))));
        run_control.enter(RunState::Paused);
        let first = request(&mut run_control, 5);
        assert!(matches!(request(&mut run_control, 1).try_recv(), Ok(Err(ChangeError::Stepping))));
        make_step(&mut run_control);
        run_control.enter(RunState::Playing);
        assert!(matches!(first.try_recv(), Ok(Err(ChangeError::StepsEnded { done: 1, .. }))));
        assert!(run_control.moves());
    }

    #[test]
    fn wall_time_counts_while_something_goes_on() {
        let mut run_control = RunControl::new(true);
        run_control.start(SimTime::ZERO);
        assert_eq!(run_control.wall_s(), 0.0);
        run_control.enter(RunState::Playing);
        run_control.enter(RunState::Paused);
        let stood = run_control.wall_s();
        assert_eq!(run_control.wall_s(), stood);
        run_control.begin_anew(SimTime::ZERO);
        assert_eq!(run_control.wall_s(), 0.0);
    }
}
