//! Where the points of a state are: in it, or on the device that stepped them last. Those on a device are newer than the
//! state's, which keep their order, numbers and masses.
//!
//! A state without its points is no value that could be saved, hashed or sent: to write one is an error.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::Deserialize;
use serde::{Deserializer, Serialize, Serializer, ser};

/// The number of a step on a device, different for all steps of the program. Points are where this step left them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepNumber(u64);

impl StepNumber {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Where points are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the state.
    #[default]
    State,
    /// On the device whose last step this was.
    Device(StepNumber),
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::State => serializer.serialize_unit(),
            Self::Device(_) => Err(ser::Error::custom("points of granular soil are on a device")),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer).map(|()| Self::State)
    }
}
