//! Point clouds as a Python reader finds them in a bag: corrected by the time of each point, the scans of a driving
//! rover show one ground surface; with all times set to 0 they do not.

use serde_json::Value;

use crate::program::{alone, folder, peer, selene, succeeded};

/// Simulated time, s: EX1 reaches its speed of 1 m/s after 3 s, and the scans of 4 s are compared.
const SIMULATED_S: &str = "8.4";
/// Largest thickness of the ground in 20 scans; 3.5 mm was measured, for a range noise of 15 mm and grazing incidence.
const THICKNESS_MAX_M: f64 = 0.006;
/// Least ratio of the thicknesses without and with the times; 7 to 13 was measured.
const TIMES_THICKER: f64 = 4.0;

#[test]
fn the_times_of_points_put_the_scans_of_a_driving_rover_together() {
    let _turn = alone();
    let Some(mut reader) = peer("scans.py") else { return };
    let out = folder("scans");
    let bag = out.join("bag");
    let mut run = selene();
    run.args(["run", "tests/peers/scans.yaml", "--for", SIMULATED_S, "--pace", "fast", "--no-dds", "--device", "cpu"]);
    run.arg("--out").arg(&out).arg("--record").arg(&bag);
    succeeded("selene run", &run.output().expect("selene"));
    let read = succeeded("scans.py", &reader.arg(&bag).output().expect("python"));
    println!("{read}");
    let found: Value = serde_json::from_str(&read).expect("JSON");
    let number = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{key} in {found}"));
    assert!(number("cells") > 500.0 && (number("span_s") - 0.2).abs() < 1e-3, "{found}");
    let (own_m, without_m) = (number("thickness_m"), number("thickness_without_times_m"));
    assert!(own_m < THICKNESS_MAX_M, "{found}");
    assert!(without_m > TIMES_THICKER * own_m, "{found}");
    std::fs::remove_dir_all(out).expect("clean");
}
