//! Threads and memory of this process (Linux). Crates below this package include this file by its path.
#![allow(unreachable_pub)]

/// What this process occupies.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Number of threads.
    pub threads: usize,
    /// Resident memory, bytes.
    pub resident_bytes: usize,
}

/// Reads what this process occupies. Pages are counted one by one: `statm` lags behind by some for each core.
///
/// # Panics
/// When the system does not report it.
#[must_use]
pub fn footprint() -> Footprint {
    let memory = std::fs::read_to_string("/proc/self/smaps_rollup").expect("memory");
    let resident = memory.lines().find_map(|line| line.strip_prefix("Rss:")).expect("resident memory");
    let resident_kb: usize = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    let threads = std::fs::read_dir("/proc/self/task").expect("threads").count();
    Footprint { threads, resident_bytes: resident_kb << 10 }
}
