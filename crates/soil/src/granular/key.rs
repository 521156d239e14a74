//! The key `crm` of a soil file: the soil's parameters as points, by the name of a published set
//! or one by one.

use std::fmt;

use garde::Validate;
use schemars::JsonSchema;
use selene_crm::{CrmSpec, Preset};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

/// Parameters of granular soil, or the name of a set.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum CrmKey {
    /// A published set.
    Preset(Preset),
    /// The file's own parameters.
    Own(CrmSpec),
}

impl CrmKey {
    /// The parameters.
    #[must_use]
    pub fn soil(&self) -> CrmSpec {
        match self {
            Self::Preset(preset) => preset.soil(),
            Self::Own(soil) => *soil,
        }
    }
}

/// Accepts a name or a mapping. By hand, since serde's untagged enums lose line numbers.
impl<'de> Deserialize<'de> for CrmKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrParameters)
    }
}

struct NameOrParameters;

impl<'de> Visitor<'de> for NameOrParameters {
    type Value = CrmKey;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a set of parameters, or the parameters of granular soil")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<CrmKey, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        Preset::deserialize(name).map(CrmKey::Preset)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CrmKey, A::Error> {
        CrmSpec::deserialize(MapAccessDeserializer::new(map)).map(CrmKey::Own)
    }
}

/// By hand, to report paths as in the file, so that a refusal finds its line.
impl Validate for CrmKey {
    type Context = ();

    fn validate_into(&self, (): &(), parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        if let Self::Own(soil) = self {
            soil.validate_into(&(), parent, report);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;
    use selene_crm::Preset;

    use super::CrmKey;
    use crate::spec::SoilSpec;

    const SOIL: &str = "name: dust
law:
  rigid: { static_friction: 0.8, dynamic_friction: 0.7 }
crm:
  density_kg_m3: 1600
  young_pa: 3e5
  poisson: 0.3
  friction_static: 0.7
  friction_dynamic: 0.9
  inertial_number: 0.3
  grain_m: 0.001
  grain_density_kg_m3: 3100
  cohesion_pa: 170
";

    fn refusal(text: &str) -> String {
        parse_yaml::<SoilSpec>(text, Path::new("soil/x.yaml")).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_soil_has_points_by_parameters_by_name_or_not_at_all() {
        let crm = |text: &str| parse_yaml::<SoilSpec>(text, Path::new("x.yaml")).expect("good").crm;
        let (law, _) = SOIL.split_once("crm:").expect("two parts");
        assert_eq!(crm(law), None);
        assert_eq!(crm(&format!("{law}crm: viper\n")), Some(CrmKey::Preset(Preset::Viper)));
        assert_eq!(crm(SOIL).map(|key| key.soil().young_pa), Some(3e5));
    }

    #[test]
    fn parameters_that_cannot_be_are_refused_with_line_value_and_what_is_allowed() {
        for (from, to, parts) in [
            ("young_pa: 3e5", "young_pa: 10", ["line 6", "10", "1000 to"]),
            ("dynamic: 0.9", "dynamic: 0.6", ["line 9", "0.6", "0.7 to 5"]),
            ("static: 0.7", "static: 9", ["line 8", "9", "0.01 to 5"]),
        ] {
            let message = refusal(&SOIL.replace(from, to));
            for part in parts.iter().chain(&["soil/x.yaml"]) {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
        let (law, _) = SOIL.split_once("crm:").expect("two parts");
        let message = refusal(&format!("{law}crm: mud\n"));
        assert!(message.contains("mud") && message.contains("moving_patch"), "{message}");
    }
}
