//! Observers: compute sensor data from states of the world. They hold the recent past (`History`), the scene around a
//! rover (`scene`), the device that traces it, and the cameras, lidars, encoders and instruments (inertial units,
//! position receivers and the like). Sensor data are plain values that know their layout; other crates convert them
//! to ROS messages, bags, pictures and arrays.
//!
//! Observers receive intervals between two snapshots, in order, and return the data that are due in each. They remember
//! nothing but the recent past: observers that receive the same snapshots return the same bytes, whether they start at
//! the beginning or at any later instant.

mod augment;
mod body;
mod boxes;
mod camera;
mod device;
mod encoders;
mod feed;
mod ground_truth;
mod history;
mod imu;
mod inclinometer;
mod instance;
mod instruments;
mod interval;
mod lidar;
mod link_motion;
mod loads;
mod magnetometer;
mod per_rover;
mod position;
mod prefetch;
mod publish_queue;
mod ranging;
mod recall;
mod scene;
mod sky_instruments;
mod star_tracker;
mod sun_sight;
mod values;

pub use augment::{Augmented, augment};
pub use camera::{Cameras, RoverCameras};
pub use device::{Device, DeviceError, Devices};
pub use encoders::Encoders;
pub use feed::Feed;
pub use ground_truth::{GroundLayers, GroundTruth, MAP_CELLS_MAX, MapWindow, OccupancyLimits, RocksAround};
pub use history::History;
pub use instance::{instance_of_part, instance_of_rock};
pub use instruments::Instruments;
pub use interval::Interval;
pub use lidar::Lidars;
pub use ranging::Ranging;
pub use recall::{Recorder, recall_span};
pub use scene::{SceneGround, TracedScene, mesh_of};
pub use sky_instruments::SkyInstruments;
pub use sun_sight::sun_in_sight;
pub use values::{
    Box2d, Box3d, CameraCalibration, CameraSample, CompressedImage, DepthSample, FieldSample, FieldType, Image,
    ImuSample, JointReadings, JointSample, LidarSample, Measured, OdometrySample, PlanarScan, PointCloud, PointField,
    RadarSample, RangeSample, Ranged, RangingSample, Reading, SensorId, TemperatureSample, TiltSample,
};

/// Why an observation failed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The scene could not be built.
    #[error(transparent)]
    Scene(#[from] selene_scene::SceneError),
    /// The scenario's SPICE kernels do not cover an instant.
    #[error(transparent)]
    Sky(#[from] selene_sky::KernelError),
    /// The data of a sensor could not be computed.
    #[error("{sensor}: {what}")]
    Sensor {
        /// Name of the sensor.
        sensor: String,
        /// The reason, and what to do.
        what: String,
    },
}

impl ObserveError {
    pub(crate) fn of(sensor: &str, what: &dyn std::fmt::Display) -> Self {
        Self::Sensor { sensor: sensor.to_owned(), what: what.to_string() }
    }
}
