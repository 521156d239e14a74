//! Claims checked against measurements and against peers' numbers. The comparisons are
//! those of `selene validate`, which writes docs/validation.md; here their figures are held
//! to tolerances, each a little above what was achieved.

mod soil;
