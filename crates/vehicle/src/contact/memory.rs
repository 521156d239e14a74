//! The state of contacts between steps: the elastic friction of each pair of touching bodies.

use serde::{Deserialize, Serialize};

use super::law::Grip;

/// One side of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Collider {
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

impl Collider {
    /// Whether it is a piece of this rover.
    #[must_use]
    pub fn is_of_rover(&self, id: u32) -> bool {
        matches!(self, Self::Wheel(rover, _) | Self::Part(rover, _) if *rover == id)
    }
}

/// A pair that touches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) parties: [Collider; 2],
    pub(crate) grip: Grip,
}

/// All touching pairs with their friction state, in order of their parties.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContactMemory {
    pub(crate) pairs: Vec<Pair>,
}

impl Pair {
    /// A pair with its parties in order; `grip` is that on the first given party.
    pub(crate) fn new(parties: [Collider; 2], grip: Grip) -> Self {
        let [first, second] = parties;
        if first <= second { Self { parties, grip } } else { Self { parties: [second, first], grip: grip.on_other() } }
    }
}

impl ContactMemory {
    /// Number of touching pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether nothing touches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Removes and returns the pairs with a `wanted` party.
    #[must_use]
    pub fn split_off(&mut self, wanted: impl Fn(&Collider) -> bool) -> Self {
        let is_wanted = |pair: &Pair| pair.parties.iter().any(&wanted);
        let (taken, kept) = std::mem::take(&mut self.pairs).into_iter().partition(is_wanted);
        self.pairs = kept;
        Self { pairs: taken }
    }

    /// A copy of the pairs with a `wanted` party.
    #[must_use]
    pub fn of(&self, wanted: impl Fn(&Collider) -> bool) -> Self {
        Self { pairs: self.pairs.iter().filter(|pair| pair.parties.iter().any(&wanted)).copied().collect() }
    }

    /// Replaces all pairs with a party of `theirs` by those of `reported`; pairs with a party of `ours` stay
    /// unchanged.
    pub fn take_from(&mut self, reported: &Self, theirs: impl Fn(&Collider) -> bool, ours: impl Fn(&Collider) -> bool) {
        let is_ours = |pair: &Pair| pair.parties.iter().any(&ours);
        let is_theirs = |pair: &Pair| pair.parties.iter().any(&theirs) && !is_ours(pair);
        self.pairs.retain(|pair| !is_theirs(pair));
        self.pairs.extend(reported.pairs.iter().filter(|pair| is_theirs(pair)));
        self.pairs.sort_unstable_by_key(|pair| pair.parties);
    }

    /// Moves the pairs of another memory into this one.
    pub fn join(&mut self, other: &mut Self) {
        if !other.pairs.is_empty() {
            self.pairs.append(&mut other.pairs);
            self.pairs.sort_unstable_by_key(|pair| pair.parties);
        }
    }

    /// Removes the pairs with a `gone` party.
    pub fn forget(&mut self, gone: impl Fn(&Collider) -> bool) {
        self.pairs.retain(|pair| !pair.parties.iter().any(&gone));
    }

    /// The grip that a pair had in the step before, on its first party.
    pub(crate) fn grip(&self, parties: [Collider; 2]) -> Grip {
        let Pair { parties: sorted, .. } = Pair::new(parties, Grip::default());
        match self.pairs.binary_search_by_key(&sorted, |pair| pair.parties) {
            Ok(at) if sorted == parties => self.pairs[at].grip,
            Ok(at) => self.pairs[at].grip.on_other(),
            Err(_) => Grip::default(),
        }
    }
}
