//! Values of keys that a scenario's file leaves out: a file that names a rover and a site is complete.

use selene_soil::SoilsSpec;

/// The instant at which simulated time is zero.
pub const UTC: &str = "2026-11-21T12:00:00Z";
/// Seed of every random stream.
pub const SEED: u64 = 1;
/// Free-fall acceleration, m/s²: the Moon's.
pub const GRAVITY_M_S2: f64 = 1.62;
/// Physics step, s.
pub const STEP_S: f64 = 0.0005;
/// Time between two snapshots, s.
pub const HEARTBEAT_S: f64 = 0.005;
/// The soil, by its name in the configuration.
pub const SOIL: &str = "lunar";

pub(super) fn seed() -> u64 {
    SEED
}

pub(super) fn gravity_m_s2() -> f64 {
    GRAVITY_M_S2
}

pub(super) fn step_s() -> f64 {
    STEP_S
}

pub(super) fn heartbeat_s() -> f64 {
    HEARTBEAT_S
}

pub(super) fn soil() -> SoilsSpec {
    SoilsSpec::uniform(SOIL.into())
}
