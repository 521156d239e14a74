//! A magnetometer. The Moon has no global field; its crust is magnetised in places (on the surface 6 to 327 nT were
//! measured where Apollo 12 to 16 landed: Dyal, Parkin and Daily 1974). The field is given, uniform over the site.
//! The rover near the unit disturbs it: for the true field B in the unit's axes, the field at the unit is
//!
//!   B' = (I + S) B + h
//!
//! with the hard iron h (magnets and currents) and the soft iron S (iron that the field magnetises), both fixed in the
//! unit's frame. The unit itself has the errors of `triad`. Currents that change, and the rover's other links, are
//! not modelled.

use garde::Validate;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::random::stream_at;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian3;
use crate::spec::{lag, rate, ros_name};
use crate::triad::{DrawnSpec, Triad, TriadSpec, nine, of_nine, of_three, one_family, three};
use crate::{PlacementSpec, Sample, SensorQos};

/// The strongest field allowed along an axis, nT: a hundred times the Earth's.
const FIELD_MAX_NT: f64 = 5e6;

/// A three-axis magnetometer.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct MagnetometerSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in; with `mount`, the link that carries it.
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
    #[garde(dive, custom(fits(DataType::MagneticField, self.rate_hz)))]
    pub stages: Augments,
    /// Whether the truth is published beside its readings.
    #[serde(default)]
    #[garde(skip)]
    pub truth: bool,
    /// The site's field in map axes (east, north, up), nT.
    #[garde(custom(field))]
    pub field_nt: [f64; 3],
    /// h: constant field that the unit's surroundings add, in its axes, nT.
    #[serde(default)]
    #[garde(dive, custom(three))]
    pub hard_iron_nt: Option<DrawnSpec>,
    /// S: 3 × 3 matrix of the field's distortion by its surroundings, row by row.
    #[serde(default)]
    #[garde(dive, custom(nine))]
    pub soft_iron: Option<DrawnSpec>,
    /// Errors of the unit itself, nT.
    #[garde(dive, custom(one_family))]
    pub errors_nt: TriadSpec,
}

/// A magnetometer with the errors drawn for one run.
#[derive(Clone, Debug)]
pub struct Magnetometer {
    spec: MagnetometerSpec,
    seed: u64,
    hard_iron_nt: Vector3<f64>,
    distortion: Matrix3<f64>,
    triad: Triad,
}

impl Magnetometer {
    /// The magnetometer of a spec; `seed` is the scenario's.
    #[must_use]
    pub fn new(spec: MagnetometerSpec, seed: u64) -> Self {
        let name = &spec.name;
        let soft = of_nine(&spec.soft_iron, seed, &format!("{name}/soft iron"));
        Self {
            hard_iron_nt: of_three(&spec.hard_iron_nt, seed, &format!("{name}/hard iron")),
            distortion: Matrix3::identity() + soft,
            triad: Triad::new(&spec.errors_nt, 1.0 / spec.rate_hz, seed, &format!("{name}/field")),
            seed,
            spec,
        }
    }

    /// The site's field in the axes of a unit with this attitude in the map frame, nT.
    #[must_use]
    pub fn exact_nt(&self, world_from_unit: &UnitQuaternion<f64>) -> Vector3<f64> {
        world_from_unit.inverse() * Vector3::from(self.spec.field_nt)
    }

    /// The reading at a sample for that field, nT.
    #[must_use]
    pub fn read_nt(&mut self, sample: Sample, exact_nt: Vector3<f64>) -> Vector3<f64> {
        let draws = gaussian3(&mut stream_at(self.seed, &self.spec.name, sample.index));
        let met_nt = self.distortion * exact_nt + self.hard_iron_nt;
        self.triad.read(sample.index, met_nt, Vector3::zeros(), draws)
    }

    /// Variance of the white noise, nT².
    #[must_use]
    pub fn white_variance_nt2(&self) -> f64 {
        self.spec.errors_nt.white_sigma(1.0 / self.spec.rate_hz).powi(2)
    }
}

fn field(field_nt: &[f64; 3], (): &()) -> garde::Result {
    field_nt.iter().try_for_each(|nt| within(-FIELD_MAX_NT, FIELD_MAX_NT)(nt, &()))
}

#[cfg(test)]
mod tests {
    use super::{Magnetometer, MagnetometerSpec};
    use crate::{AllanSpec, DrawnSpec, Sample, SensorQos, TriadSpec};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::SimTime;

    const SAMPLE: Sample = Sample { index: 0, instant: SimTime::ZERO };

    fn given(numbers: &[f64]) -> Option<DrawnSpec> {
        Some(DrawnSpec { sigma: None, given: Some(numbers.to_vec()) })
    }

    fn quiet() -> MagnetometerSpec {
        MagnetometerSpec {
            name: "mag".into(),
            link: "mag".into(),
            mount: None,
            rate_hz: 10.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            truth: false,
            field_nt: [20.0, 0.0, -30.0],
            hard_iron_nt: None,
            soft_iron: None,
            errors_nt: TriadSpec { allan: Some(AllanSpec::default()), ..TriadSpec::default() },
        }
    }

    #[test]
    fn a_unit_that_faces_north_sees_the_eastern_field_on_its_right() {
        let north = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::FRAC_PI_2);
        let mut unit = Magnetometer::new(quiet(), 1);
        let exact = unit.exact_nt(&north);
        assert!((exact - Vector3::new(0.0, -20.0, -30.0)).norm() < 1e-12, "{exact}");
        assert_eq!(unit.read_nt(SAMPLE, exact), exact);
    }

    #[test]
    fn iron_shifts_and_distorts_the_field_in_the_units_axes() {
        let soft = [0.1, 0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.0, -0.1];
        let spec = MagnetometerSpec { hard_iron_nt: given(&[5.0, 6.0, 7.0]), soft_iron: given(&soft), ..quiet() };
        let read = Magnetometer::new(spec, 1).read_nt(SAMPLE, Vector3::new(100.0, 10.0, -50.0));
        assert!((read - Vector3::new(115.0, 18.0, -38.0)).norm() < 1e-12, "{read}");
    }
}
