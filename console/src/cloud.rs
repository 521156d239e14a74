//! Point clouds as clients draw them: x y z in `map`, f32, little-endian. Points without an echo are left out, and of
//! large clouds only every n-th point is sent. All points are placed by the sensor's present frame: the motion of the
//! sensor during the scan is not corrected.

use axum::body::Bytes;
use selene_base::{Pose, SimTime};
use selene_ros::sensor_msgs::{PointCloud2, PointField};
use serde::Serialize;

use crate::protocol;

/// Greatest number of points of a cloud that a client gets.
const POINTS_MAX: usize = 20_000;

#[derive(Serialize)]
struct CloudHeader<'a> {
    is: &'static str,
    topic: &'a str,
    number: u64,
    time_s: f64,
    /// Number of points sent, from every `of_each`-th point measured.
    points: usize,
    of_each: usize,
}

/// The binary frame of a cloud whose sensor is at `map_from_sensor`.
pub(crate) fn frame(topic: &str, number: u64, cloud: &PointCloud2, map_from_sensor: &Pose) -> Result<Bytes, String> {
    let [x, y, z] = ["x", "y", "z"].map(|name| offset(cloud, name));
    let offsets = [x?, y?, z?];
    let step = cloud.point_step as usize;
    let count = cloud.width as usize * cloud.height as usize;
    let is_whole = step > 0 && offsets.iter().all(|at| at + 4 <= step) && cloud.data.len() / step >= count;
    if !is_whole || cloud.is_bigendian {
        return Err(format!("no cloud: {count} points of {step} bytes in {} bytes", cloud.data.len()));
    }
    let of_each = count.div_ceil(POINTS_MAX).max(1);
    let mut payload = Vec::new();
    for point in cloud.data.chunks_exact(step).take(count).step_by(of_each) {
        let at = offsets.map(|at| point[at..].first_chunk().map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes)));
        if at.iter().all(|value| value.is_finite()) {
            let placed = map_from_sensor * nalgebra::Point3::from(at.map(f64::from));
            placed.iter().for_each(|value| payload.extend((*value as f32).to_le_bytes()));
        }
    }
    let time_s = SimTime::from(cloud.header.stamp).secs_f64();
    let points = payload.len() / 12;
    protocol::frame(&CloudHeader { is: "points", topic, number, time_s, points, of_each }, &payload)
}

fn offset(cloud: &PointCloud2, name: &str) -> Result<usize, String> {
    let field = cloud.fields.iter().find(|field| field.name == name && field.datatype == PointField::FLOAT32);
    field.map(|field| field.offset as usize).ok_or_else(|| format!("the cloud has no {name} of FLOAT32"))
}

#[cfg(test)]
mod tests {
    use super::frame;
    use selene_base::Pose;
    use selene_ros::sensor_msgs::{PointCloud2, PointField};

    fn cloud(points: &[[f32; 3]]) -> PointCloud2 {
        let field = |(name, offset): (&str, u32)| PointField {
            name: name.to_owned(),
            offset,
            datatype: PointField::FLOAT32,
            count: 1,
        };
        PointCloud2 {
            width: points.len() as u32,
            height: 1,
            fields: [("x", 0), ("y", 4), ("z", 8)].map(field).into(),
            point_step: 12,
            row_step: 12 * points.len() as u32,
            data: points.iter().flatten().flat_map(|value| value.to_le_bytes()).collect(),
            ..PointCloud2::default()
        }
    }

    fn points(bytes: &[u8]) -> Vec<f32> {
        let length = u32::from_le_bytes(*bytes.first_chunk().expect("a length")) as usize;
        let numbers = bytes[4 + length..].chunks_exact(4);
        numbers.map(|bytes| f32::from_le_bytes(*bytes.first_chunk().expect("four"))).collect()
    }

    #[test]
    fn points_stand_in_map_and_those_without_an_echo_are_left_out() {
        let seen = cloud(&[[1.0, 2.0, 3.0], [f32::NAN, 0.0, 0.0], [4.0, 5.0, f32::INFINITY]]);
        let frame = frame("/lidar/points", 1, &seen, &Pose::translation(10.0, 0.0, 0.0)).expect("a cloud");
        assert_eq!(points(&frame), [11.0, 2.0, 3.0]);
    }

    #[test]
    fn large_clouds_are_thinned() {
        let seen = cloud(&vec![[0.0; 3]; 50_000]);
        let frame = frame("/lidar/points", 1, &seen, &Pose::identity()).expect("a cloud");
        assert_eq!(points(&frame).len() / 3, 16_667);
    }

    #[test]
    fn clouds_whose_numbers_lie_are_refused() {
        let good = cloud(&[[0.0; 3]; 2]);
        let broken: [fn(&mut PointCloud2); 4] = [
            |cloud| cloud.width = 3,
            |cloud| cloud.point_step = 0,
            |cloud| cloud.fields[2].offset = 9,
            |cloud| cloud.fields.truncate(2),
        ];
        for make in broken {
            let mut broken = good.clone();
            make(&mut broken);
            assert!(frame("/lidar/points", 1, &broken, &Pose::identity()).is_err(), "{broken:?}");
        }
    }
}
