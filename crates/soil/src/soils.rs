//! Looks up the soil at a place of the site. A wheel is on the soil under its centre.

use std::path::Path;

use selene_base::InputError;
use selene_crm::CrmSpec;
use selene_spheres::SpheresSpec;

use crate::law::Law;
use crate::soil_area::Shape;
use crate::soil_map::SoilsSpec;
use crate::spec::SoilSpec;

/// The soils of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Soils {
    default: Soil,
    /// Areas with another soil; later ones lie over earlier ones.
    areas: Vec<(Shape, Soil)>,
}

/// A soil: the law of its height field, and its parameters as points and as single grains if it has any.
#[derive(Clone, Debug, PartialEq)]
struct Soil {
    law: Law,
    crm: Option<CrmSpec>,
    dem: Option<SpheresSpec>,
}

impl Soils {
    /// One soil everywhere.
    #[must_use]
    pub fn uniform(law: Law) -> Self {
        Self { default: Soil { law, crm: None, dem: None }, areas: Vec::new() }
    }

    /// Gives the default soil, which lies outside all areas, parameters as points.
    #[must_use]
    pub fn with_crm(mut self, crm: CrmSpec) -> Self {
        self.default.crm = Some(crm);
        self
    }

    /// Gives the default soil parameters as single grains.
    #[must_use]
    pub fn with_dem(mut self, dem: SpheresSpec) -> Self {
        self.default.dem = Some(dem);
        self
    }

    /// Reads a scenario's soils. Files are relative to `scenario_dir`; `seed` is the
    /// scenario's.
    ///
    /// # Errors
    /// When a file is missing or refused, with its line.
    pub fn load(spec: &SoilsSpec, scenario_dir: &Path, seed: u64) -> Result<Self, InputError> {
        let area = |area: &crate::soil_map::AreaSpec| {
            Ok((Shape::load(&area.shape, scenario_dir, seed)?, load_soil(&scenario_dir.join(&area.soil))?))
        };
        Ok(Self {
            default: load_soil(&scenario_dir.join(&spec.default))?,
            areas: spec.areas.iter().map(area).collect::<Result<_, InputError>>()?,
        })
    }

    /// The law at a place in the map frame, m.
    #[must_use]
    pub fn at(&self, x_m: f64, y_m: f64) -> &Law {
        &self.soil_at(x_m, y_m).law
    }

    /// Parameters of the soil at a place in the map frame, m, as points; none where its file has no key `crm`.
    #[must_use]
    pub fn crm_at(&self, x_m: f64, y_m: f64) -> Option<&CrmSpec> {
        self.soil_at(x_m, y_m).crm.as_ref()
    }

    /// Parameters of the soil at a place in the map frame, m, as single grains; none where its file has no key `dem`.
    #[must_use]
    pub fn dem_at(&self, x_m: f64, y_m: f64) -> Option<&SpheresSpec> {
        self.soil_at(x_m, y_m).dem.as_ref()
    }

    /// Whether there is dust to throw on any soil.
    #[must_use]
    pub fn any_dust(&self) -> bool {
        let others = self.areas.iter().map(|(_, soil)| soil);
        others.chain([&self.default]).any(|soil| soil.law.dust().is_some())
    }

    fn soil_at(&self, x_m: f64, y_m: f64) -> &Soil {
        let area = self.areas.iter().rev().find(|(shape, _)| shape.holds(x_m, y_m));
        area.map_or(&self.default, |(_, soil)| soil)
    }
}

fn load_soil(path: &Path) -> Result<Soil, InputError> {
    let spec = SoilSpec::load(path)?;
    let law = Law::try_from(&spec).map_err(|error| InputError::at(path, "law", error))?;
    Ok(Soil { law, crm: spec.crm.map(|key| key.soil()), dem: spec.dem })
}
