//! Models of a rover's sensors: each module holds one sensor's YAML spec, its measurement and its noise; `schedule`
//! says when sensors sample. Sensors return values; ROS nodes publish them.
//!
//! Randomness comes only from named streams of the scenario's seed, one stream per sample, so a reading depends on its
//! index alone and not on the number of threads or processes.

pub mod augment;
pub mod body;
pub mod calibrate;
pub mod camera;
pub mod contact;
pub mod develop;
mod figure;
pub mod force_torque;
pub mod imu;
pub mod inclinometer;
pub mod lens;
pub mod lidar;
pub mod magnetometer;
pub mod mount;
mod noise;
mod outages;
pub mod position;
mod process;
pub mod radar;
pub mod range_finder;
mod rectification;
mod rectifier;
mod schedule;
mod setting;
pub mod shutter;
mod spec;
pub mod star_tracker;
pub mod sun_sensor;
pub mod tof_camera;
pub mod transducer;
pub mod triad;
pub mod truth;

pub use augment::{AugmentSpec, Augments, DataType, JitterOf, OwnTopicSpec, StageRow};
pub use body::battery::{BatteryHealth, BatteryReading, BatterySpec};
pub use body::encoder::EncoderSpec;
pub use body::odometry::{OdometryReading, OdometrySpec, OdometryWheel, UncertaintySpec};
pub use body::temperature::TemperatureSpec;
pub use body::torque::TorqueSpec;
pub use body::{
    BodyError, BodyHeartbeat, BodyPlan, BodyReading, BodySample, BodySensor, JointAngles, Posture, SensorMemory,
};
pub use camera::{CameraSpec, Intrinsics, LightSpec};
pub use contact::{Contact, ContactSpec};
pub use develop::{DevelopedImage, Encoding, OwnStages, Pipeline, Plate, Quantity, Shot, SunSight};
pub use figure::{Coordinates, ReferenceFigure};
pub use force_torque::{ChannelsSpec, ForceTorqueSpec};
pub use imu::{AttitudeErrorSpec, AttitudeSource, Imu, ImuReading, ImuSpec, Motion};
pub use inclinometer::{Inclinometer, InclinometerSpec};
pub use lens::{LensName, LensSpec};
pub use lidar::{Lidar, LidarPoint, LidarSpec, ReturnKind};
pub use magnetometer::{Magnetometer, MagnetometerSpec};
pub use mount::{MountSpec, PlacementSpec};
pub use noise::DriftSpec;
pub use outages::{OutageSpec, RandomOutageSpec};
pub use position::{AntennaMotion, Fix, PositionDriftSpec, PositionSpec, VelocitySpec};
pub use radar::{Radar, RadarReading, RadarReturn, RadarSpec};
pub use range_finder::{RangeFinder, RangeFinderSpec, RangeReading};
pub use rectification::{PairError, Rectification, RectifiedSpec};
pub use rectifier::Rectifier;
pub use schedule::{Sample, Schedule};
pub use setting::{SensorSetting, SettingError};
pub use shutter::{RollingShutter, Shutter};
pub use spec::{SensorHeader, SensorKind, SensorQos, SensorSpec};
pub use star_tracker::{StarAttitude, StarTrackerSpec, StarView};
pub use sun_sensor::SunSensorSpec;
pub use tof_camera::{TofCamera, TofCameraSpec, TofImage};
pub use transducer::TransducerSpec;
pub use triad::{AllanSpec, DrawnSpec, InstabilitySpec, TriadSpec};
pub use truth::{DepthUnit, TruthImage, TruthSpec};
