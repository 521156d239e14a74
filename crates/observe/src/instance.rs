//! The numbers by which images tell things apart, the same in every process and from the first heartbeat
//! to the last: 0 is sky and ground; a rock has one more than its number on the site, loose or not; a part of
//! a rover or of an object has 0xF000 0000 + 4096 · the entity's number + the part's number.

use selene_sim::EntityId;

/// Numbers of parts begin here: beyond those of all rocks.
const FIRST_PART: u32 = 0xF000_0000;
/// Parts of one entity at most.
pub(crate) const PARTS_MAX: usize = 4096;

/// The number of a rock.
#[must_use]
pub fn instance_of_rock(id: u32) -> u32 {
    id.saturating_add(1)
}

/// The number of a part of a rover or an object: parts are its visible shapes, in the order of its links.
#[must_use]
pub fn instance_of_part(entity: EntityId, part: usize) -> u32 {
    let within = (part % PARTS_MAX) as u32;
    FIRST_PART | ((entity.0 & 0xFFFF) * PARTS_MAX as u32) | within
}

#[cfg(test)]
mod tests {
    use super::{instance_of_part, instance_of_rock};
    use selene_sim::EntityId;

    #[test]
    fn numbers_of_rocks_and_parts_never_meet() {
        assert_eq!(instance_of_part(EntityId(1), 2), 0xF000_1002);
        assert_eq!(instance_of_part(EntityId(0xFFFF), 4095), u32::MAX);
        assert!(instance_of_rock(0xE000_0000 + 100_000) < instance_of_part(EntityId(0), 0));
    }
}
