//! What is kept of a run for its pictures, in bounded memory: it listens inside
//! the process to camera, lidar and truth topics, and draws at the end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nalgebra::Vector3;
use selene_base::{SimTime, frames};
use selene_coherence::{WORLD_STATE, edits_from_message, from_vector, pose, qos_of};
use selene_ros::transport::{Subscription, Transport, TransportError, subscribe};
use selene_ros::{Qos, nav_msgs, selene_msgs, sensor_msgs};
use selene_sensors::{CameraSpec, DepthUnit, SensorSpec, TruthImage};
use selene_sim::Scenario;
use selene_terrain::Ground;

use crate::pictures::PictureError;
use crate::pictures::contact_sheet::{self, TILES, Tile};
use crate::pictures::path::PathPicture;
use crate::pictures::tile::{Still, Sweep};
use crate::pictures::wheels::{self, WheelTrack};
use crate::reading;
use crate::series::Series;

/// Camera frames kept of the run: some 4 MB at 640 × 360.
const STILLS: usize = 16;
/// Instants kept of path and wheels: finer than a plot can show.
const INSTANTS: usize = 4096;

/// Everything that pictures are drawn from.
pub(crate) struct Album {
    scenario: Arc<Scenario>,
    kept: Arc<Mutex<Kept>>,
    _subscriptions: Vec<Subscription>,
}

struct Kept {
    ground: Ground,
    sun: Vector3<f64>,
    stills: Series<Still>,
    /// The newest image of each further topic, by its name on the sheet.
    newest: Vec<(String, Option<Still>)>,
    sweep: Option<(String, Sweep)>,
    /// Map x, y [m] and heading [rad].
    path: Series<[f64; 3]>,
    /// Time and, for each wheel, slip ratio and sinkage [m].
    wheels: Series<(SimTime, Vec<[f64; 2]>)>,
}

impl Album {
    /// Listens on `transport` from now on.
    ///
    /// # Errors
    /// When a topic cannot be listened to.
    pub(crate) fn open(
        transport: &dyn Transport,
        scenario: &Arc<Scenario>,
        ground: &Ground,
    ) -> Result<Self, TransportError> {
        let kept = Kept {
            ground: ground.clone(),
            sun: Vector3::z(),
            stills: Series::new(STILLS),
            newest: Vec::new(),
            sweep: None,
            path: Series::new(INSTANTS),
            wheels: Series::new(INSTANTS),
        };
        let listener = Listener { transport, scenario, kept: Arc::new(Mutex::new(kept)) };
        let mut subscriptions = listener.truth()?;
        subscriptions.extend(listener.sensors()?);
        Ok(Self { scenario: Arc::clone(scenario), kept: listener.kept, _subscriptions: subscriptions })
    }

    /// Draws the pictures into `folder`; each that cannot be written is told and
    /// does not keep the others from being written.
    pub(crate) fn draw(&self, folder: &Path, run: &str) -> Vec<Result<PathBuf, PictureError>> {
        if let Err(error) = std::fs::create_dir_all(folder) {
            return vec![Err(PictureError { path: folder.to_owned(), what: error.to_string() })];
        }
        let mut kept = locked(&self.kept);
        kept.show_the_path();
        let drawn = |name: &str, draw: &dyn Fn(&Path) -> Result<(), PictureError>| {
            let path = folder.join(name);
            draw(&path).map(|()| path)
        };
        vec![
            drawn("contact_sheet.png", &|path| contact_sheet::save(run, &self.tiles(&kept), path)),
            drawn("path.png", &|path| self.path_picture(&kept, run).save(path)),
            drawn("wheels.png", &|path| wheels::save(run, &self.wheel_tracks(&kept), path)),
        ]
    }

    fn tiles(&self, kept: &Kept) -> Vec<Tile> {
        let camera = first_camera(&self.scenario).map_or("camera", |spec| spec.name.as_str());
        let further = kept.newest.iter().filter_map(|(name, still)| Some(Tile::still(name, still.as_ref()?)));
        let further: Vec<_> = further.chain(kept.sweep.iter().map(|(name, sweep)| Tile::sweep(name, sweep))).collect();
        let stills: Vec<_> = kept.stills.iter().collect();
        let chosen = spread(stills.len(), TILES.saturating_sub(further.len()));
        chosen.map(|index| Tile::still(camera, stills[index])).chain(further).collect()
    }

    fn path_picture<'a>(&self, kept: &'a Kept, run: &str) -> PathPicture<'a> {
        let route = self.scenario.route.as_ref();
        PathPicture {
            title: run.to_owned(),
            ground: &kept.ground,
            sun: kept.sun,
            driven_m: kept.path.iter().map(|[x, y, _]| [*x, *y]).collect(),
            yaw_rad: kept.path.iter().last().map_or(0.0, |at| at[2]),
            route_m: route.map(|route| route.waypoints_m.clone()).unwrap_or_default(),
        }
    }

    fn wheel_tracks(&self, kept: &Kept) -> Vec<WheelTrack> {
        let track = |index: usize, name: &str| {
            let of = |quantity: usize| {
                let at =
                    |(time, wheels): &(SimTime, Vec<[f64; 2]>)| Some((time.secs_f64(), wheels.get(index)?[quantity]));
                kept.wheels.iter().filter_map(at).collect()
            };
            WheelTrack { name: name.to_owned(), slip: of(0), sinkage_m: of(1) }
        };
        self.scenario.rover.wheels().iter().enumerate().map(|(i, wheel)| track(i, &wheel.name)).collect()
    }

    /// Mean of the slip ratio's size, and the deepest sinkage [m], over all wheels.
    pub(crate) fn slip_and_sinkage(&self) -> (f64, f64) {
        let kept = locked(&self.kept);
        let all: Vec<[f64; 2]> = kept.wheels.iter().flat_map(|(_, wheels)| wheels.iter().copied()).collect();
        let slip = all.iter().map(|[slip, _]| slip.abs()).sum::<f64>() / all.len().max(1) as f64;
        (slip, all.iter().map(|[_, sinkage_m]| *sinkage_m).fold(0.0, f64::max))
    }
}

/// Subscribes for the album.
struct Listener<'a> {
    transport: &'a dyn Transport,
    scenario: &'a Scenario,
    kept: Arc<Mutex<Kept>>,
}

impl Listener<'_> {
    fn truth(&self) -> Result<Vec<Subscription>, TransportError> {
        let odometry = self.on(&self.scenario.topic("ground_truth/odom"), Qos::reliable(), Kept::take_odometry)?;
        let wheels = self.on(&self.scenario.topic("ground_truth/wheels"), Qos::reliable(), Kept::take_wheels)?;
        let world = self.on(WORLD_STATE, Qos::state(), Kept::take_world)?;
        Ok(vec![odometry, wheels, world])
    }

    /// The first camera over time; of everything else the newest.
    fn sensors(&self) -> Result<Vec<Subscription>, TransportError> {
        let mut subscriptions = Vec::new();
        let first = first_camera(self.scenario).map(|spec| spec.name.clone());
        for sensor in &self.scenario.sensors {
            let qos = qos_of(sensor.qos());
            match sensor {
                SensorSpec::Camera(spec) if Some(&spec.name) == first.as_ref() => {
                    let topic = self.scenario.topic(&format!("{}/image_raw", spec.name));
                    subscriptions.push(self.on(&topic, qos, Kept::take_still)?);
                    subscriptions.extend(self.truth_images(spec, qos)?);
                }
                SensorSpec::Camera(spec) => {
                    subscriptions.push(self.newest(&spec.name, "image_raw", &spec.name, qos)?)
                }
                SensorSpec::Lidar(spec) => {
                    let topic = self.scenario.topic(&format!("{}/points", spec.name));
                    let name = spec.name.clone();
                    let take = move |kept: &mut Kept, cloud| kept.take_sweep(&name, &cloud);
                    subscriptions.push(self.on(&topic, qos, take)?);
                }
                SensorSpec::Imu(_) | SensorSpec::Position(_) => {}
            }
        }
        Ok(subscriptions)
    }

    fn truth_images(&self, spec: &CameraSpec, qos: Qos) -> Result<Vec<Subscription>, TransportError> {
        let drawn = |image: &TruthImage| match image {
            TruthImage::Depth(DepthUnit::Metres) => Some("depth"),
            TruthImage::Segmentation => Some("segmentation"),
            _ => None,
        };
        let images = spec.truth.images().into_iter().filter_map(|image| Some((image.topic(), drawn(&image)?)));
        images.map(|(suffix, kind)| self.newest(&spec.name, suffix, &format!("{} {kind}", spec.name), qos)).collect()
    }

    fn newest(&self, camera: &str, suffix: &str, caption: &str, qos: Qos) -> Result<Subscription, TransportError> {
        let topic = self.scenario.topic(&format!("{camera}/{suffix}"));
        let index = {
            let mut kept = locked(&self.kept);
            kept.newest.push((caption.to_owned(), None));
            kept.newest.len() - 1
        };
        self.on(&topic, qos, move |kept, image: sensor_msgs::Image| {
            if let Some(still) = reading::still(&image) {
                kept.newest[index].1 = Some(still);
            }
        })
    }

    fn on<M: selene_ros::Message>(
        &self,
        topic: &str,
        qos: Qos,
        take: impl Fn(&mut Kept, M) + Send + Sync + 'static,
    ) -> Result<Subscription, TransportError> {
        let kept = Arc::clone(&self.kept);
        subscribe(self.transport, topic, qos, move |message| take(&mut locked(&kept), message))
    }
}

impl Kept {
    fn take_odometry(&mut self, odometry: nav_msgs::Odometry) {
        let pose = pose(&odometry.pose.pose);
        self.path.push([pose.translation.x, pose.translation.y, frames::yaw_rad(&pose)]);
    }

    fn take_wheels(&mut self, wheels: selene_msgs::WheelStates) {
        let each = wheels.wheels.iter().map(|wheel| [wheel.slip_ratio, wheel.sinkage]);
        self.wheels.push((wheels.header.stamp.into(), each.collect()));
    }

    /// Puts the detailed ground where the path's middle is: there its ruts are seen.
    fn show_the_path(&mut self) {
        let span = |axis: usize| {
            let along = self.path.iter().map(|at| at[axis]);
            along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], m| [low.min(m), high.max(m)])
        };
        let [x, y] = [0, 1].map(|axis| span(axis).iter().sum::<f64>() / 2.0);
        if x.is_finite() && y.is_finite() {
            self.ground.go_to(x, y);
        }
    }

    fn take_world(&mut self, state: selene_msgs::WorldState) {
        self.sun = from_vector(&state.sun_direction);
        if !state.terrain_edits.is_empty() {
            self.ground.apply(&edits_from_message(&state.terrain_edits));
        }
    }

    fn take_still(&mut self, image: sensor_msgs::Image) {
        if let Some(still) = reading::still(&image) {
            self.stills.push(still);
        }
    }

    fn take_sweep(&mut self, name: &str, cloud: &sensor_msgs::PointCloud2) {
        if let Some(sweep) = reading::sweep(cloud) {
            self.sweep = Some((name.to_owned(), sweep));
        }
    }
}

fn first_camera(scenario: &Scenario) -> Option<&CameraSpec> {
    scenario.sensors.iter().find_map(|sensor| match sensor {
        SensorSpec::Camera(spec) => Some(spec),
        SensorSpec::Lidar(_) | SensorSpec::Imu(_) | SensorSpec::Position(_) => None,
    })
}

/// At most `most` indices below `count`, evenly spread, first and last included.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |i| if taken < 2 { 0 } else { i * (count - 1) / (taken - 1) })
}

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn tiles_are_spread_over_the_whole_run() {
        assert_eq!(spread(17, 8).collect::<Vec<_>>(), [0, 2, 4, 6, 9, 11, 13, 16]);
        assert_eq!(spread(3, 8).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(spread(0, 8).count() + spread(5, 0).count(), 0);
        assert_eq!(spread(5, 1).collect::<Vec<_>>(), [0]);
    }
}
