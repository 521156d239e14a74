//! Orders: services of `simulation_interfaces` and parameters of the run, as any ROS 2 client calls them. Nothing here
//! knows the simulation; what it refuses, it says, and the client is told.

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
use crate::known::{Lamp, OfferedScenario, Place, RunNow, Spawnable};

/// How long an answer is awaited, and how often it is looked for (wall time).
const ANSWER_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(5);
/// How long a world is loaded at most: large ground takes minutes on a slow machine.
const LOAD_MAX: Duration = Duration::from_secs(600);
/// Heartbeats of one order.
const STEPS_MAX: u64 = 100_000;
/// A part of the names of parameters that are lamps.
const LAMPS: &str = ".lamps.";
/// The tag of worlds that are scenarios.
const SCENARIO: &str = "scenario";
/// Parameters that tell which run this is.
const RUN: [&str; 2] = ["run", "scenario"];

/// The services.
pub(crate) struct Control {
    state: Client<GetSimulationState>,
    set_state: Client<SetSimulationState>,
    step: Client<StepSimulation>,
    reset: Client<ResetSimulation>,
    spawn: Client<SpawnEntity>,
    named_poses: Client<GetNamedPoses>,
    spawnables: Client<GetSpawnables>,
    worlds: Client<GetAvailableWorlds>,
    load: Client<LoadWorld>,
    list: Client<ListParameters>,
    get: Client<GetParameters>,
    set: Client<SetParameters>,
}

/// A lamp or a place in time: what a parameter is set to.
pub(crate) enum Setting<'a> {
    Number(f64),
    Text(&'a str),
}

impl Control {
    /// The services of the run that `options` name; they need not be there yet.
    pub(crate) fn open(transport: &dyn Transport, options: &ConsoleOptions) -> Result<Self, TransportError> {
        let ConsoleOptions { control_node: node, parameters_node: parameters, .. } = options;
        Ok(Self {
            state: Client::new(transport, &format!("{node}/get_simulation_state"))?,
            set_state: Client::new(transport, &format!("{node}/set_simulation_state"))?,
            step: Client::new(transport, &format!("{node}/step_simulation"))?,
            reset: Client::new(transport, &format!("{node}/reset_simulation"))?,
            spawn: Client::new(transport, &format!("{node}/spawn_entity"))?,
            named_poses: Client::new(transport, &format!("{node}/get_named_poses"))?,
            spawnables: Client::new(transport, &format!("{node}/get_spawnables"))?,
            worlds: Client::new(transport, &format!("{node}/get_available_worlds"))?,
            load: Client::new(transport, &format!("{node}/load_world"))?,
            get: Client::new(transport, &format!("{parameters}/get_parameters"))?,
            list: Client::new(transport, &format!("{parameters}/list_parameters"))?,
            set: Client::new(transport, &format!("{parameters}/set_parameters"))?,
        })
    }

    /// A state of `SimulationState`; none where nobody answers.
    pub(crate) async fn state(&self) -> Option<u8> {
        let response = ask(&self.state, &GetSimulationStateRequest::default()).await.ok()?;
        said(&response.result).ok().map(|()| response.state.state)
    }

    /// Which run this is.
    pub(crate) async fn run(&self) -> Option<RunNow> {
        let request = GetParametersRequest { names: RUN.map(str::to_owned).into() };
        let mut values = ask(&self.get, &request).await.ok()?.values.into_iter().map(|value| value.string_value);
        Some(RunNow { id: values.next()?, scenario: values.next()? }).filter(|run| !run.id.is_empty())
    }

    /// Scenarios that can be gone over to; none where nothing can.
    pub(crate) async fn scenarios(&self) -> Option<Vec<OfferedScenario>> {
        let filter = TagsFilter { tags: vec![SCENARIO.to_owned()], ..TagsFilter::default() };
        let request = GetAvailableWorldsRequest { filter, ..GetAvailableWorldsRequest::default() };
        let response = ask(&self.worlds, &request).await.ok()?;
        said(&response.result).ok()?;
        let offered = |WorldResource { name, world_resource, description: about, .. }: WorldResource| OfferedScenario {
            uri: world_resource.uri,
            name,
            about,
        };
        Some(response.worlds.into_iter().map(offered).collect())
    }

    /// The parameters that are lamps.
    pub(crate) async fn lamps(&self) -> Option<Vec<Lamp>> {
        let response = ask(&self.list, &ListParametersRequest::default()).await.ok()?;
        let mut names = response.result.names;
        names.retain(|name| name.contains(LAMPS));
        if names.is_empty() {
            return Some(Vec::new());
        }
        let values = ask(&self.get, &GetParametersRequest { names: names.clone() }).await.ok()?.values;
        let level = |value: &ParameterValue| {
            (value.r#type == ParameterType::PARAMETER_DOUBLE).then_some(value.double_value).filter(|x| x.is_finite())
        };
        let levels = values.iter().map(level).chain(std::iter::repeat(None));
        Some(names.into_iter().zip(levels).map(|(name, level)| Lamp { name, level }).collect())
    }

    /// Rovers and objects that can be spawned: those of files.
    pub(crate) async fn spawnables(&self) -> Option<Vec<Spawnable>> {
        let response = ask(&self.spawnables, &GetSpawnablesRequest::default()).await.ok()?;
        said(&response.result).ok()?;
        let of_file = |Offered { entity_resource: Resource { uri, .. }, .. }: Offered| {
            let file = uri.strip_prefix("file://")?;
            let name = std::path::Path::new(file).file_stem()?.to_str()?.to_owned();
            Some(Spawnable { uri, name })
        };
        Some(response.spawnables.into_iter().filter_map(of_file).collect())
    }

    /// Starts and waypoints of the scenario.
    pub(crate) async fn places(&self) -> Option<Vec<Place>> {
        let response = ask(&self.named_poses, &GetNamedPosesRequest::default()).await.ok()?;
        let place = |named: selene_ros::simulation_interfaces::NamedPose| Place {
            at_m: [named.pose.position.x, named.pose.position.y],
            is_waypoint: named.tags.iter().any(|tag| tag == "waypoint"),
            name: named.name,
        };
        said(&response.result).ok().map(|()| response.poses.into_iter().map(place).collect())
    }

    /// Lets time pass or holds it.
    pub(crate) async fn play(&self, plays: bool) -> Result<(), String> {
        let state = if plays { SimulationState::STATE_PLAYING } else { SimulationState::STATE_PAUSED };
        let request = SetSimulationStateRequest { state: SimulationState { state } };
        let result = ask(&self.set_state, &request).await?.result;
        match result.result {
            SetSimulationStateResponse::ALREADY_IN_TARGET_STATE => Ok(()),
            _ => said(&result),
        }
    }

    /// Makes heartbeats.
    pub(crate) async fn step(&self, steps: u64) -> Result<(), String> {
        if !(1..=STEPS_MAX).contains(&steps) {
            return Err(format!("{steps} heartbeats: must be 1 to {STEPS_MAX}"));
        }
        said(&ask(&self.step, &StepSimulationRequest { steps }).await?.result)
    }

    /// Back to where the run began.
    pub(crate) async fn reset(&self) -> Result<(), String> {
        let request = ResetSimulationRequest { scope: ResetSimulationRequest::SCOPE_ALL };
        said(&ask(&self.reset, &request).await?.result)
    }

    /// Goes over to the scenario of a URI.
    pub(crate) async fn load(&self, uri: &str) -> Result<(), String> {
        let world_resource = Resource { uri: uri.to_owned(), ..Resource::default() };
        let request = LoadWorldRequest { world_resource, ..LoadWorldRequest::default() };
        let answer = self.load.call(&request).map_err(|error| error.to_string())?;
        said(&awaited(answer, LOAD_MAX).await?.result)
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
        let results = ask(&self.set, &request).await?.results;
        let result = results.first().ok_or("no answer")?;
        if result.successful { Ok(()) } else { Err(result.reason.clone()) }
    }

    /// Sets a lamp by the name of its parameter.
    pub(crate) async fn light(&self, lamp: &str, level: f64) -> Result<(), String> {
        if !lamp.contains(LAMPS) {
            return Err(format!("{lamp:?} is no lamp: their names read like viper.lamps.left"));
        }
        self.set(lamp, Setting::Number(level)).await
    }

    /// Puts a loose rock somewhere.
    pub(crate) async fn rock(&self, at_m: [f64; 2], diameter_m: f64) -> Result<String, String> {
        if !diameter_m.is_finite() {
            return Err("a rock must be of some size".to_owned());
        }
        self.spawn(&format!("selene:rock?diameter_m={diameter_m}"), at_m).await
    }

    /// Puts what a URI names on the ground, heading east; the name that it has there.
    pub(crate) async fn spawn(&self, uri: &str, at_m: [f64; 2]) -> Result<String, String> {
        if !at_m.iter().all(|m| m.is_finite()) {
            return Err("what is put somewhere must be somewhere".to_owned());
        }
        let mut request = SpawnEntityRequest { allow_renaming: true, ..SpawnEntityRequest::default() };
        request.entity_resource = Resource { uri: uri.to_owned(), ..Resource::default() };
        request.initial_pose.pose.position.x = at_m[0];
        request.initial_pose.pose.position.y = at_m[1];
        request.initial_pose.pose.orientation.w = 1.0;
        let response = ask(&self.spawn, &request).await?;
        said(&response.result).map(|()| response.entity_name)
    }
}

/// Asks and waits for the answer, as long as others may do their work.
async fn ask<S: Service>(client: &Client<S>, request: &S::Request) -> Result<S::Response, String> {
    let answer = client.call(request).map_err(|error| error.to_string())?;
    awaited(answer, ANSWER_MAX).await
}

async fn awaited<R>(answer: Receiver<R>, longest: Duration) -> Result<R, String> {
    let asked = Instant::now();
    while asked.elapsed() < longest {
        match answer.try_recv() {
            Ok(response) => return Ok(response),
            Err(TryRecvError::Disconnected) => return Err("the simulation gave no answer".to_owned()),
            Err(TryRecvError::Empty) => tokio::time::sleep(POLL).await,
        }
    }
    Err(format!("the simulation did not answer within {} s", longest.as_secs()))
}

fn said(result: &Outcome) -> Result<(), String> {
    match result.result {
        Outcome::RESULT_OK => Ok(()),
        code if result.error_message.is_empty() => Err(format!("refused, code {code}")),
        _ => Err(result.error_message.clone()),
    }
}
