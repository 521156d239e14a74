//! Tests of Sun, Earth and stars against tables and kernels.

mod almanac;
mod common;
mod kernels;
