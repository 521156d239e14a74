//! Tests of the traced scene: light, shadows, lenses, motion and ground truth.

mod bounce;
mod bounces;
mod colour;
mod common;
mod detail;
mod dust;
mod earthlight;
mod echoes;
mod gnomon;
mod grains;
mod ground_materials;
mod hapke;
mod heights;
mod lamps;
mod lens_pictures;
mod lenses;
mod motion;
mod penumbra;
mod picture;
mod principled;
mod shader;
mod sky_lights;
mod tiles;
mod truth;
