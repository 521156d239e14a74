//! Client of the run's services: `simulation_interfaces` and parameters, called as any ROS 2 client does. The
//! simulation checks each request itself, and its reasons for a refusal are passed on to the user.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use selene_ros::rcl_interfaces::srv::{
    GetParameters, GetParametersRequest, ListParameters, ListParametersRequest, SetParameters, SetParametersRequest,
};
use selene_ros::rcl_interfaces::{Parameter, ParameterType, ParameterValue};
use selene_ros::service::{Client, Service};
use selene_ros::simulation_interfaces::srv::{
    GetAvailableWorlds, GetAvailableWorldsRequest, GetNamedPoses, GetNamedPosesRequest, GetSimulationState,
    GetSimulationStateRequest, GetSpawnables, GetSpawnablesRequest, LoadWorld, LoadWorldRequest, ResetSimulation,
    ResetSimulationRequest, SetSimulationState, SetSimulationStateRequest, SetSimulationStateResponse, SpawnEntity,
    SpawnEntityRequest, StepSimulation, StepSimulationRequest,
};
use selene_ros::simulation_interfaces::{
    Resource, Result as Outcome, SimulationState, Spawnable as Offered, TagsFilter, WorldResource,
};
use selene_ros::transport::{Transport, TransportError};

use crate::ConsoleOptions;
use crate::run_status::{Lamp, Landmark, OfferedScenario, RunIdentity, Spawnable};

/// Time limit for a response, and interval between checks for it (wall time).
const ANSWER_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(5);
/// Time limit for loading a world: large terrain takes minutes on a slow machine.
const LOAD_MAX: Duration = Duration::from_secs(600);
/// Greatest number of heartbeats in one command.
const STEPS_MAX: u64 = 100_000;
/// Parameters with this in their names are lamps.
const LAMPS: &str = ".lamps.";
/// Tag of the worlds that are scenarios.
const SCENARIO: &str = "scenario";
/// The parameters that identify the run: its id and its scenario.
const RUN: [&str; 2] = ["run", "scenario"];

/// Clients of the services that the console calls.
pub(crate) struct Control {
    state: Served<GetSimulationState>,
    set_state: Served<SetSimulationState>,
    step: Served<StepSimulation>,
    reset: Served<ResetSimulation>,
    spawn: Served<SpawnEntity>,
    named_poses: Served<GetNamedPoses>,
    spawnables: Served<GetSpawnables>,
    worlds: Served<GetAvailableWorlds>,
    load: Served<LoadWorld>,
    list: Served<ListParameters>,
    get: Served<GetParameters>,
    set: Served<SetParameters>,
}

/// A service of one of several nodes: of the first that serves it.
struct Served<S: Service> {
    clients: Vec<Client<S>>,
    /// Full names of the service, for errors.
    names: Vec<String>,
}

impl<S: Service> Served<S> {
    /// Clients of the service `name` of each node.
    fn open(transport: &dyn Transport, nodes: &[String], name: &str) -> Result<Self, TransportError> {
        let names: Vec<_> = nodes.iter().map(|node| format!("{node}/{name}")).collect();
        let clients = names.iter().map(|name| Client::new(transport, name)).collect::<Result<_, _>>()?;
        Ok(Self { clients, names })
    }

    fn client(&self) -> Result<&Client<S>, String> {
        let served = self.clients.iter().find(|client| client.is_served());
        served.ok_or_else(|| format!("nobody serves {}", self.names.join(" or ")))
    }
}

/// A new value for a parameter.
pub(crate) enum Setting<'a> {
    Number(f64),
    Text(&'a str),
}

impl Control {
    /// Clients of the nodes that `options` names. The services need not exist yet.
    pub(crate) fn open(transport: &dyn Transport, options: &ConsoleOptions) -> Result<Self, TransportError> {
        let ConsoleOptions { control_nodes: nodes, parameters_nodes: parameters, .. } = options;
        Ok(Self {
            state: Served::open(transport, nodes, "get_simulation_state")?,
            set_state: Served::open(transport, nodes, "set_simulation_state")?,
            step: Served::open(transport, nodes, "step_simulation")?,
            reset: Served::open(transport, nodes, "reset_simulation")?,
            spawn: Served::open(transport, nodes, "spawn_entity")?,
            named_poses: Served::open(transport, nodes, "get_named_poses")?,
            spawnables: Served::open(transport, nodes, "get_spawnables")?,
            worlds: Served::open(transport, nodes, "get_available_worlds")?,
            load: Served::open(transport, nodes, "load_world")?,
            get: Served::open(transport, parameters, "get_parameters")?,
            list: Served::open(transport, parameters, "list_parameters")?,
            set: Served::open(transport, parameters, "set_parameters")?,
        })
    }

    /// A constant of `SimulationState`; `None` if the simulation does not answer.
    pub(crate) async fn state(&self) -> Option<u8> {
        let response = call(&self.state, &GetSimulationStateRequest::default()).await.ok()?;
        check_result(&response.result).ok().map(|()| response.state.state)
    }

    /// The id and the scenario of the run; `None` if it does not answer.
    pub(crate) async fn run(&self) -> Option<RunIdentity> {
        let request = GetParametersRequest { names: RUN.map(str::to_owned).into() };
        let mut values = call(&self.get, &request).await.ok()?.values.into_iter().map(|value| value.string_value);
        Some(RunIdentity { id: values.next()?, scenario: values.next()? }).filter(|run| !run.id.is_empty())
    }

    /// The scenarios that the run can load; `None` if it cannot load any.
    pub(crate) async fn scenarios(&self) -> Option<Vec<OfferedScenario>> {
        let filter = TagsFilter { tags: vec![SCENARIO.to_owned()], ..TagsFilter::default() };
        let request = GetAvailableWorldsRequest { filter, ..GetAvailableWorldsRequest::default() };
        let response = call(&self.worlds, &request).await.ok()?;
        check_result(&response.result).ok()?;
        let offered = |WorldResource { name, world_resource, description: about, .. }: WorldResource| OfferedScenario {
            uri: world_resource.uri,
            name,
            about,
        };
        Some(response.worlds.into_iter().map(offered).collect())
    }

    /// The lamps of all rovers, with their brightness.
    pub(crate) async fn lamps(&self) -> Option<Vec<Lamp>> {
        let response = call(&self.list, &ListParametersRequest::default()).await.ok()?;
        let mut names = response.result.names;
        names.retain(|name| name.contains(LAMPS));
        if names.is_empty() {
            return Some(Vec::new());
        }
        let values = call(&self.get, &GetParametersRequest { names: names.clone() }).await.ok()?.values;
        let level = |value: &ParameterValue| {
            (value.r#type == ParameterType::PARAMETER_DOUBLE).then_some(value.double_value).filter(|x| x.is_finite())
        };
        let levels = values.iter().map(level).chain(std::iter::repeat(None));
        Some(names.into_iter().zip(levels).map(|(name, level)| Lamp { name, level }).collect())
    }

    /// The rovers and objects that can be spawned from a file.
    pub(crate) async fn spawnables(&self) -> Option<Vec<Spawnable>> {
        let response = call(&self.spawnables, &GetSpawnablesRequest::default()).await.ok()?;
        check_result(&response.result).ok()?;
        let of_file = |Offered { entity_resource: Resource { uri, .. }, .. }: Offered| {
            let file = uri.strip_prefix("file://")?;
            let name = std::path::Path::new(file).file_stem()?.to_str()?.to_owned();
            Some(Spawnable { uri, name })
        };
        Some(response.spawnables.into_iter().filter_map(of_file).collect())
    }

    /// The start places and waypoints of the scenario.
    pub(crate) async fn places(&self) -> Option<Vec<Landmark>> {
        let response = call(&self.named_poses, &GetNamedPosesRequest::default()).await.ok()?;
        let place = |named: selene_ros::simulation_interfaces::NamedPose| Landmark {
            at_m: [named.pose.position.x, named.pose.position.y],
            is_waypoint: named.tags.iter().any(|tag| tag == "waypoint"),
            name: named.name,
        };
        check_result(&response.result).ok().map(|()| response.poses.into_iter().map(place).collect())
    }

    /// Starts or pauses simulated time.
    pub(crate) async fn play(&self, plays: bool) -> Result<(), String> {
        let state = if plays { SimulationState::STATE_PLAYING } else { SimulationState::STATE_PAUSED };
        let request = SetSimulationStateRequest { state: SimulationState { state } };
        let result = call(&self.set_state, &request).await?.result;
        match result.result {
            SetSimulationStateResponse::ALREADY_IN_TARGET_STATE => Ok(()),
            _ => check_result(&result),
        }
    }

    /// Steps a paused simulation by a number of heartbeats.
    pub(crate) async fn step(&self, steps: u64) -> Result<(), String> {
        if !(1..=STEPS_MAX).contains(&steps) {
            return Err(format!("{steps} heartbeats: must be 1 to {STEPS_MAX}"));
        }
        check_result(&call(&self.step, &StepSimulationRequest { steps }).await?.result)
    }

    /// Resets the world to the start of the run.
    pub(crate) async fn reset(&self) -> Result<(), String> {
        let request = ResetSimulationRequest { scope: ResetSimulationRequest::SCOPE_ALL };
        check_result(&call(&self.reset, &request).await?.result)
    }

    /// Replaces the world by the scenario of a URI.
    pub(crate) async fn load(&self, uri: &str) -> Result<(), String> {
        let world_resource = Resource { uri: uri.to_owned(), ..Resource::default() };
        let request = LoadWorldRequest { world_resource, ..LoadWorldRequest::default() };
        let answer = self.load.client()?.call(&request).map_err(|error| error.to_string())?;
        check_result(&awaited(answer, LOAD_MAX).await?.result)
    }

    /// Sets a parameter of the run.
    pub(crate) async fn set(&self, name: &str, to: Setting<'_>) -> Result<(), String> {
        let value = match to {
            Setting::Number(double_value) => {
                ParameterValue { r#type: ParameterType::PARAMETER_DOUBLE, double_value, ..ParameterValue::default() }
            }
            Setting::Text(text) => ParameterValue {
                r#type: ParameterType::PARAMETER_STRING,
                string_value: text.to_owned(),
                ..ParameterValue::default()
            },
        };
        let request = SetParametersRequest { parameters: vec![Parameter { name: name.to_owned(), value }] };
        let results = call(&self.set, &request).await?.results;
        let result = results.first().ok_or("no answer")?;
        if result.successful { Ok(()) } else { Err(result.reason.clone()) }
    }

    /// Sets a lamp by the name of its parameter; `level` is 0 to 1.
    pub(crate) async fn light(&self, lamp: &str, level: f64) -> Result<(), String> {
        if !lamp.contains(LAMPS) {
            return Err(format!("{lamp:?} is no lamp: their names read like viper.lamps.left"));
        }
        self.set(lamp, Setting::Number(level)).await
    }

    /// Spawns a loose rock at x, y in `map`; returns its name.
    pub(crate) async fn rock(&self, at_m: [f64; 2], diameter_m: f64) -> Result<String, String> {
        if !diameter_m.is_finite() {
            return Err("a rock must be of some size".to_owned());
        }
        self.spawn(&format!("selene:rock?diameter_m={diameter_m}"), at_m).await
    }

    /// Spawns the entity of a URI on the ground at x, y in `map`, heading east; returns its name.
    pub(crate) async fn spawn(&self, uri: &str, at_m: [f64; 2]) -> Result<String, String> {
        if !at_m.iter().all(|m| m.is_finite()) {
            return Err("what is put somewhere must be somewhere".to_owned());
        }
        let mut request = SpawnEntityRequest { allow_renaming: true, ..SpawnEntityRequest::default() };
        request.entity_resource = Resource { uri: uri.to_owned(), ..Resource::default() };
        request.initial_pose.pose.position.x = at_m[0];
        request.initial_pose.pose.position.y = at_m[1];
        request.initial_pose.pose.orientation.w = 1.0;
        let response = call(&self.spawn, &request).await?;
        check_result(&response.result).map(|()| response.entity_name)
    }
}

/// Calls a service and waits for the response without blocking the thread.
async fn call<S: Service>(service: &Served<S>, request: &S::Request) -> Result<S::Response, String> {
    let answer = service.client()?.call(request).map_err(|error| error.to_string())?;
    awaited(answer, ANSWER_MAX).await
}

async fn awaited<R>(answer: Receiver<R>, longest: Duration) -> Result<R, String> {
    let requested = Instant::now();
    while requested.elapsed() < longest {
        match answer.try_recv() {
            Ok(response) => return Ok(response),
            Err(TryRecvError::Disconnected) => return Err("the simulation gave no answer".to_owned()),
            Err(TryRecvError::Empty) => tokio::time::sleep(POLL).await,
        }
    }
    Err(format!("the simulation did not answer within {} s", longest.as_secs()))
}

fn check_result(result: &Outcome) -> Result<(), String> {
    match result.result {
        Outcome::RESULT_OK => Ok(()),
        code if result.error_message.is_empty() => Err(format!("refused, code {code}")),
        _ => Err(result.error_message.clone()),
    }
}
