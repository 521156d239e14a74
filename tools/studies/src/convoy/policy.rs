//! A follower's learned policy: it maps an image of 80 × 45 colour pixels and some numbers to an action, as in MULTI's
//! figure 8 but with a smaller network. Convolutions of 3 × 3 with stride 2 process the image, a dense layer the
//! numbers, and dense layers both together. max(0, x) follows each layer but the last; the hyperbolic tangents of its
//! two outputs are the action. The numbers are MULTI's and what follows from those of the past seconds (`trail`).
//!
//! Weights are a safetensors file as `tools/studies/convoy_follower/train.py` writes it: `image.N`, `state.N` and
//! `joint.N`, each with `weight` and `bias`, N from 0. The layers are those of the heading study's network.

use std::collections::BTreeMap;
use std::path::Path;

use image::RgbImage;
use selene_base::{InputError, input};

use super::follower::FollowerOutput;
use super::trail::NUMBERS;
use crate::Failure;
use crate::heading::network::{Array, Layer, Planes, arrays};

/// Columns and rows of an image.
pub const IMAGE_PX: [u32; 2] = [80, 45];
/// The largest file accepted, bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;

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
    pub fn act(&self, image: &RgbImage, numbers: &[f32; NUMBERS]) -> Result<FollowerOutput, Failure> {
        let looked = through(&self.image, pixels(image), true);
        let known = through(&self.state, flat(numbers.to_vec()), true);
        let both = flat([looked.values, known.values].concat());
        let [steer, accelerate]: [f32; 2] =
            through(&self.joint, both, false).values.try_into().map_err(|_| "the policy gives no two numbers")?;
        Ok(FollowerOutput { steer: f64::from(steer).tanh(), accelerate: f64::from(accelerate).tanh() })
    }

    /// Checks that layers fit their inputs, and that the last has two outputs.
    fn check(&self) -> Result<(), String> {
        let [columns, rows] = IMAGE_PX.map(|px| px as usize);
        let looked = given(&self.image, "image", [3, rows, columns])?;
        let known = given(&self.state, "state", [NUMBERS, 1, 1])?;
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

/// Red, green and blue planes, −0.5 to 0.5.
fn pixels(image: &RgbImage) -> Planes {
    let share = |of: u8| f32::from(of) / f32::from(u8::MAX) - 0.5;
    let plane = |colour: usize| image.pixels().map(move |pixel| share(pixel.0[colour]));
    let values = (0..3).flat_map(plane).collect();
    Planes { count: 3, rows: image.height() as usize, columns: image.width() as usize, values }
}

fn flat(values: Vec<f32>) -> Planes {
    Planes { count: values.len(), rows: 1, columns: 1, values }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{IMAGE_PX, NUMBERS, Policy};
    use image::{Rgb, RgbImage};

    /// Actions of PyTorch for the made-up input below; `train.py` writes them beside the weights.
    const OUTPUTS: &str = include_str!("../../data/convoy_outputs.csv");

    /// The same image and numbers as `made_up` of network.py.
    fn made_up(case: u32) -> (RgbImage, [f32; NUMBERS]) {
        let share = |x: u32, y: u32, colour: u32| ((x * (3 + case) + y * (5 + 2 * case) + 40 * colour) % 256) as u8;
        let image =
            RgbImage::from_fn(IMAGE_PX[0], IMAGE_PX[1], |x, y| Rgb([0, 1, 2].map(|colour| share(x, y, colour))));
        (image, std::array::from_fn(|i| ((i as u32 * (7 + 2 * case) % 20) as f32) / 10.0 - 1.0))
    }

    #[test]
    fn the_policy_gives_what_pytorch_gives_with_its_weights() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/network/convoy_follower.safetensors");
        let policy = Policy::load(&file).expect("the shipped weights");
        let lines: Vec<&str> = OUTPUTS.lines().skip(1).collect();
        assert_eq!(lines.len(), 4);
        for (case, line) in lines.into_iter().enumerate() {
            let expected: Vec<f64> = line.split(',').map(|value| value.parse().expect("a number")).collect();
            let (image, numbers) = made_up(case as u32);
            let action = policy.act(&image, &numbers).expect("an action");
            let off = [action.steer - expected[0], action.accelerate - expected[1]].map(f64::abs);
            assert!(off.iter().all(|off| *off < 1e-4), "case {case}: {action:?}, PyTorch {expected:?}");
        }
    }

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
            ("state.0.weight", &[1, NUMBERS], 2.0, 0.0),
            ("state.0.bias", &[1], 0.5, 0.0),
            ("joint.0.weight", &[2, both], 1.0, 0.001),
            ("joint.0.bias", &[2], -0.1, 0.3),
        ])
    }

    #[test]
    fn an_action_is_what_the_layers_make() {
        let policy = Policy::parse(&small(40 * 23 + 1)).expect("a policy");
        let image = RgbImage::from_pixel(IMAGE_PX[0], IMAGE_PX[1], Rgb([255, 0, 0]));
        let mut numbers = [0.0; NUMBERS];
        numbers[0] = 0.5;
        let action = policy.act(&image, &numbers).expect("an action");
        // The image's weights are zero; the layer of numbers gives 2 × 0.5 + 0.5.
        let [steer, accelerate] = [0.001 * 1.5 - 0.1_f64, 0.001 * 1.5 + 0.3].map(f64::tanh);
        assert!((action.steer - steer).abs() < 1e-6 && (action.accelerate - accelerate).abs() < 1e-6, "{action:?}");
    }

    /// Accepts the layers that `tools/studies/convoy_follower/train.py` writes.
    #[test]
    fn the_layers_of_the_training_are_taken() {
        let weights: [(&str, &[usize]); 9] = [
            ("image.0", &[8, 3, 3, 3]),
            ("image.1", &[16, 8, 3, 3]),
            ("image.2", &[16, 16, 3, 3]),
            ("image.3", &[16, 16, 3, 3]),
            ("state.0", &[32, NUMBERS]),
            ("joint.0", &[64, 16 * 3 * 5 + 32]),
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
        let action = policy.act(&image, &[0.1; NUMBERS]).expect("an action");
        assert!(action.steer != 0.0 && action.steer == action.accelerate, "{action:?}");
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let reported = Policy::parse(&small(7)).expect_err("refused");
        assert!(reported.contains("joint.0") && reported.contains("921"), "{reported}");
        let reported = Policy::parse(&file(&[("image.0.weight", &[1, 3, 3, 3], 0.0, 0.0)])).expect_err("refused");
        assert!(reported.contains("image.0.bias"), "{reported}");
    }
}
