//! A ring that lies on soil under a load and turns about its axis: the shear test of a bevameter.
//!
//! The ring is made of boxes, each with the velocity and the turn rate of the rigid ring at its place, so that together
//! they move as one body. It is driven at a constant rate, carries its load as a mass, and rises and sinks by the soil's
//! reaction against its weight, which grows to the full load before the ring turns.
//!
//! The boxes are tilted alternately, so that the lower face is a saw of teeth one cell high, like the grousers of a shear
//! ring: soil shears against soil. A flat face gets hold of a whole layer of nodes at once, and its torque swings by half
//! with each cell that it sinks. Soil does not slide on the teeth where they press it, as it does not on the boundary
//! markers of Chrono's bodies. The bed is square, ends at smooth walls and lies on a floor that soil sticks to; the whole
//! ring is simulated.

use std::f64::consts::{PI, TAU};

use nalgebra::{Isometry3, UnitQuaternion, Vector3};

use super::{EARTH_M_S2, FLOOR, MIRRORS, earth, filled};
use crate::body::{Body, Reaction};
use crate::error::CrmError;
use crate::grid::Grid;
use crate::model::Model;
use crate::scratch::Scratch;
use crate::shape::BodyShape;
use crate::spec::CrmSpec;
use crate::state::State;
use crate::step::step;

/// Boxes of a ring, an even number; their corners reach a hundredth of the outer radius beyond it.
const SEGMENTS: u32 = 24;
/// Time between two exchanges of forces, s: short beside the swing of the lightest ring on the stiffest soil.
const EXCHANGE_S: f64 = 7e-4;
/// Time in which the load grows while the ring does not turn, s.
const LOADING_S: f64 = 0.2;
/// Speed of the ring's middle, m/s, and its way, m. The second half of the way is measured: by Janosi and Hanamoto's law,
/// with the 10 mm of sand, the shear stress has risen to nine tenths where it begins.
const SPEED_M_S: f64 = 0.125;
const WAY_M: f64 = 0.05;
/// Depth of the bed and distance from the ring to the walls, as multiples of the ring's width.
const BED_WIDTHS: u32 = 3;
const MARGIN_WIDTHS: f64 = 1.5;
/// Cells of free height above the bed, and half of the boxes' height.
const ABOVE_CELLS: u32 = 4;
const HALF_HEIGHT_CELLS: f64 = 3.0;
/// Coulomb's coefficient where soil does not slide: the highest that a body may have.
const ROUGH: f64 = 10.0;

/// A ring that turned on soil: means over the second half of its way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RingTurn {
    /// Torque of the soil's resistance about the axis, N m.
    pub torque_nm: f64,
    /// Vertical force of the soil, N.
    pub force_n: f64,
    /// Depth of the teeth's tips below the untouched surface, m.
    pub sinkage_m: f64,
}

/// The ring in motion.
struct Ring {
    radii_m: [f64; 2],
    load_kg: f64,
    /// Height of the teeth, m: one cell.
    teeth_m: f64,
    /// Middle between the tips of the teeth, m.
    tips_m: Vector3<f64>,
    angle_rad: f64,
    rate_rad_s: f64,
    /// Vertical speed, m/s.
    rise_m_s: f64,
}

/// The ring on its bed.
struct Bench {
    model: Model,
    soil: State,
    scratch: Scratch,
    bed_m: f64,
    ring: Ring,
}

/// Turns a ring, from the first to the second of `radii_m`, by 50 mm of its middle under `load_kg` on a bed three of its
/// widths deep, on Earth. `cells` is the number of cells per width.
///
/// # Errors
/// When soil, radii or cells are not valid, or soil flies out of the rig.
pub fn ring(soil: &CrmSpec, radii_m: [f64; 2], load_kg: f64, cells: u32) -> Result<RingTurn, CrmError> {
    let mut bench = Bench::new(soil, radii_m, load_kg, cells)?;
    bench.run(LOADING_S, |elapsed| elapsed)?;
    bench.ring.rate_rad_s = 2.0 * SPEED_M_S / (radii_m[0] + radii_m[1]);
    let half_s = 0.5 * WAY_M / SPEED_M_S;
    bench.run(half_s, |_| 1.0)?;
    bench.run(half_s, |_| 1.0)
}

impl Bench {
    fn new(soil: &CrmSpec, radii_m: [f64; 2], load_kg: f64, cells: u32) -> Result<Self, CrmError> {
        let [inner_m, outer_m] = radii_m;
        let width_m = outer_m - inner_m;
        let cell_m = width_m / f64::from(cells);
        let across = (2.0 * (outer_m + MARGIN_WIDTHS * width_m) / cell_m).round() as u32;
        let deep = BED_WIDTHS * cells;
        let cells = [across, across, deep + ABOVE_CELLS];
        let model = earth(soil, &Grid { cell_m, cells, edges: [MIRRORS, MIRRORS, FLOOR] })?;
        let [side_m, bed_m] = [across, deep].map(|count| f64::from(count) * cell_m);
        let ring = Ring {
            radii_m,
            load_kg,
            teeth_m: cell_m,
            tips_m: Vector3::new(0.5 * side_m, 0.5 * side_m, bed_m),
            angle_rad: 0.0,
            rate_rad_s: 0.0,
            rise_m_s: 0.0,
        };
        let soil = filled(&model, [side_m, side_m, bed_m])?;
        Ok(Self { model, soil, scratch: Scratch::default(), bed_m, ring })
    }

    /// Runs it for `duration_s`, under the share of the load that `share` gives of the elapsed part of that time.
    fn run(&mut self, duration_s: f64, share: impl Fn(f64) -> f64) -> Result<RingTurn, CrmError> {
        let count = (duration_s / EXCHANGE_S).round();
        let mut mean = RingTurn::default();
        for number in 1..=count as u32 {
            let bodies = self.ring.bodies();
            let outcome = step(&self.model, &mut self.soil, &bodies, EXCHANGE_S, &mut self.scratch)?;
            let [force_n, torque_nm] = self.ring.loads(&bodies, &outcome.reactions);
            mean.torque_nm += torque_nm / count;
            mean.force_n += force_n / count;
            mean.sinkage_m += (self.bed_m - self.ring.tips_m.z) / count;
            self.ring.go(force_n, share(f64::from(number) / count));
        }
        Ok(mean)
    }
}

impl Ring {
    /// Its boxes, which cover it up to the outer radius.
    fn bodies(&self) -> Vec<Body> {
        let [inner_m, outer_m] = self.radii_m;
        let half_length_m = outer_m * (PI / f64::from(SEGMENTS)).tan();
        let half_height_m = HALF_HEIGHT_CELLS * self.teeth_m;
        let half_m = [0.5 * (outer_m - inner_m), half_length_m, half_height_m];
        let tilt = (0.5 * self.teeth_m / half_length_m).min(1.0).asin();
        // The lowest edge of a tilted box is at the tips.
        let up_m = Vector3::z() * (half_height_m * tilt.cos() + half_length_m * tilt.sin());
        let turn = Vector3::z() * self.rate_rad_s;
        let segment = |number: u32| {
            let angle = self.angle_rad + TAU * f64::from(number) / f64::from(SEGMENTS);
            let tilt = if number.is_multiple_of(2) { tilt } else { -tilt };
            let arm_m = Vector3::new(angle.cos(), angle.sin(), 0.0) * (0.5 * (inner_m + outer_m));
            let [about_z, about_x] = [Vector3::z() * angle, Vector3::x() * tilt].map(UnitQuaternion::from_scaled_axis);
            Body {
                shape: BodyShape::Cuboid { half_m },
                pose: Isometry3::from_parts((self.tips_m + arm_m + up_m).into(), about_z * about_x),
                velocity_m_s: turn.cross(&arm_m) + Vector3::z() * self.rise_m_s,
                angular_velocity_rad_s: turn,
                friction: ROUGH,
            }
        };
        (0..SEGMENTS).map(segment).collect()
    }

    /// Vertical force, N, and resisting torque about the axis, N m, from the reactions of an exchange.
    fn loads(&self, bodies: &[Body], reactions: &[Reaction]) -> [f64; 2] {
        let sum: Vector3<f64> = reactions.iter().map(|reaction| reaction.impulse_n_s).sum();
        let moment = |(body, reaction): (&Body, &Reaction)| {
            let arm_m = body.pose.translation.vector - self.tips_m;
            arm_m.cross(&reaction.impulse_n_s).z + reaction.angular_impulse_n_m_s.z
        };
        let turning: f64 = bodies.iter().zip(reactions).map(moment).sum();
        [sum.z / EXCHANGE_S, -turning / EXCHANGE_S]
    }

    /// Moves it over an exchange, then changes its speed by the soil's force and a share of its weight.
    fn go(&mut self, force_n: f64, share: f64) {
        self.tips_m.z += self.rise_m_s * EXCHANGE_S;
        self.angle_rad += self.rate_rad_s * EXCHANGE_S;
        self.rise_m_s += (force_n / self.load_kg - share * EARTH_M_S2) * EXCHANGE_S;
    }
}
