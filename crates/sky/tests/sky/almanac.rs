//! Compares Sun, Earth and stars over sites all over the Moon with a table of JPL's DE421.

use crate::common;

use std::sync::Arc;

use common::data_dir;
use nalgebra::Vector3;
use selene_sky::{CatalogueStar, Ephemeris, Kernels, SiteSky, Utc};

/// The README beside the table says how it was made.
const TABLE: &str = include_str!("data/sky_de421.csv");
const CASES: usize = 250;
/// Tolerance for Sun, Earth and star by the series, degrees: 1.5 times their largest errors (0.0092, 0.0084, 0.0044).
/// The sky turns by 0.009° in a minute.
const SERIES_TOLERANCE_DEG: [f64; 3] = [0.0138, 0.0126, 0.0066];
/// Relative tolerance for distances by the series; their largest error is 7.3e-5.
const SERIES_DISTANCE: f64 = 1e-4;
/// Tolerance with the kernels that the table was made with, degrees; the neglected bending of light by the Sun is
/// 0.0005° at most.
const KERNELS_TOLERANCE_DEG: [f64; 3] = [0.005, 0.005, 0.01];
/// Relative tolerance for distances with kernels: Skyfield's bending of light stretches its vectors by this much.
const KERNELS_DISTANCE: f64 = 1e-6;

/// The angle between a unit vector and an azimuth and elevation, degrees.
fn apart_deg(unit_enu: &Vector3<f64>, azimuth_elevation_deg: &[f64]) -> f64 {
    let (sin_az, cos_az) = azimuth_elevation_deg[0].to_radians().sin_cos();
    let (sin_el, cos_el) = azimuth_elevation_deg[1].to_radians().sin_cos();
    let expected = Vector3::new(cos_el * sin_az, cos_el * cos_az, sin_el);
    unit_enu.cross(&expected).norm().atan2(unit_enu.dot(&expected)).to_degrees()
}

/// Errors of one line of the table: of the directions of Sun, Earth and star, degrees, and the larger relative error
/// of the distances of Sun and Earth.
fn off(line: &str, ephemeris: &Ephemeris) -> ([f64; 3], f64) {
    let (utc, numbers) = line.split_once(',').expect("columns");
    let utc: Utc = utc.parse().expect("an instant");
    let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().expect("a number")).collect();
    assert_eq!(numbers.len(), 13, "{line}");
    let site = SiteSky::new(numbers[0], numbers[1]).at_height(numbers[2]).with(ephemeris.clone());
    let sky = site.at(utc).unwrap_or_else(|error| panic!("{error}"));
    let star = sky.star_enu(&CatalogueStar::new(0, numbers[9], numbers[10], 0.0));
    let apart_deg = [
        apart_deg(&sky.sun.unit_enu, &numbers[3..]),
        apart_deg(&sky.earth.unit_enu, &numbers[6..]),
        apart_deg(&star, &numbers[11..]),
    ];
    let stretch = [sky.sun.distance_m / numbers[5] - 1.0, sky.earth.distance_m / numbers[8] - 1.0];
    (apart_deg, stretch[0].abs().max(stretch[1].abs()))
}

fn agrees(ephemeris: &Ephemeris, tolerance_deg: [f64; 3], tolerance: f64) {
    let lines: Vec<_> = TABLE.lines().skip(1).collect();
    assert_eq!(lines.len(), CASES);
    let (mut most_deg, mut most) = ([0.0_f64; 3], 0.0_f64);
    for line in lines {
        let (apart_deg, stretch) = off(line, ephemeris);
        assert!((0..3).all(|i| apart_deg[i] < tolerance_deg[i]), "{apart_deg:?}° off (Sun, Earth, star): {line}");
        assert!(stretch < tolerance, "distances off by {stretch}: {line}");
        most_deg = [0, 1, 2].map(|i| most_deg[i].max(apart_deg[i]));
        most = most.max(stretch);
    }
    println!("at most {most_deg:?}° off (Sun, Earth, star), distances by {most:e}");
}

#[test]
fn the_series_have_sun_earth_and_stars_where_de421_has_them() {
    agrees(&Ephemeris::Analytic, SERIES_TOLERANCE_DEG, SERIES_DISTANCE);
}

#[test]
fn kernels_have_them_there_too() {
    let Some(data) = data_dir() else { return };
    let names = ["naif0012.tls", "moon_080317.tf", "moon_pa_de421_1900-2050.bpc", "de421.bsp"];
    let files = names.map(|name| data.join("spice").join(name));
    let kernels = Arc::new(Kernels::load(&files).unwrap_or_else(|error| panic!("{error}")));
    agrees(&Ephemeris::Kernels(kernels), KERNELS_TOLERANCE_DEG, KERNELS_DISTANCE);
}
