//! What a wheel is in during a step: the closed set of soil domains. One world may have
//! several, each in its own place. Whatever it is, the wheel gets a [`WheelContact`] of it
//! and the ground changes by edits of its posts.

use crate::wheel::WheelContact;

/// The soil that a wheel is in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Domain {
    /// The height field, which the law of the place presses: SCM, data-driven, rigid or slip map.
    #[default]
    Field,
    /// Points of a granular window, which has been stepped with the wheel in it. This is what
    /// they do to it until the next exchange.
    Points(WheelContact),
}
