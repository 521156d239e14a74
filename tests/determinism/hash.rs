//! The state hash with 1, 2 and 4 threads, and with another seed.

use std::sync::Arc;

use selene_base::SimTime;
use selene_sim::{LoadOptions, Scenario, World};
use selene_tests::repository_file;

/// Long enough for the rover to settle, start and leave ruts.
const SIMULATED: SimTime = SimTime::from_nanos(1_500_000_000);

fn hash(seed: Option<u64>, threads: usize) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let options = LoadOptions { seed, ..LoadOptions::default() };
        let scenario = Scenario::load(&repository_file("config/scenario/polar.yaml"), &options).expect("scenario");
        let mut world = World::new(Arc::new(scenario)).expect("world");
        while world.time() < SIMULATED {
            world.heartbeat().expect("heartbeat");
        }
        world.state().hash()
    })
}

#[test]
fn one_two_and_four_threads_give_the_same_state() {
    let one = hash(None, 1);
    assert_eq!(one, hash(None, 2));
    assert_eq!(one, hash(None, 4));
}

#[test]
fn another_seed_gives_another_state() {
    assert_ne!(hash(None, 2), hash(Some(2), 2));
}
