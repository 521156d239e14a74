//! Images of all cameras of a rover at equal time steps along a drive, each with the inertial unit's reading and the
//! ground truth.

use std::sync::Arc;

use image::GrayImage;
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime, frames};
use selene_observe::{CameraSample, Device, Feed, Instruments, Interval, Measured, RoverCameras};
use selene_scene::CameraView;
use selene_sensors::{CameraSpec, OwnStages, Sample};
use selene_sim::{Command, EntityId, Model, Mounted, RoverSetup, World};
use selene_sky::solar_irradiance_w_m2;
use selene_vehicle::BodyTwist;

use super::compass::Gravity;
use super::detector::{SMALL_PX, grey, shrunk};
use super::network::TINY_PX;
use crate::Failure;

/// Fraction of the Sun's disc that must be visible for an image to show the Sun.
const SEEN_SHARE: f64 = 0.5;

/// Times at which images are taken, and how the rover drives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrivePlan {
    /// Number of images of each camera.
    pub instants: usize,
    /// Time between two images; the first is taken after one period.
    pub period: SimTime,
    /// Commanded motion; `None` for the rover's route.
    pub twist: Option<BodyTwist>,
    /// Cameras whose optical axis is farther from the Sun than this take no images, rad; π for all cameras.
    pub sun_within_rad: f64,
}

/// An image with its reference data.
#[derive(Clone, Debug)]
pub struct HeadingShot {
    /// Name of the camera.
    pub camera: String,
    /// Simulated time of the image.
    pub stamp: SimTime,
    /// Image for the detector.
    pub small: GrayImage,
    /// Image for the network.
    pub tiny: GrayImage,
    /// The camera's projection.
    pub view: CameraView,
    /// Rotation from the camera's optical frame to the rover's body.
    pub body_from_optical: UnitQuaternion<f64>,
    /// Unit vector upwards in the body's axes, by the inertial unit.
    pub up_in_body: Vector3<f64>,
    /// Unit vector towards the Sun: east, north, up.
    pub sun_enu: Vector3<f64>,
    /// Column and row of the Sun; `None` if the image does not show it.
    pub sun_px: Option<[f64; 2]>,
    /// Unit vector towards the Sun in the optical frame, also outside of the image.
    pub sun_in_optical: Vector3<f64>,
    /// Whether at least half of the Sun's disc is visible from the lens, inside or outside of the image.
    pub sun_in_sight: bool,
    /// True heading, counter-clockwise from east, rad.
    pub heading_rad: f64,
}

/// Drives and takes the images; fewer if the route ends before.
///
/// # Errors
/// When the world has no rover with cameras and an inertial unit, a heartbeat fails, or something cannot be traced.
pub fn shots(model: &Arc<Model>, device: &Device, plan: &DrivePlan) -> Result<Vec<HeadingShot>, Failure> {
    let mut world = World::begin(Arc::clone(model), None)?;
    let mut feed = Feed::begin(&mut world)?;
    let mut watch = RoverSensors::new(&world, &feed, device)?;
    let mut shots = Vec::new();
    let mut taken = 0;
    while taken < plan.instants && (plan.twist.is_some() || !world.routes_done()) {
        if let Some(twist) = plan.twist {
            world.drive(watch.rover, Command::Body(twist))?;
        }
        let interval = feed.heartbeat(&mut world)?;
        watch.see(&interval)?;
        let instant = plan.period * (taken as i64 + 1);
        let sample = Sample { index: taken as u64, instant };
        if interval.next.time >= instant + watch.longest(sample) {
            shots.extend(watch.take(sample, plan.sun_within_rad)?);
            taken += 1;
        }
    }
    Ok(shots)
}

/// Cameras and inertial unit of one rover.
struct RoverSensors {
    rover: EntityId,
    setup: RoverSetup,
    model: Arc<Model>,
    cameras: RoverCameras,
    instruments: Instruments,
    gravity: Gravity,
    /// Rotation from the inertial unit's axes to the rover's.
    body_from_imu: UnitQuaternion<f64>,
}

impl RoverSensors {
    fn new(world: &World, feed: &Feed, device: &Device) -> Result<Self, Failure> {
        let model = Arc::clone(world.model());
        let (rover, kind) = model.rovers().first_key_value().ok_or("the scenario has no rover")?;
        let (rover, setup) = (*rover, kind.setup().clone());
        let imu = setup.imus().next().ok_or("the rover has no IMU")?.link;
        let body_from_imu = setup.model.base_from_links_at_zero()[imu].rotation;
        let (ruts, devices) = (&world.state().ruts, device.clone().into());
        let cameras = RoverCameras::new(&model, rover, feed.last(), ruts, &devices, &OwnStages::new())?;
        let (instruments, gravity) = (Instruments::default(), Gravity::default());
        Ok(Self { rover, setup, model, cameras, instruments, gravity, body_from_imu })
    }

    fn see(&mut self, interval: &Interval) -> Result<(), Failure> {
        let imu = self.setup.imus().next().map(|imu| imu.spec.name.clone());
        for reading in self.instruments.take(interval).iter().filter(|of| Some(&of.sensor.name) == imu.as_ref()) {
            if let Measured::Imu(motion) = &reading.measured {
                self.gravity.take(reading.stamp, motion.angular_velocity_rad_s, motion.linear_acceleration_m_s2);
            }
        }
        Ok(self.cameras.see(interval)?)
    }

    /// Time from an instant to the end of the longest exposure.
    fn longest(&self, sample: Sample) -> SimTime {
        let ends = self.setup.cameras().map(|camera| self.cameras.exposed_at(&camera.spec.name, sample));
        ends.max().unwrap_or(sample.instant) - sample.instant
    }

    /// Takes an image with each camera within `sun_within_rad` of the Sun.
    fn take(&mut self, sample: Sample, sun_within_rad: f64) -> Result<Vec<HeadingShot>, Failure> {
        let base = self.cameras.history().link_at(self.rover, 0, sample.instant).ok_or("the rover is gone")?;
        let up_in_body = self.body_from_imu * self.gravity.up().ok_or("the IMU has measured nothing yet")?;
        let sun_in_body = base.rotation.inverse() * self.model.scenario().sun(sample.instant)?.unit_enu;
        let setup = self.setup.clone();
        let body_from_optical = |link: usize| setup.model.base_from_links_at_zero()[link].rotation;
        let looks = |camera: &Mounted<'_, CameraSpec>| {
            (body_from_optical(camera.link) * Vector3::z()).angle(&sun_in_body) <= sun_within_rad
        };
        let shot = |Mounted { spec, link }: Mounted<'_, CameraSpec>| {
            let image = self.cameras.expose(&spec.name, sample)?;
            self.shot(spec, body_from_optical(link), up_in_body, &base, &image)
        };
        setup.cameras().filter(looks).map(shot).collect()
    }

    fn shot(
        &self,
        spec: &CameraSpec,
        body_from_optical: UnitQuaternion<f64>,
        up_in_body: Vector3<f64>,
        base: &Pose,
        image: &CameraSample,
    ) -> Result<HeadingShot, Failure> {
        let sun = self.model.scenario().sun(image.stamp)?;
        let whole_w_m2 = solar_irradiance_w_m2(sun.distance_m);
        let size = [f64::from(spec.width), f64::from(spec.height)];
        let inside = |at: [f64; 2]| (0..2).all(|axis| at[axis] > -0.5 && at[axis] < size[axis] - 0.5);
        let seen = image.sun.filter(|sight| sight.irradiance_w_m2 >= SEEN_SHARE * whole_w_m2);
        let grey = grey(&image.image)?;
        Ok(HeadingShot {
            camera: spec.name.clone(),
            stamp: image.stamp,
            small: shrunk(&grey, SMALL_PX),
            tiny: shrunk(&grey, TINY_PX),
            view: spec.view(Pose::identity()),
            body_from_optical,
            up_in_body,
            sun_enu: sun.unit_enu,
            sun_px: seen.map(|sight| sight.at_px).filter(|at| inside(*at)),
            sun_in_optical: (base.rotation * body_from_optical).inverse() * sun.unit_enu,
            sun_in_sight: seen.is_some(),
            heading_rad: frames::yaw_rad(base),
        })
    }
}
