//! `selene check --explain`: prints every value of a scenario. Values that its file leaves out are marked as defaults.

use std::fmt::Display;
use std::path::Path;

use selene_base::input;
use selene_sim::{LoadOptions, RoverSetup, Scenario, defaults};

use super::{BYTES_MAX, has_key};
use crate::output::print_line;

/// Prints the values of the scenario `file`.
pub(super) fn explain(file: &Path, options: &LoadOptions) -> Result<(), String> {
    let bytes = input::read_bytes(file, BYTES_MAX).map_err(|error| error.to_string())?;
    let scenario = Scenario::load(file, options).map_err(|error| error.to_string())?;
    lines(&scenario, &String::from_utf8_lossy(&bytes)).into_iter().for_each(print_line);
    Ok(())
}

fn lines(scenario: &Scenario, text: &str) -> Vec<String> {
    let value = |key: &str, value: &dyn Display| {
        let mark = if has_key(text, key) { "" } else { "   (default)" };
        format!("  {key}: {value}{mark}")
    };
    let soil = if has_key(text, "soil") { "as the file says" } else { defaults::SOIL };
    let mut lines = vec![
        value("name", &scenario.name),
        value("utc", &scenario.utc),
        value("seed", &scenario.seed),
        value("gravity_m_s2", &scenario.gravity_m_s2),
        value("step_s", &scenario.step.secs_f64()),
        value("heartbeat_s", &scenario.heartbeat.secs_f64()),
        value("site", &scenario.site_file().display()),
        value("soil", &soil),
        value("end_at_site_border", &scenario.end_at_site_border),
        value("objects", &scenario.objects.len()),
        value("loose_rocks", &scenario.loose_rocks.len()),
        value("lockstep", &scenario.lockstep.len()),
    ];
    lines.extend(scenario.rovers.iter().flat_map(rover_lines));
    lines
}

fn rover_lines(rover: &RoverSetup) -> Vec<String> {
    let listed = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let sensors = rover.sensors.iter().map(|sensor| sensor.spec.header().name).collect();
    let namespace = if rover.namespace.is_empty() { "none" } else { &rover.namespace };
    let start = rover.start;
    let route = rover.route.as_ref().map_or("none: it stands until somebody drives it".to_owned(), |route| {
        format!("{} waypoints at {} m/s", route.waypoints_m.len(), route.speed_m_s)
    });
    vec![
        format!("  rover {}: {}", rover.name, rover.file.display()),
        format!("    namespace: {namespace}"),
        format!(
            "    x_m: {}, y_m: {}, z_m: {}, yaw_deg: {}",
            start.x_m,
            start.y_m,
            start.z_m,
            start.yaw_rad.to_degrees()
        ),
        format!("    sensors: {}", listed(sensors)),
        format!("    route: {route}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::lines;
    use selene_sim::{LoadOptions, Scenario};
    use std::path::Path;

    #[test]
    fn what_the_file_leaves_out_is_marked() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
        let text = "site: mare\nseed: 7\nrover: {file: viper, x_m: 3}\n";
        let scenario = Scenario::parse(text, Path::new("mine.yaml"), &options).expect("a scenario");
        let reported = lines(&scenario, text);
        for line in [
            "  name: mine   (default)",
            "  seed: 7",
            "  gravity_m_s2: 1.62   (default)",
            "  soil: lunar   (default)",
            "    x_m: 3, y_m: 0, z_m: 0, yaw_deg: 0",
            "    sensors: none",
        ] {
            assert!(reported.iter().any(|reported| reported == line), "{line} is missing in: {reported:#?}");
        }
    }
}
