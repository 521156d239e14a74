//! Devices and pipes have no end or make one wait, and a file may be larger than memory: whatever reads a file refuses
//! them at once and by name.

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
use selene_sensors::SensorSpec;
use selene_sim::{Checkpoint, DrivenGround, Fingerprint, LoadOptions, Scenario};
use selene_sky::{Kernels, stars};
use selene_soil::SoilSpec;
use selene_terrain::SiteSpec;
use selene_tests::repository_file;
use selene_vehicle::{ObjectModel, Packages, RoverModel, read_urdf};

/// Reads a file and tells why it is refused.
type Reader = fn(&Path) -> String;

/// Readers by the ending of what they read.
const READERS: [(&str, Reader); 16] = [
    ("site.yaml", |path| told(load_yaml::<SiteSpec>(path))),
    ("soil.yaml", |path| told(SoilSpec::load(path))),
    ("sensor.yaml", |path| told(SensorSpec::load(path))),
    ("scenario.yaml", |path| told(Scenario::load(path, &LoadOptions::default()))),
    ("rover.yaml", |path| told(RoverModel::load(path))),
    ("rover.urdf", |path| told(read_urdf(path, &Packages::default()))),
    ("of_a_rover.urdf", |path| told(RoverModel::load(&rover_on(path)))),
    ("object.urdf", |path| told(ObjectModel::load(path))),
    ("object.stl", |path| told(ObjectModel::load(path))),
    ("runs.csv", |path| told(Table::load(path))),
    ("bodies.bsp", |path| told(Kernels::load(&[path]))),
    ("stars.json", |path| told(stars(path))),
    // Told of these by their first bytes, however long they are.
    ("driven.ruts", |path| told(DrivenGround::load(path, &nobodys()))),
    ("saved.state", |path| told(Checkpoint::load(path, &nobodys()))),
    ("heights.tif", |path| told(ElevationFile::open(path, &ReadOptions::default()))),
    ("HEIGHTS.LBL", |path| told(ElevationFile::open(path, &ReadOptions::default()))),
];
/// Those that read a file whole, the first of the list.
const WHOLE: usize = 12;

fn told<T>(read: Result<T, impl std::fmt::Display>) -> String {
    match read {
        Ok(_) => "it was taken".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn nobodys() -> Fingerprint {
    Fingerprint { parts: BTreeMap::new(), heights_m: Vec::new() }
}

/// VIPER's file with another URDF, beside that.
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

/// What the reader tells, which must not take longer than a moment.
fn at_once(reader: Reader, path: &Path) -> String {
    let (say, said) = channel();
    let of = path.to_owned();
    std::thread::spawn(move || say.send(reader(&of)));
    said.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{}: nothing is told", path.display()))
}

#[test]
fn a_device_and_a_pipe_are_refused_by_whatever_reads_a_file() {
    let folder = folder("zero");
    for (name, reader) in READERS {
        let [zero, pipe] = ["zero", "pipe"].map(|kind| folder.join(format!("{kind}_{name}")));
        symlink("/dev/zero", &zero).expect("a link");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success(), "no pipe");
        for path in [zero, pipe] {
            let told = at_once(reader, &path);
            let file = path.file_name().expect("named").to_string_lossy();
            assert!(told.contains("is no regular file") && told.contains(&file[..]), "{file}: {told}");
        }
    }
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn a_file_beyond_all_bounds_is_refused_before_it_is_read() {
    let folder = folder("large");
    for (number, (name, reader)) in READERS.into_iter().enumerate() {
        let path = folder.join(name);
        // The file system keeps a hole as one.
        File::create(&path).and_then(|file| file.set_len(8 << 30)).expect("eight gigabytes of nothing");
        let told = at_once(reader, &path);
        assert!(told.contains(name), "{name}: {told}");
        let part = if number < WHOLE { "at most" } else { "is no" };
        assert!(told.contains(part), "{name}: {told}");
    }
    std::fs::remove_dir_all(folder).expect("clean");
}
