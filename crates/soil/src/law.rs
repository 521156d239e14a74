//! The closed set of wheel–soil laws.

use garde::Validate;

use crate::data::DataDriven;
use crate::dust::Dust;
use crate::rigid::Rigid;
use crate::scm::{Scm, SoilError};
use crate::slip_map::SlipMap;
use crate::spec::{SoilLaw, SoilSpec};
use crate::wheel_memory::LawKind;

/// A validated law with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// The soil contact model, node by node.
    Scm(Scm),
    /// Slip and sinkage by regressions of measurements.
    Data(DataDriven),
    /// Rigid ground with Coulomb friction.
    Rigid(Rigid),
    /// Drawbar against slip from a table.
    SlipMap(SlipMap),
}

impl Law {
    /// Parameters of the dust that is thrown; none where none is.
    #[must_use]
    pub fn dust(&self) -> Option<&Dust> {
        match self {
            Self::Scm(scm) => scm.dust.as_ref(),
            Self::Data(_) | Self::Rigid(_) | Self::SlipMap(_) => None,
        }
    }

    pub(crate) fn kind(&self) -> LawKind {
        match self {
            Self::Scm(_) => LawKind::Scm,
            Self::Data(_) => LawKind::Data,
            Self::Rigid(_) => LawKind::Rigid,
            Self::SlipMap(_) => LawKind::SlipMap,
        }
    }
}

impl TryFrom<&SoilSpec> for Law {
    type Error = SoilError;

    fn try_from(spec: &SoilSpec) -> Result<Self, SoilError> {
        let refused =
            |report: garde::Report| SoilError::Refused { name: spec.name.clone(), report: report.to_string() };
        spec.validate().map_err(refused)?;
        match &spec.law {
            SoilLaw::Scm(_) => Scm::try_from(spec).map(Self::Scm),
            SoilLaw::Data(data) => Ok(Self::Data(DataDriven::from(data))),
            SoilLaw::Rigid(rigid) => Ok(Self::Rigid(Rigid::from(rigid))),
            SoilLaw::SlipMap(map) => Ok(Self::SlipMap(SlipMap::from(map))),
        }
    }
}
