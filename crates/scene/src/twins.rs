//! Tests that the kernels' two versions, in Rust and in WGSL, agree: every struct and every constant of one side is
//! compared with its twin on the other. Whatever only one side needs is listed with a reason, so that nothing can be
//! added to one side alone.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::path::Path;

use naga::{Expression, Handle, Literal, Module, ScalarKind, StructMember, Type, TypeInner};
use nalgebra::{Vector2, Vector3};

use crate::kernel::earthlight::EarthPoint;
use crate::kernel::echo::Reception;
use crate::kernel::lamp::Lamplight;
use crate::kernel::print::PrintEffect;
use crate::kernel::sunlight::Sunlight;
use crate::kernel::surface::Surface;
use crate::kernel::{
    self, Hit, Ray, WGSL, chance, craterlet, detail, earthlight, echo, hapke, heights, lamp, lens, principled, print,
    scatter, sky, sunlight, surface, trace,
};
use crate::record::{
    BarePixelRecord, BeamRecord, CameraRecord, EchoRecord, GlobalsRecord, InstanceRecord, LampRecord, LevelRecord,
    MaterialRecord, MotionRecord, NodeRecord, PixelRecord, ReceiverRecord, ReportRecord, ReturnRecord, TriangleRecord,
    TruthRecord, WideBeamRecord,
};

/// The slant of one pixel; in Rust the type is generic.
type Slant = hapke::Slant<f32>;

/// Craterlets at one place; in Rust the type is generic.
type Craterlets = craterlet::Craterlets<f32>;

/// The Sun above one place; in Rust the type is generic.
type LowSun = craterlet::LowSun<f32>;

/// A name and the reason why it has no twin.
type Single = [&'static str; 2];

const STRUCTS_OF_RUST: [Single; 5] = [
    ["Bundle", "the rays of a tile together; WGSL has a cone only"],
    ["CameraHit", "what WGSL has as variables of camera_pixel"],
    ["GridRay", "numbers by themselves, where WGSL has vectors"],
    ["Records", "borrows what WGSL has as bindings"],
    ["Start", "where the rays of a tile begin; in WGSL each begins at its origin"],
];

const STRUCTS_OF_WGSL: [Single; 5] = [
    ["Cone", "one case of Rust's Bundle"],
    ["Disc", "what gives directions that Rust has as a slice"],
    ["GridRay", "vectors, where Rust has numbers by themselves"],
    ["GroundHit", "a pair in Rust"],
    ["OctaveCell", "a pair in Rust"],
];

const CONSTANTS_OF_RUST: [Single; 3] = [
    ["MIPS_MAX", "the length of Level.mips, which is compared as a field"],
    ["PRINCIPLED", "in the kernels the kind of a material that is of no other"],
    ["WGSL", "the text itself"],
];

const CONSTANTS_OF_WGSL: [Single; 6] = [
    ["ALL_HIDDEN", "what Rust decides by two calls"],
    ["NONE_HIDDEN", "what Rust decides by two calls"],
    ["NOTHING", "a constant of EchoRecord in Rust"],
    ["NO_REPORT", "a constant of ReportRecord in Rust"],
    ["NO_SPAN", "where one loop serves for Rust's two"],
    ["PART_HIDDEN", "what Rust decides by two calls"],
];

/// Size of a struct and its fields in order.
#[derive(Debug, PartialEq)]
struct Layout {
    bytes: usize,
    fields: Vec<Field>,
}

/// A field: its offset, its size and the scalar type of its numbers.
#[derive(Debug, PartialEq)]
struct Field {
    name: String,
    offset: usize,
    bytes: usize,
    kind: ScalarKind,
}

/// A Rust type that a field may have.
trait FieldType {
    /// Scalar type of its numbers; of the first field's for a struct.
    const KIND: ScalarKind;
}

impl FieldType for f32 {
    const KIND: ScalarKind = ScalarKind::Float;
}

impl FieldType for u32 {
    const KIND: ScalarKind = ScalarKind::Uint;
}

impl FieldType for i32 {
    const KIND: ScalarKind = ScalarKind::Sint;
}

impl<T: FieldType, const N: usize> FieldType for [T; N] {
    const KIND: ScalarKind = T::KIND;
}

impl FieldType for Vector2<f32> {
    const KIND: ScalarKind = ScalarKind::Float;
}

impl FieldType for Vector3<f32> {
    const KIND: ScalarKind = ScalarKind::Float;
}

impl FieldType for bool {
    const KIND: ScalarKind = ScalarKind::Bool;
}

impl FieldType for EchoRecord {
    const KIND: ScalarKind = ScalarKind::Float;
}

impl FieldType for MotionRecord {
    const KIND: ScalarKind = ScalarKind::Float;
}

/// A Rust type that a constant may have.
trait ConstantType {
    /// Its numbers as WGSL literals.
    fn literals(self) -> Vec<Literal>;
}

impl ConstantType for f32 {
    fn literals(self) -> Vec<Literal> {
        vec![Literal::F32(self)]
    }
}

impl ConstantType for u32 {
    fn literals(self) -> Vec<Literal> {
        vec![Literal::U32(self)]
    }
}

impl ConstantType for i32 {
    fn literals(self) -> Vec<Literal> {
        vec![Literal::I32(self)]
    }
}

impl ConstantType for usize {
    fn literals(self) -> Vec<Literal> {
        vec![Literal::U32(u32::try_from(self).expect("a number of 32 bits"))]
    }
}

impl ConstantType for [f32; 2] {
    fn literals(self) -> Vec<Literal> {
        self.map(Literal::F32).to_vec()
    }
}

fn field<S, F: FieldType>(name: &str, offset: usize, _: impl Fn(&S) -> &F) -> Field {
    Field { name: name.to_owned(), offset, bytes: size_of::<F>(), kind: F::KIND }
}

/// Layouts of Rust's structs under their names in WGSL. Does not compile when a field of a struct is left out.
macro_rules! layouts {
    ($($rust:ident { $($field:ident),* $(,)? })*) => {
        BTreeMap::from([$((stringify!($rust).trim_end_matches("Record").to_owned(), {
            fn _all_are_listed($rust { $($field: _),* }: $rust) {}
            let fields = vec![$(field(stringify!($field), offset_of!($rust, $field), |s: &$rust| &s.$field)),*];
            Layout { bytes: size_of::<$rust>(), fields }
        })),*])
    };
}

/// Values of Rust's constants under their WGSL names, the last part of their paths.
macro_rules! values {
    ($($constant:expr),* $(,)?) => {
        BTreeMap::from([$((last_part(stringify!($constant)), $constant.literals())),*])
    };
}

fn last_part(path: &str) -> String {
    path.rsplit("::").next().unwrap_or(path).trim().to_owned()
}

/// Layouts of the records, which pass between Rust and WGSL as bytes.
fn records() -> BTreeMap<String, Layout> {
    layouts! {
        LevelRecord { origin, spacing, inverse_spacing, cells, top_mip, heights, prints, mips }
        NodeRecord { min, escape, max, leaf }
        TriangleRecord { corner, radius, edge1, third, edge2, pad }
        InstanceRecord { object_from_world, first_node, end_node, material, code }
        MaterialRecord {
            kind, albedo, w, b, c, bs0, hs, k, tan_theta, chi, r0, metallic, tint, alpha, specular, pad,
            near_infrared,
        }
        LampRecord {
            position, peak, axis, cos_outer, side, inverse_fall, up, falloff, intensity, radius,
        }
        GlobalsRecord {
            sun_direction, sun_irradiance, earth_direction, earth_irradiance, sun_from_earth, earth_radiance,
            sun_radius, sun_radiance, earth_radius, level_count, node_count, beam_count, lamp_count, detail_mottle,
            earth_bands, detail_slope, detail_origin, detail_gain, moving_from, detail_craterlets,
            pad0, pad1, pad2,
        }
        MotionRecord { centre, angle, axis, pad0, shift, pad1 }
        CameraRecord {
            world_from_optical, inverse_focal, principal, size, sun_samples, bounce_rays, seed, lens, reach,
            pixel_reach, coefficients, motion, moves, samples, exposure_share, row_share, first_row,
            earth_samples, bounces, pad,
        }
        PixelRecord { radiance, depth, scattered, code }
        BarePixelRecord { radiance, depth, code }
        TruthRecord { normal, albedo, sun_share, pad }
        BeamRecord { origin, code, direction, share }
        ReturnRecord { range, cos_incidence, reflectance, code }
        WideBeamRecord { origin, share, axis, pad0, along_azimuth, pad1 }
        ReceiverRecord {
            of_bands, beams, rays_of_beam, reports, ignored_from, ignored_to, range_at_10_percent, resolution, nearest,
            farthest, rays,
        }
        EchoRecord { range, signal, strongest, code }
        ReportRecord { range, signal, kind, code }
    }
}

/// Layouts of the structs that kernels pass to one another within one side; the fields' offsets do not matter.
fn handed_on() -> BTreeMap<String, Layout> {
    layouts! {
        Ray { origin, direction }
        Hit { t, instance, part }
        Slant { cos, sin, e1, e2 }
        Surface { point, normal, even, clearance, material, code, shade, least_alpha, open }
        PrintEffect { slope, pressed, open }
        Craterlets { slope, open }
        LowSun { along, rise }
        Lamplight { irradiance, distance, direction }
        Sunlight { share, direction }
        EarthPoint { direction, weight }
        Reception { count, first, last, best, second, best_is_last, mean }
    }
}

/// Values of the constants of the kernels and of their inputs.
fn constants() -> BTreeMap<String, Vec<Literal>> {
    values! {
        std::f32::consts::PI, crate::lamp::LAMPS_MAX, crate::light::BOUNCES_MAX, crate::light::SAMPLES_MAX,
        crate::record::LEVELS_MAX,
        kernel::SUN_BAND, kernel::LAMBERT, kernel::HAPKE, kernel::FAR, kernel::GROUND, kernel::CAMERA_GROUP,
        kernel::BEAM_GROUP,
        chance::GOLDEN, chance::PLASTIC,
        detail::FINEST_OCTAVE, detail::COARSEST_OCTAVE, detail::VALUE_SCALE, detail::SLOPE_SCALE, detail::GRAZING,
        craterlet::COARSEST, craterlet::FINEST, craterlet::SALT, craterlet::LEAST_RADIUS, craterlet::OUTER, craterlet::SHALLOW,
        craterlet::FRESHER, craterlet::STEEPER, craterlet::CREST, craterlet::CREST_AT, craterlet::LEAST_ALONG_GROUND, craterlet::EDGE,
        earthlight::FIRST_EARTH_NUMBER, earthlight::LEAST_SIN, earthlight::LEAST_MEAN,
        echo::REFERENCE_REFLECTANCE, echo::RAYS_OF_BEAM_MAX, echo::ECHO_GROUP, echo::REPORTS_STRONGEST,
        echo::REPORTS_FIRST, echo::REPORTS_LAST, echo::REPORTS_DUAL, echo::REPORTS_MEAN, echo::NO_ECHO, echo::STRONGEST,
        echo::FIRST, echo::LAST, echo::STRONGEST_AND_LAST, echo::SECOND_STRONGEST, echo::MEAN,
        hapke::LEAST,
        heights::ENTRY_MIP, heights::STILL,
        lamp::FAINTEST, lamp::FAINTEST_OF_SUN, lamp::SMALL, lamp::BEFORE, lamp::NEAREST2, lamp::FIRST_LAMP_NUMBER,
        lens::PINHOLE, lens::POLYNOMIALS, lens::FIELD_OF_VIEW, lens::EQUIDISTANT, lens::STEREOGRAPHIC,
        lens::RADIAL_STEPS, lens::PLANE_STEPS, lens::LAST_STEP,
        principled::DIFFUSE_GAIN,
        print::TILE_SIDE, print::PRESSED, print::PITCH_STEP, print::STEEP, print::GROOVE, print::SHADOW_STEPS, print::SHADOW_STEP,
        print::SHADOW_EDGE, print::LEAST_ALONG, print::SMOOTHED, print::DARKER,
        scatter::LEAST_COS, scatter::BLUR_ALPHA, scatter::FIRST_NUMBER, scatter::FIRST_PATH_NUMBER,
        sky::POINTS, sky::LIMB_EXPONENT,
        sunlight::LIMB_ROOT,
        surface::SENSOR_MIP, surface::SURFACE_MIP, surface::GRAZING_COS, surface::GROUND_CODE,
        trace::SHIFT_NUMBER, trace::SEED_STEP,
    }
}

fn module() -> Module {
    naga::front::wgsl::parse_str(WGSL).unwrap_or_else(|e| panic!("{}", e.emit_to_string(WGSL)))
}

/// Layouts of all structs in WGSL.
fn wgsl_layouts(module: &Module) -> BTreeMap<String, Layout> {
    let named = |ty: &Type| Some((ty.name.clone()?, wgsl_layout(module, &ty.inner)?));
    module.types.iter().filter_map(|(_, ty)| named(ty)).collect()
}

fn wgsl_layout(module: &Module, inner: &TypeInner) -> Option<Layout> {
    let TypeInner::Struct { members, span } = inner else { return None };
    Some(Layout { bytes: *span as usize, fields: members.iter().map(|member| wgsl_field(module, member)).collect() })
}

fn wgsl_field(module: &Module, member: &StructMember) -> Field {
    Field {
        name: member.name.clone().unwrap_or_default(),
        offset: member.offset as usize,
        bytes: module.types[member.ty].inner.size(module.to_ctx()) as usize,
        kind: kind(module, member.ty),
    }
}

/// Scalar type of a type's numbers; of the first field's for a struct.
fn kind(module: &Module, ty: Handle<Type>) -> ScalarKind {
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => scalar.kind,
        TypeInner::Array { base, .. } => kind(module, *base),
        TypeInner::Struct { members, .. } => kind(module, members[0].ty),
        other => panic!("a field may not be {other:?}"),
    }
}

/// Values of all constants in WGSL.
fn wgsl_constants(module: &Module) -> BTreeMap<String, Vec<Literal>> {
    let named = |constant: &naga::Constant| (constant.name.clone().expect("a name"), literals(module, constant.init));
    module.constants.iter().map(|(_, constant)| named(constant)).collect()
}

/// The literals of a constant expression.
fn literals(module: &Module, expression: Handle<Expression>) -> Vec<Literal> {
    match &module.global_expressions[expression] {
        Expression::Literal(literal) => vec![*literal],
        Expression::Constant(constant) => literals(module, module.constants[*constant].init),
        Expression::Compose { components, .. } => components.iter().flat_map(|part| literals(module, *part)).collect(),
        other => panic!("a constant may not be {other:?}"),
    }
}

/// Rust source of the records and of all kernels.
fn rust_text() -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let entries = std::fs::read_dir(sources.join("kernel")).expect("the kernels' folder");
    let files = entries.map(|entry| entry.expect("a file").path()).chain([sources.join("record.rs")]);
    let in_rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    in_rust.map(|path| std::fs::read_to_string(path).expect("text")).collect()
}

/// Names that a source text declares with a keyword at the start of a line, public or not.
fn declared(text: &str, word: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let private = if line.starts_with("pub") { line.split_once(' ').map_or("", |(_, rest)| rest) } else { line };
        let Some(rest) = private.strip_prefix(word) else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if name.starts_with(char::is_uppercase) {
            assert!(names.insert(name.trim_end_matches("Record").to_owned()), "{name} is there twice");
        }
    }
    names
}

/// Asserts that exactly the names of `singles` have no twin.
fn assert_alone(names: &BTreeSet<String>, twins: &BTreeSet<String>, singles: &[Single]) {
    let expected: Vec<_> = singles.iter().map(|[name, _]| *name).collect();
    let alone: Vec<_> = names.difference(twins).map(String::as_str).collect();
    assert_eq!(alone, expected);
}

/// Names, sizes and scalar types of a layout's fields, without their offsets.
fn unplaced(layout: &Layout) -> Vec<(&str, usize, ScalarKind)> {
    layout.fields.iter().map(|field| (field.name.as_str(), field.bytes, field.kind)).collect()
}

#[test]
fn records_have_the_same_bytes_in_rust_and_wgsl() {
    let wgsl = wgsl_layouts(&module());
    for (name, layout) in &records() {
        assert_eq!(wgsl.get(name), Some(layout), "{name}");
    }
}

#[test]
fn structs_that_kernels_hand_on_have_the_same_fields_in_rust_and_wgsl() {
    let wgsl = wgsl_layouts(&module());
    for (name, layout) in &handed_on() {
        assert_eq!(wgsl.get(name).map(unplaced), Some(unplaced(layout)), "{name}");
    }
}

#[test]
fn constants_have_the_same_values_in_rust_and_wgsl() {
    let wgsl = wgsl_constants(&module());
    for (name, value) in &constants() {
        assert_eq!(wgsl.get(name), Some(value), "{name}");
    }
}

#[test]
fn no_struct_is_on_one_side_alone() {
    let twins: BTreeSet<_> = records().into_keys().chain(handed_on().into_keys()).collect();
    let in_wgsl: BTreeSet<_> = wgsl_layouts(&module()).into_keys().collect();
    assert_eq!(in_wgsl, declared(WGSL, "struct "));
    assert_alone(&in_wgsl, &twins, &STRUCTS_OF_WGSL);
    assert_alone(&declared(&rust_text(), "struct "), &twins, &STRUCTS_OF_RUST);
}

#[test]
fn no_constant_is_on_one_side_alone() {
    let twins: BTreeSet<_> = constants().into_keys().collect();
    let in_wgsl: BTreeSet<_> = wgsl_constants(&module()).into_keys().collect();
    // naga leaves out a constant that has no type.
    assert_eq!(in_wgsl, declared(WGSL, "const "));
    assert_alone(&in_wgsl, &twins, &CONSTANTS_OF_WGSL);
    assert_alone(&declared(&rust_text(), "const "), &twins, &CONSTANTS_OF_RUST);
}
