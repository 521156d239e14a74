//! Layouts of published point clouds, byte for byte as those of the devices' drivers, little-endian:
//!
//! - `velodyne`: velodyne_pointcloud's, packed in 22 bytes; `time` is s from the stamp.
//! - `ouster`: ouster_ros's `Point`, 48 bytes with the padding of PCL; `t` is ns from the stamp, `intensity` the raw or
//!   calibrated intensity, `range` mm, `ambient` 0: no light but the beam's own is modelled.
//! - `autoware`: `PointXYZIRCAEDT`, 32 bytes; `time_stamp` is ns from the stamp, angles are those of the point.
//!
//! With truth, `instance` (u32), `true_range` (f32, m) and `class` (u16) follow a point's last byte.

use selene_sensors::LidarPoint;
use selene_sensors::ReturnKind;
use selene_sensors::lidar::CloudLayout;

use crate::values::{FieldType, PointCloud, PointField};
use FieldType::{F32, U8, U16, U32};

const VELODYNE: [(&str, usize, FieldType); 6] =
    [("x", 0, F32), ("y", 4, F32), ("z", 8, F32), ("intensity", 12, F32), ("ring", 16, U16), ("time", 18, F32)];
const OUSTER: [(&str, usize, FieldType); 9] = [
    ("x", 0, F32),
    ("y", 4, F32),
    ("z", 8, F32),
    ("intensity", 16, F32),
    ("t", 20, U32),
    ("reflectivity", 24, U16),
    ("ring", 26, U16),
    ("ambient", 28, U16),
    ("range", 32, U32),
];
const AUTOWARE: [(&str, usize, FieldType); 10] = [
    ("x", 0, F32),
    ("y", 4, F32),
    ("z", 8, F32),
    ("intensity", 12, U8),
    ("return_type", 13, U8),
    ("channel", 14, U16),
    ("azimuth", 16, F32),
    ("elevation", 20, F32),
    ("distance", 24, F32),
    ("time_stamp", 28, U32),
];
const TRUTH: [(&str, usize, FieldType); 3] = [("instance", 0, U32), ("true_range", 4, F32), ("class", 8, U16)];
const TRUTH_BYTES: usize = 10;

/// The fields of a layout and the number of bytes of a point.
fn fields_of(layout: CloudLayout) -> (&'static [(&'static str, usize, FieldType)], usize) {
    match layout {
        CloudLayout::Velodyne => (&VELODYNE, 22),
        CloudLayout::Ouster => (&OUSTER, 48),
        CloudLayout::Autoware => (&AUTOWARE, 32),
    }
}

/// The cloud of points in a layout, with or without their truth.
pub(super) fn cloud(layout: CloudLayout, truth: bool, points: &[LidarPoint]) -> PointCloud {
    let (own, own_bytes) = fields_of(layout);
    let point_bytes = own_bytes + if truth { TRUTH_BYTES } else { 0 };
    let field = |(name, offset, kind): (&'static str, usize, FieldType)| PointField { name, offset, kind };
    let mut fields: Vec<PointField> = own.iter().copied().map(field).collect();
    if truth {
        fields.extend(TRUTH.map(|(name, offset, kind)| field((name, own_bytes + offset, kind))));
    }
    let mut data = vec![0; points.len() * point_bytes];
    for (bytes, point) in data.chunks_exact_mut(point_bytes).zip(points) {
        let (layout_bytes, truth_bytes) = bytes.split_at_mut(own_bytes);
        match layout {
            CloudLayout::Velodyne => velodyne(layout_bytes, point),
            CloudLayout::Ouster => ouster(layout_bytes, point),
            CloudLayout::Autoware => autoware(layout_bytes, point),
        }
        if truth {
            put(truth_bytes, 0, point.truth.instance.to_le_bytes());
            put(truth_bytes, 4, point.truth.range_m.to_le_bytes());
            put(truth_bytes, 8, point.truth.class.to_le_bytes());
        }
    }
    PointCloud { points: points.len(), fields, point_bytes, data }
}

fn velodyne(bytes: &mut [u8], point: &LidarPoint) {
    put_position(bytes, point);
    put(bytes, 12, point.intensity.to_le_bytes());
    put(bytes, 16, point.ring.to_le_bytes());
    put(bytes, 18, (point.after_start.secs_f64() as f32).to_le_bytes());
}

fn ouster(bytes: &mut [u8], point: &LidarPoint) {
    put_position(bytes, point);
    put(bytes, 16, point.intensity.to_le_bytes());
    put(bytes, 20, after_ns(point).to_le_bytes());
    put(bytes, 24, (point.reflectivity as u16).to_le_bytes());
    put(bytes, 26, point.ring.to_le_bytes());
    put(bytes, 32, ((f64::from(point.range_m) * 1e3).round() as u32).to_le_bytes());
}

fn autoware(bytes: &mut [u8], point: &LidarPoint) {
    put_position(bytes, point);
    let [x, y, z] = point.position_m.map(f64::from);
    put(bytes, 12, [point.intensity.round() as u8, return_type(point.kind)]);
    put(bytes, 14, point.ring.to_le_bytes());
    put(bytes, 16, (y.atan2(x) as f32).to_le_bytes());
    put(bytes, 20, (z.atan2(x.hypot(y)) as f32).to_le_bytes());
    put(bytes, 24, point.range_m.to_le_bytes());
    put(bytes, 28, after_ns(point).to_le_bytes());
}

/// Number of a return type in Nebula, Autoware's lidar driver.
fn return_type(kind: ReturnKind) -> u8 {
    match kind {
        ReturnKind::Mean => 0,
        ReturnKind::Last => 1,
        ReturnKind::First => 2,
        ReturnKind::Strongest => 3,
        ReturnKind::StrongestAndLast => 6,
        ReturnKind::SecondStrongest => 8,
    }
}

fn put_position(bytes: &mut [u8], point: &LidarPoint) {
    for (axis, value) in point.position_m.iter().enumerate() {
        put(bytes, 4 * axis, value.to_le_bytes());
    }
}

/// Time from the stamp to the firing, ns; clipped to the 4.29 s that 32 bits hold, which a scan normally does not
/// exceed.
fn after_ns(point: &LidarPoint) -> u32 {
    u32::try_from(point.after_start.nanos()).unwrap_or(u32::MAX)
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

#[cfg(test)]
mod tests {
    use super::cloud;
    use crate::values::{FieldType, PointCloud};
    use selene_base::SimTime;
    use selene_sensors::lidar::{CloudLayout, PointTruth};
    use selene_sensors::{LidarPoint, ReturnKind};

    fn point() -> LidarPoint {
        LidarPoint {
            position_m: [1.5, -2.0, 0.25],
            range_m: 2.5125,
            intensity: 7.0,
            reflectivity: 9.0,
            ring: 513,
            column: 3,
            kind: ReturnKind::Strongest,
            after_start: SimTime::from_nanos(62_500_000),
            truth: PointTruth { range_m: 2.5, class: 2, instance: 0xF000_1002 },
        }
    }

    /// The fields of the second of two points, as numbers.
    fn values(cloud: &PointCloud) -> Vec<(&'static str, f64)> {
        let second = &cloud.data[cloud.point_bytes..];
        let value = |at: usize, kind| match kind {
            FieldType::U8 => f64::from(second[at]),
            FieldType::U16 => f64::from(u16::from_le_bytes([second[at], second[at + 1]])),
            FieldType::U32 => f64::from(u32::from_le_bytes(second[at..at + 4].try_into().expect("four"))),
            FieldType::F32 => f64::from(f32::from_le_bytes(second[at..at + 4].try_into().expect("four"))),
        };
        cloud.fields.iter().map(|field| (field.name, value(field.offset, field.kind))).collect()
    }

    fn assert_values(layout: CloudLayout, truth: bool, bytes: usize, expected: &[(&str, f64)]) {
        let cloud = cloud(layout, truth, &[point(); 2]);
        assert_eq!((cloud.points, cloud.point_bytes, cloud.data.len()), (2, bytes, 2 * bytes));
        let got = values(&cloud);
        assert_eq!(got.len(), expected.len());
        for ((name, value), (wanted, number)) in got.iter().zip(expected) {
            assert!(name == wanted && (value - number).abs() < 1e-6 * number.abs().max(1.0), "{name} {value} {number}");
        }
    }

    #[test]
    fn every_field_lies_where_the_layout_says() {
        let place = [("x", 1.5), ("y", -2.0), ("z", 0.25)];
        let with = |more: &[(&'static str, f64)]| [&place[..], more].concat();
        let velodyne = with(&[("intensity", 7.0), ("ring", 513.0), ("time", 0.0625)]);
        assert_values(CloudLayout::Velodyne, false, 22, &velodyne);
        let ouster = with(&[
            ("intensity", 7.0),
            ("t", 62.5e6),
            ("reflectivity", 9.0),
            ("ring", 513.0),
            ("ambient", 0.0),
            ("range", 2513.0),
        ]);
        assert_values(CloudLayout::Ouster, false, 48, &ouster);
        let autoware = with(&[
            ("intensity", 7.0),
            ("return_type", 3.0),
            ("channel", 513.0),
            ("azimuth", (-2.0_f64).atan2(1.5)),
            ("elevation", (0.25_f64 / 2.5).atan()),
            ("distance", 2.5125),
            ("time_stamp", 62.5e6),
        ]);
        assert_values(CloudLayout::Autoware, false, 32, &autoware);
    }

    #[test]
    fn truth_follows_the_layout() {
        let truth = [("instance", f64::from(0xF000_1002_u32)), ("true_range", 2.5), ("class", 2.0)];
        let place = [("x", 1.5), ("y", -2.0), ("z", 0.25), ("intensity", 7.0), ("ring", 513.0), ("time", 0.0625)];
        assert_values(CloudLayout::Velodyne, true, 32, &[&place[..], &truth[..]].concat());
    }
}
