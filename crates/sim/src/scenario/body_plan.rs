//! The layout of a rover's joints and wheels, for sensors of its own body such as encoders and odometry.

use selene_sensors::{BodyPlan, BodySensor, OdometryWheel};
use selene_vehicle::{RoverModel, Wheel};

use crate::scenario::rover::{MountedSensor, RoverSetup};

/// Layout of a rover: its moving joints, its driven wheels, and the joints with motors (drives, steers and servos).
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
    /// One of the rover's sensors as a sensor of its body; `None` for another kind of sensor. A sensor that does not
    /// fit the rover is refused when it is loaded.
    #[must_use]
    pub fn body_sensor(&self, MountedSensor { spec, link }: &MountedSensor) -> Option<BodySensor> {
        BodySensor::new(spec, *link, &body_plan(&self.model), self.sensor_seed).ok().flatten()
    }
}
