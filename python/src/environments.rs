//! The Python class `Environments`: a batch of environments of one course.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use selene_learn::{Autoreset, Batch, Course, Environment, Step};
use selene_sim::{AllowedFolders, LoadOptions, World as SimWorld};

use crate::arrays::{numbers, rows};
use crate::{fault, threads, world};

/// Environments that are stepped at once.
#[pyclass(module = "selene")]
pub(crate) struct Environments {
    batch: Option<Batch>,
    course: Arc<Course>,
}

#[pymethods]
impl Environments {
    #[new]
    #[pyo3(signature = (course, count=1, *, seed=0, autoreset="next_step", threads=None, data=None))]
    fn new(
        py: Python<'_>,
        course: PathBuf,
        count: i128,
        seed: i128,
        autoreset: &str,
        threads: Option<i128>,
        data: Option<PathBuf>,
    ) -> PyResult<Self> {
        let autoreset = match autoreset {
            "next_step" => Autoreset::NextStep,
            "same_step" => Autoreset::SameStep,
            "disabled" => Autoreset::Disabled,
            other => {
                return Err(fault::value(format!("autoreset: '{other}' is none of next_step, same_step, disabled")));
            }
        };
        let (count, seed) = (fault::whole("count", count)?, fault::whole("seed", seed)?);
        let threads = threads.map(|threads| fault::whole("threads", threads)).transpose()?;
        let file = world::shipped(py, "course", course)?;
        let options = LoadOptions { data_dir: data, ..LoadOptions::default() };
        let begin = || {
            let course = Arc::new(Course::load(&file, &options)?);
            Ok((Batch::new(Arc::clone(&course), count, seed, autoreset, threads)?, course))
        };
        let (batch, course) = threads::detached(py, || begin().map_err(|what| fault::of_learning(&what)))?;
        Ok(Self { batch: Some(batch), course })
    }

    /// Number of environments.
    #[getter]
    fn count(&self) -> usize {
        self.batch.as_ref().map_or(0, Batch::count)
    }

    /// Names of the rovers that learn, the same in each environment.
    #[getter]
    fn learners(&self) -> Vec<String> {
        self.course.learner_names()
    }

    /// Names of one rover's observations, in order, with units.
    #[getter]
    fn observation_names(&self) -> Vec<String> {
        self.course.spec().task.observation_names()
    }

    /// Number of components of one rover's action.
    #[getter]
    fn action_width(&self) -> usize {
        self.course.action_width()
    }

    /// Names of an action's components, in order; each is a fraction of the rover's maximum, -1 to 1.
    #[getter]
    fn action_names(&self) -> Vec<&'static str> {
        self.course.spec().task.action_names().to_vec()
    }

    /// Maximum number of steps of an episode.
    #[getter]
    fn steps_max(&self) -> u64 {
        self.course.steps_max()
    }

    /// Time between two actions, s.
    #[getter]
    fn control_s(&self) -> f64 {
        self.course.spec().control_s
    }

    /// Height, width and channels of observed images; None if the course has no camera.
    #[getter]
    fn image_shape(&self) -> Option<[usize; 3]> {
        self.course.image_shape().map(|shape| [shape.height, shape.width, shape.channels])
    }

    /// The images that are observed now, one of each rover, (rovers, height, width, channels) of 8 bits; None if the
    /// course has no camera.
    fn images<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = self.batch.as_ref().ok_or_else(closed)?;
        self.pictured(py, batch.images())
    }

    /// Resets the environments that are `chosen` (all by default), with `seeds` where given; returns the observations.
    #[pyo3(signature = (seeds=None, chosen=None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seeds: Option<Vec<Option<i128>>>,
        chosen: Option<Vec<bool>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = open(&mut self.batch)?;
        let seed = |seed: Option<i128>| seed.map(|seed| fault::whole("seeds", seed)).transpose();
        let seeds = match seeds {
            Some(seeds) => seeds.into_iter().map(seed).collect::<PyResult<Vec<_>>>()?,
            None => vec![None; batch.count()],
        };
        let chosen = chosen.unwrap_or_else(|| vec![true; batch.count()]);
        threads::detached(py, || batch.reset(&seeds, &chosen).map_err(|what| fault::of_learning(&what)))?;
        let observations = batch.observations();
        self.observed(py, observations)
    }

    /// Applies one row of `actions` per rover and steps by `control_s`; returns what the step led to.
    fn step<'py>(&mut self, py: Python<'py>, actions: PyReadonlyArrayDyn<'py, f32>) -> PyResult<Bound<'py, PyDict>> {
        let batch = open(&mut self.batch)?;
        let wanted = [batch.count() * self.course.learners().len(), self.course.action_width()];
        if actions.shape() != wanted {
            return Err(fault::value(format!(
                "actions: shape {:?} is not allowed: must be {wanted:?}",
                actions.shape()
            )));
        }
        let actions: Vec<f32> = actions.as_array().iter().copied().collect();
        let step = threads::detached(py, || batch.step(&actions).map_err(|what| fault::of_learning(&what)))?;
        self.stepped(py, step)
    }

    /// A hash over the states of all environments.
    fn state_hash(&self) -> PyResult<u64> {
        self.batch.as_ref().map(Batch::hash).ok_or_else(closed)
    }

    /// Hash of one environment's state; a `World` in this state has the same.
    #[pyo3(signature = (index=0))]
    fn state_hash_of(&self, index: i128) -> PyResult<u64> {
        let batch = self.batch.as_ref().ok_or_else(closed)?;
        Ok(environment(batch, index)?.state().hash())
    }

    /// Image that a learning rover's first camera would take now in one environment, (rows, columns, 3) of 8 bits.
    #[pyo3(signature = (index=0, learner=0))]
    fn render<'py>(&self, py: Python<'py>, index: i128, learner: i128) -> PyResult<Bound<'py, PyAny>> {
        let environment = environment(self.batch.as_ref().ok_or_else(closed)?, index)?;
        let learners = self.course.learners();
        let rover = usize::try_from(learner).ok().and_then(|learner| learners.get(learner).copied());
        let rover = rover.ok_or_else(|| no_such("learner", learner, learners.len()))?;
        let (model, state) = (environment.model(), environment.state().clone());
        let resume = || SimWorld::resume(model, state, &AllowedFolders::default()).map_err(|what| fault::error(&what));
        world::render(py, &threads::detached(py, resume)?, rover, None)
    }

    /// Frees the worlds; every later call is refused.
    fn close(&mut self, py: Python<'_>) {
        let batch = self.batch.take();
        py.detach(|| drop(batch));
    }
}

impl Environments {
    fn observed<'py>(&self, py: Python<'py>, values: Vec<f32>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, values, self.course.spec().task.observation_names().len())
    }

    fn pictured<'py>(&self, py: Python<'py>, data: Vec<u8>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(shape) = self.course.image_shape() else { return Ok(None) };
        let count = data.len().checked_div(shape.bytes()).unwrap_or(0);
        let all = numbers(py, data).reshape([count, shape.height, shape.width, shape.channels])?;
        Ok(Some(all.into_any()))
    }

    fn stepped<'py>(&self, py: Python<'py>, step: Step) -> PyResult<Bound<'py, PyDict>> {
        let to = PyDict::new(py);
        to.set_item("observations", self.observed(py, step.observations)?)?;
        if let Some(images) = self.pictured(py, step.images)? {
            to.set_item("images", images)?;
        }
        to.set_item("rewards", numbers(py, step.rewards))?;
        to.set_item("terminated", numbers(py, step.terminated))?;
        to.set_item("truncated", numbers(py, step.truncated))?;
        if step.ends.iter().any(Option::is_some) {
            let ends = step.ends.iter().map(|end| end.map(selene_learn::EpisodeEnd::name));
            to.set_item("ends", ends.collect::<Vec<_>>())?;
        }
        if !step.last_observed.is_empty() {
            let last = PyDict::new(py);
            for (index, observed) in step.last_observed {
                last.set_item(index, (self.observed(py, observed.values)?, self.pictured(py, observed.images)?))?;
            }
            to.set_item("last_observed", last)?;
        }
        Ok(to)
    }
}

fn open(batch: &mut Option<Batch>) -> PyResult<&mut Batch> {
    batch.as_mut().ok_or_else(closed)
}

fn closed() -> PyErr {
    fault::error(&"the environments are closed: make new ones")
}

fn environment(batch: &Batch, index: i128) -> PyResult<&Environment> {
    let found = usize::try_from(index).ok().and_then(|index| batch.environment(index));
    found.ok_or_else(|| no_such("index", index, batch.count()))
}

fn no_such(name: &str, index: i128, count: usize) -> PyErr {
    fault::value(format!("{name}: {index} is not allowed: there are {count}, counted from 0"))
}
