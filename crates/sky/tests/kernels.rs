//! Claims about SPICE kernels: those of NAIF load, and what is no such thing is told.

use std::path::PathBuf;
use std::sync::Arc;

use selene_sky::{Ephemeris, Kernels, SiteSky, Utc, stars};

/// The files that make a lunar sky, and two that may lie beside them.
const FILES: [&str; 5] = ["naif0012.tls", "pck00011.tpc", "moon_080317.tf", "moon_pa_de421_1900-2050.bpc", "de421.bsp"];
/// The two ephemerides differ by what the series leave out (0.02°).
const SERIES_TOLERANCE_RAD: f64 = 3.5e-4;

fn data_dir() -> Option<PathBuf> {
    let found = std::env::var_os("SELENE_DATA").map(PathBuf::from).filter(|dir| dir.is_dir());
    if found.is_none() {
        eprintln!("skipped: needs SPICE kernels; set SELENE_DATA to the directory that has spice/");
    }
    found
}

fn kernels(names: &[&str]) -> Option<Result<Kernels, String>> {
    let folder = data_dir()?.join("spice");
    let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    Some(Kernels::load(&files).map_err(|e| e.to_string()))
}

fn utc(text: &str) -> Utc {
    text.parse().expect("good")
}

#[test]
fn every_kernel_of_the_data_loads_in_any_order() {
    let mut names = FILES;
    names.reverse();
    let Some(forward) = kernels(&FILES) else { return };
    let Some(backward) = kernels(&names) else { return };
    let [forward, backward] = [forward, backward].map(|kernels| Arc::new(kernels.expect("good kernels")));
    assert_eq!(forward.covered_days(), ["1900-01-01".to_owned(), "2050-12-31".to_owned()]);
    let at = |kernels: &Arc<Kernels>| {
        let sky = SiteSky::new(-89.0, 30.0).with(Ephemeris::Kernels(Arc::clone(kernels)));
        sky.at(utc("2026-11-21T12:00:00Z")).expect("covered")
    };
    let series = SiteSky::new(-89.0, 30.0).at(utc("2026-11-21T12:00:00Z")).expect("analytic");
    assert_eq!(at(&forward).sun, at(&backward).sun);
    assert!(at(&forward).sun.unit_enu.angle(&series.sun.unit_enu) < SERIES_TOLERANCE_RAD);
    assert!(at(&forward).earth.unit_enu.angle(&series.earth.unit_enu) < SERIES_TOLERANCE_RAD);
    assert!(at(&forward).enu_from_icrf.angle_to(&series.enu_from_icrf) < SERIES_TOLERANCE_RAD);
}

#[test]
fn an_instant_that_is_not_covered_is_told_with_the_span() {
    let Some(kernels) = kernels(&FILES) else { return };
    let sky = SiteSky::new(0.0, 0.0).with(Ephemeris::Kernels(Arc::new(kernels.expect("good kernels"))));
    let told = sky.sun(utc("2060-01-01T00:00:00Z")).expect_err("not covered").to_string();
    for part in ["2060-01-01T00:00:00Z", "de421.bsp", "1900-01-01 to 2050-12-31"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn what_is_missing_among_the_kernels_is_told_with_what_would_have_it() {
    for (left_out, part, advice) in [
        ("de421.bsp", "the Sun is in none", "de440s.bsp"),
        ("moon_080317.tf", "the mean Earth frame", "moon_080317.tf"),
        ("moon_pa_de421_1900-2050.bpc", "the Moon's attitude", "binary PCK"),
    ] {
        let names: Vec<&str> = FILES.into_iter().filter(|name| *name != left_out).collect();
        let Some(refused) = kernels(&names) else { return };
        let told = refused.expect_err(left_out);
        assert!(told.contains(part) && told.contains(advice), "{told}");
    }
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("selene-kernel-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("written");
    path
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    let path = written(name, bytes);
    let told = Kernels::load(&[&path]).expect_err(name).to_string();
    std::fs::remove_file(&path).expect("clean");
    assert!(told.contains(name), "{told}");
    told
}

#[test]
fn a_truncated_or_foreign_file_is_refused_with_its_name() {
    assert!(refusal("a.txt", b"not a kernel").contains("is no SPICE kernel"));
    assert!(refusal("empty.bsp", b"").contains("is no SPICE kernel"));
    assert!(refusal("head.bsp", b"DAF/SPK ").contains("is truncated"));
    let Some(folder) = data_dir() else { return };
    let whole = std::fs::read(folder.join("spice/moon_pa_de421_1900-2050.bpc")).expect("kernel");
    for length in [500, 1024, 4096, whole.len() - 2048] {
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
    let Some(folder) = data_dir() else { return };
    let folder = folder.join("spice");
    let whole = std::fs::read(folder.join("moon_pa_de421_1900-2050.bpc")).expect("kernel");
    let summary = (u32::from_le_bytes(whole[76..80].try_into().expect("four bytes")) as usize - 1) * 1024;
    let others = ["moon_080317.tf", "de421.bsp"].map(|name| folder.join(name));
    let end = (u32::from_le_bytes(whole[84..88].try_into().expect("four bytes")) as usize - 1) * 8;
    // The pointers of the first record and of the first segment, and the segment's own end.
    let places = (8..16).chain(76..88).chain(summary..summary + 64).chain(end - 32..end);
    for place in places.step_by(3) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        let path = written("damaged.bpc", &damaged);
        if let Ok(kernels) = Kernels::load(&[path.as_path(), others[0].as_path(), others[1].as_path()]) {
            let sky = SiteSky::new(0.0, 0.0).with(Ephemeris::Kernels(Arc::new(kernels)));
            for instant in ["1950-01-01T00:00:00Z", "2050-12-31T00:00:00Z"] {
                let _ = sky.at(utc(instant));
            }
        }
        std::fs::remove_file(path).expect("clean");
    }
}

#[test]
fn the_catalogue_of_the_data_has_sirius_first() {
    let Some(folder) = data_dir() else { return };
    let stars = stars(&folder.join("stars/stars.6.json")).expect("good");
    assert_eq!((stars.len(), stars[0].id, stars[0].magnitude), (5044, 32349, -1.44));
    // Sirius, ICRF J2000 (Hipparcos): 101.2872°, −16.7161°.
    let sirius = selene_sky::Star::new(0, 101.2872, -16.7161, 0.0);
    assert!(stars[0].unit_icrf.angle(&sirius.unit_icrf).to_degrees() < 1e-3);
    assert!(stars.iter().all(|star| star.magnitude <= 6.0));
}
