//! Parser of interface texts (docs.ros.org, "About ROS 2 interfaces"): one field or constant per line, comments after
//! `#`, arrays `[N]`, `[]`, `[<=N]`, bounded strings, defaults. Lines `---` divide a `.srv` text into request and
//! response, an `.action` text into goal, result and feedback. Bounds are read for the type's hash but not enforced:
//! they change neither the bytes nor the Rust type.

/// Keywords of C++ (ISO/IEC 14882:2017, 5.11 and 5.5) that a ROS 2 text might use as a field name. rosidl would use the
/// name unchanged for a C++ member.
#[rustfmt::skip]
const CPP_KEYWORDS: [&str; 60] = [
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const",
    "continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float",
    "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "operator",
    "or", "private", "protected", "public", "register", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union", "unsigned", "using",
];

/// The kind of the interfaces in a folder of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Message,
    Service,
    Action,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Message, Self::Service, Self::Action];

    /// The name of the folder, which is also the extension of its files and the middle part of its types' names.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }

    /// Suffixes that rosidl appends to the name for the parts of a text.
    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Message => &[""],
            Self::Service => &["_Request", "_Response"],
            Self::Action => &["_Goal", "_Result", "_Feedback"],
        }
    }
}

/// A type's full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) package: String,
    pub(crate) kind: Kind,
    /// The name in rosidl, such as `SpawnEntity_Request`.
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(package: &str, kind: Kind, name: &str) -> Self {
        Self { package: package.to_owned(), kind, name: name.to_owned() }
    }

    /// The key of a derived type: `SpawnEntity` + `_Request`.
    pub(crate) fn with(&self, suffix: &str) -> Self {
        Self { name: format!("{}{suffix}", self.name), ..self.clone() }
    }

    /// The full name, such as `simulation_interfaces/srv/SpawnEntity_Request`.
    pub(crate) fn type_name(&self) -> String {
        format!("{}/{}/{}", self.package, self.kind.folder(), self.name)
    }
}

/// One struct: a message or a part of a service or action.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) key: Key,
    /// The text as read, without blank lines at its end.
    pub(crate) text: String,
    /// The comment lines before the first field.
    pub(crate) doc: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) constants: Vec<Constant>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) base: Base,
    pub(crate) arity: Arity,
    pub(crate) default: Option<String>,
    pub(crate) doc: String,
}

#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) rust_type: &'static str,
    pub(crate) value: String,
    pub(crate) doc: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// A number or a Boolean: its name in Rust, and its value in `type_description_interfaces/msg/FieldType`, where
    /// `byte` differs from `uint8`.
    Primitive {
        rust: &'static str,
        type_id: u8,
    },
    /// A string, with its maximum length if it is bounded.
    Text(Option<usize>),
    Interface(Key),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arity {
    One,
    Array(usize),
    /// A sequence, with its maximum length if it is bounded.
    Sequence(Option<usize>),
}

/// Parses the text of a message, service or action; returns its parts in order.
pub(crate) fn interfaces(key: &Key, text: &str) -> Result<Vec<Interface>, String> {
    let (parts, suffixes) = (parts(text), key.kind.suffixes());
    if parts.len() != suffixes.len() {
        let (folder, wanted) = (key.kind.folder(), suffixes.len() - 1);
        return Err(format!("has {} lines \"---\", but a .{folder} text has {wanted}", parts.len() - 1));
    }
    let read = |((first_line, lines), suffix): (&(usize, Vec<&str>), &&str)| part(key.with(suffix), *first_line, lines);
    parts.iter().zip(suffixes).map(read).collect()
}

/// The services and the message that rosidl derives from an action (design.ros2.org, "Actions"), named by suffixes of
/// the action's name.
pub(crate) fn derived(action: &Key) -> Result<Vec<Interface>, String> {
    let Key { package, name, .. } = action;
    let texts = [
        (
            "_SendGoal_Request",
            format!("# Requests a goal.\n\nunique_identifier_msgs/UUID goal_id\n{package}/action/{name}_Goal goal"),
        ),
        (
            "_SendGoal_Response",
            "# Whether the goal was accepted, and when.\n\nbool accepted\nbuiltin_interfaces/Time stamp".to_owned(),
        ),
        ("_GetResult_Request", "# Requests the result of a goal.\n\nunique_identifier_msgs/UUID goal_id".to_owned()),
        ("_GetResult_Response", format!("# How a goal ended.\n\nint8 status\n{package}/action/{name}_Result result")),
        (
            "_FeedbackMessage",
            format!(
                "# How far a goal is.\n\nunique_identifier_msgs/UUID goal_id\n{package}/action/{name}_Feedback feedback"
            ),
        ),
    ];
    texts.iter().map(|(suffix, text)| part(action.with(suffix), 1, &text.lines().collect::<Vec<_>>())).collect()
}

/// The parts between lines `---`, each with the number of its first line.
fn parts(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut parts = vec![(1, Vec::new())];
    for (index, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            parts.push((index + 2, Vec::new()));
        } else if let Some((_, lines)) = parts.last_mut() {
            lines.push(line);
        }
    }
    parts
}

/// Parses one part; `first_line` is the number of its first line.
pub(crate) fn part(key: Key, first_line: usize, lines: &[&str]) -> Result<Interface, String> {
    let (text, doc) = (lines.join("\n").trim_end().to_owned(), leading_comment(lines));
    let mut read = Interface { key, text, doc, fields: Vec::new(), constants: Vec::new() };
    for (index, line) in lines.iter().enumerate() {
        read.take_line(line).map_err(|what| format!("line {}: {what}: {line:?}", first_line + index))?;
    }
    Ok(read)
}

impl Interface {
    fn take_line(&mut self, line: &str) -> Result<(), String> {
        let (code, comment) = line.split_once('#').unwrap_or((line, ""));
        let Some((type_text, rest)) = code.trim().split_once(char::is_whitespace) else {
            return if code.trim().is_empty() { Ok(()) } else { Err("a type without a name".into()) };
        };
        let (base, arity) = field_type(type_text, &self.key.package)?;
        let doc = comment.trim().to_owned();
        if let Some((name, value)) = rest.split_once('=') {
            let Base::Primitive { rust: rust_type, .. } = base else {
                return Err("only numbers can be constants".into());
            };
            let (name, value) = (name.trim().to_owned(), literal(rust_type, value.trim()));
            self.constants.push(Constant { name, rust_type, value, doc });
        } else {
            let (name, default) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            if CPP_KEYWORDS.contains(&name) {
                return Err("the name is a keyword of C++, in which ROS 2 could not build the package".into());
            }
            let default = default_literal(&base, arity, default.trim())?;
            self.fields.push(Field { name: name.to_owned(), base, arity, default, doc });
        }
        Ok(())
    }
}

fn default_literal(base: &Base, arity: Arity, value: &str) -> Result<Option<String>, String> {
    match (base, arity) {
        _ if value.is_empty() => Ok(None),
        (Base::Primitive { rust, .. }, Arity::One) => Ok(Some(literal(rust, value))),
        _ => Err("only numbers can have defaults".into()),
    }
}

/// A number in Rust's notation, where `1` is not an `f64`.
fn literal(rust_type: &str, value: &str) -> String {
    let whole = !value.contains(['.', 'e', 'E']);
    if rust_type.starts_with('f') && whole { format!("{value}.0") } else { value.to_owned() }
}

fn leading_comment(lines: &[&str]) -> String {
    let lines = lines.iter().map_while(|line| line.strip_prefix('#'));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

fn field_type(text: &str, package: &str) -> Result<(Base, Arity), String> {
    let Some((element, count)) = text.strip_suffix(']').and_then(|open| open.split_once('[')) else {
        return Ok((base(text, package)?, Arity::One));
    };
    let arity = match (count, count.strip_prefix("<=")) {
        ("", _) => Arity::Sequence(None),
        (_, Some(bound)) => Arity::Sequence(Some(number(bound)?)),
        (fixed, None) => Arity::Array(number(fixed)?),
    };
    Ok((base(element, package)?, arity))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|e| format!("length {text:?}: {e}"))
}

fn base(text: &str, package: &str) -> Result<Base, String> {
    if let Some(bound) = text.strip_prefix("string<=") {
        return Ok(Base::Text(Some(number(bound)?)));
    }
    let (rust, type_id) = match text {
        "bool" => ("bool", 15),
        "byte" => ("u8", 16),
        "char" | "uint8" => ("u8", 3),
        "int8" => ("i8", 2),
        "int16" => ("i16", 4),
        "uint16" => ("u16", 5),
        "int32" => ("i32", 6),
        "uint32" => ("u32", 7),
        "int64" => ("i64", 8),
        "uint64" => ("u64", 9),
        "float32" => ("f32", 10),
        "float64" => ("f64", 11),
        "string" => return Ok(Base::Text(None)),
        wide if wide.starts_with("wstring") => return Err("wide strings are not supported".into()),
        name => return reference(name, package).map(Base::Interface),
    };
    Ok(Base::Primitive { rust, type_id })
}

/// Parses a reference to a type: `Pose`, `geometry_msgs/Pose`, `geometry_msgs/msg/Pose` or a part of an action.
fn reference(text: &str, package: &str) -> Result<Key, String> {
    let words: Vec<&str> = text.split('/').collect();
    let known = |folder: &str| Kind::ALL.into_iter().find(|kind| kind.folder() == folder);
    match words[..] {
        [name] => Ok(Key::new(package, Kind::Message, name)),
        [package, name] => Ok(Key::new(package, Kind::Message, name)),
        [package, folder, name] => {
            let kind = known(folder).ok_or_else(|| format!("{folder:?} is none of msg, srv and action"))?;
            Ok(Key::new(package, kind, name))
        }
        _ => Err("a type is named Type, package/Type or package/msg/Type".into()),
    }
}
