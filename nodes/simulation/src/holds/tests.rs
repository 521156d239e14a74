use super::{AwaitedTopic, HoldCounts, Holds, SimTime};
use std::time::Duration;

const HEARTBEAT_MS: i64 = 5;

fn ms(ms: i64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

fn topic(name: &str, period_ms: i64, lag_ms: i64) -> AwaitedTopic {
    AwaitedTopic {
        name: name.to_owned(),
        type_name: None,
        period: ms(period_ms),
        lag: ms(lag_ms),
        timeout: Duration::from_secs(2),
        start_timeout: Duration::from_secs(30),
    }
}

/// A topic that has had a message, at its hold at 100 ms.
fn at_100_ms(lag_ms: i64) -> Holds {
    let mut holds = Holds::new(&[topic("/cmd_vel", 100, lag_ms)], SimTime::ZERO);
    holds.note("/cmd_vel", Some(ms(1)));
    assert!(holds.begin(ms(100)) && holds.is_waiting());
    holds
}

/// Times of the heartbeats until `end_ms` at which simulated time holds, ms; each hold is answered.
fn held_at(period_ms: i64, end_ms: i64) -> Vec<i64> {
    let mut holds = Holds::new(&[topic("/a", period_ms, 0)], SimTime::ZERO);
    let mut at = Vec::new();
    for now in (HEARTBEAT_MS..=end_ms).step_by(HEARTBEAT_MS as usize) {
        if holds.begin(ms(now)) {
            at.push(now);
            holds.note("/a", Some(ms(now)));
        }
        assert!(!holds.is_waiting());
        holds.pass();
    }
    at
}

#[test]
fn time_holds_at_the_first_heartbeat_at_or_after_every_multiple() {
    assert_eq!(held_at(100, 500), [100, 200, 300, 400, 500]);
    assert_eq!(held_at(33, 170), [35, 70, 100, 135, 165]);
}

#[test]
fn a_stamp_at_or_after_now_less_the_lag_answers_and_an_older_one_does_not() {
    for (lag_ms, stamp_ms, answers) in [(0, 99, false), (0, 100, true), (0, 140, true), (30, 69, false), (30, 70, true)]
    {
        let mut holds = at_100_ms(lag_ms);
        holds.note("/cmd_vel", Some(ms(stamp_ms)));
        assert_eq!(!holds.is_waiting(), answers, "stamped {stamp_ms} ms with a lag of {lag_ms} ms");
        assert!(holds.has_begun());
    }
}

#[test]
fn an_answer_that_comes_before_its_hold_counts_and_counts_once() {
    let mut holds = Holds::new(&[topic("/cmd_vel", 100, 30)], SimTime::ZERO);
    holds.note("/cmd_vel", Some(ms(80)));
    assert!(holds.begin(ms(100)) && !holds.is_waiting());
    holds.pass();
    assert!(holds.begin(ms(200)) && holds.is_waiting());
}

#[test]
fn a_message_without_a_stamp_of_this_clock_answers_when_it_comes() {
    let wall = SimTime::from_secs_f64(1.8e9);
    for stamp in [None, Some(SimTime::ZERO), Some(wall)] {
        let mut holds = at_100_ms(0);
        holds.note("/cmd_vel", stamp);
        assert!(!holds.is_waiting(), "{stamp:?}");
        holds.pass();
        // A message from before the next hold does not answer it.
        holds.note("/cmd_vel", stamp);
        assert!(holds.begin(ms(200)) && holds.is_waiting(), "{stamp:?}");
        let of_another_clock = if stamp == Some(wall) { 2 } else { 0 };
        assert_eq!(holds.report().topics[0].of_another_clock, of_another_clock);
    }
}

#[test]
fn each_topic_is_waited_for_and_others_do_not_answer() {
    let mut holds = Holds::new(&[topic("/a", 100, 0), topic("/b", 200, 0)], SimTime::ZERO);
    ["/a", "/b"].into_iter().for_each(|topic| holds.note(topic, Some(ms(1))));
    assert!(holds.begin(ms(100)));
    holds.note("/b", Some(ms(100)));
    holds.note("/c", Some(ms(100)));
    assert!(holds.is_waiting());
    holds.note("/a", Some(ms(100)));
    assert!(!holds.is_waiting());
    assert!(holds.takes("/a") && !holds.takes("/b") && holds.takes("/c"));
    holds.pass();
    assert!(!holds.takes("/a"));
    assert!(holds.begin(ms(200)));
    holds.note("/a", Some(ms(200)));
    assert!(holds.is_waiting());
}

#[test]
fn a_timeout_ends_a_hold_and_is_counted() {
    let mut holds = at_100_ms(0);
    assert!(holds.give_up(Duration::from_millis(1999)).is_empty() && holds.is_waiting());
    assert_eq!(holds.left(Duration::from_millis(1999)), Some(Duration::from_millis(1)));
    assert_eq!(holds.give_up(Duration::from_secs(2)), ["/cmd_vel"]);
    assert!(!holds.is_waiting() && holds.takes("/cmd_vel"));
    assert_eq!(holds.left(Duration::ZERO), None);
    holds.end(Duration::from_secs(2));
    holds.pass();
    // The next hold waits again.
    assert!(holds.begin(ms(200)) && holds.is_waiting());
    let counts = HoldCounts { topic: "/cmd_vel".to_owned(), holds: 2, timeouts: 1, of_another_clock: 0 };
    let report = holds.report();
    assert_eq!((&report.topics[..], report.held_s, report.longest_s), (&[counts][..], 2.0, 2.0));
}

#[test]
fn a_topic_without_a_first_message_is_waited_for_once() {
    let mut holds = Holds::new(&[topic("/cmd_vel", 100, 0)], SimTime::ZERO);
    assert!(holds.begin(ms(100)));
    assert!(holds.give_up(Duration::from_secs(29)).is_empty());
    assert_eq!(holds.give_up(Duration::from_secs(30)), ["/cmd_vel"]);
    holds.pass();
    assert!(!holds.begin(ms(200)) && !holds.takes("/cmd_vel"));
    holds.note("/cmd_vel", Some(ms(200)));
    assert!(holds.begin(ms(300)) && holds.is_waiting());
    assert_eq!(holds.give_up(Duration::from_secs(2)), ["/cmd_vel"]);
}

#[test]
fn a_closed_topic_is_not_waited_for_and_a_world_that_was_reset_forgets_stamps() {
    let mut holds = at_100_ms(0);
    holds.note("/cmd_vel", Some(ms(150)));
    holds.begin_anew(SimTime::ZERO);
    assert!(!holds.has_begun() && !holds.begin(ms(5)));
    assert!(holds.begin(ms(100)) && holds.is_waiting());
    holds.pass();
    holds.open(|_| false);
    assert!(!holds.begin(ms(200)));
}
