//! Elevation files against GDAL (by rasterio): both read the same heights and positions from files that GDAL writes,
//! and from files that Selene writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selene_dem::{Compression, Crs, Dem, ElevationFile, GeoPoint, MOON_RADIUS_M, ReadOptions, write_geotiff};
use selene_terrain::{Clipmap, SiteSpec};

use crate::program::{folder, peer, selene, succeeded, text};

/// Heights of kilometres are stored as `f32`, accurate to 1.2e-4 m; GDAL writes some as text.
const HEIGHT_TOLERANCE_M: f64 = 5e-4;
/// The same equations in f64, a million metres from the origin: PROJ rounds at 1e-7 m.
const PLACE_TOLERANCE_M: f64 = 1e-5;

/// A line of points.txt.
struct Point {
    file: String,
    post: [usize; 2],
    xy: [f64; 2],
    place: GeoPoint,
    height_m: f64,
}

fn points(out: &Path) -> Vec<Point> {
    let lines = std::fs::read_to_string(out.join("points.txt")).expect("points");
    let point = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let [file, column, row, x, y, lat, lon, height] = words[..] else { panic!("{line}") };
        let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{line}"));
        Point {
            file: file.to_owned(),
            post: [column, row].map(|word| word.parse().expect("a post")),
            xy: [number(x), number(y)],
            place: GeoPoint::from_degrees(number(lat), number(lon)),
            height_m: number(height),
        }
    };
    lines.lines().map(point).collect()
}

/// Options for the files of `elevation.py` that lack scale and position.
fn options(file: &str) -> ReadOptions {
    if !(file.ends_with(".png") || file.ends_with(".npy")) {
        return ReadOptions::default();
    }
    let is_picture = file.ends_with(".png");
    ReadOptions {
        spacing_m: Some(5.0),
        scale: is_picture.then_some(0.125),
        offset_m: is_picture.then_some(-3000.0),
        crs: Some(Crs::parse("IAU_2015:30135").expect("a code")),
        origin: Some([-12345.5, 6789.25]),
        no_data: None,
    }
}

fn check(file: &ElevationFile, dem: &Dem, point: &Point) {
    let Point { file: name, post: [column, row], xy, place, height_m } = point;
    let found = dem.post_m(*column, *row).unwrap_or(f64::NAN);
    let is_same = (found - height_m).abs() < HEIGHT_TOLERANCE_M || found.is_nan() && height_m.is_nan();
    assert!(is_same, "{name}: {found} m at {column}, {row}; GDAL has {height_m} m");
    let at = dem.transform().post_xy(*column, *row);
    let off_m = (at[0] - xy[0]).hypot(at[1] - xy[1]) * dem.crs().unit_m();
    assert!(off_m < PLACE_TOLERANCE_M, "{name}: {at:?} at {column}, {row}; GDAL has {xy:?}");
    let here = dem.crs().inverse(at).expect("on the Moon");
    let off_m = (here.direction() - place.direction()).norm() * MOON_RADIUS_M;
    assert!(off_m < PLACE_TOLERANCE_M, "{name}: {here:?} at {column}, {row}; GDAL has {place:?}, {off_m} m away");
    assert_eq!(file.post_at(place), Some([*column, *row]), "{name}: {place:?}");
    assert_eq!(dem.post_at(place), Some([*column, *row]), "{name}: {place:?}");
}

/// Checks all points, and returns the number of files.
fn check_all(out: &Path) -> usize {
    let mut files: BTreeMap<String, (ElevationFile, Dem)> = BTreeMap::new();
    for point in points(out) {
        let (file, dem) = files.entry(point.file.clone()).or_insert_with(|| {
            let opened = ElevationFile::open(&out.join(&point.file), &options(&point.file));
            let mut file = opened.unwrap_or_else(|error| panic!("{error}"));
            let dem = file.read().unwrap_or_else(|error| panic!("{error}"));
            (file, dem)
        });
        check(file, dem, &point);
    }
    files.len()
}

/// Why a file is refused.
fn refusal(path: &Path) -> String {
    let read = ElevationFile::open(path, &ReadOptions::default()).and_then(|mut file| file.read());
    read.map(|_| ()).expect_err(&text(path)).to_string()
}

#[test]
fn gdal_and_selene_read_the_same_heights_at_the_same_places() {
    let Some(mut writer) = peer("elevation.py") else { return };
    let out = folder("elevation");
    succeeded("elevation.py", &writer.arg(&out).output().expect("python"));
    let files = check_all(&out);
    // Ten coordinate systems, all compressions of three sample types, labels, images.
    assert!(files >= 70, "{files} files");
    for (name, part) in [
        ("earth.tif", "Earth"),
        ("utm.tif", "of the Earth"),
        ("mars.tif", "Mars"),
        ("mars.xml", "Mars"),
        ("mars.cub", "Mars"),
        ("mercator.tif", "ProjCoordTransGeoKey"),
        ("feet.tif", "ProjLinearUnitsGeoKey"),
        ("zstd.tif", "Compression"),
        ("bands.tif", "SamplesPerPixel"),
        ("nowhere.tif", "coordinate system"),
        ("mask.tif", "mask"),
    ] {
        let message = refusal(&out.join(name));
        assert!(message.contains(name) && message.contains(part), "{part} is missing in: {message}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn gdal_reads_what_selene_writes() {
    let out = folder("elevation-written");
    let Some(mut reader) = peer("elevation.py") else { return };
    let systems = [("30100", 0.01), ("30110", 40.0), ("30115", 40.0), ("30120", 40.0), ("30130", 5.0), ("30135", 5.0)];
    let mut paths: Vec<PathBuf> = Vec::new();
    for (code, step) in systems {
        let crs = Crs::parse(code).expect("a code");
        let height = |i: usize| if i % 97 == 5 { f32::NAN } else { (i as f32 * 0.37).sin() * 3000.0 };
        let transform = selene_dem::GeoTransform::north_up(12.5, 30.25, step, step);
        let dem = Dem::new([200, 130], transform, crs, (0..200 * 130).map(height).collect()).expect("a grid");
        for compression in [Compression::None, Compression::Deflate] {
            let path = out.join(format!("{code}_{compression:?}.tif"));
            write_geotiff(&dem, &path, compression).expect("written");
            paths.push(path);
        }
    }
    succeeded("elevation.py", &reader.arg(&out).args(&paths).output().expect("python"));
    assert_eq!(check_all(&out), paths.len());
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn gdal_reads_an_exported_site_where_it_is_with_the_heights_of_its_ground() {
    let out = folder("elevation-exported");
    let Some(mut reader) = peer("elevation.py") else { return };
    let site_file = selene_tests::repository_file("config/site/polar.yaml");
    let paths = ["fine", "coarse"].map(|name| out.join(format!("{name}.tif")));
    for (path, square) in paths.iter().zip([["-15", "20", "30", "0.1"], ["400", "-300", "900", "5.12"]]) {
        let [x, y, side, spacing] = square;
        let mut export = selene();
        export.args(["terrain", "export"]).arg(&site_file).args(["--x", x, "--y", y, "--side", side]);
        succeeded("export", &export.args(["--spacing", spacing, "--out"]).arg(path).output().expect("selene"));
    }
    succeeded("elevation.py", &reader.arg(&out).args(&paths).output().expect("python"));
    assert_eq!(check_all(&out), paths.len());
    let site: SiteSpec = selene_base::input::load_yaml(&site_file).expect("site");
    let mut ground = Clipmap::of_site(&site, &site_file, None, 1).expect("ground");
    for point in points(&out) {
        let [x, y] = point.xy;
        let height_m = if point.file.contains("fine") {
            ground.go_to(x, y);
            ground.height_m(x, y)
        } else {
            ground.levels().last().and_then(|coarsest| coarsest.height_m(x, y))
        };
        let off_m = height_m.map_or(f64::NAN, |height_m| (height_m - point.height_m).abs());
        assert!(off_m < HEIGHT_TOLERANCE_M, "{}: {} m, {off_m} m off at {x}, {y}", point.file, point.height_m);
    }
    std::fs::remove_dir_all(out).expect("clean");
}
