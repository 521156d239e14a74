//! Rust text from parsed interfaces: structs, constants, defaults where `.msg`
//! gives them, and the schema text of each message with all it depends on.

use std::fmt::Write;

use crate::Interfaces;
use crate::parse::{Arity, Base, Constant, Field, Interface};

/// The longest array serde and `Default` take by themselves.
const PLAIN_ARRAY_MAX: usize = 32;
/// What rosidl puts into a message without fields: C has no empty structs.
const DUMMY: &str = "structure_needs_at_least_one_member";
const KEYWORDS: [&str; 12] =
    ["type", "match", "move", "ref", "loop", "use", "mod", "fn", "in", "where", "dyn", "final"];

/// All modules, the list of interfaces and the test macro that visits each.
pub(crate) fn code(interfaces: &Interfaces) -> Result<String, String> {
    let mut code = String::new();
    let mut open_package = "";
    for interface in interfaces.values() {
        if interface.package != open_package {
            let close = if open_package.is_empty() { "" } else { "}\n" };
            let package = &interface.package;
            code += &format!("{close}\n/// Messages of `{package}`.\npub mod {package} {{\n");
            open_package = package;
        }
        code += &message(interface, interfaces)?;
    }
    code += "}\n";
    code += &listing(interfaces);
    Ok(code)
}

fn listing(interfaces: &Interfaces) -> String {
    let paths: Vec<String> = interfaces.keys().map(|(package, name)| format!("{package}::{name}")).collect();
    let rows: String = paths.iter().map(|path| format!("    ({path}::TYPE_NAME, {path}::DEFINITION),\n")).collect();
    let calls: String =
        paths.iter().map(|path| format!("        $check::<$crate::message::{path}>($($argument),*);\n")).collect();
    format!(
        "\n/// Every message: its type name and its definition.\npub const INTERFACES: &[(&str, &str)] = &[\n{rows}];\n\n\
         #[cfg(test)]\nmacro_rules! for_every_message {{\n    ($check:ident($($argument:expr),*)) => {{\n{calls}    }};\n}}\n\
         #[cfg(test)]\npub(crate) use for_every_message;\n"
    )
}

fn message(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let (package, name) = (&interface.package, &interface.name);
    let manual = interface.fields.iter().any(needs_manual_default);
    let copy = if is_copy(interface, all)? { "Copy, " } else { "" };
    let default = if manual { "" } else { "Default, " };
    let doc = if interface.doc.is_empty() { format!("`{package}/msg/{name}`.") } else { interface.doc.clone() };
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
    code += &constants(name, &interface.constants);
    if manual {
        code += &manual_default(interface);
    }
    let definition = definition(interface, all)?;
    code += &format!(
        "    impl crate::Message for {name} {{\n        const TYPE_NAME: &'static str = \"{package}/msg/{name}\";\n        \
         const DEFINITION: &'static str = {definition:?};\n    }}\n"
    );
    Ok(code)
}

fn field(field: &Field) -> String {
    let rust = rust_type(field);
    let doc = if field.doc.is_empty() { format!("`{}`, as ROS 2 defines it.", field.name) } else { field.doc.clone() };
    let with = match (&field.base, field.arity) {
        (Base::Primitive("u8"), Arity::Sequence) => "        #[serde(with = \"serde_bytes\")]\n",
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
        interface.name
    )
}

fn default_value(field: &Field) -> String {
    match (&field.default, &field.base, field.arity) {
        (Some(value), Base::Primitive("f32" | "f64"), Arity::One) if !value.contains('.') => format!("{value}.0"),
        (Some(value), Base::Primitive(_), Arity::One) => value.clone(),
        (None, Base::Primitive("f64"), Arity::Array(length)) => format!("[0.0; {length}]"),
        _ => "Default::default()".to_owned(),
    }
}

fn needs_manual_default(field: &Field) -> bool {
    field.default.is_some() || matches!(field.arity, Arity::Array(length) if length > PLAIN_ARRAY_MAX)
}

fn rust_type(field: &Field) -> String {
    let base = match &field.base {
        Base::Primitive(name) => (*name).to_owned(),
        Base::Text => "::std::string::String".to_owned(),
        Base::Message { package, name } => format!("super::{package}::{name}"),
    };
    match field.arity {
        Arity::One => base,
        Arity::Array(length) => format!("[{base}; {length}]"),
        Arity::Sequence => format!("::std::vec::Vec<{base}>"),
    }
}

/// Whether the message is plain data all the way down.
fn is_copy(interface: &Interface, all: &Interfaces) -> Result<bool, String> {
    for field in &interface.fields {
        let plain = match &field.base {
            _ if field.arity == Arity::Sequence => false,
            Base::Primitive(_) => true,
            Base::Text => false,
            Base::Message { package, name } => is_copy(find(package, name, interface, all)?, all)?,
        };
        if !plain {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The `ros2msg` schema: the text, then each dependency once, in order of use.
fn definition(interface: &Interface, all: &Interfaces) -> Result<String, String> {
    let mut dependencies = Vec::new();
    collect_dependencies(interface, all, &mut dependencies)?;
    let mut text = format!("{}\n", interface.text);
    for Interface { package, name, text: dependency, .. } in dependencies {
        let _ = write!(text, "{}\nMSG: {package}/{name}\n{dependency}\n", "=".repeat(80));
    }
    Ok(text)
}

fn collect_dependencies<'a>(of: &Interface, all: &'a Interfaces, found: &mut Vec<&'a Interface>) -> Result<(), String> {
    for field in &of.fields {
        let Base::Message { package, name } = &field.base else { continue };
        let dependency = find(package, name, of, all)?;
        if !found.iter().any(|known| std::ptr::eq(*known, dependency)) {
            found.push(dependency);
            collect_dependencies(dependency, all, found)?;
        }
    }
    Ok(())
}

fn find<'a>(package: &str, name: &str, user: &Interface, all: &'a Interfaces) -> Result<&'a Interface, String> {
    all.get(&(package.to_owned(), name.to_owned())).ok_or_else(|| {
        format!("{}/{} uses {package}/{name}, which is not among the interfaces", user.package, user.name)
    })
}

fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}

/// Doc lines; units in brackets are not links.
fn docs(text: &str, indent: &str) -> String {
    let escaped = text.replace('[', "\\[").replace(']', "\\]");
    escaped.lines().map(|line| format!("{indent}/// {line}\n")).collect()
}
