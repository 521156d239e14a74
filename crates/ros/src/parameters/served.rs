//! The six parameter services that every ROS 2 node has, and the initial values and changes on `/parameter_events`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;

use super::{ParameterError, Parameters, TypedValue};
use crate::dropped::Dropped;
use crate::qos::Qos;
use crate::rcl_interfaces::srv::{
    DescribeParameters, DescribeParametersRequest, DescribeParametersResponse, GetParameterTypes,
    GetParameterTypesRequest, GetParameterTypesResponse, GetParameters, GetParametersRequest, GetParametersResponse,
    ListParameters, ListParametersRequest, ListParametersResponse, SetParameters, SetParametersAtomically,
    SetParametersAtomicallyRequest, SetParametersAtomicallyResponse, SetParametersRequest, SetParametersResponse,
};
use crate::rcl_interfaces::{self, ParameterEvent, ParameterType, ParameterValue, SetParametersResult};
use crate::service::{Reply, Service, serve};
use crate::transport::{Publisher, Subscription, Transport, TransportError};

/// The topic on which all nodes publish changes of parameters.
pub const PARAMETER_EVENTS: &str = "/parameter_events";
/// Quality of service of that topic (`rmw_qos_profile_parameter_events`).
const EVENTS_QOS: Qos = Qos { depth: 1000, ..Qos::reliable() };

/// Parameters that are served until this is dropped.
#[must_use = "parameters are served until this is dropped"]
pub struct ServedParameters {
    _services: Vec<Subscription>,
}

/// Serves `parameters` as those of the node with full name `node`, such as `/selene`. `now` stamps their changes; it
/// must not own the transport, because the transport's own thread may drop it.
///
/// # Errors
/// When the name is not a ROS name, the services are served already, or the middleware refuses.
pub fn serve_parameters(
    transport: &dyn Transport,
    node: &str,
    parameters: Parameters,
    now: impl Fn() -> SimTime + Send + Sync + 'static,
) -> Result<ServedParameters, TransportError> {
    let shared = Arc::new(Shared {
        node: node.to_owned(),
        parameters: Mutex::new(parameters),
        events: Publisher::new(transport, PARAMETER_EVENTS, EVENTS_QOS)?,
        now: Box::new(now),
        unsent: Dropped::new(node),
    });
    let services = vec![
        shared.serve::<DescribeParameters>(transport, "describe_parameters", Shared::describe)?,
        shared.serve::<GetParameters>(transport, "get_parameters", Shared::get)?,
        shared.serve::<GetParameterTypes>(transport, "get_parameter_types", Shared::types)?,
        shared.serve::<ListParameters>(transport, "list_parameters", Shared::list)?,
        shared.serve::<SetParameters>(transport, "set_parameters", Shared::set)?,
        shared.serve::<SetParametersAtomically>(transport, "set_parameters_atomically", Shared::set_atomically)?,
    ];
    shared.report_all();
    Ok(ServedParameters { _services: services })
}

/// State shared by the services.
struct Shared {
    node: String,
    parameters: Mutex<Parameters>,
    events: Publisher<ParameterEvent>,
    now: Box<dyn Fn() -> SimTime + Send + Sync>,
    /// Counts responses and events that could not be sent.
    unsent: Dropped,
}

impl Shared {
    fn serve<S: Service>(
        self: &Arc<Self>,
        transport: &dyn Transport,
        service: &str,
        answer: fn(&Self, &S::Request) -> S::Response,
    ) -> Result<Subscription, TransportError> {
        let shared = Arc::clone(self);
        serve::<S>(transport, &format!("{}/{service}", self.node), move |request, reply: Reply<S>| {
            shared.sent(reply.send(&answer(&shared, &request)));
        })
    }

    fn describe(&self, request: &DescribeParametersRequest) -> DescribeParametersResponse {
        let parameters = self.lock();
        DescribeParametersResponse {
            descriptors: request.names.iter().map(|name| parameters.described(name)).collect(),
        }
    }

    fn get(&self, request: &GetParametersRequest) -> GetParametersResponse {
        let parameters = self.lock();
        // A parameter that is not declared is answered as "not set".
        let value =
            |name: &String| parameters.value(name).map_or_else(ParameterValue::default, |value| value.to_message());
        GetParametersResponse { values: request.names.iter().map(value).collect() }
    }

    fn types(&self, request: &GetParameterTypesRequest) -> GetParameterTypesResponse {
        let parameters = self.lock();
        let of =
            |name: &String| parameters.value(name).map_or(ParameterType::PARAMETER_NOT_SET, |value| value.ros_type());
        GetParameterTypesResponse { types: request.names.iter().map(of).collect() }
    }

    fn list(&self, request: &ListParametersRequest) -> ListParametersResponse {
        ListParametersResponse { result: self.lock().listed(request) }
    }

    fn set(&self, request: &SetParametersRequest) -> SetParametersResponse {
        let each = |parameter: &rcl_interfaces::Parameter| result(self.change(std::slice::from_ref(parameter)));
        SetParametersResponse { results: request.parameters.iter().map(each).collect() }
    }

    fn set_atomically(&self, request: &SetParametersAtomicallyRequest) -> SetParametersAtomicallyResponse {
        SetParametersAtomicallyResponse { result: result(self.change(&request.parameters)) }
    }

    /// Sets all of `requested` or none, and publishes the change.
    fn change(&self, requested: &[rcl_interfaces::Parameter]) -> Result<(), ParameterError> {
        {
            let mut parameters = self.lock();
            let values = requested.iter().map(|one| given(&parameters, one)).collect::<Result<Vec<_>, _>>()?;
            parameters.set_all(&values)?;
        }
        // Without the lock, since a subscriber may request parameters at once.
        if !requested.is_empty() {
            self.publish_event(requested);
        }
        Ok(())
    }

    fn publish_event(&self, changed: &[rcl_interfaces::Parameter]) {
        self.publish(ParameterEvent { changed_parameters: changed.to_vec(), ..ParameterEvent::default() });
    }

    /// Publishes the initial parameters, as a ROS 2 node does when it declares them.
    fn report_all(&self) {
        let new_parameters = self.lock().to_messages();
        self.publish(ParameterEvent { new_parameters, ..ParameterEvent::default() });
    }

    fn publish(&self, event: ParameterEvent) {
        let now = (self.now)();
        let event = ParameterEvent { stamp: now.into(), node: self.node.clone(), ..event };
        self.sent(self.events.publish(&event, now));
    }

    fn sent(&self, sent: Result<(), TransportError>) {
        if let Err(error) = sent {
            self.unsent.add(error);
        }
    }

    /// The parameters are consistent even if a thread panicked while holding the lock.
    fn lock(&self) -> MutexGuard<'_, Parameters> {
        self.parameters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name and value in a request; refuses undeclared parameters and types that no parameter has.
fn given(
    parameters: &Parameters,
    requested: &rcl_interfaces::Parameter,
) -> Result<(String, TypedValue), ParameterError> {
    let declared = parameters.declared(&requested.name)?;
    let value = TypedValue::from_message(&requested.value).map_err(|given| declared.wrong_type(given.to_owned()))?;
    Ok((requested.name.clone(), value))
}

fn result(set: Result<(), ParameterError>) -> SetParametersResult {
    match set {
        Ok(()) => SetParametersResult { successful: true, reason: String::new() },
        Err(why) => SetParametersResult { successful: false, reason: why.to_string() },
    }
}
