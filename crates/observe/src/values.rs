//! What sensors give: plain data that know their layout. Every stamp is the instant of measurement,
//! every frame the name of a TF frame.

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime, Wrench};
use selene_sensors::augment::RegionSpec;
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
    /// The part of the camera's image that it is, where a stage cropped it.
    pub region: Option<RegionSpec>,
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
    /// One byte, unsigned.
    U8,
    /// Two bytes, unsigned.
    U16,
    /// Four bytes, unsigned.
    U32,
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
    pub fields: Vec<PointField>,
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
    /// Ranges, m, and intensities as images of 32-bit floats, where the lidar asks for them: rows from the highest ring
    /// down, columns in firing order; infinity (REP-117) and 0 where nothing came back.
    pub images: Option<[Image; 2]>,
    /// One ring of it, where the lidar asks for it.
    pub planar: Option<PlanarScan>,
}

/// One ring of a spinning lidar, as `sensor_msgs/LaserScan` has it: in firing order, so that angles of a lidar that
/// turns clockwise fall.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanarScan {
    /// Azimuth of the first and of the last column, rad from x toward y.
    pub azimuths_rad: [f64; 2],
    /// From one column to the next one, rad.
    pub azimuth_step_rad: f64,
    /// The same in time, s.
    pub time_step_s: f64,
    /// A scan's period, s.
    pub period_s: f64,
    /// The nearest and the farthest range told, m.
    pub ranges_m: [f64; 2],
    /// Distance of each column's return, m; infinite where nothing came back.
    pub range_m: Vec<f32>,
    /// Its intensity.
    pub intensity: Vec<f32>,
}

/// One measurement of a ranging sensor that is no lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct RangingSample {
    /// Which sensor.
    pub sensor: SensorId,
    /// The frame that it measures in.
    pub frame: String,
    /// When.
    pub stamp: SimTime,
    /// Number of the measurement since the scenario's start.
    pub index: u64,
    /// What it tells.
    pub measured: Ranged,
    /// What a perfect one in its place would tell, where its file asks for that.
    pub truth: Option<Ranged>,
}

/// What a ranging sensor tells, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Ranged {
    /// Of a radar.
    Radar(RadarSample),
    /// Of a time-of-flight camera.
    Depth(Box<DepthSample>),
    /// Of a sensor of one distance.
    Range(RangeSample),
}

/// One scan of a radar.
#[derive(Clone, Debug, PartialEq)]
pub struct RadarSample {
    /// The strongest first.
    pub returns: Vec<selene_sensors::RadarReturn>,
    /// The same as points, where the radar asks for them: x y z speed amplitude.
    pub cloud: Option<PointCloud>,
}

/// One image of a time-of-flight camera.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthSample {
    /// 32FC1, m along the optical axis; NaN where none is told, infinity in the truth where the sky is (REP-118).
    pub depth: Image,
    /// mono16, electrons of its own light.
    pub amplitude: Image,
    /// mono16, electrons of all light.
    pub intensity: Image,
    /// How they are projected.
    pub calibration: CameraCalibration,
    /// Pixels with a distance as points, where the camera asks for them: x y z intensity, which is the amplitude.
    pub cloud: Option<PointCloud>,
}

/// One distance, as `sensor_msgs/Range` has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeSample {
    /// What was sent out.
    pub radiation: selene_sensors::range_finder::Radiation,
    /// Full angle of the cone, rad.
    pub field_of_view_rad: f64,
    /// The nearest and the farthest range told, m.
    pub limits_m: [f64; 2],
    /// Distance, m; minus infinity where something is too near, infinity where nothing came back (REP-117).
    pub range_m: f64,
    /// Its variance, m²; 0 where no distance is told.
    pub variance_m2: f64,
}

/// One reading of an instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Which sensor.
    pub sensor: SensorId,
    /// The frame that it measures in.
    pub frame: String,
    /// When.
    pub stamp: SimTime,
    /// Number of the reading since the scenario's start.
    pub index: u64,
    /// What it tells.
    pub measured: Measured,
    /// What a perfect one in its place would tell, where its file asks for that.
    pub truth: Option<Measured>,
}

/// What an instrument tells, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// It saw nothing to measure: no datum is told, and none was lost.
    Nothing,
    /// Of an inertial unit.
    Imu(ImuSample),
    /// Of a position receiver.
    Fix(selene_sensors::Fix),
    /// Of a magnetometer.
    MagneticField(FieldSample),
    /// Of an inclinometer.
    Tilt(TiltSample),
    /// Of sensors on joints.
    Joints(JointSample),
    /// Of dead reckoning.
    Odometry(OdometrySample),
    /// Of a battery.
    Battery(selene_sensors::BatteryReading),
    /// A temperature, °C.
    Temperature(TemperatureSample),
    /// Of a Sun sensor: toward the Sun, unit, in the sensor's frame.
    SunDirection(Vector3<f64>),
    /// Of a star tracker.
    StarAttitude(selene_sensors::StarAttitude),
    /// Of a wheel's contact sensor.
    Contact(selene_sensors::Contact),
    /// Of a force–torque sensor: what the link puts on its carrier, in the sensor's frame.
    Load(Wrench),
}

/// What sensors on joints tell; a list is empty where they tell no such thing.
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

/// What dead reckoning tells.
#[derive(Clone, Debug, PartialEq)]
pub struct OdometrySample {
    /// The frame that the pose is in.
    pub odom_frame: String,
    /// The frame whose pose it is, and in whose axes the twist is.
    pub base_frame: String,
    /// Pose, twist and covariances.
    pub reading: selene_sensors::OdometryReading,
}

/// A temperature and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemperatureSample {
    /// °C.
    pub celsius: f64,
    /// Variance, K².
    pub variance_k2: f64,
}

/// What an inertial unit tells.
#[derive(Clone, Debug, PartialEq)]
pub struct ImuSample {
    /// Attitude in the map frame, if it tells one: no attitude filter is modelled.
    pub attitude: Option<UnitQuaternion<f64>>,
    /// Turn rate, rad/s.
    pub angular_velocity_rad_s: Vector3<f64>,
    /// Specific force, m/s².
    pub linear_acceleration_m_s2: Vector3<f64>,
    /// Variance of the white part of the turn rate, rad²/s², and of the force, m²/s⁴.
    pub white_variances: [f64; 2],
}

/// What a magnetometer tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldSample {
    /// The field in its axes, T.
    pub field_t: Vector3<f64>,
    /// Variance of the white part, T².
    pub white_variance_t2: f64,
}

/// What an inclinometer tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TiltSample {
    /// About its x axis, rad.
    pub roll_rad: f64,
    /// About its y axis, nose down positive, rad.
    pub pitch_rad: f64,
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
