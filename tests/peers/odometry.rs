//! A foreign odometry on recorded point clouds: KISS-ICP drifts by less than 1 % over stretches of 100 and 200 m on a
//! truck's winding way, and by more without the times of points.

use serde_json::Value;

use crate::program::{alone, folder, peer, selene, succeeded};

/// Simulated time, s: the way of 234 m at 5 m/s, and a standstill at its end.
const SIMULATED_S: &str = "50";
/// Largest drift with the times over stretches of either length; with five seeds of noise it was 0.46 to 0.64 %.
const DRIFT_MAX: f64 = 0.01;
/// Least ratios of the drifts without and with the times over stretches of 100 and 200 m; with the same seeds they were 1.07
/// to 1.7 and 1.4 to 2.9.
const TIMES_FARTHER: [f64; 2] = [1.0, 1.3];

#[test]
fn a_foreign_odometry_drifts_by_less_than_one_percent_by_the_times_of_points() {
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
    let number = |key: &str| found.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key} in {found}"));
    assert!(number("/way_m") > 200.0, "{found}");
    for (stretch, farther) in TIMES_FARTHER.into_iter().enumerate() {
        let [drift, without] = ["drift", "drift_without_times"].map(|key| number(&format!("/{key}/{stretch}")));
        assert!(drift < DRIFT_MAX, "{found}");
        assert!(without > farther * drift, "{found}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}
