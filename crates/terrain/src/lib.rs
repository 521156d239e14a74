//! The ground: elevation sources, levels of detail, rocks and ruts. One surface
//! that wheels, rays and truth share.

mod cell;
mod check;
mod crater;
mod crater_field;
mod data;
mod error;
mod extend;
mod ground;
mod icosphere;
mod landform;
mod landscape;
mod lattice;
mod level;
mod noise;
mod patch;
mod raster;
mod rock;
mod rock_field;
mod rock_grid;
mod ruts;
mod sampler;
mod seam;
mod site;
mod start;
mod surroundings;
mod tile_store;
mod windows;

pub use error::TerrainError;
pub use ground::{Edit, Ground, Node, TILE_NODES};
pub use landscape::{Landscape, Windows};
pub use level::Level;
pub use rock::{Rock, RockShape};
pub use site::{
    CraterLaw, CraterSpec, ElevationSpec, LandformSpec, LevelSpec, POSTS_MAX, ProceduralSpec, RasterSpec, ReliefSpec,
    RidgeSpec, RiseSpec, RockLaw, SiteSpec,
};
pub use surroundings::Surroundings;
pub use tile_store::TileStore;
pub use windows::{Place, Vicinity, WindowPlan};
