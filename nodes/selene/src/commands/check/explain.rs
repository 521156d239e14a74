//! `selene check --explain`: prints every value of a scenario. Values that its file leaves out are marked as defaults.

use std::fmt::Display;
use std::path::Path;

use selene_base::input;
use selene_sim::{LoadOptions, RoverSetup, Scenario, SkySpec, defaults};
use serde_json::Value;

use super::BYTES_MAX;
use crate::output::print_line;

/// Prints the values of the scenario `file`.
pub(super) fn explain(file: &Path, options: &LoadOptions) -> Result<(), String> {
    let bytes = input::read_bytes(file, BYTES_MAX).map_err(|error| error.to_string())?;
    let scenario = Scenario::load(file, options).map_err(|error| error.to_string())?;
    let content = content(&String::from_utf8_lossy(&bytes))?;
    lines(&scenario, &content).into_iter().for_each(print_line);
    Ok(())
}

fn content(text: &str) -> Result<Value, String> {
    serde_yaml::from_str(text).map_err(|error| error.to_string())
}

/// The values of the scenario, then those of each rover, in which the keys `rover`, `sensors`, `lamps`, `route` and
/// `motions` of the short form are.
fn lines(scenario: &Scenario, content: &Value) -> Vec<String> {
    let value = |key: &str, value: String| {
        let mark = if content.get(key).is_some() { "" } else { "   (default)" };
        format!("  {key}: {value}{mark}")
    };
    let soil = content.get("soil").map_or_else(|| defaults::SOIL.to_owned(), as_written);
    let mut lines = vec![
        value("name", scenario.name.clone()),
        value("utc", scenario.utc.to_string()),
        value("seed", scenario.seed.to_string()),
        value("gravity_m_s2", scenario.gravity_m_s2.to_string()),
        value("step_s", scenario.step.secs_f64().to_string()),
        value("heartbeat_s", scenario.heartbeat.secs_f64().to_string()),
        value("site", scenario.site_file().display().to_string()),
        value("soil", soil),
        value("granular", listed(scenario.granular.iter().map(|window| &window.name))),
        value("crumbs", content.get("crumbs").map_or_else(none, as_written)),
        value("pebbles", content.get("pebbles").map_or_else(none, as_written)),
        value("objects", listed(scenario.objects.iter().map(|object| &object.name))),
        value("loose_rocks", scenario.loose_rocks.len().to_string()),
        value("loose_from_site", content.get("loose_from_site").map_or_else(none, as_written)),
        value("end_at_site_border", scenario.end_at_site_border.to_string()),
        value("sky", sky(&scenario.sky_files)),
        value("lockstep", listed(scenario.lockstep.iter().map(|topic| &topic.name))),
    ];
    let entries = content.get("rovers").and_then(Value::as_array);
    lines.extend(scenario.rovers.iter().enumerate().flat_map(|(place, rover)| {
        let entry = entries.map_or(Some(content), |entries| entries.get(place));
        rover_lines(rover, entry.unwrap_or(&Value::Null))
    }));
    lines
}

/// The values of a rover; `entry` is the mapping of the file with its keys.
fn rover_lines(rover: &RoverSetup, entry: &Value) -> Vec<String> {
    let mark = |key: &str| if entry.get(key).is_some() { "" } else { "   (default)" };
    let place = entry.get("start").or_else(|| entry.get("rover")).unwrap_or(&Value::Null);
    let of_start = |key: &str| if place.get(key).is_some() { "" } else { " (default)" };
    let namespace = if rover.namespace.is_empty() { "none" } else { &rover.namespace };
    let is_named = entry.get("namespace").or_else(|| entry.get("rover")?.get("namespace")).is_some();
    let start = rover.start;
    let lamps = rover.model.lamps().iter().map(|lamp| format!("{} at {}", lamp.spec.name, lamp.spec.level));
    let route = rover.route.as_ref().map_or("none: it stands until somebody drives it".to_owned(), |route| {
        format!("{} waypoints at {} m/s", route.waypoints_m.len(), route.speed_m_s)
    });
    let joints = rover.motions.iter().flat_map(|motion| &motion.joints);
    let soil = entry.get("soil").filter(|_| rover.soils.is_some());
    vec![
        format!("  rover {}: {}", rover.name, rover.file.display()),
        format!("    namespace: {namespace}{}", if is_named { "" } else { "   (default)" }),
        format!(
            "    x_m: {}{}, y_m: {}{}, z_m: {}{}, yaw_deg: {}{}",
            start.x_m,
            of_start("x_m"),
            start.y_m,
            of_start("y_m"),
            start.z_m,
            of_start("z_m"),
            start.yaw_rad.to_degrees(),
            of_start("yaw_deg")
        ),
        format!("    soil: {}", soil.map_or("the scenario's   (default)".to_owned(), as_written)),
        format!("    sensors: {}{}", listed(rover.sensors.iter().map(|of| of.spec.header().name)), mark("sensors")),
        format!("    lamps: {}{}", listed(lamps), mark("lamps")),
        format!("    route: {route}{}", mark("route")),
        format!("    motions: {}{}", listed(joints), mark("motions")),
    ]
}

fn sky(files: &SkySpec) -> String {
    let kernels = match &files.kernels[..] {
        [] => "Sun and Earth by series".to_owned(),
        kernels => format!("Sun and Earth by {}", listed(kernels)),
    };
    format!("{kernels}, stars: {}", files.stars.as_deref().unwrap_or("none"))
}

/// A value as the file has it, in one line.
fn as_written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn listed(names: impl IntoIterator<Item = impl Display>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| name.to_string()).collect();
    if names.is_empty() { none() } else { names.join(", ") }
}

fn none() -> String {
    "none".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Value, content, lines};
    use crate::args::SchemaKind;
    use crate::commands::schema;
    use selene_sim::{LoadOptions, Scenario};
    use std::path::Path;

    fn explained(text: &str) -> Vec<String> {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
        let scenario = Scenario::parse(text, Path::new("mine.yaml"), &options).expect("a scenario");
        lines(&scenario, &content(text).expect("YAML"))
    }

    fn assert_has(reported: &[String], expected: &[&str]) {
        for line in expected {
            assert!(reported.iter().any(|reported| reported == line), "{line} is missing in: {reported:#?}");
        }
    }

    #[test]
    fn what_the_file_leaves_out_is_marked() {
        let text = "site: mare\nseed: 7\nrover: {file: viper, x_m: 3}\npebbles: {per_m2: 50, diameter_m: [0.01, 0.03], \
                    exponent: 2.5, within_m: 3}\n";
        let expected = [
            "  name: mine   (default)",
            "  seed: 7",
            "  gravity_m_s2: 1.62   (default)",
            "  soil: lunar   (default)",
            "  pebbles: {\"diameter_m\":[0.01,0.03],\"exponent\":2.5,\"per_m2\":50,\"within_m\":3}",
            "  crumbs: none   (default)",
            "  sky: Sun and Earth by series, stars: none   (default)",
            "    x_m: 3, y_m: 0 (default), z_m: 0 (default), yaw_deg: 0 (default)",
            "    sensors: none   (default)",
            "    motions: none   (default)",
        ];
        assert_has(&explained(text), &expected);
    }

    #[test]
    fn each_rover_of_a_list_has_its_own_values() {
        let entry =
            |name: &str, more: &str| format!("- {{name: {name}, file: ex1, start: {{x_m: 1, y_m: 2}}{more}}}\n");
        let rovers = entry("a", ", soil: soft") + &entry("b", ", sensors: [imu]").replace("x_m: 1", "x_m: 9");
        let reported = explained(&format!("site: mare\nrovers:\n{rovers}"));
        assert_has(&reported, &["    soil: soft", "    soil: the scenario's   (default)", "    sensors: imu"]);
    }

    #[test]
    fn every_key_of_a_scenario_and_of_a_rover_is_explained() {
        let reported = explained("site: mare\nrover: {file: viper}\n").join("\n");
        let schema = schema::of(SchemaKind::Scenario).to_value();
        let keys =
            |of: &Value| -> Vec<String> { of["properties"].as_object().expect("keys").keys().cloned().collect() };
        for key in keys(&schema).iter().chain(&keys(&schema["$defs"]["SingleRoverSpec"])) {
            let is_there = [format!("{key}: "), format!("{key} viper: ")].iter().any(|text| reported.contains(text));
            // The short form stands for a list of one; the file of a rover is beside its name.
            assert!(is_there || ["rovers", "file"].contains(&&**key), "{key} is missing in: {reported}");
        }
    }
}
