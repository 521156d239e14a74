//! The vehicle crate seen from outside: reading, steering, driving.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod driving;
mod energy;
mod ground;
mod motors;
mod rovers;
mod steering;
mod suspension;
mod viper;
