//! Receives commands for each rover under its namespace: `cmd_vel` (TwistStamped, or Twist by option), `ackermann_cmd`,
//! `joint_trajectory`, `<joint>/command` for every drive, steer and servo, and `lamps/<name>/command` for every lamp.
//! They wait from their arrival, of each topic the newest (`arrivals`), and are given to the world between heartbeats in the order of arrival. In a run that holds
//! for topics (`holds`) they are ordered by topic first; within a topic they keep the order of arrival, which for one
//! publisher is the order of sending.

mod arrivals;
mod awaited;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_ros::transport::{Subscription, Transport, TransportError, subscribe};
use selene_ros::{Message, Qos, ackermann_msgs, builtin_interfaces, geometry_msgs, std_msgs, trajectory_msgs};
use selene_sim::{
    Actuator, Command, EntityId, JointCommand, JointTrajectory, LampCommand, RoverKind, RoverSetup, TrajectoryPoint,
};
use selene_sim::{Model, World};
use selene_vehicle::{Ackermann, BodyTwist};

use crate::holds::{HoldReport, Holds};
use arrivals::{Arrivals, Mailbox, WAITING_MAX};

/// Minimum interval between two warnings of the same kind: timeouts of holds, dropped messages (wall time).
const WARN_EVERY: Duration = Duration::from_secs(1);
/// During a hold, the clock is published again after this long without a message, for nodes that missed it (wall time).
const REPEAT_EVERY: Duration = Duration::from_millis(100);

/// What is known of one command topic.
pub(crate) struct CommandTopic {
    pub(crate) name: String,
    /// Number of publishers outside this process; 0 if the transport does not know them.
    pub(crate) publishers: usize,
    /// Messages that were dropped because they did not decode or because too many waited.
    pub(crate) dropped: u64,
}

/// The command topics of each rover.
pub(crate) type CommandTopics = BTreeMap<EntityId, Vec<CommandTopic>>;

pub(crate) struct CommandInputs {
    transport: Arc<dyn Transport>,
    /// Whether `cmd_vel` is a Twist instead of a TwistStamped.
    unstamped: bool,
    mailbox: Arc<Mailbox>,
    /// Kind and command topics of each rover. The kind distinguishes a new rover from a removed one with the same number.
    rovers: BTreeMap<EntityId, (Arc<RoverKind>, Vec<Input>)>,
    /// Topics with several publishers, and how many there were when that was last logged.
    other_publishers: BTreeMap<String, usize>,
    /// Commands that are not given to the world yet.
    waiting: Arrivals,
    holds: Holds,
    warned: Option<Instant>,
    /// The number of dropped messages that was last logged, and when.
    dropped_logged: Option<(u64, Instant)>,
    /// Subscriptions to awaited topics that carry no commands.
    _awaited: Vec<Subscription>,
}

/// One command topic.
struct Input {
    topic: String,
    subscription: Subscription,
}

/// A message that has arrived.
struct ReceivedMessage {
    topic: Arc<str>,
    stamp: Option<SimTime>,
    /// `None` on an awaited topic that carries no commands.
    command: Option<(EntityId, Command)>,
}

impl CommandInputs {
    /// Inputs of a world at simulated time `now`; subscribes to awaited topics that carry no commands.
    pub(crate) fn new(
        transport: &Arc<dyn Transport>,
        model: &Model,
        unstamped: bool,
        now: SimTime,
    ) -> Result<Self, NodeError> {
        let mailbox = Arc::default();
        Ok(Self {
            _awaited: awaited::listen(transport.as_ref(), model, unstamped, &mailbox)?,
            transport: Arc::clone(transport),
            unstamped,
            mailbox,
            rovers: BTreeMap::new(),
            other_publishers: BTreeMap::new(),
            waiting: Arrivals::default(),
            holds: Holds::new(&model.scenario().lockstep, now),
            warned: None,
            dropped_logged: None,
        })
    }

    /// Opens and closes topics so that exactly these rovers take commands.
    pub(crate) fn follow(&mut self, model: &Model, rovers: &[EntityId]) -> Result<(), NodeError> {
        let is_same = |id: &EntityId, was: &Arc<RoverKind>| {
            rovers.contains(id) && model.rovers().get(id).is_some_and(|is| Arc::ptr_eq(is, was))
        };
        let is_all = self.rovers.len() == rovers.len();
        if is_all && self.rovers.iter().all(|(id, (was, _))| is_same(id, was)) {
            return Ok(());
        }
        self.rovers.retain(|id, (was, _)| is_same(id, was));
        for id in rovers {
            let Some(kind) = model.rovers().get(id).filter(|_| !self.rovers.contains_key(id)) else { continue };
            let (transport, mailbox) = (self.transport.as_ref(), Arc::clone(&self.mailbox));
            let of_rover = RoverTopics { transport, setup: kind.setup(), rover: *id, mailbox };
            self.rovers.insert(*id, (Arc::clone(kind), of_rover.open(self.unstamped)?));
        }
        let rovers = &self.rovers;
        self.holds.open(|topic| awaited::rover_of(model, topic).is_none_or(|id| rovers.contains_key(&id)));
        Ok(())
    }

    /// Begins anew after a reset to simulated time `now`: drops commands that arrived before it.
    pub(crate) fn begin_anew(&mut self, now: SimTime) {
        self.take_in();
        drop(self.waiting.take(|_| true));
        self.holds.begin_anew(now);
    }

    /// Each rover's command topics. Logs topics with several publishers whenever their number changes.
    pub(crate) fn topics(&mut self) -> CommandTopics {
        let topic = |input: &Input| CommandTopic {
            name: input.topic.clone(),
            publishers: self.transport.publishers_of(&input.topic).unwrap_or_default(),
            dropped: self.waiting.dropped(&input.topic) + input.subscription.undecodable(),
        };
        let of_rover = |(id, (_, inputs)): (&EntityId, &(Arc<RoverKind>, Vec<Input>))| {
            (*id, inputs.iter().map(topic).collect::<Vec<_>>())
        };
        let topics: CommandTopics = self.rovers.iter().map(of_rover).collect();
        let several = topics.values().flatten().filter(|topic| topic.publishers > 1);
        let other_publishers: BTreeMap<_, _> = several.map(|topic| (topic.name.clone(), topic.publishers)).collect();
        for (topic, count) in
            other_publishers.iter().filter(|(topic, count)| self.other_publishers.get(*topic) != Some(*count))
        {
            tracing::warn!("{topic} has {count} publishers: the rover does what the newest message says");
        }
        self.other_publishers = other_publishers;
        topics
    }

    /// Gives the world the commands that have arrived and may be taken now. Commands for removed rovers are dropped.
    pub(crate) fn hand_to(&mut self, world: &mut World) {
        self.take_in();
        let mut now = self.waiting.take(|topic| self.holds.takes(topic));
        if !self.holds.is_empty() {
            // The sort is stable, so that each topic's commands keep their order.
            now.sort_by_key(|arrival| Arc::clone(&arrival.topic));
        }
        for (rover, command) in now.into_iter().filter_map(|arrival| arrival.command) {
            if let Err(error) = world.drive(rover, command) {
                tracing::warn!("a command was not taken: {error}");
            }
        }
        self.holds.pass();
    }

    /// Called before a heartbeat at `now` is published; returns whether simulated time holds at it.
    pub(crate) fn begin_hold(&mut self, now: SimTime) -> bool {
        self.take_in();
        self.holds.begin(now)
    }

    /// Whether simulated time held at this heartbeat, or still holds.
    pub(crate) fn has_hold(&self) -> bool {
        self.holds.has_begun()
    }

    /// Whether the hold still waits for a message after `waited` (wall time).
    pub(crate) fn is_held(&mut self, waited: Duration) -> bool {
        self.take_in();
        let silent = self.holds.give_up(waited);
        if !silent.is_empty() && self.warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            let (topics, waited_s) = (silent.join(", "), waited.as_secs_f64());
            tracing::warn!("simulated time was held {waited_s:.3} s for {topics} in vain; the run goes on");
        }
        self.holds.is_waiting()
    }

    /// Waits for a message, in a hold that has already lasted `waited` (wall time); returns true if none came for a
    /// while.
    pub(crate) fn wait(&self, waited: Duration) -> bool {
        let timeout = self.holds.left(waited).unwrap_or_default().min(REPEAT_EVERY);
        !self.mailbox.wait(timeout)
    }

    /// Ends a hold that lasted `waited` (wall time).
    pub(crate) fn end_hold(&mut self, waited: Duration) {
        self.holds.end(waited);
    }

    /// The counts and wall times of all holds so far.
    pub(crate) fn holds(&self) -> HoldReport {
        self.holds.report()
    }

    fn take_in(&mut self) {
        self.waiting.absorb(self.mailbox.take_all(), |arrival| {
            self.holds.note(&arrival.topic, arrival.stamp);
            arrival.command.is_some()
        });
        self.log_dropped();
    }

    /// Logs newly dropped messages, at most once a second.
    fn log_dropped(&mut self) {
        let dropped = self.waiting.dropped_in_all();
        let is_new = match self.dropped_logged {
            Some((logged, at)) => dropped > logged && at.elapsed() >= WARN_EVERY,
            None => dropped > 0,
        };
        if is_new {
            self.dropped_logged = Some((dropped, Instant::now()));
            tracing::warn!(dropped, "messages were dropped: of each command topic, the newest {WAITING_MAX} wait");
        }
    }
}

/// Topics for commands to a whole rover.
const CMD_VEL: &str = "cmd_vel";
const ACKERMANN: &str = "ackermann_cmd";
const TRAJECTORY: &str = "joint_trajectory";

fn joint_topic(name: &str) -> String {
    format!("{name}/command")
}

fn lamp_topic(name: &str) -> String {
    format!("lamps/{name}/command")
}

/// What is needed to open the topics of one rover.
struct RoverTopics<'a> {
    transport: &'a dyn Transport,
    setup: &'a RoverSetup,
    rover: EntityId,
    mailbox: Arc<Mailbox>,
}

impl RoverTopics<'_> {
    fn open(&self, unstamped: bool) -> Result<Vec<Input>, NodeError> {
        let mut inputs = vec![
            if unstamped {
                self.takes(CMD_VEL, |message: geometry_msgs::Twist| (None, body(&message)))?
            } else {
                self.takes(CMD_VEL, |message: geometry_msgs::TwistStamped| {
                    (Some(message.header.stamp.into()), body(&message.twist))
                })?
            },
            self.takes(ACKERMANN, |message: ackermann_msgs::AckermannDriveStamped| {
                (Some(message.header.stamp.into()), ackermann(&message.drive))
            })?,
            self.takes(TRAJECTORY, |message: trajectory_msgs::JointTrajectory| {
                (Some(message.header.stamp.into()), trajectory(message))
            })?,
        ];
        for Actuator { name, .. } in Actuator::of(&self.setup.model) {
            inputs.extend(self.takes_joint(&name)?);
        }
        for lamp in self.setup.model.lamps() {
            inputs.push(self.takes_lamp(&lamp.spec.name)?);
        }
        Ok(inputs)
    }

    fn takes<M: Message>(
        &self,
        topic: &str,
        command: impl Fn(M) -> (Option<SimTime>, Command) + Send + Sync + 'static,
    ) -> Result<Input, TransportError> {
        let (mailbox, rover, topic) = (Arc::clone(&self.mailbox), self.rover, self.setup.topic(topic));
        let name: Arc<str> = topic.as_str().into();
        let take = move |message| {
            let (stamp, command) = command(message);
            mailbox.put(ReceivedMessage { topic: Arc::clone(&name), stamp, command: Some((rover, command)) });
        };
        Ok(Input { subscription: subscribe(self.transport, &topic, Qos::reliable(), take)?, topic })
    }

    /// The topic of one lamp: the fraction of its full flux, 0 to 1.
    fn takes_lamp(&self, name: &str) -> Result<Input, TransportError> {
        let lamp = name.to_owned();
        let command = move |message: std_msgs::Float64| {
            (None, Command::Lamp(LampCommand { lamp: lamp.clone(), level: message.data }))
        };
        self.takes(&lamp_topic(name), command)
    }

    /// The topic of one joint. For a name that ROS 2 does not allow it logs that and returns `None`; a joint trajectory
    /// still reaches that joint.
    fn takes_joint(&self, name: &str) -> Result<Option<Input>, TransportError> {
        let joint = name.to_owned();
        let command = move |message: std_msgs::Float64| {
            (None, Command::Joint(JointCommand { joint: joint.clone(), target: message.data }))
        };
        match self.takes(&joint_topic(name), command) {
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

/// Converts a trajectory; with a zero stamp it starts at once.
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
