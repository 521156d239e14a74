//! Observers of magnetometers: the site's field in the axes of their links.

use selene_sensors::{Magnetometer, MagnetometerSpec, Sample};
use selene_sim::RoverSetup;

use crate::instruments::{MeasurementContext, WithTruth};
use crate::values::{FieldSample, Measured};

/// Teslas in a nanotesla.
const NANO: f64 = 1e-9;

/// The observer of one magnetometer.
#[derive(Debug)]
pub(crate) struct MagnetometerObserver {
    magnetometer: Magnetometer,
    link: usize,
}

impl MagnetometerObserver {
    pub(crate) fn new(spec: &MagnetometerSpec, link: usize, setup: &RoverSetup) -> Self {
        Self { magnetometer: Magnetometer::new(spec.clone(), setup.sensor_seed), link }
    }

    pub(crate) fn measure(&mut self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let attitude = view.link_at(self.link, sample.instant)?.rotation;
        let exact_nt = self.magnetometer.exact_nt(&attitude);
        let read_nt = self.magnetometer.read_nt(sample, exact_nt);
        let white_variance_t2 = self.magnetometer.white_variance_nt2() * NANO * NANO;
        Some(WithTruth {
            measured: Measured::MagneticField(FieldSample { field_t: read_nt * NANO, white_variance_t2 }),
            truth: Measured::MagneticField(FieldSample { field_t: exact_nt * NANO, white_variance_t2: 0.0 }),
        })
    }
}
