//! The line of a place in a YAML file, for values that are valid each by itself but do not fit together.
//!
//! A place is written as in messages: `rovers[1].route`, `task.leader`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::Spanned;

/// Line, from 1, of `place` in `text`; of the innermost part of it that is there, if the file leaves the rest out.
/// `None` if no part is there.
pub(super) fn line_of(text: &str, place: &str) -> Option<u64> {
    let mut node: Node = serde_yaml::from_str(text).ok()?;
    let mut line = None;
    for part in parts(place) {
        let Some(child) = node.0.into_iter().find(|child| child.part == part) else { break };
        line = Some(child.line);
        node = child.node;
    }
    line
}

/// The keys and numbers of a place from the outermost on.
fn parts(place: &str) -> impl Iterator<Item = Part> {
    let is_separator = |c| matches!(c, '.' | '[' | ']');
    place.split(is_separator).filter(|part| !part.is_empty()).map(|part| match part.parse() {
        Ok(number) => Part::Number(number),
        Err(_) => Part::Key(part.to_owned()),
    })
}

#[derive(PartialEq)]
enum Part {
    Key(String),
    Number(usize),
}

/// The parts of a mapping or a list; none of a scalar.
struct Node(Vec<Child>);

struct Child {
    part: Part,
    line: u64,
    node: Node,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(yaml: D) -> Result<Self, D::Error> {
        yaml.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl NodeVisitor {
    const SCALAR: Node = Node(Vec::new());
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut children = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            children.push(Child { part: Part::Key(key.value), line: key.referenced.line(), node: map.next_value()? });
        }
        Ok(Node(children))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut children = Vec::new();
        while let Some(Spanned { value: node, referenced, .. }) = list.next_element::<Spanned<Node>>()? {
            children.push(Child { part: Part::Number(children.len()), line: referenced.line(), node });
        }
        Ok(Node(children))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Self::SCALAR)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Self::SCALAR)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Self::SCALAR)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Self::SCALAR)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Self::SCALAR)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Self::SCALAR)
    }
}

#[cfg(test)]
mod tests {
    use super::line_of;

    const SCENARIO: &str = "\
# A comment.
site: flat
gravity_m_s2: 1.62
rovers:
  - {file: viper, name: one}
  - file: sorato
    name: two
    route:
      waypoints_m: [[0, 1],
                    [2, 3]]
    sensors:
      - imu
      - gps
empty:
task: {follow: {
  leader: one, back: true}}
";

    #[test]
    fn keys_and_numbers_lead_to_their_lines() {
        let lines = [
            ("site", 2),
            ("gravity_m_s2", 3),
            ("rovers", 4),
            ("rovers[0]", 5),
            ("rovers[0].name", 5),
            ("rovers[1]", 6),
            ("rovers[1].name", 7),
            ("rovers[1].route.waypoints_m", 9),
            ("rovers[1].route.waypoints_m[1]", 10),
            ("rovers[1].sensors[1]", 13),
            ("empty", 14),
            ("task.follow", 15),
            ("task.follow.leader", 16),
        ];
        for (place, line) in lines {
            assert_eq!(line_of(SCENARIO, place), Some(line), "{place}");
        }
    }

    #[test]
    fn what_the_file_leaves_out_is_reported_where_it_would_stand() {
        assert_eq!(line_of(SCENARIO, "rovers[1].lamps[3].name"), Some(6));
        assert_eq!(line_of(SCENARIO, "rovers[7]"), Some(4));
        assert_eq!(line_of(SCENARIO, "site.name"), Some(2));
        assert_eq!(line_of(SCENARIO, "heartbeat_s"), None);
        assert_eq!(line_of("a: [", "a"), None);
    }
}
