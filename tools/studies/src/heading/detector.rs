//! The paper's detector (§IV): a grey image of 128 × 72; 1 above half of the maximum, else 0; the sum over a disc; the
//! position of the largest sum. A bloom larger than the disc has many positions with the same sum: the result is the
//! centre of their largest connected group, since a ghost may have some too.

use std::collections::BTreeSet;

use image::imageops::{self, FilterType};
use image::{DynamicImage, GrayImage, RgbImage};
use selene_observe::Image;

use crate::Failure;

/// Columns and rows of the detector's image.
pub const SMALL_PX: [u32; 2] = [128, 72];

/// Converts an image to grey at its own size.
///
/// # Errors
/// When the encoding is neither `rgb8` nor `mono8`.
pub(super) fn grey(image: &Image) -> Result<GrayImage, Failure> {
    let (width, height, data) = (image.width, image.height, image.data.clone());
    let whole = match image.encoding {
        "rgb8" => RgbImage::from_raw(width, height, data).map(DynamicImage::from),
        "mono8" => GrayImage::from_raw(width, height, data).map(DynamicImage::from),
        other => return Err(format!("detector and network take rgb8 or mono8, and are given {other}").into()),
    };
    Ok(whole.ok_or("an image is smaller than it says")?.into_luma8())
}

/// The image resized to this many columns and rows.
pub(super) fn shrunk(grey: &GrayImage, [columns, rows]: [u32; 2]) -> GrayImage {
    imageops::resize(grey, columns, rows, FilterType::Triangle)
}

/// Position of the Sun that the detector finds with a disc of this diameter, px of the small image.
#[must_use]
pub fn detect(small: &GrayImage, disc_px: f64) -> [f64; 2] {
    let [width, height] = [small.width(), small.height()].map(i64::from);
    let brightest = small.pixels().map(|pixel| pixel.0[0]).max().unwrap_or(0);
    let bright = |x: i64, y: i64| {
        let inside = x >= 0 && y >= 0 && x < width && y < height;
        inside && 2 * u32::from(small.get_pixel(x as u32, y as u32).0[0]) > u32::from(brightest)
    };
    let disc = disc(disc_px);
    let sum = |[x, y]: [i64; 2]| disc.iter().filter(|[dx, dy]| bright(x + dx, y + dy)).count();
    let places = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    let sums: Vec<([i64; 2], usize)> = places.map(|place| (place, sum(place))).collect();
    let most = sums.iter().map(|(_, sum)| *sum).max().unwrap_or(0);
    let places = largest_group(sums.into_iter().filter(|(_, sum)| *sum == most).map(|(place, _)| place).collect());
    let count = places.len().max(1) as f64;
    [0, 1].map(|axis: usize| places.iter().map(|place| place[axis] as f64).sum::<f64>() / count)
}

/// Offsets of a disc's pixels from its centre.
fn disc(diameter_px: f64) -> Vec<[i64; 2]> {
    let reach = (diameter_px / 2.0) as i64;
    let square = (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |x| [x, y]));
    square.filter(|[x, y]| ((x * x + y * y) as f64) <= (diameter_px / 2.0).powi(2)).collect()
}

/// The largest connected group of these positions.
fn largest_group(mut left: BTreeSet<[i64; 2]>) -> Vec<[i64; 2]> {
    let mut largest = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut group = vec![first];
        let mut next = 0;
        while let Some(&[x, y]) = group.get(next) {
            group.extend([[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].into_iter().filter(|at| left.remove(at)));
            next += 1;
        }
        if group.len() > largest.len() {
            largest = group;
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::{SMALL_PX, detect};
    use image::{GrayImage, Luma};

    /// Grey ground in the lower part, and a bright disc.
    fn picture(middle: [f64; 2], radius: f64) -> GrayImage {
        GrayImage::from_fn(SMALL_PX[0], SMALL_PX[1], |x, y| {
            let out = (f64::from(x) - middle[0]).hypot(f64::from(y) - middle[1]);
            Luma([if out <= radius {
                255
            } else if y > 40 {
                100
            } else {
                0
            }])
        })
    }

    #[test]
    fn the_middle_of_a_disc_is_found_whether_the_kernel_is_smaller_or_larger() {
        for disc_px in [5.0, 11.0, 21.0] {
            let [x, y] = detect(&picture([90.0, 25.0], 6.0), disc_px);
            assert!((x - 90.0).abs() < 0.5 && (y - 25.0).abs() < 0.5, "{disc_px}: {x} {y}");
        }
    }

    #[test]
    fn of_two_discs_the_larger_wins() {
        let mut two = picture([90.0, 25.0], 6.0);
        for x in 20..23 {
            two.put_pixel(x, 60, Luma([255]));
        }
        let [x, _] = detect(&two, 15.0);
        assert!((x - 90.0).abs() < 0.5, "{x}");
    }
}
