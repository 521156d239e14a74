//! Tests that cannot run on this machine say so, and fail where `SELENE_REQUIRE_PEERS` or `SELENE_REQUIRE_DATA` requires
//! them. Crates below this package include this file by its path.
#![allow(dead_code, unreachable_pub)]

use std::io::Write;

/// Prints that this machine lacks a foreign program, a device or a feature of its kernel; fails if
/// `SELENE_REQUIRE_PEERS` requires all of them.
///
/// # Panics
/// When they are required.
pub fn skip_peer(why: &str) {
    skip("SELENE_REQUIRE_PEERS", why);
}

/// Prints that third-party data are missing; fails if `SELENE_REQUIRE_DATA` requires them.
///
/// # Panics
/// When data are required.
pub fn skip_data(why: &str) {
    skip("SELENE_REQUIRE_DATA", why);
}

fn skip(variable: &str, why: &str) {
    assert!(std::env::var_os(variable).is_none(), "{variable} allows no skipped test: {why}");
    // Written to the terminal directly: the output of a passing test is not shown.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
