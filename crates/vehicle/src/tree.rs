//! Orders a list of links and joints into one tree: exactly one root, every other link
//! with one parent, no cycle; parents come before children and siblings keep the order
//! of the file.

use std::collections::BTreeMap;
use std::path::Path;

use selene_base::frames::{MAP, ODOM};

use crate::VehicleError;
use crate::shape::{Joint, JointKind, Link};
use crate::urdf::{RawJoint, RawLink, RawRobot};

/// Frames above a rover's root: a link of that name would be its own parent.
const FRAMES_ABOVE: [&str; 3] = ["world", MAP, ODOM];

/// What the tree describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeKind {
    /// A rover: all that moves has mass. Its root, of whatever name, is the frame that is driven: x forward, z up.
    Rover,
    /// An immovable object: all its joints are fixed.
    Object,
}

/// Orders the links and joints of `robot`; joint `i` leads to link `i + 1`.
pub(crate) fn order(robot: RawRobot, path: &Path, kind: TreeKind) -> Result<(Vec<Link>, Vec<Joint>), VehicleError> {
    let index = index_links(&robot.links, path)?;
    check_joint_names(&robot.joints, path)?;
    let ends = joint_ends(&robot.joints, &index, path)?;
    let parent_joint = parent_joints(&robot, &ends, path)?;
    let root = only_root(&robot, &parent_joint, path, kind)?;
    let visits = visit_from(root, &ends, robot.links.len());
    let mut reached = vec![false; robot.links.len()];
    visits.iter().for_each(|&link| reached[link] = true);
    if let Some(link) = reached.iter().position(|reached| !reached) {
        let RawLink { name, line, .. } = &robot.links[link];
        let what = format!("link \"{name}\" is on a cycle of joints; a rover is a tree with one root");
        return Err(VehicleError::urdf(path, *line, what));
    }
    match kind {
        TreeKind::Rover => check_masses(&robot, &visits, &parent_joint, &ends, path)?,
        TreeKind::Object => check_fixed(&robot.joints, path)?,
    }
    Ok(assemble(robot, &visits, &parent_joint, &ends))
}

fn index_links<'a>(links: &'a [RawLink], path: &Path) -> Result<BTreeMap<&'a str, usize>, VehicleError> {
    let mut index = BTreeMap::new();
    for (i, link) in links.iter().enumerate() {
        if index.insert(link.name.as_str(), i).is_some() {
            let what = format!("link \"{}\" is given twice; names must differ", link.name);
            return Err(VehicleError::urdf(path, link.line, what));
        }
    }
    Ok(index)
}

fn check_joint_names(joints: &[RawJoint], path: &Path) -> Result<(), VehicleError> {
    let mut names = std::collections::BTreeSet::new();
    match joints.iter().find(|j| !names.insert(j.name.as_str())) {
        Some(joint) => {
            let what = format!("joint \"{}\" is given twice; names must differ", joint.name);
            Err(VehicleError::urdf(path, joint.line, what))
        }
        None => Ok(()),
    }
}

/// Parent and child link of every joint.
fn joint_ends(
    joints: &[RawJoint],
    index: &BTreeMap<&str, usize>,
    path: &Path,
) -> Result<Vec<(usize, usize)>, VehicleError> {
    let find = |joint: &RawJoint, name: &str| {
        let what = || format!("joint \"{}\" names link \"{name}\", which this file does not have", joint.name);
        index.get(name).copied().ok_or_else(|| VehicleError::urdf(path, joint.line, what()))
    };
    joints.iter().map(|j| Ok((find(j, &j.parent)?, find(j, &j.child)?))).collect()
}

fn parent_joints(robot: &RawRobot, ends: &[(usize, usize)], path: &Path) -> Result<Vec<Option<usize>>, VehicleError> {
    let mut parent_joint = vec![None; robot.links.len()];
    for (i, &(_, child)) in ends.iter().enumerate() {
        if let Some(first) = parent_joint[child].replace(i) {
            let (joint, first): (&RawJoint, &RawJoint) = (&robot.joints[i], &robot.joints[first]);
            let what = format!(
                "link \"{}\" hangs from joint \"{}\" and from joint \"{}\"; one parent is allowed",
                joint.child, first.name, joint.name
            );
            return Err(VehicleError::urdf(path, joint.line, what));
        }
    }
    Ok(parent_joint)
}

fn check_fixed(joints: &[RawJoint], path: &Path) -> Result<(), VehicleError> {
    match joints.iter().find(|joint| joint.kind != JointKind::Fixed) {
        Some(RawJoint { name, line, kind, .. }) => {
            let what = format!("joint \"{name}\" is {kind:?}; nothing of an object moves: fixed is allowed");
            Err(VehicleError::urdf(path, *line, what))
        }
        None => Ok(()),
    }
}

fn only_root(
    robot: &RawRobot,
    parent_joint: &[Option<usize>],
    path: &Path,
    kind: TreeKind,
) -> Result<usize, VehicleError> {
    let mut roots = (0..robot.links.len()).filter(|&i| parent_joint[i].is_none());
    match (roots.next(), roots.next()) {
        (Some(root), None) if kind == TreeKind::Object => Ok(root),
        (Some(root), None) => refuse_frames_above(&robot.links, path).map(|()| root),
        (Some(first), Some(second)) => {
            let [first, second] = [&robot.links[first], &robot.links[second]];
            let what = format!("two roots, \"{}\" and \"{}\"; join them: one is allowed", first.name, second.name);
            Err(VehicleError::urdf(path, second.line, what))
        }
        (None, _) if robot.links.is_empty() => {
            let what = "no <link>; give one, or a xacro that uses the macro of this file";
            Err(VehicleError::urdf(path, robot.line, what))
        }
        (None, _) => {
            let what = "every link hangs from another (a cycle of joints); a rover is a tree with one root";
            Err(VehicleError::urdf(path, robot.links[0].line, what))
        }
    }
}

fn refuse_frames_above(links: &[RawLink], path: &Path) -> Result<(), VehicleError> {
    let Some(above) = links.iter().find(|link| FRAMES_ABOVE.contains(&link.name.as_str())) else { return Ok(()) };
    let what = format!(
        "link \"{}\" is not allowed: that frame is above a rover, which nothing fixes; remove it and its joint",
        above.name
    );
    Err(VehicleError::urdf(path, above.line, what))
}

/// Links reached from `root`, depth first.
fn visit_from(root: usize, ends: &[(usize, usize)], links: usize) -> Vec<usize> {
    let mut children = vec![Vec::new(); links];
    for &(parent, child) in ends {
        children[parent].push(child);
    }
    let (mut visits, mut waiting) = (Vec::new(), vec![root]);
    while let Some(link) = waiting.pop() {
        visits.push(link);
        waiting.extend(children[link].iter().rev());
    }
    visits
}

/// A link that a joint moves must have mass, itself or in links fixed to it, and so must
/// the root: else its motion is not determined.
fn check_masses(
    robot: &RawRobot,
    visits: &[usize],
    parent_joint: &[Option<usize>],
    ends: &[(usize, usize)],
    path: &Path,
) -> Result<(), VehicleError> {
    let mut has_mass: Vec<_> = robot.links.iter().map(|link| link.inertial.is_some()).collect();
    let mut without = Vec::new();
    for &link in visits.iter().rev() {
        let held_by = parent_joint[link].filter(|&j| robot.joints[j].kind == JointKind::Fixed);
        if let Some(joint) = held_by {
            has_mass[ends[joint].0] |= has_mass[link];
        } else if !has_mass[link] {
            without.push(&robot.links[link]);
        }
    }
    without.sort_by_key(|link| link.line);
    let Some(first) = without.first() else { return Ok(()) };
    let names: Vec<_> = without.iter().map(|link| format!("\"{}\"", link.name)).collect();
    let what = match names.len() {
        1 => format!("link {} moves but has no mass; give it an <inertial> with mass above 0", names[0]),
        _ => format!("links {} move but have no mass; give each an <inertial> with mass above 0", names.join(", ")),
    };
    Err(VehicleError::urdf(path, first.line, what))
}

fn assemble(
    robot: RawRobot,
    visits: &[usize],
    parent_joint: &[Option<usize>],
    ends: &[(usize, usize)],
) -> (Vec<Link>, Vec<Joint>) {
    let mut place = vec![0; visits.len()];
    visits.iter().enumerate().for_each(|(i, &raw)| place[raw] = i);
    let mut raw_links: Vec<_> = robot.links.into_iter().map(Some).collect();
    let mut raw_joints: Vec<_> = robot.joints.into_iter().map(Some).collect();
    let (mut links, mut joints) = (Vec::new(), Vec::new());
    for &raw in visits {
        if let Some(raw_joint) = parent_joint[raw].and_then(|j| raw_joints[j].take().map(|joint| (j, joint))) {
            let (j, joint) = raw_joint;
            joints.push(placed(joint, place[ends[j].0], place[raw]));
        }
        if let Some(RawLink { name, inertial, visuals, collisions, .. }) = raw_links[raw].take() {
            links.push(Link { name, inertial, visuals, collisions, joint: joints.len().checked_sub(1) });
        }
    }
    (links, joints)
}

fn placed(raw: RawJoint, parent: usize, child: usize) -> Joint {
    let RawJoint { name, line, kind, parent_from_child_at_zero, axis, limits, effort_max, speed_max, mimic, .. } = raw;
    Joint { name, line, kind, parent, child, parent_from_child_at_zero, axis, limits, effort_max, speed_max, mimic }
}
