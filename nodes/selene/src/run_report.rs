//! Collects data of a run for its pictures, in bounded memory: it subscribes to camera, lidar and truth topics inside
//! the process, and draws at the end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nalgebra::Vector3;
use selene_base::{SimTime, frames};
use selene_coherence::{Links, edits_from_message, from_vector, pose, qos_of};
use selene_pictures::contact_sheet::{self, TILES, Tile};
use selene_pictures::path::{PathPicture, PathTrack};
use selene_pictures::tile::{LidarRevolution, Still};
use selene_pictures::wheels::{self, WheelTrack};
use selene_pictures::{PictureError, save_png};
use selene_ros::transport::{Subscription, TransportError, subscribe};
use selene_ros::{Qos, nav_msgs, selene_msgs, sensor_msgs, std_msgs};
use selene_sensors::{CameraSpec, DepthUnit, TruthImage};
use selene_sim::{Model, Mounted, RoverSetup, Scenario};
use selene_terrain::{Clipmap, Ruts};
use selene_vehicle::BucketDrum;

use crate::digging::{self, DrumLoad};
use crate::series::Series;

/// Number of camera images kept of the run, shared by the rovers: some 4 MB at 640 × 360.
const STILLS: usize = 16;
/// Number of instants kept of paths and wheels, shared by the rovers: more than a plot can show.
const INSTANTS: usize = 16_384;
/// Greatest number of rovers whose wheels are drawn and whose cameras are on the contact sheet.
const ROVERS_SHOWN: usize = 12;
/// Wheels that turn slower than this are left out of mean slip, rad/s.
const TURNING_RAD_S: f64 = 0.02;
/// File of the picture that is saved while the run goes on.
const FIRST_IMAGE: &str = "first_image.png";
/// Files of the pictures that every run draws.
const CONTACT_SHEET: &str = "contact_sheet.png";
const PATH: &str = "path.png";
/// File of the picture of granular windows.
const GRANULAR: &str = "granular.png";
/// `sensor_msgs/PointField` FLOAT32.
const FLOAT32: u8 = 7;

/// The data of a run from which its pictures are drawn.
pub(crate) struct RunReport {
    model: Arc<Model>,
    kept: Arc<Mutex<ReportData>>,
    _subscriptions: Vec<Subscription>,
}

struct ReportData {
    /// The ruts on which the run began, and the number of terrain edits before the first message.
    first_ruts: Ruts,
    first_terrain: Option<u64>,
    ruts: Ruts,
    /// Number of resets of the world: the pictures show what came after the last one.
    epoch: u32,
    sun: Vector3<f64>,
    /// Simulated time of the newest state of the world.
    time: SimTime,
    rovers: Vec<RoverReport>,
    /// The newest image of each further topic, with its caption on the contact sheet.
    newest: Vec<(String, Option<Still>)>,
    sweeps: Vec<(String, Option<LidarRevolution>)>,
}

struct RoverReport {
    /// Images of its first camera.
    stills: Series<Still>,
    /// Map x, y [m] and heading [rad].
    path: Series<[f64; 3]>,
    /// Time and the state of each wheel.
    wheels: Series<(SimTime, Vec<WheelSample>)>,
    /// Its latest position, map x, y [m], and the distance driven [m].
    at_m: Option<[f64; 2]>,
    way_m: f64,
    drums: Vec<DrumLoad>,
}

/// The state of a wheel at an instant.
#[derive(Clone, Copy, Debug, Default)]
struct WheelSample {
    slip: f64,
    sinkage_m: f64,
    torque_n_m: f64,
    rate_rad_s: f64,
}

/// Distance and slip of the rovers so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drive {
    /// Sum of the distances of all rovers since the start or the last reset, m in the horizontal plane.
    pub(crate) distance_m: f64,
    /// Mean absolute slip ratio of the wheels that turn now; `None` if none does.
    pub(crate) slip: Option<f64>,
}

/// Files of the pictures that a run of a scenario may draw.
pub(crate) fn picture_files(scenario: &Scenario) -> Vec<String> {
    let wheels = scenario.rovers.iter().take(ROVERS_SHOWN).map(|of| wheels_file(of, scenario.rovers.len()));
    let granular = (!scenario.granular.is_empty()).then(|| GRANULAR.to_owned());
    [FIRST_IMAGE, CONTACT_SHEET, PATH].map(str::to_owned).into_iter().chain(wheels).chain(granular).collect()
}

/// File of the picture of a rover's wheels, in a scenario of so many rovers.
fn wheels_file(of: &RoverSetup, rovers: usize) -> String {
    if rovers == 1 { "wheels.png".to_owned() } else { format!("wheels_{}.png", of.name) }
}

impl RunReport {
    /// Subscribes to the nodes of this process; `ruts` are those on which the run begins.
    ///
    /// # Errors
    /// When a topic cannot be subscribed to.
    pub(crate) fn open(links: &Links, model: &Arc<Model>, ruts: Ruts) -> Result<Self, TransportError> {
        let rovers = &model.scenario().rovers;
        let kept_rover = |of: &RoverSetup| RoverReport {
            stills: Series::new(STILLS / rovers.len().max(1)),
            path: Series::new(INSTANTS / rovers.len().max(1)),
            wheels: Series::new(INSTANTS / rovers.len().max(1)),
            at_m: None,
            way_m: 0.0,
            drums: drum_loads(of, rovers.len()),
        };
        let kept = ReportData {
            first_ruts: ruts.clone(),
            first_terrain: None,
            ruts,
            epoch: 0,
            sun: Vector3::z(),
            time: SimTime::ZERO,
            rovers: rovers.iter().map(kept_rover).collect(),
            newest: Vec::new(),
            sweeps: Vec::new(),
        };
        let listener = ReportSubscriber { links, kept: Arc::new(Mutex::new(kept)), one_rover: rovers.len() == 1 };
        let mut subscriptions = vec![listener.on(&links.world_state(), Qos::state(), ReportData::take_world)?];
        for (number, rover) in rovers.iter().enumerate() {
            subscriptions.extend(listener.truth(number, rover)?);
            subscriptions.extend(listener.drums(number, rover)?);
            if number < ROVERS_SHOWN {
                subscriptions.extend(listener.sensors(number, rover)?);
            }
        }
        Ok(Self { model: Arc::clone(model), kept: listener.kept, _subscriptions: subscriptions })
    }

    /// Saves the first image in `folder`; `None` if none has arrived yet.
    pub(crate) fn save_first(&self, folder: &Path) -> Option<Result<PathBuf, PictureError>> {
        // Written without the lock, so that publishers of images do not wait for the disk.
        let first = locked(&self.kept).rovers.iter().find_map(|rover| rover.stills.iter().next().cloned());
        let picture = first?.coloured()?;
        let path = folder.join(FIRST_IMAGE);
        Some(save_png(&picture, &path).map(|()| path))
    }

    /// Draws the pictures into `folder`. Returns the path or the error of each: one failure does not prevent the
    /// others.
    pub(crate) fn draw(&self, folder: &Path, run: &str) -> Vec<Result<PathBuf, PictureError>> {
        let kept = locked(&self.kept);
        let drawn = |name: &str, draw: &dyn Fn(&Path) -> Result<(), PictureError>| {
            let path = folder.join(name);
            draw(&path).map(|()| path)
        };
        let ground = self.ground(&kept);
        let tiles = self.tiles(&kept);
        // Without cameras and lidars there is nothing to show.
        let sheet = (!tiles.is_empty()).then(|| drawn(CONTACT_SHEET, &|path| contact_sheet::save(run, &tiles, path)));
        let path = drawn(PATH, &|path| self.path_picture(&kept, &ground, run).save(path));
        let mut pictures: Vec<_> = sheet.into_iter().chain([path]).collect();
        for (of, rover) in self.rovers().iter().zip(&kept.rovers).take(ROVERS_SHOWN) {
            let rovers = self.rovers().len();
            let title = if rovers == 1 { run.to_owned() } else { format!("{} · {run}", of.name) };
            pictures
                .push(drawn(&wheels_file(of, rovers), &|path| wheels::save(&title, &wheel_tracks(of, rover), path)));
        }
        let drums: Vec<_> = kept.rovers.iter().flat_map(|rover| &rover.drums).collect();
        let dug = digging::chart(run, &self.model, [&kept.first_ruts, &kept.ruts], &drums);
        pictures.extend(dug.map(|chart| drawn(GRANULAR, &|path| chart.save(path))));
        pictures
    }

    fn rovers(&self) -> &[RoverSetup] {
        &self.model.scenario().rovers
    }

    fn tiles(&self, kept: &ReportData) -> Vec<Tile> {
        let stills = kept.newest.iter().filter_map(|(name, still)| Some(Tile::still(name, still.as_ref()?)));
        let sweeps = kept.sweeps.iter().filter_map(|(name, sweep)| Some(Tile::sweep(name, sweep.as_ref()?)));
        // With several rovers, the images of each rover's first camera take precedence.
        let further_max = if self.rovers().len() == 1 { TILES } else { TILES / 4 };
        let further: Vec<_> = stills.chain(sweeps).take(further_max).collect();
        let seeing = kept.rovers.iter().filter(|rover| rover.stills.iter().next().is_some()).count().max(1);
        let each = TILES.saturating_sub(further.len()) / seeing;
        let mut tiles = Vec::new();
        for (of, rover) in self.rovers().iter().zip(&kept.rovers) {
            let Some(camera) = of.cameras().next() else { continue };
            let caption = self.caption(of, &camera.spec.name);
            let stills: Vec<_> = rover.stills.iter().collect();
            tiles.extend(spread(stills.len(), each).map(|index| Tile::still(&caption, stills[index])));
        }
        tiles.into_iter().chain(further).collect()
    }

    fn caption(&self, rover: &RoverSetup, sensor: &str) -> String {
        caption(self.rovers().len() == 1, rover, sensor)
    }

    /// The ground, most detailed at the middle of the paths, so that their ruts are visible.
    fn ground(&self, kept: &ReportData) -> Clipmap {
        let [x, y] = [0, 1].map(|axis| {
            let along = kept.rovers.iter().flat_map(|rover| rover.path.iter()).map(|at| at[axis]);
            let [low, high] =
                along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], m| [low.min(m), high.max(m)]);
            if low <= high { (low + high) / 2.0 } else { 0.0 }
        });
        let mut ground = Clipmap::around(self.model.terrain(), x, y);
        ground.take_ruts(&kept.ruts);
        ground
    }

    fn path_picture<'a>(&self, kept: &ReportData, ground: &'a Clipmap, run: &str) -> PathPicture<'a> {
        let track = |(of, rover): (&RoverSetup, &RoverReport)| PathTrack {
            name: of.name.clone(),
            driven_m: rover.path.iter().map(|[x, y, _]| [*x, *y]).collect(),
            yaw_rad: rover.path.iter().last().map_or(0.0, |at| at[2]),
            route_m: of.route.as_ref().map(|route| route.waypoints_m.clone()).unwrap_or_default(),
        };
        let tracks = self.rovers().iter().zip(&kept.rovers).map(track).collect();
        PathPicture { title: run.to_owned(), ground, sun: kept.sun, tracks }
    }

    /// Distance and slip of the rovers so far.
    pub(crate) fn so_far(&self) -> Drive {
        let kept = locked(&self.kept);
        let newest = kept.rovers.iter().filter_map(|rover| rover.wheels.iter().last());
        let wheels: Vec<WheelSample> = newest.flat_map(|(_, wheels)| wheels.iter().copied()).collect();
        Drive { distance_m: kept.rovers.iter().map(|rover| rover.way_m).sum(), slip: mean_slip(&wheels) }
    }

    /// The latest position and heading of each rover, by name: map x, y [m] and heading [rad].
    pub(crate) fn ends(&self) -> Vec<(String, [f64; 3])> {
        let kept = locked(&self.kept);
        let ends = self.rovers().iter().zip(&kept.rovers);
        ends.filter_map(|(of, rover)| Some((of.name.clone(), *rover.path.iter().last()?))).collect()
    }

    /// Mean absolute slip ratio of turning wheels over the run, and the deepest sinkage of any wheel [m].
    pub(crate) fn slip_and_sinkage(&self) -> (f64, f64) {
        let kept = locked(&self.kept);
        let instants = kept.rovers.iter().flat_map(|rover| rover.wheels.iter());
        let all: Vec<WheelSample> = instants.flat_map(|(_, wheels)| wheels.iter().copied()).collect();
        let deepest_m = all.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
        (mean_slip(&all).unwrap_or(0.0), deepest_m)
    }
}

/// Mean absolute slip ratio of the wheels that turn; `None` if none does.
fn mean_slip(wheels: &[WheelSample]) -> Option<f64> {
    let turning = wheels.iter().filter(|wheel| wheel.rate_rad_s.abs() > TURNING_RAD_S);
    let (sum, count) = turning.fold((0.0, 0.0), |(sum, count), wheel| (sum + wheel.slip.abs(), count + 1.0));
    (count > 0.0).then(|| sum / count)
}

fn wheel_tracks(of: &RoverSetup, rover: &RoverReport) -> Vec<WheelTrack> {
    let track = |(index, name): (usize, &str)| {
        let over_time = |quantity: fn(&WheelSample) -> f64| {
            let at =
                |(time, wheels): &(SimTime, Vec<WheelSample>)| Some((time.secs_f64(), quantity(wheels.get(index)?)));
            rover.wheels.iter().filter_map(at).collect()
        };
        WheelTrack {
            name: name.to_owned(),
            slip: over_time(|wheel| wheel.slip),
            sinkage_m: over_time(|wheel| wheel.sinkage_m),
            torque_n_m: over_time(|wheel| wheel.torque_n_m),
        }
    };
    of.model.wheels().iter().map(|wheel| wheel.name.as_str()).enumerate().map(track).collect()
}

fn caption(one_rover: bool, rover: &RoverSetup, sensor: &str) -> String {
    if one_rover { sensor.to_owned() } else { format!("{} {sensor}", rover.name) }
}

/// Subscribes to topics for the report.
struct ReportSubscriber<'a> {
    links: &'a Links,
    kept: Arc<Mutex<ReportData>>,
    one_rover: bool,
}

impl ReportSubscriber<'_> {
    fn truth(&self, number: usize, rover: &RoverSetup) -> Result<[Subscription; 2], TransportError> {
        let take_odometry = move |kept: &mut ReportData, odometry: nav_msgs::Odometry| {
            let pose = pose(&odometry.pose.pose);
            kept.rovers[number].moved_to([pose.translation.x, pose.translation.y], frames::yaw_rad(&pose));
        };
        let take_wheels = move |kept: &mut ReportData, wheels: selene_msgs::WheelStates| {
            let sample = |wheel: &selene_msgs::WheelState| WheelSample {
                slip: wheel.slip_ratio,
                sinkage_m: wheel.sinkage,
                torque_n_m: wheel.drive_torque,
                rate_rad_s: wheel.angular_velocity,
            };
            let each = wheels.wheels.iter().map(sample).collect();
            kept.rovers[number].wheels.push((wheels.header.stamp.into(), each));
        };
        Ok([
            self.on(&rover.topic("ground_truth/odom"), Qos::reliable(), take_odometry)?,
            self.on(&rover.topic("ground_truth/wheels"), Qos::reliable(), take_wheels)?,
        ])
    }

    /// Subscribes to the soil mass in each drum.
    fn drums(&self, number: usize, rover: &RoverSetup) -> Result<Vec<Subscription>, TransportError> {
        let listen = |(drum, of): (usize, &BucketDrum)| {
            let topic = rover.topic(&format!("ground_truth/{}/soil_kg", rover.model.links()[of.link].name));
            self.on(&topic, Qos::reliable(), move |kept: &mut ReportData, load: std_msgs::Float64| {
                let time_s = kept.time.secs_f64();
                kept.rovers[number].drums[drum].load_kg.push((time_s, load.data));
            })
        };
        rover.model.drums().iter().enumerate().map(listen).collect()
    }

    /// Subscribes to sensors: of the first camera images over time are kept, of all others the newest datum.
    fn sensors(&self, number: usize, rover: &RoverSetup) -> Result<Vec<Subscription>, TransportError> {
        let mut subscriptions = Vec::new();
        for (index, Mounted { spec, .. }) in rover.cameras().enumerate() {
            let (topic, qos) = (rover.topic(&format!("{}/image_raw", spec.name)), qos_of(spec.qos));
            if index == 0 {
                let take = move |kept: &mut ReportData, image| kept.rovers[number].stills.extend(still(&image));
                subscriptions.push(self.on(&topic, qos, take)?);
                subscriptions.extend(self.truth_images(rover, spec, qos)?);
            } else {
                subscriptions.push(self.newest(&topic, &caption(self.one_rover, rover, &spec.name), qos)?);
            }
        }
        for Mounted { spec, .. } in rover.lidars() {
            let topic = rover.topic(&format!("{}/points", spec.name));
            subscriptions.push(self.sweep(&topic, &caption(self.one_rover, rover, &spec.name), qos_of(spec.qos))?);
        }
        Ok(subscriptions)
    }

    fn truth_images(
        &self,
        rover: &RoverSetup,
        spec: &CameraSpec,
        qos: Qos,
    ) -> Result<Vec<Subscription>, TransportError> {
        let drawn = |image: &TruthImage| match image {
            TruthImage::Depth(DepthUnit::Metres) => Some("depth"),
            TruthImage::Segmentation => Some("segmentation"),
            _ => None,
        };
        let images = spec.truth.images().into_iter().filter_map(|image| Some((image.topic(), drawn(&image)?)));
        let listen = |(suffix, kind): (&str, &str)| {
            let caption = format!("{} {kind}", caption(self.one_rover, rover, &spec.name));
            self.newest(&rover.topic(&format!("{}/{suffix}", spec.name)), &caption, qos)
        };
        images.map(listen).collect()
    }

    fn newest(&self, topic: &str, caption: &str, qos: Qos) -> Result<Subscription, TransportError> {
        let index = pushed(&mut locked(&self.kept).newest, caption);
        self.on(topic, qos, move |kept, image: sensor_msgs::Image| {
            if let Some(still) = still(&image) {
                kept.newest[index].1 = Some(still);
            }
        })
    }

    fn sweep(&self, topic: &str, caption: &str, qos: Qos) -> Result<Subscription, TransportError> {
        let index = pushed(&mut locked(&self.kept).sweeps, caption);
        self.on(topic, qos, move |kept, cloud: sensor_msgs::PointCloud2| {
            if let Some(sweep) = sweep(&cloud) {
                kept.sweeps[index].1 = Some(sweep);
            }
        })
    }

    fn on<M: selene_ros::Message>(
        &self,
        topic: &str,
        qos: Qos,
        take: impl Fn(&mut ReportData, M) + Send + Sync + 'static,
    ) -> Result<Subscription, TransportError> {
        let kept = Arc::clone(&self.kept);
        subscribe(self.links.internal.as_ref(), topic, qos, move |message| take(&mut locked(&kept), message))
    }
}

/// An empty series for each drum of a rover; the run has `rovers` of them.
fn drum_loads(of: &RoverSetup, rovers: usize) -> Vec<DrumLoad> {
    let name = |drum: &BucketDrum| of.model.links()[drum.link].name.clone();
    let load = |drum| DrumLoad { name: name(drum), load_kg: Series::new(INSTANTS / rovers.max(1)) };
    of.model.drums().iter().map(load).collect()
}

/// Adds a row for a caption. Returns its index.
fn pushed<T>(rows: &mut Vec<(String, Option<T>)>, caption: &str) -> usize {
    rows.push((caption.to_owned(), None));
    rows.len() - 1
}

fn still(image: &sensor_msgs::Image) -> Option<Still> {
    Still::read(image.header.stamp.into(), [image.width, image.height], &image.encoding, &image.data)
}

/// The cloud's points; `None` if it has no x, y, z as 32-bit floats.
fn sweep(cloud: &sensor_msgs::PointCloud2) -> Option<LidarRevolution> {
    let offset = |name: &str| {
        let field = cloud.fields.iter().find(|field| field.name == name && field.datatype == FLOAT32)?;
        Some(field.offset as usize)
    };
    let offsets = [offset("x")?, offset("y")?, offset("z")?];
    LidarRevolution::read(cloud.header.stamp.into(), &cloud.data, cloud.point_step as usize, offsets)
}

impl ReportData {
    fn take_world(&mut self, state: selene_msgs::WorldState) {
        let first_terrain = *self.first_terrain.get_or_insert(state.terrain_sequence);
        if state.epoch != self.epoch {
            self.epoch = state.epoch;
            self.begin_anew(state.terrain_sequence == first_terrain);
        }
        self.sun = from_vector(&state.sun_direction);
        self.time = state.header.stamp.into();
        if !state.terrain_edits.is_empty() {
            self.ruts.apply(&edits_from_message(&state.terrain_edits));
        }
    }

    /// Discards all data from before a reset, and the ruts too if the ground was reset.
    fn begin_anew(&mut self, ground_too: bool) {
        if ground_too {
            self.ruts = self.first_ruts.clone();
        }
        for rover in &mut self.rovers {
            rover.stills.clear();
            rover.path.clear();
            rover.wheels.clear();
            (rover.at_m, rover.way_m) = (None, 0.0);
            rover.drums.iter_mut().for_each(|drum| drum.load_kg.clear());
        }
    }
}

impl RoverReport {
    fn moved_to(&mut self, [x, y]: [f64; 2], yaw_rad: f64) {
        let from = self.at_m.replace([x, y]);
        self.way_m += from.map_or(0.0, |[from_x, from_y]| (x - from_x).hypot(y - from_y));
        self.path.push([x, y, yaw_rad]);
    }
}

/// At most `most` indices below `count`, evenly spread, including the first and the last.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |i| if taken < 2 { 0 } else { i * (count - 1) / (taken - 1) })
}

fn locked(kept: &Mutex<ReportData>) -> MutexGuard<'_, ReportData> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{RoverReport, Series, WheelSample, mean_slip, spread, sweep};
    use selene_ros::sensor_msgs::{PointCloud2, PointField};

    #[test]
    fn the_way_adds_up_and_only_turning_wheels_slip() {
        let mut rover = RoverReport {
            stills: Series::new(2),
            path: Series::new(2),
            wheels: Series::new(2),
            at_m: None,
            way_m: 0.0,
            drums: Vec::new(),
        };
        for at_m in [[5.0, 5.0], [8.0, 9.0], [8.0, 8.0]] {
            rover.moved_to(at_m, 0.0);
        }
        assert_eq!(rover.way_m, 6.0);
        let wheel = |(slip, rate_rad_s)| WheelSample { slip, rate_rad_s, ..WheelSample::default() };
        assert_eq!(mean_slip(&[(-0.2, 1.0), (0.4, -1.0), (0.9, 0.001)].map(wheel)), Some((0.2 + 0.4) / 2.0));
        assert_eq!(mean_slip(&[(0.9, 0.0)].map(wheel)), None);
    }

    #[test]
    fn tiles_are_spread_over_the_whole_run() {
        assert_eq!(spread(17, 8).collect::<Vec<_>>(), [0, 2, 4, 6, 9, 11, 13, 16]);
        assert_eq!(spread(3, 8).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(spread(0, 8).count() + spread(5, 0).count(), 0);
        assert_eq!(spread(5, 1).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn points_are_read_wherever_their_fields_are_and_other_clouds_are_passed_over() {
        let field = |name: &str, offset| PointField { name: name.to_owned(), offset, datatype: 7, count: 1 };
        let mut cloud = PointCloud2 {
            fields: vec![field("z", 0), field("x", 4), field("y", 8)],
            point_step: 12,
            data: [3.0_f32, 1.0, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect(),
            ..PointCloud2::default()
        };
        assert_eq!(sweep(&cloud).expect("a cloud").points_m, [[1.0, 2.0, 3.0]]);
        cloud.fields.pop();
        assert!(sweep(&cloud).is_none());
    }
}
