//! Which rocks of a scenario are loose: some of the site's own by their size, and others
//! that the scenario lays on the ground.

use std::collections::BTreeSet;
use std::path::Path;

use garde::Validate;
use selene_base::InputError;
use selene_base::input::{finite, positive, within};
use selene_terrain::Ground;
use serde::Deserialize;

/// Density of rock where none is told, kg/m³: basalt with a few pores.
pub(crate) const DENSITY_KG_M3: f64 = 2700.0;

/// A loose rock that the scenario lays on the ground.
#[derive(Clone, Copy, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct LooseRockSpec {
    /// Map x, m.
    #[garde(custom(finite))]
    pub x_m: f64,
    /// Map y, m.
    #[garde(custom(finite))]
    pub y_m: f64,
    /// Mean diameter, m.
    #[garde(custom(within(0.02, 10.0)))]
    pub diameter_m: f64,
    /// Which of the site's shapes, from 0; without, rocks take them in turn.
    #[garde(skip)]
    #[serde(default)]
    pub shape: Option<usize>,
    /// Density, kg/m³.
    #[garde(custom(within(100.0, 20_000.0)))]
    #[serde(default = "density_kg_m3")]
    pub density_kg_m3: f64,
    /// How it is turned about the vertical.
    #[garde(custom(within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
}

/// Which of the site's own rocks are loose.
#[derive(Clone, Copy, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct LooseFromSiteSpec {
    /// Mean diameter at least, m.
    #[garde(custom(positive))]
    pub diameter_min_m: f64,
    /// Mean diameter at most, m.
    #[garde(custom(at_least(self.diameter_min_m)))]
    pub diameter_max_m: f64,
}

fn at_least(min_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| {
        if value.is_finite() && *value >= min_m {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {value} is not allowed: must be diameter_min_m ({min_m}) or more")))
    }
}

fn density_kg_m3() -> f64 {
    DENSITY_KG_M3
}

/// Loosens the site's rocks and lays the scenario's; the density of each that has its own.
pub(crate) fn lay(
    ground: &mut Ground,
    from_site: Option<&LooseFromSiteSpec>,
    rocks: &[LooseRockSpec],
    file: &Path,
) -> Result<(), InputError> {
    if let Some(sizes) = from_site {
        let is_loose = |diameter_m: f64| diameter_m >= sizes.diameter_min_m && diameter_m <= sizes.diameter_max_m;
        // What is wedged between others would be thrown out by them.
        let wedged: BTreeSet<u32> =
            ground.rocks().iter().filter(|rock| ground.is_wedged(rock)).map(|rock| rock.id).collect();
        ground.loosen(|rock| is_loose(2.0 * rock.radius_m) && !wedged.contains(&rock.id));
    }
    let shapes = ground.rock_shapes().len();
    for (i, rock) in rocks.iter().enumerate() {
        let shape = rock.shape.unwrap_or(i % shapes.max(1));
        let laid = ground.lay_rock([rock.x_m, rock.y_m], shape, 0.5 * rock.diameter_m, rock.yaw_deg.to_radians());
        if laid.is_none() {
            let what = format!(
                "loose_rocks[{i}]: a rock at ({}, {}) m with shape {shape} cannot be laid: it must be on the site's detailed ground and its shape 0 to {}",
                rock.x_m,
                rock.y_m,
                shapes.saturating_sub(1)
            );
            return Err(InputError::content(file, what));
        }
    }
    Ok(())
}
