//! Publishes the data of a rover with a large camera, a 64-beam lidar and an IMU, to measure a network or a peer.
//!
//! `cargo run --release -p selene-ros --example camera_load -- SECONDS [reliable]` publishes on `ROS_DOMAIN_ID`:
//! `/load/image` (1280×720 mono16 at 30 Hz, 1.8 MB each), `/load/points` (64×1024 points at 10 Hz, 1.4 MB each) and
//! `/load/imu` (400 Hz), best effort unless `reliable` is given. Stamps are DDS source timestamps.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::dds::{Dds, DdsOptions, Discovery, ServiceMapping};
use selene_ros::transport::Publisher;
use selene_ros::{Qos, sensor_msgs};

const TICK_S: f64 = 1.0 / 1200.0;
const IMU_EVERY: u64 = 3;
const IMAGE_EVERY: u64 = 40;
const LIDAR_EVERY: u64 = 120;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let seconds: f64 = args.next().ok_or("how many seconds?")?.parse()?;
    let qos = if args.next().as_deref() == Some("reliable") { Qos::reliable() } else { Qos::sensor_data() };
    let domain_id = std::env::var("ROS_DOMAIN_ID").map_or(Ok(0), |text| text.parse())?;
    let dds = Dds::open(DdsOptions {
        domain_id,
        node_name: "camera_load".to_owned(),
        namespace: "/".to_owned(),
        discovery: Discovery::default(),
        service_mapping: ServiceMapping::default(),
    })?;
    let images = Publisher::new(&dds, "/load/image", qos)?;
    let clouds = Publisher::new(&dds, "/load/points", qos)?;
    let imus = Publisher::new(&dds, "/load/imu", qos)?;
    let image = sensor_msgs::Image {
        width: 1280,
        height: 720,
        encoding: "mono16".to_owned(),
        step: 2560,
        data: vec![7; 1280 * 720 * 2],
        ..Default::default()
    };
    let cloud = sensor_msgs::PointCloud2 {
        width: 1024,
        height: 64,
        point_step: 22,
        row_step: 22 * 1024,
        data: vec![7; 64 * 1024 * 22],
        ..Default::default()
    };
    let imu = sensor_msgs::Imu::default();
    let begun = Instant::now();
    for tick in 0u64.. {
        let at_s = tick as f64 * TICK_S;
        if at_s > seconds {
            break;
        }
        thread::sleep(Duration::from_secs_f64(at_s).saturating_sub(begun.elapsed()));
        if tick % IMU_EVERY == 0 {
            imus.publish(&imu, SimTime::ZERO)?;
        }
        if tick % IMAGE_EVERY == 0 {
            images.publish(&image, SimTime::ZERO)?;
        }
        if tick % LIDAR_EVERY == 0 {
            clouds.publish(&cloud, SimTime::ZERO)?;
        }
    }
    println!("sent {} images, {} clouds, {} imu", images.sent(), clouds.sent(), imus.sent());
    Ok(())
}
