//! Computes all contacts within a group of rovers and rocks in one step: of rovers with fixed and
//! loose rocks, with obstacles and with one another, of their bodies with hard ground, and of loose
//! rocks with each other.
//!
//! Rovers are processed in the given order. Forces between rovers follow from poses and velocities at
//! the step's start and are equal and opposite, so the order favours none.

use selene_base::{Pose, Wrench};
use selene_terrain::GroundPatch;

use super::contact_body::ContactBody;
use super::floor::{FloorMemory, FloorScratch};
use super::law::Law;
use super::loose::LooseRock;
use super::memory::{Collider, ContactMemory, Pair};
use super::obstacle::Obstacle;
use super::shapes::{ContactShapes, ConvexPart, RockSolids};
use super::solid::{NarrowPhase, Scaled, Solid};
use crate::rover::Rover;

/// Friction coefficient of metal on rock, and of rock on rock.
const FRICTION_ROCK: f64 = 0.7;
/// Friction coefficient of metal on metal: between rovers, and of rovers on landers.
const FRICTION_METAL: f64 = 0.4;

/// Contact forces on a rover in one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactForces {
    /// Wrench on each wheel about its centre, map frame.
    pub on_wheels: Vec<Wrench>,
    /// Links and the wrench on each about its origin, map frame: only touched links. A link may occur more than once.
    pub on_links: Vec<(usize, Wrench)>,
    /// Number of bodies that each wheel touches.
    pub touched_by_wheel: Vec<u32>,
}

/// A rover as input of contacts.
pub struct ContactRover<'a> {
    /// Number of the rover.
    pub id: u32,
    /// The rover with its pose and motion.
    pub rover: &'a Rover,
    /// Whether contacts treat it as immovable, like an obstacle.
    pub stands: bool,
    /// Its shapes.
    pub shapes: &'a ContactShapes,
    /// State of its bodies' contact with hard ground, one for each of `ContactShapes::floor_count`; empty where the
    /// ground need not carry it.
    pub floors: &'a mut [FloorMemory],
    /// Links in granular soil with the soil's wrench on them; hard ground does not carry these too.
    pub in_points: &'a [(usize, Wrench)],
    /// Receives the forces.
    pub forces: &'a mut ContactForces,
}

/// The bodies that may touch one another.
pub struct ContactGroup<'a, 'b> {
    /// The ground under them.
    pub ground: &'a GroundPatch,
    /// Hulls of the ground's rocks.
    pub rock_solids: &'a RockSolids,
    /// Immovable bodies.
    pub obstacles: &'a [Obstacle],
    /// Rovers.
    pub rovers: &'a mut [ContactRover<'b>],
    /// Loose rocks, in order of their number.
    pub rocks: &'a mut [LooseRock],
}

/// Working memory of a step; its content does not affect forces.
#[derive(Debug, Default)]
pub struct ContactScratch {
    narrow: NarrowPhase,
    floor: FloorScratch,
    /// Pairs that touch in this step.
    touching: Vec<Pair>,
    /// The wheels and parts of the rovers.
    movers: Vec<RoverCollider>,
    /// How deep the pairs of this step overlap, m.
    depths_m: Vec<([Collider; 2], f64)>,
}

impl ContactScratch {
    /// The pairs that touched in the last step, and how deep they overlapped, m.
    #[must_use]
    pub fn overlaps_m(&self) -> &[([Collider; 2], f64)] {
        &self.depths_m
    }
}

/// A wheel or part of a rover that may touch other bodies.
#[derive(Clone, Copy, Debug)]
struct RoverCollider {
    party: Collider,
    /// Index of its rover in the group.
    of: usize,
    /// Index of the piece among the rover's wheels or parts.
    piece: usize,
    body: ContactBody,
    world_from_solid: Pose,
    reach_m: f64,
}

impl ContactForces {
    fn begin(&mut self, wheels: usize) {
        self.on_wheels.clear();
        self.on_wheels.resize(wheels, Wrench::default());
        self.touched_by_wheel.clear();
        self.touched_by_wheel.resize(wheels, 0);
        self.on_links.clear();
    }
}

impl ContactRover<'_> {
    fn solid(&self, mover: &RoverCollider) -> &Solid {
        match mover.party {
            Collider::Wheel(..) => &self.shapes.wheels[mover.piece].solid,
            _ => &self.shapes.parts[mover.piece].solid,
        }
    }

    /// Adds the wrench of `count` bodies on a piece.
    fn add(&mut self, mover: &RoverCollider, wrench: &Wrench, count: u32) {
        match mover.party {
            Collider::Wheel(..) => {
                add(&mut self.forces.on_wheels[mover.piece], wrench);
                self.forces.touched_by_wheel[mover.piece] += count;
            }
            _ => self.forces.on_links.push((self.shapes.parts[mover.piece].link, *wrench)),
        }
    }

    /// The rover's wheels, then its parts.
    fn movers(&self, of: usize) -> impl Iterator<Item = RoverCollider> + '_ {
        let mover = move |party: Collider, piece: usize, part: &ConvexPart, moving: ContactBody| {
            let body = if self.stands { ContactBody::fixed(moving.world_from_body) } else { moving };
            let world_from_solid = body.world_from_body * part.link_from_solid;
            RoverCollider { party, of, piece, world_from_solid, body, reach_m: part.solid.reach_m() }
        };
        let wheels = self.shapes.wheels.iter().zip(self.rover.model().wheels()).enumerate();
        let wheels = wheels.map(move |(i, (part, wheel))| {
            mover(Collider::Wheel(self.id, i as u16), i, part, self.rover.body_of_wheel(wheel))
        });
        let parts = self.shapes.parts.iter().enumerate();
        wheels.chain(parts.map(move |(i, part)| {
            mover(Collider::Part(self.id, i as u16), i, part, self.rover.body_of_link(part.link))
        }))
    }
}

impl ContactGroup<'_, '_> {
    /// Computes the contacts of this step: writes the wrenches on each rover, adds those on loose
    /// rocks to the rocks, and updates the friction state of the pairs in `memory`.
    pub fn act(&mut self, memory: &mut ContactMemory, scratch: &mut ContactScratch, dt_s: f64) {
        for rover in self.rovers.iter_mut() {
            rover.forces.begin(rover.shapes.wheels.len());
        }
        self.rocks.iter_mut().for_each(|rock| rock.held = false);
        let mut movers = std::mem::take(&mut scratch.movers);
        movers.clear();
        if self.has_bodies_to_meet() {
            movers.extend(self.rovers.iter().enumerate().flat_map(|(of, rover)| rover.movers(of)));
        }
        scratch.depths_m.clear();
        let ContactScratch { narrow, touching, depths_m, .. } = &mut *scratch;
        let mut search = Search { memory, narrow, touching, depths_m, dt_s };
        movers.iter().for_each(|mover| self.rover_piece(mover, &mut search));
        if self.rovers.len() > 1 {
            self.between_rovers(&movers, &mut search);
        }
        self.between_rocks(&mut search);
        scratch.movers = movers;
        self.keep(memory, &mut scratch.touching);
        for rover in self.rovers.iter_mut() {
            for ((link, points), floor) in rover.shapes.floors.iter().zip(rover.floors.iter_mut()) {
                if rover.in_points.iter().any(|(sunk, _)| sunk == link) {
                    *floor = FloorMemory::default();
                    continue;
                }
                if rover.rover.link_motion(*link).is_none_or(|(_, motion)| points.is_free(floor, &motion, dt_s)) {
                    continue;
                }
                let body = rover.rover.body_of_link(*link);
                if let Some(wrench) = points.push(floor, &mut scratch.floor, &body, self.ground, dt_s) {
                    rover.forces.on_links.push((*link, wrench));
                }
            }
        }
    }

    /// Whether there is anything other than the ground that rovers may touch.
    fn has_bodies_to_meet(&self) -> bool {
        self.rovers.len() > 1 || !self.rocks.is_empty() || !self.obstacles.is_empty() || self.ground.has_rocks()
    }

    /// A wheel or a part of a rover against rocks and obstacles.
    fn rover_piece(&mut self, mover: &RoverCollider, search: &mut Search) {
        let rover = &mut self.rovers[mover.of];
        let mut sum = None;
        let solid = rover.solid(mover);
        let first = Scaled { solid, scale: 1.0 };
        let at = mover.world_from_solid.translation;
        for rock in self.ground.rocks_near(at.x, at.y, mover.reach_m) {
            let Some(solid) = self.rock_solids.0.get(rock.shape) else { continue };
            let second = Scaled { solid, scale: rock.radius_m };
            let body = ContactBody::fixed(rock.world_from_rock);
            let found = search.pair(mover, first, Collider::FixedRock(rock.id), second, &body, &rock.world_from_rock);
            gather(&mut sum, found);
        }
        for obstacle in self.obstacles {
            for (i, piece) in obstacle.pieces.iter().enumerate() {
                let second = Scaled { solid: &piece.solid, scale: 1.0 };
                let party = Collider::Obstacle(obstacle.id, i as u16);
                gather(&mut sum, search.pair(mover, first, party, second, &piece.body(), &piece.world_from_solid));
            }
        }
        for rock in self.rocks.iter_mut() {
            let Some((on_first, on_second)) = search.meet(mover, first, rock, self.rock_solids) else { continue };
            rock.add(&on_second);
            rock.wake();
            rock.held = true;
            gather(&mut sum, Some((on_first, on_second)));
        }
        if let Some((wrench, count)) = sum {
            rover.add(mover, &wrench, count);
        }
    }

    /// Pieces of one rover against those of another.
    fn between_rovers(&mut self, movers: &[RoverCollider], search: &mut Search) {
        for (i, mover) in movers.iter().enumerate() {
            for other in movers[i + 1..].iter().filter(|other| other.of != mover.of) {
                let apart = mover.world_from_solid.translation.vector - other.world_from_solid.translation.vector;
                let reach_m = mover.reach_m + other.reach_m;
                if apart.norm_squared() > reach_m * reach_m {
                    continue;
                }
                let [first, second] =
                    [mover, other].map(|of| Scaled { solid: self.rovers[of.of].solid(of), scale: 1.0 });
                let found = search.pair(mover, first, other.party, second, &other.body, &other.world_from_solid);
                if let Some((on_first, on_second)) = found {
                    self.rovers[mover.of].add(mover, &on_first, 1);
                    self.rovers[other.of].add(other, &on_second, 1);
                }
            }
        }
    }

    /// Loose rocks that are awake against all others.
    fn between_rocks(&mut self, search: &mut Search) {
        for i in 0..self.rocks.len() {
            let rock = &self.rocks[i];
            let Some(solid) = self.rock_solids.0.get(rock.inertia.shape).filter(|_| !rock.asleep()) else { continue };
            let body = rock.body();
            let mover = RoverCollider {
                party: Collider::Rock(rock.id),
                of: 0,
                piece: 0,
                body,
                world_from_solid: body.world_from_body,
                reach_m: rock.inertia.reach_m(),
            };
            let first = Scaled { solid, scale: rock.inertia.radius_m };
            let at = body.world_from_body.translation;
            for fixed in self.ground.rocks_near(at.x, at.y, mover.reach_m) {
                let Some(solid) = self.rock_solids.0.get(fixed.shape) else { continue };
                let second = Scaled { solid, scale: fixed.radius_m };
                let of = ContactBody::fixed(fixed.world_from_rock);
                let found =
                    search.pair(&mover, first, Collider::FixedRock(fixed.id), second, &of, &fixed.world_from_rock);
                found.iter().for_each(|(on_first, _)| self.rocks[i].add(on_first));
            }
            for obstacle in self.obstacles {
                for (at, piece) in obstacle.pieces.iter().enumerate() {
                    let second = Scaled { solid: &piece.solid, scale: 1.0 };
                    let party = Collider::Obstacle(obstacle.id, at as u16);
                    let found = search.pair(&mover, first, party, second, &piece.body(), &piece.world_from_solid);
                    found.iter().for_each(|(on_first, _)| self.rocks[i].add(on_first));
                }
            }
            for j in 0..self.rocks.len() {
                // A pair of two awake rocks is handled once, by the first.
                if j == i || (j < i && !self.rocks[j].asleep()) {
                    continue;
                }
                let Some((on_first, on_second)) = search.meet(&mover, first, &self.rocks[j], self.rock_solids) else {
                    continue;
                };
                self.rocks[i].add(&on_first);
                self.rocks[j].add(&on_second);
                if self.rocks[i].moves() {
                    self.rocks[j].wake();
                }
            }
        }
    }

    /// Stores the pairs that touched; pairs of sleeping rocks, which are not checked, are kept.
    fn keep(&self, memory: &mut ContactMemory, touching: &mut Vec<Pair>) {
        let sleeps = |id: u32| {
            let at = self.rocks.binary_search_by_key(&id, |rock| rock.id);
            at.is_ok_and(|at| self.rocks[at].asleep())
        };
        if memory.pairs.is_empty() && touching.is_empty() {
            return;
        }
        touching.sort_unstable_by_key(|pair| pair.parties);
        for pair in &memory.pairs {
            let Collider::Rock(id) = pair.parties[0] else { continue };
            let at = touching.binary_search_by_key(&pair.parties, |known| known.parties);
            if let (Err(at), true) = (at, sleeps(id)) {
                touching.insert(at, *pair);
            }
        }
        std::mem::swap(&mut memory.pairs, touching);
        touching.clear();
    }
}

/// One step's search for contacts.
struct Search<'a> {
    memory: &'a ContactMemory,
    narrow: &'a mut NarrowPhase,
    touching: &'a mut Vec<Pair>,
    depths_m: &'a mut Vec<([Collider; 2], f64)>,
    dt_s: f64,
}

impl Search<'_> {
    /// A body against a loose rock: the wrenches on both, each about its own origin.
    fn meet(
        &mut self,
        mover: &RoverCollider,
        first: Scaled,
        rock: &LooseRock,
        solids: &RockSolids,
    ) -> Option<(Wrench, Wrench)> {
        let pose = &rock.state.world_from_rock;
        let apart = mover.world_from_solid.translation.vector - pose.translation.vector;
        let reach_m = mover.reach_m + rock.inertia.reach_m();
        if apart.norm_squared() > reach_m * reach_m {
            return None;
        }
        let second = Scaled { solid: solids.0.get(rock.inertia.shape)?, scale: rock.inertia.radius_m };
        self.pair(mover, first, Collider::Rock(rock.id), second, &rock.body(), pose)
    }

    /// A body against another: the wrenches on both, each about its own origin.
    fn pair(
        &mut self,
        mover: &RoverCollider,
        first: Scaled,
        party: Collider,
        second: Scaled,
        body: &ContactBody,
        world_from_second: &Pose,
    ) -> Option<(Wrench, Wrench)> {
        if !self.narrow.touch(first, &mover.world_from_solid, second, world_from_second) {
            return None;
        }
        let is_rock = |party: &Collider| matches!(party, Collider::Rock(_) | Collider::FixedRock(_));
        let friction = if is_rock(&mover.party) || is_rock(&party) { FRICTION_ROCK } else { FRICTION_METAL };
        let law = Law { first: &mover.body, second: body, friction, dt_s: self.dt_s };
        let depth_m = self.narrow.touches.iter().map(|touch| touch.depth_m).fold(0.0, f64::max);
        self.depths_m.push(([mover.party, party], depth_m));
        let mut grip = self.memory.grip([mover.party, party]);
        let push = law.patch(&self.narrow.touches, &mut grip);
        self.touching.push(Pair::new([mover.party, party], grip));
        let push = push?;
        Some((push.about(&mover.body.origin_m()), push.opposite().about(&body.origin_m())))
    }
}

/// Adds a contact's wrench to a sum and counts it.
fn gather(sum: &mut Option<(Wrench, u32)>, found: Option<(Wrench, Wrench)>) {
    if let Some((on_first, _)) = found {
        let (wrench, count) = sum.get_or_insert_default();
        add(wrench, &on_first);
        *count += 1;
    }
}

fn add(sum: &mut Wrench, part: &Wrench) {
    sum.force += part.force;
    sum.torque += part.torque;
}
