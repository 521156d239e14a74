//! Granular soil (`selene_crm`) against published laws, under a drum compared with our grains, and under a plate with our
//! SCM.

use selene_crm::rig::{self, BEADS, Compared, Deposit};
use selene_crm::{CrmError, CrmSpec};
use selene_pictures::chart::{Chart, Mark, Panel};
use selene_soil::Law;
use selene_soil::rig::{PlateRig, plate};
use selene_spheres::SpheresSpec;
use selene_spheres::rig::{ComparedTorques, drum, heap, heap_of_points};

use super::{ComparedFigure, Failure, Section, Sources, line, worst};

/// Sand with stable slopes up to 31°.
const SAND: CrmSpec = CrmSpec { density_kg_m3: 1600.0, friction_static: 0.6, friction_dynamic: 0.6, ..BEADS };
/// The soil of Chrono's ball drop.
const UNDER_BALL: CrmSpec =
    CrmSpec { density_kg_m3: 1510.0, young_pa: 1e5, friction_static: 0.3, friction_dynamic: 0.3, ..BEADS };
const ASPECTS: [f64; 3] = [0.5, 1.0, 1.5];
const COLUMN_CELLS: u32 = 10;
const DROPS_M: [f64; 3] = [0.05, 0.1, 0.2];
const BALL_CELLS: u32 = 12;
const WALL_FRICTION: f64 = 0.3;
const BLADE_FRICTION: f64 = 0.3;
const BLADE_CELLS: u32 = 6;
/// Sand under a drum, ten times softer than Chrono's to allow longer steps.
const UNDER_DRUM: CrmSpec =
    CrmSpec { density_kg_m3: 1700.0, young_pa: 1e5, friction_static: 0.7, friction_dynamic: 0.7, ..BEADS };
/// Grains that are heaped as steeply as that sand.
const GRAINS_UNDER_DRUM: SpheresSpec = SpheresSpec {
    density_kg_m3: 2500.0,
    young_pa: 5e6,
    poisson: 0.3,
    restitution: 0.5,
    friction: 0.7,
    rolling_friction: 0.7,
};
const PLATE_M: f64 = 0.3;
const MOON_M_S2: f64 = 1.62;
const DEPTHS_M: [f64; 4] = [0.005, 0.01, 0.015, 0.02];

/// All results of the rigs.
struct Measured {
    beads: Vec<Deposit>,
    sand: Vec<Deposit>,
    silo: Compared,
    balls: Vec<Compared>,
    blade: Compared,
    drum: ComparedTorques,
    /// Slopes of heaps, rad: of the grains and of the sand under the drum.
    heaps_rad: [f64; 2],
    /// Pairs of sinkage, mm, and force, N: of points, and of SCM.
    plates: [Vec<(f64, f64)>; 2],
}

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    let columns = |soil: &CrmSpec| -> Result<Vec<Deposit>, CrmError> {
        ASPECTS.into_iter().map(|aspect| rig::column(soil, aspect, COLUMN_CELLS)).collect()
    };
    let drops = DROPS_M.into_iter().map(|drop_m| rig::ball(&UNDER_BALL, drop_m, BALL_CELLS));
    let measured = Measured {
        beads: columns(&BEADS)?,
        sand: columns(&SAND)?,
        silo: rig::silo(&SAND, WALL_FRICTION)?,
        balls: drops.collect::<Result<_, _>>()?,
        blade: rig::blade(&SAND, BLADE_FRICTION, BLADE_CELLS)?,
        drum: drum(&GRAINS_UNDER_DRUM, &UNDER_DRUM, MOON_M_S2)?,
        heaps_rad: [heap(&GRAINS_UNDER_DRUM)?, heap_of_points(&UNDER_DRUM)?],
        plates: plates(sources)?,
    };
    Ok(Section {
        figures: figures(&measured),
        text: text(&measured),
        charts: vec![("validation_granular.png", chart(&measured))],
    })
}

/// Soil `lunar` under a square plate: as points, and by SCM.
fn plates(sources: &Sources) -> Result<[Vec<(f64, f64)>; 2], Failure> {
    let crm = sources.soil("lunar")?.crm.ok_or("soil lunar has no key crm")?.soil();
    let Law::Scm(scm) = sources.law("lunar")? else { return Err("soil lunar is not of law scm".into()) };
    let forces_n = rig::plate(&crm, PLATE_M, MOON_M_S2, &DEPTHS_M)?;
    let points = DEPTHS_M.into_iter().zip(forces_n).map(|(depth_m, force_n)| (1e3 * depth_m, force_n)).collect();
    let samples = plate(&PlateRig::new(scm, [PLATE_M; 2], 0.01, DEPTHS_M[3]))?;
    let down = samples.iter().filter(|sample| sample.time_s <= DEPTHS_M[3] / 0.01);
    Ok([points, down.map(|sample| (1e3 * sample.sinkage_m, sample.force_n)).collect()])
}

fn off(compared: Compared) -> f64 {
    compared.found / compared.law - 1.0
}

/// Ratio of the simulated value and the law's, at least 1.
fn times_off(compared: Compared) -> f64 {
    (compared.found / compared.law).max(compared.law / compared.found)
}

/// Mean torques over the second half of the drum's turn, N m: of grains and of points.
fn late_nm(drum: &ComparedTorques) -> [f64; 2] {
    [rig::second_half_nm(&drum.grains_nm), rig::second_half_nm(&drum.points_nm)]
}

fn figures(measured: &Measured) -> Vec<ComparedFigure> {
    let figure = |name, value: f64, what, at_most| ComparedFigure { name, value, unit: "", what, at_most };
    let run_out = |deposits: &[Deposit]| worst(deposits.iter().map(|deposit| off(deposit.run_out)));
    let height = |deposits: &[Deposit]| worst(deposits.iter().map(|deposit| off(deposit.height)));
    let [points, scm] = &measured.plates;
    let [grains_nm, points_nm] = late_nm(&measured.drum);
    let [grains_rad, points_rad] = measured.heaps_rad;
    let torque = |name, value, what| ComparedFigure { name, value, unit: "N m", what, at_most: None };
    let last = |curve: &[(f64, f64)]| curve.last().map_or(f64::NAN, |point| point.1);
    vec![
        figure(
            "column_beads_run_out",
            run_out(&measured.beads),
            "run-out of columns of beads, Lube et al.",
            Some(0.25),
        ),
        figure(
            "column_beads_height",
            height(&measured.beads),
            "height of their deposit, Lajeunesse et al.",
            Some(0.25),
        ),
        figure("column_sand_run_out", run_out(&measured.sand), "run-out of columns of sand, Lube et al.", Some(0.25)),
        figure("column_sand_height", height(&measured.sand), "height of their deposit, Lajeunesse et al.", Some(0.25)),
        figure("silo_stress", off(measured.silo).abs(), "mean stress in a silo, Janssen", Some(0.10)),
        figure(
            "ball_depth",
            worst(measured.balls.iter().map(|ball| off(*ball))),
            "depth of balls, Uehara et al.",
            Some(0.25),
        ),
        figure("blade_draft", times_off(measured.blade) - 1.0, "draft of a blade, McKyes, either way", Some(1.0)),
        torque("drum_torque", points_nm, "torque on a slice of RASSOR's drum that digs 50 mm deep, points"),
        torque("drum_torque_grains", grains_nm, "the same, grains of 13 to 16 mm"),
        figure(
            "drum_points_off_grains",
            (points_nm / grains_nm - 1.0).abs(),
            "points' torque beside the grains'",
            Some(0.25),
        ),
        figure(
            "heap_of_grains",
            (grains_rad / points_rad - 1.0).abs(),
            "slope of the grains' heap beside the points'",
            Some(0.10),
        ),
        figure("plate_over_scm", last(points) / last(scm), "force on a plate 20 mm deep over that of SCM", None),
    ]
}

fn chart(measured: &Measured) -> Chart {
    let of_aspect = |of: &dyn Fn(&Deposit) -> f64, deposits: &[Deposit]| -> Vec<(f64, f64)> {
        ASPECTS.into_iter().zip(deposits.iter().map(of)).collect()
    };
    let of_drop = |of: &dyn Fn(&Compared) -> f64| -> Vec<(f64, f64)> {
        DROPS_M.into_iter().zip(measured.balls.iter().map(of)).map(|(m, depth_m)| (1e3 * m, 1e3 * depth_m)).collect()
    };
    let Measured { beads, sand, plates: [points, scm], .. } = measured;
    let panel = |x: &str, y: &str, lines| Panel { x: x.to_owned(), y: y.to_owned(), lines };
    let columns = |law: &dyn Fn(&Deposit) -> f64, found: &dyn Fn(&Deposit) -> f64| {
        vec![
            line("law", 0, Mark::Dashes, of_aspect(law, beads)),
            line("beads", 1, Mark::Line, of_aspect(found, beads)),
            line("sand", 2, Mark::Line, of_aspect(found, sand)),
        ]
    };
    let balls = vec![
        line("law", 0, Mark::Dashes, of_drop(&|ball| ball.law)),
        line("points", 3, Mark::Line, of_drop(&|ball| ball.found)),
    ];
    let of_turn = |torques_nm: &[f64]| -> Vec<(f64, f64)> {
        let part_deg = 360.0 / torques_nm.len() as f64;
        let middles_deg = (0..torques_nm.len()).map(|part| (part as f64 + 0.5) * part_deg);
        middles_deg.zip(torques_nm.iter().copied()).collect()
    };
    let drums = vec![
        line("grains", 5, Mark::Dashes, of_turn(&measured.drum.grains_nm)),
        line("points", 3, Mark::Line, of_turn(&measured.drum.points_nm)),
    ];
    let plates = vec![line("SCM", 4, Mark::Dashes, scm.clone()), line("points", 3, Mark::Line, points.clone())];
    Chart {
        title: "Granular soil against published laws".to_owned(),
        columns: 2,
        panels: vec![
            panel("height over radius", "run-out over radius", columns(&|d| d.run_out.law, &|d| d.run_out.found)),
            panel(
                "height over radius",
                "deposit's height over radius",
                columns(&|d| d.height.law, &|d| d.height.found),
            ),
            panel("height of fall, mm", "depth of ball, mm", balls),
            panel("sinkage, mm", "force on plate, N", plates),
            panel("turn of drum, °", "torque on a slice, N m", drums),
        ],
    }
}

fn text(measured: &Measured) -> String {
    let [grains_deg, points_deg] = measured.heaps_rad.map(f64::to_degrees);
    let ComparedTorques { count, packing, .. } = &measured.drum;
    format!(
        "{HEAD}
Drum among grains: the same drum, bed and gravity in `selene_spheres`, of which a mirror through the middle of the drum leaves \
half, {count} grains of 13 to 16 mm. Their bed fills {:.1} % of its volume, and their density makes it as heavy as the soil. Friction \
and rolling friction, 0.7 each, heap them at {grains_deg:.1}°, the points of the soil at {points_deg:.1}°; nothing else is fitted. {WHY}
{PLATE}",
        100.0 * packing,
    )
}

const HEAD: &str = "Points of `selene_crm` on coarse cells, as `tests/validation` runs them: columns of 10 cells a radius, balls of 12 a \
diameter (of 8: 28 %), silos of 8 a width, plates of 10 a side. The limits are the scatter of the experiments: 10 % of Janssen's stress.

Columns: `Δr/r₀ = 1.24 a` (Lube et al. 2004, a < 1.7), height a below 0.74 radii and 0.74 above (Lajeunesse et al. 2004). Beads \
have μ(I) of Jop et al. (2006), sand μ = 0.6. The laws hold for both; a continuum of constant friction knows of it alone, so that \
sand runs less far the more it rubs. Silo: Janssen (1895) with the ratio of stresses that the soil in it has. Balls: Uehara et al. \
(2003), 2200 kg/m³ and 25 mm on soil of 1510 kg/m³ and μ 0.3, as in Chrono's demo. Blade: McKyes (1985), upright, 0.1 m deep in \
sand, of 6 cells; models of blades disagree by a factor of two (Wilkinson and DeGennaro 2007), which is the required limit. Drum: set up \
as Chrono's drum study, whose torques are not published as a table; soil of 1700 kg/m³ and μ 0.7 under 1.62 m/s², on cells of 30 mm.
";

/// Why the torques differ.
const WHY: &str = "Points need less than half of the grains' torque, which misses the 25 % asked for. The points' cells are not why: on cells of 20 and of \
15 mm they need 0.80 and 0.82 N m. The grains' size is a part of it: grains 1.4 times as large need 3.98 N m, 0.7 times as large 1.62 N m, \
half as large 1.42 N m (25 894 grains, of twice the modulus). A line through the three finest meets size zero at 0.95 N m, from which \
the points are 14 to 18 % off; finer grains would have to show that it stays a line. \
A channel of 60 mm is four of the compared grains deep, and outlets jam below some five (Zuriguel et al. 2005), which may be why the \
drum holds 2.1 kg of grains after its turn and 3.8 kg of points.
";

const PLATE: &str = "Plate: soil `lunar` under 0.3 × 0.3 m, as points and by SCM. No limit is required: points have no compaction, and so bear as soil \
that cannot be pressed closer. SCM stays the law of wheels; points are for soil that is dug and moved.
";
