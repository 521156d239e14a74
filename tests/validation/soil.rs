//! Against independent curves made with Project Chrono (the reference directory that
//! accompanies the data directory): the single wheel over slip and the plate. They
//! are numbers to compare with, not truth; where theory differs it stands above
//! them.
//!
//! Where ours differs. Sinkage is 9 % (100 N) and 13 % (175 N) less, pull at slip 0.1
//! to 0.3 is 7 to 12 % more, and at slip 0 the wheel is dragged back by 3 to 6 % of its
//! load where the reference has none; torque under slip agrees within 5 %. The
//! reference's vertical forces act further ahead of the axle (31 mm at 100 N, slip 0)
//! than those of an exact cylinder on this law (28 mm): it misses part of the contact
//! under and behind the axle. The likely cause: a node's elastic range is only 50 µm,
//! so that a hit height wrong by as much loses contact, and the reference's ray casts
//! are coarser than that (its plate feels the soil 0.5 mm early). Tried: uniform noise
//! on our hits meets the reference's sinkage at 50 µm and its pull at 100 µm; a wheel
//! larger by a collision margin or with rounded edges meets sinkage and misses pull by
//! 20 %, and so does leaving damping out. The normal is the undisturbed terrain's,
//! vertical here; no other choice was needed.

use std::path::PathBuf;

use selene_soil::rig::{self, PlateRig, SteadyState, WheelRig};
use selene_soil::{Law, Scm, SoilSpec, WheelShape};

/// Share by which drawbar may differ, slip 0.1 to 0.7; achieved 11.5 %.
const DRAWBAR_TOLERANCE: f64 = 0.12;
/// Share by which torque may differ, slip 0.1 to 0.7; achieved 4.6 %.
const TORQUE_TOLERANCE: f64 = 0.05;
/// Share by which sinkage may differ, slip −0.2 to 0.7; achieved 13.1 %.
const SINKAGE_TOLERANCE: f64 = 0.135;
/// Difference of drawbar in loads, and of torque in loads times radius, any slip; the
/// most is at slip 0 and 175 N.
const SHARE_OF_LOAD_TOLERANCE: f64 = 0.085;

fn reference(name: &str) -> Option<String> {
    let directory = std::env::var_os("SELENE_REFERENCE")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("SELENE_DATA")?).join("../reference")))?;
    std::fs::read_to_string(directory.join(name)).ok()
}

fn lunar() -> Scm {
    let path = selene_tests::repository_file("config/soil/lunar.yaml");
    Scm::try_from(&SoilSpec::load(&path).expect("preset")).expect("valid")
}

fn rows(text: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| line.split(',').skip(1).map(|field| field.parse().expect("a number")).collect();
    text.lines().skip(1).map(numbers).collect()
}

#[test]
fn the_wheel_pulls_resists_and_sinks_as_the_reference_says() {
    let Some(text) = reference("wheel_lunar.csv") else {
        return selene_tests::skip("SELENE_DATA or SELENE_REFERENCE must name a directory with wheel_lunar.csv");
    };
    let mut failures = Vec::new();
    println!("load  slip | sinkage mm  ours  ref ratio | drawbar N  ours  ref ratio | torque N m  ours  ref ratio");
    for row in rows(&text) {
        let [_, grid_m, load_n, slip, _, sinkage_m, drawbar_n, normal_n, torque_nm] = row[..] else {
            panic!("{row:?}")
        };
        let wheel = WheelShape { radius_m: 0.25, width_m: 0.20, ..WheelShape::default() };
        let rig = WheelRig { grid_m, ..WheelRig::new(Law::Scm(lunar()), wheel, load_n, slip) };
        let ours = rig::wheel(&rig).expect("runs");
        let theirs = SteadyState { sinkage_m, drawbar_n, normal_n, torque_nm, ..SteadyState::default() };
        print_row(load_n, slip, &ours, &theirs);
        let mut require = |what, value: f64, reference: f64, tolerance, from, to| {
            if (from..=to).contains(&slip) && (value / reference - 1.0).abs() > tolerance {
                failures.push(format!("{what} at {load_n} N, slip {slip}: {value:.4}, reference {reference:.4}"));
            }
        };
        require("drawbar", ours.drawbar_n, drawbar_n, DRAWBAR_TOLERANCE, 0.1, 0.7);
        require("torque", ours.torque_nm, torque_nm, TORQUE_TOLERANCE, 0.1, 0.7);
        require("sinkage", ours.sinkage_m, sinkage_m, SINKAGE_TOLERANCE, -0.2, 0.7);
        let in_loads = |a: f64, b: f64| 1.0 + (a - b) / load_n;
        require("drawbar in loads", in_loads(ours.drawbar_n, drawbar_n), 1.0, SHARE_OF_LOAD_TOLERANCE, -1.0, 1.0);
        let torque = in_loads(ours.torque_nm / wheel.radius_m, torque_nm / wheel.radius_m);
        require("torque in loads", torque, 1.0, SHARE_OF_LOAD_TOLERANCE, -1.0, 1.0);
        require("load", ours.normal_n, load_n, 1e-2, -1.0, 1.0);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn print_row(load_n: f64, slip: f64, ours: &SteadyState, theirs: &SteadyState) {
    let show = |a: f64, b: f64| format!("{a:8.3} {b:8.3} {:6.3}", a / b);
    println!(
        "{load_n:5} {slip:5.2} | {} | {} | {}",
        show(1e3 * ours.sinkage_m, 1e3 * theirs.sinkage_m),
        show(ours.drawbar_n, theirs.drawbar_n),
        show(ours.torque_nm, theirs.torque_nm),
    );
}

/// The reference's plate is larger by up to a cell and a half all round, so it is
/// stiffer than ours by less than that area; both rise straight and let go at once.
#[test]
fn the_plate_rises_and_lets_go_as_the_reference_does() {
    let Some(text) = reference("plate_lunar.csv") else {
        return selene_tests::skip("SELENE_DATA or SELENE_REFERENCE must name a directory with plate_lunar.csv");
    };
    for size_m in [[0.2, 0.1], [0.3, 0.3]] {
        let ours = rig::plate(&PlateRig::new(lunar(), size_m, 0.01, 0.04)).expect("runs");
        let at = |depth_m: f64| ours.iter().find(|s| s.sinkage_m >= depth_m).expect("reached").force_n;
        let theirs: Vec<_> = rows(&text).into_iter().filter(|row| row[..2] == size_m).collect();
        let their_at = |depth_m: f64| theirs.iter().find(|row| row[3] >= depth_m).expect("reached")[4];
        let stiffness = |force: &dyn Fn(f64) -> f64| (force(0.0385) - force(0.0085)) / 0.03;
        let ratio = stiffness(&their_at) / stiffness(&at);
        let grown = (size_m[0] + 0.03) * (size_m[1] + 0.03) / (size_m[0] * size_m[1]);
        println!("plate {size_m:?}: reference stiffer by {ratio:.3}, a cell and a half all round would be {grown:.3}");
        assert!(ratio > 1.0 && ratio < grown, "{ratio} {grown}");
        let early = 2.0 * stiffness(&|z| their_at(0.5 * z)) / stiffness(&their_at);
        assert!((early - 1.0).abs() < 0.05, "the reference rises straight: {early}");
        assert!(theirs.iter().filter(|row| row[2] > 4.05).all(|row| row[4] == 0.0));
        assert!(ours.iter().filter(|s| s.time_s > 4.05).all(|s| s.force_n == 0.0));
    }
}
