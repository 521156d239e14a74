//! The vehicle crate seen from outside: reading, steering, driving.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

mod ackermann;
mod bad_input;
mod bad_urdf;
mod driving;
mod energy;
mod found;
mod ground;
mod large;
mod loads;
mod motors;
mod platform;
mod refusal;
mod rovers;
mod steering;
mod suspension;
mod truck;
mod truck_beside_chrono;
mod turned;
mod viper;
mod wishbones;
