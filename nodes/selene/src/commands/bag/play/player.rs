//! Publishes recorded messages in order, with the quality of service that they were recorded with. It has no clock of
//! its own: the caller provides the function that waits for recorded time.

use std::collections::{BTreeMap, VecDeque};

use selene_base::SimTime;
use selene_ros::bag::{BagDamage, BagMessage};
use selene_ros::qos::Durability;
use selene_ros::transport::{Outlet, Publisher, Transport, TransportError};
use selene_ros::{Qos, Topic, rosgraph_msgs};

/// The topic of the clock.
pub(super) const CLOCK: &str = "/clock";
/// Recorded time from one clock message to the next, ns.
const CLOCK_STEP_NS: u64 = 10_000_000;

/// The publishers with which a bag is played.
pub(super) struct Player {
    outlets: BTreeMap<String, (Topic, Box<dyn Outlet>)>,
    clock: Option<Publisher<rosgraph_msgs::Clock>>,
}

/// One pass through a bag.
struct Pass<'a, W> {
    player: &'a Player,
    wait_until: W,
    /// The last latched messages from before the start, by topic.
    before: BTreeMap<String, VecDeque<BagMessage>>,
    next_tick_ns: u64,
    played: u64,
}

impl Player {
    /// Opens the topics and, with `with_clock`, a clock of recorded time.
    ///
    /// # Errors
    /// When the middleware refuses a topic.
    pub(super) fn open(transport: &dyn Transport, topics: &[Topic], with_clock: bool) -> Result<Self, TransportError> {
        let outlet = |topic: &Topic| -> Result<_, TransportError> {
            Ok((topic.name.clone(), (topic.clone(), transport.advertise(topic)?)))
        };
        let outlets = topics.iter().map(outlet).collect::<Result<_, _>>()?;
        let clock = with_clock.then(|| Publisher::new(transport, CLOCK, Qos::clock())).transpose()?;
        Ok(Self { outlets, clock })
    }

    /// Plays messages from log time `begin_ns` on, after the last latched ones from before it. `wait_until` waits for a
    /// log time and returns false to end. Returns the number of messages played.
    ///
    /// # Errors
    /// When a message cannot be delivered.
    pub(super) fn play(
        &self,
        messages: impl Iterator<Item = Result<BagMessage, BagDamage>>,
        begin_ns: u64,
        wait_until: impl FnMut(u64) -> bool,
    ) -> Result<u64, TransportError> {
        let before = BTreeMap::new();
        let mut pass = Pass { player: self, wait_until, before, next_tick_ns: begin_ns, played: 0 };
        for read in messages {
            let message = match read {
                Ok(message) => message,
                Err(damage) => {
                    tracing::warn!("{damage}");
                    continue;
                }
            };
            if message.log_ns < begin_ns {
                pass.keep(message);
            } else if !pass.take(&message)? {
                break;
            }
        }
        Ok(pass.played)
    }
}

impl<W: FnMut(u64) -> bool> Pass<'_, W> {
    /// Keeps a message from before the start if its topic is latched.
    fn keep(&mut self, message: BagMessage) {
        let Some((topic, _)) = self.player.outlets.get(&message.topic.name) else { return };
        if topic.qos.durability == Durability::TransientLocal {
            let kept = self.before.entry(topic.name.clone()).or_default();
            kept.push_back(message);
            if kept.len() > topic.qos.depth.max(1) {
                kept.pop_front();
            }
        }
    }

    /// Plays a message when it is due. Returns false to end.
    fn take(&mut self, message: &BagMessage) -> Result<bool, TransportError> {
        for kept in std::mem::take(&mut self.before).into_values().flatten() {
            self.send(&kept)?;
        }
        if !self.tick_until(message.log_ns)? {
            return Ok(false);
        }
        if !self.player.outlets.contains_key(&message.topic.name) {
            return Ok(true);
        }
        let continues = (self.wait_until)(message.log_ns);
        if continues {
            self.send(message)?;
        }
        Ok(continues)
    }

    fn send(&mut self, message: &BagMessage) -> Result<(), TransportError> {
        let Some((_, outlet)) = self.player.outlets.get(&message.topic.name) else { return Ok(()) };
        self.played += 1;
        outlet.send(&message.encoded, instant(message.publish_ns))
    }

    /// Publishes recorded time up to a message's log time. Returns false to end.
    fn tick_until(&mut self, log_ns: u64) -> Result<bool, TransportError> {
        let Some(clock) = &self.player.clock else { return Ok(true) };
        while self.next_tick_ns <= log_ns {
            if !(self.wait_until)(self.next_tick_ns) {
                return Ok(false);
            }
            let now = instant(self.next_tick_ns);
            clock.publish(&rosgraph_msgs::Clock { clock: now.into() }, now)?;
            self.next_tick_ns += CLOCK_STEP_NS;
        }
        Ok(true)
    }
}

/// An instant of the recording's clock; times after the year 2262 become the greatest that fits.
fn instant(ns: u64) -> SimTime {
    SimTime::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{CLOCK, Player};
    use selene_base::SimTime;
    use selene_ros::bag::{BagReader, RecordOptions};
    use selene_ros::in_process::InProcess;
    use selene_ros::transport::{Publisher, Subscription, subscribe};
    use selene_ros::{BagRecorder, Qos, Topic, rosgraph_msgs, std_msgs};
    use std::cell::RefCell;
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, channel};

    const SECOND_NS: u64 = 1_000_000_000;

    struct Bag(PathBuf);

    impl Drop for Bag {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A bag of two files: a latched topic with messages at 0 and 2 s, and one with the second from 0 to 4 s.
    fn recorded(name: &str) -> Bag {
        let path = std::env::temp_dir().join(format!("selene-play-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let max_span = Some(SimTime::from_secs_f64(3.0));
        let bag = BagRecorder::create(&path, RecordOptions { max_span, ..RecordOptions::default() }).unwrap();
        let map = Publisher::new(&bag, "/map", Qos::latched()).unwrap();
        let count = Publisher::new(&bag, "/count", Qos::sensor_data()).unwrap();
        for second in 0..5 {
            let stamp = SimTime::from_secs_f64(f64::from(second));
            if second % 2 == 0 && second < 4 {
                map.publish(&std_msgs::String { data: format!("map {second}") }, stamp).unwrap();
            }
            count.publish(&std_msgs::Float64 { data: f64::from(second) }, stamp).unwrap();
        }
        assert_eq!(bag.finish().files, 2);
        Bag(path)
    }

    fn topics() -> [Topic; 2] {
        [
            Topic::new::<std_msgs::String>("/map", Qos::latched()).unwrap(),
            Topic::new::<std_msgs::Float64>("/count", Qos::sensor_data()).unwrap(),
        ]
    }

    /// Subscribes to both topics; the receiver gets their values in order.
    fn listen(bus: &InProcess) -> (Vec<Subscription>, Receiver<String>) {
        let (sender, received) = channel();
        let (maps, counts) = (sender.clone(), sender);
        let on_map = move |map: std_msgs::String| maps.send(map.data).unwrap();
        let on_count = move |count: std_msgs::Float64| counts.send(count.data.to_string()).unwrap();
        let map = subscribe(bus, "/map", Qos::latched(), on_map).unwrap();
        let count = subscribe(bus, "/count", Qos::reliable(), on_count).unwrap();
        (vec![map, count], received)
    }

    #[test]
    fn messages_come_in_order_each_at_its_time_and_latched_ones_once() {
        let (bag, bus) = (recorded("order"), InProcess::new());
        let (_subscriptions, received) = listen(&bus);
        let player = Player::open(&bus, &topics(), false).unwrap();
        let reader = BagReader::open(&bag.0).unwrap();
        let waited = RefCell::new(Vec::new());
        let wait = |log_ns: u64| {
            waited.borrow_mut().push(log_ns / SECOND_NS);
            true
        };
        assert_eq!(player.play(reader.messages(), 0, wait).unwrap(), 7);
        assert_eq!(received.try_iter().collect::<Vec<_>>(), ["map 0", "0", "1", "map 2", "2", "3", "4"]);
        assert_eq!(*waited.borrow(), [0, 0, 1, 2, 2, 3, 4]);
        let (_late, kept) = listen(&bus);
        assert_eq!(kept.try_iter().collect::<Vec<_>>(), ["map 2"], "the topic is latched as it was recorded");
    }

    #[test]
    fn from_an_instant_on_the_last_latched_message_comes_first() {
        for (begin_s, expected) in [(1, &["map 0", "1", "map 2", "2", "3", "4"][..]), (4, &["map 2", "4"][..])] {
            let (bag, bus) = (recorded(&format!("from-{begin_s}")), InProcess::new());
            let (_subscriptions, received) = listen(&bus);
            let player = Player::open(&bus, &topics(), false).unwrap();
            let (reader, begin_ns) = (BagReader::open(&bag.0).unwrap(), begin_s * SECOND_NS);
            player.play(reader.messages_around(begin_ns), begin_ns, |_| true).unwrap();
            assert_eq!(received.try_iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_clock_reports_recorded_time_a_hundred_times_a_second_and_playing_ends_when_requested() {
        let (bag, bus) = (recorded("clock"), InProcess::new());
        let (sender, received) = channel();
        let on_clock = move |clock: rosgraph_msgs::Clock| sender.send(SimTime::from(clock.clock).nanos()).unwrap();
        let _subscription = subscribe(&bus, CLOCK, Qos::clock(), on_clock).unwrap();
        let player = Player::open(&bus, &[], true).unwrap();
        let reader = BagReader::open(&bag.0).unwrap();
        assert_eq!(player.play(reader.messages(), 0, |log_ns| log_ns < SECOND_NS).unwrap(), 0);
        assert_eq!(received.try_iter().collect::<Vec<_>>(), (0..100).map(|tick| tick * 10_000_000).collect::<Vec<_>>());
    }
}
