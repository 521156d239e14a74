//! Conversion of samples to heights: `height = sample · scale + offset` above the sphere, and the samples that mark no
//! data. NaN always does. The offset tells whether a file has heights or radii; if it does not, the first value does:
//! no height on the Moon is anywhere near a thousand kilometres.

use std::ops::RangeInclusive;

use crate::crs::MOON_RADIUS_M;
use crate::error::Refusal;

/// Limit of plausible heights, m: the Moon's lie from −9.2 to 10.8 km.
pub(super) const HEIGHT_MAX_M: f64 = 20_000.0;
/// A value above this is a radius, m.
const RADIUS_LEAST_M: f64 = 1_000_000.0;

/// How samples become heights.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values {
    /// Metres per count.
    pub(super) scale: f64,
    /// Height of a sample of zero, m.
    pub(super) offset_m: f64,
    /// Ranges of samples that mark no data.
    pub(super) no_data: Vec<RangeInclusive<f64>>,
    /// Lowest and highest sample that the header states.
    stated: Option<[f64; 2]>,
}

impl Values {
    /// Creates the conversion; an `offset_m` that is a radius is reduced by the sphere's.
    pub(super) fn new(field: &str, scale: f64, offset_m: f64) -> Result<Self, Refusal> {
        if !(scale.is_finite() && scale != 0.0 && offset_m.is_finite()) {
            let what = format!("has scale {scale} and offset {offset_m}; must be finite, the scale not 0");
            return Err(Refusal::new(field, what));
        }
        let mut values = Self { scale, offset_m, no_data: Vec::new(), stated: None };
        values.settle(offset_m);
        Ok(values)
    }

    /// Lets a converted sample, m, decide the datum: if it is a radius, subtracts the sphere's.
    pub(super) fn settle(&mut self, value_m: f64) {
        if value_m > RADIUS_LEAST_M {
            self.offset_m -= MOON_RADIUS_M;
        }
    }

    /// Adds a sample that marks no data; `is_f32` when samples are 32-bit floats.
    pub(super) fn without(&mut self, sample: f64, is_f32: bool) {
        let stored = if is_f32 { f64::from(sample as f32) } else { sample };
        if !stored.is_nan() {
            self.no_data.push(stored..=stored);
        }
    }

    /// Stores the lowest and highest sample that the header gives.
    pub(super) fn state_range(&mut self, low: f64, high: f64) {
        self.stated = Some([low, high]);
    }

    /// Range of heights that the header allows, m, widened by one count on both sides; unlimited if the header gives
    /// none.
    pub(super) fn allowed_m(&self) -> [f64; 2] {
        let Some([low, high]) = self.stated else { return [f64::NEG_INFINITY, f64::INFINITY] };
        let [a, b] = [low - 1.0, high + 1.0].map(|sample| sample * self.scale + self.offset_m);
        [a.min(b), a.max(b)]
    }

    /// Height of a sample above the sphere, m; NaN for no data.
    pub(super) fn height_m(&self, sample: f64) -> f64 {
        if self.no_data.iter().any(|range| range.contains(&sample)) {
            return f64::NAN;
        }
        sample * self.scale + self.offset_m
    }
}

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn radii_become_heights_and_no_data_nan() {
        let mut values = Values::new("OFFSET", 0.5, 1_737_400.0).unwrap();
        values.without(-32768.0, false);
        assert_eq!(values.height_m(21008.0), 10504.0);
        assert!(values.height_m(-32768.0).is_nan() && values.height_m(f64::NAN).is_nan());
        let mut defaulted = Values::new("OFFSET", 1.0, 0.0).unwrap();
        defaulted.settle(1_736_400.0);
        assert_eq!(defaulted.height_m(1_736_400.0), -1000.0);
        assert!(Values::new("OFFSET", 0.0, 0.0).is_err() && Values::new("OFFSET", f64::NAN, 0.0).is_err());
    }

    #[test]
    fn a_float_without_data_is_known_as_it_is_stored() {
        // GDAL writes −f32::MAX with 15 digits.
        let mut values = Values::new("GDAL_NODATA", 1.0, 0.0).unwrap();
        values.without(-3.402_823_466_385_29e38, true);
        assert!(values.height_m(f64::from(f32::MIN)).is_nan());
    }
}
