//! Services for the run as a whole: its state, its reset, and the simulator's features.

use std::sync::atomic::AtomicBool;

use selene_coherence::NodeError;
use selene_ros::simulation_interfaces::srv::{
    GetSimulationStateRequest, GetSimulationStateResponse, GetSimulatorFeaturesResponse, ResetSimulationRequest,
    ResetSimulationResponse, SetSimulationStateRequest, SetSimulationStateResponse,
};
use selene_ros::simulation_interfaces::{SimulationState, SimulatorFeatures};
use selene_sim::ResetScope;

use super::response::{Response, failed, ok, result, result_of, unsupported};
use crate::changes::{Change, ChangeError};
use crate::node::Node;
use crate::run_control::RunState;

/// Features of every run.
const ALWAYS: [u8; 14] = [
    SimulatorFeatures::NAMED_POSES,
    SimulatorFeatures::ENTITY_TAGS,
    SimulatorFeatures::ENTITY_BOUNDS,
    SimulatorFeatures::ENTITY_BOUNDS_BOX,
    SimulatorFeatures::ENTITY_CATEGORIES,
    SimulatorFeatures::ENTITY_STATE_GETTING,
    SimulatorFeatures::ENTITY_INFO_GETTING,
    SimulatorFeatures::ENTITY_INFO_SETTING,
    SimulatorFeatures::SPAWNABLES,
    SimulatorFeatures::SIMULATION_STATE_GETTING,
    SimulatorFeatures::SIMULATION_STATE_SETTING,
    SimulatorFeatures::WORLD_TAGS,
    SimulatorFeatures::WORLD_INFO_GETTING,
    SimulatorFeatures::AVAILABLE_WORLDS,
];

/// Features of a run whose world is in one process.
const ALONE: [u8; 13] = [
    SimulatorFeatures::SPAWNING,
    SimulatorFeatures::SPAWNING_ENTITIES,
    SimulatorFeatures::SPAWNING_RESOURCE_STRING,
    SimulatorFeatures::DELETING,
    SimulatorFeatures::ENTITY_STATE_SETTING,
    SimulatorFeatures::SIMULATION_RESET,
    SimulatorFeatures::SIMULATION_RESET_TIME,
    SimulatorFeatures::SIMULATION_RESET_STATE,
    SimulatorFeatures::SIMULATION_RESET_SPAWNED,
    SimulatorFeatures::SIMULATION_STATE_PAUSE,
    SimulatorFeatures::STEP_SIMULATION_SINGLE,
    SimulatorFeatures::STEP_SIMULATION_MULTIPLE,
    SimulatorFeatures::STEP_SIMULATION_ACTION,
];

/// Description of spawning, in addition to the standard fields.
const CUSTOM: &str = "Selene. A rover is spawned by its YAML file (`?sensors=imu,lidar` names files of config/sensor), \
                      or by its own URDF; any other URDF and any mesh stands fast; a loose rock is selene:rock. Rovers \
                      and rocks are set down on the ground: of a pose z does not count. See docs/topics.md, Services.";

/// The features of a run whose world other processes may share, and which may be able to load another world.
pub(super) fn features(is_shared: bool, loads_worlds: bool) -> GetSimulatorFeaturesResponse {
    let alone: &[u8] = if is_shared { &[] } else { &ALONE };
    let loading = (loads_worlds && !is_shared).then_some(&SimulatorFeatures::WORLD_LOADING);
    let mut features: Vec<_> = ALWAYS.iter().chain(alone).chain(loading).copied().map(u16::from).collect();
    features.sort_unstable();
    let spawn_formats: &[&str] = if is_shared { &[] } else { &["urdf", "yaml", "stl", "obj", "dae"] };
    let features = SimulatorFeatures {
        features,
        spawn_formats: spawn_formats.iter().map(|&format| format.to_owned()).collect(),
        custom_info: CUSTOM.to_owned(),
    };
    GetSimulatorFeaturesResponse { features }
}

pub(super) fn state(node: &Node, _: &GetSimulationStateRequest) -> GetSimulationStateResponse {
    let state = match node.state() {
        RunState::Stopped => SimulationState::STATE_STOPPED,
        RunState::Playing => SimulationState::STATE_PLAYING,
        RunState::Paused => SimulationState::STATE_PAUSED,
        RunState::Quitting => SimulationState::STATE_QUITTING,
    };
    GetSimulationStateResponse { state: SimulationState { state }, result: ok() }
}

pub(super) fn set_state(
    node: &mut Node,
    stop: &AtomicBool,
    request: SetSimulationStateRequest,
) -> Result<SetSimulationStateResponse, NodeError> {
    type Answer = SetSimulationStateResponse;
    let state = match request.state.state {
        SimulationState::STATE_STOPPED => RunState::Stopped,
        SimulationState::STATE_PLAYING => RunState::Playing,
        SimulationState::STATE_PAUSED => RunState::Paused,
        SimulationState::STATE_QUITTING => RunState::Quitting,
        SimulationState::STATE_NO_WORLD | SimulationState::STATE_LOADING_WORLD => {
            return Ok(Answer::of(unsupported("a run always has a world; load_world switches to another one")));
        }
        other => return Ok(Answer::of(failed(format!("there is no state {other}")))),
    };
    let code = |error: &ChangeError| match error {
        ChangeError::AlreadySo => result(Answer::ALREADY_IN_TARGET_STATE, error.to_string()),
        ChangeError::Shared => unsupported(error.to_string()),
        _ => result(Answer::STATE_TRANSITION_ERROR, error.to_string()),
    };
    let made = node.make(Change::Enter(state), stop)?;
    Ok(Answer::of(made.map_or_else(|error| code(&error), |_| ok())))
}

pub(super) fn reset(
    node: &mut Node,
    stop: &AtomicBool,
    request: ResetSimulationRequest,
) -> Result<ResetSimulationResponse, NodeError> {
    let Some(scope) = scope(request.scope) else {
        return Ok(Response::of(unsupported(format!("scope {} has parts that are not known", request.scope))));
    };
    let made = node.make(Change::Reset(scope), stop)?;
    Ok(Response::of(made.map_or_else(|error| result_of(&error), |_| ok())))
}

/// The reset scope of a request's bits; `None` if an unknown bit is set.
fn scope(bits: u8) -> Option<ResetScope> {
    type Scope = ResetSimulationRequest;
    let has = |bit: u8| bits & bit != 0;
    match bits {
        Scope::SCOPE_DEFAULT | Scope::SCOPE_ALL => Some(ResetScope::ALL),
        _ if bits & !(Scope::SCOPE_TIME | Scope::SCOPE_STATE | Scope::SCOPE_SPAWNED) != 0 => None,
        _ => Some(ResetScope {
            time: has(Scope::SCOPE_TIME),
            state: has(Scope::SCOPE_STATE),
            spawned: has(Scope::SCOPE_SPAWNED),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{features, scope};
    use selene_ros::simulation_interfaces::SimulatorFeatures;
    use selene_sim::ResetScope;

    #[test]
    fn a_scope_is_a_sum_of_parts() {
        assert_eq!([0, 7, 255].map(scope), [Some(ResetScope::ALL); 3]);
        assert_eq!(scope(5), Some(ResetScope { time: true, state: false, spawned: true }));
        assert_eq!([8, 9, 128, 254].map(scope), [None; 4]);
    }

    #[test]
    fn a_world_that_several_processes_share_is_not_changed() {
        let (alone, shared) = (features(false, true).features, features(true, true).features);
        assert!(shared.features.iter().all(|feature| alone.features.contains(feature)));
        let not_shared =
            [SimulatorFeatures::SPAWNING, SimulatorFeatures::SIMULATION_RESET, SimulatorFeatures::WORLD_LOADING];
        assert!(!features(false, false).features.features.contains(&u16::from(SimulatorFeatures::WORLD_LOADING)));
        for feature in not_shared {
            let feature = u16::from(feature);
            assert!(alone.features.contains(&feature) && !shared.features.contains(&feature));
        }
    }
}
