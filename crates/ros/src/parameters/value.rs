//! Values of parameters, and their conversion to and from ROS messages.

use std::fmt;

use crate::rcl_interfaces::{ParameterType, ParameterValue};

/// The value of a parameter. Selene declares no other types.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedValue {
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A string.
    Text(String),
}

impl TypedValue {
    /// The number of its type in `rcl_interfaces/msg/ParameterType`.
    #[must_use]
    pub fn ros_type(&self) -> u8 {
        match self {
            Self::Bool(_) => ParameterType::PARAMETER_BOOL,
            Self::Integer(_) => ParameterType::PARAMETER_INTEGER,
            Self::Double(_) => ParameterType::PARAMETER_DOUBLE,
            Self::Text(_) => ParameterType::PARAMETER_STRING,
        }
    }

    /// The value as a message.
    #[must_use]
    pub fn to_message(&self) -> ParameterValue {
        let message = ParameterValue { r#type: self.ros_type(), ..ParameterValue::default() };
        match self {
            Self::Bool(value) => ParameterValue { bool_value: *value, ..message },
            Self::Integer(value) => ParameterValue { integer_value: *value, ..message },
            Self::Double(value) => ParameterValue { double_value: *value, ..message },
            Self::Text(value) => ParameterValue { string_value: value.clone(), ..message },
        }
    }

    /// The value in a message.
    ///
    /// # Errors
    /// The name of the message's type, if it is none of a [`TypedValue`].
    pub fn from_message(message: &ParameterValue) -> Result<Self, &'static str> {
        match message.r#type {
            ParameterType::PARAMETER_BOOL => Ok(Self::Bool(message.bool_value)),
            ParameterType::PARAMETER_INTEGER => Ok(Self::Integer(message.integer_value)),
            ParameterType::PARAMETER_DOUBLE => Ok(Self::Double(message.double_value)),
            ParameterType::PARAMETER_STRING => Ok(Self::Text(message.string_value.clone())),
            other => Err(type_name(other)),
        }
    }
}

impl fmt::Display for TypedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            // With a decimal point, so that it cannot be read as an integer.
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// The name of a type in messages for people.
pub(super) fn type_name(ros_type: u8) -> &'static str {
    match ros_type {
        ParameterType::PARAMETER_NOT_SET => "no value",
        ParameterType::PARAMETER_BOOL => "bool",
        ParameterType::PARAMETER_INTEGER => "integer",
        ParameterType::PARAMETER_DOUBLE => "double",
        ParameterType::PARAMETER_STRING => "string",
        ParameterType::PARAMETER_BYTE_ARRAY => "byte array",
        ParameterType::PARAMETER_BOOL_ARRAY => "bool array",
        ParameterType::PARAMETER_INTEGER_ARRAY => "integer array",
        ParameterType::PARAMETER_DOUBLE_ARRAY => "double array",
        ParameterType::PARAMETER_STRING_ARRAY => "string array",
        _ => "of a type that ROS 2 does not have",
    }
}
