//! The sky over a lunar site: where the Sun, the Earth and the stars stand at a UTC
//! instant, how large and how bright they are. Two ephemerides: SPICE kernels, or series
//! that need no files (Meeus for the Sun and the Moon, the IAU/WGCCRE rotation model for
//! the Moon). `tests/peers/sky.rs` compares both with Skyfield.

mod analytic;
mod ephemeris;
mod kernels;
mod light;
mod rotation;
mod site;
mod stars;
mod text_kernel;
mod utc;

pub use ephemeris::Ephemeris;
pub use kernels::{KernelError, Kernels};
pub use light::{EarthLight, limb_darkening, solar_irradiance_w_m2, visible_fraction};
pub use site::{Direction, SiteSky, Sky, azimuth_elevation_rad, moon_from_enu};
pub use stars::{CatalogueStar, StarError, stars};
pub use utc::{Utc, UtcError};

pub use selene_base::MOON_RADIUS_M;

/// The astronomical unit, m (IAU 2012).
pub const AU_M: f64 = 149_597_870_700.0;
