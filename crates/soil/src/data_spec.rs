//! The data-driven law's part of a soil file: regressions of slip and sinkage and what
//! goes with them. Every coefficient is data, so another pair of rover and soil is
//! another file; the units are those in which such fits are printed.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

use crate::spec::positive_within;

/// Coefficients of the data-driven law.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// Slip over wheel speed and slope.
    #[garde(dive)]
    pub slip: SlipFitSpec,
    /// Sinkage over slip and load.
    #[garde(dive)]
    pub sinkage: SinkageFitSpec,
    /// How fast a wheel gains speed.
    #[garde(dive)]
    pub acceleration: AccelerationSpec,
    /// Friction toward the speed that the fit allows.
    #[garde(dive)]
    pub friction: DataFrictionSpec,
    /// The trace left in the ground.
    #[garde(dive)]
    pub trace: TraceSpec,
}

/// s = (a v + b) α² + c v + d: slip s, wheel speed v = ωR in m/s, slope α in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SlipFitSpec {
    /// a, 1/(m/s deg²), −1000 to 1000.
    #[garde(custom(within(-1000.0, 1000.0)))]
    pub per_deg2_per_m_s: f64,
    /// b, 1/deg², −1000 to 1000.
    #[garde(custom(within(-1000.0, 1000.0)))]
    pub per_deg2: f64,
    /// c, 1/(m/s), −1000 to 1000.
    #[garde(custom(within(-1000.0, 1000.0)))]
    pub per_m_s: f64,
    /// d.
    #[garde(custom(within(-0.99, 0.99)))]
    pub at_rest: f64,
    /// Highest wheel speed that was measured, m/s, to 100; faster ones slip as it does.
    #[garde(custom(positive_within(1e-6, 100.0)))]
    pub speed_max_m_s: f64,
    /// Steepest slope that was measured, degrees; steeper ones slip as it does.
    #[garde(custom(within(0.0, 60.0)))]
    pub slope_max_deg: f64,
    /// Most slip taken from the fit: it may leave 0 to 1 at its corners.
    #[garde(custom(within(0.0, 0.999)))]
    pub slip_max: f64,
    /// Most skid taken from the fit, as a positive number.
    #[garde(custom(within(0.0, 0.999)))]
    pub skid_max: f64,
    /// What a downward slope does.
    #[garde(skip)]
    #[serde(default)]
    pub downhill: Downhill,
}

/// What a downward slope does to slip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Downhill {
    /// The same as an upward one: α² as Kern et al. print it.
    #[default]
    AsUphill,
    /// Its part of the fit counts against the rest and may turn slip into skid.
    Reversed,
}

impl Downhill {
    /// The sign of the slope's part of the slip on a slope that is negative downhill.
    pub(crate) fn sign(self, slope: f64) -> f64 {
        match self {
            Self::AsUphill => 1.0,
            Self::Reversed => 1_f64.copysign(slope),
        }
    }
}

/// Depth = static + per slip · |s| + per newton · (F − reference).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SinkageFitSpec {
    /// Depth at rest under the reference load, mm, 0 to 1000.
    #[garde(custom(within(0.0, 1000.0)))]
    pub static_mm: f64,
    /// Depth that full slip adds, mm, 0 to 1000.
    #[garde(custom(within(0.0, 1000.0)))]
    pub per_slip_mm: f64,
    /// Depth that a newton adds, mm/N, 0 to 1000.
    #[garde(custom(within(0.0, 1000.0)))]
    pub per_newton_mm: f64,
    /// Load that the fit is about, N: 1 mN to 1 MN.
    #[garde(custom(positive_within(1e-3, 1e6)))]
    pub reference_n: f64,
    /// How far from it loads were measured, N; others sink as the nearest of these.
    #[garde(custom(within(0.0, self.reference_n)))]
    pub load_range_n: f64,
    /// Least depth, mm, 0.001 to 1000: a fit that says less would ask for an infinite stiffness.
    #[garde(custom(positive_within(1e-3, 1000.0)))]
    pub least_mm: f64,
    /// At this speed and below a wheel may sink deeper and not rise, m/s, 0 to 100.
    #[garde(custom(within(0.0, 100.0)))]
    pub hold_below_m_s: f64,
}

/// Most gain of speed, piecewise over speed.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct AccelerationSpec {
    /// Speeds up to which each limit but the last holds, m/s, rising, to 100.
    #[garde(length(max = 16), inner(custom(positive_within(1e-6, 100.0))), custom(rising))]
    pub up_to_m_s: Vec<f64>,
    /// The limits, m/s², to 1000: one more than speeds.
    #[garde(inner(custom(positive_within(1e-6, 1000.0))), custom(one_more_than(self.up_to_m_s.len())))]
    pub limit_m_s2: Vec<f64>,
}

/// Friction between the ground and a rim that moves at the slip-adjusted speed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DataFrictionSpec {
    /// Friction over normal force up to which it does not slide.
    #[garde(custom(within(0.0, 10.0)))]
    pub static_friction: f64,
    /// Friction over normal force while it slides; not above the static one.
    #[garde(custom(within(0.0, self.static_friction)))]
    pub dynamic_friction: f64,
    /// Tangent of the angle by which a rolling wheel yields to a force across it that
    /// equals its load; in proportion for smaller ones.
    #[garde(custom(within(0.0, 10.0)))]
    pub lateral_creep: f64,
}

/// Depth and grouser pattern left behind.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// Amplitude of the grousers' pattern without slip, over their height.
    #[garde(custom(within(0.0, 1.0)))]
    pub pattern_share: f64,
    /// Slip at which the pattern is gone; in between it falls in proportion.
    #[garde(custom(within(0.01, 1.0)))]
    pub pattern_gone_at_slip: f64,
}

fn rising(values: &[f64], (): &()) -> garde::Result {
    match values.windows(2).find(|pair| pair[1] <= pair[0]) {
        Some(pair) => Err(garde::Error::new(format!("{} after {} is not allowed: must be rising", pair[1], pair[0]))),
        None => Ok(()),
    }
}

fn one_more_than(speeds: usize) -> impl FnOnce(&Vec<f64>, &()) -> garde::Result {
    move |limits, ()| {
        if limits.len() == speeds + 1 {
            return Ok(());
        }
        let allowed = format!("must be one more than the {speeds} speeds of up_to_m_s");
        Err(garde::Error::new(format!("{} limits are not allowed: {allowed}", limits.len())))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;

    use crate::spec::SoilSpec;

    #[test]
    fn coefficients_that_no_soil_has_are_refused_with_what_is_allowed() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/soil/tohoku_silica5_ex1.yaml");
        let good = std::fs::read_to_string(&file).expect("a soil");
        for (key, from, to, allowed) in [
            ("per_deg2_per_m_s", "0.00522", "1e300", "-1000 to 1000"),
            ("per_m_s", "0.0265", "-1e300", "-1000 to 1000"),
            ("speed_max_m_s", "1.17", "1e300", "to 100"),
            ("static_mm", "3.11", "1e300", "0 to 1000"),
            ("per_slip_mm", "33.56", "1e300", "0 to 1000"),
            ("per_newton_mm", "0.9291", "1e300", "0 to 1000"),
            ("reference_n", "8.72", "1e300", "to 1000000"),
            ("least_mm", "0.1", "1e-300", "0.001 to 1000"),
            ("hold_below_m_s", "0.1", "1e300", "0 to 100"),
            ("up_to_m_s", "[0.75, 1.02]", "[0.75, 1e300]", "to 100"),
            ("limit_m_s2", "[3.476, 0.612, 0.114]", "[3.476, 0.612, 1e300]", "to 1000"),
        ] {
            let known = format!(" {key}: {from}");
            assert_eq!(good.matches(&known).count(), 1, "{known}");
            let text = good.replace(&known, &format!(" {key}: {to}"));
            let message = parse_yaml::<SoilSpec>(&text, &file).expect_err(key).to_string();
            for part in ["line", key, allowed] {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}
