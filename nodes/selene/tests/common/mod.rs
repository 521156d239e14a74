//! Runs the program for tests, in the repository and without the environment's data and ROS domain.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn selene(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selene"));
    forget_surroundings(&mut command).current_dir(repository()).args(arguments);
    command
}

/// Removes data, middleware and ROS domain from a command's environment.
pub fn forget_surroundings(command: &mut Command) -> &mut Command {
    command.env_remove("SELENE_DATA").env_remove("RMW_IMPLEMENTATION");
    for variable in ["ROS_DOMAIN_ID", "ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"] {
        command.env_remove(variable);
    }
    command
}

pub fn run(arguments: &[&str]) -> Output {
    selene(arguments).output().expect("the program starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Creates an empty folder for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

#[track_caller]
pub fn assert_refused(output: &Output, parts: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}
