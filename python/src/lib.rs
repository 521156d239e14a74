//! The Python module `selene._native`: worlds, their sensor data as NumPy arrays, and batches of environments. The
//! package around it, `python/selene/`, adds the interfaces of Gymnasium and PettingZoo, written in Python.
//!
//! The module does not use ROS. Python's global lock (GIL) is released while a world is stepped, an image traced or
//! environments reset. Bad input raises an exception with its file and line (`fault`); a panic would raise PyO3's own.

mod arrays;
mod datum;
mod environments;
mod fault;
mod observers;
mod picture;
mod threads;
mod world;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    threads::note_process();
    module.add("Error", module.py().get_type::<fault::Error>())?;
    module.add_class::<world::World>()?;
    module.add_class::<environments::Environments>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
