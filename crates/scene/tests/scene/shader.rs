//! Validates every kernel in WGSL with naga. src/twins.rs tests that the structs and constants equal Rust's.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use selene_scene::kernel::echo::ECHO_GROUP;
use selene_scene::kernel::{BEAM_GROUP, CAMERA_GROUP, WGSL};

#[test]
fn kernels_are_valid_wgsl_with_their_entry_points() {
    let module = naga::front::wgsl::parse_str(WGSL).unwrap_or_else(|e| panic!("{}", e.emit_to_string(WGSL)));
    let checked = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
    assert!(checked.is_ok(), "{:?}", checked.err());
    let entries: Vec<_> = module.entry_points.iter().map(|e| (e.name.as_str(), e.workgroup_size)).collect();
    let image = [CAMERA_GROUP, CAMERA_GROUP, 1];
    let of_images = [("camera", image), ("bare_camera", image), ("beams", [BEAM_GROUP, 1, 1]), ("truth", image)];
    let of_lidars = ["ray_echoes", "beam_echoes"].map(|entry| (entry, [ECHO_GROUP, 1, 1]));
    assert_eq!(entries, [&of_images[..], &of_lidars].concat());
}
