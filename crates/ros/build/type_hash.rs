//! Type hashes (REP-2016, RIHS01), by which ROS 2 peers check that types of the same name have the same fields: SHA-256
//! of a JSON text that describes the fields of the type and of all types that it contains. Comments, constants and
//! defaults do not count. The text is that of `rosidl_generator_type_description`, byte for byte.

use sha2::{Digest, Sha256};

use crate::Interfaces;
use crate::describe::{Described, fields, referenced};
use crate::parse::Interface;

/// `RIHS01_` and 64 hexadecimal digits.
pub(crate) fn type_hash(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let referenced: Vec<String> = referenced(interface, all)?.into_iter().map(description).collect();
    let text = format!(
        "{{\"type_description\": {}, \"referenced_type_descriptions\": [{}]}}",
        description(interface),
        referenced.join(", ")
    );
    let digits: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("RIHS01_{digits}"))
}

fn description(interface: &Interface) -> String {
    let fields: Vec<String> = fields(interface).iter().map(field).collect();
    format!("{{\"type_name\": \"{}\", \"fields\": [{}]}}", interface.key.type_name(), fields.join(", "))
}

fn field(field: &Described) -> String {
    let Described { name, type_id, capacity, string_capacity, nested, .. } = field;
    format!(
        "{{\"name\": \"{name}\", \"type\": {{\"type_id\": {type_id}, \"capacity\": {capacity}, \
         \"string_capacity\": {string_capacity}, \"nested_type_name\": \"{nested}\"}}}}"
    )
}
