//! Finds the files that a scenario names. A name is a path relative to the scenario's folder or, if there is no such
//! file, a file of the configuration without its extension: `viper`, `lidar/vlp16`.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_base::input;
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
    /// Replaces the names in the scenario of file `path` by paths of files.
    ///
    /// # Errors
    /// All names that are neither files nor in the configuration.
    pub(crate) fn find_all(&self, spec: &mut ScenarioSpec, path: &Path) -> Result<(), InputError> {
        let mut unknown = Vec::new();
        let mut find = |kind: &str, named: &mut PathBuf| {
            if !self.find(kind, named) && !self.replaced.contains(&kind) {
                unknown.push(format!("no {kind} '{}'", named.display()));
            }
        };
        find("site", &mut spec.site);
        find_soils(&mut spec.soil, &mut find);
        spec.rover.iter_mut().for_each(|rover| find("rover", &mut rover.file));
        spec.sensors.iter_mut().for_each(|sensor| find("sensor", sensor));
        for rover in &mut spec.rovers {
            find("rover", &mut rover.file);
            rover.sensors.iter_mut().for_each(|sensor| find("sensor", sensor));
            rover.soil.iter_mut().for_each(|soils| find_soils(soils, &mut find));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let what = format!("there is {}, neither as a file nor in the configuration", unknown.join(", "));
        Err(InputError::content(path, format!("{what}; `selene list` prints the names")))
    }

    /// Replaces a name by the path of its file. Returns false if there is none; a path with an extension stays as it is.
    fn find(&self, kind: &str, named: &mut PathBuf) -> bool {
        if named.extension().is_some() || input::is_file(&self.scenario.join(&*named)) {
            return true;
        }
        let file = Path::new(kind).join(&*named).with_extension("yaml");
        let mut files = self.configuration.iter().map(|folder| folder.join(&file));
        let Some(known) = files.find(|file| input::is_file(file)) else { return false };
        *named = known;
        true
    }
}

fn find_soils(soils: &mut SoilsSpec, find: &mut impl FnMut(&str, &mut PathBuf)) {
    find("soil", &mut soils.default);
    soils.areas.iter_mut().for_each(|area| find("soil", &mut area.soil));
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
        let expected =
            "nowhere/mine.yaml: there is no site 'maree', no soil 'lunarr', no rover 'vipre', no sensor 'imuu',";
        assert!(refusal.starts_with(expected), "{refusal}");
        let mare = "site: mare\nsoil: lunarr\nrover: {file: vipre}\nsensors: [imuu]\n";
        let [soil, rover] = ["soil/lunar.yaml", "rover/viper.yaml"].map(|file| Some(config().join(file)));
        let replaced = LoadOptions { soil, rover, ..options };
        Scenario::parse(mare, Path::new("nowhere/mine.yaml"), &replaced).expect("what is replaced is not looked for");
    }
}
