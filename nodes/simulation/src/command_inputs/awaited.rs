//! Subscribes to topics that the scenario waits for. Command topics are subscribed to elsewhere; the others here, with
//! the type that the scenario gives. All subscriptions are reliable, which is the default of ROS 2 publishers.

use std::sync::Arc;

use selene_coherence::NodeError;
use selene_ros::message::{INTERFACES, Interface};
use selene_ros::stamp::{begins_with_header, header_stamp};
use selene_ros::transport::{Subscription, Transport};
use selene_ros::{Encoded, Message, Qos, Topic, ackermann_msgs, geometry_msgs, std_msgs, trajectory_msgs};
use selene_sim::{Actuator, AwaitedTopic, EntityId, Model, RoverSetup};

use super::arrivals::Mailbox;
use super::{ACKERMANN, CMD_VEL, ReceivedMessage, TRAJECTORY, joint_topic, lamp_topic};

/// Subscribes to all awaited topics that carry no commands; refuses types that are unknown or do not fit.
pub(super) fn listen(
    transport: &dyn Transport,
    model: &Model,
    unstamped: bool,
    mailbox: &Arc<Mailbox>,
) -> Result<Vec<Subscription>, NodeError> {
    let mut subscriptions = Vec::new();
    for awaited in &model.scenario().lockstep {
        let refused = |what: String| NodeError::Lockstep {
            scenario: model.scenario().file().display().to_string(),
            topic: awaited.name.clone(),
            what,
        };
        let of_command = command_type(model, unstamped, &awaited.name);
        if let Some(interface) = foreign_type(awaited, of_command).map_err(refused)? {
            let Interface { type_name, definition, type_hash } = interface;
            let topic = Topic { name: awaited.name.clone(), type_name, definition, type_hash, qos: Qos::reliable() };
            subscriptions.push(note_all(transport, &topic, Arc::clone(mailbox))?);
        }
    }
    Ok(subscriptions)
}

/// The rover that takes commands on a topic; `None` if it is no command topic.
pub(super) fn rover_of(model: &Model, topic: &str) -> Option<EntityId> {
    let takes = |setup: &RoverSetup| command_topics(setup, false).iter().any(|(name, _)| name == topic);
    model.rovers().iter().find(|(_, kind)| takes(kind.setup())).map(|(id, _)| *id)
}

/// The message type of a command topic; `None` if it is no command topic.
fn command_type(model: &Model, unstamped: bool, topic: &str) -> Option<&'static str> {
    let mut topics = model.rovers().values().flat_map(|kind| command_topics(kind.setup(), unstamped));
    topics.find(|(name, _)| name == topic).map(|(_, type_name)| type_name)
}

/// The command topics of a rover, with their types.
fn command_topics(setup: &RoverSetup, unstamped: bool) -> Vec<(String, &'static str)> {
    let twist = if unstamped { geometry_msgs::Twist::TYPE_NAME } else { geometry_msgs::TwistStamped::TYPE_NAME };
    let whole = [
        (CMD_VEL, twist),
        (ACKERMANN, ackermann_msgs::AckermannDriveStamped::TYPE_NAME),
        (TRAJECTORY, trajectory_msgs::JointTrajectory::TYPE_NAME),
    ];
    let whole = whole.map(|(name, type_name)| (name.to_owned(), type_name));
    let joints = Actuator::of(&setup.model).into_iter().map(|actuator| joint_topic(&actuator.name));
    let lamps = setup.model.lamps().iter().map(|lamp| lamp_topic(&lamp.spec.name));
    let parts = joints.chain(lamps).map(|name| (name, std_msgs::Float64::TYPE_NAME));
    whole.into_iter().chain(parts).map(|(name, type_name)| (setup.topic(&name), type_name)).collect()
}

/// The type with which an awaited topic is subscribed to here; `None` for a command topic, whose type `of_command` is.
/// The error says what is wrong with the scenario's type.
fn foreign_type(awaited: &AwaitedTopic, of_command: Option<&'static str>) -> Result<Option<Interface>, String> {
    match (of_command, awaited.type_name.as_deref()) {
        (Some(taken), Some(given)) if taken != given => {
            Err(format!("has the type {given}; commands on it are {taken}"))
        }
        (Some(_), _) => Ok(None),
        (None, None) => Err("takes no commands: give its type, such as geometry_msgs/msg/TwistStamped".to_owned()),
        (None, Some(given)) => match INTERFACES.iter().find(|known| known.type_name == given) {
            Some(known) => Ok(Some(*known)),
            None => Err(format!("has the type {given}, which is not known here; known are {}", known_types())),
        },
    }
}

fn known_types() -> String {
    INTERFACES.iter().map(|known| known.type_name).collect::<Vec<_>>().join(", ")
}

/// Subscribes to an awaited topic without commands, and only notes that messages arrive.
fn note_all(transport: &dyn Transport, topic: &Topic, mailbox: Arc<Mailbox>) -> Result<Subscription, NodeError> {
    let (name, is_stamped): (Arc<str>, bool) = (topic.name.as_str().into(), begins_with_header(topic.definition));
    let sink = move |message: &Encoded| {
        let stamp = if is_stamped { header_stamp(message) } else { None };
        mailbox.put(ReceivedMessage { topic: Arc::clone(&name), stamp, command: None });
    };
    Ok(transport.subscribe(topic, Box::new(sink))?)
}

#[cfg(test)]
mod tests {
    use super::foreign_type;
    use selene_base::SimTime;
    use selene_sim::AwaitedTopic;
    use std::time::Duration;

    const TWIST: &str = "geometry_msgs/msg/TwistStamped";

    fn awaited(type_name: Option<&str>) -> AwaitedTopic {
        AwaitedTopic {
            name: "/cmd_vel".to_owned(),
            type_name: type_name.map(str::to_owned),
            period: SimTime::from_nanos(100_000_000),
            lag: SimTime::ZERO,
            timeout: Duration::from_secs(2),
            start_timeout: Duration::from_secs(30),
        }
    }

    #[test]
    fn commands_need_no_type_and_other_topics_one_that_is_known() {
        assert_eq!(foreign_type(&awaited(None), Some(TWIST)), Ok(None));
        assert_eq!(foreign_type(&awaited(Some(TWIST)), Some(TWIST)), Ok(None));
        let foreign = foreign_type(&awaited(Some("nav_msgs/msg/Path")), None);
        assert!(foreign.is_ok_and(|found| found.is_some_and(|known| known.type_name == "nav_msgs/msg/Path")));
        let refusal = |given, of_command| foreign_type(&awaited(given), of_command).expect_err("refused");
        assert!(refusal(Some("geometry_msgs/msg/Twist"), Some(TWIST)).contains(TWIST));
        assert!(refusal(None, None).contains("give its type"));
        assert!(refusal(Some("nav2_msgs/msg/Costmap"), None).contains("known are"));
    }
}
