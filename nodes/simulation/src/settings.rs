//! What can be set of a world while it runs, as those outside see it. They write here at any time. The node takes it
//! between two heartbeats, before all requests, and writes back what the world then has: after a reset, say.
//!
//! What is set here last counts: unlike requests, settings need no list that could be full.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;
use selene_sensors::SensorSetting;
use selene_sim::{Command, EntityId, LampCommand, Settings, World};

use crate::Begin;

/// Settings of a world that runs; all copies are one.
#[derive(Clone, Debug, Default)]
pub struct LiveSettings {
    shared: Arc<Mutex<Board>>,
}

#[derive(Debug, Default)]
struct Board {
    settings: Settings,
    /// How bright lamps are, in the order of each rover's.
    lamp_levels: BTreeMap<EntityId, Vec<f64>>,
    time: SimTime,
    /// Whether somebody set something since the node last looked.
    is_new: bool,
    lamps: Vec<(EntityId, LampCommand)>,
}

impl LiveSettings {
    /// Begins with what a run that is gone on with had set.
    pub fn begin(&self, begin: &Begin) {
        if let Begin::Resume(checkpoint) = begin {
            self.lock().settings = checkpoint.state.settings();
        }
    }

    /// Simulated time at the latest heartbeat.
    #[must_use]
    pub fn time(&self) -> SimTime {
        self.lock().time
    }

    /// How much later the sky stands where it stands than simulated time says.
    #[must_use]
    pub fn sky_offset(&self) -> SimTime {
        self.lock().settings.sky_offset
    }

    /// Sets that.
    pub fn set_sky_offset(&self, offset: SimTime) {
        let mut board = self.lock();
        board.settings.sky_offset = offset;
        board.is_new = true;
    }

    /// How a rover's sensor is set.
    #[must_use]
    pub fn sensor(&self, rover: EntityId, sensor: &str) -> SensorSetting {
        self.lock().settings.sensors.get(&(rover, sensor.to_owned())).copied().unwrap_or_default()
    }

    /// Sets a rover's sensor, by what `change` makes of its setting.
    pub fn set_sensor(&self, rover: EntityId, sensor: &str, change: impl FnOnce(SensorSetting) -> SensorSetting) {
        let mut board = self.lock();
        let setting = board.settings.sensors.entry((rover, sensor.to_owned())).or_default();
        *setting = change(*setting);
        board.is_new = true;
    }

    /// How bright a rover's lamp is, 0 to 1; none before the run begins.
    #[must_use]
    pub fn lamp_level(&self, rover: EntityId, lamp: usize) -> Option<f64> {
        self.lock().lamp_levels.get(&rover)?.get(lamp).copied()
    }

    /// Commands a rover's lamp.
    pub fn light(&self, rover: EntityId, command: LampCommand) {
        self.lock().lamps.push((rover, command));
    }

    /// Has a world that begins take what was set before.
    pub(crate) fn begin_world(&self, world: &mut World) {
        self.hand_to(world, World::begin_with);
    }

    /// Has a world that runs take what was set since the last heartbeat.
    pub(crate) fn give(&self, world: &mut World) {
        self.hand_to(world, World::set);
    }

    fn hand_to(
        &self,
        world: &mut World,
        set: impl FnOnce(&mut World, &Settings) -> Result<(), selene_sim::SettingsError>,
    ) {
        let mut board = self.lock();
        if std::mem::take(&mut board.is_new) {
            board.drop_settings_of_the_gone(world);
            if let Err(error) = set(world, &board.settings) {
                tracing::warn!("a setting was not taken: {error}");
                board.settings = world.state().settings();
            }
        }
        let lamps = std::mem::take(&mut board.lamps);
        if !lamps.is_empty() {
            for (rover, command) in lamps {
                if let Err(error) = world.drive(rover, Command::Lamp(command)) {
                    tracing::warn!("a lamp was not set: {error}");
                }
            }
            // At once, as the heartbeat to come would at its beginning: who asks for the level hears the new one.
            world.take_commands();
        }
        board.read(world);
    }

    /// Forgets what was set in a world that is not there any more.
    pub(crate) fn begin_anew(&self, world: &World) {
        let mut board = self.lock();
        board.settings = world.state().settings();
        (board.is_new, board.lamps) = (false, Vec::new());
        board.read(world);
    }

    /// Settings are whole even if somebody panicked while holding them.
    fn lock(&self) -> MutexGuard<'_, Board> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    fn drop_settings_of_the_gone(&mut self, world: &World) {
        let rovers = &world.state().rovers;
        self.settings.sensors.retain(|(rover, sensor), _| {
            let is_there = rovers.contains_key(rover);
            if !is_there {
                tracing::warn!("what was set of sensor {sensor} is dropped: its rover {rover} was removed");
            }
            is_there
        });
    }

    fn read(&mut self, world: &World) {
        let state = world.state();
        self.time = state.time;
        self.lamp_levels.retain(|id, _| state.rovers.contains_key(id));
        for (id, rover) in &state.rovers {
            let levels = self.lamp_levels.entry(*id).or_default();
            if levels[..] != *rover.driver.lamp_levels() {
                *levels = rover.driver.lamp_levels().to_vec();
            }
        }
    }
}
