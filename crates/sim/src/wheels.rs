//! Presses a rover's wheels into the soil, one after the other in the rover's order, since neighbours share
//! the soil between them. Every simulated rover presses soil here, in a world and on a rig.

use selene_soil::{
    Conditions, Domain, SoilContext, Tyre, TyreCurve, TyreDirection, TyreTrail, WheelContact, WheelMemory, WheelMotion,
    WheelShape,
};
use selene_vehicle::{Rover, RoverModel, TyreCurveSpec, TyreDirectionSpec, TyreSpec, TyreTrailSpec};

/// The shapes and masses of a rover's wheels for the soil's laws.
#[must_use]
pub fn wheel_shapes(model: &RoverModel) -> Vec<WheelShape> {
    let shape = |(wheel, [mass_kg, rim_kg]): (&selene_vehicle::Wheel, [f64; 2])| WheelShape {
        grouser_height_m: wheel.grouser_height_m,
        grousers: wheel.grousers,
        tyre: wheel.tyre.as_ref().map(tyre),
        mass_kg,
        rim_kg,
        ..WheelShape::plain(wheel.radius_m, wheel.width_m)
    };
    model.wheels().iter().zip(model.wheel_masses_kg()).map(shape).collect()
}

/// The tyre's parameters for its law.
fn tyre(spec: &TyreSpec) -> Tyre {
    let trail = |of: &TyreTrailSpec| TyreTrail { share: of.share, zero_slip: of.zero_slip, end_slip: of.end_slip };
    Tyre {
        radial_stiffness_n_m: spec.radial_stiffness_n_m,
        radial_damping_n_s_m: spec.radial_damping_n_s_m,
        nominal_load_n: spec.nominal_load_n,
        friction: spec.friction,
        rolling_resistance: spec.rolling_resistance,
        longitudinal: tyre_direction(&spec.longitudinal),
        lateral: tyre_direction(&spec.lateral),
        trail: [trail(&spec.trail.nominal), trail(&spec.trail.double)],
    }
}

fn tyre_direction(spec: &TyreDirectionSpec) -> TyreDirection {
    let curve = |of: &TyreCurveSpec| TyreCurve {
        slope_n: of.slope_n,
        peak_n: of.peak_n,
        peak_slip: of.peak_slip,
        sliding_n: of.sliding_n,
        sliding_slip: of.sliding_slip,
    };
    TyreDirection {
        stiffness_n_m: spec.stiffness_n_m,
        damping_n_s_m: spec.damping_n_s_m,
        nominal: curve(&spec.nominal),
        double: curve(&spec.double),
    }
}

/// Presses the soil under every wheel for one step. `shapes`, `memories` and `contacts` have one entry per
/// wheel; `contacts` is overwritten.
pub fn press_wheels(
    context: &mut SoilContext,
    rover: &Rover,
    shapes: &[WheelShape],
    memories: &mut [WheelMemory],
    conditions: &Conditions,
    contacts: &mut [WheelContact],
) {
    press_wheels_in(context, rover, shapes, memories, conditions, contacts, &[]);
}

/// The same with a domain for each wheel: the height field or granular soil. A wheel without one is in the height
/// field.
pub(crate) fn press_wheels_in(
    context: &mut SoilContext,
    rover: &Rover,
    shapes: &[WheelShape],
    memories: &mut [WheelMemory],
    conditions: &Conditions,
    contacts: &mut [WheelContact],
    domains: &[Domain],
) {
    let wheels = shapes.iter().zip(memories).zip(contacts).enumerate();
    for (motion, (wheel, ((shape, memory), contact))) in rover.wheel_motions().into_iter().zip(wheels) {
        let motion = WheelMotion {
            world_from_wheel: motion.world_from_wheel,
            linear_m_s: motion.linear,
            angular_rad_s: motion.angular,
        };
        *contact = match domains.get(wheel).copied().unwrap_or_default() {
            Domain::Field => selene_soil::step(context, shape, memory, &motion, conditions),
            Domain::Points(contact) => {
                memory.enter_points(contact.contact_nodes > 0);
                contact
            }
        };
    }
}
