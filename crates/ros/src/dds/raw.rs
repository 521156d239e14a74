//! Passes encoded CDR bytes through RustDDS's serialization hooks, so that nothing is encoded twice. A sent message
//! shares its bytes with all other holders; a received one is copied once, out of the middleware's cache.

use std::convert::Infallible;

use rustdds::RepresentationIdentifier;
use rustdds::bytes::Bytes;
use rustdds::no_key::{Decode, DefaultDecoder, DeserializerAdapter, SerializerAdapter};

use crate::cdr::Encoded;

/// Serializer and deserializer of encoded messages.
#[derive(Clone)]
pub(super) struct Raw;

/// The payload of an [`Encoded`] after its header, which RustDDS writes itself.
struct Payload(Encoded);

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self.0.payload()
    }
}

impl SerializerAdapter<Encoded> for Raw {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(message: &Encoded) -> Result<Bytes, Infallible> {
        Ok(Bytes::from_owner(Payload(message.clone())))
    }
}

impl DeserializerAdapter<Encoded> for Raw {
    type Error = Infallible;
    type Decoded = Encoded;

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[RepresentationIdentifier::CDR_LE, RepresentationIdentifier::CDR_BE]
    }

    fn transform_decoded(message: Encoded) -> Encoded {
        message
    }
}

impl DefaultDecoder<Encoded> for Raw {
    type Decoder = Self;
    const DECODER: Self = Self;
}

impl Decode<'_, Encoded> for Raw {
    type Error = Infallible;

    fn decode_bytes(self, payload: &[u8], encoding: RepresentationIdentifier) -> Result<Encoded, Infallible> {
        Ok(Encoded::from_parts(encoding.to_bytes(), payload))
    }
}
