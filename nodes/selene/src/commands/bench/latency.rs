//! A 640 × 360 image from publish to receive between two DDS participants over
//! loopback, at 10 Hz for 10 s, best effort as sensors are. Encoding and decoding
//! count. The 99th percentile; lost images are told.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::transport::{Publisher, subscribe};
use selene_ros::{Qos, sensor_msgs};

use crate::fault::Fault;
use crate::{middleware, places};

const IMAGES: u32 = 100;
const PERIOD: Duration = Duration::from_millis(100);
/// Time for the two to find each other, and for the last image to arrive.
const DISCOVERY: Duration = Duration::from_secs(10);
const TOPIC: &str = "/selene/bench/image_raw";

/// The 99th percentile of the latencies, s.
pub(super) fn p99_s() -> Result<f64, Fault> {
    let domain = places::domain_id()?;
    let sender = middleware::open(domain, "selene_bench_sender")?;
    let receiver = middleware::open(domain, "selene_bench_receiver")?;
    let (heard, latencies) = channel();
    let origin = Instant::now();
    let on = move |image: sensor_msgs::Image| {
        let sent = SimTime::from(image.header.stamp).nanos();
        // The channel is closed once all has been heard.
        let _ = heard.send(origin.elapsed().as_nanos() as i64 - sent);
    };
    let _subscription = subscribe(receiver.as_ref(), TOPIC, Qos::sensor_data(), on).map_err(Fault::run)?;
    let publisher = Publisher::new(sender.as_ref(), TOPIC, Qos::sensor_data()).map_err(Fault::run)?;
    meet(&publisher, &latencies, origin)?;
    for _ in 0..IMAGES {
        publish(&publisher, origin)?;
        thread::sleep(PERIOD);
    }
    thread::sleep(PERIOD);
    let mut nanos: Vec<i64> = latencies.try_iter().collect();
    nanos.sort_unstable();
    let lost = (IMAGES as usize).saturating_sub(nanos.len());
    eprintln!("  {lost} of {IMAGES} images lost");
    let place = (nanos.len() * 99).div_ceil(100).max(1) - 1;
    let p99 = nanos.get(place).ok_or_else(|| Fault::run("no image arrived over DDS"))?;
    Ok(*p99 as f64 * 1e-9)
}

/// Publishes until the first image arrives.
fn meet(
    publisher: &Publisher<sensor_msgs::Image>,
    latencies: &std::sync::mpsc::Receiver<i64>,
    origin: Instant,
) -> Result<(), Fault> {
    let begun = Instant::now();
    while begun.elapsed() < DISCOVERY {
        publish(publisher, origin)?;
        if latencies.recv_timeout(PERIOD).is_ok() {
            thread::sleep(3 * PERIOD);
            latencies.try_iter().for_each(drop);
            return Ok(());
        }
    }
    Err(Fault::run("two DDS participants of this machine do not hear each other: is UDP over loopback blocked?"))
}

fn publish(publisher: &Publisher<sensor_msgs::Image>, origin: Instant) -> Result<(), Fault> {
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
    publisher.publish(&image, now).map_err(Fault::run)
}
