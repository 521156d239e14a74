//! What Selene says in the Foxglove WebSocket protocol. The messages are those of Foxglove's own SDK; only its server
//! is not used, because it lets pages of any site in.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use foxglove::ws_protocol::server::server_info::Capability;
use foxglove::ws_protocol::server::{self, Advertise, MessageData, ServerInfo, Time};
use foxglove::ws_protocol::{BinaryMessage, JsonMessage};
use selene_base::SimTime;

use super::channels::Channel;
use super::client_queue::Queued;

/// The WebSocket subprotocols that are accepted.
pub(super) const SUBPROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// The ROS distribution of Selene's message definitions: from it Foxglove knows how ROS 2's types are named.
const ROS_DISTRO: &str = "jazzy";

/// The first text that a client gets: name and capabilities of the server.
pub(super) fn server_info(session: &str) -> String {
    let metadata = [("ROS_DISTRO".to_owned(), ROS_DISTRO.to_owned())].into();
    ServerInfo::new("Selene")
        .with_capabilities([Capability::Time])
        .with_metadata(metadata)
        .with_session_id(session)
        .to_string()
}

/// Announces new channels, with encoding and schema as in a bag.
pub(super) fn advertise(channels: &[Arc<Channel>]) -> String {
    Advertise::new(channels.iter().map(|channel| advertised(channel))).to_string()
}

fn advertised(channel: &Channel) -> server::Channel<'_> {
    server::Channel {
        id: channel.id,
        topic: channel.topic.name.as_str().into(),
        encoding: "cdr".into(),
        schema_name: channel.topic.type_name.into(),
        schema_encoding: Some("ros2msg".into()),
        schema: channel.topic.definition.into(),
        metadata: BTreeMap::new(),
    }
}

/// The frame of a message: the client's id of the subscription, the stamp and the CDR bytes.
pub(super) fn message_data(queued: &Queued) -> Bytes {
    MessageData::new(queued.subscription, nanoseconds(queued.stamp), queued.message.bytes()).to_bytes().into()
}

/// The frame of the time.
pub(super) fn time(time: SimTime) -> Bytes {
    Time::new(nanoseconds(time)).to_bytes().into()
}

/// Nanoseconds as an unsigned number: publishers refuse stamps before zero.
fn nanoseconds(time: SimTime) -> u64 {
    time.nanos().max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use foxglove::ws_protocol::client::{ClientMessage, Subscribe, Subscription, Unsubscribe};
    use selene_base::SimTime;
    use selene_ros::Encoded;

    use super::{message_data, time};
    use crate::foxglove::client_queue::Queued;

    /// Reads the examples of the protocol's specification.
    #[test]
    fn questions_read_as_the_specification_writes_them() {
        let read = |text| ClientMessage::parse_json(text).ok();
        let subscribe =
            r#"{"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 3}, {"id": 1, "channelId": 5}]}"#;
        let wanted = Subscribe::new([Subscription::new(0, 3), Subscription::new(1, 5)]);
        assert_eq!(read(subscribe), Some(ClientMessage::Subscribe(wanted)));
        let unsubscribe = r#"{"op": "unsubscribe", "subscriptionIds": [0, 1]}"#;
        assert_eq!(read(unsubscribe), Some(ClientMessage::Unsubscribe(Unsubscribe::new([0, 1]))));
        let other = read(r#"{"op": "getParameters", "parameterNames": ["/a"]}"#);
        assert!(matches!(other, Some(ClientMessage::GetParameters(_))), "{other:?}");
        for broken in ["", "[]", "{}", r#"{"op": "subscribe"}"#, r#"{"op": "unsubscribe", "subscriptionIds": [-1]}"#] {
            assert_eq!(read(broken), None, "{broken}");
        }
    }

    #[test]
    fn frames_are_little_endian() {
        let message = Encoded::from_bytes(vec![0xab, 0xcd]);
        let queued = Queued { subscription: 0x0102_0304, stamp: SimTime::from_nanos(0x05), message };
        assert_eq!(&message_data(&queued)[..], [1, 4, 3, 2, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0xab, 0xcd]);
        assert_eq!(&time(SimTime::from_nanos(0x0607))[..], [2, 7, 6, 0, 0, 0, 0, 0, 0]);
    }
}
