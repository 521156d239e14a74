//! Foreign programs that know nothing of Selene: a Cyclone DDS participant and two bag
//! readers, in Python (`tests/run.sh` installs them). The real program is run.

mod bag;
mod dds;
mod processes;
mod program;
mod sky;
