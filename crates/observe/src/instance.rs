//! Instance numbers in images, the same in every process and from the first heartbeat to the last: 0 is sky and
//! ground; a rock has its number on the site plus 1, loose or not; a part of a rover or of an object has
//! 0xF000 0000 + 1024 · the entity's number + the part's number. So there are numbers for 2^18 entities.

use std::ops::RangeInclusive;

use selene_sim::{Entity, EntityId};

/// The first number of parts, beyond those of all rocks.
const FIRST_PART: u32 = 0xF000_0000;
/// The largest number of parts of one entity.
pub(crate) const PARTS_MAX: usize = 1024;

// The last part of the last entity has the last number, and the last rock one below the first part.
const _: () = assert!(FIRST_PART as u64 + (EntityId::LAST.0 as u64 + 1) * PARTS_MAX as u64 == 1 << 32);
const _: () = assert!(Entity::LAST_ROCK + 1 < FIRST_PART);

/// The instance number of a rock.
#[must_use]
pub fn instance_of_rock(id: u32) -> u32 {
    id.saturating_add(1)
}

/// The instance number of a part of a rover or an object: its parts are its visible shapes, in the order of its links.
#[must_use]
pub fn instance_of_part(entity: EntityId, part: usize) -> u32 {
    let within = (part % PARTS_MAX) as u32;
    FIRST_PART | ((entity.0 & EntityId::LAST.0) * PARTS_MAX as u32) | within
}

/// The instance numbers of all parts of an entity.
pub(crate) fn parts_of(entity: EntityId) -> RangeInclusive<u32> {
    instance_of_part(entity, 0)..=instance_of_part(entity, PARTS_MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::{instance_of_part, instance_of_rock};
    use selene_sim::{Entity, EntityId};

    #[test]
    fn numbers_of_rocks_and_parts_never_meet() {
        assert_eq!(instance_of_part(EntityId(1), 2), 0xF000_0402);
        assert_eq!(instance_of_part(EntityId::LAST, 1023), u32::MAX);
        assert!(instance_of_rock(Entity::LAST_ROCK) < instance_of_part(EntityId(0), 0));
    }
}
