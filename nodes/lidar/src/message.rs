//! A scan as PointCloud2 in the Velodyne driver's layout: x y z intensity (f32),
//! ring (u16), time (f32, seconds after the header's stamp); 22 bytes a point, packed.

use selene_base::SimTime;
use selene_ros::sensor_msgs::{PointCloud2, PointField};
use selene_ros::std_msgs::Header;
use selene_sensors::LidarPoint;

/// Name, offset and datatype of each field.
const FIELDS: [(&str, u32, u8); 6] = [
    ("x", 0, PointField::FLOAT32),
    ("y", 4, PointField::FLOAT32),
    ("z", 8, PointField::FLOAT32),
    ("intensity", 12, PointField::FLOAT32),
    ("ring", 16, PointField::UINT16),
    ("time", 18, PointField::FLOAT32),
];
/// Bytes of a point.
const POINT_BYTES: usize = 22;

pub(crate) fn cloud(frame: &str, points: &[LidarPoint], stamp: SimTime) -> PointCloud2 {
    let field =
        |&(name, offset, datatype): &(&str, u32, u8)| PointField { name: name.to_owned(), offset, datatype, count: 1 };
    PointCloud2 {
        header: Header::new(stamp, frame),
        height: 1,
        width: points.len() as u32,
        fields: FIELDS.iter().map(field).collect(),
        is_bigendian: false,
        point_step: POINT_BYTES as u32,
        row_step: (points.len() * POINT_BYTES) as u32,
        data: points.iter().flat_map(bytes).collect(),
        is_dense: true,
    }
}

fn bytes(point: &LidarPoint) -> [u8; POINT_BYTES] {
    let mut bytes = [0; POINT_BYTES];
    for (place, value) in bytes.chunks_exact_mut(4).zip([point.x, point.y, point.z, point.intensity]) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    bytes[16..18].copy_from_slice(&point.ring.to_le_bytes());
    bytes[18..].copy_from_slice(&point.time.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::{POINT_BYTES, cloud};
    use selene_base::SimTime;
    use selene_sensors::LidarPoint;

    #[test]
    fn every_field_lies_where_the_message_says() {
        let point = LidarPoint { x: 1.5, y: -2.0, z: 0.25, intensity: 7.0, ring: 513, time: 0.0625 };
        let cloud = cloud("lidar", &[point, point], SimTime::ZERO);
        assert_eq!(cloud.data.len(), 2 * POINT_BYTES);
        let second = &cloud.data[POINT_BYTES..];
        let float = |field: usize| {
            let at = cloud.fields[field].offset as usize;
            f32::from_le_bytes(second[at..at + 4].try_into().expect("four bytes"))
        };
        assert_eq!([float(0), float(1), float(2), float(3), float(5)], [1.5, -2.0, 0.25, 7.0, 0.0625]);
        assert_eq!(u16::from_le_bytes([second[16], second[17]]), 513);
    }
}
