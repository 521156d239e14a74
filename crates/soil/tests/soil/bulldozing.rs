//! Soil that moves aside: where wheels heap it, how steep it lies, what it carries, and that none is lost.

use std::path::Path;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::{
    Bulldozing, BulldozingSpec, Conditions, Law, MemoryPatch, PressScratch, Scm, SoilContext, SoilSpec, Soils,
    WheelMemory, WheelMotion, WheelShape, step,
};
use selene_terrain::{GroundPatch, Level, Node};

const LOAD_N: f64 = 110.0;
const CONDITIONS: Conditions = Conditions { dt_s: 5e-4, gravity_m_s2: 1.62 };
const SPACING_M: f64 = 0.02;
const REPOSE_DEG: f64 = 35.0;
/// Largest lost volume over the moved volume.
const VOLUME_TOLERANCE: f64 = 1e-6;
/// Slopes give way at 1 % beyond repose; heights are kept as `f32`.
const REPOSE_TOLERANCE: f64 = 0.01 + 1e-4;

/// Prescribed motion of a wheel, which sinks freely under its load.
#[derive(Clone, Copy)]
struct Lead {
    /// Velocity along x and y, m/s.
    way_m_s: [f64; 2],
    yaw_rad: f64,
    spin_rad_s: f64,
}

const ROLLING: Lead = Lead { way_m_s: [0.1, 0.0], yaw_rad: 0.0, spin_rad_s: 0.4 };
const LOCKED: Lead = Lead { spin_rad_s: 0.0, ..ROLLING };
const SPINNING: Lead = Lead { way_m_s: [0.0, 0.0], ..ROLLING };
const SIDEWAYS: Lead = Lead { way_m_s: [0.0, 0.1], ..LOCKED };

/// A wheel on its bed.
struct WheelOnSoil {
    soils: Soils,
    ground: GroundPatch,
    /// Initial heights, m.
    natural_m: Vec<f64>,
    memory: MemoryPatch,
    scratch: PressScratch,
    centre_m: Vector3<f64>,
    rise_m_s: f64,
    carried_n: f64,
}

/// The lunar soil, moving aside.
fn lunar() -> Soils {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/soil/lunar.yaml");
    let scm = Scm::try_from(&SoilSpec::load(&path).expect("preset")).expect("valid");
    let spec = BulldozingSpec { repose_deg: REPOSE_DEG, ..BulldozingSpec::default() };
    Soils::uniform(Law::Scm(scm.with_bulldozing(Some(Bulldozing::from(&spec)))))
}

impl WheelOnSoil {
    fn flat() -> Self {
        Self::on(lunar(), GroundPatch::flat(SPACING_M, 2.0))
    }

    fn on(soils: Soils, ground: GroundPatch) -> Self {
        let middle_m = ground.height_m(0.0, 0.0).expect("on the bed");
        Self {
            soils,
            natural_m: heights_m(&ground),
            memory: MemoryPatch::new(&ground),
            ground,
            scratch: PressScratch::default(),
            centre_m: Vector3::z() * (middle_m + 0.25),
            rise_m_s: 0.0,
            carried_n: 0.0,
        }
    }

    /// Sets the wheel down above a place.
    fn set_down(&mut self, x: f64, y: f64, above_m: f64) {
        (self.centre_m, self.rise_m_s) = (Vector3::new(x, y, 0.25 + above_m), 0.0);
    }

    fn lead(&mut self, lead: Lead, steps: usize) {
        let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, lead.yaw_rad);
        let [x, y] = lead.way_m_s;
        for _ in 0..steps {
            let motion = WheelMotion {
                world_from_wheel: Pose::from_parts(self.centre_m.into(), rotation),
                linear_m_s: Vector3::new(x, y, self.rise_m_s),
                angular_rad_s: rotation * Vector3::y() * lead.spin_rad_s,
            };
            let Self { soils, ground, memory, scratch, .. } = self;
            let mut context = SoilContext { soils, ground, memory, scratch };
            let (wheel, mut of) = (WheelShape::plain(0.25, 0.2), WheelMemory::default());
            let contact = step(&mut context, &wheel, &mut of, &motion, &CONDITIONS);
            self.carried_n = contact.wrench.force.z;
            self.rise_m_s += (self.carried_n / LOAD_N - 1.0) * CONDITIONS.gravity_m_s2 * CONDITIONS.dt_s;
            self.centre_m += Vector3::new(x, y, self.rise_m_s) * CONDITIONS.dt_s;
        }
    }

    /// By how much each post rose, m, with its place from the wheel's centre, m.
    fn rises(&self) -> impl Iterator<Item = ([f64; 2], f64)> + '_ {
        let nodes = self.ground.nodes().nodes().zip(&self.natural_m);
        nodes.map(move |(node, natural_m)| {
            let [x, y] = self.ground.node_xy_m(node);
            ([x - self.centre_m.x, y - self.centre_m.y], self.ground.node_height_m(node) - natural_m)
        })
    }

    /// Volume of what lies above the ground as it was, m³.
    fn heaped_m3(&self, is_there: impl Fn(f64, f64) -> bool) -> f64 {
        let there = self.rises().filter(|([x, y], _)| is_there(*x, *y));
        there.map(|(_, rise_m)| rise_m.max(0.0)).sum::<f64>() * SPACING_M * SPACING_M
    }
}

fn heights_m(ground: &GroundPatch) -> Vec<f64> {
    ground.nodes().nodes().map(|node| ground.node_height_m(node)).collect()
}

fn is_ahead(x: f64, y: f64) -> bool {
    x > 0.0 && y.abs() < 0.1
}

fn is_behind(x: f64, y: f64) -> bool {
    is_ahead(-x, y)
}

#[test]
fn no_soil_is_lost_whichever_way_a_wheel_slides() {
    let level = Level::sample([-1.0, -1.0], SPACING_M, 101, |x, y| 70.0 + 0.01 * (9.0 * x).sin() * (7.0 * y).cos());
    let mut bed = WheelOnSoil::on(lunar(), GroundPatch::of_level(level, Vec::new(), Vec::new()));
    for lead in [ROLLING, LOCKED, SIDEWAYS, SPINNING, Lead { yaw_rad: 0.7, ..ROLLING }] {
        bed.lead(lead, 2000);
    }
    let (gained, moved) = bed.rises().fold((0.0, 0.0), |(sum, all), (_, m)| (sum + m, all + f64::abs(m)));
    println!("{moved:.3} m in all, {gained:.1e} m gained");
    assert!(moved * SPACING_M * SPACING_M > 1e-4, "{moved}");
    // What is too little for a stored height: half a bit of 70 m at most in each of four tiles.
    let kept_m = 4.0 * 70.0 * f64::from(f32::EPSILON);
    assert!(gained.abs() < VOLUME_TOLERANCE * moved + kept_m, "{gained} m of {moved} m");
}

#[test]
fn a_rolling_wheel_heaps_soil_ahead_and_beside_and_a_locked_one_more_of_it_ahead() {
    let after = |lead: Lead| {
        let mut bed = WheelOnSoil::flat();
        bed.lead(lead, 8000);
        let left = bed.heaped_m3(|_, y| y > 0.1);
        let right = bed.heaped_m3(|_, y| y < -0.1);
        let (ahead, behind) = (bed.heaped_m3(is_ahead), bed.heaped_m3(|x, y| is_behind(x + 0.3, y)));
        println!("ahead {ahead:.2e}, behind {behind:.2e}, left {left:.2e}, right {right:.2e} m³");
        assert!(left > 5e-5 && right > 5e-5 && (left / right - 1.0).abs() < 0.2, "beside: {left} {right}");
        assert!(ahead > 5e-6 && behind < 0.5 * ahead, "{ahead} ahead, {behind} behind");
        ahead
    };
    let [rolling, locked] = [ROLLING, LOCKED].map(after);
    assert!(locked > 1.05 * rolling, "{locked} m³ ahead of a locked wheel, {rolling} of a rolling one");
}

#[test]
fn a_wheel_that_spins_throws_soil_behind_and_one_that_drifts_ploughs_it_to_that_side() {
    let mut spinning = WheelOnSoil::flat();
    spinning.lead(SPINNING, 4000);
    let [ahead, behind] = [spinning.heaped_m3(is_ahead), spinning.heaped_m3(is_behind)];
    assert!(behind > 2e-6 && ahead < 0.3 * behind, "{ahead} ahead, {behind} behind");
    let mut drifting = WheelOnSoil::flat();
    drifting.lead(SIDEWAYS, 4000);
    let [left, right] = [drifting.heaped_m3(|_, y| y > 0.0), drifting.heaped_m3(|_, y| y < -0.1 - 0.2)];
    assert!(left > 2e-5 && right < 0.3 * left, "{left} where it drifts to, {right} behind it");
}

/// Steepest slope between neighbours farther than 0.3 m from the wheel, m/m.
fn steepest_slope(bed: &WheelOnSoil) -> f64 {
    let ground = &bed.ground;
    let height_m = |node: Node| {
        let [x, y] = ground.node_xy_m(node);
        let is_clear = (x - bed.centre_m.x).hypot(y - bed.centre_m.y) > 0.3;
        if is_clear { ground.node_height_m(node) } else { f64::NAN }
    };
    let slopes = |node: Node| {
        [(1, 0), (0, 1), (1, 1), (-1, 1)].map(|(east, north)| {
            let to = Node { column: node.column + east, row: node.row + north };
            (height_m(node) - height_m(to)).abs() / (SPACING_M * f64::from(east).hypot(f64::from(north)))
        })
    };
    // f64::max passes over what is not a number.
    ground.nodes().nodes().flat_map(slopes).fold(0.0, f64::max)
}

#[test]
fn rut_walls_and_berms_lie_at_repose_behind_a_wheel_that_turns_and_skids() {
    let mut bed = WheelOnSoil::flat();
    bed.set_down(-0.5, -0.4, 0.0);
    for i in 0..24 {
        // Along an arc, pointing 20° inward of its way.
        let heading_rad = 0.05 * f64::from(i);
        let way_m_s = [0.2 * heading_rad.cos(), 0.2 * heading_rad.sin()];
        bed.lead(Lead { way_m_s, yaw_rad: heading_rad + 0.35, spin_rad_s: 0.8 }, 400);
    }
    let repose_tan = REPOSE_DEG.to_radians().tan();
    let steepest = steepest_slope(&bed) / repose_tan;
    println!("steepest {steepest:.4} of repose");
    assert!((0.8..1.0 + REPOSE_TOLERANCE).contains(&steepest), "{steepest}");
}

/// Where a wheel at rest stands: its centre's height, m.
fn stands_at_m(bed: &mut WheelOnSoil, x: f64, y: f64) -> f64 {
    bed.set_down(x, y, 0.03);
    bed.lead(Lead { way_m_s: [0.0; 2], ..LOCKED }, 4000);
    assert!((bed.carried_n / LOAD_N - 1.0).abs() < 0.02, "at rest it carries its load: {} N", bed.carried_n);
    bed.centre_m.z
}

#[test]
fn a_wheel_stands_higher_on_a_berm_than_on_the_ground_beside() {
    let mut bed = WheelOnSoil::flat();
    bed.set_down(-0.6, 0.0, 0.0);
    bed.lead(Lead { way_m_s: [0.2, 0.0], yaw_rad: 0.0, spin_rad_s: 0.8 }, 12_000);
    let berm_m = bed.rises().map(|(_, rise_m)| rise_m).fold(0.0, f64::max);
    let on_berm_m = stands_at_m(&mut bed, 0.0, 0.2);
    let beside_m = stands_at_m(&mut bed, 0.0, -0.7);
    println!("a berm of {berm_m:.4} m carries a wheel {:.4} m higher", on_berm_m - beside_m);
    assert!(berm_m > 0.005 && on_berm_m - beside_m > 0.1 * berm_m, "{berm_m} {on_berm_m} {beside_m}");
}

#[test]
fn a_rut_is_as_deep_again_after_a_second_pass_over_what_fell_into_it() {
    let mut bed = WheelOnSoil::flat();
    let floor_m = |bed: &WheelOnSoil| bed.ground.height_m(0.0, 0.0).expect("on the bed");
    let mut pass = || {
        bed.set_down(-0.6, 0.0, 0.0);
        bed.lead(Lead { way_m_s: [0.2, 0.0], yaw_rad: 0.0, spin_rad_s: 0.8 }, 12_000);
        floor_m(&bed)
    };
    let [first_m, second_m] = [pass(), pass()];
    println!("floor at {first_m:.4} m, then {second_m:.4} m");
    assert!(first_m < -0.002 && second_m <= first_m + 1e-3 && second_m > 2.2 * first_m, "{first_m} {second_m}");
}
