//! LUNAR's figures 13 to 15 with our rovers, shown in docs/gallery.md: VIPER and RASSOR after a drive of two metres,
//! from beside a wheel and from outside, with the Sun behind the cameras and in front of them; and VIPER at night
//! behind its headlights.

use selene_sim::{LoadOptions, Scenario};
use selene_tests::repository_file;

use crate::{compare, images_of};

/// Duration of the drive: its ruts reach from the rear wheels into the image.
const DRIVEN_S: f64 = 12.0;
/// Evening of the day on whose morning the scenarios begin: the Sun is as high, on the other side.
const EVENING: &str = "2026-11-27T13:00:00Z";

fn compare_all(scenario: &str, utc: Option<&str>, pictures: &[(&str, &str)]) {
    let utc = utc.map(|utc| utc.parse().expect("an instant"));
    let file = repository_file(&format!("config/scenario/{scenario}.yaml"));
    let options = LoadOptions { utc, ..LoadOptions::default() };
    let scenario = Scenario::load(&file, &options).expect("scenario");
    let cameras: Vec<_> = pictures.iter().map(|(camera, _)| *camera).collect();
    let seen = images_of(&scenario, DRIVEN_S, &cameras);
    pictures.iter().zip(&seen).for_each(|((_, name), image)| compare(name, image));
}

#[test]
fn viper_with_the_sun_behind_the_cameras_looks_as_it_did() {
    let pictures = [
        ("viper_wheel", "viper_wheel_behind"),
        ("viper_birdseye", "viper_birdseye_behind"),
        ("hazcam", "viper_hazcam"),
        ("aftcam", "viper_aftcam"),
    ];
    compare_all("viper_views", None, &pictures);
}

#[test]
fn viper_with_the_sun_against_the_cameras_looks_as_it_did() {
    let pictures = [("viper_wheel", "viper_wheel_against"), ("viper_birdseye", "viper_birdseye_against")];
    compare_all("viper_views", Some(EVENING), &pictures);
}

#[test]
fn rassor_with_the_sun_behind_the_camera_looks_as_it_did() {
    compare_all("rassor_views", None, &[("rassor_wheel", "rassor_wheel_behind")]);
}

#[test]
fn rassor_with_the_sun_against_the_camera_looks_as_it_did() {
    compare_all("rassor_views", Some(EVENING), &[("rassor_wheel", "rassor_wheel_against")]);
}

#[test]
fn viper_behind_its_spotlights_looks_as_it_did() {
    let pictures = [("navcam_left", "viper_spotlight_navcam"), ("viper_birdseye", "viper_spotlight_birdseye")];
    compare_all("viper_spotlight", None, &pictures);
}
