//! Server of a run's topics for Foxglove and Lichtblick, by their WebSocket protocol, without ROS. A client gets what a
//! bag holds: the same topics, CDR bytes, `ros2msg` schemas and stamps, because the server gets the same messages as
//! the recorder, as one more transport beside it ([`Foxglove::tap`]).
//!
//! - **It never blocks a publisher.** The publisher's thread puts a pointer to the message into a bounded queue for
//!   each client (`outbox`); all else runs on the server's own threads. Messages that a slow client misses are counted.
//! - **It is read-only.** Clients can neither publish, nor call services, nor set parameters.
//! - **Unwanted requests are refused** as at the console, and counted: foreign host names, pages of other sites,
//!   bodies, too many connections, too many messages, invalid messages and idle connections. Pages of this machine, the
//!   desktop programs (`file://`) and Foxglove's own site are let in.

mod channels;
mod client;
mod client_queue;
mod protocol;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use selene_ros::tap::Tap;
use selene_ros::transport::Transport;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use crate::admission::{self, Acceptor};
use crate::counts::{Counts, RefusalReason};
use crate::{ConsoleError, END_MAX, ListeningSocket};
use channels::Channels;
use protocol::SUBPROTOCOLS;

/// Threads that serve clients.
const SERVING_THREADS: usize = 2;
/// Greatest number of clients at once.
const CLIENTS_MAX: usize = 16;
/// Greatest size of a message from a client, bytes: a subscription to every topic of many rovers is some 20 kB.
const MESSAGE_MAX: usize = 64 << 10;
/// Origins that are let in beside those of this machine: desktop programs, and Foxglove's own site.
const ORIGINS: [&str; 2] = ["file://", "https://app.foxglove.dev"];
/// Host names of this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A server that serves Foxglove clients until it is dropped.
pub struct Foxglove {
    runtime: Option<Runtime>,
    address: SocketAddr,
    server: Arc<Server>,
}

/// The state that all clients share.
struct Server {
    channels: Arc<Channels>,
    counts: Arc<Counts>,
    seats: Arc<Semaphore>,
    /// Name of the run, by which clients that reconnect know whether it is the same.
    session: String,
    /// Origins that the user lets in, beside the usual ones.
    origins: Vec<String>,
}

impl Foxglove {
    /// Serves clients at `listening_socket`; `session` names the run, `origins` are further sites whose pages are let in, such as
    /// `https://lichtblick.example`.
    ///
    /// # Errors
    /// When its threads cannot be started.
    pub fn serve(listening_socket: ListeningSocket, session: &str, origins: Vec<String>) -> Result<Self, ConsoleError> {
        let start = |error: std::io::Error| ConsoleError::Start { what: error.to_string() };
        let runtime = Builder::new_multi_thread()
            .worker_threads(SERVING_THREADS)
            .thread_name("foxglove")
            .enable_all()
            .build()
            .map_err(start)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listening_socket.listener).map_err(start)?
        };
        let server = Arc::new(Server {
            channels: Arc::default(),
            counts: Arc::default(),
            seats: Arc::new(Semaphore::new(CLIENTS_MAX)),
            session: session.to_owned(),
            origins,
        });
        runtime.spawn(Arc::clone(&server).serve(listener));
        Ok(Self { runtime: Some(runtime), address: listening_socket.address, server })
    }

    /// The transport to publish into: its topics are served, except those that only Selene's nodes exchange.
    #[must_use]
    pub fn tap(&self) -> Arc<dyn Transport> {
        Arc::new(Tap(Arc::clone(&self.server.channels)))
    }

    /// The address at which it listens, with the port that it got.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of refusals so far for each reason that occurred.
    #[must_use]
    pub fn refused(&self) -> Vec<(RefusalReason, u64)> {
        self.server.counts.reported()
    }

    /// Number of messages dropped because clients read too slowly, summed over all clients.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.server.channels.dropped()
    }
}

impl Drop for Foxglove {
    /// Ends every connection.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_MAX);
        }
    }
}

impl Server {
    /// Accepts clients until the server is dropped.
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let gate = Acceptor::new(listener, Arc::clone(&self.counts));
        let router = Router::new()
            .fallback(socket)
            .layer(middleware::from_fn_with_state(Arc::clone(&self), admit))
            .with_state(self);
        if let Err(error) = axum::serve(gate, router).await {
            tracing::warn!("Foxglove's server ended: {error}");
        }
    }

    fn lets_in(&self, origin: &[u8]) -> bool {
        let is_of = |site: &str| origin.eq_ignore_ascii_case(site.as_bytes());
        ORIGINS.into_iter().any(is_of) || self.origins.iter().any(|site| is_of(site)) || is_local(origin)
    }

    fn refuse(&self, refusal: RefusalReason, status: StatusCode, reported: &'static str) -> Response {
        self.counts.add(refusal);
        // A connection that is kept open would occupy a place.
        (status, [("connection", "close")], format!("{reported}\n")).into_response()
    }
}

/// Whether an origin is this machine, at any port.
fn is_local(origin: &[u8]) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some(host) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else { return false };
    let is_port = |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    LOCAL.into_iter().filter_map(|name| host.strip_prefix(name)).any(|rest| rest.is_empty() || is_port(rest))
}

/// Middleware: refuses requests by `admission::refusal_unless`.
async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let lets_in = |origin: &[u8], _: &str| server.lets_in(origin);
    match admission::refusal_unless(request.method(), request.headers(), lets_in) {
        None => next.run(request).await,
        Some((refusal, status, reported)) => server.refuse(refusal, status, reported),
    }
}

async fn socket(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    State(server): State<Arc<Server>>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        let reported = "this is a WebSocket: open it in Foxglove or Lichtblick, as ws://";
        return server.refuse(RefusalReason::Address, StatusCode::UPGRADE_REQUIRED, reported);
    };
    let upgrade = upgrade.protocols(SUBPROTOCOLS).max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX);
    if upgrade.selected_protocol().is_none() {
        let reported = "of the subprotocols, foxglove.sdk.v1 and foxglove.websocket.v1 are supported here";
        return server.refuse(RefusalReason::Message, StatusCode::BAD_REQUEST, reported);
    }
    let Ok(seat) = Arc::clone(&server.seats).try_acquire_owned() else {
        return server.refuse(
            RefusalReason::Crowd,
            StatusCode::SERVICE_UNAVAILABLE,
            "as many watch as there are seats",
        );
    };
    upgrade.on_upgrade(move |socket| client::run(server, socket, seat))
}

#[cfg(test)]
mod tests;
