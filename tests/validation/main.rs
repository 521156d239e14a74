//! Claims checked against measurements and against peers' numbers.

mod soil;
