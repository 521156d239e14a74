//! The data passed between stages: an image as planes of `f32` in SI units, one plane for a monochrome camera or a
//! mosaic, three (red, green, blue) for colour, with the physical quantity of its values.

use std::fmt;

use rayon::prelude::*;

/// The physical quantity of a plate's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Irradiance in a channel's band on the detector behind a lens of f-number 1, W/m².
    Irradiance,
    /// Electrons in a pixel.
    Electrons,
    /// Fraction of the full scale, 0 to 1 unless clipped.
    Signal,
    /// Digital numbers, whole, as published.
    Numbers,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Irradiance => "irradiance",
            Self::Electrons => "electrons",
            Self::Signal => "signal",
            Self::Numbers => "numbers",
        })
    }
}

/// An image between two stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Plate {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Physical quantity of the values.
    pub quantity: Quantity,
    /// One plane, or red, green and blue; each row by row from the top left.
    pub planes: Vec<Vec<f32>>,
}

impl Plate {
    /// Applies `change(channel, row, values)` to every row of every plane. Several threads process the rows, so
    /// `change` must depend on its arguments alone.
    pub fn for_each_row(&mut self, change: impl Fn(usize, usize, &mut [f32]) + Sync) {
        let columns = self.width.max(1);
        for (channel, plane) in self.planes.iter_mut().enumerate() {
            plane.par_chunks_mut(columns).enumerate().for_each(|(row, values)| change(channel, row, values));
        }
    }
}
