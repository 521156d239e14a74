//! Result codes of the services: every response of `simulation_interfaces` except that of `GetSimulatorFeatures` has a
//! result with a code and a text.

use selene_ros::simulation_interfaces::Result as ResultCode;
use selene_ros::simulation_interfaces::srv;
use selene_sim::SpawnError;

use crate::changes::ChangeError;

/// A response with a result.
pub(crate) trait Response: Sized {
    /// A response with this result and otherwise default values.
    fn of(result: ResultCode) -> Self;
}

macro_rules! responses {
    ($($name:ident: $($rest:ident)*,)*) => {
        $(impl Response for srv::$name {
            fn of(result: ResultCode) -> Self {
                Self { result, $($rest: Default::default(),)* }
            }
        })*
    };
}

responses! {
    DeleteEntityResponse: ,
    GetAvailableWorldsResponse: worlds,
    GetCurrentWorldResponse: world,
    GetEntitiesResponse: entities,
    GetEntitiesStatesResponse: entities states,
    GetEntityBoundsResponse: bounds,
    GetEntityInfoResponse: info,
    GetEntityStateResponse: state,
    GetNamedPoseBoundsResponse: bounds,
    GetNamedPosesResponse: poses,
    GetSimulationStateResponse: state,
    GetSpawnablesResponse: spawnables,
    LoadWorldResponse: world,
    ResetSimulationResponse: ,
    SetEntityInfoResponse: ,
    SetEntityStateResponse: ,
    SetSimulationStateResponse: ,
    SpawnEntitiesResponse: results,
    SpawnEntityResponse: entity_name,
    UnloadWorldResponse: ,
}

/// The result of success.
pub(crate) fn ok() -> ResultCode {
    result(ResultCode::RESULT_OK, "")
}

/// A result with a code and a text.
pub(crate) fn result(code: u8, what: impl Into<String>) -> ResultCode {
    ResultCode { result: code, error_message: what.into() }
}

/// The result for what this simulator does not support.
pub(crate) fn unsupported(what: impl Into<String>) -> ResultCode {
    result(ResultCode::RESULT_FEATURE_UNSUPPORTED, what)
}

/// The result of a failed operation.
pub(crate) fn failed(what: impl Into<String>) -> ResultCode {
    result(ResultCode::RESULT_OPERATION_FAILED, what)
}

/// The result for an unknown entity name.
pub(crate) fn no_entity(name: &str) -> ResultCode {
    result(ResultCode::RESULT_NOT_FOUND, format!("there is no entity '{name}'; GetEntities lists those that exist"))
}

/// The result that says why a change was not made.
pub(crate) fn result_of(error: &ChangeError) -> ResultCode {
    let code = match error {
        ChangeError::Shared | ChangeError::Spawn(SpawnError::StandsFast(_)) => ResultCode::RESULT_FEATURE_UNSUPPORTED,
        ChangeError::Spawn(SpawnError::Unknown(_)) => ResultCode::RESULT_NOT_FOUND,
        _ => ResultCode::RESULT_OPERATION_FAILED,
    };
    result(code, error.to_string())
}
