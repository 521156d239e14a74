//! The console: one page in a browser that shows a run and, if control is enabled, controls it.
//!
//! The console is a subscriber like any other: it receives topics and calls services over the [`Transport`] port and
//! depends on nothing of the simulation, so it runs in the process of a run or in one of its own, over DDS.
//!
//! - **It never blocks a publisher.** A subscription keeps the newest message, undecoded (`feed`); that costs the
//!   publisher an exchange of two pointers. All else runs on the console's own threads.
//! - **Clients pull.** The server answers each request of a client once (`session`). So a client gets the newest frames
//!   at the rate at which it reads, frames are never queued, and a picture that nobody requested is never compressed.
//!   Clients that request the same picture share one compression (`picture`).
//! - **Unwanted requests are refused** before they reach anything (`admission`): foreign host names, scripts of other
//!   sites' pages, bodies, unknown addresses, too many connections, too many messages, and idle connections; each
//!   refusal is counted (`counts`). No request reads a file: pages are constants of the program (`page`).
//! - **Foxglove and Lichtblick** have a server of their own, with the same rules of admission (`foxglove`).
//! - **Control is off** by default, and needs a token when it is on (`control`). A client that drives a rover must
//!   repeat its command, or the rover stops (`drive`).
//! - **The world may be replaced.** A console in a process of its own discards the topics of the previous run when the
//!   run's id changes (`known`). In the process of a run the console ends with its world, and a new one starts at the
//!   same [`ListeningSocket`] with the same [`Token`], so that pages reconnect to the same address.

mod admission;
mod catalogue;
mod cloud;
mod control;
mod counts;
mod drive;
mod feed;
mod foxglove;
mod ground;
mod page;
mod picture;
mod protocol;
mod run_status;
mod server;
mod session;
mod state_collector;
mod token;
mod tree;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use selene_ros::own_address;
use selene_ros::transport::{Transport, TransportError};
use tokio::runtime::{Builder, Runtime};

pub use counts::RefusalReason;
pub use foxglove::Foxglove;
pub use token::Token;

use counts::Counts;
use server::Server;

/// Threads that serve clients, and threads that compress pictures: the rest of the machine is for the simulation.
const SERVING_THREADS: usize = 2;
const COMPRESSING_THREADS: usize = 2;
/// How long the shutdown waits for unfinished tasks (wall time).
const END_MAX: Duration = Duration::from_secs(2);

/// Why a console could not start.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The server cannot listen at its address.
    #[error("cannot listen at {address}: {source}; choose another address, or port 0 for any that is free")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Its threads cannot be started, or the operating system gives no random bytes for its token.
    #[error("console: {what}")]
    Start {
        /// The reason, for the user.
        what: String,
    },
    /// The transport refused a topic or a service.
    #[error("console: {0}")]
    Transport(#[from] TransportError),
}

/// Options of a console: its token, and the names of the run's nodes.
#[derive(Clone, Debug)]
pub struct ConsoleOptions {
    /// The token that clients need to control the run; `None` if control is off.
    pub token: Option<Token>,
    /// Full names of the nodes that may serve `simulation_interfaces`, such as `/selene`; the first that does is used.
    pub control_nodes: Vec<String>,
    /// Full names of the nodes that may have the parameters of the run; the first that has is used.
    pub parameters_nodes: Vec<String>,
    /// Whether rovers take `cmd_vel` as Twist instead of TwistStamped.
    pub twist_unstamped: bool,
}

/// A listening socket that [`Console::serve`] or [`Foxglove::serve`] takes over. Until then, connections wait in it.
#[derive(Debug)]
pub struct ListeningSocket {
    listener: TcpListener,
    address: SocketAddr,
}

impl ListeningSocket {
    /// Listens at `address`; port 0 takes any free port.
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

    /// A second handle of the same socket, for a console that serves there later. Connections wait in between.
    ///
    /// # Errors
    /// When the system cannot duplicate the socket.
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
    /// Serves clients at `listening_socket` with the topics and services of `transport`.
    ///
    /// # Errors
    /// When the transport refuses a topic or service, or threads cannot be started.
    pub fn serve(
        listening_socket: ListeningSocket,
        transport: Arc<dyn Transport>,
        options: &ConsoleOptions,
    ) -> Result<Self, ConsoleError> {
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
            tokio::net::TcpListener::from_std(listening_socket.listener).map_err(|error| start(error.to_string()))?
        };
        let (server, survey) = Server::open(transport, options, token.clone(), Arc::clone(&counts))?;
        runtime.spawn(survey.run());
        runtime.spawn(Arc::clone(&server).tend());
        runtime.spawn(server.serve(listener));
        Ok(Self { runtime: Some(runtime), address: listening_socket.address, token, counts })
    }

    /// The address at which it listens, with the port that it got.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL to open in a browser. The token follows `#`: browsers do not send that part to any server.
    #[must_use]
    pub fn url(&self) -> String {
        let shown = match self.address.ip().is_unspecified() {
            true => SocketAddr::new(own_address().unwrap_or(Ipv4Addr::LOCALHOST.into()), self.address.port()),
            false => self.address,
        };
        let token = self.token.as_ref().map(|token| format!("#token={}", token.text())).unwrap_or_default();
        format!("http://{shown}/{token}")
    }

    /// The token that control needs; `None` if control is off.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Token::text)
    }

    /// The number of refusals so far for each reason that occurred.
    #[must_use]
    pub fn refused(&self) -> Vec<(RefusalReason, u64)> {
        self.counts.reported()
    }
}

impl Drop for Console {
    /// Ends every connection. Rovers that clients drove have stopped before, or stop when their last command expires.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_MAX);
        }
    }
}

#[cfg(test)]
mod tests;
