//! What contacts remember between steps: for each pair of bodies that touch the stretch of their
//! friction.

use serde::{Deserialize, Serialize};

use super::law::Grip;

/// One side of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Party {
    /// A wheel: the rover's number and the wheel's place.
    Wheel(u32, u16),
    /// A convex piece of a rover's body: the rover's number and the piece's place.
    Part(u32, u16),
    /// A loose rock, by its number.
    Rock(u32),
    /// A rock that is part of the ground, by its number.
    FixedRock(u32),
    /// A convex piece of an obstacle: the obstacle's number and the piece's place.
    Obstacle(u32, u16),
}

impl Party {
    /// Whether it is a piece of this rover.
    #[must_use]
    pub fn is_of_rover(&self, id: u32) -> bool {
        matches!(self, Self::Wheel(rover, _) | Self::Part(rover, _) if *rover == id)
    }
}

/// A pair that touches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) parties: [Party; 2],
    pub(crate) grip: Grip,
}

/// All pairs that touch, in order of their parties.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContactMemory {
    pub(crate) pairs: Vec<Pair>,
}

impl Pair {
    /// The grip on the first of two parties, who are remembered in order.
    pub(crate) fn new(parties: [Party; 2], grip: Grip) -> Self {
        let [first, second] = parties;
        if first <= second { Self { parties, grip } } else { Self { parties: [second, first], grip: grip.on_other() } }
    }
}

impl ContactMemory {
    /// How many pairs touch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether nothing touches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Takes out the pairs of which one party is `wanted`.
    #[must_use]
    pub fn split_off(&mut self, wanted: impl Fn(&Party) -> bool) -> Self {
        let is_wanted = |pair: &Pair| pair.parties.iter().any(&wanted);
        let (taken, kept) = std::mem::take(&mut self.pairs).into_iter().partition(is_wanted);
        self.pairs = kept;
        Self { pairs: taken }
    }

    /// A copy of the pairs of which one party is `wanted`.
    #[must_use]
    pub fn of(&self, wanted: impl Fn(&Party) -> bool) -> Self {
        Self { pairs: self.pairs.iter().filter(|pair| pair.parties.iter().any(&wanted)).copied().collect() }
    }

    /// Puts the pairs of `told` in the place of all that have a party of `theirs`; those that have one of `ours`
    /// stay as they are.
    pub fn take_from(&mut self, told: &Self, theirs: impl Fn(&Party) -> bool, ours: impl Fn(&Party) -> bool) {
        let is_ours = |pair: &Pair| pair.parties.iter().any(&ours);
        let is_theirs = |pair: &Pair| pair.parties.iter().any(&theirs) && !is_ours(pair);
        self.pairs.retain(|pair| !is_theirs(pair));
        self.pairs.extend(told.pairs.iter().filter(|pair| is_theirs(pair)));
        self.pairs.sort_unstable_by_key(|pair| pair.parties);
    }

    /// Takes in the pairs of another.
    pub fn join(&mut self, other: &mut Self) {
        if !other.pairs.is_empty() {
            self.pairs.append(&mut other.pairs);
            self.pairs.sort_unstable_by_key(|pair| pair.parties);
        }
    }

    /// Forgets the pairs of which `gone` is true of a party.
    pub fn forget(&mut self, gone: impl Fn(&Party) -> bool) {
        self.pairs.retain(|pair| !pair.parties.iter().any(&gone));
    }

    /// The grip that a pair had in the step before, on its first party.
    pub(crate) fn grip(&self, parties: [Party; 2]) -> Grip {
        let Pair { parties: sorted, .. } = Pair::new(parties, Grip::default());
        match self.pairs.binary_search_by_key(&sorted, |pair| pair.parties) {
            Ok(at) if sorted == parties => self.pairs[at].grip,
            Ok(at) => self.pairs[at].grip.on_other(),
            Err(_) => Grip::default(),
        }
    }
}
