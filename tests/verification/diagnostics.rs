//! The status that nodes publish on `/diagnostics`.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once};

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus};
use selene_ros::geometry_msgs::TwistStamped;
use selene_ros::in_process::InProcess;
use selene_ros::rosgraph_msgs::Clock;
use selene_ros::std_msgs::Float64;
use selene_ros::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError, subscribe};
use selene_ros::{Encoded, Qos, ServiceName, Topic, encode};
use selene_simulation::RunStart;
use selene_tests::{context, model, options, scenario};

/// Long enough for the status of the first second.
const SIMULATED: SimTime = SimTime::from_nanos(1_200_000_000);

/// A network that reports two other publishers of the rover's commands.
#[derive(Clone, Default)]
struct TwoOtherPublishers(InProcess);

impl Transport for TwoOtherPublishers {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        self.0.advertise(topic)
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        self.0.subscribe(topic, sink)
    }

    fn publishers_of(&self, name: &str) -> Option<usize> {
        Some(if name == "/cmd_vel" { 2 } else { 0 })
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.0.serve(service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        self.0.client(service)
    }
}

/// Bytes that are no TwistStamped: none at all, too few, a string longer than the message, another encoding, and another
/// type.
fn garbage() -> Vec<Encoded> {
    let endless = [&[0_u8, 1, 0, 0][..], &[0; 8], &[255; 4], &[0; 48]].concat();
    let other_encoding = [&[0_u8, 7, 0, 0][..], &[0; 64]].concat();
    let mut messages = [vec![], vec![0, 1, 0, 0, 9], endless, other_encoding].map(Encoded::from_bytes).to_vec();
    messages.push(encode(&Float64 { data: 1.0 }).expect("encoded"));
    messages
}

/// Sends garbage on /cmd_vel with the run's first clock message.
fn send_garbage(network: &TwoOtherPublishers) -> Subscription {
    let topic = Topic::new::<TwistStamped>("/cmd_vel", Qos::reliable()).expect("a name");
    let (outlet, once) = (network.advertise(&topic).expect("cmd_vel"), Once::new());
    let on_clock = move |_: Clock| {
        once.call_once(|| garbage().iter().for_each(|bytes| outlet.send(bytes, SimTime::ZERO).expect("sent")));
    };
    subscribe(network, "/clock", Qos::clock(), on_clock).expect("clock")
}

/// The first status of each node and rover, by name.
fn statuses() -> BTreeMap<String, DiagnosticStatus> {
    let model = model(scenario("polar", None));
    let (network, received) = (TwoOtherPublishers::default(), Arc::new(Mutex::new(BTreeMap::new())));
    let to_received = Arc::clone(&received);
    let _reported = subscribe(&network, "/diagnostics", Qos::reliable(), move |array: DiagnosticArray| {
        let mut received = to_received.lock().expect("lock");
        for status in array.status {
            received.entry(status.name.clone()).or_insert(status);
        }
    });
    let _sends = send_garbage(&network);
    let (context, stop) = (context(Arc::new(network.clone()), &model), AtomicBool::new(false));
    let options = options(SIMULATED, &["camera", "lidar", "navigation"]);
    std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        selene_simulation::run(&context, RunStart::Start(None), &options, &stop).expect("simulation");
    });
    std::mem::take(&mut *received.lock().expect("lock"))
}

fn value<'a>(status: &'a DiagnosticStatus, key: &str) -> &'a str {
    let value = status.values.iter().find(|value| value.key == key);
    value
        .map_or_else(|| panic!("{}: {key} is not among {:?}", status.name, status.values), |value| value.value.as_str())
}

#[test]
fn every_node_and_rover_reports_how_it_does_and_who_commands_it() {
    let statuses = statuses();
    let names: Vec<_> = statuses.keys().map(String::as_str).collect();
    assert_eq!(names, ["selene: camera", "selene: lidar", "selene: navigation", "selene: simulation", "selene: viper"],);
    assert!(statuses.values().all(|status| status.hardware_id == "test"), "all are of the run");
    for (node, least) in [("camera", 4), ("lidar", 4), ("navigation", 190)] {
        let status = &statuses[&format!("selene: {node}")];
        assert_eq!((status.level, status.message.as_str()), (DiagnosticStatus::OK, "running"), "{node}");
        let published: u64 = value(status, "frames_published").parse().expect("a number");
        assert!(published >= least, "{node}: {published} frames");
        assert_eq!(value(status, "frames_dropped"), "0", "{node}: lockstep leaves nothing out");
    }
    assert_eq!(value(&statuses["selene: lidar"], "device"), Device::cpu().name());
    let simulation = &statuses["selene: simulation"];
    for key in ["real_time_factor", "pace_overruns", "map_requests_waiting", "slowest_participant_heartbeats_behind"] {
        assert!(value(simulation, key).parse::<f64>().is_ok(), "{key}");
    }
    let rover = &statuses["selene: viper"];
    assert_eq!((value(rover, "publishers /cmd_vel"), rover.level), ("2", DiagnosticStatus::WARN));
    assert!(rover.message.contains("2 publishers command /cmd_vel: the newest message wins"), "{}", rover.message);
    assert_eq!(value(rover, "messages_dropped /cmd_vel"), garbage().len().to_string());
    assert_eq!(value(simulation, "requests_undecodable"), "0");
}
