//! The nodes as separate processes over DDS: in lockstep they leave the state that one
//! process leaves, and a sensor that was killed and started again sees the ruts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use selene_ros::bag::BagReader;
use selene_ros::dds::{Dds, DdsOptions, Discovery, ServiceMapping};
use selene_ros::service::Client;
use selene_ros::simulation_interfaces::srv;
use selene_ros::transport::subscribe;
use selene_ros::{Qos, sensor_msgs};
use selene_sim::{AllowedFolders, Checkpoint, DrivenGround, Fingerprint, Model, World};
use selene_terrain::TileIndex;
use selene_tests::asker::{PATIENCE, at, spawning, well};
use selene_tests::{model, scenario};

use crate::program::{Running, alone, folder, selene, succeeded, text};

const SCENARIO: &str = "config/scenario/polar.yaml";
const CONVOY: &str = "config/scenario/convoy.yaml";
const SIMULATED_S: &str = "2";
/// EX1 has crossed VIPER's way by then.
const CROSSED_S: &str = "16";
/// How far the ground of two processes may be from that of one, where no rover touches another.
const GROUND_TOLERANCE_M: f64 = 1e-6;
/// Topics that tell of the process and not of the world, or are told to every newcomer.
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

fn node_of(scenario: &str, name: &str, domain: &str) -> Command {
    let mut command = selene();
    command.args([name, "--scenario", scenario]).env("ROS_DOMAIN_ID", domain);
    if matches!(name, "camera" | "lidar") {
        command.args(["--device", "cpu"]);
    }
    command
}

fn hash_in(said: &str) -> &str {
    let hash = said.split_whitespace().find(|word| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit()));
    hash.unwrap_or_else(|| panic!("no state hash in: {said}"))
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
    // In real time: ruts have been made by then, and most of the run is still to come.
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
    assert!(log.contains("asks for the terrain it missed"), "{log}");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn processes_that_were_not_given_the_ruts_of_an_earlier_run_ask_for_them_and_leave_the_same_state() {
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
    assert!(log.contains("asks for the terrain it missed"), "{log}");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn a_simulation_killed_in_mid_run_goes_on_from_its_last_checkpoint_to_the_same_state() {
    let _turn = alone();
    let domain = "91";
    let out = folder("resume");
    let whole = selene().args(["hash", CONVOY, "--for", "3"]).output().expect("hash");
    let whole = succeeded("selene hash", &whole);
    let saving = ["--for", "600", "--pace", "fast", "--checkpoint-every", "1", "--checkpoint-dir"];
    let mut killed = Running(node_of(CONVOY, "simulation", domain).args(saving).arg(&out).spawn().expect("simulation"));
    let (first, second) = (out.join("000001.000s.state"), out.join("000002.000s.state"));
    while !second.exists() {
        assert!(killed.0.try_wait().expect("state").is_none(), "the simulation ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.0.kill().expect("SIGKILL");
    killed.0.wait().expect("dead");
    for (file, rest) in [(&first, "2"), (&second, "1")] {
        let mut resumed = node_of(CONVOY, "simulation", domain);
        resumed.args(["--for", rest, "--pace", "fast", "--resume"]).arg(file);
        let said = succeeded("selene simulation", &resumed.output().expect("simulation"));
        assert_eq!(hash_in(&said), hash_in(&whole), "from {}", file.display());
    }
    let mut other = node_of(CONVOY, "simulation", domain);
    let other = other.args(["--seed", "2", "--resume"]).arg(&first).output().expect("simulation");
    let told = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.code() == Some(2) && told.contains("seed: here 2, there 1"), "{told}");
    let bytes = std::fs::read(&first).expect("a checkpoint");
    std::fs::write(&second, &bytes[..bytes.len() / 2]).expect("cut off");
    let cut = node_of(CONVOY, "simulation", domain).arg("--resume").arg(&second).output().expect("simulation");
    let told = String::from_utf8_lossy(&cut.stderr).into_owned();
    assert!(cut.status.code() == Some(2) && told.contains("cut off or damaged"), "{told}");
    std::fs::remove_dir_all(out).expect("clean");
}

/// What a bag holds of the world: the bytes of all messages, by topic.
fn messages(bag: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut held: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for message in BagReader::open(bag).expect("a bag").messages() {
        let message = message.expect("a message");
        if OF_THE_RUN.iter().all(|name| !message.topic.name.contains(name)) {
            held.entry(message.topic.name.clone()).or_default().push(message.encoded.bytes().to_vec());
        }
    }
    held
}

#[test]
fn a_run_that_a_new_process_resumes_after_ten_seconds_records_what_a_run_of_twenty_records() {
    let _turn = alone();
    let out = folder("halves");
    let run = |name: &str, options: &[&str]| {
        let bag = out.join(name);
        let mut run = selene();
        run.args(["run", SCENARIO, "--no-dds", "--no-pictures", "--device", "cpu", "--pace", "fast"]).args(options);
        let said = succeeded("selene run", &run.arg("--record").arg(&bag).output().expect("run"));
        (hash_in(&said).to_owned(), messages(&bag))
    };
    let states = out.join("states");
    let (whole_hash, whole) = run("whole", &["--for", "20"]);
    let (_, mut halves) =
        run("first", &["--for", "10", "--checkpoint-every", "10", "--checkpoint-dir", &text(&states)]);
    let (hash, second) = run("second", &["--for", "10", "--resume", &text(&states.join("000010.000s.state"))]);
    assert_eq!(hash, whole_hash);
    for (topic, messages) in second {
        halves.entry(topic).or_default().extend(messages);
    }
    assert!(halves.keys().eq(whole.keys()), "{:?}, {:?}", halves.keys(), whole.keys());
    let counts: Vec<_> = whole.iter().map(|(topic, messages)| (topic, messages.len(), halves[topic].len())).collect();
    let differ: Vec<_> = whole.keys().filter(|topic| whole[*topic] != halves[*topic]).collect();
    assert!(differ.is_empty(), "{differ:?} of {counts:?}");
    assert!(counts.iter().filter(|(_, count, _)| *count >= 40).count() > 10, "{counts:?}");
    std::fs::remove_dir_all(out).expect("clean");
}

/// The files of a folder with this ending, by name.
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
        // So many checkpoints are there, and the next one is being written.
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
    // Each takes part in the run of its own world, whichever it hears of first.
    let _cameras =
        ["1", "2"].map(|seed| Running(node("camera", domain).args(["--seed", seed]).spawn().expect("camera")));
    let run = |name: &str, seed: &str| {
        let lockstep = ["--pace", "fast", "--for", "1", "--participants", "camera", "--run", name, "--seed", seed];
        let child = node("simulation", domain).args(lockstep).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        child.expect("simulation")
    };
    let runs = [run("one", "1"), run("two", "2")];
    let told = node("navigation", domain).args(["--run", "two", "--seed", "3"]).output().expect("navigation");
    for (run, expected) in runs.into_iter().zip(&expected) {
        let said = succeeded("selene simulation", &run.wait_with_output().expect("simulation"));
        assert_eq!(hash_in(&said), expected);
    }
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("run two is of another world") && told.contains("seed: here 3, there 2"), "{told}");
}

#[test]
fn a_camera_process_sees_from_a_rover_that_is_spawned_while_it_runs() {
    let _turn = alone();
    let domain = 95;
    let _camera = Running(node("camera", &domain.to_string()).spawn().expect("camera"));
    let endless = ["--pace", "real-time", "--for", "600"];
    let mut simulation = node("simulation", &domain.to_string());
    let mut simulation = Running(simulation.args(endless).stdout(Stdio::null()).spawn().expect("simulation"));
    let dds = Dds::open(DdsOptions {
        domain_id: domain,
        node_name: "spawner".to_owned(),
        namespace: "/".to_owned(),
        discovery: Discovery::default(),
        service_mapping: ServiceMapping::default(),
    });
    let dds = dds.expect("DDS");
    let (to_images, images) = channel();
    let hear = move |info: sensor_msgs::CameraInfo| _ = to_images.send(info);
    let _heard = subscribe(&dds, "/second/sorato_front/camera_info", Qos::sensor_data(), hear).expect("a topic");
    let spawn = Client::<srv::SpawnEntity>::new(&dds, "/selene_simulation/spawn_entity").expect("a client");
    let begun = Instant::now();
    while !spawn.is_served() {
        assert!(begun.elapsed() < PATIENCE, "nobody serves");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = spawning("second", "rover/sorato.yaml?sensors=sorato_front", at(3.0, 5.0));
    well(&spawn.call(&second).expect("sent").recv_timeout(PATIENCE).expect("answered").result);
    let info = images.recv_timeout(PATIENCE).expect("an image from the new rover");
    assert_eq!((info.width, info.height), (640, 360));
    assert!(simulation.0.try_wait().expect("state").is_none(), "the simulation ended by itself");
}

/// A process of a world that several share, which saves its ground.
fn sharing(own: &str, pace: &str, simulated_s: &str, ruts: &Path) -> Command {
    let mut command = selene();
    let shared = ["simulation", "--scenario", CONVOY, "--run", "shared", "--own", own];
    command.args(shared).args(["--pace", pace, "--for", simulated_s, "--save-ruts"]).arg(ruts);
    command.env("ROS_DOMAIN_ID", "93").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Heights of the nodes that a process saved.
fn heights(saved: &Path, model: &Model) -> BTreeMap<(TileIndex, u16), f32> {
    let own = Fingerprint::of_ground(&model.scenario().site, model.scenario().seed, model.terrain());
    let driven = DrivenGround::load(saved, &own).expect("saved");
    driven.ruts.edits().map(|edit| ((edit.tile_index(), edit.node), edit.height_m)).collect()
}

#[test]
fn two_simulation_processes_share_a_world_and_leave_the_ground_of_one_process_in_every_run() {
    let _turn = alone();
    let out = folder("shared");
    let run = |i: usize| {
        let halves = ["viper", "ex1,sorato"].map(|own| {
            let ruts = out.join(format!("{i}-{own}.ruts"));
            (sharing(own, "fast", CROSSED_S, &ruts).spawn().expect("simulation"), ruts)
        });
        halves.map(|(child, ruts)| {
            let said = succeeded("selene simulation", &child.wait_with_output().expect("ends"));
            assert!(said.contains(&format!("simulated         {CROSSED_S}.000 s")), "{said}");
            (hash_in(&said).to_owned(), ruts)
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
    let mut alone = node_of(CONVOY, "simulation", "93");
    alone.args(["--pace", "fast", "--for", CROSSED_S, "--save-ruts"]).arg(&whole);
    succeeded("selene simulation", &alone.output().expect("simulation"));
    let model = model(scenario("convoy", None));
    let [shared, whole] = [&first[0].1, &whole].map(|saved| heights(saved, &model));
    assert!(shared.keys().eq(whole.keys()) && shared.len() > 1000, "{} nodes and {}", shared.len(), whole.len());
    let off_m = shared.iter().map(|(at, height_m)| f64::from((height_m - whole[at]).abs())).fold(0.0, f64::max);
    println!("{off_m} m off in {} nodes", shared.len());
    assert!(off_m < GROUND_TOLERANCE_M, "{off_m} m");
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
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = succeeded("selene simulation", &output);
        assert!(said.contains("simulated         5.000 s"), "{said}");
        assert!(told.contains("is gone: sorato stand from heartbeat"), "{told}");
    }
    let ground = [0, 1].map(|i| std::fs::read(&ruts[i]).expect("saved"));
    assert!(!ground[0].is_empty() && ground[0] == ground[1], "one ground in both");
    std::fs::remove_dir_all(out).expect("clean");
}
