//! A process that uses topics only is a stage of a camera's processing: its output is published in place of each image,
//! and simulated time waits for it.

use std::process::Stdio;

use selene_tests::repository_file;

use crate::program::{Running, alone, folder, peer, selene, succeeded};

/// A domain that no other program on the machine is likely to use.
const DOMAIN: &str = "96";
/// Simulated time, s, of a run with images at 0, 0.1 … 1 s; those up to 0.9 s are published within it.
const SIMULATED_S: &str = "1.2";
const IMAGES: &str = "10";
/// Changes that give a small navigation camera whose images another process darkens.
const CHANGES: [(&str, &str); 4] = [
    ("width: 640", "width: 64"),
    ("height: 360", "height: 36"),
    ("rate_hz: 2", "rate_hz: 10"),
    ("    - quantise: {bits: 8} ", "    - quantise: {bits: 8}\n    - own: {name: darken, timeout_s: 10} "),
];

#[test]
fn what_another_process_makes_of_an_image_is_what_is_published() {
    let _turn = alone();
    let Some(mut stage) = peer("own_stage.py") else { return };
    let out = folder("own_stage");
    let camera = out.join("navcam_left.yaml");
    let text = std::fs::read_to_string(repository_file("config/sensor/navcam_left.yaml")).expect("a file");
    let text = CHANGES.iter().fold(text, |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    });
    std::fs::write(&camera, text).expect("written");
    let config = repository_file("config").canonicalize().expect("config");
    let scenario = out.join("own_stage.yaml");
    let text = format!(
        "name: own_stage\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: {0}/site/test_yard.yaml\nsoil: {0}/soil/lunar.yaml\n\
         rover: {{ file: {0}/rover/viper.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 0 }}\nsensors: [{1}]\n",
        config.display(),
        camera.display()
    );
    std::fs::write(&scenario, text).expect("written");

    let checked = selene().arg("check").args([&scenario, &camera]).output().expect("selene");
    succeeded("selene check", &checked);
    let mut render = selene();
    render.arg("render").arg(&scenario).args(["--camera", "navcam_left", "--at", "0", "--device", "cpu", "--out"]);
    let refused = render.arg(out.join("image.png")).output().expect("selene");
    let reported = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && reported.contains("'darken'") && reported.contains("another process"),
        "{reported}"
    );

    let stage = stage.args([DOMAIN, "navcam_left", "darken", IMAGES]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut stage = Running(stage.spawn().expect("python"));
    let mut run = selene();
    run.arg("run").arg(&scenario).args(["--for", SIMULATED_S, "--pace", "fast", "--device", "cpu", "--out"]);
    run.arg(out.join("run")).env("ROS_DOMAIN_ID", DOMAIN);
    succeeded("selene run", &run.output().expect("selene"));
    println!("{}", succeeded("own_stage.py", &stage.output()));
    std::fs::remove_dir_all(out).expect("clean");
}
