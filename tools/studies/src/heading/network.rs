//! The paper's second method (§V): a small network that estimates the direction to the Sun from an image of 80 × 45
//! grey pixels, also with the Sun just outside of the frame.
//!
//! Numbers are single-precision. Pixels are scaled to 0 to 1 and reduced by the image's mean, so that exposure matters
//! less (§V.ii). Convolutions of 3 × 3 with stride 2 (zeros beyond the edge) come first, then dense layers, with
//! max(0, x) after each but the last. Its three outputs, normalised, point to the Sun in the optical frame. The paper's
//! network processes the two halves of an image separately and has residual blocks; this one is simpler, and as small.
//!
//! Weights are a safetensors file (a JSON header with type, shape and position of each array, then the arrays, all
//! little-endian): `N.weight` and `N.bias` for layer N from 0, as `tools/studies/heading_network/train.py` writes it. A
//! weight of four dimensions (to, from, 3, 3) is a convolution, one of two (to, from) a dense layer.

use std::collections::BTreeMap;
use std::path::Path;

use image::GrayImage;
use nalgebra::Vector3;
use selene_base::{InputError, input};
use serde::Deserialize;

/// Columns and rows of the network's image.
pub const TINY_PX: [u32; 2] = [80, 45];
/// Upper limit of the number of parameters: that of the paper's network.
pub const PARAMETERS_MAX: usize = 30_000;
/// The largest file accepted, bytes: `PARAMETERS_MAX` numbers are 120 kB.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Size of the header's length field.
const LENGTH_BYTES: usize = 8;
/// The only supported type of number.
const SINGLE: &str = "F32";
/// Key in the header that is not an array.
const REMARKS: &str = "__metadata__";

/// A trained network.
#[derive(Clone, Debug)]
pub struct Network {
    layers: Vec<Layer>,
}

/// A layer; weights are ordered by output, then input, then row and column.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Convolution(Weights),
    Dense(Weights),
}

/// Factors and offsets of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    outputs: usize,
    inputs: usize,
    factors: Vec<f32>,
    offsets: Vec<f32>,
}

/// Values between layers: planes one after the other, each row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planes {
    pub(crate) count: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Vec<f32>,
}

/// An array of a weights file.
pub(crate) struct Array {
    shape: Vec<usize>,
    numbers: Vec<f32>,
}

/// Description of an array in the file's header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl Network {
    /// Reads the network's weights.
    ///
    /// # Errors
    /// When the file cannot be read, is no safetensors file, or its layers do not lead from an image to a direction.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let bytes = input::read_bytes(path, FILE_BYTES_MAX)?;
        Self::parse(&bytes).map_err(|what| InputError::content(path, what))
    }

    /// Reads the weights from a file's bytes.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let arrays = arrays(bytes)?;
        let mut layers = Vec::new();
        while let Some(weight) = arrays.get(&format!("{}.weight", layers.len())) {
            let name = format!("{}.bias", layers.len());
            let bias = arrays.get(&name).ok_or_else(|| format!("has no {name}"))?;
            layers.push(Layer::new(layers.len(), weight, bias)?);
        }
        if arrays.len() != 2 * layers.len() {
            return Err(format!("has {} arrays: must be N.weight and N.bias for each layer from 0", arrays.len()));
        }
        let network = Self { layers };
        network.check()?;
        Ok(network)
    }

    /// Number of trained parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        let count = |layer: &Layer| layer.weights().factors.len() + layer.weights().offsets.len();
        self.layers.iter().map(count).sum()
    }

    /// Direction to the Sun in the optical frame, from an image of size `TINY_PX`; `None` if the network's output is
    /// zero or not finite.
    #[must_use]
    pub fn sun_in_optical(&self, tiny: &GrayImage) -> Option<Vector3<f64>> {
        let last = self.layers.len().saturating_sub(1);
        let mut planes = Planes::of(tiny);
        for (number, layer) in self.layers.iter().enumerate() {
            planes = layer.apply(&planes);
            if number < last {
                planes.values.iter_mut().for_each(|value| *value = value.max(0.0));
            }
        }
        let [x, y, z]: [f32; 3] = planes.values.try_into().ok()?;
        Vector3::new(x, y, z).cast::<f64>().try_normalize(f64::MIN_POSITIVE)
    }

    /// Checks that layers fit their inputs, and that the last has three outputs.
    fn check(&self) -> Result<(), String> {
        let parameters = self.parameters();
        if parameters >= PARAMETERS_MAX {
            return Err(format!("has {parameters} numbers: must be fewer than {PARAMETERS_MAX}"));
        }
        let [columns, rows] = TINY_PX.map(|px| px as usize);
        let mut given = [1, rows, columns];
        for (number, layer) in self.layers.iter().enumerate() {
            let taken = layer.weights().inputs;
            let reported = |of| format!("layer {number} takes {taken} numbers or planes: must be {of}, as it is given");
            given = layer.given(given).map_err(reported)?;
        }
        if given == [3, 1, 1] { Ok(()) } else { Err(format!("gives {given:?}: must be three numbers in the end")) }
    }
}

impl Layer {
    pub(crate) fn new(number: usize, weight: &Array, bias: &Array) -> Result<Self, String> {
        let Array { shape, numbers } = weight;
        let offsets = &bias.numbers;
        let weights = |outputs: usize, inputs: usize| {
            let weights = Weights { outputs, inputs, factors: numbers.clone(), offsets: offsets.clone() };
            let reported = format!("{number}.bias has {} numbers: must be {outputs}, and some", offsets.len());
            if outputs > 0 && offsets.len() == outputs { Ok(weights) } else { Err(reported) }
        };
        match *shape.as_slice() {
            [outputs, inputs, 3, 3] => weights(outputs, inputs).map(Self::Convolution),
            [outputs, inputs] => weights(outputs, inputs).map(Self::Dense),
            _ => Err(format!("{number}.weight is {shape:?}: must be (to, from, 3, 3) or (to, from)")),
        }
    }

    /// Number of planes, rows and columns of its output for an input of this shape; if the input does not fit, the
    /// number that it must have.
    pub(crate) fn given(&self, [count, rows, columns]: [usize; 3]) -> Result<[usize; 3], usize> {
        let (of, next) = match self {
            Self::Convolution(of) => (count, [of.outputs, halved(rows), halved(columns)]),
            Self::Dense(of) => (count * rows * columns, [of.outputs, 1, 1]),
        };
        if self.weights().inputs == of { Ok(next) } else { Err(of) }
    }

    fn weights(&self) -> &Weights {
        match self {
            Self::Convolution(weights) | Self::Dense(weights) => weights,
        }
    }

    pub(crate) fn apply(&self, from: &Planes) -> Planes {
        match self {
            Self::Convolution(weights) => weights.convolved(from),
            Self::Dense(weights) => weights.multiplied(from),
        }
    }
}

impl Weights {
    /// Convolution of 3 × 3 with stride 2, from the first pixel on.
    fn convolved(&self, from: &Planes) -> Planes {
        let (rows, columns) = (halved(from.rows), halved(from.columns));
        let mut values = Vec::with_capacity(self.outputs * rows * columns);
        for (kernels, offset) in self.factors.chunks_exact(9 * self.inputs).zip(&self.offsets) {
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let planes = kernels.chunks_exact(9).enumerate();
                let sum: f32 = planes.map(|(plane, kernel)| from.weighed(plane, kernel, [2 * row, 2 * column])).sum();
                values.push(sum + offset);
            }
        }
        Planes { count: self.outputs, rows, columns, values }
    }

    fn multiplied(&self, from: &Planes) -> Planes {
        let rows = self.factors.chunks_exact(self.inputs).zip(&self.offsets);
        let product = |factors: &[f32]| factors.iter().zip(&from.values).map(|(a, b)| a * b).sum::<f32>();
        let values = rows.map(|(factors, offset)| product(factors) + offset).collect();
        Planes { count: self.outputs, rows: 1, columns: 1, values }
    }
}

impl Planes {
    /// An image scaled to 0 to 1, minus its mean.
    fn of(image: &GrayImage) -> Self {
        let white = f32::from(u8::MAX);
        let values: Vec<f32> = image.pixels().map(|pixel| f32::from(pixel.0[0]) / white).collect();
        let mean = (values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len().max(1) as f64) as f32;
        let values = values.into_iter().map(|value| value - mean).collect();
        Self { count: 1, rows: image.height() as usize, columns: image.width() as usize, values }
    }

    /// Weighted sum of 3 × 3 pixels around a position of a plane.
    fn weighed(&self, plane: usize, kernel: &[f32], [row, column]: [usize; 2]) -> f32 {
        let mut sum = 0.0;
        for (down, factors) in kernel.chunks_exact(3).enumerate() {
            // Row and column are offset by one, so that 0 is beyond the edge.
            let Some(y) = (row + down).checked_sub(1).filter(|y| *y < self.rows) else { continue };
            for (right, factor) in factors.iter().enumerate() {
                let Some(x) = (column + right).checked_sub(1).filter(|x| *x < self.columns) else { continue };
                sum += factor * self.values[(plane * self.rows + y) * self.columns + x];
            }
        }
        sum
    }
}

/// Number of pixels at stride 2, from the first on.
fn halved(count: usize) -> usize {
    count.div_ceil(2)
}

/// Reads the arrays of a safetensors file, by name.
pub(crate) fn arrays(bytes: &[u8]) -> Result<BTreeMap<String, Array>, String> {
    let cut = || "ends too early: is it a safetensors file?".to_owned();
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let wrong = |error: serde_json::Error| format!("its header is no list of arrays: {error}");
    let header: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).map_err(wrong)?;
    let entries = header.into_iter().filter(|(name, _)| name != REMARKS);
    entries
        .map(|(name, entry)| {
            let entry: Entry = serde_json::from_value(entry).map_err(wrong)?;
            let numbers = numbers(&name, &entry, data)?;
            Ok((name, Array { shape: entry.shape, numbers }))
        })
        .collect()
}

/// Reads the numbers of one array.
fn numbers(name: &str, entry: &Entry, data: &[u8]) -> Result<Vec<f32>, String> {
    let Entry { dtype, shape, data_offsets: [from, to] } = entry;
    if dtype != SINGLE {
        return Err(format!("{name} has numbers of type {dtype}: must be {SINGLE}"));
    }
    let count = shape.iter().try_fold(1_usize, |all, of| all.checked_mul(*of));
    let bytes = data.get(*from..*to).ok_or_else(|| format!("{name} lies at bytes {from} to {to}, beyond the end"))?;
    if count.and_then(|count| count.checked_mul(4)) != Some(bytes.len()) {
        return Err(format!("{name} has {} bytes: must be 4 for each number of {shape:?}", bytes.len()));
    }
    let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    match numbers.iter().find(|number| !number.is_finite()) {
        Some(number) => Err(format!("{name} has the number {number}: must be finite")),
        None => Ok(numbers),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use image::{GrayImage, Luma};
    use nalgebra::Vector3;

    use super::{Network, Planes, TINY_PX, Weights};

    /// Outputs of PyTorch for the generated images below; `train.py` writes them beside the weights.
    const OUTPUTS: &str = include_str!("../../data/network_outputs.csv");

    fn weights_file() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/network/sun_direction.safetensors")
    }

    /// The same image as `made_up` of train.py.
    fn made_up(number: u32) -> GrayImage {
        let [columns, rows] = TINY_PX;
        let grey = |x, y| Luma([((x * (3 + number) + y * (5 + 2 * number)) % 256) as u8]);
        GrayImage::from_fn(columns, rows, grey)
    }

    /// A safetensors file with these arrays.
    fn file(arrays: &[(&str, &[usize], Vec<f32>)]) -> Vec<u8> {
        let mut data = Vec::new();
        let mut entries = vec![r#""__metadata__":{"format":"pt"}"#.to_owned()];
        for (name, shape, numbers) in arrays {
            let from = data.len();
            data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            let to = data.len();
            entries.push(format!(r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{from},{to}]}}"#));
        }
        let header = format!("{{{}}}", entries.join(","));
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
    }

    /// Weights of a dense layer that outputs the first three pixels.
    fn first_three() -> Vec<f32> {
        let pixels = (TINY_PX[0] * TINY_PX[1]) as usize;
        (0..3 * pixels).map(|at| f32::from(u8::from(at % pixels == at / pixels))).collect()
    }

    #[test]
    fn the_network_gives_what_pytorch_gives_with_its_weights() {
        let network = Network::load(&weights_file()).expect("the shipped weights");
        let lines: Vec<&str> = OUTPUTS.lines().skip(1).collect();
        assert_eq!(lines.len(), 4);
        for (number, line) in lines.into_iter().enumerate() {
            let expected: Vec<f64> = line.split(',').map(|value| value.parse().expect("a number")).collect();
            let given = network.sun_in_optical(&made_up(number as u32)).expect("a direction");
            let off = (given - Vector3::from_row_slice(&expected)).norm();
            assert!(off < 1e-4, "image {number}: {given:?}, PyTorch {expected:?}");
        }
    }

    #[test]
    fn a_convolution_takes_every_second_pixel_and_zeros_beyond_the_edge() {
        let values: Vec<f32> = (1..=15_u8).map(f32::from).collect();
        let from = Planes { count: 1, rows: 3, columns: 5, values };
        // Twice the pixel itself, plus its upper left neighbour.
        let factors = vec![1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        let given = Weights { outputs: 1, inputs: 1, factors, offsets: vec![0.5] }.convolved(&from);
        let values = vec![2.5, 6.5, 10.5, 22.5, 33.5, 39.5];
        assert_eq!(given, Planes { count: 1, rows: 2, columns: 3, values });
    }

    #[test]
    fn a_dense_layer_takes_shares_of_white_less_their_mean() {
        let pixels = (TINY_PX[0] * TINY_PX[1]) as usize;
        let bytes = file(&[("0.weight", &[3, pixels], first_three()), ("0.bias", &[3], vec![0.0; 3])]);
        let network = Network::parse(&bytes).expect("a network");
        let mut image = GrayImage::new(TINY_PX[0], TINY_PX[1]);
        image.put_pixel(2, 0, Luma([255]));
        let mean = 1.0 / pixels as f64;
        let expected = Vector3::new(-mean, -mean, 1.0 - mean).normalize();
        let given = network.sun_in_optical(&image).expect("a direction");
        assert!((given - expected).norm() < 1e-6, "{given:?}");
    }

    #[test]
    fn files_that_are_no_such_network_are_refused_with_what_is_allowed() {
        let pixels = (TINY_PX[0] * TINY_PX[1]) as usize;
        let bias = ("0.bias", [3].as_slice(), vec![0.0; 3]);
        let cases: [(Vec<u8>, &str); 7] = [
            (b"{}".to_vec(), "too early"),
            (file(&[]), "three numbers"),
            (file(&[("0.weight", &[3, pixels], first_three())]), "has no 0.bias"),
            (file(&[("0.weight", &[3, 7], vec![0.0; 21]), bias.clone()]), "must be 3600"),
            (file(&[("0.weight", &[3, pixels], vec![0.0; 9]), bias.clone()]), "must be 4 for each"),
            (file(&[("0.weight", &[3, 1, 5, 5], vec![0.0; 75]), bias.clone()]), "(to, from, 3, 3)"),
            (file(&[("0.weight", &[3, pixels], vec![f32::NAN; 3 * pixels]), bias]), "finite"),
        ];
        for (bytes, reported) in cases {
            let refused = Network::parse(&bytes).expect_err(reported);
            assert!(refused.contains(reported), "{refused}");
        }
    }
}
