//! Tests of SPICE kernels: NAIF's files load, synthetic kernels put bodies where their numbers say, and files that are
//! no kernels are refused by name.

use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{EARTH_MOON_KM, KernelFolder, SPEED_KM_S, SUN_MOON_KM, data_dir, pck};
use nalgebra::Vector3;
use selene_sky::{Direction, Ephemeris, Kernels, MOON_RADIUS_M, SiteSky, Utc, stars};

/// The three kernels that a lunar sky needs, and two optional ones.
const FILES: [&str; 5] = ["naif0012.tls", "pck00011.tpc", "moon_080317.tf", "moon_pa_de421_1900-2050.bpc", "de421.bsp"];
/// The two ephemerides differ by what the series leave out (0.02°).
const SERIES_TOLERANCE_RAD: f64 = 3.5e-4;
const LIGHT_KM_S: f64 = 299_792.458;

fn loaded<P: AsRef<Path>>(files: &[P]) -> Arc<Kernels> {
    Arc::new(Kernels::load(files).unwrap_or_else(|error| panic!("{error}")))
}

fn site(kernels: &Arc<Kernels>, latitude_deg: f64, longitude_deg: f64) -> SiteSky {
    SiteSky::new(latitude_deg, longitude_deg).with(Ephemeris::Kernels(Arc::clone(kernels)))
}

fn utc(text: &str) -> Utc {
    text.parse().expect("good")
}

#[test]
fn every_kernel_of_the_data_loads_in_any_order() {
    let Some(data) = data_dir() else { return };
    let mut files = FILES.map(|name| data.join("spice").join(name));
    let forward = loaded(&files);
    files.reverse();
    let backward = loaded(&files);
    assert_eq!(forward.covered_days(), ["1900-01-01".to_owned(), "2050-12-31".to_owned()]);
    let at = |kernels: &Arc<Kernels>| site(kernels, -89.0, 30.0).at(utc("2026-11-21T12:00:00Z")).expect("covered");
    let series = SiteSky::new(-89.0, 30.0).at(utc("2026-11-21T12:00:00Z")).expect("analytic");
    assert_eq!(at(&forward).sun, at(&backward).sun);
    assert!(at(&forward).sun.unit_enu.angle(&series.sun.unit_enu) < SERIES_TOLERANCE_RAD);
    assert!(at(&forward).earth.unit_enu.angle(&series.earth.unit_enu) < SERIES_TOLERANCE_RAD);
    assert!(at(&forward).enu_from_icrf.angle_to(&series.enu_from_icrf) < SERIES_TOLERANCE_RAD);
}

/// Asserts a direction; the tolerance is the rounding of instants: a microsecond of the Moon's motion or rotation.
#[track_caller]
fn stands(direction: &Direction, unit_enu: Vector3<f64>, distance_km: f64) {
    assert!((direction.unit_enu - unit_enu).norm() < 1e-9, "{direction:?}, expected {unit_enu}");
    assert!(
        (direction.distance_m - (1e3 * distance_km - MOON_RADIUS_M)).abs() < 1.0,
        "{direction:?}, {distance_km} km"
    );
}

#[test]
fn bodies_stand_where_kernels_put_them_as_light_shows_them_from_a_moon_that_moves_and_turns() {
    let made = KernelFolder::new("places");
    let mut files = made.files();
    let forward = loaded(&files);
    files.reverse();
    for kernels in [forward, loaded(&files)] {
        assert_eq!(kernels.covered_days(), ["1970-01-01".to_owned(), "2029-12-31".to_owned()]);
        // J2000.0 by the leap seconds of 1999, and a day later, when the Moon has turned by 10°. The Earth is along
        // the ICRF's y, over 30° south in the tilted axes, and is seen where it was, as it moves away along that line.
        let seen_km = EARTH_MOON_KM / (1.0 + SPEED_KM_S / LIGHT_KM_S);
        for (instant, longitude_deg) in [("2000-01-01T11:58:55.816Z", 1.0), ("2000-01-02T11:58:55.816Z", -9.0)] {
            let earth = site(&kernels, -30.0, longitude_deg).earth(utc(instant)).expect("covered");
            stands(&earth, Vector3::z(), seen_km);
        }
        // The Sun is over 90° west of there, displaced by aberration toward the Moon's velocity.
        let sun = site(&kernels, 0.0, -89.0).sun(utc("2000-01-01T11:58:55.816Z")).expect("covered");
        let toward = Vector3::new(30_f64.to_radians().cos(), -0.5, 0.0);
        stands(&sun, (toward * (SPEED_KM_S / LIGHT_KM_S) + Vector3::z()).normalize(), SUN_MOON_KM);
    }
}

#[test]
fn an_instant_that_is_not_covered_is_reported_with_the_span() {
    let made = KernelFolder::new("span");
    let reported = site(&loaded(&made.files()), 0.0, 0.0).sun(utc("2060-01-01T00:00:00Z")).expect_err("not covered");
    for part in ["2060-01-01T00:00:00Z", "bodies.bsp", "1970-01-01 to 2029-12-31"] {
        assert!(reported.to_string().contains(part), "{reported}");
    }
}

#[test]
fn what_is_missing_among_the_kernels_is_reported_with_what_would_have_it() {
    let made = KernelFolder::new("missing");
    for (left_out, part, advice) in [
        ("bodies.bsp", "the Sun is in none", "de440s.bsp"),
        ("frames.tf", "the mean Earth frame", "moon_080317.tf"),
        ("moon.bpc", "the Moon's attitude", "binary PCK"),
    ] {
        let files: Vec<PathBuf> = made.files().into_iter().filter(|file| !file.ends_with(left_out)).collect();
        let reported = Kernels::load(&files).expect_err(left_out).to_string();
        assert!(reported.contains(part) && reported.contains(advice), "{reported}");
    }
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("selene-kernel-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("written");
    path
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    let path = written(name, bytes);
    let reported = Kernels::load(&[&path]).expect_err(name).to_string();
    std::fs::remove_file(&path).expect("clean");
    assert!(reported.contains(name), "{reported}");
    reported
}

#[test]
fn a_truncated_or_foreign_file_is_refused_with_its_name() {
    assert!(refusal("a.txt", b"not a kernel").contains("is no SPICE kernel"));
    assert!(refusal("empty.bsp", b"").contains("is no SPICE kernel"));
    assert!(refusal("head.bsp", b"DAF/SPK ").contains("is truncated"));
    let whole = pck();
    for length in [500, 1024, 2048, 3080, 3160] {
        assert!(refusal("cut.bpc", &whole[..length]).contains("is truncated"), "{length}");
    }
    let mut big_endian = whole.clone();
    big_endian[88..96].copy_from_slice(b"BIG-IEEE");
    assert!(refusal("big.bpc", &big_endian).contains("LTL-IEEE"));
    let mut circle = whole;
    let record = u32::from_le_bytes(circle[76..80].try_into().expect("four bytes")) as usize;
    circle[(record - 1) * 1024..][..8].copy_from_slice(&(record as f64).to_le_bytes());
    assert!(refusal("circle.bpc", &circle).contains("in a circle"));
}

#[test]
fn damaged_numbers_in_a_kernel_never_panic() {
    let (made, whole) = (KernelFolder::new("damaged"), pck());
    let summary = (u32::from_le_bytes(whole[76..80].try_into().expect("four bytes")) as usize - 1) * 1024;
    let end = (u32::from_le_bytes(whole[84..88].try_into().expect("four bytes")) as usize - 1) * 8;
    // The pointers of the first record and of the first segment, and the segment's own end.
    for place in (8..16).chain(76..88).chain(summary..summary + 64).chain(end - 32..end) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        std::fs::write(made.folder().join("moon.bpc"), &damaged).expect("written");
        if let Ok(kernels) = Kernels::load(&made.files()) {
            let sky = site(&Arc::new(kernels), 0.0, 0.0);
            for instant in ["1970-01-12T00:00:00Z", "2029-12-21T00:00:00Z"] {
                let _ = sky.at(utc(instant));
            }
        }
    }
}

#[test]
fn the_catalogue_of_the_data_has_sirius_first() {
    let Some(folder) = data_dir() else { return };
    let stars = stars(&folder.join("stars/stars.6.json")).expect("good");
    assert_eq!((stars.len(), stars[0].id, stars[0].magnitude), (5044, 32349, -1.44));
    // Sirius, ICRF J2000 (Hipparcos): 101.2872°, −16.7161°.
    let sirius = selene_sky::CatalogueStar::new(0, 101.2872, -16.7161, 0.0);
    assert!(stars[0].unit_icrf.angle(&sirius.unit_icrf).to_degrees() < 1e-3);
    assert!(stars.iter().all(|star| star.magnitude <= 6.0));
}
