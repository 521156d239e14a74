//! Reads the stamp of a message whose Rust type is unknown: if its definition begins with a `std_msgs/Header`, the
//! stamp (seconds, nanoseconds) comes first, right after the encapsulation header.

use selene_base::SimTime;

use crate::cdr::Encoded;

/// How the field that holds a stamp begins in a definition.
const HEADER: &str = "std_msgs/Header ";
const CDR_BE: [u8; 2] = [0, 0];
const CDR_LE: [u8; 2] = [0, 1];

/// Whether messages of a type with this definition begin with a header.
#[must_use]
pub fn begins_with_header(definition: &str) -> bool {
    let mut code = definition.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let first_field = code.find(|code| !code.is_empty() && !code.contains('='));
    first_field.is_some_and(|field| field.starts_with(HEADER))
}

/// The stamp of a message that begins with a header; `None` if it is too short or not plain CDR.
#[must_use]
pub fn header_stamp(message: &Encoded) -> Option<SimTime> {
    let payload = message.payload();
    let (sec, nanosec) = (*payload.first_chunk::<4>()?, *payload.get(4..)?.first_chunk::<4>()?);
    let (sec, nanosec) = match message.representation()? {
        CDR_LE => (i32::from_le_bytes(sec), u32::from_le_bytes(nanosec)),
        CDR_BE => (i32::from_be_bytes(sec), u32::from_be_bytes(nanosec)),
        _ => return None,
    };
    Some(SimTime::from_sec_nanosec(sec, nanosec))
}

#[cfg(test)]
mod tests {
    use super::{begins_with_header, header_stamp};
    use crate::message::Message;
    use crate::{Encoded, encode, geometry_msgs, rosgraph_msgs, std_msgs, vision_msgs};
    use selene_base::SimTime;

    #[test]
    fn definitions_report_which_messages_are_stamped() {
        for stamped in [geometry_msgs::TwistStamped::DEFINITION, vision_msgs::Detection2DArray::DEFINITION] {
            assert!(begins_with_header(stamped), "{stamped}");
        }
        // These have no header, or only inside another message.
        for bare in [geometry_msgs::Twist::DEFINITION, rosgraph_msgs::Clock::DEFINITION, std_msgs::Empty::DEFINITION] {
            assert!(!begins_with_header(bare), "{bare}");
        }
        assert!(begins_with_header("# a comment\nuint8 A=1\nstd_msgs/Header header # when\nfloat64 x\n"));
        assert!(!begins_with_header("float64 x\nstd_msgs/Header header\n"));
    }

    #[test]
    fn the_stamp_is_read_in_both_byte_orders_and_never_beyond_the_end() {
        let stamp = SimTime::from_nanos(12_345_678_901);
        let header = std_msgs::Header::new(stamp, "base_link");
        let message = geometry_msgs::TwistStamped { header, ..Default::default() };
        let encoded = encode(&message).expect("encoded");
        assert_eq!(header_stamp(&encoded), Some(stamp));
        let big = [12_i32.to_be_bytes(), 345_678_901_i32.to_be_bytes()].concat();
        assert_eq!(header_stamp(&Encoded::from_parts([0, 0], &big)), Some(stamp));
        assert_eq!(header_stamp(&Encoded::from_parts([0, 9], &big)), None);
        for length in 0..12 {
            assert_eq!(header_stamp(&Encoded::from_bytes(&encoded.bytes()[..length])), None, "{length} bytes");
        }
    }
}
