//! Observers of position receivers: position of the antenna on the map, averaged over the collection window, and
//! velocity.

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_dem::MapFrame;
use selene_sensors::{AntennaMotion, PositionSpec, Sample};
use selene_sim::RoverSetup;

use crate::instruments::{MeasurementContext, WithTruth};
use crate::values::Measured;

/// Number of parts of a collection window; the mean assumes straight motion within each part (trapezoidal rule).
const WINDOW_PARTS: i64 = 8;

/// The observer of one receiver.
#[derive(Debug)]
pub(crate) struct PositionObserver {
    spec: PositionSpec,
    link: usize,
    seed: u64,
}

impl PositionObserver {
    pub(crate) fn new(spec: &PositionSpec, link: usize, setup: &RoverSetup) -> Self {
        Self { spec: spec.clone(), link, seed: setup.sensor_seed }
    }

    pub(crate) fn measure(&self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let antenna = self.motion(view, sample.instant)?;
        let site = &view.interval.model.scenario().site;
        let map = MapFrame::new(site.latitude_deg, site.longitude_deg, site.datum_m);
        Some(WithTruth {
            measured: Measured::Fix(self.spec.fix(&map, &antenna, self.seed, sample)),
            truth: Measured::Fix(self.spec.exact(&map, &antenna)),
        })
    }

    fn motion(&self, view: &MeasurementContext<'_>, instant: SimTime) -> Option<AntennaMotion> {
        let place = |time| Some(view.link_at(self.link, time)?.translation.vector);
        let window = SimTime::from_secs_f64(self.spec.window_s);
        let place_m = if window == SimTime::ZERO {
            place(instant)?
        } else {
            let mut sum = (place(instant)? + place(instant - window)?) * 0.5;
            for part in 1..WINDOW_PARTS {
                sum += place(instant - SimTime::from_nanos(window.nanos() * part / WINDOW_PARTS))?;
            }
            sum / WINDOW_PARTS as f64
        };
        Some(AntennaMotion { place_m, velocity_m_s: self.velocity_m_s(view)? })
    }

    /// The antenna's mean velocity over the heartbeat.
    fn velocity_m_s(&self, view: &MeasurementContext<'_>) -> Option<Vector3<f64>> {
        let (previous, next) = (&view.interval.previous, &view.interval.next);
        let place =
            |of: &selene_sim::Snapshot| Some(of.rover(view.rover)?.world_from_links.get(self.link)?.translation.vector);
        let span_s = (next.time - previous.time).secs_f64();
        let moved_m = place(next)? - place(previous)?;
        Some(if span_s > 0.0 { moved_m / span_s } else { Vector3::zeros() })
    }
}
