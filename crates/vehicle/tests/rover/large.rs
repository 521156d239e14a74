//! A URDF of very many links is imported and read, and the rover of it steps.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::refusal::{Folder, URDF, YAML};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_vehicle::{Forces, Import, Packages, Rover, RoverModel, Targets, WheelTargets, rover_file};

/// Links of the chain: what takes time by the square of their number takes minutes, and what calls itself link by link
/// has no stack for them.
const LINKS: usize = 100_000;
/// A guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_chain_of_a_hundred_thousand_fixed_links_is_read_and_steps() {
    let (say, said) = channel();
    let reader = thread::spawn(move || {
        read_and_step();
        let _ = say.send(());
    });
    match said.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => panic!("not read within {PATIENCE:?}"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => reader.join().unwrap(),
    }
}

fn read_and_step() {
    let folder = Folder::new("large");
    let (yaml, urdf) = (folder.0.join("rover.yaml"), folder.0.join("rover.urdf"));
    fs::write(&yaml, YAML.replace("../../urdf/viper/viper.urdf", "rover.urdf")).unwrap();
    fs::write(&urdf, URDF.replacen("</robot>", &format!("{}</robot>", chain()), 1)).unwrap();
    let (written, packages) = (Path::new("rover.urdf"), BTreeMap::new());
    let import = Import { name: "large", urdf: &urdf, urdf_as_written: written, packages_as_written: &packages };
    let imported = rover_file(&import, &Packages::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(imported.contains("front_left_drive"), "{imported}");
    let model = RoverModel::load(&yaml).unwrap_or_else(|e| panic!("{e}"));
    let poses = model.base_from_links_at_zero();
    let [wheel, last] = [0, LINKS].map(|number| poses[model.link_index(&link(number)).unwrap()]);
    let length_m = (last.translation.vector - wheel.translation.vector).norm();
    assert!((length_m - 1e-6 * LINKS as f64).abs() < 1e-6, "{length_m}");
    let mut rover = Rover::new(&Arc::new(model), Pose::identity(), Vector3::zeros(), 1e-3).unwrap();
    rover.step(&Targets::from(WheelTargets::rest(4)), &Forces::default());
    assert!(rover.is_finite());
}

/// Links fixed one to the other, the first to a wheel.
fn chain() -> String {
    let mut chain = String::new();
    for i in 1..=LINKS {
        let (above, link) = (link(i - 1), link(i));
        write!(
            chain,
            "<link name=\"{link}\"/><joint name=\"to_{link}\" type=\"fixed\"><parent link=\"{above}\"/>\
             <child link=\"{link}\"/><origin xyz=\"1e-6 0 0\"/></joint>"
        )
        .unwrap();
    }
    chain
}

/// Name of a link of the chain; its first is the wheel that it hangs from.
fn link(number: usize) -> String {
    if number == 0 { "front_left_wheel".to_owned() } else { format!("chain_{number}") }
}
