//! Settings of a running world that other threads can change: sensors, lamps and sky. Other threads write here at any
//! time. The node applies the changes between two heartbeats, before all requests, and writes back the settings that
//! the world then has, for instance after a reset.
//!
//! The last value set is the one that counts; so, unlike requests, settings need no queue that could be full.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;
use selene_sensors::SensorSetting;
use selene_sim::{Command, EntityId, LampCommand, Settings, SettingsError, State, World};

use crate::RunStart;

/// Settings of a running world; all clones share them.
#[derive(Clone, Debug, Default)]
pub struct LiveSettings {
    shared: Arc<Mutex<Board>>,
}

#[derive(Debug, Default)]
struct Board {
    settings: Settings,
    /// Brightness of each rover's lamps, 0 to 1, in the order of its lamps.
    lamp_levels: BTreeMap<EntityId, Vec<f64>>,
    time: SimTime,
    /// Whether a setting has changed since the node last applied them.
    is_new: bool,
    /// Requested brightness of lamps, 0 to 1, by rover and lamp name.
    lamps: BTreeMap<(EntityId, String), f64>,
}

impl LiveSettings {
    /// Takes the settings of a run that is resumed.
    pub fn begin(&self, begin: &RunStart) {
        if let RunStart::Resume(checkpoint) = begin {
            self.lock().read_all(&checkpoint.state);
        }
    }

    /// Simulated time at the latest heartbeat.
    #[must_use]
    pub fn time(&self) -> SimTime {
        self.lock().time
    }

    /// By how much the time used for the sky is ahead of simulated time.
    #[must_use]
    pub fn sky_offset(&self) -> SimTime {
        self.lock().settings.sky_offset
    }

    /// Sets the offset of the sky's time from simulated time.
    pub fn set_sky_offset(&self, offset: SimTime) {
        let mut board = self.lock();
        board.settings.sky_offset = offset;
        board.is_new = true;
    }

    /// The setting of a rover's sensor.
    #[must_use]
    pub fn sensor(&self, rover: EntityId, sensor: &str) -> SensorSetting {
        self.lock().settings.sensors.get(&(rover, sensor.to_owned())).copied().unwrap_or_default()
    }

    /// Replaces the setting of a rover's sensor by `change` of it.
    pub fn set_sensor(&self, rover: EntityId, sensor: &str, change: impl FnOnce(SensorSetting) -> SensorSetting) {
        let mut board = self.lock();
        let setting = board.settings.sensors.entry((rover, sensor.to_owned())).or_default();
        *setting = change(*setting);
        board.is_new = true;
    }

    /// Brightness of a rover's lamp, 0 to 1; `None` before the run begins.
    #[must_use]
    pub fn lamp_level(&self, rover: EntityId, lamp: usize) -> Option<f64> {
        self.lock().lamp_levels.get(&rover)?.get(lamp).copied()
    }

    /// Commands the brightness of a rover's lamp.
    pub fn light(&self, rover: EntityId, command: LampCommand) {
        self.lock().lamps.insert((rover, command.lamp), command.level);
    }

    /// Applies the settings made so far to a world that begins.
    pub(crate) fn begin_world(&self, world: &mut World) {
        self.hand_to(world, World::begin_with);
    }

    /// Applies the settings made since the last heartbeat to a running world.
    pub(crate) fn give(&self, world: &mut World) {
        self.hand_to(world, World::set);
    }

    /// Copies the settings of a shared world, which cannot be changed here, for readers.
    pub(crate) fn report(&self, world: &World) {
        self.lock().read_all(world.state());
    }

    fn hand_to(&self, world: &mut World, set: impl Fn(&mut World, &Settings) -> Result<(), SettingsError>) {
        let mut board = self.lock();
        if std::mem::take(&mut board.is_new) {
            board.drop_settings_of_the_gone(world);
            board.set(world, set);
        }
        board.light(world);
        board.read(world.state());
    }

    /// Drops the settings made before a reset of the world.
    pub(crate) fn begin_anew(&self, world: &World) {
        let mut board = self.lock();
        (board.is_new, board.lamps) = (false, BTreeMap::new());
        board.read_all(world.state());
    }

    /// Settings are consistent even if a thread panicked while holding the lock.
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

    /// Applies the settings one by one: those that the world refuses keep their old value.
    fn set(&mut self, world: &mut World, set: impl Fn(&mut World, &Settings) -> Result<(), SettingsError>) {
        let mut taken = world.state().settings();
        let mut set_part = |change: &dyn Fn(&mut Settings)| {
            let mut changed = taken.clone();
            change(&mut changed);
            match set(world, &changed) {
                Ok(()) => taken = changed,
                Err(error) => tracing::warn!("a setting was not taken: {error}"),
            }
        };
        set_part(&|settings| settings.sky_offset = self.settings.sky_offset);
        for (sensor, setting) in &self.settings.sensors {
            set_part(&|settings| {
                settings.sensors.insert(sensor.clone(), *setting);
            });
        }
        self.settings = taken;
    }

    fn light(&mut self, world: &mut World) {
        if self.lamps.is_empty() {
            return;
        }
        for ((rover, lamp), level) in std::mem::take(&mut self.lamps) {
            if let Err(error) = world.drive(rover, Command::Lamp(LampCommand { lamp, level })) {
                tracing::warn!("a lamp was not set: {error}");
            }
        }
    }

    fn read_all(&mut self, state: &State) {
        self.settings = state.settings();
        self.read(state);
    }

    fn read(&mut self, state: &State) {
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

#[cfg(test)]
mod tests {
    use super::LiveSettings;
    use selene_base::SimTime;
    use selene_sensors::SensorSetting;
    use selene_sim::{EntityId, LampCommand, LoadOptions, Scenario, World};
    use std::path::Path;
    use std::sync::Arc;

    const ROVER: EntityId = EntityId(1);

    /// A VIPER on the test yard with an inertial unit.
    fn world() -> World {
        let text = "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\n\
                    heartbeat_s: 0.01\nsite: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\n\
                    rover: { file: ../rover/viper.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }\n\
                    sensors: [../sensor/imu.yaml]\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/test.yaml");
        let scenario = Scenario::parse(text, &path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        World::new(Arc::new(scenario)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_refused_takes_back_nothing_else() {
        let (live, mut world) = (LiveSettings::default(), world());
        let off = SensorSetting { enabled: false, ..SensorSetting::default() };
        let later = SimTime::from_nanos(3_600_000_000_000);
        live.set_sky_offset(later);
        // One name sorts before the existing sensor and one after it.
        for sensor in ["camera", "imu", "sonar"] {
            live.set_sensor(ROVER, sensor, |_| off);
        }
        live.give(&mut world);
        let set = world.state().settings();
        assert_eq!((set.sky_offset, set.sensors), (later, [((ROVER, "imu".to_owned()), off)].into()));
        let reported = ["camera", "imu", "sonar"].map(|sensor| live.sensor(ROVER, sensor));
        assert_eq!((live.sky_offset(), reported), (later, [SensorSetting::default(), off, SensorSetting::default()]));
    }

    #[test]
    fn of_a_lamp_what_is_set_last_counts() {
        let (live, mut world) = (LiveSettings::default(), world());
        for level in [0.2, 0.9, 0.4] {
            live.light(ROVER, LampCommand { lamp: "headlight_left".to_owned(), level });
        }
        assert_eq!(live.lock().lamps.len(), 1);
        live.give(&mut world);
        assert_eq!(live.lamp_level(ROVER, 0), Some(0.4));
        assert!(live.lock().lamps.is_empty());
    }
}
