//! The loose rocks of a scenario: some of the site's own, chosen by their size, and others
//! that the scenario lays on the ground.

use garde::Validate;
use nalgebra::{UnitQuaternion, Vector3};
use schemars::JsonSchema;
use selene_base::input::{finite, positive, within};
use selene_base::{InputError, Pose};
use selene_terrain::{GroundPatch, Rock, RockShape, Ruts, Terrain};
use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::scenario::rover::Start;

/// First id of rocks that are laid on the ground, beyond the ids of all rocks of landscapes.
pub(crate) const FIRST_LAID: u32 = 7 << 29;
/// Default density of rock, kg/m³: basalt with a few pores.
pub(crate) const DENSITY_KG_M3: f64 = 2700.0;

/// A loose rock that the scenario lays on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Validate, JsonSchema)]
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
    /// Index of its shape among the site's, from 0; by default rocks take the shapes in turn.
    #[garde(skip)]
    #[serde(default)]
    pub shape: Option<usize>,
    /// Density, kg/m³.
    #[garde(custom(within(100.0, 20_000.0)))]
    #[serde(default = "density_kg_m3")]
    pub density_kg_m3: f64,
    /// Rotation about the vertical, from map x (east), degrees, counter-clockwise.
    #[garde(custom(within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
}

/// Which of the site's own rocks are loose.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LooseFromSiteSpec {
    /// Smallest mean diameter, m.
    #[garde(custom(positive))]
    pub diameter_min_m: f64,
    /// Largest mean diameter, m.
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

/// A loose rock at the start of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LooseRockSetup {
    /// Id of the rock on the site.
    pub id: u32,
    /// Index of its shape among the ground's.
    pub shape: usize,
    /// Mean radius, m: the shape's scale.
    pub radius_m: f64,
    /// Density, kg/m³.
    pub density_kg_m3: f64,
    /// Its pose in the map frame.
    pub world_from_rock: Pose,
}

/// The site's rocks around the rovers' starts that the scenario makes loose.
pub(crate) fn from_site(scenario: &Scenario, terrain: &Terrain) -> Vec<LooseRockSetup> {
    let Some(sizes) = scenario.loose_from_site else { return Vec::new() };
    let reach_m = 0.5 * scenario.site.levels[0].side_m;
    let mut loose = Vec::new();
    for Start { x_m, y_m, .. } in scenario.rovers.iter().map(|rover| rover.start) {
        let [low_m, high_m] = [-reach_m, reach_m].map(|reach| [x_m + reach, y_m + reach]);
        let rocks = terrain.rocks_within(low_m, high_m);
        let is_loose = |rock: &&Rock| {
            let diameter_m = 2.0 * rock.radius_m;
            diameter_m >= sizes.diameter_min_m && diameter_m <= sizes.diameter_max_m
        };
        // Rocks that overlap a wedged one would throw it out.
        let free = rocks.iter().filter(is_loose).filter(|rock| !is_wedged(rock, &rocks, terrain.shapes()));
        loose.extend(free.map(|rock| LooseRockSetup {
            id: rock.id,
            shape: rock.shape,
            radius_m: rock.radius_m,
            density_kg_m3: DENSITY_KG_M3,
            world_from_rock: rock.world_from_rock,
        }));
    }
    loose.sort_by_key(|rock| rock.id);
    loose.dedup_by_key(|rock| rock.id);
    loose
}

/// Whether a rock's bounding sphere overlaps that of another.
fn is_wedged(rock: &Rock, all: &[Rock], shapes: &[RockShape]) -> bool {
    let reach_m = |rock: &Rock| shapes.get(rock.shape).map_or(1.0, RockShape::reach) * rock.radius_m;
    let at = rock.world_from_rock.translation.vector;
    all.iter().any(|other| {
        let apart = other.world_from_rock.translation.vector - at;
        let near_m = reach_m(rock) + reach_m(other);
        other.id != rock.id && apart.norm_squared() < near_m * near_m
    })
}

/// The rocks that the scenario lays on the ground, with ids from `FIRST_LAID` on.
pub(crate) fn laid(scenario: &Scenario, terrain: &Terrain, ruts: &Ruts) -> Result<Vec<LooseRockSetup>, InputError> {
    let count = terrain.shapes().len();
    let lay = |(i, spec): (usize, &LooseRockSpec)| {
        let shape = spec.shape.unwrap_or(i % count.max(1));
        lay_rock(spec, shape, FIRST_LAID + i as u32, terrain, ruts).ok_or_else(|| {
            let what = format!(
                "a rock at ({}, {}) m with shape {shape} cannot be laid: it must be on the site's ground and its shape 0 to {}",
                spec.x_m,
                spec.y_m,
                count.saturating_sub(1)
            );
            scenario.refusal(&format!("loose_rocks[{i}]"), what)
        })
    };
    scenario.loose_rocks.iter().enumerate().map(lay).collect()
}

/// A rock laid on the soil, its lowest corner touching; `None` off the ground or for an unknown shape.
pub(crate) fn lay_rock(
    spec: &LooseRockSpec,
    shape: usize,
    id: u32,
    terrain: &Terrain,
    ruts: &Ruts,
) -> Option<LooseRockSetup> {
    let (LooseRockSpec { x_m, y_m, density_kg_m3, .. }, radius_m) = (*spec, 0.5 * spec.diameter_m);
    let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, spec.yaw_deg.to_radians());
    let of = terrain.shapes().get(shape)?;
    let world_from_rock = resting(of, radius_m, [x_m, y_m], rotation, terrain, ruts)?;
    Some(LooseRockSetup { id, shape, radius_m, density_kg_m3, world_from_rock })
}

/// Pose in the map frame of a rock with this shape and rotation whose lowest corner touches the soil; `None` off
/// the ground.
pub(crate) fn resting(
    shape: &RockShape,
    radius_m: f64,
    [x_m, y_m]: [f64; 2],
    rotation: UnitQuaternion<f64>,
    terrain: &Terrain,
    ruts: &Ruts,
) -> Option<Pose> {
    let patch = GroundPatch::of_square(terrain, ruts, [x_m, y_m], 2.0 * radius_m);
    let lift = |corner: &[f32; 3]| {
        let arm = rotation * Vector3::from(*corner).cast::<f64>() * radius_m;
        Some(patch.height_m(x_m + arm.x, y_m + arm.y)? - arm.z)
    };
    let z_m = shape.vertices.iter().filter_map(lift).fold(f64::NEG_INFINITY, f64::max);
    z_m.is_finite().then(|| Pose::from_parts(Vector3::new(x_m, y_m, z_m).into(), rotation))
}
