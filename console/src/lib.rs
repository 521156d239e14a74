//! The console: one page in a browser from which a run is watched and, where that is asked for, controlled.
//!
//! The console is a subscriber like any other: it hears topics and calls services over the [`Transport`] port and knows
//! nothing of how the simulation works, so it stands in the process of a run or beside one that goes on over DDS.
//!
//! - **Nothing waits for it.** A subscription keeps the newest message, undecoded (`feed`); that costs the sender an
//!   exchange of two pointers. All else runs on the console's own threads.
//! - **Clients ask.** The server sends what a client asked for, once for each question (`session`). So a client gets
//!   newest frames at the rate that it takes, frames are never queued, and a picture that nobody asked for is never
//!   compressed. Clients that ask for the same picture share one compression (`picture`).
//! - **Strangers are refused** before they reach anything (`admission`): other hosts' names, other pages' scripts,
//!   bodies, unknown addresses, crowds, floods and silence; each refusal is counted (`counts`). There is no path to a
//!   file: pages are constants of the program (`page`).
//! - **Foxglove and Lichtblick** have a server of their own, with the same rules of who is let in (`foxglove`).
//! - **Control is off** unless asked for, and then needs a token (`control`). Who drives a rover must go on saying so,
//!   or it stops (`drive`).
//! - **Another world** may take the place of the one that is shown: beside a run, topics of the one before are forgotten
//!   when the run's id changes (`known`); in a run's own process the console ends with its world and begins again at the
//!   same [`Door`] with the same [`Token`], so that pages find it where it was.

mod admission;
mod catalogue;
mod cloud;
mod control;
mod counts;
mod drive;
mod feed;
mod foxglove;
mod ground;
mod known;
mod page;
mod picture;
mod protocol;
mod server;
mod session;
mod survey;
mod token;
mod tree;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use selene_ros::transport::{Transport, TransportError};
use tokio::runtime::{Builder, Runtime};

pub use counts::Refusal;
pub use foxglove::Foxglove;
pub use token::Token;

use counts::Counts;
use server::Server;

/// Threads that serve clients, and threads that compress pictures: the simulation has the rest of the machine.
const SERVING_THREADS: usize = 2;
const COMPRESSING_THREADS: usize = 2;
/// How long the end waits for what is under way.
const END_MAX: Duration = Duration::from_secs(2);

/// Why there is no console.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// Its address cannot be listened at.
    #[error("cannot listen at {address}: {source}; choose another address, or port 0 for any that is free")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Its threads cannot be started, or there is no randomness for its token.
    #[error("console: {what}")]
    Start {
        /// Why.
        what: String,
    },
    /// A topic or service cannot be used.
    #[error("console: {0}")]
    Transport(#[from] TransportError),
}

/// What a console may do, and under which names it finds the run's services.
#[derive(Clone, Debug)]
pub struct ConsoleOptions {
    /// What lets its holder change the run; none where nobody may.
    pub token: Option<Token>,
    /// Full name of the node that serves `simulation_interfaces`, as in `/selene`.
    pub control_node: String,
    /// Full name of the node whose parameters are the run's.
    pub parameters_node: String,
    /// Whether rovers take `cmd_vel` as Twist instead of TwistStamped.
    pub twist_unstamped: bool,
}

/// An address that is listened at; nobody is served yet.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
}

impl Door {
    /// Listens at `address`; port 0 is any that is free.
    ///
    /// # Errors
    /// When the address is not this machine's or is taken.
    pub fn open(address: SocketAddr) -> Result<Self, ConsoleError> {
        let refused = |source| ConsoleError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address })
    }

    /// The same address once more, for one that is to serve there later. Who comes meanwhile waits.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn again(&self) -> Result<Self, ConsoleError> {
        let refused = |source| ConsoleError::Listen { address: self.address, source };
        Ok(Self { listener: self.listener.try_clone().map_err(refused)?, address: self.address })
    }
}

/// A console that serves clients until it is dropped.
pub struct Console {
    runtime: Option<Runtime>,
    address: SocketAddr,
    token: Option<Token>,
    counts: Arc<Counts>,
}

impl Console {
    /// Serves clients at `door` with what `transport` carries.
    ///
    /// # Errors
    /// When a topic or service is refused, or threads or randomness are.
    pub fn serve(door: Door, transport: Arc<dyn Transport>, options: &ConsoleOptions) -> Result<Self, ConsoleError> {
        let start = |what: String| ConsoleError::Start { what };
        let token = options.token.clone();
        let runtime = Builder::new_multi_thread()
            .worker_threads(SERVING_THREADS)
            .max_blocking_threads(COMPRESSING_THREADS)
            .thread_name("console")
            .enable_all()
            .build()
            .map_err(|error| start(error.to_string()))?;
        let counts = Arc::new(Counts::default());
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(door.listener).map_err(|error| start(error.to_string()))?
        };
        let (server, survey) = Server::open(transport, options, token.clone(), Arc::clone(&counts))?;
        runtime.spawn(survey.run());
        runtime.spawn(Arc::clone(&server).tend());
        runtime.spawn(server.serve(listener));
        Ok(Self { runtime: Some(runtime), address: door.address, token, counts })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to type into a browser. A token follows `#`, which browsers send to nobody.
    #[must_use]
    pub fn url(&self) -> String {
        let shown = if self.address.ip().is_unspecified() {
            SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), self.address.port())
        } else {
            self.address
        };
        let token = self.token.as_ref().map(|token| format!("#token={}", token.text())).unwrap_or_default();
        format!("http://{shown}/{token}")
    }

    /// The token that control needs; none where control is off.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Token::text)
    }

    /// What was refused so far, by its reason, where anything was.
    #[must_use]
    pub fn refused(&self) -> Vec<(Refusal, u64)> {
        self.counts.told()
    }
}

impl Drop for Console {
    /// Ends every connection. What a client drives has stopped before, or stops by its own dead-man rule.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_MAX);
        }
    }
}

#[cfg(test)]
mod tests;
