//! Chromium at the console of a real run: the page loads, pictures change, control needs the token, keys and clicks on the
//! map drive, pause holds the clock, truths are laid over pictures, rovers are spawned, sessions are recorded and played
//! back, links are rehearsed, the browser complains of nothing, and the page looks as it did.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use selene_tests::{repository_file, skip_peer};

use crate::program::{Running, alone, folder, peer, selene, succeeded, text};

/// What Chromium is called.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// How long the run may take until it tells its address.
const ADDRESS_MAX: Duration = Duration::from_secs(120);

/// Chromium; none (said) where there is none.
fn browser() -> Option<&'static str> {
    let answers = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|told| told.status.success());
    let found = BROWSERS.iter().find(answers).copied();
    if found.is_none() {
        skip_peer("there is no Chromium; tests/run.sh installs it");
    }
    found
}

#[test]
fn a_browser_watches_and_drives_a_run() {
    let _turn = alone();
    let (Some(browser), Some(mut page)) = (browser(), peer("console.py")) else { return };
    let out = folder("console");
    let log = out.join("run.log");
    let mut run = selene();
    run.args(["run", "config/scenario/polar.yaml", "--for", "600", "--device", "cpu", "--no-dds"]);
    run.args(["--console=127.0.0.1:0", "--console-control", "--out", &text(&out)]);
    let told = std::fs::File::create(&log).expect("log");
    let _running = Running(run.stdout(Stdio::null()).stderr(told).spawn().expect("selene"));
    let begun = Instant::now();
    let url = loop {
        let told = std::fs::read_to_string(&log).expect("log");
        let url = told.lines().find_map(|line| line.strip_prefix("console: ")?.split(' ').next());
        if let Some(url) = url {
            break url.to_owned();
        }
        assert!(begun.elapsed() < ADDRESS_MAX, "no address in: {told}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let images = repository_file("tests/peers/images");
    let seen = page.args([url.as_str(), browser, &text(&out), &text(&images)]).output().expect("python");
    println!("{}", succeeded("console.py", &seen));
    std::fs::remove_dir_all(out).expect("clean");
}
