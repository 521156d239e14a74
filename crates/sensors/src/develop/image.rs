//! Developed images: the bytes of `sensor_msgs/Image` and their encoding.

use super::bayer::{Pattern, demosaiced};
use super::plate::Plate;

/// Pixel format, by the names of `sensor_msgs/image_encodings`. 16 bits are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Grey, one byte per pixel.
    Mono8,
    /// Grey, two bytes per pixel.
    Mono16,
    /// Red, green, blue, one byte each.
    Rgb8,
    /// Red, green, blue, two bytes each.
    Rgb16,
    /// A colour mosaic, one byte per pixel.
    Bayer8(Pattern),
    /// A colour mosaic, two bytes per pixel.
    Bayer16(Pattern),
}

impl Encoding {
    /// The encoding of an image with this mosaic pattern, if any, this number of channels, in words (`wide`) or bytes.
    #[must_use]
    pub(crate) fn of(pattern: Option<Pattern>, channels: usize, wide: bool) -> Self {
        match (pattern, channels, wide) {
            (Some(pattern), _, false) => Self::Bayer8(pattern),
            (Some(pattern), _, true) => Self::Bayer16(pattern),
            (None, 3, false) => Self::Rgb8,
            (None, 3, true) => Self::Rgb16,
            (None, _, false) => Self::Mono8,
            (None, _, true) => Self::Mono16,
        }
    }

    /// The encoding of this name in `sensor_msgs/Image`; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mosaics = Pattern::ALL.into_iter().flat_map(|pattern| [Self::Bayer8(pattern), Self::Bayer16(pattern)]);
        let whole = [Self::Mono8, Self::Mono16, Self::Rgb8, Self::Rgb16];
        whole.into_iter().chain(mosaics).find(|encoding| encoding.name() == name)
    }

    /// That of an image whose pixels have all their colours.
    #[must_use]
    pub fn demosaiced(self) -> Self {
        match self {
            Self::Bayer8(_) => Self::Rgb8,
            Self::Bayer16(_) => Self::Rgb16,
            Self::Mono8 | Self::Mono16 | Self::Rgb8 | Self::Rgb16 => self,
        }
    }

    /// The numbers of an image with this many columns, pixel by pixel; of a mosaic, all colours of each pixel.
    pub(crate) fn numbers(self, columns: usize, data: &[u8]) -> Vec<f32> {
        let numbers: Vec<f32> = match self.bytes_per_channel() {
            1 => data.iter().map(|byte| f32::from(*byte)).collect(),
            _ => data.as_chunks().0.iter().map(|word| f32::from(u16::from_le_bytes(*word))).collect(),
        };
        match self {
            Self::Bayer8(pattern) | Self::Bayer16(pattern) => demosaiced(&numbers, columns, pattern),
            Self::Mono8 | Self::Mono16 | Self::Rgb8 | Self::Rgb16 => numbers,
        }
    }

    /// The image for viewing: 8 bits for each channel of [`Self::demosaiced`]. 16-bit values keep their upper 8 bits.
    #[must_use]
    pub fn viewed(self, columns: usize, data: &[u8]) -> Vec<u8> {
        let upper = |words: &[u8]| words.as_chunks().0.iter().map(|[_, upper]| *upper).collect();
        let bytes = if self.bytes_per_channel() == 2 { upper(data) } else { data.to_vec() };
        match self {
            Self::Bayer8(pattern) | Self::Bayer16(pattern) => {
                Self::Bayer8(pattern).numbers(columns, &bytes).iter().map(|number| number.round() as u8).collect()
            }
            Self::Mono8 | Self::Mono16 | Self::Rgb8 | Self::Rgb16 => bytes,
        }
    }

    /// Number of channels of one pixel.
    #[must_use]
    pub fn channels(self) -> usize {
        match self {
            Self::Rgb8 | Self::Rgb16 => 3,
            Self::Mono8 | Self::Mono16 | Self::Bayer8(_) | Self::Bayer16(_) => 1,
        }
    }

    /// Bytes of one channel.
    #[must_use]
    pub fn bytes_per_channel(self) -> usize {
        match self {
            Self::Mono8 | Self::Rgb8 | Self::Bayer8(_) => 1,
            Self::Mono16 | Self::Rgb16 | Self::Bayer16(_) => 2,
        }
    }

    /// Whether each pixel has only one of the three colours.
    #[must_use]
    pub fn is_mosaic(self) -> bool {
        matches!(self, Self::Bayer8(_) | Self::Bayer16(_))
    }

    /// Bytes of one pixel.
    #[must_use]
    pub fn bytes_per_pixel(self) -> usize {
        self.channels() * self.bytes_per_channel()
    }

    /// Its name in `sensor_msgs/Image`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mono8 => "mono8",
            Self::Mono16 => "mono16",
            Self::Rgb8 => "rgb8",
            Self::Rgb16 => "rgb16",
            Self::Bayer8(Pattern::Rggb) => "bayer_rggb8",
            Self::Bayer8(Pattern::Bggr) => "bayer_bggr8",
            Self::Bayer8(Pattern::Grbg) => "bayer_grbg8",
            Self::Bayer8(Pattern::Gbrg) => "bayer_gbrg8",
            Self::Bayer16(Pattern::Rggb) => "bayer_rggb16",
            Self::Bayer16(Pattern::Bggr) => "bayer_bggr16",
            Self::Bayer16(Pattern::Grbg) => "bayer_grbg16",
            Self::Bayer16(Pattern::Gbrg) => "bayer_gbrg16",
        }
    }
}

/// A developed image, row by row from the top left.
#[derive(Clone, Debug, PartialEq)]
pub struct DevelopedImage {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Pixel format of `data`.
    pub encoding: Encoding,
    /// Pixels row by row, without padding.
    pub data: Vec<u8>,
    /// The exposure time that was used, s.
    pub exposure_s: f64,
    /// Factor of auto exposure on the ISO number.
    pub gain: f64,
}

/// The bytes of a plate of numbers.
pub(super) fn bytes(plate: &Plate, encoding: Encoding) -> Vec<u8> {
    match (&plate.planes[..], encoding.bytes_per_channel()) {
        // Float to integer casts saturate below 0 and above the full scale.
        ([one], 1) => one.iter().map(|dn| *dn as u8).collect(),
        ([one], _) => one.iter().flat_map(|dn| (*dn as u16).to_le_bytes()).collect(),
        (planes, 1) => interleaved(planes).map(|dn| dn as u8).collect(),
        (planes, _) => interleaved(planes).flat_map(|dn| (dn as u16).to_le_bytes()).collect(),
    }
}

/// The values of all planes, pixel by pixel.
fn interleaved(planes: &[Vec<f32>]) -> impl Iterator<Item = f32> + '_ {
    let pixels = planes.first().map_or(0, Vec::len);
    (0..pixels).flat_map(move |pixel| planes.iter().map(move |plane| plane[pixel]))
}

#[cfg(test)]
mod tests {
    use super::{Encoding, bytes};
    use crate::develop::plate::{Plate, Quantity};

    fn plate(planes: Vec<Vec<f32>>) -> Plate {
        Plate { width: 2, height: 1, quantity: Quantity::Numbers, planes }
    }

    #[test]
    fn colour_is_laid_down_pixel_by_pixel_and_words_are_little_endian() {
        let colour = plate(vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]]);
        assert_eq!(bytes(&colour, Encoding::Rgb8), [1, 3, 5, 2, 4, 6]);
        let grey = plate(vec![vec![258.0, 65_535.0]]);
        assert_eq!(bytes(&grey, Encoding::Mono16), [2, 1, 255, 255]);
    }
}
