//! The ground: elevation sources, levels of detail, rocks and ruts. One surface
//! that wheels, rays and truth share.

mod beyond;
mod cell;
mod check;
mod crater;
mod crater_age;
mod crater_field;
mod crater_law;
mod crater_profile;
mod data;
pub mod elevation;
mod error;
mod extend;
mod ground;
#[cfg(test)]
mod hills;
mod horizon;
mod icosphere;
mod landform;
mod landscape;
mod lattice;
#[cfg(test)]
mod law_fit;
mod level;
mod mosaic;
mod noise;
mod patch;
mod raster;
mod rock;
mod rock_field;
mod rock_grid;
mod rock_law;
mod rocks_in_view;
mod ruts;
mod sampler;
mod seam;
mod showing;
mod site;
mod start;
mod surface;
mod surroundings;
mod tile_store;
mod windows;

pub use crater_law::{CraterLaw, CraterPowerSpec, CraterSizes, NeukumSpec};
pub use error::TerrainError;
pub use ground::{Edit, Ground, Node, TILE_NODES};
pub use horizon::Horizon;
pub use landscape::{Landscape, Windows};
pub use level::Level;
pub use mosaic::{MOSAIC_POSTS_MAX, Mosaic, MosaicError, MosaicLayer};
pub use rock::{Rock, RockShape};
pub use rock_law::{CraterRocksSpec, RockLaw, RockPowerSpec, RockSizes};
pub use site::{
    CraterSpec, ElevationSpec, FileSpec, LandformSpec, LevelSpec, POSTS_MAX, ProceduralSpec, RasterSpec, ReliefSpec,
    RidgeSpec, RiseSpec, SiteSpec,
};
pub use surface::{DetailSpec, HapkeSpec, SurfaceSpec};
pub use surroundings::{Make, Surroundings};
pub use tile_store::TileStore;
pub use windows::{Place, Vicinity, WindowPlan};
