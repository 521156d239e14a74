//! The data-driven law's part of a soil file: regressions of slip and sinkage, limits of
//! acceleration, friction and trace. Every coefficient is data, so another pair of rover and
//! soil is another file; the units are those in which such fits are published.

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
    /// Limits of a wheel's acceleration.
    #[garde(dive)]
    pub acceleration: AccelerationSpec,
    /// Friction that drives a wheel toward its slip-adjusted speed.
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
    /// d, the slip at rest on level ground, −0.99 to 0.99.
    #[garde(custom(within(-0.99, 0.99)))]
    pub at_rest: f64,
    /// Highest measured wheel speed, m/s, to 100; a faster wheel slips as at this speed.
    #[garde(custom(positive_within(1e-6, 100.0)))]
    pub speed_max_m_s: f64,
    /// Steepest measured slope, degrees; on a steeper one a wheel slips as on this one.
    #[garde(custom(within(0.0, 60.0)))]
    pub slope_max_deg: f64,
    /// Upper limit of the slip from the fit, which may leave 0 to 1 at the ends of its range.
    #[garde(custom(within(0.0, 0.999)))]
    pub slip_max: f64,
    /// Upper limit of the skid from the fit, as a positive number.
    #[garde(custom(within(0.0, 0.999)))]
    pub skid_max: f64,
    /// How a downward slope changes slip.
    #[garde(skip)]
    #[serde(default)]
    pub downhill: Downhill,
}

/// How a downward slope changes slip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Downhill {
    /// As an upward slope does: α² as Kern et al. print it.
    #[default]
    AsUphill,
    /// The slope's term is negative and may turn slip into skid.
    Reversed,
}

impl Downhill {
    /// Sign of the slope's term of the slip; `slope` is negative downhill.
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
    /// Reference load of the fit, N: 1 mN to 1 MN.
    #[garde(custom(positive_within(1e-3, 1e6)))]
    pub reference_n: f64,
    /// Largest measured difference from the reference load, N; loads beyond sink as the nearest measured one.
    #[garde(custom(within(0.0, self.reference_n)))]
    pub load_range_n: f64,
    /// Smallest depth, mm, 0.001 to 1000: a depth of zero would need an infinite stiffness.
    #[garde(custom(positive_within(1e-3, 1000.0)))]
    pub least_mm: f64,
    /// Up to this speed a wheel may sink deeper but does not rise, m/s, 0 to 100.
    #[garde(custom(within(0.0, 100.0)))]
    pub hold_below_m_s: f64,
}

/// Largest acceleration, piecewise constant over speed.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct AccelerationSpec {
    /// Speeds up to which each limit except the last holds, m/s, ascending, to 100.
    #[garde(length(max = 16), inner(custom(positive_within(1e-6, 100.0))), custom(rising))]
    pub up_to_m_s: Vec<f64>,
    /// The limits, m/s², to 1000: one more than there are speeds.
    #[garde(inner(custom(positive_within(1e-6, 1000.0))), custom(one_more_than(self.up_to_m_s.len())))]
    pub limit_m_s2: Vec<f64>,
}

/// Friction between the ground and a rim that moves at the slip-adjusted speed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DataFrictionSpec {
    /// Friction over normal force up to which the wheel does not slide.
    #[garde(custom(within(0.0, 10.0)))]
    pub static_friction: f64,
    /// Friction over normal force while the wheel slides; at most the static one.
    #[garde(custom(within(0.0, self.static_friction)))]
    pub dynamic_friction: f64,
    /// Tangent of the slip angle of a rolling wheel under a lateral force that equals its load;
    /// in proportion for smaller forces.
    #[garde(custom(within(0.0, 10.0)))]
    pub lateral_creep: f64,
}

/// Grouser pattern of the trace that a wheel leaves.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// Amplitude of the pattern without slip, over the grousers' height.
    #[garde(custom(within(0.0, 1.0)))]
    pub pattern_share: f64,
    /// Slip at which the pattern vanishes; up to there its amplitude falls linearly.
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
