//! The configuration that is compiled into the program: a program that was copied without its folders still runs.

use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, File, include_dir};
use selene_base::compiled;

static CONFIG: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../config");
static URDF: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../urdf");

/// Makes the compiled-in files readable through `selene_base::input`. Call it before any file is read.
pub(crate) fn provide() {
    compiled::provide(bytes);
}

/// Whether a file or folder is compiled in.
pub(crate) fn has(path: &Path) -> bool {
    let Ok(inner) = path.strip_prefix(compiled::FOLDER) else { return false };
    bytes(inner).is_some() || folder(inner).is_some()
}

/// The paths in a compiled-in folder; empty if `path` is no such folder.
pub(crate) fn entries(path: &Path) -> Vec<PathBuf> {
    let inner = path.strip_prefix(compiled::FOLDER).ok();
    let entries = inner.and_then(folder).map(Dir::entries).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.path().file_name()).map(|name| path.join(name)).collect()
}

fn bytes(path: &Path) -> Option<&'static [u8]> {
    let (root, inner) = root(path)?;
    root.get_file(inner).map(File::contents)
}

fn folder(path: &Path) -> Option<&'static Dir<'static>> {
    let (root, inner) = root(path)?;
    if inner.as_os_str().is_empty() { Some(root) } else { root.get_entry(inner).and_then(DirEntry::as_dir) }
}

/// The compiled-in root folder that `path` begins with, and the rest of the path.
fn root(path: &Path) -> Option<(&'static Dir<'static>, &Path)> {
    let roots = [("config", &CONFIG), ("urdf", &URDF)];
    roots.into_iter().find_map(|(name, root)| Some((root, path.strip_prefix(name).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::{bytes, compiled, entries, has};
    use std::path::Path;

    #[test]
    fn files_and_folders_of_the_configuration_are_there() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in ["config/scenario/polar.yaml", "config/sensor/lidar/vlp16.yaml", "urdf/viper/viper.urdf"] {
            let on_disk = std::fs::read(repository.join(file)).expect(file);
            assert_eq!(bytes(Path::new(file)), Some(&on_disk[..]), "{file}");
        }
        let compiled_in = Path::new(compiled::FOLDER);
        assert!(["config", "config/soil", "config/soil/lunar.yaml"].iter().all(|path| has(&compiled_in.join(path))));
        assert!(!has(&compiled_in.join("config/no")) && !has(Path::new("config")));
        assert!(entries(&compiled_in.join("config/site")).contains(&compiled_in.join("config/site/polar.yaml")));
    }
}
