//! Observers of inclinometers: the direction of the specific force in the frames of their links, and as truth that of
//! gravity.

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_sensors::{Inclinometer, InclinometerSpec, Sample};
use selene_sim::RoverSetup;

use crate::instruments::{MeasurementContext, WithTruth};
use crate::link_motion::LinkMotion;
use crate::values::{Measured, TiltSample};

/// The observer of one inclinometer.
#[derive(Debug)]
pub(crate) struct InclinometerObserver {
    inclinometer: Inclinometer,
    link: usize,
    motion: LinkMotion,
}

impl InclinometerObserver {
    pub(crate) fn new(spec: &InclinometerSpec, link: usize, setup: &RoverSetup) -> Self {
        let inclinometer = Inclinometer::new(spec.clone(), setup.sensor_seed);
        Self { inclinometer, link, motion: LinkMotion::new(&setup.model, link) }
    }

    pub(crate) fn measure(&mut self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let forces: Option<Vec<_>> =
            self.inclinometer.instants(sample).map(|time| self.force_m_s2(view, time)).collect();
        let forces = forces?;
        let mean = forces.iter().sum::<Vector3<f64>>() / forces.len() as f64;
        let read = self.inclinometer.read_rad(sample, mean);
        let exact = Inclinometer::exact_rad(&view.link_at(self.link, sample.instant)?.rotation);
        let [measured, truth] =
            [read, exact].map(|rad| Measured::Tilt(TiltSample { roll_rad: rad.x, pitch_rad: rad.y }));
        Some(WithTruth { measured, truth })
    }

    /// The specific force at the link's origin, in the link's frame.
    fn force_m_s2(&self, view: &MeasurementContext<'_>, time: SimTime) -> Option<Vector3<f64>> {
        let motion = self.motion.at(view.history, view.rover, time)?;
        let link_from_world = motion.world_from_body.rotation.inverse();
        Some(link_from_world * (motion.linear_acceleration - view.gravity_m_s2()))
    }
}
