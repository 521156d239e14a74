//! `wheels.png`: slip, sinkage and drive torque of each wheel over simulated time.

use std::ops::Range;
use std::path::Path;

use plotters::prelude::{ChartBuilder, PathElement};

use super::PictureError;
use super::canvas::{Align, Area, Canvas, DrawError, paint, plain_words, stroke};
use super::colour;

const WIDTH_PX: u32 = 1200;
const HEIGHT_PX: u32 = 1299;
/// Height of the title's row, and of the legend's row below it, px.
const ROW_PX: u32 = 42;
const TITLE_PX: u32 = 2 * ROW_PX;

/// Data of one wheel over time.
#[derive(Clone, Debug, Default)]
pub struct WheelTrack {
    /// Name of the wheel.
    pub name: String,
    /// Pairs of time, s, and slip ratio.
    pub slip: Vec<(f64, f64)>,
    /// Pairs of time, s, and sinkage, m.
    pub sinkage_m: Vec<(f64, f64)>,
    /// Pairs of time, s, and drive torque, N m.
    pub torque_n_m: Vec<(f64, f64)>,
}

/// A plot of one quantity of all wheels.
struct Plot<'a> {
    label: &'static str,
    factor: f64,
    lines: Vec<&'a [(f64, f64)]>,
    /// Range that is always shown.
    at_least: Range<f64>,
}

/// Draws the plots of `wheels` to `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn save(title: &str, wheels: &[WheelTrack], path: &Path) -> Result<(), PictureError> {
    let mut canvas = Canvas::new(WIDTH_PX, HEIGHT_PX, colour::BACKGROUND);
    canvas.text(title, (24, ROW_PX as i32 / 2 + 6), 22, colour::INK, Align::Left);
    draw_legend(&mut canvas, wheels);
    let slip = Plot {
        label: "slip, %",
        factor: 100.0,
        lines: wheels.iter().map(|wheel| wheel.slip.as_slice()).collect(),
        at_least: -5.0..15.0,
    };
    let sinkage = Plot {
        label: "sinkage, mm",
        factor: 1000.0,
        lines: wheels.iter().map(|wheel| wheel.sinkage_m.as_slice()).collect(),
        at_least: 0.0..10.0,
    };
    let torque = Plot {
        label: "drive torque, N m",
        factor: 1.0,
        lines: wheels.iter().map(|wheel| wheel.torque_n_m.as_slice()).collect(),
        at_least: 0.0..0.1,
    };
    let plots = [slip, sinkage, torque];
    canvas.draw(|area| {
        let area = area.margin(TITLE_PX, 8, 8, 24);
        let areas = area.split_evenly((plots.len(), 1));
        plots.iter().zip(&areas).try_for_each(|(plot, area)| plot.draw(area))
    });
    canvas.save(path)
}

impl Plot<'_> {
    fn draw<'a>(&self, area: &Area<'a>) -> Result<(), DrawError<'a>> {
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(46)
            .y_label_area_size(74)
            .margin_top(10)
            .margin_right(12)
            .build_cartesian_2d(self.times(), self.values())?;
        chart.plotting_area().fill(&paint(colour::PANEL, 1.0))?;
        chart
            .configure_mesh()
            .x_desc("simulated time, s")
            .y_desc(self.label)
            .axis_desc_style(plain_words(17, colour::INK))
            .label_style(plain_words(16, colour::FAINT_INK))
            .x_labels(11)
            .y_labels(7)
            .max_light_lines(0)
            .bold_line_style(paint(colour::GRID, 0.8))
            .axis_style(stroke(colour::GRID, 1))
            .draw()?;
        let (times, values) = (self.times(), self.values());
        for (index, points) in self.lines.iter().enumerate() {
            let style = stroke(colour::LINES[index % colour::LINES.len()], 2);
            let scaled = points.iter().map(|&(time, value)| (time, value * self.factor));
            let finite: Vec<_> = scaled.filter(|(_, value)| value.is_finite()).collect();
            // Each line by itself: the mitred corners of a polyline end far beyond sharp turns.
            let shown = thinned(&finite, times.end);
            let lines = shown.windows(2).filter_map(|pair| cut([pair[0], pair[1]], &values));
            chart.draw_series(lines.map(|line| PathElement::new(line, style)))?;
        }
        Ok(())
    }

    fn times(&self) -> Range<f64> {
        let ends = self.lines.iter().filter_map(|points| points.last().map(|(time, _)| *time));
        0.0..ends.fold(1.0, f64::max)
    }

    /// Range of the values, without one in a hundred at each end: a wheel that spins for an instant must not flatten
    /// the rest of the plot.
    fn values(&self) -> Range<f64> {
        let all = self.lines.iter().flat_map(|points| points.iter().map(|(_, value)| value * self.factor));
        let mut all: Vec<f64> = all.filter(|value| value.is_finite()).collect();
        all.sort_by(f64::total_cmp);
        let at = |place: usize| all.get(place).copied();
        let low = at(all.len() / 100).unwrap_or(0.0).min(self.at_least.start);
        let high = at((all.len() * 99 / 100).min(all.len().saturating_sub(1))).unwrap_or(0.0).max(self.at_least.end);
        low..high + 0.08 * (high - low)
    }
}

/// A curve of times from 0 to `end_s` without what a pixel cannot show: of the points in one column of pixels, those
/// with the least and the greatest value.
fn thinned(points: &[(f64, f64)], end_s: f64) -> Vec<(f64, f64)> {
    let column = |time_s: f64| (time_s / end_s * f64::from(WIDTH_PX)) as i64;
    let of_column = points.chunk_by(|a, b| column(a.0) == column(b.0));
    let ends = |points: &[(f64, f64)]| {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [points.iter().min_by(by_value), points.iter().max_by(by_value)];
        let mut ends: Vec<_> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends
    };
    of_column.flat_map(ends).collect()
}

/// The part of a line between two points whose values are in a range.
fn cut([from, to]: [(f64, f64); 2], range: &Range<f64>) -> Option<[(f64, f64); 2]> {
    let is_beside = |limit: f64, side: f64| [from, to].iter().all(|point| side * (point.1 - limit) > 0.0);
    if is_beside(range.end, 1.0) || is_beside(range.start, -1.0) {
        return None;
    }
    let within = |point: (f64, f64), other: (f64, f64)| {
        let value = point.1.clamp(range.start, range.end);
        let way = if value == point.1 { 0.0 } else { (value - point.1) / (other.1 - point.1) };
        (point.0 + way * (other.0 - point.0), value)
    };
    Some([within(from, to), within(to, from)])
}

/// Draws the names and colours of the wheels, right-aligned in a row of their own.
fn draw_legend(canvas: &mut Canvas, wheels: &[WheelTrack]) {
    let row = (ROW_PX + ROW_PX / 2) as i32;
    let mut right = WIDTH_PX as i32 - 20;
    for (index, wheel) in wheels.iter().enumerate().rev() {
        let width = 9 * wheel.name.chars().count() as i32;
        let colour = colour::LINES[index % colour::LINES.len()];
        canvas.text(&wheel.name, (right - width, row), 17, colour::INK, Align::Left);
        canvas.line(vec![(right - width - 34, row + 1), (right - width - 10, row + 1)], colour, 3, 1.0);
        right -= width + 60;
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, thinned};

    #[test]
    fn a_line_that_leaves_the_plot_is_cut_at_its_limits() {
        let range = 0.0..2.0;
        assert_eq!(cut([(0.0, 1.0), (1.0, 3.0)], &range), Some([(0.0, 1.0), (0.5, 2.0)]));
        assert_eq!(cut([(2.0, 3.0), (3.0, -1.0)], &range), Some([(2.25, 2.0), (2.75, 0.0)]));
        assert_eq!(cut([(0.0, 0.0), (1.0, 2.0)], &range), Some([(0.0, 0.0), (1.0, 2.0)]));
        assert_eq!(cut([(1.0, 3.0), (2.0, 4.0)], &range), None);
        assert_eq!(cut([(1.0, -3.0), (2.0, -4.0)], &range), None);
    }

    #[test]
    fn a_thinned_curve_keeps_its_extremes() {
        let curve: Vec<_> =
            (0..100_000).map(|i| (1e-3 * f64::from(i), f64::from(i % 77) + 500.0 * f64::from(i == 5))).collect();
        let thin = thinned(&curve, 100.0);
        assert!(thin.len() <= 2 * 1201 && thin.is_sorted_by(|a, b| a.0 <= b.0), "{}", thin.len());
        assert!(thin.contains(&curve[5]) && thin.iter().any(|point| point.1 == 0.0));
    }
}
