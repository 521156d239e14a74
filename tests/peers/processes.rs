//! The nodes as separate processes over DDS: in lockstep they reach the same state as one process, and a sensor that is
//! killed and restarted sees the ruts. A run that is killed is resumed from its checkpoint by a new process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::bag::{BagMessage, BagReader};
use selene_ros::dds::{Dds, DdsOptions, Discovery, ServiceMapping};
use selene_ros::service::Client;
use selene_ros::simulation_interfaces::srv;
use selene_ros::transport::{Subscription, subscribe};
use selene_ros::{Qos, selene_msgs, sensor_msgs};
use selene_sim::{AllowedFolders, Checkpoint, DrivenGround, Fingerprint, Model, ProcessShare, World};
use selene_terrain::{Ruts, TileIndex};
use selene_tests::control_client::{TIMEOUT, at, spawning, well};
use selene_tests::{model, repository_file, scenario, world};

use crate::program::{Running, alone, folder, selene, succeeded, text};

const SCENARIO: &str = "config/scenario/polar.yaml";
const CONVOY: &str = "config/scenario/convoy.yaml";
const SIMULATED_S: &str = "2";
/// Simulated time, s, by which a front wheel of VIPER has driven over EX1's ruts.
const CROSSED_S: f64 = 26.0;
/// Largest difference of the ground between two processes and one, m, where no rovers touch.
const GROUND_TOLERANCE_M: f64 = 1e-6;
/// The domain of processes that share a world.
const SHARED_DOMAIN: u16 = 93;
/// Distance after which a rover counts as driving, m.
const DRIVEN_M: f64 = 0.02;
/// First column of tiles in which Sorato may press the soil; VIPER and EX1 begin west of it.
const SORATO_FROM: i16 = 3;
/// Topics that describe the process and not the world, or are repeated to each new subscriber.
const OF_THE_RUN: [&str; 8] = [
    "/selene/",
    "/diagnostics",
    "/tf_static",
    "robot_description",
    "ground_truth/rocks",
    "/clock",
    "/rosout",
    "/parameter_events",
];

fn node(name: &str, domain: &str) -> Command {
    node_of(SCENARIO, name, domain)
}

pub(crate) fn node_of(scenario: &str, name: &str, domain: &str) -> Command {
    let mut command = selene();
    command.args([name, "--scenario", scenario]).env("ROS_DOMAIN_ID", domain);
    if matches!(name, "camera" | "lidar") {
        command.args(["--device", "cpu"]);
    }
    command
}

/// The state hash in what a program printed.
pub(crate) fn hash_in(printed: &str) -> &str {
    let hash = printed.split_whitespace().find(|word| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit()));
    hash.unwrap_or_else(|| panic!("no state hash in: {printed}"))
}

#[test]
fn several_processes_in_lockstep_leave_the_same_state_as_one() {
    let _turn = alone();
    let domain = "88";
    let alone = selene().args(["hash", SCENARIO, "--for", SIMULATED_S, "--threads", "2"]).output().expect("hash");
    let alone = succeeded("selene hash", &alone);
    let _sensors: Vec<_> =
        ["camera", "lidar", "navigation"].map(|name| Running(node(name, domain).spawn().expect(name))).into();
    let lockstep = ["--pace", "fast", "--for", SIMULATED_S, "--participants", "camera,lidar,navigation"];
    let together = node("simulation", domain).args(lockstep).output().expect("simulation");
    let together = succeeded("selene simulation", &together);
    assert_eq!(hash_in(&together), hash_in(&alone));
}

#[test]
fn a_camera_killed_and_started_again_gets_the_ruts_it_missed_and_the_run_goes_on() {
    let _turn = alone();
    let domain = "89";
    let out = folder("again");
    let mut first = Running(node("camera", domain).spawn().expect("camera"));
    let lockstep = ["--pace", "real-time", "--for", "8", "--participants", "camera"];
    let simulation = node("simulation", domain).args(lockstep).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut simulation = Running(simulation.expect("simulation"));
    // In real time: ruts exist by then, and most of the run is still to come.
    std::thread::sleep(Duration::from_secs(3));
    first.0.kill().expect("kill");
    first.0.wait().expect("dead");
    assert!(simulation.0.try_wait().expect("state").is_none(), "the run ended before the camera was killed");
    let log = std::fs::File::create(out.join("camera.log")).expect("log");
    let second =
        node("camera", domain).env("RUST_LOG", "info").stdout(log.try_clone().expect("log")).stderr(log).spawn();
    let mut second = Running(second.expect("camera"));
    let status = simulation.0.wait().expect("simulation");
    assert!(status.success(), "simulation: {status}");
    assert!(second.0.wait().expect("camera").success());
    let log = std::fs::read_to_string(out.join("camera.log")).expect("log");
    assert!(log.contains("requests the terrain it missed"), "{log}");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn processes_that_were_not_given_the_ruts_of_an_earlier_run_request_them_and_leave_the_same_state() {
    let _turn = alone();
    let domain = "90";
    let out = folder("ruts");
    let ruts = out.join("day1.ruts");
    let mut before = selene();
    before.args([
        "run",
        SCENARIO,
        "--no-dds",
        "--device",
        "cpu",
        "--pace",
        "fast",
        "--for",
        SIMULATED_S,
        "--x",
        "-1.5",
    ]);
    succeeded("selene run", &before.arg("--out").arg(&out).arg("--save-ruts").arg(&ruts).output().expect("run"));
    let alone = selene().args(["hash", SCENARIO, "--for", "1", "--ruts"]).arg(&ruts).output().expect("hash");
    let alone = succeeded("selene hash", &alone);
    let plain = selene().args(["hash", SCENARIO, "--for", "1"]).output().expect("hash");
    assert_ne!(succeeded("selene hash", &plain), alone, "the ruts are part of the state");
    let log = std::fs::File::create(out.join("camera.log")).expect("log");
    let mut camera = node("camera", domain);
    camera.env("RUST_LOG", "info").stdout(log.try_clone().expect("log")).stderr(log);
    let mut camera = Running(camera.spawn().expect("camera"));
    let lockstep = ["--pace", "fast", "--for", "1", "--participants", "camera", "--ruts"];
    let together = node("simulation", domain).args(lockstep).arg(&ruts).output().expect("simulation");
    let together = succeeded("selene simulation", &together);
    assert_eq!(hash_in(&together), hash_in(&alone));
    assert!(camera.0.wait().expect("camera").success());
    let log = std::fs::read_to_string(out.join("camera.log")).expect("log");
    assert!(log.contains("requests the terrain it missed"), "{log}");
    std::fs::remove_dir_all(out).expect("clean");
}

/// Messages of a bag that describe the world: their bytes, by topic.
type Messages = BTreeMap<String, Vec<Vec<u8>>>;

fn by_topic(messages: impl Iterator<Item = BagMessage>) -> Messages {
    let mut held = Messages::new();
    for message in messages {
        if OF_THE_RUN.iter().all(|name| !message.topic.name.contains(name)) {
            held.entry(message.topic.name.clone()).or_default().push(message.encoded.bytes().to_vec());
        }
    }
    held
}

/// A run of all nodes in one process, as fast as possible.
fn all_in_one(scenario: &str, options: &[&str]) -> Command {
    let mut run = selene();
    run.args(["run", scenario, "--no-dds", "--no-pictures", "--device", "cpu", "--pace", "fast"]).args(options);
    run
}

/// The hash of the state at the end of a run, and what it recorded.
struct Recorded {
    hash: String,
    messages: Messages,
}

fn recorded(mut run: Command, bag: &Path) -> Recorded {
    let printed = succeeded("selene run", &run.arg("--record").arg(bag).output().expect("run"));
    let bag = BagReader::open(bag).expect("a bag");
    let messages = by_topic(bag.messages().map(|message| message.expect("a message")));
    Recorded { hash: hash_in(&printed).to_owned(), messages }
}

/// Fails unless two runs, the second resumed from the end of the first, have recorded what one run recorded.
fn assert_recorded_in_two_parts(whole: &Recorded, first: &Recorded, second: &Recorded) {
    assert_eq!(second.hash, whole.hash);
    let mut parts = first.messages.clone();
    for (topic, messages) in &second.messages {
        parts.entry(topic.clone()).or_default().extend_from_slice(messages);
    }
    let whole = &whole.messages;
    assert!(parts.keys().eq(whole.keys()), "{:?}, {:?}", parts.keys(), whole.keys());
    let counts: Vec<_> = whole.iter().map(|(topic, messages)| (topic, messages.len(), parts[topic].len())).collect();
    let differ: Vec<_> = whole.keys().filter(|topic| whole[*topic] != parts[*topic]).collect();
    assert!(differ.is_empty(), "{differ:?} of {counts:?}");
}

#[test]
fn a_run_that_a_new_process_resumes_after_ten_seconds_records_what_a_run_of_twenty_records() {
    let _turn = alone();
    let out = folder("halves");
    let states = out.join("states");
    let (saving, resumed) = (text(&states), text(&states.join("000010.000s.state")));
    let run = |name: &str, options: &[&str]| recorded(all_in_one(SCENARIO, options), &out.join(name));
    let whole = run("whole", &["--for", "20"]);
    let first = run("first", &["--for", "10", "--checkpoint-every", "10", "--checkpoint-dir", &saving]);
    let second = run("second", &["--for", "10", "--resume", &resumed]);
    assert_recorded_in_two_parts(&whole, &first, &second);
    let often = whole.messages.values().filter(|messages| messages.len() >= 40).count();
    assert!(often > 10, "{often} topics have 40 messages and more");
    std::fs::remove_dir_all(out).expect("clean");
}

/// Scenarios that this test resumes without `SELENE_LONG_RUNS`: granular soil, every instrument, and two cameras.
const RESUMED: [&str; 3] = ["granular", "instruments", "sorato"];

/// Names of scenarios, and the simulated time of half a run, s: all shipped ones with `SELENE_LONG_RUNS`, in time long
/// enough for each to drive and dig.
fn to_resume() -> (Vec<String>, u32) {
    if std::env::var_os("SELENE_LONG_RUNS").is_none() {
        return (RESUMED.map(str::to_owned).into(), 1);
    }
    let stem = |file: &PathBuf| file.file_stem().expect("named").to_string_lossy().into_owned();
    (files(&repository_file("config/scenario"), "yaml").iter().map(stem).collect(), 10)
}

#[test]
fn a_new_process_goes_on_with_each_scenario_as_if_it_had_not_been_interrupted() {
    let (names, half_s) = to_resume();
    for name in names {
        let _turn = alone();
        let out = folder(&format!("resumed_{name}"));
        let scenario = format!("config/scenario/{name}.yaml");
        let states = out.join("states");
        let (saving, resumed) = (text(&states), text(&states.join(format!("{half_s:06}.000s.state"))));
        // No client answers the holds of `sil` here; `closed_loop.rs` has one.
        let run = |part: &str, seconds: u32, options: &[&str]| {
            let mut run = all_in_one(&scenario, &["--for", &seconds.to_string()]);
            run.args(options).args((name == "sil").then_some(["--set", "lockstep=[]"]).iter().flatten());
            recorded(run, &out.join(part))
        };
        println!("{name}");
        let whole = run("whole", 2 * half_s, &[]);
        let first = run("first", half_s, &["--checkpoint-every", &half_s.to_string(), "--checkpoint-dir", &saving]);
        let second = run("second", half_s, &["--resume", &resumed]);
        assert_recorded_in_two_parts(&whole, &first, &second);
        std::fs::remove_dir_all(out).expect("clean");
    }
}

/// Copies a shipped camera into `folder`, with small images at 4 Hz; returns the path of the copy.
pub(crate) fn small_camera(name: &str, folder: &Path) -> String {
    let shipped = repository_file(&format!("config/sensor/{name}.yaml"));
    let shipped = std::fs::read_to_string(shipped).expect("a camera");
    let changed = |line: &str| match line.trim_start().split_once(':') {
        Some(("width", _)) => "  width: 128".to_owned(),
        Some(("height", _)) => "  height: 96".to_owned(),
        Some(("rate_hz", _)) => "  rate_hz: 4".to_owned(),
        _ => line.to_owned(),
    };
    let copy = folder.join(name).with_extension("yaml");
    let lines: Vec<_> = shipped.lines().map(changed).collect();
    std::fs::write(&copy, lines.join("\n")).expect("written");
    text(&copy)
}

/// Options that replace the cameras of the convoy by small ones, which cost less.
fn small_sensors(folder: &Path) -> [String; 6] {
    let [left, ex1, front] = ["navcam_left", "ex1_camera", "sorato_front"].map(|name| small_camera(name, folder));
    let set = "--set".to_owned();
    let sensors = |rover: usize, sensors: &str| format!("rovers.{rover}.sensors=[{sensors}]");
    let viper = sensors(0, &format!("{left}, lidar, imu"));
    [set.clone(), viper, set.clone(), sensors(1, &ex1), set, sensors(2, &front)]
}

/// Kills a run once it has saved this checkpoint.
fn kill_after(mut run: Command, checkpoint: &Path) {
    let mut killed = Running(run.spawn().expect("run"));
    while !checkpoint.exists() {
        assert!(killed.0.try_wait().expect("state").is_none(), "the run ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.0.kill().expect("SIGKILL");
    killed.0.wait().expect("dead");
}

/// Fails unless a run ends with this error about its input.
fn assert_refused(mut run: Command, expected: &str) {
    let output = run.output().expect("run");
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && reported.contains(expected), "{reported}");
}

#[test]
fn a_convoy_killed_in_mid_run_is_resumed_and_records_what_an_uninterrupted_run_records() {
    let _turn = alone();
    let out = folder("resume");
    let sensors = small_sensors(&out);
    let convoy = |options: &[&str]| {
        let mut run = all_in_one(CONVOY, options);
        run.args(&sensors);
        run
    };
    let whole = recorded(convoy(&["--for", "3"]), &out.join("whole"));
    let first = recorded(convoy(&["--for", "1.5"]), &out.join("first"));
    let (states, bag) = (out.join("states"), out.join("killed"));
    let checkpoint = states.join("000001.500s.state");
    let mut endless = convoy(&["--for", "600", "--checkpoint-every", "1.5", "--checkpoint-dir", &text(&states)]);
    endless.arg("--record").arg(&bag);
    kill_after(endless, &checkpoint);
    let saved = text(&checkpoint);
    let second = recorded(convoy(&["--for", "1.5", "--resume", &saved]), &out.join("second"));
    assert_recorded_in_two_parts(&whole, &first, &second);
    for topic in ["/viper/navcam_left/image_raw", "/viper/lidar/points", "/ex1/ex1_camera/image_raw"] {
        assert!(second.messages[topic].len() >= 5, "{} on {topic}", second.messages[topic].len());
    }
    assert!(second.messages["/sorato/sorato_front/image_raw"].len() >= 5, "Sorato's camera");
    // The bag of the killed run is cut off somewhere after the checkpoint or a little before.
    let bag = BagReader::open(&bag).expect("a bag");
    let killed = by_topic(bag.messages().filter_map(Result::ok));
    assert!(!killed.is_empty(), "the bag of the killed run has messages");
    let begins = |(topic, held): (&String, &Vec<Vec<u8>>)| held.iter().zip(&whole.messages[topic]).all(|(a, b)| a == b);
    assert!(killed.iter().all(begins), "the killed run recorded something else");
    // The node `simulation` alone takes the same checkpoint.
    let mut alone = node_of(CONVOY, "simulation", "91");
    alone.args(["--for", "1.5", "--pace", "fast", "--resume", &saved]).args(&sensors);
    let printed = succeeded("selene simulation", &alone.output().expect("simulation"));
    assert_eq!(hash_in(&printed), whole.hash);

    assert_refused(convoy(&["--seed", "2", "--resume", &saved]), "seed: here 2, there 1");
    let bytes = std::fs::read(&checkpoint).expect("a checkpoint");
    let cut_off = out.join("cut_off.state");
    std::fs::write(&cut_off, &bytes[..bytes.len() / 2]).expect("cut off");
    assert_refused(convoy(&["--resume", &text(&cut_off)]), "cut off or damaged");
    std::fs::remove_dir_all(out).expect("clean");
}

/// The files of a folder with this extension, by name.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path());
    let mut files: Vec<_> = entries.filter(|file| file.extension().is_some_and(|own| own == ending)).collect();
    files.sort();
    files
}

#[test]
fn a_simulation_killed_while_it_writes_leaves_whole_checkpoints_alone() {
    let _turn = alone();
    let model = model(scenario("polar", None));
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let mut broken_off = 0;
    for moment in [1, 4, 9, 20] {
        let out = folder("whole");
        let mut simulation = node("simulation", "94");
        simulation.args(["--for", "600", "--pace", "fast", "--checkpoint-every", "0.005", "--checkpoint-dir"]);
        simulation.arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
        let mut killed = Running(simulation.spawn().expect("simulation"));
        // Waits until this many checkpoints exist and the next one is being written.
        while files(&out, "state").len() < moment || files(&out, "part").is_empty() {
            assert!(killed.0.try_wait().expect("state").is_none(), "the simulation ended by itself");
            std::thread::sleep(Duration::from_micros(200));
        }
        killed.0.kill().expect("SIGKILL");
        killed.0.wait().expect("dead");
        broken_off += files(&out, "part").len();
        let loads = |file: &PathBuf| Checkpoint::load(file, &own).unwrap_or_else(|error| panic!("{error}"));
        let saved: Vec<_> = files(&out, "state").iter().map(loads).collect();
        let last = saved.into_iter().next_back().expect("a checkpoint").state;
        let mut resumed = World::resume(&model, last, &AllowedFolders::default()).expect("fits");
        resumed.heartbeat().expect("goes on");
        std::fs::remove_dir_all(out).expect("clean");
    }
    assert!(broken_off > 0, "no write was broken off");
}

#[test]
fn two_runs_on_one_domain_do_not_meet_and_a_node_of_another_world_says_what_differs() {
    let _turn = alone();
    let domain = "92";
    let hash_of = |seed: &str| {
        let hash = selene().args(["hash", SCENARIO, "--for", "1", "--seed", seed]).output().expect("hash");
        hash_in(&succeeded("selene hash", &hash)).to_owned()
    };
    let expected = ["1", "2"].map(hash_of);
    // Each camera takes part in the run of its own world, whichever it discovers first.
    let cameras =
        ["1", "2"].map(|seed| Running(node("camera", domain).args(["--seed", seed]).spawn().expect("camera")));
    let run = |name: &str, seed: &str| {
        let lockstep = ["--pace", "fast", "--for", "1", "--participants", "camera", "--run", name, "--seed", seed];
        let child = node("simulation", domain).args(lockstep).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        child.expect("simulation")
    };
    let runs = [run("one", "1"), run("two", "2")];
    let reported = node("navigation", domain).args(["--run", "two", "--seed", "3"]).output().expect("navigation");
    for (run, expected) in runs.into_iter().zip(&expected) {
        let printed = succeeded("selene simulation", &run.wait_with_output().expect("simulation"));
        assert_eq!(hash_in(&printed), expected);
    }
    for mut camera in cameras {
        assert!(camera.0.wait().expect("camera").success(), "a camera's run ended otherwise");
    }
    let reported = String::from_utf8_lossy(&reported.stderr).into_owned();
    assert!(
        reported.contains("run two is of another world") && reported.contains("seed: here 3, there 2"),
        "{reported}"
    );
}

/// A node of this test on a domain.
pub(crate) fn dds(domain_id: u16, name: &str) -> Dds {
    let options = DdsOptions {
        domain_id,
        node_name: name.to_owned(),
        namespace: "/".to_owned(),
        discovery: Discovery::default(),
        service_mapping: ServiceMapping::default(),
    };
    Dds::open(options).expect("DDS")
}

#[test]
fn a_camera_process_sees_from_a_rover_that_is_spawned_while_it_runs() {
    let _turn = alone();
    let domain = 95;
    let _camera = Running(node("camera", &domain.to_string()).spawn().expect("camera"));
    let endless = ["--pace", "real-time", "--for", "600"];
    let mut simulation = node("simulation", &domain.to_string());
    let mut simulation = Running(simulation.args(endless).stdout(Stdio::null()).spawn().expect("simulation"));
    let dds = dds(domain, "spawner");
    let (to_images, images) = channel();
    let receive = move |info: sensor_msgs::CameraInfo| _ = to_images.send(info);
    let _received = subscribe(&dds, "/second/sorato_front/camera_info", Qos::sensor_data(), receive).expect("a topic");
    let spawn = Client::<srv::SpawnEntity>::new(&dds, "/selene_simulation/spawn_entity").expect("a client");
    let begun = Instant::now();
    while !spawn.is_served() {
        assert!(begun.elapsed() < TIMEOUT, "nobody serves");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = spawning("second", "rover/sorato.yaml?sensors=sorato_front", at(3.0, 5.0));
    well(&spawn.call(&second).expect("sent").recv_timeout(TIMEOUT).expect("answered").result);
    let info = images.recv_timeout(TIMEOUT).expect("an image from the new rover");
    assert_eq!((info.width, info.height), (640, 360));
    assert!(simulation.0.try_wait().expect("state").is_none(), "the simulation ended by itself");
}

/// A simulation process that shares a world with others and saves its ground.
fn sharing(own: &str, pace: &str, simulated_s: &str, ruts: &Path) -> Command {
    let mut command = selene();
    let shared = ["simulation", "--scenario", CONVOY, "--run", "shared", "--own", own];
    command.args(shared).args(["--pace", pace, "--for", simulated_s, "--save-ruts"]).arg(ruts);
    command.env("ROS_DOMAIN_ID", SHARED_DOMAIN.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Heights of the nodes that rovers changed, m.
type Heights = BTreeMap<(TileIndex, u16), f32>;

fn heights(ruts: &Ruts) -> Heights {
    ruts.edits().map(|edit| ((edit.tile_index(), edit.node), edit.height_m)).collect()
}

/// Heights in a process's saved ground.
fn saved_heights(saved: &Path, model: &Model) -> Heights {
    let own = Fingerprint::of_ground(&model.scenario().site, model.scenario().seed, model.terrain());
    heights(&DrivenGround::load(saved, &own).expect("saved").ruts)
}

/// Heights that a rover leaves by `CROSSED_S` while all others stand at their starts.
fn heights_alone(model: &Arc<Model>, rover: &str) -> Heights {
    let own = model.rover_named(rover).expect("there");
    let others: BTreeSet<_> = model.rovers().keys().copied().filter(|id| *id != own).collect();
    let mut world = world(model);
    world.set_share(Some(ProcessShare { ghosts: others.clone(), standing: others, leads: true }));
    while world.time() < SimTime::from_secs_f64(CROSSED_S) {
        world.heartbeat().expect("heartbeat");
    }
    heights(&world.state().ruts)
}

/// Number of nodes that two rovers both pressed: they are lower than each of the two leaves them alone.
fn pressed_by_both(ground: &Heights, alone: &[Heights; 2]) -> usize {
    let is_lower = |at: &(TileIndex, u16), height_m: f32| {
        alone.iter().all(|alone| alone.get(at).is_some_and(|&alone_m| height_m < alone_m))
    };
    ground.iter().filter(|&(at, &height_m)| is_lower(at, height_m)).count()
}

#[test]
fn two_simulation_processes_share_a_world_and_leave_the_ground_of_one_process_in_every_run() {
    let _turn = alone();
    let (out, until_s) = (folder("shared"), CROSSED_S.to_string());
    let run = |i: usize| {
        let halves = ["viper", "ex1,sorato"].map(|own| {
            let ruts = out.join(format!("{i}-{own}.ruts"));
            (sharing(own, "fast", &until_s, &ruts).spawn().expect("simulation"), ruts)
        });
        halves.map(|(child, ruts)| {
            let printed = succeeded("selene simulation", &child.wait_with_output().expect("ends"));
            assert!(printed.contains(&format!("simulated         {until_s}.000 s")), "{printed}");
            (hash_in(&printed).to_owned(), ruts)
        })
    };
    let (first, second) = (run(1), run(2));
    let bytes =
        |halves: &[(String, PathBuf); 2]| halves.each_ref().map(|(_, ruts)| std::fs::read(ruts).expect("saved"));
    let [ours, theirs] = bytes(&first);
    assert!(ours == theirs, "one ground in both");
    assert!(bytes(&second) == [ours, theirs], "the same in two runs");
    let hashes = [&first, &second].map(|halves| halves.each_ref().map(|(hash, _)| hash));
    assert_eq!(hashes[0], hashes[1]);
    let whole = out.join("whole.ruts");
    let mut alone = node_of(CONVOY, "simulation", &SHARED_DOMAIN.to_string());
    alone.args(["--pace", "fast", "--for", &until_s, "--save-ruts"]).arg(&whole);
    succeeded("selene simulation", &alone.output().expect("simulation"));
    let model = model(scenario("convoy", None));
    let [shared, whole] = [&first[0].1, &whole].map(|saved| saved_heights(saved, &model));
    assert!(shared.keys().eq(whole.keys()) && shared.len() > 1000, "{} nodes and {}", shared.len(), whole.len());
    let off_m = shared.iter().map(|(at, height_m)| f64::from((height_m - whole[at]).abs())).fold(0.0, f64::max);
    let both = pressed_by_both(&shared, &["viper", "ex1"].map(|rover| heights_alone(&model, rover)));
    println!("{off_m} m off in {} nodes, {both} of them in ruts over ruts", shared.len());
    assert!(off_m < GROUND_TOLERANCE_M, "{off_m} m");
    assert!(both > 100, "VIPER drives over EX1's ruts: both press {both} nodes");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn the_rovers_of_a_simulation_that_is_killed_stand_and_the_others_stay_in_one_world() {
    let _turn = alone();
    let out = folder("killed");
    let ruts = ["viper", "ex1", "sorato"].map(|own| out.join(format!("{own}.ruts")));
    let process = |own: &str, ruts: &Path| sharing(own, "real-time", "5", ruts).spawn().expect("simulation");
    let [viper, ex1, sorato] = [process("viper", &ruts[0]), process("ex1", &ruts[1]), process("sorato", &ruts[2])];
    let mut sorato = Running(sorato);
    // In real time: the world has begun by then and has not ended.
    std::thread::sleep(Duration::from_secs(4));
    sorato.0.kill().expect("SIGKILL");
    sorato.0.wait().expect("dead");
    for survivor in [viper, ex1] {
        let output = survivor.wait_with_output().expect("ends");
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        let printed = succeeded("selene simulation", &output);
        assert!(printed.contains("simulated         5.000 s"), "{printed}");
        assert!(reported.contains("is gone: sorato stands from heartbeat"), "{reported}");
    }
    let ground = [0, 1].map(|i| std::fs::read(&ruts[i]).expect("saved"));
    assert!(!ground[0].is_empty() && ground[0] == ground[1], "one ground in both");
    std::fs::remove_dir_all(out).expect("clean");
}

/// The snapshots of the shared world, as its leader publishes them.
fn worlds_of(dds: &Dds) -> (Subscription, Receiver<selene_msgs::WorldState>) {
    let (to_worlds, worlds) = channel();
    // Sending fails only when the test has ended.
    let receive = move |world: selene_msgs::WorldState| drop(to_worlds.send(world));
    let subscription = subscribe(dds, "/selene/shared/world_state", Qos::state(), receive).expect("a topic");
    (subscription, worlds)
}

/// The next snapshot for which a condition holds.
fn await_world(
    worlds: &Receiver<selene_msgs::WorldState>,
    mut holds: impl FnMut(&selene_msgs::WorldState) -> bool,
) -> selene_msgs::WorldState {
    loop {
        let world = worlds.recv_timeout(TIMEOUT).expect("the world goes on");
        if holds(&world) {
            return world;
        }
    }
}

/// Where a rover is, map frame, m.
fn place_m(world: &selene_msgs::WorldState, rover: &str) -> [f64; 2] {
    let rover = world.rovers.iter().find(|known| known.name == rover).expect("a rover");
    [rover.links[0].position.x, rover.links[0].position.y]
}

fn has_driven(rover: &str, from: &selene_msgs::WorldState, to: &selene_msgs::WorldState) -> bool {
    let ([from_x_m, from_y_m], [to_x_m, to_y_m]) = (place_m(from, rover), place_m(to, rover));
    (to_x_m - from_x_m).hypot(to_y_m - from_y_m) > DRIVEN_M
}

/// Ends a process as Ctrl-C does; returns its output.
fn interrupted(process: &mut Running) -> Output {
    let kill = Command::new("sh").args(["-c", "kill -s INT \"$0\"", &process.0.id().to_string()]).status();
    assert!(kill.expect("sh").success(), "SIGINT");
    process.output()
}

#[test]
fn a_process_joins_late_and_the_world_goes_on_when_its_leader_is_killed() {
    let _turn = alone();
    let (out, model) = (folder("leader"), model(scenario("convoy", None)));
    let ruts = |own: &str| out.join(format!("{own}.ruts"));
    let process = |own: &str| {
        // The processes are ended long before.
        let mut command = sharing(own, "real-time", "60", &ruts(own));
        Running(command.args(["--await-rovers", "viper,ex1"]).spawn().expect("simulation"))
    };
    let dds = dds(SHARED_DOMAIN, "observer");
    let (_subscription, worlds) = worlds_of(&dds);
    let [mut viper, mut ex1] = ["viper", "ex1"].map(process);
    let first = await_world(&worlds, |_| true);
    let begun = await_world(&worlds, |world| ["viper", "ex1"].iter().all(|rover| has_driven(rover, &first, world)));
    assert_eq!(place_m(&begun, "sorato"), place_m(&first, "sorato"), "a rover without a process stands");
    let mut sorato = process("sorato");
    let joined = await_world(&worlds, |world| has_driven("sorato", &begun, world));

    viper.0.kill().expect("SIGKILL");
    viper.0.wait().expect("dead");
    let mut last_m = place_m(&joined, "viper");
    let stands = await_world(&worlds, |world| {
        let before_m = std::mem::replace(&mut last_m, place_m(world, "viper"));
        before_m == last_m
    });
    let later = await_world(&worlds, |world| has_driven("sorato", &stands, world));
    assert_eq!(place_m(&later, "viper"), place_m(&stands, "viper"), "it stands where it was");
    for survivor in [&mut ex1, &mut sorato] {
        let output = interrupted(survivor);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        succeeded("selene simulation", &output);
        assert!(reported.contains("is gone: viper stands from heartbeat"), "{reported}");
    }
    let away = |own: &str| {
        let mut heights = saved_heights(&ruts(own), &model);
        heights.retain(|(tile, _), _| tile.column < SORATO_FROM);
        heights
    };
    let ground = away("ex1");
    assert!(ground.keys().any(|(tile, _)| tile.column == -1), "VIPER left no ruts behind its start");
    assert!(away("sorato") == ground, "who came late has another ground");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn two_processes_that_do_not_wait_for_each_other_both_have_the_ruts_of_all() {
    let _turn = alone();
    let (out, model) = (folder("free"), model(scenario("convoy", None)));
    let processes = ["viper", "ex1,sorato"].map(|own| {
        let ruts = out.join(format!("{own}.ruts"));
        (Running(sharing(own, "real-time", "3", &ruts).arg("--free").spawn().expect("simulation")), ruts)
    });
    for (mut process, ruts) in processes {
        let printed = succeeded("selene simulation", &process.output());
        assert!(printed.contains("simulated         3.000 s"), "{printed}");
        let ground = saved_heights(&ruts, &model);
        // VIPER starts at the origin, Sorato more than 6.4 m east of it.
        for (rover, column) in [("viper", -1), ("sorato", 5)] {
            let is_there = ground.keys().any(|(tile, _)| tile.column == column);
            assert!(is_there, "{} has no ruts of {rover}", ruts.display());
        }
    }
    std::fs::remove_dir_all(out).expect("clean");
}
