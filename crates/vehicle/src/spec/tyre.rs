//! A pneumatic tyre as a rover's YAML has it: the parameters of TMeasy (G. Rill, "Road Vehicle Dynamics: Fundamentals
//! and Modeling", CRC Press 2012, ch. 3). The law itself is the ground's matter.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, positive_to, within};
use serde::Deserialize;

use super::actuators::STIFFEST;

/// Allowed ratio of forces under the double load to those under the nominal one: within it the parabola through
/// both and the origin rises up to 2.5 nominal loads.
const DOUBLE_FORCE: [f64; 2] = [1.5, 2.0];
/// Allowed ratio of slips under the double load to those under the nominal one: a line through both stays above
/// zero.
const DOUBLE_SLIP: [f64; 2] = [0.5, 1.5];
/// The largest slip of a curve.
const SLIP_MAX: f64 = 10.0;

/// A tyre.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TyreSpec {
    /// Radial stiffness, N/m.
    #[garde(custom(positive_to(STIFFEST)))]
    pub radial_stiffness_n_m: f64,
    /// Radial damping, N s/m.
    #[garde(custom(within(0.0, STIFFEST)))]
    pub radial_damping_n_s_m: f64,
    /// The load that the `nominal` curves hold for, N.
    #[garde(custom(positive_to(STIFFEST)))]
    pub nominal_load_n: f64,
    /// Friction of the ground that the curves were taken on; other ground scales them. 0.05 to 2.
    #[garde(custom(within(0.05, 2.0)))]
    pub friction: f64,
    /// Rolling resistance over load, 0 to 0.5.
    #[garde(custom(within(0.0, 0.5)))]
    pub rolling_resistance: f64,
    /// Driving and braking.
    #[garde(dive)]
    pub longitudinal: TyreDirectionSpec,
    /// Cornering.
    #[garde(dive)]
    pub lateral: TyreDirectionSpec,
    /// Trail of the side force behind the centre of the contact.
    #[garde(dive)]
    pub trail: TyreTrailsSpec,
}

/// A tyre in one direction along the ground.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TyreDirectionSpec {
    /// Stiffness of the standing tyre, N/m: with the slope it gives the relaxation length.
    #[garde(custom(positive))]
    pub stiffness_n_m: f64,
    /// Damping of the standing tyre, N s/m.
    #[garde(custom(non_negative))]
    pub damping_n_s_m: f64,
    /// Force against slip under the nominal load.
    #[garde(dive)]
    pub nominal: TyreCurveSpec,
    /// Force against slip under twice the nominal load: forces 1.5 to 2 times, slips 0.5 to 1.5 times the nominal ones.
    #[garde(dive, custom(doubles(&self.nominal)))]
    pub double: TyreCurveSpec,
}

/// Force against slip at one load.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TyreCurveSpec {
    /// Initial slope of force over slip, N; at least twice the peak force over its slip.
    #[garde(custom(positive), custom(steep(self.peak_n, self.peak_slip)))]
    pub slope_n: f64,
    /// Greatest force, N.
    #[garde(custom(positive))]
    pub peak_n: f64,
    /// Slip at the peak.
    #[garde(custom(positive))]
    pub peak_slip: f64,
    /// Force of full sliding, N; above 0 and not above the peak.
    #[garde(custom(positive), custom(within(0.0, self.peak_n)))]
    pub sliding_n: f64,
    /// Slip from which on the tyre slides fully; at least that of the peak.
    #[garde(custom(within(self.peak_slip, SLIP_MAX)))]
    pub sliding_slip: f64,
}

/// Trail of the side force, under the nominal load and under twice the nominal load.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TyreTrailsSpec {
    /// Trail under the nominal load.
    #[garde(dive)]
    pub nominal: TyreTrailSpec,
    /// Trail under twice the nominal load: slips 0.5 to 1.5 times the nominal ones.
    #[garde(dive, custom(trails(&self.nominal)))]
    pub double: TyreTrailSpec,
}

/// Trail of the side force at one load.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TyreTrailSpec {
    /// Trail over the length of the contact at no slip, 0 to 0.5.
    #[garde(custom(within(0.0, 0.5)))]
    pub share: f64,
    /// Lateral slip at which the trail changes its sign.
    #[garde(custom(positive))]
    pub zero_slip: f64,
    /// Lateral slip from which on the trail is zero; at least `zero_slip`.
    #[garde(custom(within(self.zero_slip, SLIP_MAX)))]
    pub end_slip: f64,
}

fn steep(peak_n: f64, peak_slip: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |slope_n, ()| {
        let least_n = 2.0 * peak_n / peak_slip;
        if *slope_n >= least_n {
            return Ok(());
        }
        let allowed = format!("must be {least_n:.1} or more, twice the peak over its slip");
        Err(garde::Error::new(format!("value {slope_n} is not allowed: {allowed}")))
    }
}

/// Refuses values under the double load that no parabola or line leads to and beyond.
fn doubles(nominal: &TyreCurveSpec) -> impl FnOnce(&TyreCurveSpec, &()) -> garde::Result {
    let one = *nominal;
    move |two, ()| {
        for (what, one, two) in [
            ("slope_n", one.slope_n, two.slope_n),
            ("peak_n", one.peak_n, two.peak_n),
            ("sliding_n", one.sliding_n, two.sliding_n),
        ] {
            ratio(what, two, one, DOUBLE_FORCE)?;
        }
        ratio("peak_slip", two.peak_slip, one.peak_slip, DOUBLE_SLIP)?;
        ratio("sliding_slip", two.sliding_slip, one.sliding_slip, DOUBLE_SLIP)
    }
}

fn trails(nominal: &TyreTrailSpec) -> impl FnOnce(&TyreTrailSpec, &()) -> garde::Result {
    let one = *nominal;
    move |two, ()| {
        ratio("zero_slip", two.zero_slip, one.zero_slip, DOUBLE_SLIP)?;
        ratio("end_slip", two.end_slip, one.end_slip, DOUBLE_SLIP)
    }
}

fn ratio(what: &str, value: f64, nominal: f64, [least, most]: [f64; 2]) -> garde::Result {
    if (least * nominal..=most * nominal).contains(&value) {
        return Ok(());
    }
    let allowed = format!("must be {least} to {most} times the nominal {nominal}");
    Err(garde::Error::new(format!("{what}: value {value} is not allowed: {allowed}")))
}
