//! The sensors of a scenario, each put on a link of its rover. A camera that is mounted beside
//! a link gets a frame of its own there.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_sensors::{CameraSpec, SensorSpec};
use selene_vehicle::RoverModel;

use crate::scenario::rover::MountedSensor;

/// Reads sensors' files, named relative to `folder`, and adds the frames that they need to the
/// rover.
///
/// # Errors
/// When a file is refused, or the rover has not what it names.
pub(crate) fn load(files: &[PathBuf], folder: &Path, rover: &mut RoverModel) -> Result<Vec<MountedSensor>, InputError> {
    files.iter().map(|file| load_one(&folder.join(file), rover)).collect()
}

fn load_one(path: &Path, rover: &mut RoverModel) -> Result<MountedSensor, InputError> {
    let mut sensor = SensorSpec::load(path)?;
    let named = sensor.header().link;
    let Some(link) = rover.link_index(named) else {
        let links: Vec<&str> = rover.links().iter().map(|link| link.name.as_str()).collect();
        let what = format!("link: '{named}' is no link of the rover; it has {}", links.join(", "));
        return Err(InputError::content(path, what));
    };
    match &mut sensor {
        SensorSpec::Imu(_) if !fixed_to_base(rover, link) => {
            let link = &rover.links()[link].name;
            let what = format!("link: '{link}' moves against base_link; an IMU's link must be fixed to it");
            return Err(InputError::content(path, what));
        }
        SensorSpec::Camera(camera) => {
            let link = mount(camera, link, rover, path)?;
            return Ok(MountedSensor { spec: sensor, link });
        }
        SensorSpec::Imu(_) | SensorSpec::Lidar(_) | SensorSpec::Position(_) => {}
    }
    Ok(MountedSensor { spec: sensor, link })
}

/// Gives a mounted camera its own frame on `link`; from then on that is its link. The link's index.
fn mount(camera: &mut CameraSpec, link: usize, rover: &mut RoverModel, path: &Path) -> Result<usize, InputError> {
    let Some(mount) = camera.mount.take() else { return Ok(link) };
    let frame = format!("{}_optical", camera.name);
    if !rover.add_frame(&frame, link, mount.link_from_optical()) {
        let what = format!("mount: its frame would be '{frame}', but the rover has a link of that name already");
        return Err(InputError::content(path, what));
    }
    camera.link = frame;
    Ok(rover.links().len() - 1)
}

/// Whether only fixed joints lie between the base and a link.
fn fixed_to_base(rover: &RoverModel, link: usize) -> bool {
    rover.links()[link].joint.is_none_or(|joint| {
        let joint = &rover.joints()[joint];
        !joint.moves() && fixed_to_base(rover, joint.parent)
    })
}
