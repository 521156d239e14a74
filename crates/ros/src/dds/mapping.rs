//! How replies are matched with requests. The middlewares of ROS 2 differ in this and are not compatible with each
//! other. Selene uses each peer's own, which it knows by the vendor in the peer's GUID (RTPS 2.5, 9.3.1.5). They are:
//!
//! - *Enhanced* (OMG DDS-RPC 1.0, 7.8.2, as in `rmw_fastrtps`): the payload is the message alone. The inline QoS of a
//!   request gives the client's reply reader; that of a reply gives the reader and the request's sequence number.
//! - *Cyclone* (`rmw_cyclonedds_cpp`, `serdata.hpp`): two 64-bit words precede the message in the payload, the client's
//!   number and the request's. A server returns both.

use rustdds::{GUID, SampleIdentity, SequenceNumber};

use super::listener::Sample;
use crate::cdr::{CDR_BE, CDR_LE, Encoded};

/// Vendors of RTPS: the first two bytes of their GUIDs.
const EPROSIMA: [u8; 2] = [0x01, 0x0f];
const ECLIPSE_CYCLONE: [u8; 2] = [0x01, 0x10];

/// The middleware whose mapping of services to DDS is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceMapping {
    /// The mapping of `rmw_fastrtps`, the default middleware of ROS 2.
    #[default]
    Enhanced,
    /// The mapping of `rmw_cyclonedds_cpp`.
    Cyclone,
}

/// A sample to be written: its payload and its inline QoS.
pub(super) struct OutgoingSample {
    pub(super) message: Encoded,
    pub(super) related: Option<SampleIdentity>,
}

/// The origin of a request, which the server keeps until it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestOrigin {
    /// The client's reply reader, or its request writer if the request does not give the reader.
    pub(super) client: GUID,
    id: RequestId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestId {
    Enhanced(SampleIdentity),
    Cyclone(Header),
}

/// The words before a message in the Cyclone mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    client: u64,
    request: i64,
}

/// The two endpoints of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientIds {
    pub(super) writer: GUID,
    pub(super) reader: GUID,
}

impl ServiceMapping {
    /// The mapping that a peer's vendor uses; `self` for other vendors.
    pub(super) fn with(self, peer: GUID) -> Self {
        match peer.to_bytes() {
            [a, b, ..] if [a, b] == EPROSIMA => Self::Enhanced,
            [a, b, ..] if [a, b] == ECLIPSE_CYCLONE => Self::Cyclone,
            _ => self,
        }
    }

    /// Extracts a request from a sample; `None` if its header is truncated.
    pub(super) fn request(self, sample: Sample) -> Option<(RequestOrigin, Encoded)> {
        match self {
            Self::Enhanced => {
                let named = sample.related.map(|related| related.writer_guid);
                let client = named.filter(|guid| *guid != GUID::GUID_UNKNOWN).unwrap_or(sample.writer);
                let id = SampleIdentity { writer_guid: client, sequence_number: sample.number };
                Some((RequestOrigin { client, id: RequestId::Enhanced(id) }, sample.message))
            }
            Self::Cyclone => {
                let (header, message) = Header::split(&sample.message)?;
                Some((RequestOrigin { client: sample.writer, id: RequestId::Cyclone(header) }, message))
            }
        }
    }

    /// The sample of a client's request number `request`, which the client counts itself.
    pub(super) fn wrap_request(self, client: ClientIds, request: i64, message: &Encoded) -> OutgoingSample {
        match self {
            Self::Enhanced => {
                let unnumbered =
                    SampleIdentity { writer_guid: client.reader, sequence_number: SequenceNumber::UNKNOWN };
                OutgoingSample { message: message.clone(), related: Some(unnumbered) }
            }
            Self::Cyclone => Header { client: client.word(), request }.wire(message),
        }
    }

    /// The number by which the reply to a request is recognized: the writer's sequence number, or the client's own.
    pub(super) fn number(self, written: SampleIdentity, request: i64) -> i64 {
        match self {
            Self::Enhanced => written.sequence_number.into(),
            Self::Cyclone => request,
        }
    }

    /// Extracts a response and its request's number from a sample; `None` if it answers another client.
    pub(super) fn response(self, client: ClientIds, sample: Sample) -> Option<(i64, Encoded)> {
        match self {
            Self::Enhanced => {
                let SampleIdentity { writer_guid, sequence_number } = sample.related?;
                let ours = [client.reader, client.writer].contains(&writer_guid);
                ours.then(|| (sequence_number.into(), sample.message))
            }
            Self::Cyclone => {
                let (header, message) = Header::split(&sample.message)?;
                (header.client == client.word()).then_some((header.request, message))
            }
        }
    }
}

impl RequestOrigin {
    /// The sample of a response.
    pub(super) fn answer(&self, message: &Encoded) -> OutgoingSample {
        match self.id {
            RequestId::Enhanced(id) => OutgoingSample { message: message.clone(), related: Some(id) },
            RequestId::Cyclone(header) => header.wire(message),
        }
    }
}

impl ClientIds {
    /// A number that is almost certainly unique to the client: the bytes of its writer's GUID, combined into one word.
    /// A client accepts replies with its own number.
    fn word(&self) -> u64 {
        let bytes = self.writer.to_bytes();
        let fold = |word: u64, byte: &u8| word.rotate_left(8) ^ u64::from(*byte);
        bytes.iter().fold(0, fold)
    }
}

impl Header {
    fn split(message: &Encoded) -> Option<(Self, Encoded)> {
        let representation = message.representation()?;
        let word = match representation {
            CDR_LE => u64::from_le_bytes,
            CDR_BE => u64::from_be_bytes,
            _ => return None,
        };
        let (client, rest) = message.payload().split_first_chunk()?;
        let (request, rest) = rest.split_first_chunk()?;
        let header = Self { client: word(*client), request: word(*request).cast_signed() };
        Some((header, Encoded::from_parts(representation, rest)))
    }

    /// Prepends the header to `message`, which is little-endian like all that Selene writes; sixteen bytes do not
    /// change the alignment.
    fn wire(self, message: &Encoded) -> OutgoingSample {
        let (client, request) = (self.client.to_le_bytes(), self.request.to_le_bytes());
        let payload = [&client[..], &request[..], message.payload()].concat();
        OutgoingSample { message: Encoded::from_parts(CDR_LE, &payload), related: None }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientIds, RequestOrigin, ServiceMapping};
    use crate::cdr::{Encoded, encode};
    use crate::dds::listener::Sample;
    use crate::std_msgs::String as Text;
    use rustdds::{GUID, SampleIdentity, SequenceNumber};

    const WRITER_KIND: u8 = 0x03;
    const READER_KIND: u8 = 0x04;

    fn guid(participant: u8, entity: u8, kind: u8) -> GUID {
        let mut bytes = [participant; 16];
        bytes[12..].copy_from_slice(&[0, 0, entity, kind]);
        GUID::from_bytes(bytes)
    }

    fn client(participant: u8) -> ClientIds {
        ClientIds { writer: guid(participant, 1, WRITER_KIND), reader: guid(participant, 2, READER_KIND) }
    }

    fn words(text: &str) -> Encoded {
        encode(&Text { data: text.to_owned() }).unwrap()
    }

    fn sample(writer: GUID, number: i64, related: Option<SampleIdentity>, message: Encoded) -> Sample {
        Sample { writer, number: SequenceNumber::new(number), related, message }
    }

    /// Request 7 of `client`, written as its writer's 70th sample, as the server receives it.
    fn requested(mapping: ServiceMapping, client: ClientIds) -> (RequestOrigin, Encoded) {
        let wire = mapping.wrap_request(client, 7, &words("ask"));
        mapping.request(sample(client.writer, 70, wire.related, wire.message)).unwrap()
    }

    #[test]
    fn a_client_knows_the_reply_to_its_request_and_no_other() {
        for mapping in [ServiceMapping::Enhanced, ServiceMapping::Cyclone] {
            let written = SampleIdentity { writer_guid: client(1).writer, sequence_number: SequenceNumber::new(70) };
            let (request, message) = requested(mapping, client(1));
            assert_eq!(message, words("ask"), "{mapping:?}");
            let reply = || {
                let wire = request.answer(&words("answer"));
                sample(guid(9, 1, WRITER_KIND), 3, wire.related, wire.message)
            };
            let expected = (mapping.number(written, 7), words("answer"));
            assert_eq!(mapping.response(client(1), reply()), Some(expected), "{mapping:?}");
            assert_eq!(mapping.response(client(2), reply()), None, "{mapping:?}");
        }
    }

    /// The bytes that `rmw_cyclonedds_cpp` writes, big-endian and little-endian.
    #[test]
    fn the_cyclone_header_is_two_words_in_the_payloads_byte_order() {
        let payload = [&[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6][..], b"\0\0\0\x03hi\0"].concat();
        let from = sample(guid(1, 1, WRITER_KIND), 1, None, Encoded::from_parts([0, 0], &payload));
        let (requested, message) = ServiceMapping::Cyclone.request(from).unwrap();
        assert_eq!(message, Encoded::from_parts([0, 0], b"\0\0\0\x03hi\0"));
        let reply = requested.answer(&words("hi")).message;
        let expected = [&[0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0][..], b"\x03\0\0\0hi\0"].concat();
        assert_eq!(reply.bytes(), expected);
    }

    /// `rmw_fastrtps` gives its reply reader; a client that does not is identified by its writer.
    #[test]
    fn a_reply_goes_to_the_reader_that_the_request_names_and_else_to_its_writer() {
        let (named, _) = requested(ServiceMapping::Enhanced, client(1));
        assert_eq!(named.client, client(1).reader);
        for related in [None, Some(SampleIdentity { writer_guid: GUID::GUID_UNKNOWN, ..Default::default() })] {
            let unnamed = sample(client(1).writer, 70, related, words("ask"));
            let (requested, _) = ServiceMapping::Enhanced.request(unnamed).unwrap();
            assert_eq!(requested.client, client(1).writer);
            let related = requested.answer(&words("answer")).related.unwrap();
            assert_eq!((related.writer_guid, i64::from(related.sequence_number)), (client(1).writer, 70));
        }
    }

    #[test]
    fn a_peers_mapping_is_its_vendors() {
        let peer = |vendor: [u8; 2]| {
            let mut bytes = [7; 16];
            bytes[..2].copy_from_slice(&vendor);
            GUID::from_bytes(bytes)
        };
        for own in [ServiceMapping::Enhanced, ServiceMapping::Cyclone] {
            assert_eq!(own.with(peer([0x01, 0x0f])), ServiceMapping::Enhanced);
            assert_eq!(own.with(peer([0x01, 0x10])), ServiceMapping::Cyclone);
            assert_eq!(own.with(peer([0x01, 0x12])), own);
        }
    }

    #[test]
    fn a_cut_header_and_a_foreign_encoding_are_no_request() {
        for message in [words("hi").bytes().to_vec(), vec![0, 1], [vec![0, 7, 0, 0], vec![1; 40]].concat()] {
            let cut = sample(client(1).writer, 1, None, Encoded::from_bytes(message));
            assert!(ServiceMapping::Cyclone.request(cut).is_none());
        }
    }
}
