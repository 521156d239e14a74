//! The sky against Skyfield with JPL DE421, for random sites and times: Sun and Earth, with kernels and without, and
//! stars.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use nalgebra::Vector3;
use selene_sky::{CatalogueStar, Ephemeris, Kernels, SiteSky, Sky, Utc, stars};
use selene_tests::{data_dir, skip_data};

use crate::program::{folder, peer, succeeded, text};

const CASES: u32 = 1000;
const STARS: usize = 20;
/// Accuracy that the sky's purpose needs: shadows and solar power at a polar site depend on a tenth of the Sun's disc.
const ANALYTIC_TOLERANCE_DEG: f64 = 0.05;
/// Tolerance with the same kernels; the deflection of light by the Sun, which is neglected, is 0.0005° at most.
const KERNELS_TOLERANCE_DEG: f64 = 0.005;
/// Tolerance for stars, with either ephemeris.
const STARS_TOLERANCE_DEG: f64 = 0.01;
/// Relative tolerance of distances: Skyfield's deflection of light stretches its vectors by that much.
const DISTANCE_TOLERANCE: f64 = 1e-6;
const KERNELS: [&str; 4] = ["naif0012.tls", "moon_080317.tf", "moon_pa_de421_1900-2050.bpc", "de421.bsp"];

struct Case {
    utc: String,
    latitude_deg: f64,
    longitude_deg: f64,
    height_m: f64,
}

impl Case {
    fn sky(&self, ephemeris: Ephemeris) -> Sky {
        let site = SiteSky::new(self.latitude_deg, self.longitude_deg).at_height(self.height_m).with(ephemeris);
        let utc: Utc = self.utc.parse().expect("good");
        site.at(utc).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Pseudo-random numbers in [0, 1): additive recurrence with irrational steps.
fn spread(number: u32, dimension: usize) -> f64 {
    const STEPS: [f64; 5] = [0.856_674_883_854_502_9, 0.733_891_857_119_9, 0.628_706_722_8, 0.538_597_2, 0.461_402_8];
    (f64::from(number) * STEPS[dimension] + 0.37 * dimension as f64).fract()
}

/// A site and a time from 1972, the first year with leap seconds, to 2049; every fourth site near a pole.
fn case(number: u32) -> Case {
    let [year, day, clock, north, east] = [0, 1, 2, 3, 4].map(|dimension| spread(number, dimension));
    let (year, seconds) = (1972 + (year * 78.0) as u32, (clock * 86_400.0) as u32);
    let (month, day) = (1 + (day * 12.0) as u32, 1 + (day * 337.0) as u32 % 28);
    let latitude_deg =
        if number.is_multiple_of(4) { -90.0 + 10.0 * north } else { (2.0 * north - 1.0).asin().to_degrees() };
    Case {
        utc: format!("{year}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60),
        latitude_deg,
        longitude_deg: 360.0 * east - 180.0,
        height_m: 8000.0 * spread(number, 2) - 3000.0,
    }
}

/// Stars from all over the catalogue, in files for the peer.
fn chosen_stars(data: &Path) -> Vec<CatalogueStar> {
    let stars = stars(&data.join("stars/stars.6.json")).expect("a catalogue");
    stars.iter().step_by(stars.len() / STARS).copied().take(STARS).collect()
}

fn star_line(star: &CatalogueStar) -> String {
    let unit = star.unit_icrf;
    format!("{},{:.12},{:.12}\n", star.id, unit.y.atan2(unit.x).to_degrees(), unit.z.asin().to_degrees())
}

/// Skyfield's results: a line of eight numbers per case.
fn skyfield(data: &Path, cases: &[Case], stars: &[CatalogueStar]) -> Option<Vec<Vec<f64>>> {
    let mut python = peer("sky.py")?;
    let out = folder("sky");
    let lines = cases.iter().fold(String::new(), |mut lines, case| {
        writeln!(lines, "{},{},{},{}", case.utc, case.latitude_deg, case.longitude_deg, case.height_m).expect("text");
        lines
    });
    std::fs::write(out.join("cases.csv"), lines).expect("written");
    std::fs::write(out.join("stars.csv"), stars.iter().map(star_line).collect::<String>()).expect("written");
    let files = [data.join("spice"), out.join("cases.csv"), out.join("stars.csv")].map(|path| text(&path));
    let printed = succeeded("sky.py", &python.args(files).output().expect("python"));
    std::fs::remove_dir_all(out).expect("clean");
    Some(printed.lines().map(|line| line.split(',').map(|value| value.parse().expect("number")).collect()).collect())
}

fn apart_deg(unit_enu: &Vector3<f64>, azimuth_elevation_deg: &[f64]) -> f64 {
    let (azimuth, elevation) = (azimuth_elevation_deg[0].to_radians(), azimuth_elevation_deg[1].to_radians());
    let (sin_az, cos_az) = azimuth.sin_cos();
    let expected = Vector3::new(elevation.cos() * sin_az, elevation.cos() * cos_az, elevation.sin());
    unit_enu.cross(&expected).norm().atan2(unit_enu.dot(&expected)).to_degrees()
}

#[test]
fn sun_earth_and_stars_stand_where_skyfield_has_them() {
    let Some(data) = data_dir() else { return skip_data("needs SPICE kernels and stars; set SELENE_DATA") };
    let (cases, stars): (Vec<_>, _) = ((0..CASES).map(case).collect(), chosen_stars(&data));
    let Some(expected) = skyfield(&data, &cases, &stars) else { return };
    let files: Vec<_> = KERNELS.iter().map(|name| data.join("spice").join(name)).collect();
    let kernels = Arc::new(Kernels::load(&files).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(expected.len(), cases.len());
    let mut worst_deg = [0.0_f64; 6];
    let mut worst_distance = 0.0_f64;
    for (number, (case, expected)) in cases.iter().zip(&expected).enumerate() {
        let (exact, series) = (case.sky(Ephemeris::Kernels(Arc::clone(&kernels))), case.sky(Ephemeris::Analytic));
        let star = &stars[number % stars.len()];
        let apart = [
            apart_deg(&exact.sun.unit_enu, &expected[0..]),
            apart_deg(&exact.earth.unit_enu, &expected[3..]),
            apart_deg(&exact.star_enu(star), &expected[6..]),
            apart_deg(&series.sun.unit_enu, &expected[0..]),
            apart_deg(&series.earth.unit_enu, &expected[3..]),
            apart_deg(&series.star_enu(star), &expected[6..]),
        ];
        worst_deg.iter_mut().zip(apart).for_each(|(worst, apart)| *worst = worst.max(apart));
        let stretch = [exact.sun.distance_m / expected[2], exact.earth.distance_m / expected[5]];
        worst_distance = stretch.iter().fold(worst_distance, |worst, ratio| worst.max((ratio - 1.0).abs()));
    }
    println!(
        "worst of {CASES}, degrees: {worst_deg:?} (kernels: sun, earth, star; series the same), distance {worst_distance:e}"
    );
    let allowed_deg = [
        [KERNELS_TOLERANCE_DEG, KERNELS_TOLERANCE_DEG, STARS_TOLERANCE_DEG],
        [ANALYTIC_TOLERANCE_DEG, ANALYTIC_TOLERANCE_DEG, STARS_TOLERANCE_DEG],
    ]
    .concat();
    assert!(worst_deg.iter().zip(allowed_deg).all(|(worst, allowed)| *worst < allowed), "{worst_deg:?}");
    assert!(worst_distance < DISTANCE_TOLERANCE, "{worst_distance}");
}
