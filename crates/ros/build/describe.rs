//! Describes types by their fields, as in `type_description_interfaces` (REP-2016): for a type's hash, and as a table
//! for the service that answers peers at run time.

use crate::Interfaces;
use crate::generate::{DUMMY, dependencies};
use crate::parse::{Arity, Base, Field, Interface};
use crate::type_hash::type_hash;

// Values of `type_description_interfaces/msg/FieldType`.
const NESTED_TYPE: u8 = 1;
const UINT8: u8 = 3;
const STRING: u8 = 17;
const BOUNDED_STRING: u8 = 21;
// Offsets added to the value of the element's type.
const ARRAY: u8 = 48;
const BOUNDED_SEQUENCE: u8 = 96;
const UNBOUNDED_SEQUENCE: u8 = 144;
/// The encoding of a type that has no text of its own.
const IMPLICIT: &str = "implicit";

/// The description of a field.
pub(crate) struct Described<'a> {
    pub(crate) name: &'a str,
    pub(crate) type_id: u8,
    pub(crate) capacity: usize,
    pub(crate) string_capacity: usize,
    /// The name of its type if that is another interface.
    pub(crate) nested: String,
    /// In Python's notation, since rosidl is written in Python.
    default: String,
}

/// The fields of an interface; for one without fields, the dummy field that rosidl adds.
pub(crate) fn fields(interface: &Interface) -> Vec<Described<'_>> {
    match &interface.fields[..] {
        [] => vec![plain(DUMMY, UINT8)],
        fields => fields.iter().map(field).collect(),
    }
}

/// All types that an interface contains, sorted by name.
pub(crate) fn referenced<'a>(interface: &Interface, all: &'a Interfaces) -> Result<Vec<&'a Interface>, String> {
    let mut referenced = dependencies(interface, all)?;
    referenced.sort_by_cached_key(|interface| interface.key.type_name());
    Ok(referenced)
}

fn field(field: &Field) -> Described<'_> {
    let (added, capacity) = match field.arity {
        Arity::One => (0, 0),
        Arity::Array(length) => (ARRAY, length),
        Arity::Sequence(Some(bound)) => (BOUNDED_SEQUENCE, bound),
        Arity::Sequence(None) => (UNBOUNDED_SEQUENCE, 0),
    };
    let (type_id, string_capacity, nested) = match &field.base {
        Base::Primitive { type_id, .. } => (*type_id, 0, String::new()),
        Base::Text(None) => (STRING, 0, String::new()),
        Base::Text(Some(bound)) => (BOUNDED_STRING, *bound, String::new()),
        Base::Interface(key) => (NESTED_TYPE, 0, key.type_name()),
    };
    let default = default_text(field);
    Described { capacity, string_capacity, nested, default, ..plain(&field.name, type_id + added) }
}

fn plain(name: &str, type_id: u8) -> Described<'_> {
    Described { name, type_id, capacity: 0, string_capacity: 0, nested: String::new(), default: String::new() }
}

fn default_text(field: &Field) -> String {
    match field.default.as_deref() {
        Some("true") => "True".to_owned(),
        Some("false") => "False".to_owned(),
        Some(number) => number.to_owned(),
        None => String::new(),
    }
}

/// A table of all types, sorted by name.
pub(crate) fn table(all: &Interfaces) -> Result<String, String> {
    let mut types: Vec<&Interface> = all.structs.values().chain(all.whole.values()).collect();
    types.sort_by_cached_key(|interface| interface.key.type_name());
    let rows: String = types.into_iter().map(|interface| row(interface, all)).collect::<Result<_, String>>()?;
    Ok(format!(
        "\n/// Every type by its fields, in the order of names.\n\
         pub(crate) static TYPES: &[crate::type_description::KnownType] = &[\n{rows}];\n"
    ))
}

fn row(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let (name, hash) = (interface.key.type_name(), type_hash(interface, all)?);
    let fields: String = fields(interface).iter().map(literal).collect();
    let referenced: Vec<String> = referenced(interface, all)?.iter().map(|other| other.key.type_name()).collect();
    let source = all.sources.get(&interface.key);
    let (encoding, text) = source.map_or((IMPLICIT, ""), |text| (interface.key.kind.folder(), text.as_str()));
    Ok(format!(
        "    crate::type_description::KnownType {{\n        name: {name:?},\n        hash: {hash:?},\n        \
         fields: &[\n{fields}        ],\n        referenced: &{referenced:?},\n        encoding: {encoding:?},\n        \
         text: {text:?},\n    }},\n"
    ))
}

fn literal(field: &Described) -> String {
    let Described { name, type_id, capacity, string_capacity, nested, default } = field;
    format!(
        "            crate::type_description::KnownField {{ name: {name:?}, type_id: {type_id}, capacity: {capacity}, \
         string_capacity: {string_capacity}, nested: {nested:?}, default: {default:?} }},\n"
    )
}
