//! A network link between two namespaces, made by `link.py`: one for the simulation, one for the stack.

use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use selene_tests::skip_peer;

use crate::logged::{Logged, check};
use crate::program::peer;

/// Exit status of `link.py` on a machine without namespaces.
const NOT_HERE: i32 = 77;
const WITHIN: Duration = Duration::from_secs(30);

/// An end of the link.
#[derive(Clone, Copy)]
pub(crate) enum LinkEnd {
    Simulation,
    Stack,
}

impl LinkEnd {
    /// Its IP address, as `link.py` assigns it.
    pub(crate) fn address(self) -> &'static str {
        match self {
            Self::Simulation => "10.77.0.1",
            Self::Stack => "10.77.0.2",
        }
    }
}

/// Numbers of frames at the end of a link.
pub(crate) struct Frames {
    pub(crate) carried: u64,
    pub(crate) lost: u64,
    /// Those with UDP that were sent, carried or not.
    pub(crate) udp: u64,
}

/// The link, removed when its process ends.
pub(crate) struct Link {
    process: Logged,
    orders: ChildStdin,
    /// Files that refer to the namespaces of the simulation and of the stack.
    namespaces: [String; 2],
}

impl Link {
    /// Creates a link that delays each frame and loses a fraction of them; `kind` is `unicast` for a link without
    /// multicast. `None`, with a message, if this machine has no namespaces.
    pub(crate) fn make(folder: &Path, delay_ms: &str, loss: &str, kind: Option<&str>) -> Option<Self> {
        let mut command = peer("link.py")?;
        command.args([delay_ms, loss]).args(kind).stdin(Stdio::piped());
        let mut process = Logged::start("link", folder, &mut command);
        let orders = process.running.0.stdin.take().expect("piped");
        let Some(made) = process.prints_within("namespaces ", 0, WITHIN) else {
            let is_none = process.ended().is_some_and(|status| status.code() == Some(NOT_HERE));
            check(is_none, "the link was not made", &[&process]);
            skip_peer(&process.printed());
            return None;
        };
        let (first, second) = made.split_once(' ').expect("two namespaces");
        Some(Self { process, orders, namespaces: [first.to_owned(), second.to_owned()] })
    }

    /// A command that runs `program` at an end of the link.
    pub(crate) fn at(&self, end: LinkEnd, program: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        let namespace = match end {
            LinkEnd::Simulation => &self.namespaces[0],
            LinkEnd::Stack => &self.namespaces[1],
        };
        inside.arg(format!("--net={namespace}")).arg("--").arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        if let Some(folder) = program.get_current_dir() {
            inside.current_dir(folder);
        }
        inside.stdin(Stdio::null());
        inside
    }

    /// Takes the simulation's end of the link down, or up again.
    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("the link listens");
        let is_done = self.process.prints_within(&format!("the link is {order}"), 0, WITHIN).is_some();
        check(is_done, &format!("the link did not go {order}"), &[&self.process]);
    }

    /// Ends the link; returns the numbers of its frames.
    pub(crate) fn end(self) -> Frames {
        let Self { mut process, orders, .. } = self;
        drop(orders);
        let printed = process.prints_within("carried ", 0, WITHIN);
        check(printed.is_some(), "the link did not end", &[&process]);
        let words = printed.unwrap_or_default();
        let mut counts = words.split([' ', ',']).filter_map(|word| word.parse().ok());
        let mut count = || counts.next().unwrap_or_else(|| panic!("no counts: {words}"));
        Frames { carried: count(), lost: count(), udp: count() }
    }
}
