//! Assigns the roles in a rover's YAML to the joints of its URDF, and checks that each joint
//! is of the kind that its role needs and has only one role.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::{PI, TAU};
use std::path::Path;

use nalgebra::{Point3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::input::YamlFile;

use crate::VehicleError;
use crate::driveline::{Axle, Driveline};
use crate::model::{BucketDrum, Coupling, MountedLamp, Passive, Servo, Wheel, poses_at_zero};
use crate::shape::{Collision, Joint, JointKind, Link, Shape};
use crate::spec::{
    AxleSpec, CouplingSpec, DrivelineSpec, DrumSpec, FinishSpec, FrictionSpec, LampSpec, PassiveSpec, RoverSpec,
    ServoKind, ServoSpec, SteeringSpec, WheelRole, WheelSpec,
};

/// How far an axle may lie off y of the root: room for a wheel's camber or toe, and for angles
/// that a URDF rounds to 3.14.
const AXLE_OFF_DEG: f64 = 1.0;
/// How far a steering axis may lean from upright: castered ones lean by some degrees.
const STEER_OFF_DEG: f64 = 45.0;
/// Kinds that a passive joint may have.
const SWINGS: [JointKind; 2] = [JointKind::Revolute, JointKind::Continuous];
/// Largest angle of an axle from y of its link at which the two count as equal, as 1 − cosine.
const AXLE_SLACK: f64 = 1e-9;
/// How far the axles' shares of the torque may be from one together.
const SHARE_SLACK: f64 = 1e-6;

/// Cosine between a drum's axis and its joint's: a URDF may round a right angle.
const ALIGNED: f64 = 0.999;
/// The least radius of a drum's core, which panels leave free, over the drum's.
const DRUM_CORE: f64 = 0.2;

pub(crate) struct Roles<'a> {
    joints: &'a [Joint],
    /// The joints by their names: looking through all of them for each role would be slow in a large URDF.
    index: BTreeMap<&'a str, usize>,
    base_from_links_at_zero: Vec<Pose>,
    /// Name of the root.
    base: &'a str,
    /// The rover's file.
    file: &'a YamlFile,
    urdf: &'a Path,
}

impl<'a> Roles<'a> {
    pub(crate) fn new(links: &'a [Link], joints: &'a [Joint], file: &'a YamlFile, urdf: &'a Path) -> Self {
        let index = joints.iter().enumerate().map(|(i, joint)| (joint.name.as_str(), i)).collect();
        let base = links.first().map_or("", |link| link.name.as_str());
        Self { joints, index, base_from_links_at_zero: poses_at_zero(joints), base, file, urdf }
    }

    pub(crate) fn wheels(&self, rover: &RoverSpec) -> Result<Vec<Wheel>, VehicleError> {
        let wheel = |(number, spec)| self.wheel(&format!("wheels[{number}]"), spec, rover);
        rover.wheels.iter().enumerate().map(wheel).collect()
    }

    fn wheel(&self, place: &str, spec: &WheelSpec, rover: &RoverSpec) -> Result<Wheel, VehicleError> {
        let of_key = |key: &str| format!("{place}.{key}");
        let optional = |key: &str, name: &Option<String>, kinds: &[JointKind]| {
            name.as_ref().map(|name| self.joint(&of_key(key), name, kinds)).transpose()
        };
        let drive_joint = self.joint(&of_key("drive_joint"), &spec.drive_joint, &[JointKind::Continuous])?;
        let steer_joint = optional("steer_joint", &spec.steer_joint, &[JointKind::Revolute])?;
        let suspension_joint = optional("suspension_joint", &spec.suspension_joint, &[JointKind::Prismatic])?;
        let swivel_joint = optional("swivel_joint", &spec.swivel_joint, &SWINGS)?;
        let drive_sign = self.drive_sign(&of_key("drive_joint"), drive_joint)?;
        let steer_sign = steer_joint.map_or(Ok(1.0), |steer| self.steer_sign(&of_key("steer_joint"), steer))?;
        swivel_joint.map_or(Ok(()), |swivel| self.steer_sign(&of_key("swivel_joint"), swivel).map(drop))?;
        self.parts_given(place, spec, rover)?;
        let joint = &self.joints[drive_joint];
        let base_from_link = &self.base_from_links_at_zero[joint.child];
        let turn = link_from_wheel(&base_from_link.rotation, &(joint.axis.into_inner() * drive_sign));
        let centre_m = Vector3::from(spec.centre_m);
        Ok(Wheel {
            name: spec.name.clone(),
            role: spec.role,
            link: joint.child,
            link_from_wheel: Pose::from_parts(centre_m.into(), turn),
            drive_joint,
            drive_sign,
            steer_joint,
            steer_sign,
            swivel_joint,
            suspension_joint,
            suspension_sign: suspension_joint.map_or(1.0, |spring| self.axis_in_base(spring).z.signum()),
            suspension: spec.suspension.or(rover.suspension).filter(|_| suspension_joint.is_some()),
            carrier_from_base: self.base_from_links_at_zero[joint.parent].rotation.inverse(),
            radius_m: spec.radius_m,
            width_m: spec.width_m,
            grouser_height_m: spec.grouser_height_m,
            grousers: spec.grousers,
            drive: spec.drive.unwrap_or(rover.drive),
            tyre: spec.tyre.or(rover.tyre),
            centre_in_base_m: (base_from_link * Point3::from(centre_m)).coords,
        })
    }

    /// The sign of a drive joint's rate when its wheel rolls forward.
    fn drive_sign(&self, place: &str, joint: usize) -> Result<f64, VehicleError> {
        let axis = self.axis_in_base(joint);
        if axis.y.abs() >= AXLE_OFF_DEG.to_radians().cos() {
            return Ok(axis.y.signum());
        }
        let allowed = format!("a wheel must turn about +y or -y of {}, within {AXLE_OFF_DEG}°", self.base);
        Err(self.wrong_axis(place, joint, &axis, &allowed))
    }

    /// The sign of a steering joint's angle when its wheel points to the left.
    fn steer_sign(&self, place: &str, joint: usize) -> Result<f64, VehicleError> {
        let axis = self.axis_in_base(joint);
        if axis.z.abs() >= STEER_OFF_DEG.to_radians().cos() {
            return Ok(axis.z.signum());
        }
        let allowed = format!("a wheel must be steered about +z or -z of {}, within {STEER_OFF_DEG}°", self.base);
        Err(self.wrong_axis(place, joint, &axis, &allowed))
    }

    /// A joint's axis in the base link with every joint at zero. A joint's own frame says nothing of
    /// where its axis points: many URDFs turn the frames of one side.
    fn axis_in_base(&self, joint: usize) -> Vector3<f64> {
        let Joint { child, axis, .. } = &self.joints[joint];
        self.base_from_links_at_zero[*child].rotation * axis.into_inner()
    }

    fn wrong_axis(&self, place: &str, joint: usize, axis: &Vector3<f64>, allowed: &str) -> VehicleError {
        let name = &self.joints[joint].name;
        let [x, y, z] = [axis.x, axis.y, axis.z];
        let base = self.base;
        let what = format!("\"{name}\" has its axis along {x:.3} {y:.3} {z:.3} of {base} at rest; {allowed}");
        self.refusal(place, what)
    }

    /// A steered wheel needs a steering servo, a sprung one a spring, and a spring a joint; a free one has no motor, and
    /// only that swivels.
    fn parts_given(&self, place: &str, wheel: &WheelSpec, rover: &RoverSpec) -> Result<(), VehicleError> {
        let name = &wheel.name;
        if wheel.role == WheelRole::Free && wheel.drive.is_some() {
            let what = format!("wheel \"{name}\" is free and has no `drive`: remove one of them");
            return Err(self.refusal(place, what));
        }
        if wheel.swivel_joint.is_some() && (wheel.role == WheelRole::Driven || wheel.steer_joint.is_some()) {
            let what = format!("wheel \"{name}\" swivels by itself: it must be `role: free` and have no steer_joint");
            return Err(self.refusal(place, what));
        }
        let steering = wheel.steer_joint.as_ref().filter(|_| rover.steering == SteeringSpec::NONE);
        if let Some(joint) = steering {
            let what = format!("\"{joint}\" steers a wheel, but there is no `steering`: give it");
            return Err(self.refusal(&format!("{place}.steer_joint"), what));
        }
        if wheel.suspension.is_some() && wheel.suspension_joint.is_none() {
            let what =
                format!("wheel \"{name}\" has a `suspension` and no `suspension_joint`: give that, or remove it");
            return Err(self.refusal(&format!("{place}.suspension"), what));
        }
        let is_sprung = rover.suspension.is_some() || wheel.suspension.is_some();
        let suspension = wheel.suspension_joint.as_ref().filter(|_| !is_sprung);
        if let Some(joint) = suspension {
            let what = format!("\"{joint}\" springs a wheel, but there is no `suspension`: give it");
            return Err(self.refusal(&format!("{place}.suspension_joint"), what));
        }
        Ok(())
    }

    pub(crate) fn servos(&self, specs: &[ServoSpec]) -> Result<Vec<Servo>, VehicleError> {
        let servo = |(number, spec)| self.servo(&format!("servos[{number}]"), spec);
        specs.iter().enumerate().map(servo).collect()
    }

    fn servo(&self, place: &str, spec: &ServoSpec) -> Result<Servo, VehicleError> {
        let rate_rad_s = spec.rate_deg_s.to_radians();
        let need = |what: &str| self.refusal(place, format!("servo of \"{}\" by position needs {what}", spec.joint));
        let joint = |kind: JointKind| self.joint(&format!("{place}.joint"), &spec.joint, &[kind]);
        let (joint, [lowest, highest], stiffness_nm) = match spec.kind {
            ServoKind::Position => {
                let limits = spec.limit_deg.ok_or_else(|| need("limit_deg"))?.map(f64::to_radians);
                let stiffness_nm = spec.stiffness_nm.ok_or_else(|| need("stiffness_nm"))?;
                (joint(JointKind::Revolute)?, limits, stiffness_nm)
            }
            ServoKind::Rate if spec.limit_deg.is_some() || spec.stiffness_nm.is_some() => {
                let what =
                    format!("servo of \"{}\" by rate has no limit_deg and no stiffness_nm: remove them", spec.joint);
                return Err(self.refusal(place, what));
            }
            ServoKind::Rate => (joint(JointKind::Continuous)?, [-rate_rad_s, rate_rad_s], 0.0),
        };
        let name = spec.name.clone().unwrap_or_else(|| spec.joint.clone());
        let (damping_nm_s, torque_nm) = (spec.damping_nm_s, spec.torque_nm);
        Ok(Servo { name, joint, kind: spec.kind, lowest, highest, rate_rad_s, stiffness_nm, damping_nm_s, torque_nm })
    }

    pub(crate) fn passive(&self, specs: &[PassiveSpec]) -> Result<Vec<Passive>, VehicleError> {
        let passive = |(number, spec): (usize, &PassiveSpec)| {
            Ok(Passive {
                joint: self.joint(&format!("passive[{number}].joint"), &spec.joint, &SWINGS)?,
                stiffness_nm: spec.stiffness_nm,
                damping_nm_s: spec.damping_nm_s,
                limits_rad: spec.limit_deg.map(|limits| limits.map(f64::to_radians)),
            })
        };
        specs.iter().enumerate().map(passive).collect()
    }

    /// Couplings between moving joints of one kind, after those of the URDF; none may follow from others.
    pub(crate) fn couplings(
        &self,
        mut couplings: Vec<Coupling>,
        specs: &[CouplingSpec],
    ) -> Result<Vec<Coupling>, VehicleError> {
        let mut group: Vec<_> = (0..self.joints.len()).collect();
        for Coupling { joint, mirrors, .. } in &couplings {
            if !joined(&mut group, *joint, *mirrors) {
                let Joint { name, line, .. } = &self.joints[*joint];
                let what = format!("joint \"{name}\" mimics itself, by way of others");
                return Err(VehicleError::urdf(self.urdf, *line, what));
            }
        }
        for (number, spec) in specs.iter().enumerate() {
            let place = format!("couplings[{number}]");
            let joint = self.moving(&format!("{place}.joint"), &spec.joint)?;
            let mirrors = self.moving(&format!("{place}.mirrors"), &spec.mirrors)?;
            let slides = |j: usize| self.joints[j].kind == JointKind::Prismatic;
            if slides(joint) != slides(mirrors) {
                let what = format!("\"{}\" cannot mirror \"{}\": one turns, one slides", spec.joint, spec.mirrors);
                return Err(self.refusal(&place, what));
            }
            if !joined(&mut group, joint, mirrors) {
                let what = format!("\"{}\" is coupled to \"{}\" already; once is enough", spec.joint, spec.mirrors);
                return Err(self.refusal(&place, what));
            }
            couplings.push(Coupling { joint, mirrors, ratio: spec.ratio });
        }
        Ok(couplings)
    }

    /// A driveline between wheels that there are, each on one axle.
    pub(crate) fn driveline(&self, spec: &DrivelineSpec, wheels: &[Wheel]) -> Result<Driveline, VehicleError> {
        let mut seen = BTreeSet::new();
        let mut find = |place: &str, name: &str| {
            let Some(found) = wheels.iter().position(|wheel| wheel.name == name) else {
                let names: Vec<_> = wheels.iter().map(|wheel| wheel.name.as_str()).collect();
                return Err(self.refusal(place, format!("\"{name}\" is not a wheel; those are: {}", names.join(", "))));
            };
            if !seen.insert(found) {
                return Err(self.refusal(place, format!("\"{name}\" is on an axle already; once is enough")));
            }
            if !wheels[found].is_driven() {
                return Err(self.refusal(place, format!("\"{name}\" is free; an axle drives its wheels")));
            }
            Ok(found)
        };
        let mut axles = Vec::with_capacity(spec.axles.len());
        for (number, AxleSpec { left, right, torque_share, torque_bias }) in spec.axles.iter().enumerate() {
            let place = format!("driveline.axles[{number}]");
            let wheels = [find(&format!("{place}.left"), left)?, find(&format!("{place}.right"), right)?];
            axles.push(Axle { wheels, torque_share: *torque_share, torque_bias: *torque_bias });
        }
        let sum: f64 = axles.iter().map(|axle| axle.torque_share).sum();
        if (sum - 1.0).abs() > SHARE_SLACK {
            let what = format!("the axles' values of torque_share are {sum} together; must be 1");
            return Err(self.refusal("driveline.axles", what));
        }
        Ok(Driveline::new(spec.clone(), axles))
    }

    /// Lamps on links that there are, no two of one name.
    pub(crate) fn lamps(&self, specs: &[LampSpec], links: &[Link]) -> Result<Vec<MountedLamp>, VehicleError> {
        let mut lamps: Vec<MountedLamp> = Vec::with_capacity(specs.len());
        for (number, spec) in specs.iter().enumerate() {
            if lamps.iter().any(|lamp| lamp.spec.name == spec.name) {
                let what = format!("two lamps are named \"{}\"; names must differ", spec.name);
                return Err(self.refusal(&format!("lamps[{number}].name"), what));
            }
            let Some(link) = links.iter().position(|link| link.name == spec.link) else {
                let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
                let what = format!("\"{}\" is not a link of the URDF; those are: {}", spec.link, names.join(", "));
                return Err(self.refusal(&format!("lamps[{number}].link"), what));
            };
            lamps.push(MountedLamp { link, spec: spec.clone() });
        }
        Ok(lamps)
    }

    /// Links that are drums, each once.
    pub(crate) fn drums(&self, specs: &[DrumSpec], links: &[Link]) -> Result<Vec<BucketDrum>, VehicleError> {
        let drum = |(number, spec): (usize, &DrumSpec)| {
            let place = format!("drums[{number}]");
            if specs[..number].iter().any(|earlier| earlier.link == spec.link) {
                let what = format!("\"{}\" is a drum twice; once is enough", spec.link);
                return Err(self.refusal(&format!("{place}.link"), what));
            }
            self.drum(&place, spec, links)
        };
        specs.iter().enumerate().map(drum).collect()
    }

    /// A link that a joint turns, with one cylinder about that joint's axis.
    fn drum(&self, place: &str, spec: &DrumSpec, links: &[Link]) -> Result<BucketDrum, VehicleError> {
        let refuse = |what: String| self.refusal(place, format!("drum \"{}\" {what}", spec.link));
        let found = links.iter().enumerate().find(|(_, link)| link.name == spec.link);
        let turned = found.and_then(|(index, link)| Some((index, link, &self.joints[link.joint?])));
        let Some((link, of, joint)) = turned.filter(|(.., joint)| joint.kind == JointKind::Continuous) else {
            return Err(refuse("is no link that a continuous joint turns".to_owned()));
        };
        let [Collision { link_from_shape, shape: Shape::Cylinder { radius_m, length_m } }] = of.collisions[..] else {
            return Err(refuse("must have one collision shape, a cylinder".to_owned()));
        };
        let along = (link_from_shape.rotation * Vector3::z()).dot(&joint.axis.into_inner());
        if along.abs() < ALIGNED {
            return Err(refuse("must have its cylinder about the axis of its joint".to_owned()));
        }
        room_for_soil(spec, radius_m).map_err(refuse)?;
        // It digs about its own z.
        let turn_over = if along > 0.0 { 0.0 } else { PI };
        let link_from_drum = link_from_shape * UnitQuaternion::from_axis_angle(&Vector3::x_axis(), turn_over);
        let &DrumSpec { slices, scoops, channel_m, overlap_deg, .. } = spec;
        let overlap_rad = overlap_deg.to_radians();
        Ok(BucketDrum { link, link_from_drum, radius_m, length_m, slices, scoops, channel_m, overlap_rad })
    }

    /// Links that there are, each once, and their friction on the ground.
    pub(crate) fn ground_friction(
        &self,
        specs: &[FrictionSpec],
        links: &[Link],
    ) -> Result<Vec<(usize, f64)>, VehicleError> {
        let mut given: Vec<(usize, f64)> = Vec::with_capacity(specs.len());
        for (number, FrictionSpec { link, friction }) in specs.iter().enumerate() {
            let place = format!("ground_friction[{number}].link");
            let Some(index) = links.iter().position(|of| of.name == *link && !of.collisions.is_empty()) else {
                let with = links.iter().filter(|link| !link.collisions.is_empty()).map(|link| link.name.as_str());
                let names = with.collect::<Vec<_>>().join(", ");
                let what = format!("\"{link}\" is no link with a collision shape; those are: {names}");
                return Err(self.refusal(&place, what));
            };
            if given.iter().any(|(of, _)| *of == index) {
                return Err(self.refusal(&place, format!("\"{link}\" has two frictions; one is enough")));
            }
            given.push((index, *friction));
        }
        Ok(given)
    }

    /// Finishes of materials that there are, each once.
    pub(crate) fn finishes(&self, specs: &[FinishSpec], links: &[Link]) -> Result<(), VehicleError> {
        let visuals = || links.iter().flat_map(|link| &link.visuals);
        for (number, FinishSpec { material, .. }) in specs.iter().enumerate() {
            let place = format!("finishes[{number}].material");
            if specs[..number].iter().any(|earlier| earlier.material == *material) {
                return Err(self.refusal(&place, format!("\"{material}\" has two finishes; one is enough")));
            }
            if !visuals().any(|visual| visual.material == *material) {
                let names: BTreeSet<_> = visuals().map(|visual| visual.material.as_str()).collect();
                let names: Vec<_> = names.into_iter().collect();
                let what = format!("no visual of the URDF is of \"{material}\"; there are: {}", names.join(", "));
                return Err(self.refusal(&place, what));
            }
        }
        Ok(())
    }

    fn moving(&self, place: &str, name: &str) -> Result<usize, VehicleError> {
        let found = self.index.get(name).copied().filter(|&joint| self.joints[joint].moves());
        found.ok_or_else(|| {
            let names: Vec<_> = self.joints.iter().filter(|j| j.moves()).map(|j| j.name.as_str()).collect();
            self.refusal(
                place,
                format!("\"{name}\" is not a moving joint of the URDF; those are: {}", names.join(", ")),
            )
        })
    }

    fn joint(&self, place: &str, name: &str, kinds: &[JointKind]) -> Result<usize, VehicleError> {
        let needed = || kinds.iter().map(|kind| format!("{kind:?}")).collect::<Vec<_>>().join(" or ");
        let Some(&index) = self.index.get(name) else {
            let fitting = self.joints.iter().filter(|joint| kinds.contains(&joint.kind));
            let names: Vec<_> = fitting.map(|joint| joint.name.as_str()).collect();
            let what = format!("\"{name}\" is not a joint of the URDF; {} joints are: {}", needed(), names.join(", "));
            return Err(self.refusal(place, what));
        };
        let found = self.joints[index].kind;
        if !kinds.contains(&found) {
            let what = format!("\"{name}\" is a {found:?} joint; {} is needed here", needed());
            return Err(self.refusal(place, what));
        }
        Ok(index)
    }

    /// The joints of wheels, servos and springs, none of which may have two roles.
    pub(crate) fn with_roles(&self, spec: &RoverSpec) -> Result<BTreeSet<usize>, VehicleError> {
        let mut with_roles = BTreeSet::new();
        for (place, name) in roles_of(spec) {
            let joint = self.index.get(name).copied();
            if joint.is_some_and(|joint| !with_roles.insert(joint)) {
                let what = format!("\"{name}\" is given twice; a joint has one wheel, servo or other role");
                return Err(self.refusal(&place, what));
            }
        }
        Ok(with_roles)
    }

    fn refusal(&self, place: &str, what: String) -> VehicleError {
        self.file.refusal(place, what).into()
    }
}

/// The joints that a rover's file gives a role, by name, each with its place there.
fn roles_of(spec: &RoverSpec) -> Vec<(String, &str)> {
    let wheels = spec.wheels.iter().enumerate().flat_map(|(number, wheel)| {
        let joints = [
            ("drive_joint", Some(&wheel.drive_joint)),
            ("steer_joint", wheel.steer_joint.as_ref()),
            ("swivel_joint", wheel.swivel_joint.as_ref()),
            ("suspension_joint", wheel.suspension_joint.as_ref()),
        ];
        joints.into_iter().filter_map(move |(key, name)| Some((format!("wheels[{number}].{key}"), name?.as_str())))
    });
    let servos = spec.servos.iter().map(|servo| servo.joint.as_str()).enumerate();
    let servos = servos.map(|(number, name)| (format!("servos[{number}].joint"), name));
    let passive = spec.passive.iter().map(|passive| passive.joint.as_str()).enumerate();
    let passive = passive.map(|(number, name)| (format!("passive[{number}].joint"), name));
    wheels.chain(servos).chain(passive).collect()
}

/// Panels end before their own lips, and leave a core free.
fn room_for_soil(spec: &DrumSpec, radius_m: f64) -> Result<(), String> {
    let &DrumSpec { scoops, channel_m, overlap_deg, .. } = spec;
    let pitch_rad = TAU / f64::from(scoops);
    let extent_rad = pitch_rad + overlap_deg.to_radians();
    if extent_rad >= TAU {
        let most_deg = (TAU - pitch_rad).to_degrees();
        return Err(format!("has overlap_deg {overlap_deg}: with {scoops} scoops it must be less than {most_deg:.0}"));
    }
    let most_m = (1.0 - DRUM_CORE) * radius_m * pitch_rad / extent_rad;
    match channel_m <= most_m {
        true => Ok(()),
        false => Err(format!("has channel_m {channel_m}: with its radius and overlap {most_m:.4} is allowed")),
    }
}

/// Puts two joints into one group; whether they were not yet.
fn joined(group: &mut [usize], joint: usize, mirrors: usize) -> bool {
    let (from, to) = (group[joint], group[mirrors]);
    group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
    from != to
}

/// The turn from a wheel's own frame, whose y is the axle and points to the body's left, to that of its
/// link, in which the axle lies along `axle`. A link whose y is the axle is the wheel's frame itself;
/// else the wheel's frame stands as the body does.
fn link_from_wheel(base_from_link: &UnitQuaternion<f64>, axle: &Vector3<f64>) -> UnitQuaternion<f64> {
    if axle.y >= 1.0 - AXLE_SLACK {
        return UnitQuaternion::identity();
    }
    let link_from_base = base_from_link.inverse();
    let left = link_from_base * Vector3::y();
    let correction = UnitQuaternion::rotation_between(&left, axle).unwrap_or_else(UnitQuaternion::identity);
    correction * link_from_base
}
