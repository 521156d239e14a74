//! Tests of the scenario `convoy`: its three rovers drive in one world, see one another, and share a map that shows
//! the paths and ruts of all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image::{RgbImage, imageops};
use selene_base::{SimTime, frames};
use selene_coherence::pose;
use selene_observe::instance_of_part;
use selene_pictures::contact_sheet::{TILE_PX, TILES, corner_px};
use selene_pictures::path::{PathPicture, PathTrack, driven_colour};
use selene_pictures::tile::Still;
use selene_ros::bag::BagReader;
use selene_ros::{Encoded, Message, decode, nav_msgs, sensor_msgs};
use selene_sim::{EntityId, LoadOptions, Scenario};
use selene_terrain::Clipmap;

use super::common::{folder, repository, selene, text};

const SCENARIO: &str = "config/scenario/convoy.yaml";
/// The rovers, in the order of the scenario, and their cameras.
const ROVERS: [(&str, &str); 3] = [("viper", "navcam_left"), ("ex1", "ex1_side"), ("sorato", "sorato_front")];
const VIPER: EntityId = EntityId(1);
const EX1: EntityId = EntityId(2);
const SORATO: EntityId = EntityId(3);
/// Length of the run: even the slowest rover drives farther than its symbols on the map reach.
const SECONDS: f64 = 4.0;
/// A rover is visible in an image if it has so many pixels.
const VISIBLE_PX: usize = 50;
/// A point between the rovers, map x and y, m.
const MIDDLE_M: [f64; 2] = [3.4, 1.2];
/// Distance from a rover's path within which its wheels make ruts, m: half of VIPER's diagonal and a margin.
const RUTS_WITHIN_M: f64 = 1.3;
/// The ruts of a rover change at least so many pixels of the map.
const RUTS_PX: usize = 100;
/// Reach on the map of the ring at a path's start and of the symbol at its end, px.
const SYMBOLS_PX: [f64; 2] = [11.0, 14.0];
/// Distance from a position on the map within which the line of its path is drawn, px.
const LINE_PX: i32 = 2;
/// Greatest difference between the colour of a path and its line, which is a tenth transparent.
const BLENDED: u8 = 30;

/// The recorded messages, by topic.
type Recorded = BTreeMap<String, Vec<Encoded>>;

/// Writes a camera of the configuration that also publishes instances. It takes one image a second, which keeps the
/// test short.
fn camera_with_instances(folder: &Path, name: &str) -> PathBuf {
    let shipped = repository().join(format!("config/sensor/{name}.yaml"));
    let shipped = std::fs::read_to_string(shipped).expect("a camera");
    let has_truth = shipped.lines().any(|line| line.starts_with("  truth:"));
    let written = shipped.lines().map(|line| match line.trim_start().split(':').next() {
        Some("rate_hz") => "  rate_hz: 1\n".to_owned(),
        Some("truth") => "  truth:\n    instances: true\n".to_owned(),
        Some("stereo_baseline_m") if !has_truth => format!("  truth:\n    instances: true\n{line}\n"),
        _ => format!("{line}\n"),
    });
    let file = folder.join(format!("{name}.yaml"));
    std::fs::write(&file, written.collect::<String>()).expect("written");
    file
}

/// Runs the scenario with these cameras. Returns its recorded odometry and images.
fn drive(folder: &Path) -> Recorded {
    let mut command = selene(&["run", SCENARIO, "--no-dds", "--device", "cpu", "--pace", "fast"]);
    command.args(["--for", &SECONDS.to_string(), "--record-topics", "ground_truth/odom$|image_raw$|instances/image$"]);
    for (number, (_, camera)) in ROVERS.iter().enumerate() {
        let file = camera_with_instances(folder, camera);
        command.arg("--set").arg(format!("rovers.{number}.sensors.0={}", file.display()));
    }
    let bag = folder.join("bag");
    let output = command.arg("--record").arg(&bag).arg("--out").arg(folder.join("out")).output().expect("starts");
    let summary = text(&output.stdout);
    assert!(output.status.success(), "{summary}{}", text(&output.stderr));
    for (rover, _) in ROVERS {
        assert!(summary.contains(rover), "{summary}");
    }
    let mut recorded = Recorded::new();
    for message in BagReader::open(&bag).expect("a bag").messages() {
        let message = message.expect("sound");
        recorded.entry(message.topic.name.clone()).or_default().push(message.encoded);
    }
    recorded
}

fn of_topic<M: Message>(recorded: &Recorded, topic: &str) -> Vec<M> {
    let messages = recorded.get(topic).unwrap_or_else(|| panic!("{topic} is not in {:?}", recorded.keys()));
    messages.iter().map(|encoded| decode(encoded).expect("a message")).collect()
}

fn stamp(image: &sensor_msgs::Image) -> SimTime {
    image.header.stamp.into()
}

/// The rovers in an image of instance numbers.
fn rovers_in(instances: &sensor_msgs::Image) -> Vec<EntityId> {
    let numbers: Vec<u32> = instances.data.as_chunks().0.iter().map(|pixel| u32::from_le_bytes(*pixel)).collect();
    let is_in = |rover: &EntityId| {
        let parts = instance_of_part(*rover, 0)..instance_of_part(EntityId(rover.0 + 1), 0);
        numbers.iter().filter(|number| parts.contains(*number)).count() >= VISIBLE_PX
    };
    [VIPER, EX1, SORATO].into_iter().filter(is_in).collect()
}

/// Whether the contact sheet has a tile of this image.
fn is_on(sheet: &RgbImage, image: &sensor_msgs::Image) -> bool {
    let still = Still::read(stamp(image), [image.width, image.height], &image.encoding, &image.data);
    let [width, height] = TILE_PX;
    let tile = still.expect("an image").tile(width, height);
    (0..TILES as u32).map(corner_px).any(|[x, y]| imageops::crop_imm(sheet, x, y, width, height).to_image() == tile)
}

/// The rovers that a camera shows in its images on the contact sheet.
fn shown_on(sheet: &RgbImage, recorded: &Recorded, rover: &str, camera: &str) -> BTreeSet<EntityId> {
    let images: Vec<sensor_msgs::Image> = of_topic(recorded, &format!("/{rover}/{camera}/image_raw"));
    let truths: Vec<sensor_msgs::Image> = of_topic(recorded, &format!("/{rover}/{camera}/instances/image"));
    let on_sheet: Vec<SimTime> = images.iter().filter(|image| is_on(sheet, image)).map(stamp).collect();
    assert!(!on_sheet.is_empty(), "none of {} images of {rover} is on the contact sheet", images.len());
    truths.iter().filter(|truth| on_sheet.contains(&stamp(truth))).flat_map(rovers_in).collect()
}

/// The recorded paths of the rovers, with their routes.
fn tracks(recorded: &Recorded, scenario: &Scenario) -> Vec<PathTrack> {
    let mut tracks = Vec::new();
    for rover in &scenario.rovers {
        let odometry: Vec<nav_msgs::Odometry> = of_topic(recorded, &rover.topic("ground_truth/odom"));
        let poses: Vec<_> = odometry.iter().map(|odometry| pose(&odometry.pose.pose)).collect();
        tracks.push(PathTrack {
            name: rover.name.clone(),
            driven_m: poses.iter().map(|pose| [pose.translation.x, pose.translation.y]).collect(),
            yaw_rad: poses.last().map_or(0.0, frames::yaw_rad),
            route_m: rover.route.as_ref().map(|route| route.waypoints_m.clone()).unwrap_or_default(),
        });
    }
    tracks
}

fn apart_px(a: (i32, i32), b: (i32, i32)) -> f64 {
    f64::from(a.0 - b.0).hypot(f64::from(a.1 - b.1))
}

fn colour_at(picture: &RgbImage, (x, y): (i32, i32)) -> [u8; 3] {
    picture.get_pixel(x as u32, y as u32).0
}

/// Whether the picture has about this colour near a pixel.
fn is_drawn(picture: &RgbImage, colour: [u8; 3], (x, y): (i32, i32)) -> bool {
    let is_about = |at| colour_at(picture, at).iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= BLENDED);
    let near = |at: i32| at - LINE_PX..=at + LINE_PX;
    near(y).any(|y| near(x).any(|x| is_about((x, y))))
}

/// Checks that a path is drawn at each of its positions between the symbols at its ends.
#[track_caller]
fn assert_drawn(map: &RgbImage, colour: [u8; 3], rover: &str, way: &[(i32, i32)]) {
    let (start, end) = (way[0], way[way.len() - 1]);
    let between = |at: &&(i32, i32)| apart_px(**at, start) > SYMBOLS_PX[0] && apart_px(**at, end) > SYMBOLS_PX[1];
    let line: Vec<_> = way.iter().filter(between).collect();
    assert!(!line.is_empty(), "{rover} drove only {} px of the map", apart_px(start, end));
    let lacking = line.iter().filter(|at| !is_drawn(map, colour, ***at)).count();
    assert_eq!(lacking, 0, "{rover}: so many of {} positions are not drawn", line.len());
}

/// The pixels within these bounds in which two pictures differ by more than rounding.
fn differing(pictures: [&RgbImage; 2], [left, top, right, bottom]: [i32; 4]) -> Vec<(i32, i32)> {
    let pixels = (top..=bottom).flat_map(|y| (left..=right).map(move |x| (x, y)));
    let differ = |at: &(i32, i32)| {
        let [one, other] = pictures.map(|picture| colour_at(picture, *at));
        one.iter().zip(other).any(|(a, b)| a.abs_diff(b) > 1)
    };
    pixels.filter(differ).collect()
}

#[test]
fn the_rovers_of_the_convoy_see_each_other_and_are_on_one_map_with_their_ruts() {
    let folder = folder("convoy");
    let recorded = drive(&folder);
    let picture = |name: &str| image::open(folder.join(name)).expect(name).to_rgb8();
    let sheet = picture("out/contact_sheet.png");
    let [by_viper, by_ex1, by_sorato] = ROVERS.map(|(rover, camera)| shown_on(&sheet, &recorded, rover, camera));
    assert!(by_viper.contains(&SORATO), "VIPER shows {by_viper:?}");
    assert!(by_ex1.contains(&VIPER), "EX1 shows {by_ex1:?}");
    assert!(by_sorato.contains(&VIPER) && by_sorato.contains(&EX1), "Sorato shows {by_sorato:?}");

    // The same map of the ground on which nobody drove differs from the run's map by the ruts alone.
    let scenario = Scenario::load(&repository().join(SCENARIO), &LoadOptions::default()).expect("a scenario");
    let ground = Clipmap::around(&Arc::new(scenario.terrain().expect("ground")), MIDDLE_M[0], MIDDLE_M[1]);
    let sun = scenario.sun(SimTime::from_secs_f64(SECONDS)).expect("a Sun").unit_enu;
    let tracks = tracks(&recorded, &scenario);
    let undriven = PathPicture { title: "without ruts".to_owned(), ground: &ground, sun, tracks };
    undriven.save(&folder.join("without_ruts.png")).expect("saved");
    let (map, view) = (picture("out/path.png"), undriven.view());
    let rutted = differing([&map, &picture("without_ruts.png")], view.bounds_px());

    let way = |track: &PathTrack| track.driven_m.iter().map(|at| view.px(*at)).collect::<Vec<_>>();
    let ways: Vec<_> = undriven.tracks.iter().map(way).collect();
    let within_px = RUTS_WITHIN_M * view.px_per_m();
    let is_near = |way: &[(i32, i32)], at: (i32, i32)| way.iter().any(|on| apart_px(*on, at) < within_px);
    for (number, (way, (rover, _))) in ways.iter().zip(ROVERS).enumerate() {
        assert_drawn(&map, driven_colour(number), rover, way);
        let ruts = rutted.iter().filter(|at| is_near(way, **at)).count();
        assert!(ruts >= RUTS_PX, "the ruts of {rover} change {ruts} pixels");
    }
    let elsewhere = rutted.iter().filter(|at| !ways.iter().any(|way| is_near(way, **at))).count();
    assert_eq!(elsewhere, 0, "of {} changed pixels so many are far from all rovers", rutted.len());
}
