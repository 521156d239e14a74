//! Generates the functions that find `r2r`'s types by name. `r2r` generates types for the interface packages that are
//! sourced when it is built; they are found here in the same way as in its own build. Without a sourced ROS 2
//! (`r2r-doc-only`), only the packages that it cannot do without are listed.

use crate::Interfaces;
use crate::parse::{Key, Kind};

/// Packages whose interfaces `r2r` always has.
const ALWAYS: [&str; 2] = ["action_msgs", "rcl_interfaces"];
/// Suffixes of the services and the message that rosidl derives from an action.
const SEND_GOAL: &str = "_SendGoal";
const GET_RESULT: &str = "_GetResult";
const FEEDBACK: &str = "_FeedbackMessage";

/// A function from a service's name to its `ServiceType`, and one from a message's name to its `MessageType`, for
/// messages that `r2r` cannot find by name itself.
pub(crate) fn code(interfaces: &Interfaces) -> String {
    r2r_common::print_cargo_watches();
    let sourced: Vec<Key> = r2r_common::get_wanted_messages().iter().filter_map(key).collect();
    let is_there = |key: &&Key| {
        let is_always = cfg!(feature = "r2r-doc-only") && ALWAYS.contains(&key.package.as_str());
        is_always || sourced.contains(&whole(key))
    };
    let service = |key: &Key| format!("{}::Service", path(key));
    let services: Vec<_> = interfaces.services.iter().filter(is_there).map(|key| (key.clone(), service(key))).collect();
    let feedback = |key: &Key| (key.with(FEEDBACK), format!("{}::FeedbackMessage", path(key)));
    let feedbacks: Vec<_> = interfaces.actions.iter().filter(is_there).map(feedback).collect();
    find("service", "ServiceType", &services) + &find("feedback", "MessageType", &feedbacks)
}

fn find(function: &str, of: &str, types: &[(Key, String)]) -> String {
    let arm = |(key, path): &(Key, String)| format!("        \"{}\" => Some({of}::of::<{path}>()),\n", key.type_name());
    let arms: String = types.iter().map(arm).collect();
    format!(
        "/// The type with this name, if `r2r` was built with it.\nfn {function}(type_name: &str) -> Option<{of}> {{\n    \
         match type_name {{\n{arms}        _ => None,\n    }}\n}}\n\n"
    )
}

fn key(message: &r2r_common::RosMsg) -> Option<Key> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.folder() == message.prefix)?;
    Some(Key::new(&message.module, kind, &message.name))
}

/// The interface whose text contains `key`.
fn whole(key: &Key) -> Key {
    let name = part_of_action(key).map_or(&*key.name, |(action, _)| action);
    Key::new(&key.package, key.kind, name)
}

/// The path of a type in `r2r`: parts of an action are in the action's own module.
fn path(key: &Key) -> String {
    let (name, part) = part_of_action(key).unwrap_or((&key.name, ""));
    let path = format!("r2r::{}::{}::{name}", key.package, key.kind.folder());
    if part.is_empty() { path } else { format!("{path}::{}", part.trim_start_matches('_')) }
}

/// An action's name and the suffix that rosidl appended to it.
fn part_of_action(key: &Key) -> Option<(&str, &'static str)> {
    let parts = [SEND_GOAL, GET_RESULT];
    let split = |part: &'static str| key.name.strip_suffix(part).map(|action| (action, part));
    (key.kind == Kind::Action).then(|| parts.into_iter().find_map(split)).flatten()
}
