//! Images of cameras and lidars as JPEG: pixels are mapped to colours, scaled down if the client requested it, and
//! compressed once for all clients that requested the same.
//!
//! Colours are for display only: real numbers go from the least (dark) to the greatest (bright) of the image, distances
//! from far to near, on a logarithmic scale if all are above zero; classes and instances have colours of their own. The
//! numbers themselves are on the topics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::imageops;
use image::{ExtendedColorType, ImageEncoder, RgbImage};
use selene_base::SimTime;
use selene_ros::sensor_msgs::Image;
use selene_ros::{Encoded, decode};
use serde::{Deserialize, Serialize};

use crate::feed::Newest;
use crate::protocol;

/// Greatest number of pixels along a side.
const SIDE_MAX: u32 = 16_384;
/// Colours of classes and instances, repeated; the first means no class.
pub(crate) const LABELS: [[u8; 3]; 9] = [
    [24, 24, 28],
    [150, 140, 126],
    [230, 159, 0],
    [86, 180, 233],
    [0, 158, 115],
    [240, 228, 66],
    [0, 114, 178],
    [213, 94, 0],
    [204, 121, 167],
];
/// Colour of pixels without a number.
const NONE: [u8; 3] = [32, 16, 48];

/// The greatest width and the JPEG quality of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PictureSize {
    /// At most 320 pixels wide, JPEG quality 40: for a slow connection.
    Small,
    /// At most 640 pixels wide, quality 75.
    Medium,
    /// The size of the image, quality 90.
    Full,
}

impl PictureSize {
    fn width_max(self) -> u32 {
        match self {
            Self::Small => 320,
            Self::Medium => 640,
            Self::Full => SIDE_MAX,
        }
    }

    fn quality(self) -> u8 {
        match self {
            Self::Small => 40,
            Self::Medium => 75,
            Self::Full => 90,
        }
    }
}

/// The newest compressed picture of a topic, for each look that a client requested.
#[derive(Default)]
pub(crate) struct Compressed {
    of: Mutex<BTreeMap<PictureSize, Slot>>,
}

/// A picture and the number of its message. The task that compresses holds the lock, so others wait for its result.
type Slot = Arc<tokio::sync::Mutex<Option<(u64, Bytes)>>>;

impl Compressed {
    fn slot(&self, look: PictureSize) -> Slot {
        Arc::clone(self.of.lock().unwrap_or_else(PoisonError::into_inner).entry(look).or_default())
    }

    /// The picture of message `newest`, or of a later one that is already compressed.
    pub(crate) async fn picture(&self, topic: &str, newest: Newest, look: PictureSize) -> Result<Bytes, String> {
        let slot = self.slot(look);
        let mut kept = slot.lock().await;
        if let Some((_, frame)) = kept.as_ref().filter(|(number, _)| *number >= newest.number) {
            return Ok(frame.clone());
        }
        let topic = topic.to_owned();
        let number = newest.number;
        let work = move || frame(&topic, number, &newest.message, look);
        let frame = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())??;
        *kept = Some((number, frame.clone()));
        Ok(frame)
    }
}

/// The header of a picture.
#[derive(Serialize)]
struct PictureHeader<'a> {
    is: &'static str,
    topic: &'a str,
    number: u64,
    time_s: f64,
    encoding: &'a str,
    /// Size of the original image, px.
    width: u32,
    height: u32,
}

fn frame(topic: &str, number: u64, message: &Encoded, look: PictureSize) -> Result<Bytes, String> {
    let image: Image = decode(message).map_err(|error| error.to_string())?;
    let jpeg = jpeg(&shown(topic, &image)?, look)?;
    let header = PictureHeader {
        is: "image",
        topic,
        number,
        time_s: SimTime::from(image.header.stamp).secs_f64(),
        encoding: &image.encoding,
        width: image.width,
        height: image.height,
    };
    protocol::frame(&header, &jpeg)
}

fn jpeg(shown: &RgbImage, look: PictureSize) -> Result<Vec<u8>, String> {
    let (width, height) = shown.dimensions();
    let width_max = look.width_max();
    let smaller = (width > width_max).then(|| {
        let scaled = u64::from(height) * u64::from(width_max) / u64::from(width);
        imageops::thumbnail(shown, width_max, u32::try_from(scaled).unwrap_or(height).max(1))
    });
    let picture = smaller.as_ref().unwrap_or(shown);
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, look.quality());
    let (width, height) = picture.dimensions();
    let written = encoder.write_image(picture.as_raw(), width, height, ExtendedColorType::Rgb8);
    written.map_err(|error| format!("an image is not compressed: {error}"))?;
    Ok(bytes)
}

/// An image in colours, by its encoding.
fn shown(topic: &str, image: &Image) -> Result<RgbImage, String> {
    let is_distance = topic.contains("/depth/") || topic.ends_with("/range_image");
    let bright = if is_distance { BrightEnd::Least } else { BrightEnd::Greatest };
    let is_labels = topic.contains("/segmentation/") || topic.contains("/instances/");
    let pixels = match image.encoding.as_str() {
        "rgb8" => Rows::of(image, 3)?.map(|p| [p[0], p[1], p[2]]),
        "bgr8" => Rows::of(image, 3)?.map(|p| [p[2], p[1], p[0]]),
        "mono8" | "8UC1" => Rows::of(image, 1)?.map(|p| [p[0]; 3]),
        encoding if encoding.starts_with("bayer_") && encoding.ends_with('8') => Rows::of(image, 1)?.map(|p| [p[0]; 3]),
        encoding if encoding.starts_with("bayer_") && encoding.ends_with("16") => brightest_white(&Rows::of(image, 2)?),
        "16UC1" if is_labels => Rows::of(image, 2)?.map(|p| label(u32::from(u16::from_le_bytes([p[0], p[1]])))),
        "32SC1" => Rows::of(image, 4)?.map(|p| label(instance(u32::from_le_bytes([p[0], p[1], p[2], p[3]])))),
        "mono16" | "16UC1" => {
            let number = |p: &[u8]| match u16::from_le_bytes([p[0], p[1]]) {
                0 => f32::NAN,
                value => f32::from(value),
            };
            scaled(&Rows::of(image, 2)?.numbers(number), bright)
        }
        "32FC1" => scaled(&Rows::of(image, 4)?.numbers(number), bright),
        "32FC2" => directions(&Rows::of(image, 8)?),
        "32FC3" => Rows::of(image, 12)?.map(|p| [0, 4, 8].map(|at| unit(number(&p[at..])))),
        other => return Err(format!("images of encoding {other:?} are not shown")),
    };
    RgbImage::from_raw(image.width, image.height, pixels).ok_or_else(|| "the image has too few pixels".to_owned())
}

/// 16-bit grey, scaled so that the brightest pixel is white: the message does not say how many bits the camera uses.
fn brightest_white(rows: &Rows<'_>) -> Vec<u8> {
    let value = |p: &[u8]| u32::from(u16::from_le_bytes([p[0], p[1]]));
    let most = rows.each().map(value).max().unwrap_or(0).max(1);
    rows.map(|p| [(255 * value(p) / most) as u8; 3])
}

/// The pixels of an image, row by row, without the padding at the end of each row.
struct Rows<'a> {
    image: &'a Image,
    pixel_bytes: usize,
}

impl<'a> Rows<'a> {
    /// Refuses an image whose size, row length and data do not agree.
    fn of(image: &'a Image, pixel_bytes: usize) -> Result<Self, String> {
        let (width, height, step) = (image.width, image.height, image.step as usize);
        let is_size = (1..=SIDE_MAX).contains(&width) && (1..=SIDE_MAX).contains(&height);
        let is_whole = step >= width as usize * pixel_bytes && image.data.len() >= step * height as usize;
        if !(is_size && is_whole && image.is_bigendian == 0) {
            let bytes = image.data.len();
            return Err(format!("no image: {width} x {height} px, {step} bytes a row, {bytes} bytes"));
        }
        Ok(Self { image, pixel_bytes })
    }

    fn each(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (pixel_bytes, row_bytes) = (self.pixel_bytes, self.image.width as usize * self.pixel_bytes);
        let rows = self.image.data.chunks_exact(self.image.step as usize).take(self.image.height as usize);
        rows.flat_map(move |row| row[..row_bytes].chunks_exact(pixel_bytes))
    }

    fn map(&self, colour: impl Fn(&[u8]) -> [u8; 3]) -> Vec<u8> {
        self.each().flat_map(colour).collect()
    }

    fn numbers(&self, number: impl Fn(&[u8]) -> f32) -> Vec<f32> {
        self.each().map(number).collect()
    }
}

/// The first f32 of a pixel.
fn number(pixel: &[u8]) -> f32 {
    pixel.first_chunk().map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes))
}

/// Maps −1 to 1 to a byte, 0 to 255.
fn unit(value: f32) -> u8 {
    ((value * 0.5 + 0.5) * 255.0).clamp(0.0, 255.0) as u8
}

fn label(number: u32) -> [u8; 3] {
    LABELS[number as usize % LABELS.len()]
}

/// The index of an instance's colour: 0 for sky and ground; successive numbers differ.
fn instance(number: u32) -> u32 {
    if number == 0 { 0 } else { 1 + number.wrapping_mul(2_654_435_761).rotate_left(8) % (LABELS.len() as u32 - 1) }
}

/// Which end of a scale is bright.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BrightEnd {
    Least,
    Greatest,
}

/// The colours of numbers, from the least to the greatest of them.
fn scaled(numbers: &[f32], bright: BrightEnd) -> Vec<u8> {
    let finite = || numbers.iter().copied().filter(|value| value.is_finite());
    let (least, greatest) = finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let is_log = least > 0.0;
    let scale = |value: f32| if is_log { value.ln() } else { value };
    let span = (scale(greatest) - scale(least)).max(f32::MIN_POSITIVE);
    let colour = |value: &f32| match value.is_finite() {
        true if bright == BrightEnd::Least => ramp((scale(greatest) - scale(*value)) / span),
        true => ramp((scale(*value) - scale(least)) / span),
        false => NONE,
    };
    numbers.iter().flat_map(colour).collect()
}

/// A colour map from dark blue over green to light yellow. Brightness increases throughout, so it reads in grey too.
fn ramp(part: f32) -> [u8; 3] {
    const STOPS: [[f32; 3]; 4] = [[48.0, 18.0, 80.0], [42.0, 92.0, 140.0], [60.0, 180.0, 110.0], [250.0, 232.0, 80.0]];
    let at = part.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let from = (at as usize).min(STOPS.len() - 2);
    let share = at - from as f32;
    std::array::from_fn(|i| (STOPS[from][i] * (1.0 - share) + STOPS[from + 1][i] * share) as u8)
}

/// Optical flow as colours, relative to the greatest component: red grows to the right, green to the left, blue down.
fn directions(rows: &Rows) -> Vec<u8> {
    let finite = |value: f32| if value.is_finite() { value } else { 0.0 };
    let pair = |p: &[u8]| [finite(number(p)), finite(number(&p[4..]))];
    let greatest = rows.each().map(pair).fold(f32::MIN_POSITIVE, |all, [x, y]| all.max(x.abs()).max(y.abs()));
    rows.map(|p| {
        let [x, y] = pair(p).map(|value| value / greatest);
        [unit(x), unit(-x), unit(y)]
    })
}

#[cfg(test)]
mod tests {
    use super::{Compressed, LABELS, NONE, PictureSize, jpeg, shown};
    use crate::feed::Newest;
    use selene_ros::encode;
    use selene_ros::sensor_msgs::Image;

    fn image(encoding: &str, size: [u32; 2], pixel_bytes: u32, data: Vec<u8>) -> Image {
        let [width, height] = size;
        Image { width, height, encoding: encoding.to_owned(), step: width * pixel_bytes, data, ..Image::default() }
    }

    #[test]
    fn colours_are_those_of_the_encoding() {
        let colours = |topic: &str, image: Image| shown(topic, &image).expect("an image").into_raw();
        assert_eq!(colours("/a", image("rgb8", [1, 1], 3, vec![1, 2, 3])), [1, 2, 3]);
        assert_eq!(colours("/a", image("bgr8", [1, 1], 3, vec![1, 2, 3])), [3, 2, 1]);
        assert_eq!(colours("/a", image("mono8", [2, 1], 1, vec![7, 9])), [7, 7, 7, 9, 9, 9]);
        let mosaic = image("bayer_rggb16", [2, 1], 2, vec![0xFF, 0x07, 0xFF, 0x0F]);
        assert_eq!(colours("/a", mosaic), [127, 127, 127, 255, 255, 255]);
        let class = colours("/cam/segmentation/image", image("16UC1", [1, 1], 2, vec![2, 0]));
        assert_eq!(class, LABELS[2]);
        let distances = [1.0_f32, 100.0, f32::INFINITY].iter().flat_map(|m| m.to_le_bytes()).collect();
        let depth = colours("/cam/depth/image_rect_raw", image("32FC1", [3, 1], 4, distances));
        assert_eq!((&depth[3..6], &depth[6..]), (&[48, 18, 80][..], &NONE[..]));
        assert!(depth[0] > 240, "the nearest is brightest: {depth:?}");
    }

    #[test]
    fn what_a_row_has_beyond_its_pixels_is_left_out() {
        let mut padded = image("mono8", [1, 2], 1, vec![5, 99, 6, 99]);
        padded.step = 2;
        assert_eq!(shown("/a", &padded).expect("an image").into_raw(), [5, 5, 5, 6, 6, 6]);
    }

    #[test]
    fn images_that_are_none_are_refused() {
        for broken in [
            image("mono8", [4, 4], 1, vec![0; 15]),
            image("mono8", [0, 4], 1, vec![]),
            image("rgb8", [2, 1], 1, vec![0; 6]),
            image("32FC1", [u32::MAX, u32::MAX], 4, vec![0; 16]),
            image("yuv422", [1, 1], 2, vec![0; 2]),
        ] {
            assert!(shown("/a", &broken).is_err(), "{} {}x{}", broken.encoding, broken.width, broken.height);
        }
    }

    #[test]
    fn a_picture_is_as_wide_as_was_requested() {
        let wide = shown("/a", &image("mono8", [1280, 720], 1, vec![128; 1280 * 720])).expect("an image");
        for (look, size) in
            [(PictureSize::Small, (320, 180)), (PictureSize::Medium, (640, 360)), (PictureSize::Full, (1280, 720))]
        {
            let bytes = jpeg(&wide, look).expect("a picture");
            let back = image::load_from_memory(&bytes).expect("a JPEG");
            assert_eq!((back.width(), back.height()), size);
        }
    }

    #[test]
    fn a_picture_is_compressed_once_for_all_requests() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let compressed = Compressed::default();
            let message = encode(&image("mono8", [64, 64], 1, vec![9; 64 * 64])).unwrap();
            let newest = |number| Newest { number, message: message.clone() };
            let first = compressed.picture("/a", newest(1), PictureSize::Medium).await.unwrap();
            let again = compressed.picture("/a", newest(1), PictureSize::Medium).await.unwrap();
            assert_eq!(first.as_ptr(), again.as_ptr());
            let later = compressed.picture("/a", newest(2), PictureSize::Medium).await.unwrap();
            assert_ne!(first.as_ptr(), later.as_ptr());
        });
    }
}
