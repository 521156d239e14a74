//! One client: it is told of the topics, subscribes to some, and gets their messages as fast as it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use super::Server;
use super::outbox::{Next, Outbox};
use super::protocol::{self, Level, Question, Wanted};
use crate::counts::Refusal;
use crate::session::{Flow, breaks_protocol};

/// Words that wait to be written.
const WORDS_MAX: usize = 32;
/// How long a message is written before the client counts as gone.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// How often a client is asked whether it is still there.
const PING: Duration = Duration::from_secs(10);
/// Messages that are none, before a client is given up.
const BROKEN_MAX: u32 = 8;

/// Serves a client until it goes or is given up.
pub(super) async fn run(server: Arc<Server>, socket: WebSocket, seat: OwnedSemaphorePermit) {
    let (to_client, from_client) = socket.split();
    let (number, outbox) = server.channels.join();
    let (words, said) = mpsc::channel(WORDS_MAX);
    let mut client = Client {
        server: Arc::clone(&server),
        number,
        words,
        subscriptions: BTreeMap::new(),
        broken: 0,
        flow: Flow::new(Instant::now()),
    };
    let mut writer = Writer { server: Arc::clone(&server), outbox, said, to_client, advertised: BTreeSet::new() };
    tokio::select! {
        () = client.read(from_client) => {}
        _ = writer.write() => {}
    }
    server.channels.leave(number);
    drop(seat);
}

/// Why a client is given up.
struct Ended;

/// What a client asks for.
struct Client {
    server: Arc<Server>,
    number: u64,
    words: mpsc::Sender<String>,
    /// The channel of each subscription.
    subscriptions: BTreeMap<u32, u32>,
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
                self.server.counts.add(Refusal::Flood);
                return;
            }
            let taken = match message {
                Message::Text(text) => self.take(text.as_str()),
                Message::Binary(_) => self.refuse("Selene takes no messages by Foxglove's protocol: it only shows"),
                // Answered by the library.
                Message::Ping(_) | Message::Pong(_) => Ok(()),
                Message::Close(_) => return,
            };
            if taken.is_err() {
                return;
            }
        }
    }

    /// A client that has just gone broke nothing.
    fn lost(&self, error: axum::Error) {
        if breaks_protocol(error) {
            self.server.counts.add(Refusal::Message);
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Ended> {
        match serde_json::from_str(text) {
            Ok(Question::Subscribe { subscriptions }) => subscriptions.iter().for_each(|wanted| self.subscribe(wanted)),
            Ok(Question::Unsubscribe { subscription_ids }) => {
                subscription_ids.into_iter().for_each(|subscription| self.unsubscribe(subscription));
            }
            Ok(Question::Other) => self.say(Level::Warning, "Selene only shows topics: it offers nothing of this"),
            Err(error) => return self.refuse(&format!("no message of Foxglove's protocol: {error}")),
        }
        Ok(())
    }

    /// Counts a message that is none; too many end the connection.
    fn refuse(&mut self, why: &str) -> Result<(), Ended> {
        self.server.counts.add(Refusal::Message);
        self.broken += 1;
        self.say(Level::Error, why);
        if self.broken < BROKEN_MAX { Ok(()) } else { Err(Ended) }
    }

    /// Says a word; a client that does not read gets none.
    fn say(&self, level: Level, message: &str) {
        let _ = self.words.try_send(protocol::status(level, message));
    }

    /// A channel is heard once, so that what a client can ask for is bounded by what there is.
    fn subscribe(&mut self, &Wanted { id, channel_id }: &Wanted) {
        if self.subscriptions.contains_key(&id) || self.subscriptions.values().any(|channel| *channel == channel_id) {
            let told = format!("subscription {id} or channel {channel_id} is subscribed to already");
            self.say(Level::Warning, &told);
        } else if self.server.channels.subscribe(self.number, id, channel_id) {
            self.subscriptions.insert(id, channel_id);
        } else {
            self.say(Level::Warning, &format!("there is no channel {channel_id} now"));
        }
    }

    fn unsubscribe(&mut self, subscription: u32) {
        match self.subscriptions.remove(&subscription) {
            Some(channel) => self.server.channels.unsubscribe(self.number, subscription, channel),
            None => self.say(Level::Warning, &format!("there is no subscription {subscription}")),
        }
    }
}

/// What a client gets.
struct Writer {
    server: Arc<Server>,
    outbox: Arc<Outbox>,
    said: mpsc::Receiver<String>,
    to_client: SplitSink<WebSocket, Message>,
    /// Numbers of the topics that the client knows.
    advertised: BTreeSet<u32>,
}

impl Writer {
    async fn write(&mut self) -> Result<(), Ended> {
        self.send(protocol::server_info(&self.server.session).into()).await?;
        loop {
            tokio::select! {
                biased;
                said = self.said.recv() => self.send(said.ok_or(Ended)?.into()).await?,
                next = self.outbox.next() => self.pass(next).await?,
                () = tokio::time::sleep(PING) => self.send(Message::Ping(axum::body::Bytes::new())).await?,
            }
        }
    }

    async fn pass(&mut self, next: Next) -> Result<(), Ended> {
        match next {
            Next::Topics => self.tell_topics().await,
            Next::Time(time) => self.send(Message::Binary(protocol::time(time))).await,
            Next::Message(queued) => self.send(Message::Binary(protocol::message_data(&queued))).await,
        }
    }

    /// Tells which topics came and went since they were told last.
    async fn tell_topics(&mut self) -> Result<(), Ended> {
        let all = self.server.channels.all();
        let ids: BTreeSet<u32> = all.iter().map(|channel| channel.id).collect();
        let gone: Vec<u32> = self.advertised.difference(&ids).copied().collect();
        let new: Vec<_> = all.into_iter().filter(|channel| !self.advertised.contains(&channel.id)).collect();
        let is_first = self.advertised.is_empty();
        self.advertised = ids;
        if !gone.is_empty() {
            self.send(protocol::unadvertise(&gone).into()).await?;
        }
        // Who has just come is told of none, too.
        if !new.is_empty() || is_first {
            self.send(protocol::advertise(&new).into()).await?;
        }
        Ok(())
    }

    async fn send(&mut self, message: Message) -> Result<(), Ended> {
        match timeout(WRITE_MAX, self.to_client.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Ended),
        }
    }
}
