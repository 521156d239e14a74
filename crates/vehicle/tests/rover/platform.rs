//! The plainest rovers: a box, wheels at given places, some of them steered.

use std::fmt::Write;
use std::fs;

use selene_vehicle::RoverModel;

pub(crate) const WHEEL_M: f64 = 0.2;

pub(crate) struct Platform {
    /// Each wheel's x and y in the base, m.
    pub(crate) places: &'static [[f64; 2]],
    /// How many wheels, from the first on, are steered; by 85°.
    pub(crate) steered: usize,
    pub(crate) track_factor: f64,
    pub(crate) no_load_speed_rad_s: f64,
}

impl Default for Platform {
    fn default() -> Self {
        let places = &[[0.5, 0.4], [0.5, -0.4], [-0.5, 0.4], [-0.5, -0.4]];
        Self { places, steered: 4, track_factor: 1.0, no_load_speed_rad_s: 20.0 }
    }
}

pub(crate) fn platform(of: &Platform) -> RoverModel {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("selene-platform-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("rover.urdf"), urdf(of)).unwrap();
    fs::write(folder.join("rover.yaml"), yaml(of)).unwrap();
    let model = RoverModel::load(&folder.join("rover.yaml")).unwrap_or_else(|e| panic!("{e}"));
    fs::remove_dir_all(folder).unwrap();
    model
}

fn link(name: &str) -> String {
    let inertia = r#"<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>"#;
    format!(r#"<link name="{name}"><inertial><mass value="10"/>{inertia}</inertial></link>"#)
}

fn joint(name: &str, kind: &str, [parent, child]: [&str; 2], [x, y]: [f64; 2], axis: &str) -> String {
    let limit = r#"<limit lower="-1.5" upper="1.5" effort="1000" velocity="10"/>"#;
    format!(
        r#"<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
        <origin xyz="{x} {y} 0"/><axis xyz="{axis}"/>{limit}</joint>"#
    )
}

fn urdf(of: &Platform) -> String {
    let mut text = format!(r#"<robot name="platform">{}"#, link("base_link"));
    for (i, &place) in of.places.iter().enumerate() {
        let (steer, wheel) = (format!("steer_{i}_link"), format!("wheel_{i}_link"));
        let (mount, place) = if i < of.steered {
            text += &link(&steer);
            text += &joint(&format!("steer_{i}"), "revolute", ["base_link", &steer], place, "0 0 1");
            (steer.as_str(), [0.0; 2])
        } else {
            ("base_link", place)
        };
        text += &link(&wheel);
        text += &joint(&format!("drive_{i}"), "continuous", [mount, &wheel], place, "0 1 0");
    }
    text + "</robot>"
}

fn yaml(of: &Platform) -> String {
    let mut text = "name: platform\nurdf: rover.urdf\nwheels:\n".to_owned();
    for i in 0..of.places.len() {
        let steer = if i < of.steered { format!("steer_joint: steer_{i}, ") } else { String::new() };
        writeln!(text, "  - {{name: w{i}, drive_joint: drive_{i}, {steer}radius_m: {WHEEL_M}, width_m: 0.1}}").unwrap();
    }
    let Platform { track_factor, no_load_speed_rad_s, .. } = of;
    text + &format!(
        "drive: {{stall_torque_nm: 100, no_load_speed_rad_s: {no_load_speed_rad_s}, velocity_gain_nm_s: 1000}}\n\
         steering: {{limit_deg: 85, rate_deg_s: 30, stiffness_nm: 1000, damping_nm_s: 10}}\n\
         limits: {{speed_m_s: 2, turn_rate_rad_s: 2, track_factor: {track_factor}}}\n"
    )
}
