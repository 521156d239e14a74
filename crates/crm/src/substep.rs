//! Division of a step into substeps: the remaining time is split evenly.

/// Length, s, of the next substep of at most `limit_s`, and whether it is the last.
///
/// # Errors
/// The number of substeps needed, when it is above `allowed`.
pub fn next_substep(remaining_s: f64, limit_s: f64, allowed: u32) -> Result<(f64, bool), f64> {
    // Rounding errors must not add a substep.
    let needed = (remaining_s / limit_s * (1.0 - 1e-9)).ceil().max(1.0);
    if needed > f64::from(allowed) {
        return Err(needed);
    }
    Ok((remaining_s / needed, needed <= 1.0))
}

#[cfg(test)]
mod tests {
    use super::next_substep;

    #[test]
    fn what_remains_is_shared_out_evenly_up_to_the_last_allowed_substep() {
        assert_eq!(next_substep(1.0, 0.3, 4), Ok((0.25, false)));
        assert_eq!(next_substep(1.0, 0.25 * (1.0 - 1e-12), 4), Ok((0.25, false)));
        assert_eq!(next_substep(0.3, 0.3, 1), Ok((0.3, true)));
        assert_eq!(next_substep(0.1, f64::INFINITY, 1), Ok((0.1, true)));
        assert_eq!(next_substep(1.0, 0.3, 3), Err(4.0));
    }
}
