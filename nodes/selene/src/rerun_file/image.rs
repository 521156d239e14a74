//! Logs images to Rerun by their encoding: colours and grey values unchanged, Bayer mosaics as grey values, depth with
//! its unit, classes by number.

use rerun::components::ImageFormat;
use rerun::{ChannelDatatype, ColorModel, DepthImage, RecordingStream, SegmentationImage};
use selene_ros::sensor_msgs;

use super::show::reported;

/// The kind of pixels of an encoding.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pixels {
    Colour(ColorModel, ChannelDatatype),
    /// Distances, and their number of units per metre.
    Depth(ChannelDatatype, f32),
    Classes(ChannelDatatype),
}

impl Pixels {
    /// The pixels of `encoding` on topic `path`; `None` if Rerun has no such image.
    fn of(path: &str, encoding: &str) -> Option<Self> {
        use ChannelDatatype::{F32, I32, U8, U16};
        let is_depth = path.contains("depth");
        Some(match encoding {
            "mono8" => Self::Colour(ColorModel::L, U8),
            "mono16" => Self::Colour(ColorModel::L, U16),
            "rgb8" => Self::Colour(ColorModel::RGB, U8),
            "rgb16" => Self::Colour(ColorModel::RGB, U16),
            "bgr8" => Self::Colour(ColorModel::BGR, U8),
            "16UC1" if is_depth => Self::Depth(U16, 1000.0),
            "32FC1" if is_depth => Self::Depth(F32, 1.0),
            "16UC1" => Self::Classes(U16),
            "32FC1" => Self::Colour(ColorModel::L, F32),
            "32SC1" => Self::Colour(ColorModel::L, I32),
            "32FC3" => Self::Colour(ColorModel::RGB, F32),
            mosaic if mosaic.starts_with("bayer_") && mosaic.ends_with("16") => Self::Colour(ColorModel::L, U16),
            mosaic if mosaic.starts_with("bayer_") && mosaic.ends_with('8') => Self::Colour(ColorModel::L, U8),
            _ => return None,
        })
    }

    fn format(self, size_px: [u32; 2]) -> ImageFormat {
        match self {
            Self::Colour(model, datatype) => ImageFormat::from_color_model(size_px, model, datatype),
            Self::Depth(datatype, _) => ImageFormat::depth(size_px, datatype),
            Self::Classes(datatype) => ImageFormat::segmentation(size_px, datatype),
        }
    }
}

/// Logs an image, or returns why it cannot be shown.
pub(super) fn show(stream: &RecordingStream, path: &str, image: &sensor_msgs::Image) -> Result<(), String> {
    let encoding = image.encoding.as_str();
    let pixels = Pixels::of(path, encoding).ok_or_else(|| format!("images of encoding {encoding:?} are not shown"))?;
    let format = pixels.format([image.width, image.height]);
    if format.num_bytes() != image.data.len() || image.is_bigendian != 0 {
        return Err(format!("{} bytes are no {} × {} {encoding}", image.data.len(), image.width, image.height));
    }
    let bytes = image.data.clone();
    match pixels {
        Pixels::Colour(..) => stream.log(path, &rerun::Image::new(bytes, format)),
        Pixels::Depth(_, per_metre) => stream.log(path, &DepthImage::new(bytes, format).with_meter(per_metre)),
        Pixels::Classes(_) => stream.log(path, &SegmentationImage::new(bytes, format)),
    }
    .map_err(reported)
}

#[cfg(test)]
mod tests {
    use super::Pixels;
    use rerun::{ChannelDatatype, ColorModel};

    #[test]
    fn an_image_is_what_its_encoding_and_topic_say() {
        for (path, encoding, expected, bytes) in [
            ("/navcam/image_raw", "mono8", Some(Pixels::Colour(ColorModel::L, ChannelDatatype::U8)), 6),
            ("/navcam/image_raw", "bayer_rggb16", Some(Pixels::Colour(ColorModel::L, ChannelDatatype::U16)), 12),
            ("/navcam/depth/image_rect_raw", "32FC1", Some(Pixels::Depth(ChannelDatatype::F32, 1.0)), 24),
            ("/navcam/depth/image_rect_raw", "16UC1", Some(Pixels::Depth(ChannelDatatype::U16, 1000.0)), 12),
            ("/navcam/segmentation", "16UC1", Some(Pixels::Classes(ChannelDatatype::U16)), 12),
            ("/navcam/flow", "32FC2", None, 0),
        ] {
            let pixels = Pixels::of(path, encoding);
            assert_eq!(pixels, expected, "{path} {encoding}");
            assert_eq!(pixels.map_or(0, |pixels| pixels.format([3, 2]).num_bytes()), bytes, "{path} {encoding}");
        }
    }
}
