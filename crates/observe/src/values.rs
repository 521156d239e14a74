//! What sensors give: plain data that know their layout. Every stamp is the instant of measurement,
//! every frame the name of a TF frame.

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_sensors::{SunSight, TruthImage};
use selene_sim::EntityId;

/// Which sensor of which rover.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SensorId {
    /// The rover.
    pub rover: EntityId,
    /// The sensor's name, unique on its rover.
    pub name: String,
}

/// Pixels row by row from the top left, without padding between them or rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Pixel format, by the names of `sensor_msgs/image_encodings`; numbers are little-endian.
    pub encoding: &'static str,
    /// Bytes of one pixel.
    pub pixel_bytes: usize,
    /// The pixels.
    pub data: Vec<u8>,
}

impl Image {
    /// Bytes of one row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.width as usize * self.pixel_bytes
    }
}

/// An image as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressedImage {
    /// Its format, as `sensor_msgs/CompressedImage` has it.
    pub format: String,
    /// The file.
    pub data: Vec<u8>,
}

/// How a camera's images are projected, as `sensor_msgs/CameraInfo` has it: K and D are the raw image's, R and
/// P the rectified one's, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraCalibration {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Name of the distortion model.
    pub distortion_model: &'static str,
    /// Its coefficients.
    pub d: Vec<f64>,
    /// Intrinsic matrix, row by row.
    pub k: [f64; 9],
    /// Rectification matrix, row by row.
    pub r: [f64; 9],
    /// Projection matrix, row by row.
    pub p: [f64; 12],
}

/// One image of a camera with all that goes beside it, from the same rays.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraSample {
    /// Which camera.
    pub sensor: SensorId,
    /// The optical frame.
    pub frame: String,
    /// Middle of the first row's exposure.
    pub stamp: SimTime,
    /// Number of the image since the scenario's start.
    pub index: u64,
    /// How long it was exposed, s.
    pub exposure_s: f64,
    /// What auto exposure multiplied the ISO number by.
    pub gain: f64,
    /// The image.
    pub image: Image,
    /// The same as a pinhole would have taken it.
    pub rectified: Option<Image>,
    /// The image as a JPEG or PNG file.
    pub compressed: Option<CompressedImage>,
    /// How it was projected.
    pub calibration: CameraCalibration,
    /// The truth images that the camera asks for.
    pub truth: Vec<(TruthImage, Image)>,
    /// The Sun as the lens has it in sight, if it has; none either where no stage of the camera asks.
    pub sun: Option<SunSight>,
    /// Boxes around what is visible, in the image.
    pub boxes_2d: Option<Vec<Box2d>>,
    /// Boxes of what is visible, in the optical frame at the stamp.
    pub boxes_3d: Option<Vec<Box3d>>,
}

/// The smallest box that holds what an image shows of one instance, from the outer edges of its pixels; (0, 0)
/// is the centre of the first pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box2d {
    /// `Class` code.
    pub class: u16,
    /// Number in instance images.
    pub instance: u32,
    /// Its middle, column and row, pixels.
    pub centre_px: [f64; 2],
    /// Its sides along columns and rows, pixels.
    pub size_px: [f64; 2],
}

/// The box of a mesh, along the mesh's own axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box3d {
    /// `Class` code.
    pub class: u16,
    /// Number in instance images.
    pub instance: u32,
    /// Its middle, in the optical frame.
    pub optical_from_centre: Pose,
    /// Its sides, m.
    pub size_m: Vector3<f64>,
}

/// Type of a number in a point cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Two bytes, unsigned.
    U16,
    /// Four bytes, floating.
    F32,
}

/// A number of every point of a cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointField {
    /// Its name.
    pub name: &'static str,
    /// Bytes from the point's first one.
    pub offset: usize,
    /// Its type, little-endian.
    pub kind: FieldType,
}

/// Points one after the other, packed.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCloud {
    /// How many.
    pub points: usize,
    /// What each has.
    pub fields: &'static [PointField],
    /// Bytes of one.
    pub point_bytes: usize,
    /// The points.
    pub data: Vec<u8>,
}

/// One scan of a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct LidarSample {
    /// Which lidar.
    pub sensor: SensorId,
    /// The frame of its points, each at its own instant.
    pub frame: String,
    /// When the scan starts.
    pub stamp: SimTime,
    /// Number of the scan since the scenario's start.
    pub index: u64,
    /// What it met.
    pub cloud: PointCloud,
}

/// One reading of an inertial unit.
#[derive(Clone, Debug, PartialEq)]
pub struct ImuSample {
    /// Which unit.
    pub sensor: SensorId,
    /// The frame that it measures in.
    pub frame: String,
    /// When.
    pub stamp: SimTime,
    /// Number of the reading since the scenario's start.
    pub index: u64,
    /// True attitude in the map frame: no attitude filter is modelled.
    pub world_from_imu: UnitQuaternion<f64>,
    /// Turn rate, rad/s.
    pub angular_velocity_rad_s: Vector3<f64>,
    /// Specific force, m/s².
    pub linear_acceleration_m_s2: Vector3<f64>,
    /// Variance of the white part of the turn rate, rad²/s², and of the force, m²/s⁴.
    pub white_variances: [f64; 2],
}

/// One position fix.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionSample {
    /// Which receiver.
    pub sensor: SensorId,
    /// The frame of its antenna.
    pub frame: String,
    /// When.
    pub stamp: SimTime,
    /// Number of the fix since the scenario's start.
    pub index: u64,
    /// The fix.
    pub fix: selene_sensors::Fix,
}

/// What a rover's joints tell of themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointReadings {
    /// Positions in the order of the rover's moving joints, rad or m.
    pub position: Vec<f64>,
    /// Rates, rad/s or m/s.
    pub velocity: Vec<f64>,
    /// Efforts, N m or N.
    pub effort: Vec<f64>,
}
