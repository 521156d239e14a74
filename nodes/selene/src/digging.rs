//! Draws `granular.png`: soil in drums over time, and sections of the ground through each granular window before and
//! after the run.

use selene_pictures::chart::{Chart, Line, Mark, Panel};
use selene_sim::Model;
use selene_soil::WindowSpec;
use selene_terrain::{GroundPatch, Ruts};

use crate::series::Series;

/// Number of points in a section.
const PLACES: usize = 400;

/// Soil in one drum over the run: time, s, and mass, kg.
pub(crate) struct DrumLoad {
    pub(crate) name: String,
    pub(crate) load_kg: Series<(f64, f64)>,
}

/// The chart of a run that began on ruts `first` and ended on `last`; `None` if the scenario has no granular window.
pub(crate) fn chart(title: &str, model: &Model, [first, last]: [&Ruts; 2], drums: &[&DrumLoad]) -> Option<Chart> {
    let windows = &model.scenario().granular;
    let sections = windows.iter().map(|window| section(model, window, [first, last]));
    let panels: Vec<_> = fill(drums).into_iter().chain(sections).collect();
    (!windows.is_empty()).then(|| Chart { title: title.to_owned(), columns: 1, panels })
}

/// The panel of soil in all drums over time; `None` without drums.
fn fill(drums: &[&DrumLoad]) -> Option<Panel> {
    let line = |(colour, drum): (usize, &&DrumLoad)| Line {
        name: drum.name.clone(),
        colour: colour + 2,
        mark: Mark::Line,
        points: drum.load_kg.iter().copied().collect(),
    };
    let lines: Vec<_> = drums.iter().enumerate().map(line).collect();
    (!lines.is_empty()).then(|| Panel { x: "time, s".to_owned(), y: "soil in drum, kg".to_owned(), lines })
}

/// The section of the ground through the middle of a window, along its longer side.
fn section(model: &Model, window: &WindowSpec, grounds: [&Ruts; 2]) -> Panel {
    let sides_m = [0, 1].map(|axis| window.to_m[axis] - window.from_m[axis]);
    let [along, across] = if sides_m[0] >= sides_m[1] { [0, 1] } else { [1, 0] };
    let middle_m = [0, 1].map(|axis| 0.5 * (window.from_m[axis] + window.to_m[axis]));
    let reach_m = 0.5 * sides_m[along];
    let heights = |ruts: &Ruts| {
        let ground = GroundPatch::of_square(model.terrain(), ruts, middle_m, reach_m);
        let height = |n: usize| {
            let along_m = window.from_m[along] + sides_m[along] * n as f64 / (PLACES - 1) as f64;
            let mut at_m = [0.0; 2];
            (at_m[along], at_m[across]) = (along_m, middle_m[across]);
            Some((along_m, ground.height_m(at_m[0], at_m[1])?))
        };
        (0..PLACES).filter_map(height).collect()
    };
    let named = [("ground before", Mark::Dashes), ("ground after", Mark::Line)];
    let line = |(colour, (ruts, (name, mark))): (usize, (&Ruts, (&str, Mark)))| Line {
        name: name.to_owned(),
        colour,
        mark,
        points: heights(ruts),
    };
    Panel {
        x: format!("map {}, m: middle of window {}", ["x", "y"][along], window.name),
        y: "height, m".to_owned(),
        lines: grounds.into_iter().zip(named).enumerate().map(line).collect(),
    }
}
