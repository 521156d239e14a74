use super::effects::LinkEffects;
use super::{Effect, Impaired, Impairment};
use crate::in_process::InProcess;
use crate::qos::Qos;
use crate::std_msgs::Float64;
use crate::transport::{Publisher, Transport, subscribe};
use selene_base::SimTime;
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn rule(text: &str) -> Impairment {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Delays of the first messages of a link; `None` for lost ones.
fn effects(text: &str, name: &str, count: usize) -> Vec<Option<Duration>> {
    let mut effects = LinkEffects::new(rule(text).effect, name);
    (0..count).map(|_| effects.next()).collect()
}

#[test]
fn the_share_of_losses_is_exact_in_every_stretch_of_whole_periods() {
    for (loss, of) in [(0.01, 100), (0.1, 10), (0.25, 4), (0.5, 2), (1.0, 1)] {
        let fates = effects(&format!(".:loss={loss}"), "link", 20 * of);
        for stretch in fates.chunks(of) {
            assert_eq!(stretch.iter().filter(|fate| fate.is_none()).count(), 1, "{loss}");
        }
    }
    let fates = effects(".:loss=0.9", "link", 1000);
    assert_eq!(fates.iter().filter(|fate| fate.is_none()).count(), 900);
    assert!(effects(".:delay_ms=1", "link", 1000).iter().all(Option::is_some));
}

#[test]
fn what_happens_follows_from_seed_link_and_number() {
    let text = ".:delay_ms=30,jitter_ms=10,loss=0.2,seed=4";
    let fates = effects(text, "out /cmd_vel", 200);
    assert_eq!(fates, effects(text, "out /cmd_vel", 200));
    assert_ne!(fates, effects(text, "in /cmd_vel", 200));
    assert_ne!(fates, effects(".:delay_ms=30,jitter_ms=10,loss=0.2,seed=5", "out /cmd_vel", 200));
    let late: Vec<Duration> = fates.into_iter().flatten().collect();
    let bounds = Duration::from_millis(30)..Duration::from_millis(40);
    assert!(late.iter().all(|delay| bounds.contains(delay)), "{late:?}");
    let spread = late.iter().max().expect("some are late").saturating_sub(*late.iter().min().expect("some are late"));
    assert!(spread > Duration::from_millis(5), "{late:?}");
}

#[test]
fn a_message_never_comes_out_before_the_one_before_it() {
    let mut effects = LinkEffects::new(Effect::default(), "link");
    let at = [30, 10, 20, 45].map(Duration::from_millis);
    assert_eq!(at.map(|due| effects.in_order(due)), [30, 30, 30, 45].map(Duration::from_millis));
}

#[test]
fn rules_are_read_and_what_is_wrong_is_reported() {
    let good = rule("/navcam.*/image_raw:delay_ms=30, jitter_ms=2.5,loss=0.01,seed=7");
    let expected =
        Effect { delay: Duration::from_millis(30), jitter: Duration::from_micros(2500), loss: 0.01, seed: 7 };
    assert_eq!(good.effect, expected);
    assert!(good.is_about("/viper/navcam_left/image_raw") && !good.is_about("/viper/navcam_left/camera_info"));
    assert!(!rule(".*:loss=1").is_about("/selene/run/world_state"));
    for (bad, part) in [
        ("loss=0.1", "no topics before a colon"),
        (":loss=0.1", "no topics before a colon"),
        ("(:loss=0.1", "is no expression"),
        ("/a:loss", "no key=value"),
        ("/a:", "no key=value"),
        ("/a:loss=1.5", "0 to 1"),
        ("/a:loss=NaN", "0 to 1"),
        ("/a:delay_ms=-1", "0 to 60000"),
        ("/a:seed=x", "whole number"),
        ("/a:speed=1", "delay_ms, jitter_ms, loss or seed"),
    ] {
        let reported = bad.parse::<Impairment>().expect_err(bad).to_string();
        assert!(reported.contains(part) && reported.contains("reads like"), "{bad}: {reported}");
    }
}

/// The numbers that arrive, in order of arrival, when 0 to 19 are sent.
fn carried(rules: &[&str], topic: &str, sent_through: bool) -> Vec<f64> {
    let bus = InProcess::new();
    let rules = rules.iter().map(|text| rule(text)).collect();
    let impaired = Impaired::new(Arc::new(bus.clone()), rules).expect("a thread");
    let (from, to): (&dyn Transport, &dyn Transport) = if sent_through { (&impaired, &bus) } else { (&bus, &impaired) };
    let (tx, rx) = mpsc::channel();
    let _subscription = subscribe(to, topic, Qos::reliable(), move |m: Float64| tx.send(m.data).unwrap()).unwrap();
    let publisher = Publisher::new(from, topic, Qos::reliable()).unwrap();
    for data in 0..20 {
        publisher.publish(&Float64 { data: f64::from(data) }, SimTime::ZERO).unwrap();
    }
    // Number 19 is never lost: with a loss of 5 % or none, at most one of the twenty is lost.
    let mut received = Vec::new();
    while received.last() != Some(&19.0) {
        received.push(rx.recv_timeout(Duration::from_secs(20)).expect("the last message"));
    }
    received
}

#[test]
fn messages_come_late_in_order_and_whole_on_both_ways() {
    let all: Vec<f64> = (0..20).map(f64::from).collect();
    for sent_through in [true, false] {
        assert_eq!(carried(&["/depth:delay_ms=5,jitter_ms=10"], "/depth", sent_through), all);
        assert_eq!(carried(&["/other:loss=1"], "/depth", sent_through), all);
        assert_eq!(carried(&["/selene:loss=1"], "/selene/run/acknowledge", sent_through), all);
        // The first rule that applies to the topic counts.
        assert_eq!(carried(&["/depth:delay_ms=1", ".:loss=1"], "/depth", sent_through), all);
    }
}

#[test]
fn lost_messages_do_not_arrive_and_the_others_do() {
    let seed = (0..).find(|seed| effects(&format!(".:loss=0.05,seed={seed}"), "impaired out /depth", 20)[19].is_some());
    let text = format!("/depth:loss=0.05,seed={}", seed.expect("a seed"));
    let received = carried(&[text.as_str()], "/depth", true);
    assert_eq!(received.len(), 19);
    let lost = effects(&text, "impaired out /depth", 20).iter().position(Option::is_none).expect("one is lost") as f64;
    assert!(!received.contains(&lost) && received.is_sorted(), "{lost} of {received:?}");
}
