//! A single wheel in a bed of soil, as on a test bench: driven up a slope, or towed at a given slip.
//!
//! The rig holds half of the wheel and of the bed, on one side of a mirror through the wheel's middle. The wheel carries
//! its load as a mass and sinks by it; it stands for a while, then turns at a constant rate. On a slope it also goes
//! along the bed by its mass and the soil's force; gravity is tilted instead of the bed. When it is towed, its axle has a
//! constant speed.

use std::f64::consts::FRAC_PI_2;
use std::ops::RangeInclusive;

use nalgebra::{Isometry3, Vector3};

use super::{EARTH_M_S2, FLOOR, MIRRORS, filled};
use crate::body::Body;
use crate::error::CrmError;
use crate::grid::Grid;
use crate::model::Model;
use crate::scratch::Scratch;
use crate::shape::BodyShape;
use crate::spec::CrmSpec;
use crate::state::State;
use crate::step::step;

/// Time between two exchanges of forces, s.
const EXCHANGE_S: f64 = 1e-3;
/// Time in which the wheel stands and sinks, and in which its rate then rises, s.
const STANDING_S: f64 = 0.2;
const STARTING_S: f64 = 0.3;
/// Times that a towed wheel's way may take, s.
const TOWED_S: RangeInclusive<f64> = 0.01..=600.0;
/// Free height above the bed, as a fraction of the wheel's radius, for soil that it throws and heaps up.
const ABOVE: f64 = 1.2;

/// A wheel and its bed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WheelBench {
    /// The wheel: a cylinder, or one with grousers.
    pub shape: BodyShape,
    /// Coulomb's coefficient between wheel and soil.
    pub friction: f64,
    /// Mass that it carries, its own included, kg.
    pub mass_kg: f64,
    /// Length, half of the width, and depth of the bed, m.
    pub bed_m: [f64; 3],
    /// Where the axle starts along the bed, m.
    pub from_m: f64,
    /// Cells per radius.
    pub cells: u32,
}

/// What a towed wheel does: means over the last two fifths of its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TowedWheel {
    /// Force of the soil along the way, N; positive where it pulls.
    pub pull_n: f64,
    /// Depth of its lowest point below the untouched surface, m.
    pub sinkage_m: f64,
}

fn require(holds: bool, or_else: impl Fn() -> String) -> Result<(), CrmError> {
    if holds { Ok(()) } else { Err(CrmError::Rig(or_else())) }
}

/// Lets the wheel rise and sink, but not go along the bed.
fn sink(bench: &mut Running, _elapsed_s: f64, force_n: Vector3<f64>) {
    bench.push(&[2], &force_n);
}

/// A bench in motion.
struct Running {
    model: Model,
    soil: State,
    /// Depth of the bed, m.
    bed_m: f64,
    wheel: Body,
    /// Half of the mass, kg.
    half_kg: f64,
    scratch: Scratch,
}

impl WheelBench {
    /// Slip, `1 − v/(ωr)` with the radius to the tips of grousers, of a wheel that turns at `rate_rad_s` up a slope on
    /// Earth: the mean over the second half of `duration_s`, which counts from when it begins to turn.
    ///
    /// # Errors
    /// When soil, wheel or bed are not valid, the rate is not above zero, its rise takes more than half of the duration,
    /// the bed is too short for a wheel that does not slip, or soil flies out of the rig.
    pub fn slip_on_slope(
        &self,
        soil: &CrmSpec,
        slope_rad: f64,
        rate_rad_s: f64,
        duration_s: f64,
    ) -> Result<f64, CrmError> {
        let radius_m = self.radius_m()?;
        require(rate_rad_s > 0.0, || format!("a rate of {rate_rad_s} rad/s: must be more than 0"))?;
        let least_s = 2.0 * STARTING_S;
        require(duration_s >= least_s, || format!("a drive of {duration_s} s: must be {least_s} s or more"))?;
        self.check_way(rate_rad_s * radius_m * duration_s)?;
        let gravity_m_s2 = Vector3::new(-slope_rad.sin(), 0.0, -slope_rad.cos()) * EARTH_M_S2;
        let mut bench = self.start(soil, gravity_m_s2)?;
        bench.run(STANDING_S, sink)?;
        let climb = |bench: &mut Running, elapsed_s: f64, force_n: Vector3<f64>| {
            bench.wheel.angular_velocity_rad_s = Vector3::y() * (rate_rad_s * (elapsed_s / STARTING_S).min(1.0));
            bench.push(&[0, 2], &force_n);
        };
        bench.run(0.5 * duration_s, climb)?;
        let middle_m = bench.wheel.pose.translation.x;
        bench.run(0.5 * duration_s, |bench, _, force_n| bench.push(&[0, 2], &force_n))?;
        let way_m = bench.wheel.pose.translation.x - middle_m;
        Ok(1.0 - way_m / (0.5 * duration_s * rate_rad_s * radius_m))
    }

    /// Pull and sinkage of a wheel on level ground on Earth, whose axle goes `way_m` at `speed_m_s` with a slip from −1
    /// to less than 1: `1 − v/(ωr)` of a wheel that turns faster than it rolls, `ωr/v − 1` of one that turns slower.
    ///
    /// # Errors
    /// When soil, wheel or bed are not valid, the slip is out of its range, the way takes less than a hundredth of a
    /// second or more than ten minutes, it leaves the bed, or soil flies out of the rig.
    pub fn towed(&self, soil: &CrmSpec, slip: f64, speed_m_s: f64, way_m: f64) -> Result<TowedWheel, CrmError> {
        let (radius_m, way_s) = (self.radius_m()?, way_m / speed_m_s);
        require((-1.0..1.0).contains(&slip), || format!("a slip of {slip}: must be -1 to less than 1"))?;
        let lasts = TOWED_S.contains(&way_s);
        require(lasts, || format!("{way_m} m at {speed_m_s} m/s take {way_s} s: must be {TOWED_S:?} s"))?;
        self.check_way(way_m)?;
        let rim_m_s = if slip < 0.0 { speed_m_s * (1.0 + slip) } else { speed_m_s / (1.0 - slip) };
        let mut bench = self.start(soil, Vector3::z() * -EARTH_M_S2)?;
        bench.run(STANDING_S, sink)?;
        bench.wheel.velocity_m_s.x = speed_m_s;
        bench.wheel.angular_velocity_rad_s = Vector3::y() * (rim_m_s / radius_m);
        bench.run(0.6 * way_s, sink)?;
        let (mut force_n, mut axle_m, mut count) = (0.0, 0.0, 0.0);
        bench.run(0.4 * way_s, |bench, _, half_n| {
            bench.push(&[2], &half_n);
            force_n += 2.0 * half_n.x;
            axle_m += bench.wheel.pose.translation.z;
            count += 1.0;
        })?;
        Ok(TowedWheel { pull_n: force_n / count, sinkage_m: bench.bed_m + radius_m - axle_m / count })
    }

    fn radius_m(&self) -> Result<f64, CrmError> {
        let radius_m = self.shape.wheel_radius_m();
        radius_m.ok_or_else(|| CrmError::Rig("the shape must be a cylinder or a wheel".to_owned()))
    }

    /// Checks that the wheel is on the bed at both ends of its way.
    fn check_way(&self, way_m: f64) -> Result<(), CrmError> {
        let (radius_m, [long_m, ..]) = (self.radius_m()?, self.bed_m);
        let last_m = self.from_m + way_m;
        require(self.from_m >= radius_m && last_m + radius_m <= long_m, || {
            format!(
                "a way from {} to {last_m} m: must keep the radius, {radius_m} m, from the ends of {long_m} m",
                self.from_m
            )
        })
    }

    fn start(&self, soil: &CrmSpec, gravity_m_s2: Vector3<f64>) -> Result<Running, CrmError> {
        let radius_m = self.radius_m()?;
        require(self.mass_kg > 0.0, || format!("a mass of {} kg: must be more than 0", self.mass_kg))?;
        let cell_m = radius_m / f64::from(self.cells);
        let [long, wide, deep] = self.bed_m.map(|side_m| (side_m / cell_m).round() as u32);
        let above = (ABOVE * f64::from(self.cells)).ceil() as u32;
        let grid = Grid { cell_m, cells: [long, wide, deep + above], edges: [MIRRORS, MIRRORS, FLOOR] };
        let model = Model::new(soil, &grid, gravity_m_s2)?;
        let [long_m, wide_m, bed_m] = [long, wide, deep].map(|count| f64::from(count) * cell_m);
        let soil = filled(&model, [long_m, wide_m, bed_m])?;
        let axle = Vector3::new(self.from_m, 0.0, bed_m + radius_m);
        let wheel = Body {
            shape: self.shape,
            pose: Isometry3::new(axle, Vector3::x() * FRAC_PI_2),
            velocity_m_s: Vector3::zeros(),
            angular_velocity_rad_s: Vector3::zeros(),
            friction: self.friction,
        };
        Ok(Running { model, soil, wheel, half_kg: 0.5 * self.mass_kg, bed_m, scratch: Scratch::default() })
    }
}

impl Running {
    /// Runs it; `then` gets the elapsed time, s, and the force of the soil on half of the wheel, N, after each exchange.
    fn run(&mut self, duration_s: f64, mut then: impl FnMut(&mut Self, f64, Vector3<f64>)) -> Result<(), CrmError> {
        for exchange in 1..=(duration_s / EXCHANGE_S).round() as u32 {
            let outcome = step(&self.model, &mut self.soil, &[self.wheel], EXCHANGE_S, &mut self.scratch)?;
            self.wheel = self.wheel.moved(EXCHANGE_S);
            then(self, f64::from(exchange) * EXCHANGE_S, outcome.reactions[0].impulse_n_s / EXCHANGE_S);
        }
        Ok(())
    }

    /// Changes the wheel's velocity along `axes`.
    fn push(&mut self, axes: &[usize], force_n: &Vector3<f64>) {
        let gravity_m_s2 = self.model.gravity_m_s2();
        for &axis in axes {
            self.wheel.velocity_m_s[axis] += (force_n[axis] / self.half_kg + gravity_m_s2[axis]) * EXCHANGE_S;
        }
    }
}
