//! Claims checked against an equation or a rule of the house.

mod architecture;
mod config;
mod drive;
mod rocks;
mod soil;
