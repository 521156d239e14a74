//! Publishers of each rover: transforms, joint states, odometry and ground truth of wheels.

use std::collections::BTreeMap;
use std::sync::Arc;

use selene_base::{Pose, SimTime, frames};
use selene_coherence::{NodeError, to_pose, to_vector, transform, wheel_to_message};
use selene_observe::{Encoders, JointReadings};
use selene_ros::transport::{Publisher, Transport};
use selene_ros::{Message, Qos, geometry_msgs, nav_msgs, selene_msgs, sensor_msgs, std_msgs, tf2_msgs};
use selene_sensors::Schedule;
use selene_sim::{EntityId, Model, RoverKind, RoverSetup, RoverSnapshot, Snapshot};

use crate::publishers::reliable;

/// Rate of transforms, joint states, odometry and ground truth of wheels, Hz.
const TRUTH_RATE_HZ: f64 = 50.0;
/// What is due at time zero is due after this instant.
pub(crate) const BEFORE_START: SimTime = SimTime::from_nanos(-1);

pub(crate) struct RoverPublishers {
    transport: Arc<dyn Transport>,
    tf: Publisher<tf2_msgs::TFMessage>,
    tf_static: Publisher<tf2_msgs::TFMessage>,
    rovers: BTreeMap<EntityId, RoverTopics>,
    due: Schedule,
    /// Whether the fixed frames must be published again.
    begins_anew: bool,
}

/// The topics of one rover.
struct RoverTopics {
    kind: Arc<RoverKind>,
    encoders: Encoders,
    joint_states: Publisher<sensor_msgs::JointState>,
    odometry: Publisher<nav_msgs::Odometry>,
    wheels: Publisher<selene_msgs::WheelStates>,
    /// Soil in each drum, kg.
    drums: Vec<Publisher<std_msgs::Float64>>,
    /// Kept open because its topic is latched, for late subscribers.
    _robot_description: Publisher<std_msgs::String>,
}

impl RoverPublishers {
    pub(crate) fn new(transport: &Arc<dyn Transport>) -> Result<Self, NodeError> {
        Ok(Self {
            tf: Publisher::new(transport.as_ref(), "/tf", reliable())?,
            tf_static: Publisher::new(transport.as_ref(), "/tf_static", Qos::latched())?,
            transport: Arc::clone(transport),
            rovers: BTreeMap::new(),
            due: Schedule::new(TRUTH_RATE_HZ, SimTime::ZERO, SimTime::ZERO),
            begins_anew: false,
        })
    }

    /// Begins anew after a reset of the world: the encoders restart, and fixed frames are published again, since
    /// listeners may drop all transforms when the clock goes back.
    pub(crate) fn begin_anew(&mut self) {
        self.begins_anew = true;
        self.rovers.values_mut().for_each(|topics| topics.encoders = Encoders::new(topics.kind.model()));
    }

    /// Opens and closes topics so that exactly these rovers have them; publishes the descriptions and fixed frames of
    /// new ones.
    pub(crate) fn follow(&mut self, model: &Model, rovers: &[EntityId], time: SimTime) -> Result<(), NodeError> {
        let is_same = |(id, topics): (&EntityId, &RoverTopics)| {
            rovers.contains(id) && model.rovers().get(id).is_some_and(|kind| Arc::ptr_eq(kind, &topics.kind))
        };
        let begins_anew = std::mem::take(&mut self.begins_anew);
        if self.rovers.keys().eq(rovers) && self.rovers.iter().all(is_same) && !begins_anew {
            return Ok(());
        }
        // A new rover may have the number of a removed one.
        self.rovers.retain(|id, topics| is_same((id, &*topics)));
        for id in rovers {
            if let Some(kind) = model.rovers().get(id).filter(|_| !self.rovers.contains_key(id)) {
                self.rovers.insert(*id, RoverTopics::open(self.transport.as_ref(), kind)?);
            }
        }
        // The topic is latched and keeps one message, which therefore must have the frames of all rovers.
        let transforms = self.rovers.values().flat_map(|topics| static_transforms(topics.kind.setup())).collect();
        Ok(self.tf_static.publish(&tf2_msgs::TFMessage { transforms }, time)?)
    }

    /// Publishes what is due between two snapshots; if `silent`, it publishes nothing and only updates the encoders.
    pub(crate) fn truth(&mut self, last: SimTime, state: &Snapshot, silent: bool) -> Result<(), NodeError> {
        if self.due.measured_in(last, state.time).next().is_none() {
            return Ok(());
        }
        for (id, topics) in &mut self.rovers {
            let Some(rover) = state.rover(*id) else { continue };
            let joints = topics.encoders.read(state.time, rover);
            if !silent {
                topics.publish_rover(rover, joints, state.time, Sending::New)?;
            }
        }
        if silent { Ok(()) } else { self.publish_transforms(state, Sending::New) }
    }

    /// Publishes where the rovers stand, due or not, in a run that begins at the end of an earlier one: that one's bag
    /// may have these messages, so this one's does not. The encoders remain as they are.
    pub(crate) fn stand(&self, state: &Snapshot) -> Result<(), NodeError> {
        self.repeat(state)?;
        self.publish_transforms(state, Sending::Again)
    }

    /// Publishes the rovers of a snapshot again, without their transforms: tf2 warns of a second transform of a time.
    pub(crate) fn repeat(&self, state: &Snapshot) -> Result<(), NodeError> {
        self.present(state).try_for_each(|(topics, rover)| {
            let joints = topics.encoders.clone().read(state.time, rover);
            topics.publish_rover(rover, joints, state.time, Sending::Again)
        })
    }

    /// The topics of each rover in a snapshot.
    fn present<'a>(&'a self, state: &'a Snapshot) -> impl Iterator<Item = (&'a RoverTopics, &'a RoverSnapshot)> {
        self.rovers.iter().filter_map(|(id, topics)| Some((topics, state.rover(*id)?)))
    }

    fn publish_transforms(&self, state: &Snapshot, sending: Sending) -> Result<(), NodeError> {
        let of_rover = |(topics, rover): (&RoverTopics, _)| moving_transforms(topics.kind.setup(), rover, state.time);
        let transforms = self.present(state).flat_map(of_rover).collect();
        sending.send(&self.tf, &tf2_msgs::TFMessage { transforms }, state.time)
    }
}

/// Whether messages are new, or repeat for those who look now what a bag may have already.
#[derive(Clone, Copy, Debug)]
enum Sending {
    New,
    Again,
}

impl Sending {
    fn send<M: Message>(self, topic: &Publisher<M>, message: &M, time: SimTime) -> Result<(), NodeError> {
        match self {
            Self::New => topic.publish(message, time)?,
            Self::Again => topic.repeat(message, time)?,
        }
        Ok(())
    }
}

impl RoverTopics {
    fn open(transport: &dyn Transport, kind: &Arc<RoverKind>) -> Result<Self, NodeError> {
        let setup = kind.setup();
        let description = Publisher::new(transport, &setup.topic("robot_description"), Qos::latched())?;
        description.publish(&std_msgs::String { data: setup.model.urdf_text().to_owned() }, SimTime::ZERO)?;
        Ok(Self {
            encoders: Encoders::new(&setup.model),
            joint_states: Publisher::new(transport, &setup.topic("joint_states"), reliable())?,
            odometry: Publisher::new(transport, &setup.topic("ground_truth/odom"), reliable())?,
            wheels: Publisher::new(transport, &setup.topic("ground_truth/wheels"), reliable())?,
            drums: drum_topics(setup)
                .map(|topic| Publisher::new(transport, &topic, reliable()))
                .collect::<Result<_, _>>()?,
            _robot_description: description,
            kind: Arc::clone(kind),
        })
    }

    fn publish_rover(
        &self,
        rover: &RoverSnapshot,
        joints: JointReadings,
        time: SimTime,
        sending: Sending,
    ) -> Result<(), NodeError> {
        let setup = self.kind.setup();
        sending.send(&self.joint_states, &joint_states(setup, joints, time), time)?;
        sending.send(&self.odometry, &odometry(setup, rover, time), time)?;
        for (drum, load_kg) in self.drums.iter().zip(&rover.drum_loads_kg) {
            sending.send(drum, &std_msgs::Float64 { data: *load_kg }, time)?;
        }
        let named = setup.model.wheels().iter().zip(&rover.wheels);
        let wheels = selene_msgs::WheelStates {
            header: std_msgs::Header::new(time, &setup.base_frame()),
            wheels: named.map(|(wheel, truth)| wheel_to_message(&wheel.name, truth)).collect(),
        };
        sending.send(&self.wheels, &wheels, time)
    }
}

/// Topics of the soil mass in a rover's drums.
fn drum_topics(setup: &RoverSetup) -> impl Iterator<Item = String> {
    let links = setup.model.links();
    setup.model.drums().iter().map(|drum| setup.topic(&format!("ground_truth/{}/soil_kg", links[drum.link].name)))
}

fn stamped(parent: &str, child: &str, pose: &Pose, time: SimTime) -> geometry_msgs::TransformStamped {
    geometry_msgs::TransformStamped {
        header: std_msgs::Header::new(time, parent),
        child_frame_id: child.to_owned(),
        transform: transform(pose),
    }
}

/// Transforms of fixed frames: `map` → `odom` (ground truth has no drift) and fixed joints.
fn static_transforms(setup: &RoverSetup) -> Vec<geometry_msgs::TransformStamped> {
    let links = setup.model.links();
    let fixed = setup.model.joints().iter().filter(|joint| !joint.moves()).map(|joint| {
        let [parent, child] = [joint.parent, joint.child].map(|link| setup.frame(&links[link].name));
        stamped(&parent, &child, &joint.parent_from_child_at_zero, SimTime::ZERO)
    });
    let odom = stamped(frames::MAP, &setup.frame(frames::ODOM), &Pose::identity(), SimTime::ZERO);
    std::iter::once(odom).chain(fixed).collect()
}

/// Transforms of moving frames: `odom` → root link, and every joint that moves.
fn moving_transforms(setup: &RoverSetup, rover: &RoverSnapshot, time: SimTime) -> Vec<geometry_msgs::TransformStamped> {
    let links = setup.model.links();
    let moving = setup.model.joints().iter().filter(|joint| joint.moves()).map(|joint| {
        let [parent, child] = [joint.parent, joint.child].map(|link| setup.frame(&links[link].name));
        let parent_from_child = rover.world_from_links[joint.parent].inverse() * rover.world_from_links[joint.child];
        stamped(&parent, &child, &parent_from_child, time)
    });
    let base = stamped(&setup.frame(frames::ODOM), &setup.base_frame(), &rover.world_from_base(), time);
    std::iter::once(base).chain(moving).collect()
}

fn joint_states(setup: &RoverSetup, joints: JointReadings, time: SimTime) -> sensor_msgs::JointState {
    let all = setup.model.joints();
    sensor_msgs::JointState {
        header: std_msgs::Header::new(time, ""),
        name: setup.model.moving_joints().iter().map(|&joint| all[joint].name.clone()).collect(),
        position: joints.position,
        velocity: joints.velocity,
        effort: joints.effort,
    }
}

fn odometry(setup: &RoverSetup, rover: &RoverSnapshot, time: SimTime) -> nav_msgs::Odometry {
    let twist = rover.body_twist();
    nav_msgs::Odometry {
        header: std_msgs::Header::new(time, &setup.frame(frames::ODOM)),
        child_frame_id: setup.base_frame(),
        pose: geometry_msgs::PoseWithCovariance { pose: to_pose(&rover.world_from_base()), ..Default::default() },
        twist: geometry_msgs::TwistWithCovariance {
            twist: geometry_msgs::Twist { linear: to_vector(&twist.linear), angular: to_vector(&twist.angular) },
            ..Default::default()
        },
    }
}
