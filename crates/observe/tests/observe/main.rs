//! Tests of sensor values read from a world, without ROS.

mod body;
mod common;
mod dust;
mod grains;
mod imu;
mod lidar;
mod objects;
mod reset;
mod rovers;
mod sky_and_loads;
mod spawn;
