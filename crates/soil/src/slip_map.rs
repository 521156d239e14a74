//! The slip map: a table of drawbar over load against slip, per soil, as rover programmes
//! measure it in a tilt bed. The table's value at slip zero is the rolling resistance; the
//! rest is traction, made at the rim.
//!
//! Slip is undefined at rest. So a stretch x grows with the rim's sliding and fades by
//! rolling, x' = (ωR − v) − |V| x/σ with V the larger of ωR and v: in steady rolling x/σ is
//! the slip exactly, in drive and in skid; at rest x is a spring that holds a parked
//! wheel on a slope without creep. (σ is the relaxation length of tyre models, Pacejka.)
//!
//! Across the wheel the same stretch has Coulomb's limit, which shrinks as traction is used
//! (friction ellipse). Along the normal the ground is rigid (`rigid`), lowered by the sinkage
//! when the table has one. The torque of traction about the axle is F R. Resistance takes its
//! power from the body, or from the drive where the wheel is dragged against its rotation, so
//! that neither ever generates power.

use std::cmp::Ordering;

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::Wrench;
use selene_base::input::within;
use serde::Deserialize;

use crate::bearing::Bearing;
use crate::contact_patch::{ContactPatch, NormalReaction, point_velocity};
use crate::grip::{Friction, Load, Slide, Spring};
use crate::rigid::{bearing, bristle};
use crate::slip_table::{Curve, Interpolation, SlipRow, check_rows};
use crate::spec::positive_within;
use crate::surface::Surface;
use crate::trace::Trace;
use crate::wheel::{Conditions, SoilContext, WheelContact, WheelMotion, WheelShape, slip_ratio};
use crate::wheel_memory::WheelMemory;

/// Speed at which half of the rolling resistance acts, m/s; at rest none acts.
const RESIST_M_S: f64 = 1e-3;
/// Speed above which the stretch needs no damping of its own, m/s.
const SWAY_M_S: f64 = 0.01;
/// Damping of sway at rest, share of critical.
const DAMPING_RATIO: f64 = 0.7;
/// Tangent of the slip angle at which the lateral force of a rolling wheel reaches Coulomb's limit.
const ACROSS: f64 = 0.3;
/// Share of the lateral limit that the friction ellipse leaves when all traction is used.
const ELLIPSE_LEFT: f64 = 0.1;
/// Speed below which no slip is reported as outside the table, m/s.
const CRAWL_M_S: f64 = 1e-3;
/// Ratio of ground speed to opposite rim speed at which resistance has faded to zero.
const BACKWARD: f64 = 0.05;

/// Largest allowed sinkage of a row, m.
const SINKAGE_MAX_M: f64 = 10.0;

/// A slip map's part of a soil file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SlipMapSpec {
    /// How the table is interpolated between its rows.
    #[garde(skip)]
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Friction across the wheel over its load, with no traction used, 0 to 10.
    #[garde(custom(within(0.0, 10.0)))]
    pub lateral_friction: f64,
    /// Relaxation length σ, the distance of rolling over which slip builds up, m: 10 µm to 100 m.
    #[garde(custom(positive_within(1e-5, 100.0)))]
    pub relaxation_m: f64,
    /// The rows, slip rising from −1 to 1.
    #[garde(dive, custom(without_free_pull(self.interpolation)))]
    pub table: SlipTable,
}

/// A garde check that drawbar is not positive at zero slip: a free wheel that pulls would generate energy.
fn without_free_pull(interpolation: Interpolation) -> impl FnOnce(&SlipTable, &()) -> garde::Result {
    move |table, ()| {
        let rows = &table.0;
        let rises = |pair: &[SlipRow]| pair[1].slip.partial_cmp(&pair[0].slip) == Some(Ordering::Greater);
        // The check of single rows reports these errors.
        if rows.len() < 2 || !rows.windows(2).all(rises) {
            return Ok(());
        }
        let column = |value: fn(&SlipRow) -> f64| rows.iter().map(value).collect();
        let at_zero = Curve::new(column(|row| row.slip), column(|row| row.drawbar_over_load), interpolation).at(0.0);
        if at_zero <= 0.0 {
            return Ok(());
        }
        let what = format!("a drawbar over load of {at_zero} at slip 0 is not allowed: must be 0 or less there");
        Err(garde::Error::new(what))
    }
}

/// Rows of a slip map, 3 to 1024; sinkage is 10 m at most.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SlipTable(pub Vec<SlipRow>);

impl Validate for SlipTable {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        if !(3..=1024).contains(&self.0.len()) {
            let what = format!("{} rows are not allowed: must be 3 to 1024", self.0.len());
            report.append(parent(), garde::Error::new(what));
            return;
        }
        for (i, row) in self.0.iter().enumerate() {
            row.validate_into(&(), &mut garde::util::nested_path!(parent, i), report);
            if let Some(error) = too_deep(row) {
                report.append(parent().join(i).join("sinkage_m"), error);
            }
        }
        check_rows(&self.0, parent, report);
    }
}

fn too_deep(row: &SlipRow) -> Option<garde::Error> {
    let sinkage_m = row.sinkage_m.filter(|m| *m > SINKAGE_MAX_M)?;
    Some(garde::Error::new(format!("value {sinkage_m} is not allowed: must be 0 to {SINKAGE_MAX_M}")))
}

/// A validated slip map.
#[derive(Clone, Debug, PartialEq)]
pub struct SlipMap {
    drawbar: Curve,
    sinkage_m: Option<Curve>,
    /// Rolling resistance over load: the negative of the drawbar over load at zero slip.
    resistance: f64,
    /// Largest traction over load.
    traction_max: f64,
    lateral_friction: f64,
    relaxation_m: f64,
}

impl From<&SlipMapSpec> for SlipMap {
    fn from(spec: &SlipMapSpec) -> Self {
        let rows = &spec.table.0;
        let curve = |y: Vec<f64>| Curve::new(rows.iter().map(|row| row.slip).collect(), y, spec.interpolation);
        let drawbar = curve(rows.iter().map(|row| row.drawbar_over_load).collect());
        let sinkage: Option<Vec<f64>> = rows.iter().map(|row| row.sinkage_m).collect();
        let at_zero = drawbar.at(0.0);
        Self {
            resistance: -at_zero,
            traction_max: drawbar.most_from(at_zero),
            sinkage_m: sinkage.map(curve),
            drawbar,
            lateral_friction: spec.lateral_friction,
            relaxation_m: spec.relaxation_m,
        }
    }
}

/// A wheel's directions and speeds along the ground.
struct Gait {
    axle: Vector3<f64>,
    ahead: Vector3<f64>,
    left: Vector3<f64>,
    rate_rad_s: f64,
    rim_m_s: f64,
    ahead_m_s: f64,
    left_m_s: f64,
}

impl SlipMap {
    /// Drawbar over load at a slip; beyond −1 and 1 the value at the table's end.
    #[must_use]
    pub fn drawbar_over_load(&self, slip: f64) -> f64 {
        self.drawbar.at(slip)
    }

    pub(crate) fn step(
        &self,
        context: &mut SoilContext,
        wheel: &WheelShape,
        memory: &mut WheelMemory,
        motion: &WheelMotion,
        conditions: &Conditions,
    ) -> WheelContact {
        let surface = if self.sinkage_m.is_some() {
            Surface::undisturbed(context.ground, context.memory)
        } else {
            Surface::now(context.ground)
        };
        let bearing = bearing(memory, wheel, conditions);
        let Some(contact_patch) = ContactPatch::find(&surface, wheel, motion) else {
            memory.leave();
            return WheelContact::default();
        };
        memory.bring_hollow(contact_patch.depth_m(), bearing.rest_m(memory.load_n));
        let lowered_m = memory.yielded_m;
        let disc_n = |depth_m: f64, closing_m_s: f64| bearing.disc_n(depth_m - lowered_m, closing_m_s);
        let Some(stand) = contact_patch.stand(motion, disc_n) else {
            memory.lift(contact_patch.depth_m() <= 0.0);
            return WheelContact::default();
        };
        memory.is_down = true;
        let gait = Gait::new(motion, &stand, wheel.radius_m);
        let wrench = match &gait {
            Some(gait) => self.pull(gait, &stand, memory, wheel, conditions),
            None => self.rub(&stand, memory, wheel, motion, &bearing, conditions),
        };
        let is_deep = bearing.is_too_soft(&stand, lowered_m);
        memory.follow_load(stand.normal_n, is_deep, conditions.dt_s);
        if let Some(gait) = &gait {
            let rolled = gait.speed_m_s() * conditions.dt_s / wheel.radius_m;
            let wanted_m = self.sinkage_m.as_ref().map_or(0.0, |sinkage_m| sinkage_m.at(gait.slip()));
            memory.yielded_m += (wanted_m - memory.yielded_m) * rolled.min(1.0);
        }
        if self.sinkage_m.is_some() {
            Trace::PLAIN.leave(context.ground, context.memory, wheel, motion, stand.depth_m);
        }
        WheelContact {
            wrench,
            terrain_normal: stand.normal,
            sinkage_m: stand.depth_m,
            normal_n: stand.normal_n,
            contact_nodes: stand.discs,
            sinkage_beyond_radius: stand.depth_m > wheel.radius_m,
            slip_outside_fit: gait.is_some_and(|gait| gait.speed_m_s() > CRAWL_M_S && gait.slip().abs() > 1.0),
            ..WheelContact::default()
        }
    }

    /// Wrench on a rolling wheel about its centre.
    fn pull(
        &self,
        gait: &Gait,
        stand: &NormalReaction,
        memory: &mut WheelMemory,
        wheel: &WheelShape,
        conditions: &Conditions,
    ) -> Wrench {
        let traction_n = self.traction_n(gait, stand.normal_n, memory, wheel, conditions);
        let across_n = self.across_n(gait, stand.normal_n, traction_n, memory, wheel, conditions);
        // Resistance must not reverse the motion within a step.
        let soft_m_s = RESIST_M_S + 2.0 * self.resistance * conditions.gravity_m_s2 * conditions.dt_s;
        let resist_n = -self.resistance * stand.normal_n * gait.resisting(soft_m_s);
        let mut wrench = stand.wrench;
        wrench.add_force_at(gait.ahead * (traction_n + resist_n) + gait.left * across_n, stand.arm_m);
        let gives_w = (resist_n * gait.ahead_m_s).max(0.0);
        let braking_nm = if gives_w > 0.0 { gives_w / gait.rate_rad_s } else { 0.0 };
        let axle_nm = -traction_n * wheel.radius_m - braking_nm;
        wrench.torque += gait.axle * (axle_nm - wrench.torque.dot(&gait.axle));
        wrench
    }

    /// Traction ahead, N. Updates the stretch along the wheel.
    fn traction_n(
        &self,
        gait: &Gait,
        normal_n: f64,
        memory: &mut WheelMemory,
        wheel: &WheelShape,
        conditions: &Conditions,
    ) -> f64 {
        let (dt_s, sigma_m, speed_m_s) = (conditions.dt_s, self.relaxation_m, gait.speed_m_s());
        let before_m = -memory.stretch_m.dot(&gait.ahead);
        let sliding_m_s = gait.rim_m_s - gait.ahead_m_s;
        let after_m = (before_m + sliding_m_s * dt_s) / (1.0 + speed_m_s * dt_s / sigma_m);
        let stretch_m = after_m.clamp(-sigma_m, sigma_m);
        memory.stretch_m -= gait.ahead * (stretch_m + memory.stretch_m.dot(&gait.ahead));
        // The table holds forward, and mirrored backward; at rest the two are averaged.
        let rolling_m_s = gait.rim_m_s + gait.ahead_m_s;
        let forward = 0.5 + 0.5 * rolling_m_s / (rolling_m_s.abs() + RESIST_M_S);
        let traction = |slip: f64| self.drawbar.at(slip) + self.resistance;
        let slip = stretch_m / sigma_m;
        let elastic_n = normal_n * (forward * traction(slip) - (1.0 - forward) * traction(-slip));
        let load = Load { load_n: memory.load_n, own_kg: wheel.tangential_kg() };
        let spring = Spring::new(normal_n * self.traction_max / sigma_m, &load, DAMPING_RATIO, conditions);
        let at_rest = 1.0 / (1.0 + (speed_m_s / SWAY_M_S).powi(2));
        let most_n = normal_n * self.traction_max;
        (elastic_n + spring.damping_n_s_m * sliding_m_s * at_rest).clamp(-most_n, most_n)
    }

    /// Force to the left, N. Updates the stretch across the wheel.
    fn across_n(
        &self,
        gait: &Gait,
        normal_n: f64,
        traction_n: f64,
        memory: &mut WheelMemory,
        wheel: &WheelShape,
        conditions: &Conditions,
    ) -> f64 {
        let used = (traction_n / (normal_n * self.traction_max).max(f64::MIN_POSITIVE)).abs().min(1.0);
        let most_n = normal_n * self.lateral_friction * (1.0 - used * used).sqrt().max(ELLIPSE_LEFT);
        let stiffness_n_m = normal_n * self.lateral_friction / (ACROSS * self.relaxation_m);
        let before_m = memory.stretch_m.dot(&gait.left);
        let fading = 1.0 + gait.ahead_m_s.abs() * conditions.dt_s / self.relaxation_m;
        let trial_m = (before_m + gait.left_m_s * conditions.dt_s) / fading;
        let longest_m = most_n / stiffness_n_m.max(f64::MIN_POSITIVE);
        let stretch_m = trial_m.clamp(-longest_m, longest_m);
        memory.stretch_m += gait.left * (stretch_m - before_m);
        let load = Load { load_n: memory.load_n, own_kg: wheel.mass_kg };
        let damping = Spring::new(stiffness_n_m, &load, DAMPING_RATIO, conditions).damping_n_s_m;
        let at_rest = 1.0 / (1.0 + (gait.ahead_m_s / SWAY_M_S).powi(2));
        let force_n = -stiffness_n_m * stretch_m - damping * gait.left_m_s * at_rest;
        force_n.clamp(-most_n, most_n)
    }

    /// Wrench on a wheel on its side, which does not roll: only lateral friction acts.
    fn rub(
        &self,
        stand: &NormalReaction,
        memory: &mut WheelMemory,
        wheel: &WheelShape,
        motion: &WheelMotion,
        bearing: &Bearing,
        conditions: &Conditions,
    ) -> Wrench {
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let slide = Slide::new(stand.normal, point_velocity(motion, &axle, &stand.arm_m), None, 0.0);
        let friction = Friction { at_rest: self.lateral_friction, sliding: self.lateral_friction };
        let bristle = bristle(bearing, memory, wheel, conditions);
        let held = memory.hold(&slide, stand.normal_n, &friction, &bristle, conditions.dt_s);
        let mut wrench = stand.wrench;
        wrench.add_force_at(held, stand.arm_m);
        wrench
    }
}

impl Gait {
    fn new(motion: &WheelMotion, stand: &NormalReaction, radius_m: f64) -> Option<Self> {
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let ahead = axle.cross(&stand.normal).try_normalize(1e-6)?;
        let left = stand.normal.cross(&ahead);
        let rate_rad_s = motion.angular_rad_s.dot(&axle);
        let velocity = point_velocity(motion, &axle, &stand.arm_m);
        let (ahead_m_s, left_m_s) = (motion.linear_m_s.dot(&ahead), velocity.dot(&left));
        Some(Self { axle, ahead, left, rate_rad_s, rim_m_s: rate_rad_s * radius_m, ahead_m_s, left_m_s })
    }

    fn speed_m_s(&self) -> f64 {
        self.rim_m_s.abs().max(self.ahead_m_s.abs())
    }

    fn slip(&self) -> f64 {
        slip_ratio(self.ahead_m_s, self.rim_m_s)
    }

    /// Sign and share of the resistance: positive while rolling ahead, zero at rest, and fading
    /// where the wheel is dragged against its rotation.
    fn resisting(&self, soft_m_s: f64) -> f64 {
        let rolling_m_s = self.rim_m_s + self.ahead_m_s;
        let against = if self.ahead_m_s * self.rim_m_s < 0.0 { (self.ahead_m_s / self.rim_m_s).abs() } else { 0.0 };
        rolling_m_s / (rolling_m_s.abs() + soft_m_s) * (1.0 - against / BACKWARD).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;

    use crate::spec::SoilSpec;

    #[test]
    fn lengths_that_no_slip_map_has_are_refused_with_what_is_allowed() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/soil/slip_map_lunar.yaml");
        let good = std::fs::read_to_string(&file).expect("a soil");
        for (from, to, allowed) in [
            ("relaxation_m: 0.018", "relaxation_m: 1e300", "to 100"),
            ("relaxation_m: 0.018", "relaxation_m: 1e-300", "more than 0"),
            ("0.7267, sinkage_m: 0.0153", "0.7267, sinkage_m: 1e300", "0 to 10"),
        ] {
            assert_eq!(good.matches(from).count(), 1, "{from}");
            let message = parse_yaml::<SoilSpec>(&good.replace(from, to), &file).expect_err(to).to_string();
            assert!(message.contains("line") && message.contains(allowed), "{message}");
        }
    }
}
