//! An inertial unit at 1 kHz with every error of its model, on the head of VIPER's mast: the time to compute its
//! readings over the simulated time that they cover. The rover stands, and its heartbeats are stepped beforehand, so
//! that only the unit is measured, without publishing.

use std::path::Path;
use std::time::Instant;

use selene_base::input::parse_yaml;
use selene_observe::{Feed, Instruments, Interval};
use selene_sensors::{ImuSpec, SensorSpec};
use selene_sim::{MountedSensor, World};

use crate::BenchError;
use crate::setting::Setting;

/// Number of heartbeats that are measured, after as many for warming up.
const HEARTBEATS: usize = 1000;
/// The unit's specification, as under `imu:` of a sensor's file.
const UNIT: &str = "
name: bench_imu
link: navcam_head
rate_hz: 1000
lag_s: 0
qos: sensor_data
truth: true
gyro_rad_s:
  allan: {density: 2.6e-5, bias: {instability: 3.9e-6, time_s: 100}, random_walk: 1.0e-7}
  turn_on_bias: {sigma: 1.0e-3}
  scale_error: {sigma: 1.0e-3}
  misalignment_rad: {sigma: 1.0e-3}
  per_m_s2: {sigma: 1.0e-5}
  range: 2.2
  resolution: 1.0e-4
accelerometer_m_s2:
  allan: {density: 1.4e-4, bias: {instability: 3.1e-5, time_s: 100}, random_walk: 1.0e-6}
  turn_on_bias: {sigma: 1.0e-2}
  scale_error: {sigma: 1.0e-3}
  misalignment_rad: {sigma: 1.0e-3}
  range: 80
  resolution: 1.0e-3
";

/// Wall time on one thread over simulated time.
pub(crate) fn imu_1khz_core_share(setting: &Setting) -> Result<f64, BenchError> {
    let intervals = intervals(setting)?;
    let mut instruments = Instruments::default();
    let (warm, counted) = intervals.split_at(intervals.len() / 2);
    warm.iter().for_each(|interval| drop(instruments.take(interval)));
    let begun = Instant::now();
    let readings: usize = counted.iter().map(|interval| instruments.take(interval).len()).sum();
    let taken_s = begun.elapsed().as_secs_f64();
    let simulated_s: f64 = counted.iter().map(|of| (of.next.time - of.previous.time).secs_f64()).sum();
    let expected = (simulated_s * 1000.0).round() as usize;
    if readings != expected {
        return Err(BenchError::new(format!("{readings} readings in {simulated_s} s, not {expected}")));
    }
    Ok(taken_s / simulated_s)
}

fn intervals(setting: &Setting) -> Result<Vec<Interval>, BenchError> {
    let mut scenario = setting.scenario("polar")?;
    let rover = scenario.rovers.first_mut().ok_or_else(|| BenchError::new("the scenario has no rover"))?;
    let spec: ImuSpec = parse_yaml(UNIT, Path::new("unit of the bench")).map_err(BenchError::new)?;
    let link = rover.model.link_index(&spec.link).ok_or_else(|| BenchError::new("the rover has no mast"))?;
    rover.sensors = vec![MountedSensor { spec: SensorSpec::Imu(spec), link }];
    rover.route = None;
    let mut world = World::new(scenario.into()).map_err(BenchError::new)?;
    let mut feed = Feed::begin(&mut world).map_err(BenchError::new)?;
    (0..2 * HEARTBEATS).map(|_| feed.heartbeat(&mut world).map_err(BenchError::new)).collect()
}
