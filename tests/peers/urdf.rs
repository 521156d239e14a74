//! The shipped URDFs, read by urdfdom's `check_urdf`: the parser of robot_state_publisher and RViz. It succeeds even
//! when it ignores parts of a file, so every line that it prints counts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use selene_tests::{repository_file, skip_peer};

use crate::program::folder;

/// Complaints of `check_urdf`; `None`, with a message, if it is not installed.
fn complaints(file: &Path) -> Option<Vec<String>> {
    let output = match Command::new("check_urdf").arg(file).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip_peer("no check_urdf: Debian's liburdfdom-tools has it");
            return None;
        }
        Err(error) => panic!("check_urdf: {error}"),
    };
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && printed.contains("Successfully Parsed XML"), "{}: {printed}", file.display());
    let is_bad = |line: &&str| ["error", "warn", "missing"].iter().any(|word| line.to_lowercase().contains(word));
    Some(printed.lines().filter(is_bad).map(str::to_owned).collect())
}

fn shipped() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(repository_file("urdf")).expect("a folder");
    let entries = folders.flat_map(|folder| std::fs::read_dir(folder.expect("an entry").path()).expect("a folder"));
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "urdf")).collect()
}

#[test]
fn urdfdom_takes_all_of_every_urdf() {
    let files = shipped();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let Some(complaints) = complaints(&file) else { return };
        assert!(complaints.is_empty(), "{}: {complaints:#?}", file.display());
    }
}

#[test]
fn urdfdom_complains_of_an_inertia_that_lacks_a_number() {
    let out = folder("urdf");
    let file = out.join("rover.urdf");
    let good = std::fs::read_to_string(repository_file("urdf/viper/viper.urdf")).expect("a URDF");
    std::fs::write(&file, good.replacen(" ixy=\"0\"", "", 1)).expect("written");
    let Some(complaints) = complaints(&file) else { return };
    assert!(complaints.iter().any(|line| line.contains("ixy")), "{complaints:#?}");
    std::fs::remove_dir_all(out).expect("clean");
}
