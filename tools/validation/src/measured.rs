//! A small wheel on dry sand, smooth and with grousers, compared with Carnegie Mellon's single-wheel tests of 2020–21
//! (robomechanics/3d-terramechanics).

use rayon::prelude::*;
use selene_base::Table;
use selene_soil::rig::{self, RigError, SteadyState, WheelRig};
use selene_soil::{Law, WheelShape, slip_ratio};

use super::{ComparedFigure, Failure, Section, Sources, column, line, rms, table};
use selene_pictures::chart::{Chart, Line, Mark, Panel};

/// Means over the repeats of every setting; the README beside them names their source.
pub(super) const SMOOTH_MEANS: &str = include_str!("../../../tests/validation/data/cmu_smooth_means.csv");
pub(super) const GROUSER_MEANS: &str = include_str!("../../../tests/validation/data/cmu_grouser_means.csv");
pub(super) const WIDTH_M: f64 = 0.05;
/// The smooth wheel; its `grip` is tan δ / tan φ of a smooth surface, one of the three fitted numbers.
const SMOOTH: WheelShape = WheelShape { grip: 0.85, ..WheelShape::plain(0.058, WIDTH_M) };
/// The wheel with grousers, which are so close that their tips count as its radius.
const GROUSERED: WheelShape = WheelShape { radius_m: 0.063, grip: 1.0, ..SMOOTH };
/// Slip −0.5 to 0.9, with a margin, since the tests did not meet their settings exactly.
const SLIPS: std::ops::RangeInclusive<f64> = -0.55..=0.92;
/// Largest slip angle for which the rig is used, degrees.
const ANGLE_MAX_DEG: f64 = 80.0;
const DRAWBAR_REQUIRED: f64 = 0.06;
const SINKAGE_REQUIRED: f64 = 0.15;

/// Mean over the repeats of one setting, and our result under the same conditions.
struct Setting {
    angle_deg: f64,
    rim_mm_s: f64,
    slip: f64,
    load_n: f64,
    measured: SteadyState,
    ours: SteadyState,
}

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    // The data folder may hold other data only.
    let folder = sources.data.as_ref().map(|data| data.join("wheel")).filter(|folder| folder.is_dir());
    let law = sources.law("dry_sand")?;
    let wheel = |file: &str, means: &str, wheel: &WheelShape| -> Result<Vec<Setting>, Failure> {
        settings(&law, wheel, &table(folder.as_deref(), file, means)?)
    };
    let smooth = wheel("cmu_smooth.csv", SMOOTH_MEANS, &SMOOTH)?;
    let grousered = wheel("cmu_grouser_straight.csv", GROUSER_MEANS, &GROUSERED)?;
    let charts = vec![
        ("validation_measured_straight.png", straight_chart(&smooth, &grousered)),
        ("validation_measured_angle.png", angle_chart(&smooth)),
    ];
    Ok(Section { figures: figures(&smooth, &grousered), text: text(&smooth), charts })
}

/// Means over the repeats by angle and wheel speed, with our results.
fn settings(law: &Law, wheel: &WheelShape, table: &Table) -> Result<Vec<Setting>, Failure> {
    let read = |name| column(table, name);
    let (angle, speed) = (read("beta")?, read("Vry")?);
    let (side, ahead, up) = (read("avg_Fx")?, read("avg_Fy")?, read("avg_Fz")?);
    let (height_mm, travel) = (read("avg_Z")?, read("avg_Vx")?);
    let mut known: Vec<(f64, f64)> = angle.iter().copied().zip(speed.iter().copied()).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    known.dedup();
    // The rig cannot set the slip of a wheel that is dragged while locked or across its plane.
    known.retain(|&(angle_deg, rim_mm_s)| angle_deg <= ANGLE_MAX_DEG && rim_mm_s > 0.0);
    let setting = |&(angle_deg, rim_mm_s): &(f64, f64)| -> Result<Setting, RigError> {
        let repeats: Vec<_> = (0..table.len()).filter(|&i| (angle[i], speed[i]) == (angle_deg, rim_mm_s)).collect();
        let mean = |values: &[f64]| repeats.iter().map(|&i| values[i]).sum::<f64>() / repeats.len() as f64;
        let load_n = -mean(&up);
        let slip = slip_ratio(mean(&travel) * angle_deg.to_radians().cos(), rim_mm_s);
        let rig = WheelRig {
            omega_rad_s: 1e-3 * rim_mm_s / wheel.radius_m,
            slip_angle_rad: angle_deg.to_radians(),
            gravity_m_s2: 9.81,
            grid_m: 0.005,
            step_s: 1e-3,
            duration_s: 22.0,
            average_s: 4.0,
            ..WheelRig::new(law.clone(), *wheel, load_n, slip)
        };
        let measured = SteadyState {
            sinkage_m: -1e-3 * mean(&height_mm),
            drawbar_n: -mean(&ahead),
            lateral_n: mean(&side),
            ..SteadyState::default()
        };
        Ok(Setting { angle_deg, rim_mm_s, slip, load_n, measured, ours: rig::wheel(&rig)? })
    };
    let settings: Vec<_> = known.par_iter().map(setting).collect();
    Ok(settings.into_iter().collect::<Result<_, _>>()?)
}

fn straight(settings: &[Setting]) -> impl Iterator<Item = &Setting> {
    settings.iter().filter(|setting| setting.angle_deg == 0.0 && SLIPS.contains(&setting.slip))
}

fn figures(smooth: &[Setting], grousered: &[Setting]) -> Vec<ComparedFigure> {
    let drawbar =
        |settings: &[Setting]| rms(straight(settings).map(|s| (s.ours.drawbar_n - s.measured.drawbar_n) / s.load_n));
    let sinkage = |settings: &[Setting]| rms(straight(settings).map(|s| s.ours.sinkage_m / s.measured.sinkage_m - 1.0));
    let angled = || smooth.iter().filter(|setting| setting.angle_deg > 0.0);
    let side = rms(angled().map(|s| (s.ours.lateral_n.abs() - s.measured.lateral_n.abs()) / s.load_n));
    let figure = |name, value, what, at_most| ComparedFigure { name, value, unit: "", what, at_most };
    vec![
        figure("smooth_drawbar_rms", drawbar(smooth), "pull over load, smooth, RMS", Some(DRAWBAR_REQUIRED)),
        figure("grousers_drawbar_rms", drawbar(grousered), "pull over load, grousers, RMS", Some(DRAWBAR_REQUIRED)),
        figure("smooth_sinkage_rms", sinkage(smooth), "sinkage, smooth, relative RMS", Some(SINKAGE_REQUIRED)),
        figure("grousers_sinkage_rms", sinkage(grousered), "sinkage, grousers, relative RMS", Some(SINKAGE_REQUIRED)),
        figure("smooth_lateral_rms", side, "lateral force over load, 15 to 75°, smooth, RMS", None),
    ]
}

fn straight_chart(smooth: &[Setting], grousered: &[Setting]) -> Chart {
    let panel = |y: &str, of: fn(&SteadyState, f64) -> f64| {
        let both = |settings: &[Setting], colour, name: &str| {
            let points = |of: &dyn Fn(&Setting) -> f64| -> Vec<_> {
                straight(settings).map(|setting| (setting.slip, of(setting))).collect()
            };
            [
                line(&format!("{name}, Selene"), colour, Mark::Line, points(&|s| of(&s.ours, s.load_n))),
                line(&format!("{name}, measured"), colour, Mark::Rings, points(&|s| of(&s.measured, s.load_n))),
            ]
        };
        let lines = both(smooth, 0, "smooth").into_iter().chain(both(grousered, 1, "grousers")).collect();
        Panel { x: "slip".to_owned(), y: y.to_owned(), lines }
    };
    Chart {
        title: "Small wheel on dry sand, straight ahead".to_owned(),
        columns: 2,
        panels: vec![
            panel("drawbar pull over load", |state, load_n| state.drawbar_n / load_n),
            panel("sinkage, mm", |state, _| 1e3 * state.sinkage_m),
        ],
    }
}

/// Results over the slip angle, with a line for some of the wheel speeds.
fn angle_chart(smooth: &[Setting]) -> Chart {
    let panel = |y: &str, of: fn(&SteadyState, f64) -> f64| {
        let mut lines: Vec<Line> = Vec::new();
        for (colour, rim_mm_s) in [5.0, 10.0, 20.0, 100.0].into_iter().enumerate() {
            let points = |of: &dyn Fn(&Setting) -> f64| -> Vec<_> {
                smooth.iter().filter(|s| s.rim_mm_s == rim_mm_s).map(|s| (s.angle_deg, of(s))).collect()
            };
            let name = |who: &str| format!("rim {rim_mm_s} mm/s, {who}");
            lines.push(line(&name("Selene"), colour, Mark::Line, points(&|s| of(&s.ours, s.load_n))));
            lines.push(line(&name("measured"), colour, Mark::Rings, points(&|s| of(&s.measured, s.load_n))));
        }
        Panel { x: "slip angle, degrees".to_owned(), y: y.to_owned(), lines }
    };
    Chart {
        title: "Smooth wheel on dry sand at a slip angle, 10 mm/s along its way".to_owned(),
        columns: 2,
        panels: vec![
            panel("lateral force over load", |state, load_n| state.lateral_n.abs() / load_n),
            panel("sinkage, mm", |state, _| 1e3 * state.sinkage_m),
            panel("drawbar pull over load", |state, load_n| state.drawbar_n / load_n),
        ],
    }
}

fn text(smooth: &[Setting]) -> String {
    let mut text = String::from(
        "Carnegie Mellon's single-wheel tests: 189 trials of a smooth wheel (radius 58 mm, width 50 mm) at slip angles to 90°, \
27 with grousers of 5 mm; 10 mm/s along the way, Earth gravity, dry sand; means over the three repeats. One soil, \
`dry_sand`, and three fitted numbers for both wheels: shear displacement `janosi_m`, `loss` of slip-sinkage and the smooth \
wheel's `grip` of 0.85. Modulus, exponent, angle of repose and density are the experimenters' own. Grousered wheels count to \
their tips. Slip −0.5 to 0.9 straight ahead is what the figures are over; a locked wheel and one dragged across its plane \
(90°) have no slip that the rig could set and are left out.

Straight ahead pull and sinkage bend over slip as measured, deeper with slip and deeper with grousers. Where they differ: a \
dragged wheel (slip −0.5) stands 4 to 5 mm less deep than measured; the smooth wheel pulls by 4 % of its load too much above a \
slip of 0.5; the grousered one pulls too little and stands 9 mm too shallow at a slip of 0.9, where its grousers dig soil \
out from under it, which no pressure–sinkage law knows.

At a slip angle lateral force rises with the angle to about 45° and falls with slip, as measured, but it is lower, the more so \
the larger the angle, and ours levels off where the measured one keeps rising. The measured wheel sinks to three times its \
depth by 75° as it ploughs sideways into its own berm; ours does not dig in by sideways motion, so its side wall meets less soil.

| slip angle | lateral force over load, measured | Selene |
| --- | --- | --- |
",
    );
    let mut angles: Vec<f64> = smooth.iter().map(|setting| setting.angle_deg).filter(|angle| *angle > 0.0).collect();
    angles.sort_by(f64::total_cmp);
    angles.dedup();
    for angle_deg in angles {
        let of_angle: Vec<_> = smooth.iter().filter(|setting| setting.angle_deg == angle_deg).collect();
        let mean = |of: fn(&Setting) -> &SteadyState| {
            of_angle.iter().map(|s| of(s).lateral_n.abs() / s.load_n).sum::<f64>() / of_angle.len() as f64
        };
        text += &format!("| {angle_deg}° | {:.3} | {:.3} |\n", mean(|s| &s.measured), mean(|s| &s.ours));
    }
    text
}
