//! A simulation within this process that runs until a test has called its services.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::Qos;
use selene_ros::geometry_msgs::{Point, Pose, PoseStamped, Quaternion, Twist, TwistStamped, Vector3};
use selene_ros::service::{Client, Service};
use selene_ros::simulation_interfaces::{
    EntityFilters, EntityState, Resource, Result as ResultCode, SimulationState, srv,
};
use selene_ros::transport::Publisher;
use selene_sim::Model;
use selene_simulation::{ControlOptions, RunOutcome, RunStart, SimulationOptions};

use crate::recording_transport::RecordingTransport;
use crate::{context, model, options, scenario};

/// The node that offers the services.
pub const NODE: &str = "/selene_simulation";
/// Name of the yard's rover.
pub const YARD_ROVER: &str = "curiosity";
/// Timeout for anything that a test waits for, in wall time.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The model of a yard with six loose rocks and a rover that has an IMU.
pub fn yard() -> &'static Arc<Model> {
    static YARD: OnceLock<Arc<Model>> = OnceLock::new();
    YARD.get_or_init(|| model(scenario("curiosity_rocks", None)))
}

/// Options of a run without an end that begins paused, in lockstep with these participants.
#[must_use]
pub fn paused(participants: &[&str]) -> SimulationOptions {
    let control = ControlOptions { node: Some(NODE.to_owned()), starts_paused: true, ..ControlOptions::default() };
    SimulationOptions { duration: None, control, ..options(SimTime::ZERO, participants) }
}

/// Runs the yard until `call` returns, with the nodes among the participants. Returns the result of `call` and the
/// outcome of the run.
///
/// # Panics
/// When the run or a node fails.
pub fn controlled<T>(options: &SimulationOptions, call: impl FnOnce(&ControlClient) -> T) -> (T, RunOutcome) {
    controlled_in(yard(), options, call)
}

/// Same as `controlled`, in another world with the yard's rover.
///
/// # Panics
/// When the run or a node fails.
pub fn controlled_in<T>(
    model: &Arc<Model>,
    options: &SimulationOptions,
    call: impl FnOnce(&ControlClient) -> T,
) -> (T, RunOutcome) {
    let caller = ControlClient { recording: RecordingTransport::default() };
    let (context, stop) = (context(Arc::new(caller.recording.clone()), model), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _stops = StopOnDrop(&stop);
        let simulation = scope.spawn(|| selene_simulation::run(&context, RunStart::Start(None), options, &stop));
        let takes_part = |name: &str| options.participants.iter().any(|participant| participant == name);
        if takes_part(selene_camera::PARTICIPANT) {
            scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        }
        if takes_part(selene_lidar::PARTICIPANT) {
            scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        }
        if takes_part(selene_navigation::PARTICIPANT) {
            scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        }
        let reported = call(&caller);
        assert_eq!(caller.enter(SimulationState::STATE_QUITTING), ResultCode::RESULT_OK);
        (reported, simulation.join().expect("no panic").expect("runs"))
    })
}

/// Stops all nodes when dropped, however a test ends.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A client of the simulation's services.
pub struct ControlClient {
    /// The run's transport, which records all that is published.
    pub recording: RecordingTransport,
}

/// A method fails the test when it gets no answer.
impl ControlClient {
    /// Sends a request to the service `name`, without waiting for the answer.
    pub fn send<S: Service>(&self, name: &str, request: &S::Request) -> Receiver<S::Response> {
        let client = Client::<S>::new(&self.recording, &format!("{NODE}/{name}")).expect("client");
        let begun = Instant::now();
        while !client.is_served() {
            assert!(begun.elapsed() < TIMEOUT, "nobody serves {name}");
            std::thread::sleep(Duration::from_millis(1));
        }
        client.call(request).expect("sent")
    }

    /// Sends a request to the service `name` and waits for the answer.
    pub fn call<S: Service>(&self, name: &str, request: &S::Request) -> S::Response {
        self.send::<S>(name, request).recv_timeout(TIMEOUT).expect("answered")
    }

    /// Sets the state of the simulation; returns the result code.
    pub fn enter(&self, state: u8) -> u8 {
        let request = srv::SetSimulationStateRequest { state: SimulationState { state } };
        self.call::<srv::SetSimulationState>("set_simulation_state", &request).result.result
    }

    /// State of the simulation.
    pub fn state(&self) -> u8 {
        self.call::<srv::GetSimulationState>("get_simulation_state", &Default::default()).state.state
    }

    /// Advances the simulation by a number of steps.
    pub fn step(&self, steps: u64) {
        well(&self.call::<srv::StepSimulation>("step_simulation", &srv::StepSimulationRequest { steps }).result);
    }

    /// Resets the simulation within a scope.
    pub fn reset(&self, scope: u8) {
        well(&self.call::<srv::ResetSimulation>("reset_simulation", &srv::ResetSimulationRequest { scope }).result);
    }

    /// Names of the entities that match the filters.
    pub fn entities(&self, filters: EntityFilters) -> Vec<String> {
        let answer = self.call::<srv::GetEntities>("get_entities", &srv::GetEntitiesRequest { filters });
        well(&answer.result);
        answer.entities
    }

    /// State of an entity that must exist.
    pub fn entity_state(&self, entity: &str) -> EntityState {
        let request = srv::GetEntityStateRequest { entity: entity.to_owned() };
        let answer = self.call::<srv::GetEntityState>("get_entity_state", &request);
        well(&answer.result);
        answer.state
    }

    /// Current simulated time.
    pub fn time(&self) -> SimTime {
        self.entity_state(YARD_ROVER).header.stamp.into()
    }

    /// Moves an entity to a pose.
    pub fn place(&self, entity: &str, pose: Pose) -> ResultCode {
        let state = EntityState { pose, ..EntityState::default() };
        let request =
            srv::SetEntityStateRequest { entity: entity.to_owned(), state, set_pose: true, ..Default::default() };
        self.call::<srv::SetEntityState>("set_entity_state", &request).result
    }

    /// Spawns an entity.
    pub fn spawn(&self, request: &srv::SpawnEntityRequest) -> srv::SpawnEntityResponse {
        self.call::<srv::SpawnEntity>("spawn_entity", request)
    }

    /// Deletes an entity; returns the result code.
    pub fn delete(&self, entity: &str) -> u8 {
        let request = srv::DeleteEntityRequest { entity: entity.to_owned() };
        self.call::<srv::DeleteEntity>("delete_entity", &request).result.result
    }

    /// Names of the yard's loose rocks.
    pub fn rocks(&self) -> Vec<String> {
        self.entities(EntityFilters { filter: "^rock_".to_owned(), ..EntityFilters::default() })
    }

    /// Changes everything in the yard that can be changed, and makes three steps.
    pub fn disturb(&self) {
        let cmd_vel = Publisher::<TwistStamped>::new(&self.recording, "/cmd_vel", Qos::reliable()).expect("topic");
        let forward = || {
            let twist = Twist { linear: Vector3 { x: 0.1, y: 0.0, z: 0.0 }, ..Twist::default() };
            cmd_vel.publish(&TwistStamped { twist, ..TwistStamped::default() }, SimTime::ZERO).expect("published");
        };
        well(&self.spawn(&spawning("second", "rover/sorato.yaml?sensors=imu", at(3.0, 5.0))).result);
        well(&self.spawn(&spawning("stone", "selene:rock?diameter_m=0.3", at(5.0, 5.0))).result);
        well(&self.place(YARD_ROVER, at(-6.0, -6.0)));
        assert_eq!(self.delete(&self.rocks()[0]), ResultCode::RESULT_OK);
        forward();
        self.step(3);
        // This command still waits for the next heartbeat.
        forward();
    }
}

/// Fails unless a result is OK.
///
/// # Panics
/// When the result is not OK.
pub fn well(result: &ResultCode) {
    assert_eq!(result.result, ResultCode::RESULT_OK, "{}", result.error_message);
}

/// A pose on the map with z = 0, facing along x.
#[must_use]
pub fn at(x: f64, y: f64) -> Pose {
    Pose { position: Point { x, y, z: 0.0 }, orientation: Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 } }
}

/// The resource with this URI.
#[must_use]
pub fn of_uri(uri: &str) -> Resource {
    Resource { uri: uri.to_owned(), ..Resource::default() }
}

/// A request to spawn an entity at a pose.
#[must_use]
pub fn spawning(name: &str, uri: &str, pose: Pose) -> srv::SpawnEntityRequest {
    srv::SpawnEntityRequest {
        name: name.to_owned(),
        entity_resource: of_uri(uri),
        initial_pose: PoseStamped { pose, ..PoseStamped::default() },
        ..Default::default()
    }
}
