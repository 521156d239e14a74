//! YAML mappings that must have exactly one of several keys, and the key selects the kind of thing. They replace serde
//! enums, inside which errors lose the line of a value.

/// None or several keys are given where exactly one must be; holds the allowed keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be exactly one of {}", .0.join(", "))]
pub struct NotOneOf(Vec<&'static str>);

/// The value of the only key that is given.
///
/// # Errors
/// When none or several of the keys are given; the error lists the keys.
pub fn one_of<T, const N: usize>(keys: [(&'static str, Option<T>); N]) -> Result<T, NotOneOf> {
    let names = keys.each_ref().map(|(name, _)| *name);
    let mut given = keys.into_iter().filter_map(|(_, value)| value);
    match (given.next(), given.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(NotOneOf(names.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::one_of;

    #[test]
    fn one_is_taken_and_none_or_two_are_refused_with_what_there_is() {
        assert_eq!(one_of([("circle", None), ("square", Some(2))]), Ok(2));
        for given in [None, Some(1)] {
            let refusal = one_of([("circle", given), ("square", given)]).expect_err("refused").to_string();
            assert_eq!(refusal, "must be exactly one of circle, square");
        }
    }
}
