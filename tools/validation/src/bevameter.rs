//! Discs and a ring on Chrono's continuum soil (Hu et al. 2024), compared with our points of the same soil, and with
//! our SCM after fitting Bekker's and Coulomb's parameters to Chrono's results.

use std::f64::consts::PI;

use rayon::prelude::*;
use selene_crm::rig::{self, RingTurn};
use selene_crm::{CrmSpec, Preset};
use selene_pictures::chart::{Chart, Mark, Panel};
use selene_soil::rig::{PlateRig, plate};
use selene_soil::{Law, SoilLaw};

use super::{ComparedFigure, Failure, Section, Sources, line, rms};

const RADII_M: [f64; 2] = [0.2, 0.3];
const SINKAGES_M: [f64; 8] = [0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2];
const FORCES_N: [[f64; 8]; 2] = [
    [3800.0, 7072.0, 10279.0, 13684.0, 17197.0, 21148.0, 25218.0, 30017.0],
    [7699.0, 15175.0, 23345.0, 31774.0, 41468.0, 52261.0, 63792.0, 77502.0],
];
/// Inner and outer radius of the ring, m, and its torque, N m, under each load, kg.
const RING_M: [f64; 2] = [0.15, 0.2];
const LOADS_KG: [f64; 8] = [25.0, 50.0, 75.0, 100.0, 125.0, 150.0, 175.0, 200.0];
const TORQUES_NM: [f64; 8] = [36.0, 62.0, 84.0, 105.0, 124.0, 141.0, 157.0, 170.0];
const EARTH_M_S2: f64 = 9.81;
/// Depth of our bed; that of Chrono's is not published.
const BED_M: f64 = 0.6;
/// Number of the sinkages to which our points are pressed.
const PRESSED: usize = 4;
/// Cells along the ring's width.
const RING_CELLS: u32 = 4;
/// Number of SCM cells along a plate.
const PLATE_CELLS: f64 = 36.0;
/// Bekker's exponents to try, in hundredths.
const EXPONENTS: std::ops::Range<u8> = 80..160;

/// Bekker's `p = (Kc/b + Kφ) zⁿ`, where b is the radius of a disc.
#[derive(Clone, Copy)]
struct Bekker {
    k_c: f64,
    k_phi: f64,
    n: f64,
}

/// Coulomb's `τ = c + p tan φ`.
#[derive(Clone, Copy)]
struct Coulomb {
    cohesion_pa: f64,
    tangent: f64,
}

/// Pairs of sinkage, m, and force, N.
type Curve = Vec<(f64, f64)>;

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    let soil = CrmSpec { cohesion_pa: 1e3, ..Preset::Viper.soil() };
    let pressed = |radius_m: &f64| rig::disc(&soil, *radius_m, BED_M, &SINKAGES_M[..PRESSED]);
    let points: Vec<Result<Vec<f64>, _>> = RADII_M.par_iter().map(pressed).collect();
    let points: Vec<Curve> = points
        .into_iter()
        .map(|forces| forces.map(|n| SINKAGES_M.into_iter().zip(n).collect()))
        .collect::<Result<_, _>>()?;
    let turned = |load_kg: &f64| rig::ring(&soil, RING_M, *load_kg, RING_CELLS);
    let turns: Vec<RingTurn> = LOADS_KG.par_iter().map(turned).collect::<Result<_, _>>()?;
    let (bekker, coulomb) = (Bekker::fit(), Coulomb::fit());
    let scm: Vec<Curve> =
        RADII_M.into_iter().map(|radius_m| pressed_by_scm(sources, bekker, radius_m)).collect::<Result<_, _>>()?;
    Ok(Section {
        figures: figures(&points, &turns, &scm, coulomb),
        text: text(&soil, &turns, bekker, coulomb),
        charts: vec![("validation_bevameter.png", chart(&soil, &points, &turns, &scm, coulomb))],
    })
}

impl Bekker {
    /// Fits the parameters by least squares of the error relative to each force.
    fn fit() -> Self {
        let fits = EXPONENTS.map(|hundredths| Self::with_exponent(f64::from(hundredths) / 100.0));
        let off = |fit: &Self| rms(rows().map(|(radius_m, z_m, force_n)| fit.force_n(radius_m, z_m) / force_n - 1.0));
        let best = fits.min_by(|one, other| off(one).total_cmp(&off(other)));
        best.unwrap_or(Self { k_c: 0.0, k_phi: f64::NAN, n: 1.0 })
    }

    fn with_exponent(n: f64) -> Self {
        let unit = |k_c, k_phi| Self { k_c, k_phi, n };
        let shares = rows().map(|(radius_m, z_m, force_n)| {
            [unit(1.0, 0.0), unit(0.0, 1.0)].map(|of| of.force_n(radius_m, z_m) / force_n)
        });
        let [k_c, k_phi] = least_squares(shares.map(|share| (share, 1.0)));
        Self { k_c, k_phi, n }
    }

    fn force_n(self, radius_m: f64, sinkage_m: f64) -> f64 {
        PI * radius_m * radius_m * (self.k_c / radius_m + self.k_phi) * sinkage_m.powf(self.n)
    }
}

impl Coulomb {
    fn fit() -> Self {
        let rows = LOADS_KG.into_iter().zip(TORQUES_NM).map(|(load_kg, torque_nm)| {
            let share = ring_torque_nm(1.0) / torque_nm;
            ([share, share * ring_pressure_pa(load_kg)], 1.0)
        });
        let [cohesion_pa, tangent] = least_squares(rows);
        Self { cohesion_pa, tangent }
    }

    fn torque_nm(self, load_kg: f64) -> f64 {
        ring_torque_nm(self.cohesion_pa + self.tangent * ring_pressure_pa(load_kg))
    }
}

/// Radius, m, sinkage, m, and force, N, of each row of the discs' table.
fn rows() -> impl Iterator<Item = (f64, f64, f64)> {
    let disc = |(radius_m, forces_n): (f64, [f64; 8])| {
        SINKAGES_M.into_iter().zip(forces_n).map(move |(sinkage_m, force_n)| (radius_m, sinkage_m, force_n))
    };
    RADII_M.into_iter().zip(FORCES_N).flat_map(disc)
}

/// Mean pressure under the ring, Pa.
fn ring_pressure_pa(load_kg: f64) -> f64 {
    let [inner, outer] = RING_M;
    load_kg * EARTH_M_S2 / (PI * (outer * outer - inner * inner))
}

/// Torque of a uniform shear stress over the ring, N m: `2π/3 (R³ − r³) τ`.
fn ring_torque_nm(shear_pa: f64) -> f64 {
    let [inner, outer] = RING_M;
    2.0 * PI / 3.0 * (outer.powi(3) - inner.powi(3)) * shear_pa
}

/// x and y that minimise the squares of `a x + b y − c` over rows of a, b and c.
fn least_squares(rows: impl Iterator<Item = ([f64; 2], f64)>) -> [f64; 2] {
    let (mut aa, mut ab, mut bb, mut ac, mut bc) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for ([a, b], c) in rows {
        (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
        (ac, bc) = (ac + a * c, bc + b * c);
    }
    let determinant = aa * bb - ab * ab;
    [(ac * bb - bc * ab) / determinant, (aa * bc - ab * ac) / determinant]
}

/// Forces of our SCM with these parameters under a square plate of the disc's area.
fn pressed_by_scm(sources: &Sources, bekker: Bekker, radius_m: f64) -> Result<Curve, Failure> {
    let mut soil = sources.soil("lunar")?;
    let SoilLaw::Scm(spec) = &mut soil.law else { return Err("soil lunar is not of law scm".into()) };
    (spec.k_c, spec.k_phi, spec.n) = (bekker.k_c, bekker.k_phi, bekker.n);
    let Law::Scm(scm) = Law::try_from(&soil)? else { return Err("soil lunar is not of law scm".into()) };
    let side_m = radius_m * PI.sqrt();
    let deepest_m = SINKAGES_M[SINKAGES_M.len() - 1];
    let rig = PlateRig { grid_m: side_m / PLATE_CELLS, ..PlateRig::new(scm, [side_m; 2], 0.02, deepest_m) };
    let samples = plate(&rig)?;
    let down: Vec<_> = samples.iter().filter(|sample| sample.time_s <= deepest_m / rig.speed_m_s).collect();
    let at = |z_m: f64| down.iter().min_by(|a, b| (a.sinkage_m - z_m).abs().total_cmp(&(b.sinkage_m - z_m).abs()));
    let curve = SINKAGES_M.into_iter().map(|z_m| (z_m, at(z_m).map_or(f64::NAN, |sample| sample.force_n)));
    Ok(curve.collect())
}

fn figures(points: &[Curve], turns: &[RingTurn], scm: &[Curve], coulomb: Coulomb) -> Vec<ComparedFigure> {
    let figure = |name, value, what, at_most| ComparedFigure { name, value, unit: "", what, at_most };
    let off = |curve: &Curve, disc: usize| {
        rms(curve.iter().zip(FORCES_N[disc]).map(|((_, ours_n), theirs_n)| ours_n / theirs_n - 1.0))
    };
    let torque = LOADS_KG.into_iter().zip(TORQUES_NM).map(|(load_kg, nm)| coulomb.torque_nm(load_kg) / nm - 1.0);
    let turned = turns.iter().zip(TORQUES_NM).map(|(turn, theirs_nm)| turn.torque_nm / theirs_nm - 1.0);
    vec![
        figure("disc_small_points", off(&points[0], 0), "points' force on a disc of 0.2 m, to 100 mm; rms", None),
        figure("disc_large_points", off(&points[1], 1), "points' force on a disc of 0.3 m, to 100 mm; rms", None),
        figure("disc_small_scm", off(&scm[0], 0), "SCM's force on its plate, to 200 mm, fitted; rms", Some(0.15)),
        figure("disc_large_scm", off(&scm[1], 1), "SCM's force on that of 0.3 m, to 200 mm, fitted; rms", Some(0.15)),
        figure("ring_torque_points", rms(turned), "points' torque of the ring, eight loads; rms", None),
        figure("ring_torque_fit", rms(torque), "Coulomb's torque of the ring, fitted; rms", Some(0.10)),
    ]
}

fn chart(soil: &CrmSpec, points: &[Curve], turns: &[RingTurn], scm: &[Curve], coulomb: Coulomb) -> Chart {
    let shown = |curve: &[(f64, f64)]| curve.iter().map(|(z_m, n)| (1e3 * z_m, 1e-3 * n)).collect();
    let mut discs = Vec::new();
    for (disc, name) in ["0.2 m", "0.3 m"].into_iter().enumerate() {
        let theirs: Curve = SINKAGES_M.into_iter().zip(FORCES_N[disc]).collect();
        discs.push(line(&format!("Chrono, {name}"), 3 * disc, Mark::Rings, shown(&theirs)));
        discs.push(line(&format!("points, {name}"), 3 * disc, Mark::Line, shown(&points[disc])));
        discs.push(line(&format!("SCM fitted, {name}"), 3 * disc, Mark::Dashes, shown(&scm[disc])));
    }
    let of_load = |of: &dyn Fn(f64) -> f64| LOADS_KG.into_iter().map(|kg| (kg, of(kg))).collect();
    let yields = Coulomb { cohesion_pa: soil.cohesion_pa, tangent: soil.friction_static };
    let turned = LOADS_KG.into_iter().zip(turns).map(|(load_kg, turn)| (load_kg, turn.torque_nm)).collect();
    let ring = vec![
        line("points", 0, Mark::Line, turned),
        line("Chrono", 0, Mark::Rings, LOADS_KG.into_iter().zip(TORQUES_NM).collect()),
        line("Coulomb, fitted", 4, Mark::Dashes, of_load(&|kg| coulomb.torque_nm(kg))),
        line("all of the ring yields", 3, Mark::Line, of_load(&|kg| yields.torque_nm(kg))),
    ];
    Chart {
        title: "Discs and a ring on Chrono's continuum soil".to_owned(),
        columns: 2,
        panels: vec![
            Panel { x: "sinkage, mm".to_owned(), y: "force on disc, kN".to_owned(), lines: discs },
            Panel { x: "load, kg".to_owned(), y: "torque of ring, N m".to_owned(), lines: ring },
        ],
    }
}

fn text(
    soil: &CrmSpec,
    turns: &[RingTurn],
    Bekker { k_c, k_phi, n }: Bekker,
    Coulomb { cohesion_pa, tangent }: Coulomb,
) -> String {
    let yields = Coulomb { cohesion_pa: soil.cohesion_pa, tangent: soil.friction_static };
    let turn = |turn: &RingTurn| format!("{:.0} N m at {:.0} mm", turn.torque_nm, 1e3 * turn.sinkage_m);
    let turned: Vec<String> = turns.iter().map(turn).collect();
    let over = |at: usize| yields.torque_nm(LOADS_KG[at]) / TORQUES_NM[at];
    format!(
        "Hu et al. (2024, Journal of Field Robotics 41) press discs into Chrono's continuum soil (1700 kg/m³, 1 MPa, μ 0.7, c \
1 kPa) and turn a ring of 0.15 to 0.2 m on it. The same soil as points of `selene_crm`: 5 cells a radius, walls three radii \
off, {BED_M} m deep; how deep theirs is under discs is not published, and soil of 1 MPa is the softer the deeper it is. SCM \
is pressed by square plates of the discs' area, with what fits the table best: Kc {k_c:.0}, Kφ {k_phi:.0}, n {n:.2} (SI), and \
for the ring c {cohesion_pa:.0} Pa, φ {:.1}°.

Were all soil under the ring to yield by the soil's own μ and c, its torque would be {:.2} times Chrono's under 25 kg and \
{:.2} times under 200 kg. Our points turn a ring four cells wide, with teeth one cell high like the grousers of a shear ring, on a bed 0.15 m \
deep; its weight and the soil's reaction move it up and down. Means between 25 and 50 mm of its middle's way, with the \
depth of the teeth's tips, under 25 to 200 kg in steps of 25: {}. The ring sinks while it turns and meets more soil the deeper it is, \
so these depend on its way; that of Chrono's ring and its depth are not in the table. Without teeth the torque swings by half with each \
cell that the ring sinks. Five cells wide, the ring gives 33, 100 and 170 N m under 25, 100 and 200 kg.
",
        tangent.atan().to_degrees(),
        over(0),
        over(LOADS_KG.len() - 1),
        turned.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::{Bekker, LOADS_KG, ring_pressure_pa, ring_torque_nm, rows};

    /// At the least squares, the slope in each parameter is zero.
    #[test]
    fn no_other_parameters_are_nearer_to_the_table() {
        let best = Bekker::fit();
        let off = |fit: Bekker| -> f64 {
            rows().map(|(radius_m, z_m, force_n)| (fit.force_n(radius_m, z_m) / force_n - 1.0).powi(2)).sum()
        };
        let others = [0.99, 1.01].map(|times| {
            [
                Bekker { k_c: times * best.k_c, ..best },
                Bekker { k_phi: times * best.k_phi, ..best },
                Bekker { n: times * best.n, ..best },
            ]
        });
        assert!(best.n > 0.81 && best.n < 1.58, "n {} is at the end of what is tried", best.n);
        assert!(others.into_iter().flatten().all(|other| off(other) > off(best)));
    }

    #[test]
    fn a_ring_presses_by_its_load_and_turns_against_its_shear() {
        let area_m2 = std::f64::consts::PI * (0.2 * 0.2 - 0.15 * 0.15);
        assert!((ring_pressure_pa(LOADS_KG[0]) * area_m2 - 25.0 * 9.81).abs() < 1e-9);
        // The lever arm of a narrow ring is its mean radius, here within 1 %.
        assert!((ring_torque_nm(1.0) / (area_m2 * 0.175) - 1.0).abs() < 0.01);
    }
}
