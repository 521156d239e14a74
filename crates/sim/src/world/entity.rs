//! The entities of a world: rovers, fixed objects and loose rocks. Rovers and objects have an id that is not
//! used again until the world is reset. Rocks of the site have its ids; added rocks have ids from
//! `FIRST_LAID` on.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_vehicle::contact::Collider;
use serde::{Deserialize, Serialize};

use crate::scenario::LooseRockSpec;

/// Id of a rover or an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u32);

impl EntityId {
    /// The highest id: 32-bit numbers in images have 18 bits for rovers and objects.
    pub const LAST: Self = Self((1 << 18) - 1);
}

impl std::fmt::Display for EntityId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Place of a new entity on the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnPlace {
    /// Map x, m.
    pub x_m: f64,
    /// Map y, m.
    pub y_m: f64,
    /// Height above its place on the ground, m.
    pub z_m: f64,
    /// Heading from map x (east), counter-clockwise, rad.
    pub yaw_rad: f64,
}

/// An entity to add to a running world.
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
        /// Where it is put.
        place: SpawnPlace,
    },
    /// A fixed object.
    Object {
        /// Its name, unique in the world.
        name: String,
        /// Its URDF or mesh, in an allowed folder.
        file: PathBuf,
        /// Where it stands.
        place: SpawnPlace,
    },
    /// A fixed object, by the text of its URDF.
    Described {
        /// Its name, unique in the world.
        name: String,
        /// The URDF. Its meshes are in allowed folders.
        urdf: String,
        /// Where it is put.
        place: SpawnPlace,
    },
    /// A loose rock.
    Rock {
        /// Its name, unique in the world; empty for a rock that is named by its id.
        name: String,
        /// Its size, shape, density and place.
        spec: LooseRockSpec,
    },
}

/// An entity that was added to a running world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawned {
    /// Its kind and id.
    pub entity: Entity,
    /// What it was made from.
    pub spawn: Spawn,
    /// Fingerprints of what its files held, each with the files that it names: of a rover, its own file and then those
    /// of its sensors; of an object, its file or text. Whoever reads the files again compares them.
    pub fingerprints: Vec<String>,
}

/// An entity in a world, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Entity {
    /// A rover.
    Rover(EntityId),
    /// A fixed object.
    Object(EntityId),
    /// A loose rock.
    Rock(u32),
}

impl Entity {
    /// The highest id of a rock: numbers in images from here on are those of parts of rovers and objects.
    pub const LAST_ROCK: u32 = 0xEFFF_FFFE;

    /// Whether a contact party belongs to this entity.
    pub(crate) fn has(&self, party: &Collider) -> bool {
        match (party, self) {
            (Collider::Wheel(id, _) | Collider::Part(id, _), Self::Rover(own)) => *id == own.0,
            (Collider::Obstacle(id, _), Self::Object(own)) => *id == own.0,
            (Collider::Rock(id), Self::Rock(own)) => id == own,
            _ => false,
        }
    }
}

/// Folders from which files of entities may be read that are added to a running world.
#[derive(Clone, Debug, Default)]
pub struct AllowedFolders(Vec<PathBuf>);

impl AllowedFolders {
    /// Allows these folders and all below them; leaves out those that do not exist.
    #[must_use]
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut allowed = Vec::new();
        for folder in folders.into_iter().filter_map(|folder| folder.canonicalize().ok()) {
            if !allowed.contains(&folder) {
                allowed.push(folder);
            }
        }
        Self(allowed)
    }

    /// The allowed folders.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// The file of a name: an absolute path, or a path relative to the first allowed folder that has it.
    ///
    /// # Errors
    /// As [`AllowedFolders::find`].
    pub fn resolve(&self, name: &str) -> Result<PathBuf, InputError> {
        let path = Path::new(name);
        let there = self.0.iter().map(|folder| folder.join(path)).find(|file| file.exists());
        match there {
            // An absolute path stays the same when it is joined to a folder.
            Some(file) => self.find(&file),
            None if path.is_absolute() => self.find(path),
            None => Err(InputError::content(path, format!("is in no folder that may be used ({})", self.reported()))),
        }
    }

    /// The file's canonical path, with links resolved.
    ///
    /// # Errors
    /// When the file cannot be found, lies outside the folders, or has a path that is not UTF-8, which saved states
    /// could not store.
    pub fn find(&self, file: &Path) -> Result<PathBuf, InputError> {
        if file.to_str().is_none() {
            return Err(InputError::content(file, "its path must be UTF-8; rename it"));
        }
        let found = file.canonicalize().map_err(|source| InputError::Read { path: file.to_owned(), source })?;
        if self.0.iter().any(|folder| found.starts_with(folder)) {
            return Ok(found);
        }
        Err(InputError::content(file, format!("lies outside the folders that may be used ({})", self.reported())))
    }

    fn reported(&self) -> String {
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
        let reported = allowed.find(&climbing).expect_err("outside").to_string();
        assert!(reported.contains("lies outside the folders") && reported.contains("config/rover"), "{reported}");
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
        let reported = AllowedFolders::new([folder.clone()]).find(&folder.join("polar.yaml"));
        std::fs::remove_dir_all(&folder).expect("clean");
        assert!(reported.expect_err("outside").to_string().contains("lies outside the folders"));
    }
}
