//! Closed loops: accuracy of ticks in real time, and the cost of holding time for a client in the same process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext, RunId};
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Publisher, TransportError, subscribe};
use selene_ros::{Qos, geometry_msgs, rosgraph_msgs, std_msgs};
use selene_sim::{AllowedFolders, AwaitedTopic, Model};
use selene_simulation::{
    HeartbeatTiming, Pace, Pacer, RealtimePriority, RunOutcome, RunStart, SimulationOptions, Timeline,
};

use crate::BenchError;
use crate::setting::Setting;

/// Ticks of 10 ms to wait for: half a minute.
const TICK: SimTime = SimTime::from_nanos(10_000_000);
const TICKS: i64 = 3000;
/// Duration of a run with holds two heartbeats apart; the fastest of several runs counts.
const SIMULATED: SimTime = SimTime::from_nanos(5_000_000_000);
const PERIOD: SimTime = SimTime::from_nanos(10_000_000);
const ROUNDS: usize = 5;
const CMD_VEL: &str = "/cmd_vel";

/// The same as [`tick_p999_s`], in a thread with real-time priority.
pub(crate) fn tick_realtime_p999_s() -> Result<f64, BenchError> {
    let paced = thread::spawn(|| {
        RealtimePriority::USUAL.take().map_err(BenchError::new)?;
        tick_p999_s()
    });
    paced.join().unwrap_or_else(|_| Err(BenchError::new("the thread of real time panicked")))
}

/// The 99.9 % quantile of the deviation of 10 ms ticks from their due times, s.
pub(crate) fn tick_p999_s() -> Result<f64, BenchError> {
    let mut pacer = Pacer::new(Pace::Times(1.0), &Timeline::default());
    let mut wait = |tick: i64| match pacer.wait_for(TICK * tick, || {}).map_err(BenchError::new)? {
        HeartbeatTiming::OnTime(off) | HeartbeatTiming::Late(off) => Ok(off),
        HeartbeatTiming::Unpaced => Err(BenchError::new("ticks have no pace")),
    };
    // The first tick is on time by definition.
    wait(0)?;
    let off = (1..=TICKS).map(wait).collect::<Result<Vec<_>, _>>()?;
    Ok(p999(off).as_secs_f64())
}

fn p999(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let place = (times.len() * 999).div_ceil(1000).saturating_sub(1);
    times.get(place).copied().unwrap_or_default()
}

/// Cost of a hold, s of wall time: the difference between a held and a free run of the same world with the same client,
/// which answers each clock message from its own thread.
pub(crate) fn overhead_s(setting: &Setting) -> Result<f64, BenchError> {
    let models = [model(setting, false)?, model(setting, true)?];
    let (mut best_s, mut holds) = ([f64::INFINITY; 2], 0_u64);
    for _ in 0..ROUNDS {
        for (best_s, model) in best_s.iter_mut().zip(&models) {
            let outcome = run(model)?;
            *best_s = best_s.min(outcome.wall_s);
            holds = outcome.holds.topics.iter().map(|topic| topic.holds).sum();
            if outcome.holds.topics.iter().any(|topic| topic.timeouts > 0) {
                return Err(BenchError::new("the client did not answer"));
            }
        }
    }
    Ok((best_s[1] - best_s[0]) / holds as f64)
}

/// The default scenario without sensors and route, with or without holds for `cmd_vel`.
fn model(setting: &Setting, is_held: bool) -> Result<Arc<Model>, BenchError> {
    let mut scenario = setting.scenario("polar")?;
    scenario.rovers.iter_mut().for_each(|rover| (rover.sensors, rover.route) = (Vec::new(), None));
    let awaited = AwaitedTopic {
        name: CMD_VEL.to_owned(),
        type_name: None,
        period: PERIOD,
        lag: SimTime::ZERO,
        timeout: Duration::from_secs(10),
        start_timeout: Duration::from_secs(10),
    };
    scenario.lockstep = is_held.then_some(awaited).into_iter().collect();
    Model::new(Arc::new(scenario)).map(Arc::new).map_err(BenchError::new)
}

fn run(model: &Arc<Model>) -> Result<RunOutcome, BenchError> {
    let bus = InProcess::new();
    let (sender, clock) = channel();
    let on_clock = move |reported: rosgraph_msgs::Clock| _ = sender.send(SimTime::from(reported.clock));
    let subscription = subscribe(&bus, "/clock", Qos::clock(), on_clock).map_err(BenchError::new)?;
    let client = {
        let bus = bus.clone();
        thread::spawn(move || answer(&bus, &clock))
    };
    let (public, internal) = (Arc::new(bus.clone()), Arc::new(bus));
    let links = Links { public, internal, run: RunId::random() };
    let folders = AllowedFolders::default();
    let context = NodeContext { links, model: Arc::clone(model), folders, published_until: None };
    let options = SimulationOptions { duration: Some(SIMULATED), ..SimulationOptions::default() };
    let outcome = selene_simulation::run(&context, RunStart::Start(None), &options, &AtomicBool::new(false));
    drop(subscription);
    client.join().map_err(|_| BenchError::new("the client failed"))?.map_err(BenchError::new)?;
    outcome.map_err(BenchError::new)
}

/// Commands standstill at each clock message.
fn answer(bus: &InProcess, clock: &Receiver<SimTime>) -> Result<(), TransportError> {
    let commands = Publisher::new(bus, CMD_VEL, Qos::reliable())?;
    clock.iter().filter(|now| *now % PERIOD == SimTime::ZERO).try_for_each(|now| {
        let header = std_msgs::Header::new(now, "base_link");
        commands.publish(&geometry_msgs::TwistStamped { header, ..Default::default() }, now)
    })
}

#[cfg(test)]
mod tests {
    use super::p999;
    use std::time::Duration;

    #[test]
    fn one_time_in_a_thousand_may_be_longer() {
        let times: Vec<_> = (1..=1000).rev().map(Duration::from_micros).collect();
        assert_eq!(p999(times), Duration::from_micros(999));
        assert_eq!(p999(Vec::new()), Duration::ZERO);
    }
}
