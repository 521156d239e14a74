//! A description that no rover can be built from is refused with file, line, value
//! and what is allowed.

use std::fs;
use std::path::{Path, PathBuf};

use selene_vehicle::RoverModel;

const YAML: &str = include_str!("../../../../config/rover/viper.yaml");
const URDF: &str = include_str!("../../../../urdf/viper/viper.urdf");

/// A folder of this test's own with VIPER's files in it, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selene-vehicle-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn refusal(&self, yaml: &str, urdf: &str) -> String {
        fs::write(self.0.join("rover.yaml"), yaml.replace("../../urdf/viper/viper.urdf", "rover.urdf")).unwrap();
        fs::write(self.0.join("rover.urdf"), urdf).unwrap();
        load_refusal(&self.0.join("rover.yaml"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn load_refusal(path: &Path) -> String {
    match RoverModel::load(path) {
        Ok(_) => panic!("{} must be refused", path.display()),
        Err(refusal) => refusal.to_string(),
    }
}

/// The 1-based line of `text` that holds `part`.
fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap() + 1
}

fn has_all(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "\"{part}\" is missing in: {message}");
    }
}

/// Swaps `from` for `to` in VIPER's URDF and expects a refusal that names the line
/// of `to` and has all `parts`.
fn urdf_refusal(name: &str, from: &str, to: &str, parts: &[&str]) {
    assert!(URDF.contains(from), "{from}");
    let urdf = URDF.replacen(from, to, 1);
    let message = Folder::new(name).refusal(YAML, &urdf);
    let line = format!("rover.urdf:{}:", line_of(&urdf, to.lines().last().unwrap()));
    has_all(&message, &[&line]);
    has_all(&message, parts);
}

fn yaml_refusal(name: &str, from: &str, to: &str, parts: &[&str]) {
    assert!(YAML.contains(from), "{from}");
    let yaml = YAML.replacen(from, to, 1);
    let message = Folder::new(name).refusal(&yaml, URDF);
    has_all(&message, &["rover.yaml", &format!("line {}", line_of(&yaml, to))]);
    has_all(&message, parts);
}

#[test]
fn a_mass_that_is_not_above_zero_is_refused() {
    for (name, mass) in [("zero", "0"), ("negative", "-4"), ("nan", "nan"), ("word", "heavy")] {
        let to = format!("<mass value=\"{mass}\"/>");
        let allowed = if mass.parse::<f64>().is_ok_and(f64::is_finite) { "more than 0" } else { "finite number" };
        urdf_refusal(name, "<mass value=\"336.3\"/>", &to, &[mass, allowed]);
    }
    urdf_refusal("inertia", "ixx=\"76.4\"", "ixx=\"7000\"", &["sum of the others"]);
}

#[test]
fn a_moving_link_without_mass_is_refused() {
    let mass = URDF.lines().find(|line| line.contains("<mass value=\"11.05\"/>")).unwrap();
    let message = Folder::new("massless").refusal(YAML, &URDF.replacen(mass, "", 1));
    has_all(&message, &["rover.urdf:", "front_left_wheel", "mass above 0"]);
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
fn a_root_that_is_not_the_base_link_is_refused() {
    let urdf = URDF.replace("\"base_link\"", "\"chassis\"");
    let message = Folder::new("root-name").refusal(YAML, &urdf);
    let line = format!("rover.urdf:{}:", line_of(&urdf, "<link name=\"chassis\">"));
    has_all(&message, &[&line, "chassis", "\"base_link\"", "REP-105"]);
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
    urdf_refusal(
        "material",
        "<material name=\"mli_silver\"/></visual>",
        "<material name=\"tin\"/></visual>",
        &["tin", "mli_gold"],
    );
}

#[test]
fn what_is_not_modelled_is_refused() {
    urdf_refusal("floating", "type=\"prismatic\"", "type=\"floating\"", &["floating", "prismatic"]);
    let mimic = "name=\"front_left_drive\" type=\"continuous\"><mimic joint=\"rear_left_drive\"/>";
    urdf_refusal("mimic", "name=\"front_left_drive\" type=\"continuous\">", mimic, &["mimic"]);
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

#[test]
fn a_rover_file_that_does_not_fit_its_urdf_is_refused() {
    let from = "drive_joint: front_left_drive";
    yaml_refusal("unknown", from, "drive_joint: front_left_motor", &["front_left_motor", "rear_right_drive"]);
    yaml_refusal("kind", from, "drive_joint: front_left_steer", &["Revolute", "Continuous is needed"]);
    let shared = YAML.replacen("drive_joint: rear_right_drive", "drive_joint: rear_left_drive", 1);
    has_all(&Folder::new("shared").refusal(&shared, URDF), &["line 13", "rear_left_drive", "twice"]);
    let urdf = URDF.replacen(
        "<child link=\"front_left_wheel\"/><axis xyz=\"0 1 0\"/>",
        "<child link=\"front_left_wheel\"/><axis xyz=\"0 -1 0\"/>",
        1,
    );
    has_all(&Folder::new("axle").refusal(YAML, &urdf), &["front_left_drive", "+y", "line "]);
}

#[test]
fn a_rover_file_with_a_bad_value_is_refused() {
    yaml_refusal("range", "limit_deg: 30", "limit_deg: 120", &["120", "0 to 89", "limit_deg"]);
    yaml_refusal("sign", "stall_torque_nm: 300", "stall_torque_nm: -300", &["-300", "more than 0"]);
    yaml_refusal("radius", "radius_m: 0.25", "radius_m: 1e6", &["1000000", "0.01 to 5", "radius_m"]);
    yaml_refusal("width", "width_m: 0.20", "width_m: 0.001", &["0.001", "0.01 to 5", "width_m"]);
    yaml_refusal("key", "rate_deg_s: 15", "rate_deg: 15", &["rate_deg"]);
    has_all(&Folder::new("wheels").refusal("name: x\nurdf: y\nwheels: []\n", URDF), &["rover.yaml"]);
}

/// Swaps `from` for `to` in another rover's YAML and expects a refusal with all `parts`
/// that names the line of `to`, or of `at` when that is given.
fn other_refusal(rover: &str, from: &str, to: &str, at: &str, parts: &[&str]) {
    let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../config/rover");
    let yaml = fs::read_to_string(config.join(format!("{rover}.yaml"))).unwrap();
    assert!(yaml.contains(from), "{from}");
    let yaml = yaml.replacen(from, to, 1);
    let urdf = config.join(format!("../../urdf/{rover}/{rover}.urdf")).canonicalize().unwrap();
    let file = std::env::temp_dir().join(format!("selene-other-{rover}-{}.yaml", std::process::id()));
    let line = line_of(&yaml, if at.is_empty() { to } else { at });
    let yaml = yaml.replace(&format!("../../urdf/{rover}/{rover}.urdf"), urdf.to_str().unwrap());
    fs::write(&file, yaml).unwrap();
    let message = load_refusal(&file);
    fs::remove_file(&file).unwrap();
    has_all(&message, &[&format!("line {line}")]);
    has_all(&message, parts);
}

#[test]
fn couplings_that_cannot_be_are_refused() {
    let good = "{joint: left_rocker, mirrors: right_rocker, ratio: -1.0}";
    let refused = |to: &str, parts: &[&str]| other_refusal("curiosity", good, to, "", parts);
    refused("{joint: left_rocker, mirrors: mast_mount, ratio: -1.0}", &["mast_mount", "moving joint", "left_bogie"]);
    refused("{joint: left_rocker, mirrors: left_rocker, ratio: -1.0}", &["left_rocker", "already"]);
    refused("{joint: left_rocker, mirrors: right_rocker, ratio: 0}", &["0", "must not be zero"]);
    refused("{joint: left_rocker, mirrors: right_rocker, ratio: .nan}", &["NaN", "finite"]);
    let again = format!("{good}\n  - {{joint: right_rocker, mirrors: left_rocker, ratio: 3}}");
    other_refusal("curiosity", good, &again, "{joint: right_rocker, mirrors", &["coupled", "already"]);
}

#[test]
fn passive_joints_and_servos_that_cannot_be_are_refused() {
    let limits = "{joint: left_bogie, damping_nm_s: 10, limit_deg: [-35, 35]}";
    let refused = |to: &str, parts: &[&str]| other_refusal("curiosity", limits, to, "", parts);
    refused("{joint: left_bogie, damping_nm_s: 10, limit_deg: [35, -35]}", &["[35, -35]", "lowest"]);
    refused("{joint: left_bogie, damping_nm_s: -10}", &["-10", "0 or more"]);
    refused("{joint: front_left_steer, damping_nm_s: 10}", &["front_left_steer", "twice"]);
    refused("{joint: front_left_drive, damping_nm_s: 10}", &["front_left_drive", "Revolute is needed"]);
    let arm = "{joint: front_arm, kind: position, limit_deg: [-30, 95], rate_deg_s: 20, stiffness_nm: 3000, damping_nm_s: 150, torque_nm: 150}";
    let refused = |to: &str, parts: &[&str]| other_refusal("rassor", arm, to, "", parts);
    refused(
        "{joint: front_arm, kind: position, rate_deg_s: 20, stiffness_nm: 3000, damping_nm_s: 150, torque_nm: 150}",
        &["front_arm", "limit_deg"],
    );
    refused(
        "{joint: front_arm, kind: rate, rate_deg_s: 20, damping_nm_s: 150, torque_nm: 150}",
        &["front_arm", "Continuous"],
    );
    refused(
        "{joint: front_arm, kind: rate, rate_deg_s: 20, stiffness_nm: 1, damping_nm_s: 150, torque_nm: 150}",
        &["by rate", "remove"],
    );
    refused(
        "{joint: front_arm, kind: torque, rate_deg_s: 20, damping_nm_s: 150, torque_nm: 150}",
        &["torque", "position", "rate"],
    );
}

#[test]
fn drives_and_wheels_that_cannot_be_are_refused() {
    yaml_refusal("encoder", "encoder_counts_per_turn: 20000", "encoder_counts_per_turn: 0", &["0"]);
    yaml_refusal("gear", "encoder_counts_per_turn: 20000", "gear_ratio: 0", &["0", "more than 0"]);
    yaml_refusal("lossless", "encoder_counts_per_turn: 20000", "gear_efficiency: 1.2", &["1.2", "0.01 to 1"]);
    yaml_refusal("current", "encoder_counts_per_turn: 20000", "current_limit_a: 10", &["10", "torque_constant_nm_a"]);
    yaml_refusal("rotor", "encoder_counts_per_turn: 20000", "rotor_inertia_kg_m2: -1", &["-1", "0 or more"]);
    yaml_refusal("grouser", "grouser_height_m: 0.01", "grouser_height_m: 0.5", &["0.5", "0 to 0.25"]);
    other_refusal(
        "truck",
        "steering:\n  limit_deg: 30\n  rate_deg_s: 40\n  stiffness_nm: 50000\n  damping_nm_s: 1000\n",
        "\n",
        "name: front_left",
        &["front_left_steer", "no `steering`"],
    );
    other_refusal(
        "truck",
        "suspension:\n  stiffness_n_m: 1.6e5\n  damping_n_s_m: 1.2e4\n",
        "\n",
        "name: front_left",
        &["front_left_suspension", "no `suspension`"],
    );
}

#[test]
fn a_lamp_that_cannot_be_is_refused() {
    let flux = "flux_w: 12, rgb: [0.01, 0.04, 0.95], inner_deg: 6";
    yaml_refusal("lamp-dark", flux, "flux_w: 0, rgb: [0.01, 0.04, 0.95], inner_deg: 6", &["0", "more than 0"]);
    yaml_refusal("lamp-fluxes", flux, "flux_w: 12, flux_lm: 900, inner_deg: 6", &["flux_w and flux_lm", "give one"]);
    yaml_refusal("lamp-none", flux, "rgb: [0.01, 0.04, 0.95], inner_deg: 6", &["neither flux_w nor flux_lm"]);
    yaml_refusal("lamp-black", flux, "flux_w: 12, rgb: [0, 0, 0], inner_deg: 6", &["[0.0, 0.0, 0.0]", "more than 0"]);
    yaml_refusal(
        "lamp-colours",
        flux,
        "flux_w: 12, rgb: [0, 0, 1], temperature_k: 5000, inner_deg: 6",
        &["one or none"],
    );
    yaml_refusal("lamp-inside-out", "inner_deg: 6, outer_deg: 32", "inner_deg: 40, outer_deg: 32", &["40", "0 to 32"]);
    yaml_refusal("lamp-name", "name: headlight_left", "name: Head-light", &["Head-light", "small letters"]);
    yaml_refusal("lamp-link", "link: headlight_left", "link: roof_rack", &["roof_rack", "headlight_right"]);
    yaml_refusal("finish", "material: lens, roughness: 0.1", "material: lens, roughness: 0.01", &["0.01", "0.1 to 1"]);
    yaml_refusal("finish-of", "material: lens, roughness", "material: velvet, roughness", &["velvet", "mli_gold"]);
    let twice = YAML.replacen("name: headlight_right", "name: headlight_left", 1);
    has_all(&Folder::new("lamp-twice").refusal(&twice, URDF), &["two lamps", "headlight_left"]);
}
