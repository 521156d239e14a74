//! `selene schema`: JSON Schemas of the input files, generated from the types that parse them. They contain keys, types
//! and which keys are required; `selene check` checks ranges and consistency.

use schemars::{Schema, schema_for};
use selene_base::output::{self, FileKind};
use selene_campaign::CampaignSpec;
use selene_learn::CourseSpec;
use selene_sensors::SensorSpec;
use selene_sim::ScenarioSpec;
use selene_soil::SoilSpec;
use selene_terrain::SiteSpec;
use selene_vehicle::RoverSpec;
use serde_json::{Map, Value};

use crate::args::{SchemaArgs, SchemaKind};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// The kind of file that may be replaced: an earlier schema.
const SCHEMA: FileKind = FileKind { name: "JSON Schema", is: is_schema };

/// Prints schemas, or writes them to a folder.
pub(crate) fn schema(args: &SchemaArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let kinds = args.kind.as_ref().map_or(&SchemaKind::ALL[..], std::slice::from_ref);
    if let Some(folder) = &args.out {
        places::check_folder("--out", folder)?;
        let file = |kind: &SchemaKind| folder.join(format!("{}.json", kind.name()));
        kinds.iter().try_for_each(|kind| places::check_writable("--out", &file(kind), &SCHEMA))?;
        for kind in kinds {
            let file = file(kind);
            output::write_bytes(&file, &SCHEMA, text(*kind)?.as_bytes()).map_err(Fault::run)?;
            verbosity.wrote(&file);
        }
        return Ok(());
    }
    match args.kind {
        Some(kind) => print_line(text(kind)?.trim_end()),
        None => print_line(format_args!("{:#}", Value::from(all()))),
    }
    Ok(())
}

/// The schemas of all kinds, by the kind's name.
fn all() -> Map<String, Value> {
    SchemaKind::ALL.map(|kind| (kind.name().to_owned(), of(kind).to_value())).into_iter().collect()
}

/// The schema of a kind of file.
pub(crate) fn of(kind: SchemaKind) -> Schema {
    match kind {
        SchemaKind::Scenario => schema_for!(ScenarioSpec),
        SchemaKind::Rover => schema_for!(RoverSpec),
        SchemaKind::Soil => schema_for!(SoilSpec),
        SchemaKind::Sensor => schema_for!(SensorSpec),
        SchemaKind::Site => schema_for!(SiteSpec),
        SchemaKind::Learning => schema_for!(CourseSpec),
        SchemaKind::Campaign => schema_for!(CampaignSpec),
    }
}

fn text(kind: SchemaKind) -> Result<String, Fault> {
    Ok(serde_json::to_string_pretty(&of(kind)).map_err(Fault::run)? + "\n")
}

fn is_schema(head: &[u8]) -> bool {
    head.starts_with(b"{") && head.windows(11).any(|text| text == b"json-schema")
}

#[cfg(test)]
mod tests {
    use super::{SchemaKind, Value, is_schema, of, text};
    use std::path::{Path, PathBuf};

    fn config() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
    }

    /// The keys of the mapping at `path` in a schema, with references followed.
    fn keys(kind: SchemaKind, path: &[&str]) -> Vec<String> {
        let root = of(kind).to_value();
        let mut at = &root;
        for key in path {
            at = followed(&root, &at["properties"][key]);
        }
        at["properties"].as_object().expect("a mapping").keys().cloned().collect()
    }

    /// Follows the references of a schema; of several alternatives, takes the first.
    fn followed<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
        let reference = schema["$ref"].as_str();
        let referred = reference.map(|to| root.pointer(to.trim_start_matches('#')).expect("a definition"));
        let first = schema["anyOf"].as_array().map(|several| &several[0]);
        referred.or(first).map_or(schema, |next| followed(root, next))
    }

    #[test]
    fn schemas_have_the_keys_of_the_files_and_what_is_needed() {
        assert!(keys(SchemaKind::Scenario, &["rover"]).contains(&"yaw_deg".to_owned()));
        assert!(keys(SchemaKind::Soil, &["law"]).contains(&"slip_map".to_owned()));
        assert!(keys(SchemaKind::Sensor, &["imu"]).contains(&"rate_hz".to_owned()));
        let scenario = of(SchemaKind::Scenario).to_value();
        assert_eq!(scenario["required"], serde_json::json!(["site"]));
        assert_eq!(scenario["additionalProperties"], false);
        let described = scenario["properties"]["gravity_m_s2"]["description"].as_str();
        assert!(described.is_some_and(|text| text.contains("m/s²")), "{described:?}");
        assert!(keys(SchemaKind::Learning, &["task", "waypoint"]).contains(&"within_m".to_owned()));
        assert!(keys(SchemaKind::Learning, &["randomise", "mass_factor"]).contains(&"log_uniform".to_owned()));
        assert!(keys(SchemaKind::Campaign, &["seeds"]).contains(&"count".to_owned()));
        assert!(SchemaKind::ALL.iter().all(|kind| is_schema(text(*kind).expect("JSON").as_bytes())));
    }

    #[test]
    fn every_top_level_key_of_the_configuration_is_in_its_schema() {
        for kind in SchemaKind::ALL {
            let known = keys(kind, &[]);
            for entry in std::fs::read_dir(config().join(kind.name())).expect("a folder").flatten() {
                let file = entry.path();
                let Ok(text) = std::fs::read_to_string(&file) else { continue };
                let keys = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
                for key in keys.filter_map(|line| line.split_once(':')) {
                    assert!(known.iter().any(|known| known == key.0), "{}: {}", file.display(), key.0);
                }
            }
        }
    }

    /// The YAML files of a folder and its subfolders.
    fn yaml_files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
        let files = |path: PathBuf| match path.is_dir() {
            true => yaml_files(&path),
            false => Vec::from_iter(path.extension().is_some_and(|ending| ending == "yaml").then_some(path.clone())),
        };
        entries.flat_map(files).collect()
    }

    #[test]
    fn every_shipped_file_names_its_schema_for_editors() {
        let files = yaml_files(&config());
        assert!(files.len() > 100, "{files:?}");
        for file in files {
            let kind =
                file.strip_prefix(config()).ok().and_then(|within| within.iter().next()?.to_str()).expect("a kind");
            let schema = config().join("schema").join(format!("{kind}.json")).canonicalize().expect("a schema");
            let text = std::fs::read_to_string(&file).expect("text");
            let named = text.lines().last().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
            let named = named.and_then(|name| file.parent()?.join(name).canonicalize().ok());
            assert_eq!(named.as_ref(), Some(&schema), "{}: its last line", file.display());
        }
    }

    #[test]
    fn the_shipped_schemas_are_those_of_the_types() {
        for kind in SchemaKind::ALL {
            let file = config().join("schema").join(format!("{}.json", kind.name()));
            let shipped = std::fs::read_to_string(&file).unwrap_or_default();
            let advice = "make it anew with `selene schema --out config/schema`";
            assert!(shipped == text(kind).expect("JSON"), "{}: {advice}", file.display());
        }
    }
}
