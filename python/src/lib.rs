//! Selene as a module of Python: `selene._native`. The package around it, `python/selene/`, has what is easier to say
//! in Python: Gymnasium's and PettingZoo's interfaces. Here are worlds, what their sensors give as NumPy arrays, and
//! many environments stepped at once.
//!
//! Nothing of ROS is here. Python's lock is free while a world is stepped, an image traced or environments reset. Bad
//! input is an exception with its file and line (`fault`); a panic would be one too, which PyO3 raises.

mod arrays;
mod datum;
mod environments;
mod fault;
mod observers;
mod picture;
mod world;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<fault::Error>())?;
    module.add_class::<world::World>()?;
    module.add_class::<environments::Environments>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
