//! The Python class `World`: one simulated world with its sensors.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use selene_base::SimTime;
use selene_observe::SensorId;
use selene_sim::{
    AllowedFolders, Checkpoint, Command, EntityId, Fingerprint, JointCommand, LampCommand, LoadOptions, Model,
    RoverSnapshot, Scenario, World as SimWorld,
};
use selene_vehicle::{Ackermann, BodyTwist};

use crate::arrays::{image, numbers, put_pose, put_twist, rows};
use crate::observers::{Observers, SimulatedSensors};
use crate::{fault, picture, threads};

/// Interval at which a step checks for Python's signals, such as Ctrl-C.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// A simulated world that Python steps.
#[pyclass(module = "selene")]
pub(crate) struct World {
    file: PathBuf,
    data: Option<PathBuf>,
    /// Model of the world at its start, without entities that are added later.
    model: Arc<Model>,
    print: Fingerprint,
    world: SimWorld,
    /// Behind a mutex, since a Python class must be `Sync` and tracers are only `Send`.
    observers: Mutex<Observers>,
}

/// A world with its sensors at the start of a scenario.
struct StartedWorld {
    model: Arc<Model>,
    print: Fingerprint,
    world: SimWorld,
    observers: Observers,
}

impl StartedWorld {
    fn load(file: &Path, data: Option<PathBuf>, seed: Option<u64>, wanted: SimulatedSensors) -> PyResult<Self> {
        let options = LoadOptions { data_dir: data, seed, ..LoadOptions::default() };
        let scenario = Scenario::load(file, &options).map_err(|what| fault::error(&what))?;
        let model = Arc::new(Model::new(Arc::new(scenario)).map_err(|what| fault::error(&what))?);
        let print = Fingerprint::of(model.scenario(), model.terrain());
        let mut world = SimWorld::begin(Arc::clone(&model), None).map_err(|what| fault::error(&what))?;
        let observers = Observers::begin(&mut world, wanted)?;
        Ok(Self { model, print, world, observers })
    }
}

#[pymethods]
impl World {
    #[new]
    #[pyo3(signature = (scenario, *, seed=None, data=None, instruments=true, cameras=false, lidars=false))]
    fn new(
        py: Python<'_>,
        scenario: PathBuf,
        seed: Option<i128>,
        data: Option<PathBuf>,
        instruments: bool,
        cameras: bool,
        lidars: bool,
    ) -> PyResult<Self> {
        let wanted = SimulatedSensors { instruments, cameras, lidars };
        let seed = seed.map(|seed| fault::whole("seed", seed)).transpose()?;
        let file = shipped(py, "scenario", scenario)?;
        let StartedWorld { model, print, world, observers } =
            threads::detached(py, || StartedWorld::load(&file, data.clone(), seed, wanted))?;
        Ok(Self { file, data, model, print, world, observers: Mutex::new(observers) })
    }

    /// Steps for `seconds` or for a number of `heartbeats`, by default for one heartbeat; returns the simulated time,
    /// s. A signal ends it between two heartbeats.
    #[pyo3(signature = (seconds=None, *, heartbeats=None))]
    fn step(&mut self, py: Python<'_>, seconds: Option<f64>, heartbeats: Option<i128>) -> PyResult<f64> {
        let count = self.heartbeats(seconds, heartbeats)?;
        let Self { world, observers, .. } = self;
        py.detach(|| {
            let (observers, mut requested) = (whole(observers), Instant::now());
            (0..count).try_for_each(|_| {
                threads::on_threads(|| observers.heartbeat(world))?;
                if requested.elapsed() < SIGNALS_EVERY {
                    return Ok(());
                }
                requested = Instant::now();
                Python::attach(|py| py.check_signals())
            })
        })?;
        Ok(self.world.time().secs_f64())
    }

    /// Commands a rover's velocity: forward and left, m/s, and turn rate, rad/s. It holds for half a second.
    #[pyo3(signature = (forward_m_s, turn_rad_s=0.0, *, left_m_s=0.0, rover=None))]
    fn drive(&mut self, forward_m_s: f64, turn_rad_s: f64, left_m_s: f64, rover: Option<&str>) -> PyResult<()> {
        self.command(rover, Command::Body(BodyTwist { forward_m_s, left_m_s, turn_rad_s }))
    }

    /// Commands a rover to drive like a car: speed, m/s, and steering angle, rad. It holds for half a second.
    #[pyo3(signature = (speed_m_s, steering_angle_rad, *, rover=None))]
    fn drive_car(&mut self, speed_m_s: f64, steering_angle_rad: f64, rover: Option<&str>) -> PyResult<()> {
        self.command(rover, Command::Ackermann(Ackermann { speed_m_s, steering_angle_rad, ..Ackermann::default() }))
    }

    /// Sets the target of one joint: rad/s for a drive or a servo by rate, rad for a steer or a servo by position.
    #[pyo3(signature = (joint, target, *, rover=None))]
    fn set_joint(&mut self, joint: String, target: f64, rover: Option<&str>) -> PyResult<()> {
        self.command(rover, Command::Joint(JointCommand { joint, target }))
    }

    /// Sets the brightness of a lamp as a fraction of its full flux, 0 to 1.
    #[pyo3(signature = (lamp, level, *, rover=None))]
    fn set_lamp(&mut self, lamp: String, level: f64, rover: Option<&str>) -> PyResult<()> {
        self.command(rover, Command::Lamp(LampCommand { lamp, level }))
    }

    /// Goes back to the start; with another seed, loads the scenario with that seed and makes its ground anew.
    #[pyo3(signature = (seed=None))]
    fn reset(&mut self, py: Python<'_>, seed: Option<i128>) -> PyResult<()> {
        let seed = seed.map(|seed| fault::whole("seed", seed)).transpose()?;
        let wanted = whole(&mut self.observers).wanted();
        if seed.is_none_or(|seed| seed == self.model.scenario().seed) {
            // Not `World::reset`, which takes a restored world back only to the state that was restored.
            let begin = || -> PyResult<_> {
                let world = SimWorld::begin(Arc::clone(&self.model), None);
                let mut world = world.map_err(|what| fault::error(&what))?;
                let observers = Observers::begin(&mut world, wanted)?;
                Ok((world, observers))
            };
            let (world, observers) = threads::detached(py, begin)?;
            (self.world, self.observers) = (world, Mutex::new(observers));
            return Ok(());
        }
        let (file, data) = (self.file.clone(), self.data.clone());
        let StartedWorld { model, print, world, observers } =
            threads::detached(py, || StartedWorld::load(&file, data, seed, wanted))?;
        (self.model, self.print, self.world, self.observers) = (model, print, world, Mutex::new(observers));
        Ok(())
    }

    /// The state, with the recent snapshots that sensors need, as the bytes of a file for `selene run --resume`.
    fn save<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let recent = whole(&mut self.observers).recent();
        let (state, print) = (self.world.copy_state().map_err(|what| fault::error(&what))?, &self.print);
        let checkpoint = Checkpoint { state, recent };
        let bytes = threads::detached(py, || checkpoint.to_bytes(print).map_err(|what| fault::error(&what)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Continues from a saved state of this scenario.
    fn restore(&mut self, py: Python<'_>, state: Vec<u8>) -> PyResult<()> {
        let wanted = whole(&mut self.observers).wanted();
        let (model, print, folders) = (&self.model, &self.print, self.folders());
        let resume = || -> PyResult<_> {
            let saved =
                Checkpoint::from_bytes(&state, Path::new("state"), print).map_err(|what| fault::error(&what))?;
            let resumed = SimWorld::resume_with(model, saved.state, &saved.recent, &folders);
            let mut world = resumed.map_err(|what| fault::error(&what))?;
            let observers = Observers::go_on(&mut world, wanted, &saved.recent)?;
            Ok((world, observers))
        };
        let (world, observers) = threads::detached(py, resume)?;
        (self.world, self.observers) = (world, Mutex::new(observers));
        Ok(())
    }

    /// An independent world in the same state. Its sensors continue; the data that they gave before are not copied.
    fn clone(&mut self, py: Python<'_>) -> PyResult<Self> {
        let mut world = self.world.branch().map_err(|what| fault::error(&what))?;
        let old = whole(&mut self.observers);
        let (wanted, recent) = (old.wanted(), old.recent().of_epoch(world.epoch()));
        let observers = threads::detached(py, || Observers::go_on(&mut world, wanted, &recent))?;
        Ok(Self {
            file: self.file.clone(),
            data: self.data.clone(),
            model: Arc::clone(&self.model),
            print: self.print.clone(),
            world,
            observers: Mutex::new(observers),
        })
    }

    /// A hash over every bit of the state: the same that `selene hash` prints.
    fn state_hash(&self) -> PyResult<u64> {
        self.world.hash().map_err(|what| fault::error(&what))
    }

    /// Simulated time, s.
    #[getter]
    fn time(&self) -> f64 {
        self.world.time().secs_f64()
    }

    /// Duration of one heartbeat, s.
    #[getter]
    fn heartbeat_s(&self) -> f64 {
        self.world.scenario().heartbeat.secs_f64()
    }

    /// The scenario's seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.world.scenario().seed
    }

    /// Names of the rovers.
    #[getter]
    fn rovers(&self) -> Vec<String> {
        self.world.model().rovers().values().map(|kind| kind.setup().name.clone()).collect()
    }

    /// Names of a rover's sensors.
    #[pyo3(signature = (rover=None))]
    fn sensors(&self, rover: Option<&str>) -> PyResult<Vec<String>> {
        let id = self.rover_id(rover)?;
        let setup = self.world.model().rovers().get(&id).map(|kind| kind.setup());
        let sensors = setup.into_iter().flat_map(|setup| &setup.sensors);
        Ok(sensors.map(|sensor| sensor.spec.header().name.to_owned()).collect())
    }

    /// Names of a rover's joints and servos that can be commanded.
    #[pyo3(signature = (rover=None))]
    fn joints(&self, rover: Option<&str>) -> PyResult<Vec<String>> {
        let id = self.rover_id(rover)?;
        let model = self.world.model().rovers().get(&id).map(|kind| kind.model());
        let all = model.map(|model| selene_sim::Actuator::of(model)).unwrap_or_default();
        Ok(all.into_iter().map(|actuator| actuator.name).collect())
    }

    /// The latest datum of a sensor; None before its first.
    #[pyo3(signature = (sensor, *, rover=None))]
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        sensor: &str,
        rover: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let known = self.sensors(rover)?;
        if !known.iter().any(|name| name == sensor) {
            return Err(fault::value(format!("sensor '{sensor}': the rover has {}", known.join(", "))));
        }
        let id = SensorId { rover: self.rover_id(rover)?, name: sensor.to_owned() };
        whole(&mut self.observers).read(py, &id)
    }

    /// True pose, velocity, joints, wheels and drums of a rover, without sensors.
    #[pyo3(signature = (name=None))]
    fn rover<'py>(&mut self, py: Python<'py>, name: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
        let id = self.rover_id(name)?;
        let now = Arc::clone(whole(&mut self.observers).now());
        let rover = now.rover(id).ok_or_else(|| fault::value(format!("rover {id} was taken away")))?;
        let to = PyDict::new(py);
        put_pose(&to, &rover.world_from_base())?;
        put_twist(&to, &rover.body_twist())?;
        to.set_item("acceleration_m_s2", crate::arrays::vector(py, &rover.base_acceleration))?;
        to.set_item("joint_position", numbers(py, rover.joint_position.clone()))?;
        to.set_item("joint_velocity", numbers(py, rover.joint_velocity.clone()))?;
        to.set_item("joint_effort", numbers(py, rover.joint_effort.clone()))?;
        put_wheels(&to, rover)?;
        to.set_item("drum_soil_kg", numbers(py, rover.drum_loads_kg.clone()))?;
        Ok(to)
    }

    /// Image that a camera would take now, (rows, columns, 3) of 8 bits; without a name, the rover's first camera.
    #[pyo3(signature = (camera=None, *, rover=None))]
    fn render<'py>(&self, py: Python<'py>, camera: Option<&str>, rover: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        render(py, &self.world, self.rover_id(rover)?, camera)
    }

    fn __repr__(&self) -> String {
        let scenario = self.world.scenario();
        format!("<selene.World {} seed {} at {}>", scenario.name, scenario.seed, self.world.time())
    }
}

impl World {
    fn heartbeats(&self, seconds: Option<f64>, heartbeats: Option<i128>) -> PyResult<u64> {
        match (seconds, heartbeats) {
            (Some(_), Some(_)) => Err(fault::value("seconds and heartbeats are given; one of the two is allowed")),
            (None, count) => fault::whole("heartbeats", count.unwrap_or(1)),
            (Some(seconds), None) => {
                let heartbeat = self.world.scenario().heartbeat;
                let span = SimTime::from_secs_f64(seconds);
                if !seconds.is_finite() || seconds < 0.0 || span % heartbeat != SimTime::ZERO {
                    let reported = "must be a whole number of heartbeats, 0 or more";
                    let heartbeat_s = heartbeat.secs_f64();
                    return Err(fault::value(format!("seconds: {seconds} {reported}; one is {heartbeat_s} s")));
                }
                Ok((span / heartbeat) as u64)
            }
        }
    }

    /// Id of the named rover, or of the only rover if no name is given.
    fn rover_id(&self, name: Option<&str>) -> PyResult<EntityId> {
        let known = self.rovers();
        match name {
            Some(name) => self
                .world
                .model()
                .rover_named(name)
                .ok_or_else(|| fault::value(format!("rover '{name}': the world has {}", known.join(", ")))),
            None if known.len() == 1 => self.rover_id(known.first().map(String::as_str)),
            None => Err(fault::value(format!("rover: one of {} must be named", known.join(", ")))),
        }
    }

    /// Applies a command at once, so that a bad one is refused now and not by the next step.
    fn command(&mut self, rover: Option<&str>, command: Command) -> PyResult<()> {
        let id = self.rover_id(rover)?;
        let refused = |world: &SimWorld| world.state().rovers.get(&id).map(|rover| rover.driver.refused());
        let before = refused(&self.world);
        self.world.drive(id, command).map_err(|what| fault::error(&what))?;
        if refused(&self.world) == before {
            return Ok(());
        }
        let rover = self.world.state().rovers.get(&id);
        Err(fault::value(rover.and_then(|rover| rover.driver.last_refusal()).unwrap_or("the command is refused")))
    }

    /// Folders that may hold the files of entities which were added to a saved world.
    fn folders(&self) -> AllowedFolders {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        AllowedFolders::new([folder.to_owned(), folder.join(".."), folder.join("../../urdf")])
    }
}

/// Path of the file `name`, or of the shipped file with that name.
pub(crate) fn shipped(py: Python<'_>, kind: &str, name: PathBuf) -> PyResult<PathBuf> {
    py.import("selene._places")?.call_method1(kind, (name,))?.extract()
}

/// The observers; `&mut` makes locking unnecessary.
fn whole(observers: &mut Mutex<Observers>) -> &mut Observers {
    observers.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The image of a rover's camera as an array (rows, columns, 3) of 8 bits.
pub(crate) fn render<'py>(
    py: Python<'py>,
    world: &SimWorld,
    rover: EntityId,
    camera: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let picture = threads::detached(py, || picture::take(world, rover, camera).map_err(|what| what.exception()))?;
    image(py, picture)
}

/// Puts the contact of each wheel with the ground into a dictionary, one entry per wheel; forces in `base_link`.
fn put_wheels(to: &Bound<'_, PyDict>, rover: &RoverSnapshot) -> PyResult<()> {
    let py = to.py();
    let of = |value: fn(&selene_sim::WheelTruth) -> f64| numbers(py, rover.wheels.iter().map(value).collect());
    to.set_item("slip", of(|wheel| wheel.slip_ratio))?;
    to.set_item("slip_angle_rad", of(|wheel| wheel.slip_angle_rad))?;
    to.set_item("sinkage_m", of(|wheel| wheel.sinkage_m))?;
    to.set_item("wheel_rate_rad_s", of(|wheel| wheel.rate_rad_s))?;
    to.set_item("wheel_torque_nm", of(|wheel| wheel.drive_torque_nm))?;
    let forces = rover.wheels.iter().flat_map(|wheel| [wheel.force_n.x, wheel.force_n.y, wheel.force_n.z]);
    to.set_item("wheel_force_n", rows(py, forces.collect(), 3)?)
}
