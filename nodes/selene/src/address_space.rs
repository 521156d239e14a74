//! Checks the limit of address space (`ulimit -v`) before anything begins. Under a limit that is too low, an allocation
//! or the start of a thread fails in the middle of a run, which ends the process without a message.

use std::num::NonZero;
use std::thread;

use crate::fault::Fault;

/// Address space that any world needs, bytes: the default scenario uses 0.6 GB at its peak, and each thread of nodes
/// and DDS reserves 66 MiB more, a heap of its own (64 MiB with glibc) and a stack.
const ANY_WORLD_BYTES: u64 = 2 << 30;
/// Address space that each core adds, bytes: a thread that steps and traces, and two that generate ground ahead.
const PER_CORE_BYTES: u64 = 200 << 20;

/// Refuses to simulate or trace if the process may not have enough address space.
pub(crate) fn check() -> Result<(), Fault> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    refuse_below(ANY_WORLD_BYTES + cores as u64 * PER_CORE_BYTES, limit_bytes())
}

/// Refuses a limit below the need; the message is in KiB, the unit of `ulimit -v`.
fn refuse_below(needed_bytes: u64, limit_bytes: Option<u64>) -> Result<(), Fault> {
    let Some(limit_bytes) = limit_bytes.filter(|limit_bytes| *limit_bytes < needed_bytes) else { return Ok(()) };
    let [limit_kib, needed_kib] = [limit_bytes, needed_bytes].map(|bytes| bytes / 1024);
    Err(Fault::input(format!(
        "address space is limited to {limit_kib} KiB; a world needs {needed_kib} KiB on this machine. Lift the limit with \
         `ulimit -v unlimited`, or where this process is started from (LimitAS of systemd)"
    )))
}

#[cfg(target_os = "linux")]
fn limit_bytes() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Other systems do not enforce such limits, or have none.
#[cfg(not(target_os = "linux"))]
fn limit_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::refuse_below;

    #[test]
    fn only_a_limit_below_the_need_is_refused() {
        for (limit_bytes, fits) in [(None, true), (Some(4096), true), (Some(4095), false), (Some(0), false)] {
            assert_eq!(refuse_below(4096, limit_bytes).is_ok(), fits, "{limit_bytes:?}");
        }
    }
}
