//! Commands from outside, for each rover under its namespace: `cmd_vel` (TwistStamped, or Twist when asked
//! for), `ackermann_cmd`, `joint_trajectory`, `<joint>/command` for every drive, steer and
//! servo, and `lamps/<name>/command` for every lamp. They are queued as they arrive and handed to the world
//! between heartbeats: as they came, or in a run that holds for topics (`holds`) ordered by topic and in each as they
//! came, which for one publisher is as it sent them.

mod awaited;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
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

/// How often it is said that a hold was in vain (wall time).
const WARN_EVERY: Duration = Duration::from_secs(1);
/// A hold that has no message for so long has the clock told again, for who missed it (wall time).
const SAY_AGAIN: Duration = Duration::from_millis(100);

/// How many publishers outside this process each command topic of a rover has: of those that have some, where the
/// transport knows.
pub(crate) type CommandPublishers = BTreeMap<EntityId, Vec<(String, usize)>>;

pub(crate) struct CommandInputs {
    transport: Arc<dyn Transport>,
    /// Take `cmd_vel` as Twist.
    unstamped: bool,
    queue: Sender<Arrival>,
    arrived: Receiver<Arrival>,
    /// What each rover is, and its topics: another one may get the number of one that is gone.
    rovers: BTreeMap<EntityId, (Arc<RoverKind>, Vec<Input>)>,
    /// Topics that several publishers command, and how many they were when that was logged.
    rivals: BTreeMap<String, usize>,
    /// Commands that are not handed to the world yet, as they came.
    waiting: Vec<Arrival>,
    holds: Holds,
    warned: Option<Instant>,
    /// Of topics that are awaited and have no commands.
    _awaited: Vec<Subscription>,
}

/// One topic.
struct Input {
    topic: String,
    _subscription: Subscription,
}

/// A message that has come.
struct Arrival {
    topic: Arc<str>,
    stamp: Option<SimTime>,
    /// None on a topic that is awaited and has no commands.
    command: Option<(EntityId, Command)>,
}

impl CommandInputs {
    /// Of a world at `now`; listens to what is awaited besides commands.
    pub(crate) fn new(
        transport: &Arc<dyn Transport>,
        model: &Model,
        unstamped: bool,
        now: SimTime,
    ) -> Result<Self, NodeError> {
        let (queue, arrived) = channel();
        Ok(Self {
            _awaited: awaited::listen(transport.as_ref(), model, unstamped, &queue)?,
            transport: Arc::clone(transport),
            unstamped,
            queue,
            arrived,
            rovers: BTreeMap::new(),
            rivals: BTreeMap::new(),
            waiting: Vec::new(),
            holds: Holds::new(&model.scenario().lockstep, now),
            warned: None,
        })
    }

    /// Listens for these rovers alone.
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
            let (transport, queue) = (self.transport.as_ref(), self.queue.clone());
            let of_rover = RoverTopics { transport, setup: kind.setup(), rover: *id, queue };
            self.rovers.insert(*id, (Arc::clone(kind), of_rover.open(self.unstamped)?));
        }
        let rovers = &self.rovers;
        self.holds.open(|topic| awaited::rover_of(model, topic).is_none_or(|id| rovers.contains_key(&id)));
        Ok(())
    }

    /// Begins anew in a world that was reset to `now`: what has arrived was for the world as it was before.
    pub(crate) fn begin_anew(&mut self, now: SimTime) {
        self.take_in();
        self.waiting.clear();
        self.holds.begin_anew(now);
    }

    /// Who commands; logs topics on which the number of several publishers has changed.
    pub(crate) fn publishers(&mut self) -> CommandPublishers {
        let count = |input: &Input| {
            let count = self.transport.publishers_of(&input.topic).filter(|count| *count > 0)?;
            Some((input.topic.clone(), count))
        };
        let of_rover = |(id, (_, inputs)): (&EntityId, &(Arc<RoverKind>, Vec<Input>))| {
            (*id, inputs.iter().filter_map(count).collect::<Vec<_>>())
        };
        let publishers: CommandPublishers = self.rovers.iter().map(of_rover).collect();
        let several = publishers.values().flatten().filter(|(_, count)| *count > 1).cloned();
        let rivals: BTreeMap<String, usize> = several.collect();
        for (topic, count) in rivals.iter().filter(|(topic, count)| self.rivals.get(*topic) != Some(*count)) {
            tracing::warn!("{topic} has {count} publishers: the rover does what the newest message says");
        }
        self.rivals = rivals;
        publishers
    }

    /// Hands what has arrived and may be taken to the world. What is for a rover that is not there any more is for
    /// nobody.
    pub(crate) fn hand_to(&mut self, world: &mut World) {
        self.take_in();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (mut now, later): (Vec<_>, Vec<_>) = waiting.partition(|arrival| self.holds.takes(&arrival.topic));
        self.waiting = later;
        if !self.holds.is_empty() {
            // Stable: each topic's stay in their order.
            now.sort_by_key(|arrival| Arc::clone(&arrival.topic));
        }
        for (rover, command) in now.into_iter().filter_map(|arrival| arrival.command) {
            if let Err(error) = world.drive(rover, command) {
                tracing::warn!("a command was not taken: {error}");
            }
        }
        self.holds.pass();
    }

    /// A heartbeat at `now` is about to be told: whether simulated time holds at it.
    pub(crate) fn begin_hold(&mut self, now: SimTime) -> bool {
        self.take_in();
        self.holds.begin(now)
    }

    /// Whether simulated time was held at this heartbeat, or still is.
    pub(crate) fn has_hold(&self) -> bool {
        self.holds.has_begun()
    }

    /// Whether a message is waited for, after waiting so long (wall time).
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

    /// Waits for a message after waiting so long (wall time); true when none came for a while.
    pub(crate) fn wait(&mut self, waited: Duration) -> bool {
        let patience = self.holds.left(waited).unwrap_or_default().min(SAY_AGAIN);
        match self.arrived.recv_timeout(patience) {
            Ok(arrival) => {
                self.note(arrival);
                false
            }
            Err(_) => true,
        }
    }

    /// Time passes again after a hold of so long (wall time).
    pub(crate) fn end_hold(&mut self, waited: Duration) {
        self.holds.end(waited);
    }

    /// What came of all holds so far.
    pub(crate) fn holds(&self) -> HoldReport {
        self.holds.report()
    }

    fn take_in(&mut self) {
        while let Ok(arrival) = self.arrived.try_recv() {
            self.note(arrival);
        }
    }

    fn note(&mut self, arrival: Arrival) {
        self.holds.note(&arrival.topic, arrival.stamp);
        if arrival.command.is_some() {
            self.waiting.push(arrival);
        }
    }
}

/// Topics of commands to a whole rover.
const CMD_VEL: &str = "cmd_vel";
const ACKERMANN: &str = "ackermann_cmd";
const TRAJECTORY: &str = "joint_trajectory";

fn joint_topic(name: &str) -> String {
    format!("{name}/command")
}

fn lamp_topic(name: &str) -> String {
    format!("lamps/{name}/command")
}

/// The topics of one rover.
struct RoverTopics<'a> {
    transport: &'a dyn Transport,
    setup: &'a RoverSetup,
    rover: EntityId,
    queue: Sender<Arrival>,
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
        let (queue, rover, topic) = (self.queue.clone(), self.rover, self.setup.topic(topic));
        let name: Arc<str> = topic.as_str().into();
        let take = move |message| {
            let (stamp, command) = command(message);
            // The queue closes with the node: nobody is then left to obey.
            drop(queue.send(Arrival { topic: Arc::clone(&name), stamp, command: Some((rover, command)) }));
        };
        Ok(Input { _subscription: subscribe(self.transport, &topic, Qos::reliable(), take)?, topic })
    }

    /// The topic of one lamp: part of its full flux.
    fn takes_lamp(&self, name: &str) -> Result<Input, TransportError> {
        let lamp = name.to_owned();
        let command = move |message: std_msgs::Float64| {
            (None, Command::Lamp(LampCommand { lamp: lamp.clone(), level: message.data }))
        };
        self.takes(&lamp_topic(name), command)
    }

    /// The topic of one joint; none, and said, for a name that ROS 2 does not allow: a
    /// trajectory still reaches that joint.
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
