//! What every format's reader finds: the grid, its georeference as far as the file
//! has one, how samples become heights, and where the samples are.

use std::path::Path;

use crate::crs::Crs;
use crate::error::{ElevationError, read_error};
use crate::format::Format;
use crate::raw::RawSource;
use crate::tiff_blocks::TiffSource;
use crate::transform::GeoTransform;
use crate::values::Values;
use crate::window::Window;

/// An opened file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) format: Format,
    /// Columns and rows.
    pub(super) shape: [usize; 2],
    pub(super) transform: Option<GeoTransform>,
    pub(super) crs: Option<Crs>,
    pub(super) values: Values,
    /// Whether the format says what its samples mean.
    pub(super) has_own_scale: bool,
    pub(super) source: Source,
}

/// Where samples are.
#[derive(Debug)]
pub(super) enum Source {
    /// In a file, uncompressed.
    Raw(RawSource),
    /// In a file, in compressed blocks.
    Tiff(TiffSource),
    /// In memory, row by row.
    Held(Vec<f64>),
}

impl Source {
    /// Columns and rows of a block that is decoded as one; of samples that lie bare a row, or its part in a tile.
    pub(super) fn block(&self, shape: [usize; 2]) -> [usize; 2] {
        match self {
            Self::Raw(raw) => [raw.block_columns.min(shape[0]), 1],
            Self::Tiff(tiff) => [0, 1].map(|i| tiff.block()[i].min(shape[i])),
            Self::Held(_) => [shape[0], 1],
        }
    }

    /// Reads a window that lies inside a grid of `columns`; heights in `out`.
    pub(super) fn read(
        &mut self,
        path: &Path,
        columns: usize,
        window: &Window,
        values: &Values,
        out: &mut [f32],
    ) -> Result<(), ElevationError> {
        match self {
            Self::Raw(raw) => raw.read(window, values, out).map_err(read_error(path)),
            Self::Tiff(tiff) => tiff.read(window, values, out).map_err(|refusal| refusal.at(path)),
            Self::Held(samples) => {
                for (row, out) in (window.row..).zip(out.chunks_mut(window.columns)) {
                    let from = row * columns + window.column;
                    let samples = &samples[from..from + window.columns];
                    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = values.height_m(*sample) as f32);
                }
                Ok(())
            }
        }
    }
}
