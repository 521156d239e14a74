//! A URDF of very many links is read, and the rover of it steps.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use crate::refusal::{Folder, URDF, YAML};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_vehicle::{Forces, Rover, RoverModel, Targets, WheelTargets};

/// Links of the chain: what takes time by the square of their number takes minutes.
const LINKS: usize = 20_000;

#[test]
fn a_chain_of_twenty_thousand_fixed_links_is_read_and_steps() {
    let mut chain = String::new();
    let mut above = "base_link".to_owned();
    for i in 0..LINKS {
        let link = format!("chain_{i}");
        write!(
            chain,
            "<link name=\"{link}\"/><joint name=\"to_{link}\" type=\"fixed\"><parent link=\"{above}\"/>\
             <child link=\"{link}\"/><origin xyz=\"0.001 0 0\"/></joint>"
        )
        .unwrap();
        above = link;
    }
    let folder = Folder::new("large");
    fs::write(folder.0.join("rover.yaml"), YAML.replace("../../urdf/viper/viper.urdf", "rover.urdf")).unwrap();
    fs::write(folder.0.join("rover.urdf"), URDF.replacen("</robot>", &format!("{chain}</robot>"), 1)).unwrap();
    let model = RoverModel::load(&folder.0.join("rover.yaml")).unwrap_or_else(|e| panic!("{e}"));
    let poses = model.base_from_links_at_zero();
    let last = poses[model.link_index(&above).unwrap()];
    assert!((last.translation.x - 0.001 * LINKS as f64).abs() < 1e-6, "{last}");
    let mut rover = Rover::new(&Arc::new(model), Pose::identity(), Vector3::zeros(), 1e-3).unwrap();
    rover.step(&Targets::from(WheelTargets::rest(4)), &Forces::default());
    assert!(rover.is_finite());
}
