//! A tile of a contact sheet, drawn from a sensor's message.

use image::imageops::{self, FilterType};
use image::{GrayImage, RgbImage};
use selene_base::SimTime;
use selene_sensors::Encoding;

use super::canvas::{Align, Canvas};
use super::colour::{self, Rgb};

/// Pixels of an image, by the kind of camera topic.
#[derive(Clone, Debug)]
pub enum Pixels {
    /// Grey levels.
    Mono(Vec<u8>),
    /// Red, green and blue of each pixel.
    Colour(Vec<u8>),
    /// Distances along the optical axis, m; infinity for the sky.
    Depth(Vec<f32>),
    /// Codes of semantic classes.
    Classes(Vec<u16>),
}

/// An image of a camera topic.
#[derive(Clone, Debug)]
pub struct Still {
    /// Time of exposure.
    pub stamp: SimTime,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Pixels row by row.
    pub pixels: Pixels,
}

/// The points of one revolution of a lidar.
#[derive(Clone, Debug)]
pub struct LidarRevolution {
    /// Time at which it began.
    pub stamp: SimTime,
    /// Points in the sensor frame, m.
    pub points_m: Vec<[f32; 3]>,
}

impl Still {
    /// Reads an image from the fields of a `sensor_msgs/Image`; `None` if the encoding is unknown, or the data do not
    /// match the size.
    #[must_use]
    pub fn read(stamp: SimTime, [width, height]: [u32; 2], encoding: &str, data: &[u8]) -> Option<Self> {
        let pixels = match encoding {
            "32FC1" => Pixels::Depth(numbers(data, f32::from_le_bytes)),
            "16UC1" => Pixels::Classes(numbers(data, u16::from_le_bytes)),
            other => {
                let encoding = Encoding::named(other)?;
                if data.len() != width as usize * height as usize * encoding.bytes_per_pixel() {
                    return None;
                }
                let viewed = encoding.viewed(width as usize, data);
                if encoding.demosaiced().channels() == 3 { Pixels::Colour(viewed) } else { Pixels::Mono(viewed) }
            }
        };
        let length = match &pixels {
            Pixels::Mono(all) => all.len(),
            Pixels::Colour(all) => all.len() / 3,
            Pixels::Depth(all) => all.len(),
            Pixels::Classes(all) => all.len(),
        };
        let fills = length == width as usize * height as usize && length > 0;
        fills.then_some(Self { stamp, width, height, pixels })
    }

    /// The image in colour; `None` if its pixels do not match its size.
    pub fn coloured(&self) -> Option<RgbImage> {
        match &self.pixels {
            Pixels::Mono(grey) => {
                let image = GrayImage::from_raw(self.width, self.height, grey.clone())?;
                Some(image::DynamicImage::ImageLuma8(image).into_rgb8())
            }
            Pixels::Colour(colours) => RgbImage::from_raw(self.width, self.height, colours.clone()),
            Pixels::Depth(depth_m) => self.mapped(depth_m, depth_colour(depth_m)),
            Pixels::Classes(class) => {
                self.mapped(class, |&code| colour::CLASSES[usize::from(code).min(colour::CLASSES.len() - 1)])
            }
        }
    }

    /// The image scaled to fit `width` × `height`, centred.
    pub fn tile(&self, width: u32, height: u32) -> RgbImage {
        let mut canvas = Canvas::new(width, height, colour::PANEL);
        let Some(image) = self.coloured() else { return canvas.pixels };
        let factor = (f64::from(width) / f64::from(self.width)).min(f64::from(height) / f64::from(self.height));
        let scaled = |side: u32| ((f64::from(side) * factor).round() as u32).max(1);
        // Codes and distances must not be averaged across an edge.
        let filter = if matches!(self.pixels, Pixels::Mono(_) | Pixels::Colour(_)) {
            FilterType::Triangle
        } else {
            FilterType::Nearest
        };
        let image = imageops::resize(&image, scaled(self.width), scaled(self.height), filter);
        let (x, y) = ((width - image.width().min(width)) / 2, (height - image.height().min(height)) / 2);
        canvas.place(&image, x, y);
        canvas.pixels
    }

    fn mapped<T>(&self, values: &[T], colour: impl Fn(&T) -> Rgb) -> Option<RgbImage> {
        RgbImage::from_raw(self.width, self.height, values.iter().flat_map(colour).collect())
    }
}

/// Colour of a depth: near is bright; logarithmic, since most of a rover's view is nearby.
fn depth_colour(depth_m: &[f32]) -> impl Fn(&f32) -> Rgb {
    let seen = || depth_m.iter().copied().filter(|d| d.is_finite() && *d > 0.0);
    let near = f64::from(seen().fold(f32::INFINITY, f32::min));
    let far = f64::from(seen().fold(0.0, f32::max)).max(near * 1.001);
    move |&d| {
        let d = f64::from(d);
        if !d.is_finite() || d <= 0.0 { colour::CLASSES[0] } else { colour::scale((far / d).ln() / (far / near).ln()) }
    }
}

impl LidarRevolution {
    /// Reads the points of a cloud whose x, y and z are 32-bit floats at `offsets` of every `step` bytes.
    #[must_use]
    pub fn read(stamp: SimTime, data: &[u8], step: usize, offsets: [usize; 3]) -> Option<Self> {
        if step < 12 {
            return None;
        }
        let point = |bytes: &[u8]| {
            let [x, y, z] = offsets.map(|at| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()));
            Some([x?, y?, z?].map(f32::from_le_bytes))
        };
        Some(Self { stamp, points_m: data.chunks_exact(step).filter_map(point).collect() })
    }

    /// View of the points from above: forward is up, colour is height, with rings at round distances.
    pub fn tile(&self, width: u32, height: u32) -> RgbImage {
        let mut canvas = Canvas::new(width, height, colour::PANEL);
        let reach_m = self.reach_m();
        let px_per_m = 0.48 * f64::from(width.min(height)) / reach_m;
        let centre = (f64::from(width) / 2.0, f64::from(height) / 2.0);
        draw_rings(&mut canvas, centre, px_per_m, reach_m);
        let (low, high) = self.heights_m();
        for &[x, y, z] in &self.points_m {
            let column = centre.0 - f64::from(y) * px_per_m;
            let row = centre.1 - f64::from(x) * px_per_m;
            let inside = (0.0..f64::from(width)).contains(&column) && (0.0..f64::from(height)).contains(&row);
            if inside {
                let fraction = f64::from(z - low) / f64::from((high - low).max(0.01));
                canvas.pixels.put_pixel(column as u32, row as u32, image::Rgb(colour::scale(0.15 + 0.85 * fraction)));
            }
        }
        let [x, y] = [centre.0 as i32, centre.1 as i32];
        canvas.polygon(vec![(x, y - 7), (x - 5, y + 5), (x + 5, y + 5)], colour::DRIVEN);
        canvas.pixels
    }

    /// Distance within which nine of ten points lie, m.
    fn reach_m(&self) -> f64 {
        let mut ranges: Vec<f32> = self.points_m.iter().map(|[x, y, _]| x.hypot(*y)).collect();
        ranges.sort_by(f32::total_cmp);
        let nearly_all = ranges.get(ranges.len() * 9 / 10).copied().unwrap_or(10.0);
        f64::from(nearly_all).clamp(2.0, 200.0)
    }

    /// The heights, m, below which and above which one in fifty points lies.
    fn heights_m(&self) -> (f32, f32) {
        let mut heights: Vec<f32> = self.points_m.iter().map(|point| point[2]).collect();
        heights.sort_by(f32::total_cmp);
        let at = |place: usize| heights.get(place).copied().unwrap_or(0.0);
        (at(heights.len() / 50), at(heights.len() * 49 / 50))
    }
}

fn numbers<T, const N: usize>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().copied().map(from).collect()
}

fn draw_rings(canvas: &mut Canvas, centre: (f64, f64), px_per_m: f64, reach_m: f64) {
    let apart_m = super::map::round_length_m(reach_m / 3.0);
    let centre = (centre.0 as i32, centre.1 as i32);
    for ring in 1..=6 {
        let radius_m = apart_m * f64::from(ring);
        let radius_px = (radius_m * px_per_m) as i32;
        canvas.dot(centre, radius_px, colour::GRID, Some(1));
        if ring % 2 == 1 {
            let label = super::map::length_text(radius_m);
            canvas.text(&label, (centre.0 + radius_px + 4, centre.1), 13, colour::FAINT_INK, Align::Left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LidarRevolution, Pixels, Still};
    use crate::colour;
    use selene_base::SimTime;

    fn still(pixels: Pixels) -> Still {
        Still { stamp: SimTime::ZERO, width: 2, height: 2, pixels }
    }

    #[test]
    fn sky_has_its_own_colour_in_depth_and_near_is_the_bright_end() {
        let image = still(Pixels::Depth(vec![f32::INFINITY, 1.0, 10.0, f32::NAN])).coloured().expect("whole");
        assert_eq!(image.get_pixel(0, 0).0, colour::CLASSES[0]);
        assert_eq!(image.get_pixel(1, 0).0, colour::scale(1.0));
        assert_eq!(image.get_pixel(0, 1).0, colour::scale(0.0));
    }

    #[test]
    fn pixels_that_do_not_fill_the_image_give_an_empty_tile_instead_of_a_panic() {
        for pixels in [Pixels::Mono(vec![0; 3]), Pixels::Depth(vec![]), Pixels::Classes(vec![9; 2])] {
            assert_eq!(still(pixels).tile(8, 6).dimensions(), (8, 6));
        }
    }

    #[test]
    fn each_encoding_is_read_and_others_are_passed_over() {
        let read = |encoding: &str, data: Vec<u8>| {
            Still::read(SimTime::ZERO, [2, 1], encoding, &data).map(|still| still.pixels)
        };
        assert!(matches!(read("mono8", vec![1, 2]), Some(Pixels::Mono(p)) if p == [1, 2]));
        assert!(matches!(read("mono16", vec![0, 1, 0, 2]), Some(Pixels::Mono(p)) if p == [1, 2]));
        assert!(matches!(read("16UC1", vec![3, 0, 0, 1]), Some(Pixels::Classes(p)) if p == [3, 256]));
        let depth = [1.5_f32, f32::INFINITY].iter().flat_map(|d| d.to_le_bytes()).collect();
        assert!(matches!(read("32FC1", depth), Some(Pixels::Depth(p)) if p == [1.5, f32::INFINITY]));
        assert!(matches!(read("rgb8", vec![1, 2, 3, 4, 5, 6]), Some(Pixels::Colour(p)) if p == [1, 2, 3, 4, 5, 6]));
        // Red and green; no pixel nearby is blue.
        assert!(matches!(read("bayer_rggb16", vec![0, 1, 0, 2]), Some(Pixels::Colour(p)) if p == [1, 2, 0, 1, 2, 0]));
        assert!(read("yuv422", vec![0; 4]).is_none());
        assert!(read("mono8", vec![0; 3]).is_none());
        assert!(Still::read(SimTime::ZERO, [0, 1], "bayer_rggb8", &[0; 3]).is_none());
    }

    #[test]
    fn points_are_found_at_their_offsets() {
        let data: Vec<u8> = [9.0_f32, 1.0, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let points =
            |step, offsets| LidarRevolution::read(SimTime::ZERO, &data, step, offsets).map(|sweep| sweep.points_m);
        assert_eq!(points(16, [4, 8, 12]), Some(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(points(16, [4, 8, 16]), Some(Vec::new()));
        assert_eq!(points(8, [0, 4, 8]), None);
    }
}
