//! Tests that a saved state which is truncated, damaged, foreign or of another world is refused with file and reason,
//! and that an intact one is restored exactly.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::path::PathBuf;

use common::{Rover, drive, world, yard};
use selene_sim::{Checkpoint, DrivenGround, Fingerprint, Recent, World};

/// A folder for one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("selene-checkpoint-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The error with which these bytes are refused as a checkpoint.
    fn refusal(&self, bytes: &[u8], of: &Fingerprint) -> String {
        let file = self.0.join("some.state");
        std::fs::write(&file, bytes).unwrap();
        let reported = Checkpoint::load(&file, of).map(drop).unwrap_err().to_string();
        assert!(reported.contains("some.state"), "{reported}");
        reported
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text() -> String {
    yard("lunar", &[Rover { name: "a", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] }], "")
}

/// A world after 50 heartbeats of driving.
fn driven() -> World {
    let mut world = world(&text());
    drive(&mut world, 50);
    world
}

fn fingerprint(world: &World) -> Fingerprint {
    Fingerprint::of(world.model().scenario(), world.model().terrain())
}

/// The bytes of a checkpoint file of the world.
fn saved(world: &World, folder: &Folder) -> Vec<u8> {
    let file = folder.0.join("good.state");
    let checkpoint = Checkpoint { state: world.state().clone(), recent: Recent::default() };
    checkpoint.save(&file, &fingerprint(world)).unwrap();
    assert!(Checkpoint::load(&file, &fingerprint(world)).unwrap() == checkpoint, "it is taken as it was");
    std::fs::read(&file).unwrap()
}

#[test]
fn a_checkpoint_that_is_cut_off_anywhere_is_refused() {
    let (folder, world) = (Folder::new("cut"), driven());
    let (whole, of) = (saved(&world, &folder), fingerprint(&world));
    let parts = (0..40).map(|part| whole.len() * part / 40);
    for length in parts.chain([8, 11, 12, 13, whole.len() - 4, whole.len() - 1]) {
        let reported = folder.refusal(&whole[..length], &of);
        let reason = if length < 12 { "fewer than 12 bytes" } else { "take an earlier one" };
        assert!(reported.contains(reason), "{length} of {} bytes: {reported}", whole.len());
    }
}

#[test]
fn a_checkpoint_with_a_wrong_byte_is_refused() {
    let (folder, world) = (Folder::new("bytes"), driven());
    let (whole, of) = (saved(&world, &folder), fingerprint(&world));
    for place in (0..16).chain((16..whole.len()).step_by(whole.len() / 50)) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x5a;
        let file = folder.0.join("damaged.state");
        std::fs::write(&file, &damaged).unwrap();
        let reported = match Checkpoint::load(&file, &of) {
            Err(refusal) => refusal.to_string(),
            // Deflate has unused bits, and in a run of zeros another distance gives the same bytes.
            Ok(same) => {
                assert_eq!(same.state.hash(), world.state().hash(), "byte {place}");
                continue;
            }
        };
        let reason = match place {
            0..8 => "is no saved state",
            8..12 => "has version",
            _ => "damaged",
        };
        assert!(reported.contains(reason), "byte {place}: {reported}");
    }
    assert!(folder.refusal(b"name: polar\nseed: 1\n", &of).contains("is no saved state"));
}

#[test]
fn a_checkpoint_of_another_world_is_refused_with_the_part_that_differs() {
    let (folder, world) = (Folder::new("other"), driven());
    let (whole, of) = (saved(&world, &folder), fingerprint(&world));
    let on_earth = fingerprint(&common::world(&text().replace("gravity_m_s2: 1.62", "gravity_m_s2: 9.81")));
    let reported = folder.refusal(&whole, &on_earth);
    assert!(reported.contains("is of another run: gravity_m_s2: here 9.81, there 1.62"), "{reported}");
    let mut longer = of.clone();
    longer.parts.insert("rover b".to_owned(), "1".to_owned());
    assert!(folder.refusal(&whole, &longer).contains("rover b: here 1"));
    let mut higher = of.clone();
    higher.heights_m[0] += 0.01;
    assert!(folder.refusal(&whole, &higher).contains("is of another run"));

    let ground = folder.0.join("driven.ruts");
    DrivenGround::of(world.state()).save(&ground, &of).unwrap();
    let reported = Checkpoint::load(&ground, &of).map(drop).unwrap_err().to_string();
    assert!(reported.contains("driven.ruts") && reported.contains("--ruts takes it"), "{reported}");
    let reported = Checkpoint::load(&folder.0.join("none.state"), &of).map(drop).unwrap_err().to_string();
    assert!(reported.contains("none.state") && reported.contains("cannot be read"), "{reported}");
}
