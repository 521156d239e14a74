//! The colour mosaic: each pixel keeps one of its three colours, in a pattern of two by two that begins at the top
//! left. It gives the quantity that it takes: electrons, because the filters are in front of the detector, or signal.

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

#[cfg(test)]
mod tests {
    use super::{Pattern, mosaic};
    use crate::develop::plate::{Plate, Quantity};

    #[test]
    fn each_pattern_keeps_the_colours_that_its_name_spells() {
        for (pattern, name) in
            [(Pattern::Rggb, "rggb"), (Pattern::Bggr, "bggr"), (Pattern::Grbg, "grbg"), (Pattern::Gbrg, "gbrg")]
        {
            let planes = "rgb".chars().map(|colour| vec![f32::from(colour as u8); 4 * 3]).collect();
            let mut plate = Plate { width: 4, height: 3, quantity: Quantity::Electrons, planes };
            mosaic(&mut plate, pattern);
            let letters: String = plate.planes[0].iter().map(|code| *code as u8 as char).collect();
            let [top, bottom] = [&name[..2], &name[2..]];
            assert_eq!(letters, [top, top, bottom, bottom, top, top].concat(), "{name}");
            assert_eq!(plate.planes.len(), 1);
        }
    }
}
