//! The result of opening a file, common to all formats: the grid, its georeference if the file has one, the conversion
//! of samples to heights, and where the samples are.

use std::path::Path;

use crate::crs::Crs;
use crate::error::{ElevationError, read_error};
use crate::format::Format;
use crate::raw::RawSource;
use crate::tiff_blocks::TiffSource;
use crate::transform::GeoTransform;
use crate::values::Values;
use crate::window::Window;

/// An opened file, before the caller's options are applied.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) format: Format,
    /// Columns and rows.
    pub(super) shape: [usize; 2],
    pub(super) transform: Option<GeoTransform>,
    pub(super) crs: Option<Crs>,
    pub(super) values: Values,
    /// Whether the format itself defines scale and offset of its samples.
    pub(super) has_own_scale: bool,
    pub(super) source: Source,
}

/// Where the samples are.
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
    /// Columns and rows of a block that is decoded at once; for uncompressed samples, a row or its part in a tile.
    pub(super) fn block(&self, shape: [usize; 2]) -> [usize; 2] {
        match self {
            Self::Raw(raw) => [raw.block_columns.min(shape[0]), 1],
            Self::Tiff(tiff) => [0, 1].map(|i| tiff.block()[i].min(shape[i])),
            Self::Held(_) => [shape[0], 1],
        }
    }

    /// Reads a window that lies inside of a grid of `columns` into `out`, as heights, m.
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
