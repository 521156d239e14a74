//! What all clients share, and how they come in.

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

use crate::admission::{self, Gate};
use crate::control::Control;
use crate::counts::{Counts, Refusal};
use crate::drive::Drives;
use crate::feed::Feeds;
use crate::ground::Maps;
use crate::known::{Known, Own};
use crate::survey::Survey;
use crate::token::Token;
use crate::{ConsoleError, ConsoleOptions, page, session};

/// Clients at once.
pub(crate) const CLIENTS_MAX: usize = 32;
/// Bytes of a message of a client, at most.
pub(crate) const MESSAGE_MAX: usize = 4096;
/// How often silent drivers are looked for, and the simulation is asked for its state (wall time).
const TEND: Duration = Duration::from_millis(20);
const ASK_STATE: Duration = Duration::from_millis(500);
/// How often lamps and places are asked for, until they are known and then now and again.
const ASK_NAMES: u32 = 10;

/// What was told last.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) number: u64,
    pub(crate) state: Utf8Bytes,
}

/// What all clients share.
pub(crate) struct Server {
    pub(crate) feeds: Feeds,
    pub(crate) drives: Drives,
    pub(crate) maps: Maps,
    pub(crate) control: Control,
    pub(crate) counts: Arc<Counts>,
    pub(crate) told: watch::Receiver<Told>,
    token: Option<Token>,
    known: Mutex<Known>,
    seats: Arc<Semaphore>,
    last_client: AtomicU64,
}

impl Server {
    /// With nobody in it, and the survey that tells it of the run.
    pub(crate) fn open(
        transport: Arc<dyn Transport>,
        options: &ConsoleOptions,
        token: Option<Token>,
        counts: Arc<Counts>,
    ) -> Result<(Arc<Self>, Survey), ConsoleError> {
        let (teller, told) = watch::channel(Told::default());
        let server = Arc::new(Self {
            feeds: Feeds::new(Arc::clone(&transport)),
            drives: Drives::new(Arc::clone(&transport), options.twist_unstamped),
            maps: Maps::new(Arc::clone(&transport)),
            control: Control::open(transport.as_ref(), options)?,
            counts,
            told,
            token,
            known: Mutex::default(),
            seats: Arc::new(Semaphore::new(CLIENTS_MAX)),
            last_client: AtomicU64::new(0),
        });
        let survey = Survey::open(transport.as_ref(), Arc::clone(&server), teller)?;
        Ok((server, survey))
    }

    /// What is known of the run.
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Simulated time, as the clock told it last.
    pub(crate) fn time(&self) -> SimTime {
        self.known().time
    }

    /// How many are connected.
    pub(crate) fn clients(&self) -> usize {
        CLIENTS_MAX - self.seats.available_permits()
    }

    /// What is told of the console.
    pub(crate) fn own(&self) -> Own<'_> {
        Own { has_control: self.token.is_some(), clients: self.clients(), counts: &self.counts }
    }

    /// Whether `said` is the token that control needs; none where control is off.
    pub(crate) fn check(&self, said: &str) -> Option<bool> {
        self.token.as_ref().map(|token| token.is(said))
    }

    /// Lets clients in as long as the console is there.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let gate = Gate::new(listener, Arc::clone(&self.counts));
        let router = page::routes()
            .route("/socket", get(socket))
            .fallback(unknown)
            .layer(middleware::from_fn_with_state(Arc::clone(&self), admit))
            .with_state(self);
        if let Err(error) = axum::serve(gate, router).await {
            tracing::warn!("the console ended: {error}");
        }
    }

    /// Stops rovers whose drivers fell silent, and asks the simulation how it is.
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
                self.ask_names(round.is_multiple_of(ASK_NAMES)).await;
            }
            tokio::time::sleep(ASK_STATE).await;
        }
    }

    /// Asks for what has names, where it is due or not known.
    async fn ask_names(&self, is_due: bool) {
        if is_due || self.known().places.is_empty() {
            let (lamps, places) = tokio::join!(self.control.lamps(), self.control.places());
            let mut known = self.known();
            lamps.into_iter().for_each(|lamps| known.lamps = lamps);
            places.into_iter().for_each(|places| known.places = places);
        }
        if self.token.is_none() {
            return;
        }
        // They do not change while a run goes on, and looking them up reads many files.
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

/// Refuses strangers, whatever they ask for.
async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let mut response = match admission::refusal(request.method(), request.headers()) {
        None => next.run(request).await,
        Some((refusal, status, told)) => {
            server.counts.add(refusal);
            // What the body would hold is not read: the connection ends with the answer.
            (status, format!("{told}\n")).into_response()
        }
    };
    page::guard(&mut response);
    response
}

async fn unknown(State(server): State<Arc<Server>>) -> Response {
    server.counts.add(Refusal::Address);
    (StatusCode::NOT_FOUND, "there is nothing here\n").into_response()
}

async fn socket(State(server): State<Arc<Server>>, upgrade: WebSocketUpgrade) -> Response {
    let Some(seat) = server.seat() else {
        server.counts.add(Refusal::Crowd);
        return (StatusCode::SERVICE_UNAVAILABLE, "as many watch as there are seats\n").into_response();
    };
    let client = server.last_client.fetch_add(1, Ordering::Relaxed) + 1;
    let upgrade = upgrade.max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX);
    upgrade.on_upgrade(move |socket| session::run(server, client, socket, seat))
}
