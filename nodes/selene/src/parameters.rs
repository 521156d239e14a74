//! The ROS parameters of Selene's nodes. Values of the scenario are read-only, since the nodes of a run compare its
//! fingerprint. Two groups can be set while the world runs: the pace, which is not part of the world, and the settings
//! of sensors, lamps and the sky (`settings`), which take effect at the next heartbeat.

mod settings;

use selene_coherence::RunId;
use selene_ros::parameters::{Parameter, ParameterChange, Parameters, TypedValue, ValueRange};
use selene_sim::Model;
use selene_simulation::{Pace, SimulationOptions, Timeline};

use crate::args::{PACE_MAX, PACE_MIN};

/// Value of `pace` for a run as fast as possible.
const FAST: f64 = 0.0;

/// The parameters that every node of a run has.
pub(crate) fn of_node(model: &Model, run: &RunId) -> Parameters {
    let scenario = model.scenario();
    // ROS 2 integers have a sign and 63 bits.
    let seed =
        i64::try_from(scenario.seed).map_or_else(|_| TypedValue::Text(scenario.seed.to_string()), TypedValue::Integer);
    let (step_s, heartbeat_s) = (scenario.step.secs_f64(), scenario.heartbeat.secs_f64());
    [
        ("run", TypedValue::Text(run.to_string()), "Id of the run; --run sets it."),
        ("scenario", TypedValue::Text(scenario.name.clone()), "Name of the scenario."),
        ("seed", seed, "Seed of ground and noise; the scenario or --seed sets it."),
        (
            "utc",
            TypedValue::Text(scenario.utc.to_string()),
            "UTC at simulated time zero; the scenario or --utc sets it.",
        ),
        (
            "gravity_m_s2",
            TypedValue::Double(scenario.gravity_m_s2),
            "Free-fall acceleration, m/s²; the scenario sets it.",
        ),
        ("step_s", TypedValue::Double(step_s), "Physics step, s; the scenario sets it."),
        (
            "heartbeat_s",
            TypedValue::Double(heartbeat_s),
            "Time between two states of the world, s; the scenario sets it.",
        ),
    ]
    .into_iter()
    .map(|(name, value, description)| Parameter::read_only(name, value, description))
    .fold(Parameters::default(), Parameters::with)
}

/// The parameters of a simulation node with these options.
pub(crate) fn of_simulation(model: &Model, run: &RunId, options: &SimulationOptions) -> Parameters {
    let SimulationOptions { pace, timeline, .. } = options;
    let parameters = of_node(model, run).with(self::pace(*pace, timeline));
    let of_world = settings::of_world(model, &options.settings, options.shared.is_some());
    of_world.into_iter().fold(parameters, Parameters::with)
}

/// The pace. It is read-only if simulated time follows another clock than the simulation's own.
fn pace(pace: Pace, timeline: &Timeline) -> Parameter {
    let value = match pace {
        Pace::Fast => FAST,
        Pace::Times(factor) => factor,
    };
    let (name, value) = ("pace", TypedValue::Double(value));
    if !timeline.is_own() {
        return Parameter::read_only(name, value, "Simulated seconds a second: --clock-authority needs real time.");
    }
    let description = "Simulated seconds a second; 0 is as fast as it goes.";
    let timeline = timeline.clone();
    let apply = move |value: &TypedValue| pace_of(value).into_iter().for_each(|pace| timeline.request(pace));
    let change = ParameterChange::new(|value| pace_of(value).map(|_| ()).ok_or_else(allowed), apply);
    let range = ValueRange::Doubles(FAST..=PACE_MAX);
    Parameter::changeable(name, value, description, range, change).constrained(allowed())
}

fn allowed() -> String {
    format!("must be {FAST} or from {PACE_MIN} to {PACE_MAX}")
}

fn pace_of(value: &TypedValue) -> Option<Pace> {
    match value {
        TypedValue::Double(factor) if *factor == FAST => Some(Pace::Fast),
        TypedValue::Double(factor) if (PACE_MIN..=PACE_MAX).contains(factor) => Some(Pace::Times(*factor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{allowed, pace};
    use selene_base::SimTime;
    use selene_ros::parameters::{ParameterError, Parameters, TypedValue};
    use selene_simulation::{ClockAuthority, HeartbeatTiming, Pace, Pacer, Timeline};

    #[test]
    fn a_pace_that_is_set_is_that_of_the_next_heartbeat() {
        let timeline = Timeline::default();
        let mut pacer = Pacer::new(Pace::Fast, &timeline);
        let mut parameters = Parameters::default().with(pace(Pace::Fast, &timeline));
        assert_eq!(parameters.value("pace"), Some(TypedValue::Double(0.0)));
        assert!(matches!(pacer.wait_for(SimTime::ZERO, || {}), Ok(HeartbeatTiming::Unpaced)));
        assert_eq!(parameters.set("pace", &TypedValue::Double(1000.0)), Ok(()));
        assert!(matches!(pacer.wait_for(SimTime::from_nanos(1), || {}), Ok(HeartbeatTiming::OnTime(_))));
        assert_eq!(parameters.set("pace", &TypedValue::Double(0.0)), Ok(()));
        assert!(matches!(pacer.wait_for(SimTime::from_nanos(2), || {}), Ok(HeartbeatTiming::Unpaced)));
    }

    #[test]
    fn a_pace_that_cannot_be_held_is_refused() {
        let mut parameters = Parameters::default().with(pace(Pace::Times(2.0), &Timeline::default()));
        let slow = parameters.set("pace", &TypedValue::Double(0.0005));
        assert!(matches!(&slow, Err(ParameterError::Refused { why, .. }) if *why == allowed()), "{slow:?}");
        assert!(matches!(parameters.set("pace", &TypedValue::Double(1001.0)), Err(ParameterError::OutOfRange { .. })));
        assert_eq!(parameters.value("pace"), Some(TypedValue::Double(2.0)));
    }

    #[test]
    fn a_run_by_the_wall_clock_keeps_real_time() {
        let timeline = Timeline::new(&ClockAuthority::Wall).expect("a clock");
        let mut parameters = Parameters::default().with(pace(Pace::Times(1.0), &timeline));
        let refused = parameters.set("pace", &TypedValue::Double(2.0));
        assert!(refused.is_err_and(|error| error.to_string().contains("read-only")));
    }
}
