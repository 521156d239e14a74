//! Foreign programs that know nothing of Selene: a Cyclone DDS participant, two bag readers, GDAL and OpenCV in Python,
//! urdfdom, Chromium, and a Fast DDS participant in C++ (`tests/run.sh` installs what they need). The tests run the
//! real `selene` program.

mod bag;
mod closed_loop;
mod colcon;
mod conformance;
mod console;
mod console_beside;
mod dds;
mod disturbed;
mod elevation;
mod entities;
mod fast_dds;
mod foxglove;
mod hardware;
#[cfg(unix)]
mod launch;
mod link;
mod localhost;
mod logged;
mod odometry;
mod own_stage;
mod processes;
mod program;
mod ros2;
mod scans;
mod sky;
mod stopped;
#[cfg(unix)]
mod terminal;
mod urdf;
mod vision;
