//! The services that every ROS 2 node has under its name: parameters, and descriptions of types.

use std::sync::Arc;

use selene_ros::parameters::{Parameters, ServedParameters, serve_parameters};
use selene_ros::transport::{Subscription, TransportError};
use selene_ros::type_description::serve_type_descriptions;

use crate::meter::Meter;
use crate::remap::Names;

/// The services of a node; dropping this ends them.
#[must_use = "a node has its services until this is dropped"]
pub(crate) struct OwnServices {
    _parameters: Option<ServedParameters>,
    _types: Option<Subscription>,
}

/// Serves them. If the middleware refuses one, the run continues without it and logs a warning: an `r2r` build on a
/// ROS 2 without type descriptions still has parameters.
pub(crate) fn serve(transport: &Arc<Meter>, names: &Names, parameters: Parameters) -> OwnServices {
    let node = names.full();
    OwnServices {
        _parameters: reported(serve_parameters(&**transport, &node, parameters, transport.clock())),
        _types: reported(serve_type_descriptions(&**transport, &node)),
    }
}

fn reported<T>(served: Result<T, TransportError>) -> Option<T> {
    served.inspect_err(|error| tracing::warn!("the run goes on without it: {error}")).ok()
}

#[cfg(test)]
mod tests {
    use super::serve;
    use crate::meter::Meter;
    use crate::remap::Names;
    use selene_ros::in_process::InProcess;
    use selene_ros::parameters::Parameters;
    use selene_ros::rcl_interfaces::srv::{ListParameters, ListParametersRequest};
    use selene_ros::type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionRequest};
    use selene_ros::{Client, Message, rosgraph_msgs};
    use std::sync::Arc;

    #[test]
    fn a_node_reports_its_parameters_and_the_types_of_its_topics() {
        let bus = InProcess::new();
        let meter = Arc::new(Meter::new(Arc::new(bus.clone())));
        let served = serve(&meter, &Names::plain("selene_camera"), Parameters::default());
        let parameters = Client::<ListParameters>::new(&bus, "/selene_camera/list_parameters").expect("a name");
        let listed = parameters.call(&ListParametersRequest::default()).expect("served").try_recv().expect("an answer");
        assert_eq!(listed.result.names, ["use_sim_time"]);
        let types = Client::<GetTypeDescription>::new(&bus, "/selene_camera/get_type_description").expect("a name");
        let clock = GetTypeDescriptionRequest {
            type_name: rosgraph_msgs::Clock::TYPE_NAME.to_owned(),
            type_hash: rosgraph_msgs::Clock::TYPE_HASH.to_owned(),
            include_type_sources: false,
        };
        let reported = types.call(&clock).expect("served").try_recv().expect("an answer");
        assert!(reported.successful, "{}", reported.failure_reason);
        assert_eq!(reported.type_description.type_description.fields[0].name, "clock");
        drop(served);
        assert!(!types.is_served() && !parameters.is_served());
    }
}
