//! The granular windows of a scenario file: rectangles along the map's axes.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite_array, within};
use selene_crm::LAYERS;
use serde::Deserialize;

use crate::granular::bed::DemSpec;

/// Most points of a window. How many a world may have depends on what steps them.
pub(crate) const POINTS_MAX: f64 = 1.6e7;
/// The longest side, m.
const SIDE_MAX_M: f64 = 20.0;
/// Most grains of a window: with their tree, a fifth of a gigabyte.
const GRAINS_MAX: f64 = 2e6;

/// A window of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WindowSpec {
    /// Its name, for messages.
    #[garde(length(min = 1, max = 60))]
    pub name: String,
    /// Its south-west corner, map x and y, m.
    #[garde(custom(finite_array))]
    pub from_m: [f64; 2],
    /// Its north-east corner, map x and y, m. The window has the whole cells that fit between the corners. It begins
    /// midway between two posts, at most half their distance from `from_m`.
    #[garde(custom(finite_array), custom(beyond(self.from_m)))]
    pub to_m: [f64; 2],
    /// Depth of its floor below the lowest ground in it, m.
    #[garde(custom(within(0.02, 2.0)))]
    pub depth_m: f64,
    /// Distance between points, m, or of grains the greatest allowed diameter. A cell is twice as long, and must be a
    /// whole multiple of the distance between the ground's posts.
    #[garde(custom(within(0.005, 0.5)), custom(few_points(self)))]
    pub spacing_m: f64,
    /// Time between two exchanges of forces with bodies, s: a whole number of physics steps, of which
    /// a heartbeat is a whole multiple; by default the physics step.
    #[garde(inner(custom(within(0.000_05, 0.01))))]
    #[serde(default)]
    pub exchange_s: Option<f64>,
    /// Grains as which cameras and lidars see its loose soil from close by; without it, they see the height field.
    #[garde(dive, custom(few_grains(self)))]
    #[serde(default)]
    pub grains: Option<GrainsSpec>,
    /// Single grains (DEM) instead of points. The soil needs the key `dem`; cameras and lidars see each grain.
    #[garde(dive, custom(seen_once(self.grains.is_some())))]
    #[serde(default)]
    pub dem: Option<DemSpec>,
}

/// The grains as which sensors see loose points. They have no effect on motion. The grains of a point are evenly
/// distributed in its cube, and are the same each time it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct GrainsSpec {
    /// Number of grains for each point; those that the ground hides are not drawn.
    #[garde(range(min = 1, max = 1000))]
    pub per_point: u32,
    /// Median diameter of the grains, m.
    #[garde(custom(within(0.0005, 0.05)))]
    pub diameter_m: f64,
    /// Factor of the median within which about two thirds of the diameters lie; all lie within its third power. 1 makes
    /// all grains equal.
    #[garde(custom(within(1.0, 2.0)))]
    pub spread: f64,
    /// Distance from the observing rover, m, beyond which the height field replaces the grains; from half of it on they
    /// become fewer.
    #[garde(custom(within(0.1, 100.0)))]
    pub within_m: f64,
}

impl WindowSpec {
    /// Number of points on level ground.
    fn points(&self) -> f64 {
        let area_m2: f64 = (0..2).map(|axis| self.to_m[axis] - self.from_m[axis]).product();
        area_m2 * self.depth_m / self.spacing_m.powi(3)
    }

    /// Largest number of grains.
    fn grains(&self) -> f64 {
        let per_point = self.grains.map_or(0.0, |grains| f64::from(grains.per_point));
        self.points() * self.spacing_m / self.depth_m * LAYERS as f64 * per_point
    }
}

fn beyond(from_m: [f64; 2]) -> impl FnOnce(&[f64; 2], &()) -> garde::Result {
    move |to_m, ()| {
        let sides = || to_m.iter().zip(from_m).map(|(to, from)| to - from);
        if sides().all(|side| side > 0.0 && side <= SIDE_MAX_M) {
            return Ok(());
        }
        let allowed = format!("must be north-east of from_m {from_m:?}, by {SIDE_MAX_M} m at most");
        Err(garde::Error::new(format!("{to_m:?} is not allowed: {allowed}")))
    }
}

fn few_points(window: &WindowSpec) -> impl FnOnce(&f64, &()) -> garde::Result {
    let points = window.points();
    move |spacing_m, ()| {
        // Sides that are no numbers are refused where they stand.
        if points.is_nan() || points <= POINTS_MAX {
            return Ok(());
        }
        let what = format!("value {spacing_m} is not allowed: makes {points:.0} points, {POINTS_MAX} are allowed");
        Err(garde::Error::new(what))
    }
}

fn seen_once(has_grains: bool) -> impl FnOnce(&Option<DemSpec>, &()) -> garde::Result {
    move |dem, ()| match has_grains && dem.is_some() {
        true => Err(garde::Error::new("single grains are seen as they are: leave the key grains out".to_owned())),
        false => Ok(()),
    }
}

fn few_grains(window: &WindowSpec) -> impl FnOnce(&Option<GrainsSpec>, &()) -> garde::Result {
    let grains = window.grains();
    move |_, ()| {
        // Sides that are no numbers are refused where they stand.
        if grains.is_nan() || grains <= GRAINS_MAX {
            return Ok(());
        }
        let what = format!("per_point makes {grains:.0} grains near the surface, {GRAINS_MAX} are allowed");
        Err(garde::Error::new(what))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;

    use super::WindowSpec;

    const WINDOW: &str = "name: pit
from_m: [-1, -0.5]
to_m: [1, 0.5]
depth_m: 0.2
spacing_m: 0.02
exchange_s: 0.001
grains:
  per_point: 40
  diameter_m: 0.003
  spread: 1.5
  within_m: 4
";

    fn parsed(text: &str) -> Result<WindowSpec, String> {
        parse_yaml(text, Path::new("scenario/x.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_window_is_refused_with_line_value_and_what_is_allowed() {
        assert_eq!(parsed(WINDOW).expect("good").exchange_s, Some(0.001));
        for (from, to, parts) in [
            ("to_m: [1, 0.5]", "to_m: [-2, 0.5]", ["line 3", "-2", "north-east of from_m"]),
            ("to_m: [1, 0.5]", "to_m: [100, 0.5]", ["line 3", "100", "20 m at most"]),
            ("depth_m: 0.2", "depth_m: 0", ["line 4", "0", "0.02 to 2"]),
            (
                "0.2\nspacing_m: 0.02",
                "2\nspacing_m: 0.005",
                ["line 5", "makes 32000000 points", "16000000 are allowed"],
            ),
            ("spacing_m: 0.02", "spacing_m: .nan", ["line 5", "NaN", "0.005 to 0.5"]),
            ("exchange_s: 0.001", "exchange_s: 1", ["line 6", "1", "0.00005 to 0.01"]),
            ("per_point: 40", "per_point: 0", ["line 8", "lower than 1", "per_point"]),
            ("per_point: 40", "per_point: 1000", ["grains", "10000000 grains", "2000000 are allowed"]),
            ("diameter_m: 0.003", "diameter_m: 0", ["line 9", "0", "0.0005 to 0.05"]),
            ("spread: 1.5", "spread: 0.5", ["line 10", "0.5", "1 to 2"]),
            ("within_m: 4", "within_m: 0", ["line 11", "0", "0.1 to 100"]),
        ] {
            let message = parsed(&WINDOW.replace(from, to)).expect_err("must be refused");
            for part in parts.iter().chain(&["scenario/x.yaml"]) {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}
