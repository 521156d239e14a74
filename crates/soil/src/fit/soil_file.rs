//! Writes a fitted soil as a soil file, with each coefficient's interval beside it.

use super::{Fit, Regression};
use crate::data_spec::Downhill;

/// Text of the soil file of `fit`. `name` is the soil's name, `source` the measurements' file, and
/// `other` the name of the soil that gives what was not measured.
#[must_use]
pub fn soil_file(fit: &Fit, name: &str, source: &str, other: &str) -> String {
    let taken = format!("of {other}, not fitted");
    format!(
        "# Fitted by `selene fit` to {source}; what was not measured is that of {other}.
# Intervals are 95 % confidence intervals of each coefficient (Student's t).
{}name: {}
law:
  data:
{}{}{}",
        summary(fit, other),
        quoted(name),
        slip(fit, &taken),
        sinkage(fit, &taken),
        rest(fit, &taken)
    )
}

fn slip(fit: &Fit, taken: &str) -> String {
    let law = &fit.law.slip;
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| note(fit.slip.as_ref(), at, taken));
    let range = range(fit.slip.as_ref(), taken);
    let downhill = match law.downhill {
        Downhill::AsUphill => "as_uphill",
        Downhill::Reversed => "reversed",
    };
    format!(
        "    slip:                       # s = (a v + b) alpha^2 + c v + d; v = omega R in m/s, alpha in degrees
      per_deg2_per_m_s: {:?}   # a: {a}
      per_deg2: {:?}   # b: {b}
      per_m_s: {:?}   # c: {c}
      at_rest: {:?}   # d: {d}
      speed_max_m_s: {:?}   # {range}
      slope_max_deg: {:?}   # {range}
      slip_max: {:?}   # {taken}
      skid_max: {:?}   # {taken}
      downhill: {downhill}   # {taken}
",
        law.per_deg2_per_m_s,
        law.per_deg2,
        law.per_m_s,
        law.at_rest,
        law.speed_max_m_s,
        law.slope_max_deg,
        law.slip_max,
        law.skid_max,
    )
}

fn sinkage(fit: &Fit, taken: &str) -> String {
    let law = &fit.law.sinkage;
    let [fixed, per_slip, per_newton] = [0, 1, 2].map(|at| note(fit.sinkage.as_ref(), at, taken));
    let range = range(fit.sinkage.as_ref(), taken);
    format!(
        "    sinkage:                    # depth = static + per_slip |s| + per_newton (F - reference)
      static_mm: {:?}   # {fixed}
      per_slip_mm: {:?}   # {per_slip}
      per_newton_mm: {:?}   # {per_newton}
      reference_n: {:?}   # {range}
      load_range_n: {:?}   # {range}
      least_mm: {:?}   # {taken}
      hold_below_m_s: {:?}   # {taken}
",
        law.static_mm,
        law.per_slip_mm,
        law.per_newton_mm,
        law.reference_n,
        law.load_range_n,
        law.least_mm,
        law.hold_below_m_s,
    )
}

/// The keys that are never fitted.
fn rest(fit: &Fit, taken: &str) -> String {
    let law = &fit.law;
    format!(
        "    acceleration:               # {taken}
      up_to_m_s: {:?}
      limit_m_s2: {:?}
    friction:                   # {taken}
      static_friction: {:?}
      dynamic_friction: {:?}
      lateral_creep: {:?}
    trace:                      # {taken}
      pattern_share: {:?}
      pattern_gone_at_slip: {:?}
",
        law.acceleration.up_to_m_s,
        law.acceleration.limit_m_s2,
        law.friction.static_friction,
        law.friction.dynamic_friction,
        law.friction.lateral_creep,
        law.trace.pattern_share,
        law.trace.pattern_gone_at_slip,
    )
}

fn range(fit: Option<&Regression>, taken: &str) -> String {
    fit.map_or(taken, |_| "the runs' range").to_owned()
}

/// A YAML string that keeps to one line.
fn quoted(name: &str) -> String {
    let plain: String = name.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

fn note(fit: Option<&Regression>, at: usize, taken: &str) -> String {
    let coefficient = fit.and_then(|fit| fit.coefficients.get(at));
    coefficient
        .map_or(taken.to_owned(), |c| format!("{:.4e} to {:.4e}", c.value - c.half_width, c.value + c.half_width))
}

fn summary(fit: &Fit, other: &str) -> String {
    let line = |what: &str, unit: &str, fit: &Regression| {
        let Regression { runs, residual_sd, r_squared, .. } = fit;
        format!("# {what}: {runs} runs, residual s.d. {residual_sd:.4}{unit}, R2 {r_squared:.4}.\n")
    };
    let slip = fit.slip.as_ref().map_or(String::new(), |fit| line("Slip", "", fit));
    let sinkage = fit.sinkage.as_ref().map_or(String::new(), |fit| line("Depth", " mm", fit));
    let over = match fit.is_slip_taken_over {
        true => format!("# Slip was not measured: depth is over the slip that {other} says.\n"),
        false => String::new(),
    };
    slip + &sinkage + &over
}
