//! Point clouds of radar returns and depth images: packed 32-bit floats, little-endian.

use selene_sensors::{RadarReturn, TofCamera};

use crate::values::{FieldType, PointCloud, PointField};

const FLOAT_BYTES: usize = 4;

/// Returns of a radar: x y z (m), speed (m/s, negative for approaching targets), amplitude (dB over the noise).
pub(super) fn of_returns(returns: &[RadarReturn]) -> PointCloud {
    let point = |of: &RadarReturn| {
        let place = of.position_m();
        [place.x, place.y, place.z, of.speed_m_s, of.amplitude_db()].map(|value| value as f32)
    };
    packed(["x", "y", "z", "speed", "amplitude"], returns.iter().map(point))
}

/// Pixels with a distance: x y z in the optical frame (m), intensity (the amplitude, electrons).
pub(super) fn of_depth(camera: &TofCamera, depth_m: &[f32], amplitude_e: &[u16]) -> PointCloud {
    let intrinsics = camera.spec().intrinsics();
    let columns = camera.spec().width as usize;
    let seen = depth_m.iter().zip(amplitude_e).enumerate().filter(|(_, (depth, _))| depth.is_finite());
    let point = |(pixel, (depth, amplitude)): (usize, (&f32, &u16))| {
        let (column, row, z) = ((pixel % columns) as f64, (pixel / columns) as f64, f64::from(*depth));
        let x = (column - intrinsics.cx_px) / intrinsics.fx_px * z;
        let y = (row - intrinsics.cy_px) / intrinsics.fy_px * z;
        [x as f32, y as f32, *depth, f32::from(*amplitude)]
    };
    packed(["x", "y", "z", "intensity"], seen.map(point))
}

fn packed<const N: usize>(names: [&'static str; N], points: impl Iterator<Item = [f32; N]>) -> PointCloud {
    let field =
        |(number, name): (usize, &'static str)| PointField { name, offset: number * FLOAT_BYTES, kind: FieldType::F32 };
    let fields = names.into_iter().enumerate().map(field).collect();
    let data: Vec<u8> = points.flatten().flat_map(f32::to_le_bytes).collect();
    let point_bytes = N * FLOAT_BYTES;
    PointCloud { points: data.len() / point_bytes, fields, point_bytes, data }
}
