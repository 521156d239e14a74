//! Randomisation: the quantities of a scenario that are drawn anew for each episode, by `randomise:` in a course. All
//! others stay as in the scenario's files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::InputError;
use selene_base::input::within;
use selene_base::random::RngExt;
use selene_sim::Scenario;
use selene_soil::{DataSpec, Law, RigidSpec, SoilLaw, SoilSpec, Soils};
use selene_terrain::{HapkeSpec, ReflectanceSpec};
use selene_vehicle::RoverModel;
use serde::Deserialize;

use crate::LearnError;
use crate::distribution::{Distribution, drawn_within};
use crate::draws::Draws;

/// Maximum number of soils to draw from.
const SOILS_MAX: usize = 100;

/// Distributions of the drawn quantities.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct RandomiseSpec {
    /// Free-fall acceleration, m/s², 0.1 to 30.
    #[garde(inner(custom(drawn_within(0.1, 30.0))))]
    pub gravity_m_s2: Option<Distribution>,
    /// Factor on the mass of each rover, 0.1 to 10: the same for all links, and for their inertia.
    #[garde(inner(custom(drawn_within(0.1, 10.0))))]
    pub mass_factor: Option<Distribution>,
    /// Soil files, relative to the course's file; one of them, with equal probability, is the soil everywhere.
    #[garde(length(max = SOILS_MAX))]
    pub soils: Vec<PathBuf>,
    /// Factor on the friction of the drawn soil, 0.1 to 3: on tan φ of SCM, on the coefficients of rigid ground, of the
    /// data-driven law and of the soil's points.
    #[garde(inner(custom(drawn_within(0.1, 3.0))), custom(of_drawn_soils(&self.soils)))]
    pub friction_factor: Option<Distribution>,
    /// Offset of the time at which the sky is computed, added to the scenario's, h, -9000 to 9000.
    #[garde(inner(custom(drawn_within(-9000.0, 9000.0))))]
    pub sun_later_h: Option<Distribution>,
    /// The ground's single-scattering albedo (Hapke's w), 0 to 0.99; it affects images alone.
    #[garde(inner(custom(drawn_within(0.0, 0.99))))]
    pub albedo: Option<Distribution>,
    /// Rocks on the ground.
    #[garde(dive)]
    pub rocks: Option<RocksSpec>,
    /// White noise on observations.
    #[garde(dive)]
    pub noise: ObservationNoiseSpec,
    /// Delay of observations, s, 0 to 5; rounded to steps. Until it has passed, the start is observed.
    #[garde(inner(custom(drawn_within(0.0, 5.0))))]
    pub delay_s: Option<Distribution>,
}

/// Rocks that are laid on the ground. They are loose, but heavy ones stay where they are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RocksSpec {
    /// Number of rocks, 0 to 200; rounded.
    #[garde(custom(drawn_within(0.0, 200.0)))]
    pub count: Distribution,
    /// Mean diameter of each, m, 0.05 to 10.
    #[garde(custom(drawn_within(0.05, 10.0)))]
    pub diameter_m: Distribution,
    /// Radius of the disc on which they lie, m, 1 to 500: around the middle between a rover's start and goal.
    #[garde(custom(within(1.0, 500.0)))]
    pub disc_m: f64,
    /// Radius that stays free around starts and goals, m, 0 to 100.
    #[garde(custom(within(0.0, 100.0)))]
    pub clear_m: f64,
}

/// Standard deviations of white noise on observations, each drawn once per episode.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct ObservationNoiseSpec {
    /// Noise of distances, m, 0 to 10.
    #[garde(inner(custom(drawn_within(0.0, 10.0))))]
    pub distance_m: Option<Distribution>,
    /// Noise of speeds, m/s, and of the turn rate, rad/s, 0 to 10.
    #[garde(inner(custom(drawn_within(0.0, 10.0))))]
    pub speed: Option<Distribution>,
    /// Noise of roll and pitch, rad, 0 to 1.
    #[garde(inner(custom(drawn_within(0.0, 1.0))))]
    pub attitude_rad: Option<Distribution>,
}

/// A garde check: a friction factor needs drawn soils.
fn of_drawn_soils(soils: &[PathBuf]) -> impl FnOnce(&Option<Distribution>, &()) -> garde::Result {
    let has_some = !soils.is_empty();
    move |factor, ()| {
        if factor.is_none() || has_some {
            return Ok(());
        }
        Err(garde::Error::new("needs `soils` beside it: name the soil whose friction is drawn"))
    }
}

impl RandomiseSpec {
    /// Loads the soils to draw from; refuses a friction factor for a law without friction of its own.
    pub(crate) fn load_soils(&self, folder: &Path) -> Result<Vec<SoilSpec>, InputError> {
        let load = |file: &PathBuf| {
            let path = folder.join(file);
            let soil = SoilSpec::load(&path)?;
            match with_friction(&soil, 1.0) {
                None if self.friction_factor.is_some() => {
                    let what = "slip_map has no friction of its own: leave friction_factor or this soil out";
                    Err(InputError::at(&path, "law", what))
                }
                _ => Ok(soil),
            }
        };
        self.soils.iter().map(load).collect()
    }

    /// Applies all drawn quantities except rocks to a scenario.
    pub(crate) fn change(&self, scenario: &mut Scenario, soils: &[SoilSpec], draws: Draws) -> Result<(), LearnError> {
        if let Some(gravity_m_s2) = draws.number("gravity_m_s2", self.gravity_m_s2.as_ref()) {
            scenario.gravity_m_s2 = gravity_m_s2;
        }
        if let Some(factor) = draws.number("mass_factor", self.mass_factor.as_ref()) {
            scenario.rovers.iter_mut().for_each(|rover| rover.model = Arc::new(heavier(&rover.model, factor)));
        }
        if let Some(soils) = self.drawn_soils(soils, draws)? {
            scenario.soils = soils;
        }
        if let Some(w) = draws.number("albedo", self.albedo.as_ref()) {
            let regolith = &mut scenario.site.surface.regolith;
            let as_it_is = match regolith {
                ReflectanceSpec::Hapke(hapke) => *hapke,
                ReflectanceSpec::Principled(_) | ReflectanceSpec::Lambert(_) => HapkeSpec::default(),
            };
            *regolith = ReflectanceSpec::Hapke(HapkeSpec { w: Some(w), ..as_it_is });
        }
        Ok(())
    }

    /// The drawn soil; `None` if no soils are named.
    fn drawn_soils(&self, soils: &[SoilSpec], draws: Draws) -> Result<Option<Soils>, LearnError> {
        if soils.is_empty() {
            return Ok(None);
        }
        let soil = &soils[draws.stream("randomise/soils").random_range(0..soils.len())];
        let factor = draws.number("friction_factor", self.friction_factor.as_ref());
        let changed = factor.and_then(|factor| with_friction(soil, factor));
        let law = Law::try_from(changed.as_ref().unwrap_or(soil))?;
        let (mut soils, factor) = (Soils::uniform(law), factor.unwrap_or(1.0));
        if let Some(key) = &soil.crm {
            let mut crm = key.soil();
            crm.friction_static *= factor;
            crm.friction_dynamic *= factor;
            soils = soils.with_crm(crm);
        }
        if let Some(mut dem) = soil.dem {
            dem.friction *= factor;
            soils = soils.with_dem(dem);
        }
        Ok(Some(soils))
    }
}

fn heavier(rover: &RoverModel, factor: f64) -> RoverModel {
    let mut rover = rover.clone();
    rover.scale_mass(factor);
    rover
}

/// The soil with its friction multiplied by `factor`; `None` for a law without friction of its own.
fn with_friction(soil: &SoilSpec, factor: f64) -> Option<SoilSpec> {
    let mut soil = soil.clone();
    match &mut soil.law {
        SoilLaw::Scm(scm) => scm.friction_deg = (scm.friction_deg.to_radians().tan() * factor).atan().to_degrees(),
        SoilLaw::Rigid(RigidSpec { static_friction, dynamic_friction }) => {
            *static_friction *= factor;
            *dynamic_friction *= factor;
        }
        SoilLaw::Data(DataSpec { friction, .. }) => {
            friction.static_friction *= factor;
            friction.dynamic_friction *= factor;
        }
        SoilLaw::SlipMap(_) => return None,
    }
    Some(soil)
}
