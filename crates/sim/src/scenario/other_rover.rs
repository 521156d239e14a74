//! Replaces a scenario's only rover by another one. The sensors and lamp levels of the scenario are meant for its own
//! rover and may not fit the other, which gets the sensors and lamp levels of its own file. Start, namespace and route
//! stay.

use std::path::{Path, PathBuf};

use selene_base::{InputError, compiled, input};
use selene_vehicle::{RoverModel, RoverSpec};

use crate::scenario::spec::RoverEntrySpec;
use crate::scenario::{MountedSensor, ScenarioError, sensors};

/// Replaces the rover of `entry`, whose files are relative to `folder`, by the rover of `file`. If they are the same,
/// the rover keeps the sensors and lamp levels of the scenario.
///
/// # Errors
/// When the file is refused.
pub(crate) fn put(file: &Path, entry: &mut RoverEntrySpec, folder: &Path) -> Result<(), InputError> {
    if is_same(file, &folder.join(&entry.file)) {
        return Ok(());
    }
    // Absolute, since paths of an entry are relative to the scenario.
    let file = std::path::absolute(file).map_err(|e| InputError::content(file, e.to_string()))?;
    entry.sensors = own_sensors(&file)?;
    entry.lamps.clear();
    entry.file = file;
    Ok(())
}

/// Reads a rover and puts the sensors of its own file on it.
///
/// # Errors
/// When one of the files is refused, or the rover lacks a link that a sensor names.
pub fn load_rover(file: &Path) -> Result<(RoverModel, Vec<MountedSensor>), ScenarioError> {
    let mut model = RoverModel::load(file)?;
    let sensors = sensors::load(&own_sensors(file)?, Path::new(""), &mut model)?;
    Ok((model, sensors))
}

/// The files of the sensors that a rover's own file names.
fn own_sensors(rover: &Path) -> Result<Vec<PathBuf>, InputError> {
    let spec: RoverSpec = input::load_yaml(rover)?;
    let folder = rover.parent().unwrap_or(Path::new(""));
    Ok(spec.sensors.iter().map(|sensor| folder.join(sensor)).collect())
}

fn is_same(one: &Path, other: &Path) -> bool {
    // A compiled-in file has no path on the disk, and its bytes are in memory once.
    if let (Some(one), Some(other)) = (compiled::bytes(one), compiled::bytes(other)) {
        return std::ptr::eq(one, other);
    }
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
