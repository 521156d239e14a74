//! A follower's learned policy: it maps an image of 80 × 45 colour pixels and four numbers to an action, as in MULTI's
//! figure 8 but with a smaller network. Convolutions of 3 × 3 with stride 2 process the image, a dense layer the
//! numbers, and dense layers both together. max(0, x) follows each layer but the last; the hyperbolic tangents of its
//! two outputs, times `SHARE`, are added to the plain controller's action (residual policy learning, T. Silver et al.,
//! 2018, arXiv:1812.06298): training begins with a follower that drives.
//!
//! Weights are a safetensors file as `tools/studies/convoy_follower/train.py` writes it: `image.N`, `state.N` and
//! `joint.N`, each with `weight` and `bias`, N from 0. The layers are those of the heading study's network.

use std::collections::BTreeMap;
use std::path::Path;

use image::RgbImage;
use selene_base::{InputError, input};

use super::follower::{FollowerInput, FollowerOutput, plain};
use crate::Failure;
use crate::heading::network::{Array, Layer, Planes, arrays};

/// Columns and rows of an image.
pub const IMAGE_PX: [u32; 2] = [80, 45];
/// The largest file accepted, bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// Scales by which the four numbers are divided: m, m, rad, m/s.
const SCALES: [f64; 4] = [20.0, 20.0, std::f64::consts::PI, 5.0];

/// The greatest part of the network in an action, as a share of full steering and acceleration.
const SHARE: f64 = 0.5;

/// A learned policy of a follower.
#[derive(Clone, Debug)]
pub struct Policy {
    image: Vec<Layer>,
    state: Vec<Layer>,
    joint: Vec<Layer>,
}

impl Policy {
    /// Reads the policy's weights.
    ///
    /// # Errors
    /// When the file cannot be read, is no safetensors file, or its layers do not fit one another.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let bytes = input::read_bytes(path, FILE_BYTES_MAX)?;
        Self::parse(&bytes).map_err(|what| InputError::content(path, what))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let arrays = arrays(bytes)?;
        let [image, state, joint] = ["image", "state", "joint"].map(|part| layers(&arrays, part));
        let policy = Self { image: image?, state: state?, joint: joint? };
        let count = 2 * (policy.image.len() + policy.state.len() + policy.joint.len());
        if arrays.len() != count {
            return Err(format!(
                "has {} arrays: must be image.N, state.N and joint.N, each with weight and bias",
                arrays.len()
            ));
        }
        policy.check()?;
        Ok(policy)
    }

    /// The action for an image and the follower's other inputs.
    ///
    /// # Errors
    /// When the image does not have the size `IMAGE_PX`.
    pub fn act(&self, image: &RgbImage, seen: &FollowerInput) -> Result<FollowerOutput, Failure> {
        let [east_m, north_m] = seen.ahead_m;
        let numbers = [east_m, north_m, seen.heading_rad, seen.closing_m_s];
        let scaled = numbers.iter().zip(SCALES).map(|(number, scale)| (number / scale) as f32).collect();
        let looked = through(&self.image, pixels(image), true);
        let known = through(&self.state, flat(scaled), true);
        let both = flat([looked.values, known.values].concat());
        let [steer, accelerate]: [f32; 2] =
            through(&self.joint, both, false).values.try_into().map_err(|_| "the policy gives no two numbers")?;
        let plain = plain(seen);
        let sum = |plain: f64, output: f32| (plain + SHARE * f64::from(output).tanh()).clamp(-1.0, 1.0);
        Ok(FollowerOutput { steer: sum(plain.steer, steer), accelerate: sum(plain.accelerate, accelerate) })
    }

    /// Checks that layers fit their inputs, and that the last has two outputs.
    fn check(&self) -> Result<(), String> {
        let [columns, rows] = IMAGE_PX.map(|px| px as usize);
        let looked = given(&self.image, "image", [3, rows, columns])?;
        let known = given(&self.state, "state", [SCALES.len(), 1, 1])?;
        let both = looked.iter().product::<usize>() + known.iter().product::<usize>();
        match given(&self.joint, "joint", [both, 1, 1])? {
            [2, 1, 1] => Ok(()),
            other => Err(format!("gives {other:?}: must be two numbers in the end")),
        }
    }
}

/// The layers of a part of the network.
fn layers(arrays: &BTreeMap<String, Array>, part: &str) -> Result<Vec<Layer>, String> {
    let mut layers = Vec::new();
    while let Some(weight) = arrays.get(&format!("{part}.{}.weight", layers.len())) {
        let name = format!("{part}.{}.bias", layers.len());
        let bias = arrays.get(&name).ok_or_else(|| format!("has no {name}"))?;
        layers.push(Layer::new(layers.len(), weight, bias).map_err(|what| format!("{part}.{what}"))?);
    }
    if layers.is_empty() { Err(format!("has no {part}.0.weight")) } else { Ok(layers) }
}

/// Number of planes, rows and columns that a part outputs for an input of shape `first`.
fn given(layers: &[Layer], part: &str, first: [usize; 3]) -> Result<[usize; 3], String> {
    let step = |given, (number, layer): (usize, &Layer)| {
        layer.given(given).map_err(|of| format!("{part}.{number} does not take what it is given: must take {of}"))
    };
    layers.iter().enumerate().try_fold(first, step)
}

fn through(layers: &[Layer], mut planes: Planes, to_the_end: bool) -> Planes {
    for (number, layer) in layers.iter().enumerate() {
        planes = layer.apply(&planes);
        if to_the_end || number + 1 < layers.len() {
            planes.values.iter_mut().for_each(|value| *value = value.max(0.0));
        }
    }
    planes
}

/// Red, green and blue planes, 0 to 1.
fn pixels(image: &RgbImage) -> Planes {
    let plane = |colour: usize| image.pixels().map(move |pixel| f32::from(pixel.0[colour]) / f32::from(u8::MAX));
    let values = (0..3).flat_map(plane).collect();
    Planes { count: 3, rows: image.height() as usize, columns: image.width() as usize, values }
}

fn flat(values: Vec<f32>) -> Planes {
    Planes { count: values.len(), rows: 1, columns: 1, values }
}

#[cfg(test)]
mod tests {
    use super::{IMAGE_PX, Policy, SHARE};
    use crate::convoy::follower::{FollowerInput, plain};
    use image::{Rgb, RgbImage};

    /// A safetensors file of arrays in which all values but the first of each are equal.
    fn file(arrays: &[(&str, &[usize], f32, f32)]) -> Vec<u8> {
        let (mut header, mut data) = (Vec::new(), Vec::new());
        for (name, shape, first, value) in arrays {
            let from = data.len();
            for i in 0..shape.iter().product::<usize>() {
                data.extend(if i == 0 { first } else { value }.to_le_bytes());
            }
            header.push(format!(
                "\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{from},{}]}}",
                data.len()
            ));
        }
        let header = format!("{{{}}}", header.join(","));
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
    }

    /// A network with one convolution, one layer for the numbers, and one for both.
    fn small(both: usize) -> Vec<u8> {
        file(&[
            ("image.0.weight", &[1, 3, 3, 3], 0.0, 0.0),
            ("image.0.bias", &[1], 0.0, 0.0),
            ("state.0.weight", &[1, 4], 2.0, 0.0),
            ("state.0.bias", &[1], 0.5, 0.0),
            ("joint.0.weight", &[2, both], 1.0, 0.001),
            ("joint.0.bias", &[2], -0.1, 0.3),
        ])
    }

    #[test]
    fn an_action_is_the_plain_one_and_what_the_layers_make() {
        let policy = Policy::parse(&small(40 * 23 + 1)).expect("a policy");
        let image = RgbImage::from_pixel(IMAGE_PX[0], IMAGE_PX[1], Rgb([255, 0, 0]));
        let seen = FollowerInput { ahead_m: [10.0, 1.0], heading_rad: 0.0, closing_m_s: 0.0 };
        let (action, plain) = (policy.act(&image, &seen).expect("an action"), plain(&seen));
        assert!(plain.steer.abs() > 0.05 && plain.accelerate.abs() > 0.05, "{plain:?}");
        // The image's weights are zero; the first number is 10 / 20, so the layer of numbers gives 2 × 0.5 + 0.5.
        let steer = plain.steer + SHARE * (0.001 * 1.5 - 0.1_f64).tanh();
        let accelerate = plain.accelerate + SHARE * (0.001 * 1.5 + 0.3_f64).tanh();
        assert!((action.steer - steer).abs() < 1e-6, "{action:?}");
        assert!((action.accelerate - accelerate).abs() < 1e-6, "{action:?}");
    }

    #[test]
    fn an_action_stays_within_full_steering_and_acceleration() {
        let policy = Policy::parse(&small(40 * 23 + 1)).expect("a policy");
        let image = RgbImage::from_pixel(IMAGE_PX[0], IMAGE_PX[1], Rgb([255, 0, 0]));
        let seen = FollowerInput { ahead_m: [40.0, 0.0], heading_rad: 0.0, closing_m_s: 0.0 };
        assert_eq!(policy.act(&image, &seen).expect("an action").accelerate, 1.0);
    }

    /// Accepts the layers that `tools/studies/convoy_follower/train.py` writes.
    #[test]
    fn the_layers_of_the_training_are_taken() {
        let weights: [(&str, &[usize]); 8] = [
            ("image.0", &[8, 3, 3, 3]),
            ("image.1", &[16, 8, 3, 3]),
            ("image.2", &[16, 16, 3, 3]),
            ("state.0", &[16, 4]),
            ("joint.0", &[64, 16 * 6 * 10 + 16]),
            ("joint.1", &[64, 64]),
            ("joint.2", &[64, 64]),
            ("joint.3", &[2, 64]),
        ];
        let names = weights.map(|(layer, _)| [format!("{layer}.weight"), format!("{layer}.bias")]);
        let arrays = names.iter().zip(&weights).flat_map(|([weight, bias], (_, shape))| {
            [(weight.as_str(), *shape, 0.01, 0.01), (bias.as_str(), &shape[..1], 0.0, 0.0)]
        });
        let policy = Policy::parse(&file(&arrays.collect::<Vec<_>>())).expect("a policy");
        let image = RgbImage::from_pixel(IMAGE_PX[0], IMAGE_PX[1], Rgb([90, 80, 70]));
        let seen = FollowerInput { ahead_m: [10.0, 2.0], heading_rad: 0.3, closing_m_s: 0.1 };
        let (action, plain) = (policy.act(&image, &seen).expect("an action"), plain(&seen));
        let [steer, accelerate] = [action.steer - plain.steer, action.accelerate - plain.accelerate];
        assert!(steer > 0.0 && steer < SHARE && (steer - accelerate).abs() < 1e-12, "{action:?}");
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let reported = Policy::parse(&small(7)).expect_err("refused");
        assert!(reported.contains("joint.0") && reported.contains("921"), "{reported}");
        let reported = Policy::parse(&file(&[("image.0.weight", &[1, 3, 3, 3], 0.0, 0.0)])).expect_err("refused");
        assert!(reported.contains("image.0.bias"), "{reported}");
    }
}
