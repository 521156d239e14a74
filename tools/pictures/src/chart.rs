//! Charts: a grid of panels with lines and dots, and one legend for all panels.

use std::ops::Range;
use std::path::Path;

use plotters::prelude::{ChartBuilder, Circle, LineSeries, PathElement};
use plotters::style::Color;

use super::PictureError;
use super::canvas::{Align, Area, Canvas, DrawError, paint, plain_words, stroke};
use super::colour::{self, Rgb};

const PANEL_PX: [u32; 2] = [620, 400];
const TITLE_PX: u32 = 50;
const LEGEND_PX: u32 = 280;
const LEGEND_ROW_PX: i32 = 24;
/// Lines of up to this many points are drawn with a dot at each.
const MARKED_MAX: usize = 60;

/// A chart of several panels.
pub struct Chart {
    /// Title above the panels.
    pub title: String,
    /// Number of panels in a row.
    pub columns: usize,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

/// One quantity plotted over another.
pub struct Panel {
    /// Label of the x axis, with its unit.
    pub x: String,
    /// Label of the y axis, with its unit.
    pub y: String,
    /// The lines; lines of the same name share colour and legend in all panels.
    pub lines: Vec<Line>,
}

/// A line of a panel.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Index of its colour.
    pub colour: usize,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points in order of x; points that are not finite are omitted.
    pub points: Vec<(f64, f64)>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line, with dots if it has few points.
    Line,
    /// A dashed line.
    Dashes,
    /// Dots only: measurements.
    Dots,
    /// Rings only.
    Rings,
}

impl Chart {
    /// Draws the chart to a PNG file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), PictureError> {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns);
        let plots_px = PANEL_PX[0] * columns as u32;
        let height_px = TITLE_PX + PANEL_PX[1] * rows as u32;
        let mut canvas = Canvas::new(plots_px + LEGEND_PX, height_px, colour::BACKGROUND);
        canvas.text(&self.title, (24, TITLE_PX as i32 / 2 + 2), 22, colour::INK, Align::Left);
        self.draw_legend(&mut canvas, plots_px as i32 + 16, height_px as i32);
        canvas.draw(|area| {
            let plots = area.margin(TITLE_PX, 0, 0, LEGEND_PX);
            let areas = plots.split_evenly((rows, columns));
            self.panels.iter().zip(&areas).try_for_each(|(panel, area)| panel.draw(area))
        });
        canvas.save(path)
    }

    /// Draws names, colours and marks, each name once, from the top as far as there is space.
    fn draw_legend(&self, canvas: &mut Canvas, left: i32, height_px: i32) {
        let mut shown: Vec<&str> = Vec::new();
        let room = ((height_px - TITLE_PX as i32) / LEGEND_ROW_PX - 2).max(1) as usize;
        for line in self.panels.iter().flat_map(|panel| &panel.lines) {
            if shown.contains(&line.name.as_str()) {
                continue;
            }
            shown.push(&line.name);
            let row = TITLE_PX as i32 + LEGEND_ROW_PX * shown.len() as i32;
            if shown.len() <= room {
                draw_sample(canvas, line, left, row);
                canvas.text(&line.name, (left + 44, row), 15, colour::INK, Align::Left);
            }
        }
        if shown.len() > room {
            let row = TITLE_PX as i32 + LEGEND_ROW_PX * (room as i32 + 1);
            let more = format!("and {} more", shown.len() - room);
            canvas.text(&more, (left + 44, row), 15, colour::FAINT_INK, Align::Left);
        }
    }
}

fn draw_sample(canvas: &mut Canvas, line: &Line, left: i32, row: i32) {
    let colour = rgb(line.colour);
    match line.mark {
        Mark::Line => canvas.line(vec![(left, row), (left + 32, row)], colour, 3, 1.0),
        Mark::Dashes => {
            canvas.line(vec![(left, row), (left + 13, row)], colour, 3, 1.0);
            canvas.line(vec![(left + 19, row), (left + 32, row)], colour, 3, 1.0);
        }
        Mark::Dots => canvas.dot((left + 16, row), 5, colour, None),
        Mark::Rings => canvas.dot((left + 16, row), 5, colour, Some(2)),
    }
}

impl Panel {
    fn draw<'a>(&self, area: &Area<'a>) -> Result<(), DrawError<'a>> {
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(46)
            .y_label_area_size(70)
            .margin_left(18)
            .margin_top(8)
            .margin_right(14)
            .build_cartesian_2d(self.range(|point| point.0, 0.02), self.range(|point| point.1, 0.06))?;
        chart.plotting_area().fill(&paint(colour::PANEL, 1.0))?;
        chart
            .configure_mesh()
            .x_desc(self.x.as_str())
            .y_desc(self.y.as_str())
            .axis_desc_style(plain_words(17, colour::INK))
            .label_style(plain_words(15, colour::FAINT_INK))
            .x_labels(9)
            .y_labels(7)
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .max_light_lines(0)
            .bold_line_style(paint(colour::GRID, 0.8))
            .axis_style(stroke(colour::GRID, 1))
            .draw()?;
        for line in &self.lines {
            let colour = rgb(line.colour);
            let points: Vec<_> = line.points.iter().copied().filter(is_finite).collect();
            match line.mark {
                Mark::Line => {
                    let few = points.len() <= MARKED_MAX;
                    chart.draw_series(LineSeries::new(points.iter().copied(), stroke(colour, 2)))?;
                    let dots = points.into_iter().filter(|_| few);
                    chart.draw_series(dots.map(|at| Circle::new(at, 3, paint(colour, 1.0).filled())))?;
                }
                Mark::Dashes => {
                    let dashes = dashes(&points, &self.spans());
                    chart.draw_series(dashes.into_iter().map(|dash| PathElement::new(dash, stroke(colour, 2))))?;
                }
                Mark::Dots => {
                    chart.draw_series(points.into_iter().map(|at| Circle::new(at, 4, paint(colour, 0.9).filled())))?;
                }
                Mark::Rings => {
                    chart.draw_series(points.into_iter().map(|at| Circle::new(at, 5, stroke(colour, 2))))?;
                }
            }
        }
        Ok(())
    }

    /// Range of one coordinate over all points, widened by a fraction of itself.
    fn range(&self, of: impl Fn(&(f64, f64)) -> f64, wider: f64) -> Range<f64> {
        let points = self.lines.iter().flat_map(|line| &line.points).filter(|point| is_finite(point));
        let (low, high) =
            points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(of(p)), high.max(of(p))));
        if low > high {
            return 0.0..1.0;
        }
        let span = if high > low { high - low } else { 0.1 * high.abs().max(1e-3) };
        low - wider * span..high + wider * span
    }

    /// Lengths of the axes, in their units.
    fn spans(&self) -> [f64; 2] {
        let (x, y) = (self.range(|point| point.0, 0.0), self.range(|point| point.1, 0.0));
        [x.end - x.start, y.end - y.start]
    }
}

/// Cuts a path into dashes as long as the gaps between them.
fn dashes(points: &[(f64, f64)], spans: &[f64; 2]) -> Vec<Vec<(f64, f64)>> {
    const DASH: f64 = 0.018;
    let (mut dashes, mut travelled): (Vec<Vec<(f64, f64)>>, f64) = (Vec::new(), 0.0);
    for pair in points.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let length = ((to_x - x) / spans[0]).hypot((to_y - y) / spans[1]);
        let pieces = (length / (0.25 * DASH)).ceil().clamp(1.0, 1000.0) as usize;
        let at = |i: usize| {
            let share = i as f64 / pieces as f64;
            (x + share * (to_x - x), y + share * (to_y - y))
        };
        for i in 0..pieces {
            if ((travelled / DASH) as u64).is_multiple_of(2) {
                match dashes.last_mut().filter(|dash| dash.last() == Some(&at(i))) {
                    Some(dash) => dash.push(at(i + 1)),
                    None => dashes.push(vec![at(i), at(i + 1)]),
                }
            }
            travelled += length / pieces as f64;
        }
    }
    dashes
}

/// Label of a number on an axis: without trailing zeros, and without a negative zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "plotters wants a function of a reference")]
fn number(value: &f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn is_finite(point: &(f64, f64)) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

fn rgb(colour: usize) -> Rgb {
    colour::LINES[colour % colour::LINES.len()]
}

#[cfg(test)]
mod tests {
    use super::{Line, Mark, Panel, dashes, number};

    fn panel(points: Vec<(f64, f64)>) -> Panel {
        let line = Line { name: "a".to_owned(), colour: 0, mark: Mark::Line, points };
        Panel { x: "x".to_owned(), y: "y".to_owned(), lines: vec![line] }
    }

    #[test]
    fn a_range_holds_every_finite_point_and_is_never_empty() {
        let spread = panel(vec![(0.0, -2.0), (1.0, 3.0), (2.0, f64::NAN)]).range(|p| p.1, 0.1);
        assert_eq!((spread.start, spread.end), (-2.5, 3.5));
        for points in [vec![], vec![(0.0, 0.0)], vec![(1.0, 5.0), (2.0, 5.0)]] {
            let range = panel(points).range(|p| p.1, 0.06);
            assert!(range.end > range.start);
        }
    }

    #[test]
    fn numbers_on_axes_are_short() {
        assert_eq!([0.25, -1e-17, 100.0, -0.6, 12.5].map(|v| number(&v)), ["0.25", "0", "100", "-0.6", "12.5"]);
    }

    #[test]
    fn half_of_a_dashed_line_is_drawn() {
        let dashes = dashes(&[(0.0, 0.0), (1.0, 0.0)], &[1.0, 1.0]);
        let drawn: f64 = dashes.iter().map(|dash| dash[dash.len() - 1].0 - dash[0].0).sum();
        assert!(dashes.len() > 20 && (drawn - 0.5).abs() < 0.05, "{} {drawn}", dashes.len());
    }
}
