//! A wheel in granular soil (`selene_crm`): towed on sand, compared with Carnegie Mellon's single-wheel tests of 2020–21
//! (robomechanics/3d-terramechanics), and driven up a slope, compared with the wheel of the rover MGRU3.

use std::path::Path;

use rayon::prelude::*;
use selene_base::Table;
use selene_crm::rig::{TowedWheel, WheelBench};
use selene_crm::{BodyShape, CrmError, CrmSpec, Preset};
use selene_pictures::chart::{Chart, Mark, Panel};
use selene_soil::slip_ratio;

use super::measured::{GROUSER_MEANS, SMOOTH_MEANS, WIDTH_M};
use super::{ComparedFigure, Failure, Section, column, line, rms, worst};

const EARTH_M_S2: f64 = 9.81;
/// Sand of the towing tests: their bulk density, and one fitted friction. A loaded wheel of Carnegie Mellon's needs more
/// than the tangent of their sand's angle of repose, 0.55, which is that of an open slope.
const SAND: CrmSpec = CrmSpec {
    density_kg_m3: 1330.0,
    young_pa: 5e5,
    poisson: 0.3,
    friction_static: 0.8,
    friction_dynamic: 0.8,
    inertial_number: 0.3,
    grain_m: 5e-4,
    grain_density_kg_m3: 2600.0,
    cohesion_pa: 0.0,
};
/// Radius of the smooth wheel, and of the tips of grousers, m.
const RADII_M: [f64; 2] = [0.058, 0.063];
/// Friction of the smooth wheel, the second fitted number.
const SMOOTH_FRICTION: f64 = 0.4;
/// Rim speeds of the compared tests, mm/s, at 10 mm/s along the way.
const SMOOTH_MM_S: [f64; 4] = [5.0, 10.0, 20.0, 100.0];
const GROUSERED_MM_S: [f64; 3] = [10.0, 20.0, 100.0];
/// Speed of our axle, m/s, and its way, m: five times as fast as the tests', still far from where inertia counts.
const SPEED_M_S: f64 = 0.05;
const WAY_M: f64 = 0.13;
const TOWED_CELLS: u32 = 6;
const TOWED_BED_M: [f64; 3] = [0.32, 0.10, 0.09];

/// Slopes, degrees, and measured slips of MGRU3's wheel on GRC-1.
const SLOPES_DEG: [f64; 6] = [0.3, 5.2, 10.0, 15.0, 20.2, 25.1];
const SLIPS: [f64; 6] = [0.03, 0.05, 0.13, 0.43, 0.76, 0.88];
/// The same by single grains (DEM-Engine).
const GRAINS: [(f64, f64); 6] = [(0.0, 0.04), (5.0, 0.105), (10.0, 0.21), (15.0, 0.415), (20.0, 0.62), (25.0, 0.72)];
/// The wheel's radius to the tips of its 24 grousers of 30 mm, half of its width, m, its load, kg, and its rate, rad/s.
const MGRU3_M: f64 = 0.255;
const MGRU3_HALF_M: f64 = 0.1;
const MGRU3_KG: f64 = 17.5;
const MGRU3_RAD_S: f64 = 0.8;
const MGRU3_CELLS: u32 = 8;
const MGRU3_BED_M: [f64; 3] = [1.3, 0.3, 0.18];
const CLIMB_S: f64 = 3.0;
/// Slope up to which slips are required to agree, degrees, and that of a figure for gentler slopes.
const REQUIRED_TO_DEG: f64 = 16.0;
const GENTLE_TO_DEG: f64 = 11.0;

/// Slips on the six slopes of a wheel whose grousers are bodies, read by hand: a run with 17 cells to its radius takes
/// 40 s on two cores.
const GROUSERED_SLIPS: &str = "0.02, 0.05, 0.09, 0.17, 0.26 and 0.42";

const DRAWBAR_REQUIRED: f64 = 0.08;
const SINKAGE_REQUIRED: f64 = 0.25;
const SLIP_REQUIRED: f64 = 0.1;

/// A towing test and our result under the same conditions.
struct Towed {
    slip: f64,
    load_n: f64,
    measured: TowedWheel,
    ours: TowedWheel,
}

pub(super) fn compare() -> Result<Section, Failure> {
    let smooth = towed(SMOOTH_MEANS, &SMOOTH_MM_S, RADII_M[0], SMOOTH_FRICTION)?;
    let grousered = towed(GROUSER_MEANS, &GROUSERED_MM_S, RADII_M[1], SAND.friction_static)?;
    let climbs = climbs()?;
    Ok(Section {
        figures: figures(&smooth, &grousered, &climbs),
        text: text(),
        charts: vec![("validation_granular_wheel.png", chart(&smooth, &grousered, &climbs))],
    })
}

/// The tests of a table of means at these rim speeds, straight ahead, with our results.
fn towed(means: &str, rims_mm_s: &[f64], radius_m: f64, friction: f64) -> Result<Vec<Towed>, Failure> {
    let table = Table::parse(means, Path::new("means"))?;
    let read = |name| column(&table, name);
    let (angle, rim, travel) = (read("beta")?, read("Vry")?, read("avg_Vx")?);
    let (ahead, up, height_mm) = (read("avg_Fy")?, read("avg_Fz")?, read("avg_Z")?);
    let rows: Vec<usize> = (0..table.len()).filter(|&i| angle[i] == 0.0 && rims_mm_s.contains(&rim[i])).collect();
    let of_row = |&i: &usize| -> Result<Towed, CrmError> {
        let (slip, load_n) = (slip_ratio(travel[i], rim[i]), -up[i]);
        let bench = WheelBench {
            shape: BodyShape::Cylinder { radius_m, half_length_m: 0.5 * WIDTH_M },
            friction,
            mass_kg: load_n / EARTH_M_S2,
            bed_m: TOWED_BED_M,
            from_m: 0.28 * TOWED_BED_M[0],
            cells: TOWED_CELLS,
        };
        let measured = TowedWheel { pull_n: -ahead[i], sinkage_m: -1e-3 * height_mm[i] };
        Ok(Towed { slip, load_n, measured, ours: bench.towed(&SAND, slip, SPEED_M_S, WAY_M)? })
    };
    let all: Vec<_> = rows.par_iter().map(of_row).collect();
    Ok(all.into_iter().collect::<Result<_, _>>()?)
}

/// Our slips on the slopes.
fn climbs() -> Result<Vec<f64>, CrmError> {
    let soil = Preset::Slope.soil();
    let bench = WheelBench {
        shape: BodyShape::Cylinder { radius_m: MGRU3_M, half_length_m: MGRU3_HALF_M },
        friction: soil.friction_static,
        mass_kg: MGRU3_KG,
        bed_m: MGRU3_BED_M,
        from_m: 0.25 * MGRU3_BED_M[0],
        cells: MGRU3_CELLS,
    };
    let climb = |slope_deg: &f64| bench.slip_on_slope(&soil, slope_deg.to_radians(), MGRU3_RAD_S, CLIMB_S);
    let slips: Vec<_> = SLOPES_DEG.par_iter().map(climb).collect();
    slips.into_iter().collect()
}

fn figures(smooth: &[Towed], grousered: &[Towed], climbs: &[f64]) -> Vec<ComparedFigure> {
    let drawbar = |all: &[Towed]| rms(all.iter().map(|t| (t.ours.pull_n - t.measured.pull_n) / t.load_n));
    let sinkage = |all: &[Towed]| rms(all.iter().map(|t| t.ours.sinkage_m / t.measured.sinkage_m - 1.0));
    let off = |to_deg: f64| {
        let all = SLOPES_DEG.into_iter().zip(SLIPS).zip(climbs);
        worst(all.filter(|((slope_deg, _), _)| *slope_deg < to_deg).map(|((_, measured), ours)| ours - measured))
    };
    let figure = |name, value, what, at_most| ComparedFigure { name, value, unit: "", what, at_most };
    let (pull, sinks) = (Some(DRAWBAR_REQUIRED), Some(SINKAGE_REQUIRED));
    vec![
        figure("points_smooth_drawbar", drawbar(smooth), "pull over load, smooth wheel, RMS", pull),
        figure("points_smooth_sinkage", sinkage(smooth), "sinkage, smooth wheel, relative RMS", sinks),
        figure("points_grousers_drawbar", drawbar(grousered), "pull over load, grousers, RMS", pull),
        figure("points_grousers_sinkage", sinkage(grousered), "sinkage, grousers, relative RMS", sinks),
        figure("points_slope_slip_10", off(GENTLE_TO_DEG), "slip up slopes to 10°, greatest difference", None),
        figure(
            "points_slope_slip",
            off(REQUIRED_TO_DEG),
            "slip up slopes to 15°, greatest difference",
            Some(SLIP_REQUIRED),
        ),
    ]
}

fn chart(smooth: &[Towed], grousered: &[Towed], climbs: &[f64]) -> Chart {
    let panel = |y: &str, of: fn(&TowedWheel, f64) -> f64| {
        let both = |all: &[Towed], colour, name: &str| {
            let of_each = |result: fn(&Towed) -> &TowedWheel| -> Vec<_> {
                all.iter().map(|towed| (towed.slip, of(result(towed), towed.load_n))).collect()
            };
            [
                line(&format!("{name}, points"), colour, Mark::Line, of_each(|towed| &towed.ours)),
                line(&format!("{name}, measured"), colour, Mark::Rings, of_each(|towed| &towed.measured)),
            ]
        };
        let lines = [both(smooth, 0, "smooth"), both(grousered, 3, "grousers")].concat();
        Panel { x: "slip".to_owned(), y: y.to_owned(), lines }
    };
    let slopes = vec![
        line("points", 0, Mark::Line, SLOPES_DEG.into_iter().zip(climbs.iter().copied()).collect()),
        line("MGRU3, measured", 0, Mark::Rings, SLOPES_DEG.into_iter().zip(SLIPS).collect()),
        line("grains (DEM-Engine)", 3, Mark::Dashes, GRAINS.to_vec()),
    ];
    Chart {
        title: "A wheel in granular soil: towed on sand, and up slopes of GRC-1".to_owned(),
        columns: 2,
        panels: vec![
            panel("pull over load", |towed, load_n| towed.pull_n / load_n),
            panel("sinkage, mm", |towed, _| 1e3 * towed.sinkage_m),
            Panel { x: "slope, degrees".to_owned(), y: "slip".to_owned(), lines: slopes },
        ],
    }
}

fn text() -> String {
    let slope = Preset::Slope.soil();
    format!(
        "Towed: the tests of Carnegie Mellon that SCM is compared with above, straight ahead, on points of sand of {} kg/m³. Two numbers \
are fitted: the soil's friction of {} by the sinkage at slip 0, and the smooth wheel's friction on it of {SMOOTH_FRICTION}. \
Cells of {:.0} mm cannot resolve grousers of 5 mm: that wheel is a cylinder to their tips with the soil's own friction. It \
pulls more than measured at slips of 0.5 and 0.9, and sinks less at 0.9, where real grousers throw soil out.

Slopes: the slips of a wheel of the rover MGRU3 on GRC-1 (radius to the tips of its 24 grousers {MGRU3_M} m, {MGRU3_KG} kg, 0.8 rad/s, Earth), \
which Project Chrono publishes beside those of single grains (DEM-Engine). The soil is that of Chrono's study of the same slopes, \
{} kg/m³ and μ {}. Slip is 1 − v/(ωr) with the radius to the tips. The compared wheel is a cylinder to the tips with the soil's own \
friction, on cells of {:.0} mm. By hand, with grousers as bodies on cells of 15 mm and a friction of metal of 0.6, the slips on the six slopes are \
{GROUSERED_SLIPS}. From 15° on both slip much less than measured: a soil that can neither be pressed closer nor loosen \
takes up shear within a few millimetres and has its whole friction at a small slip, where real soil needs some tenths. SCM stays \
the law of driving wheels ([limits.md](limits.md)).
",
        SAND.density_kg_m3,
        SAND.friction_static,
        1e3 * RADII_M[0] / f64::from(TOWED_CELLS),
        slope.density_kg_m3,
        slope.friction_static,
        1e3 * MGRU3_M / f64::from(MGRU3_CELLS),
    )
}
