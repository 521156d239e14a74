//! Finds the files that a URDF names: paths, which are relative to the URDF, `file://` URIs, and
//! `package://NAME/…`, a file of a ROS package. A package is sought where the rover's file says, then in the sourced
//! ROS 2 workspaces (`share/NAME` of each folder of AMENT_PREFIX_PATH), then upward from the URDF: a folder NAME with
//! a `package.xml`, which holds the URDF or lies beside a folder that does.

use std::collections::BTreeMap;
use std::env;
use std::path::{Component, Path, PathBuf};

use selene_base::input::is_file;

/// Folders of ROS packages.
#[derive(Clone, Debug, Default)]
pub struct Packages {
    given: BTreeMap<String, PathBuf>,
    prefixes: Vec<PathBuf>,
}

impl Packages {
    /// The packages of the environment, with `given` folders, by package name, which take precedence.
    #[must_use]
    pub fn new(given: BTreeMap<String, PathBuf>) -> Self {
        let prefixes = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
        Self { given, prefixes: env::split_paths(&prefixes).collect() }
    }

    /// The same with folders that are relative to `folder`.
    pub(crate) fn beside(given: &BTreeMap<String, PathBuf>, folder: &Path) -> Self {
        Self::new(given.iter().map(|(name, path)| (name.clone(), folder.join(path))).collect())
    }

    /// The packages that the text of `urdf` names and that would not be found upward from it, with all that were given.
    #[must_use]
    pub fn named_elsewhere(&self, text: &str, urdf: &Path) -> BTreeMap<String, PathBuf> {
        let mut named = self.named_in(text, urdf);
        named.retain(|name, folder| {
            let is_same = |found: PathBuf| folder.canonicalize().is_ok_and(|folder| folder == found);
            self.given.contains_key(name) || !above(name, urdf).is_some_and(is_same)
        });
        named
    }

    /// The packages that the text of `urdf` names and where they are, with all that were given.
    #[must_use]
    pub fn named_in(&self, text: &str, urdf: &Path) -> BTreeMap<String, PathBuf> {
        let mut named = self.given.clone();
        for rest in text.split("package://").skip(1) {
            let name = rest.split(['/', '"', '\'']).next().unwrap_or_default();
            if let Some(folder) = self.folder(name, urdf) {
                named.insert(name.to_owned(), folder);
            }
        }
        named
    }

    /// All packages that hold `urdf` or lie beside a folder that does, without those of sourced workspaces, and all that
    /// were given, by their folders' names.
    #[must_use]
    pub fn around(&self, urdf: &Path) -> BTreeMap<String, PathBuf> {
        let urdf = urdf.canonicalize().unwrap_or_default();
        let beside =
            |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let folders = urdf.ancestors().skip(1).flat_map(|folder| beside(folder).chain([folder.to_owned()]));
        let packages = folders.filter(|folder| is_file(&folder.join("package.xml")));
        let named = packages.filter_map(|folder| Some((folder.file_name()?.to_str()?.to_owned(), folder)));
        // The nearest of the same name counts.
        let mut around = BTreeMap::new();
        named.for_each(|(name, folder)| _ = around.entry(name).or_insert(folder));
        around.retain(|name, _| self.sourced(name).is_none());
        around.extend(self.given.clone());
        around
    }

    /// The file that `urdf` names as `name`.
    ///
    /// # Errors
    /// Why it is nowhere and what to do about it, without the name.
    pub(crate) fn find(&self, name: &str, urdf: &Path) -> Result<PathBuf, String> {
        let (file, reported) = match name.split_once("://") {
            Some(("package", rest)) => (self.in_package(rest, urdf)?, "is the package complete?"),
            Some(("file", rest)) => (PathBuf::from(rest), "give a path, or package://NAME/…"),
            Some((scheme, _)) => {
                return Err(format!("begins with {scheme}://; package://, file:// and paths are allowed"));
            }
            None => (folder_of(urdf).join(name), "give a path beside the URDF, or package://NAME/…"),
        };
        if is_file(&file) { Ok(file) } else { Err(format!("is not a file at {}; {reported}", file.display())) }
    }

    fn in_package(&self, rest: &str, urdf: &Path) -> Result<PathBuf, String> {
        let (package, file) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_name(package) {
            return Err("names no package; package://NAME/… is allowed".to_owned());
        }
        let folder = self.folder(package, urdf).ok_or_else(|| {
            format!(
                "is in package {package}, which is neither in AMENT_PREFIX_PATH nor above {}; say where: \
                 `packages: {{{package}: DIR}}` in the rover's file, or `selene import … --package {package}=DIR`",
                urdf.display()
            )
        })?;
        Ok(folder.join(file))
    }

    fn folder(&self, package: &str, urdf: &Path) -> Option<PathBuf> {
        if !is_name(package) {
            return None;
        }
        if let Some(given) = self.given.get(package) {
            return Some(given.clone());
        }
        self.sourced(package).or_else(|| above(package, urdf))
    }

    /// A package of the sourced workspaces.
    fn sourced(&self, package: &str) -> Option<PathBuf> {
        self.prefixes.iter().map(|prefix| prefix.join("share").join(package)).find(|share| share.is_dir())
    }
}

/// Whether it is the name of a single folder, without separators or `..`.
fn is_name(package: &str) -> bool {
    let parts: Vec<_> = Path::new(package).components().collect();
    matches!(parts[..], [Component::Normal(_)])
}

/// The folder of a package that holds the URDF, or lies beside a folder that does.
fn above(package: &str, urdf: &Path) -> Option<PathBuf> {
    let urdf = urdf.canonicalize().ok()?;
    let folders = urdf.ancestors().skip(1);
    let mut candidates = folders.flat_map(|folder| [folder.to_owned(), folder.join(package)]);
    candidates.find(|folder| folder.ends_with(package) && is_file(&folder.join("package.xml")))
}

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("."))
}
