//! Removing a rover also closes the topics of its sensors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use selene_coherence::{NodeContext, NodeError, RunId, entities_to_message, state_to_message};
use selene_observe::Device;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs, std_msgs};
use selene_sim::{Entity, Model, Snapshot, World};
use selene_tests::{ROVER, context, model, scenario, world};

type Node = fn(&NodeContext, &AtomicBool) -> Result<(), NodeError>;

/// A snapshot is repeated after this time, in case a node subscribed after it, and at most this often.
const TIMEOUT: Duration = Duration::from_millis(100);
const TIMES: usize = 1200;

/// A simulation with one participating node.
struct Simulation {
    run: RunId,
    states: Publisher<selene_msgs::WorldState>,
    entities: Publisher<selene_msgs::EntityTable>,
    acknowledged: Receiver<u64>,
    _subscription: Subscription,
}

impl Simulation {
    fn open(context: &NodeContext) -> Self {
        let (links, transport) = (&context.links, context.links.internal.as_ref());
        let (sender, acknowledged) = channel();
        // Ignores a closed channel: the test may have ended.
        let note = move |message: selene_msgs::Acknowledge| sender.send(message.sequence).unwrap_or_default();
        Self {
            run: links.run.clone(),
            states: Publisher::new(transport, &links.world_state(), Qos::state()).expect("topic"),
            entities: Publisher::new(transport, &links.entities(), Qos::latched()).expect("topic"),
            acknowledged,
            _subscription: subscribe(transport, &links.acknowledge(), Qos::state(), note).expect("topic"),
        }
    }

    /// Publishes a snapshot until the node has acknowledged it.
    fn publish_snapshot(&self, world: &World, snapshot: &Snapshot) {
        let table = entities_to_message(0, world.state().entities_version, &world.state().spawned);
        self.entities.publish(&table, snapshot.time).expect("published");
        for _ in 0..TIMES {
            self.states.publish(&state_to_message(&self.run, snapshot, |_| ""), snapshot.time).expect("published");
            if self.acknowledged.recv_timeout(TIMEOUT) == Ok(snapshot.sequence) {
                return;
            }
        }
    }
}

/// Whether a topic is open: an open topic refuses messages of another type.
fn is_open(bus: &InProcess, topic: &str) -> bool {
    Publisher::<std_msgs::Float64>::new(bus, topic, Qos::reliable()).is_err()
}

/// Whether a node's topic is open while its rover exists, and after it was removed.
fn open_with_and_without(model: &Arc<Model>, node: Node, topic: &str) -> [bool; 2] {
    let (bus, stop) = (InProcess::new(), AtomicBool::new(false));
    let context = context(Arc::new(bus.clone()), model);
    let simulation = Simulation::open(&context);
    let mut world = world(model);
    std::thread::scope(|scope| {
        scope.spawn(|| node(&context, &stop).expect("no fault"));
        let first = world.first_snapshot().expect("a snapshot");
        simulation.publish_snapshot(&world, &first);
        let next = world.heartbeat().expect("heartbeat");
        simulation.publish_snapshot(&world, &next);
        let with = is_open(&bus, topic);
        world.remove(Entity::Rover(ROVER)).expect("there");
        let last = world.heartbeat().expect("heartbeat");
        simulation.publish_snapshot(&world, &last);
        let without = is_open(&bus, topic);
        stop.store(true, Ordering::Relaxed);
        [with, without]
    })
}

#[test]
fn topics_of_a_rover_that_was_removed_are_closed() {
    let model = model(scenario("polar", None));
    let nodes: [(Node, &str); 3] = [
        (|context, stop| selene_camera::run(context, Device::cpu(), stop), "/navcam_left/image_raw"),
        (|context, stop| selene_lidar::run(context, Device::cpu(), stop), "/lidar/points"),
        (selene_navigation::run, "/imu/data"),
    ];
    for (node, topic) in nodes {
        assert_eq!(open_with_and_without(&model, node, topic), [true, false], "{topic}");
    }
}
