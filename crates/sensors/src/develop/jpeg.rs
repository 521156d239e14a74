//! JPEG artefacts: compresses the image and decompresses it again, so that the published image has JPEG's losses.
//! Numbers of 8 bits to the same.

use garde::Validate;
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageFormat};
use schemars::JsonSchema;
use serde::Deserialize;

use super::image as developed;
use super::plate::Plate;
use super::{DevelopError, Encoding};

/// `jpeg`: artefacts of JPEG compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct JpegSpec {
    /// Quality, 1 (worst) to 100, on libjpeg's scale.
    #[garde(range(min = 1, max = 100))]
    pub quality: u8,
}

/// Compresses a plate of numbers and decompresses it again.
pub(super) fn lose(plate: &mut Plate, quality: u8) -> Result<(), DevelopError> {
    let encoding = Encoding::of(None, plate.planes.len(), false);
    let data = developed::bytes(plate, encoding);
    let jpeg = encode(&data, [plate.width as u32, plate.height as u32], encoding, quality)?;
    let read = image::load_from_memory_with_format(&jpeg, ImageFormat::Jpeg).map_err(DevelopError::Jpeg)?;
    let data = if encoding == Encoding::Rgb8 { read.into_rgb8().into_raw() } else { read.into_luma8().into_raw() };
    let channels = plate.planes.len();
    for (channel, plane) in plate.planes.iter_mut().enumerate() {
        let numbers = data.iter().skip(channel).step_by(channels);
        plane.iter_mut().zip(numbers).for_each(|(value, number)| *value = f32::from(*number));
    }
    Ok(())
}

/// A JPEG file of 8-bit pixels; a mosaic is stored as grey.
pub(super) fn encode(
    data: &[u8],
    [width, height]: [u32; 2],
    encoding: Encoding,
    quality: u8,
) -> Result<Vec<u8>, DevelopError> {
    let colour = if encoding.channels() == 3 { ExtendedColorType::Rgb8 } else { ExtendedColorType::L8 };
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, quality)
        .encode(data, width, height, colour)
        .map_err(DevelopError::Jpeg)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::lose;
    use crate::develop::plate::{Plate, Quantity};

    fn texture(channels: usize) -> Plate {
        let plane = |c: usize| (0..64 * 48).map(|i| ((i * (7 + c) + i / 64 * 13) % 200) as f32).collect();
        let planes = (0..channels).map(plane).collect();
        Plate { width: 64, height: 48, quantity: Quantity::Numbers, planes }
    }

    fn rms(a: &Plate, b: &Plate) -> f32 {
        let pairs = a.planes.concat().into_iter().zip(b.planes.concat());
        let squares: Vec<f32> = pairs.map(|(a, b)| (a - b).powi(2)).collect();
        (squares.iter().sum::<f32>() / squares.len() as f32).sqrt()
    }

    #[test]
    fn worse_quality_loses_more_and_even_light_survives() {
        for channels in [1, 3] {
            let whole = texture(channels);
            let lost = |quality| {
                let mut plate = whole.clone();
                lose(&mut plate, quality).expect("a picture");
                rms(&plate, &whole)
            };
            assert!(lost(10) > lost(60) && lost(60) > lost(100) && lost(60) > 1.0, "{channels}");
            let mut even = texture(channels);
            even.planes.iter_mut().for_each(|plane| plane.fill(100.0));
            let before = even.clone();
            lose(&mut even, 50).expect("a picture");
            assert!(rms(&even, &before) < 2.0, "{channels}");
        }
    }
}
