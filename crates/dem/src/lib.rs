//! Reads elevation files of the Moon natively, with their georeference: an `ElevationFile` is opened and read by
//! windows into a `Dem`, which gives heights at map coordinates, at latitude and longitude, or in a rover's `MapFrame`.

mod ascii;
mod body;
mod crs;
mod dem;
mod error;
mod file;
mod fill;
mod format;
mod geokeys;
mod georeference;
mod geotiff;
mod header;
mod height_statistics;
mod isis;
mod map_frame;
mod npy;
mod odl;
mod pds3;
mod pds3_map;
mod pds4;
mod png;
mod raw;
mod tiff_blocks;
mod transform;
mod unpack;
mod values;
mod window;
mod wkt;
mod write;

pub use crs::{Crs, GeoPoint, MOON_RADIUS_M, Pole};
pub use dem::Dem;
pub use error::{ElevationError, Refusal};
pub use file::{ElevationFile, POSTS_AT_ONCE_MAX, ReadOptions};
pub use format::Format;
pub use height_statistics::{GeographicBounds, HeightStatistics};
pub use map_frame::MapFrame;
pub use transform::GeoTransform;
pub use window::Window;
pub use write::{Compression, RasterHead, write_geotiff, write_geotiff_rows};
