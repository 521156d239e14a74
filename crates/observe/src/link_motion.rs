//! Motion of a link of a rover at any instant between two snapshots: the base's motion propagated from joint to joint
//! (the forward pass of the recursive Newton–Euler algorithm, Luh, Walker and Paul 1980). With the arm r from a
//! joint's parent frame to its child's, the joint's axis z and rate q̇,
//!
//!   a' = a + α × r + ω × (ω × r),  α' = α + z q̈ + ω × z q̇,  ω' = ω + z q̇  (it turns),
//!   a' += z q̈ + 2 ω × z q̇                                              (it slides).
//!
//! Poses are interpolated between the snapshots, angular velocity and joints' rates linearly. So the derivatives of the
//! rates are means over the heartbeat, as is the base's acceleration.

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_sensors::Motion;
use selene_sim::{EntityId, RoverSnapshot, Snapshot};
use selene_vehicle::{JointKind, RoverModel};

use crate::history::History;

/// The joints from a rover's base to one of its links, in this order.
#[derive(Clone, Debug)]
pub(crate) struct LinkMotion {
    joints: Vec<ChainJoint>,
}

/// One joint of the chain.
#[derive(Clone, Copy, Debug)]
struct ChainJoint {
    child: usize,
    kind: JointKind,
    /// Joint axis in the child's frame, unit.
    axis: Vector3<f64>,
    /// Index in the joint states; `None` for a fixed joint.
    place: Option<usize>,
}

/// A rover between two snapshots.
struct RoverInterval<'a> {
    rover: EntityId,
    previous: &'a Snapshot,
    next: &'a Snapshot,
    before: &'a RoverSnapshot,
    after: &'a RoverSnapshot,
    time: SimTime,
    /// Fraction of the time from `previous` to `next` that has passed, 0 to 1.
    share: f64,
    /// Reciprocal of the time between them, 1/s; 0 if they are the same snapshot.
    per_s: f64,
}

impl LinkMotion {
    pub(crate) fn new(rover: &RoverModel, link: usize) -> Self {
        let mut joints = Vec::new();
        let mut child = link;
        while let Some(index) = rover.links()[child].joint {
            let joint = &rover.joints()[index];
            let place = rover.moving_joints().iter().position(|&moving| moving == index);
            joints.push(ChainJoint { child, kind: joint.kind, axis: joint.axis.into_inner(), place });
            child = joint.parent;
        }
        joints.reverse();
        Self { joints }
    }

    /// The link's motion on a rover at an instant of the past; `None` if that is unknown or no longer in the history.
    pub(crate) fn at(&self, history: &History, rover: EntityId, time: SimTime) -> Option<Motion> {
        let between = RoverInterval::at(history, rover, time)?;
        self.joints.iter().try_fold(between.base()?, |motion, joint| joint.carry(&motion, &between))
    }
}

impl ChainJoint {
    /// The child's motion from the parent's.
    fn carry(&self, parent: &Motion, between: &RoverInterval<'_>) -> Option<Motion> {
        let pose = between.link(self.child)?;
        let arm = pose.translation.vector - parent.world_from_body.translation.vector;
        let mut child = Motion { world_from_body: pose, linear_acceleration: parent.acceleration_at(arm), ..*parent };
        let Some(place) = self.place else { return Some(child) };
        let (rate, gain) = between.joint(place)?;
        let axis = pose.rotation * self.axis;
        let coriolis = parent.angular_velocity.cross(&(axis * rate));
        match self.kind {
            JointKind::Fixed => {}
            JointKind::Revolute | JointKind::Continuous => {
                child.angular_velocity += axis * rate;
                child.angular_acceleration += axis * gain + coriolis;
            }
            JointKind::Prismatic => child.linear_acceleration += axis * gain + coriolis * 2.0,
        }
        Some(child)
    }
}

impl<'a> RoverInterval<'a> {
    fn at(history: &'a History, rover: EntityId, time: SimTime) -> Option<Self> {
        if !history.reaches_back_to(time) {
            return None;
        }
        let (previous, next) = history.around(time)?;
        let (before, after) = (previous.rover(rover)?, next.rover(rover)?);
        let span_s = (next.time - previous.time).secs_f64();
        let per_s = if span_s > 0.0 { 1.0 / span_s } else { 0.0 };
        let share = ((time - previous.time).secs_f64() * per_s).clamp(0.0, 1.0);
        Some(Self { rover, previous, next, before, after, time, share, per_s })
    }

    fn link(&self, link: usize) -> Option<Pose> {
        self.previous.link_at(self.next, self.rover, link, self.time)
    }

    fn base(&self) -> Option<Motion> {
        let [before, after] = [self.before, self.after].map(|rover| rover.base_twist.angular);
        let moves = self.per_s > 0.0;
        Some(Motion {
            world_from_body: self.link(0)?,
            angular_velocity: before + (after - before) * self.share,
            angular_acceleration: (after - before) * self.per_s,
            linear_acceleration: if moves { self.after.base_acceleration } else { Vector3::zeros() },
        })
    }

    /// A joint's rate, rad/s or m/s, and acceleration.
    fn joint(&self, place: usize) -> Option<(f64, f64)> {
        let (before, after) = (self.before.joint_velocity.get(place)?, self.after.joint_velocity.get(place)?);
        Some((before + (after - before) * self.share, (after - before) * self.per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::{ChainJoint, LinkMotion};
    use crate::history::History;
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::{Pose, SimTime};
    use selene_sim::{EntityId, RoverSnapshot, Snapshot};
    use selene_vehicle::JointKind;
    use std::sync::Arc;

    const ROVER: EntityId = EntityId(0);
    /// Rates of the base and of the mast on it, rad/s.
    const BASE: f64 = 0.6;
    const MAST: f64 = 1.7;
    /// Rate of the slide on the mast, m/s.
    const SLIDE: f64 = 0.25;
    /// Position of the mast on the base, m.
    const FOOT_M: f64 = 0.8;
    /// Initial position of the slide, m.
    const BEGIN_M: f64 = 0.5;

    fn turned(angle: f64, at_m: Vector3<f64>) -> Pose {
        Pose::from_parts(at_m.into(), UnitQuaternion::from_axis_angle(&Vector3::z_axis(), angle))
    }

    /// A base that turns in place, a mast on it that turns, and a slide on the mast.
    fn snapshot(milliseconds: i64) -> Arc<Snapshot> {
        let t = 1e-3 * milliseconds as f64;
        let base = turned(BASE * t, Vector3::zeros());
        let mast = base * turned(MAST * t, Vector3::x() * FOOT_M);
        let slide = mast * turned(0.0, Vector3::x() * (BEGIN_M + SLIDE * t));
        let mut rover = RoverSnapshot {
            world_from_links: vec![base, mast, slide],
            joint_velocity: vec![MAST, SLIDE],
            ..RoverSnapshot::default()
        };
        rover.base_twist.angular = Vector3::z() * BASE;
        let time = SimTime::from_nanos(1_000_000 * milliseconds);
        Arc::new(Snapshot { time, sequence: milliseconds as u64, rovers: vec![rover], ..Snapshot::default() })
    }

    #[test]
    fn turning_and_sliding_on_what_turns_adds_up_as_by_the_second_derivative_of_its_place() {
        let onward = |child, kind, axis, place| ChainJoint { child, kind, axis, place: Some(place) };
        let motion = LinkMotion {
            joints: vec![
                onward(1, JointKind::Continuous, Vector3::z(), 0),
                onward(2, JointKind::Prismatic, Vector3::x(), 1),
            ],
        };
        let mut history = History::new(SimTime::from_nanos(1_000_000_000));
        (0..=20).for_each(|milliseconds| history.push(snapshot(milliseconds)));
        for microseconds in [250, 1_500, 7_300, 19_999] {
            let t = 1e-6 * f64::from(microseconds);
            let found = motion.at(&history, ROVER, SimTime::from_nanos(1000 * i64::from(microseconds))).expect("known");
            let whole = BASE + MAST;
            let (sin, cos) = (MAST * t).sin_cos();
            let expected = Vector3::new(
                -whole * whole * (BEGIN_M + SLIDE * t) - BASE * BASE * FOOT_M * cos,
                2.0 * whole * SLIDE + BASE * BASE * FOOT_M * sin,
                0.0,
            );
            let felt = found.world_from_body.rotation.inverse() * found.linear_acceleration;
            // Positions between snapshots are on chords, off by (ω dt)²/8 of the arms.
            assert!((felt - expected).norm() < 1e-5, "{felt} not {expected} at {t} s");
            assert!((found.angular_velocity - Vector3::z() * whole).norm() < 1e-12);
            assert!(found.angular_acceleration.norm() < 1e-9);
        }
    }

    #[test]
    fn what_was_before_the_first_snapshot_that_is_known_is_not_made_up() {
        let mut history = History::new(SimTime::from_nanos(1_000_000_000));
        history.push(snapshot(5));
        history.push(snapshot(6));
        let motion = LinkMotion { joints: Vec::new() };
        assert!(motion.at(&history, ROVER, SimTime::from_nanos(4_999_999)).is_none());
        assert!(motion.at(&history, ROVER, SimTime::from_nanos(5_500_000)).is_some());
    }
}
