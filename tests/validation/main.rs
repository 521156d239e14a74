//! Comparisons with measurements and with peers' numbers. They are those of `selene validate`, which writes
//! docs/validation.md; here their figures must stay within tolerances, each a little above the value achieved.

mod soil;
