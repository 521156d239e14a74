//! A scan as PointCloud2.

use selene_base::SimTime;
use selene_observe::{FieldType, PointCloud};
use selene_ros::sensor_msgs::{PointCloud2, PointField};
use selene_ros::std_msgs::Header;

pub(crate) fn cloud(cloud: PointCloud, frame: &str, stamp: SimTime) -> PointCloud2 {
    let field = |field: &selene_observe::PointField| PointField {
        name: field.name.to_owned(),
        offset: field.offset as u32,
        datatype: match field.kind {
            FieldType::U16 => PointField::UINT16,
            FieldType::F32 => PointField::FLOAT32,
        },
        count: 1,
    };
    PointCloud2 {
        header: Header::new(stamp, frame),
        height: 1,
        width: cloud.points as u32,
        fields: cloud.fields.iter().map(field).collect(),
        is_bigendian: false,
        point_step: cloud.point_bytes as u32,
        row_step: (cloud.points * cloud.point_bytes) as u32,
        data: cloud.data,
        is_dense: true,
    }
}
