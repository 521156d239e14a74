//! Chromium on the console of a real run: the page loads, images change, control needs the token, keys and clicks on
//! the map drive, every order takes effect, ground truth is overlaid on images, the view in three dimensions and the
//! plots get what the run has, rovers are spawned, sessions are recorded and played back, links are simulated, the
//! browser reports no errors, and the page fits screens and looks as stored.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use selene_tests::{repository_file, skip_peer};

use crate::program::{Running, alone, folder, peer, selene, succeeded, text};

/// Names of the browser's program.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// The longest that the run may take to print its address.
const ADDRESS_MAX: Duration = Duration::from_secs(120);

/// Name of an installed browser; `None`, with a message, if there is none.
fn browser() -> Option<&'static str> {
    let answers =
        |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|reported| reported.status.success());
    let found = BROWSERS.iter().find(answers).copied();
    if found.is_none() {
        skip_peer("there is no Chromium; tests/run.sh installs it");
    }
    found
}

/// The sensors of the run, as a value of its scenario: those of the default one with a battery, and one camera, which
/// has boxes of what it sees.
fn sensors(out: &Path) -> String {
    let shipped = std::fs::read_to_string(repository_file("config/sensor/navcam_left.yaml")).expect("a file");
    let boxed = shipped.replace("    segmentation: true\n", "    segmentation: true\n    boxes_2d: true\n");
    assert_ne!(boxed, shipped);
    let camera = out.join("navcam_left.yaml");
    std::fs::write(&camera, boxed).expect("written");
    let others = ["lidar", "imu", "gps", "battery"].map(|name| format!("../sensor/{name}.yaml"));
    format!("sensors=[{}, {}]", text(&camera), others.join(", "))
}

#[test]
fn a_browser_watches_and_drives_a_run() {
    let _turn = alone();
    let (Some(browser), Some(mut page)) = (browser(), peer("console.py")) else { return };
    let out = folder("console");
    let log = out.join("run.log");
    let mut run = selene();
    run.args(["run", "config/scenario/polar.yaml", "--set", &sensors(&out)]);
    run.args(["--for", "600", "--device", "cpu", "--no-dds"]);
    run.args(["--console=127.0.0.1:0", "--console-control", "--out", &text(&out)]);
    let reported = std::fs::File::create(&log).expect("log");
    let _running = Running(run.stdout(Stdio::null()).stderr(reported).spawn().expect("selene"));
    let begun = Instant::now();
    let url = loop {
        let reported = std::fs::read_to_string(&log).expect("log");
        let url = reported.lines().find_map(|line| line.strip_prefix("console: ")?.split(' ').next());
        if let Some(url) = url {
            break url.to_owned();
        }
        assert!(begun.elapsed() < ADDRESS_MAX, "no address in: {reported}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let images = repository_file("tests/peers/images");
    let seen = page.args([url.as_str(), browser, &text(&out), &text(&images)]).output().expect("python");
    println!("{}", succeeded("console.py", &seen));
    std::fs::remove_dir_all(out).expect("clean");
}
