//! Conversion of a scan to PointCloud2, Image and LaserScan.

use selene_base::SimTime;
use selene_observe::{FieldType, LidarSample, PlanarScan, PointCloud};
use selene_ros::sensor_msgs::{Image, LaserScan, PointCloud2, PointField};
use selene_ros::std_msgs::Header;

pub(crate) fn cloud(cloud: PointCloud, frame: &str, stamp: SimTime) -> PointCloud2 {
    PointCloud2 {
        header: Header::new(stamp, frame),
        height: 1,
        width: cloud.points as u32,
        fields: fields(&cloud),
        is_bigendian: false,
        point_step: cloud.point_bytes as u32,
        row_step: (cloud.points * cloud.point_bytes) as u32,
        data: cloud.data,
        is_dense: true,
    }
}

fn fields(cloud: &PointCloud) -> Vec<PointField> {
    let field = |field: &selene_observe::PointField| PointField {
        name: field.name.to_owned(),
        offset: field.offset as u32,
        datatype: match field.kind {
            FieldType::U8 => PointField::UINT8,
            FieldType::U16 => PointField::UINT16,
            FieldType::U32 => PointField::UINT32,
            FieldType::F32 => PointField::FLOAT32,
        },
        count: 1,
    };
    cloud.fields.iter().map(field).collect()
}

/// Takes over another process's answer for a cloud; returns false if its points have another layout. Their number may
/// differ.
pub(crate) fn take_back(sample: &mut LidarSample, answer: PointCloud2) -> bool {
    let Some(points) = points_of(&answer, &sample.cloud) else { return false };
    (sample.cloud.points, sample.cloud.data) = (points, answer.data);
    true
}

/// The number of points in an answer; `None` if their layout differs from the cloud's, or if the data's length does not
/// match.
fn points_of(answer: &PointCloud2, cloud: &PointCloud) -> Option<usize> {
    let has_its_layout = answer.fields == fields(cloud) && answer.point_step as usize == cloud.point_bytes;
    let points = (answer.width as usize).checked_mul(answer.height as usize)?;
    let bytes = points.checked_mul(cloud.point_bytes)?;
    (has_its_layout && !answer.is_bigendian && answer.data.len() == bytes).then_some(points)
}

pub(crate) fn image(image: selene_observe::Image, frame: &str, stamp: SimTime) -> Image {
    Image {
        header: Header::new(stamp, frame),
        height: image.height,
        width: image.width,
        encoding: image.encoding.to_owned(),
        is_bigendian: 0,
        step: image.row_bytes() as u32,
        data: image.data,
    }
}

pub(crate) fn scan(scan: PlanarScan, frame: &str, stamp: SimTime) -> LaserScan {
    let [angle_min, angle_max] = scan.azimuths_rad.map(|rad| rad as f32);
    let [range_min, range_max] = scan.ranges_m.map(|m| m as f32);
    LaserScan {
        header: Header::new(stamp, frame),
        angle_min,
        angle_max,
        angle_increment: scan.azimuth_step_rad as f32,
        time_increment: scan.time_step_s as f32,
        scan_time: scan.period_s as f32,
        range_min,
        range_max,
        ranges: scan.range_m,
        intensities: scan.intensity,
    }
}

#[cfg(test)]
mod tests {
    use super::{cloud, points_of};
    use selene_base::SimTime;
    use selene_observe::PointCloud;

    #[test]
    fn an_answer_of_more_bytes_than_can_be_counted_does_not_fit() {
        let two = PointCloud { points: 2, fields: Vec::new(), point_bytes: 16, data: vec![0; 32] };
        let mut answer = cloud(two.clone(), "lidar", SimTime::ZERO);
        assert_eq!(points_of(&answer, &two), Some(2));
        // 2^62 points of 2^4 bytes overflow to zero in 64 bits.
        (answer.width, answer.height, answer.data) = (1 << 31, 1 << 31, Vec::new());
        assert_eq!(points_of(&answer, &two), None);
    }
}
