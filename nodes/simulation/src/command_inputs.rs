//! Commands from outside, for each rover under its namespace: `cmd_vel` (TwistStamped, or Twist when asked
//! for), `ackermann_cmd`, `joint_trajectory`, `<joint>/command` for every drive, steer and
//! servo, and `lamps/<name>/command` for every lamp. They are queued as they arrive and handed to the world
//! between heartbeats.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_ros::transport::{Subscription, Transport, TransportError, subscribe};
use selene_ros::{Message, Qos, ackermann_msgs, builtin_interfaces, geometry_msgs, std_msgs, trajectory_msgs};
use selene_sim::{
    Actuator, Command, EntityId, JointCommand, JointTrajectory, LampCommand, RoverSetup, TrajectoryPoint,
};
use selene_sim::{Model, World};
use selene_vehicle::{Ackermann, BodyTwist};

pub(crate) struct CommandInputs {
    transport: Arc<dyn Transport>,
    /// Take `cmd_vel` as Twist.
    unstamped: bool,
    queue: Sender<(EntityId, Command)>,
    arrived: Receiver<(EntityId, Command)>,
    rovers: BTreeMap<EntityId, Vec<Subscription>>,
}

impl CommandInputs {
    pub(crate) fn new(transport: &Arc<dyn Transport>, unstamped: bool) -> Self {
        let (queue, arrived) = channel();
        Self { transport: Arc::clone(transport), unstamped, queue, arrived, rovers: BTreeMap::new() }
    }

    /// Listens for these rovers alone.
    pub(crate) fn follow(&mut self, model: &Model, rovers: &[EntityId]) -> Result<(), NodeError> {
        self.rovers.retain(|id, _| rovers.contains(id));
        for id in rovers {
            let Some(kind) = model.rovers().get(id).filter(|_| !self.rovers.contains_key(id)) else { continue };
            let (transport, queue) = (self.transport.as_ref(), self.queue.clone());
            let of_rover = RoverTopics { transport, setup: kind.setup(), rover: *id, queue };
            self.rovers.insert(*id, of_rover.open(self.unstamped)?);
        }
        Ok(())
    }

    /// Hands what has arrived to the world. What is for a rover that is not there any more is for nobody.
    pub(crate) fn hand_to(&self, world: &mut World) {
        for (rover, command) in self.arrived.try_iter() {
            if let Err(error) = world.drive(rover, command) {
                tracing::warn!("a command was not taken: {error}");
            }
        }
    }
}

/// The topics of one rover.
struct RoverTopics<'a> {
    transport: &'a dyn Transport,
    setup: &'a RoverSetup,
    rover: EntityId,
    queue: Sender<(EntityId, Command)>,
}

impl RoverTopics<'_> {
    fn open(&self, unstamped: bool) -> Result<Vec<Subscription>, NodeError> {
        let mut subscriptions = vec![
            if unstamped {
                self.takes("cmd_vel", |message: geometry_msgs::Twist| body(&message))?
            } else {
                self.takes("cmd_vel", |message: geometry_msgs::TwistStamped| body(&message.twist))?
            },
            self.takes("ackermann_cmd", |message: ackermann_msgs::AckermannDriveStamped| ackermann(&message.drive))?,
            self.takes("joint_trajectory", trajectory)?,
        ];
        for Actuator { name, .. } in Actuator::of(&self.setup.model) {
            subscriptions.extend(self.takes_joint(&name)?);
        }
        for lamp in self.setup.model.lamps() {
            subscriptions.push(self.takes_lamp(&lamp.spec.name)?);
        }
        Ok(subscriptions)
    }

    fn takes<M: Message>(
        &self,
        topic: &str,
        command: impl Fn(M) -> Command + Send + Sync + 'static,
    ) -> Result<Subscription, TransportError> {
        let (queue, rover) = (self.queue.clone(), self.rover);
        // The queue closes with the node: nobody is then left to obey.
        let take = move |message| drop(queue.send((rover, command(message))));
        subscribe(self.transport, &self.setup.topic(topic), Qos::reliable(), take)
    }

    /// The topic of one lamp: part of its full flux.
    fn takes_lamp(&self, name: &str) -> Result<Subscription, TransportError> {
        let lamp = name.to_owned();
        let command =
            move |message: std_msgs::Float64| Command::Lamp(LampCommand { lamp: lamp.clone(), level: message.data });
        self.takes(&format!("lamps/{name}/command"), command)
    }

    /// The topic of one joint; none, and said, for a name that ROS 2 does not allow: a
    /// trajectory still reaches that joint.
    fn takes_joint(&self, name: &str) -> Result<Option<Subscription>, TransportError> {
        let joint = name.to_owned();
        let command = move |message: std_msgs::Float64| {
            Command::Joint(JointCommand { joint: joint.clone(), target: message.data })
        };
        match self.takes(&format!("{name}/command"), command) {
            Err(TransportError::Topic(error)) => {
                tracing::warn!(joint = name, "no command topic: {error}; joint_trajectory reaches the joint");
                Ok(None)
            }
            taken => taken.map(Some),
        }
    }
}

fn body(twist: &geometry_msgs::Twist) -> Command {
    Command::Body(BodyTwist { forward_m_s: twist.linear.x, left_m_s: twist.linear.y, turn_rad_s: twist.angular.z })
}

fn ackermann(drive: &ackermann_msgs::AckermannDrive) -> Command {
    Command::Ackermann(Ackermann {
        speed_m_s: drive.speed.into(),
        steering_angle_rad: drive.steering_angle.into(),
        steering_rate_rad_s: drive.steering_angle_velocity.into(),
        acceleration_m_s2: drive.acceleration.into(),
        jerk_m_s3: drive.jerk.into(),
    })
}

/// A zero stamp starts it at once.
fn trajectory(message: trajectory_msgs::JointTrajectory) -> Command {
    let stamp = SimTime::from(message.header.stamp);
    let point = |point: trajectory_msgs::JointTrajectoryPoint| TrajectoryPoint {
        time: duration(point.time_from_start),
        positions: point.positions,
        velocities: point.velocities,
    };
    Command::Trajectory(JointTrajectory {
        start: (stamp != SimTime::ZERO).then_some(stamp),
        joints: message.joint_names,
        points: message.points.into_iter().map(point).collect(),
    })
}

fn duration(span: builtin_interfaces::Duration) -> SimTime {
    SimTime::from_sec_nanosec(span.sec, span.nanosec)
}
