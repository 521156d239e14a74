//! The state hash: one number over every bit of the world's physical state, so that two runs
//! can be shown to be the same run.

use nalgebra::Vector3;
use selene_base::{Pose, SimTime, Twist};
use selene_terrain::Edit;
use xxhash_rust::xxh3::Xxh3;

/// Collects the bits of a state (XXH3, 64 bits).
#[derive(Default)]
pub struct StateHash(Xxh3);

impl StateHash {
    /// Adds a number, bit for bit.
    pub fn number(&mut self, value: f64) {
        self.0.update(&value.to_bits().to_le_bytes());
    }

    /// Adds several numbers.
    pub fn numbers(&mut self, values: &[f64]) {
        values.iter().for_each(|&value| self.number(value));
    }

    /// Adds an instant.
    pub fn time(&mut self, time: SimTime) {
        self.0.update(&time.nanos().to_le_bytes());
    }

    /// Adds a pose.
    pub fn pose(&mut self, pose: &Pose) {
        self.numbers(pose.translation.vector.as_slice());
        self.numbers(pose.rotation.coords.as_slice());
    }

    /// Adds a velocity.
    pub fn twist(&mut self, twist: &Twist) {
        self.vector(&twist.linear);
        self.vector(&twist.angular);
    }

    /// Adds a vector.
    pub fn vector(&mut self, vector: &Vector3<f64>) {
        self.numbers(vector.as_slice());
    }

    /// Adds a node of the ground.
    pub fn edit(&mut self, edit: &Edit) {
        self.0.update(&edit.tile[0].to_le_bytes());
        self.0.update(&edit.tile[1].to_le_bytes());
        self.0.update(&edit.node.to_le_bytes());
        self.0.update(&edit.height_m.to_bits().to_le_bytes());
    }

    /// The hash of all that was added.
    #[must_use]
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}
