//! A rover's wheels on soil: one after the other in the rover's order, since neighbours share the soil
//! between them. Every rover that is simulated presses soil here, in a world and on a rig.

use selene_soil::{Conditions, SoilContext, WheelContact, WheelMemory, WheelMotion, WheelShape};
use selene_vehicle::{Rover, RoverModel};

/// A rover's wheels as the soil sees them.
#[must_use]
pub fn wheel_shapes(model: &RoverModel) -> Vec<WheelShape> {
    let shape = |wheel: &selene_vehicle::Wheel| WheelShape {
        grouser_height_m: wheel.grouser_height_m,
        grousers: wheel.grousers,
        ..WheelShape::plain(wheel.radius_m, wheel.width_m)
    };
    model.wheels().iter().map(shape).collect()
}

/// Presses the soil under every wheel for one step. `shapes`, `memories` and `contacts` have one entry a
/// wheel; `contacts` is overwritten.
pub fn press_wheels(
    context: &mut SoilContext,
    rover: &Rover,
    shapes: &[WheelShape],
    memories: &mut [WheelMemory],
    conditions: &Conditions,
    contacts: &mut [WheelContact],
) {
    let wheels = shapes.iter().zip(memories).zip(contacts);
    for (motion, ((shape, memory), contact)) in rover.wheel_motions().into_iter().zip(wheels) {
        let motion = WheelMotion {
            world_from_wheel: motion.world_from_wheel,
            linear_m_s: motion.linear,
            angular_rad_s: motion.angular,
        };
        *contact = selene_soil::step(context, shape, memory, &motion, conditions);
    }
}
