//! Images and point clouds read back from their ROS messages, for pictures. What
//! is not of a known encoding is passed over.

use selene_ros::sensor_msgs::{Image, PointCloud2};

use crate::pictures::tile::{Pixels, Still, Sweep};

/// The image; none when its encoding is unknown or its data do not fill it.
pub(crate) fn still(image: &Image) -> Option<Still> {
    let pixels = match image.encoding.as_str() {
        "mono8" => Pixels::Mono(image.data.clone()),
        "rgb8" => Pixels::Colour(image.data.clone()),
        // The upper byte of each little-endian pair.
        "mono16" => Pixels::Mono(upper_bytes(&image.data)),
        "rgb16" => Pixels::Colour(upper_bytes(&image.data)),
        // A mosaic is shown as it is.
        mosaic if mosaic.starts_with("bayer_") && mosaic.ends_with("16") => Pixels::Mono(upper_bytes(&image.data)),
        mosaic if mosaic.starts_with("bayer_") => Pixels::Mono(image.data.clone()),
        "32FC1" => Pixels::Depth(numbers(&image.data, f32::from_le_bytes)),
        "16UC1" => Pixels::Classes(numbers(&image.data, u16::from_le_bytes)),
        _ => return None,
    };
    let length = match &pixels {
        Pixels::Mono(all) => all.len(),
        Pixels::Colour(all) => all.len() / 3,
        Pixels::Depth(all) => all.len(),
        Pixels::Classes(all) => all.len(),
    };
    let fills = length == image.width as usize * image.height as usize && length > 0;
    fills.then(|| Still { stamp: image.header.stamp.into(), width: image.width, height: image.height, pixels })
}

/// The cloud's points; none when it has no x, y, z as 32-bit floats.
pub(crate) fn sweep(cloud: &PointCloud2) -> Option<Sweep> {
    let offset = |name: &str| {
        let field = cloud.fields.iter().find(|field| field.name == name && field.datatype == FLOAT32)?;
        Some(field.offset as usize)
    };
    let offsets = [offset("x")?, offset("y")?, offset("z")?];
    let step = cloud.point_step as usize;
    if step < 12 {
        return None;
    }
    let point = |bytes: &[u8]| {
        let [x, y, z] = offsets.map(|at| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()));
        Some([x?, y?, z?].map(f32::from_le_bytes))
    };
    let points_m = cloud.data.chunks_exact(step).filter_map(point).collect();
    Some(Sweep { stamp: cloud.header.stamp.into(), points_m })
}

/// `sensor_msgs/PointField` FLOAT32.
const FLOAT32: u8 = 7;

fn upper_bytes(words: &[u8]) -> Vec<u8> {
    words.as_chunks().0.iter().map(|[_, upper]| *upper).collect()
}

fn numbers<T, const N: usize>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().copied().map(from).collect()
}

#[cfg(test)]
mod tests {
    use super::{still, sweep};
    use crate::pictures::tile::Pixels;
    use selene_ros::sensor_msgs::{Image, PointCloud2, PointField};

    fn image(encoding: &str, data: Vec<u8>) -> Image {
        Image { width: 2, height: 1, encoding: encoding.to_owned(), data, ..Image::default() }
    }

    #[test]
    fn each_encoding_is_read_and_others_are_passed_over() {
        let read = |encoding, data| still(&image(encoding, data)).map(|still| still.pixels);
        assert!(matches!(read("mono8", vec![1, 2]), Some(Pixels::Mono(p)) if p == [1, 2]));
        assert!(matches!(read("mono16", vec![0, 1, 0, 2]), Some(Pixels::Mono(p)) if p == [1, 2]));
        assert!(matches!(read("16UC1", vec![3, 0, 0, 1]), Some(Pixels::Classes(p)) if p == [3, 256]));
        let depth = [1.5_f32, f32::INFINITY].iter().flat_map(|d| d.to_le_bytes()).collect();
        assert!(matches!(read("32FC1", depth), Some(Pixels::Depth(p)) if p == [1.5, f32::INFINITY]));
        assert!(matches!(read("rgb8", vec![1, 2, 3, 4, 5, 6]), Some(Pixels::Colour(p)) if p == [1, 2, 3, 4, 5, 6]));
        assert!(matches!(read("bayer_rggb16", vec![0, 1, 0, 2]), Some(Pixels::Mono(p)) if p == [1, 2]));
        assert!(read("yuv422", vec![0; 4]).is_none());
        assert!(read("mono8", vec![0; 3]).is_none());
    }

    #[test]
    fn points_are_found_by_the_names_of_their_fields() {
        let field = |name: &str, offset| PointField { name: name.to_owned(), offset, datatype: 7, count: 1 };
        let data = [9.0_f32, 1.0, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut cloud = PointCloud2 {
            fields: vec![field("intensity", 0), field("x", 4), field("y", 8), field("z", 12)],
            point_step: 16,
            data,
            ..PointCloud2::default()
        };
        assert_eq!(sweep(&cloud).map(|sweep| sweep.points_m), Some(vec![[1.0, 2.0, 3.0]]));
        cloud.fields.truncate(3);
        assert!(sweep(&cloud).is_none());
    }
}
