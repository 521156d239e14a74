//! A rigid wheel at different slips against the integrals of Wong and Reece (1967), and a wheel at rest. The law's
//! pressure acts along the wheel's surface here, as in those integrals.

use selene_soil::rig::{self, SteadyState, WheelRig};
use selene_soil::{Law, Pressure, SlipSinkage, SoilLaw, SoilSpec, WheelShape};

const RADIUS_M: f64 = 0.25;
const WIDTH_M: f64 = 0.20;
const K_PHI: f64 = 0.82e6;
const COHESION_PA: f64 = 170.0;
const JANOSI_M: f64 = 0.0178;
const LOAD_N: f64 = 100.0;
/// Integration steps over the contact.
const PARTS: usize = 2000;

/// Relative tolerance of sinkage: nodes are 5 mm apart, and soil rebounds behind the axle.
const SINKAGE_TOLERANCE: f64 = 0.02;
/// Tolerance of forces relative to the load, and of torque relative to the load times the radius: the law answers 50 µm
/// ahead of its sliding (1 % of the strength).
const FORCE_TOLERANCE: f64 = 0.015;

/// Tolerance against Wong and Reece's own shear displacement, which is that of a point of the rim: at slip 0.5 the
/// soil's is twice as long, and pulls 11 N more.
const RIM_TOLERANCE: f64 = 0.12;

/// The soil `lunar` without damping and without the patch's Kc, ten times stiffer in unloading, with pressure along the
/// surface.
fn soil(change: impl Fn(&mut selene_soil::ScmSpec)) -> Law {
    let mut spec = SoilSpec::load(&selene_tests::repository_file("config/soil/lunar.yaml")).expect("preset");
    let SoilLaw::Scm(law) = &mut spec.law else { panic!("lunar is an SCM soil") };
    (law.k_c, law.damping_pa_s_per_m, law.elastic_pa_per_m) = (0.0, 0.0, 2e9);
    law.pressure = Pressure::Surface;
    change(law);
    Law::try_from(&spec).expect("valid")
}

fn measured(law: Law, load_n: f64, slip: f64) -> SteadyState {
    let wheel = WheelShape::plain(RADIUS_M, WIDTH_M);
    let rig = WheelRig::new(law, wheel, load_n, slip);
    // The distance is the same at any slip: several contact lengths.
    let duration_s = 2.0 / (1.0 - slip);
    rig::wheel(&WheelRig { grid_m: 0.005, duration_s, average_s: 0.3 * duration_s, ..rig }).expect("runs")
}

/// Definition of the shear displacement j.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ShearDefinition {
    /// Displacement of a point of the rim, from where it meets the soil (Wong and Reece):
    /// dj = R (1 − (1 − s) cos θ) dθ.
    Rim,
    /// Displacement of the wheel over a point of the soil, as at the grid's nodes: that point is under the wheel for a
    /// different time, which makes dj cos θ/(1 − s) times as long.
    Soil,
}

/// Load, drawbar pull and torque of a wheel whose contact begins at `entry_rad` and ends under the axle:
/// σ = k (R (cos θ − cos θ1))ⁿ, τ = (c + σ tan φ)(1 − e^(−j/J)),
/// W = R b ∫ (σ cos θ + τ sin θ), H = R b ∫ (τ cos θ − σ sin θ), T = R² b ∫ τ.
fn integrals(sheared: ShearDefinition, entry_rad: f64, slip: f64) -> [f64; 3] {
    let (step, friction) = (entry_rad / PARTS as f64, 35.0_f64.to_radians().tan());
    let (mut sums, mut j) = ([0.0; 3], 0.0);
    for part in (0..PARTS).rev() {
        let angle = (part as f64 + 0.5) * step;
        let stay = if sheared == ShearDefinition::Rim { 1.0 } else { angle.cos() / (1.0 - slip) };
        let slid = RADIUS_M * (1.0 - (1.0 - slip) * angle.cos()) * stay * step;
        j += 0.5 * slid;
        let sigma = K_PHI * RADIUS_M * (angle.cos() - entry_rad.cos());
        let tau = (COHESION_PA + sigma * friction) * (1.0 - (-j / JANOSI_M).exp());
        let area = RADIUS_M * WIDTH_M * step;
        sums[0] += area * (sigma * angle.cos() + tau * angle.sin());
        sums[1] += area * (tau * angle.cos() - sigma * angle.sin());
        sums[2] += area * RADIUS_M * tau;
        j += 0.5 * slid;
    }
    sums
}

/// Entry angle at which the contact carries the load, by bisection.
fn entry_rad(sheared: ShearDefinition, slip: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.5);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if integrals(sheared, middle, slip)[0] < LOAD_N { low = middle } else { high = middle }
    }
    high
}

#[test]
fn drawbar_torque_and_sinkage_over_slip_are_those_of_wong_and_reece() {
    for slip in [0.0, 0.1, 0.2, 0.5, 0.8] {
        let ours = measured(soil(|_| ()), LOAD_N, slip);
        for (sheared, force_tolerance) in
            [(ShearDefinition::Soil, FORCE_TOLERANCE), (ShearDefinition::Rim, RIM_TOLERANCE)]
        {
            let entry = entry_rad(sheared, slip);
            let [_, drawbar_n, torque_nm] = integrals(sheared, entry, slip);
            let sinkage_m = RADIUS_M * (1.0 - entry.cos());
            println!(
                "slip {slip:4} {sheared:?}: sinkage {:.2} {:.2} mm, drawbar {:.2} {drawbar_n:.2} N, torque {:.3} {:.3} N m",
                1e3 * ours.sinkage_m,
                1e3 * sinkage_m,
                ours.drawbar_n,
                ours.torque_nm,
                -torque_nm
            );
            assert!((ours.sinkage_m / sinkage_m - 1.0).abs() < SINKAGE_TOLERANCE, "{slip} {sheared:?}");
            assert!((ours.drawbar_n - drawbar_n).abs() < force_tolerance * LOAD_N, "{slip} {sheared:?}");
            let lever = LOAD_N * RADIUS_M;
            assert!((ours.torque_nm + torque_nm).abs() < force_tolerance * lever, "{slip} {sheared:?}");
        }
    }
}

/// The work of compaction is Bekker's, whichever way the pressure acts: pressure along the terrain's normal takes it
/// from the motor (torque · ω), pressure along the surface's from the pull (drawbar · v). Without shear strength there
/// is no other work: b k zⁿ⁺¹/(n + 1) per metre.
#[test]
fn compaction_costs_the_same_by_torque_and_by_drawbar() {
    let frictionless =
        |pressure| soil(move |law| (law.cohesion_pa, law.friction_deg, law.pressure) = (0.0, 0.0, pressure));
    let bekker_n = |sinkage_m: f64| 0.5 * WIDTH_M * K_PHI * sinkage_m * sinkage_m;
    let along_terrain = measured(frictionless(Pressure::Terrain), LOAD_N, 0.0);
    let along_surface = measured(frictionless(Pressure::Surface), LOAD_N, 0.0);
    // The soil's rebound returns a little of the work.
    for (resistance_n, at) in
        [(-along_terrain.torque_nm / RADIUS_M, along_terrain), (-along_surface.drawbar_n, along_surface)]
    {
        let expected_n = bekker_n(at.sinkage_m);
        assert!((resistance_n / expected_n - 1.0).abs() < 0.02, "{resistance_n} {expected_n}");
    }
    assert!(along_terrain.drawbar_n.abs() < 1e-9 && along_surface.torque_nm.abs() < 1e-9);
}

/// With slip-sinkage the soil under a fully slipping wheel has (1 − loss) of its modulus, so the wheel sinks as deep as
/// in a soil of that modulus.
#[test]
fn a_slipping_wheel_sinks_as_in_soil_that_has_lost_its_share() {
    let loss = 0.4;
    let with = |law: &mut selene_soil::ScmSpec| {
        law.slip_sinkage = Some(SlipSinkage { loss, displacement_m: 1e-4 });
    };
    let slipping = measured(soil(with), LOAD_N, 0.8);
    let weaker = measured(soil(|law| law.k_phi *= 1.0 - loss), LOAD_N, 0.8);
    assert!((slipping.sinkage_m / weaker.sinkage_m - 1.0).abs() < 0.01, "{slipping:?} {weaker:?}");
    let rolling = measured(soil(|_| ()), LOAD_N, 0.8);
    assert!(slipping.sinkage_m > 1.2 * rolling.sinkage_m);
}

/// A wheel's side meets Rankine's passive pressure: cohesion adds a lateral force of 2 c √Nφ times the area of the sunk
/// side, a segment of a circle.
#[test]
fn a_wheel_that_slides_sideways_pushes_soil_with_its_sunk_side() {
    let sideways = |cohesive: bool| {
        let law = soil(move |law| {
            (law.pressure, law.friction_deg, law.density_kg_m3) = (Pressure::Terrain, 0.0, 1500.0);
            law.cohesion_pa = if cohesive { COHESION_PA } else { 0.0 };
        });
        let wheel = WheelShape::plain(RADIUS_M, WIDTH_M);
        let angle = 1.2;
        let rig = WheelRig { grid_m: 0.005, slip_angle_rad: angle, ..WheelRig::new(law, wheel, LOAD_N, 0.2) };
        rig::wheel(&rig).expect("runs")
    };
    let (with, without) = (sideways(true), sideways(false));
    let segment_m2 = |sinkage_m: f64| {
        let half = (1.0 - sinkage_m / RADIUS_M).acos();
        RADIUS_M * RADIUS_M * (half - half.sin() * half.cos())
    };
    // The law's 1 mm/s is negligible against 0.41 m/s. Only the half ahead of the axle counts: behind it the soil has
    // been pressed down already.
    let side_m2 = 0.5 * segment_m2(with.sinkage_m);
    let weight_n = 0.5 * 1500.0 * 1.62 * depth_squared_m3(without.sinkage_m);
    assert!((-without.lateral_n / weight_n - 1.0).abs() < 0.3, "{} {weight_n}", without.lateral_n);
    let contact_n = COHESION_PA * WIDTH_M * (2.0 * RADIUS_M * with.sinkage_m).sqrt();
    let expected_n = 2.0 * COHESION_PA * side_m2 + contact_n + weight_n;
    println!("sideways {:.2} N, expected {expected_n:.2} N fully mobilised", -with.lateral_n);
    assert!(-with.lateral_n < expected_n && -with.lateral_n > 0.7 * expected_n, "{with:?}");
}

/// ∫ h² dx over the front half of a wheel sunk by z, h = z − x²/(2R): 8/15 z² √(2Rz).
fn depth_squared_m3(sinkage_m: f64) -> f64 {
    8.0 / 15.0 * sinkage_m * sinkage_m * (2.0 * RADIUS_M * sinkage_m).sqrt()
}
