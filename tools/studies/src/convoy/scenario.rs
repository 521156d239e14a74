//! Scenarios of convoys: a course's obstacles, a leader and three followers in a line behind it.

use std::path::{Path, PathBuf};

use selene_base::input;
use selene_base::output::{self, FileKind};
use selene_sim::LoadOptions;
use serde_json::{Value, json};

use super::course::ConvoyCourse;
use super::follower::{GAP_M, LEADER_MAX_M_S};
use super::world::{CONTROL_S, HEARTBEATS};
use super::{CourseGround, FOLLOWERS};
use crate::Failure;

/// The leader's route has every n-th point of the path.
const WAYPOINT_EVERY: usize = 4;
const URDF: FileKind = FileKind { name: "URDF", is: |head| head.starts_with(b"<?xml") };
const YAML: FileKind = FileKind { name: "scenario", is: |head| head.starts_with(b"{") };

/// Writes a course's scenario and obstacles to a folder; returns the scenario's path. The followers, which have
/// cameras, start behind the leader, on the line of the path's first segment. The study commands the leader itself;
/// without it, the scenario's route applies. Configuration files are named by absolute paths.
///
/// # Errors
/// When a file cannot be written.
pub fn scenario(
    course: &ConvoyCourse,
    terrain: CourseGround,
    folder: &Path,
    options: &LoadOptions,
) -> Result<PathBuf, Failure> {
    let name = format!("course_{:03}", course.number);
    output::write_bytes(&folder.join(format!("{name}.urdf")), &URDF, course.urdf().as_bytes())?;
    let of_config = |name: String| {
        let mut files = options.configuration.iter().map(|config| config.join(&name));
        files.find(|file| input::is_file(file)).unwrap_or_else(|| PathBuf::from(&name))
    };
    let [site, rover, camera] = ["site/learning_plain.yaml", "rover/hmmwv.yaml", "sensor/convoy_camera.yaml"]
        .map(|of| of_config(of.to_owned()));
    let reported = json!({
        "name": name, "seed": 1, "gravity_m_s2": 9.81, "step_s": 0.002, "heartbeat_s": CONTROL_S / f64::from(HEARTBEATS),
        "site": site, "soil": of_config(format!("soil/{}.yaml", terrain.soil())),
        "rovers": trucks(course, &rover, &camera),
        "objects": [{"name": "course", "file": format!("{name}.urdf"), "x_m": 0, "y_m": 0}],
    });
    let file = folder.join(format!("{name}_{}.yaml", terrain.name()));
    output::write_bytes(&file, &YAML, serde_json::to_string_pretty(&reported)?.as_bytes())?;
    Ok(file)
}

/// The scenario's entries of the trucks.
fn trucks(course: &ConvoyCourse, rover: &Path, camera: &Path) -> Vec<Value> {
    let heading_rad = course.path.first_heading_rad();
    let [x, y] = course.path.at_m(0.0);
    let points = course.path.points_m();
    let last = points.len().saturating_sub(1);
    let waypoints: Vec<_> = (1..last).step_by(WAYPOINT_EVERY).chain([last]).map(|i| points[i]).collect();
    let truck = |i: usize| {
        let back_m = GAP_M * i as f64;
        let (x_m, y_m) = (x - back_m * heading_rad.cos(), y - back_m * heading_rad.sin());
        let start = json!({"x_m": x_m, "y_m": y_m, "yaw_deg": heading_rad.to_degrees()});
        match i {
            0 => {
                let route = json!({"speed_m_s": LEADER_MAX_M_S, "waypoints_m": waypoints});
                json!({"name": "leader", "file": rover, "start": start, "route": route})
            }
            _ => json!({"name": format!("follower_{i}"), "file": rover, "start": start, "sensors": [camera]}),
        }
    };
    (0..=FOLLOWERS).map(truck).collect()
}
