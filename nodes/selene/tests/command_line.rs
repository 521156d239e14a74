//! Tests of the program from the command line: what it prints, and its exit status, which is 0 on success, and 2 with
//! one message when arguments or input files are refused.

mod common;
#[path = "command_line/convoy.rs"]
mod convoy;
#[path = "command_line/facts.rs"]
mod facts;
#[path = "command_line/pages.rs"]
mod pages;
#[path = "command_line/scaling.rs"]
mod scaling;
#[path = "command_line/worlds.rs"]
mod worlds;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{assert_refused, folder, repository, run, selene, text};
use selene_base::input::parse_yaml;
use selene_scene::CameraFrame;
use selene_sensors::{Pipeline, SensorSpec};

#[test]
fn every_command_has_a_help_page_with_an_example() {
    let commands = [
        "run",
        "simulation",
        "camera",
        "lidar",
        "navigation",
        "check",
        "import",
        "render",
        "sky",
        "hash",
        "bench",
        "fit",
        "validate",
        "campaign",
        "list",
        "schema",
        "completions",
        "man",
    ];
    let rigs = ["wheel", "plate", "slope"].map(|rig| vec!["rig", rig]);
    let bags = ["info", "verify", "play", "rerender"].map(|what| vec!["bag", what]);
    let others = [
        vec!["calibrate", "camera"],
        vec!["study", "heading"],
        vec!["study", "convoy"],
        vec!["study", "scaling"],
        vec!["new", "scenario"],
    ];
    let rigs = rigs.into_iter().chain(others).chain(bags);
    let pages = commands.iter().map(|command| vec![*command]).chain(rigs);
    for mut arguments in pages {
        arguments.push("--help");
        let output = run(&arguments);
        let page = text(&output.stdout);
        assert!(output.status.success(), "{arguments:?}");
        assert!(page.contains("Example") && page.contains("selene "), "{arguments:?}:\n{page}");
    }
}

#[test]
fn arguments_out_of_range_are_refused_with_what_is_allowed() {
    assert_refused(&run(&["run", "--pace", "quick"]), &["quick", "real-time, fast"]);
    for pace in ["1e-300", "0.0009", "1001"] {
        assert_refused(&run(&["run", "--pace", pace]), &[pace, "0.001 to 1000"]);
    }
    assert_refused(&run(&["run", "--for", "-1"]), &["--for"]);
    assert_refused(&run(&["run", "--record", "x", "--record-max-size", "10"]), &["--record-max-size", "such as 500M"]);
    assert_refused(&run(&["run", "--record", "x", "--record-topics", "("]), &["--record-topics", "regular expression"]);
    assert_refused(&run(&["run", "--record-internal"]), &["--record <DIR>"]);
    assert_refused(&run(&["run", "--for", "NaN"]), &["seconds from 0"]);
    assert_refused(&run(&["rig", "plate", "--soil", "lunar", "--size", "0.2"]), &["0.2x0.1"]);
    assert_refused(&run(&["rig", "wheel", "--soil", "lunar", "--slip", "NaN"]), &["slip"]);
    assert_refused(&run(&["rig", "wheel", "--soil", "mud"]), &["mud", "lunar"]);
    for (option, value, parts) in [
        ("--slip", "0.1,2", ["--slip", "2 is not allowed: must be above -1 and at most 1"]),
        ("--load", "100:0:10", ["--load", "from:to:step"]),
        ("--slip-angle", "85", ["--slip-angle", "-80 to 80"]),
        ("--gravity", "0", ["--gravity", "above 0"]),
        ("--grip", "1.5", ["--grip", "0 to 1"]),
    ] {
        assert_refused(&run(&["rig", "wheel", "--soil", "lunar", option, value]), &parts);
    }
    let tall = ["rig", "wheel", "--soil", "lunar", "--grousers", "10", "--grouser-height", "0.3"];
    assert_refused(&run(&tall), &["--grouser-height 0.3", "below --radius 0.25"]);
    let rover = "config/rover/sorato.yaml";
    assert_refused(&run(&["rig", "slope", rover, "--soil", "lunar", "--slope", "0:50:10"]), &["--slope", "-45 to 45"]);
    assert_refused(&run(&["rig", "slope", rover, "--soil", "lunar", "--speed", "3"]), &["speed", "limits"]);
    assert_refused(&run(&["validate", "--data", "no/such/folder"]), &["--data", "no/such/folder"]);
    let plain = ["study", "convoy", "--driver", "plain", "--weights", "x.safetensors"];
    assert_refused(&run(&plain), &["--weights x.safetensors", "--driver learned"]);
    assert_refused(&run(&["study", "convoy", "--driver", "taught"]), &["taught", "plain, learned"]);
    assert_refused(&run(&["hash", "config/scenario/polar.yaml", "--for", "1", "--threads", "0"]), &["1 to"]);
    assert_refused(&run(&["bench", "speed"]), &["speed", "cpu_rays_per_s"]);
    assert_refused(&run(&["simulation", "--participants", "camera,radar"]), &["radar", "lidar"]);
    assert_refused(&run(&["run", "--impair", "/cmd_vel:loss=2"]), &["--impair", "loss=2", "0 to 1"]);
    assert_refused(&run(&["run", "--late-frames", "keep"]), &["--late-frames", "drop:SECONDS"]);
    assert_refused(&run(&["simulation", "--bandwidth-limit", "-1"]), &["--bandwidth-limit", "above 0"]);
    assert_refused(&run(&["run", "--clock-authority", "gps"]), &["--clock-authority", "ptp:/dev/ptp0"]);
    let other_clock = ["run", "--no-dds", "--pace", "fast", "--clock-authority", "wall"];
    assert_refused(&run(&other_clock), &["--clock-authority", "real time alone"]);
    let endless = ["run", "--no-dds", "--pace", "fast", "--realtime-priority", "40"];
    assert_refused(&run(&endless), &["--realtime-priority", "never wait"]);
    assert_refused(&run(&["run", "--realtime-priority", "100"]), &["--realtime-priority", "from 1 to 99"]);
    let no_clock = ["run", "--no-dds", "--clock-authority", "ptp:/dev/null"];
    assert_refused(&run(&no_clock), &["--clock-authority", "/dev/null", "cannot be read"]);
    assert_refused(&run(&["run", "--no-dds", "--impair", "/tf:loss=1"]), &["--impair", "--no-dds", "there is none"]);
    let rover = ["hash", "config/scenario/polar.yaml", "--for", "1", "--rover"];
    assert_refused(&run(&[&rover[..], &["lander"]].concat()), &["--rover lander", "neither a file nor a rover", "ex1"]);
    assert_refused(&run(&[&rover[..], &["Cargo.toml"]].concat()), &["Cargo.toml"]);
    let camera = ["render", "config/scenario/polar.yaml", "--camera", "hazcam", "--at", "1", "--out", "x.png"];
    assert_refused(&run(&camera), &["hazcam", "navcam_left"]);
    let some_day = ["render", "config/scenario/polar.yaml", "--utc", "tomorrow", "--at", "1", "--out", "x"];
    assert_refused(&run(&some_day), &["--utc", "tomorrow"]);
}

#[test]
fn peers_that_cannot_be_looked_for_are_refused_with_what_can_be() {
    assert_refused(&run(&["navigation", "--interface", "no_such0"]), &["no_such0", "(127.0.0.1)"]);
    assert_refused(&run(&["run", "--interface", "lo", "--localhost-only"]), &["--interface", "cannot be used with"]);
    let refused = |name: &str, value: &str, parts: &[&str]| {
        let output = selene(&["navigation"]).env(name, value).output().expect("the program starts");
        assert_refused(&output, &[&[name, value][..], parts].concat());
    };
    refused("ROS_AUTOMATIC_DISCOVERY_RANGE", "near", &["SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT"]);
    refused("ROS_LOCALHOST_ONLY", "yes", &["0 or 1"]);
    refused("ROS_STATIC_PEERS", "::1", &["no IPv4 address"]);
    refused("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF", &["LOCALHOST"]);
}

#[test]
fn the_sky_reports_sun_and_earth_now_and_over_time() {
    let plot = folder("sky").join("sky.png");
    let plot_name = plot.to_str().expect("UTF-8");
    let place = ["sky", "--lat", "-85.6995", "--lon", "-27.1931", "--at", "2013-10-31T00:36:19Z"];
    let over_time = ["--json", "--for", "12h", "--step", "90m", "--plot", plot_name];
    let output = run(&[&place[..], &over_time[..]].concat());
    let sky: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // Values of Skyfield with DE421 for this place and instant (crates/sky/src/site.rs).
    let close = |body: &str, key: &str, expected: f64| {
        let value = sky[body][key].as_f64().unwrap_or(f64::NAN);
        assert!((value - expected).abs() < 0.05, "{body}.{key}: {value}");
    };
    close("sun", "elevation_deg", -1.7439);
    close("earth", "azimuth_deg", 21.6065);
    close("earth", "elevation_deg", -1.0461);
    assert_eq!(sky["ephemeris"]["rows"].as_array().map(Vec::len), Some(9));
    assert_eq!(sky["source"], "analytic");
    assert!(image::open(&plot).is_ok());
}

#[test]
fn a_sky_that_cannot_be_reported_is_refused() {
    let at = ["sky", "--at", "2026-11-21T12:00:00Z", "--lon", "0"];
    let refused = |more: &[&str], parts: &[&str]| assert_refused(&run(&[&at[..], more].concat()), parts);
    refused(&["--lat", "91"], &["--lat 91", "-90 to 90"]);
    refused(&["--lat", "1", "--for", "30"], &["--for", "such as 30d"]);
    refused(&["--lat", "1", "--for", "30d", "--step", "1s"], &["--step", "at most"]);
    refused(&["--lat", "1", "--kernels", "no/de421.bsp"], &["no/de421.bsp", "cannot be read"]);
    refused(&["--lat", "1", "--kernels", "Cargo.toml"], &["Cargo.toml", "is no SPICE kernel"]);
    refused(&["--lat", "1", "--plot", "x.png"], &["--for"]);
    for of_a_site in [["--data", "config"], ["--eye", "2"], ["--seed", "2"]] {
        refused(&[&["--lat", "1"][..], &of_a_site].concat(), &[of_a_site[0], "cannot be used with"]);
    }
    refused(&[], &["--lat"]);
}

#[test]
fn a_console_that_cannot_listen_is_refused_before_anything_begins() {
    assert_refused(&run(&["run", "--console=nowhere"]), &["--console", "must be a port"]);
    assert_refused(&run(&["run", "--console-control"]), &["--console"]);
    assert_refused(&run(&["console", "192.0.2.1:8470"]), &["192.0.2.1:8470", "choose another address"]);
    assert_refused(&run(&["console", "--node", "no name", "0"]), &["--node", "\"/viper/imu/data\""]);
}

#[test]
fn viewers_that_cannot_begin_are_refused_before_anything_begins() {
    assert_refused(&run(&["run", "--foxglove=nowhere"]), &["--foxglove", "must be a port", "8765"]);
    assert_refused(&run(&["run", "--foxglove-origin", "https://a.example"]), &["--foxglove"]);
    assert_refused(&run(&["run", "--foxglove", "--foxglove-origin", "a.example/x"]), &["a.example/x", "no path"]);
    // Programs with and without Rerun both refuse it.
    assert_refused(&run(&["run", "--rerun", "Cargo.toml"]), &["--rerun Cargo.toml"]);
}

#[test]
fn the_help_of_record_says_what_is_recorded() {
    for (command, what) in [("run", "that this process publishes"), ("simulation", "what this node publishes")] {
        let page = text(&run(&[command, "--help"]).stdout);
        assert!(page.contains(what), "{page}");
    }
}

/// Names of files that commands write into a folder of `--out`.
const TAKEN: [&str; 12] = [
    "validation.md",
    "wheel.csv",
    "slope.png",
    "navcam_left.png",
    "campaign.csv",
    "heading.csv",
    "convoy.csv",
    "scaling.csv",
    "labels.csv",
    "scenario.json",
    "selene.1",
    "contact_sheet.png",
];

#[test]
fn a_file_of_another_kind_is_never_replaced() {
    let folder = folder("kinds");
    let (site, out, columns) = (folder.join("site.yaml"), folder.join("out"), folder.join("columns"));
    let text_of_site = "name: somebody's site\nlevels: []\n";
    [&out, &columns].iter().for_each(|folder| std::fs::create_dir_all(folder).expect("a folder"));
    let mut others = vec![site.clone(), columns.join("campaign.parquet")];
    others.extend(TAKEN.map(|name| out.join(name)));
    for file in &others {
        std::fs::write(file, text_of_site).expect("written");
    }
    let [yaml, out, columns] = [&site, &out, &columns].map(|path| path.to_str().expect("UTF-8"));
    let [few, _] = campaign("kinds-campaign", "seeds: [1, 2]\nfor_s: 0.05");
    let few = ["campaign", few.to_str().expect("UTF-8")];
    let square = ["--x", "0", "--y", "0", "--side", "20"];
    let export = [&["terrain", "export", "config/site/polar.yaml"][..], &square].concat();
    let crop = ["terrain", "crop", "no/such.tif", "--lat", "1", "--lon", "0", "--side", "10"];
    let polar = "config/scenario/polar.yaml";
    let render = ["render", polar, "--device", "cpu", "--at", "0.5"];
    let sky = ["sky", "--lat", "1", "--lon", "0", "--at", "2026-11-21T12:00:00Z", "--for", "1d"];
    let (wheel, slope) = (["rig", "wheel", "--soil", "lunar"], ["rig", "slope", "config/rover/sorato.yaml", "--soil"]);
    let run_of = ["run", polar, "--no-dds", "--device", "cpu", "--out", out];
    let drawn = ["run", polar, "--no-dds", "--device", "cpu", "--for", "0.1"];
    let rows: [(&[&str], &[&str], &str, &str); 25] = [
        (&render, &["--camera", "navcam_left", "--out", yaml], "site.yaml", "PNG picture"),
        (&render, &["--out", out], "navcam_left.png", "PNG picture"),
        (&run_of, &["--save-ruts", yaml], "site.yaml", "saved state"),
        (&["simulation"], &["--save-ruts", yaml], "site.yaml", "saved state"),
        (&sky, &["--plot", yaml], "site.yaml", "PNG picture"),
        (&wheel, &["--plot", yaml], "site.yaml", "PNG picture"),
        (&wheel, &["--csv", yaml], "site.yaml", "CSV table"),
        (&wheel, &["--out", out], "wheel.csv", "CSV table"),
        (&slope, &["lunar", "--out", out], "slope.png", "PNG picture"),
        (&["fit", "no/such.csv"], &["--out", yaml], "site.yaml", "soil file of `selene fit`"),
        (&["fit", "no/such.csv"], &["--plot", yaml], "site.yaml", "PNG picture"),
        (&export, &["--out", yaml], "site.yaml", "TIFF file"),
        (&crop, &["--out", yaml], "site.yaml", "TIFF file"),
        (&["terrain", "preview", "no/such.tif"], &["--out", yaml], "site.yaml", "PNG picture"),
        (&few, &["--out", out], "campaign.csv", "CSV table"),
        (&few, &["--out", columns], "campaign.parquet", "Parquet table"),
        (&["validate"], &["--out", out], "validation.md", "page of `selene validate`"),
        (&["study", "heading"], &["--out", out], "heading.csv", "CSV table"),
        (&["study", "heading"], &["--training-images", out], "labels.csv", "CSV table"),
        (&["study", "convoy"], &["--out", out], "convoy.csv", "CSV table"),
        (&["study", "scaling"], &["--out", out], "scaling.csv", "CSV table"),
        (&["schema"], &["--out", out], "scenario.json", "JSON Schema"),
        (&["man"], &["--out", out], "selene.1", "manual page of Selene"),
        (&run_of, &["--figures", yaml], "site.yaml", "JSON file"),
        (&drawn, &["--out", out], "contact_sheet.png", "PNG picture"),
    ];
    for (command, options, file, kind) in rows {
        // The last option names the file or its folder.
        let option = options[options.len() - 2];
        let reported = format!("is there already and is no {kind}; name another file");
        assert_refused(&run(&[command, options].concat()), &[option, file, &reported]);
    }
    for file in &others {
        assert_eq!(std::fs::read_to_string(file).expect("still there"), text_of_site, "{}", file.display());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_to_is_noticed_before_the_run() {
    // A file in place of the folder or of its parent, and a folder that is not writable.
    for (out, reported) in [("Cargo.toml", "made"), ("Cargo.toml/out", "made"), ("/proc", "written to")] {
        let output = run(&["run", "--no-dds", "--device", "cpu", "--for", "0.1", "--out", out]);
        assert_refused(&output, &[&format!("--out {out}: cannot be {reported}")]);
        assert!(!text(&output.stderr).contains("tracing on"), "{out}: a run began: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{out}: {}", text(&output.stdout));
    }
    let states = ["simulation", "--for", "0.1", "--checkpoint-every", "1", "--checkpoint-dir", "Cargo.toml/states"];
    assert_refused(&run(&states), &["--checkpoint-dir Cargo.toml/states: cannot be made"]);
    assert_refused(&run(&["run", "--no-dds", "--save-ruts", "no/such/x.state"]), &["--save-ruts", "no/such/x.state"]);
}

#[test]
fn the_environment_is_checked_too() {
    let output = selene(&["run", "--for", "1"]).env("ROS_DOMAIN_ID", "999").output().expect("starts");
    assert_refused(&output, &["ROS_DOMAIN_ID=999", "232"]);
    let output = selene(&["run", "--for", "1"]).env("RMW_IMPLEMENTATION", "rmw_zenoh_cpp").output().expect("starts");
    assert_refused(&output, &["RMW_IMPLEMENTATION=rmw_zenoh_cpp", "uses DDS", "r2r", "rmw_cyclonedds_cpp", "--no-dds"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_address_space_that_is_too_low_is_refused_with_what_is_needed() {
    let limited = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.current_dir(repository()).args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_selene")).args(arguments).output().expect("the program starts")
    };
    let export = ["terrain", "export", "polar", "--x", "0", "--y", "0", "--side", "20", "--out", "never.tif"];
    let (run, hash) = (["run", "--no-dds"], ["hash", "config/scenario/polar.yaml", "--for", "1"]);
    let slope = ["rig", "slope", "sorato", "--soil", "lunar"];
    for arguments in [&run[..], &hash, &slope, &export, &["validate"]] {
        assert_refused(&limited(arguments), &["400000 KiB", "needs", "ulimit -v unlimited"]);
    }
    assert!(limited(&["check", "config/soil/lunar.yaml"]).status.success());
}

#[cfg(unix)]
#[test]
fn an_installed_program_finds_the_configuration_beside_it_or_in_a_sourced_workspace() {
    let prefix = folder("installed");
    let [lib, soils] = ["lib/selene", "share/selene/config/soil"].map(|name| prefix.join(name));
    [&lib, &soils].iter().for_each(|folder| std::fs::create_dir_all(folder).expect("a folder"));
    std::fs::hard_link(env!("CARGO_BIN_EXE_selene"), lib.join("selene")).expect("a link");
    // A name that exists neither in the repository nor where the program was built.
    std::fs::copy(repository().join("config/soil/rigid.yaml"), soils.join("installed.yaml")).expect("a soil");
    let rig = |program: &Path, sourced: &Path| {
        let mut command = Command::new(program);
        command.current_dir("/").args(["rig", "wheel", "--soil", "installed", "--slip", "0.2", "--grid", "0.05"]);
        command.env("AMENT_PREFIX_PATH", sourced).output().expect("starts")
    };
    let (installed, built) = (lib.join("selene"), Path::new(env!("CARGO_BIN_EXE_selene")));
    for found in [rig(&installed, Path::new("")), rig(built, &prefix)] {
        assert!(found.status.success(), "{}", text(&found.stderr));
    }
    assert_refused(&rig(built, Path::new("/nowhere")), &["--soil installed", "config/soil", "lunar"]);
}

/// Runs a copy of the program in a folder outside of the repository.
fn alone(folder: &Path, arguments: &[&str]) -> Output {
    let program = folder.join("selene");
    if !program.exists() {
        std::fs::hard_link(env!("CARGO_BIN_EXE_selene"), &program).expect("a link");
    }
    Command::new(program).current_dir(folder).args(arguments).env_remove("SELENE_DATA").output().expect("starts")
}

#[test]
fn a_new_scenario_runs_as_it_is_written_and_is_never_replaced() {
    let folder = folder("new");
    let output = alone(&folder, &["new", "scenario", "mine", "--rover", "sorato", "--site", "mare"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = folder.join("mine.yaml");
    assert!(text(&output.stdout).contains(&*file.to_string_lossy()), "{}", text(&output.stdout));
    let written = std::fs::read_to_string(&file).expect("a scenario");
    for part in ["site: mare", "file: sorato", "  - sorato_front", "# seed: 1"] {
        assert!(written.contains(part), "{part} is missing in: {written}");
    }
    assert_refused(&alone(&folder, &["new", "scenario", "mine.yaml"]), &["mine.yaml: is there already"]);
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), written);
    assert_refused(&alone(&folder, &["new", "scenario", "other", "--rover", "none"]), &["--rover none", "viper"]);
    let explained = alone(&folder, &["check", "mine.yaml", "--explain"]);
    let reported = text(&explained.stdout);
    for part in ["mine.yaml: Scenario, OK", "gravity_m_s2: 1.62   (default)", "sensors: sorato_front"] {
        assert!(reported.contains(part), "{part} is missing in: {reported}{}", text(&explained.stderr));
    }
}

#[test]
fn everything_that_can_be_named_is_listed_with_a_line() {
    let reported = text(&run(&["list"]).stdout);
    let of =
        |name: &str| reported.lines().find(|line| line.trim_start().starts_with(&format!("{name} "))).expect("listed");
    assert!(of("polar").contains("The default scenario: VIPER drives a short loop"), "{reported}");
    assert!(of("mare").contains("A made-up plain of a mare"), "{reported}");
    assert!(of("lidar/vlp16").len() > 20 && of("grc1").len() > 10, "{reported}");
    let soils = text(&run(&["list", "soils"]).stdout);
    assert!(soils.contains("lunar") && !soils.contains("viper "), "{soils}");
    assert_refused(&run(&["list", "planets"]), &["planets", "scenarios, rovers, sites, soils, sensors"]);
}

#[test]
fn schemas_completions_and_manual_pages_are_printed_or_written() {
    let schema: serde_json::Value = serde_json::from_slice(&run(&["schema", "soil"]).stdout).expect("JSON");
    assert_eq!(schema["required"], serde_json::json!(["name", "law"]));
    for (shell, part) in [("bash", "complete"), ("zsh", "#compdef selene"), ("fish", "complete -c selene")] {
        assert!(text(&run(&["completions", shell]).stdout).contains(part), "{shell}");
    }
    assert!(text(&run(&["man"]).stdout).contains(".TH selene 1"));
    let folder = folder("pages");
    let [pages, schemas] = ["man", "schema"].map(|name| folder.join(name));
    for (command, out) in [("man", &pages), ("schema", &schemas)] {
        // Twice, since earlier pages and schemas are replaced.
        for _ in 0..2 {
            let output = run(&[command, "--out", &out.to_string_lossy()]);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
    }
    assert!(pages.join("selene-new-scenario.1").is_file() && schemas.join("site.json").is_file());
    std::fs::write(schemas.join("rover.json"), "{\"mine\": 1}\n").expect("written");
    let refused = run(&["schema", "rover", "--out", &schemas.to_string_lossy()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("is no JSON Schema"), "{}", text(&refused.stderr));
}

#[test]
fn values_of_a_scenario_are_replaced_on_the_command_line() {
    let hash = |more: &[&str]| {
        let output = run(&[&["hash", "sorato", "--for", "0.05"][..], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let usual = hash(&[]);
    assert_eq!(usual, hash(&["--set", "seed=1", "--set", "rover.yaw_deg=0"]));
    assert_eq!(hash(&["--seed", "5"]), hash(&["--set", "seed=5"]));
    assert_ne!(usual, hash(&["--set", "gravity_m_s2=9.81"]));
    assert_ne!(usual, hash(&["--soil", "rigid"]));
    let refused = |more: &[&str], parts: &[&str]| {
        assert_refused(&run(&[&["hash", "sorato", "--for", "0.05"][..], more].concat()), parts);
    };
    refused(&["--set", "gravity"], &["--set", "KEY=VALUE"]);
    refused(&["--set", "gravity_m_s2=99"], &["gravity_m_s2", "0 to 30", "with the values of --set"]);
    refused(&["--set", "gravty=1.6"], &["gravty"]);
    refused(&["--set", "seed.x=1"], &["--set seed.x", "in the value 1"]);
    refused(&["--soil", "mud"], &["--soil mud", "lunar"]);
}

#[test]
fn all_keys_at_fault_are_reported_at_once() {
    let folder = folder("keys");
    let file = folder.join("mine.yaml");
    std::fs::write(&file, "sit: polar\nrover: {x: 1}\nsoil: lunar\n").expect("written");
    let name = file.to_string_lossy();
    for command in [&["check", &name][..], &["hash", &name, "--for", "1"]] {
        let parts = ["`sit` is unknown", "`site` is missing", "`rover.x` is unknown", "`rover.file` is missing"];
        assert_refused(&run(command), &parts);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_a_failure_and_nothing_has_colours() {
    let hash = ["hash", "sorato", "--for", "0.1"];
    for arguments in
        [&["list"][..], &["--help"], &["--version"], &["help", "run"], &["completions", "bash"], &["schema"], &hash]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = selene(arguments).stdout(full).output().expect("starts");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("standard output cannot be written"), "{}", text(&output.stderr));
    }
    for arguments in [&["list"][..], &["run", "no/such.yaml"], &["--help"]] {
        let output = run(arguments);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{arguments:?}");
    }
}

#[test]
fn a_run_says_what_it_does_and_where_to_look_unless_it_is_to_be_quiet() {
    let folder = folder("told");
    let out = folder.join("out");
    let drive = ["run", "sorato", "--no-dds", "--device", "cpu", "--pace", "fast", "--for", "0.2", "--out"];
    let reported = |more: &[&str]| {
        let output = run(&[&drive[..], &[&*out.to_string_lossy()], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (summary, before) = reported(&[]);
    for part in ["tracing on: ", "as fast as it goes until 0.2 s", "no topics outside this process"] {
        assert!(before.contains(part), "{part} is missing in: {before}");
    }
    let picture = out.join("path.png").display().to_string();
    assert!(summary.contains(&picture) && summary.contains("(simulated over wall)"), "{summary}");
    assert!(before.lines().all(|line| line.chars().count() < 200 + picture.len()), "{before}");
    let (summary, before) = reported(&["--quiet"]);
    assert!(summary.contains(&picture) && !before.contains("tracing on"), "{before}");
    // Addresses are printed even with `--quiet`: without them nobody could use what listens there.
    let (_, before) = reported(&["--quiet", "--console=127.0.0.1:0", "--console-control", "--foxglove=127.0.0.1:0"]);
    assert!(before.contains("#token=") && before.contains("foxglove: ws://127.0.0.1:"), "{before}");
    assert_refused(&run(&["run", "--quiet", "--verbose"]), &["--quiet", "--verbose"]);
}

#[test]
fn a_standard_error_that_nobody_reads_ends_no_run() {
    let out = folder("unread").join("out");
    let mut command = selene(&["run", "sorato", "--no-dds", "--device", "cpu", "--pace", "fast", "--for", "0.2"]);
    command
        .args(["--console=127.0.0.1:0", "--foxglove=127.0.0.1:0", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut run = command.spawn().expect("starts");
    drop(run.stderr.take());
    let output = run.wait_with_output().expect("ends");
    assert!(output.status.success() && out.join("path.png").is_file(), "{}", text(&output.stdout));
}

#[test]
fn missing_files_are_reported_by_name() {
    assert_refused(&run(&["run", "no/such.yaml"]), &["no/such.yaml"]);
    assert_refused(&run(&["run", "config/scenario/hadley.yaml", "--no-dds"]), &["--data", "SELENE_DATA"]);
    assert_refused(&run(&["check", "no/such.urdf"]), &["no/such.urdf"]);
}

#[test]
fn check_takes_all_of_the_configuration() {
    let mut arguments = vec!["check".to_owned(), "urdf/viper/viper.urdf".to_owned()];
    for kind in ["scenario", "rover", "soil", "sensor", "sensor/lidar", "site", "learning", "campaign"] {
        let entries = std::fs::read_dir(repository().join("config").join(kind)).expect("a folder").flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        arguments.extend(files.map(|file| format!("config/{kind}/{}", file.file_name().to_string_lossy())));
    }
    let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), arguments.len() - 1);
}

#[test]
fn check_reports_every_refused_file_with_line_value_and_what_is_allowed() {
    let folder = folder("check");
    let good = std::fs::read_to_string(repository().join("config/soil/lunar.yaml")).expect("a soil");
    let bent = good.replace("friction_deg: 35", "friction_deg: 95");
    assert_ne!(good, bent, "the test changes a value");
    let [first, second] = ["bent.yaml", "odd.yaml"].map(|name| folder.join(name));
    std::fs::write(&first, bent).expect("written");
    std::fs::write(&second, "colour: grey\n").expect("written");
    let output = run(&["check", &first.to_string_lossy(), "config/soil/soft.yaml", &second.to_string_lossy()]);
    assert_refused(&output, &["bent.yaml", "line", "95", "0 to 89", "odd.yaml"]);
    assert!(text(&output.stdout).contains("soft.yaml: Soil, OK"));
}

#[test]
fn a_data_folder_that_is_not_there_is_refused_with_its_option() {
    let site = "config/site/hadley.yaml";
    for arguments in [
        &["check", site][..],
        &["check", "config/scenario/hadley.yaml"],
        &["run", "--no-dds"],
        &["sky", "--at", "2026-11-21T12:00:00Z", "--site", site],
        &["terrain", "export", site, "--x", "0", "--y", "0", "--side", "10", "--out", "x.tif"],
        &["validate"],
    ] {
        let output = run(&[arguments, &["--data", "no/such/folder"]].concat());
        assert_refused(&output, &["--data no/such/folder", "is no folder"]);
    }
}

#[test]
fn check_looks_at_a_sites_elevation_file_where_it_has_the_data_folder() {
    let folder = folder("check-site");
    let good = std::fs::read_to_string(repository().join("config/site/hadley.yaml")).expect("a site");
    let (head, rest) = good.split_once("  raster:\n").expect("a picture of heights");
    let (_, laws) = rest.split_once("\nrelief:").expect("laws");
    let (site, notes) = (folder.join("site.yaml"), folder.join("notes.txt"));
    let text = format!("{head}  file: {{ file: notes.txt, source: nobody }}\nrelief:{laws}");
    std::fs::write(&site, text).expect("written");
    std::fs::write(&notes, "these are no heights\n").expect("written");
    let (site, data) = (site.to_string_lossy(), folder.to_string_lossy());
    let unseen = text_of_check(&[&site]);
    assert!(unseen.contains("Site, OK (its elevation file was not looked at: no --data DIR)"), "{unseen}");
    assert_refused(&run(&["check", &site, "--data", &data]), &["site.yaml", "notes.txt", "GeoTIFF"]);
}

/// The output of `selene check` for valid files.
fn text_of_check(files: &[&str]) -> String {
    let output = run(&[&["check"][..], files].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn check_says_which_inertias_of_a_good_urdf_ros_2_would_drop() {
    let file = folder("check-inertia").join("rover.urdf");
    let good = std::fs::read_to_string(repository().join("urdf/viper/viper.urdf")).expect("a URDF");
    let lines: Vec<_> = good.lines().collect();
    let first = lines.iter().position(|line| line.contains("<inertia ")).expect("an inertia");
    let last = lines.iter().rposition(|line| line.contains("<inertia ")).expect("an inertia");
    let bent = |line: usize| {
        if line == first || line == last { lines[line].replace(" iyz=\"0\"", "") } else { lines[line].to_owned() }
    };
    std::fs::write(&file, (0..lines.len()).map(bent).collect::<Vec<_>>().join("\n")).expect("written");
    let reported = text_of_check(&[&file.to_string_lossy(), "urdf/viper/viper.urdf", "config/rover/viper.yaml"]);
    let reported: Vec<_> = reported.lines().collect();
    assert!(
        reported[0].contains(&format!("Urdf, OK (<inertia> in line {}, {} of the URDF", first + 1, last + 1)),
        "{reported:?}"
    );
    assert!(reported[1].ends_with("Urdf, OK") && reported[2].ends_with("Rover, OK"), "{reported:?}");
}

#[test]
fn check_refuses_a_stage_that_only_a_users_own_program_has() {
    let folder = folder("check-own");
    let config = repository().join("config").canonicalize().expect("a folder").display().to_string();
    let read = |file: &str| std::fs::read_to_string(repository().join("config").join(file)).expect("a file");
    let (sensor, scenario) = (folder.join("hazy.yaml"), folder.join("foggy.yaml"));
    let hazy = read("sensor/navcam_left.yaml").replace("    - aggregator", "    - own: {name: haze}\n    - aggregator");
    assert!(hazy.contains("haze"), "the test adds a stage");
    std::fs::write(&sensor, hazy).expect("written");
    let (sensor, reported) = (sensor.to_string_lossy(), "'haze' is no stage of this program");
    assert_refused(&run(&["check", &sensor]), &["hazy.yaml", "stage 1", reported]);
    let foggy = read("scenario/polar.yaml").replace("../sensor/navcam_left.yaml", &sensor);
    assert!(foggy.contains("hazy.yaml"), "the test changes a sensor");
    std::fs::write(&scenario, foggy.replace("../", &format!("{config}/"))).expect("written");
    assert_refused(&run(&["check", &scenario.to_string_lossy()]), &["foggy.yaml", "navcam_left", "stage 1", reported]);
}

/// Writes the default scenario, with a change to its left camera, in a folder of this name.
fn scenario_with(name: &str, from: &str, to: &str) -> String {
    let folder = folder(name);
    let config = repository().join("config").canonicalize().expect("a folder").display().to_string();
    let read = |file: &str| std::fs::read_to_string(repository().join("config").join(file)).expect("a file");
    let (camera, changed) = (read("sensor/navcam_left.yaml"), read("sensor/navcam_left.yaml").replace(from, to));
    assert_ne!(camera, changed, "the test changes the camera");
    std::fs::write(folder.join("camera.yaml"), changed).expect("written");
    let own = folder.join("camera.yaml").display().to_string();
    let scenario = read("scenario/polar.yaml").replace("../sensor/navcam_left.yaml", &own);
    let file = folder.join("scenario.yaml");
    std::fs::write(&file, scenario.replace("../", &format!("{config}/"))).expect("written");
    file.display().to_string()
}

#[test]
fn a_stage_of_another_process_is_refused_where_none_can_be_reached() {
    let last = "    - quantise: {bits: 8}";
    let scenario = scenario_with("foreign", last, &format!("{last}\n    - own: {{name: darken, timeout_s: 1}}\n   "));
    let out = folder("foreign-out").display().to_string();
    let reported = ["navcam_left", "own: 'darken' is done by another process", "there are none here"];
    assert_refused(&run(&["run", &scenario, "--no-dds", "--device", "cpu", "--out", &out]), &reported);
}

#[test]
fn a_node_refuses_a_device_that_is_not_there_before_it_waits_for_a_run() {
    let scenario = scenario_with("device", "  rate_hz: 2", "  device: gpu:4096\n  rate_hz: 2");
    let reported = ["sensor navcam_left", "'gpu:4096' is not allowed", "there are cpu"];
    assert_refused(&run(&["camera", "--scenario", &scenario, "--device", "cpu"]), &reported);
}

#[test]
fn a_rig_on_a_grid_too_coarse_for_what_it_carries_is_refused_with_what_is_allowed() {
    let slope = ["rig", "slope", "config/rover/sorato.yaml", "--soil", "lunar", "--grid", "5"];
    assert_refused(&run(&slope), &["--grid", "5 m is too coarse", "at most 0.025 m"]);
    let wheel = ["rig", "wheel", "--soil", "lunar", "--grid", "0.07"];
    assert_refused(&run(&wheel), &["--grid", "0.07 m is too coarse", "at most 0.0625 m"]);
    let plate = ["rig", "plate", "--soil", "lunar", "--size", "0.2x0.1", "--grid", "0.03"];
    assert_refused(&run(&plate), &["--grid", "0.03 m is too coarse", "at most 0.025 m"]);
}

#[test]
fn a_rig_whose_law_has_no_answer_is_refused() {
    let wheel = ["rig", "wheel", "--soil", "tohoku_silica5_ex1", "--load", "8.72"];
    assert_refused(&run(&wheel), &["law data", "scm, slip_map or rigid"]);
}

#[test]
fn a_wheel_that_does_not_settle_fails_its_run_in_a_sweep_too() {
    let rig = ["rig", "wheel", "--soil", "lunar", "--grid", "0.05", "--gravity"];
    for (gravity, of) in [("0.0001", "not settled"), ("1.62,0.0001", "--gravity 0.0001: not settled")] {
        let output = run(&[&rig[..], &[gravity]].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(of) && message.contains(" N of 100 N; take more gravity"), "{message}");
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    }
}

#[test]
fn the_wheel_rig_prints_its_five_figures() {
    let arguments = ["rig", "wheel", "--soil", "lunar", "--load", "100", "--slip", "0.2", "--grid", "0.02"];
    let output = run(&arguments);
    let printed: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&output.stdout).expect("JSON on standard output");
    let keys: Vec<_> = printed.keys().map(String::as_str).collect();
    assert_eq!(keys, ["drawbar_n", "lateral_n", "normal_n", "sinkage_m", "torque_nm"]);
    // The wheel carries its load of 100 N: the mean over two seconds is within a newton.
    let normal_n = printed["normal_n"].as_f64().expect("a number");
    assert!((normal_n - 100.0).abs() < 1.0, "{normal_n}");
}

#[test]
fn the_plate_rig_prints_csv() {
    let output = run(&["rig", "plate", "--soil", "lunar", "--grid", "0.02"]);
    let csv = text(&output.stdout);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("time_s,sinkage_m,force_n"));
    assert!(lines.clone().count() > 100 && lines.all(|line| line.split(',').all(|cell| cell.parse::<f64>().is_ok())));
}

#[test]
fn the_state_hash_does_not_depend_on_the_number_of_threads() {
    let hash = |threads: &str| {
        let output = run(&["hash", "config/scenario/polar.yaml", "--for", "0.2", "--threads", threads]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let one = hash("1");
    assert_eq!(one.trim().len(), 16, "{one}");
    assert_eq!((hash("2"), hash("4")), (one.clone(), one));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_with_its_bag_ruts_pictures_and_summary() {
    use std::io::{BufRead, BufReader, Read};

    let folder = folder("interrupt");
    let (bag, out) = (folder.join("bag"), folder.join("out"));
    let mut child = selene(&["run", "--no-dds", "--device", "cpu", "--report", "--out"])
        .arg(&out)
        .arg("--record")
        .arg(&bag)
        .arg("--save-ruts")
        .arg(folder.join("driven.ruts"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("the report of the first image");
    assert_eq!(first.trim(), "\"first_image\"");
    // A terminal and `ros2 launch` together send one request twice.
    let twice = ["-c", "kill -INT $0 && sleep 0.1 && kill -INT $0", &child.id().to_string()];
    assert!(Command::new("sh").args(twice).status().expect("sh").success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("the summary");
    assert!(child.wait().expect("ends").success(), "{rest}");
    assert!(rest.contains("stopped by hand") && rest.contains("/clock"), "{rest}");
    assert!(bag.join("metadata.yaml").is_file() && folder.join("driven.ruts").is_file());
    for picture in ["first_image.png", "contact_sheet.png", "path.png", "wheels.png"] {
        assert!(out.join(picture).is_file(), "{picture}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_more_than_a_second_after_the_first_ends_a_run_at_once() {
    use std::io::Write;
    use std::time::Duration;

    const SIGNALS_MAX: usize = 40;
    let bag = folder("interrupt-twice").join("bag");
    // Nobody reads the run's output, so its clean end takes as long as the test likes.
    let (unread, mut full) = std::io::pipe().expect("a pipe");
    let stdout = full.try_clone().expect("a pipe");
    let filling = std::thread::spawn(move || full.write_all(&vec![b'\n'; 1 << 22]));
    let mut command = selene(&["run", "--no-dds", "--device", "cpu", "--pace", "fast", "--out"]);
    command.arg(folder("interrupt-twice-out")).arg("--record").arg(&bag).stdout(stdout).stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    drop(command);
    // The run creates the bag last before it begins.
    while !bag.is_dir() {
        assert!(child.try_wait().expect("state").is_none(), "the run ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..SIGNALS_MAX {
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        std::thread::sleep(Duration::from_millis(1200));
        if let Some(status) = child.try_wait().expect("state") {
            assert_eq!(status.code(), Some(130), "{status}");
            drop(unread);
            assert!(filling.join().expect("ends").is_err(), "somebody read it");
            return;
        }
    }
    child.kill().expect("SIGKILL");
    panic!("{SIGNALS_MAX} interrupts did not end the run");
}

/// Writes a scenario in `folder` that begins at the border of its site and ends there.
fn scenario_that_leaves_its_site(folder: &Path) -> PathBuf {
    let config = repository().join("config").canonicalize().expect("a folder").display().to_string();
    let polar = std::fs::read_to_string(repository().join("config/scenario/polar.yaml")).expect("a scenario");
    let bent = polar.replace("../", &format!("{config}/")).replace("  x_m: 0\n", "  x_m: 2618.7\n");
    let bent = bent.replace("gravity_m_s2", "end_at_site_border: true\ngravity_m_s2");
    let bent = bent.replace("[[4, 0]", "[[2625, 0]");
    assert_ne!(polar, bent, "the test changes the start");
    let file = folder.join("border.yaml");
    std::fs::write(&file, bent).expect("written");
    file
}

#[test]
fn a_rover_that_leaves_its_site_still_leaves_bag_ruts_pictures_and_summary() {
    let folder = folder("border");
    let (bag, out) = (folder.join("bag"), folder.join("out"));
    let scenario = scenario_that_leaves_its_site(&folder);
    let mut command = selene(&["run", "--no-dds", "--device", "cpu", "--pace", "fast", "--for", "20"]);
    command.arg(scenario).arg("--save-ruts").arg(folder.join("driven.ruts"));
    let output = command.arg("--out").arg(&out).arg("--record").arg(&bag).output().expect("starts");
    let (summary, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{summary}{message}");
    assert!(message.contains("border of the site"), "{message}");
    assert!(folder.join("driven.ruts").is_file(), "its ruts are saved as well");
    assert!(summary.contains("it failed") && summary.contains("/clock"), "{summary}");
    assert!(bag.join("metadata.yaml").is_file());
    for picture in ["contact_sheet.png", "path.png", "wheels.png"] {
        assert!(out.join(picture).is_file(), "{picture}");
    }
}

#[cfg(unix)]
#[test]
fn a_recording_that_breaks_off_fails_the_run_after_its_summary() {
    let folder = folder("full");
    let bag = folder.join("bag");
    // A limit of 512 blocks per file simulates a full disk; the pictures may fit or not.
    let limited = "trap '' XFSZ; ulimit -f 512; exec \"$0\" \"$@\"";
    let arguments = ["run", "--no-dds", "--device", "cpu", "--pace", "fast", "--for", "2", "--out"];
    let mut command = Command::new("sh");
    command.current_dir(repository()).args(["-c", limited, env!("CARGO_BIN_EXE_selene")]).args(arguments);
    let output = command.arg(folder.join("out")).arg("--record").arg(&bag).output().expect("starts");
    let (summary, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{summary}{message}");
    assert!(message.contains("the recording broke off"), "{message}");
    assert!(summary.contains("bag fault") && summary.contains("/clock"), "{summary}");
}

#[test]
fn the_wheel_rig_sweeps_all_combinations_in_order_into_csv_and_plot() {
    let folder = folder("sweep");
    let out = folder.to_string_lossy();
    let sweep = ["rig", "wheel", "--soil", "lunar,rigid", "--slip", "0:0.4:0.2", "--load", "50,100", "--grid", "0.05"];
    let output = run(&[&sweep[..], &["--out", &out]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = std::fs::read_to_string(folder.join("wheel.csv")).expect("a CSV file");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + 2 * 3 * 2);
    let column = |name: &str| rows[0].iter().position(|column| *column == name).expect("a column");
    let [soil, slip, load, pull] = ["soil", "slip", "load_n", "drawbar_n"].map(column);
    assert_eq!((rows[1][soil], rows[1][slip], rows[1][load]), ("lunar", "0", "50"));
    assert_eq!((rows[12][soil], rows[12][slip], rows[12][load]), ("rigid", "0.4", "100"));
    let pulls: Vec<f64> = rows[1..4].iter().map(|row| row[pull].parse().expect("a number")).collect();
    assert!(pulls[0] < pulls[1] && pulls[1] < pulls[2], "{pulls:?}");
    let picture = image::open(folder.join("wheel.png")).expect("a plot").into_rgb8();
    let first = *picture.get_pixel(0, 0);
    assert!(picture.pixels().any(|pixel| *pixel != first));
    let again = run(&sweep);
    assert_eq!(text(&again.stdout), csv, "printed without --out, and the same every time");
}

#[test]
fn the_slope_rig_ends_where_the_rover_stalls() {
    let rig = ["rig", "slope", "config/rover/sorato.yaml", "--soil", "lunar", "--grid", "0.02", "--step", "0.001"];
    let output = run(&[&rig[..], &["--slope", "45,0,10,42"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = text(&output.stdout);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["slope_deg", "speed_m_s", "slip", "sinkage_m", "drive_torque_nm", "stalled"]);
    let reported: Vec<_> = rows[1..].iter().map(|row| (row[0], row[5])).collect();
    assert_eq!(reported, [("0", "false"), ("10", "false"), ("42", "true")]);
}

#[test]
fn fit_makes_a_soil_that_check_accepts_and_refuses_gaps_with_their_line() {
    let folder = folder("fit");
    let [table, soil, plot] = ["runs.csv", "sand.yaml", "sand.png"].map(|name| folder.join(name));
    let [table_name, soil_name, plot_name] = [&table, &soil, &plot].map(|file| file.to_string_lossy().into_owned());
    let mut csv = String::from("rim_speed_m_s,slope_deg,slip,load_n,sinkage_m\n");
    for run in 0..30_u32 {
        let [speed, slope, load] =
            [0.1 + 0.1 * f64::from(run % 5), 8.0 * f64::from(run / 5 % 3), 7.0 + 3.0 * f64::from(run / 15)];
        let wobble = 0.005 * (f64::from(run) * 2.4).sin();
        let slip = (0.005 * speed + 0.001) * slope * slope + 0.03 * speed + 0.02 + wobble;
        let depth_m = 0.003 + 0.03 * slip + 0.0009 * (load - 8.5) + 0.01 * wobble;
        csv += &format!("{speed},{slope},{slip},{load},{depth_m}\n");
    }
    std::fs::write(&table, &csv).expect("written");
    let output = run(&["fit", &table_name, "--out", &soil_name, "--plot", &plot_name]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let reported = text(&output.stdout);
    assert!(reported.contains("per_slip_mm") && reported.contains("(95 %)") && plot.is_file(), "{reported}");
    let output = run(&["check", &soil_name]);
    assert!(text(&output.stdout).contains("Soil, OK"), "{}", text(&output.stderr));
    std::fs::write(&table, csv + "0.1,0,,8,0.003\n").expect("written");
    assert_refused(&run(&["fit", &table_name]), &["runs.csv", "line 32", "slip"]);
}

/// Writes pairs of images of uniform radiance by the left NavCam, with a black level and 16 bits, as PNG files.
fn photograph_evenly(to: &Path, radiance: f32, exposures_ms: &[f64]) {
    let stages = "- aggregator: {quantum_efficiency: 0.5}\n- noise: {read_sigma_e: 12}\n\
                  - response: {linear: {full_well_e: 12000, black: 0.02}}\n- quantise: {bits: 16}\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/navcam_left.yaml");
    let Ok(SensorSpec::Camera(mut camera)) = SensorSpec::load(&file) else { panic!("no camera") };
    camera.stages = parse_yaml(stages, Path::new("stages")).expect("stages");
    (camera.width, camera.height, camera.auto_exposure) = (200, 200, false);
    let mut frame = CameraFrame::sized(200, 200);
    frame.radiance.fill([radiance / 3.0; 3]);
    for (k, exposure_ms) in exposures_ms.iter().enumerate() {
        camera.exposure_s = exposure_ms * 1e-3;
        let pipeline = Pipeline::new(&camera, 9).expect("stages");
        for which in 0..2 {
            let index = 2 * k as u64 + which + u64::from(radiance.to_bits());
            let data = pipeline.develop(&frame, None, index % 1_000_000).expect("a picture").data;
            let words = data.as_chunks().0.iter().map(|word| u16::from_le_bytes(*word)).collect();
            let picture = image::ImageBuffer::<image::Luma<u16>, Vec<u16>>::from_raw(200, 200, words).expect("fills");
            picture.save(to.join(format!("frame_{exposure_ms}ms_{which}.png"))).expect("saved");
        }
    }
}

#[test]
fn a_cameras_own_flats_and_darks_give_its_gain_and_read_noise_back() {
    const TOLERANCE: f64 = 0.02;
    let [flats, darks] = ["flats", "darks"].map(folder);
    photograph_evenly(&flats, 1.0, &[2.0, 5.0, 8.0, 11.0, 14.0, 17.0, 20.0, 23.0]);
    photograph_evenly(&darks, 0.0, &[1.0, 10.0, 20.0]);
    let arguments = ["calibrate", "camera", "--flat", flats.to_str().expect("UTF-8"), "--dark"];
    let output = run(&[&arguments[..], &[darks.to_str().expect("UTF-8"), "--json"]].concat());
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for (key, expected) in [("gain_e_per_dn", 12_000.0 / 65_535.0), ("read_sigma_e", 12.0)] {
        let value = found[key]["value"].as_f64().unwrap_or(f64::NAN);
        assert!((value / expected - 1.0).abs() < TOLERANCE, "{key}: {value}, must be {expected}");
    }
    assert_eq!(found["response"], "linear");
    let text_output = text(&run(&[&arguments[..], &[darks.to_str().expect("UTF-8")]].concat()).stdout);
    assert!(text_output.contains("- response: {linear: {full_well_e:"), "{text_output}");
    assert_refused(&run(&["calibrate", "camera", "--flat", "no/such", "--dark", "no/such"]), &["no/such"]);
    std::fs::write(flats.join("more.png"), std::fs::read(flats.join("frame_2ms_0.png")).expect("file"))
        .expect("written");
    let unnamed = [&arguments[..], &[darks.to_str().expect("UTF-8")]].concat();
    assert_refused(&run(&unnamed), &["more.png", "exposure is not known", "exposures.csv"]);
}

#[test]
fn arguments_of_ros_rename_what_leaves_and_set_parameters() {
    let folder = folder("ros_args");
    let bag = folder.join("bag").display().to_string();
    let out = folder.join("out").display().to_string();
    let drive = ["run", "--no-dds", "--device", "cpu", "--for", "0.05", "--record", &bag, "--out", &out];
    let renamed = ["--ros-args", "-r", "__ns:=/moon", "-r", "joint_states:=/joints", "-p", "pace:=4.0"];
    let output = run(&[&drive[..], &renamed].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let metadata = std::fs::read_to_string(folder.join("bag/metadata.yaml")).expect("a bag");
    for topic in ["/moon/ground_truth/odom", "/joints", "/clock"] {
        assert!(metadata.contains(&format!("name: {topic}\n")), "{topic} is missing in: {metadata}");
    }
    assert!(!metadata.contains("name: /joint_states") && !metadata.contains("name: /moon/joint_states"), "{metadata}");
}

#[test]
fn arguments_of_ros_that_nobody_takes_are_refused() {
    assert_refused(&run(&["run", "--ros-args", "--log-level", "debug"]), &["--log-level", "-r FROM:=TO"]);
    assert_refused(&run(&["check", "a.yaml", "--ros-args", "-r", "a:=b"]), &["--ros-args", "no ROS 2 node"]);
    let folder = folder("ros_args_refused");
    let out = folder.join("out").display().to_string();
    let drive = ["run", "--no-dds", "--device", "cpu", "--for", "0.05", "--out", &out, "--ros-args", "-p"];
    assert_refused(&run(&[&drive[..], &["speed:=1.0"]].concat()), &["-p speed:=1.0", "not declared", "use_sim_time"]);
    assert_refused(&run(&[&drive[..], &["use_sim_time:=false"]].concat()), &["use_sim_time", "its own"]);
}

/// Writes a ROS package with a rover into a folder of the test.
fn description(name: &str) -> PathBuf {
    let folder = folder(name);
    let package = folder.join("found_description");
    std::fs::create_dir_all(package.join("meshes")).expect("a folder");
    std::fs::write(package.join("package.xml"), "<package/>").expect("written");
    let plate = "solid plate\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n\
        endloop\nendfacet\nendsolid plate\n";
    std::fs::write(package.join("meshes/plate.stl"), plate).expect("written");
    let urdf = include_str!("../../../crates/vehicle/tests/found.urdf");
    std::fs::write(package.join("found.urdf"), urdf).expect("written");
    folder
}

#[test]
fn a_urdf_is_imported_with_guesses_to_check_and_a_picture() {
    let folder = description("import");
    let [urdf, out] = ["found_description/found.urdf", "rovers"].map(|name| folder.join(name));
    let [urdf, out] = [&urdf, &out].map(|path| path.to_str().expect("UTF-8"));
    let reported = run(&["import", urdf, "--out", out]);
    let page = text(&reported.stdout);
    assert!(reported.status.success(), "{}", text(&reported.stderr));
    assert!(page.contains("2 driven and 1 free wheels") && page.contains("lines to check"), "{page}");
    let rover = folder.join("rovers/found.yaml");
    let yaml = std::fs::read_to_string(&rover).expect("a rover file");
    assert!(yaml.contains("urdf: \"../found_description/found.urdf\"") && yaml.contains("# check"), "{yaml}");
    let picture = image::open(folder.join("rovers/found.png")).expect("a picture").to_rgb8();
    // The root link is grey-black and the plate at most 0.8 0.2 0.2: some of the plate must be visible.
    assert!(picture.pixels().any(|pixel| pixel.0[0] > 150 && pixel.0[1] < 60 && pixel.0[2] < 60), "no plate");
    let checked = run(&["check", rover.to_str().expect("UTF-8")]);
    assert!(text(&checked.stdout).contains("Rover, OK"), "{}", text(&checked.stderr));
    assert_refused(&run(&["import", urdf, "--out", out]), &["found.yaml", "is there already", "--force"]);
    assert!(run(&["import", urdf, "--out", out, "--force"]).status.success());
    assert_refused(&run(&["import", urdf, "--name", "../elsewhere"]), &["--name", "../elsewhere", "--out DIR"]);
}

#[test]
fn a_mesh_of_another_package_is_found_where_the_user_says_in_a_sourced_workspace_or_by_its_uri() {
    let folder = description("import-elsewhere");
    let [package, share] = ["found_description", "install/share/other"].map(|name| folder.join(name));
    std::fs::create_dir_all(folder.join("install/share")).expect("a folder");
    std::fs::create_dir_all(share.join("meshes")).expect("a folder");
    std::fs::rename(package.join("meshes/plate.stl"), share.join("meshes/plate.stl")).expect("moved");
    let urdf = std::fs::read_to_string(package.join("found.urdf")).expect("a URDF");
    let named = "package://found_description/meshes/plate.stl";
    assert!(urdf.contains(named));
    let text_of = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let file = text_of(&package.join("found.urdf"));
    let import = |mesh: &str, more: &[&str], prefix: &Path, out: &str| {
        std::fs::write(&file, urdf.replace(named, mesh)).expect("written");
        let out = text_of(&folder.join(out));
        let mut import = selene(&[&["import", &file, "--out", &out], more].concat());
        import.env("AMENT_PREFIX_PATH", prefix).output().expect("the program starts")
    };
    let elsewhere = "package://other/meshes/plate.stl";
    let (nowhere, given) = (Path::new(""), format!("other={}", text_of(&share)));
    assert_refused(&import(elsewhere, &[], nowhere, "refused"), &["package other", "--package other=DIR"]);
    for (mesh, more, prefix, out) in [
        (elsewhere, &["--package", &given][..], nowhere, "given"),
        (elsewhere, &[], &*folder.join("install"), "sourced"),
        (&format!("file://{}", text_of(&share.join("meshes/plate.stl"))), &[], nowhere, "by_uri"),
    ] {
        let output = import(mesh, more, prefix, out);
        assert!(output.status.success(), "{mesh} {more:?}: {}", text(&output.stderr));
        let picture = image::open(folder.join(out).join("found.png")).expect("a picture").to_rgb8();
        let is_plate = |pixel: &image::Rgb<u8>| pixel.0[0] > 150 && pixel.0[1] < 60 && pixel.0[2] < 60;
        assert!(picture.pixels().any(is_plate), "{mesh} {more:?}: no plate");
    }
}

#[test]
fn a_xacro_without_its_program_is_refused_with_the_command_to_give() {
    let folder = description("import-xacro");
    let file = folder.join("found.urdf.xacro");
    std::fs::write(&file, "<robot xmlns:xacro=\"http://www.ros.org/wiki/xacro\"><xacro:arg name=\"a\"/></robot>")
        .expect("written");
    let file = file.to_str().expect("UTF-8");
    let mut import = selene(&["import", file, "--out", folder.to_str().expect("UTF-8")]);
    let output = import.env("PATH", "").output().expect("the program starts");
    assert_refused(&output, &["found.urdf.xacro", "not installed", "xacro ", "> ROVER.urdf"]);
    assert_refused(&run(&["check", file]), &["<xacro:arg> is not expanded", "selene import"]);
    assert_refused(&run(&["import", file, "--package", "a=no/such/folder"]), &["no/such/folder", "is no folder"]);
    assert_refused(&run(&["import", file, "--package", "../a=."]), &["--package", "a package's name"]);
    assert_refused(&run(&["import", file, "--xacro", "a"]), &["--xacro", ":="]);
    let plain = folder.join("found_description/found.urdf");
    let plain = plain.to_str().expect("UTF-8");
    let out = folder.join("plain");
    assert_refused(
        &run(&["import", plain, "--xacro", "a:=b", "--out", out.to_str().expect("UTF-8")]),
        &["is no xacro"],
    );
}

#[cfg(unix)]
#[test]
fn a_xacro_is_expanded_by_its_program_and_its_packages_are_found_from_where_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let folder = description("import-expanded");
    let package = folder.join("found_description");
    // A stand-in for xacro prints the URDF, with one of its arguments in a comment.
    let program = folder.join("bin/xacro");
    std::fs::create_dir_all(folder.join("bin")).expect("a folder");
    // It finds the package of the file without a sourced workspace.
    let script = format!(
        "#!/bin/sh\nset -e\necho \"<!-- $2 -->\"\nls \"${{AMENT_PREFIX_PATH%%:*}}/share/found_description/package.xml\" >&2\n\
         cat {}\n",
        package.join("body.xml").display()
    );
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    let urdf = std::fs::read_to_string(package.join("found.urdf")).expect("a URDF");
    std::fs::write(package.join("body.xml"), urdf.replacen("<?xml version=\"1.0\"?>", "", 1)).expect("written");
    let file = package.join("found.urdf.xacro");
    std::fs::write(&file, "<robot xmlns:xacro=\"http://www.ros.org/wiki/xacro\"/>").expect("written");
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let out = folder.join("rovers");
    let arguments = ["import", file.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8"), "--xacro", "a:=b"];
    let output = selene(&arguments).env("PATH", &path).output().expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(out.join("found.urdf")).expect("a URDF").contains("<!-- a:=b -->"));
    let yaml = std::fs::read_to_string(out.join("found.yaml")).expect("a rover file");
    assert!(yaml.contains("found_description: \"../found_description\""), "{yaml}");
    // What was expanded before a refusal is no hindrance to the next try; somebody else's file is.
    ["found.yaml", "found.png"].iter().for_each(|file| std::fs::remove_file(out.join(file)).expect("there"));
    let again = || selene(&arguments).env("PATH", &path).output().expect("the program starts");
    assert!(again().status.success());
    ["found.yaml", "found.png"].iter().for_each(|file| std::fs::remove_file(out.join(file)).expect("there"));
    std::fs::write(out.join("found.urdf"), "<robot name=\"mine\"/>").expect("written");
    assert_refused(&again(), &["found.urdf", "is there already"]);
}

/// Writes a campaign with `rows` in a folder of its own. Returns its file and its output folder.
fn campaign(name: &str, rows: &str) -> [PathBuf; 2] {
    let folder = folder(name);
    let file = folder.join("few.yaml");
    std::fs::write(&file, format!("name: few\nscenarios: [learning_convoy]\n{rows}\n")).expect("written");
    [file, folder.join("out")]
}

fn run_campaign(campaign: &[PathBuf; 2], more: &[&str]) -> Output {
    let [file, out] = campaign.each_ref().map(|path| path.to_str().expect("UTF-8"));
    let mut arguments = vec!["campaign", file, "--out", out];
    arguments.extend(more);
    run(&arguments)
}

#[test]
fn a_campaign_makes_one_table_and_reports_which_rows_failed() {
    let few = campaign("campaign", "seeds: [1, 2]\nfor_s: 0.2\nset: {gravity_m_s2: [1.62, 99]}");
    let [file, out] = &few;
    let done = run_campaign(&few, &["--workers", "2"]);
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("2 done, 2 failed, 0 not run"), "{}", text(&done.stdout));
    let csv = std::fs::read_to_string(out.join("campaign.csv")).expect("a table");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("row,scenario,seed,set.gravity_m_s2,status,reason,deepest_sinkage_m,"), "{csv}");
    assert!(
        lines[1].starts_with("0,learning_convoy,1,1.62,done,,")
            && lines[2].starts_with("1,learning_convoy,2,1.62,done,,")
    );
    assert!(lines[3].contains("failed") && lines[3].contains("0 to 30"), "{csv}");
    let bytes = std::fs::read(out.join("campaign.parquet")).expect("Parquet");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(image::open(out.join("campaign.png")).is_ok());

    // A deleted row is run again with the same figures; the others stay unchanged.
    let read = |row: usize| std::fs::read_to_string(out.join(format!("rows/{row:06}.json"))).expect("a row");
    let [first, second] = [0, 1].map(read);
    std::fs::remove_file(out.join("rows/000001.json")).expect("removed");
    assert_eq!(run_campaign(&few, &["--only", "1"]).status.code(), Some(0));
    let hash =
        |row: &str| serde_json::from_str::<serde_json::Value>(row).expect("JSON")["figures"]["state_hash"].clone();
    assert_eq!((read(0), hash(&read(1))), (first, hash(&second)));
    assert!(hash(&second).is_string());

    // Rows of another campaign are refused, and so are row numbers that do not exist.
    let text = std::fs::read_to_string(file).expect("a campaign");
    std::fs::write(file, text.replace("1.62", "1.7")).expect("written");
    assert_refused(&run_campaign(&few, &[]), &["000000.json", "another campaign", "1.7"]);
    assert_refused(&run_campaign(&few, &["--only", "4"]), &["--only 4", "0 to 3"]);
    assert_refused(&run_campaign(&few, &["--shard", "2/2"]), &["--shard", "I/N"]);
}

#[test]
fn shards_of_a_campaign_share_its_rows_and_are_collected() {
    let few = campaign("campaign-shards", "seeds: {from: 1, count: 3}\nfor_s: 0.05");
    let [file, out] = few.each_ref().map(|path| path.to_str().expect("UTF-8"));
    let slurm = [("SLURM_ARRAY_TASK_ID", "4"), ("SLURM_ARRAY_TASK_MIN", "3"), ("SLURM_ARRAY_TASK_COUNT", "2")];
    let second = selene(&["campaign", file, "--out", out]).envs(slurm).output().expect("the program starts");
    assert!(second.status.success(), "{}", text(&second.stderr));
    let collected = || text(&run(&["campaign", "collect", file, "--out", out]).stdout);
    assert!(collected().contains("1 done, 0 failed, 2 not run"));
    assert!(run_campaign(&few, &["--shard", "0/2"]).status.success());
    assert!(collected().contains("3 done, 0 failed, 0 not run"));
    let planned = text(&run(&["campaign", "plan", file]).stdout);
    assert_eq!(planned.lines().count(), 3);
    assert!(planned.contains("\"--seed\",\"3\",\"--for\",\"0.05\""), "{planned}");
    assert_refused(&run(&["campaign", "plan", "no/such.yaml"]), &["no/such.yaml", "cannot be read"]);
}

#[cfg(unix)]
#[test]
fn a_campaign_that_was_killed_goes_on_with_what_is_missing() {
    let few = campaign("campaign-killed", "seeds: {from: 1, count: 4}\nfor_s: 0.5");
    let [file, out] = few.each_ref().map(|path| path.to_str().expect("UTF-8"));
    let mut killed = selene(&["campaign", file, "--out", out, "--workers", "1", "--quiet"]).spawn().expect("started");
    let first = few[1].join("rows/000000.json");
    let begun = std::time::Instant::now();
    while !first.is_file() && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    killed.kill().expect("killed");
    killed.wait().expect("ended");
    let kept = std::fs::read_to_string(&first).expect("a row");
    assert!(!few[1].join("rows/000003.json").exists(), "it was killed before its end");
    let done = run_campaign(&few, &[]);
    assert!(text(&done.stdout).contains("4 done, 0 failed, 0 not run"), "{}", text(&done.stderr));
    assert_eq!(std::fs::read_to_string(&first).expect("a row"), kept);
}
