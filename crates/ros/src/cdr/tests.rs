//! Tests with bytes written by hand from the CDR rules, and with damaged bytes.

use selene_base::random::{RngExt, stream};

use super::{CdrError, Encoded, decode, encode};
use crate::message::sample::sample;
use crate::message::{Message, for_every_message, for_every_part};
use crate::{builtin_interfaces, geometry_msgs, sensor_msgs, std_msgs};

/// Number of damaged copies tried for each message type.
const DAMAGED_COPIES: usize = 300;

fn header() -> std_msgs::Header {
    std_msgs::Header { stamp: builtin_interfaces::Time { sec: 1, nanosec: 2 }, frame_id: "map".to_owned() }
}

fn round_trip<M: Message + PartialEq + std::fmt::Debug>() {
    for seed in [0, 50] {
        let message: M = sample(seed);
        let encoded = encode(&message).unwrap();
        assert_eq!(decode::<M>(&encoded).unwrap(), message, "{}", M::TYPE_NAME);
    }
}

#[test]
fn every_message_comes_back_as_it_went() {
    for_every_message!(round_trip());
    for_every_part!(round_trip());
}

#[test]
fn a_header_has_the_bytes_of_the_cdr_rules() {
    let expected = [
        0, 1, 0, 0, // little-endian plain CDR, no options
        1, 0, 0, 0, 2, 0, 0, 0, // stamp
        4, 0, 0, 0, b'm', b'a', b'p', 0, // four characters with the closing null
    ];
    assert_eq!(encode(&header()).unwrap().bytes(), expected);
}

#[test]
fn alignment_counts_from_the_end_of_the_header() {
    let path = crate::tf2_msgs::TFMessage {
        transforms: vec![geometry_msgs::TransformStamped {
            header: header(),
            child_frame_id: "b".to_owned(),
            transform: geometry_msgs::Transform::default(),
        }],
    };
    let encoded = encode(&path).unwrap();
    let counts_and_stamp = [1_u32, 1, 2].map(u32::to_le_bytes).concat();
    assert_eq!(encoded.payload()[..12], counts_and_stamp);
    assert_eq!(encoded.payload()[12..26], *b"\x04\0\0\0map\0\x02\0\0\0b\0");
    assert_eq!(encoded.payload()[26..32], [0; 6], "float64 begins at a multiple of eight");
    assert_eq!(encoded.payload().len(), 32 + 7 * 8);
}

#[test]
fn sequences_carry_their_count_and_arrays_do_not() {
    let joints = sensor_msgs::JointState { position: vec![1.0], ..Default::default() };
    let bytes = encode(&joints).unwrap();
    let expected = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // stamp, empty frame, fill
        0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // no names, one position
        0, 0, 0, 0, 0, 0, 0, 0, // no velocities, no efforts
    ];
    assert_eq!(bytes.payload(), expected);
    let covariance = geometry_msgs::TwistWithCovariance::default();
    assert_eq!(encode(&covariance).unwrap().payload().len(), (6 + 36) * 8);
}

#[test]
fn an_empty_message_takes_one_byte() {
    assert_eq!(encode(&std_msgs::Empty::default()).unwrap().bytes(), [0, 1, 0, 0, 0]);
}

#[test]
fn big_endian_senders_are_understood() {
    let text = Encoded::from_parts([0, 0], b"\0\0\0\x03hi\0");
    assert_eq!(decode::<std_msgs::String>(&text).unwrap().data, "hi");
}

#[test]
fn bytes_of_another_representation_or_type_are_refused_with_the_reason() {
    let refusal = |bytes: &[u8]| decode::<std_msgs::Bool>(&Encoded::from_bytes(bytes)).expect_err("refused");
    assert!(matches!(refusal(&[]), CdrError::Encapsulation { found: None, .. }));
    assert!(matches!(refusal(&[0, 7, 0, 0, 1]), CdrError::Encapsulation { found: Some([0, 7]), .. }));
    assert!(matches!(refusal(&[0, 1, 0, 0]), CdrError::Decode { .. }));
    assert!(matches!(refusal(&[0, 1, 0, 0, 2]), CdrError::Decode { .. }));
    assert!(matches!(refusal(&[0, 1, 0, 0, 1, 0, 0, 0, 0]), CdrError::LeftOver { left_over: 4, .. }));
    assert!(decode::<std_msgs::Bool>(&Encoded::from_bytes([0, 1, 0, 0, 1, 0, 0, 0])).unwrap().data);
    assert!(decode::<std_msgs::Bool>(&Encoded::with_room([0, 1, 0, 0, 1, 0, 0, 0, 0])).unwrap().data);
    assert!(refusal(&[0, 2, 0, 0, 1]).to_string().contains("std_msgs/msg/Bool"));
}

fn survives_damage<M: Message>() {
    let whole = encode(&sample::<M>(0)).unwrap();
    let mut chance = stream(7, M::TYPE_NAME);
    for length in 0..whole.bytes().len() {
        let cut = decode::<M>(&Encoded::from_bytes(&whole.bytes()[..length]));
        assert!(cut.is_err(), "{} of {length} bytes", M::TYPE_NAME);
    }
    for _ in 0..DAMAGED_COPIES {
        let mut bytes = whole.bytes().to_vec();
        let at = chance.random_range(4..bytes.len());
        let damage: [u8; 4] = chance.random();
        bytes[at..].iter_mut().zip(damage).for_each(|(byte, wrong)| *byte = wrong);
        let _ = decode::<M>(&Encoded::from_bytes(bytes));
    }
}

#[test]
fn truncated_messages_are_refused_and_damaged_ones_do_no_harm() {
    for_every_message!(survives_damage());
    for_every_part!(survives_damage());
}

/// A wrong length costs an error: if it were believed, this would allocate 100 GB.
#[test]
fn a_length_that_lies_takes_no_memory() {
    let mut bytes = encode(&crate::tf2_msgs::TFMessage::default()).unwrap().bytes().to_vec();
    bytes[4..8].fill(0xff);
    assert!(decode::<crate::tf2_msgs::TFMessage>(&Encoded::from_bytes(bytes)).is_err());
    let mut bytes = encode(&std_msgs::String::default()).unwrap().bytes().to_vec();
    bytes[4..8].fill(0xff);
    assert!(decode::<std_msgs::String>(&Encoded::from_bytes(bytes)).is_err());
}
