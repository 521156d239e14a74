//! Tests of names under `--ros-args -r`, and of messages through a remapped transport.

use super::{Names, Remap};
use selene_base::SimTime;
use selene_ros::in_process::InProcess;
use selene_ros::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use selene_ros::transport::{Outlet, Publisher, RequestSink, Sink, Subscription, Transport, TransportError, subscribe};
use selene_ros::{Client, Encoded, Qos, Reply, ServiceName, Topic, serve, std_msgs};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

fn moved() -> Names {
    let mut names = Names::plain("selene");
    names.move_to("/moon").unwrap();
    names.rename("sim").unwrap();
    names
}

#[test]
fn a_namespace_moves_what_is_the_rovers_and_not_what_is_the_worlds() {
    let names = moved();
    assert_eq!((names.full().as_str(), names.logger().as_str()), ("/moon/sim", "moon.sim"));
    for (topic, expected) in [
        ("/cmd_vel", "/moon/cmd_vel"),
        ("/viper/imu/data", "/moon/viper/imu/data"),
        ("/clock", "/clock"),
        ("/tf_static", "/tf_static"),
        ("/parameter_events", "/parameter_events"),
        ("/selene/run_info", "/selene/run_info"),
        ("/selene/r1/world_state", "/selene/r1/world_state"),
        ("/selene/simulate_steps/_action/feedback", "/moon/sim/simulate_steps/_action/feedback"),
    ] {
        assert_eq!(names.topic(topic), expected);
    }
    for (service, expected) in [
        ("/selene/get_parameters", "/moon/sim/get_parameters"),
        ("/moon/sim/get_parameters", "/moon/sim/get_parameters"),
        ("/get_simulator_features", "/moon/get_simulator_features"),
    ] {
        assert_eq!(names.service(service), expected);
    }
}

#[test]
fn services_of_a_shared_world_are_not_under_the_name_of_the_process_that_leads() {
    let mut names = Names::plain("selene_simulation_viper");
    names.rename("first").unwrap();
    names.move_to("/moon").unwrap();
    for (service, expected) in [
        ("/selene_simulation/spawn_entity", "/moon/selene_simulation/spawn_entity"),
        ("/selene_simulation_viper/get_parameters", "/moon/first/get_parameters"),
    ] {
        assert_eq!(names.service(service), expected);
    }
}

#[test]
fn rules_take_full_relative_and_private_names_and_the_first_that_fits_counts() {
    let mut names = moved();
    for (from, to) in
        [("cmd_vel", "/nav/cmd_vel"), ("/moon/cmd_vel", "/late"), ("/tf", "tf"), ("~/get_parameters", "~/g")]
    {
        names.map(from, to).unwrap();
    }
    assert_eq!((names.topic("/cmd_vel").as_str(), names.topic("/tf").as_str()), ("/nav/cmd_vel", "/moon/tf"));
    assert_eq!(names.service("/selene/get_parameters"), "/moon/sim/g");
    // A rule matches the whole name, not names below it.
    assert_eq!(names.topic("/cmd_vel/more"), "/moon/cmd_vel/more");
}

#[test]
fn bad_names_are_refused() {
    let mut names = Names::plain("selene");
    assert!(names.rename("a/b").is_err_and(|why| why.contains("without slashes")));
    assert!(names.rename("1st").is_err_and(|why| why.contains("digit")));
    assert!(names.move_to("moon").is_err_and(|why| why.contains("begin")));
    assert!(names.map("/a b", "/c").is_err() && names.map("/a", "/c/").is_err());
    assert_eq!(names, Names::plain("selene"));
    assert!(names.move_to("/").is_ok());
}

#[test]
fn patterns_of_nodes() {
    let names = moved();
    for meant in ["/**", "/moon/sim", "/moon/*", "/*/sim", "/**/sim", "/moon/**"] {
        assert!(names.is_meant(meant), "{meant}");
    }
    for other in ["/*", "/sim", "/moon", "/moon/sim/*", "/*/selene", "/**/selene"] {
        assert!(!names.is_meant(other), "{other}");
    }
}

#[test]
fn messages_and_calls_go_by_the_other_names() {
    let (bus, (sender, received)) = (InProcess::new(), channel());
    let mut names = moved();
    names.map("speed", "/nav/speed").unwrap();
    let remapped = Remap::over(Arc::new(bus.clone()), &names);
    let on = move |message: std_msgs::Float64| sender.send(message.data).unwrap();
    let _subscriptions = subscribe(&bus, "/nav/speed", Qos::reliable(), on).unwrap();
    let publisher = Publisher::new(&*remapped, "/speed", Qos::reliable()).unwrap();
    publisher.publish(&std_msgs::Float64 { data: 0.5 }, SimTime::ZERO).unwrap();
    assert_eq!(received.try_recv(), Ok(0.5));

    let (sender, received) = channel();
    let on = move |message: std_msgs::Float64| sender.send(message.data).unwrap();
    let _subscriptions = subscribe(&*remapped, "/command", Qos::reliable(), on).unwrap();
    let publisher = Publisher::new(&bus, "/moon/command", Qos::reliable()).unwrap();
    publisher.publish(&std_msgs::Float64 { data: 2.0 }, SimTime::ZERO).unwrap();
    assert_eq!(received.try_recv(), Ok(2.0));

    let answer = |request: SetBoolRequest, reply: Reply<SetBool>| {
        reply.send(&SetBoolResponse { success: request.data, message: String::new() }).unwrap();
    };
    let _served = serve::<SetBool>(&*remapped, "/selene/lamp", answer).unwrap();
    for (transport, name) in [(&bus as &dyn Transport, "/moon/sim/lamp"), (&*remapped, "/selene/lamp")] {
        let client = Client::<SetBool>::new(transport, name).unwrap();
        let answered = client.call(&SetBoolRequest { data: true }).unwrap().try_recv();
        assert!(answered.is_ok_and(|answer| answer.success), "{name}");
    }
}

/// A transport that records the names that it gets.
#[derive(Clone, Default)]
struct OperationLog(Arc<Mutex<Vec<String>>>);

impl OperationLog {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Transport for OperationLog {
    fn advertise(&self, _: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        Ok(Box::new(self.clone()))
    }
    fn subscribe(&self, _: &Topic, _: Sink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }
    fn publishers_of(&self, name: &str) -> Option<usize> {
        self.note(name.to_owned());
        Some(1)
    }
    fn serve(&self, _: &ServiceName, _: RequestSink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }
    fn client(&self, service: &ServiceName) -> Result<Box<dyn selene_ros::transport::Caller>, TransportError> {
        Err(TransportError::NotServed { service: service.name.clone() })
    }
}

impl Outlet for OperationLog {
    fn send(&self, _: &Encoded, _: SimTime) -> Result<(), TransportError> {
        self.note("sent".to_owned());
        Ok(())
    }
    fn repeat(&self, _: &Encoded, _: SimTime) -> Result<(), TransportError> {
        self.note("repeated".to_owned());
        Ok(())
    }
}

#[test]
fn repeats_and_questions_are_passed_on() {
    let notes = OperationLog::default();
    let remapped = Remap::over(Arc::new(notes.clone()), &moved());
    let publisher = Publisher::new(&*remapped, "/speed", Qos::reliable()).unwrap();
    publisher.publish(&std_msgs::Float64 { data: 0.5 }, SimTime::ZERO).unwrap();
    publisher.repeat(&std_msgs::Float64 { data: 0.5 }, SimTime::ZERO).unwrap();
    assert_eq!(remapped.publishers_of("/cmd_vel"), Some(1));
    assert_eq!(*notes.0.lock().unwrap(), ["sent", "repeated", "/moon/cmd_vel"]);
}
