//! Parser of the label language of PDS3 and ISIS (ODL, PVL): `KEY = value` lines inside nested `OBJECT` and `GROUP`
//! blocks, quoted text, units in angle brackets, lists, comments.

use crate::error::Refusal;

/// The deepest nesting of blocks accepted; real labels have five levels.
const DEPTH_MAX: usize = 16;

/// A value: its parts (one, unless it is a list) without quotes, and their units.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Value {
    pub(super) parts: Vec<String>,
    /// The unit of each part; empty if it has none.
    pub(super) units: Vec<String>,
}

impl Value {
    pub(super) fn text(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    pub(super) fn unit(&self) -> String {
        self.units.first().map_or(String::new(), |unit| unit.to_ascii_lowercase())
    }
}

/// A block of a label: its values and the blocks inside of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    pub(super) name: String,
    values: Vec<(String, Value)>,
    pub(super) blocks: Vec<Block>,
}

impl Block {
    /// Parses a label up to its `END`.
    pub(super) fn parse(label: &str) -> Result<Self, Refusal> {
        let mut lexer = Lexer { rest: label };
        let mut root = Self::default();
        root.fill(&mut lexer, 0)?;
        Ok(root)
    }

    fn fill(&mut self, lexer: &mut Lexer<'_>, depth: usize) -> Result<(), Refusal> {
        if depth > DEPTH_MAX {
            return Err(Refusal::new("label", format!("nests blocks more than {DEPTH_MAX} deep")));
        }
        while let Some(key) = lexer.word() {
            let upper = key.to_ascii_uppercase();
            match upper.as_str() {
                "END" => return Ok(()),
                "END_OBJECT" | "END_GROUP" => {
                    if lexer.take('=') {
                        lexer.value(&key)?;
                    }
                    return Ok(());
                }
                _ if !lexer.take('=') => {
                    return Err(Refusal::new(key, "is not followed by `=`; a label has lines `KEY = value`"));
                }
                "OBJECT" | "GROUP" | "BEGIN_OBJECT" | "BEGIN_GROUP" => {
                    let name = lexer.value(&key)?.text().to_owned();
                    let mut block = Self { name, ..Self::default() };
                    block.fill(lexer, depth + 1)?;
                    self.blocks.push(block);
                }
                _ => {
                    let value = lexer.value(&key)?;
                    self.values.push((key, value));
                }
            }
        }
        let Some(odd) = lexer.rest.chars().next() else { return Ok(()) };
        Err(Refusal::new("label", format!("has {odd:?} where a keyword must be")))
    }

    /// The value of a key in this block itself.
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    /// The first block of this name, at any depth.
    pub(super) fn find(&self, name: &str) -> Option<&Self> {
        let here = self.blocks.iter().find(|block| block.name.eq_ignore_ascii_case(name));
        here.or_else(|| self.blocks.iter().find_map(|block| block.find(name)))
    }

    /// The first value of a key, in this block or in any inside of it.
    pub(super) fn find_value(&self, key: &str) -> Option<&Value> {
        self.value(key).or_else(|| self.blocks.iter().find_map(|block| block.find_value(key)))
    }

    /// The number of a key; `None` if the key is missing or its value says that it does not apply.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, Refusal> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = value.text();
        if matches!(text.to_ascii_uppercase().as_str(), "" | "N/A" | "NULL" | "UNK") {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Some).ok_or_else(|| Refusal::new(key, format!("is {text:?}; must be a number")))
    }

    /// A required number.
    pub(super) fn needed(&self, key: &str) -> Result<f64, Refusal> {
        self.number(key)?.ok_or_else(|| Refusal::new(key, "is missing; must be a number"))
    }

    /// A required count, at least 1.
    pub(super) fn count(&self, key: &str) -> Result<usize, Refusal> {
        let number = self.needed(key)?;
        let is_count = (1.0..=1e9).contains(&number) && number.fract() == 0.0;
        if is_count {
            Ok(number as usize)
        } else {
            Err(Refusal::new(key, format!("is {number}; must be a whole number from 1")))
        }
    }

    /// The text of a key in upper case; empty if the key is missing.
    pub(super) fn upper(&self, key: &str) -> String {
        self.value(key).map_or(String::new(), |value| value.text().to_ascii_uppercase())
    }

    /// A length, m, whose unit may be kilometres; a number without a unit is in `default_unit`.
    pub(super) fn length_m(&self, key: &str, default_unit: &str) -> Result<Option<f64>, Refusal> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        let unit = self.value(key).map_or(String::new(), Value::unit);
        let unit = if unit.is_empty() { default_unit.to_owned() } else { unit };
        let unit = unit.split('/').next().unwrap_or_default().trim();
        match unit {
            "m" | "meter" | "meters" | "metre" | "metres" => Ok(Some(number)),
            "km" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => Ok(Some(1000.0 * number)),
            _ => Err(Refusal::new(key, format!("is in {unit:?}; must be in m or km"))),
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\0' || c == ';');
            if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, after)| after);
            } else if self.rest.starts_with('#') {
                self.rest = self.rest.split_once('\n').map_or("", |(_, after)| after);
            } else {
                return;
            }
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip();
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// A word without quotes.
    fn word(&mut self) -> Option<String> {
        self.skip();
        let end =
            self.rest.find(|c: char| c.is_whitespace() || "=,(){}<>\"'\0;".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    fn value(&mut self, key: &str) -> Result<Value, Refusal> {
        let mut value = Value::default();
        if !(self.take('(') || self.take('{')) {
            self.part(key, &mut value)?;
            return Ok(value);
        }
        // Nested lists are flattened into one.
        let mut open = 1;
        while open > 0 {
            if self.take('(') || self.take('{') {
                open += 1;
            } else if self.take(')') || self.take('}') {
                open -= 1;
            } else if !self.take(',') {
                self.part(key, &mut value)?;
            }
        }
        if self.take('<') {
            let unit = self.until('>', key)?;
            value.units.iter_mut().for_each(|of| unit.clone_into(of));
        }
        Ok(value)
    }

    fn part(&mut self, key: &str, value: &mut Value) -> Result<(), Refusal> {
        self.skip();
        let text = match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.rest = &self.rest[1..];
                self.until(quote, key)?.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            _ => self.word().ok_or_else(|| Refusal::new(key, "has no value, or its list or text does not end"))?,
        };
        let unit = if self.take('<') { self.until('>', key)?.trim().to_owned() } else { String::new() };
        value.parts.push(text);
        value.units.push(unit);
        Ok(())
    }

    fn until(&mut self, end: char, key: &str) -> Result<&'a str, Refusal> {
        let (text, after) =
            self.rest.split_once(end).ok_or_else(|| Refusal::new(key, format!("has no closing {end}")))?;
        self.rest = after;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Block;

    const LABEL: &str = "PDS_VERSION_ID = \"PDS3\" /* a comment */\r\nMISSION = {\"ONE\",\"TWO\n  MORE\"}\r\n^IMAGE = (\"A.IMG\", 5 <BYTES>)
        OBJECT = IMAGE\n LINES = 720\n SCALE = 'N/A'\n RADIUS = 1737.4 <km>\n END_OBJECT = IMAGE\n# ISIS comment = no\nGroup = Mapping\n Name = Polar\nEnd_Group\nEND\nrubbish";

    #[test]
    fn a_label_is_read_with_its_blocks_lists_units_and_comments() {
        let label = Block::parse(LABEL).unwrap();
        let image = label.find("image").unwrap();
        assert_eq!((image.count("LINES"), image.number("SCALE")), (Ok(720), Ok(None)));
        assert_eq!(image.length_m("RADIUS", "m"), Ok(Some(1_737_400.0)));
        assert_eq!(label.value("MISSION").unwrap().parts, ["ONE", "TWO MORE"]);
        let pointer = label.value("^IMAGE").unwrap();
        assert_eq!((pointer.text(), pointer.parts[1].as_str(), pointer.units[1].as_str()), ("A.IMG", "5", "BYTES"));
        assert_eq!(label.find("MAPPING").unwrap().upper("name"), "POLAR");
    }

    #[test]
    fn a_broken_label_is_refused_with_its_keyword() {
        for (label, key) in
            [("LINES 720", "LINES"), ("NAME = \"open", "NAME"), ("LIST = (1, 2", "LIST"), ("KEY =", "KEY")]
        {
            assert_eq!(Block::parse(label).unwrap_err().field, key, "{label}");
        }
        assert!(Block::parse(&"OBJECT = A ".repeat(100)).is_err());
        let image = Block::parse("LINES = many\nWIDTH = 1.5\nRADIUS = 3 <ft>").unwrap();
        assert!(
            image.count("LINES").is_err() && image.count("WIDTH").is_err() && image.length_m("RADIUS", "m").is_err()
        );
    }
}
