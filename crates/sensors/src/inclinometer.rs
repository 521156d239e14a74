//! A two-axis inclinometer: the tilt of its frame against the plumb line, measured with an accelerometer. With the
//! specific force f in its frame (x forward, y left, z up) its angles are roll φ = atan2(f_y, f_z) and pitch
//! θ = atan2(−f_x, √(f_y² + f_z²)), which turn a level frame about z, then y by θ, then x by φ (REP-103): nose down is
//! a positive pitch. So it errs while the rover accelerates, as real ones do; its published truth uses gravity alone.
//! Damping is modelled as the mean over a collection window. Its errors are those of `triad`, in rad; the third axis
//! of the triad is unused.

use garde::Validate;
use nalgebra::{UnitQuaternion, Vector2, Vector3};
use schemars::JsonSchema;
use selene_base::SimTime;
use selene_base::input::non_negative;
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::imu::within_a_period;
use crate::noise::gaussian3;
use crate::spec::{lag, rate, ros_name};
use crate::triad::{Triad, TriadSpec, one_family};
use crate::{PlacementSpec, Sample, SensorQos};

/// Number of instants sampled in a collection window.
const WINDOW_INSTANTS: u32 = 16;

/// An inclinometer.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct InclinometerSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame whose tilt it measures; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link; left out, its frame is the link's.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
    /// Sampling rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from measurement to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topic.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the readings pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::Tilt, self.rate_hz)))]
    pub stages: Augments,
    /// Whether the truth is published beside its readings.
    #[serde(default)]
    #[garde(skip)]
    pub truth: bool,
    /// Time over which the force is averaged, s; at most one sampling period.
    #[serde(default)]
    #[garde(custom(non_negative), custom(within_a_period(self.rate_hz)))]
    pub window_s: f64,
    /// Errors of roll and pitch, rad.
    #[garde(dive, custom(one_family))]
    pub errors_rad: TriadSpec,
}

/// An inclinometer with the errors drawn for one run.
#[derive(Clone, Debug)]
pub struct Inclinometer {
    spec: InclinometerSpec,
    seed: u64,
    triad: Triad,
}

impl Inclinometer {
    /// The inclinometer of a spec; `seed` is the scenario's.
    #[must_use]
    pub fn new(spec: InclinometerSpec, seed: u64) -> Self {
        let triad = Triad::new(&spec.errors_rad, 1.0 / spec.rate_hz, seed, &format!("{}/tilt", spec.name));
        Self { spec, seed, triad }
    }

    /// The instants over which the force is averaged; only the sample's own without a collection window.
    pub fn instants(&self, sample: Sample) -> impl Iterator<Item = SimTime> + use<> {
        let window_s = self.spec.window_s;
        let count = if window_s > 0.0 { WINDOW_INSTANTS } else { 1 };
        let before = move |part: u32| window_s * (1.0 - (f64::from(part) + 0.5) / f64::from(count));
        (0..count).map(move |part| sample.instant - SimTime::from_secs_f64(before(part)))
    }

    /// True roll and pitch of a frame with this attitude in the map frame, rad.
    #[must_use]
    pub fn exact_rad(world_from_unit: &UnitQuaternion<f64>) -> Vector2<f64> {
        tilt_rad(world_from_unit.inverse() * Vector3::z())
    }

    /// The measured roll and pitch at a sample for a specific force in its frame, rad.
    #[must_use]
    pub fn read_rad(&mut self, sample: Sample, force_m_s2: Vector3<f64>) -> Vector2<f64> {
        let draws = gaussian3(&mut stream_at(self.seed, &self.spec.name, sample.index));
        let tilt = tilt_rad(force_m_s2);
        self.triad.read(sample.index, Vector3::new(tilt.x, tilt.y, 0.0), force_m_s2, draws).xy()
    }
}

/// Roll and pitch of a frame from the specific force in it, rad.
fn tilt_rad(force: Vector3<f64>) -> Vector2<f64> {
    Vector2::new(force.y.atan2(force.z), (-force.x).atan2(force.y.hypot(force.z)))
}

#[cfg(test)]
mod tests {
    use super::Inclinometer;
    use nalgebra::{UnitQuaternion, Vector2};

    #[test]
    fn it_reports_roll_and_pitch_whatever_the_heading() {
        for (roll, pitch, yaw) in [(0.0, 0.0, 1.0), (0.2, -0.4, 2.0), (-1.0, 1.2, -3.0), (2.5, 0.3, 0.0)] {
            let found = Inclinometer::exact_rad(&UnitQuaternion::from_euler_angles(roll, pitch, yaw));
            assert!((found - Vector2::new(roll, pitch)).norm() < 1e-12, "{found}");
        }
    }
}
