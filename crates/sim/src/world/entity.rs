//! What there is in a world beside its ground: rovers, objects that stand fast, loose rocks. All but
//! rocks have a number that is not given twice until the world is reset; rocks have that of the site, or one
//! from `FIRST_LAID` on.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_vehicle::contact::Party;
use serde::{Deserialize, Serialize};

use crate::scenario::LooseRockSpec;

/// Number of a rover or an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u32);

impl std::fmt::Display for EntityId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Where something is put; heights above standing on the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnPlace {
    /// Map x, m.
    pub x_m: f64,
    /// Map y, m.
    pub y_m: f64,
    /// Height above standing, m.
    pub z_m: f64,
    /// Heading from map x (east), counter-clockwise, rad.
    pub yaw_rad: f64,
}

/// Something to add to a world that runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Spawn {
    /// A rover.
    Rover {
        /// Its name, unique in the world.
        name: String,
        /// Namespace of its topics, unique among rovers: usually its name; empty for none.
        namespace: String,
        /// Its YAML file, in an allowed folder.
        file: PathBuf,
        /// Files of its sensors, in an allowed folder.
        sensors: Vec<PathBuf>,
        /// Where.
        place: SpawnPlace,
    },
    /// An object that stands fast.
    Object {
        /// Its name, unique in the world.
        name: String,
        /// Its URDF or mesh, in an allowed folder.
        file: PathBuf,
        /// Where.
        place: SpawnPlace,
    },
    /// An object that stands fast, by the text of its URDF.
    Described {
        /// Its name, unique in the world.
        name: String,
        /// The URDF. Its meshes are in allowed folders.
        urdf: String,
        /// Where.
        place: SpawnPlace,
    },
    /// A loose rock.
    Rock {
        /// Its name, unique in the world; empty for one that is called by its number.
        name: String,
        /// What it is and where.
        spec: LooseRockSpec,
    },
}

/// Something in a world, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Entity {
    /// A rover.
    Rover(EntityId),
    /// An object that stands fast.
    Object(EntityId),
    /// A loose rock.
    Rock(u32),
}

impl Entity {
    /// Whether a body is part of it.
    pub(crate) fn has(&self, party: &Party) -> bool {
        match (party, self) {
            (Party::Wheel(id, _) | Party::Part(id, _), Self::Rover(own)) => *id == own.0,
            (Party::Obstacle(id, _), Self::Object(own)) => *id == own.0,
            (Party::Rock(id), Self::Rock(own)) => id == own,
            _ => false,
        }
    }
}

/// Folders that files of what is added while a world runs may lie in.
#[derive(Clone, Debug, Default)]
pub struct AllowedFolders(Vec<PathBuf>);

impl AllowedFolders {
    /// These folders and all below them; those that are not there are left out.
    #[must_use]
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).collect())
    }

    /// The folders themselves.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// The file of a name: a whole path, or one that begins in an allowed folder, the first that has it.
    ///
    /// # Errors
    /// As `find`.
    pub fn resolve(&self, name: &str) -> Result<PathBuf, InputError> {
        let path = Path::new(name);
        let there = self.0.iter().map(|folder| folder.join(path)).find(|file| file.exists());
        match there {
            // A whole path stays what it is, whatever it is joined to.
            Some(file) => self.find(&file),
            None if path.is_absolute() => self.find(path),
            None => Err(InputError::content(path, format!("is in no folder that may be used ({})", self.told()))),
        }
    }

    /// The file's own path, links followed.
    ///
    /// # Errors
    /// When it cannot be found, lies elsewhere or has a path that is not UTF-8: saved states could not name it.
    pub fn find(&self, file: &Path) -> Result<PathBuf, InputError> {
        if file.to_str().is_none() {
            return Err(InputError::content(file, "its path must be UTF-8; rename it"));
        }
        let found = file.canonicalize().map_err(|source| InputError::Read { path: file.to_owned(), source })?;
        if self.0.iter().any(|folder| found.starts_with(folder)) {
            return Ok(found);
        }
        Err(InputError::content(file, format!("lies outside the folders that may be used ({})", self.told())))
    }

    fn told(&self) -> String {
        let folders: Vec<_> = self.0.iter().map(|folder| folder.display().to_string()).collect();
        if folders.is_empty() { "none is allowed".to_owned() } else { folders.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::AllowedFolders;
    use std::path::Path;

    #[test]
    fn a_file_is_taken_from_allowed_folders_alone() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let allowed = AllowedFolders::new([config.join("rover")]);
        assert!(allowed.find(&config.join("rover/viper.yaml")).is_ok());
        let climbing = config.join("rover/../site/polar.yaml");
        let told = allowed.find(&climbing).expect_err("outside").to_string();
        assert!(told.contains("lies outside the folders") && told.contains("config/rover"), "{told}");
        assert!(AllowedFolders::default().find(&config.join("rover/viper.yaml")).is_err());
        assert!(allowed.find(&config.join("rover/nobody.yaml")).is_err());
    }

    #[test]
    fn a_name_is_sought_in_allowed_folders_and_leads_out_of_none() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let allowed = AllowedFolders::new([config.join("site"), config.join("rover")]);
        let viper = allowed.resolve("viper.yaml").expect("there");
        assert_eq!(viper, config.join("rover/viper.yaml").canonicalize().expect("there"));
        assert_eq!(allowed.resolve(viper.to_str().expect("UTF-8")).expect("there"), viper);
        for outside in ["../soil/lunar.yaml", "../../Cargo.toml", "/etc/hostname", "/etc/../etc", "nobody.yaml", "a\0b"]
        {
            assert!(allowed.resolve(outside).is_err(), "{outside}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_an_allowed_folder_is_followed_and_refused() {
        let folder = std::env::temp_dir().join(format!("selene-allowed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let outside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/site/polar.yaml");
        std::os::unix::fs::symlink(outside.canonicalize().expect("there"), folder.join("polar.yaml")).expect("a link");
        let told = AllowedFolders::new([folder.clone()]).find(&folder.join("polar.yaml"));
        std::fs::remove_dir_all(&folder).expect("clean");
        assert!(told.expect_err("outside").to_string().contains("lies outside the folders"));
    }
}
