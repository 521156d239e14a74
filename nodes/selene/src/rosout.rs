//! Publishes the log on `/rosout`: warnings, errors, and Selene's own informative lines, stamped with the run's
//! simulated time. Lines wait in a bounded queue from the program's start; a thread publishes them as soon as there is
//! a transport. Lines of the middleware, and those logged while a line is published, are left out: publishing them
//! would cause more of them.

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
/// Greatest number of lines in the queue: as many as ROS keeps for late subscribers.
const WAITING_MAX: usize = 1000;
/// Name of the thread that publishes.
const THREAD: &str = "rosout";
/// Crates of the middleware, whose lines are left out.
const MIDDLEWARE: [&str; 4] = ["rustdds", "ros2_client", "r2r", "mio"];

/// The layer of the log that queues lines.
pub(crate) struct Rosout {
    queue: SyncSender<RosoutJob>,
    lost: Arc<AtomicU64>,
}

/// The lines that were logged and are not yet published. One thread at a time publishes them; between two worlds of a
/// process they wait.
#[derive(Clone)]
pub(crate) struct Backlog {
    reported: Arc<Mutex<Receiver<RosoutJob>>>,
    queue: SyncSender<RosoutJob>,
    /// Number of lines that were dropped because the queue was full, since the last report of them.
    lost: Arc<AtomicU64>,
}

/// The thread that publishes. Dropping this publishes all waiting lines, then ends and joins the thread.
pub(crate) struct RosoutThread {
    queue: SyncSender<RosoutJob>,
    thread: Option<JoinHandle<()>>,
}

enum RosoutJob {
    Line(Log),
    End,
}

/// The layer that queues lines, and the queue.
pub(crate) fn queue() -> (Rosout, Backlog) {
    let (queue, reported) = sync_channel(WAITING_MAX);
    let lost = Arc::<AtomicU64>::default();
    (
        Rosout { queue: queue.clone(), lost: Arc::clone(&lost) },
        Backlog { reported: Arc::new(Mutex::new(reported)), queue, lost },
    )
}

/// The lines that go to `/rosout`: warnings of all crates, informative lines of Selene, none of the middleware.
pub(crate) fn filter() -> Targets {
    let all = Targets::new().with_default(LevelFilter::WARN).with_target("selene", LevelFilter::INFO);
    MIDDLEWARE.iter().fold(all, |targets, name| targets.with_target(*name, LevelFilter::OFF))
}

impl<S: Subscriber> Layer<S> for Rosout {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if thread::current().name() == Some(THREAD) {
            return;
        }
        // A closed queue has no publisher any more: the line is dropped.
        if let Err(TrySendError::Full(_)) = self.queue.try_send(RosoutJob::Line(line(event))) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Backlog {
    /// Starts a thread that publishes waiting and new lines, as node `node`.
    pub(crate) fn publish(&self, transport: &Arc<Meter>, node: &str) -> Result<RosoutThread, Fault> {
        let publisher = Publisher::new(&**transport, TOPIC, Qos::rosout()).map_err(Fault::run)?;
        let (queue, node, transport) = (self.queue.clone(), node.to_owned(), Arc::clone(transport));
        let report = move |line: Log| {
            let time = transport.simulated();
            let line = Log { stamp: time.into(), name: node.clone(), ..line };
            // The meter counts messages that cannot be sent; logging it would queue another line.
            drop(publisher.publish(&line, time));
        };
        let backlog = self.clone();
        let thread = Builder::new().name(THREAD.to_owned()).spawn(move || backlog.report_all(report));
        let thread = thread.map_err(|error| Fault::run(format!("{TOPIC}: no thread could be started: {error}")))?;
        Ok(RosoutThread { queue, thread: Some(thread) })
    }

    fn report_all(&self, report: impl Fn(Log)) {
        let reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(RosoutJob::Line(line)) = reported.recv() {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let msg = format!("{lost} lines are missing: more was logged than could be published");
                report(Log { level: Log::WARN, msg, ..Log::default() });
            }
            report(line);
        }
    }
}

impl Drop for RosoutThread {
    fn drop(&mut self) {
        // A thread that has ended needs no message, and a panic has been printed.
        let _ = self.queue.send(RosoutJob::End);
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

/// The text of an event: its message, followed by its values.
#[derive(Default)]
struct Text {
    message: String,
    values: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            // Source location of a line of the crate `log`.
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

    /// Publishes the backlog and returns the lines.
    fn published(backlog: Backlog) -> Vec<Log> {
        let (bus, (tx, rx)) = (InProcess::new(), channel());
        let on = move |line: Log| tx.send(line).unwrap();
        let _subscription = subscribe(&bus, TOPIC, Qos::rosout(), on).unwrap();
        let meter = Arc::new(Meter::new(Arc::new(bus.clone())));
        drop(backlog.publish(&meter, "selene").unwrap());
        rx.try_iter().collect()
    }

    #[test]
    fn lines_of_selene_and_warnings_of_others_are_reported_but_not_those_of_the_middleware() {
        let (rosout, backlog) = queue();
        logging(rosout, || {
            tracing::info!("begins");
            tracing::warn!(wheel = 3, "slips");
            tracing::error!(target: "wgpu_core::device", "is lost");
            tracing::info!(target: "wgpu_core::device", "is there");
            tracing::error!(target: "rustdds::rtps::writer", "cannot send");
        });
        let reported = published(backlog);
        let lines: Vec<_> = reported.iter().map(|line| (line.level, line.msg.as_str())).collect();
        assert_eq!(lines, [(Log::INFO, "begins"), (Log::WARN, "slips wheel=3"), (Log::ERROR, "is lost")]);
        assert!(reported.iter().all(|line| line.name == "selene"));
        assert!(reported[0].file.ends_with("rosout.rs") && reported[0].line > 0, "{:?}", reported[0]);
        assert_eq!(
            (reported[0].function.as_str(), reported[2].function.as_str()),
            (module_path!(), "wgpu_core::device")
        );
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (rosout, backlog) = queue();
        logging(rosout, || (0..WAITING_MAX + 5).for_each(|i| tracing::info!("line {i}")));
        let reported = published(backlog);
        assert_eq!(reported.len(), WAITING_MAX + 1);
        assert!(
            reported[0].level == Log::WARN && reported[0].msg.starts_with("5 lines are missing"),
            "{:?}",
            reported[0]
        );
        assert_eq!((reported[1].msg.as_str(), reported[WAITING_MAX].msg.as_str()), ("line 0", "line 999"));
    }

    #[test]
    fn what_is_logged_while_a_line_is_published_is_not_reported() {
        let (rosout, backlog) = queue();
        let inside = std::thread::Builder::new().name(THREAD.to_owned());
        let inside = inside.spawn(move || logging(rosout, || tracing::error!("cannot send"))).unwrap();
        inside.join().unwrap();
        assert!(backlog.reported.lock().unwrap().try_recv().is_err());
    }
}
