//! Messages of the Foxglove WebSocket protocol (`foxglove.websocket.v1`; the part of `foxglove.sdk.v1` that is used
//! here is the same): JSON texts with an `op`, and binary frames whose first byte is the kind.

use std::sync::Arc;

use axum::body::Bytes;
use selene_base::SimTime;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::channels::Channel;
use super::client_queue::Queued;

/// The WebSocket subprotocols that are accepted.
pub(super) const SUBPROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// The ROS distribution of Selene's message definitions: from it Foxglove knows how ROS 2's types are named.
const ROS_DISTRO: &str = "jazzy";
/// Kinds of binary frames, their first bytes.
const MESSAGE_DATA: u8 = 1;
const TIME: u8 = 2;

/// A request of a client.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum ClientRequest {
    /// Subscribes to channels.
    Subscribe {
        /// The channels, with the client's ids of the subscriptions.
        subscriptions: Vec<SubscriptionRequest>,
    },
    /// Ends subscriptions.
    Unsubscribe {
        /// The client's ids of the subscriptions.
        subscription_ids: Vec<u32>,
    },
    /// Any other operation; none is supported.
    #[serde(other)]
    Other,
}

/// A channel that a client subscribes to.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscriptionRequest {
    /// The client's id of the subscription.
    pub(super) id: u32,
    pub(super) channel_id: u32,
}

/// The severity of a status, as the protocol numbers it.
#[derive(Clone, Copy)]
pub(super) enum Level {
    Warning = 1,
    Error = 2,
}

/// The first text that a client gets: name and capabilities of the server.
pub(super) fn server_info(session: &str) -> String {
    json!({
        "op": "serverInfo",
        "name": "Selene",
        "capabilities": ["time"],
        "supportedEncodings": [],
        "metadata": { "ROS_DISTRO": ROS_DISTRO },
        "sessionId": session,
    })
    .to_string()
}

/// A message to the user.
pub(super) fn status(level: Level, message: &str) -> String {
    json!({ "op": "status", "level": level as u8, "message": message }).to_string()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Advertised<'a> {
    id: u32,
    topic: &'a str,
    encoding: &'static str,
    schema_name: &'a str,
    schema: &'a str,
    schema_encoding: &'static str,
}

/// Announces new channels, with encoding and schema as in a bag.
pub(super) fn advertise(channels: &[Arc<Channel>]) -> String {
    let reported: Vec<_> = channels.iter().map(|channel| Advertised::of(channel)).collect();
    json!({ "op": "advertise", "channels": reported }).to_string()
}

impl<'a> Advertised<'a> {
    fn of(channel: &'a Channel) -> Self {
        Self {
            id: channel.id,
            topic: &channel.topic.name,
            encoding: "cdr",
            schema_name: channel.topic.type_name,
            schema: channel.topic.definition,
            schema_encoding: "ros2msg",
        }
    }
}

/// Announces that channels are gone.
pub(super) fn unadvertise(ids: &[u32]) -> String {
    json!({ "op": "unadvertise", "channelIds": ids }).to_string()
}

/// The frame of a message: the client's id of the subscription (u32), the stamp (u64, ns) and the CDR bytes.
pub(super) fn message_data(queued: &Queued) -> Bytes {
    let mut frame = Vec::with_capacity(13 + queued.message.bytes().len());
    frame.push(MESSAGE_DATA);
    frame.extend(queued.subscription.to_le_bytes());
    frame.extend(nanoseconds(queued.stamp));
    frame.extend(queued.message.bytes());
    frame.into()
}

/// The frame of the time (u64, ns).
pub(super) fn time(time: SimTime) -> Bytes {
    let mut frame = vec![TIME];
    frame.extend(nanoseconds(time));
    frame.into()
}

/// Nanoseconds as an unsigned number, little-endian: publishers refuse stamps before zero.
fn nanoseconds(time: SimTime) -> [u8; 8] {
    time.nanos().max(0).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::{ClientRequest, SubscriptionRequest, message_data, time};
    use crate::foxglove::client_queue::Queued;
    use selene_base::SimTime;
    use selene_ros::Encoded;

    /// Reads the examples of the protocol's specification.
    #[test]
    fn questions_read_as_the_specification_writes_them() {
        let read = |text| serde_json::from_str::<ClientRequest>(text).ok();
        let subscribe =
            r#"{"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 3}, {"id": 1, "channelId": 5}]}"#;
        let wanted = vec![SubscriptionRequest { id: 0, channel_id: 3 }, SubscriptionRequest { id: 1, channel_id: 5 }];
        assert_eq!(read(subscribe), Some(ClientRequest::Subscribe { subscriptions: wanted }));
        let unsubscribe = r#"{"op": "unsubscribe", "subscriptionIds": [0, 1]}"#;
        assert_eq!(read(unsubscribe), Some(ClientRequest::Unsubscribe { subscription_ids: vec![0, 1] }));
        assert_eq!(read(r#"{"op": "getParameters", "parameterNames": ["/a"]}"#), Some(ClientRequest::Other));
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
