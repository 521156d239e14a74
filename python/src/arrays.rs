//! Conversion to NumPy arrays without copies: an array takes over the memory of a Rust vector, and the bytes of images
//! and point clouds are viewed as numbers of their type.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use selene_base::{Pose, Twist};
use selene_observe::{FieldType, Image, PointCloud};
use selene_sensors::Encoding;

use crate::fault;

/// A one-dimensional array of `values`.
pub(crate) fn numbers<'py, T: numpy::Element>(py: Python<'py>, values: Vec<T>) -> Bound<'py, PyArray1<T>> {
    values.into_pyarray(py)
}

/// A two-dimensional array with rows of `width` numbers.
pub(crate) fn rows<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    width: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let count = values.len().checked_div(width).unwrap_or(0);
    Ok(values.into_pyarray(py).reshape([count, width])?.into_any())
}

/// An image as an array (rows, columns) or (rows, columns, channels) of its encoding's number type.
pub(crate) fn image<'py>(py: Python<'py>, image: Image) -> PyResult<Bound<'py, PyAny>> {
    let (number, channels) = layout(image.encoding)
        .ok_or_else(|| fault::error(&format!("an image has the encoding {}, which is unknown here", image.encoding)))?;
    let (height, width) = (image.height as usize, image.width as usize);
    let bytes = image.data.into_pyarray(py);
    let all = bytes.call_method1("view", (number,))?;
    match channels {
        1 => all.call_method1("reshape", (height, width)),
        several => all.call_method1("reshape", (height, width, several)),
    }
}

/// NumPy type of an encoding's numbers, and the number of channels of a pixel; `None` for an unknown encoding.
fn layout(encoding: &str) -> Option<(&'static str, usize)> {
    Some(match encoding {
        "16UC1" => ("<u2", 1),
        "32SC1" => ("<u4", 1),
        "32FC1" => ("<f4", 1),
        "32FC2" => ("<f4", 2),
        "32FC3" => ("<f4", 3),
        other => {
            let developed = Encoding::named(other)?;
            (if developed.bytes_per_channel() == 2 { "<u2" } else { "u1" }, developed.channels())
        }
    })
}

/// A point cloud as a structured array, one record per point.
pub(crate) fn cloud<'py>(py: Python<'py>, cloud: PointCloud) -> PyResult<Bound<'py, PyAny>> {
    let format = |kind| match kind {
        FieldType::U8 => "u1",
        FieldType::U16 => "<u2",
        FieldType::U32 => "<u4",
        FieldType::F32 => "<f4",
    };
    let dtype = PyDict::new(py);
    dtype.set_item("names", cloud.fields.iter().map(|field| field.name).collect::<Vec<_>>())?;
    dtype.set_item("formats", cloud.fields.iter().map(|field| format(field.kind)).collect::<Vec<_>>())?;
    dtype.set_item("offsets", cloud.fields.iter().map(|field| field.offset).collect::<Vec<_>>())?;
    dtype.set_item("itemsize", cloud.point_bytes)?;
    let dtype = py.import("numpy")?.call_method1("dtype", (dtype,))?;
    cloud.data.into_pyarray(py).call_method1("view", (dtype,))
}

/// Puts a pose into a dictionary: position, m, and orientation as a quaternion x, y, z, w.
pub(crate) fn put_pose(to: &Bound<'_, PyDict>, pose: &Pose) -> PyResult<()> {
    let (py, at, q) = (to.py(), pose.translation.vector, pose.rotation.coords);
    to.set_item("position_m", numbers(py, vec![at.x, at.y, at.z]))?;
    to.set_item("orientation_xyzw", numbers(py, vec![q.x, q.y, q.z, q.w]))
}

/// Puts the linear and the angular velocity of a twist into a dictionary.
pub(crate) fn put_twist(to: &Bound<'_, PyDict>, twist: &Twist) -> PyResult<()> {
    to.set_item("velocity_m_s", vector(to.py(), &twist.linear))?;
    to.set_item("angular_velocity_rad_s", vector(to.py(), &twist.angular))
}

/// A vector as an array of three numbers.
pub(crate) fn vector<'py>(py: Python<'py>, of: &nalgebra::Vector3<f64>) -> Bound<'py, PyArray1<f64>> {
    numbers(py, vec![of.x, of.y, of.z])
}
