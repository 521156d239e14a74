//! Memory of a step that can be rebuilt at any time: the moving spheres, the candidate pairs, and the pairs of each
//! sphere.

use crate::candidate::{Candidate, ContactCandidates};
use crate::neighbours::candidates;
use crate::state::{Partner, Sphere, SphereContact};

/// Memory that steps use; empty at first.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The spheres while they move.
    pub(crate) spheres: Vec<Sphere>,
    /// Candidate pairs, sorted by sphere, then partner.
    pub(crate) candidates: Vec<Candidate>,
    /// Indices of the candidates with a wall or body.
    pub(crate) with_rigid: Vec<u32>,
    /// Indices of the candidates of each sphere, ascending, and the start of each sphere's part in that list.
    of_sphere: Vec<u32>,
    starts: Vec<u32>,
}

impl Scratch {
    /// Lists the candidate pairs, with the memory of their contacts.
    pub(crate) fn list(&mut self, scene: &ContactCandidates, contacts: &[SphereContact], skin_m: f64) {
        self.candidates = candidates(scene, skin_m);
        recall(&mut self.candidates, contacts, scene.spheres);
        let places = (0..).zip(&self.candidates);
        self.with_rigid.clear();
        self.with_rigid.extend(places.filter(|(_, pair)| pair.other().is_none()).map(|(place, _)| place));
        self.assign(scene.spheres.len());
    }

    /// The contacts at this moment.
    pub(crate) fn contacts(&self) -> Vec<SphereContact> {
        self.candidates.iter().filter_map(|candidate| candidate.contact(&self.spheres)).collect()
    }

    /// Assigns the candidates to their spheres.
    fn assign(&mut self, spheres: usize) {
        self.starts.clear();
        self.starts.resize(spheres + 1, 0);
        for candidate in &self.candidates {
            candidate.spheres().for_each(|sphere| self.starts[sphere + 1] += 1);
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        let mut places = self.starts.clone();
        self.of_sphere.resize(end as usize, 0);
        for (candidate, pair) in (0..).zip(&self.candidates) {
            for sphere in pair.spheres() {
                self.of_sphere[places[sphere] as usize] = candidate;
                places[sphere] += 1;
            }
        }
    }
}

/// The candidates by sphere, in the order of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs<'a> {
    candidates: &'a [Candidate],
    of_sphere: &'a [u32],
    starts: &'a [u32],
}

impl<'a> Pairs<'a> {
    /// Splits the scratch memory into its spheres and its pairs.
    pub(crate) fn split(scratch: &'a mut Scratch) -> (&'a mut [Sphere], Self) {
        let Scratch { spheres, candidates, of_sphere, starts, .. } = scratch;
        (spheres, Self { candidates, of_sphere, starts })
    }

    pub(crate) fn of(&self, sphere: usize) -> impl Iterator<Item = &'a Candidate> + use<'a> {
        let places = self.starts[sphere] as usize..self.starts[sphere + 1] as usize;
        let candidates = self.candidates;
        self.of_sphere[places].iter().map(move |place| &candidates[*place as usize])
    }
}

impl Candidate {
    /// Index of the other sphere, if the partner is one.
    fn other(&self) -> Option<usize> {
        match self.partner {
            Partner::Sphere(other) => Some(other as usize),
            Partner::Wall(_) | Partner::Body(_) | Partner::Shell { .. } => None,
        }
    }

    fn spheres(&self) -> impl Iterator<Item = usize> + use<> {
        [Some(self.low as usize), self.other()].into_iter().flatten()
    }
}

/// Copies the memory of contacts to candidates; both are sorted by ids.
fn recall(candidates: &mut [Candidate], contacts: &[SphereContact], spheres: &[Sphere]) {
    let mut left = contacts.iter().peekable();
    for candidate in candidates {
        let key = candidate.key(spheres);
        while left.next_if(|contact| contact.key() < key).is_some() {}
        if let Some(contact) = left.next_if(|contact| contact.key() == key) {
            candidate.memory = contact.memory;
        }
    }
}
