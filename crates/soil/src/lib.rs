//! Wheel–soil laws: from a wheel's geometry and motion over the nodes of the ground
//! to the wrench on the wheel and the rut it leaves. A law is a pure function of
//! parameters (`Scm`), motion, ground and soil memory; nothing else is kept.

mod bulldozing;
mod force;
mod law;
mod memory;
mod patch;
mod press;
pub mod rig;
mod scm;
mod soils;
pub mod solid;
mod spec;
mod underside;
mod wheel;

pub use law::Law;
pub use memory::{NodeMemory, SoilMemory};
pub use press::Scratch;
pub use scm::{Bulldozing, Scm, SoilError};
pub use soils::Soils;
pub use spec::{BulldozingSpec, ScmSpec, SoilLaw, SoilSpec};
pub use wheel::{
    Bed, Conditions, WheelContact, WheelForces, WheelMemory, WheelMotion, WheelShape, slip_angle_rad, slip_ratio, step,
};
