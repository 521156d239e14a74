//! A foreign odometry on recorded point clouds: KISS-ICP follows a truck over 200 m to less than 1 % using the times of
//! points, and is several times less accurate without them.

use serde_json::Value;

use crate::program::{alone, folder, peer, selene, succeeded};

/// Simulated time, s: the route's 215 m at 5 m/s, and a standstill at its end.
const SIMULATED_S: &str = "46";
/// Largest error at the end, relative to the path length; 0.59 % was measured.
const OFF_MAX: f64 = 0.01;
/// Least ratio of the errors without and with the times; 4.0 was measured.
const TIMES_FARTHER: f64 = 2.0;

#[test]
fn a_foreign_odometry_holds_one_percent_over_200_m_by_the_times_of_points() {
    let _turn = alone();
    let Some(mut odometry) = peer("odometry.py") else { return };
    let out = folder("odometry");
    let bag = out.join("bag");
    let mut run = selene();
    run.args(["run", "config/scenario/pillars.yaml", "--for", SIMULATED_S, "--pace", "fast", "--no-dds"]);
    run.args(["--device", "cpu", "--out"]).arg(&out).arg("--record").arg(&bag);
    succeeded("selene run", &run.output().expect("selene"));
    let read = succeeded("odometry.py", &odometry.arg(&bag).output().expect("python"));
    println!("{read}");
    let found: Value = serde_json::from_str(&read).expect("JSON");
    let number = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{key} in {found}"));
    let (way_m, own_m, without_m) = (number("way_m"), number("end_off_m"), number("end_off_without_times_m"));
    assert!(way_m > 200.0, "{found}");
    assert!(own_m < OFF_MAX * way_m, "{found}");
    assert!(without_m > TIMES_FARTHER * own_m, "{found}");
    std::fs::remove_dir_all(out).expect("clean");
}
