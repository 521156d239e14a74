//! Parameter files (`--params-file`): under the name of each node, `ros__parameters:` with names and values. Names of
//! nodes may contain `*` (one part) and `**` (any number) and may be nested; so may those of parameters.

use std::path::Path;

use selene_base::input::{InputError, read_bytes};
use serde_json::{Map, Value};

use super::ParameterOverride;
use crate::fault::Fault;

/// Greatest size of a file, bytes.
const BYTES_MAX: u64 = 4 << 20;
const PARAMETERS: &str = "ros__parameters";

/// The parameters that `file` sets. Entries for patterns of nodes come before those for names, which override them.
pub(super) fn parameters(file: &Path) -> Result<Vec<ParameterOverride>, Fault> {
    read(file).map_err(|error| Fault::input(format!("--params-file {error}")))
}

fn read(file: &Path) -> Result<Vec<ParameterOverride>, InputError> {
    let refused = |what: String| InputError::content(file, what);
    let bytes = read_bytes(file, BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|error| refused(format!("is not UTF-8: {error}")))?;
    parsed(&text, file).map_err(refused)
}

fn parsed(text: &str, file: &Path) -> Result<Vec<ParameterOverride>, String> {
    let content: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let Value::Object(nodes) = content else { return Err(wanted("the file")) };
    let mut requested = Vec::new();
    add_nodes("", &nodes, &format!("--params-file {}", file.display()), &mut requested)?;
    Ok(requested)
}

fn wanted(what: &str) -> String {
    format!("{what} must hold the names of nodes, such as /selene or /**, and below them {PARAMETERS}")
}

fn add_nodes(
    above: &str,
    nodes: &Map<String, Value>,
    origin: &str,
    requested: &mut Vec<ParameterOverride>,
) -> Result<(), String> {
    for (name, below) in nodes {
        let path = format!("{above}/{}", name.trim_matches('/'));
        let Value::Object(below) = below else { return Err(wanted(&path)) };
        if name == PARAMETERS && !above.is_empty() {
            add_parameters(above, "", below, origin, requested);
        } else {
            add_nodes(&path, below, origin, requested)?;
        }
    }
    Ok(())
}

fn add_parameters(
    node: &str,
    above: &str,
    values: &Map<String, Value>,
    origin: &str,
    requested: &mut Vec<ParameterOverride>,
) {
    for (name, value) in values {
        let name = format!("{above}{name}");
        match value {
            Value::Object(below) => add_parameters(node, &format!("{name}."), below, origin, requested),
            value => requested.push(ParameterOverride {
                node: node.to_owned(),
                name,
                value: value.clone(),
                origin: origin.to_owned(),
                is_for_others_too: node.contains('*'),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parsed;
    use serde_json::json;
    use std::path::Path;

    fn read(text: &str) -> Result<Vec<(String, String, serde_json::Value, bool)>, String> {
        let requested = parsed(text, Path::new("all.yaml"))?;
        assert!(requested.iter().all(|one| one.origin == "--params-file all.yaml"));
        Ok(requested.into_iter().map(|one| (one.node, one.name, one.value, one.is_for_others_too)).collect())
    }

    fn row(
        node: &str,
        name: &str,
        value: serde_json::Value,
        others: bool,
    ) -> (String, String, serde_json::Value, bool) {
        (node.to_owned(), name.to_owned(), value, others)
    }

    #[test]
    fn nodes_and_parameters_may_be_nested() {
        // As launch_ros writes it, as people write it, and with a namespace.
        let text = "/**:\n  ros__parameters:\n    use_sim_time: true\nselene:\n  ros__parameters: {pace: 2.0, a: {b: 1}}\n\
                    moon:\n  selene:\n    ros__parameters: {pace: fast}\n";
        let mut read = read(text).expect("a good file");
        read.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let expected = [
            row("/**", "use_sim_time", json!(true), true),
            row("/moon/selene", "pace", json!("fast"), false),
            row("/selene", "a.b", json!(1), false),
            row("/selene", "pace", json!(2.0), false),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn other_files_are_refused_with_what_is_wanted() {
        for bad in
            ["pace: 2.0\n", "- selene\n", "selene:\n  pace: 2.0\n", "ros__parameters: {pace: 2.0}\n", "selene: 3"]
        {
            assert!(read(bad).is_err_and(|refusal| refusal.contains("ros__parameters")), "{bad}");
        }
        assert!(read("selene: {ros__parameters: {pace: 2.0").is_err());
    }
}
