//! `selene new`: creates a file to begin with, which explains what can be changed. It never replaces an existing file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use selene_base::input::load_yaml;
use selene_sim::defaults::{GRAVITY_M_S2, HEARTBEAT_S, SEED, SOIL, STEP_S, UTC};
use selene_vehicle::RoverSpec;

use crate::args::{NewCommand, NewScenarioArgs};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// Executes a subcommand.
pub(crate) fn new(command: &NewCommand) -> Result<(), Fault> {
    match command {
        NewCommand::Scenario(args) => scenario(args),
    }
}

fn scenario(args: &NewScenarioArgs) -> Result<(), Fault> {
    let file = with_ending(&args.name);
    let rover = places::rover_file("--rover", &args.rover)?;
    let site = places::site_file("--site", &args.site)?;
    let names = Names { rover: named(&args.rover, &rover), site: named(&args.site, &site), sensors: sensors(&rover)? };
    write_new(&file, &names.scenario())?;
    let whole = places::whole(&file);
    print_line(format_args!("{}\nrun it with: selene run {}", whole.display(), file.display()));
    Ok(())
}

/// The path of a scenario's file, whose name is given with or without its extension.
fn with_ending(name: &Path) -> PathBuf {
    if name.extension().is_some_and(|extension| extension == "yaml") {
        return name.to_owned();
    }
    let mut file = name.as_os_str().to_owned();
    file.push(".yaml");
    file.into()
}

/// The names in a scenario's file: names of the configuration, or absolute paths.
struct Names {
    rover: String,
    site: String,
    sensors: Vec<String>,
}

impl Names {
    /// The scenario's text. Lines that are commented out have the default values.
    fn scenario(&self) -> String {
        let Self { rover, site, sensors } = self;
        let sensors: String = match &sensors[..] {
            [] => " []\n".to_owned(),
            sensors => sensors.iter().fold("\n".to_owned(), |list, sensor| list + &format!("  - {sensor}\n")),
        };
        format!(
            "# What this scenario is for.\n\
             # A rover and a site are enough: what is commented out has the value that stands there. `selene list` has the\n\
             # names; files beside this one may be named too, with their ending. `selene check --explain` shows every value.\n\
             site: {site}\n\
             rover:\n  \
               file: {rover}\n  \
               # x_m: 0                      # start: to the east of the map's origin, m\n  \
               # y_m: 0                      # to the north, m\n  \
               # yaw_deg: 0                  # heading from east, counter-clockwise\n  \
               # namespace: \"\"               # of its topics\n\
             \n\
             # What it senses with: those of the rover's own file. Without sensors there are no images.\n\
             sensors:{sensors}\
             \n\
             # What it drives until somebody commands it.\n\
             route:\n  \
               speed_m_s: 0.1\n  \
               waypoints_m: [[4, 0], [7, 3]]\n\
             \n\
             # soil: {SOIL}\n\
             # utc: \"{UTC}\"   # simulated time zero: where Sun and Earth stand\n\
             # seed: {SEED}                       # of terrain, rocks and every sensor's noise\n\
             # gravity_m_s2: {GRAVITY_M_S2}\n\
             # step_s: {STEP_S}                # physics step\n\
             # heartbeat_s: {HEARTBEAT_S}            # snapshots for sensors: a whole number of steps\n"
        )
    }
}

/// The name in the scenario's file: a name as it was typed, or the absolute path of a file.
fn named(typed: &str, found: &Path) -> String {
    if Path::new(typed).is_file() { quoted(&places::whole(found)) } else { typed.to_owned() }
}

/// The names of the sensors in a rover's file.
fn sensors(rover: &Path) -> Result<Vec<String>, Fault> {
    let spec: RoverSpec = load_yaml(rover).map_err(Fault::input)?;
    let known = places::files_of("sensor");
    let folder = rover.parent().unwrap_or(Path::new(""));
    let name = |sensor: &PathBuf| {
        let named = name_of_sensor(sensor).filter(|name| known.contains_key(name));
        named.unwrap_or_else(|| quoted(&places::whole(&folder.join(sensor))))
    };
    Ok(spec.sensors.iter().map(name).collect())
}

/// The name of a sensor's file in the configuration: its path below folder `sensor`, without extension.
fn name_of_sensor(file: &Path) -> Option<String> {
    let within: PathBuf = file.iter().skip_while(|part| *part != "sensor").skip(1).collect();
    Some(within.with_extension("").to_str()?.to_owned()).filter(|name| !name.is_empty())
}

/// A path as a YAML string.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}

fn write_new(file: &Path, text: &str) -> Result<(), Fault> {
    let refuse = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Fault::input(format!("{}: is there already; name another file", file.display()))
        }
        _ => Fault::input(format!("{}: cannot be written: {error}", file.display())),
    };
    let mut opened = OpenOptions::new().write(true).create_new(true).open(file).map_err(refuse)?;
    opened.write_all(text.as_bytes()).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::{Names, name_of_sensor, with_ending};
    use selene_sim::{LoadOptions, Scenario};
    use std::path::Path;

    fn loaded(text: &str) -> Scenario {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
        Scenario::parse(text, Path::new("mine.yaml"), &options).expect("a scenario")
    }

    #[test]
    fn what_is_commented_out_has_the_value_that_stands_there() {
        let sensors = ["imu", "gps"].map(str::to_owned).to_vec();
        let text = Names { rover: "ex1".to_owned(), site: "mare".to_owned(), sensors }.scenario();
        let as_it_is = loaded(&text);
        assert_eq!((as_it_is.name.as_str(), as_it_is.rovers[0].sensors.len()), ("mine", 2));
        let keys =
            ["x_m", "y_m", "yaw_deg", "namespace", "soil", "utc", "seed", "gravity_m_s2", "step_s", "heartbeat_s"];
        let uncommented = keys.iter().fold(text.clone(), |text, key| {
            assert_eq!(text.matches(&format!("# {key}: ")).count(), 1, "{key}");
            text.replace(&format!("# {key}: "), &format!("{key}: "))
        });
        let all = loaded(&uncommented);
        let reported = |scenario: &Scenario| {
            let start = scenario.rovers[0].start;
            format!(
                "{:?}",
                (scenario.seed, scenario.utc, scenario.gravity_m_s2, scenario.step, scenario.heartbeat, start)
            )
        };
        assert_eq!(reported(&all), reported(&as_it_is));
        assert_eq!(format!("{:?}", all.soils), format!("{:?}", as_it_is.soils));
    }

    #[test]
    fn a_sensor_has_the_name_that_the_configuration_knows_it_by() {
        let name = |file: &str| name_of_sensor(Path::new(file));
        assert_eq!(name("../sensor/imu.yaml").as_deref(), Some("imu"));
        assert_eq!(name("../sensor/lidar/vlp16.yaml").as_deref(), Some("lidar/vlp16"));
        assert_eq!(name("imu.yaml"), None);
        assert_eq!(
            ["mine", "mine.yaml", "a/b.1"].map(|name| with_ending(Path::new(name))),
            [Path::new("mine.yaml"), Path::new("mine.yaml"), Path::new("a/b.1.yaml")]
        );
    }
}
