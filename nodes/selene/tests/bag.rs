//! Tests of recording, inspecting and using bags: what the program prints, and what the files contain.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{assert_refused, folder, repository, run, selene, text};
use selene_ros::bag::BagReader;

/// Publish time, ns, and bytes of every message, by topic.
type Messages = BTreeMap<String, Vec<(u64, Vec<u8>)>>;

/// Writes the default scenario with its lidar and one camera, `width` pixels wide.
fn scenario(folder: &Path, name: &str, width: u32) -> PathBuf {
    let config = repository().join("config").canonicalize().expect("a folder").display().to_string();
    let read = |file: &str| std::fs::read_to_string(repository().join("config").join(file)).expect("a file");
    let camera = read("sensor/navcam_left.yaml").replace("width: 640", &format!("width: {width}"));
    let camera = camera.replace("height: 360", &format!("height: {}", width / 2));
    std::fs::write(folder.join(format!("{name}_camera.yaml")), camera).expect("written");
    let polar = read("scenario/polar.yaml").replace("../", &format!("{config}/"));
    let without = polar.replace(&format!("  - {config}/sensor/navcam_right.yaml\n"), "");
    let bent = without.replace(&format!("{config}/sensor/navcam_left.yaml"), &format!("{name}_camera.yaml"));
    assert!(bent.len() < polar.len() && bent.contains("_camera.yaml"), "the test changes the sensors");
    let file = folder.join(format!("{name}.yaml"));
    std::fs::write(&file, bent).expect("written");
    file
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Records `seconds` of a scenario. Returns the printed summary.
fn record(scenario: &Path, bag: &Path, seconds: &str, more: &[&str]) -> String {
    let out = bag.with_extension("out");
    let run = ["run", path(scenario), "--no-dds", "--device", "cpu", "--pace", "fast", "--for", seconds];
    let mut command = selene(&[&run[..], &["--out", path(&out), "--record", path(bag)], more].concat());
    let output = command.output().expect("starts");
    let summary = text(&output.stdout);
    assert!(output.status.success(), "{summary}{}", text(&output.stderr));
    summary
}

fn messages(bag: &Path) -> Messages {
    let mut messages = Messages::new();
    for message in BagReader::open(bag).expect("a bag").messages() {
        let message = message.expect("sound");
        let of_topic = messages.entry(message.topic.name.clone()).or_default();
        of_topic.push((message.publish_ns, message.encoded.bytes().to_vec()));
    }
    messages
}

fn stamps(of: &[(u64, Vec<u8>)]) -> Vec<u64> {
    of.iter().map(|(stamp, _)| *stamp).collect()
}

#[test]
fn a_bag_by_filter_in_several_files_is_reported_and_found_sound() {
    let folder = folder("bag_filter");
    let (scenario, bag) = (scenario(&folder, "filter", 64), folder.join("bag"));
    let (take, leave) = ("^/tf|imu|image_raw|camera_info", "depth|segmentation");
    let filter = ["--record-topics", take, "--record-exclude", leave, "--record-exclude", "radar"];
    let split = ["--record-max-duration", "0.5", "--record-compression", "none", "--record-metadata", "current"];
    let summary = record(&scenario, &bag, "1.2", &[&filter[..], &split].concat());
    assert!(summary.contains("in 3 files") && summary.contains("'radar' matched none of the topics"), "{summary}");
    let output = run(&["bag", "info", path(&bag), "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let topics = info["topics"].as_array().expect("topics");
    let names: Vec<_> = topics.iter().map(|topic| topic["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["/imu/data", "/navcam_left/camera_info", "/navcam_left/image_raw", "/tf", "/tf_static"]);
    assert_eq!(info["files"].as_array().map(Vec::len), Some(3));
    assert_eq!(info["metadata_version"], 9);
    assert_eq!(
        topics[0]["qos"],
        serde_json::json!({"reliability": "best effort", "durability": "volatile", "depth": 5})
    );
    let rate_hz = topics[0]["rate_hz"].as_f64().expect("a rate");
    assert!((195.0..=206.0).contains(&rate_hz), "{rate_hz}");
    assert_eq!(topics[4]["messages"], 3, "what is latched is in each file");
    let reported = text(&run(&["bag", "info", path(&bag)]).stdout);
    assert!(
        reported.contains("reliable, transient local, last 1") && reported.contains("not compressed"),
        "{reported}"
    );
    let verified = run(&["bag", "verify", path(&bag)]);
    assert!(verified.status.success() && text(&verified.stdout).contains("sound: "), "{}", text(&verified.stdout));
}

#[test]
fn a_damaged_bag_is_found_and_listed() {
    let folder = folder("bag_damaged");
    let (scenario, bag) = (scenario(&folder, "damaged", 64), folder.join("bag"));
    record(&scenario, &bag, "0.5", &["--record-topics", "^/tf"]);
    let file = bag.join("bag_0.mcap");
    let bytes = std::fs::read(&file).expect("read");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
    let output = run(&["bag", "verify", path(&bag)]);
    let listed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{listed}");
    assert!(listed.contains("breaks off in the record") && listed.contains("metadata.yaml counts"), "{listed}");
    assert!(text(&output.stderr).contains(" faults"));
}

#[test]
fn a_drive_is_seen_again_byte_for_byte_and_by_other_sensors_at_the_same_times() {
    let folder = folder("bag_rerender");
    let (first, drive) = (scenario(&folder, "first", 64), folder.join("drive"));
    record(&first, &drive, "1.2", &["--record-internal"]);
    let then = messages(&drive);
    let rerender = |out: &str, scenario: &Path, more: &[&str]| {
        let out = folder.join(out);
        let arguments = ["bag", "rerender", path(&drive), path(scenario), "--device", "cpu", "--out", path(&out)];
        let output = run(&[&arguments[..], more].concat());
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        messages(&out)
    };
    let again = rerender("again", &first, &[]);
    for topic in ["/navcam_left/image_raw", "/navcam_left/depth/image_rect_raw", "/lidar/points", "/imu/data", "/tf"] {
        assert!(again.get(topic).is_some_and(|messages| !messages.is_empty()), "{topic}");
    }
    // Diagnostics of sensor nodes differ: they are of their own run.
    for (topic, messages) in again.iter().filter(|(topic, _)| *topic != "/diagnostics") {
        assert!(*messages == then[topic], "{topic} is another");
    }
    assert!(again.keys().all(|topic| !topic.starts_with("/selene/")), "{:?}", again.keys());

    let finer = folder.join("second_camera.yaml");
    scenario(&folder, "second", 128);
    let fine = rerender("fine", &first, &["--sensor", path(&finer)]);
    for topic in ["/navcam_left/image_raw", "/navcam_left/camera_info"] {
        assert_eq!(stamps(&fine[topic]), stamps(&then[topic]), "{topic}");
        assert!(fine[topic].iter().zip(&then[topic]).all(|(ours, theirs)| ours.1 != theirs.1), "{topic}");
    }
    assert!(fine["/lidar/points"] == then["/lidar/points"]);

    let refused = |arguments: &[&str], parts: &[&str]| {
        let out = folder.join("refused");
        assert_refused(&run(&[&["bag", "rerender"][..], arguments, &["--out", path(&out)]].concat()), parts);
        assert!(!out.exists(), "a refusal leaves no bag");
    };
    refused(&[path(&drive), path(&first), "--seed", "2"], &["another world", "seed: here 2, there 1"]);
    let sensor = |name: &str, from: &str, to: &str| {
        let (file, camera) = (folder.join(name), std::fs::read_to_string(&finer).expect("a file"));
        let changed = camera.replace(from, to);
        assert_ne!(camera, changed, "the test changes the camera");
        std::fs::write(&file, changed).expect("written");
        file
    };
    let last = "    - quantise: {bits: 8}";
    let foreign = sensor("foreign.yaml", last, &format!("{last}\n    - own: {{name: darken, timeout_s: 1}}\n   "));
    let reported = ["own: 'darken' is done by another process", "there are none here"];
    refused(&[path(&drive), path(&first), "--device", "cpu", "--sensor", path(&foreign)], &reported);
    let elsewhere = sensor("elsewhere.yaml", "  rate_hz: 2", "  device: gpu:4096\n  rate_hz: 2");
    let reported = ["'gpu:4096' is not allowed"];
    refused(&[path(&drive), path(&first), "--device", "cpu", "--sensor", path(&elsewhere)], &reported);
    refused(&[path(&folder.join("again")), path(&first)], &["no snapshots", "--record-internal"]);
}

#[test]
fn what_is_no_bag_or_cannot_be_played_is_refused() {
    let folder = folder("bag_refused");
    assert_refused(&run(&["bag", "info", "no/such/bag"]), &["no/such/bag", "cannot be read"]);
    assert_refused(&run(&["bag", "verify", path(&folder)]), &["no .mcap file"]);
    assert_refused(&run(&["bag", "play", path(&folder), "--rate", "0"]), &["--rate", "0.001 to 1000"]);
    let (scenario, bag) = (scenario(&folder, "short", 64), folder.join("bag"));
    record(&scenario, &bag, "0.3", &["--record-topics", "^/tf$"]);
    assert_refused(&run(&["bag", "play", path(&bag), "--start-at", "5"]), &["--start-at 5", "the bag has 0.3"]);
    assert_refused(&run(&["bag", "play", path(&bag), "--topics", "radar"]), &["no topic that is to be played"]);
}
