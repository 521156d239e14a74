//! Type hashes (REP-2016, RIHS01), by which ROS 2 peers see that a type of the same name has the same fields: SHA-256
//! of a JSON text that describes the fields of the type and of all types that it is made of. Comments, constants and
//! defaults do not count. The text is that of `rosidl_generator_type_description`, byte for byte.

use sha2::{Digest, Sha256};

use crate::Interfaces;
use crate::generate::{DUMMY, dependencies};
use crate::parse::{Arity, Base, Field, Interface};

// Numbers of `type_description_interfaces/msg/FieldType`.
const NESTED_TYPE: u8 = 1;
const UINT8: u8 = 3;
const STRING: u8 = 17;
const BOUNDED_STRING: u8 = 21;
// What is added to the number of an element's type.
const ARRAY: u8 = 48;
const BOUNDED_SEQUENCE: u8 = 96;
const UNBOUNDED_SEQUENCE: u8 = 144;

/// `RIHS01_` and 64 hexadecimal digits.
pub(crate) fn type_hash(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let mut referenced = dependencies(interface, all)?;
    referenced.sort_by_cached_key(|interface| interface.key.type_name());
    let referenced: Vec<String> = referenced.into_iter().map(description).collect();
    let text = format!(
        "{{\"type_description\": {}, \"referenced_type_descriptions\": [{}]}}",
        description(interface),
        referenced.join(", ")
    );
    let digits: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("RIHS01_{digits}"))
}

fn description(interface: &Interface) -> String {
    let fields: Vec<String> = match &interface.fields[..] {
        [] => vec![typed(DUMMY, UINT8, 0, 0, "")],
        fields => fields.iter().map(field).collect(),
    };
    format!("{{\"type_name\": \"{}\", \"fields\": [{}]}}", interface.key.type_name(), fields.join(", "))
}

fn field(Field { name, base, arity, .. }: &Field) -> String {
    let (added, capacity) = match *arity {
        Arity::One => (0, 0),
        Arity::Array(length) => (ARRAY, length),
        Arity::Sequence(Some(bound)) => (BOUNDED_SEQUENCE, bound),
        Arity::Sequence(None) => (UNBOUNDED_SEQUENCE, 0),
    };
    match base {
        Base::Primitive { type_id, .. } => typed(name, type_id + added, capacity, 0, ""),
        Base::Text(None) => typed(name, STRING + added, capacity, 0, ""),
        Base::Text(Some(bound)) => typed(name, BOUNDED_STRING + added, capacity, *bound, ""),
        Base::Interface(key) => typed(name, NESTED_TYPE + added, capacity, 0, &key.type_name()),
    }
}

fn typed(name: &str, type_id: u8, capacity: usize, string_capacity: usize, nested: &str) -> String {
    format!(
        "{{\"name\": \"{name}\", \"type\": {{\"type_id\": {type_id}, \"capacity\": {capacity}, \
         \"string_capacity\": {string_capacity}, \"nested_type_name\": \"{nested}\"}}}}"
    )
}
