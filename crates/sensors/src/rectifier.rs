//! Rectified images from developed ones. The position in the raw image of each rectified pixel is computed once, with
//! the lens model; each image is then interpolated there between its four nearest pixels (bilinear). Pixels that the
//! camera does not see are black. A mosaic is first converted to colours, interpolated between the nearest pixels of
//! each colour.

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_base::Pose;

use crate::camera::CameraSpec;
use crate::develop::DevelopedImage;
use crate::rectification::Rectification;

/// Converts a camera's raw images to rectified ones.
#[derive(Clone, Debug)]
pub struct Rectifier {
    rectification: Rectification,
    size: [usize; 2],
    /// Column and row in the raw image of each rectified pixel; NaN where the raw image does not show it.
    places: Vec<[f32; 2]>,
}

impl Rectifier {
    /// The rectifier of a camera.
    #[must_use]
    pub fn new(camera: &CameraSpec, rectification: Rectification) -> Self {
        let size = camera.size();
        let view = camera.view(Pose::identity());
        let optical_from_rectified = rectification.rectified_from_optical.inverse();
        let i = rectification.intrinsics;
        let place = |pixel: usize| {
            let [u, v] = [pixel % size[0], pixel / size[0]].map(|at| at as f64);
            let ray = Vector3::new((u - i.cx_px) / i.fx_px, (v - i.cy_px) / i.fy_px, 1.0);
            view.project(optical_from_rectified * ray).map_or([f32::NAN; 2], |place| place.map(|at| at as f32))
        };
        let places = (0..size[0] * size[1]).into_par_iter().map(place).collect();
        Self { rectification, size, places }
    }

    /// The projection of its images.
    #[must_use]
    pub fn rectification(&self) -> &Rectification {
        &self.rectification
    }

    /// The rectified image of a raw one of the camera; `None` if the raw image has another size.
    #[must_use]
    pub fn rectify(&self, raw: &DevelopedImage) -> Option<DevelopedImage> {
        if [raw.width, raw.height].map(|pixels| pixels as usize) != self.size {
            return None;
        }
        let encoding = raw.encoding.demosaiced();
        let planes = Planes {
            size: self.size,
            numbers: raw.encoding.numbers(raw.width as usize, &raw.data),
            channels: encoding.channels(),
        };
        let mut rectified = vec![0.0; self.places.len() * planes.channels];
        let row = self.size[0] * planes.channels;
        rectified.par_chunks_mut(row).zip(self.places.par_chunks(self.size[0])).for_each(|(row, places)| {
            row.chunks_mut(planes.channels).zip(places).for_each(|(pixel, place)| planes.between(*place, pixel));
        });
        let data = match encoding.bytes_per_channel() {
            1 => rectified.iter().map(|number| number.round() as u8).collect(),
            _ => rectified.iter().flat_map(|number| (number.round() as u16).to_le_bytes()).collect(),
        };
        let DevelopedImage { width, height, exposure_s, gain, .. } = *raw;
        Some(DevelopedImage { width, height, encoding, data, exposure_s, gain })
    }
}

/// An image that can be interpolated at any position.
struct Planes {
    size: [usize; 2],
    numbers: Vec<f32>,
    channels: usize,
}

impl Planes {
    /// Writes the interpolated value at a position (column, row) to `pixel`; leaves it black outside the image.
    fn between(&self, place: [f32; 2], pixel: &mut [f32]) {
        let [columns, rows] = self.size;
        let inside = |at: f32, count: usize| at >= -0.5 && at <= count as f32 - 0.5;
        if !(inside(place[0], columns) && inside(place[1], rows)) {
            return;
        }
        let [(left, right, x), (above, below, y)] = [neighbours(place[0], columns), neighbours(place[1], rows)];
        for (channel, number) in pixel.iter_mut().enumerate() {
            let at = |column: usize, row: usize| self.numbers[(row * columns + column) * self.channels + channel];
            let upper = at(left, above) + x * (at(right, above) - at(left, above));
            let lower = at(left, below) + x * (at(right, below) - at(left, below));
            *number = upper + y * (lower - upper);
        }
    }
}

/// The pixels on either side of a position along a row or column of `count` pixels, and the position's fraction of the
/// way from the first to the second.
fn neighbours(at: f32, count: usize) -> (usize, usize, f32) {
    let within = at.clamp(0.0, (count - 1) as f32);
    let first = within.floor();
    (first as usize, (first as usize + 1).min(count - 1), within - first)
}

#[cfg(test)]
mod tests {
    use super::Rectifier;
    use crate::camera::tests::camera;
    use crate::develop::Pattern;
    use crate::rectification::Rectification;
    use crate::{CameraSpec, DevelopedImage, Encoding, LensName, LensSpec};
    use selene_base::Pose;

    const SIZE: [u32; 2] = [64, 48];

    fn small(lens: LensSpec) -> CameraSpec {
        let [width, height] = SIZE;
        CameraSpec { width, height, lens, ..camera("navcam_left.yaml") }
    }

    fn alone(camera: &CameraSpec) -> Rectifier {
        Rectifier::new(camera, Rectification::alone(camera))
    }

    fn image(encoding: Encoding, data: Vec<u8>) -> DevelopedImage {
        DevelopedImage { width: SIZE[0], height: SIZE[1], encoding, data, exposure_s: 0.01, gain: 1.0 }
    }

    #[test]
    fn a_pinholes_image_stays_as_it_is_to_the_last_bit() {
        let pinhole = alone(&small(LensSpec::default()));
        for encoding in [Encoding::Mono8, Encoding::Mono16, Encoding::Rgb8, Encoding::Rgb16] {
            let data = (0..64 * 48 * encoding.bytes_per_pixel()).map(|i| (i * 37 % 251) as u8).collect();
            let raw = image(encoding, data);
            assert_eq!(pinhole.rectify(&raw), Some(raw));
        }
        let other = DevelopedImage { width: 32, height: 96, ..image(Encoding::Mono8, vec![0; 64 * 48]) };
        assert_eq!(pinhole.rectify(&other), None);
    }

    #[test]
    fn a_slope_of_grey_over_the_angle_comes_out_a_pinholes_and_what_is_not_seen_is_black() {
        let barrel = LensSpec {
            model: LensName::PlumbBob,
            coefficients: vec![-0.3, 0.1, 0.002, -0.001, 0.0],
            ..LensSpec::default()
        };
        let spec = small(barrel);
        let view = spec.view(Pose::identity());
        // A wall straight ahead whose grey increases with x, smooth enough for bilinear interpolation to be exact to a
        // few of
        // 65 536 levels.
        let wall = |x: f64| 30_000.0 + 20_000.0 * x;
        let raw = |pixel: u32| {
            let ahead = view.unproject([pixel % 64, pixel / 64].map(f64::from)).expect("seen");
            (wall(ahead.x / ahead.z).round() as u16).to_le_bytes()
        };
        let raw = image(Encoding::Mono16, (0..64 * 48).flat_map(raw).collect());
        let rectified = alone(&spec).rectify(&raw).expect("of its size");
        let i = spec.intrinsics();
        for (pixel, word) in rectified.data.as_chunks().0.iter().enumerate() {
            let got = f64::from(u16::from_le_bytes(*word));
            let expected = wall(((pixel % 64) as f64 - i.cx_px) / i.fx_px);
            assert!((got - expected).abs() < 20.0, "pixel {pixel}: {got} for {expected}");
        }
        let fisheye = LensSpec { model: LensName::Stereographic, circle_deg: Some(40.0), ..LensSpec::default() };
        let white = image(Encoding::Mono8, vec![255; 64 * 48]);
        let disc = alone(&small(fisheye)).rectify(&white).expect("of its size").data;
        assert!(disc[0] == 0 && disc[24 * 64 + 32] == 255, "black outside the circle");
    }

    #[test]
    fn a_mosaic_of_one_colour_has_that_colour_everywhere() {
        let pinhole = alone(&small(LensSpec::default()));
        const COLOUR: [u8; 3] = [200, 120, 40];
        for pattern in [Pattern::Rggb, Pattern::Bggr, Pattern::Grbg, Pattern::Gbrg] {
            let data = (0..64 * 48).map(|pixel| COLOUR[pattern.channel(pixel / 64, pixel % 64)]).collect();
            let rectified = pinhole.rectify(&image(Encoding::Bayer8(pattern), data)).expect("of its size");
            assert_eq!(rectified.encoding, Encoding::Rgb8);
            assert!(rectified.data.chunks(3).all(|pixel| pixel == COLOUR));
        }
    }

    #[test]
    fn a_slope_through_a_mosaic_is_a_slope_in_every_colour() {
        let pinhole = alone(&small(LensSpec::default()));
        let slope = |pixel: usize| (2 * (pixel % 64) + pixel / 64) as u8;
        let data = (0..64 * 48).map(slope).collect();
        let rectified = pinhole.rectify(&image(Encoding::Bayer8(Pattern::Grbg), data)).expect("of its size");
        let inner = |pixel: &usize| (1..63).contains(&(pixel % 64)) && (1..47).contains(&(pixel / 64));
        for pixel in (0..64 * 48).filter(inner) {
            assert_eq!(rectified.data[3 * pixel..3 * pixel + 3], [slope(pixel); 3], "pixel {pixel}");
        }
    }
}
