//! The values that a campaign gives to a key of the scenario: a list, or a distribution to draw from for each row.

use schemars::JsonSchema;
use selene_base::random::{RngExt, Stream};
use selene_learn::{Distribution, unfit};
use serde::Deserialize;
use serde_json::Value;

/// The most values of one key.
const VALUES_MAX: usize = 10_000;
/// Range of drawn numbers; the scenario's own limits are checked when a row is run.
const DRAWN: [f64; 2] = [-1e12, 1e12];

/// The values of a key.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(with = "AxisForms")]
pub enum Axis {
    /// A list: a grid has a row for each value, a sample picks one at random. A single value is a list of one.
    Values(Vec<Value>),
    /// A number, drawn for each row.
    Drawn(Distribution),
}

/// The forms of an axis in a file, for its schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum AxisForms {
    Drawn(Distribution),
    Values(#[schemars(length(min = 1, max = VALUES_MAX))] Vec<Value>),
    Number(f64),
    Flag(bool),
    Text(String),
}

impl TryFrom<Value> for Axis {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Array(values) if values.is_empty() || values.len() > VALUES_MAX => {
                Err(format!("{} values are not allowed: must be 1 to {VALUES_MAX}", values.len()))
            }
            Value::Array(values) => Ok(Self::Values(values)),
            Value::Object(_) => {
                let drawn: Distribution = serde_json::from_value(value).map_err(|error| error.to_string())?;
                unfit(&drawn, DRAWN).map_or(Ok(Self::Drawn(drawn)), Err)
            }
            alone => Ok(Self::Values(vec![alone])),
        }
    }
}

impl Axis {
    /// Number of values that the key contributes to a grid.
    pub(crate) fn grid_len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Drawn(_) => 1,
        }
    }

    /// The value for a row of a grid, by its index on the axis.
    pub(crate) fn at(&self, place: usize, stream: &mut Stream) -> Value {
        match self {
            Self::Values(values) => values[place].clone(),
            Self::Drawn(distribution) => distribution.draw(stream).into(),
        }
    }

    /// The value for a row of a sample.
    pub(crate) fn sampled(&self, stream: &mut Stream) -> Value {
        let place = match self {
            Self::Values(values) => stream.random_range(0..values.len()),
            Self::Drawn(_) => 0,
        };
        self.at(place, stream)
    }
}
