//! Settings of a sensor that can change while the world runs: whether it measures at all, its noise, a camera's
//! exposure. The setting in force at a sample's instant applies to the sample, so a change never affects earlier
//! samples.
//!
//! Without noise, everything that is drawn anew for each sample is gone: white noise, drifts and walks, and a camera's
//! whole stages `noise` and `intensity_noise`. Quantities drawn once (biases, scale errors, misalignments) stay, and so
//! do ranges, steps and outages. Sensors of the rover's own body that count and integrate (encoders, odometry, torques,
//! battery, temperature) keep their noise, because it is part of their memory. So does a time-of-flight camera, whose
//! noise is that of the electrons that it counts. A radar without noise has steady echoes, a noiseless receiver and no
//! false alarms. The stages `noise` of a sensor without noise add nothing.

use serde::{Deserialize, Serialize};

use crate::camera::{CameraSpec, EXPOSURE_MAX_S, EXPOSURE_MIN_S};
use crate::force_torque::{ChannelsSpec, ForceTorqueSpec};
use crate::imu::{AttitudeErrorSpec, ImuSpec};
use crate::inclinometer::InclinometerSpec;
use crate::lidar::LidarSpec;
use crate::magnetometer::MagnetometerSpec;
use crate::noise::DriftSpec;
use crate::position::{PositionSpec, VelocitySpec};
use crate::radar::{Fluctuation, RadarSpec};
use crate::range_finder::RangeFinderSpec;
use crate::spec::SensorSpec;
use crate::star_tracker::StarTrackerSpec;
use crate::sun_sensor::SunSensorSpec;
use crate::triad::{AllanSpec, TriadSpec};

/// The settings of one sensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensorSetting {
    /// Whether it measures.
    pub enabled: bool,
    /// Whether its readings have noise.
    pub noise: bool,
    /// For cameras: exposure time, s, the longest one with metering; left out, as in the sensor's file.
    pub exposure_s: Option<f64>,
    /// For cameras: whether each frame's exposure is metered; left out, as in the sensor's file.
    pub auto_exposure: Option<bool>,
}

/// Why a sensor cannot have a setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// The sensor is not a camera and has no exposure.
    #[error("exposure_s, auto_exposure: only cameras are exposed")]
    NoCamera,
    /// The exposure is too short or too long.
    #[error("exposure_s: value {value_s} is not allowed: must be {EXPOSURE_MIN_S} to {longest_s}")]
    Exposure {
        /// The refused exposure, s.
        value_s: f64,
        /// The longest allowed exposure, s.
        longest_s: f64,
    },
    /// The camera cannot meter.
    #[error("auto_exposure: value true is not allowed: the camera's stages do not give its metering's target")]
    CannotMeter,
    /// The noise cannot be switched off, because it is part of what the sensor counts or integrates.
    #[error("noise: value false is not allowed: the noise of this sensor is in what it counts or integrates")]
    NoiseStays,
}

impl Default for SensorSetting {
    /// The settings of the sensor's file: enabled and with noise.
    fn default() -> Self {
        Self { enabled: true, noise: true, exposure_s: None, auto_exposure: None }
    }
}

impl SensorSpec {
    /// Refuses a setting that the sensor cannot have.
    ///
    /// # Errors
    /// When the sensor cannot have it; the error says what is allowed.
    pub fn check(&self, setting: &SensorSetting) -> Result<(), SettingError> {
        if !setting.noise && self.without_noise().is_none() {
            return Err(SettingError::NoiseStays);
        }
        match self {
            Self::Camera(camera) => camera.check(setting),
            _ if setting.exposure_s.is_some() || setting.auto_exposure.is_some() => Err(SettingError::NoCamera),
            _ => Ok(()),
        }
    }

    /// The same sensor without noise; `None` where the noise is part of what it counts or integrates.
    #[must_use]
    pub fn without_noise(&self) -> Option<Self> {
        match self {
            Self::Camera(spec) => Some(Self::Camera(spec.without_noise())),
            Self::Lidar(spec) => Some(Self::Lidar(spec.without_noise())),
            Self::Radar(spec) => Some(Self::Radar(spec.without_noise())),
            Self::RangeFinder(spec) => {
                Some(Self::RangeFinder(RangeFinderSpec { range_sigma_m: 0.0, range_sigma_share: 0.0, ..spec.clone() }))
            }
            Self::Imu(spec) => Some(Self::Imu(ImuSpec {
                attitude_errors: spec.attitude_errors.map(AttitudeErrorSpec::without_noise),
                gyro_rad_s: quiet(&spec.gyro_rad_s),
                accelerometer_m_s2: quiet(&spec.accelerometer_m_s2),
                ..spec.clone()
            })),
            Self::Position(spec) => Some(Self::Position(quiet_position(spec))),
            Self::Magnetometer(spec) => {
                Some(Self::Magnetometer(MagnetometerSpec { errors_nt: quiet(&spec.errors_nt), ..spec.clone() }))
            }
            Self::Inclinometer(spec) => {
                Some(Self::Inclinometer(InclinometerSpec { errors_rad: quiet(&spec.errors_rad), ..spec.clone() }))
            }
            Self::SunSensor(spec) => Some(Self::SunSensor(SunSensorSpec { noise_deg: 0.0, ..spec.clone() })),
            Self::StarTracker(spec) => Some(Self::StarTracker(StarTrackerSpec {
                cross_boresight_sigma_arcsec: 0.0,
                roll_sigma_arcsec: 0.0,
                ..spec.clone()
            })),
            Self::Contact(spec) => {
                let mut quiet = spec.clone();
                quiet.load_n.noise_sigma = 0.0;
                Some(Self::Contact(quiet))
            }
            Self::ForceTorque(spec) => Some(Self::ForceTorque(ForceTorqueSpec {
                force_n: ChannelsSpec { noise_sigma: [0.0; 3], ..spec.force_n },
                torque_nm: ChannelsSpec { noise_sigma: [0.0; 3], ..spec.torque_nm },
                ..spec.clone()
            })),
            Self::TofCamera(_)
            | Self::Encoders(_)
            | Self::Odometry(_)
            | Self::Torques(_)
            | Self::Battery(_)
            | Self::Temperature(_) => None,
        }
    }
}

impl CameraSpec {
    /// The longest exposure that it can be set to, s: with motion blur the exposure must end before the image is
    /// published.
    #[must_use]
    pub fn exposure_max_s(&self) -> f64 {
        if !self.motion_blur {
            return EXPOSURE_MAX_S;
        }
        // A nanosecond less, because instants are rounded to whole nanoseconds.
        let after_s = self.lag_s - self.shutter(0.0).closes_after().secs_f64() - 1e-9;
        (2.0 * after_s).clamp(self.exposure_s, EXPOSURE_MAX_S)
    }

    fn check(&self, setting: &SensorSetting) -> Result<(), SettingError> {
        if let Some(value_s) = setting.exposure_s.filter(|exposure_s| !self.can_expose(*exposure_s)) {
            return Err(SettingError::Exposure { value_s, longest_s: self.exposure_max_s() });
        }
        let must_meter = setting.auto_exposure == Some(true);
        if must_meter && !self.can_meter() { Err(SettingError::CannotMeter) } else { Ok(()) }
    }

    fn can_expose(&self, exposure_s: f64) -> bool {
        (EXPOSURE_MIN_S..=self.exposure_max_s()).contains(&exposure_s)
    }

    /// The camera with these settings, except for noise. Settings that this camera cannot have, for instance from a
    /// recorded run with a different camera of the same name, keep the values of its file.
    #[must_use]
    pub fn set_to(&self, setting: &SensorSetting) -> Self {
        let exposure_s = setting.exposure_s.filter(|exposure_s| self.can_expose(*exposure_s));
        let auto_exposure = setting.auto_exposure.filter(|auto| !auto || self.can_meter());
        Self {
            exposure_s: exposure_s.unwrap_or(self.exposure_s),
            auto_exposure: auto_exposure.unwrap_or(self.auto_exposure),
            ..self.clone()
        }
    }

    fn without_noise(&self) -> Self {
        Self { stages: self.stages.clone().without("noise").without("intensity_noise"), ..self.clone() }
    }
}

impl LidarSpec {
    /// The same lidar without noise.
    #[must_use]
    pub fn without_noise(&self) -> Self {
        Self {
            range_sigma_m: 0.0,
            azimuth_sigma_deg: 0.0,
            elevation_sigma_deg: 0.0,
            intensity_sigma: 0.0,
            ..self.clone()
        }
    }
}

impl RadarSpec {
    /// The same radar without noise.
    #[must_use]
    pub fn without_noise(&self) -> Self {
        Self {
            fluctuation: Fluctuation::Noiseless,
            range_sigma_m: 0.0,
            azimuth_sigma_deg: 0.0,
            elevation_sigma_deg: 0.0,
            speed_sigma_m_s: 0.0,
            false_alarms: 0.0,
            ..self.clone()
        }
    }
}

fn quiet_position(spec: &PositionSpec) -> PositionSpec {
    let velocity = VelocitySpec { horizontal_sigma_m_s: 0.0, vertical_sigma_m_s: 0.0 };
    PositionSpec {
        horizontal_sigma_m: 0.0,
        vertical_sigma_m: 0.0,
        drift: None,
        velocity: spec.velocity.map(|_| velocity),
        ..spec.clone()
    }
}

/// The same axes without white noise and drift.
fn quiet(triad: &TriadSpec) -> TriadSpec {
    TriadSpec {
        allan: triad.allan.map(|_| AllanSpec::default()),
        sensor: triad.sensor.map(|drift| DriftSpec { white_sigma: 0.0, walk_mean: 0.0, walk_sigma: 0.0, ..drift }),
        ..triad.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{SensorSetting, SettingError};
    use crate::SensorSpec;
    use crate::camera::tests::camera;
    use std::path::Path;

    fn sensor(file: &str) -> SensorSpec {
        SensorSpec::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor").join(file)).expect("good")
    }

    #[test]
    fn an_exposure_is_refused_outside_what_its_camera_can_have() {
        let exposed = |exposure_s| SensorSetting { exposure_s: Some(exposure_s), ..SensorSetting::default() };
        let mut spec = camera("navcam_left.yaml");
        let check = |spec: &crate::CameraSpec, exposure_s| SensorSpec::Camera(spec.clone()).check(&exposed(exposure_s));
        assert_eq!((check(&spec, 1e-6), check(&spec, 10.0)), (Ok(()), Ok(())));
        for wrong in [0.0, -1.0, 10.5, f64::NAN, f64::INFINITY] {
            let error = check(&spec, wrong).expect_err("refused").to_string();
            assert!(error.contains("must be 0.000001 to 10"), "{error}");
        }
        // Half of the exposure is after the stamp, and the image leaves 20 ms after it.
        (spec.motion_blur, spec.lag_s, spec.exposure_s) = (true, 0.02, 0.01);
        assert_eq!((check(&spec, 0.0399), check(&spec, 0.0401).is_err()), (Ok(()), true));
        assert_eq!(spec.set_to(&exposed(0.0401)).exposure_s, 0.01, "of another camera");
        assert_eq!(spec.set_to(&exposed(0.03)).exposure_s, 0.03);
        let error = sensor("imu.yaml").check(&exposed(0.01)).expect_err("refused");
        assert_eq!(error, SettingError::NoCamera);
    }

    #[test]
    fn noise_can_be_taken_from_all_but_those_that_count_or_integrate() {
        let quiet = SensorSetting { noise: false, ..SensorSetting::default() };
        for file in [
            "imu.yaml",
            "lidar.yaml",
            "gps.yaml",
            "sun_sensor.yaml",
            "star_tracker.yaml",
            "navcam_left.yaml",
            "ars408_near.yaml",
            "altimeter.yaml",
        ] {
            let spec = sensor(file);
            assert_eq!(spec.check(&quiet), Ok(()), "{file}");
            let without = spec.without_noise().expect("some");
            assert_ne!(without, spec, "{file} had noise");
            assert_eq!(without.without_noise(), Some(without.clone()), "{file}");
        }
        for file in ["wheel_encoders.yaml", "wheel_odometry.yaml", "battery.yaml", "azure_kinect.yaml"] {
            assert_eq!(sensor(file).check(&quiet), Err(SettingError::NoiseStays), "{file}");
        }
    }
}
