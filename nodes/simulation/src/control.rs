//! Services that control a run: those of `simulation_interfaces` 2.x and its action `SimulateSteps`, under the node's
//! own name (`/NODE/spawn_entity`) and, if requested, also at the root.
//!
//! A request arrives on a thread of the middleware and enters the queue of changes. The node's thread answers it
//! between two heartbeats, in the order of arrival. An unsupported request is answered with
//! `RESULT_FEATURE_UNSUPPORTED`; `GetSimulatorFeatures` lists what is supported.

mod catalogue;
pub(crate) mod entities;
mod filter;
mod poses;
mod resource;
pub(crate) mod response;
mod simulation;
mod spawn;
pub(crate) mod worlds;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_coherence::NodeError;
use selene_ros::action::serve_action;
use selene_ros::service::{Reply, Service, serve};
use selene_ros::simulation_interfaces::action::{SimulateSteps, SimulateStepsGoal};
use selene_ros::simulation_interfaces::srv;
use selene_ros::transport::{Subscription, Transport};
use selene_sim::AllowedFolders;

use crate::changes::{ChangeError, Changes, Cost, StepRequest, Task};
use crate::loading::Worlds;
use crate::node::Node;
use crate::run_control::StepClient;
use response::{Response, result_of};

/// Which services control a run, and how it begins.
#[derive(Clone, Debug, Default)]
pub struct ControlOptions {
    /// The node's full name, such as `/selene`, which prefixes the services. `None` offers none under it.
    pub node: Option<String>,
    /// Whether to offer the services without a prefix too.
    pub at_root: bool,
    /// Whether the run begins paused.
    pub starts_paused: bool,
    /// The means of loading another world; `None` if nobody can.
    pub worlds: Option<Worlds>,
}

/// What is needed to open the services, again if this process becomes the leader later.
pub(crate) struct Serving {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) options: ControlOptions,
    /// Folders in which files that a request names may lie.
    pub(crate) folders: AllowedFolders,
}

/// The services; dropping it closes them.
pub(crate) struct Control {
    served: Vec<Subscription>,
}

impl Control {
    /// Number of requests that were dropped because they did not decode.
    pub(crate) fn undecodable(&self) -> u64 {
        self.served.iter().map(Subscription::undecodable).sum()
    }
}

impl Serving {
    /// Opens the services of a run, whose world may be shared with other processes.
    ///
    /// # Errors
    /// When a service cannot be served.
    pub(crate) fn open(&self, changes: &Changes, is_shared: bool) -> Result<Control, NodeError> {
        let node = self.options.node.as_deref().map(|node| node.trim_end_matches('/'));
        let root = self.options.at_root.then_some("");
        let mut served = Vec::new();
        for prefix in node.into_iter().chain(root) {
            let mut server = Server { serving: self, prefix, changes, served: Vec::new() };
            server.open(is_shared)?;
            served.append(&mut server.served);
        }
        Ok(Control { served })
    }
}

/// Opens services under one prefix.
struct Server<'a> {
    serving: &'a Serving,
    prefix: &'a str,
    changes: &'a Changes,
    served: Vec<Subscription>,
}

impl Server<'_> {
    fn open(&mut self, is_shared: bool) -> Result<(), NodeError> {
        self.open_simulation(is_shared)?;
        self.serve::<srv::GetEntities>("get_entities", Cost::Light, entities::names)?;
        self.serve::<srv::GetEntitiesStates>("get_entities_states", Cost::Light, entities::states)?;
        self.serve::<srv::GetEntityState>("get_entity_state", Cost::Light, entities::state)?;
        self.serve::<srv::GetEntityInfo>("get_entity_info", Cost::Light, entities::info)?;
        self.serve_change::<srv::SetEntityInfo, _>("set_entity_info", Cost::Light, entities::set_info)?;
        self.serve::<srv::GetEntityBounds>("get_entity_bounds", Cost::Light, entities::bounds)?;
        self.serve_change::<srv::SetEntityState, _>("set_entity_state", Cost::Heavy, entities::set_state)?;
        self.serve_change::<srv::SpawnEntity, _>("spawn_entity", Cost::Heavy, spawn::spawn)?;
        self.serve_batches()?;
        self.serve_change::<srv::DeleteEntity, _>("delete_entity", Cost::Light, spawn::delete)?;
        self.serve::<srv::GetSpawnables>("get_spawnables", Cost::Heavy, spawn::spawnables)?;
        self.serve::<srv::GetAvailableWorlds>("get_available_worlds", Cost::Heavy, worlds::available)?;
        self.serve::<srv::GetCurrentWorld>("get_current_world", Cost::Light, worlds::current)?;
        self.serve_loading(is_shared)?;
        self.serve::<srv::UnloadWorld>("unload_world", Cost::Light, worlds::unload)?;
        self.serve::<srv::GetNamedPoses>("get_named_poses", Cost::Heavy, worlds::named_poses)?;
        self.serve::<srv::GetNamedPoseBounds>("get_named_pose_bounds", Cost::Light, worlds::named_pose_bounds)
    }

    fn open_simulation(&mut self, is_shared: bool) -> Result<(), NodeError> {
        let features = simulation::features(is_shared, self.serving.options.worlds.is_some());
        // The features never change, so the reply need not wait for a heartbeat.
        let on = move |_, reply: Reply<srv::GetSimulatorFeatures>| send(reply, &features);
        self.served.push(serve::<srv::GetSimulatorFeatures>(
            self.transport(),
            &self.name("get_simulator_features"),
            on,
        )?);
        self.serve::<srv::GetSimulationState>("get_simulation_state", Cost::Light, simulation::state)?;
        self.serve_change::<srv::SetSimulationState, _>("set_simulation_state", Cost::Heavy, simulation::set_state)?;
        self.serve_change::<srv::ResetSimulation, _>("reset_simulation", Cost::Heavy, simulation::reset)?;
        self.serve_steps()
    }

    fn transport(&self) -> &dyn Transport {
        self.serving.transport.as_ref()
    }

    fn name(&self, service: &str) -> String {
        format!("{}/{service}", self.prefix)
    }

    /// Opens a service that only reads the world.
    fn serve<S: Service>(
        &mut self,
        name: &str,
        cost: Cost,
        answer: fn(&Node, &S::Request) -> S::Response,
    ) -> Result<(), NodeError>
    where
        S::Response: Response,
    {
        let looked = move |node: &mut Node, _: &AtomicBool, request: S::Request| Ok(answer(node, &request));
        self.serve_change::<S, _>(name, cost, looked)
    }

    /// Opens a service that changes the world.
    fn serve_change<S: Service, A>(&mut self, name: &str, cost: Cost, answer: A) -> Result<(), NodeError>
    where
        S::Response: Response,
        A: Fn(&mut Node, &AtomicBool, S::Request) -> Result<S::Response, NodeError> + Copy + Send + Sync + 'static,
    {
        let changes = self.changes.clone();
        let on = move |request, reply| changes.put(Box::new(Request::<S, A> { request, reply, cost, answer }));
        self.served.push(serve::<S>(self.transport(), &self.name(name), on)?);
        Ok(())
    }

    /// Opens `load_world`, which bypasses the queue: the other world is loaded while this one goes on.
    fn serve_loading(&mut self, is_shared: bool) -> Result<(), NodeError> {
        let Serving { options, folders, .. } = self.serving;
        let (worlds, folders) = (options.worlds.clone().filter(|_| !is_shared), folders.clone());
        let on = move |request, reply| worlds::load(worlds.as_ref(), &folders, &request, reply);
        self.served.push(serve::<srv::LoadWorld>(self.transport(), &self.name("load_world"), on)?);
        Ok(())
    }

    /// Opens `spawn_entities`, which takes one heartbeat for each entity.
    fn serve_batches(&mut self) -> Result<(), NodeError> {
        let changes = self.changes.clone();
        let on = move |request, reply| spawn::spawn_all(&changes, request, reply);
        self.served.push(serve::<srv::SpawnEntities>(self.transport(), &self.name("spawn_entities"), on)?);
        Ok(())
    }

    /// Opens the service and the action for steps; both answer when the steps were made.
    fn serve_steps(&mut self) -> Result<(), NodeError> {
        let changes = self.changes.clone();
        let on = move |request: srv::StepSimulationRequest, reply| {
            changes.put(Box::new(StepRequest { heartbeats: request.steps, waiting: StepClient::Service(reply) }));
        };
        self.served.push(serve::<srv::StepSimulation>(self.transport(), &self.name("step_simulation"), on)?);
        let changes = self.changes.clone();
        let begin = move |goal: SimulateStepsGoal, handle| {
            changes.put(Box::new(StepRequest { heartbeats: goal.steps, waiting: StepClient::Action(handle) }));
        };
        let name = self.name("simulate_steps");
        self.served.push(serve_action::<SimulateSteps>(self.transport(), &name, |_| true, begin)?);
        Ok(())
    }
}

/// A request on its way to the node's thread.
struct Request<S: Service, A> {
    request: S::Request,
    reply: Reply<S>,
    cost: Cost,
    answer: A,
}

impl<S: Service, A> Task for Request<S, A>
where
    S::Response: Response,
    A: Fn(&mut Node, &AtomicBool, S::Request) -> Result<S::Response, NodeError> + Send + 'static,
{
    fn cost(&self) -> Cost {
        self.cost
    }

    fn carry_out(self: Box<Self>, node: &mut Node, stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError> {
        let Self { request, reply, answer, .. } = *self;
        let response = answer(node, stop, request)?;
        send(reply, &response);
        Ok(None)
    }

    fn refuse(self: Box<Self>, why: ChangeError) {
        send(self.reply, &Response::of(result_of(&why)));
    }
}

/// Sends a response; only logs an error, since the client may be gone.
pub(crate) fn send<S: Service>(reply: Reply<S>, response: &S::Response) {
    if let Err(error) = reply.send(response) {
        tracing::debug!("{error}");
    }
}
