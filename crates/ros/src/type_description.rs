//! The service that describes types (REP-2016), for peers that meet a type without having its text. Each Selene node
//! answers for every type that the program knows, whether the node uses it or not: messages, services, actions, and all
//! types that they contain. The answers are those of rcl (Jazzy): a description without defaults has the type's hash,
//! and texts are whole files.

use crate::dropped::Dropped;
use crate::message::TYPES;
use crate::service::{Reply, serve};
use crate::transport::{Subscription, Transport, TransportError};
use crate::type_description_interfaces::srv::{
    GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse,
};
use crate::type_description_interfaces::{Field, FieldType, IndividualTypeDescription, TypeDescription, TypeSource};

/// A type that the program knows.
#[derive(Debug)]
pub(crate) struct KnownType {
    pub(crate) name: &'static str,
    pub(crate) hash: &'static str,
    pub(crate) fields: &'static [KnownField],
    /// The names of all types that it contains, sorted.
    pub(crate) referenced: &'static [&'static str],
    /// The encoding of its text: `msg`, `srv` or `action`; `implicit` if rosidl derives it from another one's.
    pub(crate) encoding: &'static str,
    pub(crate) text: &'static str,
}

/// A field, with its type numbered as in `type_description_interfaces/msg/FieldType`.
#[derive(Debug)]
pub(crate) struct KnownField {
    pub(crate) name: &'static str,
    pub(crate) type_id: u8,
    pub(crate) capacity: u64,
    pub(crate) string_capacity: u64,
    /// The name of its type if that is another interface.
    pub(crate) nested: &'static str,
    pub(crate) default: &'static str,
}

/// Serves type descriptions for the node with full name `node`, such as `/selene`, until the subscription is dropped.
///
/// # Errors
/// When the name is not a ROS name, the service is served already, or the middleware refuses.
pub fn serve_type_descriptions(transport: &dyn Transport, node: &str) -> Result<Subscription, TransportError> {
    let name = format!("{node}/get_type_description");
    let unsent = Dropped::new(&name);
    serve::<GetTypeDescription>(transport, &name, move |request, reply: Reply<GetTypeDescription>| {
        if let Err(error) = reply.send(&answer(&request)) {
            unsent.add(error);
        }
    })
}

/// The requested description, or why there is none.
fn answer(request: &GetTypeDescriptionRequest) -> GetTypeDescriptionResponse {
    match KnownType::requested(request) {
        Ok(known) => known.reported(request.include_type_sources),
        Err(failure_reason) => GetTypeDescriptionResponse { failure_reason, ..GetTypeDescriptionResponse::default() },
    }
}

impl KnownType {
    fn requested(request: &GetTypeDescriptionRequest) -> Result<&'static Self, String> {
        let GetTypeDescriptionRequest { type_name, type_hash, .. } = request;
        let known = Self::find(type_name).ok_or_else(|| {
            format!("{type_name:?} is no type that this node knows; a name reads like \"sensor_msgs/msg/Image\"")
        })?;
        if known.hash == type_hash {
            return Ok(known);
        }
        Err(format!("{type_name} has the hash {} here, not {type_hash:?}: its fields are others", known.hash))
    }

    fn find(name: &str) -> Option<&'static Self> {
        TYPES.binary_search_by(|known| known.name.cmp(name)).ok().map(|index| &TYPES[index])
    }

    fn reported(&self, with_sources: bool) -> GetTypeDescriptionResponse {
        let referenced: Vec<&Self> = self.referenced.iter().filter_map(|name| Self::find(name)).collect();
        let sources = || std::iter::once(self).chain(referenced.iter().copied()).map(Self::source).collect::<Vec<_>>();
        GetTypeDescriptionResponse {
            successful: true,
            type_sources: if with_sources { sources() } else { Vec::new() },
            type_description: TypeDescription {
                type_description: self.described(),
                referenced_type_descriptions: referenced.iter().map(|known| known.described()).collect(),
            },
            ..GetTypeDescriptionResponse::default()
        }
    }

    fn described(&self) -> IndividualTypeDescription {
        let fields = self.fields.iter().map(KnownField::described).collect();
        IndividualTypeDescription { type_name: self.name.to_owned(), fields }
    }

    fn source(&self) -> TypeSource {
        TypeSource {
            type_name: self.name.to_owned(),
            encoding: self.encoding.to_owned(),
            raw_file_contents: self.text.to_owned(),
        }
    }
}

impl KnownField {
    fn described(&self) -> Field {
        let field_type = FieldType {
            type_id: self.type_id,
            capacity: self.capacity,
            string_capacity: self.string_capacity,
            nested_type_name: self.nested.to_owned(),
        };
        Field { name: self.name.to_owned(), r#type: field_type, default_value: self.default.to_owned() }
    }
}

#[cfg(test)]
mod tests;
