//! Soils over the ground: every shape holds what it says, later areas lie over earlier
//! ones, and what cannot be is refused with file and line.

use std::path::{Path, PathBuf};

use garde::Validate;
use selene_base::input::parse_yaml;
use selene_soil::{Law, SoilSpec, Soils, SoilsSpec};
use serde::Deserialize;

/// A scenario's part.
#[derive(Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[garde(dive)]
    soil: SoilsSpec,
}

const AREAS: &str = "soil:
  default: soil/lunar.yaml
  areas:
    - soil: soil/soft.yaml
      circle: {centre_m: [0, 0], radius_m: 2}
    - soil: soil/grc1.yaml
      rectangle: {from_m: [-1, -1], to_m: [0, 0]}
    - soil: soil/grc3.yaml
      polygon: {corners_m: [[10, 0], [14, 0], [10, 4]]}
    - soil: soil/rigid.yaml
      half_plane: {through_m: [0, 50], toward_deg: 90}
    - soil: soil/viper_demo.yaml
      image: {file: grey.png, from_m: [-12, -4], to_m: [-8, 0], grey: [0.5, 1]}
";

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

fn law(name: &str) -> Law {
    Law::try_from(&SoilSpec::load(&config().join(format!("soil/{name}.yaml"))).expect("preset")).expect("valid")
}

fn parse(text: &str) -> Result<SoilsSpec, String> {
    parse_yaml::<Scenario>(text, Path::new("scenario/x.yaml")).map(|s| s.soil).map_err(|e| e.to_string())
}

/// A folder with the presets and a picture whose east half is white and north half grey.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-soils-{}-{name}", std::process::id()));
    std::fs::create_dir_all(folder.join("soil")).expect("folder");
    for entry in std::fs::read_dir(config().join("soil")).expect("presets").flatten() {
        std::fs::copy(entry.path(), folder.join("soil").join(entry.file_name())).expect("copy");
    }
    let grey = |x, y| {
        image::Luma([if x >= 2 {
            255_u8
        } else if y < 2 {
            100
        } else {
            0
        }])
    };
    image::GrayImage::from_fn(4, 4, grey).save(folder.join("grey.png")).expect("picture");
    image::RgbImage::new(4, 4).save(folder.join("colour.png")).expect("picture");
    folder
}

#[test]
fn every_shape_holds_its_soil_and_later_ones_lie_over_earlier_ones() {
    let folder = folder("shapes");
    let soils = Soils::load(&parse(AREAS).expect("good"), &folder, 1).expect("loads");
    for (x, y, name) in [
        (5.0, 5.0, "lunar"),
        (1.0, 1.0, "soft"),
        (-0.5, -0.5, "grc1"),
        (11.0, 1.0, "grc3"),
        (13.0, 3.0, "lunar"),
        (3.0, 51.0, "rigid"),
        (3.0, 49.0, "lunar"),
        (-8.5, -3.0, "viper_demo"),
        (-11.5, -0.5, "lunar"),
        (-7.9, -3.0, "lunar"),
    ] {
        assert_eq!(soils.at(x, y), &law(name), "({x}, {y})");
    }
    let bright = AREAS.replace("grey: [0.5, 1]", "grey: [0.3, 0.5]");
    let soils = Soils::load(&parse(&bright).expect("good"), &folder, 1).expect("loads");
    assert_eq!(soils.at(-11.5, -0.5), &law("viper_demo"));
    assert_eq!(soils.at(-11.5, -3.5), &law("lunar"));
    std::fs::remove_dir_all(&folder).expect("clean");
}

#[test]
fn a_path_alone_is_one_soil_everywhere() {
    let spec = parse("soil: soil/lunar.yaml\n").expect("good");
    assert_eq!(spec, SoilsSpec::uniform("soil/lunar.yaml".into()));
    let soils = Soils::load(&spec, &config(), 1).expect("loads");
    for [x, y] in [[0.0, 0.0], [3.0, -70.0], [-1e4, 2e4]] {
        assert_eq!(soils.at(x, y), &law("lunar"));
    }
}

#[test]
fn areas_that_cannot_be_are_refused_with_file_line_and_what_is_allowed() {
    for (from, to, parts) in [
        ("radius_m: 2", "radius_m: -2", ["line 5", "-2", "more than 0"]),
        (
            "to_m: [0, 0]}\n    - soil: soil/grc3",
            "to_m: [-3, 0]}\n    - soil: soil/grc3",
            ["line 7", "-3", "north-east"],
        ),
        (", [10, 4]]", "]", ["line 9", "corners_m", "length"]),
        ("toward_deg: 90", "toward_deg: .nan", ["line 11", "NaN", "-360 to 360"]),
        ("grey: [0.5, 1]", "grey: [0.5, 2]", ["line 13", "2", "0 to 1"]),
        ("  default", "  defalt", ["line 2", "defalt", "default"]),
        ("circle:", "circel:", ["line 5", "circel", "circle"]),
        ("      circle: {centre_m: [0, 0], radius_m: 2}\n", "", ["line 4", "exactly one of", "circle"]),
    ] {
        assert_eq!(AREAS.matches(from).count(), 1, "{from}");
        let message = parse(&AREAS.replace(from, to)).expect_err("refused");
        for part in parts.iter().chain(&["scenario/x.yaml"]) {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }
}

#[test]
fn files_that_are_missing_or_of_the_wrong_kind_are_reported() {
    let folder = folder("files");
    for (from, to, parts) in [
        ("soil/grc1.yaml", "soil/cheese.yaml", ["cheese.yaml", "cannot be read"]),
        ("grey.png", "gone.png", ["gone.png", "cannot be read"]),
        ("grey.png", "colour.png", ["colour.png", "8- or 16-bit grey"]),
        ("grey.png", "soil/lunar.yaml", ["lunar.yaml", "pixels on a side"]),
    ] {
        let spec = parse(&AREAS.replace(from, to)).expect("good");
        let message = Soils::load(&spec, &folder, 1).expect_err("refused").to_string();
        for part in parts {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }
    std::fs::remove_dir_all(&folder).expect("clean");
}
