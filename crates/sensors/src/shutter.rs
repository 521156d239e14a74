//! When the pixels of an image are exposed. The stamp is the middle of the first row's exposure; with a rolling shutter
//! the exposure of each further row is `line_time_s` later, and with motion blur a row's samples are spread over its
//! exposure. Without either, all pixels are sampled at one instant.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::{Pose, SimTime};
use selene_scene::ShutterMotion;
use serde::Deserialize;

use crate::camera::CameraSpec;

/// A shutter that exposes and reads the rows one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RollingShutter {
    /// Delay from one row's exposure to the next one's, s.
    #[garde(custom(within(0.0, 0.1)))]
    pub line_time_s: f64,
}

/// Timing of an image's exposure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shutter {
    /// Time over which the samples of a row are spread, s; 0 without motion blur.
    pub exposure_s: f64,
    /// Delay from one row's exposure to the next one's, s.
    pub line_time_s: f64,
    /// Number of rows.
    pub rows: u32,
}

impl Shutter {
    /// Time from the start of the first row's exposure to the stamp.
    #[must_use]
    pub fn opens_before(&self) -> SimTime {
        SimTime::from_secs_f64(0.5 * self.exposure_s)
    }

    /// Time from the stamp to the end of the last row's exposure.
    #[must_use]
    pub fn closes_after(&self) -> SimTime {
        SimTime::from_secs_f64(0.5 * self.exposure_s + self.readout_s())
    }

    /// The camera's motion during the exposure, from its poses at the start and at the end; `None` if all pixels are
    /// exposed at one instant.
    #[must_use]
    pub fn sweep(&self, world_from_optical: [Pose; 2]) -> Option<ShutterMotion> {
        let span_s = self.exposure_s + self.readout_s();
        (span_s > 0.0).then(|| ShutterMotion {
            world_from_optical,
            exposure_share: self.exposure_s / span_s,
            row_share: self.line_time_s / span_s,
        })
    }

    fn readout_s(&self) -> f64 {
        self.line_time_s * f64::from(self.rows.saturating_sub(1))
    }
}

impl CameraSpec {
    /// The shutter of an image that is exposed for `exposure_s`.
    #[must_use]
    pub fn shutter(&self, exposure_s: f64) -> Shutter {
        Shutter {
            exposure_s: if self.motion_blur { exposure_s } else { 0.0 },
            line_time_s: self.rolling_shutter.map_or(0.0, |rolling| rolling.line_time_s),
            rows: self.height,
        }
    }
}

/// A garde check: an image is not published before its exposure ends.
pub(crate) fn exposed_by_then(camera: &CameraSpec) -> impl FnOnce(&f64, &()) -> garde::Result + '_ {
    move |lag_s, ()| {
        let least_s = camera.shutter(camera.exposure_s).closes_after().secs_f64();
        if *lag_s >= least_s {
            return Ok(());
        }
        let why = "when the last row of the longest exposure ends after the stamp, as motion_blur and rolling_shutter have it";
        Err(garde::Error::new(format!("value {lag_s} is not allowed: must be at least {least_s:.6}, {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::RollingShutter;
    use crate::camera::tests::camera;
    use selene_base::Pose;

    #[test]
    fn rows_are_exposed_one_after_the_other_within_the_span() {
        let mut spec = camera("navcam_left.yaml");
        assert!(spec.shutter(0.02).sweep([Pose::identity(); 2]).is_none(), "one instant");
        spec.motion_blur = true;
        spec.rolling_shutter = Some(RollingShutter { line_time_s: 5e-5 });
        let shutter = spec.shutter(0.02);
        let span_s = 0.02 + 359.0 * 5e-5;
        assert!((shutter.opens_before().secs_f64() - 0.01).abs() < 1e-9);
        assert!((shutter.closes_after().secs_f64() - (span_s - 0.01)).abs() < 1e-9);
        let sweep = shutter.sweep([Pose::identity(); 2]).expect("it takes time");
        // From the start of the exposure to the middle of a row: half an exposure and the rows before.
        assert!((sweep.row_middle(0.0) * span_s - 0.01).abs() < 1e-12);
        assert!((sweep.row_middle(359.0) * span_s - (span_s - 0.01)).abs() < 1e-12);
        assert!((sweep.row_middle(100.0) * span_s - 0.015).abs() < 1e-12);
    }
}
