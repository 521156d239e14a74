//! What stages hand to each other: an image as planes of `f32` in SI units, one plane for
//! a camera that sees all light alike or a mosaic, three (red, green, blue) for colour,
//! together with what its numbers are.

use std::fmt;

use rayon::prelude::*;

/// What the numbers of a plate are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// W/m² in a channel's band on the detector behind a lens of f-number 1.
    Irradiance,
    /// Electrons of a pixel.
    Electrons,
    /// Share of the full scale, 0 to 1 where neither end is passed.
    Signal,
    /// Digital numbers: whole, as published.
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

/// An image on its way through the stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Plate {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What the numbers are.
    pub quantity: Quantity,
    /// One plane, or red, green and blue; each row by row from the top left.
    pub planes: Vec<Vec<f32>>,
}

impl Plate {
    /// Changes every row of every plane: `change(channel, row, values)`. Rows are done by
    /// several threads, so `change` must depend on its arguments alone.
    pub fn for_each_row(&mut self, change: impl Fn(usize, usize, &mut [f32]) + Sync) {
        let columns = self.width.max(1);
        for (channel, plane) in self.planes.iter_mut().enumerate() {
            plane.par_chunks_mut(columns).enumerate().for_each(|(row, values)| change(channel, row, values));
        }
    }
}
