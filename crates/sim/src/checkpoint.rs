//! Saved states: a file with a whole world, or with its driven ground alone, from which another run can
//! continue. A saved world has the recent snapshots that its sensors need; they keep no other memory.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `SELSTATE` |
//! | 4 | version of the format, little-endian |
//! | to the end | one zlib stream (RFC 1950, with its checksum) of [`Saved`], by serde in postcard's format |
//!
//! A file is written under a temporary name and renamed: an interrupted write leaves the last good one.
//!
//! A small file could unpack to more than memory holds, so what a file may unpack to is bounded by its size
//! ([`unpacked_bytes_max`]). A state that deflates to less than this allows is stored in the stream as it is.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use selene_base::InputError;
use selene_base::input::open_regular;
use selene_base::output::{self, FileKind, OutputError};
use selene_terrain::Ruts;
use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::world::{DrivenGround, Snapshot, State};

const MAGIC: [u8; 8] = *b"SELSTATE";
/// The kind of file that holds a saved state.
pub const STATE_FILE: FileKind = FileKind { name: "saved state", is: |head| head.starts_with(&MAGIC) };
/// Version of the format; raise it with every change of [`Saved`].
const VERSION: u32 = 14;
/// Size of magic and version, bytes.
const HEAD_BYTES: usize = 12;
/// Unpacked size that every file may have, bytes.
const UNPACKED_BYTES_FREE: u64 = 16 << 20;
/// Unpacked size over the file's size that a larger one may have; deflate reaches about a thousand.
const UNPACKED_RATIO_MAX: u64 = 32;

/// Why a state cannot be saved or loaded.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file is damaged, foreign, or of another world.
    #[error("{}: {what}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
}

/// The content of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Saved {
    /// Driven ground.
    Ground { of: Fingerprint, ground: DrivenGround },
    /// A whole world.
    World { of: Fingerprint, checkpoint: Box<Checkpoint> },
}

/// A whole world, and the recent snapshots that its sensors need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The state.
    pub state: State,
    /// The recent snapshots.
    pub recent: Recent,
}

/// Recent snapshots, and the ground before the first of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Snapshots in order of time; the last one is that of the saved state.
    pub snapshots: Vec<Snapshot>,
    /// Ruts of the ground before the first snapshot's edits.
    pub ruts_before: Ruts,
}

impl Recent {
    /// The same snapshots as of a world that was reset `epoch` times.
    #[must_use]
    pub fn of_epoch(&self, epoch: u32) -> Self {
        let snapshots = self.snapshots.iter().map(|snapshot| Snapshot { epoch, ..snapshot.clone() });
        Self { snapshots: snapshots.collect(), ruts_before: self.ruts_before.clone() }
    }
}

impl Checkpoint {
    /// Reads the checkpoint of a world.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, cut off, of another version or of another world.
    pub fn load(path: &Path, of: &Fingerprint) -> Result<Self, CheckpointError> {
        Self::of_saved(read(path)?, path, of)
    }

    fn of_saved(saved: Saved, path: &Path, of: &Fingerprint) -> Result<Self, CheckpointError> {
        let refuse = |what: String| Err(CheckpointError::Refused { path: path.to_owned(), what });
        match saved {
            Saved::Ground { .. } => refuse("holds driven ground alone; --ruts takes it".to_owned()),
            Saved::World { of: theirs, checkpoint } => match of.difference(&theirs) {
                Some(difference) => refuse(format!("is of another run: {difference}")),
                None => Ok(*checkpoint),
            },
        }
    }

    /// Reads a checkpoint from the bytes of a file or of [`Checkpoint::to_bytes`]; errors give `name` as the file.
    ///
    /// # Errors
    /// As [`Checkpoint::load`].
    pub fn from_bytes(bytes: &[u8], name: &Path, of: &Fingerprint) -> Result<Self, CheckpointError> {
        Self::of_saved(unpack(bytes, bytes.len() as u64, name)?, name, of)
    }

    /// The bytes of the checkpoint's file.
    ///
    /// # Errors
    /// When an entity that was added has a file whose path is not UTF-8.
    pub fn to_bytes(&self, of: &Fingerprint) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        pack(&Saved::World { of: of.clone(), checkpoint: Box::new(self.clone()) }, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the checkpoint to a file.
    ///
    /// # Errors
    /// When the file cannot be written; an older file at `path` then stays.
    pub fn save(&self, path: &Path, of: &Fingerprint) -> Result<(), CheckpointError> {
        write(path, &Saved::World { of: of.clone(), checkpoint: Box::new(self.clone()) })
    }
}

impl DrivenGround {
    /// Reads driven ground, from a file of its own or from a checkpoint.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, cut off, of another version or of other ground.
    pub fn load(path: &Path, of: &Fingerprint) -> Result<Self, CheckpointError> {
        let (theirs, ground) = match read(path)? {
            Saved::Ground { of, ground } => (of, ground),
            Saved::World { of, checkpoint } => (of, Self::of(&checkpoint.state)),
        };
        // The world of a checkpoint may be another one: only its ground must be the same.
        let parts = theirs.parts.into_iter().filter(|(part, _)| of.parts.contains_key(part)).collect();
        match of.difference(&Fingerprint { parts, ..theirs }) {
            Some(difference) => Err(CheckpointError::Refused {
                path: path.to_owned(),
                what: format!("is of other ground: {difference}"),
            }),
            None => Ok(ground),
        }
    }

    /// Seed of the ground of a saved state.
    ///
    /// # Errors
    /// As [`DrivenGround::load`], except that any ground is accepted.
    pub fn seed_of(path: &Path) -> Result<u64, CheckpointError> {
        let (Saved::Ground { of, .. } | Saved::World { of, .. }) = read(path)?;
        let what = || CheckpointError::Refused { path: path.to_owned(), what: "names no seed".to_owned() };
        of.seed().ok_or_else(what)
    }

    /// Writes the driven ground to a file.
    ///
    /// # Errors
    /// When the file cannot be written; an older file at `path` then stays.
    pub fn save(&self, path: &Path, of: &Fingerprint) -> Result<(), CheckpointError> {
        write(path, &Saved::Ground { of: of.clone(), ground: self.clone() })
    }
}

fn write(path: &Path, saved: &Saved) -> Result<(), CheckpointError> {
    let failed = |source| OutputError::Write { path: path.to_owned(), source };
    output::write_whole(path, &STATE_FILE, |beside| write_to(beside, saved).map_err(failed))?;
    Ok(())
}

fn write_to(path: &Path, saved: &Saved) -> io::Result<()> {
    let mut file = File::create(path)?;
    pack(saved, &mut file)?;
    file.sync_all()
}

fn pack(saved: &Saved, to: &mut impl Write) -> io::Result<()> {
    let bytes = postcard::to_allocvec(saved).map_err(io::Error::other)?;
    to.write_all(&MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    to.write_all(&packed(&bytes)?)
}

/// The zlib stream of `bytes`: deflated, or stored if the file would unpack to more than is read.
fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let deflated = stream(bytes, Compression::fast())?;
    let file_bytes = (HEAD_BYTES + deflated.len()) as u64;
    if bytes.len() as u64 <= unpacked_bytes_max(file_bytes) { Ok(deflated) } else { stream(bytes, Compression::none()) }
}

fn stream(bytes: &[u8], level: Compression) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), level);
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Largest unpacked size of a file of this size, bytes.
fn unpacked_bytes_max(file_bytes: u64) -> u64 {
    file_bytes.saturating_mul(UNPACKED_RATIO_MAX).max(UNPACKED_BYTES_FREE)
}

fn read(path: &Path) -> Result<Saved, CheckpointError> {
    let file = open_regular(path)?;
    let metadata = file.metadata().map_err(|source| InputError::Read { path: path.to_owned(), source })?;
    unpack(file, metadata.len(), path)
}

/// Unpacks a saved state of `file_bytes` bytes; `path` is named in errors.
fn unpack(mut from: impl Read, file_bytes: u64, path: &Path) -> Result<Saved, CheckpointError> {
    let refuse = |what: String| CheckpointError::Refused { path: path.to_owned(), what };
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head).map_err(|_| refuse("is no saved state: it has fewer than 12 bytes".to_owned()))?;
    let (magic, version) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(refuse("is no saved state: it does not begin with SELSTATE".to_owned()));
    }
    let version = u32::from_le_bytes([version[0], version[1], version[2], version[3]]);
    if version != VERSION {
        return Err(refuse(format!(
            "has version {version}; this Selene reads version {VERSION}: use the one that wrote it"
        )));
    }
    let mut bytes = Vec::new();
    let cut = |error| refuse(format!("is cut off or damaged ({error}); take an earlier one"));
    let bytes_max = unpacked_bytes_max(file_bytes);
    let mut decoder = ZlibDecoder::new(BufReader::new(from));
    decoder.by_ref().take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(cut)?;
    if bytes.len() as u64 > bytes_max {
        return Err(refuse(format!(
            "is {file_bytes} bytes and unpacks to more than {bytes_max}, the most for its size: it is damaged or no saved \
             state; take an earlier one"
        )));
    }
    let damaged = |error: &dyn Display| refuse(format!("is damaged: {error}; take an earlier one"));
    let (saved, unread) = postcard::take_from_bytes(&bytes).map_err(|error| damaged(&error))?;
    if !unread.is_empty() || !decoder.into_inner().fill_buf().map_err(cut)?.is_empty() {
        return Err(damaged(&"bytes follow its end"));
    }
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::{Checkpoint, HEAD_BYTES, MAGIC, Recent, UNPACKED_BYTES_FREE, VERSION, packed, stream};
    use crate::{DrivenGround, Fingerprint, LoadOptions, Model, Scenario, World};
    use flate2::Compression;
    use flate2::bufread::ZlibDecoder;
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Read;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    const YARD: &str = "name: yard\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\n\
                        heartbeat_s: 0.01\nsite: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\n\
                        rover: { file: ../rover/sorato.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }\n";

    fn model(text: &str) -> Arc<Model> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/yard.yaml");
        let scenario = Scenario::parse(text, &file, &LoadOptions::default()).expect("good");
        Arc::new(Model::new(Arc::new(scenario)).expect("made"))
    }

    fn print_of(model: &Model) -> Fingerprint {
        Fingerprint::of(model.scenario(), model.terrain())
    }

    fn ground_print_of(model: &Model) -> Fingerprint {
        let scenario = model.scenario();
        Fingerprint::of_ground(&scenario.site, scenario.seed, model.terrain())
    }

    /// A world that has left ruts, as a checkpoint.
    fn checkpoint(model: &Arc<Model>) -> Checkpoint {
        let mut world = World::begin(Arc::clone(model), None).expect("begins");
        let snapshots: Vec<_> = (0..30).map(|_| world.heartbeat().expect("goes on")).collect();
        assert!(!world.state().ruts.is_empty() && world.state().soil.tile_count() > 0);
        Checkpoint { state: world.state().clone(), recent: Recent { snapshots, ..Recent::default() } }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("selene-checkpoint-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("made");
        folder
    }

    fn refusal<T>(loaded: Result<T, super::CheckpointError>) -> String {
        loaded.map(drop).expect_err("refused").to_string()
    }

    #[test]
    fn a_saved_world_comes_back_and_its_ground_alone_too() {
        let (folder, model) = (folder("back"), model(YARD));
        let (file, saved, of) = (folder.join("x.state"), checkpoint(&model), print_of(&model));
        saved.save(&file, &of).expect("saved");
        assert!(Checkpoint::load(&file, &of).expect("loads") == saved);
        let ground = DrivenGround::load(&file, &ground_print_of(&model)).expect("loads");
        assert!(ground == DrivenGround::of(&saved.state));
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn bytes_are_those_of_the_file_and_come_back() {
        let (folder, model) = (folder("bytes"), model(YARD));
        let (file, saved, of) = (folder.join("x.state"), checkpoint(&model), print_of(&model));
        saved.save(&file, &of).expect("saved");
        let bytes = saved.to_bytes(&of).expect("packed");
        assert_eq!(fs::read(&file).expect("there"), bytes);
        assert!(Checkpoint::from_bytes(&bytes, Path::new("bytes"), &of).expect("loads") == saved);
        let reported = refusal(Checkpoint::from_bytes(&bytes[..bytes.len() / 2], Path::new("bytes"), &of));
        assert!(reported.contains("bytes: is cut off or damaged"), "{reported}");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_file_of_another_version_is_refused_with_both_versions() {
        let (folder, model) = (folder("version"), model(YARD));
        let (file, of) = (folder.join("later.state"), print_of(&model));
        checkpoint(&model).save(&file, &of).expect("saved");
        let mut bytes = fs::read(&file).expect("there");
        bytes[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&(VERSION + 1).to_le_bytes());
        fs::write(&file, bytes).expect("written");
        let loads = [Checkpoint::load(&file, &of).map(drop), DrivenGround::load(&file, &of).map(drop)];
        for reported in loads.map(refusal) {
            let versions = format!("has version {}; this Selene reads version {VERSION}", VERSION + 1);
            assert!(reported.contains("later.state") && reported.contains(&versions), "{reported}");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_file_of_another_scenario_is_refused_with_what_differs() {
        let (folder, first) = (folder("scenario"), model(YARD));
        let file = folder.join("x.state");
        checkpoint(&first).save(&file, &print_of(&first)).expect("saved");
        for (was, is, reported) in [
            ("name: yard", "name: other", "scenario: here other, there yard"),
            // Where much differs, the name says why.
            ("name: yard\nutc: \"2026", "name: other\nutc: \"2027", "scenario: here other, there yard"),
            ("gravity_m_s2: 1.62", "gravity_m_s2: 1.63", "gravity_m_s2: here 1.63, there 1.62"),
            ("seed: 1", "seed: 2", "seed: here 2, there 1"),
            ("seed: 1", "seed: 1\nend_at_site_border: true", "end_at_site_border: here true, there false"),
            ("sorato.yaml", "rassor.yaml", "mounts rassor: here "),
        ] {
            let other = model(&YARD.replace(was, is));
            let refused = refusal(Checkpoint::load(&file, &print_of(&other)));
            let expected = format!("x.state: is of another run: {reported}");
            assert!(refused.contains(&expected), "{expected} is not in: {refused}");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_world_of_another_surface_is_refused_and_its_ground_is_taken() {
        let (folder, first) = (folder("surface"), model(YARD));
        let file = folder.join("x.state");
        checkpoint(&first).save(&file, &print_of(&first)).expect("saved");
        let mut scenario = Scenario::clone(first.scenario());
        scenario.site.surface.detail.mottle = 0.1;
        let of_ground = |scenario: &Scenario| Fingerprint::of_ground(&scenario.site, scenario.seed, first.terrain());
        let told = refusal(Checkpoint::load(&file, &Fingerprint::of(&scenario, first.terrain())));
        assert!(told.contains("x.state: is of another run: site surface: here "), "{told}");
        DrivenGround::load(&file, &of_ground(&scenario)).expect("the same ground");
        scenario.site.rocks.count_max += 1;
        let told = refusal(DrivenGround::load(&file, &of_ground(&scenario)));
        assert!(told.contains("x.state: is of other ground: site file: here "), "{told}");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn driven_ground_is_no_world_and_says_who_takes_it() {
        let (folder, model) = (folder("ground"), model(YARD));
        let (file, of) = (folder.join("day1.state"), ground_print_of(&model));
        DrivenGround::of(&checkpoint(&model).state).save(&file, &of).expect("saved");
        let reported = refusal(Checkpoint::load(&file, &print_of(&model)));
        for part in ["day1.state", "driven ground alone", "--ruts"] {
            assert!(reported.contains(part), "{part} is not in: {reported}");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_refused() {
        let (folder, model) = (folder("cut"), model(YARD));
        let (file, of) = (folder.join("x.state"), print_of(&model));
        checkpoint(&model).save(&file, &of).expect("saved");
        let bytes = fs::read(&file).expect("there");
        let (count, many) = (bytes.len(), bytes.len() / 100);
        assert!(count > 1000, "{count} bytes");
        let lengths = (0..64).chain((64..count - 64).step_by(many)).chain(count - 64..count);
        for length in lengths {
            fs::write(&file, &bytes[..length]).expect("written");
            let reported = refusal(Checkpoint::load(&file, &of));
            let expected = if length < HEAD_BYTES { "fewer than 12 bytes" } else { "take an earlier one" };
            assert!(
                reported.contains("x.state") && reported.contains(expected),
                "{length} of {count} bytes: {reported}"
            );
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_file_that_goes_on_after_its_end_is_refused() {
        let (folder, model) = (folder("after"), model(YARD));
        let (saved, of, file) = (checkpoint(&model), print_of(&model), folder.join("x.state"));
        let bytes = saved.to_bytes(&of).expect("packed");
        let mut unpacked = Vec::new();
        ZlibDecoder::new(&bytes[HEAD_BYTES..]).read_to_end(&mut unpacked).expect("unpacked");
        unpacked.push(0);
        let within = [&bytes[..HEAD_BYTES], &packed(&unpacked).expect("packed")].concat();
        for longer in [[&bytes[..], &[0]].concat(), within] {
            fs::write(&file, &longer).expect("written");
            for loaded in [Checkpoint::load(&file, &of), Checkpoint::from_bytes(&longer, &file, &of)] {
                let told = refusal(loaded);
                assert!(told.contains("x.state: is damaged: bytes follow its end"), "{told}");
            }
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// A file whose stream unpacks to `count` zeros; bytes after the stream make it at least `file_bytes` long.
    fn of_zeros(count: u64, file_bytes: usize) -> Vec<u8> {
        let deflated = stream(&vec![0_u8; count as usize], Compression::best()).expect("packed");
        let mut file = [&MAGIC[..], &VERSION.to_le_bytes()[..], &deflated[..]].concat();
        file.resize(file.len().max(file_bytes), 0);
        file
    }

    #[test]
    fn a_file_that_unpacks_to_more_than_its_size_allows_is_refused_with_the_bound() {
        let folder = folder("bomb");
        let (file, of) = (folder.join("bomb.state"), Fingerprint { parts: BTreeMap::new(), heights_m: Vec::new() });
        // The first is small; the second is so long that the ratio counts.
        for (count, file_bytes, bytes_max) in [((16 << 20) + 1, 0, 16_u64 << 20), (64 << 20, 1 << 20, 32 << 20)] {
            let bomb = of_zeros(count, file_bytes);
            fs::write(&file, &bomb).expect("written");
            let expected = format!("bomb.state: is {} bytes and unpacks to more than {bytes_max}", bomb.len());
            let loads = [Checkpoint::load(&file, &of), Checkpoint::from_bytes(&bomb, &file, &of)];
            for told in loads.map(refusal) {
                assert!(told.contains(&expected), "{expected} is not in: {told}");
            }
        }
        // At the bound it is read, and refused for its content.
        fs::write(&file, of_zeros(UNPACKED_BYTES_FREE, 0)).expect("written");
        let told = refusal(Checkpoint::load(&file, &of));
        assert!(!told.contains("unpacks to more"), "{told}");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_state_that_deflates_too_well_to_be_read_is_stored() {
        let (folder, model) = (folder("stored"), model(YARD));
        let file = folder.join("x.state");
        let long = "a".repeat(2 * UNPACKED_BYTES_FREE as usize);
        assert!(packed(long.as_bytes()).expect("packed").len() > long.len(), "it is stored");
        let of = Fingerprint { parts: BTreeMap::from([("long".to_owned(), long)]), ..print_of(&model) };
        let saved = checkpoint(&model);
        saved.save(&file, &of).expect("saved");
        assert!(fs::metadata(&file).expect("there").len() > 2 * UNPACKED_BYTES_FREE);
        assert!(Checkpoint::load(&file, &of).expect("loads") == saved);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
