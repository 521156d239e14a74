//! The effect of a sensor's stages on images, clouds and readings, after the sensor's model
//! (`selene_sensors::augment` has the list of stages and what each takes). When and whether data are published is
//! decided by the sensor's schedule and row.
//!
//! A camera's stages act on its image alone: truth images, boxes and the camera's matrices stay those of the whole
//! image. A lidar's stages act on its cloud alone.

use selene_sensors::StageRow;
use selene_sensors::augment::{AugmentSpec, CropSpec, PixelFormat, RegionSpec};

use crate::values::{CameraSample, Image, LidarSample, Measured, PointCloud, Reading};

/// Weights of red, green and blue in grey, in thousandths (ITU-R BT.601).
const GREY: [u32; 3] = [299, 587, 114];

/// Data that stages can change.
pub trait Augmented {
    /// Index of the sample since the start of the scenario.
    fn index(&self) -> u64;

    /// Applies one stage; `draw` draws from N(0, 1). Stages that do not change the content have no effect.
    fn pass(&mut self, stage: &AugmentSpec, draw: &mut dyn FnMut() -> f64);
}

/// Applies the stages of a row from place `from` up to the next stage of another process, or to the end.
pub fn augment(datum: &mut impl Augmented, row: &StageRow, from: usize) {
    pass_some(datum, row, from, |_| true);
}

/// Applies the stages of a row up to the first stage of another process, without the stages `noise` if the sensor is
/// set to have no noise.
pub(crate) fn augment_as_set(reading: &mut Reading, row: &StageRow, noise: bool) {
    pass_some(reading, row, 0, |stage| noise || !matches!(stage, AugmentSpec::Noise(_)));
}

fn pass_some(datum: &mut impl Augmented, row: &StageRow, from: usize, is_on: impl Fn(&AugmentSpec) -> bool) {
    let stages = row.stages().iter().enumerate().skip(from);
    let stages = stages.take_while(|(_, stage)| !matches!(stage, AugmentSpec::Own(_)));
    for (at, stage) in stages.filter(|(_, stage)| is_on(stage)) {
        datum.pass(stage, &mut row.draws(at, datum.index()));
    }
}

impl Augmented for CameraSample {
    fn index(&self) -> u64 {
        self.index
    }

    fn pass(&mut self, stage: &AugmentSpec, _: &mut dyn FnMut() -> f64) {
        match stage {
            AugmentSpec::Crop(CropSpec { region_px: Some(region), .. }) => {
                crop_image(&mut self.image, *region);
                let before = self.region.unwrap_or(RegionSpec { x_offset: 0, y_offset: 0, ..*region });
                let (x_offset, y_offset) = (before.x_offset + region.x_offset, before.y_offset + region.y_offset);
                self.region = Some(RegionSpec { x_offset, y_offset, ..*region });
            }
            AugmentSpec::Convert(convert) => convert_image(&mut self.image, convert.to),
            _ => {}
        }
    }
}

impl Augmented for LidarSample {
    fn index(&self) -> u64 {
        self.index
    }

    fn pass(&mut self, stage: &AugmentSpec, _: &mut dyn FnMut() -> f64) {
        if let AugmentSpec::Crop(crop) = stage {
            crop_cloud(&mut self.cloud, crop);
        }
    }
}

impl Augmented for Reading {
    fn index(&self) -> u64 {
        self.index
    }

    fn pass(&mut self, stage: &AugmentSpec, draw: &mut dyn FnMut() -> f64) {
        if let AugmentSpec::Noise(noise) = stage {
            add_noise(&mut self.measured, &noise.sigma, draw);
        }
    }
}

/// Crops an image to a rectangle, which must be within the image.
fn crop_image(image: &mut Image, region: RegionSpec) {
    let (row_bytes, pixel_bytes) = (image.row_bytes(), image.pixel_bytes);
    let [left, top, width, height] =
        [region.x_offset, region.y_offset, region.width, region.height].map(|px| px as usize);
    let rows = image.data.chunks_exact(row_bytes.max(1)).skip(top).take(height);
    let kept = rows.flat_map(|row| &row[left * pixel_bytes..(left + width) * pixel_bytes]).copied().collect();
    image.data = kept;
    (image.width, image.height) = (region.width, region.height);
}

/// Converts an image with one byte per channel to another encoding; other images stay unchanged.
fn convert_image(image: &mut Image, to: PixelFormat) {
    let Some(from) = PixelFormat::of(image.encoding) else { return };
    let pixels = image.data.chunks_exact(from.bytes());
    image.data = match (from, to) {
        (PixelFormat::Mono8, PixelFormat::Rgb8 | PixelFormat::Bgr8) => {
            image.data.iter().flat_map(|grey| [*grey; 3]).collect()
        }
        (PixelFormat::Rgb8, PixelFormat::Mono8) => pixels.map(|rgb| grey([rgb[0], rgb[1], rgb[2]])).collect(),
        (PixelFormat::Bgr8, PixelFormat::Mono8) => pixels.map(|bgr| grey([bgr[2], bgr[1], bgr[0]])).collect(),
        (PixelFormat::Rgb8, PixelFormat::Bgr8) | (PixelFormat::Bgr8, PixelFormat::Rgb8) => {
            pixels.flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect()
        }
        (PixelFormat::Mono8, PixelFormat::Mono8)
        | (PixelFormat::Rgb8, PixelFormat::Rgb8)
        | (PixelFormat::Bgr8, PixelFormat::Bgr8) => return,
    };
    (image.encoding, image.pixel_bytes) = (to.name(), to.bytes());
}

/// The grey value of a colour, rounded to the nearest.
fn grey(rgb: [u8; 3]) -> u8 {
    let sum: u32 = rgb.iter().zip(GREY).map(|(value, parts)| u32::from(*value) * parts).sum();
    ((sum + 500) / 1000) as u8
}

/// Keeps the points within a box and a span of ranges. Every point layout begins with x, y, z as 32-bit floats.
fn crop_cloud(cloud: &mut PointCloud, crop: &CropSpec) {
    let mut kept = Vec::new();
    for point in cloud.data.chunks_exact(cloud.point_bytes.max(1)) {
        if is_kept(place_m(point), crop) {
            kept.extend_from_slice(point);
        }
    }
    cloud.points = kept.len() / cloud.point_bytes.max(1);
    cloud.data = kept;
}

fn is_kept(place_m: [f64; 3], crop: &CropSpec) -> bool {
    let is_within = |[low, high]: [[f64; 3]; 2]| (0..3).all(|axis| (low[axis]..=high[axis]).contains(&place_m[axis]));
    let range_m = place_m.iter().map(|m| m * m).sum::<f64>().sqrt();
    crop.box_m.is_none_or(is_within) && crop.range_m.is_none_or(|[near, far]| (near..=far).contains(&range_m))
}

/// Position of a point in the sensor's frame, m.
fn place_m(point: &[u8]) -> [f64; 3] {
    let axis = |at: usize| f64::from(f32::from_le_bytes([point[at], point[at + 1], point[at + 2], point[at + 3]]));
    [axis(0), axis(4), axis(8)]
}

/// Adds white noise to each quantity of a reading, and its variance to the reading's variance.
fn add_noise(measured: &mut Measured, sigma: &[f64], draw: &mut dyn FnMut() -> f64) {
    let mut add = |numbers: &mut [f64], of: usize| {
        let sigma = sigma.get(of).copied().unwrap_or_default();
        numbers.iter_mut().for_each(|number| *number += sigma * draw());
        sigma * sigma
    };
    match measured {
        Measured::Imu(sample) => {
            sample.white_variances[0] += add(sample.angular_velocity_rad_s.as_mut_slice(), 0);
            sample.white_variances[1] += add(sample.linear_acceleration_m_s2.as_mut_slice(), 1);
        }
        Measured::MagneticField(sample) => sample.white_variance_t2 += add(sample.field_t.as_mut_slice(), 0),
        Measured::Tilt(sample) => {
            let mut angles = [sample.roll_rad, sample.pitch_rad];
            add(&mut angles, 0);
            [sample.roll_rad, sample.pitch_rad] = angles;
        }
        Measured::Temperature(sample) => {
            let mut celsius = [sample.celsius];
            sample.variance_k2 += add(&mut celsius, 0);
            [sample.celsius] = celsius;
        }
        Measured::Load(wrench) => {
            add(wrench.force.as_mut_slice(), 0);
            add(wrench.torque.as_mut_slice(), 1);
        }
        // Validation refuses the stage for sensors of these kinds.
        Measured::Nothing
        | Measured::Fix(_)
        | Measured::Joints(_)
        | Measured::Odometry(_)
        | Measured::Battery(_)
        | Measured::SunDirection(_)
        | Measured::StarAttitude(_)
        | Measured::Contact(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{add_noise, convert_image, crop_cloud, crop_image};
    use crate::values::{FieldSample, Image, Measured, PointCloud};
    use nalgebra::Vector3;
    use selene_sensors::augment::{CropSpec, PixelFormat, RegionSpec};

    fn image(encoding: &'static str, pixel_bytes: usize, width: u32, data: &[u8]) -> Image {
        let height = (data.len() / pixel_bytes) as u32 / width;
        Image { width, height, encoding, pixel_bytes, data: data.to_vec() }
    }

    #[test]
    fn a_rectangle_of_an_image_keeps_its_pixels() {
        let mut colour = image("rgb8", 3, 3, &(0..18).collect::<Vec<u8>>());
        crop_image(&mut colour, RegionSpec { x_offset: 1, y_offset: 1, width: 2, height: 1 });
        assert_eq!(colour, image("rgb8", 3, 2, &[12, 13, 14, 15, 16, 17]));
    }

    #[test]
    fn colours_become_the_grey_of_bt_601_and_change_their_order() {
        let mut colour = image("rgb8", 3, 2, &[255, 0, 0, 10, 200, 30]);
        convert_image(&mut colour, PixelFormat::Bgr8);
        assert_eq!(colour, image("bgr8", 3, 2, &[0, 0, 255, 30, 200, 10]));
        convert_image(&mut colour, PixelFormat::Mono8);
        // 0.299 · 255 = 76.2; 2.99 + 117.4 + 3.42 = 123.8.
        assert_eq!(colour, image("mono8", 1, 2, &[76, 124]));
        convert_image(&mut colour, PixelFormat::Rgb8);
        assert_eq!(colour, image("rgb8", 3, 2, &[76, 76, 76, 124, 124, 124]));
    }

    #[test]
    fn points_outside_of_box_and_span_are_left_out() {
        let places = [[1.0_f32, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.1, 0.0, 0.0]];
        let bytes = |place: &[f32; 3]| place.iter().flat_map(|m| m.to_le_bytes()).chain([7; 4]).collect::<Vec<u8>>();
        let data = places.iter().flat_map(bytes).collect();
        let mut cloud = PointCloud { points: 4, fields: Vec::new(), point_bytes: 16, data };
        let box_m = Some([[-5.0, -5.0, -1.0], [5.0, 5.0, 1.0]]);
        crop_cloud(&mut cloud, &CropSpec { region_px: None, box_m, range_m: Some([0.5, 2.5]) });
        assert_eq!((cloud.points, cloud.data), (1, bytes(&places[0])));
    }

    #[test]
    fn noise_adds_its_draws_and_its_variance() {
        let sample = FieldSample { field_t: Vector3::new(1.0, 2.0, 3.0), white_variance_t2: 0.25 };
        let mut measured = Measured::MagneticField(sample);
        let mut next = 0.0;
        add_noise(&mut measured, &[0.5], &mut || {
            next += 1.0;
            next
        });
        let expected = FieldSample { field_t: Vector3::new(1.5, 3.0, 4.5), white_variance_t2: 0.5 };
        assert_eq!(measured, Measured::MagneticField(expected));
    }
}
