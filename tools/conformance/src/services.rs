//! Checks of the services of `simulation_interfaces` under the simulation node's name: services that exist must answer,
//! and `get_simulator_features` must describe what they support. Only getters are called, so nothing is changed.

use std::thread;
use std::time::{Duration, Instant};

use selene_ros::simulation_interfaces::{Result as Outcome, SimulatorFeatures as Has, srv};
use selene_ros::transport::Transport;
use selene_ros::{Client, Service};

use crate::finding::Finding;

/// Names of the simulation node: in `selene run`, as a separate process, and for services at the root.
const NODES: [&str; 3] = ["/selene", "/selene_simulation", ""];
const FEATURES: &str = "get_simulator_features";
/// Time to wait for an answer, in wall time.
const ANSWER_MAX: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceReply {
    NotServed,
    /// The service exists, but did not answer in time.
    Silent,
    /// The answer's result code.
    Result(u8),
}

/// Calls the existing services and compares their answers; looks for services during `timeout`, in wall time.
pub(crate) fn check(transport: &dyn Transport, timeout: Duration) -> Vec<Finding> {
    let clients = NODES.map(|node| (node, client::<srv::GetSimulatorFeatures>(transport, node, FEATURES)));
    let served = || clients.iter().find(|(_, client)| client.as_ref().is_some_and(Client::is_served));
    wait_for(timeout, || served().is_some());
    let Some((node, Some(client))) = served() else {
        let expected = "answers, where a simulation serves them";
        return vec![Finding::not_measured("services of simulation_interfaces", "not served", expected)];
    };
    let what = format!("{node}/{FEATURES}");
    let Some(response) = call(client, &srv::GetSimulatorFeaturesRequest::default()) else {
        return vec![Finding::new(what, false, "no answer", format!("an answer within {} s", ANSWER_MAX.as_secs()))];
    };
    let reported = response.features.features;
    let known = Finding::new(what, true, format!("{} features", reported.len()), "an answer");
    let requested = ServiceCaller { transport, timeout, node, reported: &reported };
    [vec![known], requested.world(), requested.entities()].concat()
}

/// Calls getters of a simulation whose features are known.
struct ServiceCaller<'a> {
    transport: &'a dyn Transport,
    timeout: Duration,
    node: &'a str,
    reported: &'a [u16],
}

impl ServiceCaller<'_> {
    fn world(&self) -> Vec<Finding> {
        let worlds = srv::GetAvailableWorldsRequest { offline_only: true, ..Default::default() };
        vec![
            self.get::<srv::GetSimulationState>(
                Some(Has::SIMULATION_STATE_GETTING),
                "get_simulation_state",
                &Default::default(),
                |r| &r.result,
            ),
            self.get::<srv::GetCurrentWorld>(
                Some(Has::WORLD_INFO_GETTING),
                "get_current_world",
                &Default::default(),
                |r| &r.result,
            ),
            self.get::<srv::GetAvailableWorlds>(Some(Has::AVAILABLE_WORLDS), "get_available_worlds", &worlds, |r| {
                &r.result
            }),
            self.get::<srv::GetNamedPoses>(Some(Has::NAMED_POSES), "get_named_poses", &Default::default(), |r| {
                &r.result
            }),
            self.get::<srv::GetSpawnables>(Some(Has::SPAWNABLES), "get_spawnables", &Default::default(), |r| &r.result),
        ]
    }

    fn entities(&self) -> Vec<Finding> {
        let names = self.get::<srv::GetEntities>(None, "get_entities", &Default::default(), |r| &r.result);
        let Some(entity) = self.first_entity() else { return vec![names] };
        let state = srv::GetEntityStateRequest { entity: entity.clone() };
        let info = srv::GetEntityInfoRequest { entity: entity.clone() };
        let bounds = srv::GetEntityBoundsRequest { entity };
        vec![
            names,
            self.get::<srv::GetEntityState>(Some(Has::ENTITY_STATE_GETTING), "get_entity_state", &state, |r| &r.result),
            self.get::<srv::GetEntityInfo>(Some(Has::ENTITY_INFO_GETTING), "get_entity_info", &info, |r| &r.result),
            self.get::<srv::GetEntityBounds>(Some(Has::ENTITY_BOUNDS), "get_entity_bounds", &bounds, |r| &r.result),
        ]
    }

    fn first_entity(&self) -> Option<String> {
        let client = client::<srv::GetEntities>(self.transport, self.node, "get_entities")?;
        wait_for(self.timeout, || client.is_served());
        call(&client, &srv::GetEntitiesRequest::default())?.entities.into_iter().next()
    }

    /// Calls a getter; one without a feature must always answer.
    fn get<S: Service>(
        &self,
        feature: Option<u8>,
        name: &str,
        request: &S::Request,
        result: fn(&S::Response) -> &Outcome,
    ) -> Finding {
        let is_reported = feature.is_none_or(|feature| self.reported.contains(&u16::from(feature)));
        let answer = self.answer::<S>(name, request, result);
        judge(&format!("{}/{name}", self.node), is_reported, answer)
    }

    fn answer<S: Service>(
        &self,
        name: &str,
        request: &S::Request,
        result: fn(&S::Response) -> &Outcome,
    ) -> ServiceReply {
        let Some(client) = client::<S>(self.transport, self.node, name) else { return ServiceReply::NotServed };
        if !wait_for(self.timeout, || client.is_served()) {
            return ServiceReply::NotServed;
        }
        call(&client, request).map_or(ServiceReply::Silent, |response| ServiceReply::Result(result(&response).result))
    }
}

/// Checks an answer against the features. Codes above 100 are specific to a service: it supports the feature.
fn judge(what: &str, is_reported: bool, answer: ServiceReply) -> Finding {
    let holds = match (answer, is_reported) {
        (ServiceReply::Result(code), true) => code == Outcome::RESULT_OK || code > 100,
        (ServiceReply::Result(code), false) => code == Outcome::RESULT_FEATURE_UNSUPPORTED,
        (ServiceReply::NotServed, reported) => !reported,
        (ServiceReply::Silent, _) => false,
    };
    let measured = match answer {
        ServiceReply::NotServed => "not served".to_owned(),
        ServiceReply::Silent => "no answer".to_owned(),
        ServiceReply::Result(code) => format!("result {code}"),
    };
    let expected = if is_reported {
        "result 1 (OK), as the features state"
    } else {
        "result 0 (FEATURE_UNSUPPORTED), as the features state"
    };
    Finding::new(what, holds, measured, expected)
}

/// A client; `None` if the transport has no services.
fn client<S: Service>(transport: &dyn Transport, node: &str, name: &str) -> Option<Client<S>> {
    Client::new(transport, &format!("{node}/{name}")).ok()
}

fn call<S: Service>(client: &Client<S>, request: &S::Request) -> Option<S::Response> {
    client.call(request).ok()?.recv_timeout(ANSWER_MAX).ok()
}

/// Waits until `holds` is true; false on a timeout.
fn wait_for(timeout: Duration, holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > timeout {
            return false;
        }
        thread::sleep(POLL);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{ServiceReply, check, judge};
    use selene_ros::in_process::InProcess;
    use selene_ros::simulation_interfaces::{Result as Outcome, SimulatorFeatures, srv};
    use selene_ros::transport::Subscription;
    use selene_ros::{Reply, serve};
    use std::time::Duration;

    #[test]
    fn a_getter_does_what_the_features_state() {
        for (is_reported, answer, holds) in [
            (true, ServiceReply::Result(Outcome::RESULT_OK), true),
            (true, ServiceReply::Result(101), true),
            (true, ServiceReply::Result(Outcome::RESULT_FEATURE_UNSUPPORTED), false),
            (true, ServiceReply::NotServed, false),
            (false, ServiceReply::NotServed, true),
            (false, ServiceReply::Result(Outcome::RESULT_FEATURE_UNSUPPORTED), true),
            (false, ServiceReply::Result(Outcome::RESULT_OK), false),
            (false, ServiceReply::Silent, false),
        ] {
            assert_eq!(judge("x", is_reported, answer).is_failure(), !holds, "{is_reported} {answer:?}");
        }
    }

    /// A simulation that declares these features, but supports only `get_simulation_state`.
    fn simulation(transport: &InProcess, features: &[u8]) -> Vec<Subscription> {
        let features = SimulatorFeatures {
            features: features.iter().map(|feature| u16::from(*feature)).collect(),
            ..SimulatorFeatures::default()
        };
        let report = move |_, reply: Reply<srv::GetSimulatorFeatures>| {
            reply.send(&srv::GetSimulatorFeaturesResponse { features: features.clone() }).expect("sent");
        };
        let ok = Outcome { result: Outcome::RESULT_OK, ..Outcome::default() };
        let entities_ok = ok.clone();
        let state = move |_, reply: Reply<srv::GetSimulationState>| {
            reply.send(&srv::GetSimulationStateResponse { result: ok.clone(), ..Default::default() }).expect("sent");
        };
        let entities = move |_, reply: Reply<srv::GetEntities>| {
            reply.send(&srv::GetEntitiesResponse { result: entities_ok.clone(), ..Default::default() }).expect("sent");
        };
        vec![
            serve::<srv::GetSimulatorFeatures>(transport, "/selene/get_simulator_features", report).expect("served"),
            serve::<srv::GetSimulationState>(transport, "/selene/get_simulation_state", state).expect("served"),
            serve::<srv::GetEntities>(transport, "/selene/get_entities", entities).expect("served"),
        ]
    }

    fn failures(features: &[u8]) -> usize {
        let transport = InProcess::new();
        let _served = simulation(&transport, features);
        check(&transport, Duration::ZERO).iter().filter(|finding| finding.is_failure()).count()
    }

    #[test]
    fn features_that_are_reported_and_those_that_are_there_agree() {
        assert_eq!(failures(&[SimulatorFeatures::SIMULATION_STATE_GETTING]), 0);
        assert_eq!(failures(&[]), 1, "the state is published, the feature is not");
        let more = [SimulatorFeatures::SIMULATION_STATE_GETTING, SimulatorFeatures::SPAWNABLES];
        assert_eq!(failures(&more), 1, "spawnables are not there");
    }

    #[test]
    fn a_simulation_without_services_is_no_failure() {
        let findings = check(&InProcess::new(), Duration::ZERO);
        assert!(findings.len() == 1 && !findings[0].is_failure(), "{findings:?}");
    }
}
