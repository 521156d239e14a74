//! Messages as CDR bytes: plain CDR (XCDR version 1, OMG DDS-XTypes 1.3, 7.4.1) after the four-byte encapsulation
//! header, as in every ROS 2 middleware and in rosbag2. Selene writes little-endian and reads both byte orders.
//!
//! Alignment counts from the byte after the header. Sequences are read element by element and grow with the bytes that
//! are really there, so that a wrong length costs an error, not memory.

use std::sync::Arc;

use byteorder::{BigEndian, LittleEndian};
use serde::de::DeserializeOwned;

use crate::message::Message;

/// Size of the encapsulation header.
const HEADER_BYTES: usize = 4;
/// Representation identifier of plain CDR, big-endian.
pub(crate) const CDR_BE: [u8; 2] = [0, 0];
/// Representation identifier of plain CDR, little-endian, which Selene writes.
pub(crate) const CDR_LE: [u8; 2] = [0, 1];
/// Maximum number of bytes that a sender may append to fill a word.
const FILL_BYTES_MAX: usize = 3;
/// Maximum size of a message: some lengths in RTPS and in ROS 2 are signed 32-bit numbers.
const BYTES_MAX: usize = i32::MAX as usize;

/// One encoded message, header included; cloning shares the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    bytes: Arc<[u8]>,
    /// Whether unused bytes may follow the message.
    has_room: bool,
}

impl Encoded {
    /// Bytes received from a network or a bag, header included. Only [`decode`] checks them.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { bytes: bytes.into(), has_room: false }
    }

    /// Bytes that a middleware encoded from a message of a known type; unused ones may follow the message.
    #[must_use]
    pub fn with_room(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { bytes: bytes.into(), has_room: true }
    }

    /// A message from its payload and its representation identifier.
    #[must_use]
    pub fn from_parts(representation: [u8; 2], payload: &[u8]) -> Self {
        let [kind_high, kind_low] = representation;
        Self::from_bytes([&[kind_high, kind_low, 0, 0], payload].concat())
    }

    /// All bytes, header included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes after the header.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// The representation identifier, `[0, 1]` in what Selene writes; `None` if the bytes are shorter than a header.
    #[must_use]
    pub fn representation(&self) -> Option<[u8; 2]> {
        self.bytes.first_chunk::<HEADER_BYTES>().map(|header| [header[0], header[1]])
    }
}

/// A message that cannot be encoded, or bytes that are not the expected message.
#[derive(Debug, thiserror::Error)]
pub enum CdrError {
    /// The message does not fit CDR.
    #[error("{type_name} cannot be encoded: {source}")]
    Encode {
        /// The message's type.
        type_name: &'static str,
        /// The encoder's error.
        source: cdr_encoding::Error,
    },
    /// The message is larger than ROS 2 carries.
    #[error("{type_name} of {bytes} bytes cannot be encoded: at most {BYTES_MAX} are carried")]
    TooLarge {
        /// The message's type.
        type_name: &'static str,
        /// Its size, bytes.
        bytes: usize,
    },
    /// The header is missing or names another representation than plain CDR.
    #[error("{type_name} expected, but the bytes begin with {found:02x?}: only plain CDR (00 00 or 00 01) is read")]
    Encapsulation {
        /// The expected type.
        type_name: &'static str,
        /// The representation identifier; `None` if the bytes are shorter than a header.
        found: Option<[u8; 2]>,
    },
    /// The bytes end too early or hold a value that the type does not allow.
    #[error("{bytes} bytes are not a {type_name}: {source}")]
    Decode {
        /// The expected type.
        type_name: &'static str,
        /// Number of bytes.
        bytes: usize,
        /// The decoder's error.
        source: cdr_encoding::Error,
    },
    /// Bytes are left after the message: they are of another type.
    #[error("{left_over} bytes are left after a {type_name}: sender and receiver differ in the type")]
    LeftOver {
        /// The expected type.
        type_name: &'static str,
        /// Number of bytes after its end.
        left_over: usize,
    },
}

/// Encodes a message as little-endian plain CDR after its header.
///
/// # Errors
/// When the message is larger than ROS 2 carries.
pub fn encode<M: Message>(message: &M) -> Result<Encoded, CdrError> {
    let type_name = M::TYPE_NAME;
    let mut bytes = vec![CDR_LE[0], CDR_LE[1], 0, 0];
    cdr_encoding::to_writer::<M, LittleEndian, _>(&mut bytes, message)
        .map_err(|source| CdrError::Encode { type_name, source })?;
    if bytes.len() > BYTES_MAX {
        return Err(CdrError::TooLarge { type_name, bytes: bytes.len() });
    }
    Ok(Encoded::from_bytes(bytes))
}

/// Decodes a message.
///
/// # Errors
/// When the bytes are not exactly one plain-CDR message of this type.
pub fn decode<M: Message>(encoded: &Encoded) -> Result<M, CdrError> {
    decode_as(M::TYPE_NAME, encoded)
}

/// As [`decode`], for a value of the type `type_name`.
pub(crate) fn decode_as<T: DeserializeOwned>(type_name: &'static str, encoded: &Encoded) -> Result<T, CdrError> {
    let payload = encoded.payload();
    let decoded = match encoded.representation() {
        Some(CDR_LE) => cdr_encoding::from_bytes::<T, LittleEndian>(payload),
        Some(CDR_BE) => cdr_encoding::from_bytes::<T, BigEndian>(payload),
        found => return Err(CdrError::Encapsulation { type_name, found }),
    };
    let (message, used) = decoded.map_err(|source| CdrError::Decode { type_name, bytes: payload.len(), source })?;
    match payload.len() - used {
        0..=FILL_BYTES_MAX => Ok(message),
        _ if encoded.has_room => Ok(message),
        left_over => Err(CdrError::LeftOver { type_name, left_over }),
    }
}

#[cfg(test)]
mod tests;
