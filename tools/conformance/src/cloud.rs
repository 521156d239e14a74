//! Checks of point clouds: fields lie within a point and do not overlap, sizes fit the data, and coordinates are finite
//! where the cloud claims it.

use selene_ros::sensor_msgs::{PointCloud2, PointField};
use selene_ros::std_msgs::Header;

use crate::kind::Kind;
use crate::sample::{Sample, frame_fault, those};

const COORDINATES: [&str; 3] = ["x", "y", "z"];

impl Sample for PointCloud2 {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { width, height, point_step, row_step, data, fields, .. } = self;
        let row = u64::from(*width) * u64::from(*point_step);
        let whole = u64::from(*row_step) * u64::from(*height);
        let mut faults = those([
            frame_fault(&self.header),
            (u64::from(*row_step) < row, format!("row_step {row_step}, a row takes {row}")),
            (data.len() as u64 != whole, format!("{} bytes, row_step x height is {whole}", data.len())),
        ]);
        faults.extend(field_faults(fields, *point_step));
        faults.extend(COORDINATES.iter().filter_map(|name| coordinate_fault(self, name)));
        faults
    }
}

/// The fault of a coordinate that is missing, or not finite in a dense cloud.
fn coordinate_fault(cloud: &PointCloud2, name: &str) -> Option<String> {
    let named = cloud.fields.iter().find(|field| field.name == name);
    let Some(field) = named.filter(|field| field.datatype == PointField::FLOAT32 && field.count == 1) else {
        return Some(format!("no field {name} of one FLOAT32"));
    };
    let at = field.offset as usize;
    let value = |point: &[u8]| {
        let bytes = *point.get(at..)?.first_chunk::<4>()?;
        Some(if cloud.is_bigendian { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) })
    };
    let points = cloud.data.chunks_exact(cloud.point_step.max(1) as usize);
    let wrong = points.filter_map(value).filter(|value| !value.is_finite()).count();
    (cloud.is_dense && wrong > 0).then(|| format!("{wrong} of {name} not finite in a dense cloud"))
}

/// Faults of fields: an unknown type, a position beyond the end of the point, or an overlap.
fn field_faults(fields: &[PointField], point_step: u32) -> Vec<String> {
    let mut spans: Vec<(u64, u64, &str)> = Vec::new();
    let mut faults = Vec::new();
    for field in fields {
        let Some(bytes) = bytes_of(field.datatype) else {
            faults.push(format!("field {} has datatype {}", field.name, field.datatype));
            continue;
        };
        let start = u64::from(field.offset);
        let end = start + bytes * u64::from(field.count);
        if end > u64::from(point_step) || end == start {
            faults.push(format!("field {} takes bytes {start} to {end} of {point_step}", field.name));
        }
        if let Some((.., other)) = spans.iter().find(|(from, to, _)| start < *to && *from < end) {
            faults.push(format!("field {} lies over {other}", field.name));
        }
        spans.push((start, end, field.name.as_str()));
    }
    faults
}

fn bytes_of(datatype: u8) -> Option<u64> {
    match datatype {
        PointField::INT8 | PointField::UINT8 => Some(1),
        PointField::INT16 | PointField::UINT16 => Some(2),
        PointField::INT32 | PointField::UINT32 | PointField::FLOAT32 => Some(4),
        PointField::FLOAT64 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{PointCloud2, PointField};
    use crate::kind::Kind;
    use crate::sample::Sample;
    use selene_base::SimTime;
    use selene_ros::std_msgs::Header;

    fn field(name: &str, offset: u32, datatype: u8) -> PointField {
        PointField { name: name.to_owned(), offset, datatype, count: 1 }
    }

    fn cloud() -> PointCloud2 {
        let names = ["x", "y", "z"].into_iter().zip([0, 4, 8]);
        let mut fields: Vec<_> = names.map(|(name, at)| field(name, at, PointField::FLOAT32)).collect();
        fields.push(field("ring", 12, PointField::UINT16));
        PointCloud2 {
            header: Header::new(SimTime::ZERO, "lidar"),
            height: 1,
            width: 3,
            fields,
            is_bigendian: false,
            point_step: 14,
            row_step: 42,
            data: vec![0; 42],
            is_dense: true,
        }
    }

    fn faults(change: impl FnOnce(&mut PointCloud2)) -> String {
        let mut cloud = cloud();
        change(&mut cloud);
        cloud.faults(Kind::Points).join("; ")
    }

    #[test]
    fn a_good_cloud_has_no_fault() {
        assert_eq!(faults(|_| {}), "");
        // An empty scan is valid.
        assert_eq!(faults(|cloud| (cloud.width, cloud.row_step, cloud.data) = (0, 0, Vec::new())), "");
    }

    #[test]
    fn sizes_and_fields_that_do_not_fit_are_reported() {
        assert!(faults(|cloud| cloud.data.truncate(41)).contains("41 bytes"));
        assert!(faults(|cloud| cloud.row_step = 41).contains("row_step 41"));
        assert!(faults(|cloud| cloud.fields[3].offset = 13).contains("13 to 15 of 14"));
        assert!(faults(|cloud| cloud.fields[1].offset = 2).contains("y lies over x"));
        assert!(faults(|cloud| cloud.fields[3].datatype = 9).contains("datatype 9"));
        assert!(faults(|cloud| drop(cloud.fields.remove(2))).contains("no field z"));
        assert!(faults(|cloud| cloud.header.frame_id.clear()).contains("frame_id"));
    }

    #[test]
    fn a_dense_cloud_has_finite_points_only() {
        let nan = |cloud: &mut PointCloud2| cloud.data[14..18].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(faults(nan).contains("1 of x not finite"));
        let sparse = |cloud: &mut PointCloud2| {
            nan(cloud);
            cloud.is_dense = false;
        };
        assert_eq!(faults(sparse), "");
    }
}
