//! Sensor data as Python dictionaries of numbers, names and arrays, in SI units and, unless stated otherwise, in the
//! sensor's own frame. `_native.pyi` lists the keys of each kind of sensor.

use nalgebra::{Matrix3, UnitQuaternion};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use selene_base::SimTime;
use selene_observe::{
    CameraCalibration, CameraSample, DepthSample, JointSample, LidarSample, Measured, Ranged, RangingSample, Reading,
};
use selene_sensors::{BatteryHealth, BatteryReading, Fix};

use crate::arrays::{cloud, image, numbers, put_pose, rows, vector};

/// One datum of a sensor.
#[derive(Clone, Debug)]
pub(crate) enum Datum {
    Reading(Box<Reading>),
    Image(Box<CameraSample>),
    Scan(LidarSample),
    Ranged(RangingSample),
}

/// Converts a datum to a dictionary. Images and clouds are moved into their arrays.
pub(crate) fn to_dict(py: Python<'_>, datum: Datum) -> PyResult<Bound<'_, PyDict>> {
    match datum {
        Datum::Reading(of) => {
            let to = begun(py, &of.frame, of.stamp, of.index)?;
            measured_to_dict(&to, &of.measured)?;
            if let Some(truth) = &of.truth {
                let of_truth = PyDict::new(py);
                measured_to_dict(&of_truth, truth)?;
                to.set_item("truth", of_truth)?;
            }
            Ok(to)
        }
        Datum::Image(of) => image_to_dict(py, *of),
        Datum::Scan(of) => scan_to_dict(py, of),
        Datum::Ranged(of) => {
            let to = begun(py, &of.frame, of.stamp, of.index)?;
            ranged_to_dict(&to, of.measured)?;
            if let Some(truth) = of.truth {
                let of_truth = PyDict::new(py);
                ranged_to_dict(&of_truth, truth)?;
                to.set_item("truth", of_truth)?;
            }
            Ok(to)
        }
    }
}

/// A new dictionary with the keys that all sensor data have.
fn begun<'py>(py: Python<'py>, frame: &str, stamp: SimTime, index: u64) -> PyResult<Bound<'py, PyDict>> {
    let to = PyDict::new(py);
    to.set_item("frame", frame)?;
    to.set_item("time_s", stamp.secs_f64())?;
    to.set_item("stamp_ns", stamp.nanos())?;
    to.set_item("index", index)?;
    Ok(to)
}

fn image_to_dict(py: Python<'_>, of: CameraSample) -> PyResult<Bound<'_, PyDict>> {
    let to = begun(py, &of.frame, of.stamp, of.index)?;
    to.set_item("encoding", of.image.encoding)?;
    to.set_item("image", image(py, of.image)?)?;
    to.set_item("exposure_s", of.exposure_s)?;
    to.set_item("gain", of.gain)?;
    put_calibration(&to, of.calibration)?;
    if let Some(rectified) = of.rectified {
        to.set_item("rectified", image(py, rectified)?)?;
    }
    for (truth, of) in of.truth {
        let name = truth.topic().split('/').next().unwrap_or_default();
        to.set_item(name, image(py, of)?)?;
    }
    Ok(to)
}

fn put_calibration(to: &Bound<'_, PyDict>, of: CameraCalibration) -> PyResult<()> {
    let py = to.py();
    to.set_item("distortion_model", of.distortion_model)?;
    to.set_item("d", numbers(py, of.d))?;
    to.set_item("k", rows(py, of.k.to_vec(), 3)?)?;
    to.set_item("r", rows(py, of.r.to_vec(), 3)?)?;
    to.set_item("p", rows(py, of.p.to_vec(), 4)?)
}

fn scan_to_dict(py: Python<'_>, of: LidarSample) -> PyResult<Bound<'_, PyDict>> {
    let to = begun(py, &of.frame, of.stamp, of.index)?;
    to.set_item("points", cloud(py, of.cloud)?)?;
    if let Some([range_m, intensity]) = of.images {
        to.set_item("range_m", image(py, range_m)?)?;
        to.set_item("intensity", image(py, intensity)?)?;
    }
    if let Some(planar) = of.planar {
        to.set_item("planar_azimuths_rad", planar.azimuths_rad)?;
        to.set_item("planar_range_m", numbers(py, planar.range_m))?;
        to.set_item("planar_intensity", numbers(py, planar.intensity))?;
    }
    Ok(to)
}

fn ranged_to_dict(to: &Bound<'_, PyDict>, of: Ranged) -> PyResult<()> {
    let py = to.py();
    match of {
        Ranged::Radar(of) => {
            let row =
                |of: &selene_sensors::RadarReturn| [of.range_m, of.azimuth_rad, of.elevation_rad, of.speed_m_s, of.snr];
            to.set_item("returns", rows(py, of.returns.iter().flat_map(row).collect(), 5)?)
        }
        Ranged::Depth(of) => depth_to_dict(to, *of),
        Ranged::Range(of) => {
            to.set_item("range_m", of.range_m)?;
            to.set_item("limits_m", of.limits_m)?;
            to.set_item("field_of_view_rad", of.field_of_view_rad)?;
            to.set_item("variance_m2", of.variance_m2)
        }
    }
}

fn depth_to_dict(to: &Bound<'_, PyDict>, of: DepthSample) -> PyResult<()> {
    let py = to.py();
    to.set_item("depth_m", image(py, of.depth)?)?;
    to.set_item("amplitude", image(py, of.amplitude)?)?;
    to.set_item("intensity", image(py, of.intensity)?)?;
    if let Some(points) = of.cloud {
        to.set_item("points", cloud(py, points)?)?;
    }
    put_calibration(to, of.calibration)
}

fn measured_to_dict(to: &Bound<'_, PyDict>, of: &Measured) -> PyResult<()> {
    let py = to.py();
    match of {
        Measured::Nothing => to.set_item("nothing", true),
        Measured::Imu(of) => {
            to.set_item("angular_velocity_rad_s", vector(py, &of.angular_velocity_rad_s))?;
            to.set_item("linear_acceleration_m_s2", vector(py, &of.linear_acceleration_m_s2))?;
            to.set_item("orientation_xyzw", of.attitude.map(|attitude| xyzw(py, &attitude)))
        }
        Measured::Fix(of) => fix_to_dict(to, of),
        Measured::MagneticField(of) => to.set_item("field_t", vector(py, &of.field_t)),
        Measured::Tilt(of) => {
            to.set_item("roll_rad", of.roll_rad)?;
            to.set_item("pitch_rad", of.pitch_rad)
        }
        Measured::Joints(of) => joints_to_dict(to, of),
        Measured::Odometry(of) => {
            to.set_item("odom_frame", &of.odom_frame)?;
            to.set_item("base_frame", &of.base_frame)?;
            put_pose(to, &of.reading.odom_from_base)?;
            to.set_item("twist", vector(py, &of.reading.twist))?;
            to.set_item("pose_covariance", matrix(py, &of.reading.pose_covariance)?)?;
            to.set_item("twist_covariance", matrix(py, &of.reading.twist_covariance)?)
        }
        Measured::Battery(of) => battery_to_dict(to, of),
        Measured::Temperature(of) => {
            to.set_item("celsius", of.celsius)?;
            to.set_item("variance_k2", of.variance_k2)
        }
        Measured::SunDirection(of) => to.set_item("sun_direction", vector(py, of)),
        Measured::StarAttitude(of) => {
            to.set_item("icrf_from_sensor_xyzw", xyzw(py, &of.icrf_from_sensor))?;
            to.set_item("map_from_sensor_xyzw", xyzw(py, &of.map_from_sensor))
        }
        Measured::Contact(of) => {
            to.set_item("in_contact", of.in_contact)?;
            to.set_item("load_n", of.load_n)
        }
        Measured::Load(of) => {
            to.set_item("force_n", vector(py, &of.force))?;
            to.set_item("torque_nm", vector(py, &of.torque))
        }
    }
}

fn joints_to_dict(to: &Bound<'_, PyDict>, of: &JointSample) -> PyResult<()> {
    let py = to.py();
    to.set_item("names", of.names.clone())?;
    to.set_item("position_rad", numbers(py, of.position.clone()))?;
    to.set_item("velocity_rad_s", numbers(py, of.velocity.clone()))?;
    to.set_item("effort_nm", numbers(py, of.effort.clone()))
}

fn battery_to_dict(to: &Bound<'_, PyDict>, of: &BatteryReading) -> PyResult<()> {
    let health = match of.health {
        BatteryHealth::Good => "good",
        BatteryHealth::Overloaded => "overloaded",
        BatteryHealth::Empty => "empty",
    };
    to.set_item("voltage_v", of.voltage_v)?;
    to.set_item("current_a", of.current_a)?;
    to.set_item("charge_ah", of.charge_ah)?;
    to.set_item("capacity_ah", of.capacity_ah)?;
    to.set_item("energy_j", of.energy_j)?;
    to.set_item("health", health)
}

fn fix_to_dict(to: &Bound<'_, PyDict>, of: &Fix) -> PyResult<()> {
    let py = to.py();
    let place = of.place.map(|at| numbers(py, vec![at.latitude_deg, at.longitude_deg, at.altitude_m]));
    to.set_item("latitude_longitude_altitude", place)?;
    to.set_item("covariance_m2", rows(py, of.covariance_m2.to_vec(), 3)?)?;
    to.set_item("velocity_m_s", of.velocity_m_s.map(|velocity| vector(py, &velocity)))
}

fn xyzw<'py>(py: Python<'py>, of: &UnitQuaternion<f64>) -> Bound<'py, numpy::PyArray1<f64>> {
    let q = of.coords;
    numbers(py, vec![q.x, q.y, q.z, q.w])
}

fn matrix<'py>(py: Python<'py>, of: &Matrix3<f64>) -> PyResult<Bound<'py, PyAny>> {
    // nalgebra stores matrices by columns, NumPy by rows.
    rows(py, of.transpose().as_slice().to_vec(), 3)
}
