//! From states of the world to values of sensors: what they need of the recent past (`History`), the scene
//! that they look at (`scene`), the device that traces it, and cameras, lidars, encoders and instruments (inertial
//! units, position receivers and the like). Values are plain data that know their layout; ROS messages, bags,
//! pictures and arrays are made of them elsewhere.
//!
//! Observers are fed with intervals between two snapshots, in order, and give the data that are due in
//! each. They remember nothing but the recent past: observers that are fed with the same snapshots give the
//! same bytes, whether from the start on or from any instant after it.

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
mod outbox;
mod per_rover;
mod position;
mod prefetch;
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

/// Why nothing could be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The scene could not be built.
    #[error(transparent)]
    Scene(#[from] selene_scene::SceneError),
    /// The scenario's kernels do not cover an instant.
    #[error(transparent)]
    Sky(#[from] selene_sky::KernelError),
    /// A sensor's datum could not be made.
    #[error("{sensor}: {what}")]
    Sensor {
        /// Which sensor.
        sensor: String,
        /// Why, and what to do.
        what: String,
    },
}

impl ObserveError {
    pub(crate) fn of(sensor: &str, what: &dyn std::fmt::Display) -> Self {
        Self::Sensor { sensor: sensor.to_owned(), what: what.to_string() }
    }
}
