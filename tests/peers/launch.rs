//! The launch files, run in the same way as by `ros2 launch` (by ROS 2's own package `launch` where Python has it, else
//! by a stand-in): the options that their arguments become, the arguments that they refuse, and how they end.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use selene_sim::{LoadOptions, Scenario};
use selene_tests::{repository_file, skip_peer};

use crate::program::{Running, alone, folder, peer, selene, succeeded, text};

/// The launch files, with the arguments that make them end by themselves.
const FILES: [(&str, &[&str]); 7] = [
    ("selene", &[]),
    ("viper", &[]),
    ("two_rovers", &[]),
    ("loop", &["world:=ex1_loop"]),
    ("record", &[]),
    // Without a stack that commands, simulated time would wait for one in the file's own scenario.
    ("sil", &["world:=polar"]),
    ("hil", &[]),
];
/// The processes of a launch that starts each node separately.
const NODES: [&str; 4] = ["camera", "lidar", "navigation", "simulation"];
/// The processes that run beside the simulation.
const SENSORS: &[&str] = &["camera", "lidar", "navigation"];
/// A stand-in program that writes its arguments, one per line, to a file named by the first of them. The process that
/// ends the launch waits for the files of the processes in `awaited`.
const NOTES: &str = r#"#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$@" > "$here/$1.part" && mv -- "$here/$1.part" "$here/$1.words"
case "$1" in run | simulation) ;; *) exit 0 ;; esac
for name in $(cat "$here/awaited"); do
    for try in $(seq 1000); do [ -e "$here/$name.words" ] && break; sleep 0.02; done
done
"#;

/// A launch of a file, in `folder`; `None`, with a message, if there is no Python.
fn launch(file: &Path, arguments: &[String], folder: &Path) -> Option<Command> {
    let python = std::env::var_os("SELENE_PEERS_PYTHON").unwrap_or_else(|| "python3".into());
    if Command::new(&python).arg("--version").output().is_err() {
        skip_peer("no python3");
        return None;
    }
    let mut command = Command::new(python);
    command.arg(repository_file("tests/peers/run_launch.py").canonicalize().expect("a script")).arg(file);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_remove("SELENE_DATA");
    // Folder of the log files of ROS 2's `launch`, if Python has it.
    command.env("ROS_LOG_DIR", folder.join("log"));
    Some(command)
}

fn launch_file(name: &str) -> PathBuf {
    repository_file(&format!("launch/{name}.launch.py")).canonicalize().expect("a launch file")
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&argument| argument.to_owned()).collect()
}

/// The arguments of each process of a launch, by the first argument. The first process ends after those in `awaited`.
fn words(name: &str, file: &Path, arguments: &[&str], awaited: &[&str]) -> Option<BTreeMap<String, Vec<String>>> {
    let folder = folder(&format!("launch-{name}"));
    std::fs::write(folder.join("awaited"), awaited.join(" ")).expect("written");
    // The stand-in also replaces RViz.
    for program in ["selene", "rviz2"].map(|name| folder.join(name)) {
        std::fs::write(&program, NOTES).expect("written");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a program");
    }
    let executable = format!("executable:={}", text(&folder.join("selene")));
    let mut command = launch(file, &[owned(arguments), vec![executable]].concat(), &folder)?;
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", text(&folder)));
    succeeded("launch", &command.output().expect("python"));
    let notes = std::fs::read_dir(&folder).expect("folder").map(|entry| entry.expect("entry").path());
    let notes = notes.filter(|file| file.extension().is_some_and(|ending| ending == "words"));
    let read = |file: PathBuf| {
        let lines = std::fs::read_to_string(&file).expect("words").lines().map(str::to_owned).collect();
        (file.file_stem().expect("named").to_string_lossy().into_owned(), lines)
    };
    let words = notes.map(read).collect();
    std::fs::remove_dir_all(folder).expect("clean");
    Some(words)
}

/// Help text of a command of the program, with its options.
fn help(command: &str) -> String {
    succeeded("--help", &selene().args([command, "--help"]).output().expect("selene"))
}

fn stems(of: &str) -> Vec<String> {
    let files = std::fs::read_dir(repository_file(of)).expect("a folder").map(|entry| entry.expect("entry").path());
    files.map(|file| file.file_stem().expect("named").to_string_lossy().into_owned()).collect()
}

#[test]
fn every_argument_becomes_an_option_that_the_program_has() {
    let given = "robot:=ex1 world:=polar namespace:=scout x:=-2 y:=1 z:=0.5 yaw:=-1.5707963267948966 seed:=7 \
                 utc:=2026-12-01T00:00:00Z pace:=fast duration:=3 twist:=plain run:=night device:=cpu record:=bag \
                 out:=pictures data:=data interface:=lo clock_authority:=wall realtime_priority:=40 late_frames:=drop bandwidth_limit:=1e6";
    let of_nodes = "--namespace=scout --x=-2 --y=1 --z=0.5 --yaw=-90.0 --seed=7 --utc=2026-12-01T00:00:00Z \
                    --data=data --run=night --interface=lo";
    let of_time = "--pace=fast --for=3 --record=bag --twist-unstamped --clock-authority=wall --realtime-priority=40 --late-frames=drop \
                   --bandwidth-limit=1e6";
    for (processes, expected, awaited) in
        [("processes:=one", &["run"][..], &[][..]), ("processes:=several", &NODES[..], SENSORS)]
    {
        let arguments: Vec<_> = given.split(' ').chain([processes]).collect();
        let Some(started) = words("options", &launch_file("selene"), &arguments, awaited) else { return };
        assert_eq!(started.keys().collect::<Vec<_>>(), expected, "{processes}");
        for (command, words) in started {
            let page = help(&command);
            for option in words.iter().filter_map(|word| word.split('=').next()).filter(|word| word.starts_with("--")) {
                let is_there = page.split_whitespace().any(|word| word == option);
                assert!(is_there, "selene {command} has no {option}");
            }
            let of_time = of_time.split(' ').filter(|_| matches!(&command[..], "run" | "simulation"));
            for option in of_nodes.split(' ').chain(of_time) {
                assert!(words.iter().any(|word| word == option), "{command} is not given {option}: {words:?}");
            }
            assert!(words.iter().any(|word| word.starts_with("--rover=") && word.ends_with("config/rover/ex1.yaml")));
            assert!(words.iter().any(|word| word.ends_with("config/scenario/polar.yaml")), "{words:?}");
        }
    }
}

#[test]
fn any_rover_is_launched_by_its_name_in_a_scenario_that_takes_it() {
    for robot in stems("config/rover") {
        let robot_argument = format!("robot:={robot}");
        let Some(started) = words("robots", &launch_file("viper"), &[&robot_argument], SENSORS) else { return };
        assert_eq!(started.keys().collect::<Vec<_>>(), NODES, "{robot}");
        let value = |option: &str| {
            let found = started["simulation"].iter().find_map(|word| word.strip_prefix(option));
            PathBuf::from(found.unwrap_or_else(|| panic!("{option} is missing: {started:?}")))
        };
        let (scenario, rover) = (value("--scenario="), value("--rover="));
        let own = repository_file(&format!("config/scenario/{robot}.yaml")).is_file();
        assert_eq!(scenario.file_stem(), Some(Path::new(if own { robot.as_str() } else { "polar" }).as_os_str()));
        let options = LoadOptions { rover: Some(rover), ..LoadOptions::default() };
        let loaded = Scenario::load(&scenario, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.rovers[0].model.spec().name, robot);
    }
}

#[test]
fn a_file_of_ones_own_is_taken_as_world_and_as_robot() {
    let out = folder("launch-own-files");
    let [world, robot] = ["my world.yaml", "my robot.yaml"].map(|name| out.join(name));
    [&world, &robot].iter().for_each(|file| std::fs::write(file, "name: mine\n").expect("written"));
    let arguments = [format!("params_file:={}", text(&world)), format!("robot:={}", text(&robot))];
    let Some(started) = words("own", &launch_file("record"), &arguments.each_ref().map(String::as_str), &[]) else {
        return;
    };
    let words = &started["run"];
    assert!(words.contains(&text(&world)) && words.contains(&format!("--rover={}", text(&robot))), "{words:?}");
    assert!(words.iter().any(|word| word.starts_with("--record=selene_2")), "a name by the time: {words:?}");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn rviz_is_started_when_it_is_requested_with_its_topics_under_the_rovers_namespace() {
    for requested in ["rviz:=true", "headless:=False"] {
        let arguments = [requested, "namespace:=scout", "use_sim_time:=True"];
        let Some(started) = words("rviz", &launch_file("record"), &arguments, &["-d"]) else { return };
        let words = &started["-d"];
        assert!(words[1].ends_with("launch/viper.rviz"), "{words:?}");
        for word in ["use_sim_time:=true", "/navcam_left/image_raw:=/scout/navcam_left/image_raw"] {
            assert!(words.iter().any(|given| given == word), "{word} is missing: {words:?}");
        }
    }
    let Some(started) = words("rviz", &launch_file("record"), &[], &[]) else { return };
    assert!(!started.contains_key("-d"), "{started:?}");
}

/// Output of a launch with the real program that must fail.
fn refusal(file: &str, arguments: &[&str]) -> Option<String> {
    let folder = folder("launch-refused");
    let program = format!("executable:={}", text(Path::new(selene().get_program())));
    let arguments = [vec![program, "device:=cpu".to_owned()], owned(arguments)].concat();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let without_rviz = std::env::split_paths(&path).filter(|folder| !folder.join("rviz2").exists());
    let mut command = launch(&launch_file(file), &arguments, &folder)?;
    command.env("PATH", std::env::join_paths(without_rviz).expect("folders"));
    let output = command.output().expect("python");
    let printed = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {printed}");
    assert!(!printed.contains("Traceback") && !printed.contains("panicked"), "{printed}");
    std::fs::remove_dir_all(folder).expect("clean");
    Some(printed)
}

fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

#[test]
fn arguments_that_cannot_be_are_refused_with_what_is_allowed_and_the_launch_fails() {
    let _turn = alone();
    let rows: [(&str, &[&str], &[&str]); 13] = [
        ("viper", &["robot:=opportunity"], &["robot:=opportunity", "config/rover", "curiosity, dozer"]),
        ("viper", &["world:=mars"], &["world:=mars", "config/scenario", "polar"]),
        ("viper", &["params_file:=no/such.yaml"], &["params_file:=no/such.yaml", "neither a file"]),
        ("viper", &["device:=tpu"], &["device", "tpu", "'auto', 'gpu', 'cpu'"]),
        ("viper", &["twist:=both"], &["twist", "both", "'stamped', 'plain'"]),
        ("viper", &["yaw:=north"], &["yaw:=north", "radians"]),
        ("sil", &["world:=polar", "stack:=no/such.launch.py"], &["stack:=no/such.launch.py", "no such launch file"]),
        ("record", &["executable:=no/selene"], &["no/selene: no such program"]),
        ("record", &["rviz:=true"], &["rviz2: no such program"]),
        // These messages are the program's own.
        ("record", &["x:=east"], &["invalid value 'east'", "--x"]),
        ("record", &["pace:=quick"], &["quick", "real-time, fast or a factor"]),
        ("record", &["domain_id:=999"], &["ROS_DOMAIN_ID=999", "232"]),
        ("two_rovers", &["robot:=ex1"], &["rovers: there are 2", "on the command line is for one"]),
    ];
    for (file, arguments, parts) in rows {
        let Some(reported) = refusal(file, arguments) else { return };
        for part in parts {
            assert!(reported.contains(part), "{file} {arguments:?}: {part:?} is missing in: {reported}");
        }
    }
}

/// Output of a short run of a launch file with the real program.
fn run(name: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let program = format!("executable:={}", text(Path::new(selene().get_program())));
    let short = ["duration:=1", "device:=cpu", "domain_id:=95"];
    let arguments = [owned(&short), owned(arguments), vec![program]].concat();
    let output = launch(&launch_file(name), &arguments, folder)?.output().expect("python");
    succeeded(name, &output);
    Some(printed(&output))
}

/// The topics named in a summary.
fn topics_in(printed: &str) -> BTreeSet<String> {
    printed.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect()
}

#[test]
fn every_launch_file_runs_to_its_end() {
    let _turn = alone();
    for (name, own) in FILES {
        let folder = folder("launch-runs");
        let record = if name == "record" { "record:=bag" } else { "record:=" };
        let Some(reported) = run(name, &[own, &[record]].concat(), &folder) else { return };
        assert!(reported.contains("the requested time is over") && reported.contains("/clock"), "{name}: {reported}");
        let rovers = if name == "two_rovers" { "/rover_2/imu/data" } else { "/joint_states" };
        assert!(topics_in(&reported).contains(rovers), "{name}: {reported}");
        assert_eq!(folder.join("bag/metadata.yaml").is_file(), name == "record");
        std::fs::remove_dir_all(folder).expect("clean");
    }
}

#[test]
fn the_views_show_topics_that_a_run_has() {
    let _turn = alone();
    let of_run = |name| {
        let folder = folder("launch-views");
        let reported = run(name, &["pace:=fast"], &folder)?;
        std::fs::remove_dir_all(folder).expect("clean");
        // A view may also publish commands for the rover.
        Some(topics_in(&reported).into_iter().chain(["/cmd_vel".to_owned()]).collect::<BTreeSet<_>>())
    };
    let (Some(one), Some(two)) = (of_run("selene"), of_run("two_rovers")) else { return };
    let of_one = ["viper.rviz", "hil.rviz", "selene.foxglove.json"].map(|view| (view, &one));
    for (view, had) in of_one.into_iter().chain([("two_rovers.rviz", &two)]) {
        let Some(mut reader) = peer("view_topics.py") else { return };
        let shown = reader.arg(repository_file(&format!("launch/{view}"))).output().expect("python");
        let shown = topics_in(&succeeded(view, &shown));
        assert!(shown.len() > 1, "{view}: {shown:?}");
        let missing: Vec<_> = shown.difference(had).collect();
        assert!(missing.is_empty(), "{view} shows {missing:?}, which no run has");
    }
}

#[test]
fn a_stack_is_started_with_simulated_time_and_none_of_selenes_arguments_and_ends_with_the_run() {
    let _turn = alone();
    let folder = folder("launch-stack");
    let stack = repository_file("tests/peers/stack.launch.py").canonicalize().expect("a launch file");
    let stack = format!("stack:={}", text(&stack));
    let Some(reported) = run("sil", &["world:=polar", "namespace:=scout", &stack], &folder) else { return };
    assert!(reported.contains("the stack has use_sim_time=true, world=its own, namespace=its own"), "{reported}");
    assert!(
        reported.contains("the requested time is over") && reported.contains("the stack was interrupted"),
        "{reported}"
    );
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn ctrl_c_ends_a_launch_with_0_a_summary_and_a_whole_bag() {
    let _turn = alone();
    for name in ["record", "viper"] {
        let folder = folder("launch-ctrl-c");
        let program = format!("executable:={}", text(Path::new(selene().get_program())));
        let arguments = [owned(&["record:=bag", "device:=cpu", "domain_id:=96"]), vec![program]].concat();
        let Some(mut command) = launch(&launch_file(name), &arguments, &folder) else { return };
        let log = std::fs::File::create(folder.join("printed.txt")).expect("log");
        // A process group of its own, which receives Ctrl-C as from a terminal.
        command.process_group(0).stdout(log.try_clone().expect("log")).stderr(log);
        let mut running = Running(command.spawn().expect("python"));
        wait_for_messages(&folder.join("bag"), &mut running);
        // Once as from the terminal, and once as from a parent that forwards the signal.
        let twice = "kill -s INT -- -$0; sleep 0.1; kill -s INT -- -$0; true";
        let sent = Command::new("sh").args(["-c", twice, &running.0.id().to_string()]).status().expect("sh");
        assert!(sent.success());
        let status = running.0.wait().expect("ends");
        let reported = std::fs::read_to_string(folder.join("printed.txt")).expect("log");
        assert!(status.success(), "{name}: {status}\n{reported}");
        assert!(reported.contains("stopped by hand") && reported.contains("/clock"), "{reported}");
        assert!(!reported.contains("process has died") && !reported.contains("Caught exception"), "{reported}");
        assert!(folder.join("bag/metadata.yaml").is_file(), "{reported}");
        if let Some(mut reader) = peer("check_interfaces.py") {
            succeeded("check_interfaces.py", &reader.arg(folder.join("bag")).output().expect("python"));
        }
        std::fs::remove_dir_all(folder).expect("clean");
    }
}

/// Waits until a recording has begun and grown.
fn wait_for_messages(bag: &Path, running: &mut Running) {
    let size = || -> u64 {
        let files = std::fs::read_dir(bag).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    };
    while size() < 50_000 {
        assert!(running.0.try_wait().expect("state").is_none(), "the launch ended by itself");
        std::thread::sleep(Duration::from_millis(50));
    }
}
