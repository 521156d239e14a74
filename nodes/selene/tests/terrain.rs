//! Tests of `selene terrain` and saved ruts: a site's ground is exported, inspected, cropped and drawn, with ruts and
//! without; invalid requests are refused with exit status 2.

mod common;

use std::path::{Path, PathBuf};

use common::{repository, run, text};
use selene_base::input::load_yaml;
use selene_dem::{Compression, ElevationFile, ReadOptions, write_geotiff};
use selene_terrain::{Clipmap, SiteSpec};
use serde_json::Value;

const SITE: &str = "config/site/polar.yaml";

/// The output of a command, which must succeed.
#[track_caller]
fn reported(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&reported(&[arguments, &["--json"]].concat())).expect("JSON on standard output")
}

#[track_caller]
fn assert_refused(arguments: &[&str], parts: &[&str]) {
    common::assert_refused(&run(arguments), parts);
}

/// A folder for one test, which gives paths in it as text.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(common::folder(name))
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }
}

fn ground() -> Clipmap {
    let file = repository().join(SITE);
    let site: SiteSpec = load_yaml(&file).expect("a site");
    Clipmap::of_site(&site, &file, None, 1).expect("ground")
}

/// Rounding error of heights of some tens of metres that are stored as `f32`, m.
const STORED_M: f64 = 1e-5;

#[test]
fn a_sites_ground_is_exported_looked_at_cropped_and_drawn() {
    let folder = Folder::new("terrain");
    let [tif, crop, png] = ["start.tif", "crop.tif", "start.png"].map(|name| folder.file(name));
    let square = ["--x", "0", "--y", "0", "--side", "40", "--spacing", "0.2", "--out", &tif];
    let line = reported(&[&["terrain", "export", SITE][..], &square].concat());
    assert!(line.contains("200 columns × 200 rows, 0.2 m apart, 0 posts without data"), "{line}");

    let info = json(&["terrain", "info", &tif]);
    assert_eq!((info["columns"].as_u64(), info["rows"].as_u64()), (Some(200), Some(200)));
    assert_eq!((info["format"].as_str(), info["map_unit"].as_str()), (Some("GeoTIFF"), Some("metre")));
    assert!(info["crs"].as_str().is_some_and(|crs| crs.contains("orthographic") && crs.contains("-85.4°")), "{info}");
    assert_eq!(info["no_data_count"].as_u64(), Some(0));
    for key in ["file", "spacing", "x_min", "x_max", "y_min", "y_max", "bounds", "height_min_m", "height_max_m"] {
        assert!(!info[key].is_null(), "{key} is missing in {info}");
    }

    assert_eq!(info["posts_read"].as_u64(), Some(200 * 200));
    let bare = folder.file("bare.tif");
    let whole = ElevationFile::open(tif.as_ref(), &ReadOptions::default()).expect("opens").read().expect("reads");
    write_geotiff(&whole, bare.as_ref(), Compression::None).expect("writes");
    let part = json(&["terrain", "info", &bare, "--posts", "2000"]);
    assert_eq!(part["posts_read"].as_u64(), Some(2000), "{part}");
    // The sample has ten rows: the first, the last and eight between.
    let rows = (0..10).flat_map(|i| &whole.heights_m()[i * 199 / 9 * 200..][..200]);
    let highest_m = rows.copied().fold(f32::NEG_INFINITY, f32::max);
    assert_eq!(part["height_max_m"].as_f64(), Some(f64::from(highest_m)), "{part} of {info}");
    let sampled = reported(&["terrain", "info", &bare, "--posts", "2000"]);
    assert!(sampled.contains("in a sample of 2000 posts") && sampled.contains("--posts 0 reads all"), "{sampled}");
    assert!(!reported(&["terrain", "info", &bare, "--posts", "0"]).contains("sample"));

    let ground = ground();
    for (x, y) in [(-12.2, 3.4), (7.0, 15.8), (0.4, -19.6)] {
        let place = [x, y].map(|m: f64| m.to_string());
        let sample = json(&["terrain", "sample", &tif, "--x", &place[0], "--y", &place[1]]);
        let height_m = sample["height_m"].as_f64().expect("a height");
        // Posts 0.2 m apart come from the level with a spacing of 0.16 m.
        let truth_m = ground.levels().nth(1).and_then(|level| level.height_m(x, y)).expect("on the ground");
        assert!((height_m - truth_m).abs() < STORED_M, "{height_m} m at {x}, {y}, not {truth_m} m");
    }
    // The map's origin is at the site's latitude and longitude, at height zero.
    let origin = json(&["terrain", "sample", &tif, "--lat", "-85.4", "--lon", "31.6"]);
    assert!(origin["interpolated_m"].as_f64().is_some_and(|m| m.abs() < 1e-3), "{origin}");
    for key in ["column", "row", "x", "y", "latitude_deg", "longitude_deg"] {
        assert!(origin[key].is_number(), "{key} is missing in {origin}");
    }

    reported(&["terrain", "crop", &tif, "--lat", "-85.4", "--lon", "31.6", "--side", "10", "--out", &crop]);
    let cropped = json(&["terrain", "info", &crop]);
    assert!(cropped["columns"].as_u64().is_some_and(|columns| (50..=51).contains(&columns)), "{cropped}");
    assert_eq!(cropped["crs"], info["crs"]);

    reported(&["terrain", "preview", &tif, "--out", &png]);
    let picture = image::open(&png).expect("a picture").into_rgb8();
    assert_eq!(picture.dimensions(), (200, 200));
}

#[test]
fn slopes_rocks_and_heights_over_the_sphere_are_exported_too() {
    let folder = Folder::new("terrain-layers");
    let at = ["--x", "-6", "--y", "4", "--side", "16", "--spacing", "0.04"];
    let read = |name: &str, more: &[&str]| -> Vec<f32> {
        let tif = folder.file(name);
        reported(&[&["terrain", "export", SITE][..], &at, more, &["--out", &tif]].concat());
        let mut file = ElevationFile::open(Path::new(&tif), &ReadOptions::default()).expect("opened");
        file.read().expect("read").heights_m().to_vec()
    };
    let slopes = read("slope.tif", &["--layer", "slope"]);
    assert!(slopes.iter().all(|slope| (0.0..1.5).contains(slope)) && slopes.iter().any(|slope| *slope > 0.05));
    let rocks = read("rocks.tif", &["--layer", "rocks"]);
    let covered = rocks.iter().filter(|height| **height > 0.0).count();
    assert!(covered > 20 && covered < rocks.len() / 4, "{covered} of {}", rocks.len());
    let [map, sphere] = ["map", "sphere"].map(|height| read(&format!("{height}.tif"), &["--height", height]));
    // The difference is the origin's height, 5400 m: ten metres away the sphere is 3e-5 m lower, and f32 rounds to 5e-4
    // m.
    assert!(map.iter().zip(&sphere).all(|(map, sphere)| (sphere - map - 5400.0).abs() < 1e-3));
}

#[test]
fn what_terrain_cannot_do_is_refused() {
    let folder = Folder::new("terrain-refused");
    let out = folder.file("no.tif");
    let export = |file: &str, more: &[&str], parts: &[&str]| {
        let square = ["--x", "0", "--y", "0", "--out", &out];
        assert_refused(&[&["terrain", "export", file][..], &square, more].concat(), parts);
    };
    export("config/rover/viper.yaml", &["--side", "10"], &["viper.yaml", "neither a site nor a scenario"]);
    export("no/such.yaml", &["--side", "10"], &["no/such.yaml"]);
    export(SITE, &["--side", "10", "--spacing", "0.001"], &["--spacing", "0.02"]);
    export(SITE, &["--side", "4000"], &["--side", "8192"]);
    export(SITE, &["--side", "1200", "--spacing", "0.15"], &["--side", "windows"]);
    export(SITE, &["--side", "-1"], &["--side"]);
    export(SITE, &["--side", "10", "--layer", "slope", "--height", "sphere"], &["--height sphere"]);
    export(SITE, &["--side", "10", "--ruts", "Cargo.toml"], &["Cargo.toml", "is no saved state"]);
    export("config/scenario/hadley.yaml", &["--side", "10"], &["--data", "SELENE_DATA"]);
    assert!(!Path::new(&out).exists());

    let tif = folder.file("small.tif");
    reported(&["terrain", "export", SITE, "--x", "0", "--y", "0", "--side", "4", "--out", &tif]);
    assert_refused(&["terrain", "info", "no/such.tif"], &["no/such.tif"]);
    assert_refused(&["terrain", "info", "Cargo.toml"], &["Cargo.toml"]);
    assert_refused(&["terrain", "sample", &tif, "--x", "50", "--y", "0"], &["outside the file"]);
    assert_refused(&["terrain", "sample", &tif, "--lat", "12", "--lon", "0"], &["small.tif", "outside the file"]);
    assert_refused(&["terrain", "sample", &tif, "--lat", "91", "--lon", "0"], &["-90 to 90"]);
    assert_refused(&["terrain", "sample", &tif, "--x", "1"], &["--y"]);
    let far = ["--lat", "12", "--lon", "0", "--side", "10", "--out", &out];
    assert_refused(&[&["terrain", "crop", &tif][..], &far].concat(), &["outside the file"]);
    let nowhere = folder.file("no/folder.tif");
    let near = ["--lat", "-85.4", "--lon", "31.6", "--side", "2", "--out", &nowhere];
    assert_refused(&[&["terrain", "crop", &tif][..], &near].concat(), &["--out", "folder does not exist"]);
    assert_refused(&["terrain", "preview", &tif, "--out", &nowhere], &["--out", "folder does not exist"]);
    assert_refused(&["terrain", "preview", &tif, "--out", SITE], &["polar.yaml", "is no PNG picture"]);
    assert_refused(
        &[&["terrain", "export", SITE, "--x", "0", "--y", "0", "--side", "4", "--out", &nowhere][..]].concat(),
        &["--out", "folder"],
    );
    for command in ["info", "sample", "crop", "preview", "export"] {
        let page = reported(&["terrain", command, "--help"]);
        assert!(page.contains("Example") && page.contains("selene terrain"), "{page}");
    }
}

#[test]
fn ruts_are_saved_by_one_run_taken_by_the_next_and_exported() {
    let folder = Folder::new("ruts");
    let [ruts, more, out] = ["day1.ruts", "day2.ruts", "out"].map(|name| folder.file(name));
    let drive = ["run", "--no-dds", "--device", "cpu", "--pace", "fast", "--for", "2", "--out", &out];
    let summary = reported(&[&drive[..], &["--save-ruts", &ruts]].concat());
    assert!(summary.contains("day1.ruts"), "{summary}");
    reported(&[&drive[..], &["--ruts", &ruts, "--save-ruts", &more, "--x", "2", "--y", "2.5"]].concat());
    let read = |ruts: &[&str]| -> Vec<f32> {
        let tif = folder.file("square.tif");
        let square = ["--x", "1", "--y", "1.5", "--side", "9", "--out", &tif];
        reported(&[&["terrain", "export", "config/scenario/polar.yaml"][..], &square, ruts].concat());
        let mut file = ElevationFile::open(Path::new(&tif), &ReadOptions::default()).expect("opened");
        file.read().expect("read").heights_m().to_vec()
    };
    let [none, one, both] = [&[][..], &["--ruts", &ruts], &["--ruts", &more]].map(read);
    let differing = |a: &[f32], b: &[f32]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    let (first, second) = (differing(&none, &one), differing(&none, &both));
    assert!(first > 500 && second > first + 500, "{first} posts after one run, {second} after two");
    assert_eq!(differing(&one, &both), second - first, "the first run's ruts are as they were");

    assert_refused(
        &[&drive[..], &["--ruts", &ruts, "--seed", "2"]].concat(),
        &["--ruts", "day1.ruts", "seed: here 2, there 1"],
    );
    assert_refused(&[&drive[..], &["--ruts", &out]].concat(), &["out"]);
    assert_refused(&[&drive[..], &["--save-ruts", &folder.file("no/day.ruts")]].concat(), &["--save-ruts", "folder"]);
    let bytes = std::fs::read(&ruts).expect("ruts");
    std::fs::write(&more, &bytes[..bytes.len() / 2]).expect("written");
    assert_refused(&[&drive[..], &["--ruts", &more]].concat(), &["day2.ruts", "damaged"]);
}
