//! Every kernel in WGSL through naga, and the records' bytes compared with Rust's.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, TypeInner};
use selene_scene::{kernel::WGSL, record};

fn module() -> Module {
    let module = naga::front::wgsl::parse_str(WGSL).unwrap_or_else(|e| panic!("{}", e.emit_to_string(WGSL)));
    let checked = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
    assert!(checked.is_ok(), "{:?}", checked.err());
    module
}

/// Size of a WGSL struct and (name, offset) of its fields.
fn wgsl_layout(module: &Module, name: &str) -> (usize, Vec<(String, usize)>) {
    let found = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name));
    let TypeInner::Struct { members, span } = &found.expect("a type of this name").1.inner else {
        panic!("{name} is no struct");
    };
    let field = |m: &naga::StructMember| (m.name.clone().unwrap_or_default(), m.offset as usize);
    (*span as usize, members.iter().map(field).collect())
}

macro_rules! assert_same_layout {
    ($module:expr, $wgsl:literal, $record:ident { $($field:ident),* $(,)? }) => {
        let fields = vec![$((stringify!($field).to_owned(), std::mem::offset_of!(record::$record, $field))),*];
        let expected = (size_of::<record::$record>(), fields);
        assert_eq!(wgsl_layout($module, $wgsl), expected, "{}", $wgsl);
    };
}

#[test]
fn kernels_are_valid_wgsl_with_their_three_entry_points() {
    let names: Vec<_> = module().entry_points.iter().map(|e| e.name.clone()).collect();
    assert_eq!(names, ["camera", "beams", "truth"]);
}

#[test]
fn records_of_the_scene_have_the_same_bytes_in_rust_and_wgsl() {
    let m = &module();
    assert_same_layout!(
        m,
        "Level",
        LevelRecord { origin, spacing, inverse_spacing, cells, top_mip, heights, pad, mips }
    );
    assert_same_layout!(m, "Node", NodeRecord { min, escape, max, leaf });
    assert_same_layout!(m, "Triangle", TriangleRecord { corner, pad0, edge1, pad1, edge2, pad2 });
    assert_same_layout!(m, "Instance", InstanceRecord { object_from_world, first_node, end_node, material, code });
    assert_same_layout!(
        m,
        "Material",
        MaterialRecord { kind, albedo, w, b, c, bs0, hs, k, tan_theta, chi, r0, metallic, tint, alpha, specular, pad }
    );
    assert_same_layout!(
        m,
        "Globals",
        GlobalsRecord {
            sun_direction,
            sun_irradiance,
            earth_direction,
            earth_irradiance,
            sun_from_earth,
            earth_radiance,
            sun_radius,
            sun_radiance,
            earth_radius,
            level_count,
            node_count,
            beam_count,
            lamp_count,
            detail_mottle,
            earth_bands,
            detail_slope,
            detail_origin,
            detail_gain,
            moving_from
        }
    );
}

#[test]
fn records_of_cameras_and_beams_have_the_same_bytes_in_rust_and_wgsl() {
    let m = &module();
    assert_same_layout!(
        m,
        "Camera",
        CameraRecord {
            world_from_optical,
            inverse_focal,
            principal,
            size,
            sun_samples,
            bounce_rays,
            seed,
            lens,
            reach,
            pixel_reach,
            coefficients,
            motion,
            moves,
            samples,
            exposure_share,
            row_share,
            first_row,
            pad0,
            pad1,
            pad2
        }
    );
    assert_same_layout!(m, "Pixel", PixelRecord { radiance, depth, scattered, code });
    assert_same_layout!(m, "Motion", MotionRecord { centre, angle, axis, pad0, shift, pad1 });
    assert_same_layout!(m, "Truth", TruthRecord { normal, albedo, sun_share, pad });
    assert_same_layout!(
        m,
        "Lamp",
        LampRecord { position, peak, axis, cos_outer, side, inverse_fall, up, falloff, intensity, radius }
    );
    assert_same_layout!(m, "Beam", BeamRecord { origin, code, direction, pad });
    assert_same_layout!(m, "Return", ReturnRecord { range, cos_incidence, reflectance, code });
}

#[test]
fn constants_that_rust_computes_are_the_same_in_wgsl() {
    let has = |line: String| assert!(WGSL.contains(&line), "{line}");
    has(format!("const LIMB_EXPONENT: f32 = {};", selene_scene::LIMB_EXPONENT));
    has(format!("const SAMPLES_MAX: u32 = {}u;", selene_scene::SAMPLES_MAX));
    has(format!("const LAMPS_MAX: u32 = {}u;", selene_scene::LAMPS_MAX));
    has(format!("const LIMB_ROOT: f32 = {:.8};", 1.0 / (selene_scene::LIMB_EXPONENT + 2.0)));
}
