//! Chart of a campaign's main figures over the keys in which its rows differ: a column of panels for each figure, and a
//! row of panels for each key that is not the same in all rows. Texts stand side by side in the order in which they come
//! first. Without such a key, the x axis is the row's number.

use std::path::Path;

use selene_pictures::chart::{Chart, Line, Mark, Panel};

use crate::plan::Plan;
use crate::table::ResultTable;

/// Figures that are drawn, with their axis labels.
const FIGURES: [(&str, &str); 3] =
    [("distance_m", "distance, m"), ("mean_slip", "mean slip"), ("deepest_sinkage_m", "deepest sinkage, m")];
/// The most keys over which figures are drawn.
const AXES_MAX: usize = 4;
/// The most texts that an axis' label names.
const NAMED_MAX: usize = 4;

/// Draws the chart of a campaign's table.
#[must_use]
pub fn chart(plan: &Plan, table: &ResultTable) -> Chart {
    let differs = |values: &[Option<f64>]| values.windows(2).any(|pair| pair[0] != pair[1]);
    let axes = plan.spec().set.keys().filter_map(|key| axis(table, key));
    let mut axes: Vec<_> = axes.filter(|(_, values)| differs(values)).take(AXES_MAX).collect();
    if axes.is_empty() {
        axes.extend(table.numbers("row").map(|values| ("row".to_owned(), values)));
    }
    let mut panels = Vec::new();
    for (x, along) in &axes {
        panels.extend(FIGURES.iter().map(|of| panel(plan, table, (x, along.as_slice()), *of)));
    }
    Chart { title: plan.spec().name.clone(), columns: FIGURES.len(), panels }
}

/// A key's label and the place of each row on its axis.
fn axis(table: &ResultTable, key: &str) -> Option<(String, Vec<Option<f64>>)> {
    let column = format!("set.{key}");
    if let Some(numbers) = table.numbers(&column) {
        return Some((key.to_owned(), numbers));
    }
    let texts = table.texts(&column)?;
    let mut known: Vec<&str> = Vec::new();
    for text in texts.iter().flatten() {
        if !known.contains(&text.as_str()) {
            known.push(text);
        }
    }
    let place = |text: &str| known.iter().position(|known| *known == text).map(|at| at as f64);
    let places = texts.iter().map(|text| place(text.as_deref()?)).collect();
    let names = known.iter().enumerate().map(|(at, text)| format!("{at} {}", short(text)));
    let more = known.len().checked_sub(NAMED_MAX).filter(|more| *more > 0).map(|more| format!("{more} more"));
    let names: Vec<_> = names.take(NAMED_MAX).chain(more).collect();
    Some((format!("{key}: {}", names.join(", ")), places))
}

/// A file's name without folders and extension; other texts as they are.
fn short(text: &str) -> &str {
    let path = Path::new(text);
    let is_file = path.extension().is_some_and(|extension| extension == "yaml");
    path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_file).unwrap_or(text)
}

fn panel(plan: &Plan, table: &ResultTable, (x, along): (&str, &[Option<f64>]), (figure, y): (&str, &str)) -> Panel {
    let values = table.numbers(figure).unwrap_or_default();
    let scenarios = table.texts("scenario").unwrap_or_default();
    let line = |(colour, name): (usize, &String)| {
        let rows = along.iter().zip(&values).zip(scenarios);
        let of_it = rows.filter(|(_, scenario)| scenario.as_ref() == Some(name));
        let points = of_it.filter_map(|((x, y), _)| Some(((*x)?, (*y)?))).collect();
        Line { name: short(name).to_owned(), colour, mark: Mark::Dots, points }
    };
    let lines = plan.spec().scenarios.iter().enumerate().map(line).collect();
    Panel { x: x.to_owned(), y: y.to_owned(), lines }
}

#[cfg(test)]
mod tests {
    use super::{FIGURES, chart};
    use crate::folder::Record;
    use crate::plan::Plan;
    use crate::table::ResultTable;

    #[test]
    fn figures_are_drawn_over_what_differs() {
        let file = std::env::temp_dir().join(format!("selene-chart-{}.yaml", std::process::id()));
        let text = "name: x\nscenarios: [a, b]\nset: {g: [1, 2], h: 3, soil: [u, ../soil/v.yaml]}\n";
        std::fs::write(&file, text).expect("written");
        let plan = Plan::load(&file).expect("a plan");
        std::fs::remove_file(&file).expect("removed");
        let came = |row: &crate::Row| {
            let distance_m = if row.scenario == "a" { 1.0 } else { 2.0 };
            Some(Record::of(row, Ok([("distance_m".to_owned(), distance_m.into())].into())))
        };
        let records: Vec<_> = plan.rows().iter().map(came).collect();
        let drawn = chart(&plan, &ResultTable::of(&plan, &records));
        assert_eq!((drawn.columns, drawn.panels.len()), (FIGURES.len(), 2 * FIGURES.len()));
        let panel = &drawn.panels[0];
        assert_eq!(panel.x, "g");
        assert_eq!(panel.lines[0].points, [(1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 1.0)]);
        assert!(panel.lines[1].points.iter().all(|(_, y)| *y == 2.0));
        let panel = &drawn.panels[FIGURES.len()];
        assert_eq!(panel.x, "soil: 0 u, 1 v");
        assert_eq!(panel.lines[0].points, [(0.0, 1.0), (1.0, 1.0), (0.0, 1.0), (1.0, 1.0)]);
    }
}
