//! One rover of a scenario, loaded and checked: its model, start, sensors, route, motions and soils.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::input::YamlFile;
use selene_sensors::{CameraSpec, ImuSpec, LidarSpec, SensorKind, SensorSpec};
use selene_soil::Soils;
use selene_vehicle::RoverModel;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::driving::{JointTrajectory, RouteSpec};
use crate::scenario::ScenarioError;
use crate::scenario::motion::MotionSpec;
use crate::scenario::sensors;
use crate::scenario::spec::{LampLevelSpec, RoverEntrySpec, StartSpec};

/// One rover of a scenario.
#[derive(Clone, Debug)]
pub struct RoverSetup {
    /// Its name, unique in the world.
    pub name: String,
    /// Its model.
    pub model: Arc<RoverModel>,
    /// Namespace of its topics; empty for none.
    pub namespace: String,
    /// Prefix of its TF frames: its name and a slash; empty for the rover of a scenario in the short form.
    pub frame_prefix: String,
    /// Where it starts.
    pub start: Start,
    /// Its sensors, each on a link.
    pub sensors: Vec<MountedSensor>,
    /// The route that it follows until somebody drives it.
    pub route: Option<RouteSpec>,
    /// Scripted motions of its joints, as commands at the start.
    pub motions: Vec<JointTrajectory>,
    /// The soils under its wheels, if they are not the scenario's.
    pub soils: Option<Soils>,
    /// Seed of its sensors' noise.
    pub sensor_seed: u64,
    /// The rover's file.
    pub file: PathBuf,
}

/// Where a rover starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Start {
    /// Map x, m.
    pub x_m: f64,
    /// Map y, m.
    pub y_m: f64,
    /// Height above standing on the ground, m.
    pub z_m: f64,
    /// Heading from map x (east), counter-clockwise, rad.
    pub yaw_rad: f64,
}

/// A sensor and the link of its rover that carries it.
#[derive(Clone, Debug)]
pub struct MountedSensor {
    /// Parameters of the sensor.
    pub spec: SensorSpec,
    /// Index of its link among the rover's.
    pub link: usize,
}

/// A sensor of one kind, and the link that carries it.
#[derive(Clone, Copy, Debug)]
pub struct Mounted<'a, S> {
    /// Parameters of the sensor.
    pub spec: &'a S,
    /// Index of its link among the rover's.
    pub link: usize,
}

impl From<StartSpec> for Start {
    fn from(StartSpec { x_m, y_m, z_m, yaw_deg }: StartSpec) -> Self {
        Self { x_m, y_m, z_m, yaw_rad: yaw_deg.to_radians() }
    }
}

impl RoverSetup {
    /// Reads all files of a rover; they are relative to `folder`, `scenario` is named in errors.
    pub(crate) fn load(
        spec: &RoverEntrySpec,
        folder: &Path,
        scenario: &YamlFile,
        seed: u64,
    ) -> Result<Self, ScenarioError> {
        let file = folder.join(&spec.file);
        let mut model = RoverModel::load(&file)?;
        light_lamps(&mut model, &spec.lamps).map_err(|what| spec.refusal(scenario, "lamps", what))?;
        let sensors = sensors::load(&spec.sensors, folder, &mut model)?;
        let soils = spec.soil.as_ref().map(|soil| Soils::load(soil, folder, seed)).transpose()?;
        let (frame_prefix, sensor_seed) = match &spec.name {
            Some(name) => (format!("{name}/"), xxh3_64_with_seed(name.as_bytes(), seed)),
            None => (String::new(), seed),
        };
        let setup = Self {
            name: spec.name.clone().unwrap_or_else(|| model.spec().name.clone()),
            namespace: spec.namespace.clone().or_else(|| spec.name.clone()).unwrap_or_default(),
            model: Arc::new(model),
            frame_prefix,
            start: spec.start.into(),
            sensors,
            route: spec.route.clone(),
            motions: spec.motions.iter().map(MotionSpec::trajectory).collect(),
            soils,
            sensor_seed,
            file,
        };
        let refused = |key: &'static str| move |what: String| spec.refusal(scenario, key, what);
        setup.refuse_repeated_sensors().map_err(refused("sensors"))?;
        setup.refuse_other_motions().map_err(refused("motions"))?;
        setup.refuse_cameras_that_are_no_pair().map_err(refused("sensors"))?;
        Ok(setup)
    }

    /// A topic of the rover: `name` under its namespace, or as it is when it begins
    /// with a slash.
    #[must_use]
    pub fn topic(&self, name: &str) -> String {
        match (name.starts_with('/'), self.namespace.as_str()) {
            (true, _) => name.to_owned(),
            (false, "") => format!("/{name}"),
            (false, namespace) => format!("/{namespace}/{name}"),
        }
    }

    /// The TF frame of one of its links.
    #[must_use]
    pub fn frame(&self, link: &str) -> String {
        format!("{}{link}", self.frame_prefix)
    }

    /// The TF frame of its root link, under `odom`.
    #[must_use]
    pub fn base_frame(&self) -> String {
        self.frame(self.model.base_name())
    }

    /// Its sensors of one kind.
    pub fn sensors_of<S: SensorKind + 'static>(&self) -> impl Iterator<Item = Mounted<'_, S>> {
        self.sensors.iter().filter_map(|sensor| Some(Mounted { spec: S::of(&sensor.spec)?, link: sensor.link }))
    }

    /// Its cameras.
    pub fn cameras(&self) -> impl Iterator<Item = Mounted<'_, CameraSpec>> {
        self.sensors_of::<CameraSpec>()
    }

    /// Its lidars.
    pub fn lidars(&self) -> impl Iterator<Item = Mounted<'_, LidarSpec>> {
        self.sensors_of::<LidarSpec>()
    }

    /// Its inertial units.
    pub fn imus(&self) -> impl Iterator<Item = Mounted<'_, ImuSpec>> {
        self.sensors_of::<ImuSpec>()
    }

    fn refuse_repeated_sensors(&self) -> Result<(), String> {
        let mut names: Vec<&str> = self.sensors.iter().map(|sensor| sensor.spec.header().name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two sensors are named '{}'; names must differ", pair[0])),
            None => Ok(()),
        }
    }
}

fn light_lamps(rover: &mut RoverModel, levels: &[LampLevelSpec]) -> Result<(), String> {
    for LampLevelSpec { name, level } in levels {
        if !rover.set_lamp_level(name, *level) {
            let names: Vec<&str> = rover.lamps().iter().map(|lamp| lamp.spec.name.as_str()).collect();
            return Err(format!("'{name}' is no lamp of the rover; it has {}", names.join(", ")));
        }
    }
    Ok(())
}
