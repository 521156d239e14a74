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
