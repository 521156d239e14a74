//! Starts the console: in the process of a run, or in a process of its own over DDS.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use selene_console::{Console, ConsoleOptions, ListeningSocket, RefusalReason, Token};
use selene_ros::qos::checked_name;
use selene_ros::transport::Transport;

use crate::args::{ConsoleArgs, ConsoleCommandArgs};
use crate::fault::Fault;
use crate::interrupt;
use crate::middleware::Network;
use crate::output::print_line;
use crate::remap::Names;
use crate::verbosity::Verbosity;

/// Name of the console's ROS node.
const NODE: &str = "selene_console";
/// Names of the nodes that serve a run.
const SERVING: [&str; 2] = ["/selene", "/selene_simulation"];
/// Interval between checks for the end (wall time).
const POLL: Duration = Duration::from_millis(100);

/// Executes `selene console`: serves clients until Ctrl-C.
pub(crate) fn console(args: &ConsoleCommandArgs) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let nodes = nodes(args.node.as_deref())?;
    let listening_socket = ListeningSocket::open(args.address).map_err(Fault::input)?;
    let transport = Network::requested(&args.network)?.join(&Names::plain(NODE))?;
    let options = ConsoleOptions {
        token: token(args.control)?,
        control_nodes: nodes.clone(),
        parameters_nodes: nodes,
        twist_unstamped: args.twist_unstamped,
    };
    let console = begin(listening_socket, transport, &options)?;
    while !interrupt::requested(&stop) {
        thread::sleep(POLL);
    }
    refused(&console).into_iter().for_each(|reported| print_line(format_args!("refused: {reported}")));
    Ok(())
}

/// The nodes that may serve the run: the named one, else those of `selene run` and `selene simulation`.
fn nodes(named: Option<&str>) -> Result<Vec<String>, Fault> {
    let Some(named) = named else { return Ok(SERVING.map(str::to_owned).into()) };
    checked_name(named.to_owned()).map(|name| vec![name]).map_err(|error| Fault::input(format!("--node: {error}")))
}

/// Opens the address of a run's console, if the run has one.
pub(crate) fn listening_socket(args: &ConsoleArgs) -> Result<Option<ListeningSocket>, Fault> {
    args.console.map(|address| ListeningSocket::open(address).map_err(Fault::input)).transpose()
}

/// A new token if control is enabled.
pub(crate) fn token(is_requested: bool) -> Result<Option<Token>, Fault> {
    is_requested.then(Token::random).transpose().map_err(Fault::run)
}

/// Serves clients and prints the address, even with `--quiet`: without it nobody could use the console.
pub(crate) fn begin(
    listening_socket: ListeningSocket,
    transport: Arc<dyn Transport>,
    options: &ConsoleOptions,
) -> Result<Console, Fault> {
    let console = Console::serve(listening_socket, transport, options).map_err(Fault::run)?;
    let warning = if options.token.is_some() { " (this address gives control: keep it)" } else { "" };
    Verbosity::Usual.note(format_args!("console: {}{warning}", console.url()));
    Ok(console)
}

/// The refusals of a console, in words; `None` if there were none.
pub(crate) fn refused(console: &Console) -> Option<String> {
    in_words(&console.refused())
}

/// Counts of refusals, in words; `None` if there are none.
pub(crate) fn in_words(refused: &[(RefusalReason, u64)]) -> Option<String> {
    let reported: Vec<_> = refused.iter().map(|(refusal, count)| format!("{count} {}", refusal.word())).collect();
    (!reported.is_empty()).then(|| reported.join(", "))
}
