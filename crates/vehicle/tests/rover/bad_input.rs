//! A rover's file that no rover can be built from is refused with file, line, value and what is
//! allowed.

use crate::refusal::{Folder, URDF, YAML, has_all, other_refusal, yaml_refusal};

#[test]
fn a_rover_file_that_does_not_fit_its_urdf_is_refused() {
    let from = "drive_joint: front_left_drive";
    yaml_refusal(
        "unknown",
        from,
        "drive_joint: front_left_motor",
        &["wheels[0].drive_joint: \"front_left_motor\"", "rear_right_drive"],
    );
    yaml_refusal("kind", from, "drive_joint: front_left_steer", &["Revolute", "Continuous is needed"]);
    let shared = YAML.replacen("drive_joint: rear_right_drive", "drive_joint: rear_left_drive", 1);
    has_all(
        &Folder::new("shared").refusal(&shared, URDF),
        &["line 13: wheels[3].drive_joint", "rear_left_drive", "twice"],
    );
}

#[test]
fn a_wheel_that_does_not_turn_about_the_bodys_y_axis_or_steer_about_its_z_axis_is_refused() {
    let drive = "<child link=\"front_left_wheel\"/><axis xyz=\"0 1 0\"/>";
    for (name, to, reported) in [
        ("axle-x", "<child link=\"front_left_wheel\"/><axis xyz=\"1 0 0\"/>", "along 1.000"),
        (
            "axle-yaw",
            "<child link=\"front_left_wheel\"/><origin rpy=\"0 0 0.1\"/><axis xyz=\"0 1 0\"/>",
            "along -0.100 0.995",
        ),
    ] {
        assert!(URDF.contains(drive));
        let message = Folder::new(name).refusal(YAML, &URDF.replacen(drive, to, 1));
        has_all(
            &message,
            &["rover.yaml: line 10: wheels[0].drive_joint", "front_left_drive", reported, "+y or -y of base_link"],
        );
    }
    let steer = "<child link=\"front_left_upright\"/><axis xyz=\"0 0 1\"/>";
    assert!(URDF.contains(steer));
    let lying = URDF.replacen(steer, "<child link=\"front_left_upright\"/><axis xyz=\"1 0 0\"/>", 1);
    has_all(
        &Folder::new("steer-x").refusal(YAML, &lying),
        &["line 10: wheels[0].steer_joint", "front_left_steer", "+z or -z of base_link"],
    );
}

#[test]
fn a_rover_file_with_a_bad_value_is_refused() {
    yaml_refusal("range", "limit_deg: 30", "limit_deg: 120", &["120", "0 to 89", "limit_deg"]);
    yaml_refusal("sign", "stall_torque_nm: 300", "stall_torque_nm: -300", &["-300", "more than 0"]);
    yaml_refusal("radius", "radius_m: 0.25", "radius_m: 1e6", &["1000000", "0.01 to 5", "radius_m"]);
    yaml_refusal("width", "width_m: 0.20", "width_m: 0.001", &["0.001", "0.01 to 5", "width_m"]);
    yaml_refusal("damping", "damping_n_s_m: 1.0e4", "damping_n_s_m: 1e300", &["damping_n_s_m", "1e9 at most"]);
    yaml_refusal("key", "rate_deg_s: 15", "rate_deg: 15", &["rate_deg"]);
    has_all(&Folder::new("wheels").refusal("name: x\nurdf: y\nwheels: []\n", URDF), &["rover.yaml"]);
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
    other_refusal("curiosity", good, &again, "joint: right_rocker, mirrors", &["coupled", "already"]);
}

#[test]
fn passive_joints_and_servos_that_cannot_be_are_refused() {
    let limits = "{joint: left_bogie, damping_nm_s: 10, limit_deg: [-35, 35]}";
    let refused = |to: &str, parts: &[&str]| other_refusal("curiosity", limits, to, "", parts);
    refused("{joint: left_bogie, damping_nm_s: 10, limit_deg: [35, -35]}", &["[35, -35]", "lowest"]);
    refused("{joint: left_bogie, damping_nm_s: -10}", &["-10", "0 to 1000000000"]);
    refused("{joint: front_left_steer, damping_nm_s: 10}", &["front_left_steer", "twice"]);
    refused("{joint: front_left_drive, damping_nm_s: 10}", &["passive[2].joint", "front_left_drive", "twice"]);
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
        "suspension:\n  stiffness_n_m: 1.3e5    # along the leaning joints; 1.6e5 and 1.2e4 for a wheel's height\n  damping_n_s_m: 9.7e3\n",
        "\n",
        "name: front_left",
        &["front_left_suspension", "no `suspension`"],
    );
}

#[test]
fn a_tyre_that_cannot_be_is_refused() {
    let refused = |from: &str, to: &str, parts: &[&str]| other_refusal("hmmwv", from, to, "", parts);
    refused("radial_stiffness_n_m: 411121", "radial_stiffness_n_m: 0", &["0", "more than 0", "radial_stiffness_n_m"]);
    refused("slope_n: 151447", "slope_n: 1e5", &["100000", "126256.7 or more", "twice the peak"]);
    refused("sliding_n: 4657.9", "sliding_n: 9000", &["9000", "0 to 7575.4"]);
    refused("sliding_slip: 0.9}", "sliding_slip: 0.05}", &["0.05", "0.12 to 10"]);
    refused("rolling_resistance: 0.015", "rolling_resistance: 2", &["2", "0 to 0.5"]);
    refused("share: 0.19, zero_slip: 0.40726", "share: 0.19, zero_slip: 0.9", &["0.9"]);
    let double = "double: {slope_n: 236413, peak_n: 12808.3";
    let at = "double: {slope_n: 236413, peak_n: 15500";
    other_refusal("hmmwv", double, at, at, &["peak_n", "15500", "1.5 to 2 times the nominal 7575.4"]);
}

#[test]
fn a_driveline_that_cannot_be_is_refused() {
    let refused = |from: &str, to: &str, parts: &[&str]| other_refusal("hmmwv", from, to, "", parts);
    refused("idle_rpm: 800", "idle_rpm: 0", &["0", "more than 0"]);
    refused("friction: [[0, 0], [50, 30]", "friction: [[0, 0], [0, 30]", &["[0, 30]", "must rise"]);
    refused("friction: [[0, 0], [50, 30]", "friction: [[0, 0], [50, -30]", &["[50, -30]", "0 or more"]);
    refused("[0.97, 29.9]]", "[1.0, 29.9]]", &["[1, 29.9]", "within 0 to 0.999"]);
    refused("torque_ratio: [[0, 2.0]", "torque_ratio: [[0, 0.5]", &["[0, 0.5]", "1 or more"]);
    refused("forward: [5, 2.5, 1.25]", "forward: [5, 2.5, 3]", &["ratio 3", "below the one before"]);
    refused("shift_down_rpm: 1200", "shift_down_rpm: 1300", &["1300", "below 1250 rpm"]);
    refused("efficiency: 0.95", "efficiency: 1.5", &["1.5", "0.1 to 1"]);
    let rear = "{left: rear_left, right: rear_right, torque_share: 0.5, torque_bias: 2}";
    refused(
        rear,
        "{left: rear_left, right: rear_wheel, torque_share: 0.5, torque_bias: 2}",
        &["rear_wheel", "not a wheel", "rear_right"],
    );
    refused(
        rear,
        "{left: rear_left, right: front_left, torque_share: 0.5, torque_bias: 2}",
        &["driveline.axles[1].right: \"front_left\"", "already"],
    );
    let share = "{left: rear_left, right: rear_right, torque_share: 0.4, torque_bias: 2}";
    other_refusal("hmmwv", rear, share, "axles:", &["driveline.axles", "0.9 together", "must be 1"]);
    other_refusal(
        "hmmwv",
        "rear_left_drive, suspension_joint: rear_left_suspension,",
        "rear_left_drive, role: free, suspension_joint: rear_left_suspension,",
        rear,
        &["\"rear_left\" is free", "an axle drives its wheels"],
    );
}

#[test]
fn a_linkage_that_cannot_be_is_refused() {
    let refused = |from: &str, to: &str, parts: &[&str]| other_refusal("hmmwv", from, to, "", parts);
    refused("motion_ratio: 0.396", "motion_ratio: 0", &["0", "0.05 to 2"]);
    refused(
        "rear_left_drive, suspension_joint: rear_left_suspension,",
        "rear_left_drive, suspension: {stiffness_n_m: 1.0e5, damping_n_s_m: 1.0e4},",
        &["wheel \"rear_left\"", "no `suspension_joint`"],
    );
    refused("camber_gain_deg_m: -32.4", "camber_gain_deg_m: 400", &["400", "-100 to 100"]);
}

#[test]
fn a_lamp_that_cannot_be_is_refused() {
    let flux = "flux_w: 12, rgb: [0.01, 0.04, 0.95], inner_deg: 6";
    yaml_refusal("lamp-dark", flux, "flux_w: 0, rgb: [0.01, 0.04, 0.95], inner_deg: 6", &["0", "more than 0"]);
    yaml_refusal("lamp-fluxes", flux, "flux_w: 12, flux_lm: 900, inner_deg: 6", &["exactly one of flux_w, flux_lm"]);
    yaml_refusal("lamp-none", flux, "rgb: [0.01, 0.04, 0.95], inner_deg: 6", &["exactly one of flux_w, flux_lm"]);
    yaml_refusal("lamp-black", flux, "flux_w: 12, rgb: [0, 0, 0], inner_deg: 6", &["[0.0, 0.0, 0.0]", "more than 0"]);
    yaml_refusal(
        "lamp-colours",
        flux,
        "flux_w: 12, rgb: [0, 0, 1], temperature_k: 5000, inner_deg: 6",
        &["one or none"],
    );
    yaml_refusal("lamp-inside-out", "inner_deg: 6, outer_deg: 32", "inner_deg: 40, outer_deg: 32", &["40", "0 to 32"]);
    yaml_refusal("lamp-name", "name: headlight_left", "name: Head-light", &["Head-light", "small letters"]);
    yaml_refusal(
        "lamp-link",
        "link: headlight_left",
        "link: roof_rack",
        &["lamps[0].link", "roof_rack", "headlight_right"],
    );
    yaml_refusal("finish", "material: lens, roughness: 0.1", "material: lens, roughness: 0.01", &["0.01", "0.1 to 1"]);
    yaml_refusal("finish-of", "material: lens, roughness", "material: velvet, roughness", &["velvet", "mli_gold"]);
    let twice = YAML.replacen("name: headlight_right", "name: headlight_left", 1);
    has_all(&Folder::new("lamp-twice").refusal(&twice, URDF), &["two lamps", "headlight_left"]);
}

#[test]
fn a_drum_that_cannot_be_is_refused() {
    let drum = "{link: front_drum_link, slices: 4, scoops: 3, channel_m: 0.06, overlap_deg: 60}";
    let refused = |from: &str, to: &str, parts: &[&str]| {
        other_refusal("rassor", drum, &drum.replacen(from, to, 1), "", parts);
    };
    refused("slices: 4", "slices: 15", &["15", "14"]);
    refused("channel_m: 0.06", "channel_m: 0.2", &["front_drum_link", "channel_m 0.2", "0.1184 is allowed"]);
    refused("overlap_deg: 60", "overlap_deg: 250", &["overlap_deg 250", "less than 240"]);
    refused("front_drum_link", "front_arm_link", &["front_arm_link", "no link that a continuous joint turns"]);
    refused("front_drum_link", "front_left_wheel", &["front_left_wheel", "one collision shape, a cylinder"]);
    let rear = drum.replace("front", "rear");
    other_refusal("rassor", drum, &rear.replace("slices: 4", "slices: 5"), &rear, &["rear_drum_link", "twice"]);
}
