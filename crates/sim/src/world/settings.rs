//! Settings that differ from the scenario while a world runs: the time of the sky, and how sensors measure. They
//! are a part of the state, so they are hashed and saved; snapshots carry them to all observers.
//! A setting that is made between two heartbeats is in the snapshot of the second one. It applies to every sample
//! after the first one and to none before, whoever makes it and whenever observers receive it.

use std::collections::BTreeMap;

use selene_base::SimTime;
use selene_sensors::{SensorSetting, SettingError};
use selene_sky::KernelError;

use crate::world::entity::EntityId;
use crate::world::model::{Model, RoverKind};
use crate::world::state::{RoverEntityState, State};
use crate::world::world::{UnknownRover, World};

/// Settings that differ from the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Offset of the time at which Sun, Earth and stars are computed, added to simulated time.
    pub sky_offset: SimTime,
    /// Settings of sensors, by rover and name; all other sensors are as in their files.
    pub sensors: BTreeMap<(EntityId, String), SensorSetting>,
}

/// Why settings are refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no such rover.
    #[error(transparent)]
    UnknownRover(#[from] UnknownRover),
    /// The rover has no such sensor.
    #[error("rover {rover} has no sensor \"{sensor}\"")]
    NoSuchSensor {
        /// The rover.
        rover: EntityId,
        /// The name.
        sensor: String,
    },
    /// The sensor does not allow the setting.
    #[error("sensor {sensor}: {why}")]
    Sensor {
        /// The sensor.
        sensor: String,
        /// Why it does not.
        why: SettingError,
    },
    /// The scenario's kernels do not cover the time.
    #[error(transparent)]
    Sky(#[from] KernelError),
}

impl World {
    /// Replaces all settings from now on.
    ///
    /// # Errors
    /// When one of the settings is refused; then none is changed.
    pub fn set(&mut self, settings: &Settings) -> Result<(), SettingsError> {
        let (model, state, _) = self.parts_mut();
        model.check_settings(state, settings)?;
        state.set(settings);
        Ok(())
    }

    /// The same for a world at its start: a reset leads back to these settings.
    ///
    /// # Errors
    /// As [`World::set`].
    pub fn begin_with(&mut self, settings: &Settings) -> Result<(), SettingsError> {
        self.set(settings)?;
        self.first_state_mut().set(settings);
        Ok(())
    }
}

impl State {
    /// The settings of the state.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let of_rover = |(id, rover): (&EntityId, &RoverEntityState)| {
            let id = *id;
            rover.settings.clone().into_iter().map(move |(sensor, setting)| ((id, sensor), setting))
        };
        Settings { sky_offset: self.sky_offset, sensors: self.rovers.iter().flat_map(of_rover).collect() }
    }

    /// Default settings are not stored: a state that was set back equals the original one.
    fn set(&mut self, settings: &Settings) {
        self.sky_offset = settings.sky_offset;
        for (id, rover) in &mut self.rovers {
            let own = settings.sensors.iter().filter(|((of, _), setting)| of == id && **setting != Default::default());
            rover.settings = own.map(|((_, sensor), setting)| (sensor.clone(), *setting)).collect();
        }
    }
}

impl Model {
    fn check_settings(&self, state: &State, settings: &Settings) -> Result<(), SettingsError> {
        for ((rover, sensor), setting) in &settings.sensors {
            let kind = self.rovers().get(rover).filter(|_| state.rovers.contains_key(rover));
            kind.ok_or(UnknownRover(*rover))?.check_setting(*rover, sensor, setting)?;
        }
        // A sky that stays the same must not prevent the settings of sensors.
        if settings.sky_offset != state.sky_offset {
            self.scenario().sky.at(self.scenario().utc.after(state.time + settings.sky_offset))?;
        }
        Ok(())
    }
}

impl RoverKind {
    /// Whether the rover's sensors allow these settings.
    pub(crate) fn can_be_set(&self, settings: &BTreeMap<String, SensorSetting>) -> bool {
        let is_good = |(sensor, setting): (&String, &SensorSetting)| {
            self.check_setting(EntityId::default(), sensor, setting).is_ok()
        };
        settings.iter().all(is_good)
    }

    fn check_setting(&self, rover: EntityId, sensor: &str, setting: &SensorSetting) -> Result<(), SettingsError> {
        let named = self.setup().sensors.iter().find(|mounted| mounted.spec.header().name == sensor);
        let named = named.ok_or_else(|| SettingsError::NoSuchSensor { rover, sensor: sensor.to_owned() })?;
        named.spec.check(setting).map_err(|why| SettingsError::Sensor { sensor: sensor.to_owned(), why })
    }
}
