//! Helpers of the sites' tests: the folder of third-party data, and measured ground that the tests generate.
#![allow(dead_code, missing_docs, unreachable_pub)]

#[path = "../../../../../tests/src/skip.rs"]
mod skip;

use std::f64::consts::TAU;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{GrayImage, ImageFormat, Luma};
use selene_base::input::load_yaml;
use selene_dem::{Compression, Crs, Dem, GeoTransform, Pole, write_geotiff};
use selene_terrain::{ElevationSpec, FileSpec, LevelSpec, SiteSpec};
use sha2::{Digest, Sha256};

pub fn site_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/site").join(name)
}

pub fn spec(name: &str) -> SiteSpec {
    load_yaml(&site_file(name)).expect("a good file")
}

/// The folder of third-party data, if this machine has it; panics without it where `SELENE_REQUIRE_DATA` is set.
fn data_dir() -> Option<PathBuf> {
    let found = std::env::var_os("SELENE_DATA").map(PathBuf::from).filter(|dir| dir.is_dir());
    if found.is_none() {
        skip::skip_data("real ground, made ground instead: set SELENE_DATA to the directory of the elevation data");
    }
    found
}

fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-measured-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

/// Sites with the folders of their elevation files: Hadley's laws on a picture of hills as steep as 37°, and Hadley
/// itself if its data are available.
pub fn hadleys(test: &str) -> Vec<(SiteSpec, PathBuf)> {
    let wave = |post: u32, posts: f64| (f64::from(post) / posts * TAU).sin();
    let hills = GrayImage::from_fn(257, 257, |x, y| Luma([(127.5 + 62.0 * (wave(x, 50.0) + wave(y, 70.0))) as u8]));
    let mut bytes = Cursor::new(Vec::new());
    hills.write_to(&mut bytes, ImageFormat::Png).expect("a picture");
    let (bytes, folder) = (bytes.into_inner(), folder(test));
    std::fs::write(folder.join("hills.png"), &bytes).expect("written");
    let mut made = spec("hadley.yaml");
    let ElevationSpec::Raster(raster) = &mut made.elevation else { panic!("a raster site") };
    raster.file = "hills.png".into();
    raster.sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let real = data_dir().map(|data| (spec("hadley.yaml"), data));
    [(made, folder)].into_iter().chain(real).collect()
}

/// Folder and name of a generated polar GeoTIFF of 33 × 33 posts, and of a real one of the same place if the data
/// contain it.
pub fn polar_files(test: &str) -> Vec<(PathBuf, String)> {
    let folder = folder(test);
    let crs =
        Crs::PolarStereographic { pole: Pole::North, central_meridian_rad: 0.0, scale: 1.0, false_origin_m: [0.0; 2] };
    let transform = GeoTransform::north_up(-53_750.0, -51_050.0, 2.43, 2.43);
    let height_m = |i: usize| (-209.0 + 2.0 * (i % 33) as f64 / 33.0 + ((i / 33) as f64 / 5.0).sin()) as f32;
    let dem = Dem::new([33, 33], transform, crs, (0..33 * 33).map(height_m).collect()).expect("a grid");
    write_geotiff(&dem, &folder.join("made.tif"), Compression::Deflate).expect("written");
    let real = data_dir().map(|data| (data, "dem/polar_crs/dem_moon.tif".to_owned()));
    [(folder, "made.tif".to_owned())].into_iter().chain(real).collect()
}

/// A site on a file of `polar_files`: Hadley's spec with its own location and levels.
pub fn on_a_geotiff(file: &str, datum_m: f64) -> SiteSpec {
    let level = |spacing_m, side_m| LevelSpec { spacing_m, side_m };
    let file = FileSpec { file: file.into(), source: "gz-common".into(), sha256: None, levels: 1 };
    SiteSpec {
        latitude_deg: 87.5558,
        longitude_deg: -46.432,
        datum_m,
        levels: vec![level(0.05, 12.8), level(0.4, 51.2), level(2.4, 240.0)],
        elevation: ElevationSpec::File(file),
        ..spec("hadley.yaml")
    }
}
