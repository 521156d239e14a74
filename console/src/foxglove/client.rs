//! The connection of one Foxglove client: it gets the list of topics, subscribes to some, and gets their messages as
//! fast as it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{Message, WebSocket};
use foxglove::ws_protocol::JsonMessage;
use foxglove::ws_protocol::client::{ClientMessage, Subscription};
use foxglove::ws_protocol::server::{Status, Unadvertise};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use super::Server;
use super::client_queue::{ClientQueue, Next};
use super::protocol;
use crate::counts::RefusalReason;
use crate::session::{Flow, breaks_protocol, close};

/// Greatest number of status texts that wait to be written.
const WORDS_MAX: usize = 32;
/// Time limit for writing one message; after it the client counts as gone.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Time without a message to the client after which it gets a ping.
const PING: Duration = Duration::from_secs(10);
/// Number of invalid messages after which the connection ends.
const BROKEN_MAX: u32 = 8;

/// Serves a client until it leaves or is given up.
pub(super) async fn run(server: Arc<Server>, socket: WebSocket, seat: OwnedSemaphorePermit) {
    let (to_client, from_client) = socket.split();
    let (number, outbox) = server.channels.join();
    let (status_sender, statuses) = mpsc::channel(WORDS_MAX);
    let mut client = Client {
        server: Arc::clone(&server),
        number,
        status_sender,
        subscriptions: BTreeMap::new(),
        broken: 0,
        flow: Flow::new(Instant::now()),
    };
    let mut writer = Writer { server: Arc::clone(&server), outbox, statuses, to_client, advertised: BTreeSet::new() };
    tokio::select! {
        () = client.read(from_client) => {}
        _ = writer.write() => {}
    }
    close(&mut writer.to_client).await;
    server.channels.leave(number);
    drop(seat);
}

/// The client is to be disconnected.
struct Disconnected;

/// The reading side of a connection: the client's requests.
struct Client {
    server: Arc<Server>,
    number: u64,
    status_sender: mpsc::Sender<String>,
    /// The channel of each subscription.
    subscriptions: BTreeMap<u32, u64>,
    broken: u32,
    flow: Flow,
}

impl Client {
    async fn read(&mut self, mut from_client: SplitStream<WebSocket>) {
        while let Some(message) = from_client.next().await {
            let message = match message {
                Ok(message) => message,
                Err(error) => return self.lost(error),
            };
            if self.flow.is_flood(Instant::now()) {
                self.server.counts.add(RefusalReason::Flood);
                return;
            }
            let taken = match message {
                Message::Text(text) => self.take(text.as_str()),
                Message::Binary(_) => self.refuse("Selene takes no messages by Foxglove's protocol: it only shows"),
                // The library answers pings.
                Message::Ping(_) | Message::Pong(_) => Ok(()),
                Message::Close(_) => return,
            };
            if taken.is_err() {
                return;
            }
        }
    }

    /// Counts a lost connection as a refusal if the client broke the protocol, and not if it just left.
    fn lost(&self, error: axum::Error) {
        if breaks_protocol(error) {
            self.server.counts.add(RefusalReason::Message);
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Disconnected> {
        match ClientMessage::parse_json(text) {
            Ok(ClientMessage::Subscribe(wanted)) => wanted.subscriptions.iter().for_each(|one| self.subscribe(*one)),
            Ok(ClientMessage::Unsubscribe(ended)) => {
                ended.subscription_ids.into_iter().for_each(|subscription| self.unsubscribe(subscription));
            }
            Ok(_) => self.send_status(Status::warning("Selene only shows topics: it offers nothing of this")),
            Err(error) => return self.refuse(&format!("no message of Foxglove's protocol: {error}")),
        }
        Ok(())
    }

    /// Counts an invalid message; too many end the connection.
    fn refuse(&mut self, why: &str) -> Result<(), Disconnected> {
        self.server.counts.add(RefusalReason::Message);
        self.broken += 1;
        self.send_status(Status::error(why));
        if self.broken < BROKEN_MAX { Ok(()) } else { Err(Disconnected) }
    }

    /// Sends a status text, unless the queue is full because the client does not read.
    fn send_status(&self, status: Status) {
        let _ = self.status_sender.try_send(status.to_string());
    }

    /// Subscribes to a channel. A second subscription to it is refused: so the number of channels limits what a client
    /// can demand.
    fn subscribe(&mut self, Subscription { id, channel_id }: Subscription) {
        if self.subscriptions.contains_key(&id) || self.subscriptions.values().any(|channel| *channel == channel_id) {
            let reported = format!("subscription {id} or channel {channel_id} is subscribed to already");
            self.send_status(Status::warning(reported));
        } else if self.server.channels.subscribe(self.number, id, channel_id) {
            self.subscriptions.insert(id, channel_id);
        } else {
            self.send_status(Status::warning(format!("there is no channel {channel_id} now")));
        }
    }

    fn unsubscribe(&mut self, subscription: u32) {
        match self.subscriptions.remove(&subscription) {
            Some(channel) => self.server.channels.unsubscribe(self.number, subscription, channel),
            None => self.send_status(Status::warning(format!("there is no subscription {subscription}"))),
        }
    }
}

/// The writing side of a connection.
struct Writer {
    server: Arc<Server>,
    outbox: Arc<ClientQueue>,
    statuses: mpsc::Receiver<String>,
    to_client: SplitSink<WebSocket, Message>,
    /// The ids of the channels that the client knows.
    advertised: BTreeSet<u64>,
}

impl Writer {
    async fn write(&mut self) -> Result<(), Disconnected> {
        self.send(protocol::server_info(&self.server.session).into()).await?;
        loop {
            tokio::select! {
                biased;
                statuses = self.statuses.recv() => self.send(statuses.ok_or(Disconnected)?.into()).await?,
                next = self.outbox.next() => self.pass(next).await?,
                () = tokio::time::sleep(PING) => self.send(Message::Ping(axum::body::Bytes::new())).await?,
            }
        }
    }

    async fn pass(&mut self, next: Next) -> Result<(), Disconnected> {
        match next {
            Next::Topics => self.report_topics().await,
            Next::Time(time) => self.send(Message::Binary(protocol::time(time))).await,
            Next::Message(queued) => self.send(Message::Binary(protocol::message_data(&queued))).await,
        }
    }

    /// Sends which channels were added and removed since the last time.
    async fn report_topics(&mut self) -> Result<(), Disconnected> {
        let all = self.server.channels.all();
        let ids: BTreeSet<u64> = all.iter().map(|channel| channel.id).collect();
        let gone: Vec<u64> = self.advertised.difference(&ids).copied().collect();
        let new: Vec<_> = all.into_iter().filter(|channel| !self.advertised.contains(&channel.id)).collect();
        let is_first = self.advertised.is_empty();
        self.advertised = ids;
        if !gone.is_empty() {
            self.send(Unadvertise::new(gone).to_string().into()).await?;
        }
        // A new client gets a list even if it is empty.
        if !new.is_empty() || is_first {
            self.send(protocol::advertise(&new).into()).await?;
        }
        Ok(())
    }

    async fn send(&mut self, message: Message) -> Result<(), Disconnected> {
        match timeout(WRITE_MAX, self.to_client.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Disconnected),
        }
    }
}
