//! What the program logs, on `/rosout` for those who watch a run from elsewhere: warnings, errors, and what Selene tells
//! of its progress, stamped with the run's simulated time. Lines wait in a bounded queue from the program's start on;
//! a thread publishes them as soon as there is a transport. What the middleware logs, and what is logged while a line
//! is published, is left out: publishing it would make more of it.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle};

use selene_ros::Qos;
use selene_ros::rcl_interfaces::Log;
use selene_ros::transport::Publisher;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::Context;

use crate::fault::Fault;
use crate::meter::Meter;

const TOPIC: &str = "/rosout";
/// Lines that may wait: as many as ROS keeps for late subscribers.
const WAITING_MAX: usize = 1000;
/// The thread that publishes.
const THREAD: &str = "rosout";
/// Crates of the middleware.
const MIDDLEWARE: [&str; 4] = ["rustdds", "ros2_client", "r2r", "mio"];

/// Takes what is logged.
pub(crate) struct Rosout {
    queue: SyncSender<Told>,
    lost: Arc<AtomicU64>,
}

/// What was logged and is not published yet. One thread at a time publishes it: between two worlds of a process lines
/// wait here.
#[derive(Clone)]
pub(crate) struct Backlog {
    told: Arc<Mutex<Receiver<Told>>>,
    queue: SyncSender<Told>,
    /// Lines for which there was no room, and of which nothing was said yet.
    lost: Arc<AtomicU64>,
}

/// The thread that publishes; dropping it ends and joins it, when all that waits is published.
pub(crate) struct Telling {
    queue: SyncSender<Told>,
    thread: Option<JoinHandle<()>>,
}

enum Told {
    Line(Log),
    End,
}

/// What takes lines, and where they wait.
pub(crate) fn queue() -> (Rosout, Backlog) {
    let (queue, told) = sync_channel(WAITING_MAX);
    let lost = Arc::<AtomicU64>::default();
    (
        Rosout { queue: queue.clone(), lost: Arc::clone(&lost) },
        Backlog { told: Arc::new(Mutex::new(told)), queue, lost },
    )
}

/// What is worth telling.
pub(crate) fn filter() -> Targets {
    let all = Targets::new().with_default(LevelFilter::WARN).with_target("selene", LevelFilter::INFO);
    MIDDLEWARE.iter().fold(all, |targets, name| targets.with_target(*name, LevelFilter::OFF))
}

impl<S: Subscriber> Layer<S> for Rosout {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if thread::current().name() == Some(THREAD) {
            return;
        }
        // When nobody publishes any more, nobody is told.
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Told::Line(line(event))) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Backlog {
    /// Publishes what was logged and what is logged from now on, as node `node`.
    pub(crate) fn publish(&self, transport: &Arc<Meter>, node: &str) -> Result<Telling, Fault> {
        let publisher = Publisher::new(&**transport, TOPIC, Qos::rosout()).map_err(Fault::run)?;
        let (queue, node, transport) = (self.queue.clone(), node.to_owned(), Arc::clone(transport));
        let tell = move |line: Log| {
            let time = transport.simulated();
            let line = Log { stamp: time.into(), name: node.clone(), ..line };
            // The meter counts what cannot be sent; a line about it would be another one.
            drop(publisher.publish(&line, time));
        };
        let backlog = self.clone();
        let thread = Builder::new().name(THREAD.to_owned()).spawn(move || backlog.tell_all(tell));
        let thread = thread.map_err(|error| Fault::run(format!("{TOPIC}: no thread could be started: {error}")))?;
        Ok(Telling { queue, thread: Some(thread) })
    }

    fn tell_all(&self, tell: impl Fn(Log)) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(Told::Line(line)) = told.recv() {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let msg = format!("{lost} lines are missing: more was logged than could be published");
                tell(Log { level: Log::WARN, msg, ..Log::default() });
            }
            tell(line);
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        // A thread that is gone needs not be told, and one that panicked has said so.
        let _ = self.queue.send(Told::End);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn line(event: &Event<'_>) -> Log {
    let (metadata, mut text) = (event.metadata(), Text::default());
    event.record(&mut text);
    Log {
        level: level(*metadata.level()),
        msg: text.message + &text.values,
        file: metadata.file().unwrap_or_default().to_owned(),
        function: metadata.target().to_owned(),
        line: metadata.line().unwrap_or_default(),
        ..Log::default()
    }
}

fn level(level: Level) -> u8 {
    match level {
        Level::ERROR => Log::ERROR,
        Level::WARN => Log::WARN,
        Level::INFO => Log::INFO,
        Level::DEBUG | Level::TRACE => Log::DEBUG,
    }
}

/// What an event says: its message, and its values after it.
#[derive(Default)]
struct Text {
    message: String,
    values: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            // Where a line of the crate `log` comes from.
            name if name.starts_with("log.") => {}
            name => self.values += &format!(" {name}={value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Meter, Rosout, THREAD, TOPIC, WAITING_MAX, filter, queue};
    use selene_ros::Qos;
    use selene_ros::in_process::InProcess;
    use selene_ros::rcl_interfaces::Log;
    use selene_ros::transport::subscribe;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use tracing_subscriber::prelude::*;

    fn logging(rosout: Rosout, log: impl FnOnce()) {
        let subscriber = tracing_subscriber::registry().with(rosout.with_filter(filter()));
        tracing::subscriber::with_default(subscriber, log);
    }

    /// All that is published of what waits.
    fn published(backlog: Backlog) -> Vec<Log> {
        let (bus, (tx, rx)) = (InProcess::new(), channel());
        let on = move |line: Log| tx.send(line).unwrap();
        let _subscription = subscribe(&bus, TOPIC, Qos::rosout(), on).unwrap();
        let meter = Arc::new(Meter::new(Arc::new(bus.clone())));
        drop(backlog.publish(&meter, "selene").unwrap());
        rx.try_iter().collect()
    }

    #[test]
    fn lines_of_selene_and_warnings_of_others_are_told_but_not_those_of_the_middleware() {
        let (rosout, backlog) = queue();
        logging(rosout, || {
            tracing::info!("begins");
            tracing::warn!(wheel = 3, "slips");
            tracing::error!(target: "wgpu_core::device", "is lost");
            tracing::info!(target: "wgpu_core::device", "is there");
            tracing::error!(target: "rustdds::rtps::writer", "cannot send");
        });
        let told = published(backlog);
        let said: Vec<_> = told.iter().map(|line| (line.level, line.msg.as_str())).collect();
        assert_eq!(said, [(Log::INFO, "begins"), (Log::WARN, "slips wheel=3"), (Log::ERROR, "is lost")]);
        assert!(told.iter().all(|line| line.name == "selene"));
        assert!(told[0].file.ends_with("rosout.rs") && told[0].line > 0, "{:?}", told[0]);
        assert_eq!((told[0].function.as_str(), told[2].function.as_str()), (module_path!(), "wgpu_core::device"));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (rosout, backlog) = queue();
        logging(rosout, || (0..WAITING_MAX + 5).for_each(|i| tracing::info!("line {i}")));
        let told = published(backlog);
        assert_eq!(told.len(), WAITING_MAX + 1);
        assert!(told[0].level == Log::WARN && told[0].msg.starts_with("5 lines are missing"), "{:?}", told[0]);
        assert_eq!((told[1].msg.as_str(), told[WAITING_MAX].msg.as_str()), ("line 0", "line 999"));
    }

    #[test]
    fn what_is_logged_while_a_line_is_published_is_not_told() {
        let (rosout, backlog) = queue();
        let inside = std::thread::Builder::new().name(THREAD.to_owned());
        let inside = inside.spawn(move || logging(rosout, || tracing::error!("cannot send"))).unwrap();
        inside.join().unwrap();
        assert!(backlog.told.lock().unwrap().try_recv().is_err());
    }
}
