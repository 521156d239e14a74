//! A link between two network namespaces, made by `link.py`: one for the simulation, one for the stack.

use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use selene_tests::skip;

use crate::logged::{Logged, check};
use crate::program::peer;

/// `link.py` ends with it where the machine gives no namespaces.
const NOT_HERE: i32 = 77;
const WITHIN: Duration = Duration::from_secs(30);

/// An end of the link.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Simulation,
    Stack,
}

impl End {
    /// Its address, as `link.py` gives it.
    pub(crate) fn address(self) -> &'static str {
        match self {
            Self::Simulation => "10.77.0.1",
            Self::Stack => "10.77.0.2",
        }
    }
}

/// The link; it goes with its process.
pub(crate) struct Link {
    process: Logged,
    orders: ChildStdin,
    /// Files that stand for the namespaces of the simulation and of the stack.
    namespaces: [String; 2],
}

impl Link {
    /// Delays each frame and loses a share of them; `kind` is `unicast` where the link carries no multicast. None (said)
    /// where this machine gives no namespaces.
    pub(crate) fn make(folder: &Path, delay_ms: &str, loss: &str, kind: Option<&str>) -> Option<Self> {
        let mut command = peer("link.py")?;
        command.args([delay_ms, loss]).args(kind).stdin(Stdio::piped());
        let mut process = Logged::start("link", folder, &mut command);
        let orders = process.running.0.stdin.take().expect("piped");
        let Some(made) = process.says_within("namespaces ", 0, WITHIN) else {
            let is_none = process.ended().is_some_and(|status| status.code() == Some(NOT_HERE));
            check(is_none, "the link was not made", &[&process]);
            // What the kernel does not allow here no installation brings.
            skip(&process.said());
            return None;
        };
        let (first, second) = made.split_once(' ').expect("two namespaces");
        Some(Self { process, orders, namespaces: [first.to_owned(), second.to_owned()] })
    }

    /// A program, at an end of the link.
    pub(crate) fn at(&self, end: End, program: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        let namespace = match end {
            End::Simulation => &self.namespaces[0],
            End::Stack => &self.namespaces[1],
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

    /// Takes the simulation's end down, or up again.
    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("the link listens");
        let is_done = self.process.says_within(&format!("the link is {order}"), 0, WITHIN).is_some();
        check(is_done, &format!("the link did not go {order}"), &[&self.process]);
    }

    /// Ends it; how many frames it carried, and how many it lost.
    pub(crate) fn end(self) -> (u64, u64) {
        let Self { mut process, orders, .. } = self;
        drop(orders);
        let said = process.says_within("carried ", 0, WITHIN);
        check(said.is_some(), "the link did not end", &[&process]);
        let words = said.unwrap_or_default();
        let mut counts = words.split(' ').filter_map(|word| word.parse().ok());
        let (Some(carried), Some(lost)) = (counts.next(), counts.next()) else { panic!("no counts: {words}") };
        (carried, lost)
    }
}
