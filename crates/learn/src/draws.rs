//! Random draws of one episode: each quantity has a random stream of its own name, so that drawing one more quantity
//! changes no other.

use selene_base::random::{Stream, stream_at};

use crate::distribution::Distribution;

/// The draws of one episode of one environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draws {
    /// The environment's seed.
    pub(crate) seed: u64,
    /// The episode's number, from 0.
    pub(crate) episode: u64,
}

impl Draws {
    /// The random stream with this name.
    pub(crate) fn stream(&self, name: &str) -> Stream {
        stream_at(self.seed, name, self.episode)
    }

    /// The number that is drawn for a key of `randomise`; `None` if the key is not given.
    pub(crate) fn number(&self, key: &str, of: Option<&Distribution>) -> Option<f64> {
        of.map(|of| of.draw(&mut self.stream(&format!("randomise/{key}"))))
    }
}
