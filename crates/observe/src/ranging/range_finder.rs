//! Observers of sensors that measure one distance.

use selene_scene::BeamReturn;
use selene_sensors::{RangeFinder, RangeFinderSpec, Sample};

use super::{RangedWithTruth, RangingContext};
use crate::ObserveError;
use crate::values::{RangeSample, Ranged};

/// The observer of a distance sensor on a link.
#[derive(Debug)]
pub(super) struct RangeFinderObserver {
    finder: RangeFinder,
    link: usize,
    seed: u64,
    met: Vec<BeamReturn>,
}

impl RangeFinderObserver {
    pub(super) fn new(spec: &RangeFinderSpec, link: usize, seed: u64) -> Self {
        Self { finder: RangeFinder::new(spec.clone()), link, seed, met: Vec::new() }
    }

    pub(super) fn measure(
        &mut self,
        view: &mut RangingContext,
        sample: Sample,
        what: &str,
    ) -> Result<RangedWithTruth, ObserveError> {
        let Self { finder, link, seed, met } = self;
        let beams = finder.beams(&view.link_at(&finder.spec().name, *link, sample.instant)?);
        let RangingContext { scene, tracer, .. } = view;
        let traced = tracer.trace(&what, |tracer| tracer.beams(scene.scene(), &beams, met));
        traced.map_err(|error| ObserveError::of(&finder.spec().name, &error))?;
        // Dust only attenuates: its own echoes are left out.
        scene.scene().see_dust(&beams, met);
        let reading = finder.read(met, *seed, sample);
        let spec = finder.spec();
        let sample = |range_m: f64, variance_m2: f64| {
            Ranged::Range(RangeSample {
                radiation: spec.radiation,
                field_of_view_rad: spec.field_of_view_deg.to_radians(),
                limits_m: [spec.min_range_m, spec.max_range_m],
                range_m,
                variance_m2,
            })
        };
        let variance_m2 = if reading.range_m.is_finite() { spec.sigma_m(reading.range_m).powi(2) } else { 0.0 };
        Ok(RangedWithTruth { measured: sample(reading.range_m, variance_m2), truth: sample(reading.true_range_m, 0.0) })
    }
}
