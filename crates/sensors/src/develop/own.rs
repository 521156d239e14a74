//! Stages that users write: a function of a plate under a name, which a sensor's YAML puts
//! at any place of its list by `own: {name: …}`. The quantity it works on is said when it
//! is named, and it leaves that quantity.

use std::fmt;
use std::sync::Arc;

use garde::Validate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::DevelopError;
use super::plate::{Plate, Quantity};
use super::shot::Shot;

/// `own`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OwnSpec {
    /// The name that the stage was given in Rust.
    #[garde(length(min = 1))]
    pub name: String,
}

/// What a stage of one's own does.
type Work = Arc<dyn Fn(&mut Plate, &Shot<'_>) + Send + Sync>;

/// A stage of one's own.
#[derive(Clone)]
pub(super) struct Own {
    pub(super) on: Quantity,
    work: Work,
}

impl Own {
    /// Does its work; what it leaves must have the shape of what it was given.
    pub(super) fn apply(&self, plate: &mut Plate, shot: &Shot<'_>) -> Result<(), DevelopError> {
        let shape = |plate: &Plate| (plate.width, plate.height, plate.planes.iter().map(Vec::len).collect::<Vec<_>>());
        let before = shape(plate);
        (self.work)(plate, shot);
        if shape(plate) == before { Ok(()) } else { Err(DevelopError::Own) }
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stage on {}", self.on)
    }
}

/// Stages of one's own by name.
#[derive(Clone, Debug, Default)]
pub struct OwnStages(Vec<(String, Own)>);

impl OwnStages {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more, which works on plates of this quantity and must neither change that
    /// nor the number or size of the planes. What it does may depend on nothing but plate
    /// and shot, so that the same run gives the same bytes. A later stage of the same name
    /// replaces the earlier.
    #[must_use]
    pub fn with_stage(
        mut self,
        name: &str,
        on: Quantity,
        work: impl Fn(&mut Plate, &Shot<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), Own { on, work: Arc::new(work) }));
        self
    }

    pub(super) fn find(&self, name: &str) -> Option<&Own> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, own)| own)
    }

    /// The names, for people to read.
    pub(super) fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
