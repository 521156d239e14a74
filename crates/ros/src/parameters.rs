//! ROS 2 parameters of a node: each is declared once with a name, a value of one type, a description and a range.
//! [`serve_parameters`] lets other nodes read, list, describe and set them.
//!
//! All of them are declared before they are served. Other nodes cannot add or delete parameters or change their type,
//! and a read-only one keeps its value. A change is checked first and applied afterwards, so that several can be set
//! together or not at all. Sources: `rcl_interfaces` and `NodeParameters` of rclcpp (Jazzy), whose rules for prefixes
//! and depth are kept.

mod served;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

use crate::rcl_interfaces::srv::ListParametersRequest;
use crate::rcl_interfaces::{self, FloatingPointRange, IntegerRange, ListParametersResult, ParameterDescriptor};

pub use served::{PARAMETER_EVENTS, ServedParameters, serve_parameters};
pub use value::TypedValue;

/// Separator between the parts of a name.
const SEPARATOR: char = '.';

/// Why a parameter was not set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No parameter of this name is declared.
    #[error("parameter {name:?} is not declared; there are {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all declared parameters.
        known: String,
    },
    /// The value is of another type.
    #[error("parameter {name} is of type {declared}; given was {given}")]
    WrongType {
        /// The parameter's name.
        name: String,
        /// Its declared type.
        declared: &'static str,
        /// The type of the given value.
        given: String,
    },
    /// The value is outside the parameter's range.
    #[error("parameter {name}: {value} is not allowed: must be {allowed}")]
    OutOfRange {
        /// The parameter's name.
        name: String,
        /// The given value.
        value: TypedValue,
        /// The allowed range, as text.
        allowed: String,
    },
    /// The parameter is read-only.
    #[error("parameter {name} is read-only: {description}")]
    ReadOnly {
        /// The parameter's name.
        name: String,
        /// The parameter's description.
        description: String,
    },
    /// The node's own check refuses the value.
    #[error("parameter {name}: {value} is not allowed: {why}")]
    Refused {
        /// The parameter's name.
        name: String,
        /// The given value.
        value: TypedValue,
        /// The reason.
        why: String,
    },
}

/// The values that a parameter may have, apart from its check.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueRange {
    /// All values of its type.
    Any,
    /// Integers, both ends included.
    Integers(RangeInclusive<i64>),
    /// Numbers, both ends included.
    Doubles(RangeInclusive<f64>),
}

impl ValueRange {
    fn contains(&self, value: &TypedValue) -> bool {
        match (self, value) {
            (Self::Integers(range), TypedValue::Integer(value)) => range.contains(value),
            (Self::Doubles(range), TypedValue::Double(value)) => range.contains(value),
            _ => true,
        }
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => write!(f, "anything of its type"),
            Self::Integers(range) => write!(f, "{} to {}", range.start(), range.end()),
            Self::Doubles(range) => write!(f, "{} to {}", range.start(), range.end()),
        }
    }
}

type Check = Box<dyn Fn(&TypedValue) -> Result<(), String> + Send + Sync>;
type Apply = Box<dyn Fn(&TypedValue) + Send + Sync>;
type Read = Box<dyn Fn() -> TypedValue + Send + Sync>;

/// How a parameter is changed. Both closures run on the adapter's thread and must not block or use the parameters: work
/// that takes time is queued for the node.
pub struct ParameterChange {
    check: Check,
    apply: Apply,
}

impl ParameterChange {
    /// A change that `apply` makes if `check` accepts the value; otherwise `check` returns the reason.
    pub fn new(
        check: impl Fn(&TypedValue) -> Result<(), String> + Send + Sync + 'static,
        apply: impl Fn(&TypedValue) + Send + Sync + 'static,
    ) -> Self {
        Self { check: Box::new(check), apply: Box::new(apply) }
    }
}

/// Whether a parameter can be changed.
pub enum Access {
    /// It cannot be set.
    ReadOnly,
    /// It can be set, in this way.
    Changeable(ParameterChange),
}

/// A declared parameter.
pub struct Parameter {
    /// Its name; parts are separated by points.
    pub name: String,
    /// Its value.
    pub value: TypedValue,
    /// Its description, with the unit.
    pub description: String,
    /// Limits of its values that the range does not express.
    pub constraints: String,
    /// The range of its values.
    pub range: ValueRange,
    /// Whether and how it can be changed.
    pub access: Access,
    /// Reads the value, if it also changes by other means than parameters.
    read: Option<Read>,
}

impl Parameter {
    /// A parameter that keeps its value.
    pub fn read_only(name: impl Into<String>, value: TypedValue, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value,
            description: description.into(),
            constraints: String::new(),
            range: ValueRange::Any,
            access: Access::ReadOnly,
            read: None,
        }
    }

    /// A parameter that can be set.
    pub fn changeable(
        name: impl Into<String>,
        value: TypedValue,
        description: impl Into<String>,
        range: ValueRange,
        change: ParameterChange,
    ) -> Self {
        Self { range, access: Access::Changeable(change), ..Self::read_only(name, value, description) }
    }

    /// Adds a description of limits that the range does not express.
    #[must_use]
    pub fn constrained(self, constraints: impl Into<String>) -> Self {
        Self { constraints: constraints.into(), ..self }
    }

    /// Has the value read by `read` on each request, since it also changes by other means than parameters. `read` must
    /// not block, and returns values of the parameter's type.
    #[must_use]
    pub fn read_by(self, read: impl Fn() -> TypedValue + Send + Sync + 'static) -> Self {
        Self { read: Some(Box::new(read)), ..self }
    }

    fn value_now(&self) -> TypedValue {
        self.read.as_ref().map_or_else(|| self.value.clone(), |read| read())
    }

    /// The parameter `use_sim_time` of every Selene node, which is always true.
    fn use_sim_time() -> Self {
        let reason = "Selene's time is its own: it is always simulated";
        let check =
            move |value: &TypedValue| if *value == TypedValue::Bool(true) { Ok(()) } else { Err(reason.to_owned()) };
        let description = "Whether time is that of /clock: always, since Selene itself makes it.";
        let change = ParameterChange::new(check, |_| ());
        Self::changeable("use_sim_time", TypedValue::Bool(true), description, ValueRange::Any, change)
            .constrained("must be true")
    }

    /// The parameter's change, if it may be set to `value`.
    fn change(&self, value: &TypedValue) -> Result<&ParameterChange, ParameterError> {
        let name = self.name.clone();
        if value.ros_type() != self.value.ros_type() {
            let given = format!("{} {value}", value::type_name(value.ros_type()));
            return Err(self.wrong_type(given));
        }
        let Access::Changeable(change) = &self.access else {
            return Err(ParameterError::ReadOnly { name, description: self.description.clone() });
        };
        if !self.range.contains(value) {
            return Err(ParameterError::OutOfRange { name, value: value.clone(), allowed: self.range.to_string() });
        }
        match (change.check)(value) {
            Ok(()) => Ok(change),
            Err(why) => Err(ParameterError::Refused { name, value: value.clone(), why }),
        }
    }

    fn wrong_type(&self, given: String) -> ParameterError {
        let declared = value::type_name(self.value.ros_type());
        ParameterError::WrongType { name: self.name.clone(), declared, given }
    }

    fn described(&self) -> ParameterDescriptor {
        let mut descriptor = ParameterDescriptor {
            name: self.name.clone(),
            r#type: self.value.ros_type(),
            description: self.description.clone(),
            additional_constraints: self.constraints.clone(),
            read_only: matches!(self.access, Access::ReadOnly),
            ..ParameterDescriptor::default()
        };
        match &self.range {
            ValueRange::Any => {}
            ValueRange::Integers(range) => {
                let range = IntegerRange { from_value: *range.start(), to_value: *range.end(), step: 0 };
                descriptor.integer_range.push(range);
            }
            ValueRange::Doubles(range) => {
                let range = FloatingPointRange { from_value: *range.start(), to_value: *range.end(), step: 0.0 };
                descriptor.floating_point_range.push(range);
            }
        }
        descriptor
    }
}

/// The parameters of a node, by name.
pub struct Parameters {
    declared: BTreeMap<String, Parameter>,
}

impl Default for Parameters {
    /// `use_sim_time`, which every node has.
    fn default() -> Self {
        Self { declared: BTreeMap::new() }.with(Parameter::use_sim_time())
    }
}

impl Parameters {
    /// Adds `parameter`, replacing one of the same name.
    #[must_use]
    pub fn with(mut self, parameter: Parameter) -> Self {
        self.declared.insert(parameter.name.clone(), parameter);
        self
    }

    /// The value of parameter `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<TypedValue> {
        self.declared.get(name).map(Parameter::value_now)
    }

    /// All parameters as messages, sorted by name.
    fn to_messages(&self) -> Vec<rcl_interfaces::Parameter> {
        let message = |(name, parameter): (&String, &Parameter)| rcl_interfaces::Parameter {
            name: name.clone(),
            value: parameter.value_now().to_message(),
        };
        self.declared.iter().map(message).collect()
    }

    /// Sets parameter `name`.
    ///
    /// # Errors
    /// When it is not declared, is read-only or does not accept `value`; it then keeps its value.
    pub fn set(&mut self, name: &str, value: &TypedValue) -> Result<(), ParameterError> {
        (self.declared(name)?.change(value)?.apply)(value);
        if let Some(parameter) = self.declared.get_mut(name) {
            parameter.value = value.clone();
        }
        Ok(())
    }

    /// Sets all these parameters or, if one cannot be set, none.
    ///
    /// # Errors
    /// Those of `set`, for the first that cannot be set.
    pub fn set_all(&mut self, values: &[(String, TypedValue)]) -> Result<(), ParameterError> {
        values.iter().try_for_each(|(name, value)| self.declared(name)?.change(value).map(|_| ()))?;
        values.iter().try_for_each(|(name, value)| self.set(name, value))
    }

    fn declared(&self, name: &str) -> Result<&Parameter, ParameterError> {
        let known = || self.declared.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.declared.get(name).ok_or_else(|| ParameterError::Unknown { name: name.to_owned(), known: known() })
    }

    fn described(&self, name: &str) -> ParameterDescriptor {
        let unknown = || ParameterDescriptor { name: name.to_owned(), ..ParameterDescriptor::default() };
        self.declared.get(name).map_or_else(unknown, Parameter::described)
    }

    /// The names below the prefixes, at most `depth` parts deeper, and the prefixes of these names.
    fn listed(&self, request: &ListParametersRequest) -> ListParametersResult {
        let ListParametersRequest { prefixes, depth } = request;
        let is_requested = |name: &str| match &prefixes[..] {
            [] => reaches(name, *depth),
            prefixes => prefixes.iter().any(|prefix| is_below(name, prefix, *depth)),
        };
        let names: Vec<String> = self.declared.keys().filter(|name| is_requested(name)).cloned().collect();
        let prefixes: BTreeSet<&str> =
            names.iter().filter_map(|name| name.rsplit_once(SEPARATOR)).map(|(p, _)| p).collect();
        ListParametersResult { prefixes: prefixes.into_iter().map(str::to_owned).collect(), names }
    }
}

/// Whether a name has at most `depth` parts; 0 allows any number.
fn reaches(name: &str, depth: u64) -> bool {
    depth == ListParametersRequest::DEPTH_RECURSIVE || (name.split(SEPARATOR).count() as u64) <= depth
}

fn is_below(name: &str, prefix: &str, depth: u64) -> bool {
    let below = || name.strip_prefix(prefix)?.strip_prefix(SEPARATOR);
    name == prefix || below().is_some_and(|below| reaches(below, depth))
}

#[cfg(test)]
mod tests;
