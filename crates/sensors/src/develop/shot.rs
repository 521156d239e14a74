//! What is known of an exposure, and the chance that its stages draw from.

use selene_base::random::{Stream, stream_at};
use selene_scene::CameraFrame;

use crate::spec::PIXELS_MAX;

/// The Sun as a lens has it in sight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SunSight {
    /// Where its centre falls in the image, column and row, also outside the frame.
    pub at_px: [f64; 2],
    /// Irradiance on a surface that faces it, W/m², of the part of its disc that is seen.
    pub irradiance_w_m2: f64,
    /// Cosine of the angle between it and the optical axis.
    pub cos_axis: f64,
}

impl SunSight {
    /// Irradiance on the lens, W/m²; 0 from behind.
    #[must_use]
    pub fn on_lens_w_m2(&self) -> f64 {
        self.irradiance_w_m2 * self.cos_axis.max(0.0)
    }
}

/// What a stage does to a row: channel, row, values.
pub(super) type RowWork<'a> = Box<dyn Fn(usize, usize, &mut [f32]) + Sync + 'a>;

/// What is known of an exposure beside its plate.
#[derive(Clone, Copy, Debug)]
pub struct Shot<'a> {
    /// Depth and classes, pixel for pixel.
    pub frame: &'a CameraFrame,
    /// The Sun where any of it is seen from the lens.
    pub sun: Option<&'a SunSight>,
    /// The scenario's seed.
    pub seed: u64,
    /// The frame's number.
    pub index: u64,
    /// Exposure time, s.
    pub exposure_s: f64,
    /// What auto exposure multiplies the ISO number by.
    pub gain: f64,
}

/// The random streams of one stage in one frame: one a row, so that no row's noise depends
/// on which thread takes it.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    seed: u64,
    name: String,
    index: u64,
}

impl Chance {
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
