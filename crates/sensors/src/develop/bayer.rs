//! The colour mosaic: each pixel keeps one of its three colours, in a pattern of two by two that begins at the top
//! left. It gives the quantity that it takes: electrons, because the filters are in front of the detector, or signal.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::plate::Plate;

/// `bayer`: which colours the four pixels at the top left have, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Red, green; green, blue.
    Rggb,
    /// Blue, green; green, red.
    Bggr,
    /// Green, red; blue, green.
    Grbg,
    /// Green, blue; red, green.
    Gbrg,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rggb, Self::Bggr, Self::Grbg, Self::Gbrg];

    /// The channel (0 red, 1 green, 2 blue) that the pixel at `row`, `column` keeps.
    #[must_use]
    pub fn channel(self, row: usize, column: usize) -> usize {
        let four = match self {
            Self::Rggb => [0, 1, 1, 2],
            Self::Bggr => [2, 1, 1, 0],
            Self::Grbg => [1, 0, 2, 1],
            Self::Gbrg => [1, 2, 0, 1],
        };
        four[row % 2 * 2 + column % 2]
    }
}

/// Reduces three planes to one.
pub(super) fn mosaic(plate: &mut Plate, pattern: Pattern) {
    let columns = plate.width.max(1);
    let pixels = plate.planes.first().map_or(0, Vec::len);
    let kept = |pixel: usize| plate.planes[pattern.channel(pixel / columns, pixel % columns)][pixel];
    plate.planes = vec![(0..pixels).map(kept).collect()];
}

/// Red, green and blue of each pixel of a mosaic, row by row: its own value for its own colour, else the mean of its
/// neighbours of that colour, by side or corner (bilinear interpolation).
pub(crate) fn demosaiced(mosaic: &[f32], columns: usize, pattern: Pattern) -> Vec<f32> {
    let columns = columns.max(1);
    let rows = mosaic.len() / columns;
    let near = |at: usize, end: usize| at.saturating_sub(1)..(at + 2).min(end);
    let colour = |pixel: usize, channel: usize| {
        let (row, column) = (pixel / columns, pixel % columns);
        if pattern.channel(row, column) == channel {
            return mosaic[pixel];
        }
        let neighbours = near(row, rows).flat_map(|row| near(column, columns).map(move |column| (row, column)));
        let of_channel = neighbours.filter(|&(row, column)| pattern.channel(row, column) == channel);
        let (sum, count) = of_channel
            .fold((0.0, 0.0_f32), |(sum, count), (row, column)| (sum + mosaic[row * columns + column], count + 1.0));
        sum / count.max(1.0)
    };
    (0..mosaic.len()).into_par_iter().flat_map_iter(|pixel| [0, 1, 2].map(|channel| colour(pixel, channel))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Pattern, demosaiced, mosaic};
    use crate::develop::plate::{Plate, Quantity};

    #[test]
    fn each_pattern_keeps_the_colours_that_its_name_spells() {
        for (pattern, name) in Pattern::ALL.into_iter().zip(["rggb", "bggr", "grbg", "gbrg"]) {
            let planes = "rgb".chars().map(|colour| vec![f32::from(colour as u8); 4 * 3]).collect();
            let mut plate = Plate { width: 4, height: 3, quantity: Quantity::Electrons, planes };
            mosaic(&mut plate, pattern);
            let letters: String = plate.planes[0].iter().map(|code| *code as u8 as char).collect();
            let [top, bottom] = [&name[..2], &name[2..]];
            assert_eq!(letters, [top, top, bottom, bottom, top, top].concat(), "{name}");
            assert_eq!(plate.planes.len(), 1);
        }
    }

    #[test]
    fn a_mosaic_of_one_colour_is_that_colour_again_and_edges_move_by_a_pixel_at_most() {
        let (left, right) = ([200.0, 120.0, 40.0], [20.0, 60.0, 220.0]);
        let (columns, rows) = (8, 6);
        for pattern in Pattern::ALL {
            let coloured = |row, column| if column < 4 { left } else { right }[pattern.channel(row, column)];
            let levels: Vec<f32> =
                (0..rows).flat_map(|row| (0..columns).map(move |column| coloured(row, column))).collect();
            let whole = demosaiced(&levels, columns, pattern);
            for (i, pixel) in whole.chunks_exact(3).enumerate() {
                match i % columns {
                    0..3 => assert_eq!(pixel, left, "{pattern:?} {i}"),
                    5.. => assert_eq!(pixel, right, "{pattern:?} {i}"),
                    _ => {}
                }
            }
            assert_eq!(whole.len(), 3 * columns * rows);
        }
        assert!(demosaiced(&[], 0, Pattern::Rggb).is_empty());
    }
}
