//! Tests of the six services and the events, within one process.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use selene_base::SimTime;

use super::{
    PARAMETER_EVENTS, Parameter, ParameterChange, ParameterError, Parameters, ServedParameters, TypedValue, ValueRange,
    serve_parameters,
};
use crate::in_process::InProcess;
use crate::qos::Qos;
use crate::rcl_interfaces::srv::{
    DescribeParameters, DescribeParametersRequest, GetParameterTypes, GetParameterTypesRequest, GetParameters,
    GetParametersRequest, ListParameters, ListParametersRequest, SetParameters, SetParametersAtomically,
    SetParametersAtomicallyRequest, SetParametersRequest,
};
use crate::rcl_interfaces::{self, ParameterEvent, ParameterType, ParameterValue};
use crate::service::{Client, Service};
use crate::transport::{Subscription, subscribe};

const NODE: &str = "/selene";

/// A node with parameters; the changes applied to it, and the events received.
struct TestNode {
    bus: InProcess,
    done: Arc<Mutex<Vec<TypedValue>>>,
    events: Receiver<ParameterEvent>,
    _kept: (ServedParameters, Subscription),
}

fn parameters(done: &Arc<Mutex<Vec<TypedValue>>>) -> Parameters {
    let done = Arc::clone(done);
    let odd =
        |value: &TypedValue| if *value == TypedValue::Double(13.0) { Err("13 is bad luck".to_owned()) } else { Ok(()) };
    let pace = ParameterChange::new(odd, move |value| done.lock().unwrap().push(value.clone()));
    let level = ParameterChange::new(|_| Ok(()), |_| ());
    Parameters::default()
        .with(Parameter::read_only("seed", TypedValue::Integer(7), "Seed of all chance."))
        .with(Parameter::read_only("scenario.name", TypedValue::Text("polar".to_owned()), "The scenario."))
        .with(Parameter::read_only("scenario.site.name", TypedValue::Text("rim".to_owned()), "Its site."))
        .with(Parameter::changeable("pace", TypedValue::Double(1.0), "Pace.", ValueRange::Doubles(0.0..=1000.0), pace))
        .with(Parameter::changeable("level", TypedValue::Integer(1), "Level.", ValueRange::Integers(0..=3), level))
}

fn served() -> TestNode {
    let (bus, done, (sender, events)) = (InProcess::new(), Arc::default(), channel());
    let received =
        subscribe(&bus, PARAMETER_EVENTS, Qos::reliable(), move |event| sender.send(event).unwrap()).unwrap();
    let now = || SimTime::from_nanos(2_500_000_000);
    let served = serve_parameters(&bus, NODE, parameters(&done), now).unwrap();
    let new = events.try_recv().map(|event: ParameterEvent| event.new_parameters).unwrap();
    let names: Vec<_> = new.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["level", "pace", "scenario.name", "scenario.site.name", "seed", "use_sim_time"]);
    assert_eq!(new[1].value, double(1.0));
    TestNode { bus, done, events, _kept: (served, received) }
}

impl TestNode {
    fn call<S: Service>(&self, service: &str, request: &S::Request) -> S::Response {
        let client = Client::<S>::new(&self.bus, &format!("{NODE}/{service}")).unwrap();
        client.call(request).unwrap().try_recv().expect("an answer at once")
    }

    fn values(&self, requested: &[&str]) -> Vec<ParameterValue> {
        self.call::<GetParameters>("get_parameters", &GetParametersRequest { names: names(requested) }).values
    }

    /// Whether each parameter was set, and if not, why.
    fn set(&self, requested: &[(&str, ParameterValue)]) -> Vec<(bool, String)> {
        let request = SetParametersRequest { parameters: messages(requested) };
        let results = self.call::<SetParameters>("set_parameters", &request).results;
        results.into_iter().map(|result| (result.successful, result.reason)).collect()
    }

    fn set_together(&self, requested: &[(&str, ParameterValue)]) -> (bool, String) {
        let request = SetParametersAtomicallyRequest { parameters: messages(requested) };
        let result = self.call::<SetParametersAtomically>("set_parameters_atomically", &request).result;
        (result.successful, result.reason)
    }

    fn listed(&self, prefixes: &[&str], depth: u64) -> (Vec<String>, Vec<String>) {
        let request = ListParametersRequest { prefixes: names(prefixes), depth };
        let result = self.call::<ListParameters>("list_parameters", &request).result;
        (result.names, result.prefixes)
    }
}

fn names(requested: &[&str]) -> Vec<String> {
    requested.iter().map(|name| (*name).to_owned()).collect()
}

fn messages(requested: &[(&str, ParameterValue)]) -> Vec<rcl_interfaces::Parameter> {
    let message = |(name, value): &(&str, ParameterValue)| rcl_interfaces::Parameter {
        name: (*name).to_owned(),
        value: value.clone(),
    };
    requested.iter().map(message).collect()
}

fn double(value: f64) -> ParameterValue {
    TypedValue::Double(value).to_message()
}

fn integer(value: i64) -> ParameterValue {
    TypedValue::Integer(value).to_message()
}

#[test]
fn values_and_types_come_in_the_order_requested_and_what_is_not_declared_is_not_set() {
    let served = served();
    let values = served.values(&["scenario.name", "no_such", "seed", "use_sim_time"]);
    let read: Vec<_> = values.iter().map(TypedValue::from_message).collect();
    let text = TypedValue::Text("polar".to_owned());
    assert_eq!(read, [Ok(text), Err("no value"), Ok(TypedValue::Integer(7)), Ok(TypedValue::Bool(true))]);
    let request = GetParameterTypesRequest { names: names(&["pace", "no_such", "seed"]) };
    let types = served.call::<GetParameterTypes>("get_parameter_types", &request).types;
    let (double, none, integer) =
        (ParameterType::PARAMETER_DOUBLE, ParameterType::PARAMETER_NOT_SET, ParameterType::PARAMETER_INTEGER);
    assert_eq!(types, [double, none, integer]);
}

#[test]
fn a_description_reports_type_range_and_whether_it_can_be_set() {
    let served = served();
    let request = DescribeParametersRequest { names: names(&["pace", "level", "seed", "no_such", "use_sim_time"]) };
    let reported = served.call::<DescribeParameters>("describe_parameters", &request).descriptors;
    let [pace, level, seed, unknown, sim_time] = &reported[..] else { panic!("{reported:?}") };
    assert_eq!((pace.name.as_str(), pace.description.as_str(), pace.read_only), ("pace", "Pace.", false));
    assert_eq!((pace.floating_point_range[0].from_value, pace.floating_point_range[0].to_value), (0.0, 1000.0));
    assert_eq!((level.integer_range[0].from_value, level.integer_range[0].to_value), (0, 3));
    assert!(seed.read_only && seed.integer_range.is_empty() && seed.r#type == ParameterType::PARAMETER_INTEGER);
    assert_eq!((unknown.name.as_str(), unknown.r#type), ("no_such", ParameterType::PARAMETER_NOT_SET));
    assert_eq!((sim_time.read_only, sim_time.additional_constraints.as_str()), (false, "must be true"));
}

#[test]
fn names_are_listed_below_prefixes_as_deep_as_requested() {
    let served = served();
    let all = ["level", "pace", "scenario.name", "scenario.site.name", "seed", "use_sim_time"];
    assert_eq!(served.listed(&[], 0), (names(&all), names(&["scenario", "scenario.site"])));
    assert_eq!(served.listed(&[], 1).0, ["level", "pace", "seed", "use_sim_time"]);
    assert_eq!(served.listed(&[], 2).0, ["level", "pace", "scenario.name", "seed", "use_sim_time"]);
    assert_eq!(served.listed(&["scenario"], 0).0, ["scenario.name", "scenario.site.name"]);
    assert_eq!(served.listed(&["scenario"], 1), (names(&["scenario.name"]), names(&["scenario"])));
    assert_eq!(served.listed(&["seed", "pa"], 0), (names(&["seed"]), vec![]));
    assert_eq!(served.listed(&["scen"], 0).0, [""; 0]);
}

#[test]
fn what_can_be_set_is_done_and_reported() {
    let served = served();
    assert_eq!(served.set(&[("pace", double(2.5))]), [(true, String::new())]);
    assert_eq!(
        (served.values(&["pace"]), served.done.lock().unwrap().clone()),
        (vec![double(2.5)], vec![TypedValue::Double(2.5)])
    );
    let event = served.events.try_recv().expect("an event");
    assert_eq!((event.node.as_str(), event.stamp.sec, event.stamp.nanosec), (NODE, 2, 500_000_000));
    assert_eq!(event.changed_parameters, messages(&[("pace", double(2.5))]));
    assert!(event.new_parameters.is_empty() && event.deleted_parameters.is_empty());
}

#[test]
fn what_cannot_be_set_is_refused_with_the_reason_and_stays_as_it_is() {
    let served = served();
    let no_sim_time = TypedValue::Bool(false).to_message();
    let nothing = ParameterValue::default();
    for (name, value, parts) in [
        ("speed", double(2.0), ["\"speed\" is not declared", "level, pace"]),
        ("pace", integer(2), ["type double", "integer 2"]),
        ("pace", nothing, ["type double", "no value"]),
        ("pace", double(1000.5), ["1000.5 is not allowed", "0 to 1000"]),
        ("pace", double(f64::NAN), ["NaN is not allowed", "0 to 1000"]),
        ("pace", double(13.0), ["13.0 is not allowed", "bad luck"]),
        ("level", integer(4), ["4 is not allowed", "0 to 3"]),
        ("seed", integer(8), ["seed is read-only", "Seed of all chance."]),
        ("use_sim_time", no_sim_time, ["false is not allowed", "time is its own"]),
    ] {
        let before = served.values(&[name]);
        let results = served.set(&[(name, value)]);
        let [(is_set, reason)] = &results[..] else { panic!("one result for {name}") };
        assert!(!is_set && parts.iter().all(|part| reason.contains(part)), "{name}: {reason}");
        assert_eq!(served.values(&[name]), before);
    }
    assert!(served.done.lock().unwrap().is_empty() && served.events.try_recv().is_err());
}

#[test]
fn each_by_itself_or_all_together() {
    let served = served();
    let requested = [("pace", double(4.0)), ("seed", integer(1)), ("level", integer(2))];
    let (together, reason) = served.set_together(&requested);
    assert!(!together && reason.contains("seed is read-only"), "{reason}");
    assert_eq!(served.values(&["pace", "level"]), [double(1.0), integer(1)]);
    assert!(served.done.lock().unwrap().is_empty() && served.events.try_recv().is_err());

    let set: Vec<bool> = served.set(&requested).into_iter().map(|(is_set, _)| is_set).collect();
    assert_eq!(set, [true, false, true]);
    assert_eq!(served.events.try_iter().count(), 2);

    assert!(served.set_together(&[("pace", double(8.0)), ("level", integer(3))]).0);
    assert_eq!(served.values(&["pace", "level"]), [double(8.0), integer(3)]);
    let changed: Vec<usize> = served.events.try_iter().map(|event| event.changed_parameters.len()).collect();
    assert_eq!(changed, [2]);
}

#[test]
fn the_names_of_services_are_free_again_when_nobody_serves() {
    let served = served();
    let taken = serve_parameters(&served.bus, NODE, Parameters::default(), || SimTime::ZERO).err();
    assert!(taken.is_some_and(|error| error.to_string().contains("describe_parameters")));
    let bus = served.bus.clone();
    drop(served);
    assert!(serve_parameters(&bus, NODE, Parameters::default(), || SimTime::ZERO).is_ok());
}

#[test]
fn a_node_that_sets_its_own_gets_the_same_refusals() {
    let mut parameters = parameters(&Arc::default());
    let refused = parameters.set("pace", &TypedValue::Double(-1.0));
    assert!(matches!(refused, Err(ParameterError::OutOfRange { .. })), "{refused:?}");
    assert_eq!(parameters.set("use_sim_time", &TypedValue::Bool(true)), Ok(()));
    assert_eq!(parameters.value("pace"), Some(TypedValue::Double(1.0)));
    // A parameter that also changes by other means.
    let reported = Arc::new(Mutex::new(2.0));
    let reading = Arc::clone(&reported);
    let level = Parameter::read_only("level", TypedValue::Double(0.0), "Level.");
    let parameters = parameters.with(level.read_by(move || TypedValue::Double(*reading.lock().unwrap())));
    *reported.lock().unwrap() = 3.0;
    assert_eq!(parameters.value("level"), Some(TypedValue::Double(3.0)));
}
