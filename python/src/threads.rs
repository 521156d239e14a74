//! Work without Python's lock, on threads of this process. A child that `fork` made has none of its parent's threads:
//! rayon's global pool, once the parent has used it, would wait for them forever there. Such a child (a worker of
//! Gymnasium's `AsyncVectorEnv`, say) gets a pool of its own.

use std::process;
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::fault;

/// The process that loaded the module.
static LOADED_BY: OnceLock<u32> = OnceLock::new();
/// The pool of a forked child, and the child's number: it may fork too.
static FORKED: Mutex<Option<(u32, &ThreadPool)>> = Mutex::new(None);

/// Notes the process that loads the module.
pub(crate) fn note_process() {
    LOADED_BY.get_or_init(process::id);
}

/// Does work without Python's lock.
pub(crate) fn detached<T: Send, E: Into<PyErr> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    py.detach(|| on_threads(work))
}

/// Does work, whose parallel parts use the threads of this process.
pub(crate) fn on_threads<T: Send, E: Into<PyErr> + Send>(work: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T> {
    let process = process::id();
    let done = if LOADED_BY.get() == Some(&process) { work() } else { forked(process)?.install(work) };
    done.map_err(Into::into)
}

fn forked(process: u32) -> PyResult<&'static ThreadPool> {
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    match *forked {
        Some((of, pool)) if of == process => Ok(pool),
        _ => {
            let pool = ThreadPoolBuilder::new().build().map_err(|what| fault::error(&what))?;
            let pool: &ThreadPool = Box::leak(Box::new(pool));
            *forked = Some((process, pool));
            Ok(pool)
        }
    }
}
