//! Assembles a terrain snapshot from its parts. They arrive in any order, possibly twice; a part of a newer snapshot
//! makes the parts of an older one void.

use selene_terrain::Edit;

/// One part of a terrain snapshot.
#[derive(Debug)]
pub(crate) struct Part {
    /// Number of edits made before the snapshot was taken.
    pub(crate) sequence: u64,
    /// Index of the part, from 0.
    pub(crate) part: u32,
    /// Number of parts of the snapshot.
    pub(crate) parts: u32,
    pub(crate) edits: Vec<Edit>,
}

/// An incomplete terrain snapshot.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    sequence: u64,
    parts: Vec<Option<Vec<Edit>>>,
}

/// More parts than any ground needs; a message with more is invalid.
const PARTS_MAX: u32 = 1 << 20;

impl Assembly {
    /// Takes a part; returns the edits of all parts if it was the last one missing.
    pub(crate) fn take(&mut self, part: Part) -> Option<Vec<Edit>> {
        if part.part >= part.parts || part.parts > PARTS_MAX || part.sequence < self.sequence {
            return None;
        }
        if part.sequence > self.sequence || self.parts.len() != part.parts as usize {
            *self = Self { sequence: part.sequence, parts: vec![None; part.parts as usize] };
        }
        self.parts[part.part as usize] = Some(part.edits);
        self.parts
            .iter()
            .all(Option::is_some)
            .then(|| std::mem::take(self).parts.into_iter().flatten().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Assembly, Part};
    use selene_terrain::{Edit, Print};

    fn part(sequence: u64, part: u32, parts: u32) -> Part {
        let edit = Edit { tile: [0, 0], node: part as u16, print: Print::NONE, height_m: sequence as f32 };
        Part { sequence, part, parts, edits: vec![edit] }
    }

    #[test]
    fn a_snapshot_is_whole_when_all_its_parts_have_come_in_any_order() {
        let mut assembly = Assembly::default();
        assert!(assembly.take(part(9, 2, 3)).is_none() && assembly.take(part(9, 0, 3)).is_none());
        assert!(assembly.take(part(9, 2, 3)).is_none());
        let edits = assembly.take(part(9, 1, 3)).expect("whole");
        assert_eq!(edits.iter().map(|edit| edit.node).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_newer_snapshot_makes_older_parts_void() {
        let mut assembly = Assembly::default();
        assert!(assembly.take(part(9, 0, 2)).is_none() && assembly.take(part(12, 1, 2)).is_none());
        assert!(assembly.take(part(9, 1, 2)).is_none());
        assert_eq!(assembly.take(part(12, 0, 2)).map(|edits| edits[1].height_m), Some(12.0));
        assert!(assembly.take(part(20, 5, 3)).is_none() && assembly.take(part(20, 0, u32::MAX)).is_none());
    }
}
