//! The sky of a scenario: the kernels of its Sun and Earth, and its stars. The files are in
//! the data directory, like those of sites.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::InputError;
use selene_base::input::YamlFile;
use selene_sky::{CatalogueStar, Ephemeris, Kernels, SiteSky, Utc, stars};
use selene_terrain::SiteSpec;
use serde::Deserialize;

use crate::scenario::ScenarioError;

/// Files of the sky; by default series that need no files, and no stars.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SkySpec {
    /// SPICE kernels, relative to the data directory: SPK, binary PCK of the Moon, its
    /// frame kernel; leap seconds if newer than those built in.
    #[garde(length(max = 32), inner(length(min = 1, max = 400)))]
    #[serde(default)]
    pub kernels: Vec<String>,
    /// Catalogue of stars (GeoJSON), relative to the data directory.
    #[garde(inner(length(min = 1, max = 400)))]
    #[serde(default)]
    pub stars: Option<String>,
}

impl SkySpec {
    /// The sky over `site`, which must cover the start, and its stars.
    pub(crate) fn load(
        &self,
        site: &SiteSpec,
        start: Utc,
        scenario: &YamlFile,
        data_dir: Option<&Path>,
    ) -> Result<(SiteSky, Vec<CatalogueStar>), ScenarioError> {
        let find = |key: &str, file: &String| find(key, file, scenario, data_dir);
        let kernels: Vec<_> = self.kernels.iter().map(|file| find("kernels", file)).collect::<Result<_, _>>()?;
        let ephemeris = match &kernels[..] {
            [] => Ephemeris::Analytic,
            files => Ephemeris::Kernels(Arc::new(Kernels::load(files)?)),
        };
        let sky = SiteSky::new(site.latitude_deg, site.longitude_deg).at_height(site.datum_m).with(ephemeris);
        sky.sun(start)?;
        let catalogue = self.stars.as_ref().map(|file| find("stars", file)).transpose()?;
        let stars = catalogue.map(|file| stars(&file)).transpose()?.unwrap_or_default();
        Ok((sky, stars))
    }
}

/// Path of a file in the data directory.
fn find(key: &str, file: &str, scenario: &YamlFile, data_dir: Option<&Path>) -> Result<PathBuf, InputError> {
    let advice = "pass --data DIR or set SELENE_DATA to the directory that holds it";
    let refuse = |what: String| scenario.refusal(&format!("sky.{key}"), format!("{what}: {advice}"));
    let folder = data_dir.ok_or_else(|| refuse(format!("'{file}' is needed, and no data directory is given")))?;
    let path = folder.join(file);
    if path.is_file() { Ok(path) } else { Err(refuse(format!("{} does not exist", path.display()))) }
}
