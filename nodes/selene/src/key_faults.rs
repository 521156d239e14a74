//! Finds all missing and unknown keys of a file by its JSON Schema. A parser stops at the first.

use std::path::Path;

use selene_base::input;
use serde_json::Value;

use crate::args::SchemaKind;
use crate::commands::schema;

/// Greatest size of a file that is examined, bytes.
const BYTES_MAX: u64 = 4 << 20;

/// Adds all missing and unknown keys of a file to its refusal, if there are several.
pub(crate) fn add(refusal: String, kind: SchemaKind, file: &Path) -> String {
    let bytes = input::read_bytes(file, BYTES_MAX).unwrap_or_default();
    let Ok(content) = serde_yaml::from_str::<Value>(&String::from_utf8_lossy(&bytes)) else { return refusal };
    match &of(&schema::of(kind).to_value(), &content)[..] {
        [] | [_] => refusal,
        several => format!("{refusal}\n{}: keys at fault: {}", file.display(), several.join(", ")),
    }
}

/// The missing and unknown keys of a file's content, in words.
fn of(schema: &Value, content: &Value) -> Vec<String> {
    let mut walk = Walk { root: schema, reported: Vec::new() };
    walk.look(schema, content, "");
    walk.reported
}

struct Walk<'a> {
    root: &'a Value,
    reported: Vec<String>,
}

impl<'a> Walk<'a> {
    fn look(&mut self, schema: &'a Value, content: &Value, path: &str) {
        let schema = self.meant(schema, content);
        match content {
            Value::Object(keys) => {
                let Some(known) = schema["properties"].as_object() else { return };
                for (key, inner) in keys {
                    let path = under(path, key);
                    match known.get(key) {
                        Some(schema) => self.look(schema, inner, &path),
                        None => self.reported.push(format!("`{path}` is unknown")),
                    }
                }
                let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let missing = needed.filter(|key| !keys.contains_key(*key));
                self.reported.extend(missing.map(|key| format!("`{}` is missing", under(path, key))));
            }
            Value::Array(list) => {
                for (place, inner) in list.iter().enumerate() {
                    self.look(&schema["items"], inner, &format!("{path}[{place}]"));
                }
            }
            _ => {}
        }
    }

    /// Follows the references of a schema. Of several alternatives (`anyOf`), takes the first that fits the content's
    /// type.
    fn meant(&self, schema: &'a Value, content: &Value) -> &'a Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let found = self.root.pointer(reference.trim_start_matches('#'));
            return found.map_or(schema, |found| self.meant(found, content));
        }
        let Some(several) = schema["anyOf"].as_array() else { return schema };
        let fits = |schema: &&Value| match content {
            Value::Object(_) => !schema["properties"].is_null(),
            Value::Array(_) => !schema["items"].is_null(),
            _ => false,
        };
        several.iter().map(|schema| self.meant(schema, content)).find(fits).unwrap_or(schema)
    }
}

fn under(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::{SchemaKind, of, schema};
    use serde_json::json;

    #[test]
    fn all_missing_and_unknown_keys_are_reported_wherever_they_are() {
        let content = json!({
            "sit": "polar",
            "rover": {"x": 1.0},
            "soil": {"default": "lunar", "areas": [{"soil": "soft", "cirle": {}}]},
            "objects": [{"name": "lander", "file": "a.urdf", "x_m": 0.0}],
        });
        let reported = of(&schema::of(SchemaKind::Scenario).to_value(), &content);
        for fault in [
            "`sit` is unknown",
            "`site` is missing",
            "`rover.x` is unknown",
            "`rover.file` is missing",
            "`soil.areas[0].cirle` is unknown",
            "`objects[0].y_m` is missing",
        ] {
            assert!(reported.iter().any(|reported| reported == fault), "{fault} in: {reported:?}");
        }
        assert_eq!(reported.len(), 6, "{reported:?}");
    }

    #[test]
    fn a_good_file_has_none() {
        let content =
            json!({"site": "polar", "rover": {"file": "viper"}, "soil": "lunar", "utc": "2026-11-21T12:00:00Z"});
        assert_eq!(of(&schema::of(SchemaKind::Scenario).to_value(), &content), Vec::<String>::new());
    }
}
