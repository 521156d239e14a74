//! Which soil lies where. A wheel is on the soil under its centre.

use std::path::Path;

use selene_base::InputError;

use crate::law::Law;
use crate::soil_area::Shape;
use crate::soil_map::SoilsSpec;
use crate::spec::SoilSpec;

/// The soils of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Soils {
    default: Law,
    /// Later ones lie over earlier ones.
    areas: Vec<(Shape, Law)>,
}

impl Soils {
    /// One soil everywhere.
    #[must_use]
    pub fn uniform(law: Law) -> Self {
        Self { default: law, areas: Vec::new() }
    }

    /// Reads a scenario's soils. Files are relative to `scenario_dir`; `seed` is the
    /// scenario's.
    ///
    /// # Errors
    /// When a file is missing or refused, with its line.
    pub fn load(spec: &SoilsSpec, scenario_dir: &Path, seed: u64) -> Result<Self, InputError> {
        let area = |area: &crate::soil_map::AreaSpec| {
            Ok((Shape::load(&area.shape, scenario_dir, seed)?, load_law(&scenario_dir.join(&area.soil))?))
        };
        Ok(Self {
            default: load_law(&scenario_dir.join(&spec.default))?,
            areas: spec.areas.iter().map(area).collect::<Result<_, InputError>>()?,
        })
    }

    /// The law at a place in the map frame, m.
    #[must_use]
    pub fn at(&self, x_m: f64, y_m: f64) -> &Law {
        let area = self.areas.iter().rev().find(|(shape, _)| shape.holds(x_m, y_m));
        area.map_or(&self.default, |(_, law)| law)
    }
}

fn load_law(path: &Path) -> Result<Law, InputError> {
    let spec = SoilSpec::load(path)?;
    Law::try_from(&spec).map_err(|error| InputError::content(path, error.to_string()))
}
