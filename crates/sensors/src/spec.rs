//! The YAML file of a sensor: a closed list of kinds, each with its own spec, and the keys that all kinds share: a name
//! (the topic prefix), a link of the URDF, a schedule and a quality of service.

use std::borrow::Cow;
use std::path::Path;

use garde::Validate;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use selene_base::input::{load_yaml, within};
use selene_base::{InputError, NotOneOf, Pose, SimTime, one_of};
use serde::Deserialize;

use crate::augment::{Augments, StageRow};
use crate::{
    BatterySpec, CameraSpec, ContactSpec, EncoderSpec, ForceTorqueSpec, ImuSpec, InclinometerSpec, Lidar, LidarSpec,
    MagnetometerSpec, OdometrySpec, PositionSpec, RadarSpec, RangeFinderSpec, Schedule, StarTrackerSpec, SunSensorSpec,
    TemperatureSpec, TofCameraSpec, TorqueSpec,
};

/// The highest sampling rate allowed, Hz: the world steps at 1 to 2 kHz.
pub(crate) const RATE_MAX_HZ: f64 = 1000.0;
/// The longest lag allowed, s.
pub(crate) const LAG_MAX_S: f64 = 10.0;
/// The largest number of columns or rows allowed.
pub(crate) const PIXELS_MAX: usize = 8192;

/// ROS 2 quality of service of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SensorQos {
    /// Keep last 5, best effort, volatile.
    SensorData,
    /// Keep last 10, reliable, volatile.
    Reliable,
}

/// The keys that the files of all kinds share. Each spec repeats them instead of flattening a common struct, because
/// serde loses the line numbers of wrong values in flattened structs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorHeader<'a> {
    /// The prefix of its topics and of its random streams.
    pub name: &'a str,
    /// The URDF link whose frame it measures in.
    pub link: &'a str,
    /// Sampling rate, Hz.
    pub rate_hz: f64,
    /// Delay from measurement to publication, s; the lags of its stages add to it.
    pub lag_s: f64,
    /// Quality of service of its topics.
    pub qos: SensorQos,
}

/// The spec of one kind of sensor.
pub trait SensorKind: Sized {
    /// The spec of `sensor` if it is of this kind.
    fn of(sensor: &SensorSpec) -> Option<&Self>;
}

/// Generates, from the list of kinds, the enum `SensorSpec`, its file and its common methods.
macro_rules! sensor_kinds {
    ($($(#[$doc:meta])* $key:ident: $kind:ident($spec:ident),)+) => {
        /// The spec of one sensor of any kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum SensorSpec {
            $($(#[$doc])* $kind($spec),)+
        }

        /// A sensor's file: the kind is its single top-level key.
        #[derive(Deserialize, JsonSchema, Validate)]
        #[serde(deny_unknown_fields)]
        struct SensorFile {
            $(#[garde(dive)]
            $key: Option<$spec>,)+
        }

        impl TryFrom<SensorFile> for SensorSpec {
            type Error = NotOneOf;

            fn try_from(file: SensorFile) -> Result<Self, NotOneOf> {
                one_of([$((stringify!($key), file.$key.map(Self::$kind)),)+])
            }
        }

        impl SensorSpec {
            /// The keys that all kinds share.
            #[must_use]
            pub fn header(&self) -> SensorHeader<'_> {
                match self {
                    $(Self::$kind($spec { name, link, rate_hz, lag_s, qos, .. }) => {
                        SensorHeader { name, link, rate_hz: *rate_hz, lag_s: *lag_s, qos: *qos }
                    })+
                }
            }

            /// The one key of its file, which names its kind.
            #[must_use]
            pub fn key(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => stringify!($key),)+
                }
            }

            /// The stages that its data pass before publication.
            #[must_use]
            pub fn augments(&self) -> Augments {
                match self {
                    $(Self::$kind(spec) => spec.stages.augments(),)+
                }
            }

            /// Its link, so that `take_frame` can replace it by a frame of its own.
            fn link_mut(&mut self) -> &mut String {
                match self {
                    $(Self::$kind(spec) => &mut spec.link,)+
                }
            }
        }

        $(impl SensorKind for $spec {
            fn of(sensor: &SensorSpec) -> Option<&Self> {
                if let SensorSpec::$kind(spec) = sensor { Some(spec) } else { None }
            }
        })+
    };
}

// A new kind is one more row: the key of its file, its variant and its spec, which has at least the fields of
// `SensorHeader` and `stages: Augments`, checked to fit what it generates (`augment::fits`). The compiler then names
// every place that must know it; CONTRIBUTING.md lists them.
sensor_kinds! {
    /// A pinhole camera.
    camera: Camera(CameraSpec),
    /// A lidar.
    lidar: Lidar(LidarSpec),
    /// A radar.
    radar: Radar(RadarSpec),
    /// A time-of-flight camera.
    tof_camera: TofCamera(TofCameraSpec),
    /// A sensor that measures one distance: laser altimeter, rangefinder or ultrasonic sensor.
    range_finder: RangeFinder(RangeFinderSpec),
    /// An inertial measurement unit: gyroscope and accelerometer.
    imu: Imu(ImuSpec),
    /// A receiver of position fixes.
    position: Position(PositionSpec),
    /// A magnetometer.
    magnetometer: Magnetometer(MagnetometerSpec),
    /// An inclinometer: tilt against gravity.
    inclinometer: Inclinometer(InclinometerSpec),
    /// Encoders on joints.
    encoders: Encoders(EncoderSpec),
    /// Dead reckoning from wheels.
    odometry: Odometry(OdometrySpec),
    /// Torque sensors on joints.
    joint_torques: Torques(TorqueSpec),
    /// A battery's telemetry.
    battery: Battery(BatterySpec),
    /// The temperature of a plate.
    temperature: Temperature(TemperatureSpec),
    /// A Sun sensor: the direction of the Sun.
    sun_sensor: SunSensor(SunSensorSpec),
    /// A star tracker: attitude against the stars.
    star_tracker: StarTracker(StarTrackerSpec),
    /// A wheel's contact and load.
    contact: Contact(ContactSpec),
    /// The wrench between a link and its parent link.
    force_torque: ForceTorque(ForceTorqueSpec),
}

/// The schema of the sensor's file.
impl JsonSchema for SensorSpec {
    fn schema_name() -> Cow<'static, str> {
        "SensorSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SensorFile::json_schema(generator)
    }
}

impl SensorSpec {
    /// Reads and validates a sensor's YAML file.
    ///
    /// # Errors
    /// When it cannot be read, parsed or validated: the error gives file, line, value and what is allowed.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let file: SensorFile = load_yaml(path)?;
        let read = |mut sensor: Self| -> Result<Self, InputError> {
            if let Self::Lidar(lidar) = &mut sensor {
                lidar.read_pattern(path)?;
            }
            Ok(sensor)
        };
        let refuse = |refusal: NotOneOf| InputError::content(path, format!("line 1: {refusal}: one sensor a file"));
        Self::try_from(file).map_err(refuse).and_then(read)
    }

    /// Its stages in a run; `seed` is that of its rover's sensors.
    #[must_use]
    pub fn row(&self, seed: u64) -> StageRow {
        StageRow::new(self.header().name, self.augments(), seed)
    }

    /// When it samples and publishes, from the start of the scenario; `StageRow::schedule` adds the jitter of its
    /// stages.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        let SensorHeader { rate_hz, lag_s, .. } = self.header();
        if let Self::Lidar(lidar) = self {
            return Lidar::new(lidar.clone()).schedule();
        }
        schedule(rate_hz, lag_s + self.augments().lag_s())
    }

    /// Length of the time before a sample's instant that a reading depends on, s. Cameras and lidars have their own
    /// functions for it.
    #[must_use]
    pub fn looks_back_s(&self) -> f64 {
        match self {
            Self::Imu(imu) => imu.window_s,
            Self::Inclinometer(inclinometer) => inclinometer.window_s,
            Self::Position(position) => position.window_s,
            Self::ForceTorque(sensor) => sensor.window_s,
            Self::Radar(radar) => radar.coherent_s,
            Self::TofCamera(_) | Self::RangeFinder(_) => 0.0,
            Self::Camera(_) | Self::Lidar(_) | Self::Magnetometer(_) => 0.0,
            Self::SunSensor(_) | Self::StarTracker(_) | Self::Contact(_) => 0.0,
            // These keep the past that they need in `SensorMemory`.
            Self::Encoders(_) | Self::Odometry(_) | Self::Torques(_) | Self::Battery(_) | Self::Temperature(_) => 0.0,
        }
    }

    /// Whether its file asks for the truth beside its readings. Cameras publish truth images instead (`TruthSpec`).
    #[must_use]
    pub fn has_truth(&self) -> bool {
        match self {
            Self::Radar(radar) => radar.truth,
            Self::TofCamera(camera) => camera.truth,
            Self::RangeFinder(finder) => finder.truth,
            Self::Imu(imu) => imu.truth,
            Self::Position(position) => position.truth,
            Self::SunSensor(sensor) => sensor.truth,
            Self::StarTracker(tracker) => tracker.truth,
            Self::Contact(sensor) => sensor.truth,
            Self::ForceTorque(sensor) => sensor.truth,
            Self::Magnetometer(magnetometer) => magnetometer.truth,
            Self::Inclinometer(inclinometer) => inclinometer.truth,
            Self::Encoders(encoders) => encoders.truth,
            Self::Torques(torques) => torques.truth,
            Self::Battery(battery) => battery.truth,
            Self::Temperature(temperature) => temperature.truth,
            // The rover's true odometry is always published.
            Self::Camera(_) | Self::Lidar(_) | Self::Odometry(_) => false,
        }
    }

    /// Name of the frame that its mount defines, and that frame's pose in its link. Call it once: it makes the frame
    /// the sensor's link.
    pub fn take_frame(&mut self) -> Option<(String, Pose)> {
        let (end, link_from_frame) = match self {
            Self::Camera(camera) => ("optical", camera.mount.take()?.link_from_optical()),
            Self::TofCamera(camera) => ("optical", camera.mount.take()?.link_from_optical()),
            Self::Lidar(lidar) => ("frame", lidar.mount.take()?.link_from_frame()),
            Self::Radar(radar) => ("frame", radar.mount.take()?.link_from_frame()),
            Self::RangeFinder(finder) => ("frame", finder.mount.take()?.link_from_frame()),
            Self::Imu(imu) => ("frame", imu.mount.take()?.link_from_frame()),
            Self::Position(position) => ("frame", position.mount.take()?.link_from_frame()),
            Self::Magnetometer(magnetometer) => ("frame", magnetometer.mount.take()?.link_from_frame()),
            Self::Inclinometer(inclinometer) => ("frame", inclinometer.mount.take()?.link_from_frame()),
            Self::Temperature(temperature) => ("frame", temperature.mount.take()?.link_from_frame()),
            Self::SunSensor(sensor) => ("frame", sensor.mount.take()?.link_from_frame()),
            Self::StarTracker(tracker) => ("frame", tracker.mount.take()?.link_from_frame()),
            Self::Encoders(_) | Self::Odometry(_) | Self::Torques(_) | Self::Battery(_) => return None,
            // The frame of a force–torque sensor depends on the joint that it measures: the scenario defines it.
            Self::Contact(_) | Self::ForceTorque(_) => return None,
        };
        let frame = format!("{}_{end}", self.header().name);
        self.link_mut().clone_from(&frame);
        Some((frame, link_from_frame))
    }
}

pub(crate) fn schedule(rate_hz: f64, lag_s: f64) -> Schedule {
    Schedule::new(rate_hz, SimTime::ZERO, SimTime::from_secs_f64(lag_s))
}

/// A garde check: a rate in Hz, above 0 and at most `RATE_MAX_HZ`.
pub(crate) fn rate(rate_hz: &f64, (): &()) -> garde::Result {
    within(1e-3, RATE_MAX_HZ)(rate_hz, &())
}

/// A garde check: a lag, 0 to `LAG_MAX_S`, s.
pub(crate) fn lag(lag_s: &f64, (): &()) -> garde::Result {
    within(0.0, LAG_MAX_S)(lag_s, &())
}

/// A garde check: a number of columns or rows, 1 to `PIXELS_MAX`.
pub(crate) fn pixels(count: &u32, (): &()) -> garde::Result {
    count_within(1, PIXELS_MAX, *count as usize)
}

/// Refuses a count outside `min` to `max`.
pub(crate) fn count_within(min: usize, max: usize, count: usize) -> garde::Result {
    if (min..=max).contains(&count) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {count} is not allowed: must be {min} to {max}")))
}

/// A garde check: a relative ROS name.
pub(crate) fn ros_name(name: &str, (): &()) -> garde::Result {
    if name.split('/').all(is_name_token) {
        return Ok(());
    }
    let allowed = "letters, digits and _ in parts separated by single /, each part beginning with a letter";
    Err(garde::Error::new(format!("value '{name}' is not allowed: must be {allowed}")))
}

fn is_name_token(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic())
        && token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::SensorSpec;
    use std::path::{Path, PathBuf};

    const VLP_16: &str = "elevations_deg: [-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15]";
    const STAGES: &str = "  stages:                   # from irradiance to pixel values, in this order\n";
    const FOCUS_WITHIN: &str = "  stages:\n    - defocus: {focus_m: 0.002}\n";
    const BRIGHT: &str = "gamma: {a: 1, gamma: 1, b: 0.9}";
    const CROPPED_BESIDE: &str =
        "bits: 8}\n    - crop: {region_px: {x_offset: 600, y_offset: 0, width: 64, height: 8}} #";
    const NOISE_AT_LAST: &str = "bits: 8}\n    - drop_out: {probability: 0}\n    - noise: {read_sigma_e: 12} #";
    const JPEG_OF_12: &str = "bits: 12}\n  compressed: {format: jpeg}";
    const GUESSED_TRUTH: &str =
        "rate_hz: 200\n  attitude_errors: {tilt_sigma_deg: 1, heading_sigma_deg: 2, time_s: 60}";
    const TILTED_TOO_FAR: &str =
        "rate_hz: 200\n  attitude: estimate\n  attitude_errors: {tilt_sigma_deg: 60, heading_sigma_deg: 2, time_s: 60}";
    const TURNED_TOO_FAR: &str = "rate_hz: 200\n  mount: {at_m: [0, 0, 1], rpy_deg: [0, 400, 0]}";
    const TWO_FAMILIES: &str =
        "  gyro_rad_s:\n    sensor: {offset: 0, white_sigma: 0, walk_mean: 0, walk_sigma: 0, walk_time_s: 1}\n";
    const TWO_BIASES: &str = "  gyro_rad_s:\n    turn_on_bias: {given: [1, 2]}\n";
    const NEGATIVE_STEP: &str = "  gyro_rad_s:\n    resolution: -0.1\n";

    fn config() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor")
    }

    fn files() -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(config()).expect("config/sensor").map(|entry| entry.expect("entry").path()).collect();
        files.retain(|file| file.is_file());
        files.sort();
        files
    }

    /// The error on loading a file with this text; `name` keeps the files of different tests apart.
    fn refusal(name: &str, text: &str) -> String {
        let name = name.replace('/', "-");
        let path = std::env::temp_dir().join(format!("selene-bad-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("written");
        let message = SensorSpec::load(&path).expect_err(text).to_string();
        std::fs::remove_file(&path).expect("removed");
        message
    }

    #[test]
    fn every_file_of_config_sensor_loads_under_its_own_name() {
        assert!(files().len() >= 5);
        for file in files() {
            let spec = SensorSpec::load(&file).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(file.file_stem().and_then(|s| s.to_str()), Some(spec.header().name));
            assert!(!spec.header().link.is_empty());
        }
    }

    #[test]
    fn a_refused_file_is_reported_with_line_value_and_what_is_allowed() {
        for (file, from, to, parts) in [
            ("navcam_left.yaml", "width: 640", "width: 0", vec!["line 6", "width", "1 to 8192", "0"]),
            ("navcam_left.yaml", "fov_deg: 70", "fov_deg: 171", vec!["line 8", "171", "1 to 170"]),
            (
                "navcam_left.yaml",
                "  width: 640\n",
                "  width: 640\n  mount: {at_m: [0, 0, 1], look_at_m: [0, 0, 1]}\n",
                vec!["line 7", "look_at_m", "[0.0, 0.0, 1.0]", "from at_m"],
            ),
            (
                "navcam_left.yaml",
                "  width: 640\n",
                "  width: 640\n  mount: {at_m: [1e300, 0, 1], look_at_m: [1, 0, 1]}\n",
                vec!["line 7", "at_m", "-100 to 100"],
            ),
            (
                "navcam_left.yaml",
                "  width: 640\n",
                "  width: 640\n  mount: {at_m: [0, 0, 1], look_at_m: [1, .inf, 1]}\n",
                vec!["line 7", "look_at_m", "inf", "-100 to 100"],
            ),
            ("navcam_left.yaml", "sun_samples: 4", "sun_samples: 33", vec!["line 26", "sun_samples", "33", "1 to 32"]),
            ("navcam_left.yaml", "bounce_rays: 0", "bounce: 1", vec!["line 27", "bounce", "bounce_rays"]),
            ("navcam_left.yaml", "bounce_rays: 0", "bounces: 9", vec!["line 27", "bounces", "9", "1 to 8"]),
            ("navcam_left.yaml", "bounce_rays: 0", "earth_samples: 0", vec!["line 27", "earth_samples", "1 to 32"]),
            (
                "navcam_left.yaml",
                "bounce_rays: 0",
                "bounce_rays: 0\n    bounces: 2",
                vec!["line 28", "bounces", "value 2", "bounce_rays 0"],
            ),
            ("navcam_left.yaml", "f_number: 8", "f_number: 0", vec!["line 14", "f_number", "value 0", "0.5 to 64"]),
            ("navcam_left.yaml", STAGES, FOCUS_WITHIN, vec!["focus_m", "0.002", "focal length"]),
            ("navcam_left.yaml", "linear: {full_well_e: 12000}", BRIGHT, vec!["metering", "target 0.6", "response"]),
            ("navcam_left.yaml", "bits: 8", "bits: 9", vec!["line 20", "bits", "value 9", "8, 10, 12, 14 or 16"]),
            (
                "navcam_left.yaml",
                "    - noise:",
                "    - flare: {}\n    - noise:",
                vec!["line 18", "flare", "electrons"],
            ),
            (
                "navcam_left.yaml",
                "    - noise:",
                "    - lag: {by_s: 0.1}\n    - noise:",
                vec!["line 18", "lag", "takes an image", "given electrons"],
            ),
            ("navcam_left.yaml", "bits: 8}", CROPPED_BESIDE, vec!["crop", "x_offset: 600", "640 x 360"]),
            ("navcam_left.yaml", "bits: 8}", NOISE_AT_LAST, vec!["line 22", "noise", "electrons", "given an image"]),
            (
                "imu.yaml",
                "rate_hz: 200",
                "rate_hz: 200\n  stages: [{crop: {range_m: [0, 1]}}]",
                vec!["line 7", "stage 1: crop", "takes a point cloud", "given an inertial sample"],
            ),
            (
                "deck.yaml",
                "  truth: true",
                "  stages:\n    - drop_out: {probability: 2}\n  truth: true",
                vec!["line 14", "probability", "value 2", "0 to 1"],
            ),
            ("navcam_left.yaml", "bits: 8}", JPEG_OF_12, vec!["compressed", "jpeg", "12 bits", "png"]),
            ("navcam_left.yaml", "depth: metres", "depth: feet", vec!["feet", "metres", "millimetres"]),
            (
                "navcam_left.yaml",
                "truth: ",
                "samples: 0\n  truth: ",
                vec!["line 21", "samples", "value 0", "1 to 1024"],
            ),
            (
                "navcam_left.yaml",
                "truth: ",
                "motion_blur: true\n  truth: ",
                vec!["line 10", "lag_s", "0.02", "at least 0.025"],
            ),
            (
                "obstacle_lidar.yaml",
                "columns: 180",
                "columns: 900000",
                vec!["line 14", "columns", "900000", "1 to 8192"],
            ),
            (
                "obstacle_lidar.yaml",
                "columns: 180",
                "columns: 180\n      cycle_s: 1.0e-4",
                vec!["exactly one of cycle_s, columns"],
            ),
            ("obstacle_lidar.yaml", "      columns: 180\n", "", vec!["exactly one of cycle_s, columns"]),
            (
                "obstacle_lidar.yaml",
                "rate_hz: 10",
                "rate_hz: 500",
                vec!["firing_interval_s", "0.000002304", "8 channels"],
            ),
            ("obstacle_lidar.yaml", "count: 8", "count: 1", vec!["line 12", "count", "2 to 1024"]),
            (
                "obstacle_lidar.yaml",
                "  range_sigma_m",
                "  scan_ring: 8\n  range_sigma_m",
                vec!["scan_ring", "8", "0 to 7"],
            ),
            ("lidar.yaml", "rate_hz: 5\n", "rate_hz: 0\n", vec!["line 6", "rate_hz", "value 0", "to 1000"]),
            ("lidar.yaml", "rate_hz: 5\n", "rate_hz: 7.5\n", vec!["line 6", "7.5", "5, 6, 7", "20 Hz"]),
            ("lidar.yaml", "cycle_s: 55.296e-6", "cycle_s: 1.0e-6", vec!["firing_interval_s", "16 channels"]),
            ("lidar.yaml", "[-15, 1,", "[-15, 99,", vec!["line 12", "99", "-90 to 90"]),
            ("lidar.yaml", VLP_16, "elevations_deg: []", vec!["line 12", "1 to 1024"]),
            ("lidar.yaml", VLP_16, "{}", vec!["exactly one", "uniform", "elevations_deg"]),
            (
                "lidar.yaml",
                "      spin:",
                "        azimuths_deg: [1, 2, 3]\n      spin:",
                vec!["line 13", "3 numbers", "16 or a whole part"],
            ),
            ("lidar.yaml", "max_range_m: 100", "max_range_m: 0.2", vec!["line 18", "0.2", "min_range_m (0.5)"]),
            ("lidar.yaml", "max_range_m: 100", "max_range_m: .inf", vec!["line 18", "inf", "finite"]),
            ("lidar.yaml", "returns: strongest", "returns: best", vec!["line 22", "best", "strongest", "dual", "mean"]),
            (
                "lidar.yaml",
                "layout: velodyne ",
                "layout: pcl ",
                vec!["line 27", "pcl", "velodyne", "ouster", "autoware"],
            ),
            (
                "lidar.yaml",
                "  returns:",
                "  divergence: {horizontal_mrad: 0, vertical_mrad: 0, samples: 5}\n  returns:",
                vec!["line 22", "samples", "value 5", "must be 1"],
            ),
            (
                "lidar.yaml",
                "  returns:",
                "  divergence: {horizontal_mrad: 3, vertical_mrad: 1.5, samples: 257}\n  returns:",
                vec!["line 22", "samples", "257", "1 to 256"],
            ),
            (
                "lidar.yaml",
                "  returns:",
                "  divergence: {horizontal_mrad: 3, vertical_mrad: 1.5, samples: 200}\n  returns:",
                vec!["57888 beams of 200 rays", "4194304"],
            ),
            (
                "lidar.yaml",
                "  returns:",
                "  dead_sectors: [{azimuth_deg: [0, 10], elevation_deg: [5, -5]}]\n  returns:",
                vec!["line 22", "elevation_deg", "-5", "5 to 90"],
            ),
            ("lidar/raster.yaml", "scan_s: 0.09", "scan_s: 0.2", vec!["scan_s", "0.2", "1.0000e-1"]),
            (
                "lidar/flash.yaml",
                "columns: 128, rows: 128",
                "columns: 8192, rows: 8192",
                vec!["67108864 beams", "1048576"],
            ),
            ("lidar/flash.yaml", "intensity: raw", "intensity: raw\n  layout: autoware", vec!["autoware", "one byte"]),
            ("lidar/livox_like.yaml", "[121.57, -77.73]", "[121.57, 0]", vec!["prisms_hz", "must turn"]),
            (
                "lidar/livox_like.yaml",
                "  min_range_m",
                "  images: true\n  min_range_m",
                vec!["images", "only spinning"],
            ),
            (
                "lidar/livox_like.yaml",
                "rosette: {points_per_s: 100000, prisms_hz: [121.57, -77.73], half_angle_deg: 19.2}",
                "pattern: {file: no_such.csv}",
                vec!["no_such.csv", "cannot be read"],
            ),
            ("ars408_near.yaml", "rays: [240, 40]", "rays: [0, 40]", vec!["line 23", "[0, 40]", "1 to 4194304"]),
            ("ars408_near.yaml", "max_range_m: 70", "max_range_m: 0.1", vec!["line 25", "0.1", "min_range_m (0.2)"]),
            ("ars408_near.yaml", "[-111.1, 55.6]", "[5, -5]", vec!["line 29", "[5.0, -5.0]", "lower one first"]),
            ("ars408_near.yaml", "[-111.1, 55.6]", "[-1e9, 5]", vec!["line 29", "-100000 to 100000"]),
            (
                "ars408_near.yaml",
                "range_resolution_m: 0.39",
                "range_resolution_m: 1e-30",
                vec!["line 26", "range_resolution_m", "0.001 to 10000"],
            ),
            (
                "ars408_near.yaml",
                "azimuth_resolution_deg: 4.4",
                "azimuth_resolution_deg: 1e-40",
                vec!["line 27", "azimuth_resolution_deg", "0.001 to 360"],
            ),
            (
                "ars408_near.yaml",
                "azimuth_resolution_deg: 4.4",
                "azimuth_resolution_deg: 4.4\n  elevation_resolution_deg: 1e-40",
                vec!["elevation_resolution_deg", "0.001 to 360"],
            ),
            (
                "ars408_near.yaml",
                "speed_resolution_m_s: 0.12",
                "speed_resolution_m_s: 1e-40",
                vec!["line 28", "speed_resolution_m_s", "0.001 to 10000"],
            ),
            ("ars408_near.yaml", "max_range_m: 70", "max_range_m: 1e7", vec!["line 25", "10000000", "0 to 1000000"]),
            ("ars408_near.yaml", "returns_max: 250", "returns_max: 0", vec!["returns_max", "value 0", "1 to 65536"]),
            ("ars408_near.yaml", "swerling1 ", "swerling9 ", vec!["line 20", "swerling9", "steady", "swerling1"]),
            (
                "ars408_near.yaml",
                "ground: {quasi_specular: 0.01",
                "ground: {quasi_specular: 1.5",
                vec!["quasi_specular", "1.5", "0 to 1"],
            ),
            ("azure_kinect.yaml", "[200, 320]", "[200, 200]", vec!["line 20", "[200, 200]", "two that differ"]),
            ("azure_kinect.yaml", "[200, 320]", "[]", vec!["line 20", "one frequency or two"]),
            ("azure_kinect.yaml", "samples_across: 2", "samples_across: 4", vec!["line 19", "5898240", "4194304"]),
            ("azure_kinect.yaml", "multipath: false", "multipath: true", vec!["line 34", "multipath", "first surface"]),
            ("azure_kinect.yaml", "full_well_e: 60000", "full_well_e: 70000", vec!["line 31", "70000", "100 to 65535"]),
            (
                "altimeter.yaml",
                "field_of_view_deg: 0.458",
                "field_of_view_deg: 0",
                vec!["line 13", "rays", "must be 1"],
            ),
            ("altimeter.yaml", "rays: 9", "rays: 257", vec!["line 13", "257", "1 to 256"]),
            ("altimeter.yaml", "infrared  ", "microwave  ", vec!["line 11", "microwave", "ultrasound", "infrared"]),
            ("imu.yaml", "rate_hz: 200", "rate_hz: .nan", vec!["line 6", "nan"]),
            ("imu.yaml", "rate_hz: 200", "rate_hz: 200\n  window_s: 0.01", vec!["line 7", "window_s", "0.01", "0.005"]),
            (
                "imu.yaml",
                "rate_hz: 200",
                "rate_hz: 200\n  attitude: guessed",
                vec!["line 7", "guessed", "truth", "none"],
            ),
            (
                "imu.yaml",
                "rate_hz: 200",
                "rate_hz: 200\n  attitude: estimate",
                vec!["attitude_errors", "estimate needs tilt_sigma_deg, heading_sigma_deg and time_s"],
            ),
            (
                "imu.yaml",
                "rate_hz: 200",
                GUESSED_TRUTH,
                vec!["line 7", "attitude_errors", "goes with attitude: estimate"],
            ),
            ("imu.yaml", "rate_hz: 200", TILTED_TOO_FAR, vec!["line 8", "tilt_sigma_deg", "60", "0 to 45"]),
            ("imu.yaml", "rate_hz: 200", TURNED_TOO_FAR, vec!["line 7", "rpy_deg", "400", "-360 to 360"]),
            ("imu.yaml", "  gyro_rad_s:\n", TWO_FAMILIES, vec!["gyro_rad_s", "exactly one of allan, sensor"]),
            ("imu.yaml", "  gyro_rad_s:\n", TWO_BIASES, vec!["line 10", "turn_on_bias", "must be 3", "2 numbers"]),
            ("imu.yaml", "  gyro_rad_s:\n", NEGATIVE_STEP, vec!["line 10", "resolution", "-0.1", "more than 0"]),
            ("icm20948_mag.yaml", "field_nt: [", "field_nt: [1e9, 0, 0] # [", vec!["field_nt", "-5000000 to 5000000"]),
            ("sun_sensor.yaml", "half_angle_deg: 70", "half_angle_deg: 85", vec!["line 12", "85", "0.1 to 80"]),
            (
                "sun_sensor.yaml",
                "noise_deg: 0.05 ",
                "noise_deg: -0.05 ",
                vec!["line 13", "noise_deg", "-0.05", "0 to 1"],
            ),
            ("sun_sensor.yaml", "[0.05, -0.04]", "[0.05, -4]", vec!["line 14", "bias_deg", "-4", "-1 to 1"]),
            ("sun_sensor.yaml", "sun_share_min: 0.5", "sun_share_min: 0", vec!["line 16", "value 0", "0.01 to 1"]),
            (
                "star_tracker.yaml",
                "roll_sigma_arcsec: 16",
                "roll_sigma_arcsec: .nan",
                vec!["line 13", "NaN", "0 to 3600"],
            ),
            ("star_tracker.yaml", "slew_max_rad_s: 0.01", "slew_max_rad_s: 0", vec!["line 15", "more than 0"]),
            ("star_tracker.yaml", "horizon_exclusion_deg: 25", "horizon_exclusion_deg: 91", vec!["line 17", "0 to 90"]),
            (
                "contact_front_left.yaml",
                "resolution: 0.25",
                "resolution: 501",
                vec!["line 9", "resolution", "501", "the range (500)"],
            ),
            ("contact_front_left.yaml", "threshold_n: 10 ", "threshold_n: -1 ", vec!["line 10", "-1", "0 or more"]),
            ("hub_front_left.yaml", "window_s: 0.01", "window_s: 2", vec!["line 11", "window_s", "0 to 1"]),
            ("hub_front_left.yaml", "range: [500, 900, 500]", "range: [500, 0, 500]", vec!["line 12", "more than 0"]),
            ("hub_front_left.yaml", "[0.1, 0.2, 0.1]", "[0.1, 1000, 0.1]", vec!["line 12", "1000", "range"]),
            ("gps.yaml", "name: gps", "name: 9gps", vec!["line 3", "name", "9gps", "beginning with a letter"]),
            ("gps.yaml", "position:", "sonar:", vec!["line 2", "sonar", "camera", "lidar", "imu", "position"]),
            ("gps.yaml", "qos: reliable", "qos: best", vec!["line 7", "best", "sensor_data", "reliable"]),
            ("gps.yaml", "lag_s:", "lagg_s:", vec!["line 6", "lagg_s"]),
            ("gps.yaml", "  lag_s: 0\n", "", vec!["line 8", "missing", "lag_s"]),
            ("lunanet.yaml", "window_s: 0.5", "window_s: 11", vec!["line 13", "window_s", "11", "0 to 10"]),
            ("lunanet.yaml", "time_s: 1800", "time_s: 0", vec!["line 17", "time_s", "more than 0"]),
            (
                "lunanet.yaml",
                "  outages:\n",
                "  outages:\n    windows_s: [[20, 10]]\n",
                vec!["line 22", "[20, 10]", "from 0 s on"],
            ),
            (
                "lunanet.yaml",
                "mean_duration_s: 120",
                "mean_duration_s: 1e9",
                vec!["line 22", "mean_duration_s", "at most 100 mean_interval_s"],
            ),
            ("lunanet.yaml", "window_s: 0.5", "figure: mars", vec!["line 13", "mars", "moon", "earth"]),
            ("battery.yaml", "full_v: 33.6", "full_v: 20", vec!["line 11", "value 20", "at least empty_v (24)"]),
            ("battery.yaml", "initial_charge: 0.9", "initial_charge: 2", vec!["line 9", "value 2", "0 to 1"]),
            ("wheel_odometry.yaml", "variance: 1.0e+6", "variance: 0", vec!["line 15", "more than 0"]),
            ("drive_torques.yaml", "range_nm: 400", "range_nm: -1", vec!["line 11", "-1", "more than 0"]),
            ("deck.yaml", "dark_c: -120", "dark_c: -300", vec!["line 9", "-300", "-273.15 to 1000"]),
        ] {
            let good = std::fs::read_to_string(config().join(file)).expect("file");
            assert_eq!(good.matches(from).count(), 1, "{from} in {file}");
            let message = refusal(file, &good.replace(from, to));
            for part in parts {
                assert!(message.contains(part), "'{part}' is missing in: {message}");
            }
        }
    }

    #[test]
    fn every_preset_of_a_lidar_loads_and_replaces_the_rovers_own() {
        let presets: Vec<PathBuf> = std::fs::read_dir(config().join("lidar"))
            .expect("config/sensor/lidar")
            .map(|entry| entry.expect("entry").path())
            .collect();
        assert!(presets.len() >= 8, "{presets:?}");
        for file in presets {
            let spec = SensorSpec::load(&file).unwrap_or_else(|e| panic!("{e}"));
            assert!(matches!(spec, SensorSpec::Lidar(_)) && spec.header().name == "lidar", "{}", file.display());
        }
    }

    #[test]
    fn a_file_without_a_kind_or_with_two_is_refused_with_the_kinds_there_are() {
        let gps = std::fs::read_to_string(config().join("gps.yaml")).expect("file");
        let imu = std::fs::read_to_string(config().join("imu.yaml")).expect("file");
        for (name, text) in [("none", "position: null\n"), ("two", &format!("{gps}{imu}"))] {
            let message = refusal(name, text);
            for part in
                ["exactly one of camera, lidar, radar, tof_camera, range_finder, imu, position", "one sensor a file"]
            {
                assert!(message.contains(part), "'{part}' is missing in: {message}");
            }
        }
    }
}
