//! The topics of a run for Foxglove and Lichtblick, by their WebSocket protocol, with no ROS between. What a client sees
//! is what a bag holds: the same topics, CDR bytes, `ros2msg` schemas and stamps, because the server is given what
//! the recorder is given, as one more transport beside it ([`Foxglove::tap`]).
//!
//! - **Nothing waits for it.** The sender's thread puts a pointer to the message into a bounded box for each client
//!   (`outbox`); all else runs on the server's own threads. What a slow client misses is counted.
//! - **It only shows.** Clients can neither publish, nor call services, nor set parameters.
//! - **Strangers are refused** as at the console, and counted: other hosts' names, pages of other sites, bodies,
//!   crowds, floods, broken messages and silence. Pages of this machine, the desktop programs (`file://`) and
//!   Foxglove's own site are let in.

mod channels;
mod client;
mod outbox;
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

use crate::admission::{self, Gate};
use crate::counts::{Counts, Refusal};
use crate::{ConsoleError, Door, END_MAX};
use channels::Channels;
use protocol::SUBPROTOCOLS;

/// Threads that serve clients.
const SERVING_THREADS: usize = 2;
/// Clients at once.
const CLIENTS_MAX: usize = 16;
/// Bytes of a message of a client, at most: a subscription to every topic of many rovers is some 20 kB.
const MESSAGE_MAX: usize = 64 << 10;
/// Pages that are let in beside those of this machine: desktop programs, and Foxglove's own site.
const ORIGINS: [&str; 2] = ["file://", "https://app.foxglove.dev"];
/// Hosts whose pages are of this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A server of topics until it is dropped.
pub struct Foxglove {
    runtime: Option<Runtime>,
    address: SocketAddr,
    server: Arc<Server>,
}

/// What all clients share.
struct Server {
    channels: Arc<Channels>,
    counts: Arc<Counts>,
    seats: Arc<Semaphore>,
    /// A name of the run, by which clients know whether they have come back to the same one.
    session: String,
    /// Sites whose pages are let in, beside the usual ones.
    origins: Vec<String>,
}

impl Foxglove {
    /// Serves clients at `door`; `session` names the run, `origins` are further sites whose pages are let in, such as
    /// `https://lichtblick.example`.
    ///
    /// # Errors
    /// When the system has no threads for it.
    pub fn serve(door: Door, session: &str, origins: Vec<String>) -> Result<Self, ConsoleError> {
        let start = |error: std::io::Error| ConsoleError::Start { what: error.to_string() };
        let runtime = Builder::new_multi_thread()
            .worker_threads(SERVING_THREADS)
            .thread_name("foxglove")
            .enable_all()
            .build()
            .map_err(start)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(door.listener).map_err(start)?
        };
        let server = Arc::new(Server {
            channels: Arc::default(),
            counts: Arc::default(),
            seats: Arc::new(Semaphore::new(CLIENTS_MAX)),
            session: session.to_owned(),
            origins,
        });
        runtime.spawn(Arc::clone(&server).serve(listener));
        Ok(Self { runtime: Some(runtime), address: door.address, server })
    }

    /// The transport whose topics are shown; what is between Selene's nodes alone is passed over.
    #[must_use]
    pub fn tap(&self) -> Arc<dyn Transport> {
        Arc::new(Tap(Arc::clone(&self.server.channels)))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was refused so far, by its reason, where anything was.
    #[must_use]
    pub fn refused(&self) -> Vec<(Refusal, u64)> {
        self.server.counts.told()
    }

    /// Messages that clients were too slow for.
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
    /// Lets clients in as long as the server is there.
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let gate = Gate::new(listener, Arc::clone(&self.counts));
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

    fn refuse(&self, refusal: Refusal, status: StatusCode, told: &'static str) -> Response {
        self.counts.add(refusal);
        // A program that keeps the connection would keep its place.
        (status, [("connection", "close")], format!("{told}\n")).into_response()
    }
}

/// Whether a page is of this machine, at any port.
fn is_local(origin: &[u8]) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some(host) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else { return false };
    let is_port = |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    LOCAL.into_iter().filter_map(|name| host.strip_prefix(name)).any(|rest| rest.is_empty() || is_port(rest))
}

/// Refuses strangers.
async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let lets_in = |origin: &[u8], _: &str| server.lets_in(origin);
    match admission::refusal_unless(request.method(), request.headers(), lets_in) {
        None => next.run(request).await,
        Some((refusal, status, told)) => server.refuse(refusal, status, told),
    }
}

async fn socket(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    State(server): State<Arc<Server>>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        let told = "this is a WebSocket: open it in Foxglove or Lichtblick, as ws://";
        return server.refuse(Refusal::Address, StatusCode::UPGRADE_REQUIRED, told);
    };
    let upgrade = upgrade.protocols(SUBPROTOCOLS).max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX);
    if upgrade.selected_protocol().is_none() {
        let told = "of the subprotocols, foxglove.sdk.v1 and foxglove.websocket.v1 are spoken here";
        return server.refuse(Refusal::Message, StatusCode::BAD_REQUEST, told);
    }
    let Ok(seat) = Arc::clone(&server.seats).try_acquire_owned() else {
        return server.refuse(Refusal::Crowd, StatusCode::SERVICE_UNAVAILABLE, "as many watch as there are seats");
    };
    upgrade.on_upgrade(move |socket| client::run(server, socket, seat))
}

#[cfg(test)]
mod tests;
