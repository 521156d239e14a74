//! Has the crate built again when a file of the configuration comes or goes: `src/shipped.rs` compiles them in.

fn main() {
    for folder in ["config", "urdf"] {
        println!("cargo:rerun-if-changed=../../{folder}");
    }
}
