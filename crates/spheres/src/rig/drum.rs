//! A slice of a bucket drum that digs in a bed, as grains and as points: `selene_crm::rig::digging_drum`.
//!
//! The caller matches the grains' friction to the soil's; here their density is chosen so that the settled bed has the
//! soil's bulk density. A mirror through the middle of the drum halves the bed of grains. As the points do, the grains
//! lie on both sides of the drum's surfaces from the beginning: those that a surface cuts are made small, moved off it,
//! and grow back while the bed gives way.

use nalgebra::{Isometry3, Point3, Vector3};
use selene_crm::rig::{DUG_BED_M, TURN_PARTS, digging_drum, drum_torques_nm, turn_part_s};
use selene_crm::{Body, BodyShape, CrmSpec, Drum};

use super::{FLOOR, MIRRORS, settled};
use crate::container::Container;
use crate::error::SpheresError;
use crate::model::Model;
use crate::scratch::Scratch;
use crate::spec::SpheresSpec;
use crate::state::{Sphere, State};
use crate::step::step;

/// Radii of the grains, from least to greatest, m: a channel of 60 mm is four of their diameters deep.
const GRAINS_M: [f64; 2] = [0.0065, 0.008];
/// Height of the container, m: more than that of the drum.
const HIGH_M: f64 = 0.72;
/// Size to which cut grains are made small, and the number and duration of the steps in which they grow back.
const SMALL: f64 = 0.5;
const GROWING: u32 = 200;
const GROWING_S: f64 = 1e-3;
/// Time for which the bed then lies still, s.
const RESTING_S: f64 = 0.2;

/// Torques on the same drum in grains and in points, N m: means over the parts of its first turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTorques {
    /// Torques of the grains of this crate.
    pub grains_nm: Vec<f64>,
    /// Torques of the points of `selene_crm`.
    pub points_nm: Vec<f64>,
    /// Number of grains in half of the bed.
    pub count: usize,
    /// Share of the bed's volume that the settled grains fill.
    pub packing: f64,
}

/// Torques, N m, on a slice of a drum that digs under `gravity_m_s2`, in grains and in soil. The density of `grains` is
/// not used.
///
/// # Errors
/// When grains or soil are not valid, or they leave the rig.
pub fn drum(grains: &SpheresSpec, soil: &CrmSpec, gravity_m_s2: f64) -> Result<ComparedTorques, SpheresError> {
    let points_nm = drum_torques_nm(soil, gravity_m_s2)?;
    let bed_m = [DUG_BED_M[0], 0.5 * DUG_BED_M[1], DUG_BED_M[2]];
    let mut state = settled(grains, bed_m, GRAINS_M)?;
    state.retain(|sphere| sphere.position_m.z < bed_m[2]);
    let packing = state.spheres.iter().map(volume_m3).sum::<f64>() / bed_m.iter().product::<f64>();
    let grains = SpheresSpec { density_kg_m3: soil.density_kg_m3 / packing, ..*grains };
    let container = Container { size_m: [bed_m[0], bed_m[1], HIGH_M], walls: [MIRRORS, MIRRORS, FLOOR] };
    let model = Model::new(&grains, &container, Vector3::new(0.0, 0.0, -gravity_m_s2))?;
    let grains_nm = torques_nm(&model, &mut state, soil.friction_static)?;
    Ok(ComparedTorques { grains_nm, points_nm, count: state.spheres.len(), packing })
}

fn torques_nm(model: &Model, state: &mut State, friction: f64) -> Result<Vec<f64>, SpheresError> {
    let mut drum = digging_drum(friction);
    drum.pose.translation.y = 0.0;
    let still = Body { velocity_m_s: Vector3::zeros(), angular_velocity_rad_s: Vector3::zeros(), ..drum };
    let (mut scratch, part_s) = (Scratch::default(), turn_part_s());
    put(model, state, &still, &mut scratch)?;
    step(model, state, &[still], RESTING_S, &mut scratch)?;
    let mut torque_nm = |_| {
        let outcome = step(model, state, &[drum], part_s, &mut scratch)?;
        drum = drum.moved(part_s);
        // The other half of the drum meets as much.
        Ok(-2.0 * outcome.reactions[0].angular_impulse_n_m_s.y / part_s)
    };
    (0..TURN_PARTS).map(&mut torque_nm).collect()
}

/// Puts the drum into the bed.
fn put(model: &Model, state: &mut State, body: &Body, scratch: &mut Scratch) -> Result<(), SpheresError> {
    let BodyShape::Drum(drum) = body.shape else { return Ok(()) };
    let full_m: Vec<f64> = state.spheres.iter().map(|sphere| sphere.radius_m).collect();
    state.spheres.iter_mut().for_each(|sphere| clear(&drum, &body.pose, sphere));
    for number in 1..=GROWING {
        let share = SMALL + (1.0 - SMALL) * f64::from(number) / f64::from(GROWING);
        for (sphere, full_m) in state.spheres.iter_mut().zip(&full_m) {
            sphere.radius_m = sphere.radius_m.max(full_m * share);
        }
        step(model, state, &[*body], GROWING_S, scratch)?;
        // Nothing flies off: what grains gain is taken from them at once.
        state.spheres.iter_mut().for_each(|sphere| sphere.velocity_m_s = Vector3::zeros());
    }
    Ok(())
}

/// Makes a grain small that a surface of the drum cuts, and moves it off the surfaces.
fn clear(drum: &Drum, pose: &Isometry3<f64>, sphere: &mut Sphere) {
    let mut at = (pose.inverse() * Point3::from(sphere.position_m)).coords;
    let is_cut = |surface| drum.off_surface_m(surface, &at).norm() < sphere.radius_m;
    if !(0..drum.surface_count()).any(is_cut) {
        return;
    }
    sphere.radius_m *= SMALL;
    for surface in 0..drum.surface_count() {
        let off_m = drum.off_surface_m(surface, &at);
        let distance_m = off_m.norm();
        if distance_m < sphere.radius_m {
            at += off_m * (sphere.radius_m / distance_m - 1.0);
        }
    }
    sphere.position_m = (pose * Point3::from(at)).coords;
}

/// Volume of a grain, m³.
fn volume_m3(sphere: &Sphere) -> f64 {
    4.0 / 3.0 * std::f64::consts::PI * sphere.radius_m.powi(3)
}
