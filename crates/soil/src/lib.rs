//! Wheel–soil laws: they compute the wrench on a wheel and the rut it leaves from the wheel's
//! geometry and motion over the ground. The crate also decides which law holds where. A law is a
//! pure function of its parameters, the motion, the ground, and the memories of soil and wheel; it
//! has no other state. In granular windows (`granular`) the soil is points with a state of their own.

mod bearing;
mod bekker_patch;
mod bulldozing;
mod contact_patch;
mod data;
mod data_spec;
mod domain;
pub mod drive_rig;
mod dust;
mod erosion;
pub mod fit;
mod force;
mod granular;
mod grip;
mod law;
mod memory;
mod press;
mod profile;
pub mod rig;
mod rigid;
mod scm;
mod slip_map;
mod slip_table;
mod soil_area;
mod soil_map;
mod soils;
pub mod solid;
mod spec;
mod surface;
mod trace;
mod tread;
mod tyre;
mod wheel;
mod wheel_memory;

pub use data::{DataDriven, Fitted};
pub use data_spec::{AccelerationSpec, DataFrictionSpec, DataSpec, Downhill, SinkageFitSpec, SlipFitSpec, TraceSpec};
pub use domain::Domain;
pub use dust::{Dust, DustParcel, DustSource, DustSpec};
pub use granular::{
    CrmKey, DemSpec, EndOfHeartbeat, GrainsSpec, GranularDevice, GranularError, GranularWindow, LoosePoint, LooseSoil,
    SoilSolver, StirredSoil, WindowSpec, WindowState,
};
pub use law::Law;
pub use memory::{KnownNode, MemoryPatch, NodeMemory, SoilMemory, WrittenMemory};
pub use press::PressScratch;
pub use rigid::{Rigid, RigidSpec};
pub use scm::{Bulldozing, Scm, SoilError};
pub use slip_map::{SlipMap, SlipMapSpec, SlipTable};
pub use slip_table::{Interpolation, SlipRow};
pub use soil_map::{
    AreaSpec, CircleSpec, HalfPlaneSpec, ImageSpec, PatchesSpec, PolygonSpec, RectangleSpec, ShapeSpec, SoilsSpec,
};
pub use soils::Soils;
pub use spec::{BulldozingSpec, Pressure, ScmSpec, SlipSinkage, SoilLaw, SoilSpec};
pub use tyre::{Tyre, TyreCurve, TyreDirection, TyreTrail};
pub use wheel::{
    Conditions, SoilContext, WheelContact, WheelForces, WheelMotion, WheelShape, slip_angle_rad, slip_ratio, step,
};
pub use wheel_memory::WheelMemory;
