//! Loads the sensors of a scenario and puts each on a link of its rover. A sensor with a mounting
//! pose gets a frame of its own there.

use std::path::{Path, PathBuf};

use nalgebra::UnitQuaternion;
use selene_base::{InputError, Pose};
use selene_sensors::range_finder::Radiation;
use selene_sensors::{BodySensor, SensorSpec};
use selene_vehicle::RoverModel;

use crate::scenario::body_plan::body_plan;
use crate::scenario::rover::MountedSensor;

/// Range of gravity that counts as the Earth's, m/s².
const EARTH_GRAVITY_M_S2: [f64; 2] = [9.7, 9.9];

/// Reads sensors' files, named relative to `folder`, and adds the frames that they need to the
/// rover.
///
/// # Errors
/// When a file is refused, or the rover lacks a link that it names.
pub(crate) fn load(files: &[PathBuf], folder: &Path, rover: &mut RoverModel) -> Result<Vec<MountedSensor>, InputError> {
    files.iter().map(|file| load_one(&folder.join(file), rover)).collect()
}

/// Files of a rover's sensors, relative to `folder`, together with `others`, relative to the current folder. One of
/// the others replaces a sensor with the same name.
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

/// Refuses sensors that need air where there is none. Scenarios do not say whether there is air: one with the Earth's
/// gravity is taken to be on Earth.
///
/// # Errors
/// When one of the sensors is ultrasonic.
pub(crate) fn refuse_sound_in_vacuum(sensors: &[MountedSensor], gravity_m_s2: f64) -> Result<(), String> {
    let [least, most] = EARTH_GRAVITY_M_S2;
    if (least..=most).contains(&gravity_m_s2) {
        return Ok(());
    }
    let sounds = |sensor: &&MountedSensor| match &sensor.spec {
        SensorSpec::RangeFinder(finder) => finder.radiation == Radiation::Ultrasound,
        _ => false,
    };
    let Some(sensor) = sensors.iter().find(sounds) else { return Ok(()) };
    let name = sensor.spec.header().name;
    Err(format!(
        "sensor '{name}': radiation ultrasound is not allowed where gravity_m_s2 is {gravity_m_s2}: there is no air; \
         it is allowed from {least} to {most} (on Earth), infrared anywhere"
    ))
}

fn load_one(path: &Path, rover: &mut RoverModel) -> Result<MountedSensor, InputError> {
    let mut sensor = SensorSpec::load(path)?;
    let named = sensor.header().link;
    let Some(link) = rover.link_index(named) else {
        let links: Vec<&str> = rover.links().iter().map(|link| link.name.as_str()).collect();
        let what = format!("'{named}' is no link of the rover; it has {}", links.join(", "));
        return Err(InputError::at(path, &format!("{}.link", sensor.key()), what));
    };
    let link = match &sensor {
        SensorSpec::Contact(_) => wheel(link, rover, path)?,
        SensorSpec::ForceTorque(spec) => between(&spec.frame(), link, rover, path)?,
        _ => mount(&mut sensor, link, rover, path)?,
    };
    BodySensor::new(&sensor, link, &body_plan(rover), 0).map_err(|error| InputError::at(path, sensor.key(), error))?;
    Ok(MountedSensor { spec: sensor, link })
}

/// Gives a sensor with a mounting pose its own frame on `link`, which becomes its link; returns the link's index.
fn mount(sensor: &mut SensorSpec, link: usize, rover: &mut RoverModel, path: &Path) -> Result<usize, InputError> {
    let Some((frame, link_from_frame)) = sensor.take_frame() else { return Ok(link) };
    if !rover.add_frame(&frame, link, link_from_frame) {
        let what = format!("its frame would be '{frame}', but the rover has a link of that name already");
        return Err(InputError::at(path, &format!("{}.mount", sensor.key()), what));
    }
    Ok(rover.links().len() - 1)
}

/// Refuses a link that is not a wheel.
fn wheel(link: usize, rover: &RoverModel, path: &Path) -> Result<usize, InputError> {
    let mut wheels = rover.wheels().iter().map(|wheel| wheel.link);
    if wheels.any(|wheel| wheel == link) {
        return Ok(link);
    }
    let names: Vec<_> = rover.wheels().iter().map(|wheel| rover.links()[wheel.link].name.as_str()).collect();
    let named = &rover.links()[link].name;
    let what = format!("'{named}' is no wheel; a contact sensor is in one of {}", names.join(", "));
    Err(InputError::at(path, "contact.link", what))
}

/// Gives a force–torque sensor its frame at the joint that moves `link`, with the axes of the joint's parent link;
/// returns the frame's index.
fn between(frame: &str, link: usize, rover: &mut RoverModel, path: &Path) -> Result<usize, InputError> {
    let joint = rover.links()[link].joint.map(|joint| &rover.joints()[joint]).filter(|joint| joint.moves());
    let Some(joint) = joint else {
        let moving = rover.moving_joints().iter().map(|joint| rover.joints()[*joint].child);
        let names: Vec<_> = moving.map(|child| rover.links()[child].name.as_str()).collect();
        let named = &rover.links()[link].name;
        let allowed = format!("a force–torque sensor's link is one of {}", names.join(", "));
        let what = format!("'{named}' hangs from no joint that moves; {allowed}");
        return Err(InputError::at(path, "force_torque.link", what));
    };
    let (carrier, at) = (joint.parent, joint.parent_from_child_at_zero.translation);
    if !rover.add_frame(frame, carrier, Pose::from_parts(at, UnitQuaternion::identity())) {
        let what = format!("its frame would be '{frame}', but the rover has a link of that name already");
        return Err(InputError::at(path, "force_torque.name", what));
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

    /// The refusal of a sensor of `config/sensor` on another link, for VIPER.
    fn refusal_on(sensor: &str, link: &str, other: &str) -> String {
        let text = std::fs::read_to_string(config("sensor").join(sensor)).expect("text");
        let line = format!("  link: {link}\n");
        assert_eq!(text.matches(&line).count(), 1, "{link} in {sensor}");
        let file = std::env::temp_dir().join(format!("selene-on-{other}-{}-{sensor}", std::process::id()));
        std::fs::write(&file, text.replace(&line, &format!("  link: {other}\n"))).expect("written");
        let refusal = with("scenario/polar.yaml", vec![file.clone()]).expect_err("refused").to_string();
        std::fs::remove_file(file).expect("clean");
        refusal
    }

    #[test]
    fn contact_sensors_are_in_wheels_and_force_torque_sensors_at_joints_that_move() {
        let no_wheel = refusal_on("contact_front_left.yaml", "front_left_wheel", "mast");
        for part in ["contact_front_left.yaml", "'mast' is no wheel", "front_left_wheel, front_right_wheel"] {
            assert!(no_wheel.contains(part), "'{part}' is missing in: {no_wheel}");
        }
        for link in ["mast", "base_link"] {
            let fixed = refusal_on("hub_front_left.yaml", "front_left_wheel", link);
            for part in [format!("'{link}' hangs from no joint").as_str(), "front_left_wheel", "mast_turret"] {
                assert!(fixed.contains(part), "'{part}' is missing in: {fixed}");
            }
        }
        let nowhere = refusal_on("sun_sensor.yaml", "mast", "attic");
        let at = "sun_sensor.yaml: line 7: sun_sensor.link: 'attic' is no link of the rover; it has base_link";
        assert!(nowhere.contains(at), "{nowhere}");
    }

    #[test]
    fn a_lidar_is_mounted_on_any_link_in_a_frame_of_its_own() {
        let text = std::fs::read_to_string(config("sensor/lidar.yaml")).expect("text");
        let mounted = |link: &str| {
            let placed = format!("  link: {link}\n  mount: {{at_m: [0.1, 0, 0.2], rpy_deg: [0, 10, 0]}}\n");
            let file = std::env::temp_dir().join(format!("selene-mounted-{link}-{}.yaml", std::process::id()));
            std::fs::write(&file, text.replace("  link: lidar\n", &placed)).expect("written");
            let loaded = with("scenario/polar.yaml", vec![file.clone()]);
            std::fs::remove_file(file).expect("clean");
            loaded
        };
        let scenario = mounted("mast").expect("good");
        let rover = &scenario.rovers[0];
        let [frame] = rover.model.added_frames() else { panic!("one frame") };
        let name = |link: usize| rover.model.links()[link].name.as_str();
        assert_eq!([name(frame.child), name(frame.parent)], ["lidar_frame", "mast"]);
        let lidar = rover.lidars().next().expect("a lidar");
        assert_eq!((lidar.link, lidar.spec.link.as_str()), (frame.child, "lidar_frame"));
        let refusal = mounted("attic").expect_err("no such link").to_string();
        for part in ["selene-mounted-attic", "line ", "link: 'attic' is no link of the rover", "mast"] {
            assert!(refusal.contains(part), "'{part}' is missing in: {refusal}");
        }
    }

    #[test]
    fn a_force_torque_sensor_has_a_frame_on_what_carries_its_link() {
        let scenario = with("scenario/polar.yaml", vec![config("sensor/hub_front_left.yaml")]).expect("good");
        let rover = &scenario.rovers[0];
        let [frame] = rover.model.added_frames() else { panic!("one frame") };
        let name = |link: usize| rover.model.links()[link].name.as_str();
        assert_eq!([name(frame.child), name(frame.parent)], ["hub_front_left_frame", "front_left_upright"]);
        assert_eq!(rover.sensors.last().map(|sensor| sensor.link), Some(frame.child));
    }

    #[test]
    fn ultrasonic_sensors_are_refused_where_there_is_no_air() {
        let sonar = config("sensor/sonar.yaml");
        let refusal = with("scenario/polar.yaml", vec![sonar.clone()]).expect_err("on the Moon").to_string();
        for part in ["polar.yaml: line ", "sensors: sensor 'sonar'", "ultrasound", "1.62", "9.7 to 9.9"] {
            assert!(refusal.contains(part), "'{part}' is missing in: {refusal}");
        }
        let text = std::fs::read_to_string(config("scenario/polar.yaml")).expect("text");
        assert_eq!(text.matches("gravity_m_s2: 1.62").count(), 1);
        let on_earth = text.replace("gravity_m_s2: 1.62", "gravity_m_s2: 9.81");
        let options = LoadOptions { sensors: vec![sonar], ..LoadOptions::default() };
        Scenario::parse(&on_earth, &config("scenario/polar.yaml"), &options).expect("on Earth");
    }

    #[test]
    fn sensors_for_nobody_in_particular_are_refused() {
        let refusal = |scenario, sensor| with(scenario, vec![config(sensor)]).expect_err("refused").to_string();
        assert!(refusal("scenario/convoy.yaml", "sensor/hazcam.yaml").contains(": rovers: there are 3"));
        assert!(refusal("scenario/polar.yaml", "sensor/no.yaml").contains("no.yaml: cannot be read"));
    }
}
