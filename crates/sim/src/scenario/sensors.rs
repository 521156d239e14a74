//! The sensors of a scenario, each put on a link of its rover. A sensor that is mounted beside
//! a link gets a frame of its own there.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_sensors::{BodySensor, SensorSpec};
use selene_vehicle::RoverModel;

use crate::scenario::body_plan::body_plan;
use crate::scenario::rover::MountedSensor;

/// Reads sensors' files, named relative to `folder`, and adds the frames that they need to the
/// rover.
///
/// # Errors
/// When a file is refused, or the rover has not what it names.
pub(crate) fn load(files: &[PathBuf], folder: &Path, rover: &mut RoverModel) -> Result<Vec<MountedSensor>, InputError> {
    files.iter().map(|file| load_one(&folder.join(file), rover)).collect()
}

/// A rover's sensors' files, named relative to `folder`, with others, named relative to the current one, that
/// replace those with the same sensor's name.
///
/// # Errors
/// When a file is refused.
pub(crate) fn with_others(files: &[PathBuf], others: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    if others.is_empty() {
        return Ok(files.to_vec());
    }
    let name = |file: &Path| SensorSpec::load(file).map(|sensor| sensor.header().name.to_owned());
    let named = |file: &PathBuf| -> Result<_, InputError> { Ok((name(&folder.join(file))?, file.clone())) };
    let mut all = files.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    for other in others {
        let refused = |source| InputError::Read { path: other.clone(), source };
        let (name, file) = (name(other)?, std::path::absolute(other).map_err(refused)?);
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, replaced)) => *replaced = file,
            None => all.push((name, file)),
        }
    }
    Ok(all.into_iter().map(|(_, file)| file).collect())
}

fn load_one(path: &Path, rover: &mut RoverModel) -> Result<MountedSensor, InputError> {
    let mut sensor = SensorSpec::load(path)?;
    let named = sensor.header().link;
    let Some(link) = rover.link_index(named) else {
        let links: Vec<&str> = rover.links().iter().map(|link| link.name.as_str()).collect();
        let what = format!("link: '{named}' is no link of the rover; it has {}", links.join(", "));
        return Err(InputError::content(path, what));
    };
    let link = mount(&mut sensor, link, rover, path)?;
    BodySensor::new(&sensor, link, &body_plan(rover), 0).map_err(|what| InputError::content(path, what))?;
    Ok(MountedSensor { spec: sensor, link })
}

/// Gives a mounted sensor its own frame on `link`; from then on that is its link. The link's index.
fn mount(sensor: &mut SensorSpec, link: usize, rover: &mut RoverModel, path: &Path) -> Result<usize, InputError> {
    let Some((frame, link_from_frame)) = sensor.take_frame() else { return Ok(link) };
    if !rover.add_frame(&frame, link, link_from_frame) {
        let what = format!("mount: its frame would be '{frame}', but the rover has a link of that name already");
        return Err(InputError::content(path, what));
    }
    Ok(rover.links().len() - 1)
}

#[cfg(test)]
mod tests {
    use crate::{LoadOptions, Scenario, ScenarioError};
    use std::path::{Path, PathBuf};

    fn config(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(file)
    }

    fn with(scenario: &str, sensors: Vec<PathBuf>) -> Result<Scenario, ScenarioError> {
        Scenario::load(&config(scenario), &LoadOptions { sensors, ..LoadOptions::default() })
    }

    #[test]
    fn other_sensors_are_added_or_replace_those_of_their_names() {
        let small = std::env::temp_dir().join(format!("selene-sensors-{}.yaml", std::process::id()));
        let text = std::fs::read_to_string(config("sensor/navcam_left.yaml")).expect("text");
        std::fs::write(&small, text.replace("width: 640", "width: 320")).expect("written");
        let scenario =
            with("scenario/polar.yaml", vec![config("sensor/viper_birdseye.yaml"), small.clone()]).expect("good");
        std::fs::remove_file(small).expect("clean");
        let rover = &scenario.rovers[0];
        let names: Vec<_> = rover.sensors.iter().map(|sensor| sensor.spec.header().name).collect();
        assert_eq!(names, ["navcam_left", "navcam_right", "lidar", "imu", "gps", "viper_birdseye"]);
        let widths: Vec<_> = rover.cameras().map(|camera| camera.spec.width).collect();
        assert_eq!(widths[..2], [320, 640]);
        assert_eq!(rover.model.added_frames().len(), 1, "that camera has a frame of its own");
    }

    #[test]
    fn sensors_for_nobody_in_particular_are_refused() {
        let refusal = |scenario, sensor| with(scenario, vec![config(sensor)]).expect_err("refused").to_string();
        assert!(refusal("scenario/convoy.yaml", "sensor/hazcam.yaml").contains("has 3 rovers"));
        assert!(refusal("scenario/polar.yaml", "sensor/no.yaml").contains("no.yaml: cannot be read"));
    }
}
