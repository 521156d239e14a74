//! Compares type descriptions with their hashes and with those of ROS 2.

use sha2::{Digest, Sha256};

use super::{KnownType, answer, serve_type_descriptions};
use crate::in_process::InProcess;
use crate::message::{INTERFACES, TYPES};
use crate::service::{Client, ServiceName};
use crate::std_srvs::srv::SetBool;
use crate::type_description_interfaces::srv::{
    GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse,
};
use crate::type_description_interfaces::{Field, FieldType, IndividualTypeDescription, TypeDescription};
use crate::{Qos, Topic, sensor_msgs};

/// Hashes by ROS 2 Jazzy of types that nobody sends: a service as a whole and its event, whose parts are bounded.
const HASHES: [(&str, &str); 3] = [
    ("std_srvs/srv/SetBool", "abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a"),
    ("std_srvs/srv/SetBool_Event", "3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf"),
    ("service_msgs/msg/ServiceEventInfo", "41bcbbe07a75c9b52bc96bfd5c24d7f0fc0a08c0cb7921b3373c5732345a6f45"),
];

fn request(type_name: &str, type_hash: &str) -> GetTypeDescriptionRequest {
    GetTypeDescriptionRequest {
        type_name: type_name.to_owned(),
        type_hash: type_hash.to_owned(),
        include_type_sources: true,
    }
}

fn known(name: &str) -> &'static KnownType {
    KnownType::find(name).unwrap_or_else(|| panic!("{name} is not known"))
}

/// The description of a type for a client that knows its hash.
fn reported(name: &str) -> GetTypeDescriptionResponse {
    answer(&request(name, known(name).hash))
}

/// The hash of a description (REP-2016): of its JSON text without defaults.
fn hash(description: &TypeDescription) -> String {
    let referenced: Vec<String> = description.referenced_type_descriptions.iter().map(individual).collect();
    let text = format!(
        r#"{{"type_description": {}, "referenced_type_descriptions": [{}]}}"#,
        individual(&description.type_description),
        referenced.join(", ")
    );
    let digits: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("RIHS01_{digits}")
}

fn individual(described: &IndividualTypeDescription) -> String {
    let fields: Vec<String> = described.fields.iter().map(field).collect();
    format!(r#"{{"type_name": "{}", "fields": [{}]}}"#, described.type_name, fields.join(", "))
}

fn field(field: &Field) -> String {
    let FieldType { type_id, capacity, string_capacity, nested_type_name } = &field.r#type;
    let sizes = format!(r#""capacity": {capacity}, "string_capacity": {string_capacity}"#);
    let of = format!(r#"{{"type_id": {type_id}, {sizes}, "nested_type_name": "{nested_type_name}"}}"#);
    format!(r#"{{"name": "{}", "type": {of}}}"#, field.name)
}

#[test]
fn every_description_has_the_hash_that_its_type_is_known_by() {
    assert!(TYPES.len() > INTERFACES.len() && TYPES.is_sorted_by(|one, next| one.name < next.name));
    for known in TYPES {
        let answer = reported(known.name);
        assert!(answer.successful && answer.failure_reason.is_empty(), "{}", answer.failure_reason);
        assert_eq!(answer.type_description.type_description.type_name, known.name);
        assert_eq!(hash(&answer.type_description), known.hash, "{}", known.name);
    }
    for (name, of_ros) in HASHES {
        assert_eq!(known(name).hash, format!("RIHS01_{of_ros}"), "{name}");
    }
}

#[test]
fn types_that_discovery_reports_of_topics_and_services_can_be_requested() {
    let image = Topic::new::<sensor_msgs::Image>("/navcam/image_raw", Qos::sensor_data()).unwrap();
    let switch = ServiceName::new::<SetBool>("/switch").unwrap();
    let (requested, answered) = (format!("{}_Request", switch.type_name), format!("{}_Response", switch.type_name));
    for (name, type_hash) in [
        (image.type_name, image.type_hash),
        (requested.as_str(), switch.request_hash),
        (answered.as_str(), switch.response_hash),
    ] {
        let answer = answer(&request(name, type_hash));
        assert!(answer.successful, "{}", answer.failure_reason);
        assert_eq!(hash(&answer.type_description), type_hash, "{name}");
    }
    for interface in INTERFACES {
        assert_eq!(known(interface.type_name).hash, interface.type_hash);
    }
}

#[test]
fn fields_have_the_defaults_of_ros_2() {
    let default_of = |name: &str, of: &str| {
        let fields = reported(name).type_description.type_description.fields;
        fields.into_iter().find(|field| field.name == of).expect(of).default_value
    };
    assert_eq!(default_of("geometry_msgs/msg/Quaternion", "w"), "1.0");
    assert_eq!(default_of("geometry_msgs/msg/Quaternion", "x"), "0.0");
    assert_eq!(default_of("rcl_interfaces/msg/ParameterDescriptor", "read_only"), "False");
    assert_eq!(
        default_of("type_description_interfaces/srv/GetTypeDescription_Request", "include_type_sources"),
        "True"
    );
    assert_eq!(default_of("std_msgs/msg/Header", "frame_id"), "");
}

#[test]
fn sources_are_the_texts_as_they_are_where_they_are_requested() {
    let sources = |name: &str| reported(name).type_sources;
    let names = |name: &str| sources(name).into_iter().map(|source| source.type_name).collect::<Vec<_>>();
    assert_eq!(names("std_msgs/msg/Header"), ["std_msgs/msg/Header", "builtin_interfaces/msg/Time"]);
    let header = &sources("std_msgs/msg/Header")[0];
    assert_eq!(header.encoding, "msg");
    assert_eq!(header.raw_file_contents, include_str!("../../interfaces/std_msgs/msg/Header.msg"));

    let switch = &sources("std_srvs/srv/SetBool")[0];
    assert_eq!(switch.encoding, "srv");
    assert_eq!(switch.raw_file_contents, include_str!("../../interfaces/std_srvs/srv/SetBool.srv"));
    let part = &sources("std_srvs/srv/SetBool_Request")[0];
    assert_eq!((part.encoding.as_str(), part.raw_file_contents.as_str()), ("implicit", ""));
    assert_eq!(sources("simulation_interfaces/action/SimulateSteps")[0].encoding, "action");

    let header = known("std_msgs/msg/Header");
    let without = GetTypeDescriptionRequest { include_type_sources: false, ..request(header.name, header.hash) };
    let answer = answer(&without);
    assert!(answer.successful && answer.type_sources.is_empty());
}

#[test]
fn a_type_of_another_name_or_hash_is_refused_with_the_reason() {
    let (header, image) = (known("std_msgs/msg/Header"), known("sensor_msgs/msg/Image"));
    for (name, type_hash, part) in [
        ("std_msgs/msg/Heading", header.hash, "\"std_msgs/msg/Heading\" is no type"),
        ("std_msgs/Header", header.hash, "is no type that this node knows"),
        ("", header.hash, "is no type"),
        (header.name, image.hash, header.hash),
        (header.name, "", "not \"\""),
    ] {
        let answer = answer(&request(name, type_hash));
        assert!(!answer.successful && answer.failure_reason.contains(part), "{}", answer.failure_reason);
        assert_eq!(answer.type_description, TypeDescription::default());
        assert!(answer.type_sources.is_empty());
    }
}

#[test]
fn a_node_answers_under_its_name() {
    let bus = InProcess::new();
    let served = serve_type_descriptions(&bus, "/selene").unwrap();
    let client = Client::<GetTypeDescription>::new(&bus, "/selene/get_type_description").unwrap();
    let image = known("sensor_msgs/msg/Image");
    let answer = client.call(&request(image.name, image.hash)).unwrap().try_recv().expect("an answer at once");
    assert_eq!(answer, reported(image.name));
    let taken = serve_type_descriptions(&bus, "/selene").err().expect("the name is taken");
    assert!(taken.to_string().contains("/selene/get_type_description"), "{taken}");
    drop(served);
    assert!(!client.is_served());
}
