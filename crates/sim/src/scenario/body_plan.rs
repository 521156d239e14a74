//! What sensors of a rover's own body must know of its build.

use selene_sensors::{BodyPlan, BodySensor, OdometryWheel};
use selene_vehicle::{RoverModel, Wheel};

use crate::scenario::rover::{MountedSensor, RoverSetup};

/// A rover's joints and its driven wheels, and which joints motors move: those that drive and steer wheels, and servos.
pub(crate) fn body_plan(rover: &RoverModel) -> BodyPlan {
    let place = |joint: usize| rover.moving_joints().iter().position(|&moving| moving == joint);
    let wheel = |wheel: &Wheel| {
        Some(OdometryWheel {
            centre_m: [wheel.centre_in_base_m.x, wheel.centre_in_base_m.y],
            radius_m: wheel.radius_m,
            drive: place(wheel.drive_joint)?,
            drive_sign: wheel.drive_sign,
            steer: wheel.steer_joint.and_then(|joint| Some((place(joint)?, wheel.steer_sign))),
        })
    };
    let driven = || rover.wheels().iter().filter(|wheel| wheel.is_driven());
    let steers = rover.wheels().iter().filter_map(|wheel| wheel.steer_joint);
    let drives = driven().map(|wheel| wheel.drive_joint).chain(steers);
    let motors = drives.chain(rover.servos().iter().map(|servo| servo.joint));
    BodyPlan {
        joints: rover.moving_joints().iter().map(|&joint| rover.joints()[joint].name.clone()).collect(),
        wheels: driven().filter_map(wheel).collect(),
        motors: motors.filter_map(place).collect(),
    }
}

impl RoverSetup {
    /// One of its sensors as one of its body; none for a sensor of another kind. One that does not fit the rover was
    /// refused when it was loaded.
    #[must_use]
    pub fn body_sensor(&self, MountedSensor { spec, link }: &MountedSensor) -> Option<BodySensor> {
        BodySensor::new(spec, *link, &body_plan(&self.model), self.sensor_seed).ok().flatten()
    }
}
