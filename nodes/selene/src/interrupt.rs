//! Ctrl-C and the end of a terminal or service: the first one asks everything to
//! end cleanly, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault::Fault;

/// Exit status of a program that SIGINT ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// A flag that is set when somebody asks for the end.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, Fault> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let on_signal = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        eprintln!("\nending; once more to end at once");
    };
    ctrlc::set_handler(on_signal).map_err(|e| Fault::run(format!("Ctrl-C cannot be watched for: {e}")))?;
    Ok(stop)
}

/// Between the slow parts of getting ready: ends the command if somebody asked for
/// that before its run began.
pub(crate) fn check(stop: &AtomicBool) -> Result<(), Fault> {
    if stop.load(Ordering::Relaxed) { Err(Fault::run("stopped by hand before the run began")) } else { Ok(()) }
}
