//! A run with all nodes that is reset over its service, again and again: each time its world is the one that began, its
//! nodes publish the same bytes, and it occupies no more memory and no more threads. A test binary of its own, since it
//! measures the process's memory and threads (Linux).

use std::time::Duration;

use selene_base::SimTime;
use selene_ros::simulation_interfaces::srv;
use selene_ros::{Encoded, decode, encode, selene_msgs};
use selene_sim::{LoadOptions, Scenario};
use selene_simulation::EndReason;
use selene_tests::control_client::{ControlClient, controlled_in, paused};
use selene_tests::footprint::{Footprint, footprint};
use selene_tests::recording_transport::Published;
use selene_tests::{model, repository_file, world};

const HEARTBEAT: SimTime = SimTime::from_nanos(5_000_000);
/// Steps after each reset: two images and a whole scan are published in them.
const STEPS: i64 = 24;
/// Sensors beside the yard's IMU: 80 × 45 pixels at 20 Hz, and 1440 beams at 10 Hz.
const SENSORS: [&str; 2] = ["learning_camera", "obstacle_lidar"];
/// Topics that describe the process and not the world, or that come from a thread outside of lockstep.
const NOT_COMPARED: [&str; 5] =
    ["/selene/", "/selene_simulation/", "/diagnostics", "/ground_truth/rocks", "/tf_static"];
/// Number of resets after which memory and threads are first measured: caches and allocators have taken by then what
/// they keep (10 MB from the tenth reset to the fortieth, on a busy machine later; less than 1 MB from there to the
/// thousandth).
const FIRST_RESETS: usize = 60;
/// Maximum growth of memory over further resets, less than the ground that one camera or lidar sees.
const GROWTH_BYTES: usize = 8 << 20;
/// Number of times that those are repeated where memory grew more: what caches and allocators keep late grows once, what
/// a reset leaves behind each time.
const REPEATED: usize = 2;
/// Time between two readings of memory and threads, and the number of readings for which they must not fall.
const READ_EVERY: Duration = Duration::from_millis(50);
const READINGS: usize = 20;

/// Number of resets between two measurements; a thousand in all with `SELENE_LONG_RUNS`.
fn further_resets() -> usize {
    if std::env::var_os("SELENE_LONG_RUNS").is_some() { 1000 - FIRST_RESETS } else { 40 }
}

/// The yard of `curiosity_rocks`, whose rover has a small camera and a small lidar too.
fn yard_with_all_sensors() -> Scenario {
    let sensors = SENSORS.map(|name| repository_file(&format!("config/sensor/{name}.yaml"))).into();
    let options = LoadOptions { sensors, ..LoadOptions::default() };
    let file = repository_file("config/scenario/curiosity_rocks.yaml");
    Scenario::load(&file, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// What a run publishes from its start.
struct Beginning {
    /// The first snapshot of the world.
    snapshot: Vec<u8>,
    /// Everything about the world in the steps after it.
    published: Published,
}

impl Beginning {
    /// Steps a run that is at its start.
    fn of(caller: &ControlClient) -> Self {
        // A run publishes its start before it answers.
        caller.state();
        let snapshot = last_snapshot(&caller.recording.take());
        caller.step(STEPS as u64);
        let mut published = caller.recording.take();
        published.retain(|topic, _| NOT_COMPARED.iter().all(|name| !topic.contains(name)));
        assert_eq!(caller.time(), HEARTBEAT * STEPS);
        Self { snapshot, published }
    }

    fn assert_is(&self, first: &Self, resets: usize) {
        assert!(self.snapshot == first.snapshot, "the first snapshot is another after {resets} resets");
        let (ours, theirs) = (&self.published, &first.published);
        assert!(ours.keys().eq(theirs.keys()), "{:?} became {:?}", theirs.keys(), ours.keys());
        for (topic, messages) in theirs {
            assert!(*messages == ours[topic], "{topic} is another after {resets} resets");
        }
    }
}

/// The last snapshot among these messages, without the number of resets in it.
fn last_snapshot(published: &Published) -> Vec<u8> {
    let (_, snapshots) =
        published.iter().find(|(topic, _)| topic.ends_with("/world_state")).expect("the world's topic");
    let (_, bytes) = snapshots.last().expect("a snapshot");
    let snapshot: selene_msgs::WorldState = decode(&Encoded::from_bytes(bytes.clone())).expect("a snapshot");
    let snapshot = selene_msgs::WorldState { epoch: 0, ..snapshot };
    encode(&snapshot).expect("it was sent").bytes().to_vec()
}

/// What the process occupies at rest: the least readings, as soon as no less is read for a while. Threads that make
/// ground in advance end only when their piece is made.
fn footprint_at_rest() -> Footprint {
    let (mut least, mut same) = (footprint(), 0);
    while same < READINGS {
        std::thread::sleep(READ_EVERY);
        let now = footprint();
        let is_less = now.threads < least.threads || now.resident_bytes < least.resident_bytes;
        same = if is_less { 0 } else { same + 1 };
        least.threads = least.threads.min(now.threads);
        least.resident_bytes = least.resident_bytes.min(now.resident_bytes);
    }
    least
}

#[test]
fn a_run_that_is_reset_is_each_time_the_one_that_began_and_occupies_no_more() {
    let model = model(yard_with_all_sensors());
    let ((first, before, now), outcome) =
        controlled_in(&model, &paused(&["camera", "lidar", "navigation"]), |caller| {
            let first = Beginning::of(caller);
            let mut resets = 0;
            let mut after_resets = |count: usize| {
                for _ in 0..count {
                    if resets % 10 == 0 {
                        caller.disturb();
                    }
                    resets += 1;
                    caller.reset(srv::ResetSimulationRequest::SCOPE_ALL);
                    assert_eq!(caller.time(), SimTime::ZERO);
                    Beginning::of(caller).assert_is(&first, resets);
                }
                footprint_at_rest()
            };
            let mut before = after_resets(FIRST_RESETS);
            let mut now = after_resets(further_resets());
            for _ in 0..REPEATED {
                if now.resident_bytes >= before.resident_bytes + GROWTH_BYTES {
                    (before, now) = (now, after_resets(further_resets()));
                }
            }
            (first, before, now)
        });
    for topic in ["/clock", "/tf", "/joint_states", "/imu/data", "/ground_truth/odom"] {
        assert!(first.published.contains_key(topic), "{topic} is not among {:?}", first.published.keys());
    }
    assert!(first.published["/learning_camera/image_raw"].len() >= 2);
    assert!(!first.published["/obstacle_lidar/points"].is_empty());
    let mut alone = world(&model);
    (0..STEPS).for_each(|_| drop(alone.heartbeat().expect("heartbeat")));
    assert_eq!((outcome.state_hash, outcome.ending), (alone.state().hash(), EndReason::Stopped));
    assert!(now.threads <= before.threads, "{before:?} became {now:?}");
    assert!(now.resident_bytes < before.resident_bytes + GROWTH_BYTES, "{before:?} became {now:?}");
}
