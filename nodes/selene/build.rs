//! Rebuilds the crate when a file of the configuration is added or removed: `src/shipped.rs` compiles them in.

fn main() {
    for folder in ["config", "urdf"] {
        println!("cargo:rerun-if-changed=../../{folder}");
    }
}
