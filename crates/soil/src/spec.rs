//! Soil files (`config/soil/*.yaml`): a name, one law, and the soil's parameters as points. The keys of
//! the soil contact model are its parameters (Bekker, Mohr–Coulomb, Janosi–Hanamoto), as bevameter
//! reports give them; the keys of another law are in its own module. Values that no soil has are refused
//! with file, line and allowed range; the bounds are generous and leave room for rock.

use std::path::Path;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{load_yaml, within};
use selene_base::{InputError, NotOneOf, one_of};
use selene_spheres::SpheresSpec;
use serde::Deserialize;

use crate::data_spec::DataSpec;
use crate::dust::DustSpec;
use crate::granular::CrmKey;
use crate::rigid::RigidSpec;
use crate::slip_map::SlipMapSpec;

/// The stiffest unloading, Pa/m: rock that yields over a millimetre.
const ELASTIC_MAX_PA_PER_M: f64 = 1e14;

/// A soil file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SoilSpec {
    /// Name of the soil, for messages.
    #[garde(length(min = 1))]
    pub name: String,
    /// The law and its parameters.
    #[garde(dive)]
    pub law: SoilLaw,
    /// How pressed soil moves aside; without it, ruts sink and nothing rises.
    #[garde(dive, custom(of_scm_alone(&self.law, "bulldozing", "moves soil aside")))]
    #[serde(default)]
    pub bulldozing: Option<BulldozingSpec>,
    /// The same soil as points, for a scenario's granular windows; without it, no window is allowed there.
    #[garde(dive)]
    #[serde(default)]
    pub crm: Option<CrmKey>,
    /// The same soil as single grains (DEM), for windows with the key `dem`. They throw no dust.
    #[garde(dive, custom(without_dust(self.dust.is_some())))]
    #[serde(default)]
    pub dem: Option<SpheresSpec>,
    /// The dust that wheels and moving granular soil throw; without it, they throw none.
    #[garde(dive, custom(of_scm_alone(&self.law, "dust", "throws dust")))]
    #[serde(default)]
    pub dust: Option<DustSpec>,
}

fn without_dust(has_dust: bool) -> impl FnOnce(&Option<SpheresSpec>, &()) -> garde::Result {
    move |dem, ()| match has_dust && dem.is_some() {
        true => Err(garde::Error::new("single grains throw no dust: leave dust or dem out".to_owned())),
        false => Ok(()),
    }
}

/// The closed set of laws.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "LawKeys")]
pub enum SoilLaw {
    /// The soil contact model (Krenn and Hirzinger 2009).
    Scm(ScmSpec),
    /// Regressions of measured slip and sinkage.
    Data(DataSpec),
    /// Rigid ground with Coulomb friction.
    Rigid(RigidSpec),
    /// Drawbar against slip from a table.
    SlipMap(SlipMapSpec),
}

impl SoilLaw {
    /// Key of the law in a soil file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Scm(_) => "scm",
            Self::Data(_) => "data",
            Self::Rigid(_) => "rigid",
            Self::SlipMap(_) => "slip_map",
        }
    }
}

/// The keys of `law` as they are in the file, of which exactly one is given.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LawKeys {
    scm: Option<ScmSpec>,
    data: Option<DataSpec>,
    rigid: Option<RigidSpec>,
    slip_map: Option<SlipMapSpec>,
}

impl TryFrom<LawKeys> for SoilLaw {
    type Error = NotOneOf;

    fn try_from(keys: LawKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("scm", keys.scm.map(Self::Scm)),
            ("data", keys.data.map(Self::Data)),
            ("rigid", keys.rigid.map(Self::Rigid)),
            ("slip_map", keys.slip_map.map(Self::SlipMap)),
        ])
    }
}

/// By hand, to report paths as in the file, so that a refusal finds its line.
impl Validate for SoilLaw {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        let key = self.key();
        let mut path = garde::util::nested_path!(parent, key);
        match self {
            Self::Scm(spec) => spec.validate_into(&(), &mut path, report),
            Self::Data(spec) => spec.validate_into(&(), &mut path, report),
            Self::Rigid(spec) => spec.validate_into(&(), &mut path, report),
            Self::SlipMap(spec) => spec.validate_into(&(), &mut path, report),
        }
    }
}

/// Parameters of the soil contact model.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScmSpec {
    /// Bekker's frictional modulus Kφ, `N/m^(n+2)`: 1 to 1e12.
    #[garde(custom(positive_within(1.0, 1e12)))]
    pub k_phi: f64,
    /// Bekker's cohesive modulus Kc, `N/m^(n+1)`: −1e9 to 1e9, since fits of some soils are negative.
    #[garde(custom(within(-1e9, 1e9)))]
    pub k_c: f64,
    /// Bekker's exponent n, 0.1 to 3.
    #[garde(custom(within(0.1, 3.0)))]
    pub n: f64,
    /// Cohesion c, Pa: 0 to 1e8, that of rock.
    #[garde(custom(within(0.0, 1e8)))]
    pub cohesion_pa: f64,
    /// Angle of internal friction φ, degrees, 0 to 89.
    #[garde(custom(within(0.0, 89.0)))]
    pub friction_deg: f64,
    /// Janosi–Hanamoto shear displacement J, m: 1 µm to 10 m.
    #[garde(custom(positive_within(1e-6, 10.0)))]
    pub janosi_m: f64,
    /// Stiffness in unloading E, Pa/m: above Kφ, to 1e14.
    #[garde(custom(stiffer_than(self.k_phi)))]
    pub elastic_pa_per_m: f64,
    /// Damping R, Pa s/m: 0 to 1e9.
    #[garde(custom(within(0.0, 1e9)))]
    pub damping_pa_s_per_m: f64,
    /// Direction in which the pressure acts.
    #[garde(skip)]
    #[serde(default)]
    pub pressure: Pressure,
    /// How much further a slipping wheel sinks; without it, slip adds no sinkage.
    #[garde(dive)]
    #[serde(default)]
    pub slip_sinkage: Option<SlipSinkage>,
    /// Bulk density, kg/m³, 0 to 4000. It gives the weight of the soil that a wheel's side pushes
    /// aside; at zero only cohesion resists.
    #[garde(custom(within(0.0, 4000.0)))]
    #[serde(default)]
    pub density_kg_m3: f64,
}

/// Slip-sinkage: sheared soil flows and bears less, so that a slipping wheel sinks further.
/// Bekker's modulus falls to `1 − loss (1 − e^(−j/displacement_m))` of itself over the sheared
/// length j. A form of Selene's own, found from single-wheel tests (docs/validation.md).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SlipSinkage {
    /// Share of the modulus that is lost after long shearing, 0 to 0.95.
    #[garde(custom(within(0.0, 0.95)))]
    pub loss: f64,
    /// Sheared length over which the modulus falls, m: 1 µm to 10 m.
    #[garde(custom(positive_within(1e-6, 10.0)))]
    pub displacement_m: f64,
}

/// Direction in which the pressure of the soil acts on a wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pressure {
    /// Along the normal of the undisturbed terrain, as in Chrono's code: the work of compacting the
    /// soil acts on the wheel as a torque.
    #[default]
    Terrain,
    /// Along the normal of the wheel's surface (Wong and Reece 1967): the work of compacting the
    /// soil acts on the wheel as a force against the motion ahead.
    Surface,
}

/// How pressed soil moves aside.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct BulldozingSpec {
    /// Angle of repose: the steepest slope that moved soil holds, degrees.
    #[garde(custom(within(1.0, 89.0)))]
    pub repose_deg: f64,
    /// Share of the pressed volume that rises around the wheel; the rest compacts.
    #[garde(custom(within(0.0, 1.0)))]
    pub flow: f64,
}

impl Default for BulldozingSpec {
    fn default() -> Self {
        Self { repose_deg: 55.0, flow: 1.0 }
    }
}

impl SoilSpec {
    /// Reads and validates a soil file.
    ///
    /// # Errors
    /// When it cannot be read, or a value is missing, unknown or out of range.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        load_yaml(path)
    }
}

/// A garde check: above zero and between `min` and `max`, both allowed.
pub(crate) fn positive_within(min: f64, max: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| {
        if (min..=max).contains(value) {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {value} is not allowed: must be more than 0, {min} to {max}")))
    }
}

/// A garde check that refuses a key which only the law `scm` uses; `what_it_does` gives the reason.
fn of_scm_alone<T>(law: &SoilLaw, key: &str, what_it_does: &str) -> impl FnOnce(&Option<T>, &()) -> garde::Result {
    move |requested, ()| match (requested, law) {
        (None, _) | (Some(_), SoilLaw::Scm(_)) => Ok(()),
        (Some(_), law) => {
            let what = format!("{key} is not allowed with law {}: scm alone {what_it_does}", law.key());
            Err(garde::Error::new(what))
        }
    }
}

fn stiffer_than(k_phi: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| {
        if *value > k_phi && *value <= ELASTIC_MAX_PA_PER_M {
            return Ok(());
        }
        let allowed = format!("must be more than k_phi ({k_phi}), to {ELASTIC_MAX_PA_PER_M}");
        Err(garde::Error::new(format!("value {value} is not allowed: {allowed}: soil unloads stiffer than it yields")))
    }
}

#[cfg(test)]
mod tests {
    use super::{BulldozingSpec, DustSpec, SoilSpec};
    use selene_base::input::parse_yaml;
    use std::path::Path;

    const LUNAR: &str = "name: lunar
law:
  scm:
    k_phi: 0.82e6
    k_c: 1.4e3
    n: 1.0
    cohesion_pa: 170
    friction_deg: 35
    janosi_m: 0.0178
    elastic_pa_per_m: 2e8
    damping_pa_s_per_m: 3e4
";

    fn refusal(from: &str, to: &str) -> String {
        assert!(LUNAR.contains(from));
        parse_yaml::<SoilSpec>(&LUNAR.replace(from, to), Path::new("soil/x.yaml"))
            .expect_err("must be refused")
            .to_string()
    }

    #[test]
    fn soils_that_cannot_be_are_refused_with_file_line_value_and_what_is_allowed() {
        for (from, to, parts) in [
            ("k_phi: 0.82e6", "k_phi: -1", ["line 4", "-1", "more than 0"]),
            ("n: 1.0", "n: 0", ["line 6", "0", "0.1 to 3"]),
            ("k_phi: 0.82e6", "k_phi: 1e300", ["line 4", "k_phi", "to 1000000000000"]),
            ("cohesion_pa: 170", "cohesion_pa: -5", ["line 7", "-5", "0 to 100000000"]),
            ("cohesion_pa: 170", "cohesion_pa: 1e300", ["line 7", "cohesion_pa", "0 to 100000000"]),
            ("friction_deg: 35", "friction_deg: 90", ["line 8", "90", "0 to 89"]),
            ("janosi_m: 0.0178", "janosi_m: .nan", ["line 9", "NaN", "more than 0"]),
            ("janosi_m: 0.0178", "janosi_m: 1e300", ["line 9", "janosi_m", "to 10"]),
            ("elastic_pa_per_m: 2e8", "elastic_pa_per_m: 1e5", ["line 10", "100000", "more than k_phi (820000)"]),
            ("elastic_pa_per_m: 2e8", "elastic_pa_per_m: 1e300", ["line 10", "elastic", "to 100000000000000"]),
            ("damping_pa_s_per_m: 3e4", "damping_pa_s_per_m: .inf", ["line 11", "inf", "0 to 1000000000"]),
            ("damping_pa_s_per_m: 3e4", "damping_pa_s_per_m: 1e300", ["line 11", "damping", "0 to 1000000000"]),
        ] {
            let message = refusal(from, to);
            for part in parts.iter().chain(&["soil/x.yaml"]) {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }

    #[test]
    fn an_unknown_law_or_key_is_refused_with_its_line() {
        for (from, to) in [("  scm:", "  clay:"), ("    n: 1.0", "    n: 1.0\n    m: 2")] {
            let message = refusal(from, to);
            assert!(message.contains("line ") && message.contains("soil/x.yaml"), "{message}");
        }
    }

    #[test]
    fn bulldozing_is_off_unless_requested_and_its_keys_have_defaults() {
        let parse = |text: &str| parse_yaml::<SoilSpec>(text, Path::new("x")).expect("good").bulldozing;
        assert_eq!(parse(LUNAR), None);
        let requested = parse(&format!("{LUNAR}bulldozing: {{repose_deg: 40}}\n"));
        assert_eq!(requested, Some(BulldozingSpec { repose_deg: 40.0, ..BulldozingSpec::default() }));
    }

    #[test]
    fn dust_is_off_unless_requested_and_refused_where_it_cannot_be() {
        let parse = |text: &str| parse_yaml::<SoilSpec>(text, Path::new("soil/x.yaml"));
        assert_eq!(parse(LUNAR).expect("good").dust, None);
        let requested = parse(&format!("{LUNAR}dust: {{lofted: 0.02}}\n")).expect("good").dust;
        assert_eq!(requested, Some(DustSpec { lofted: 0.02, ..DustSpec::default() }));
        for (keys, parts) in [
            ("{lofted: 1.5}", ["line 12", "1.5", "0 to 1"]),
            ("{grain_m: 0}", ["line 12", "0", "more than 0"]),
            ("{rise: [0.4, 0.1]}", ["line 12", "[0.4, 0.1]", "at most the second"]),
            ("{speed: 2}", ["line 12", "speed", "soil/x.yaml"]),
        ] {
            let message = parse(&format!("{LUNAR}dust: {keys}\n")).expect_err("must be refused").to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{parts:?} are not all in: {message}");
        }
        let rigid = "name: rock\nlaw:\n  rigid: {static_friction: 1, dynamic_friction: 0.8}\ndust: {}\n";
        let message = parse(rigid).expect_err("must be refused").to_string();
        assert!(message.contains("dust is not allowed with law rigid"), "{message}");
    }
}
