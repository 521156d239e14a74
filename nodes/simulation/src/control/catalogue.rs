//! Lists the files in the allowed folders: rovers (`rover/*.yaml`), objects (URDFs and meshes, also one folder down)
//! and sites (`site/*.yaml`). Each request reads the files anew; invalid ones are left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use selene_base::input::{load_yaml, read_bytes};
use selene_sim::AllowedFolders;
use selene_terrain::SiteSpec;
use selene_vehicle::RoverSpec;

/// Maximum number of entries of one folder that are read.
const FILES_MAX: usize = 1000;
/// Largest URDF that is compared, bytes.
const URDF_BYTES_MAX: u64 = 16 << 20;
/// File extensions of objects.
const OBJECTS: [&str; 4] = ["urdf", "stl", "obj", "dae"];

/// Rover files, each with its content.
pub(super) struct RoverFiles(Vec<(PathBuf, RoverSpec)>);

impl RoverFiles {
    /// The rover files in the `rover` folders of all allowed folders.
    pub(super) fn of(folders: &AllowedFolders) -> Self {
        Self(folders.iter().flat_map(|folder| specs(&folder.join("rover"))).collect())
    }

    /// The rover files in one folder.
    pub(super) fn within(folder: &Path) -> Self {
        Self(specs(folder))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(PathBuf, RoverSpec)> {
        self.0.iter()
    }

    /// The first rover whose URDF is the file `urdf`.
    pub(super) fn with_urdf(&self, urdf: &Path) -> Option<PathBuf> {
        self.0.iter().find(|rover| urdf_of(rover).is_some_and(|own| own == urdf)).map(|(file, _)| file.clone())
    }

    /// The first rover whose URDF has this text.
    pub(super) fn with_text(&self, text: &str) -> Option<PathBuf> {
        let has_text = |rover: &&(PathBuf, RoverSpec)| {
            let bytes = urdf_of(rover).and_then(|urdf| read_bytes(&urdf, URDF_BYTES_MAX).ok());
            bytes.is_some_and(|bytes| bytes.trim_ascii() == text.as_bytes().trim_ascii())
        };
        self.0.iter().find(has_text).map(|(file, _)| file.clone())
    }
}

/// Objects in folders and their direct subfolders, without the URDFs of rovers.
pub(super) fn objects(folders: &AllowedFolders) -> Vec<PathBuf> {
    let rovers: BTreeSet<_> = RoverFiles::of(folders).iter().filter_map(urdf_of).collect();
    let below = |folder: &Path| std::iter::once(folder.to_owned()).chain(folders_in(folder)).collect::<Vec<_>>();
    let all: BTreeSet<_> = folders.iter().flat_map(below).flat_map(|folder| objects_in(&folder)).collect();
    all.difference(&rovers).cloned().collect()
}

/// Objects in one folder.
pub(super) fn objects_in(folder: &Path) -> Vec<PathBuf> {
    files_in(folder).into_iter().filter(|file| has_extension(file, &OBJECTS)).collect()
}

/// Sites in the `site` folders of all allowed folders, each with its content.
pub(super) fn sites(folders: &AllowedFolders) -> Vec<(PathBuf, SiteSpec)> {
    folders.iter().flat_map(|folder| sites_in(&folder.join("site"))).collect()
}

/// Sites in one folder, each with its content.
pub(super) fn sites_in(folder: &Path) -> Vec<(PathBuf, SiteSpec)> {
    let files = files_in(folder).into_iter().filter(|file| has_extension(file, &["yaml", "yml"]));
    files.filter_map(|file| Some((file.clone(), load_yaml(&file).ok()?))).collect()
}

fn specs(folder: &Path) -> Vec<(PathBuf, RoverSpec)> {
    let files = files_in(folder).into_iter().filter(|file| has_extension(file, &["yaml", "yml"]));
    files.filter_map(|file| Some((file.clone(), load_yaml(&file).ok()?))).collect()
}

/// Path of a rover's URDF, with links resolved.
fn urdf_of((file, spec): &(PathBuf, RoverSpec)) -> Option<PathBuf> {
    file.parent()?.join(&spec.urdf).canonicalize().ok()
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    let own = file.extension().map(|own| own.to_string_lossy().to_ascii_lowercase());
    own.is_some_and(|own| extensions.contains(&own.as_str()))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_file()).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

/// The entries of a folder, sorted by name; none if it is not a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.take(FILES_MAX).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::{RoverFiles, objects, sites};
    use selene_sim::AllowedFolders;
    use std::path::{Path, PathBuf};

    fn folders() -> AllowedFolders {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        AllowedFolders::new([root.join("config/scenario"), root.join("config"), root.join("urdf")])
    }

    #[test]
    fn what_is_shipped_is_found() {
        let folders = folders();
        let rovers: Vec<_> = RoverFiles::of(&folders).iter().map(|(_, spec)| spec.name.clone()).collect();
        assert!(rovers.iter().any(|name| name == "sorato") && rovers.len() == 8, "{rovers:?}");
        let objects: Vec<_> = objects(&folders);
        let is_shipped = |(object, end): (&PathBuf, &str)| object.ends_with(end);
        let ends = ["urdf/lander/lander.urdf", "urdf/pillars/pillars.urdf"];
        assert!(objects.len() == 2 && objects.iter().zip(ends).all(is_shipped), "{objects:?}");
        let sites: Vec<_> = sites(&folders).into_iter().map(|(_, site)| site.name).collect();
        for name in ["polar", "mare", "test_yard"] {
            assert!(sites.iter().any(|known| known == name), "{name} is not among {sites:?}");
        }
    }

    #[test]
    fn folders_that_are_not_there_have_nothing() {
        let folders = AllowedFolders::new([Path::new("/no/such/folder").to_owned()]);
        assert!(objects(&folders).is_empty() && sites(&folders).is_empty());
    }
}
