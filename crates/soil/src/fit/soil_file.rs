//! A fitted soil as a soil file, with each coefficient's interval beside it.

use super::{Fit, Regression};

/// The soil file of `fit`, called `name`: from `source`, what was not measured taken from
/// the soil called `other`.
#[must_use]
pub fn soil_file(fit: &Fit, name: &str, source: &str, other: &str) -> String {
    let law = &fit.law;
    let (slip, sinkage) = (&law.slip, &law.sinkage);
    let taken = format!("of {other}, not fitted");
    let slip_note = |at: usize| note(fit.slip.as_ref(), at, &taken);
    let sinkage_note = |at: usize| note(fit.sinkage.as_ref(), at, &taken);
    let ranges = |regression: &Option<Regression>| match regression {
        Some(_) => "the runs' range".to_owned(),
        None => taken.clone(),
    };
    format!(
        "# Fitted by `selene fit` to {source}; what was not measured is that of {other}.
# Intervals are 95 % confidence intervals of each coefficient (Student's t).
{summary}name: {name}
law:
  data:
    slip:                       # s = (a v + b) alpha^2 + c v + d; v = omega R in m/s, alpha in degrees
      per_deg2_per_m_s: {a:?}   # a: {a_note}
      per_deg2: {b:?}   # b: {b_note}
      per_m_s: {c:?}   # c: {c_note}
      at_rest: {d:?}   # d: {d_note}
      speed_max_m_s: {speed:?}   # {slip_range}
      slope_max_deg: {slope:?}   # {slip_range}
      slip_max: {slip_max:?}   # {taken}
      skid_max: {skid_max:?}   # {taken}
    sinkage:                    # depth = static + per_slip |s| + per_newton (F - reference)
      static_mm: {z:?}   # {z_note}
      per_slip_mm: {zs:?}   # {zs_note}
      per_newton_mm: {zf:?}   # {zf_note}
      reference_n: {reference:?}   # {sinkage_range}
      load_range_n: {load_range:?}   # {sinkage_range}
      least_mm: {least:?}   # {taken}
      hold_below_m_s: {hold:?}   # {taken}
    acceleration:               # {taken}
      up_to_m_s: {up_to:?}
      limit_m_s2: {limit:?}
    friction:                   # {taken}
      static_friction: {static_friction:?}
      dynamic_friction: {dynamic_friction:?}
      lateral_creep: {creep:?}
    trace:                      # {taken}
      pattern_share: {pattern:?}
      pattern_gone_at_slip: {gone:?}
",
        summary = summary(fit, other),
        name = quoted(name),
        a = slip.per_deg2_per_m_s,
        a_note = slip_note(0),
        b = slip.per_deg2,
        b_note = slip_note(1),
        c = slip.per_m_s,
        c_note = slip_note(2),
        d = slip.at_rest,
        d_note = slip_note(3),
        speed = slip.speed_max_m_s,
        slope = slip.slope_max_deg,
        slip_range = ranges(&fit.slip),
        slip_max = slip.slip_max,
        skid_max = slip.skid_max,
        z = sinkage.static_mm,
        z_note = sinkage_note(0),
        zs = sinkage.per_slip_mm,
        zs_note = sinkage_note(1),
        zf = sinkage.per_newton_mm,
        zf_note = sinkage_note(2),
        reference = sinkage.reference_n,
        load_range = sinkage.load_range_n,
        sinkage_range = ranges(&fit.sinkage),
        least = sinkage.least_mm,
        hold = sinkage.hold_below_m_s,
        up_to = law.acceleration.up_to_m_s,
        limit = law.acceleration.limit_m_s2,
        static_friction = law.friction.static_friction,
        dynamic_friction = law.friction.dynamic_friction,
        creep = law.friction.lateral_creep,
        pattern = law.trace.pattern_share,
        gone = law.trace.pattern_gone_at_slip,
    )
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
