//! A device may never end, a pipe may block, and a file may be larger than memory: every reader of files refuses them
//! at once and by name.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use selene_base::Table;
use selene_base::input::load_yaml;
use selene_dem::{ElevationFile, ReadOptions};
use selene_ros::bag::BagReader;
use selene_sensors::SensorSpec;
use selene_sim::{Checkpoint, DrivenGround, Fingerprint, LoadOptions, Scenario};
use selene_sky::{Kernels, stars};
use selene_soil::SoilSpec;
use selene_terrain::SiteSpec;
use selene_tests::repository_file;
use selene_vehicle::{ObjectModel, Packages, RoverModel, read_urdf};

/// Reads a file and returns why it is refused.
type Reader = fn(&Path) -> String;

/// Readers, by the name of the file that each reads.
const READERS: [(&str, Reader); 17] = [
    ("site.yaml", |path| reported(load_yaml::<SiteSpec>(path))),
    ("soil.yaml", |path| reported(SoilSpec::load(path))),
    ("sensor.yaml", |path| reported(SensorSpec::load(path))),
    ("scenario.yaml", |path| reported(Scenario::load(path, &LoadOptions::default()))),
    ("rover.yaml", |path| reported(RoverModel::load(path))),
    ("rover.urdf", |path| reported(read_urdf(path, &Packages::default()))),
    ("of_a_rover.urdf", |path| reported(RoverModel::load(&rover_on(path)))),
    ("object.urdf", |path| reported(ObjectModel::load(path))),
    ("object.stl", |path| reported(ObjectModel::load(path))),
    ("runs.csv", |path| reported(Table::load(path))),
    ("bodies.bsp", |path| reported(Kernels::load(&[path]))),
    ("stars.json", |path| reported(stars(path))),
    // These readers identify a file by its first bytes, whatever its length.
    ("driven.ruts", |path| reported(DrivenGround::load(path, &nobodys()))),
    ("saved.state", |path| reported(Checkpoint::load(path, &nobodys()))),
    ("heights.tif", |path| reported(ElevationFile::open(path, &ReadOptions::default()))),
    ("HEIGHTS.LBL", |path| reported(ElevationFile::open(path, &ReadOptions::default()))),
    ("run.mcap", of_bag),
];
/// Number of readers, first in the list, that read a file as a whole.
const WHOLE: usize = 12;

fn reported<T>(read: Result<T, impl std::fmt::Display>) -> String {
    match read {
        Ok(_) => "it was taken".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Why a bag is refused, or its first message.
fn of_bag(path: &Path) -> String {
    match BagReader::open(path) {
        Ok(bag) => bag.messages().next().map_or_else(|| "it was taken".to_owned(), reported),
        Err(error) => error.to_string(),
    }
}

fn nobodys() -> Fingerprint {
    Fingerprint { parts: BTreeMap::new(), heights_m: Vec::new() }
}

/// VIPER's file with its URDF replaced, stored beside that URDF.
fn rover_on(urdf: &Path) -> PathBuf {
    let good = std::fs::read_to_string(repository_file("config/rover/viper.yaml")).expect("a rover");
    let file = urdf.with_extension("yaml");
    std::fs::write(&file, good.replace("../../urdf/viper/viper.urdf", &urdf.display().to_string())).expect("written");
    file
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-devices-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

/// The reader's message; fails if it takes longer than a moment.
fn at_once(reader: Reader, path: &Path) -> String {
    let (sender, receiver) = channel();
    let of = path.to_owned();
    std::thread::spawn(move || sender.send(reader(&of)));
    receiver.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{}: nothing is reported", path.display()))
}

#[test]
fn a_device_and_a_pipe_are_refused_by_whatever_reads_a_file() {
    let folder = folder("zero");
    for (name, reader) in READERS {
        let [zero, pipe] = ["zero", "pipe"].map(|kind| folder.join(format!("{kind}_{name}")));
        symlink("/dev/zero", &zero).expect("a link");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success(), "no pipe");
        for path in [zero, pipe] {
            let reported = at_once(reader, &path);
            let file = path.file_name().expect("named").to_string_lossy();
            assert!(reported.contains("is no regular file") && reported.contains(&file[..]), "{file}: {reported}");
        }
    }
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn a_file_beyond_all_bounds_is_refused_before_it_is_read() {
    let folder = folder("large");
    for (number, (name, reader)) in READERS.into_iter().enumerate() {
        let path = folder.join(name);
        // The file system stores it as a sparse file.
        File::create(&path).and_then(|file| file.set_len(8 << 30)).expect("eight gigabytes of nothing");
        let reported = at_once(reader, &path);
        assert!(reported.contains(name), "{name}: {reported}");
        let part = if number < WHOLE { "at most" } else { "is no" };
        assert!(reported.contains(part), "{name}: {reported}");
    }
    std::fs::remove_dir_all(folder).expect("clean");
}
