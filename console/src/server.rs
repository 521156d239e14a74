//! The console's HTTP and WebSocket server: the state that all clients share, and the routes by which they connect.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::ws::{Utf8Bytes, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use selene_base::SimTime;
use selene_ros::transport::Transport;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::MissedTickBehavior;

use crate::admission::{self, Acceptor};
use crate::control::Control;
use crate::counts::{Counts, RefusalReason};
use crate::drive::Drives;
use crate::feed::TopicFeeds;
use crate::ground::Maps;
use crate::run_status::{ConsoleState, RunStatus};
use crate::state_collector::StateCollector;
use crate::token::Token;
use crate::{ConsoleError, ConsoleOptions, page, session};

/// Greatest number of clients at once.
pub(crate) const CLIENTS_MAX: usize = 32;
/// Greatest size of a message from a client, bytes.
pub(crate) const MESSAGE_MAX: usize = 4096;
/// Intervals at which commands are checked for expiry, and the simulation is asked for its state (wall time).
const TEND: Duration = Duration::from_millis(20);
const REQUEST_STATE: Duration = Duration::from_millis(500);
/// Lamps and places are requested with every tenth request of the state; while no place is known, with each.
const REQUEST_NAMES: u32 = 10;

/// The state message that was published last, as JSON, and its number.
#[derive(Clone, Default)]
pub(crate) struct PublishedState {
    pub(crate) number: u64,
    pub(crate) state: Utf8Bytes,
}

/// The state that all clients share.
pub(crate) struct Server {
    pub(crate) feeds: TopicFeeds,
    pub(crate) drives: Drives,
    pub(crate) maps: Maps,
    pub(crate) control: Control,
    pub(crate) counts: Arc<Counts>,
    pub(crate) reported: watch::Receiver<PublishedState>,
    token: Option<Token>,
    known: Mutex<RunStatus>,
    seats: Arc<Semaphore>,
    last_client: AtomicU64,
}

impl Server {
    /// A server without clients, and the survey that keeps it informed of the run.
    pub(crate) fn open(
        transport: Arc<dyn Transport>,
        options: &ConsoleOptions,
        token: Option<Token>,
        counts: Arc<Counts>,
    ) -> Result<(Arc<Self>, StateCollector), ConsoleError> {
        let (teller, reported) = watch::channel(PublishedState::default());
        let server = Arc::new(Self {
            feeds: TopicFeeds::new(Arc::clone(&transport)),
            drives: Drives::new(Arc::clone(&transport), options.twist_unstamped),
            maps: Maps::new(Arc::clone(&transport)),
            control: Control::open(transport.as_ref(), options)?,
            counts,
            reported,
            token,
            known: Mutex::default(),
            seats: Arc::new(Semaphore::new(CLIENTS_MAX)),
            last_client: AtomicU64::new(0),
        });
        let survey = StateCollector::open(transport.as_ref(), Arc::clone(&server), teller)?;
        Ok((server, survey))
    }

    /// Locks the knowledge of the run.
    pub(crate) fn known(&self) -> MutexGuard<'_, RunStatus> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Simulated time of the newest message on `/clock`.
    pub(crate) fn time(&self) -> SimTime {
        self.known().time
    }

    /// Number of connected clients.
    pub(crate) fn clients(&self) -> usize {
        CLIENTS_MAX - self.seats.available_permits()
    }

    /// The state of the console itself, for the state message.
    pub(crate) fn own(&self) -> ConsoleState<'_> {
        ConsoleState { has_control: self.token.is_some(), clients: self.clients(), counts: &self.counts }
    }

    /// Whether `given` is the token that control needs; `None` if control is off.
    pub(crate) fn check(&self, given: &str) -> Option<bool> {
        self.token.as_ref().map(|token| token.is(given))
    }

    /// Accepts clients until the console is dropped.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let gate = Acceptor::new(listener, Arc::clone(&self.counts));
        let router = page::routes()
            .route("/socket", get(socket))
            .fallback(unknown)
            .layer(middleware::from_fn_with_state(Arc::clone(&self), admit))
            .with_state(self);
        if let Err(error) = axum::serve(gate, router).await {
            tracing::warn!("the console ended: {error}");
        }
    }

    /// Stops rovers whose commands expired, and asks the simulation for its state, until the console is dropped.
    pub(crate) async fn tend(self: Arc<Self>) {
        tokio::join!(self.stop_the_undriven(), self.follow_the_simulation());
    }

    async fn stop_the_undriven(&self) {
        let mut ticks = tokio::time::interval(TEND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.drives.tend(Instant::now(), self.time());
        }
    }

    async fn follow_the_simulation(&self) {
        for round in 0_u32.. {
            let run_state = self.control.state().await;
            self.known().run_state = run_state;
            if run_state.is_some() {
                let run = self.control.run().await;
                run.into_iter().for_each(|run| self.known().take_run(run));
                self.request_names(round.is_multiple_of(REQUEST_NAMES)).await;
            }
            tokio::time::sleep(REQUEST_STATE).await;
        }
    }

    /// Asks for lamps and places if `is_due` or while no place is known. With control on, also asks for spawnables (if
    /// `is_due`) and for scenarios until they are known.
    async fn request_names(&self, is_due: bool) {
        if is_due || self.known().places.is_empty() {
            let (lamps, places) = tokio::join!(self.control.lamps(), self.control.places());
            let mut known = self.known();
            lamps.into_iter().for_each(|lamps| known.lamps = lamps);
            places.into_iter().for_each(|places| known.places = places);
        }
        if self.token.is_none() {
            return;
        }
        // Spawnables do not change during a run, and the simulation reads many files to list them.
        if is_due && self.known().spawnables.is_empty() {
            let spawnables = self.control.spawnables().await;
            self.known().spawnables = spawnables.unwrap_or_default();
        }
        if self.known().scenarios.is_none() {
            let scenarios = self.control.scenarios().await;
            self.known().scenarios = scenarios;
        }
    }

    fn seat(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.seats).try_acquire_owned().ok()
    }
}

/// Middleware: refuses requests by `admission::refusal`, and adds the security headers to each response.
async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let mut response = match admission::refusal(request.method(), request.headers()) {
        None => next.run(request).await,
        Some((refusal, status, reported)) => {
            server.counts.add(refusal);
            // The body is not read: the connection ends with the response.
            (status, format!("{reported}\n")).into_response()
        }
    };
    page::guard(&mut response);
    response
}

async fn unknown(State(server): State<Arc<Server>>) -> Response {
    server.counts.add(RefusalReason::Address);
    (StatusCode::NOT_FOUND, "there is nothing here\n").into_response()
}

async fn socket(State(server): State<Arc<Server>>, upgrade: WebSocketUpgrade) -> Response {
    let Some(seat) = server.seat() else {
        server.counts.add(RefusalReason::Crowd);
        return (StatusCode::SERVICE_UNAVAILABLE, "as many watch as there are seats\n").into_response();
    };
    let client = server.last_client.fetch_add(1, Ordering::Relaxed) + 1;
    let upgrade = upgrade.max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX);
    upgrade.on_upgrade(move |socket| session::run(server, client, socket, seat))
}
