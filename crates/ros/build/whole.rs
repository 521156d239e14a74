//! Types of services and actions as a whole, and of events of services. rosidl derives them (`rosidl_parser`, Jazzy);
//! Selene never sends them, but peers identify and describe a service by them.

use crate::parse::{Interface, Key, Kind, part};

/// `service_msgs/msg/ServiceEventInfo`, with which each event begins. It is not one of the interfaces: those are sent
/// or received, and their packages are needed wherever Selene is built with an installed ROS 2.
pub(crate) fn event_info() -> (Key, &'static str) {
    (Key::new("service_msgs", Kind::Message, "ServiceEventInfo"), include_str!("ServiceEventInfo.msg"))
}

/// The event type of a service, and the type of the service as a whole.
pub(crate) fn service(key: &Key) -> Result<Vec<Interface>, String> {
    let of = key.type_name();
    let event = format!("service_msgs/ServiceEventInfo info\n{of}_Request[<=1] request\n{of}_Response[<=1] response");
    let whole = format!("{of}_Request request_message\n{of}_Response response_message\n{of}_Event event_message");
    Ok(vec![read(key.with("_Event"), &event)?, read(key.clone(), &whole)?])
}

/// The type of the action as a whole.
pub(crate) fn action(key: &Key) -> Result<Interface, String> {
    let of = key.type_name();
    let whole = format!(
        "{of}_Goal goal\n{of}_Result result\n{of}_Feedback feedback\n{of}_SendGoal send_goal_service\n\
         {of}_GetResult get_result_service\n{of}_FeedbackMessage feedback_message"
    );
    read(key.clone(), &whole)
}

fn read(key: Key, text: &str) -> Result<Interface, String> {
    part(key, 1, &text.lines().collect::<Vec<_>>())
}
