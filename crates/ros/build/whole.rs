//! Services and actions as a whole, and events of services: types that rosidl makes
//! (`rosidl_parser`, Jazzy) and that Selene never sends, but by which peers know and
//! describe a service.

use crate::parse::{Interface, Key, Kind, part};

/// `service_msgs/msg/ServiceEventInfo`, with which each event begins. It is not among the interfaces: those are sent or
/// taken, and their packages are needed wherever Selene is built on another ROS 2.
pub(crate) fn event_info() -> (Key, &'static str) {
    (Key::new("service_msgs", Kind::Message, "ServiceEventInfo"), include_str!("ServiceEventInfo.msg"))
}

/// The event of a service, and the service itself.
pub(crate) fn service(key: &Key) -> Result<Vec<Interface>, String> {
    let of = key.type_name();
    let event = format!("service_msgs/ServiceEventInfo info\n{of}_Request[<=1] request\n{of}_Response[<=1] response");
    let whole = format!("{of}_Request request_message\n{of}_Response response_message\n{of}_Event event_message");
    Ok(vec![read(key.with("_Event"), &event)?, read(key.clone(), &whole)?])
}

/// The action itself.
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
