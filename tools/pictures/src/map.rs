//! A map of a part of the ground, shaded by the Sun. The Sun's elevation is raised to at least 20°, without cast
//! shadows: at its true elevation over a polar site nearly everything would be black. Rocks are drawn as bumps of their
//! radius. Ruts are part of the ground's heights.

use image::RgbImage;
use nalgebra::Vector3;
use rayon::prelude::*;
use selene_terrain::{Clipmap, Rock};

use super::canvas::{Align, Canvas};
use super::colour;

/// The lowest elevation of the Sun for shading, rad.
const SUN_ELEVATION_MIN_RAD: f64 = 20.0 * std::f64::consts::PI / 180.0;
/// Height of a rock relative to its mean radius: flattened, as rocks lie.
const ROCK_HEIGHT: f64 = 0.8;

/// Position of a scale bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Lower left corner.
    LowerLeft,
    /// Upper right corner.
    UpperRight,
}

/// A square window of the map frame, north up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapView {
    /// Centre: x east, y north, m.
    pub centre_m: [f64; 2],
    /// Length of a side, m.
    pub side_m: f64,
    /// Pixels along a side.
    pub side_px: u32,
    /// Position of the window's top left corner on its canvas, pixels.
    pub corner_px: [i32; 2],
}

impl MapView {
    /// A window around all `points`, with a margin and at least `side_min_m` wide.
    pub fn around(points: impl IntoIterator<Item = [f64; 2]>, side_min_m: f64, side_px: u32) -> Self {
        let mut low = [f64::INFINITY; 2];
        let mut high = [f64::NEG_INFINITY; 2];
        for point in points {
            for axis in 0..2 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        if low[0] > high[0] {
            (low, high) = ([0.0; 2], [0.0; 2]);
        }
        let span = (high[0] - low[0]).max(high[1] - low[1]);
        let centre_m = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
        Self { centre_m, side_m: (span * 1.3).max(side_min_m), side_px, corner_px: [0, 0] }
    }

    /// The same window, with its top left corner at (x, y) of a canvas.
    pub fn at(self, x: i32, y: i32) -> Self {
        Self { corner_px: [x, y], ..self }
    }

    /// Position on the canvas of a point of the map, pixels.
    pub fn px(&self, [x, y]: [f64; 2]) -> (i32, i32) {
        let scale = self.px_per_m();
        let left = self.centre_m[0] - 0.5 * self.side_m;
        let top = self.centre_m[1] + 0.5 * self.side_m;
        let column = ((x - left) * scale).round() as i32;
        let row = ((top - y) * scale).round() as i32;
        (self.corner_px[0] + column, self.corner_px[1] + row)
    }

    /// Left, top, right and bottom edges on the canvas, pixels.
    pub fn bounds_px(&self) -> [i32; 4] {
        let [left, top] = self.corner_px;
        [left, top, left + self.side_px as i32 - 1, top + self.side_px as i32 - 1]
    }

    /// Whether a point of the map is inside of the window.
    pub fn shows(&self, [x, y]: [f64; 2]) -> bool {
        let half = 0.5 * self.side_m;
        (x - self.centre_m[0]).abs() <= half && (y - self.centre_m[1]).abs() <= half
    }

    /// Pixels per metre.
    pub fn px_per_m(&self) -> f64 {
        f64::from(self.side_px) / self.side_m
    }

    /// Image of the ground in the window, shaded for `sun` (unit vector towards the Sun).
    pub fn shade(&self, ground: &Clipmap, sun: Vector3<f64>) -> RgbImage {
        let heights = self.heights_m(ground);
        let sun = readable_sun(sun);
        let across = self.side_px as usize + 2;
        let pixel_m = 1.0 / self.px_per_m();
        let mut image = RgbImage::new(self.side_px, self.side_px);
        for (column, row, pixel) in image.enumerate_pixels_mut() {
            let at = (row as usize + 1) * across + column as usize + 1;
            let slope_x = (heights[at + 1] - heights[at - 1]) / (2.0 * pixel_m);
            let slope_y = (heights[at - across] - heights[at + across]) / (2.0 * pixel_m);
            let normal = Vector3::new(-slope_x, -slope_y, 1.0).normalize();
            *pixel = image::Rgb(grey(normal.dot(&sun) / sun.z));
        }
        image
    }

    /// Heights at the centres of the pixels and of one pixel around them, top row first, m; NaN outside of the site.
    fn heights_m(&self, ground: &Clipmap) -> Vec<f64> {
        let across = self.side_px as usize + 2;
        let rocks: Vec<&Rock> = ground.rocks().iter().filter(|rock| self.touches(rock)).collect();
        let height = |index: usize| {
            let [x, y] = self.pixel_xy_m(index % across, index / across);
            let top = rocks.iter().filter_map(|rock| rock_top_m(rock, x, y)).fold(f64::NEG_INFINITY, f64::max);
            ground.height_m(x, y).map_or(f64::NAN, |soil| soil.max(top))
        };
        (0..across * across).into_par_iter().map(height).collect()
    }

    fn pixel_xy_m(&self, column: usize, row: usize) -> [f64; 2] {
        let pixel_m = 1.0 / self.px_per_m();
        let x = self.centre_m[0] - 0.5 * self.side_m + (column as f64 - 0.5) * pixel_m;
        let y = self.centre_m[1] + 0.5 * self.side_m - (row as f64 - 0.5) * pixel_m;
        [x, y]
    }

    fn touches(&self, rock: &Rock) -> bool {
        let at = rock.world_from_rock.translation.vector;
        let reach = 0.5 * self.side_m + rock.radius_m;
        // Rocks smaller than a pixel are not visible.
        rock.radius_m * self.px_per_m() > 1.0
            && (at.x - self.centre_m[0]).abs() < reach
            && (at.y - self.centre_m[1]).abs() < reach
    }

    /// Draws a scale bar in a corner of the window.
    pub fn draw_scale(&self, canvas: &mut Canvas, corner: Corner) {
        let length_m = round_length_m(self.side_m / 5.0);
        let length_px = (length_m * self.px_per_m()).round() as i32;
        let [left, top, right, bottom] = self.bounds_px();
        let (x, y) = match corner {
            Corner::LowerLeft => (left + 24, bottom - 26),
            Corner::UpperRight => (right - 16 - length_px, top + 36),
        };
        canvas.fill([x - 12, y - 30, x + length_px + 12, y + 14], colour::BACKGROUND, 0.65);
        let bar = vec![(x, y - 6), (x, y), (x + length_px, y), (x + length_px, y - 6)];
        canvas.line(bar, colour::INK, 2, 1.0);
        canvas.text(&length_text(length_m), (x + length_px / 2, y - 16), 17, colour::INK, Align::Middle);
    }
}

/// The largest of 1, 2 or 5 times a power of ten that is at most `length_m`.
pub fn round_length_m(length_m: f64) -> f64 {
    let power = 10_f64.powf(length_m.max(1e-3).log10().floor());
    let steps = [5.0, 2.0, 1.0];
    steps.iter().map(|step| step * power).find(|length| *length <= length_m).unwrap_or(power)
}

/// A length as text, with its unit.
pub fn length_text(length_m: f64) -> String {
    if length_m < 1.0 { format!("{:.0} cm", length_m * 100.0) } else { format!("{length_m:.0} m") }
}

fn readable_sun(sun: Vector3<f64>) -> Vector3<f64> {
    let azimuth = sun.y.atan2(sun.x);
    let elevation = sun.z.clamp(-1.0, 1.0).asin().max(SUN_ELEVATION_MIN_RAD);
    Vector3::new(elevation.cos() * azimuth.cos(), elevation.cos() * azimuth.sin(), elevation.sin())
}

/// Shade for a brightness; `light` is 1 on level ground.
fn grey(light: f64) -> colour::Rgb {
    if light.is_nan() {
        return colour::PANEL;
    }
    let level = 14.0 + 104.0 * light.max(0.0).powf(0.8);
    let level = level.min(245.0);
    [level as u8, (level * 0.985) as u8, (level * 0.955) as u8]
}

fn rock_top_m(rock: &Rock, x: f64, y: f64) -> Option<f64> {
    let centre = rock.world_from_rock.translation.vector;
    let off = (x - centre.x).powi(2) + (y - centre.y).powi(2);
    let left = rock.radius_m * rock.radius_m - off;
    (left > 0.0).then(|| centre.z + ROCK_HEIGHT * left.sqrt())
}

#[cfg(test)]
mod tests {
    use super::{MapView, round_length_m};
    use nalgebra::Vector3;
    use selene_terrain::Clipmap;

    #[test]
    fn north_is_up_and_east_is_right() {
        let view = MapView::around([[0.0, 0.0]], 10.0, 100).at(7, 9);
        let middle = view.px([0.0, 0.0]);
        assert_eq!(middle, (57, 59));
        assert_eq!(view.px([1.0, 2.0]), (67, 39));
        assert!(view.shows([4.9, -4.9]) && !view.shows([5.1, 0.0]));
    }

    #[test]
    fn scale_bars_have_round_lengths() {
        for (requested, given) in [(0.3, 0.2), (0.99, 0.5), (1.0, 1.0), (7.0, 5.0), (49.0, 20.0)] {
            assert!((round_length_m(requested) - given).abs() < 1e-9, "{requested}");
        }
    }

    #[test]
    fn level_ground_has_one_shade_and_off_the_site_is_blank() {
        let ground = Clipmap::flat(0.1, 4.0);
        let image = MapView::around([[0.0, 0.0]], 8.0, 64).shade(&ground, Vector3::new(1.0, 0.0, 0.1).normalize());
        assert_eq!(image.get_pixel(0, 0).0, crate::colour::PANEL);
        assert_eq!(image.get_pixel(32, 32), image.get_pixel(25, 40));
        assert_ne!(image.get_pixel(32, 32).0, crate::colour::PANEL);
    }
}
