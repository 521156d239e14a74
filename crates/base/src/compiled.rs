//! Files that are compiled into the program, so that it has its configuration wherever it is installed. The functions
//! of `input` read them as if they were in the folder [`FOLDER`].

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Virtual folder of the compiled-in files; no such folder exists on disk.
pub const FOLDER: &str = "/selene:";

/// Returns the bytes of a compiled-in file by its path relative to [`FOLDER`], which has no `..`.
pub type Find = fn(&Path) -> Option<&'static [u8]>;

static FIND: OnceLock<Find> = OnceLock::new();

/// Registers the compiled-in files. Call it once, before the first read; a second call changes nothing.
pub fn provide(find: Find) {
    FIND.get_or_init(|| find);
}

/// Bytes of the compiled-in file at `path`, which begins with [`FOLDER`]; `None` if there is no such file.
#[must_use]
pub fn bytes(path: &Path) -> Option<&'static [u8]> {
    let inner = within(path.strip_prefix(FOLDER).ok()?)?;
    FIND.get().and_then(|find| find(&inner))
}

/// The path without `.` and `..`, or `None` if it leaves the folder.
fn within(path: &Path) -> Option<PathBuf> {
    let mut within = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => within.push(name),
            Component::CurDir => {}
            Component::ParentDir => within.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(within)
}

#[cfg(test)]
mod tests {
    use super::{FOLDER, bytes, provide, within};
    use crate::input::{is_file, read_bytes};
    use std::path::Path;

    #[test]
    fn a_compiled_in_file_is_read_as_if_it_lay_in_its_folder() {
        provide(|path| (path == Path::new("config/site/x.yaml")).then_some(b"name: x\n"));
        let file = Path::new(FOLDER).join("config/scenario/../site/./x.yaml");
        assert_eq!(bytes(&file), Some(&b"name: x\n"[..]));
        assert!(is_file(&file) && !is_file(&Path::new(FOLDER).join("config/site/y.yaml")));
        assert_eq!(read_bytes(&file, 100).expect("there"), b"name: x\n");
        assert!(read_bytes(&file, 3).is_err_and(|error| error.to_string().contains("at most 3")));
    }

    #[test]
    fn no_path_leaves_the_folder() {
        assert_eq!(within(Path::new("a/../../b")), None);
        assert_eq!(within(Path::new("./a/../b")).as_deref(), Some(Path::new("b")));
    }
}
