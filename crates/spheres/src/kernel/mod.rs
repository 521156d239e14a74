//! The step's twin in WGSL, for a GPU: its text, and the records that it reads and writes. A device gives the same bytes
//! each time, because no sum depends on an order that it chooses. Devices and the CPU agree within rounding, which
//! collisions amplify: single grains part after some of them, averages do not.

mod arrangement;
mod transfer;

use bytemuck::{Pod, Zeroable};
use nalgebra::Vector3;
use selene_crm::kernel::{SHARED_WGSL, exact_bytes, exact_reactions};
use selene_crm::{Body, BodyShape, Reaction};

use crate::error::SpheresError;
use crate::model::Model;
use crate::step::check_body;

pub use arrangement::Arrangement;
pub use transfer::{Grains, fault, pack, unpack};

/// Invocations of a workgroup of kernels that run once for each grain.
pub const GRAIN_LANES: u32 = 64;
/// Most bodies of a step.
pub const BODIES_MAX: usize = 512;
/// Faces of the container, which follow the bodies among reactions.
const FACES: usize = 6;
/// Partners of a slot: grains by their index, walls and bodies from these numbers on, and none.
const FIRST_WALL: u32 = 0x8000_0000;
const FIRST_BODY: u32 = 0xc000_0000;
const NO_PARTNER: u32 = u32::MAX;
/// Faults of a clock.
const OUTSIDE: u32 = 1;
const NOT_FINITE: u32 = 2;
const UNSTABLE: u32 = 4;
const TOO_DEEP: u32 = 8;
const CROWDED: u32 = 16;
/// Friction of an open wall in a record.
const OPEN: f32 = -1.0;

/// All kernels.
#[must_use]
pub fn wgsl() -> String {
    let own = [
        include_str!("records.wgsl"),
        include_str!("law.wgsl"),
        include_str!("bodies.wgsl"),
        include_str!("list.wgsl"),
        include_str!("substep.wgsl"),
    ];
    [SHARED_WGSL, &own.concat()].concat()
}

/// What a submission of substeps does not change.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ModelRecord {
    size: [i32; 3],
    grain_count: u32,
    cells: [i32; 3],
    slots: u32,
    cell_size: [i32; 3],
    body_count: u32,
    gravity: [f32; 3],
    unit_m: f32,
    low_walls: [f32; 3],
    remaining_s: f32,
    high_walls: [f32; 3],
    body_speed: f32,
    young_pa: f32,
    shear_pa: f32,
    damping: f32,
    density: f32,
    friction: f32,
    rolling_friction: f32,
    smallest_m: f32,
    skin_m: f32,
    substep_max_s: f32,
    impulse_scale: f32,
    moment_scale: f32,
    zero: u32,
}

/// Time within a submission, and what was found about the grains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ClockRecord {
    /// Time since the submission's start, s.
    pub elapsed_s: f32,
    /// Length of the substep, s.
    pub substep_s: f32,
    /// Whether it is the step's last.
    pub is_last: u32,
    /// Whether the step is at its end.
    pub is_done: u32,
    /// Number of substeps since the submission's start.
    pub substeps: u32,
    /// The faults, one bit each.
    pub faults: u32,
    /// Bits of the square of the greatest speed in this substep.
    pub fastest: u32,
    /// Speed of the fastest grain after the last substep, m/s.
    pub speed: f32,
    /// Upper bound of how much nearer any two have come since the last listing, m.
    pub way_m: f32,
    /// Length of the substep in which a fault was found, s.
    pub failed_s: f32,
    /// The most partners of a grain, in reach or in touch.
    pub partners: u32,
    /// Index of the first grain with more partners than slots.
    pub crowded: u32,
}

/// A body. Its position is in units, as a grain's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BodyRecord {
    fixed: [i32; 3],
    shape: u32,
    rest: [f32; 3],
    friction: f32,
    rotation: [f32; 4],
    velocity: [f32; 3],
    pad0: u32,
    spin: [f32; 3],
    pad1: u32,
    half: [f32; 3],
    pad2: u32,
}

impl ModelRecord {
    /// A record for a submission that begins `remaining_s` before the end of a step.
    #[must_use]
    pub fn new(model: &Model, arrangement: &Arrangement, bodies: &[Body], remaining_s: f64) -> Self {
        let grains = model.grains();
        let rigid = model.against(arrangement.smallest_m, grains.friction);
        let wall = |face| model.container().friction(face).map_or(OPEN, |friction| friction as f32);
        let [impulse_n_s, arm_m] = reaction_units(model, arrangement);
        Self {
            size: arrangement.size,
            grain_count: arrangement.grains as u32,
            cells: arrangement.cells,
            slots: arrangement.slots as u32,
            cell_size: arrangement.cell_size,
            body_count: bodies.len() as u32,
            gravity: model.gravity_m_s2().cast::<f32>().into(),
            unit_m: arrangement.unit_m as f32,
            low_walls: [0, 2, 4].map(wall),
            remaining_s: remaining_s as f32,
            high_walls: [1, 3, 5].map(wall),
            body_speed: Body::fastest_m_s(bodies) as f32,
            young_pa: rigid.young_pa as f32,
            shear_pa: rigid.shear_pa as f32,
            damping: rigid.damping as f32,
            density: grains.density_kg_m3 as f32,
            friction: grains.friction as f32,
            rolling_friction: grains.rolling_friction as f32,
            smallest_m: arrangement.smallest_m as f32,
            skin_m: arrangement.skin_m() as f32,
            substep_max_s: model.substep_max_s(arrangement.smallest_m) as f32,
            impulse_scale: (1.0 / impulse_n_s) as f32,
            moment_scale: (1.0 / (impulse_n_s * arm_m)) as f32,
            zero: 0,
        }
    }
}

impl ClockRecord {
    /// The clock at the start of a submission, after that of the one before.
    #[must_use]
    pub fn begun(self) -> Self {
        let Self { speed, way_m, partners, .. } = self;
        Self { speed, way_m, partners, crowded: u32::MAX, ..Self::default() }
    }
}

impl BodyRecord {
    /// Records of `bodies` where they are after `elapsed_s`.
    #[must_use]
    pub fn of(arrangement: &Arrangement, bodies: &[Body], elapsed_s: f64) -> Vec<Self> {
        bodies.iter().map(|body| Self::new(arrangement, &body.moved(elapsed_s))).collect()
    }

    fn new(arrangement: &Arrangement, body: &Body) -> Self {
        let (fixed, rest) = arrangement.units(&body.pose.translation.vector);
        let (shape, half_m) = match body.shape {
            BodyShape::Sphere { radius_m } => (0, [radius_m; 3]),
            BodyShape::Cuboid { half_m } => (1, half_m),
            BodyShape::Cylinder { radius_m, half_length_m } => (2, [radius_m, radius_m, half_length_m]),
            // `check_bodies` refuses these two.
            BodyShape::Wheel(wheel) => (2, [wheel.rim_m, wheel.rim_m, wheel.half_length_m]),
            BodyShape::Drum(drum) => (2, [drum.radius_m, drum.radius_m, drum.half_length_m]),
        };
        Self {
            fixed,
            shape,
            rest,
            friction: body.friction as f32,
            rotation: body.pose.rotation.coords.cast().into(),
            velocity: body.velocity_m_s.cast().into(),
            spin: body.angular_velocity_rad_s.cast().into(),
            half: half_m.map(|length_m| length_m as f32),
            ..Self::default()
        }
    }
}

/// Checks that the kernels can step grains among `bodies`.
///
/// # Errors
/// When there are too many, one is a drum, or one is not valid.
pub fn check_bodies(bodies: &[Body]) -> Result<(), SpheresError> {
    if bodies.len() > BODIES_MAX {
        return Err(SpheresError::Device(format!("{} bodies: at most {BODIES_MAX} are allowed", bodies.len())));
    }
    bodies.iter().enumerate().try_for_each(|(index, body)| check_body(index, body))?;
    match bodies.iter().position(|body| body.shape.is_shell()) {
        None => Ok(()),
        Some(index) => {
            let what = format!("body {index} is a drum: spheres, cuboids and cylinders are allowed; use the CPU");
            Err(SpheresError::Device(what))
        }
    }
}

/// Bytes of the reactions of so many bodies and of the walls.
#[must_use]
pub fn reaction_bytes(bodies: usize) -> u64 {
    exact_bytes(bodies + FACES)
}

/// Reactions of bodies, and impulses on the low and the high wall of each axis, N s, from the sums of a submission.
#[must_use]
pub fn reactions(
    model: &Model,
    arrangement: &Arrangement,
    sums: &[[u32; 2]],
) -> (Vec<Reaction>, [[Vector3<f64>; 2]; 3]) {
    let [impulse_n_s, arm_m] = reaction_units(model, arrangement);
    let mut bodies = exact_reactions(sums, impulse_n_s, arm_m);
    let walls = bodies.split_off(bodies.len().saturating_sub(FACES));
    let on_face = |face: usize| walls.get(face).map_or_else(Vector3::zeros, |wall| wall.impulse_n_s);
    (bodies, [0, 2, 4].map(|face| [on_face(face), on_face(face + 1)]))
}

/// Units of exact sums: of impulses, N s, and of arms, m. They have 32 bits after the point. The greatest grain at
/// 4 mm/s is one, so that a submission may add up to those of 10⁷ of them at 1 m/s, and a weight in a substep counts
/// millions.
fn reaction_units(model: &Model, arrangement: &Arrangement) -> [f64; 2] {
    let longest_m = model.container().size_m.into_iter().fold(0.0, f64::max);
    [model.mass_kg(arrangement.greatest_m) / 256.0, longest_m]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::mem::offset_of;

    use naga::{Expression, Literal, TypeInner};

    use super::{BodyRecord, ClockRecord, ModelRecord};

    fn module() -> naga::Module {
        naga::front::wgsl::parse_str(&super::wgsl()).expect("WGSL")
    }

    /// Name, size and offsets of the fields of each struct of the kernels.
    fn structs() -> BTreeMap<String, (usize, Vec<usize>)> {
        let of = |(_, ty): (_, &naga::Type)| match &ty.inner {
            TypeInner::Struct { members, span } => {
                let offsets = members.iter().map(|member| member.offset as usize).collect();
                Some((ty.name.clone()?, (*span as usize, offsets)))
            }
            _ => None,
        };
        module().types.iter().filter_map(of).collect()
    }

    /// Offsets of all fields; does not compile when one is left out.
    macro_rules! offsets {
        ($record:ident { $($field:ident),* $(,)? }) => {{
            fn _all_are_listed($record { $($field: _),* }: $record) {}
            (size_of::<$record>(), vec![$(offset_of!($record, $field)),*])
        }};
    }

    #[test]
    fn records_lie_in_memory_as_the_kernels_read_them() {
        let structs = structs();
        let model = offsets!(ModelRecord {
            size,
            grain_count,
            cells,
            slots,
            cell_size,
            body_count,
            gravity,
            unit_m,
            low_walls,
            remaining_s,
            high_walls,
            body_speed,
            young_pa,
            shear_pa,
            damping,
            density,
            friction,
            rolling_friction,
            smallest_m,
            skin_m,
            substep_max_s,
            impulse_scale,
            moment_scale,
            zero,
        });
        assert_eq!(structs["Model"], model);
        let clock = offsets!(ClockRecord {
            elapsed_s,
            substep_s,
            is_last,
            is_done,
            substeps,
            faults,
            fastest,
            speed,
            way_m,
            failed_s,
            partners,
            crowded,
        });
        assert_eq!(structs["Clock"], clock);
        let body =
            offsets!(BodyRecord { fixed, shape, rest, friction, rotation, velocity, pad0, spin, pad1, half, pad2 });
        assert_eq!(structs["Body"], body);
    }

    #[test]
    fn constants_of_both_sides_are_the_same() {
        let module = module();
        let value = |name: &str| {
            let (_, constant) = module.constants.iter().find(|(_, it)| it.name.as_deref() == Some(name)).expect(name);
            match module.global_expressions[constant.init] {
                Expression::Literal(Literal::F32(number)) => f64::from(number),
                Expression::Literal(Literal::U32(number)) => f64::from(number),
                ref other => panic!("{name} is {other:?}"),
            }
        };
        for (name, here) in [
            ("FIRST_WALL", f64::from(super::FIRST_WALL)),
            ("FIRST_BODY", f64::from(super::FIRST_BODY)),
            ("NO_PARTNER", f64::from(super::NO_PARTNER)),
            ("FACES", super::FACES as f64),
            ("OUTSIDE", f64::from(super::OUTSIDE)),
            ("NOT_FINITE", f64::from(super::NOT_FINITE)),
            ("UNSTABLE", f64::from(super::UNSTABLE)),
            ("TOO_DEEP", f64::from(super::TOO_DEEP)),
            ("CROWDED", f64::from(super::CROWDED)),
            ("WAY_RADII", f64::from(crate::step::WAY_RADII as f32)),
            ("PUSHED_RADII", f64::from(crate::step::PUSHED_RADII as f32)),
            ("OVERLAP_MAX", crate::law::OVERLAP_MAX),
            ("REST_STEPS", super::arrangement::REST_STEPS),
        ] {
            assert_eq!(value(name), here, "{name}");
        }
        for entry in &module.entry_points {
            assert!(entry.name == "end_substep" || entry.workgroup_size[0] == super::GRAIN_LANES, "{}", entry.name);
        }
    }
}
