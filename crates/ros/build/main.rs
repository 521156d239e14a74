//! Generates Rust from ROS 2 interface texts. Input: `interfaces/PACKAGE/msg/*.msg`, `srv/*.srv` and `action/*.action`
//! (the standard interfaces that Selene uses) and the repository's own package under `msgs/`. Output: one file with a
//! module for each package, a struct for each message and its `Message` implementation, whose schema is the text read
//! here and whose type hash is computed from it, a type for each service and action, and a table that describes all of
//! them to peers.

mod calls;
mod describe;
mod generate;
mod parse;
#[cfg(feature = "r2r")]
mod r2r;
mod type_hash;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use parse::{Interface, Key, Kind};

/// Selene's own package, which lies outside this crate, where ROS 2 expects it.
const OWN_PACKAGE: (&str, &str) = ("selene_msgs", "../../msgs");

/// All interfaces that were read.
#[derive(Default)]
struct Interfaces {
    /// Messages, and the parts of services and actions.
    structs: BTreeMap<Key, Interface>,
    /// Services; those that belong to an action have its kind.
    services: BTreeSet<Key>,
    actions: BTreeSet<Key>,
    /// Types that are described but never sent: services and actions as a whole, events of services.
    whole: BTreeMap<Key, Interface>,
    /// The texts of the files, by interface.
    sources: BTreeMap<Key, String>,
}

impl Interfaces {
    /// Parses the interface `key` with this text.
    fn read(&mut self, key: Key, text: &str) -> Result<(), String> {
        self.add(parse::interfaces(&key, text)?);
        self.sources.insert(key.clone(), text.to_owned());
        match key.kind {
            Kind::Message => {}
            Kind::Service => self.add_service(key)?,
            Kind::Action => self.add_action(key)?,
        }
        Ok(())
    }

    /// Parses a message that is described but never sent.
    fn describe(&mut self, key: Key, text: &str) -> Result<(), String> {
        self.whole.extend(keyed(parse::interfaces(&key, text)?));
        self.sources.insert(key, text.to_owned());
        Ok(())
    }

    fn add(&mut self, structs: Vec<Interface>) {
        self.structs.extend(keyed(structs));
    }

    fn add_service(&mut self, key: Key) -> Result<(), String> {
        self.whole.extend(keyed(whole::service(&key)?));
        self.services.insert(key);
        Ok(())
    }

    fn add_action(&mut self, key: Key) -> Result<(), String> {
        self.add(parse::derived(&key)?);
        self.add_service(key.with("_SendGoal"))?;
        self.add_service(key.with("_GetResult"))?;
        self.whole.insert(key.clone(), whole::action(&key)?);
        self.actions.insert(key);
        Ok(())
    }

    /// The message with this name, whether it is sent or only described.
    fn find(&self, key: &Key) -> Option<&Interface> {
        self.structs.get(key).or_else(|| self.whole.get(key))
    }
}

fn keyed(interfaces: Vec<Interface>) -> impl Iterator<Item = (Key, Interface)> {
    interfaces.into_iter().map(|interface| (interface.key.clone(), interface))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut interfaces = Interfaces::default();
    let (key, text) = whole::event_info();
    interfaces.describe(key, text)?;
    for (package, folder) in packages()? {
        for kind in Kind::ALL {
            read_folder(&package, kind, &folder.join(kind.folder()), &mut interfaces)?;
        }
    }
    let code = generate::code(&interfaces)?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("interfaces.rs"), code)?;
    #[cfg(feature = "r2r")]
    fs::write(out.join("r2r_types.rs"), r2r::code(&interfaces))?;
    Ok(())
}

fn packages() -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=interfaces");
    println!("cargo::rerun-if-changed={}", OWN_PACKAGE.1);
    let mut packages = vec![(OWN_PACKAGE.0.to_owned(), PathBuf::from(OWN_PACKAGE.1))];
    for entry in fs::read_dir("interfaces")? {
        let entry = entry?;
        packages.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    Ok(packages)
}

/// Reads a package's interfaces of one kind; it may have none.
fn read_folder(package: &str, kind: Kind, folder: &Path, interfaces: &mut Interfaces) -> Result<(), Box<dyn Error>> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { continue };
        if path.extension().is_some_and(|extension| extension == kind.folder()) {
            let key = Key::new(package, kind, &name);
            interfaces.read(key, &fs::read_to_string(&path)?).map_err(|what| format!("{}: {what}", path.display()))?;
        }
    }
    Ok(())
}
