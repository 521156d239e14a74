//! A plate pressed into soil `lunar` and lifted again, compared with Project Chrono's SCM.

use selene_base::Table;
use selene_soil::Law;
use selene_soil::rig::{self, PlateRig, PlateSample};

use super::{ComparedFigure, Failure, Section, Sources, column, line, table};
use selene_pictures::chart::{Chart, Mark, Panel};

/// Our run of Chrono; the README beside it says how it was made.
const REFERENCE: &str = include_str!("../../../tests/validation/data/plate_lunar.csv");
const SIZES_M: [[f64; 2]; 2] = [[0.2, 0.1], [0.3, 0.3]];
const DEPTH_M: f64 = 0.04;
/// Margin by which the peer's plate may be larger on all sides, m: a cell and a half.
const MARGIN_M: f64 = 0.03;

/// Sinkage, m, and force, N, while pressing and while lifting.
struct Curve {
    down: Vec<(f64, f64)>,
    up: Vec<(f64, f64)>,
}

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    let table = table(sources.reference.as_deref(), "plate_lunar.csv", REFERENCE)?;
    let Law::Scm(scm) = sources.law("lunar")? else { return Err("soil lunar is not of law scm".into()) };
    let (mut figures, mut panels) = (Vec::new(), Vec::new());
    for (size_m, names) in SIZES_M.into_iter().zip(NAMES) {
        let ours = curve(rig::plate(&PlateRig::new(scm, size_m, 0.01, DEPTH_M))?);
        let theirs = reference(&table, size_m)?;
        panels.push(panel(size_m, &ours, &theirs));
        figures.extend(figures_of(names, size_m, &ours, &theirs));
    }
    let chart = Chart { title: "Plate on soil lunar, beside Project Chrono's SCM".to_owned(), columns: 2, panels };
    Ok(Section { figures, text: TEXT.to_owned(), charts: vec![("validation_peer_plate.png", chart)] })
}

/// Names and descriptions of a plate's figures.
const NAMES: [[(&str, &str); 3]; 2] = [
    [
        ("plate_small_stiffness", "peer's stiffness over ours, 0.2 × 0.1 m; a cell and a half all round is the limit"),
        ("plate_small_bend", "how differently the two bend between 9 and 39 mm, 0.2 × 0.1 m"),
        ("plate_small_unloading_n", "force left 0.5 mm up, 0.2 × 0.1 m"),
    ],
    [
        ("plate_large_stiffness", "peer's stiffness over ours, 0.3 × 0.3 m; a cell and a half all round is the limit"),
        ("plate_large_bend", "how differently the two bend between 9 and 39 mm, 0.3 × 0.3 m"),
        ("plate_large_unloading_n", "force left 0.5 mm up, 0.3 × 0.3 m"),
    ],
];

const TEXT: &str = "A flat plate is pressed at 10 mm/s to 40 mm and lifted. The peer's collision margin makes its plate up to a \
cell and a half larger all round and lets it feel the soil 0.5 mm early, so level is taken from Bekker's formula \
(tests/verification) and only shape is compared here: the peer is stiffer by no more than that area, its force rises in a \
straight line as Bekker's n = 1 gives, and both let go at once when the plate turns back.
";

fn curve(samples: Vec<PlateSample>) -> Curve {
    let turn_s = DEPTH_M / 0.01;
    let (down, up): (Vec<_>, Vec<_>) = samples.into_iter().partition(|sample| sample.time_s <= turn_s);
    let points = |samples: Vec<PlateSample>| samples.iter().map(|s| (s.sinkage_m, s.force_n)).collect();
    Curve { down: points(down), up: points(up) }
}

fn reference(table: &Table, size_m: [f64; 2]) -> Result<Curve, Failure> {
    let [x, y] = [column(table, "plate_x_m")?, column(table, "plate_y_m")?];
    let [time, sinkage_m, force_n] = ["time_s", "sinkage_m", "force_N"].map(|name| column(table, name));
    let (time, sinkage_m, force_n) = (time?, sinkage_m?, force_n?);
    let of_size = (0..table.len()).filter(|&i| [x[i], y[i]] == size_m);
    let samples = of_size.map(|i| PlateSample { time_s: time[i], sinkage_m: sinkage_m[i], force_n: force_n[i] });
    Ok(curve(samples.collect()))
}

/// Force when the plate first reaches `depth_m`, N.
fn force_at(curve: &Curve, depth_m: f64) -> f64 {
    curve.down.iter().find(|point| point.0 >= depth_m).map_or(f64::NAN, |point| point.1)
}

fn stiffness(curve: &Curve, from_m: f64, to_m: f64) -> f64 {
    (force_at(curve, to_m) - force_at(curve, from_m)) / (to_m - from_m)
}

fn figures_of(
    names: [(&'static str, &'static str); 3],
    size_m: [f64; 2],
    ours: &Curve,
    theirs: &Curve,
) -> [ComparedFigure; 3] {
    let whole = |curve: &Curve| stiffness(curve, 0.0085, 0.0385);
    let grown = (size_m[0] + MARGIN_M) * (size_m[1] + MARGIN_M) / (size_m[0] * size_m[1]);
    let bend = stiffness(theirs, 0.0085, 0.0185) / whole(theirs) - stiffness(ours, 0.0085, 0.0185) / whole(ours);
    let held = ours.up.iter().chain(&theirs.up).filter(|point| point.0 < DEPTH_M - 5e-4);
    let figure = |i: usize, value, unit, at_most| {
        let (name, what) = names[i];
        ComparedFigure { name, value, unit, what, at_most: Some(at_most) }
    };
    [
        figure(0, whole(theirs) / whole(ours), "", grown),
        figure(1, bend.abs(), "", 0.10),
        figure(2, held.map(|point| point.1).fold(0.0, f64::max), "N", 0.0),
    ]
}

fn panel(size_m: [f64; 2], ours: &Curve, theirs: &Curve) -> Panel {
    let points = |curve: &Curve| curve.down.iter().chain(&curve.up).map(|(z, force)| (1e3 * z, *force)).collect();
    Panel {
        x: "sinkage, mm".to_owned(),
        y: format!("force on {} x {} m, N", size_m[0], size_m[1]),
        lines: vec![
            line("Selene", 0, Mark::Line, points(ours)),
            line("Chrono (larger by its margin)", 1, Mark::Dashes, points(theirs)),
        ],
    }
}
