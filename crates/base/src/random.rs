//! Named random streams. Every consumer of random numbers asks for a stream by name, so
//! that adding one consumer never shifts the numbers another one draws, and the
//! same seed gives the same bytes for any number of threads or processes.

pub use rand::{Rng, RngExt, SeedableRng};

/// The generator behind every stream: `ChaCha8`, portable and seekable.
pub type Stream = rand_chacha::ChaCha8Rng;

/// The stream `name` of a scenario's `seed`.
#[must_use]
pub fn stream(seed: u64, name: &str) -> Stream {
    stream_at(seed, name, 0)
}

/// The `index`-th of the streams that share `name`: one per frame, tile or wheel.
#[must_use]
pub fn stream_at(seed: u64, name: &str, index: u64) -> Stream {
    let mut rng = Stream::seed_from_u64(seed ^ name_hash(name));
    rng.set_stream(index);
    rng
}

/// FNV-1a: stable for ever, unlike the standard library's hasher.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{Rng, stream, stream_at};

    #[test]
    fn a_stream_is_the_same_every_time_and_differs_by_seed_name_and_index() {
        let first = |mut s: super::Stream| s.next_u64();
        assert_eq!(first(stream(7, "imu")), first(stream(7, "imu")));
        assert_ne!(first(stream(7, "imu")), first(stream(8, "imu")));
        assert_ne!(first(stream(7, "imu")), first(stream(7, "lidar")));
        assert_ne!(first(stream_at(7, "imu", 0)), first(stream_at(7, "imu", 1)));
    }
}
