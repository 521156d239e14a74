//! Generates Rust text from parsed interfaces: structs, constants, defaults that the text gives, each struct's schema
//! text with all its dependencies, and its type hash.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::parse::{Arity, Base, Constant, Field, Interface, Key, Kind};
use crate::type_hash::type_hash;
use crate::{Interfaces, calls, describe};

/// The longest array that serde and `Default` support.
const PLAIN_ARRAY_MAX: usize = 32;
/// The field that rosidl adds to a message without fields, since C has no empty structs.
pub(crate) const DUMMY: &str = "structure_needs_at_least_one_member";
const KEYWORDS: [&str; 12] =
    ["type", "match", "move", "ref", "loop", "use", "mod", "fn", "in", "where", "dyn", "final"];

/// All modules, the list of messages, the test macros that visit each struct, and the table of types.
pub(crate) fn code(interfaces: &Interfaces) -> Result<String, String> {
    let packages: BTreeSet<&str> = interfaces.structs.keys().map(|key| key.package.as_str()).collect();
    let mut code = String::new();
    for package in packages {
        code += &format!("\n/// Interfaces of `{package}`.\npub mod {package} {{\n");
        for kind in Kind::ALL {
            code += &folder(package, kind, interfaces)?;
        }
        code += "}\n";
    }
    code += &listing(interfaces);
    code += &check_by_name(interfaces);
    code += &describe::table(interfaces)?;
    Ok(code)
}

/// The content of one folder of a package; services and actions have modules of their own.
fn folder(package: &str, kind: Kind, interfaces: &Interfaces) -> Result<String, String> {
    let ours = |key: &&Key| key.package == package && key.kind == kind;
    let mut code = String::new();
    for interface in interfaces.structs.values().filter(|interface| ours(&&interface.key)) {
        code += &message(interface, interfaces)?;
    }
    interfaces.services.iter().filter(ours).for_each(|key| code += &calls::service(key, interfaces));
    interfaces.actions.iter().filter(ours).for_each(|key| code += &calls::action(key, interfaces));
    let doc = match kind {
        _ if code.is_empty() => return Ok(code),
        Kind::Message => return Ok(code),
        Kind::Service => "Services",
        Kind::Action => "Actions",
    };
    Ok(format!(
        "    /// {doc} of `{package}` and what they are made of.\n    pub mod {} {{\n{code}    }}\n",
        kind.folder()
    ))
}

/// A function that decodes messages whose type is known only at run time, by the type's name.
fn check_by_name(interfaces: &Interfaces) -> String {
    let messages = interfaces.structs.keys().filter(|key| key.kind == Kind::Message);
    let arm = |key: &Key| {
        let (type_name, path) = (key.type_name(), path(key));
        format!("        \"{type_name}\" => Some(crate::decode::<{path}>(encoded).map(drop)),\n")
    };
    let arms: String = messages.map(arm).collect();
    format!(
        "\n/// Whether `encoded` is a message of the type with this name; none where there is no such type.\n#[must_use]\n\
         pub fn check(type_name: &str, encoded: &crate::Encoded) -> Option<Result<(), crate::CdrError>> {{\n    \
         match type_name {{\n{arms}        _ => None,\n    }}\n}}\n"
    )
}

fn listing(interfaces: &Interfaces) -> String {
    let (messages, parts): (Vec<&Key>, Vec<&Key>) =
        interfaces.structs.keys().partition(|key| key.kind == Kind::Message);
    let row = |key: &&Key| format!("    Interface::of::<{}>(),\n", path(key));
    let rows: String = messages.iter().map(row).collect();
    format!(
        "\n/// Every message.\npub const INTERFACES: &[Interface] = &[\n{rows}];\n\n{}{}",
        visitor("for_every_message", &messages),
        visitor("for_every_part", &parts)
    )
}

/// A macro for tests that calls a function for each of `keys`.
fn visitor(name: &str, keys: &[&Key]) -> String {
    let call = |key: &&Key| format!("        $check::<$crate::message::{}>($($argument),*);\n", path(key));
    let calls: String = keys.iter().map(call).collect();
    format!(
        "#[cfg(test)]\nmacro_rules! {name} {{\n    ($check:ident($($argument:expr),*)) => {{\n{calls}    }};\n}}\n\
         #[cfg(test)]\npub(crate) use {name};\n"
    )
}

fn message(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let (name, type_name) = (rust_name(&interface.key), interface.key.type_name());
    let manual = interface.fields.iter().any(needs_manual_default);
    let copy = if is_copy(interface, all)? { "Copy, " } else { "" };
    let default = if manual { "" } else { "Default, " };
    let doc = if interface.doc.is_empty() { format!("`{type_name}`.") } else { interface.doc.clone() };
    let mut code = docs(&doc, "    ");
    code += &format!(
        "    #[derive(Clone, {copy}Debug, {default}PartialEq, ::serde::Serialize, ::serde::Deserialize)]\n    \
         pub struct {name} {{\n"
    );
    interface.fields.iter().for_each(|f| code += &field(f));
    if interface.fields.is_empty() {
        code += &format!("        /// A message without fields takes one byte.\n        pub {DUMMY}: u8,\n");
    }
    code += "    }\n";
    code += &constants(&name, &interface.constants);
    if manual {
        code += &manual_default(interface);
    }
    Ok(code + &implementation(interface, all)?)
}

/// The implementation of the trait `Message` for the struct.
fn implementation(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let (name, type_name) = (rust_name(&interface.key), interface.key.type_name());
    let (definition, hash) = (definition(interface, all)?, type_hash(interface, all)?);
    Ok(format!(
        "    impl crate::Message for {name} {{\n        const TYPE_NAME: &'static str = \"{type_name}\";\n        \
         const DEFINITION: &'static str = {definition:?};\n        \
         const TYPE_HASH: &'static str = \"{hash}\";\n    }}\n"
    ))
}

fn field(field: &Field) -> String {
    let rust = rust_type(field);
    let doc = if field.doc.is_empty() { format!("`{}`, as ROS 2 defines it.", field.name) } else { field.doc.clone() };
    let with = match (&field.base, field.arity) {
        (Base::Primitive { rust: "u8", .. }, Arity::Sequence(_)) => "        #[serde(with = \"serde_bytes\")]\n",
        (_, Arity::Array(length)) if length > PLAIN_ARRAY_MAX => "        #[serde(with = \"crate::message::array\")]\n",
        _ => "",
    };
    format!("{}{with}        pub {}: {rust},\n", docs(&doc, "        "), identifier(&field.name))
}

fn constants(name: &str, constants: &[Constant]) -> String {
    if constants.is_empty() {
        return String::new();
    }
    let mut code = format!("    impl {name} {{\n");
    for Constant { name, rust_type, value, doc } in constants {
        let doc = if doc.is_empty() { format!("`{name}`, as ROS 2 defines it.") } else { doc.clone() };
        code += &docs(&doc, "        ");
        let _ = writeln!(code, "        pub const {name}: {rust_type} = {value};");
    }
    code + "    }\n"
}

fn manual_default(interface: &Interface) -> String {
    let fields: String = interface
        .fields
        .iter()
        .map(|f| format!("                {}: {},\n", identifier(&f.name), default_value(f)))
        .collect();
    format!(
        "    impl Default for {} {{\n        fn default() -> Self {{\n            Self {{\n{fields}            }}\n        }}\n    }}\n",
        rust_name(&interface.key)
    )
}

fn default_value(field: &Field) -> String {
    match (&field.default, &field.base, field.arity) {
        (Some(value), _, _) => value.clone(),
        (None, Base::Primitive { rust: "f64", .. }, Arity::Array(length)) => format!("[0.0; {length}]"),
        _ => "Default::default()".to_owned(),
    }
}

fn needs_manual_default(field: &Field) -> bool {
    // The defaults of Rust are zero and false.
    let is_own = field.default.as_ref().is_some_and(|value| !matches!(value.as_str(), "0" | "0.0" | "false"));
    is_own || matches!(field.arity, Arity::Array(length) if length > PLAIN_ARRAY_MAX)
}

fn rust_type(field: &Field) -> String {
    let base = match &field.base {
        Base::Primitive { rust, .. } => (*rust).to_owned(),
        Base::Text(_) => "::std::string::String".to_owned(),
        Base::Interface(key) => format!("crate::message::{}", path(key)),
    };
    match field.arity {
        Arity::One => base,
        Arity::Array(length) => format!("[{base}; {length}]"),
        Arity::Sequence(_) => format!("::std::vec::Vec<{base}>"),
    }
}

/// Whether the message and all that it contains is plain data.
fn is_copy(interface: &Interface, all: &Interfaces) -> Result<bool, String> {
    for field in &interface.fields {
        let plain = match &field.base {
            _ if matches!(field.arity, Arity::Sequence(_)) => false,
            Base::Primitive { .. } => true,
            Base::Text(_) => false,
            Base::Interface(key) => is_copy(find(key, interface, all)?, all)?,
        };
        if !plain {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The `ros2msg` schema: the text, then each dependency once, in order of use.
fn definition(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let mut text = format!("{}\n", interface.text);
    for Interface { key, text: dependency, .. } in dependencies(interface, all)? {
        let _ = write!(text, "{}\nMSG: {}\n{dependency}\n", "=".repeat(80), schema_name(key));
    }
    Ok(text)
}

/// All types that an interface contains, each once, in order of use.
pub(crate) fn dependencies<'a>(of: &Interface, all: &'a Interfaces) -> Result<Vec<&'a Interface>, String> {
    let mut found = Vec::new();
    collect_dependencies(of, all, &mut found)?;
    Ok(found)
}

fn collect_dependencies<'a>(of: &Interface, all: &'a Interfaces, found: &mut Vec<&'a Interface>) -> Result<(), String> {
    for field in &of.fields {
        let Base::Interface(key) = &field.base else { continue };
        let dependency = find(key, of, all)?;
        if !found.iter().any(|known| std::ptr::eq(*known, dependency)) {
            found.push(dependency);
            collect_dependencies(dependency, all, found)?;
        }
    }
    Ok(())
}

fn find<'a>(key: &Key, user: &Interface, all: &'a Interfaces) -> Result<&'a Interface, String> {
    all.find(key)
        .ok_or_else(|| format!("{} uses {}, which is not among the interfaces", user.key.type_name(), key.type_name()))
}

/// A dependency's name in a schema, where messages are named without their folder.
fn schema_name(key: &Key) -> String {
    match key.kind {
        Kind::Message => format!("{}/{}", key.package, key.name),
        Kind::Service | Kind::Action => key.type_name(),
    }
}

/// The path of a type, relative to the module `message`.
fn path(key: &Key) -> String {
    match key.kind {
        Kind::Message => format!("{}::{}", key.package, rust_name(key)),
        Kind::Service | Kind::Action => format!("{}::{}::{}", key.package, key.kind.folder(), rust_name(key)),
    }
}

/// The name in Rust, without underscores, such as `SpawnEntityRequest`.
pub(crate) fn rust_name(key: &Key) -> String {
    key.name.replace('_', "")
}

fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}

/// Doc lines; units in brackets are escaped, since they are not links.
pub(crate) fn docs(text: &str, indent: &str) -> String {
    let escaped = text.replace('[', "\\[").replace(']', "\\]");
    escaped.lines().map(|line| format!("{indent}/// {line}\n")).collect()
}
