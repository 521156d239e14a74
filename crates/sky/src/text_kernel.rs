//! Parser of SPICE text kernels (NAIF, "Kernel Required Reading"): between `\begindata` and
//! `\begintext` is a list of `NAME = value` or `NAME = ( values )`; values are numbers
//! (D or E exponents), 'texts' and @dates. `NAME += …` appends. Selene takes two kinds of
//! data from them: leap seconds and fixed rotations of frames.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use nalgebra::{Matrix3, Rotation3, Vector3};
use selene_base::InputError;

use crate::utc::{LeapSecond, unix_s_of_day};

/// Maximum number of steps from a frame to the one that it is fixed to; a longer chain is a loop.
const CHAIN_MAX: usize = 8;
/// Largest element of M Mᵀ − 1 that a rotation matrix may have.
const ORTHOGONAL_TOLERANCE: f64 = 1e-6;

/// A value in an assignment.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
    Date(String),
}

/// The assignments of all text kernels; later ones replace earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextPool {
    values: BTreeMap<String, Vec<Value>>,
}

impl TextPool {
    /// Adds the assignments of a kernel.
    pub(crate) fn add(&mut self, text: &str, path: &Path) -> Result<(), InputError> {
        for (number, block) in data_blocks(text) {
            let refuse = |what: String| InputError::content(path, format!("data block of line {number}: {what}"));
            self.add_block(&tokens(&block).map_err(refuse)?).map_err(refuse)?;
        }
        if self.values.contains_key("KERNELS_TO_LOAD") {
            return Err(InputError::content(path, "is a list of kernels; name the kernels themselves"));
        }
        Ok(())
    }

    fn add_block(&mut self, tokens: &[Token]) -> Result<(), String> {
        let mut rest = tokens.iter();
        while let Some(token) = rest.next() {
            let Token::Word(name) = token else { return Err(format!("{token} where a name should be")) };
            let appends = match rest.next() {
                Some(Token::Mark('=')) => false,
                Some(Token::Mark('+')) if rest.next() == Some(&Token::Mark('=')) => true,
                _ => return Err(format!("'{name}' is not followed by =")),
            };
            let mut values = match rest.next() {
                Some(Token::Mark('(')) => list(&mut rest, name)?,
                Some(token) => vec![value(token, name)?],
                None => return Err(format!("'{name}' has no value")),
            };
            let entry = self.values.entry(name.clone()).or_default();
            if !appends {
                entry.clear();
            }
            entry.append(&mut values);
        }
        Ok(())
    }

    /// The leap seconds of a kernel (`DELTET/DELTA_AT`), or `None` if no kernel has them.
    pub(crate) fn leap_seconds(&self) -> Result<Option<Vec<LeapSecond>>, String> {
        let Some(values) = self.values.get("DELTET/DELTA_AT") else { return Ok(None) };
        let step = |pair: &[Value]| match pair {
            [Value::Number(seconds), Value::Date(date)] => Some((unix_s(date)?, *seconds as i64)),
            _ => None,
        };
        let steps: Option<Vec<_>> = values.chunks(2).map(step).collect();
        let steps = steps
            .filter(|steps| steps.is_sorted())
            .ok_or("DELTET/DELTA_AT: must be pairs of seconds and @YYYY-MON-D, in order of time")?;
        Ok(Some(steps))
    }

    /// The frames called MOON_ME…: name, NAIF class id of the attitude that each is
    /// fixed to, and the rotation from that attitude's axes to the frame's.
    pub(crate) fn mean_earth_frames(&self) -> Result<Vec<(String, i32, Rotation3<f64>)>, String> {
        let names = self.values.keys().filter_map(|key| key.strip_prefix("FRAME_"));
        let names = names.filter(|name| name.starts_with("MOON_ME"));
        names.map(|name| self.down_to_attitude(name)).collect()
    }

    /// Follows fixed frames from `name` to the one whose attitude is in a binary PCK (class 2).
    fn down_to_attitude(&self, name: &str) -> Result<(String, i32, Rotation3<f64>), String> {
        let (mut at, mut frame_from_at) = (name.to_owned(), Rotation3::identity());
        for _ in 0..CHAIN_MAX {
            let id = self.number(&format!("FRAME_{at}"))? as i32;
            if self.number(&format!("FRAME_{id}_CLASS"))? as i32 == 2 {
                let class_id = self.number(&format!("FRAME_{id}_CLASS_ID"))? as i32;
                return Ok((name.to_owned(), class_id, frame_from_at));
            }
            frame_from_at *= self.relative_from_frame(id)?.inverse();
            at = self.text(&format!("TKFRAME_{id}_RELATIVE"))?.to_owned();
        }
        Err(format!("FRAME_{name}: is fixed to frames in a ring"))
    }

    /// Fixed rotation from frame `id` to the one that it is fixed to: coordinates are rotated by `[a]₁ [b]₂ [c]₃`, or
    /// by a matrix that is stored by columns.
    fn relative_from_frame(&self, id: i32) -> Result<Rotation3<f64>, String> {
        let spec = format!("TKFRAME_{id}_SPEC");
        match self.text(&spec)? {
            "ANGLES" => self.rotation_of_angles(id),
            "MATRIX" => {
                let key = format!("TKFRAME_{id}_MATRIX");
                let matrix = Matrix3::from_column_slice(&self.numbers::<9>(&key)?);
                let wrong = (matrix * matrix.transpose() - Matrix3::identity()).abs().max();
                let rotates = wrong < ORTHOGONAL_TOLERANCE && matrix.determinant() > 0.0;
                rotates.then(|| Rotation3::from_matrix_unchecked(matrix)).ok_or(format!("{key}: is no rotation"))
            }
            other => Err(format!("{spec}: '{other}' is not known; must be ANGLES or MATRIX")),
        }
    }

    fn rotation_of_angles(&self, id: i32) -> Result<Rotation3<f64>, String> {
        let units = format!("TKFRAME_{id}_UNITS");
        let unit_rad = match self.text(&units)? {
            "ARCSECONDS" => (1.0_f64 / 3600.0).to_radians(),
            "DEGREES" => 1.0_f64.to_radians(),
            "RADIANS" => 1.0,
            other => return Err(format!("{units}: '{other}' is not known; must be ARCSECONDS, DEGREES or RADIANS")),
        };
        let axes_key = format!("TKFRAME_{id}_AXES");
        let (angles, axes) = (self.numbers::<3>(&format!("TKFRAME_{id}_ANGLES"))?, self.numbers::<3>(&axes_key)?);
        angles.iter().zip(axes).try_fold(Rotation3::identity(), |turned, (angle, axis)| {
            let axis = match axis as i32 {
                1 => Vector3::x_axis(),
                2 => Vector3::y_axis(),
                3 => Vector3::z_axis(),
                _ => return Err(format!("{axes_key}: {axis} is no axis; must be 1, 2 or 3")),
            };
            // SPICE rotates the axes, nalgebra rotates the vector.
            Ok(turned * Rotation3::from_axis_angle(&axis, -angle * unit_rad))
        })
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        self.numbers::<1>(key).map(|[number]| number)
    }

    fn numbers<const N: usize>(&self, key: &str) -> Result<[f64; N], String> {
        let number = |value: &Value| match value {
            Value::Number(number) => Some(*number),
            Value::Text(_) | Value::Date(_) => None,
        };
        let values = self.values.get(key).ok_or(format!("{key} is missing"))?;
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        numbers.and_then(|numbers| numbers.try_into().ok()).ok_or(format!("{key}: must be {N} number(s)"))
    }

    fn text(&self, key: &str) -> Result<&str, String> {
        match self.values.get(key).map(Vec::as_slice) {
            Some([Value::Text(text)]) => Ok(text.trim()),
            Some(_) => Err(format!("{key}: must be one text")),
            None => Err(format!("{key} is missing")),
        }
    }
}

/// The data blocks, each with the number of its `\begindata` line.
fn data_blocks(text: &str) -> Vec<(usize, String)> {
    let (mut blocks, mut inside): (Vec<(usize, String)>, bool) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        match (line.trim(), blocks.last_mut()) {
            ("\\begindata", _) => {
                inside = true;
                blocks.push((index + 1, String::new()));
            }
            ("\\begintext", _) => inside = false,
            (line, Some((_, block))) if inside => {
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Mark(char),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(text) | Self::Quoted(text) => write!(f, "'{text}'"),
            Self::Mark(mark) => write!(f, "'{mark}'"),
        }
    }
}

fn tokens(block: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut chars) = (Vec::new(), block.chars().peekable());
    while let Some(&c) = chars.peek() {
        match c {
            '\'' => tokens.push(Token::Quoted(quoted(&mut chars)?)),
            '(' | ')' | '=' => tokens.push(Token::Mark(c)),
            _ if c.is_whitespace() || c == ',' => {}
            _ => {
                tokens.append(&mut word(&mut chars));
                continue;
            }
        }
        chars.next();
    }
    Ok(tokens)
}

/// Reads a quoted text up to its closing quote, which stays unread; a doubled quote is one quote.
fn quoted(chars: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    chars.next();
    let mut text = String::new();
    while let Some(&c) = chars.peek() {
        if c == '\'' {
            let mut ahead = chars.clone();
            ahead.next();
            if ahead.peek() != Some(&'\'') {
                return Ok(text);
            }
            chars.next();
        }
        text.push(c);
        chars.next();
    }
    Err("a text has no closing quote".to_owned())
}

/// Reads a name, a number or a date; a `+` directly before `=` is a token of its own.
fn word(chars: &mut Peekable<Chars<'_>>) -> Vec<Token> {
    let mut text = String::new();
    while let Some(&c) = chars.peek().filter(|c| !c.is_whitespace() && !"(),='".contains(**c)) {
        text.push(c);
        chars.next();
    }
    match text.strip_suffix('+').filter(|_| chars.peek() == Some(&'=')) {
        Some("") => vec![Token::Mark('+')],
        Some(name) => vec![Token::Word(name.to_owned()), Token::Mark('+')],
        None => vec![Token::Word(text)],
    }
}

fn list<'a>(rest: &mut impl Iterator<Item = &'a Token>, name: &str) -> Result<Vec<Value>, String> {
    let mut values = Vec::new();
    for token in rest {
        if *token == Token::Mark(')') {
            return Ok(values);
        }
        values.push(value(token, name)?);
    }
    Err(format!("the list of '{name}' does not end"))
}

fn value(token: &Token, name: &str) -> Result<Value, String> {
    match token {
        Token::Quoted(text) => Ok(Value::Text(text.clone())),
        Token::Word(word) if word.starts_with('@') => Ok(Value::Date(word[1..].to_owned())),
        Token::Word(word) => {
            let number = word.replace(['D', 'd'], "e").parse().ok().filter(|number: &f64| number.is_finite());
            number.map(Value::Number).ok_or_else(|| format!("'{name}': '{word}' is no number"))
        }
        Token::Mark(mark) => Err(format!("'{name}': '{mark}' where a value should be")),
    }
}

/// Seconds since 1970 of a day such as 2017-JAN-1.
fn unix_s(date: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let [year, month, day] = date.split('-').collect::<Vec<_>>().try_into().ok()?;
    let month = MONTHS.iter().position(|name| month.eq_ignore_ascii_case(name))?;
    unix_s_of_day(year.parse().ok()?, month as i64 + 1, day.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nalgebra::Vector3;

    use super::TextPool;

    /// The frames of moon_080317.tf.
    const FRAMES: &str = "KPL/FK\n\\begindata\nFRAME_MOON_ME_DE421 = 31007\nFRAME_31007_CLASS = 4\n\
        TKFRAME_31007_SPEC = 'ANGLES'\nTKFRAME_31007_RELATIVE = 'MOON_PA_DE421'\n\
        TKFRAME_31007_ANGLES = ( 67.92 78.56 0.30 )\nTKFRAME_31007_AXES = (3, 2, 1)\n\
        TKFRAME_31007_UNITS = 'ARCSECONDS'\n\\begintext\nFRAME_X = 1\n\\begindata\n\
        FRAME_MOON_PA_DE421 = 31006\nFRAME_31006_CLASS = 2\nFRAME_31006_CLASS_ID = 31006\n";

    fn pool(text: &str) -> TextPool {
        let mut pool = TextPool::default();
        pool.add(text, Path::new("k.tf")).expect("good");
        pool
    }

    #[test]
    fn the_mean_earth_frame_is_found_with_its_small_rotation() {
        let frames = pool(FRAMES).mean_earth_frames().expect("good");
        let [(name, class_id, me_from_pa)] = &frames[..] else { panic!("{frames:?}") };
        assert_eq!((name.as_str(), *class_id), ("MOON_ME_DE421", 31006));
        // To first order, vector_me = vector_pa + angles × vector, about axes 1, 2, 3.
        let turned = me_from_pa * Vector3::x() - Vector3::x();
        let arcsec = |rad: f64| rad.to_degrees() * 3600.0;
        assert!((arcsec(turned.y) - 67.92).abs() < 0.1 && (arcsec(turned.z) + 78.56).abs() < 0.1, "{turned}");
    }

    #[test]
    fn leap_seconds_are_read() {
        let text = "\\begindata\nDELTET/DELTA_AT = ( 10, @1972-JAN-1\n 11, @1972-JUL-1 )\nDELTET/K = 1.657D-3\n";
        assert_eq!(pool(text).leap_seconds(), Ok(Some(vec![(63_072_000, 10), (78_796_800, 11)])));
        assert_eq!(pool("no data").leap_seconds(), Ok(None));
    }

    #[test]
    fn what_is_appended_follows_and_a_doubled_quote_is_one() {
        let mut values = pool("\\begindata\nA = 'it''s'\nB = 1\nB += ( 2 3 )\nC+=1\n").values;
        assert_eq!(values.remove("A"), Some(vec![super::Value::Text("it's".to_owned())]));
        assert_eq!(values.remove("B").map(|b| b.len()), Some(3));
        assert_eq!(values.remove("C").map(|c| c.len()), Some(1));
    }

    #[test]
    fn malformed_text_is_refused_with_file_and_block() {
        for (bad, part) in [
            ("\\begindata\nA = ( 1 2\n", "does not end"),
            ("\\begindata\nA = 'x\n", "closing quote"),
            ("\\begindata\nA 3\n", "not followed by ="),
            ("\\begindata\nA = O.30\n", "no number"),
            ("\\begindata\nA =\n", "no value"),
            ("\\begindata\n= 3\n", "where a name should be"),
            ("\\begindata\nKERNELS_TO_LOAD = ( 'a' )\n", "name the kernels themselves"),
        ] {
            let reported = TextPool::default().add(bad, Path::new("k.tf")).expect_err(bad).to_string();
            assert!(reported.contains("k.tf") && reported.contains(part), "{reported}");
        }
        for (good, bad, part) in [
            ("'ANGLES'", "'QUATERNION'", "TKFRAME_31007_SPEC"),
            ("'ARCSECONDS'", "'MILES'", "TKFRAME_31007_UNITS"),
            ("(3, 2, 1)", "(3, 2, 7)", "TKFRAME_31007_AXES"),
            ("'MOON_PA_DE421'", "'MOON_ME_DE421'", "in a ring"),
        ] {
            let reported = pool(&FRAMES.replace(good, bad)).mean_earth_frames().expect_err(bad);
            assert!(reported.contains(part), "{reported}");
        }
        assert!(pool("\\begindata\nDELTET/DELTA_AT = ( 10, 11 )\n").leap_seconds().is_err());
    }
}
