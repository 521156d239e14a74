//! Colours shared by all pictures, and colour scales for numbers.

/// Red, green and blue, 0 to 255.
pub type Rgb = [u8; 3];

/// Background of a picture.
pub const BACKGROUND: Rgb = [18, 20, 24];
/// Background of a plot.
pub const PANEL: Rgb = [27, 30, 36];
/// Grid lines and scales.
pub const GRID: Rgb = [58, 63, 72];
/// Text.
pub const INK: Rgb = [226, 229, 234];
/// Less important text.
pub const FAINT_INK: Rgb = [150, 156, 166];
/// Paths and quantities that were driven.
pub const DRIVEN: Rgb = [255, 140, 40];
/// Routes and quantities that were commanded.
pub const REQUESTED: Rgb = [86, 190, 240];
/// The Sun.
pub const SUN: Rgb = [255, 214, 92];

/// Colours of the lines in a plot, distinguishable with any colour vision (after Okabe and Ito).
pub const LINES: [Rgb; 6] =
    [[86, 180, 233], [230, 159, 0], [0, 178, 130], [236, 120, 186], [240, 228, 66], [213, 94, 0]];

/// Colours of the semantic classes: sky, ground, rock, rover, object.
pub const CLASSES: [Rgb; 5] = [[22, 28, 60], [120, 116, 110], [226, 128, 52], [90, 190, 220], [226, 96, 190]];

/// Knots of a scale from dark violet over green to yellow, with even steps of lightness.
const SCALE: [Rgb; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// Colour of `fraction`, 0 to 1; values beyond take the ends of the scale, NaN its beginning.
pub fn scale(fraction: f64) -> Rgb {
    let fraction = if fraction.is_nan() { 0.0 } else { fraction };
    let place = fraction.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let low = (place.floor() as usize).min(SCALE.len() - 2);
    blend(SCALE[low], SCALE[low + 1], place - low as f64)
}

/// Mix of `a` and `b`: `a` at a `fraction` of 0, `b` at 1.
pub fn blend(a: Rgb, b: Rgb, fraction: f64) -> Rgb {
    std::array::from_fn(|i| (f64::from(a[i]) + (f64::from(b[i]) - f64::from(a[i])) * fraction).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::{SCALE, scale};

    #[test]
    fn the_scale_begins_and_ends_with_its_knots_also_beyond_its_range() {
        for (fraction, knot) in [(0.0, 0), (-1.0, 0), (0.5, 4), (1.0, 8), (7.0, 8), (f64::NAN, 0)] {
            assert_eq!(scale(fraction), SCALE[knot], "{fraction}");
        }
    }
}
