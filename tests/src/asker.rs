//! A run within this process that is controlled over its services, and somebody who asks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::geometry_msgs::{Point, Pose, PoseStamped, Quaternion};
use selene_ros::service::{Client, Service};
use selene_ros::simulation_interfaces::{
    EntityFilters, EntityState, Resource, Result as ResultCode, SimulationState, srv,
};
use selene_sim::Model;
use selene_simulation::{Begin, ControlOptions, Outcome, SimulationOptions};

use crate::witness::Witness;
use crate::{context, model, options, scenario};

/// The node that serves.
pub const NODE: &str = "/selene_simulation";
/// The rover of the yard.
pub const YARD_ROVER: &str = "curiosity";
/// Longer than anything that is waited for takes (wall time).
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A yard with a rover that has an IMU, and six loose rocks.
pub fn yard() -> &'static Arc<Model> {
    static YARD: OnceLock<Arc<Model>> = OnceLock::new();
    YARD.get_or_init(|| model(scenario("curiosity_rocks", None)))
}

/// A run without an end that begins paused, in lockstep with these.
#[must_use]
pub fn paused(participants: &[&str]) -> SimulationOptions {
    let control = ControlOptions { node: Some(NODE.to_owned()), starts_paused: true, ..ControlOptions::default() };
    SimulationOptions { duration: None, control, ..options(SimTime::ZERO, participants) }
}

/// Runs the yard until `ask` has ended, with the navigation node if anybody takes part; what it told, and what the
/// run came to.
///
/// # Panics
/// When the run or the node fails.
pub fn controlled<T>(options: &SimulationOptions, ask: impl FnOnce(&Asker) -> T) -> (T, Outcome) {
    controlled_in(yard(), options, ask)
}

/// The same in another world with the yard's rover.
///
/// # Panics
/// When the run or the node fails.
pub fn controlled_in<T>(
    model: &Arc<Model>,
    options: &SimulationOptions,
    ask: impl FnOnce(&Asker) -> T,
) -> (T, Outcome) {
    let asker = Asker { witness: Witness::default() };
    let (context, stop) = (context(Arc::new(asker.witness.clone()), model), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _stops = Stops(&stop);
        let simulation = scope.spawn(|| selene_simulation::run(&context, Begin::Start(None), options, &stop));
        if !options.participants.is_empty() {
            scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        }
        let told = ask(&asker);
        assert_eq!(asker.enter(SimulationState::STATE_QUITTING), ResultCode::RESULT_OK);
        (told, simulation.join().expect("no panic").expect("runs"))
    })
}

/// Asks all nodes to end, however a test ends.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Somebody who asks.
pub struct Asker {
    /// The transport of the run, which remembers.
    pub witness: Witness,
}

/// Its methods fail a test that gets no answer.
impl Asker {
    /// Sends a request.
    pub fn send<S: Service>(&self, name: &str, request: &S::Request) -> Receiver<S::Response> {
        let client = Client::<S>::new(&self.witness, &format!("{NODE}/{name}")).expect("client");
        let begun = Instant::now();
        while !client.is_served() {
            assert!(begun.elapsed() < PATIENCE, "nobody serves {name}");
            std::thread::sleep(Duration::from_millis(1));
        }
        client.call(request).expect("sent")
    }

    /// Sends a request and waits for the answer.
    pub fn ask<S: Service>(&self, name: &str, request: &S::Request) -> S::Response {
        self.send::<S>(name, request).recv_timeout(PATIENCE).expect("answered")
    }

    /// Goes over to a state; the code of the answer.
    pub fn enter(&self, state: u8) -> u8 {
        let request = srv::SetSimulationStateRequest { state: SimulationState { state } };
        self.ask::<srv::SetSimulationState>("set_simulation_state", &request).result.result
    }

    /// The state.
    pub fn state(&self) -> u8 {
        self.ask::<srv::GetSimulationState>("get_simulation_state", &Default::default()).state.state
    }

    /// Makes steps.
    pub fn step(&self, steps: u64) {
        well(&self.ask::<srv::StepSimulation>("step_simulation", &srv::StepSimulationRequest { steps }).result);
    }

    /// Resets a scope.
    pub fn reset(&self, scope: u8) {
        well(&self.ask::<srv::ResetSimulation>("reset_simulation", &srv::ResetSimulationRequest { scope }).result);
    }

    /// The names of those that match.
    pub fn entities(&self, filters: EntityFilters) -> Vec<String> {
        let answer = self.ask::<srv::GetEntities>("get_entities", &srv::GetEntitiesRequest { filters });
        well(&answer.result);
        answer.entities
    }

    /// The state of one that is there.
    pub fn entity_state(&self, entity: &str) -> EntityState {
        let request = srv::GetEntityStateRequest { entity: entity.to_owned() };
        let answer = self.ask::<srv::GetEntityState>("get_entity_state", &request);
        well(&answer.result);
        answer.state
    }

    /// Simulated time.
    pub fn time(&self) -> SimTime {
        self.entity_state(YARD_ROVER).header.stamp.into()
    }

    /// Puts something elsewhere.
    pub fn place(&self, entity: &str, pose: Pose) -> ResultCode {
        let state = EntityState { pose, ..EntityState::default() };
        let request =
            srv::SetEntityStateRequest { entity: entity.to_owned(), state, set_pose: true, ..Default::default() };
        self.ask::<srv::SetEntityState>("set_entity_state", &request).result
    }

    /// Spawns something.
    pub fn spawn(&self, request: &srv::SpawnEntityRequest) -> srv::SpawnEntityResponse {
        self.ask::<srv::SpawnEntity>("spawn_entity", request)
    }

    /// Deletes something; the code of the answer.
    pub fn delete(&self, entity: &str) -> u8 {
        let request = srv::DeleteEntityRequest { entity: entity.to_owned() };
        self.ask::<srv::DeleteEntity>("delete_entity", &request).result.result
    }
}

/// Fails where something did not go well.
///
/// # Panics
/// Then.
pub fn well(result: &ResultCode) {
    assert_eq!(result.result, ResultCode::RESULT_OK, "{}", result.error_message);
}

/// A pose on the map.
#[must_use]
pub fn at(x: f64, y: f64) -> Pose {
    Pose { position: Point { x, y, z: 0.0 }, orientation: Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 } }
}

/// A resource by its URI.
#[must_use]
pub fn of_uri(uri: &str) -> Resource {
    Resource { uri: uri.to_owned(), ..Resource::default() }
}

/// A request to spawn something at a place.
#[must_use]
pub fn spawning(name: &str, uri: &str, pose: Pose) -> srv::SpawnEntityRequest {
    srv::SpawnEntityRequest {
        name: name.to_owned(),
        entity_resource: of_uri(uri),
        initial_pose: PoseStamped { pose, ..PoseStamped::default() },
        ..Default::default()
    }
}
