//! The ground: a site's undisturbed ground (`Terrain`), the changes that rovers made (`Ruts`), the part that wheels
//! press (`GroundPatch`) and the part that a viewer sees (`Clipmap`). Wheels, rays and ground truth share one surface.

mod clipmap;
mod error;
mod lattice;
mod level;
mod measured;
mod procedural;
mod sampler;
mod site;
mod surface;
mod terrain;

pub use clipmap::Clipmap;
pub use clipmap::horizon::Horizon;
pub use clipmap::mosaic::{MOSAIC_POSTS_MAX, Mosaic, MosaicError, MosaicLayer};
pub use clipmap::windows::{ClipmapCentre, ClipmapWindows, WindowPlan};
pub use error::TerrainError;
pub use level::Level;
pub use procedural::crater_law::{CraterLaw, CraterPowerSpec, CraterSizes, NeukumSpec};
pub use procedural::landscape::{Landscape, Windows};
pub use procedural::rock_law::{CraterRocksSpec, RockLaw, RockPowerSpec, RockSizes};
pub use procedural::tile_store::TileStore;
pub use site::reflectance::{HapkeSpec, LambertSpec, PrincipledSpec, ReflectanceSpec, radar_shares};
pub use site::spec::{
    CraterSpec, ElevationSpec, FileSpec, LandformSpec, LevelSpec, POSTS_MAX, ProceduralSpec, RasterSpec, ReliefSpec,
    RidgeSpec, RiseSpec, SiteSpec,
};
pub use site::surface::{DetailSpec, SurfaceSpec};
pub use surface::node_set::NodeSet;
pub use surface::patch::{GroundPatch, NodeRect};
pub use surface::print::Print;
pub use surface::rock::{Rock, RockShape};
pub use surface::ruts::{Ruts, planes};
pub use surface::tile::{Edit, Node, TILE_NODES, TileIndex, TileRect};
pub use terrain::Terrain;
