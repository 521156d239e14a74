//! Tests with command lines as `ros2 run` and `ros2 launch` write them.

use super::{RosArgs, split};
use crate::fault::Fault;
use crate::remap::Names;
use selene_ros::parameters::{Parameter, ParameterChange, Parameters, TypedValue, ValueRange};
use std::ffi::OsString;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn ros(line: &str) -> RosArgs {
    split(words(line)).expect("a good line").1
}

#[track_caller]
fn assert_refused<T>(result: Result<T, Fault>, parts: &[&str]) {
    let message = result.err().expect("must be refused").to_string();
    assert!(parts.iter().all(|part| message.contains(part)), "{parts:?} are not all in: {message}");
}

fn parameters() -> Parameters {
    let pace = ParameterChange::new(|_| Ok(()), |_| ());
    Parameters::default()
        .with(Parameter::read_only("seed", TypedValue::Integer(7), "Seed."))
        .with(Parameter::changeable("pace", TypedValue::Double(1.0), "Pace.", ValueRange::Doubles(0.0..=1000.0), pace))
}

fn set(line: &str) -> Result<Parameters, Fault> {
    ros(line).set(parameters(), &Names::plain("selene"))
}

#[test]
fn what_is_for_ros_is_taken_out_wherever_it_stands() {
    let (own, ros) = split(words("selene run --ros-args -r a:=b -- --no-dds --ros-args -p pace:=2.0")).unwrap();
    assert_eq!(own, words("selene run --no-dds"));
    assert_eq!((ros.remaps.len(), ros.parameters.len()), (1, 1));
    // Outside of the ROS arguments, `--` belongs to the command.
    let (own, ros) = split(words("selene check -- a.yaml")).unwrap();
    assert!(own == words("selene check -- a.yaml") && ros.is_empty());
    assert!(super::split(words("selene --ros-args --")).unwrap().1.is_empty());
}

#[test]
fn a_launch_file_gives_name_namespace_and_topics() {
    let names =
        ros("selene run --ros-args -r __node:=sim -r cmd_vel:=/nav/cmd_vel -r __ns:=/moon").names("selene").unwrap();
    let mut expected = Names::plain("selene");
    expected.rename("sim").unwrap();
    expected.move_to("/moon").unwrap();
    expected.map("cmd_vel", "/nav/cmd_vel").unwrap();
    assert_eq!(names, expected);
    // Rules for another node do not apply.
    let other = ros("selene run --ros-args -r rviz:__node:=view -r rviz:tf:=/tf2").names("selene").unwrap();
    assert_eq!(other, Names::plain("selene"));
    let own = ros("selene run --ros-args --remap selene:__node:=sim").names("selene").unwrap();
    assert_eq!(own.full(), "/sim");
}

#[test]
fn words_that_are_not_understood_are_refused_with_what_is() {
    for (line, part) in [
        ("selene run --ros-args --log-level debug", "--log-level"),
        ("selene run --ros-args __node:=sim", "__node:=sim"),
        ("selene run --ros-args -r", "-r"),
        ("selene run --ros-args -p --", "-p"),
        ("selene run --ros-args -r cmd_vel", "FROM:=TO"),
        ("selene run --ros-args -r :=/a", "FROM:=TO"),
        ("selene run --ros-args -p pace=2.0", "NAME:=VALUE"),
        ("selene run --ros-args -p pace:=[1", "pace:=[1"),
        ("selene run --ros-args --params-file no/such.yaml", "no/such.yaml"),
    ] {
        assert_refused(split(words(line)), &[part]);
    }
    assert_refused(ros("selene run --ros-args -r __ns:=moon").names("selene"), &["__ns", "\"moon\""]);
    assert_refused(ros("selene run --ros-args -r __node:=a/b").names("selene"), &["__node", "without slashes"]);
    assert_refused(ros("selene run --ros-args -r a:=/b//c").names("selene"), &["-r a:=/b//c", "nothing"]);
}

#[test]
fn parameters_are_set_by_name_type_and_node() {
    let line = "selene run --ros-args -p pace:=2.5 -p use_sim_time:=True -p rviz:speed:=3";
    assert_eq!(set(line).unwrap().value("pace"), Some(TypedValue::Double(2.5)));
    let own = "selene run --ros-args -p pace:=2.5 --param selene:pace:=0.5";
    assert_eq!(set(own).unwrap().value("pace"), Some(TypedValue::Double(0.5)));
}

#[test]
fn parameters_that_cannot_be_set_are_refused_with_the_reason() {
    for (requested, parts) in [
        ("speed:=2.0", ["-p speed:=2.0", "pace, seed, use_sim_time"]),
        ("pace:=2", ["type double", "integer 2"]),
        ("pace:=fast", ["type double", "string \"fast\""]),
        ("pace:=[1.0]", ["pace: [1.0] is not allowed", "a number"]),
        ("pace:=1001.0", ["1001.0 is not allowed", "0 to 1000"]),
        ("seed:=8", ["seed is read-only", "Seed."]),
        ("use_sim_time:=false", ["use_sim_time: false is not allowed", "its own"]),
    ] {
        assert_refused(set(&format!("selene run --ros-args -p {requested}")), &parts);
    }
}

#[test]
fn a_file_for_all_nodes_may_name_parameters_of_others_and_one_for_this_node_may_not() {
    let folder = std::env::temp_dir().join(format!("selene_ros_args_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        format!("selene run --ros-args --params-file {}", path.display())
    };
    let all = file("all.yaml", "/**:\n  ros__parameters: {use_sim_time: true, max_speed: 0.2, frames: [map, odom]}\n");
    let own = file("own.yaml", "/**: {ros__parameters: {pace: 3.0}}\nselene: {ros__parameters: {pace: 4.0}}\n");
    let wrong = file("wrong.yaml", "selene: {ros__parameters: {max_speed: 0.2}}\n");
    let read = [all, own, wrong].map(|line| set(&line));
    std::fs::remove_dir_all(&folder).unwrap();
    let [all, own, wrong] = read;
    assert!(all.is_ok());
    assert_eq!(own.unwrap().value("pace"), Some(TypedValue::Double(4.0)));
    assert_refused(wrong, &["wrong.yaml", "max_speed", "pace, seed, use_sim_time"]);
}
