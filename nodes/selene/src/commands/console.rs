//! The console: in the process of a run, or beside one that goes on, over DDS.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use selene_console::{Console, ConsoleOptions, Door, Refusal, Token};
use selene_ros::qos::checked_name;
use selene_ros::transport::Transport;

use crate::args::{ConsoleArgs, ConsoleCommandArgs};
use crate::fault::Fault;
use crate::interrupt;
use crate::middleware::Network;
use crate::output::print_line;
use crate::remap::Names;
use crate::telling::Telling;

/// The ROS node that listens.
const NODE: &str = "selene_console";
/// How often the end is looked for (wall time).
const POLL: Duration = Duration::from_millis(100);

/// `selene console`: serves clients until Ctrl-C.
pub(crate) fn console(args: &ConsoleCommandArgs, telling: Telling) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let node = checked_name(args.node.clone()).map_err(|error| Fault::input(format!("--node: {error}")))?;
    let door = Door::open(args.address).map_err(Fault::input)?;
    let transport = Network::asked(&args.network)?.join(&Names::plain(NODE))?;
    let options = ConsoleOptions {
        token: token(args.control)?,
        control_node: node.clone(),
        parameters_node: node,
        twist_unstamped: args.twist_unstamped,
    };
    let console = begin(door, transport, &options, telling)?;
    while !interrupt::asked(&stop) {
        thread::sleep(POLL);
    }
    refused(&console).into_iter().for_each(|told| print_line(format_args!("refused: {told}")));
    Ok(())
}

/// The address that a run's console is asked to listen at, if it has one.
pub(crate) fn door(args: &ConsoleArgs) -> Result<Option<Door>, Fault> {
    args.console.map(|address| Door::open(address).map_err(Fault::input)).transpose()
}

/// What control takes, where it is asked for.
pub(crate) fn token(is_asked: bool) -> Result<Option<Token>, Fault> {
    is_asked.then(Token::random).transpose().map_err(Fault::run)
}

/// Serves clients, and says where. The address with the token is told whatever is asked for: it is the only way to it.
pub(crate) fn begin(
    door: Door,
    transport: Arc<dyn Transport>,
    options: &ConsoleOptions,
    telling: Telling,
) -> Result<Console, Fault> {
    let console = Console::serve(door, transport, options).map_err(Fault::run)?;
    match options.token.is_some() {
        true => Telling::Usual.note(format_args!("console: {} (this address gives control: keep it)", console.url())),
        false => telling.note(format_args!("console: {}", console.url())),
    }
    Ok(console)
}

/// What a console refused, in words, if anything.
pub(crate) fn refused(console: &Console) -> Option<String> {
    in_words(&console.refused())
}

/// What was refused how often, in words, if anything.
pub(crate) fn in_words(refused: &[(Refusal, u64)]) -> Option<String> {
    let told: Vec<_> = refused.iter().map(|(refusal, count)| format!("{count} {}", refusal.word())).collect();
    (!told.is_empty()).then(|| told.join(", "))
}
