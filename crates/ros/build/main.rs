//! Makes Rust from ROS 2 interface text. Input: `interfaces/PACKAGE/msg/*.msg`
//! (the standard messages Selene speaks) and the repository's own package under
//! `msgs/`. Output: one file with a module per package, a struct per message
//! and its `Message` implementation, whose schema is the very text read here.

mod generate;
mod parse;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use parse::Interface;

/// Selene's own package, which lies outside this crate as ROS 2 wants it.
const OWN_PACKAGE: (&str, &str) = ("selene_msgs", "../../msgs");

/// Every message by package and name.
type Interfaces = BTreeMap<(String, String), Interface>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut interfaces = Interfaces::new();
    for (package, folder) in packages()? {
        read_package(&package, &folder.join("msg"), &mut interfaces)?;
    }
    let code = generate::code(&interfaces)?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("interfaces.rs");
    fs::write(out, code)?;
    Ok(())
}

fn packages() -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=interfaces");
    let mut packages = vec![(OWN_PACKAGE.0.to_owned(), PathBuf::from(OWN_PACKAGE.1))];
    for entry in fs::read_dir("interfaces")? {
        let entry = entry?;
        packages.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    Ok(packages)
}

fn read_package(package: &str, folder: &Path, interfaces: &mut Interfaces) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { continue };
        if path.extension().is_some_and(|extension| extension == "msg") {
            let interface = parse::interface(package, &name, &fs::read_to_string(&path)?)
                .map_err(|what| format!("{}: {what}", path.display()))?;
            interfaces.insert((package.to_owned(), name), interface);
        }
    }
    Ok(())
}
