//! Generated data from which the tests draw every picture, so that a person can check whether they are readable:
//! `SELENE_TEST_PICTURES=DIR cargo test -p selene-pictures`.

use std::path::{Path, PathBuf};

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_terrain::{Clipmap, Edit, Node};

use super::contact_sheet::{self, Tile};
use super::path::{PathPicture, PathTrack};
use super::tile::{LidarRevolution, Pixels, Still};
use super::wheels::{self, WheelTrack};

fn folder() -> PathBuf {
    let requested = std::env::var_os("SELENE_TEST_PICTURES").map(PathBuf::from);
    let folder =
        requested.unwrap_or_else(|| std::env::temp_dir().join(format!("selene-pictures-{}", std::process::id())));
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    folder
}

fn assert_drawn(path: &Path) {
    let image = image::open(path).expect("a PNG file").into_rgb8();
    let first = *image.get_pixel(0, 0);
    assert!(image.pixels().any(|pixel| *pixel != first), "{} is blank", path.display());
}

fn path_m(i: usize) -> [f64; 2] {
    let t = i as f64 * 0.01;
    [t, 0.4 * (0.7 * t).sin()]
}

fn rutted_ground() -> Clipmap {
    let mut ground = Clipmap::flat(0.02, 40.0);
    let posts = ground.finest().posts as i32;
    let mut edits = Vec::new();
    for row in 0..posts {
        for column in 0..posts {
            let [x, y] = ground.finest().post_xy_m(column as usize, row as usize);
            let crater = |cx: f64, cy: f64, r: f64| {
                let d = ((x - cx).powi(2) + (y - cy).powi(2)).sqrt() / r;
                0.18 * r * if d < 1.0 { d * d - 0.8 } else { 0.2 * (-(d - 1.0) * 4.0).exp() }
            };
            let height =
                0.08 * (0.4 * x).sin() + 0.06 * (0.5 * y + 1.0).cos() + crater(3.0, 3.0, 1.5) + crater(6.5, -2.0, 0.8);
            edits.push(Edit::of(Node { column, row }, height as f32));
        }
    }
    ground.apply(&edits);
    press_ruts(&mut ground);
    ground
}

fn press_ruts(ground: &mut Clipmap) {
    for i in 0..800 {
        let [x, y] = path_m(i);
        for side in [-0.61, 0.61] {
            for across in -5..5 {
                let at = [x, y + side + f64::from(across) * 0.02];
                let [column, row] = [0, 1].map(|k| ((at[k] - ground.finest().origin_m[k]) / 0.02).round() as i32);
                let sunk = ground.height_m(at[0], at[1]).expect("on the ground").min(10.0) - 0.004;
                ground.apply(&[Edit::of(Node { column, row }, sunk as f32)]);
            }
        }
    }
}

#[test]
fn the_path_is_drawn_over_the_ground() {
    let ground = rutted_ground();
    let path = folder().join("path.png");
    let picture = PathPicture {
        title: "viper on polar · 40.0 s · 8.21 m driven".to_owned(),
        ground: &ground,
        sun: Vector3::new(-0.7, 0.7, 0.12).normalize(),
        tracks: vec![
            PathTrack {
                name: "first".to_owned(),
                driven_m: (0..800).map(path_m).collect(),
                yaw_rad: 0.2,
                route_m: vec![[5.0, 0.0], [12.0, 4.0], [14.0, -8.0]],
            },
            PathTrack {
                name: "second".to_owned(),
                driven_m: (0..300).map(path_m).map(|[x, y]| [x, y + 2.0]).collect(),
                yaw_rad: 0.3,
                route_m: Vec::new(),
            },
        ],
    };
    picture.save(&path).expect("written");
    assert_drawn(&path);
}

#[test]
fn slip_sinkage_and_torque_are_drawn_over_time() {
    let wheel = |k: usize| WheelTrack {
        name: ["front_left", "front_right", "rear_left", "rear_right"][k].to_owned(),
        slip: (0..2000).map(|i| (f64::from(i) * 0.01, 0.08 + 0.04 * (f64::from(i) * 0.01 + k as f64).sin())).collect(),
        sinkage_m: (0..2000)
            .map(|i| (f64::from(i) * 0.01, 0.012 + 0.003 * (f64::from(i) * 0.013 + k as f64).cos()))
            .collect(),
        torque_n_m: (0..2000).map(|i| (f64::from(i) * 0.01, 4.0 + k as f64)).collect(),
    };
    let path = folder().join("wheels.png");
    wheels::save("Wheels of viper on polar", &(0..4).map(wheel).collect::<Vec<_>>(), &path).expect("written");
    assert_drawn(&path);
    wheels::save("Wheels of none", &[], &path.with_file_name("no_wheels.png")).expect("written");
}

#[test]
fn a_contact_sheet_has_every_kind_of_tile() {
    let grey = (0..640 * 360).map(|i| ((i % 640) / 3 + (i / 640) / 3) as u8).collect();
    let depth =
        (0..640 * 360).map(|i| if i / 640 < 120 { f32::INFINITY } else { 400.0 / (i / 640 - 119) as f32 }).collect();
    let class = (0..640 * 360).map(|i| ((i % 640) / 160) as u16).collect();
    let still = |pixels| Still { stamp: SimTime::from_secs_f64(3.25), width: 640, height: 360, pixels };
    let ring = |k: usize| {
        let (azimuth, range) = ((k % 900) as f32 * 0.007, 2.0 + (k / 900) as f32 * 0.9);
        [range * azimuth.cos(), range * azimuth.sin(), 0.3 * azimuth.sin() * range - 1.8]
    };
    let sweep = LidarRevolution { stamp: SimTime::from_secs_f64(3.2), points_m: (0..16 * 900).map(ring).collect() };
    let mono = still(Pixels::Mono(grey));
    let mut tiles: Vec<_> = (0..9).map(|_| Tile::still("navcam_left", &mono)).collect();
    tiles.push(Tile::still("navcam_left depth", &still(Pixels::Depth(depth))));
    tiles.push(Tile::still("navcam_left segmentation", &still(Pixels::Classes(class))));
    tiles.push(Tile::sweep("lidar", &sweep));
    let path = folder().join("contact_sheet.png");
    contact_sheet::save("viper on polar · 20.0 s", &tiles, &path).expect("written");
    assert_drawn(&path);
    contact_sheet::save("nothing", &[], &path.with_file_name("empty_sheet.png")).expect("written");
}

#[test]
fn a_folder_that_cannot_be_written_is_reported_with_the_file() {
    let path = Path::new("/nonexistent/wheels.png");
    let message = wheels::save("x", &[], path).expect_err("no such folder").to_string();
    assert!(message.contains("/nonexistent/wheels.png"), "{message}");
}
