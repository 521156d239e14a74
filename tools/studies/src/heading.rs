//! Study of a rover's heading from the Sun in its side cameras (F. Dubois et al., "Finding the North on a Lunar
//! Microrover", IAC-18-A3.IP.23, 2018, §IV). Sorato drives a loop at four elevations of the Sun, a detector finds the
//! Sun in each image (`detector`), and the heading q_heading follows from S_camera = q_cam q_gravity q_heading S_topo,
//! with q_gravity from the inertial unit (`compass`) and S_topo from the ephemeris.
//!
//! An image counts if it shows the Sun: its centre is in the frame, and at least half of its disc is visible. The Sun
//! is found if the detector's direction is within 5° of it, the paper's largest error; the paper requires detection and
//! flare to overlap. Unlike in the paper, all loops use the same ground.
//!
//! The paper's second method, a small network (`network`, trained on the images of `training`), is also tested with the
//! Sun just outside of the frame: visible from the lens, and at most a right angle from the optical axis.

mod compass;
mod detector;
mod drive;
pub(crate) mod network;
mod report;
mod training;

use std::f64::consts::{FRAC_PI_2, PI};
use std::path::PathBuf;
use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_observe::Device;
use selene_sim::{LoadOptions, Model, Scenario};
use selene_sky::{KernelError, SiteSky, Utc};

use crate::Failure;

pub use compass::{Gravity, heading_rad};
pub use detector::{SMALL_PX, detect};
pub use drive::{DrivePlan, HeadingShot, shots};
pub use network::{Network, PARAMETERS_MAX, TINY_PX};
pub use report::{Figures, NetworkFigures, chart, csv, network_csv, network_table, table};
pub use training::{Labelled, Training, labels};

/// Diameters of the detector's disc in the paper's table 2, px.
pub const DISCS_PX: [f64; 5] = [5.0, 11.0, 15.0, 17.0, 21.0];
/// Largest angle to the Sun at which it counts as found, rad: the paper's largest error.
pub const FOUND_RAD: f64 = 5.0 * PI / 180.0;
/// Data sets of the paper's table 1.
pub const DATASETS: [Dataset; 4] = [
    Dataset { sun_elevation_deg: 21.0, images: 3741 },
    Dataset { sun_elevation_deg: 8.6, images: 707 },
    Dataset { sun_elevation_deg: 9.8, images: 2298 },
    Dataset { sun_elevation_deg: 15.0, images: 354 },
];
/// Largest angle from the optical axis, rad, at which a Sun outside of the frame counts as just outside: the hemisphere
/// that each of two opposite cameras faces, and 15° beyond the edge of a camera with 150°.
pub const JUST_OUTSIDE_RAD: f64 = FRAC_PI_2;
/// Duration of a route, relative to its length divided by its speed: wheels slip.
const SLIP: f64 = 1.1;
/// Time within which an elevation is searched for, hours: two lunar days.
const HOURS_AHEAD: u32 = 1420;

/// A loop under one elevation of the Sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dataset {
    /// Elevation of the Sun at the start, degrees.
    pub sun_elevation_deg: f64,
    /// Number of images of all cameras together.
    pub images: usize,
}

/// Set-up of the study.
#[derive(Clone, Debug)]
pub struct Study {
    /// Scenario file with one rover that has a route, cameras and an inertial unit.
    pub scenario: PathBuf,
    /// Options for loading it; its UTC is the earliest start.
    pub options: LoadOptions,
    /// Number of images of each data set; `None` for the paper's.
    pub images: Option<usize>,
    /// A network to test on the images as well.
    pub network: Option<Network>,
    /// Device that traces the images.
    pub device: Device,
}

/// Result of one disc on one image that shows the Sun.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscResult {
    /// Name of the camera.
    pub camera: String,
    /// Simulated time of the image.
    pub stamp: SimTime,
    /// Column and row of the Sun, px.
    pub sun_px: [f64; 2],
    /// Angle of the Sun from the optical axis, rad.
    pub off_axis_rad: f64,
    /// Diameter of the detector's disc, px of the small image.
    pub disc_px: f64,
    /// Angle between the detector's direction and the Sun's, rad.
    pub direction_error_rad: f64,
    /// Heading from the detector less the true one, rad, −π to π.
    pub heading_error_rad: f64,
}

impl DiscResult {
    /// Whether the Sun was found.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.direction_error_rad < FOUND_RAD
    }
}

/// Result of the network on one image with the Sun in the frame or just outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimated {
    /// Name of the camera.
    pub camera: String,
    /// Simulated time of the image.
    pub stamp: SimTime,
    /// Whether the Sun is in the frame, or else just outside.
    pub in_frame: bool,
    /// Angle of the Sun from the optical axis, rad.
    pub off_axis_rad: f64,
    /// Angle between the network's direction and the Sun's, rad.
    pub direction_error_rad: f64,
    /// Heading from the network less the true one, rad, −π to π.
    pub heading_error_rad: f64,
}

/// A loop and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Elevation of the Sun at the start, degrees.
    pub sun_elevation_deg: f64,
    /// UTC at simulated time zero.
    pub utc: Utc,
    /// Number of images taken.
    pub images: usize,
    /// Result of each disc on each image that shows the Sun.
    pub judged: Vec<DiscResult>,
    /// Result of the network on each image with the Sun in the frame or just outside; empty without a network.
    pub estimated: Vec<Estimated>,
}

impl Study {
    /// Drives the loop under one elevation of the Sun and evaluates its images.
    ///
    /// # Errors
    /// When the scenario does not fit, its Sun never reaches the elevation, or something cannot be traced.
    pub fn drive(&self, dataset: Dataset) -> Result<Loop, Failure> {
        let first = Scenario::load(&self.scenario, &self.options)?;
        let utc = when(&first.sky, first.utc, dataset.sun_elevation_deg)?;
        let options = LoadOptions { utc: Some(utc), ..self.options.clone() };
        let model = Arc::new(Model::new(Arc::new(Scenario::load(&self.scenario, &options)?))?);
        let plan = self.plan(&model, dataset)?;
        let shots = shots(&model, &self.device, &plan)?;
        let judged = shots.iter().flat_map(|shot| DISCS_PX.iter().filter_map(|disc_px| judge(shot, *disc_px)));
        let judged = judged.collect();
        let by_network = |network: &Network| shots.iter().filter_map(|shot| estimate(shot, network)).collect();
        let estimated = self.network.as_ref().map_or_else(Vec::new, by_network);
        Ok(Loop { sun_elevation_deg: dataset.sun_elevation_deg, utc, images: shots.len(), judged, estimated })
    }

    /// Plan of images at equal time steps from the start of the route to its end.
    fn plan(&self, model: &Model, dataset: Dataset) -> Result<DrivePlan, Failure> {
        let file = self.scenario.display();
        let rover = model.scenario().rovers.first().ok_or_else(|| format!("{file}: has no rover"))?;
        let route = rover.route.as_ref().ok_or_else(|| format!("{file}: has no route"))?;
        let cameras = rover.cameras().count();
        if cameras == 0 || rover.imus().count() == 0 {
            return Err(format!("{file}: must have cameras and an IMU").into());
        }
        let mut at = [rover.start.x_m, rover.start.y_m];
        let mut length_m = 0.0;
        for next in &route.waypoints_m {
            length_m += (next[0] - at[0]).hypot(next[1] - at[1]);
            at = *next;
        }
        let instants = self.images.unwrap_or(dataset.images).div_ceil(cameras).max(1);
        let period_s = SLIP * length_m / route.speed_m_s / instants as f64;
        Ok(DrivePlan { instants, period: SimTime::from_secs_f64(period_s), twist: None, sun_within_rad: PI })
    }
}

/// Evaluates a disc on an image; `None` if the image does not show the Sun.
#[must_use]
pub fn judge(shot: &HeadingShot, disc_px: f64) -> Option<DiscResult> {
    let sun_px = shot.sun_px?;
    let sun_in_body = |optical: Vector3<f64>| shot.body_from_optical * optical;
    let sun = shot.view.unproject(sun_px)?.normalize();
    let at = detect(&shot.small, disc_px);
    let size = [shot.view.width, shot.view.height];
    let scale = [0, 1].map(|axis: usize| f64::from(size[axis]) / f64::from(SMALL_PX[axis]));
    let seen = shot.view.unproject([0, 1].map(|axis: usize| (at[axis] + 0.5) * scale[axis] - 0.5))?.normalize();
    let heading = heading_rad(sun_in_body(seen), shot.up_in_body, shot.sun_enu);
    Some(DiscResult {
        camera: shot.camera.clone(),
        stamp: shot.stamp,
        sun_px,
        off_axis_rad: sun.angle(&Vector3::z()),
        disc_px,
        direction_error_rad: seen.angle(&sun),
        heading_error_rad: turn(heading - shot.heading_rad),
    })
}

/// Evaluates the network on an image; `None` if the Sun is hidden or farther than just outside. An answer without a
/// direction counts as straight ahead.
#[must_use]
pub fn estimate(shot: &HeadingShot, network: &Network) -> Option<Estimated> {
    let off_axis_rad = shot.sun_in_optical.angle(&Vector3::z());
    let in_frame = shot.sun_px.is_some();
    if !shot.sun_in_sight || (!in_frame && off_axis_rad > JUST_OUTSIDE_RAD) {
        return None;
    }
    let seen = network.sun_in_optical(&shot.tiny).unwrap_or_else(Vector3::z);
    let heading = heading_rad(shot.body_from_optical * seen, shot.up_in_body, shot.sun_enu);
    Some(Estimated {
        camera: shot.camera.clone(),
        stamp: shot.stamp,
        in_frame,
        off_axis_rad,
        direction_error_rad: seen.angle(&shot.sun_in_optical),
        heading_error_rad: turn(heading - shot.heading_rad),
    })
}

/// The same angle between −π and π.
fn turn(angle_rad: f64) -> f64 {
    let (sin, cos) = angle_rad.sin_cos();
    sin.atan2(cos)
}

/// The first time after `from` at which the Sun rises through an elevation.
fn when(sky: &SiteSky, from: Utc, elevation_deg: f64) -> Result<Utc, Failure> {
    let at = |hours: f64| from.after(SimTime::from_secs_f64(3600.0 * hours));
    let above = |hours: f64| -> Result<bool, KernelError> {
        Ok(sky.sun(at(hours))?.elevation_rad.to_degrees() >= elevation_deg)
    };
    for hour in 0..HOURS_AHEAD {
        let [mut low, mut high] = [f64::from(hour), f64::from(hour + 1)];
        if above(low)? || !above(high)? {
            continue;
        }
        while high - low > 1.0 / 3600.0 {
            let middle = 0.5 * (low + high);
            if above(middle)? { high = middle } else { low = middle }
        }
        return Ok(at(high));
    }
    Err(format!("the Sun does not rise to {elevation_deg}° over the site within {HOURS_AHEAD} h of {from}").into())
}

#[cfg(test)]
mod tests {
    use super::{turn, when};
    use selene_sky::{SiteSky, Utc};
    use std::f64::consts::PI;

    #[test]
    fn an_instant_has_the_elevation_that_is_requested_and_too_high_a_sun_is_refused() {
        let sky = SiteSky::new(-67.5, 31.6);
        let from: Utc = "2026-11-01T00:00:00Z".parse().expect("an instant");
        for elevation_deg in [8.6, 9.8, 15.0, 21.0] {
            let utc = when(&sky, from, elevation_deg).expect("found");
            let there_deg = sky.sun(utc).expect("no kernels").elevation_rad.to_degrees();
            assert!((there_deg - elevation_deg).abs() < 1e-3, "{there_deg}");
        }
        let refused = when(&sky, from, 40.0).expect_err("never").to_string();
        assert!(refused.contains("40"), "{refused}");
    }

    #[test]
    fn turns_are_the_short_way_round() {
        assert!((turn(2.0 * PI + 0.25) - 0.25).abs() < 1e-12 && (turn(-PI - 0.5) - (PI - 0.5)).abs() < 1e-12);
    }
}
