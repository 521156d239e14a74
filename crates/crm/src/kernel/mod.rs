//! The solver's twin in WGSL, for a GPU: its text, and the records that it reads and writes. Positions are fixed-point
//! numbers there and sums at nodes are integers, so that the order of points has no effect: one device gives the same
//! bytes each time. Devices and the CPU agree within rounding.

mod reading;

use bytemuck::{Pod, Zeroable};
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use crate::block::BLOCK_NODES;
use crate::body::{Body, Reaction};
use crate::error::CrmError;
use crate::grid::{Edges, Wall};
use crate::model::Model;
use crate::scratch::{POINTS_A_TASK, check};
use crate::shape::BodyShape;
use crate::shells::SHELLS_MAX;
use crate::state::{Point, State};
use crate::step::check_shell_count;

pub use self::reading::{
    DENSITY_BYTES, MASS_BYTES, ReadingRecord, SURFACE_BYTES_A_COLUMN, TOTALS_BYTES, WORD_BYTES_A_COLUMN, column_count,
    density_count, masses, surface, top_count, totals,
};

/// All kernels.
pub const WGSL: &str = concat!(
    include_str!("records.wgsl"),
    include_str!("turns.wgsl"),
    include_str!("exact.wgsl"),
    include_str!("law.wgsl"),
    include_str!("bodies.wgsl"),
    include_str!("shells.wgsl"),
    include_str!("sort.wgsl"),
    include_str!("substep.wgsl"),
    include_str!("reading.wgsl"),
);
/// Turns of bodies and exact sums of reactions, which other kernels use too.
pub const SHARED_WGSL: &str = concat!(include_str!("turns.wgsl"), include_str!("exact.wgsl"));
/// Invocations of a workgroup of kernels that run once for each point.
pub const POINT_LANES: u32 = 128;
/// Most workgroups along x of a dispatch; further ones follow along y.
pub const GROUPS_MAX: u32 = 65_535;
/// Most bodies of a step.
pub const BODIES_MAX: usize = 512;
/// Four words of a point are in each of so many planes, one plane after the other.
pub const PLANES: usize = 6;
/// Bytes of the sums and of the velocities of a block's nodes.
pub const NODE_BYTES_A_BLOCK: u64 = 16 * BLOCK_NODES as u64;
/// Reactions of one body or of the walls are added in so many places.
const PLACES: usize = 16;
/// Numbers of a reaction.
const NUMBERS: usize = 6;
/// Greatest number of bits after the point of a position.
const FRACTION_BITS_MAX: u32 = 22;
/// Cells beyond the grid that a position must be able to reach on both sides together.
const BEYOND_CELLS: u32 = 16;
/// A fault of a clock: the sums at a node are too large for their integers.
const TOO_DENSE: u32 = 8;
/// Most cell masses at a node that momentum has room for, and most of one point.
const NODE_MASSES_MAX: f64 = 4.0;
const POINT_MASSES_MAX: f64 = 1.0;
/// Least number of integers that gravity adds in a substep at a node that has the largest share of a point.
const FALL_MIN: f64 = 4.0;
/// The largest share of a point at a node, cell masses: 0.75³ of a point, eight of which fill a cell.
const SHARE: f64 = 0.421_875 / 8.0;
/// Walls that soil leaves through, and that it sticks to, in a record.
const OPEN: f32 = -1.0;
const ROUGH: f32 = -2.0;
/// An exact sum counts in this fraction of its unit: for soil a cell mass times 1 m/s (and times a cell).
const REACTION_SCALE: f64 = 4_294_967_296.0;

/// What a step does not change.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ModelRecord {
    blocks: [i32; 3],
    point_count: u32,
    origin: [i32; 3],
    fraction_bits: u32,
    period: [i32; 3],
    body_count: u32,
    cells: [i32; 3],
    cell_m: f32,
    gravity: [f32; 3],
    substep_max_s: f32,
    low_walls: [f32; 3],
    duration_s: f32,
    high_walls: [f32; 3],
    body_speed: f32,
    bulk_pa: f32,
    shear_pa: f32,
    friction_static: f32,
    friction_dynamic: f32,
    cohesion_pa: f32,
    viscous: f32,
    density: f32,
    momentum_scale: f32,
    shells: [u32; SHELLS_MAX],
    shell_count: u32,
    pad: [u32; 3],
}

/// Time within a step, and what was found about the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ClockRecord {
    /// Time since the step's start, s.
    pub elapsed_s: f32,
    /// Length of the substep, s.
    pub substep_s: f32,
    /// Whether it is the last.
    pub is_last: u32,
    /// Number of substeps so far.
    pub substeps: u32,
    /// The faults, one bit each.
    pub faults: u32,
    /// Bits of the square of the greatest speed in this substep.
    pub fastest: u32,
    /// Speed of the fastest point after the last substep, m/s.
    pub speed: f32,
    /// Upper bound of how far a point has moved since the points were sorted, m.
    pub way_m: f32,
    /// Length of the substep in which a fault was found, s.
    pub failed_s: f32,
}

/// A body; lengths are cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BodyRecord {
    position: [f32; 3],
    shape: u32,
    rotation: [f32; 4],
    velocity: [f32; 3],
    friction: f32,
    spin: [f32; 3],
    reach: f32,
    half: [f32; 3],
    overlap_rad: f32,
    slices: u32,
    scoops: u32,
    thickness: f32,
    pad: u32,
}

impl ModelRecord {
    /// A record for a step of `point_count` points that lasts `duration_s`. `speed_m_s` is that of the fastest point.
    #[must_use]
    pub fn new(model: &Model, point_count: usize, bodies: &[Body], duration_s: f64, speed_m_s: f64) -> Self {
        let (soil, grid, layout) = (model.soil(), model.grid(), &model.layout);
        let [gravity_x, gravity_y, gravity_z] = model.gravity_m_s2().cast::<f32>().into();
        let body_speed_m_s = Body::fastest_m_s(bodies);
        let (mut shells, mut shell_count) = ([0; SHELLS_MAX], 0);
        let drums = bodies.iter().enumerate().filter(|(_, body)| body.shape.is_shell());
        for (shell, (index, _)) in shells.iter_mut().zip(drums) {
            *shell = index as u32;
            shell_count += 1;
        }
        Self {
            blocks: layout.blocks(),
            point_count: point_count as u32,
            origin: layout.origin(),
            fraction_bits: fraction_bits(model),
            period: [0, 1, 2].map(|axis| if is_periodic(model, axis) { grid.cells[axis] as i32 } else { 0 }),
            body_count: bodies.len() as u32,
            cells: grid.cells.map(|cells| cells as i32),
            cell_m: grid.cell_m as f32,
            gravity: [gravity_x, gravity_y, gravity_z],
            substep_max_s: model.substep_max_s() as f32,
            low_walls: grid.edges.map(|edges| wall(edges, |low, _| low)),
            duration_s: duration_s as f32,
            high_walls: grid.edges.map(|edges| wall(edges, |_, high| high)),
            body_speed: body_speed_m_s as f32,
            bulk_pa: soil.bulk_pa() as f32,
            shear_pa: soil.shear_pa() as f32,
            friction_static: soil.friction_static as f32,
            friction_dynamic: soil.friction_dynamic as f32,
            cohesion_pa: soil.cohesion_pa as f32,
            viscous: model.law.viscous(),
            density: soil.density_kg_m3 as f32,
            momentum_scale: momentum_scale(model, body_speed_m_s.max(speed_m_s)),
            shells,
            shell_count,
            pad: [0; 3],
        }
    }
}

/// Number of the grid's blocks.
#[must_use]
pub fn block_count(model: &Model) -> usize {
    model.layout.block_count()
}

/// As many bits as leave room for a position beyond the grid.
fn fraction_bits(model: &Model) -> u32 {
    let most = model.grid().cells.into_iter().max().unwrap_or(1) + BEYOND_CELLS;
    FRACTION_BITS_MAX.min(30 - (u32::BITS - most.leading_zeros()))
}

fn is_periodic(model: &Model, axis: usize) -> bool {
    model.grid().edges[axis] == Edges::Periodic
}

fn wall(edges: Edges, of: impl Fn(Wall, Wall) -> Wall) -> f32 {
    match edges {
        Edges::Periodic => OPEN,
        Edges::Walls { low, high } => match of(low, high) {
            Wall::Open => OPEN,
            Wall::Rough => ROUGH,
            Wall::Sliding { friction } => friction as f32,
        },
    }
}

/// The greatest power of two with which the momentum of a node fits in 32 bits at 2.5 times the speed of a pressure
/// wave, a cell in the longest substep, and at twice that of the fastest body or point. The kernels report sums that
/// come near the end of their range.
fn momentum_scale(model: &Model, speed_m_s: f64) -> f32 {
    let speed_m_s = f64::max(2.5 * model.soil().wave_speed_m_s(), 2.0 * speed_m_s);
    (f64::from(i32::MAX) / (NODE_MASSES_MAX * speed_m_s)).log2().floor().exp2() as f32
}

/// Mass of a cell that is full of soil at rest, kg.
fn cell_mass_kg(model: &Model) -> f64 {
    model.soil().density_kg_m3 * model.grid().cell_m.powi(3)
}

impl BodyRecord {
    /// Records of `bodies`.
    ///
    /// # Errors
    /// When there are too many, or one is not valid.
    pub fn of(model: &Model, bodies: &[Body]) -> Result<Vec<Self>, CrmError> {
        bodies.iter().enumerate().try_for_each(|(index, body)| body.check(index))?;
        check_shell_count(bodies)?;
        if bodies.len() > BODIES_MAX {
            let count = bodies.len();
            return Err(CrmError::Device(format!("a device: {count} bodies, it takes {BODIES_MAX} at once")));
        }
        Ok(bodies.iter().map(|body| Self::new(model.grid().cell_m, body)).collect())
    }

    fn new(cell_m: f64, body: &Body) -> Self {
        let cells = |length_m: f64| (length_m / cell_m) as f32;
        let record = Self {
            position: body.pose.translation.vector.map(cells).into(),
            rotation: body.pose.rotation.coords.cast().into(),
            velocity: body.velocity_m_s.cast().into(),
            friction: body.friction as f32,
            spin: body.angular_velocity_rad_s.cast().into(),
            reach: cells(body.shape.bounding_radius_m()),
            ..Self::default()
        };
        let solid = |shape, half_m: [f64; 3]| Self { shape, half: half_m.map(cells), ..record };
        match body.shape {
            BodyShape::Sphere { radius_m } => solid(0, [radius_m; 3]),
            BodyShape::Cuboid { half_m } => solid(1, half_m),
            BodyShape::Cylinder { radius_m, half_length_m } => solid(2, [radius_m, radius_m, half_length_m]),
            BodyShape::Wheel(wheel) => Self {
                thickness: cells(wheel.thickness_m),
                slices: wheel.grousers,
                ..solid(4, [wheel.rim_m, wheel.height_m, wheel.half_length_m])
            },
            BodyShape::Drum(drum) => Self {
                overlap_rad: drum.overlap_rad as f32,
                slices: drum.slices,
                scoops: drum.scoops,
                ..solid(3, [drum.radius_m, drum.channel_m, drum.half_length_m])
            },
        }
    }
}

/// Checks that the integers of the kernels resolve the soil's motion.
///
/// # Errors
/// When gravity in a substep is lost in their rounding: in stiff soil with small cells.
pub fn check_resolution(model: &Model) -> Result<(), CrmError> {
    let fall_m_s = model.gravity_m_s2().norm() * model.substep_max_s();
    let fall = fall_m_s * f64::from(momentum_scale(model, 0.0)) * SHARE;
    if fall_m_s == 0.0 || fall >= FALL_MIN {
        return Ok(());
    }
    let (young_pa, cell_m) = (model.soil().young_pa, model.grid().cell_m);
    let what = format!("young_pa {young_pa} with cells of {cell_m} m is too stiff for its integers: use the CPU");
    Err(CrmError::Device(format!("a device: {what}")))
}

/// The points of `state` in planes.
///
/// # Errors
/// When a value of a point is not finite, a point is outside of the grid, or its mass is that of many cells.
pub fn pack(model: &Model, state: &State) -> Result<Vec<[u32; 4]>, CrmError> {
    check(model, &state.points)?;
    check_masses(model, state)?;
    let count = state.points.len();
    let per_kg = 1.0 / cell_mass_kg(model);
    let per_cell = f64::from(1_u32 << fraction_bits(model)) / model.grid().cell_m;
    let mut planes = vec![[0; 4]; PLANES * count];
    let rows = planes.par_chunks_mut(count.max(1)).enumerate();
    rows.for_each(|(plane, row)| {
        let words = row.par_iter_mut().zip(state.points.par_iter()).enumerate();
        words.with_min_len(POINTS_A_TASK).for_each(|(index, (words, point))| {
            *words = plane_words(plane, index as u32, point, per_cell, per_kg);
        });
    });
    Ok(planes)
}

/// Checks that the sums at nodes have room for the masses of the points.
fn check_masses(model: &Model, state: &State) -> Result<(), CrmError> {
    let per_kg = 1.0 / cell_mass_kg(model);
    let Some(heavy) = state.points.iter().find(|point| point.mass_kg() * per_kg > POINT_MASSES_MAX) else {
        return Ok(());
    };
    let (id, masses) = (heavy.id, heavy.mass_kg() * per_kg);
    let what = format!("point {id} is {masses} times as heavy as a full cell: at most {POINT_MASSES_MAX}");
    Err(CrmError::Device(format!("a device: {what}")))
}

/// The four words of a point in a plane.
fn plane_words(plane: usize, index: u32, point: &Point, per_cell: f64, per_kg: f64) -> [u32; 4] {
    let with = |[a, b, c]: [f32; 3], d: f32| [a, b, c, d].map(f32::to_bits);
    let (affine, stress) = (&point.affine_s.data.0, &point.stress_pa);
    match plane {
        0 => {
            let place = point.position_m.map(|along| (along * per_cell).round() as i32 as u32);
            [place.x, place.y, place.z, ((point.mass_kg() * per_kg) as f32).to_bits()]
        }
        1 => with(point.velocity_m_s.into(), point.volume_ratio),
        2 => {
            let [a, b, c] = affine[0].map(f32::to_bits);
            [a, b, c, index]
        }
        3 => with(affine[1], stress[(0, 0)]),
        4 => with(affine[2], stress[(1, 1)]),
        _ => with([stress[(2, 2)], stress[(1, 0)], stress[(2, 0)]], stress[(2, 1)]),
    }
}

/// Sets the points of `state` to those of `planes`, which were packed from the same points in this order.
pub fn unpack(model: &Model, planes: &[[u32; 4]], state: &mut State) {
    let count = state.points.len();
    let mut moved: Vec<_> = (0..count)
        .into_par_iter()
        .with_min_len(POINTS_A_TASK)
        .map(|slot| point_at(model, planes, count, slot))
        .collect();
    moved.par_sort_unstable_by_key(|(index, _)| *index);
    state.points.iter_mut().zip(moved).for_each(|(point, (_, moved))| {
        *point = Point { mass_mg: point.mass_mg, id: point.id, ..moved };
    });
    state.sorted.clear();
}

/// The point in a slot, without its mass and id, and its index when it was packed.
fn point_at(model: &Model, planes: &[[u32; 4]], count: usize, slot: usize) -> (usize, Point) {
    let cell_m = model.grid().cell_m / f64::from(1_u32 << fraction_bits(model));
    let [place, motion, x, y, z, stress] = [0, 1, 2, 3, 4, 5].map(|plane| planes[plane * count + slot]);
    let [[vx, vy, vz, volume_ratio], [zz, xy, xz, yz]] = [motion, stress].map(|words| words.map(f32::from_bits));
    let ([_, _, _, xx], [_, _, _, yy]) = (y.map(f32::from_bits), z.map(f32::from_bits));
    let column = |words: [u32; 4]| Vector3::new(words[0], words[1], words[2]).map(f32::from_bits);
    let point = Point {
        position_m: Vector3::new(place[0], place[1], place[2]).map(|along| f64::from(along as i32) * cell_m),
        velocity_m_s: Vector3::new(vx, vy, vz),
        affine_s: Matrix3::from_columns(&[x, y, z].map(column)),
        stress_pa: Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz),
        volume_ratio,
        mass_mg: 0,
        id: 0,
    };
    (x[3] as usize, point)
}

/// What a clock with faults reports. `ids` are the numbers of the points as they were packed.
#[must_use]
pub fn fault(model: &Model, clock: &ClockRecord, planes: &[[u32; 4]], ids: &[u32]) -> CrmError {
    let points = (0..ids.len()).map(|slot| {
        let (index, point) = point_at(model, planes, ids.len(), slot);
        Point { id: ids.get(index).copied().unwrap_or_default(), ..point }
    });
    let otherwise = if clock.faults & TOO_DENSE == 0 {
        CrmError::Unstable { speed_m_s: clock.speed.into(), substep_s: clock.failed_s.into() }
    } else {
        CrmError::Device("a device: the soil is too dense or too fast for the sums at its nodes".to_owned())
    };
    check(model, &points.collect::<Vec<_>>()).err().unwrap_or(otherwise)
}

/// Bytes of the reactions of so many bodies and of the walls.
#[must_use]
pub fn reaction_bytes(bodies: usize) -> u64 {
    exact_bytes(bodies + 1)
}

/// Bytes of the exact sums of so many reactions.
#[must_use]
pub fn exact_bytes(reactions: usize) -> u64 {
    (reactions * PLACES * NUMBERS * size_of::<i64>()) as u64
}

/// Reactions of bodies, and last that of the walls, from the sums of a step.
#[must_use]
pub fn reactions(model: &Model, sums: &[[u32; 2]]) -> Vec<Reaction> {
    exact_reactions(sums, cell_mass_kg(model), model.grid().cell_m)
}

/// Reactions from exact sums in units of `impulse_n_s`, and of this times `arm_m`.
#[must_use]
pub fn exact_reactions(sums: &[[u32; 2]], impulse_n_s: f64, arm_m: f64) -> Vec<Reaction> {
    let least_n_s = impulse_n_s / REACTION_SCALE;
    let total = |row: &[[u32; 2]], number: usize| -> f64 {
        let places = row.chunks_exact(NUMBERS).map(|place| place[number]);
        places.map(|[low, high]| (i64::from(high as i32) << 32) + i64::from(low)).sum::<i64>() as f64 * least_n_s
    };
    let reaction = |row: &[[u32; 2]]| Reaction {
        impulse_n_s: Vector3::from_fn(|axis, _| total(row, axis)),
        angular_impulse_n_m_s: Vector3::from_fn(|axis, _| total(row, 3 + axis) * arm_m),
    };
    sums.chunks_exact(PLACES * NUMBERS).map(reaction).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::mem::offset_of;

    use naga::{Expression, Literal, TypeInner};

    use super::reading::{self, ReadingRecord};
    use super::{BodyRecord, ClockRecord, ModelRecord};

    /// Name, size and offsets of the fields of each struct of the kernels.
    fn structs() -> BTreeMap<String, (usize, Vec<usize>)> {
        let module = naga::front::wgsl::parse_str(super::WGSL).expect("WGSL");
        let of = |(_, ty): (_, &naga::Type)| match &ty.inner {
            TypeInner::Struct { members, span } => {
                let offsets = members.iter().map(|member| member.offset as usize).collect();
                Some((ty.name.clone()?, (*span as usize, offsets)))
            }
            _ => None,
        };
        module.types.iter().filter_map(of).collect()
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
        let (size, mut fields) = offsets!(ModelRecord {
            blocks,
            point_count,
            origin,
            fraction_bits,
            period,
            body_count,
            cells,
            cell_m,
            gravity,
            substep_max_s,
            low_walls,
            duration_s,
            high_walls,
            body_speed,
            bulk_pa,
            shear_pa,
            friction_static,
            friction_dynamic,
            cohesion_pa,
            viscous,
            density,
            momentum_scale,
            shells,
            shell_count,
            pad,
        });
        let pad = fields.pop().expect("fields");
        fields.extend([pad, pad + 4, pad + 8]);
        assert_eq!(structs["Model"], (size, fields));
        let clock =
            offsets!(ClockRecord { elapsed_s, substep_s, is_last, substeps, faults, fastest, speed, way_m, failed_s });
        assert_eq!(structs["Clock"], clock);
        let body = offsets!(BodyRecord {
            position,
            shape,
            rotation,
            velocity,
            friction,
            spin,
            reach,
            half,
            overlap_rad,
            slices,
            scoops,
            thickness,
            pad,
        });
        assert_eq!(structs["Body"], body);
        assert_eq!(structs["Reading"], offsets!(ReadingRecord { drums, drum_count, columns, rows, pad }));
    }

    #[test]
    fn constants_of_both_sides_are_the_same() {
        let module = naga::front::wgsl::parse_str(super::WGSL).expect("WGSL");
        let value = |name: &str| {
            let (_, constant) = module.constants.iter().find(|(_, it)| it.name.as_deref() == Some(name)).expect(name);
            match module.global_expressions[constant.init] {
                Expression::Literal(Literal::F32(number)) => f64::from(number),
                Expression::Literal(Literal::U32(number)) => f64::from(number),
                Expression::Literal(Literal::I32(number)) => f64::from(number),
                ref other => panic!("{name} is {other:?}"),
            }
        };
        for (name, here) in [
            ("POINT_LANES", f64::from(super::POINT_LANES)),
            ("GROUPS_MAX", f64::from(super::GROUPS_MAX)),
            ("PLANES", super::PLANES as f64),
            ("PLACES", super::PLACES as f64),
            ("WAY_CELLS", crate::step::WAY_CELLS),
            ("SORTED_CELLS", f64::from(crate::step::SORTED_CELLS as f32)),
            ("BODY_WORDS", super::BODIES_MAX as f64 / 32.0),
            ("SHELLS_MAX", crate::shells::SHELLS_MAX as f64),
            ("SKIN_CELLS", f64::from(crate::shells::SKIN_CELLS as f32)),
            ("STENCIL_CELLS", f64::from(crate::shells::STENCIL_CELLS as f32)),
            ("HALF_TILE_CELLS", crate::shells::HALF_TILE_CELLS),
            ("TOO_DENSE", f64::from(super::TOO_DENSE)),
            ("REACTION_SCALE", super::REACTION_SCALE),
            ("OPEN_RATIO", f64::from(crate::law::OPEN_RATIO)),
            ("TOTALS", reading::TOTALS as f64),
            ("SQUARE_SCALE", reading::SQUARE_SCALE),
            ("RIM", crate::surface::RIM as f64),
            ("TOP_SHARE", f64::from(crate::surface::TOP_SHARE)),
            ("BEYOND_WALL", f64::from(crate::surface::BEYOND_WALL)),
            ("TILE_NODES", crate::block::TILE_NODES as f64),
            ("BLOCK_NODES", crate::block::BLOCK_NODES as f64),
        ] {
            assert_eq!(value(name), here, "{name}");
        }
    }
}
