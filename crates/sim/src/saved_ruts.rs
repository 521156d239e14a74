//! Driven ground, kept between runs: which posts of the finest level wheels and rocks gave
//! new heights, and what the soil remembers of having been pressed. A run that begins
//! with them drives on in those ruts as if it had made them: heights are the same to the
//! bit, and soil that was pressed is not pressed anew. The strength that soil had mobilised in shear
//! is forgotten, and where rover and loose rocks were is not kept.
//!
//! They belong to one site, seed, set of levels and ground, and are refused elsewhere. A file's
//! format is told in `ruts_file`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selene_base::input::{self, InputError};
use selene_soil::{PressedTile, SoilMemory};
use selene_terrain::{Edit, Ground, SiteSpec};

use crate::likeness::{Difference, Likeness};
use crate::ruts_file::{self, Flaw};
use crate::world::World;

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Why driven ground cannot be saved or taken.
#[derive(Debug, thiserror::Error)]
pub enum RutsError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is damaged, or of other ground.
    #[error("{}: {field}: {what}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Where in it.
        field: String,
        /// The value and what is asked.
        what: String,
    },
    /// Ground that was not made from a site.
    #[error("this ground was made from no site, so that its ruts belong nowhere else")]
    NoSite,
}

/// Driven ground.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedRuts {
    pub(crate) site: String,
    pub(crate) seed: u64,
    /// Spacing and side of each level, m, finest first.
    pub(crate) levels: Vec<[f64; 2]>,
    pub(crate) likeness: Likeness,
    /// Soil too little to change a height, m³.
    pub(crate) crumbs_m3: f64,
    /// By row and column from the first window's corner.
    pub(crate) tiles: BTreeMap<[i16; 2], DrivenTile>,
}

/// What was done to one tile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DrivenTile {
    /// Changed posts in order, with their heights, m.
    pub(crate) changed: Vec<(u16, f32)>,
    pub(crate) soil: Option<PressedTile>,
}

impl SavedRuts {
    /// The ground of a world as it is now.
    ///
    /// # Errors
    /// When its ground was made from no site.
    pub fn of(world: &World) -> Result<Self, RutsError> {
        let (ground, memory, scenario) = (world.ground(), world.soil_memory(), world.scenario());
        let surroundings = ground.surroundings().ok_or(RutsError::NoSite)?;
        let mut tiles: BTreeMap<[i16; 2], DrivenTile> = BTreeMap::new();
        for edit in ground.all_edits() {
            tiles.entry([edit.tile[1], edit.tile[0]]).or_default().changed.push((edit.node, edit.height_m));
        }
        // Tiles beyond the numbering of edits are none that a window reaches.
        let numbered = |at: [i64; 2]| Some([i16::try_from(at[0]).ok()?, i16::try_from(at[1]).ok()?]);
        for (at, soil) in memory.pressed() {
            let Some(at) = numbered(at).filter(|_| !soil.known().is_empty()) else { continue };
            tiles.entry(at).or_default().soil = Some(soil);
        }
        Ok(Self {
            site: scenario.site.name.clone(),
            seed: scenario.seed,
            levels: levels(&scenario.site),
            likeness: Likeness::of(&Ground::around_origin(surroundings.clone())),
            crumbs_m3: memory.crumbs_m3(),
            tiles,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, foreign or newer.
    pub fn load(path: &Path) -> Result<Self, RutsError> {
        let bytes = input::read_bytes(path, FILE_BYTES_MAX)?;
        ruts_file::decode(&bytes).map_err(|flaw| refused(path, flaw))
    }

    /// Writes a file, whole or not at all: an older one of that name stays until this one is there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), RutsError> {
        let failed = |source| RutsError::Write { path: path.to_owned(), source };
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        std::fs::write(&beside, ruts_file::encode(self).map_err(failed)?).map_err(failed)?;
        std::fs::rename(&beside, path).map_err(failed)
    }

    /// Refuses them on another site, seed or set of levels; `path` is named in the error.
    ///
    /// # Errors
    /// With field, value and what to do.
    pub fn check_site(&self, site: &SiteSpec, seed: u64, path: &Path) -> Result<(), RutsError> {
        let flaw = if self.site != site.name {
            Flaw::new("site", format!("is '{}'; this run is on '{}'", self.site, site.name))
        } else if self.seed != seed {
            Flaw::new("seed", format!("is {}, this run's {seed}: give --seed {}", self.seed, self.seed))
        } else if self.levels != levels(site) {
            let what = format!("(spacing and side, m) are {:?}; the site's are {:?}", self.levels, levels(site));
            Flaw::new("levels", what)
        } else {
            return Ok(());
        };
        Err(refused(path, flaw))
    }

    /// Lays them on undriven ground.
    ///
    /// # Errors
    /// When it is other ground than they were made on; `path` is named in the error.
    pub fn put_on(&self, ground: &mut Ground, path: &Path) -> Result<(), RutsError> {
        let surroundings = ground.surroundings().ok_or(RutsError::NoSite)?;
        let home = Ground::around_origin(surroundings.clone());
        if let Some(Difference { level, at_m: [x, y], heights_m: [then_m, now_m] }) = self.likeness.difference(&home) {
            let what = format!(
                "level {level} lies at {now_m:.4} m on average about ({x:.1}, {y:.1}) m, and lay at {then_m:.4} m: \
                 the site's laws, its elevation file or this Selene are not those that the ruts were made with"
            );
            return Err(refused(path, Flaw::new("mean heights", what)));
        }
        ground.apply(&self.edits());
        Ok(())
    }

    /// New heights, in order of tile and node.
    #[must_use]
    pub fn edits(&self) -> Vec<Edit> {
        let edits = |(&[row, column], tile): (&[i16; 2], &DrivenTile)| {
            let edit = move |&(node, height_m): &(u16, f32)| Edit { tile: [column, row], node, height_m };
            tile.changed.iter().map(edit).collect::<Vec<_>>()
        };
        self.tiles.iter().flat_map(edits).collect()
    }

    /// Seed of the ground that they were made on.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many posts have new heights.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tiles.values().map(|tile| tile.changed.len()).sum()
    }

    /// What the soil of `ground`, on which they lie, remembers.
    #[must_use]
    pub fn memory(&self, ground: &Ground) -> SoilMemory {
        let mut memory = SoilMemory::new(ground);
        let soil = |(at, tile): (&[i16; 2], &DrivenTile)| Some((at.map(i64::from), tile.soil.clone()?));
        memory.recall(self.tiles.iter().filter_map(soil), self.crumbs_m3);
        memory
    }
}

fn levels(site: &SiteSpec) -> Vec<[f64; 2]> {
    site.levels.iter().map(|level| [level.spacing_m, level.side_m]).collect()
}

fn refused(path: &Path, Flaw { field, what }: Flaw) -> RutsError {
    RutsError::Refused { path: path.to_owned(), field, what }
}
