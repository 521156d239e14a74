//! Going over to another world. All nodes of a run are made for its world, so another one is loaded by who can end all of
//! them and begin new ones: the process that runs them. Requests go to it from here, one at a time; where nobody takes
//! them, `load_world` says that it is unsupported.

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

/// Requests that wait while one is dealt with.
const WAITING_MAX: usize = 1;
/// The tag that tells scenarios from sites among the worlds.
const SCENARIO: &str = "scenario";

/// A scenario that can be gone over to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedScenario {
    /// Its name.
    pub name: String,
    /// Its file, a whole path.
    pub file: PathBuf,
    /// What it is, in a sentence; may be empty.
    pub description: String,
}

type Offer = dyn Fn() -> Vec<OfferedScenario> + Send + Sync;

/// Where requests for another world go, and which scenarios there are.
#[derive(Clone)]
pub struct Worlds {
    requests: SyncSender<WorldRequest>,
    offer: Arc<Offer>,
}

impl Worlds {
    /// Requests, and where they arrive. `offer` tells the scenarios that there are now.
    pub fn offering(
        offer: impl Fn() -> Vec<OfferedScenario> + Send + Sync + 'static,
    ) -> (Self, Receiver<WorldRequest>) {
        let (requests, asked) = sync_channel(WAITING_MAX);
        (Self { requests, offer: Arc::new(offer) }, asked)
    }

    /// The scenarios that there are now.
    pub(crate) fn scenarios(&self) -> Vec<OfferedScenario> {
        (self.offer)()
    }

    /// Whether a file is one of these scenarios.
    pub(crate) fn offers(&self, file: &Path) -> bool {
        self.scenarios().iter().any(|scenario| scenario.file == file)
    }

    /// Passes a request on, or refuses it at once.
    pub(crate) fn ask(&self, file: PathBuf, reply: Reply<LoadWorld>) {
        let request = WorldRequest { file, reply: Some(reply) };
        match self.requests.try_send(request) {
            Ok(()) => {}
            Err(TrySendError::Full(request)) => request.refuse("another world is being loaded; ask again when it is"),
            // It is told so when it is dropped.
            Err(TrySendError::Disconnected(request)) => drop(request),
        }
    }
}

impl Debug for Worlds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worlds").finish_non_exhaustive()
    }
}

/// A request for another world. Who drops it tells that the run has ended.
#[must_use = "whoever asked waits for an answer"]
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

    /// Tells that the run goes over to this scenario.
    pub fn accept(mut self, scenario: &Scenario) {
        self.answer(LoadWorldResponse { result: ok(), world: worlds::of_scenario(scenario) });
    }

    /// Tells that the file cannot be used, and why.
    pub fn refuse_file(mut self, why: &str) {
        self.answer(Response::of(result(LoadWorldResponse::RESOURCE_PARSE_ERROR, why)));
    }

    /// Tells why the run stays in its world.
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
        self.answer(Response::of(failed("the run has ended or goes over to another world")));
    }
}

/// A scenario as a world that can be loaded.
pub(crate) fn offered(scenario: OfferedScenario) -> WorldResource {
    let uri = worlds::uri_of(&scenario.file);
    worlds::resource(scenario.name, uri, scenario.description, &[SCENARIO])
}

/// That nobody takes requests here.
pub(crate) fn nobody_loads() -> ResultCode {
    unsupported(
        "the nodes of this run are separate processes, made for its world from start to end; `selene run` goes over to \
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
    fn one_world_is_asked_for_at_a_time_and_everybody_is_answered() {
        let (worlds, asked) = Worlds::offering(Vec::<OfferedScenario>::new);
        let bus = InProcess::new();
        let on = move |request: LoadWorldRequest, reply| worlds.ask(request.world_resource.uri.into(), reply);
        let _served = serve::<LoadWorld>(&bus, "/load_world", on).expect("served");
        let client = Client::<LoadWorld>::new(&bus, "/load_world").expect("a name");
        let ask = |uri: &str| {
            let world_resource = Resource { uri: uri.to_owned(), ..Resource::default() };
            client.call(&LoadWorldRequest { world_resource, ..LoadWorldRequest::default() }).expect("served")
        };
        let (first, second) = (ask("/a.yaml"), ask("/b.yaml"));
        let full = second.try_recv().expect("an answer").result;
        assert!(full.result == ResultCode::RESULT_OPERATION_FAILED && full.error_message.contains("another world"));
        assert_eq!(first.try_recv().err(), Some(TryRecvError::Empty));
        let request = asked.try_recv().expect("a request");
        assert_eq!(request.file(), Path::new("/a.yaml"));
        request.refuse_file("line 3");
        assert_eq!(first.try_recv().expect("an answer").result.error_message, "line 3");
        let waiting = ask("/c.yaml");
        drop(asked);
        assert!(waiting.try_recv().expect("an answer").result.error_message.contains("has ended"));
        assert!(ask("/d.yaml").try_recv().expect("an answer").result.error_message.contains("has ended"));
    }
}
