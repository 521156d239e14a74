//! `--set KEY=VALUE`: replaces values of a scenario's file before it is parsed. A key is a path such as `rover.x_m` or
//! `route.waypoints_m.0`; a value is YAML. The result is parsed and checked like any scenario.

use std::path::Path;
use std::str::FromStr;

use selene_base::input;
use serde_json::{Map, Value};

use crate::fault::Fault;

/// Added to the refusal of a scenario with replaced values.
pub(crate) const NOTE: &str = "(lines are those of the scenario in JSON with the values of --set)";
/// Greatest size of a scenario file, bytes.
const BYTES_MAX: u64 = 4 << 20;

/// A key and its new value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Override {
    key: String,
    value: Value,
}

impl Override {
    /// An override of `key` with a text.
    pub(crate) fn of_text(key: &str, text: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: Value::String(text.into()) }
    }

    /// Whether it replaces the value of `key`.
    pub(crate) fn is_of(&self, key: &str) -> bool {
        self.key == key
    }
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE, such as gravity_m_s2=9.81")?;
        if key.split('.').any(str::is_empty) {
            return Err(format!("'{key}' is no key: names with dots between, such as rover.x_m"));
        }
        let value = serde_yaml::from_str(value).map_err(|error| format!("'{value}' is no YAML value: {error}"))?;
        Ok(Self { key: key.to_owned(), value })
    }
}

/// The text of a scenario's file with the overrides, as JSON, which is also YAML.
pub(crate) fn apply(file: &Path, overrides: &[Override]) -> Result<String, Fault> {
    let refuse = |what: &dyn std::fmt::Display| Fault::input(format!("{}: {what}", file.display()));
    let bytes = input::read_bytes(file, BYTES_MAX).map_err(Fault::input)?;
    let text = String::from_utf8(bytes).map_err(|error| refuse(&format_args!("is not UTF-8: {error}")))?;
    let mut scenario: Value = serde_yaml::from_str(&text).map_err(|error| refuse(&error))?;
    for Override { key, value } in overrides {
        put(&mut scenario, key, value).map_err(|what| Fault::input(format!("--set {key}: {what}")))?;
    }
    serde_json::to_string_pretty(&scenario).map_err(Fault::input)
}

/// Sets the value at the path `key`; creates missing mappings on the way.
fn put(root: &mut Value, key: &str, value: &Value) -> Result<(), String> {
    let mut at = root;
    for name in key.split('.') {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Array(list) => {
                let count = list.len();
                let reported = || format!("'{name}' is no place in a list of {count}, which are numbered from 0");
                let place = name.parse::<usize>().map_err(|_| reported())?;
                list.get_mut(place).ok_or_else(reported)?
            }
            Value::Object(keys) => keys.entry(name).or_insert(Value::Null),
            other => return Err(format!("'{name}' would lie in the value {other}")),
        };
    }
    *at = value.clone();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Override, put};
    use serde_json::{Value, json};

    fn set(scenario: &Value, text: &str) -> Result<Value, String> {
        let Override { key, value } = text.parse()?;
        let mut scenario = scenario.clone();
        put(&mut scenario, &key, &value).map(|()| scenario)
    }

    #[test]
    fn a_value_is_replaced_or_added_wherever_its_key_leads() {
        let scenario = json!({"seed": 1, "route": {"waypoints_m": [[4.0, 0.0], [7.0, 3.0]]}});
        assert_eq!(set(&scenario, "seed=7").expect("taken")["seed"], 7);
        assert_eq!(set(&scenario, "rover.x_m=-1.5").expect("taken")["rover"], json!({"x_m": -1.5}));
        let moved = set(&scenario, "route.waypoints_m.1=[5, 6]").expect("taken");
        assert_eq!(moved["route"]["waypoints_m"], json!([[4.0, 0.0], [5, 6]]));
        assert_eq!(set(&scenario, "soil=soft").expect("taken")["soil"], "soft");
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let scenario = json!({"seed": 1, "sensors": ["imu"]});
        for (text, reported) in [
            ("seed", "KEY=VALUE"),
            ("a..b=1", "no key"),
            ("seed.x=1", "in the value 1"),
            ("sensors.1=gps", "a list of 1"),
            ("sensors.x=gps", "a list of 1"),
            ("seed=[1", "no YAML value"),
        ] {
            assert!(set(&scenario, text).is_err_and(|error| error.contains(reported)), "{text}");
        }
    }
}
