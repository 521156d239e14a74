//! `selene`: see the library for everything.

use std::process::ExitCode;

/// Windows of ground are arrays of 16 MB that come and go on several threads; glibc's heaps keep a third more memory for
/// them (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    selene::command_line()
}
