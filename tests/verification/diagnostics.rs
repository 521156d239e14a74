//! What nodes tell of themselves on `/diagnostics`.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus};
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError, subscribe};
use selene_ros::{Qos, ServiceName, Topic};
use selene_simulation::Begin;
use selene_tests::{context, model, options, scenario};

/// Long enough for the status of the first second.
const SIMULATED: SimTime = SimTime::from_nanos(1_200_000_000);

/// A network on which two others command the rover.
#[derive(Clone, Default)]
struct Rivals(InProcess);

impl Transport for Rivals {
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

/// The first status of each node and rover, by name.
fn statuses() -> BTreeMap<String, DiagnosticStatus> {
    let model = model(scenario("polar", None));
    let (network, heard) = (Rivals::default(), Arc::new(Mutex::new(BTreeMap::new())));
    let to_heard = Arc::clone(&heard);
    let _told = subscribe(&network, "/diagnostics", Qos::reliable(), move |array: DiagnosticArray| {
        let mut heard = to_heard.lock().expect("lock");
        for status in array.status {
            heard.entry(status.name.clone()).or_insert(status);
        }
    });
    let (context, stop) = (context(Arc::new(network.clone()), &model), AtomicBool::new(false));
    let options = options(SIMULATED, &["camera", "lidar", "navigation"]);
    std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        selene_simulation::run(&context, Begin::Start(None), &options, &stop).expect("simulation");
    });
    std::mem::take(&mut *heard.lock().expect("lock"))
}

fn value<'a>(status: &'a DiagnosticStatus, key: &str) -> &'a str {
    let value = status.values.iter().find(|value| value.key == key);
    value
        .map_or_else(|| panic!("{}: {key} is not among {:?}", status.name, status.values), |value| value.value.as_str())
}

#[test]
fn every_node_and_rover_tells_how_it_does_and_who_commands_it() {
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
}
