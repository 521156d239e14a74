//! Finds the files that a scenario names. A name is a path relative to the scenario's folder or, if there is no such
//! file, a file of the configuration without its extension: `viper`, `lidar/vlp16`.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_base::input::{self, YamlFile};
use selene_soil::SoilsSpec;

use crate::scenario::spec::ScenarioSpec;

/// Folders in which names are looked up.
pub(crate) struct Folders<'a> {
    /// Folder of the scenario.
    pub(crate) scenario: &'a Path,
    /// Folders of the configuration, first choice first; absolute paths.
    pub(crate) configuration: &'a [PathBuf],
    /// Kinds whose names in the scenario do not count, as the command line replaces them.
    pub(crate) replaced: &'a [&'a str],
}

impl Folders<'_> {
    /// Replaces the names in the scenario of `file` by paths of files.
    ///
    /// # Errors
    /// All names that are neither files nor in the configuration.
    pub(crate) fn find_all(&self, spec: &mut ScenarioSpec, file: &YamlFile) -> Result<(), InputError> {
        let mut unknown = Vec::new();
        let mut find = |kind: &str, place: String, named: &mut PathBuf| {
            if !self.find(kind, named) && !self.replaced.contains(&kind) {
                unknown.push((place, format!("no {kind} '{}'", named.display())));
            }
        };
        find("site", "site".to_owned(), &mut spec.site);
        find_soils(&mut spec.soil, "soil", &mut find);
        spec.rover.iter_mut().for_each(|rover| find("rover", "rover.file".to_owned(), &mut rover.file));
        find_sensors(&mut spec.sensors, "sensors", &mut find);
        for (i, rover) in spec.rovers.iter_mut().enumerate() {
            find("rover", format!("rovers[{i}].file"), &mut rover.file);
            find_sensors(&mut rover.sensors, &format!("rovers[{i}].sensors"), &mut find);
            rover.soil.iter_mut().for_each(|soils| find_soils(soils, &format!("rovers[{i}].soil"), &mut find));
        }
        let Some((first, _)) = unknown.first() else { return Ok(()) };
        let all: Vec<_> = unknown.iter().map(|(_, what)| what.as_str()).collect();
        let what = format!("there is {}, neither as a file nor in the configuration", all.join(", "));
        Err(file.refusal(first, format!("{what}; `selene list` prints the names")))
    }

    /// Replaces a name by the path of its file; a path with an extension stays as it is. Returns false if there is no file.
    fn find(&self, kind: &str, named: &mut PathBuf) -> bool {
        let path = self.scenario.join(&*named);
        if input::is_file(&path) {
            return true;
        }
        if named.extension().is_some() {
            // Reading says what is wrong with a folder or a pipe.
            return path.exists();
        }
        let file = Path::new(kind).join(&*named).with_extension("yaml");
        let mut files = self.configuration.iter().map(|folder| folder.join(&file));
        let Some(known) = files.find(|file| input::is_file(file)) else { return false };
        *named = known;
        true
    }
}

fn find_soils(soils: &mut SoilsSpec, place: &str, find: &mut impl FnMut(&str, String, &mut PathBuf)) {
    find("soil", place.to_owned(), &mut soils.default);
    let areas = soils.areas.iter_mut().enumerate();
    areas.for_each(|(i, area)| find("soil", format!("{place}.areas[{i}].soil"), &mut area.soil));
}

fn find_sensors(sensors: &mut [PathBuf], place: &str, find: &mut impl FnMut(&str, String, &mut PathBuf)) {
    sensors.iter_mut().enumerate().for_each(|(i, sensor)| find("sensor", format!("{place}[{i}]"), sensor));
}

#[cfg(test)]
mod tests {
    use super::Folders;
    use crate::scenario::{LoadOptions, Scenario};
    use std::path::{Path, PathBuf};

    fn config() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
    }

    #[test]
    fn a_rover_and_a_site_are_a_scenario() {
        let options = LoadOptions { configuration: vec![config()], ..LoadOptions::default() };
        let text = "site: mare\nrover: {file: viper}\nsensors: [imu, lidar/vlp16]\n";
        let scenario = Scenario::parse(text, Path::new("nowhere/mine.yaml"), &options).expect("a scenario");
        assert_eq!((scenario.name.as_str(), scenario.seed, scenario.gravity_m_s2), ("mine", 1, 1.62));
        assert_eq!((scenario.step.secs_f64(), scenario.heartbeat.secs_f64()), (0.0005, 0.005));
        assert_eq!(scenario.utc.to_string(), super::super::defaults::UTC);
        assert_eq!(scenario.rovers[0].file, config().join("rover/viper.yaml"));
        assert_eq!(scenario.rovers[0].sensors.len(), 2);
        let other = LoadOptions { soil: Some(config().join("soil/rigid.yaml")), ..options };
        let other = Scenario::parse(text, Path::new("nowhere/mine.yaml"), &other).expect("a scenario");
        assert_ne!(format!("{:?}", other.soils), format!("{:?}", scenario.soils));
    }

    #[test]
    fn a_file_beside_the_scenario_comes_before_one_of_the_configuration_and_what_is_nowhere_stays() {
        let (scenario, configuration) = (config().join("rover"), [config()]);
        let folders = Folders { scenario: &scenario, configuration: &configuration, replaced: &[] };
        let found = |kind: &str, named: &str| {
            let mut file = PathBuf::from(named);
            (folders.find(kind, &mut file), file)
        };
        assert_eq!(found("rover", "viper"), (true, config().join("rover/viper.yaml")));
        assert_eq!(found("rover", "viper.yaml"), (true, PathBuf::from("viper.yaml")));
        assert_eq!(found("rover", "no_such"), (false, PathBuf::from("no_such")));
    }

    #[test]
    fn all_unknown_names_are_told_at_once() {
        let options = LoadOptions { configuration: vec![config()], ..LoadOptions::default() };
        let start = "{x_m: 0, y_m: 0, yaw_deg: 0}";
        let rover = format!("{{name: a, file: vipre, start: {start}, sensors: [imu, imuu]}}");
        let text = format!("site: maree\nsoil: lunarr\nrovers: [{rover}]\n");
        let refusal =
            Scenario::parse(&text, Path::new("nowhere/mine.yaml"), &options).expect_err("unknown").to_string();
        let expected = "nowhere/mine.yaml: line 1: site: there is no site 'maree', no soil 'lunarr', no rover 'vipre', no sensor 'imuu',";
        assert!(refusal.starts_with(expected), "{refusal}");
        let mare = "site: mare\nsoil: lunarr\nrover: {file: vipre}\nsensors: [imuu]\n";
        let [soil, rover] = ["soil/lunar.yaml", "rover/viper.yaml"].map(|file| Some(config().join(file)));
        let replaced = LoadOptions { soil, rover, ..options };
        Scenario::parse(mare, Path::new("nowhere/mine.yaml"), &replaced).expect("what is replaced is not looked for");
    }
}
