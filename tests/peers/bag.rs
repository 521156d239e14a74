//! Bags: read back by two foreign readers, and readable after a kill in mid-recording.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::program::{Running, folder, peer, selene, succeeded, text};

/// A recording is given up when it has not grown to this within `GROWS_WITHIN`.
const SOME_BYTES: u64 = 1 << 20;
const GROWS_WITHIN: Duration = Duration::from_secs(60);

#[test]
fn foreign_readers_read_every_message_of_a_bag() {
    let Some(mut reader) = peer("check_interfaces.py") else { return };
    let out = folder("bag");
    let bag = out.join("bag");
    let run = ["run", "--for", "3", "--pace", "fast", "--no-dds", "--device", "cpu", "--out"];
    let done = selene().args(run).arg(&out).arg("--record").arg(&bag).output().expect("selene");
    let said = succeeded("selene run", &done);
    let read = succeeded("check_interfaces.py", &reader.arg(&bag).output().expect("python"));
    println!("{read}");
    for (topic, least) in [("/imu/data", 590), ("/navcam_left/image_raw", 6), ("/lidar/points", 14), ("/clock", 590)] {
        let line =
            read.lines().find(|line| line.ends_with(&format!(" {topic}"))).unwrap_or_else(|| panic!("{topic}\n{read}"));
        let count: u64 = line.split_whitespace().next().expect("count").parse().expect("number");
        assert!(count >= least, "{topic}: {count} in the bag, at least {least} were due\n{said}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn a_kill_in_mid_recording_leaves_a_readable_bag() {
    let Some(mut reader) = peer("check_interfaces.py") else { return };
    let out = folder("kill");
    let bag = out.join("bag");
    let run = ["run", "--for", "600", "--pace", "fast", "--no-dds", "--device", "cpu", "--out"];
    let child = selene().args(run).arg(&out).arg("--record").arg(&bag).spawn().expect("selene");
    let mut running = Running(child);
    wait_until_it_has(&bag, SOME_BYTES);
    running.0.kill().expect("SIGKILL");
    running.0.wait().expect("dead");
    println!("{}", succeeded("check_interfaces.py", &reader.args(["--killed", &text(&bag)]).output().expect("python")));
    std::fs::remove_dir_all(out).expect("clean");
}

fn wait_until_it_has(bag: &Path, bytes: u64) {
    let begun = Instant::now();
    let size = || -> u64 {
        let files = std::fs::read_dir(bag).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    };
    while size() < bytes {
        assert!(begun.elapsed() < GROWS_WITHIN, "the recording does not grow");
        std::thread::sleep(Duration::from_millis(50));
    }
}
