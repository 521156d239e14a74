//! How a description that no rover can be built from is refused: files with one thing changed,
//! and what their refusals must tell.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use selene_vehicle::RoverModel;

pub(crate) const YAML: &str = include_str!("../../../../config/rover/viper.yaml");
pub(crate) const URDF: &str = include_str!("../../../../urdf/viper/viper.urdf");

/// A folder of this test's own with VIPER's files in it, removed in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selene-vehicle-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn refusal(&self, yaml: &str, urdf: &str) -> String {
        fs::write(self.0.join("rover.yaml"), yaml.replace("../../urdf/viper/viper.urdf", "rover.urdf")).unwrap();
        fs::write(self.0.join("rover.urdf"), urdf).unwrap();
        load_refusal(&self.0.join("rover.yaml"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn load_refusal(path: &Path) -> String {
    match RoverModel::load(path) {
        Ok(_) => panic!("{} must be refused", path.display()),
        Err(refusal) => refusal.to_string(),
    }
}

/// The 1-based line of `text` that holds `part`.
pub(crate) fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap() + 1
}

pub(crate) fn has_all(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "\"{part}\" is missing in: {message}");
    }
}

/// Swaps `from` for `to` in VIPER's URDF and expects a refusal that names the line
/// of `to` and has all `parts`.
pub(crate) fn urdf_refusal(name: &str, from: &str, to: &str, parts: &[&str]) {
    assert!(URDF.contains(from), "{from}");
    let urdf = URDF.replacen(from, to, 1);
    let message = Folder::new(name).refusal(YAML, &urdf);
    let line = format!("rover.urdf:{}:", line_of(&urdf, to.lines().last().unwrap()));
    has_all(&message, &[&line]);
    has_all(&message, parts);
}

pub(crate) fn yaml_refusal(name: &str, from: &str, to: &str, parts: &[&str]) {
    assert!(YAML.contains(from), "{from}");
    let yaml = YAML.replacen(from, to, 1);
    let message = Folder::new(name).refusal(&yaml, URDF);
    has_all(&message, &["rover.yaml", &format!("line {}", line_of(&yaml, to))]);
    has_all(&message, parts);
}

/// Swaps `from` for `to` in another rover's YAML and expects a refusal with all `parts`
/// that names the line of `to`, or of `at` when that is given.
pub(crate) fn other_refusal(rover: &str, from: &str, to: &str, at: &str, parts: &[&str]) {
    // Tests side by side swap things of the same rover.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../config/rover");
    let yaml = fs::read_to_string(config.join(format!("{rover}.yaml"))).unwrap();
    assert!(yaml.contains(from), "{from}");
    let yaml = yaml.replacen(from, to, 1);
    let urdfs = config.join("../../urdf").canonicalize().unwrap();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("selene-other-{rover}-{}-{number}.yaml", std::process::id()));
    let line = line_of(&yaml, if at.is_empty() { to } else { at });
    let yaml = yaml.replace("../../urdf", urdfs.to_str().unwrap());
    fs::write(&file, yaml).unwrap();
    let message = load_refusal(&file);
    fs::remove_file(&file).unwrap();
    has_all(&message, &[&format!("line {line}")]);
    has_all(&message, parts);
}
