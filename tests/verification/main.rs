//! Tests against an equation or a rule of the project.

mod architecture;
mod camera_info;
mod cameras;
mod config;
#[cfg(unix)]
mod devices;
mod diagnostics;
mod drive;
mod endless;
mod far_horizon;
mod imu;
mod laws;
mod level_of_detail;
mod lidar;
mod maps;
mod packages;
mod parked;
mod removed_rover;
mod rigid_wheel;
mod rocks;
mod saved_ruts;
mod soil;
mod sun_detector;
