//! Joints that follow others (`<mimic>`), and joints that a rover's file holds. A held joint is fixed at zero. A joint
//! that follows a fixed joint is fixed too, at its own multiple and offset. A joint that follows a moving joint is
//! coupled to it ([`Coupling`]); it may have no offset, since a rover begins with all joints at zero.

use std::collections::BTreeMap;
use std::path::Path;

use nalgebra::{Translation3, UnitQuaternion};
use selene_base::Pose;
use selene_base::input::YamlFile;

use crate::VehicleError;
use crate::model::Coupling;
use crate::shape::{Joint, JointKind, Mimic};
use crate::urdf::RawJoint;

/// Fixes the joints that are `held` in a rover's file, by name, and those that follow a fixed joint.
///
/// # Errors
/// When a name in `held` is not that of a moving joint, or a joint follows one that does not exist.
pub(crate) fn hold(joints: &mut [RawJoint], held: &[String], urdf: &Path, file: &YamlFile) -> Result<(), VehicleError> {
    for (number, name) in held.iter().enumerate() {
        match joints.iter_mut().find(|joint| joint.name == *name && joint.kind != JointKind::Fixed) {
            Some(joint) => joint.kind = JointKind::Fixed,
            None => return Err(file.refusal(&format!("held[{number}]"), not_moving(name, joints)).into()),
        }
    }
    let names: BTreeMap<_, _> = joints.iter().enumerate().map(|(i, joint)| (joint.name.clone(), i)).collect();
    let leaders = joints.iter().map(|joint| leader(joint, &names, urdf)).collect::<Result<Vec<_>, _>>()?;
    let mut positions = vec![0.0; joints.len()];
    while let Some((follower, leader)) = still(joints, &leaders) {
        if let Some(Mimic { multiplier, offset, .. }) = joints[follower].mimic {
            positions[follower] = multiplier * positions[leader] + offset;
        }
        fix(&mut joints[follower], positions[follower]);
    }
    Ok(())
}

fn not_moving(name: &str, joints: &[RawJoint]) -> String {
    let moving = joints.iter().filter(|joint| joint.kind != JointKind::Fixed).map(|joint| joint.name.as_str());
    format!("\"{name}\" is not a moving joint of the URDF; those are: {}", moving.collect::<Vec<_>>().join(", "))
}

fn leader(joint: &RawJoint, names: &BTreeMap<String, usize>, urdf: &Path) -> Result<Option<usize>, VehicleError> {
    let Some(mimic) = &joint.mimic else { return Ok(None) };
    let what = || format!("joint \"{}\" mimics \"{}\", which this file does not have", joint.name, mimic.joint);
    names.get(&mimic.joint).map(|&at| Some(at)).ok_or_else(|| VehicleError::urdf(urdf, joint.line, what()))
}

/// A joint that moves and follows one that does not.
fn still(joints: &[RawJoint], leaders: &[Option<usize>]) -> Option<(usize, usize)> {
    let fixed = |joint: usize| joints[joint].kind == JointKind::Fixed;
    let mut pairs = leaders.iter().enumerate().filter_map(|(follower, leader)| Some((follower, (*leader)?)));
    pairs.find(|&(follower, leader)| fixed(leader) && !fixed(follower))
}

fn fix(joint: &mut RawJoint, position: f64) {
    let moved = match joint.kind {
        JointKind::Prismatic => {
            Pose::from_parts(Translation3::from(joint.axis.into_inner() * position), UnitQuaternion::identity())
        }
        _ => Pose::from_parts(Translation3::identity(), UnitQuaternion::from_axis_angle(&joint.axis, position)),
    };
    joint.parent_from_child_at_zero *= moved;
    joint.kind = JointKind::Fixed;
}

/// The couplings that the URDF asks for: one for each moving joint that mimics another.
pub(crate) fn couplings(joints: &[Joint], urdf: &Path) -> Result<Vec<Coupling>, VehicleError> {
    let followers = joints.iter().enumerate().filter(|(_, joint)| joint.moves());
    let followers = followers.filter_map(|(at, joint)| Some((at, joint, joint.mimic.as_ref()?)));
    followers
        .map(|(at, joint, mimic)| coupling(joints, at, mimic).map_err(|what| refusal(joint, mimic, what, urdf)))
        .collect()
}

fn coupling(joints: &[Joint], joint: usize, mimic: &Mimic) -> Result<Coupling, &'static str> {
    let leader = joints.iter().position(|leader| leader.name == mimic.joint).ok_or("is not there")?;
    let slides = |joint: usize| joints[joint].kind == JointKind::Prismatic;
    if slides(joint) != slides(leader) {
        return Err("one of them turns and one slides: hold them (`held` in the rover's file)");
    }
    if mimic.offset != 0.0 {
        return Err(
            "its offset must be 0 where it moves: a rover begins with its joints at zero; or hold them (`held`)",
        );
    }
    Ok(Coupling { joint, mirrors: leader, ratio: mimic.multiplier })
}

fn refusal(joint: &Joint, mimic: &Mimic, what: &str, urdf: &Path) -> VehicleError {
    let what = format!("joint \"{}\" cannot mimic \"{}\": {what}", joint.name, mimic.joint);
    VehicleError::urdf(urdf, joint.line, what)
}
