//! Loading another world. All nodes of a run are made for its world, so only the process that runs them all can load
//! another one: it ends them and starts new ones. Requests go from here to it, one at a time. In other processes
//! `load_world` answers that it is unsupported.

use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use selene_ros::service::Reply;
use selene_ros::simulation_interfaces::srv::{LoadWorld, LoadWorldResponse};
use selene_ros::simulation_interfaces::{Result as ResultCode, WorldResource};
use selene_sim::Scenario;

use crate::control::response::{Response, failed, ok, result, unsupported};
use crate::control::{send, worlds};

/// Maximum number of requests that wait while one is carried out.
const WAITING_MAX: usize = 1;
/// Tag that distinguishes scenarios from sites in the list of worlds.
const SCENARIO: &str = "scenario";

/// A scenario that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedScenario {
    /// Its name.
    pub name: String,
    /// Absolute path of its file.
    pub file: PathBuf,
    /// One sentence that describes it; may be empty.
    pub description: String,
}

type ScenarioLister = dyn Fn() -> Vec<OfferedScenario> + Send + Sync;

/// The queue of requests for another world, and the list of scenarios that can be loaded.
#[derive(Clone)]
pub struct Worlds {
    requests: SyncSender<WorldRequest>,
    offer: Arc<ScenarioLister>,
}

impl Worlds {
    /// The queue and its receiving end. `offer` lists the scenarios that are available when it is called.
    pub fn offering(
        offer: impl Fn() -> Vec<OfferedScenario> + Send + Sync + 'static,
    ) -> (Self, Receiver<WorldRequest>) {
        let (requests, requested) = sync_channel(WAITING_MAX);
        (Self { requests, offer: Arc::new(offer) }, requested)
    }

    /// The scenarios that are available now.
    pub(crate) fn scenarios(&self) -> Vec<OfferedScenario> {
        (self.offer)()
    }

    /// Whether a file is one of the available scenarios.
    pub(crate) fn offers(&self, file: &Path) -> bool {
        self.scenarios().iter().any(|scenario| scenario.file == file)
    }

    /// Passes a request on, or refuses it at once.
    pub(crate) fn request(&self, file: PathBuf, reply: Reply<LoadWorld>) {
        let request = WorldRequest { file, reply: Some(reply) };
        match self.requests.try_send(request) {
            Ok(()) => {}
            Err(TrySendError::Full(request)) => {
                request.refuse("another world is being loaded; request again when it is")
            }
            // Dropping it answers that the run has ended.
            Err(TrySendError::Disconnected(request)) => drop(request),
        }
    }
}

impl Debug for Worlds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worlds").finish_non_exhaustive()
    }
}

/// A request for another world. Dropping it answers that the run has ended.
#[must_use = "the client waits for an answer"]
pub struct WorldRequest {
    file: PathBuf,
    reply: Option<Reply<LoadWorld>>,
}

impl WorldRequest {
    /// The file of a scenario or of a site.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Answers that this scenario is loaded.
    pub fn accept(mut self, scenario: &Scenario) {
        self.answer(LoadWorldResponse { result: ok(), world: worlds::of_scenario(scenario) });
    }

    /// Answers that the file cannot be used, and why.
    pub fn refuse_file(mut self, why: &str) {
        self.answer(Response::of(result(LoadWorldResponse::RESOURCE_PARSE_ERROR, why)));
    }

    /// Answers that the world does not change, and why.
    pub fn refuse(mut self, why: &str) {
        self.answer(Response::of(failed(why)));
    }

    fn answer(&mut self, response: LoadWorldResponse) {
        if let Some(reply) = self.reply.take() {
            send(reply, &response);
        }
    }
}

impl Drop for WorldRequest {
    fn drop(&mut self) {
        self.answer(Response::of(failed("the run has ended or switches to another world")));
    }
}

/// Describes a scenario as a world that can be loaded.
pub(crate) fn offered(scenario: OfferedScenario) -> WorldResource {
    let uri = worlds::uri_of(&scenario.file);
    worlds::resource(scenario.name, uri, scenario.description, &[SCENARIO])
}

/// The result if this process cannot load worlds.
pub(crate) fn nobody_loads() -> ResultCode {
    unsupported(
        "the nodes of this run are separate processes, made for its world from start to end; `selene run` switches to \
         another one, or start another run",
    )
}

#[cfg(test)]
mod tests {
    use super::{OfferedScenario, Worlds};
    use selene_ros::in_process::InProcess;
    use selene_ros::service::{Client, serve};
    use selene_ros::simulation_interfaces::srv::{LoadWorld, LoadWorldRequest};
    use selene_ros::simulation_interfaces::{Resource, Result as ResultCode};
    use std::path::Path;
    use std::sync::mpsc::TryRecvError;

    #[test]
    fn one_world_is_requested_at_a_time_and_every_client_is_answered() {
        let (worlds, requested) = Worlds::offering(Vec::<OfferedScenario>::new);
        let bus = InProcess::new();
        let on = move |request: LoadWorldRequest, reply| worlds.request(request.world_resource.uri.into(), reply);
        let _served = serve::<LoadWorld>(&bus, "/load_world", on).expect("served");
        let client = Client::<LoadWorld>::new(&bus, "/load_world").expect("a name");
        let load = |uri: &str| {
            let world_resource = Resource { uri: uri.to_owned(), ..Resource::default() };
            client.call(&LoadWorldRequest { world_resource, ..LoadWorldRequest::default() }).expect("served")
        };
        let (first, second) = (load("/a.yaml"), load("/b.yaml"));
        let full = second.try_recv().expect("an answer").result;
        assert!(full.result == ResultCode::RESULT_OPERATION_FAILED && full.error_message.contains("another world"));
        assert_eq!(first.try_recv().err(), Some(TryRecvError::Empty));
        let request = requested.try_recv().expect("a request");
        assert_eq!(request.file(), Path::new("/a.yaml"));
        request.refuse_file("line 3");
        assert_eq!(first.try_recv().expect("an answer").result.error_message, "line 3");
        let waiting = load("/c.yaml");
        drop(requested);
        assert!(waiting.try_recv().expect("an answer").result.error_message.contains("has ended"));
        assert!(load("/d.yaml").try_recv().expect("an answer").result.error_message.contains("has ended"));
    }
}
