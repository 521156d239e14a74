//! The closed set of wheel–soil laws.

use crate::scm::{Scm, SoilError};
use crate::spec::{SoilLaw, SoilSpec};

/// A validated law with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// The soil contact model, node by node.
    Scm(Scm),
}

impl TryFrom<&SoilSpec> for Law {
    type Error = SoilError;

    fn try_from(spec: &SoilSpec) -> Result<Self, SoilError> {
        match &spec.law {
            SoilLaw::Scm(_) => Scm::try_from(spec).map(Self::Scm),
        }
    }
}
