//! The parameters of Selene's nodes. What a world is made of is read-only: it belongs to the scenario, whose fingerprint
//! the nodes of a run compare. What can be set while the world runs is the pace, which the world does not know, and what
//! its state has of sensors, lamps and the sky (`settings`), which the next heartbeat takes.

mod settings;

use selene_coherence::RunId;
use selene_ros::parameters::{Change, Parameter, Parameters, Value, ValueRange};
use selene_sim::Model;
use selene_simulation::{Pace, SimulationOptions, Timeline};

use crate::args::{PACE_MAX, PACE_MIN};

/// The pace of a run that goes as fast as it can.
const FAST: f64 = 0.0;

/// Those of every node of a run.
pub(crate) fn of_node(model: &Model, run: &RunId) -> Parameters {
    let scenario = model.scenario();
    // ROS 2 has no integers beyond 63 bits.
    let seed = i64::try_from(scenario.seed).map_or_else(|_| Value::Text(scenario.seed.to_string()), Value::Integer);
    let (step_s, heartbeat_s) = (scenario.step.secs_f64(), scenario.heartbeat.secs_f64());
    [
        ("run", Value::Text(run.to_string()), "Id of the run; --run sets it."),
        ("scenario", Value::Text(scenario.name.clone()), "Name of the scenario."),
        ("seed", seed, "Seed of ground and noise; the scenario or --seed sets it."),
        ("utc", Value::Text(scenario.utc.to_string()), "UTC at simulated time zero; the scenario or --utc sets it."),
        ("gravity_m_s2", Value::Double(scenario.gravity_m_s2), "Free-fall acceleration, m/s²; the scenario sets it."),
        ("step_s", Value::Double(step_s), "Physics step, s; the scenario sets it."),
        ("heartbeat_s", Value::Double(heartbeat_s), "Time between two states of the world, s; the scenario sets it."),
    ]
    .into_iter()
    .map(|(name, value, description)| Parameter::read_only(name, value, description))
    .fold(Parameters::default(), Parameters::with)
}

/// Those of a node that steps the world as `options` say.
pub(crate) fn of_simulation(model: &Model, run: &RunId, options: &SimulationOptions) -> Parameters {
    let SimulationOptions { pace, timeline, .. } = options;
    let parameters = of_node(model, run).with(self::pace(*pace, timeline));
    let of_world = settings::of_world(model, &options.settings, options.shared.is_some());
    of_world.into_iter().fold(parameters, Parameters::with)
}

/// The pace, which can be set where simulated time follows no clock of others.
fn pace(pace: Pace, timeline: &Timeline) -> Parameter {
    let value = match pace {
        Pace::Fast => FAST,
        Pace::Times(factor) => factor,
    };
    let (name, value) = ("pace", Value::Double(value));
    if !timeline.is_own() {
        return Parameter::read_only(name, value, "Simulated seconds a second: --clock-authority asks for real time.");
    }
    let description = "Simulated seconds a second; 0 is as fast as it goes.";
    let timeline = timeline.clone();
    let apply = move |value: &Value| pace_of(value).into_iter().for_each(|pace| timeline.ask(pace));
    let change = Change::new(|value| pace_of(value).map(|_| ()).ok_or_else(allowed), apply);
    let range = ValueRange::Doubles(FAST..=PACE_MAX);
    Parameter::changeable(name, value, description, range, change).constrained(allowed())
}

fn allowed() -> String {
    format!("must be {FAST} or from {PACE_MIN} to {PACE_MAX}")
}

fn pace_of(value: &Value) -> Option<Pace> {
    match value {
        Value::Double(factor) if *factor == FAST => Some(Pace::Fast),
        Value::Double(factor) if (PACE_MIN..=PACE_MAX).contains(factor) => Some(Pace::Times(*factor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{allowed, pace};
    use selene_base::SimTime;
    use selene_ros::parameters::{ParameterError, Parameters, Value};
    use selene_simulation::{ClockAuthority, Pace, Pacer, Tick, Timeline};

    #[test]
    fn a_pace_that_is_set_is_that_of_the_next_heartbeat() {
        let timeline = Timeline::default();
        let mut pacer = Pacer::new(Pace::Fast, &timeline);
        let mut parameters = Parameters::default().with(pace(Pace::Fast, &timeline));
        assert_eq!(parameters.value("pace"), Some(Value::Double(0.0)));
        assert!(matches!(pacer.wait_for(SimTime::ZERO, || {}), Ok(Tick::Unpaced)));
        assert_eq!(parameters.set("pace", &Value::Double(1000.0)), Ok(()));
        assert!(matches!(pacer.wait_for(SimTime::from_nanos(1), || {}), Ok(Tick::OnTime(_))));
        assert_eq!(parameters.set("pace", &Value::Double(0.0)), Ok(()));
        assert!(matches!(pacer.wait_for(SimTime::from_nanos(2), || {}), Ok(Tick::Unpaced)));
    }

    #[test]
    fn a_pace_that_cannot_be_held_is_refused() {
        let mut parameters = Parameters::default().with(pace(Pace::Times(2.0), &Timeline::default()));
        let slow = parameters.set("pace", &Value::Double(0.0005));
        assert!(matches!(&slow, Err(ParameterError::Refused { why, .. }) if *why == allowed()), "{slow:?}");
        assert!(matches!(parameters.set("pace", &Value::Double(1001.0)), Err(ParameterError::OutOfRange { .. })));
        assert_eq!(parameters.value("pace"), Some(Value::Double(2.0)));
    }

    #[test]
    fn a_run_by_the_wall_clock_keeps_real_time() {
        let timeline = Timeline::new(&ClockAuthority::Wall).expect("a clock");
        let mut parameters = Parameters::default().with(pace(Pace::Times(1.0), &timeline));
        let refused = parameters.set("pace", &Value::Double(2.0));
        assert!(refused.is_err_and(|error| error.to_string().contains("read-only")));
    }
}
