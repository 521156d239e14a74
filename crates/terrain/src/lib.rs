//! The ground: elevation sources, levels of detail, rocks and ruts. One surface
//! that wheels, rays and truth share.

mod check;
mod crater;
mod data;
pub mod elevation;
mod error;
mod extend;
mod generate;
mod ground;
mod icosphere;
mod landform;
mod level;
mod noise;
mod raster;
mod rock;
mod rock_grid;
mod sampler;
mod seam;
mod site;
mod start;
mod tiles;

pub use error::TerrainError;
pub use ground::{Edit, Ground, Node, TILE_NODES};
pub use level::Level;
pub use rock::{Rock, RockShape};
pub use site::{
    CraterLaw, CraterSpec, ElevationSpec, LandformSpec, LevelSpec, POSTS_MAX, ProceduralSpec, RasterSpec, ReliefSpec,
    RidgeSpec, RiseSpec, RockLaw, SiteSpec,
};
