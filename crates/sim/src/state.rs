//! The snapshot of the world that leaves the simulation at each heartbeat, and the
//! world between two snapshots.

use nalgebra::Vector3;
use selene_base::{Pose, SimTime, Twist, frames};
use selene_terrain::{Edit, Place};

/// What one wheel and the ground do to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WheelTruth {
    /// The wheel's name, as in the rover's file.
    pub name: String,
    /// 1 − v/(ωR) driving, ωR/v − 1 braking; 0 at rest.
    pub slip_ratio: f64,
    /// Angle from the wheel's heading to its velocity, rad.
    pub slip_angle_rad: f64,
    /// Depth of the wheel's lowest point below the undisturbed ground, m.
    pub sinkage_m: f64,
    /// Soil on wheel, N, in `base_link`.
    pub force_n: Vector3<f64>,
    /// Soil on wheel about its centre, N m, in `base_link`.
    pub torque_nm: Vector3<f64>,
    /// Rate about the axle, rad/s.
    pub rate_rad_s: f64,
    /// What the motor gives, N m.
    pub drive_torque_nm: f64,
    /// Whether it touches soil or rock.
    pub in_contact: bool,
}

/// Where a loose rock is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RockPose {
    /// Its number on the site.
    pub id: u32,
    /// Its pose in the map frame.
    pub world_from_rock: Pose,
}

/// The world at a heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldState {
    /// The heartbeat's instant.
    pub time: SimTime,
    /// Number of the heartbeat, from 0.
    pub sequence: u64,
    /// How many terrain edits were told before this snapshot's.
    pub terrain_sequence: u64,
    /// Which of the landscape's windows the ground holds from this snapshot on.
    pub place: Place,
    /// Pose of each link in the map frame, in the order of the rover's links.
    pub world_from_links: Vec<Pose>,
    /// Joint positions, rad or m, in the order of the rover's joints.
    pub joint_position: Vec<f64>,
    /// Joint rates, rad/s or m/s.
    pub joint_velocity: Vec<f64>,
    /// Joint efforts, N m or N.
    pub joint_effort: Vec<f64>,
    /// Velocity of `base_link` in the map frame.
    pub base_twist: Twist,
    /// Mean acceleration of `base_link` over the heartbeat, map frame, m/s²
    /// (coordinate acceleration: gravity shows only as far as the rover falls).
    pub base_acceleration: Vector3<f64>,
    /// One entry a wheel.
    pub wheels: Vec<WheelTruth>,
    /// Ground that changed since the last snapshot.
    pub edits: Vec<Edit>,
    /// Loose rocks, in order of their id.
    pub loose_rocks: Vec<RockPose>,
    /// How bright each lamp is, 0 to 1, in the order of the rover's; since the heartbeat
    /// before.
    pub lamp_levels: Vec<f64>,
    /// Toward the Sun's centre, unit, map frame.
    pub sun_direction: Vector3<f64>,
}

impl WorldState {
    /// Pose of `base_link` in the map frame: the first link.
    #[must_use]
    pub fn world_from_base(&self) -> Pose {
        self.world_from_links[0]
    }

    /// Velocity of `base_link` in its own axes, as odometry reports it.
    #[must_use]
    pub fn body_twist(&self) -> Twist {
        let base_from_world = self.world_from_base().rotation.inverse();
        Twist { linear: base_from_world * self.base_twist.linear, angular: base_from_world * self.base_twist.angular }
    }

    /// Pose of link `link` at `time` between `self` and the `next` snapshot.
    #[must_use]
    pub fn link_at(&self, next: &Self, link: usize, time: SimTime) -> Pose {
        let fraction = self.fraction(next, time);
        frames::interpolate(&self.world_from_links[link], &next.world_from_links[link], fraction)
    }

    /// Pose of the loose rock at place `rock` at `time` between `self` and the `next`
    /// snapshot; none when they do not both tell it.
    #[must_use]
    pub fn rock_at(&self, next: &Self, rock: usize, time: SimTime) -> Option<Pose> {
        let (before, after) = (self.loose_rocks.get(rock)?, next.loose_rocks.get(rock)?);
        Some(frames::interpolate(&before.world_from_rock, &after.world_from_rock, self.fraction(next, time)))
    }

    fn fraction(&self, next: &Self, time: SimTime) -> f64 {
        let span = (next.time - self.time).secs_f64();
        if span > 0.0 { ((time - self.time).secs_f64() / span).clamp(0.0, 1.0) } else { 1.0 }
    }
}
