//! Data of one exposure, and the random streams of its stages.

use selene_base::random::{Stream, stream_at};
use selene_scene::CameraFrame;

use crate::spec::PIXELS_MAX;

/// The Sun as seen from a lens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SunSight {
    /// Position of its centre in the image, column and row; may be outside the frame.
    pub at_px: [f64; 2],
    /// Irradiance of the visible part of its disc on a surface that faces it, W/m².
    pub irradiance_w_m2: f64,
    /// Cosine of the angle between it and the optical axis.
    pub cos_axis: f64,
}

impl SunSight {
    /// Irradiance on the lens, W/m²; 0 if the Sun is behind it.
    #[must_use]
    pub fn on_lens_w_m2(&self) -> f64 {
        self.irradiance_w_m2 * self.cos_axis.max(0.0)
    }
}

/// The work of a stage on a row: channel, row, values.
pub(super) type RowWork<'a> = Box<dyn Fn(usize, usize, &mut [f32]) + Sync + 'a>;

/// Data of an exposure beside its plate.
#[derive(Clone, Copy, Debug)]
pub struct Shot<'a> {
    /// The traced frame, with depth and class of each pixel.
    pub frame: &'a CameraFrame,
    /// The Sun, if any of it is visible from the lens.
    pub sun: Option<&'a SunSight>,
    /// The scenario's seed.
    pub seed: u64,
    /// Index of the frame.
    pub index: u64,
    /// Exposure time, s.
    pub exposure_s: f64,
    /// Factor of auto exposure on the ISO number.
    pub gain: f64,
}

/// The random streams of one stage in one frame: one per row, so that noise does not depend on which thread processes a
/// row.
#[derive(Clone, Debug)]
pub(super) struct RowStreams {
    seed: u64,
    name: String,
    index: u64,
}

impl RowStreams {
    pub(super) fn new(seed: u64, name: &str, index: u64) -> Self {
        Self { seed, name: name.to_owned(), index }
    }

    pub(super) fn of_row(&self, channel: usize, row: usize) -> Stream {
        let at = self.index * PIXELS_MAX as u64 + row as u64;
        match channel {
            0 => stream_at(self.seed, &self.name, at),
            _ => self.of_lines("pixels", channel, row),
        }
    }

    pub(super) fn of_lines(&self, what: &str, channel: usize, line: usize) -> Stream {
        let at = self.index * PIXELS_MAX as u64 + line as u64;
        stream_at(self.seed, &format!("{}/{what}/{channel}", self.name), at)
    }
}
