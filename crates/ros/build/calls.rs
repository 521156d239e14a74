//! Generates the Rust text of services and actions: for each a unit type that names its messages.

use crate::Interfaces;
use crate::generate::{docs, rust_name};
use crate::parse::Key;

/// The unit type of a service.
pub(crate) fn service(key: &Key, interfaces: &Interfaces) -> String {
    let (name, type_name) = (rust_name(key), key.type_name());
    let doc = doc(key, "_Request", interfaces);
    format!(
        "{doc}    #[derive(Clone, Copy, Debug)]\n    pub struct {name};\n\
         \x20   impl crate::service::Service for {name} {{\n\
         \x20       type Request = {name}Request;\n\
         \x20       type Response = {name}Response;\n\
         \x20       const TYPE_NAME: &'static str = \"{type_name}\";\n    }}\n"
    )
}

/// The unit type of an action, and the functions that build its messages.
pub(crate) fn action(key: &Key, interfaces: &Interfaces) -> String {
    let (name, type_name) = (rust_name(key), key.type_name());
    let doc = doc(key, "_Goal", interfaces);
    let uuid = "crate::message::unique_identifier_msgs::UUID";
    format!(
        "{doc}    #[derive(Clone, Copy, Debug)]\n    pub struct {name};\n\
         \x20   impl crate::action::Action for {name} {{\n\
         \x20       type Goal = {name}Goal;\n\
         \x20       type Result = {name}Result;\n\
         \x20       type Feedback = {name}Feedback;\n\
         \x20       type SendGoal = {name}SendGoal;\n\
         \x20       type GetResult = {name}GetResult;\n\
         \x20       type FeedbackMessage = {name}FeedbackMessage;\n\
         \x20       const TYPE_NAME: &'static str = \"{type_name}\";\n\
         \x20       fn goal(request: {name}SendGoalRequest) -> ({uuid}, {name}Goal) {{\n\
         \x20           (request.goal_id, request.goal)\n        }}\n\
         \x20       fn goal_answer(accepted: bool, stamp: crate::message::builtin_interfaces::Time) \
         -> {name}SendGoalResponse {{\n\
         \x20           {name}SendGoalResponse {{ accepted, stamp }}\n        }}\n\
         \x20       fn requested(request: &{name}GetResultRequest) -> {uuid} {{\n\
         \x20           request.goal_id\n        }}\n\
         \x20       fn result_answer(status: i8, result: {name}Result) -> {name}GetResultResponse {{\n\
         \x20           {name}GetResultResponse {{ status, result }}\n        }}\n\
         \x20       fn feedback(goal_id: {uuid}, feedback: {name}Feedback) -> {name}FeedbackMessage {{\n\
         \x20           {name}FeedbackMessage {{ goal_id, feedback }}\n        }}\n    }}\n"
    )
}

/// The comment at the beginning of its text, or its name.
fn doc(key: &Key, first_part: &str, interfaces: &Interfaces) -> String {
    let comment = interfaces.structs.get(&key.with(first_part)).map(|part| part.doc.clone());
    let doc = comment.filter(|doc| !doc.is_empty()).unwrap_or_else(|| format!("`{}`.", key.type_name()));
    docs(&doc, "    ")
}
