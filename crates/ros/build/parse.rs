//! The `.msg` grammar (ROS 2 interface definition, REP-like prose at
//! docs.ros.org "About ROS 2 interfaces"): one field or constant a line,
//! comments after `#`, arrays `[N]`, `[]`, `[<=N]`, bounded strings, defaults.

/// One message.
pub(crate) struct Interface {
    pub(crate) package: String,
    pub(crate) name: String,
    /// The text as read, without blank lines at its end.
    pub(crate) text: String,
    /// The comment lines before the first field.
    pub(crate) doc: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) constants: Vec<Constant>,
}

pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) base: Base,
    pub(crate) arity: Arity,
    pub(crate) default: Option<String>,
    pub(crate) doc: String,
}

pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) rust_type: &'static str,
    pub(crate) value: String,
    pub(crate) doc: String,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Base {
    /// A number or truth value, by its Rust name.
    Primitive(&'static str),
    Text,
    Message {
        package: String,
        name: String,
    },
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Arity {
    One,
    Array(usize),
    Sequence,
}

/// Reads the text of `package/name`.
pub(crate) fn interface(package: &str, name: &str, text: &str) -> Result<Interface, String> {
    let mut parsed = Interface {
        package: package.to_owned(),
        name: name.to_owned(),
        text: text.trim_end().to_owned(),
        doc: leading_comment(text),
        fields: Vec::new(),
        constants: Vec::new(),
    };
    for (index, line) in text.lines().enumerate() {
        parsed.take_line(line).map_err(|what| format!("line {}: {what}: {line:?}", index + 1))?;
    }
    Ok(parsed)
}

impl Interface {
    fn take_line(&mut self, line: &str) -> Result<(), String> {
        let (code, comment) = line.split_once('#').unwrap_or((line, ""));
        let Some((type_text, rest)) = code.trim().split_once(char::is_whitespace) else {
            return if code.trim().is_empty() { Ok(()) } else { Err("a type without a name".into()) };
        };
        let (base, arity) = field_type(type_text, &self.package)?;
        let doc = comment.trim().to_owned();
        if let Some((name, value)) = rest.split_once('=') {
            let Base::Primitive(rust_type) = base else { return Err("only numbers can be constants".into()) };
            let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
            self.constants.push(Constant { name, rust_type, value, doc });
        } else {
            let (name, default) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let default = Some(default.trim().to_owned()).filter(|text| !text.is_empty());
            self.fields.push(Field { name: name.to_owned(), base, arity, default, doc });
        }
        Ok(())
    }
}

fn leading_comment(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

fn field_type(text: &str, package: &str) -> Result<(Base, Arity), String> {
    let Some((element, count)) = text.strip_suffix(']').and_then(|open| open.split_once('[')) else {
        return Ok((base(text, package)?, Arity::One));
    };
    let arity = match count {
        "" => Arity::Sequence,
        bounded if bounded.starts_with("<=") => Arity::Sequence,
        fixed => Arity::Array(fixed.parse().map_err(|e| format!("array length {fixed:?}: {e}"))?),
    };
    Ok((base(element, package)?, arity))
}

fn base(text: &str, package: &str) -> Result<Base, String> {
    let primitive = match text.split("<=").next().unwrap_or(text) {
        "bool" => "bool",
        "byte" | "char" | "uint8" => "u8",
        "int8" => "i8",
        "int16" => "i16",
        "uint16" => "u16",
        "int32" => "i32",
        "uint32" => "u32",
        "int64" => "i64",
        "uint64" => "u64",
        "float32" => "f32",
        "float64" => "f64",
        "string" => return Ok(Base::Text),
        "wstring" => return Err("wide strings are not spoken".into()),
        message => {
            let (package, name) = message.split_once('/').unwrap_or((package, message));
            return Ok(Base::Message { package: package.to_owned(), name: name.to_owned() });
        }
    };
    Ok(Base::Primitive(primitive))
}
