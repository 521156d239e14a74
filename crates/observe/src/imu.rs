//! Observers of inertial measurement units: the motion of their links at the units' positions.

use selene_base::Pose;
use selene_sensors::{AttitudeSource, Imu, ImuReading, ImuSpec, Sample};
use selene_sim::RoverSetup;

use crate::instruments::{MeasurementContext, WithTruth};
use crate::link_motion::LinkMotion;
use crate::values::{ImuSample, Measured};

/// The observer of one unit.
#[derive(Debug)]
pub(crate) struct ImuObserver {
    imu: Imu,
    link: LinkMotion,
}

impl ImuObserver {
    pub(crate) fn new(spec: &ImuSpec, link: usize, setup: &RoverSetup) -> Self {
        let imu = Imu::new(spec.clone(), Pose::identity(), setup.sensor_seed);
        Self { imu, link: LinkMotion::new(&setup.model, link) }
    }

    pub(crate) fn measure(&mut self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let exact = self.exact(view, sample)?;
        let read = self.imu.read(sample, &exact);
        let attitude = match self.imu.spec().attitude {
            AttitudeSource::Truth | AttitudeSource::Estimate => Some(read.world_from_imu),
            AttitudeSource::None => None,
        };
        let reported = |reading: &ImuReading, attitude, white_variances| {
            Measured::Imu(ImuSample {
                attitude,
                angular_velocity_rad_s: reading.angular_velocity,
                linear_acceleration_m_s2: reading.linear_acceleration,
                white_variances,
            })
        };
        Some(WithTruth {
            measured: reported(&read, attitude, self.imu.white_variances()),
            truth: reported(&exact, Some(exact.world_from_imu), [0.0; 2]),
        })
    }

    fn exact(&self, view: &MeasurementContext<'_>, sample: Sample) -> Option<ImuReading> {
        let gravity = view.gravity_m_s2();
        let at = |time| Some(self.imu.exact(&self.link.at(view.history, view.rover, time)?, gravity));
        let window: Option<Vec<_>> = self.imu.window(sample).map(at).collect();
        Some(at(sample.instant)?.averaged(&window?))
    }
}
