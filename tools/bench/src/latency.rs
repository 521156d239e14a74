//! Latency of a 640 × 360 image from publishing to reception between two DDS participants over loopback, at 10 Hz for
//! 10 s, best effort as for sensors, including encoding and decoding. The figure is the 99th percentile; it is infinite
//! if an image was lost.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::transport::{Publisher, subscribe};
use selene_ros::{Qos, sensor_msgs};

use crate::BenchError;
use crate::setting::Setting;

const IMAGES: usize = 100;
const PERIOD: Duration = Duration::from_millis(100);
/// Time for the two to discover each other, and for the last image to arrive.
const DISCOVERY: Duration = Duration::from_secs(10);
const TOPIC: &str = "/selene/bench/image_raw";

/// The 99th percentile of the latencies, s.
pub(crate) fn p99_s(setting: &Setting) -> Result<f64, BenchError> {
    let sender = (setting.open_wire)("selene_bench_sender")?;
    let receiver = (setting.open_wire)("selene_bench_receiver")?;
    let (received, arrivals) = channel();
    let origin = Instant::now();
    let on = move |image: sensor_msgs::Image| {
        let sent = SimTime::from(image.header.stamp).nanos();
        // Fails once the channel is closed, after the measurement.
        let _ = received.send(ReceivedImage { sent, latency: origin.elapsed().as_nanos() as i64 - sent });
    };
    let _subscription = subscribe(receiver.as_ref(), TOPIC, Qos::sensor_data(), on).map_err(BenchError::new)?;
    let publisher = Publisher::new(sender.as_ref(), TOPIC, Qos::sensor_data()).map_err(BenchError::new)?;
    meet(&publisher, &arrivals, origin)?;
    let begun = origin.elapsed().as_nanos() as i64;
    for _ in 0..IMAGES {
        publish(&publisher, origin)?;
        thread::sleep(PERIOD);
    }
    thread::sleep(PERIOD);
    // Late images of the discovery phase must not replace lost ones.
    let arrivals = arrivals.try_iter().filter(|arrival| arrival.sent >= begun);
    let nanos: Vec<i64> = arrivals.map(|arrival| arrival.latency).collect();
    let lost = IMAGES.saturating_sub(nanos.len());
    // A closed standard error must not end the measurement.
    let _ = writeln!(io::stderr(), "  {lost} of {IMAGES} images lost");
    Ok(percentile_s(nanos, IMAGES, 99))
}

/// A received image: time of publishing and latency, in nanoseconds; times count from the measurement's origin.
struct ReceivedImage {
    sent: i64,
    latency: i64,
}

/// The percentile `percent`, s, of latencies in nanoseconds; infinite if fewer than `sent` arrived, so that a run with
/// losses never counts as fast.
pub(crate) fn percentile_s(mut nanos: Vec<i64>, sent: usize, percent: usize) -> f64 {
    nanos.sort_unstable();
    let place = (nanos.len() * percent).div_ceil(100).saturating_sub(1);
    let nanos = nanos.get(place).filter(|_| nanos.len() >= sent);
    nanos.map_or(f64::INFINITY, |nanos| *nanos as f64 * 1e-9)
}

/// Publishes until the first image is received.
fn meet(
    publisher: &Publisher<sensor_msgs::Image>,
    arrivals: &Receiver<ReceivedImage>,
    origin: Instant,
) -> Result<(), BenchError> {
    let begun = Instant::now();
    while begun.elapsed() < DISCOVERY {
        publish(publisher, origin)?;
        if arrivals.recv_timeout(PERIOD).is_ok() {
            thread::sleep(3 * PERIOD);
            arrivals.try_iter().for_each(drop);
            return Ok(());
        }
    }
    Err(BenchError::new(
        "two DDS participants of this machine do not receive from each other: is UDP over loopback blocked?",
    ))
}

fn publish(publisher: &Publisher<sensor_msgs::Image>, origin: Instant) -> Result<(), BenchError> {
    let now = SimTime::from_nanos(origin.elapsed().as_nanos() as i64);
    let image = sensor_msgs::Image {
        header: selene_ros::std_msgs::Header::new(now, "navcam_left_optical"),
        width: 640,
        height: 360,
        encoding: "mono8".to_owned(),
        step: 640,
        data: vec![128; 640 * 360],
        is_bigendian: 0,
    };
    publisher.publish(&image, now).map_err(BenchError::new)
}

#[cfg(test)]
mod tests {
    use super::percentile_s;

    #[test]
    fn one_lost_image_makes_the_figure_infinite() {
        let nanos: Vec<i64> = (1..=100).rev().map(|place| place * 1_000_000).collect();
        for (percent, expected_s) in [(99, 0.099), (95, 0.095), (50, 0.050)] {
            assert!((percentile_s(nanos.clone(), 100, percent) - expected_s).abs() < 1e-12, "{percent}");
        }
        assert_eq!(percentile_s(nanos[1..].to_vec(), 100, 99), f64::INFINITY);
        assert_eq!(percentile_s(Vec::new(), 100, 99), f64::INFINITY);
    }
}
