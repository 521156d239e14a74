//! Slip over slope of Sorato, a skid-steered microrover of 4 kg, on dry sand on Earth: its field test at Hamamatsu
//! found the relation close to linear.

use std::sync::Arc;

use rayon::prelude::*;
use selene_sim::{Climb, SlopeRig};
use selene_vehicle::RoverModel;

use super::{ComparedFigure, Failure, Section, Sources, line};
use selene_pictures::chart::{Chart, Mark, Panel};

const SLOPES_DEG: [f64; 13] = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 11.0, 12.0, 13.0, 14.0, 16.0, 18.0, 20.0];
/// Slope up to which the straight line is fitted, degrees.
const LINE_TO_DEG: f64 = 12.0;

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    let rover = Arc::new(RoverModel::load(&sources.config.join("rover/sorato.yaml"))?);
    let rig = SlopeRig { gravity_m_s2: 9.81, ..SlopeRig::new(rover, sources.law("dry_sand")?) };
    let climbs: Vec<_> = SLOPES_DEG.par_iter().map(|&slope_deg| rig.climb(slope_deg)).collect();
    let climbs: Vec<Climb> = climbs.into_iter().collect::<Result<_, _>>()?;
    let driven: Vec<(f64, f64)> = climbs.iter().filter(|c| !c.stalled).map(|c| (c.slope_deg, c.slip)).collect();
    let of_line: Vec<_> = driven.iter().copied().filter(|point| point.0 <= LINE_TO_DEG).collect();
    let (offset, rise, r_squared) = straight_line(&of_line);
    let stall_deg = climbs.iter().find(|climb| climb.stalled).map_or(f64::NAN, |climb| climb.slope_deg);
    let figure = |name, value, unit, what, at_most| ComparedFigure { name, value, unit, what, at_most };
    let figures = vec![
        figure("slope_slip_curvature", 1.0 - r_squared, "", "1 − R² of a line, 0 to 12°", Some(0.02)),
        figure("slope_slip_per_deg", rise, "1/°", "slip that a degree adds", None),
        figure("slope_stall_deg", stall_deg, "°", "first slope on which it stalls", None),
    ];
    let line_points = vec![(0.0, offset), (LINE_TO_DEG, offset + LINE_TO_DEG * rise)];
    let chart = Chart {
        title: "Sorato up slopes of dry sand, 9.81 m/s², 0.1 m/s".to_owned(),
        columns: 1,
        panels: vec![Panel {
            x: "slope, degrees".to_owned(),
            y: "slip, mean of the wheels".to_owned(),
            lines: vec![
                line("Selene", 0, Mark::Line, climbs.iter().map(|c| (c.slope_deg, c.slip.clamp(-1.0, 1.0))).collect()),
                line("line to 12°", 1, Mark::Dashes, line_points),
            ],
        }],
    };
    Ok(Section { figures, text: TEXT.to_owned(), charts: vec![("validation_microrover.png", chart)] })
}

const TEXT: &str = "Sorato (4 kg, four wheels, skid-steered) drives straight up slopes of `dry_sand` under Earth's gravity, as in \
the field test of it at Hamamatsu, where slip grew close to linearly with the slope. The numbers of that test are not at hand, so \
that the shape alone is compared: R² of a straight line, 0.98 taken as close to linear. Beyond the line slip runs away within a \
few degrees: the pull that a slope needs nears the most that this sand gives, slip digs the wheels in, and the rover stalls.
";

/// Offset, slope and R² of the least-squares line.
fn straight_line(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let count = points.len().max(1) as f64;
    let (mean_x, mean_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - mean_x, p.1 - mean_y)).sum::<f64>();
    let rise = sum(&|x, y| x * y) / sum(&|x, _| x * x);
    let left = sum(&|x, y| (y - rise * x).powi(2));
    (mean_y - rise * mean_x, rise, 1.0 - left / sum(&|_, y| y * y))
}

#[cfg(test)]
mod tests {
    use super::straight_line;

    #[test]
    fn a_line_is_found_and_a_bend_is_reported() {
        let (offset, rise, r_squared) = straight_line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]);
        assert!((offset - 1.0).abs() < 1e-12 && (rise - 2.0).abs() < 1e-12 && (r_squared - 1.0).abs() < 1e-12);
        let (_, _, bent) = straight_line(&[(0.0, 0.0), (1.0, 1.0), (2.0, 4.0), (3.0, 9.0)]);
        assert!((0.8..0.95).contains(&bent), "{bent}");
    }
}
