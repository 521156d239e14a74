//! Parses the ROS 2 arguments of a command line: `--ros-args … --`, as `ros2 run` and `ros2 launch` write them.
//! `-r FROM:=TO` remaps names, including the node's own (`__node`, `__ns`); `-p NAME:=VALUE` and `--params-file FILE`
//! set parameters. The options of ROS for its own logging and security are refused: Selene has neither. All other
//! arguments are left to the command line's own parser. Source: "ROS Command Line Arguments" (design.ros2.org), rcl.

mod files;

use std::ffi::OsString;
use std::path::Path;

use selene_ros::parameters::{Parameters, TypedValue};

use crate::fault::Fault;
use crate::remap::Names;

const BEGIN: &str = "--ros-args";
const END: &str = "--";
/// Separates a name from its new value.
const ASSIGN: &str = ":=";
const ALLOWED: &str = "-r FROM:=TO, -p NAME:=VALUE and --params-file FILE are understood between --ros-args and --";

/// The arguments between `--ros-args` and `--`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RosArgs {
    remaps: Vec<Remap>,
    parameters: Vec<ParameterOverride>,
}

/// A remapping, for the node of this name or for all nodes.
#[derive(Clone, Debug, PartialEq)]
struct Remap {
    node: Option<String>,
    what: Remapped,
}

#[derive(Clone, Debug, PartialEq)]
enum Remapped {
    NodeName(String),
    Namespace(String),
    /// Another name for a topic or service.
    Name {
        from: String,
        to: String,
    },
}

/// A request to set a parameter.
#[derive(Clone, Debug, PartialEq)]
struct ParameterOverride {
    /// Full name of the node, in which `*` matches one part and `**` any number of parts.
    node: String,
    name: String,
    value: serde_json::Value,
    /// The argument or file that it comes from, for messages.
    origin: String,
    /// Whether it may concern only other nodes, so that a node without this parameter ignores it with a warning.
    is_for_others_too: bool,
}

/// Separates the words of a command line into Selene's own and the ROS arguments.
pub(crate) fn split(words: impl IntoIterator<Item = OsString>) -> Result<(Vec<OsString>, RosArgs), Fault> {
    let (mut own, mut ros, mut words) = (Vec::new(), RosArgs::default(), words.into_iter());
    while let Some(word) = words.next() {
        if word == BEGIN {
            ros.take(&mut words)?;
        } else {
            own.push(word);
        }
    }
    Ok((own, ros))
}

impl RosArgs {
    /// Whether there are no ROS arguments.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The names of the node whose name is `default` unless it is remapped.
    pub(crate) fn names(&self, default: &str) -> Result<Names, Fault> {
        let mut names = Names::plain(default);
        let is_own = |remap: &&Remap| remap.node.as_ref().is_none_or(|node| node == default);
        let own: Vec<&Remap> = self.remaps.iter().filter(is_own).collect();
        // The node's own name and namespace come first: other names are relative to them.
        for remap in &own {
            match &remap.what {
                Remapped::NodeName(name) => names.rename(name).map_err(refused("-r __node"))?,
                Remapped::Namespace(namespace) => names.move_to(namespace).map_err(refused("-r __ns"))?,
                Remapped::Name { .. } => {}
            }
        }
        for remap in &own {
            if let Remapped::Name { from, to } = &remap.what {
                names.map(from, to).map_err(refused(&format!("-r {from}{ASSIGN}{to}")))?;
            }
        }
        Ok(names)
    }

    /// Sets the node's parameters that were given, in the order of the command line.
    pub(crate) fn set(&self, mut parameters: Parameters, names: &Names) -> Result<Parameters, Fault> {
        for requested in self.parameters.iter().filter(|requested| names.is_meant(&requested.node)) {
            if requested.is_for_others_too && parameters.value(&requested.name).is_none() {
                tracing::warn!("{}: parameter {} is none of {}'s", requested.origin, requested.name, names.full());
                continue;
            }
            let set = parameters.set(&requested.name, &requested.value()?);
            set.map_err(|error| Fault::input(format!("{}: {error}", requested.origin)))?;
        }
        Ok(parameters)
    }

    /// Parses words up to the end of the ROS arguments.
    fn take(&mut self, words: &mut impl Iterator<Item = OsString>) -> Result<(), Fault> {
        while let Some(word) = words.next() {
            match text(word)?.as_str() {
                END => return Ok(()),
                BEGIN => {}
                option @ ("-r" | "--remap") => self.remaps.push(remap(option, &next(option, words)?)?),
                option @ ("-p" | "--param") => self.parameters.push(parameter(option, &next(option, words)?)?),
                option @ "--params-file" => {
                    self.parameters.extend(files::parameters(Path::new(&next(option, words)?))?);
                }
                other => return Err(Fault::input(format!("{BEGIN}: {other:?} is not understood: {ALLOWED}"))),
            }
        }
        Ok(())
    }
}

impl ParameterOverride {
    fn value(&self) -> Result<TypedValue, Fault> {
        let value = match &self.value {
            serde_json::Value::Bool(value) => Some(TypedValue::Bool(*value)),
            serde_json::Value::Number(number) if number.is_f64() => number.as_f64().map(TypedValue::Double),
            serde_json::Value::Number(number) => number.as_i64().map(TypedValue::Integer),
            serde_json::Value::String(text) => Some(TypedValue::Text(text.clone())),
            serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
        };
        let Self { name, origin, value: given, .. } = self;
        let allowed = "must be true or false, a whole number of 64 bits, a number or a text";
        value.ok_or_else(|| Fault::input(format!("{origin}: parameter {name}: {given} is not allowed: {allowed}")))
    }
}

/// Parses `FROM:=TO`, optionally with a node's name and a colon before it.
fn remap(option: &str, text: &str) -> Result<Remap, Fault> {
    let (left, to) = assigned(option, text, "FROM:=TO, such as cmd_vel:=/nav/cmd_vel")?;
    let (node, from) = of_node(left);
    let to = to.to_owned();
    let what = match from {
        "__node" | "__name" => Remapped::NodeName(to),
        "__ns" => Remapped::Namespace(to),
        from => Remapped::Name { from: from.to_owned(), to },
    };
    Ok(Remap { node: node.map(str::to_owned), what })
}

/// Parses `NAME:=VALUE`, optionally with a node's name and a colon before it; the value is YAML.
fn parameter(option: &str, text: &str) -> Result<ParameterOverride, Fault> {
    let (left, value) = assigned(option, text, "NAME:=VALUE, such as pace:=2.0")?;
    let (node, name) = of_node(left);
    let origin = format!("{option} {text}");
    let value = serde_yaml::from_str(value).map_err(|error| Fault::input(format!("{origin}: {error}")))?;
    let node = node.map_or_else(|| "/**".to_owned(), |node| format!("/{}", node.trim_start_matches('/')));
    Ok(ParameterOverride { node, name: name.to_owned(), value, origin, is_for_others_too: false })
}

fn assigned<'a>(option: &str, text: &'a str, allowed: &str) -> Result<(&'a str, &'a str), Fault> {
    let parts = text.split_once(ASSIGN).filter(|(left, right)| !left.is_empty() && !right.is_empty());
    parts.ok_or_else(|| Fault::input(format!("{option} {text}: must be {allowed}")))
}

fn of_node(left: &str) -> (Option<&str>, &str) {
    left.rsplit_once(':').map_or((None, left), |(node, name)| (Some(node), name))
}

fn next(option: &str, words: &mut impl Iterator<Item = OsString>) -> Result<String, Fault> {
    let word = words.next().filter(|word| word != END && word != BEGIN);
    text(word.ok_or_else(|| Fault::input(format!("{BEGIN} {option}: something must follow: {ALLOWED}")))?)
}

fn text(word: OsString) -> Result<String, Fault> {
    let refused = |word: OsString| Fault::input(format!("{BEGIN}: {} is not UTF-8", word.to_string_lossy()));
    word.into_string().map_err(refused)
}

fn refused(origin: &str) -> impl Fn(String) -> Fault {
    move |what| Fault::input(format!("{origin}: {what}"))
}

#[cfg(test)]
mod tests;
