//! Checks of images and their calibration: encodings of `sensor_msgs/image_encodings.hpp`, sizes, depth by REP-118,
//! intrinsics as `image_geometry` and `image_proc` read them; and that each image has a calibration with its stamp and
//! frame.

use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
use selene_ros::std_msgs::Header;

use crate::finding::Finding;
use crate::kind::Kind;
use crate::sample::{Sample, frame_fault, those};
use crate::stream::Stream;

/// Distortion models named by ROS, with their number of coefficients.
const MODELS: [(&str, usize); 3] = [("plumb_bob", 5), ("rational_polynomial", 8), ("equidistant", 4)];
const JPEG: &[u8] = &[0xFF, 0xD8, 0xFF];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// One in this many images may lack its calibration, which may be lost in transport.
const LOSS: usize = 5;

impl Sample for Image {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, kind: Kind) -> Vec<String> {
        let Some(pixel) = bytes_per_pixel(&self.encoding) else {
            return vec![format!("encoding {:?} is not one of ROS", self.encoding)];
        };
        let Self { width, height, step, encoding, data, .. } = self;
        let row = u64::from(*width) * pixel as u64;
        let whole = u64::from(*step) * u64::from(*height);
        let is_depth = kind == Kind::Depth;
        let is_other = kind == Kind::LidarImage && encoding != "32FC1";
        let mut faults = those([
            frame_fault(&self.header),
            (*width == 0 || *height == 0, format!("{width} x {height} pixels")),
            (u64::from(*step) < row, format!("step {step}, a row takes {row}")),
            (data.len() as u64 != whole, format!("{} bytes, step x height is {whole}", data.len())),
            (is_depth && !["32FC1", "16UC1"].contains(&encoding.as_str()), format!("depth as {encoding}")),
            (is_other, format!("a lidar's image as {encoding}")),
        ]);
        if is_depth && encoding == "32FC1" {
            let wrong = depths_m(self).filter(|depth_m| depth_m.is_finite() && *depth_m <= 0.0).count();
            faults.extend(those([(wrong > 0, format!("{wrong} depths of 0 m or less"))]));
        }
        faults
    }

    fn size_px(&self) -> Option<[u32; 2]> {
        Some([self.width, self.height])
    }
}

fn depths_m(image: &Image) -> impl Iterator<Item = f32> {
    let of = move |bytes: &[u8; 4]| {
        if image.is_bigendian == 0 { f32::from_le_bytes(*bytes) } else { f32::from_be_bytes(*bytes) }
    };
    image.data.chunks_exact(4).filter_map(<[u8]>::first_chunk::<4>).map(of)
}

/// Bytes per pixel; `None` for encodings that ROS does not name.
fn bytes_per_pixel(encoding: &str) -> Option<usize> {
    match encoding {
        "mono8" => return Some(1),
        "mono16" | "yuv422" | "yuv422_yuy2" => return Some(2),
        "rgb8" | "bgr8" => return Some(3),
        "rgba8" | "bgra8" => return Some(4),
        "rgb16" | "bgr16" => return Some(6),
        "rgba16" | "bgra16" => return Some(8),
        _ => {}
    }
    if let Some(bayer) = encoding.strip_prefix("bayer_") {
        let pattern = bayer.trim_end_matches(|c: char| c.is_ascii_digit());
        let bits = &bayer[pattern.len()..];
        let is_pattern = ["rggb", "bggr", "gbrg", "grbg"].contains(&pattern);
        return [("8", 1), ("16", 2)].into_iter().find(|(name, _)| is_pattern && *name == bits).map(|(_, bytes)| bytes);
    }
    let (depth, channels) = encoding.split_once('C')?;
    let bytes = match depth {
        "8U" | "8S" => 1,
        "16U" | "16S" => 2,
        "32S" | "32F" => 4,
        "64F" => 8,
        _ => return None,
    };
    let channels: usize = channels.parse().ok()?;
    (1..=4).contains(&channels).then_some(bytes * channels)
}

impl Sample for CameraInfo {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { k, r, p, d, distortion_model, width, height, .. } = self;
        let expected = MODELS.iter().find(|(model, _)| model == distortion_model).map(|(_, count)| *count);
        let numbers = k.iter().chain(r).chain(p).chain(d);
        // The meaning of K for other models is their own.
        let is_known = expected.is_some();
        let outside = |c: f64, size: u32| !(0.0..=f64::from(size)).contains(&c);
        those([
            frame_fault(&self.header),
            (!numbers.copied().all(f64::is_finite), "numbers that are not finite".to_owned()),
            (*width == 0 || *height == 0, format!("{width} x {height} pixels")),
            (distortion_model.is_empty(), "no distortion model".to_owned()),
            (
                expected.is_some_and(|count| count != d.len()),
                format!("{distortion_model} with {} coefficients", d.len()),
            ),
            (is_known && (k[0] <= 0.0 || k[4] <= 0.0), format!("K: fx {}, fy {}", k[0], k[4])),
            (is_known && (outside(k[2], *width) || outside(k[5], *height)), format!("K: centre {}, {}", k[2], k[5])),
            (is_known && k[6..] != [0.0, 0.0, 1.0], format!("K: last row {:?}", &k[6..])),
            (is_known && (p[0] <= 0.0 || p[5] <= 0.0), format!("P: fx' {}, fy' {}", p[0], p[5])),
            (is_known && p[8..] != [0.0, 0.0, 1.0, 0.0], format!("P: last row {:?}", &p[8..])),
            (!is_rotation(r), format!("R {r:?} is no rotation")),
        ])
    }

    /// Size of the images: the region of interest after binning.
    fn size_px(&self) -> Option<[u32; 2]> {
        let of = |region: u32, full: u32, binning: u32| (if region == 0 { full } else { region }) / binning.max(1);
        let Self { roi, width, height, binning_x, binning_y, .. } = self;
        Some([of(roi.width, *width, *binning_x), of(roi.height, *height, *binning_y)])
    }
}

/// Whether the rows have length 1 and are perpendicular.
fn is_rotation(r: &[f64; 9]) -> bool {
    let dot = |i: usize, j: usize| (0..3).map(|axis| r[3 * i + axis] * r[3 * j + axis]).sum::<f64>();
    (0..3).all(|i| (0..3).all(|j| (dot(i, j) - f64::from(u8::from(i == j))).abs() < 1e-6))
}

impl Sample for CompressedImage {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let format = self.format.to_lowercase();
        let begins = if format.contains("png") { PNG } else { JPEG };
        those([
            frame_fault(&self.header),
            (!["png", "jpeg", "jpg"].iter().any(|known| format.contains(known)), format!("format {:?}", self.format)),
            (!self.data.starts_with(begins), format!("data do not begin as {:?} does", self.format)),
        ])
    }
}

/// The topic of an image's calibration, in the same namespace.
pub(crate) fn info_topic(image_topic: &str) -> String {
    let folder = image_topic.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/camera_info")
}

/// Checks that each image has a calibration with its stamp, frame and size.
pub(crate) fn check_calibrated(topic: &str, image: &Stream, info: &Stream) -> Finding {
    let (what, expected) =
        (format!("{topic} with camera_info"), "one of the same stamp, frame and size for each image");
    let (Some((first, _)), Some((last, _))) = (info.shapes.first_key_value(), info.shapes.last_key_value()) else {
        return Finding::new(what, false, format!("nothing on {}", info_topic(topic)), expected);
    };
    // Images at both ends are left out if their calibration may have been sent before the subscription.
    let images: Vec<_> = image.shapes.range(*first..=*last).collect();
    let without = images.iter().filter(|(stamp, _)| !info.shapes.contains_key(*stamp)).count();
    let differ =
        images.iter().filter(|(stamp, shape)| info.shapes.get(*stamp).is_some_and(|own| own != *shape)).count();
    let measured = format!("{} images: {without} without one, {differ} with another frame or size", images.len());
    if images.is_empty() && !image.shapes.is_empty() {
        return Finding::new(what, false, "no stamps in common", expected);
    }
    Finding::new(what, differ == 0 && without * LOSS <= images.len(), measured, expected)
}

#[cfg(test)]
mod tests {
    use super::{bytes_per_pixel, check_calibrated, info_topic};
    use crate::kind::Kind;
    use crate::sample::Sample;
    use crate::stream::Stream;
    use selene_base::SimTime;
    use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
    use selene_ros::std_msgs::Header;

    fn header(ms: i64) -> Header {
        Header::new(SimTime::from_nanos(ms * 1_000_000), "camera_optical")
    }

    fn image(ms: i64) -> Image {
        let data = [1.0_f32, f32::NAN, f32::INFINITY, 2.5].iter().flat_map(|depth| depth.to_le_bytes()).collect();
        Image { header: header(ms), width: 2, height: 2, encoding: "32FC1".to_owned(), step: 8, data, is_bigendian: 0 }
    }

    fn info(ms: i64) -> CameraInfo {
        CameraInfo {
            header: header(ms),
            width: 2,
            height: 2,
            distortion_model: "plumb_bob".to_owned(),
            d: vec![0.0; 5],
            k: [2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0],
            r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p: [2.0, 0.0, 1.0, -0.8, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            ..CameraInfo::default()
        }
    }

    fn stream<M: Sample>(messages: impl IntoIterator<Item = M>) -> Stream {
        let mut stream = Stream::default();
        messages.into_iter().for_each(|message| stream.take(0.0, &message, Vec::new()));
        stream
    }

    #[test]
    fn encodings_of_ros_are_known_and_others_are_not() {
        for (encoding, bytes) in
            [("mono16", 2), ("rgb8", 3), ("bayer_rggb8", 1), ("bayer_gbrg16", 2), ("32SC1", 4), ("32FC3", 12)]
        {
            assert_eq!(bytes_per_pixel(encoding), Some(bytes), "{encoding}");
        }
        for unknown in ["", "mono12", "bayer_rgb8", "bayer_rggb", "32FC", "32FC5", "C1", "grey"] {
            assert_eq!(bytes_per_pixel(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_good_image_has_no_fault() {
        assert_eq!(image(0).faults(Kind::Depth), Vec::<String>::new());
        assert_eq!(info(0).faults(Kind::CameraInfo), Vec::<String>::new());
    }

    #[test]
    fn images_whose_size_or_depth_is_wrong_are_reported() {
        let none = Vec::new();
        let zero = [0.0_f32; 4].iter().flat_map(|depth| depth.to_le_bytes()).collect();
        for (bad, word) in [
            (Image { encoding: "grey".to_owned(), ..image(0) }, "grey"),
            (Image { step: 7, ..image(0) }, "step 7"),
            (Image { data: none, ..image(0) }, "0 bytes"),
            (Image { header: Header::default(), ..image(0) }, "frame_id"),
            (Image { data: zero, ..image(0) }, "4 depths"),
            (Image { encoding: "mono8".to_owned(), step: 8, ..image(0) }, "depth as mono8"),
        ] {
            let faults = bad.faults(Kind::Depth).join("; ");
            assert!(faults.contains(word), "{faults:?} has no {word}");
        }
    }

    #[test]
    fn calibrations_that_no_camera_has_are_reported() {
        let good = info(0);
        for (bad, word) in [
            (CameraInfo { d: vec![0.0; 4], ..good.clone() }, "4 coefficients"),
            (CameraInfo { k: [0.0; 9], ..good.clone() }, "K: fx 0"),
            (CameraInfo { width: 0, ..good.clone() }, "0 x 2"),
            (CameraInfo { p: [f64::NAN; 12], ..good.clone() }, "finite"),
            (CameraInfo { r: [0.0; 9], ..good.clone() }, "no rotation"),
            (CameraInfo { distortion_model: String::new(), ..good.clone() }, "no distortion"),
        ] {
            let faults = bad.faults(Kind::CameraInfo).join("; ");
            assert!(faults.contains(word), "{faults:?} has no {word}");
        }
    }

    #[test]
    fn a_compressed_image_begins_as_its_format_does() {
        let jpeg = CompressedImage { header: header(0), format: "jpeg".to_owned(), data: vec![0xFF, 0xD8, 0xFF, 0xE0] };
        assert!(jpeg.faults(Kind::Compressed).is_empty());
        let claimed = CompressedImage { format: "png".to_owned(), ..jpeg.clone() };
        assert_eq!(claimed.faults(Kind::Compressed).len(), 1);
        let unknown = CompressedImage { format: "tga".to_owned(), ..jpeg };
        assert_eq!(unknown.faults(Kind::Compressed).len(), 1);
    }

    #[test]
    fn images_find_their_calibration_by_stamp() {
        assert_eq!(info_topic("/navcam_left/depth/image_rect_raw"), "/navcam_left/depth/camera_info");
        let images = || stream((0..10).map(|i| image(500 * i)));
        let good = stream((1..9).map(|i| info(500 * i)));
        assert!(!check_calibrated("/a/image_raw", &images(), &good).is_failure());
        for bad in [
            stream(Vec::<CameraInfo>::new()),
            stream((1..9).map(|i| info(500 * i + 20))),
            stream((1..9).map(|i| CameraInfo { width: 4, ..info(500 * i) })),
            stream(
                (1..9).map(|i| CameraInfo { header: Header::new(info(500 * i).header.stamp.into(), "b"), ..info(0) }),
            ),
            stream([info(0), info(4500)]),
        ] {
            assert!(check_calibrated("/a/image_raw", &images(), &bad).is_failure());
        }
    }

    #[test]
    fn binning_and_a_region_of_interest_make_the_image_smaller() {
        let mut binned = CameraInfo { width: 640, height: 360, binning_x: 2, binning_y: 2, ..info(0) };
        assert_eq!(binned.size_px(), Some([320, 180]));
        binned.roi.width = 100;
        assert_eq!(binned.size_px(), Some([50, 180]));
    }
}
