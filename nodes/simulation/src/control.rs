//! The control surface of a run: the services of `simulation_interfaces` 2.x and its action `SimulateSteps`, under the
//! node's own name (`/NODE/spawn_entity`) and, where that is asked for, at the root.
//!
//! A request arrives on a thread of the middleware, is put at the end of the list of changes and answered from
//! the node's thread, between two heartbeats, in the order of arrival. What cannot be done says so by
//! `RESULT_FEATURE_UNSUPPORTED`, and `GetSimulatorFeatures` tells what can be done.

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

use crate::changes::{AskedSteps, ChangeError, Changes, Cost, Task};
use crate::going::Waiting;
use crate::loading::Worlds;
use crate::node::Node;
use response::{Response, result_of};

/// How a run can be controlled from outside.
#[derive(Clone, Debug, Default)]
pub struct ControlOptions {
    /// The node's full name, as in `/selene`: the services are under it. None serves none there.
    pub node: Option<String>,
    /// Serve them at the root too.
    pub at_root: bool,
    /// Time stands from the beginning on, until somebody lets it pass.
    pub starts_paused: bool,
    /// Who can go over to another world; none where nobody can.
    pub worlds: Option<Worlds>,
}

/// How and where the services are opened.
pub(crate) struct Serving {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) options: ControlOptions,
    /// Where files that a request names may lie.
    pub(crate) folders: AllowedFolders,
}

/// The services, as long as it lives.
pub(crate) struct Control {
    _served: Vec<Subscription>,
}

impl Serving {
    /// Serves a run, of whose world other processes may have a part.
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
        Ok(Control { _served: served })
    }
}

/// Serves under one prefix.
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
        // They are the same at any time: nobody waits for a heartbeat.
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

    /// A service that looks at the world.
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

    /// A service that changes it.
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

    /// A world is loaded beside the one that goes on.
    fn serve_loading(&mut self, is_shared: bool) -> Result<(), NodeError> {
        let Serving { options, folders, .. } = self.serving;
        let (worlds, folders) = (options.worlds.clone().filter(|_| !is_shared), folders.clone());
        let on = move |request, reply| worlds::load(worlds.as_ref(), &folders, &request, reply);
        self.served.push(serve::<srv::LoadWorld>(self.transport(), &self.name("load_world"), on)?);
        Ok(())
    }

    /// Spawning several takes several heartbeats.
    fn serve_batches(&mut self) -> Result<(), NodeError> {
        let changes = self.changes.clone();
        let on = move |request, reply| spawn::spawn_all(&changes, request, reply);
        self.served.push(serve::<srv::SpawnEntities>(self.transport(), &self.name("spawn_entities"), on)?);
        Ok(())
    }

    /// Steps are answered when they were made.
    fn serve_steps(&mut self) -> Result<(), NodeError> {
        let changes = self.changes.clone();
        let on = move |request: srv::StepSimulationRequest, reply| {
            changes.put(Box::new(AskedSteps { heartbeats: request.steps, waiting: Waiting::Service(reply) }));
        };
        self.served.push(serve::<srv::StepSimulation>(self.transport(), &self.name("step_simulation"), on)?);
        let changes = self.changes.clone();
        let begin = move |goal: SimulateStepsGoal, handle| {
            changes.put(Box::new(AskedSteps { heartbeats: goal.steps, waiting: Waiting::Action(handle) }));
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

/// Whoever asked may be gone.
pub(crate) fn send<S: Service>(reply: Reply<S>, response: &S::Response) {
    if let Err(error) = reply.send(response) {
        tracing::debug!("{error}");
    }
}
