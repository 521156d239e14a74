//! Foreign programs that know nothing of Selene: a Cyclone DDS participant, two bag
//! readers, GDAL and OpenCV, in Python (`tests/run.sh` installs them). The real program is run.

mod bag;
mod dds;
mod elevation;
mod launch;
mod processes;
mod program;
mod sky;
mod vision;
