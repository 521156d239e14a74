//! A URDF that no rover can be built from is refused with file, line, value and what is allowed.

use std::fs;

use crate::refusal::{Folder, URDF, YAML, has_all, line_of, load_refusal, urdf_refusal};

#[test]
fn a_mass_that_is_not_above_zero_is_refused() {
    for (name, mass) in [("negative", "-4"), ("nan", "nan"), ("word", "heavy")] {
        let to = format!("<mass value=\"{mass}\"/>");
        let allowed = if mass.parse::<f64>().is_ok_and(f64::is_finite) { "more than 0" } else { "finite number" };
        urdf_refusal(name, "<mass value=\"336.3\"/>", &to, &[mass, allowed]);
    }
    urdf_refusal("inertia", "ixx=\"76.4\"", "ixx=\"7000\"", &["sum of the others"]);
}

#[test]
fn an_origin_far_away_is_refused() {
    let axis = "<child link=\"front_left_wheel\"/>";
    urdf_refusal("far", axis, &format!("{axis}<origin xyz=\"1e300 0 0\"/>"), &["1e300 m", "at most 1000 m"]);
}

#[test]
fn a_moving_link_without_mass_is_refused() {
    let mass = URDF.lines().find(|line| line.contains("<mass value=\"11.05\"/>")).unwrap();
    for (name, replaced) in
        [("massless", ""), ("mass-0", "<mass value=\"0\"/><inertia ixx=\"0\" iyy=\"0\" izz=\"0\"/>")]
    {
        let message = Folder::new(name).refusal(YAML, &URDF.replacen(mass, replaced, 1));
        has_all(&message, &["rover.urdf:", "front_left_wheel", "mass above 0"]);
    }
}

#[test]
fn a_cycle_is_refused() {
    let cycle = "<link name=\"a\"/><link name=\"b\"/>\
        <joint name=\"ab\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint>\
        <joint name=\"ba\" type=\"fixed\"><parent link=\"b\"/><child link=\"a\"/></joint></robot>";
    urdf_refusal("cycle", "</robot>", cycle, &["\"a\"", "cycle", "one root"]);
    let whole = format!("<robot name=\"r\">{cycle}");
    has_all(&Folder::new("whole-cycle").refusal(YAML, &whole), &["rover.urdf:1:", "cycle"]);
}

#[test]
fn a_second_root_or_a_second_parent_is_refused() {
    let lone = "<link name=\"lone\"/></robot>";
    urdf_refusal("roots", "</robot>", lone, &["base_link", "lone", "one is allowed"]);
    let second = "<joint name=\"second\" type=\"fixed\"><parent link=\"mast\"/><child link=\"imu\"/></joint></robot>";
    urdf_refusal("parents", "</robot>", second, &["imu", "imu_mount", "second", "one parent"]);
}

#[test]
fn a_root_that_has_the_name_of_a_frame_above_is_refused() {
    let urdf = URDF.replace("\"base_link\"", "\"odom\"");
    let message = Folder::new("root-name").refusal(YAML, &urdf);
    let line = format!("rover.urdf:{}:", line_of(&urdf, "<link name=\"odom\">"));
    has_all(&message, &[&line, "\"odom\"", "above a rover"]);
}

#[test]
fn a_joint_that_nothing_holds_is_refused() {
    let yaml = YAML.replacen(", suspension_joint: rear_left_suspension", "", 1);
    let message = Folder::new("free").refusal(&yaml, URDF);
    let line = format!("rover.urdf:{}:", line_of(URDF, "<joint name=\"rear_left_suspension\""));
    has_all(&message, &[&line, "rear_left_suspension", "make it fixed"]);
}

#[test]
fn names_that_clash_or_lead_nowhere_are_refused() {
    urdf_refusal("twice", "<link name=\"imu\"/>", "<link name=\"mast\"/>", &["mast", "twice"]);
    urdf_refusal("nowhere", "<child link=\"imu\"/>", "<child link=\"imp\"/>", &["imu_mount", "imp"]);
}

#[test]
fn what_is_not_modelled_is_refused() {
    urdf_refusal("floating", "type=\"prismatic\"", "type=\"floating\"", &["floating", "prismatic"]);
    let mimic = "name=\"front_left_drive\" type=\"continuous\"><mimic joint=\"tail\"/>";
    urdf_refusal("mimic", "name=\"front_left_drive\" type=\"continuous\">", mimic, &["mimic", "tail"]);
    urdf_refusal("axis", "<axis xyz=\"0 0 1\"/>", "<axis xyz=\"0 0 0\"/>", &["xyz", "zero"]);
    urdf_refusal(
        "shape",
        "<cylinder radius=\"0.24\" length=\"0.2\"/>",
        "<cone radius=\"0.24\"/>",
        &["cone", "cylinder"],
    );
    urdf_refusal("size", "<box size=\"1.3 0.56 0.43\"/>", "<box size=\"1.3 -1 0.43\"/>", &["-1", "more than 0"]);
    let mesh = "<mesh filename=\"body.obj\"/>";
    urdf_refusal("mesh", "<box size=\"1.3 0.56 0.43\"/>", mesh, &["body.obj", "not a file"]);
}

#[test]
fn text_that_is_not_a_robot_is_refused() {
    let folder = Folder::new("text");
    has_all(&folder.refusal(YAML, &URDF[..URDF.len() / 2]), &["rover.urdf:", "not XML"]);
    has_all(&folder.refusal(YAML, ""), &["rover.urdf:", "not XML"]);
    has_all(&folder.refusal(YAML, "<html/>"), &["rover.urdf:1:", "html"]);
    has_all(&folder.refusal(YAML, "<robot name=\"r\"/>"), &["no <link>"]);
    let bomb = "<!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><robot name=\"&b;\"/>";
    has_all(&folder.refusal(YAML, bomb), &["not XML"]);
    let deep = format!("{}{}", "<robot>".repeat(100_000), "</robot>".repeat(100_000));
    assert!(!folder.refusal(YAML, &deep).is_empty());
}

#[test]
fn missing_and_absurdly_large_files_are_refused() {
    let folder = Folder::new("files");
    has_all(&load_refusal(&folder.0.join("none.yaml")), &["none.yaml", "cannot be read"]);
    has_all(&folder.refusal(&YAML.replace("viper.urdf", "none.urdf"), URDF), &["none.urdf", "cannot be read"]);
    folder.refusal("", URDF);
    fs::write(folder.0.join("rover.yaml"), YAML.replace("../../urdf/viper/viper.urdf", "rover.urdf")).unwrap();
    fs::File::create(folder.0.join("rover.urdf")).unwrap().set_len((16 << 20) + 1).unwrap();
    has_all(&load_refusal(&folder.0.join("rover.yaml")), &["rover.urdf", "16777217", "16777216"]);
}
