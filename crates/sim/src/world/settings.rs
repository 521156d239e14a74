//! What is set otherwise than the scenario says while a world runs: where the sky stands, and how sensors measure. It
//! is a part of the state, so it is hashed and saved; snapshots carry it, so that all who observe the world follow.
//! What is set between two heartbeats is told with the second one. It is that of every sample after the first one and
//! of none before, whoever sets it and whenever observers hear of it.

use std::collections::BTreeMap;

use selene_base::SimTime;
use selene_sensors::{SensorSetting, SettingError};
use selene_sky::KernelError;

use crate::world::entity::EntityId;
use crate::world::model::{Model, RoverKind};
use crate::world::state::{RoverEntityState, State};
use crate::world::world::{NoSuchRover, World};

/// What is set otherwise than the scenario has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// How much later Sun, Earth and stars stand where they stand than simulated time says.
    pub sky_offset: SimTime,
    /// Of sensors, by rover and name; all others are as their files say.
    pub sensors: BTreeMap<(EntityId, String), SensorSetting>,
}

/// Why something cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no such rover.
    #[error(transparent)]
    NoSuchRover(#[from] NoSuchRover),
    /// The rover has no such sensor.
    #[error("rover {rover} has no sensor \"{sensor}\"")]
    NoSuchSensor {
        /// The rover.
        rover: EntityId,
        /// The name.
        sensor: String,
    },
    /// The sensor cannot be set so.
    #[error("sensor {sensor}: {why}")]
    Sensor {
        /// The sensor.
        sensor: String,
        /// Why not.
        why: SettingError,
    },
    /// The scenario's kernels do not cover the time.
    #[error(transparent)]
    Sky(#[from] KernelError),
}

impl World {
    /// Sets all that can be set, from now on.
    ///
    /// # Errors
    /// When something cannot be set so; nothing is then set.
    pub fn set(&mut self, settings: &Settings) -> Result<(), SettingsError> {
        let (model, state, _) = self.parts_mut();
        model.check_settings(state, settings)?;
        state.set(settings);
        Ok(())
    }

    /// The same for a world that begins: a reset leads back to it.
    ///
    /// # Errors
    /// As `set`.
    pub fn begin_with(&mut self, settings: &Settings) -> Result<(), SettingsError> {
        self.set(settings)?;
        self.first_state_mut().set(settings);
        Ok(())
    }
}

impl State {
    /// What is set.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let of_rover = |(id, rover): (&EntityId, &RoverEntityState)| {
            let id = *id;
            rover.settings.clone().into_iter().map(move |(sensor, setting)| ((id, sensor), setting))
        };
        Settings { sky_offset: self.sky_offset, sensors: self.rovers.iter().flat_map(of_rover).collect() }
    }

    /// What is as the files say is not kept: a state that was set back is the one that it was.
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
            kind.ok_or(NoSuchRover(*rover))?.check_setting(*rover, sensor, setting)?;
        }
        // A sky that stays is no reason to refuse what is set of sensors.
        if settings.sky_offset != state.sky_offset {
            self.scenario().sky.at(self.scenario().utc.after(state.time + settings.sky_offset))?;
        }
        Ok(())
    }
}

impl RoverKind {
    /// Whether a state can have these settings.
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
