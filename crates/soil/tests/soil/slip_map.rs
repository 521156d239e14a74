//! The slip map: what it is given is what it gives, it never gives power, it holds a parked
//! wheel, and a table that cannot be is refused with its row.

use std::path::Path;

use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::input::parse_yaml;
use selene_soil::drive_rig::{DriveRig, drive};
use selene_soil::rig::{WheelRig, wheel};
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, SlipMap, SoilContext, SoilSpec, Soils, WheelMemory, WheelMotion,
    WheelShape, step,
};
use selene_terrain::GroundPatch;

const WHEEL: WheelShape = WheelShape::plain(0.25, 0.2);

/// Largest relative error of the drawbar against the table.
const READ_BACK: f64 = 0.01;

const MAP: &str = "name: map
law:
  slip_map:
    interpolation: cubic
    lateral_friction: 0.6
    relaxation_m: 0.02
    table:
      - {slip: -1, drawbar_over_load: -0.62}
      - {slip: -0.3, drawbar_over_load: -0.50}
      - {slip: 0, drawbar_over_load: -0.10}
      - {slip: 0.1, drawbar_over_load: 0.12}
      - {slip: 0.3, drawbar_over_load: 0.25}
      - {slip: 1, drawbar_over_load: 0.40}
";

fn map() -> SlipMap {
    let spec: SoilSpec = parse_yaml(MAP, Path::new("map.yaml")).expect("good");
    match Law::try_from(&spec).expect("valid") {
        Law::SlipMap(map) => map,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_drawbar_read_back_is_the_tables() {
    let (map, load_n) = (map(), 150.0);
    for slip in [-0.9, -0.5, -0.3, -0.15, 0.02, 0.1, 0.2, 0.3, 0.6, 0.9, 1.0] {
        let rig = WheelRig {
            duration_s: 3.0,
            average_s: 1.0,
            grid_m: 0.05,
            ..WheelRig::new(Law::SlipMap(map.clone()), WHEEL, load_n, slip)
        };
        let drawbar = wheel(&rig).expect("runs").drawbar_n / load_n;
        let expected = map.drawbar_over_load(slip);
        assert!((drawbar - expected).abs() < READ_BACK * expected.abs() + 1e-4, "{slip}: {drawbar} {expected}");
    }
}

/// Up a slope the slip settles where the drawbar of the table carries the weight,
/// N d(s) = W sin α.
#[test]
fn up_a_slope_slip_settles_where_the_table_carries_the_weight() {
    for slope_deg in [0.0_f64, 5.0, 10.0, -5.0] {
        let rig = DriveRig { slope_deg, grid_m: 0.05, ..DriveRig::new(Law::SlipMap(map()), WHEEL, 90.0, 0.2) };
        let (samples, _) = drive(&rig).expect("runs");
        let slip = samples.last().expect("samples").slip;
        let carried = map().drawbar_over_load(slip);
        assert!((carried - slope_deg.to_radians().tan()).abs() < 2e-3, "{slope_deg}: slip {slip}, {carried}");
    }
}

#[test]
fn a_parked_wheel_does_not_creep_on_fifteen_degrees() {
    for heading_deg in [0.0, 50.0, 90.0] {
        let law = Law::SlipMap(map());
        let rig = DriveRig { slope_deg: 15.0, heading_deg, grid_m: 0.05, ..DriveRig::new(law, WHEEL, 90.0, 0.0) };
        let (samples, _) = drive(&DriveRig { duration_s: 60.0, ..rig }).expect("runs");
        let crept: f64 = samples[10_000..].iter().map(|s| 1e-3 * s.speed_m_s.hypot(s.left_m_s)).sum();
        assert!(crept < 1e-5, "{heading_deg}: {crept}");
    }
}

/// F v + T ω ≤ 0 at every steady pair of wheel speed and body speed, opposed ones too.
#[test]
fn the_ground_never_gives_power() {
    let (mut ground, soils) = (GroundPatch::flat(0.05, 60.0), Soils::uniform(Law::SlipMap(map())));
    let mut memory = MemoryPatch::new(&ground);
    let mut scratch = PressScratch::default();
    let conditions = Conditions { dt_s: 1e-3, gravity_m_s2: 1.62 };
    for rim in [-0.5_f64, -0.2, 0.0, 0.01, 0.2, 0.5] {
        for speed in [-0.5, -0.2, -0.01, 0.0, 0.002, 0.05, 0.19, 0.2, 0.21, 0.4] {
            let mut wheel_memory = WheelMemory::carrying(150.0);
            let mut power = 0.0;
            for i in 0..800 {
                let motion = WheelMotion {
                    world_from_wheel: Pose::translation(speed * 1e-3 * f64::from(i), 0.0, 0.2495),
                    linear_m_s: Vector3::x() * speed,
                    angular_rad_s: Vector3::y() * (rim / 0.25),
                };
                let mut context =
                    SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
                let contact = step(&mut context, &WHEEL, &mut wheel_memory, &motion, &conditions);
                power = contact.wrench.force.x * speed + contact.wrench.torque.y * rim / 0.25;
            }
            assert!(power <= 1e-9, "rim {rim}, speed {speed}: {power} W");
        }
    }
}

fn refusal(from: &str, to: &str) -> String {
    assert_eq!(MAP.matches(from).count(), 1, "{from}");
    parse_yaml::<SoilSpec>(&MAP.replace(from, to), Path::new("soil/x.yaml")).expect_err("must be refused").to_string()
}

#[test]
fn a_table_that_cannot_be_is_refused_with_file_line_and_row() {
    for (from, to, parts) in [
        (
            "slip: 0.1, drawbar_over_load: 0.12",
            "slip: -0.1, drawbar_over_load: 0.12",
            ["line 11", "row 4", "must rise"],
        ),
        ("drawbar_over_load: 0.25", "drawbar_over_load: 0.05", ["line 12", "row 5", "must not fall"]),
        ("slip: -1, ", "slip: -0.9, ", ["line 8", "row 1", "from -1 to 1"]),
        ("slip: 1, ", "slip: 0.8, ", ["line 13", "row 6", "from -1 to 1"]),
        ("drawbar_over_load: 0.40", "drawbar_over_load: .nan", ["line 13", "NaN", "-10 to 10"]),
        ("0.40}", "0.40, sinkage_m: 0.01}", ["line 13", "row 6", "in every row or in none"]),
        ("drawbar_over_load: -0.10", "drawbar_over_load: 0.10", ["line 8", "0.1 at slip 0", "0 or less"]),
        ("relaxation_m: 0.02", "relaxation_m: 0", ["line 6", "0", "more than 0"]),
    ] {
        let message = refusal(from, to);
        for part in parts.iter().chain(&["soil/x.yaml"]) {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }
}

#[test]
fn bulldozing_and_a_second_law_are_refused() {
    let message = parse_yaml::<SoilSpec>(&format!("{MAP}bulldozing: {{flow: 1}}\n"), Path::new("x"))
        .expect_err("refused")
        .to_string();
    assert!(message.contains("line 14") && message.contains("slip_map"), "{message}");
    let second = MAP.replace("law:\n", "law:\n  rigid: {static_friction: 1, dynamic_friction: 0.8}\n");
    let message = parse_yaml::<SoilSpec>(&second, Path::new("x")).expect_err("refused").to_string();
    assert!(message.contains("exactly one of") && message.contains("line "), "{message}");
}
