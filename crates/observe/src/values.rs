//! Sensor data: plain values that know their layout. Every stamp is the instant of measurement, every frame the name
//! of a TF frame.

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime, Wrench};
use selene_sensors::augment::RegionSpec;
use selene_sensors::{SunSight, TruthImage};
use selene_sim::EntityId;

/// Identifies a sensor of a rover.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SensorId {
    /// The rover.
    pub rover: EntityId,
    /// The sensor's name, unique on its rover.
    pub name: String,
}

/// An image: pixels row by row from the top left, without padding between pixels or rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Encoding by the names of `sensor_msgs/image_encodings`; values are little-endian.
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

/// An image as a compressed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressedImage {
    /// Its format, as in `sensor_msgs/CompressedImage`.
    pub format: String,
    /// The bytes of the file.
    pub data: Vec<u8>,
}

/// Projection of a camera's images, as in `sensor_msgs/CameraInfo`: K and D are those of the raw image, R and P those
/// of the rectified one, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraCalibration {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
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

/// One image of a camera with everything published beside it, from the same rays.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraSample {
    /// The camera.
    pub sensor: SensorId,
    /// Name of the optical frame.
    pub frame: String,
    /// Middle of the first row's exposure.
    pub stamp: SimTime,
    /// Number of the image since the scenario's start.
    pub index: u64,
    /// Exposure time, s.
    pub exposure_s: f64,
    /// Factor of auto exposure on the ISO number.
    pub gain: f64,
    /// The image.
    pub image: Image,
    /// The part of the camera's full image that `image` is, if a stage cropped it.
    pub region: Option<RegionSpec>,
    /// The rectified image, if requested.
    pub rectified: Option<Image>,
    /// The image as a JPEG or PNG file, if requested.
    pub compressed: Option<CompressedImage>,
    /// Projection of the image.
    pub calibration: CameraCalibration,
    /// The truth images that the camera asks for.
    pub truth: Vec<(TruthImage, Image)>,
    /// The Sun as seen from the lens; `None` if it is not visible, or if no stage of the camera needs it.
    pub sun: Option<SunSight>,
    /// Boxes of visible instances in the image, if requested.
    pub boxes_2d: Option<Vec<Box2d>>,
    /// Boxes of visible instances in the optical frame at the stamp, if requested.
    pub boxes_3d: Option<Vec<Box3d>>,
}

/// The smallest box around the visible pixels of one instance, from the outer edges of the pixels; (0, 0) is the
/// centre of the first pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box2d {
    /// `Class` code.
    pub class: u16,
    /// Number in instance images.
    pub instance: u32,
    /// Centre, column and row, pixels.
    pub centre_px: [f64; 2],
    /// Width and height, pixels.
    pub size_px: [f64; 2],
}

/// The box of a mesh, along the mesh's own axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box3d {
    /// `Class` code.
    pub class: u16,
    /// Number in instance images.
    pub instance: u32,
    /// Pose of its centre in the optical frame.
    pub optical_from_centre: Pose,
    /// Lengths of its sides, m.
    pub size_m: Vector3<f64>,
}

/// Type of a field of a point cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// One byte, unsigned.
    U8,
    /// Two bytes, unsigned.
    U16,
    /// Four bytes, unsigned.
    U32,
    /// Four bytes, floating.
    F32,
}

/// A field that every point of a cloud has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointField {
    /// Its name.
    pub name: &'static str,
    /// Offset from the point's first byte, bytes.
    pub offset: usize,
    /// Its type, little-endian.
    pub kind: FieldType,
}

/// A point cloud: packed points.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCloud {
    /// Number of points.
    pub points: usize,
    /// Fields of each point.
    pub fields: Vec<PointField>,
    /// Bytes of one point.
    pub point_bytes: usize,
    /// The bytes of the points.
    pub data: Vec<u8>,
}

/// One scan of a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct LidarSample {
    /// The lidar.
    pub sensor: SensorId,
    /// Name of the frame of its points, each at its own instant.
    pub frame: String,
    /// Start of the scan.
    pub stamp: SimTime,
    /// Number of the scan since the scenario's start.
    pub index: u64,
    /// The points of the scan.
    pub cloud: PointCloud,
    /// Ranges, m, and intensities as images of 32-bit floats, if requested: rows from the highest ring down, columns
    /// in firing order; infinity (REP-117) and 0 where there is no return.
    pub images: Option<[Image; 2]>,
    /// One ring of the scan, if requested.
    pub planar: Option<PlanarScan>,
}

/// One ring of a spinning lidar, as in `sensor_msgs/LaserScan`: in firing order, so that the angles of a lidar that
/// turns clockwise decrease.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanarScan {
    /// Azimuth of the first and of the last column, rad from x toward y.
    pub azimuths_rad: [f64; 2],
    /// Azimuth step from one column to the next, rad.
    pub azimuth_step_rad: f64,
    /// Time step from one column to the next, s.
    pub time_step_s: f64,
    /// Period of a scan, s.
    pub period_s: f64,
    /// Least and greatest range reported, m.
    pub ranges_m: [f64; 2],
    /// Range of each column's return, m; infinite where there is none.
    pub range_m: Vec<f32>,
    /// Intensity of each column's return.
    pub intensity: Vec<f32>,
}

/// One measurement of a ranging sensor other than a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct RangingSample {
    /// The sensor.
    pub sensor: SensorId,
    /// Name of the frame that it measures in.
    pub frame: String,
    /// Instant of the measurement.
    pub stamp: SimTime,
    /// Number of the measurement since the scenario's start.
    pub index: u64,
    /// The measurement, with the sensor's errors.
    pub measured: Ranged,
    /// The measurement of a perfect sensor, if its file asks for it.
    pub truth: Option<Ranged>,
}

/// A measurement of a ranging sensor, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Ranged {
    /// A radar scan.
    Radar(RadarSample),
    /// The images of a time-of-flight camera.
    Depth(Box<DepthSample>),
    /// A single distance.
    Range(RangeSample),
}

/// One scan of a radar.
#[derive(Clone, Debug, PartialEq)]
pub struct RadarSample {
    /// Returns, the strongest first.
    pub returns: Vec<selene_sensors::RadarReturn>,
    /// The returns as points, if requested: x y z speed amplitude.
    pub cloud: Option<PointCloud>,
}

/// One image of a time-of-flight camera.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthSample {
    /// Depth, 32FC1, m along the optical axis; NaN where there is no measurement, infinity in the truth for the sky
    /// (REP-118).
    pub depth: Image,
    /// Amplitude of its own light, mono16, electrons.
    pub amplitude: Image,
    /// Intensity of all light, mono16, electrons.
    pub intensity: Image,
    /// Projection of the images.
    pub calibration: CameraCalibration,
    /// Pixels with a distance as points, if requested: x y z intensity, where intensity is the amplitude.
    pub cloud: Option<PointCloud>,
}

/// One distance, as in `sensor_msgs/Range`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeSample {
    /// Kind of radiation.
    pub radiation: selene_sensors::range_finder::Radiation,
    /// Full angle of the cone, rad.
    pub field_of_view_rad: f64,
    /// Least and greatest range reported, m.
    pub limits_m: [f64; 2],
    /// Distance, m; minus infinity if something is too near, infinity if there is no echo (REP-117).
    pub range_m: f64,
    /// Variance of the distance, m²; 0 if it is infinite.
    pub variance_m2: f64,
}

/// One reading of an instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The sensor.
    pub sensor: SensorId,
    /// Name of the frame that it measures in.
    pub frame: String,
    /// Instant of the measurement.
    pub stamp: SimTime,
    /// Number of the reading since the scenario's start.
    pub index: u64,
    /// The measurement, with the sensor's errors.
    pub measured: Measured,
    /// The measurement of a perfect sensor, if its file asks for it.
    pub truth: Option<Measured>,
}

/// A measurement of an instrument, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// There was nothing to measure, as for a Sun sensor in the shadow: nothing is published, and no sample was lost.
    Nothing,
    /// A reading of an inertial measurement unit.
    Imu(ImuSample),
    /// A position fix.
    Fix(selene_sensors::Fix),
    /// A magnetic field.
    MagneticField(FieldSample),
    /// Tilt angles of an inclinometer.
    Tilt(TiltSample),
    /// Readings of encoders or torque sensors on joints.
    Joints(JointSample),
    /// A reading of wheel odometry.
    Odometry(OdometrySample),
    /// Telemetry of a battery.
    Battery(selene_sensors::BatteryReading),
    /// A temperature, °C.
    Temperature(TemperatureSample),
    /// The unit vector toward the Sun in the frame of a Sun sensor.
    SunDirection(Vector3<f64>),
    /// An attitude of a star tracker.
    StarAttitude(selene_sensors::StarAttitude),
    /// A wheel's contact and load.
    Contact(selene_sensors::Contact),
    /// The wrench that a link exerts on its parent, in the frame of a force–torque sensor.
    Load(Wrench),
}

/// Readings of sensors on joints; lists of quantities that the sensors do not measure are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointSample {
    /// Names of the joints.
    pub names: Vec<String>,
    /// Positions, rad.
    pub position: Vec<f64>,
    /// Rates, rad/s.
    pub velocity: Vec<f64>,
    /// Efforts, N m.
    pub effort: Vec<f64>,
}

/// A reading of wheel odometry with its frames.
#[derive(Clone, Debug, PartialEq)]
pub struct OdometrySample {
    /// Name of the frame that the pose is in.
    pub odom_frame: String,
    /// Name of the frame whose pose it is; the twist is in this frame's axes.
    pub base_frame: String,
    /// Pose, twist and covariances.
    pub reading: selene_sensors::OdometryReading,
}

/// A temperature and its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemperatureSample {
    /// Temperature, °C.
    pub celsius: f64,
    /// Variance, K².
    pub variance_k2: f64,
}

/// A reading of an inertial measurement unit, in its own axes.
#[derive(Clone, Debug, PartialEq)]
pub struct ImuSample {
    /// Attitude in the map frame, if the unit publishes one.
    pub attitude: Option<UnitQuaternion<f64>>,
    /// Angular velocity, rad/s.
    pub angular_velocity_rad_s: Vector3<f64>,
    /// Specific force, m/s².
    pub linear_acceleration_m_s2: Vector3<f64>,
    /// Variances of the white noise of angular velocity, rad²/s², and specific force, m²/s⁴.
    pub white_variances: [f64; 2],
}

/// A reading of a magnetometer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldSample {
    /// Magnetic field in the sensor's axes, T.
    pub field_t: Vector3<f64>,
    /// Variance of the white noise, T².
    pub white_variance_t2: f64,
}

/// A reading of an inclinometer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TiltSample {
    /// Roll about its x axis, rad.
    pub roll_rad: f64,
    /// Pitch about its y axis, nose down positive, rad.
    pub pitch_rad: f64,
}

/// The joint states of a rover.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointReadings {
    /// Positions in the order of the rover's moving joints, rad or m.
    pub position: Vec<f64>,
    /// Rates, rad/s or m/s.
    pub velocity: Vec<f64>,
    /// Efforts, N m or N.
    pub effort: Vec<f64>,
}
