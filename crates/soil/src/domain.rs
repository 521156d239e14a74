//! The soil domain that a wheel is in during a step: height field or points. One world may have
//! both, each in its own place. Either gives the wheel a [`WheelContact`] and changes the ground
//! by edits of its posts.

use crate::wheel::WheelContact;

/// The soil domain that a wheel is in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Domain {
    /// The height field, with the law that holds at this place: SCM, data-driven, rigid or slip map.
    #[default]
    Field,
    /// Points of a granular window that was stepped with the wheel in it: the contact that acts on
    /// the wheel until the next exchange.
    Points(WheelContact),
}
