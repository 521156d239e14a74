//! Drawbar pull of a VIPER wheel under 1000 N, compared with a continuum model.

use rayon::prelude::*;
use selene_soil::rig::{self, RigError, WheelRig};
use selene_soil::{Law, Pressure, SoilLaw, WheelShape};

use super::{ComparedFigure, Failure, Section, Sources, line};
use selene_pictures::chart::{Chart, Mark, Panel};

const SOILS: [&str; 4] = ["lunar", "viper_demo", "grc1", "dry_sand"];
const MODES: [(Pressure, &str); 2] = [(Pressure::Terrain, "terrain"), (Pressure::Surface, "surface")];
const LOAD_N: f64 = 1000.0;
/// The continuum model's approximate pull, N, at a slip of 0.4.
const CONTINUUM: (f64, f64) = (0.4, 250.0);
const SLIPS: [f64; 9] = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8];
/// VIPER's wheel with 24 grousers of 10 mm; its radius is that of the tips.
const WHEEL: WheelShape = WheelShape { grouser_height_m: 0.01, grousers: 24, ..WheelShape::plain(0.25, 0.2) };

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    let mut laws = Vec::new();
    for soil in SOILS {
        for (pressure, mode) in MODES {
            let mut spec = sources.soil(soil)?;
            if let SoilLaw::Scm(scm) = &mut spec.law {
                scm.pressure = pressure;
            }
            laws.push((format!("{soil}, {mode}"), Law::try_from(&spec)?));
        }
    }
    let pull = |(name, law): &(String, Law)| -> Result<(String, Vec<(f64, f64)>), RigError> {
        let at = |slip: f64| {
            let rig = WheelRig { gravity_m_s2: 9.81, ..WheelRig::new(law.clone(), WHEEL, LOAD_N, slip) };
            rig::wheel(&rig).map(|state| (slip, state.drawbar_n))
        };
        Ok((name.clone(), SLIPS.into_iter().map(at).collect::<Result<_, _>>()?))
    };
    let curves: Vec<_> = laws.par_iter().map(pull).collect();
    let curves: Vec<_> = curves.into_iter().collect::<Result<_, _>>()?;
    Ok(Section {
        figures: figures(&curves),
        text: text(&curves),
        charts: vec![("validation_continuum.png", chart(&curves))],
    })
}

fn at_forty(curve: &[(f64, f64)]) -> f64 {
    curve.iter().find(|point| point.0 == CONTINUUM.0).map_or(f64::NAN, |point| point.1)
}

fn figures(curves: &[(String, Vec<(f64, f64)>)]) -> Vec<ComparedFigure> {
    let names = ["continuum_lunar_terrain_n", "continuum_lunar_surface_n"];
    let what = ["pull at slip 0.4, soil lunar, pressure terrain", "pull at slip 0.4, soil lunar, pressure surface"];
    let figure = |i: usize| ComparedFigure {
        name: names[i],
        value: at_forty(&curves[i].1),
        unit: "N",
        what: what[i],
        at_most: None,
    };
    (0..names.len().min(curves.len())).map(figure).collect()
}

fn chart(curves: &[(String, Vec<(f64, f64)>)]) -> Chart {
    let mark = |i: usize| if i.is_multiple_of(MODES.len()) { Mark::Dashes } else { Mark::Line };
    let ours =
        curves.iter().enumerate().map(|(i, (name, points))| line(name, i / MODES.len(), mark(i), points.clone()));
    let theirs = line("continuum model, about", 5, Mark::Rings, vec![CONTINUUM]);
    Chart {
        title: "VIPER wheel under 1000 N".to_owned(),
        columns: 1,
        panels: vec![Panel {
            x: "slip".to_owned(),
            y: "drawbar pull, N".to_owned(),
            lines: ours.chain([theirs]).collect(),
        }],
    }
}

fn text(curves: &[(String, Vec<(f64, f64)>)]) -> String {
    let mut text = String::from(
        "A continuum model (CRM, smoothed particles) gives about 250 N of pull at a slip of 0.4 for a VIPER wheel under 1000 N. It \
stands here beside ours as a scale, not as a limit: its soil is not one of these. `terrain` is pressure along the undisturbed \
ground's normal, as in Chrono's SCM; `surface` is pressure along the wheel's surface (Wong and Reece), which charges what \
compacting the soil costs to the pull. The presets keep the first but for `dry_sand`.

| soil, pressure | pull at slip 0.4, N |
| --- | --- |
",
    );
    for (name, curve) in curves {
        text += &format!("| {name} | {:.0} |\n", at_forty(curve));
    }
    text += &format!("| continuum model | about {} |\n", CONTINUUM.1);
    text
}
