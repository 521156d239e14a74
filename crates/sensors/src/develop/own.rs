//! User's stages in Rust: named functions on a plate, which a sensor's YAML puts at any place of its list with
//! `own: {name: …}`. The user registers each with the quantity that it works on; it must not change that quantity.

use std::fmt;
use std::sync::Arc;

use garde::Validate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::DevelopError;
use super::plate::{Plate, Quantity};
use super::shot::Shot;

/// `own`: a user's stage in this process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OwnSpec {
    /// The name under which the stage was registered in Rust.
    #[garde(length(min = 1))]
    pub name: String,
}

/// The function of a user's stage.
type Work = Arc<dyn Fn(&mut Plate, &Shot<'_>) + Send + Sync>;

/// A user's stage.
#[derive(Clone)]
pub(super) struct UserStage {
    pub(super) on: Quantity,
    work: Work,
}

impl UserStage {
    /// Applies the stage and checks that it keeps the shape of the plate.
    pub(super) fn apply(&self, plate: &mut Plate, shot: &Shot<'_>) -> Result<(), DevelopError> {
        let shape = |plate: &Plate| (plate.width, plate.height, plate.planes.iter().map(Vec::len).collect::<Vec<_>>());
        let before = shape(plate);
        (self.work)(plate, shot);
        if shape(plate) == before { Ok(()) } else { Err(DevelopError::Own) }
    }
}

impl fmt::Debug for UserStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stage on {}", self.on)
    }
}

/// User's stages by name.
#[derive(Clone, Debug, Default)]
pub struct OwnStages(Vec<(String, UserStage)>);

impl OwnStages {
    /// An empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stage that works on plates of this quantity. It must not change the quantity, nor the number or size of
    /// the planes, and must depend on nothing but plate and shot, so that the same run gives the same bytes. A later
    /// stage of the same name replaces the earlier one.
    #[must_use]
    pub fn with_stage(
        mut self,
        name: &str,
        on: Quantity,
        work: impl Fn(&mut Plate, &Shot<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), UserStage { on, work: Arc::new(work) }));
        self
    }

    pub(super) fn find(&self, name: &str) -> Option<&UserStage> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, own)| own)
    }

    /// The names, as text for error messages.
    pub(super) fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
