//! Compressed images as on image_transport's `compressed` topics: a JPEG or PNG file and a format text with the raw
//! encoding, the kind of file and, for colours, the channel order that OpenCV decodes ("rgb8; jpeg compressed bgr8",
//! "mono16; png compressed "). A mosaic is compressed as grey.

use std::fmt;

use garde::Validate;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DevelopError, DevelopedImage, jpeg};

/// `compressed`: a compressed topic beside the raw one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CompressedSpec {
    /// File format.
    #[garde(skip)]
    pub format: CompressedFormat,
    /// Quality of JPEG, 1 (worst) to 100; 95 when left out.
    #[garde(range(min = 1, max = 100))]
    #[serde(default = "quality_of_image_transport")]
    pub quality: u8,
}

fn quality_of_image_transport() -> u8 {
    95
}

/// File formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompressedFormat {
    /// Lossy; 8 bits only.
    Jpeg,
    /// Lossless.
    Png,
}

impl fmt::Display for CompressedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
        })
    }
}

impl CompressedSpec {
    /// The format text and the file.
    ///
    /// # Errors
    /// When the encoder refuses the image.
    pub fn compress(&self, image: &DevelopedImage) -> Result<(String, Vec<u8>), DevelopError> {
        let (raw, words) = (image.encoding, image.encoding.bytes_per_channel() == 2);
        let colours = match (raw.channels(), words) {
            (3, false) => "bgr8",
            (3, true) => "bgr16",
            _ => "",
        };
        let file = match self.format {
            CompressedFormat::Jpeg => jpeg::encode(&image.data, [image.width, image.height], raw, self.quality)?,
            CompressedFormat::Png => png(image)?,
        };
        Ok((format!("{}; {} compressed {colours}", raw.name(), self.format), file))
    }
}

fn png(image: &DevelopedImage) -> Result<Vec<u8>, DevelopError> {
    let colour = match (image.encoding.channels(), image.encoding.bytes_per_channel()) {
        (3, 1) => ExtendedColorType::Rgb8,
        (3, _) => ExtendedColorType::Rgb16,
        (_, 1) => ExtendedColorType::L8,
        _ => ExtendedColorType::L16,
    };
    // The encoder takes words in native byte order.
    let data: Vec<u8> = match image.encoding.bytes_per_channel() {
        1 => image.data.clone(),
        _ => image.data.as_chunks().0.iter().flat_map(|word| u16::from_le_bytes(*word).to_ne_bytes()).collect(),
    };
    let mut file = Vec::new();
    PngEncoder::new(&mut file).write_image(&data, image.width, image.height, colour).map_err(DevelopError::Png)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{CompressedFormat, CompressedSpec};
    use crate::develop::{DevelopedImage, Encoding, Pattern};

    fn image(encoding: Encoding) -> DevelopedImage {
        let data = (0..16 * 8 * encoding.bytes_per_pixel()).map(|i| (i * 37 % 251) as u8).collect();
        DevelopedImage { width: 16, height: 8, encoding, data, exposure_s: 0.1, gain: 1.0 }
    }

    #[test]
    fn png_gives_every_encoding_back_and_says_what_it_was() {
        let spec = CompressedSpec { format: CompressedFormat::Png, quality: 95 };
        for (encoding, format) in [
            (Encoding::Mono8, "mono8; png compressed "),
            (Encoding::Mono16, "mono16; png compressed "),
            (Encoding::Rgb8, "rgb8; png compressed bgr8"),
            (Encoding::Rgb16, "rgb16; png compressed bgr16"),
            (Encoding::Bayer16(Pattern::Grbg), "bayer_grbg16; png compressed "),
        ] {
            let raw = image(encoding);
            let (text, file) = spec.compress(&raw).expect("a picture");
            assert_eq!(text, format);
            let read = image::load_from_memory(&file).expect("a PNG file");
            let data: Vec<u8> = match encoding.bytes_per_channel() {
                1 => read.into_bytes(),
                _ => {
                    read.into_bytes().as_chunks().0.iter().flat_map(|w| u16::from_ne_bytes(*w).to_le_bytes()).collect()
                }
            };
            assert_eq!(data, raw.data, "{format}");
        }
    }

    #[test]
    fn jpeg_is_a_jpeg_file_of_the_image() {
        let spec = CompressedSpec { format: CompressedFormat::Jpeg, quality: 95 };
        for (encoding, format) in
            [(Encoding::Mono8, "mono8; jpeg compressed "), (Encoding::Rgb8, "rgb8; jpeg compressed bgr8")]
        {
            let (text, file) = spec.compress(&image(encoding)).expect("a picture");
            assert_eq!((text.as_str(), &file[..3]), (format, &[0xff, 0xd8, 0xff][..]));
            let read = image::load_from_memory(&file).expect("a JPEG file");
            assert_eq!((read.width(), read.height()), (16, 8));
        }
    }
}
