//! All contacts of one rover with rocks, fixed and loose, of its body with hard ground,
//! and of loose rocks with each other, in one step.

use std::collections::BTreeMap;

use nalgebra::UnitQuaternion;
use selene_base::{Pose, Wrench};
use selene_terrain::Ground;

use super::body::Body;
use super::floor::{Floor, floor_points};
use super::law::{Grip, Law};
use super::loose::{LooseRock, LooseRocks};
use super::solid::{Narrow, Scaled, Solid};
use crate::model::RoverModel;
use crate::rover::Rover;

/// Metal on rock, and rock on rock.
const FRICTION: f64 = 0.7;

/// What a step takes for given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactConditions {
    /// Length of the step, s.
    pub dt_s: f64,
}

/// What contacts do to the rover.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactForces {
    /// On each wheel about its centre, map frame.
    pub on_wheels: Vec<Wrench>,
    /// On links about their origins, map frame; only those that are touched.
    pub on_links: Vec<(usize, Wrench)>,
    /// How many rocks each wheel touches.
    pub rocks_on_wheel: Vec<u32>,
}

/// A pair's first body; its second is the rock of the number beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Wheel(usize),
    Part(usize),
    Rock(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    grip: Grip,
    step: u64,
}

/// A convex piece of a link.
#[derive(Clone, Debug)]
struct Part {
    link: usize,
    link_from_solid: Pose,
    solid: Solid,
}

/// What contacts remember between steps, and the shapes that they are between.
#[derive(Debug)]
pub struct ContactState {
    rocks: Vec<Solid>,
    wheels: Vec<(usize, Solid)>,
    parts: Vec<Part>,
    floors: Vec<(usize, Floor)>,
    pairs: BTreeMap<(Who, u32), Pair>,
    step: u64,
    narrow: Narrow,
    forces: ContactForces,
}

impl ContactState {
    /// A rover and a ground that have not met yet. Wheels are their cylinders; collision
    /// shapes of the wheels' own links are not looked at.
    #[must_use]
    pub fn new(model: &RoverModel, ground: &Ground) -> Self {
        let is_wheel = |link: usize| model.wheels().iter().any(|wheel| wheel.link == link);
        let links = || model.links().iter().enumerate().filter(|(link, _)| !is_wheel(*link));
        let part = |link: usize, collision: &crate::Collision| {
            let (solid, turn) = Solid::of_shape(&collision.shape);
            let turn: UnitQuaternion<f64> = turn;
            Part { link, link_from_solid: collision.link_from_shape * turn, solid }
        };
        let touching = links().filter(|(_, link)| !link.collisions.is_empty());
        Self {
            rocks: ground.rock_shapes().iter().map(Solid::of_rock).collect(),
            wheels: model.wheels().iter().map(|w| (w.link, Solid::wheel(w.radius_m, w.width_m))).collect(),
            parts: links().flat_map(|(i, link)| link.collisions.iter().map(move |c| part(i, c))).collect(),
            floors: touching.map(|(i, link)| (i, Floor::new(floor_points(&link.collisions)))).collect(),
            pairs: BTreeMap::new(),
            step: 0,
            narrow: Narrow::default(),
            forces: ContactForces::default(),
        }
    }

    /// What it remembers as numbers, in a fixed order, for state hashes.
    pub fn memory(&self) -> impl Iterator<Item = f64> {
        let pairs = self.pairs.values().flat_map(|pair| pair.grip.numbers());
        pairs.chain(self.floors.iter().flat_map(|(_, floor)| floor.memory()))
    }

    /// Bodies that touch a rock now.
    #[must_use]
    pub fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    fn begin(&mut self) {
        self.step += 1;
        self.forces.on_wheels.clear();
        self.forces.on_wheels.resize(self.wheels.len(), Wrench::default());
        self.forces.rocks_on_wheel.clear();
        self.forces.rocks_on_wheel.resize(self.wheels.len(), 0);
        self.forces.on_links.clear();
    }
}

/// The contacts of this step: the wrenches on the rover, while those on loose rocks are
/// added to the rocks.
pub fn forces<'a>(
    rover: &Rover,
    ground: &Ground,
    loose: &mut LooseRocks,
    state: &'a mut ContactState,
    conditions: &ContactConditions,
) -> &'a ContactForces {
    state.begin();
    let dt_s = conditions.dt_s;
    let ContactState { rocks, wheels, parts, floors, pairs, step, narrow, forces } = state;
    loose.rocks_mut().iter_mut().for_each(|rock| rock.held = false);
    let mut field = Field { ground, rocks, pairs, step: *step, narrow, dt_s };
    for (i, (link, solid)) in wheels.iter().enumerate() {
        let body = rover.body_of_link(*link);
        let mover = Mover { who: Who::Wheel(i), solid, world_from_solid: body.world_from_body, body };
        let (wrench, count) = field.rover_part(&mover, loose.rocks_mut());
        forces.on_wheels[i] = wrench;
        forces.rocks_on_wheel[i] = count;
    }
    for (i, part) in parts.iter().enumerate() {
        let body = rover.body_of_link(part.link);
        let world_from_solid = body.world_from_body * part.link_from_solid;
        let mover = Mover { who: Who::Part(i), solid: &part.solid, world_from_solid, body };
        let (wrench, count) = field.rover_part(&mover, loose.rocks_mut());
        if count > 0 {
            forces.on_links.push((part.link, wrench));
        }
    }
    field.between_rocks(loose.rocks_mut());
    for (link, floor) in floors {
        if let Some(wrench) = floor.push(&rover.body_of_link(*link), ground, dt_s) {
            forces.on_links.push((*link, wrench));
        }
    }
    // What a sleeping rock holds on to is not looked at, nor forgotten.
    let sleeps = |id: u32| {
        let rocks = loose.rocks();
        rocks.binary_search_by_key(&id, |rock| rock.id).is_ok_and(|at| rocks[at].asleep())
    };
    pairs.retain(|(who, _), pair| pair.step == *step || matches!(who, Who::Rock(id) if sleeps(*id)));
    forces
}

/// A body that may touch rocks.
struct Mover<'a> {
    who: Who,
    solid: &'a Solid,
    world_from_solid: Pose,
    body: Body,
}

/// One step's search for contacts.
struct Field<'a> {
    ground: &'a Ground,
    rocks: &'a [Solid],
    pairs: &'a mut BTreeMap<(Who, u32), Pair>,
    step: u64,
    narrow: &'a mut Narrow,
    dt_s: f64,
}

impl Field<'_> {
    /// A wheel or a part of a link against every rock; the wrench about its link's origin.
    fn rover_part(&mut self, mover: &Mover, loose: &mut [LooseRock]) -> (Wrench, u32) {
        let first = Scaled { solid: mover.solid, scale: 1.0 };
        let (mut sum, mut count) = self.against_fixed(mover, first);
        for rock in loose {
            let Some((on_first, on_second)) = self.meet(mover, first, rock) else { continue };
            rock.add(&on_second);
            rock.wake();
            rock.held = true;
            add(&mut sum, &on_first);
            count += 1;
        }
        (sum, count)
    }

    fn against_fixed(&mut self, mover: &Mover, first: Scaled) -> (Wrench, u32) {
        let at = mover.world_from_solid.translation;
        let reach_m = mover.solid.reach_m() * first.scale;
        let (mut sum, mut count) = (Wrench::default(), 0);
        let ground = self.ground;
        for rock in ground.rocks_near(at.x, at.y, reach_m) {
            let Some(solid) = self.rocks.get(rock.shape) else { continue };
            let second = Scaled { solid, scale: rock.radius_m };
            let body = Body::fixed(rock.world_from_rock);
            if let Some((on_first, _)) = self.pair(mover, first, second, &body, rock.id) {
                add(&mut sum, &on_first);
                count += 1;
            }
        }
        (sum, count)
    }

    /// A body against a loose rock: the wrenches on both, each about its own origin.
    fn meet(&mut self, mover: &Mover, first: Scaled, rock: &LooseRock) -> Option<(Wrench, Wrench)> {
        let apart = mover.world_from_solid.translation.vector - rock.world_from_rock.translation.vector;
        let reach_m = mover.solid.reach_m() * first.scale + rock.reach_m();
        if apart.norm_squared() > reach_m * reach_m {
            return None;
        }
        let second = Scaled { solid: self.rocks.get(rock.shape)?, scale: rock.radius_m };
        self.pair(mover, first, second, &rock.body(), rock.id)
    }

    fn pair(
        &mut self,
        mover: &Mover,
        first: Scaled,
        second: Scaled,
        body: &Body,
        rock: u32,
    ) -> Option<(Wrench, Wrench)> {
        if !self.narrow.touch(first, &mover.world_from_solid, second, &body.world_from_body) {
            return None;
        }
        let law = Law { first: &mover.body, second: body, friction: FRICTION, dt_s: self.dt_s };
        let pair = self.pairs.entry((mover.who, rock)).or_default();
        pair.step = self.step;
        let push = law.patch(&self.narrow.touches, &mut pair.grip)?;
        Some((push.about(&mover.body.origin_m()), push.opposite().about(&body.origin_m())))
    }

    /// Loose rocks that are awake against all others.
    fn between_rocks(&mut self, loose: &mut [LooseRock]) {
        for i in 0..loose.len() {
            if loose[i].asleep() {
                continue;
            }
            let Some(solid) = self.rocks.get(loose[i].shape) else { continue };
            let body = loose[i].body();
            let mover = Mover { who: Who::Rock(loose[i].id), solid, world_from_solid: body.world_from_body, body };
            let first = Scaled { solid, scale: loose[i].radius_m };
            let (sum, _) = self.against_fixed(&mover, first);
            loose[i].add(&sum);
            for j in 0..loose.len() {
                // Of two that are awake the first takes the pair.
                if j == i || (j < i && !loose[j].asleep()) {
                    continue;
                }
                let Some((on_first, on_second)) = self.meet(&mover, first, &loose[j]) else { continue };
                loose[i].add(&on_first);
                loose[j].add(&on_second);
                if loose[i].moves() {
                    loose[j].wake();
                }
            }
        }
    }
}

fn add(sum: &mut Wrench, part: &Wrench) {
    sum.force += part.force;
    sum.torque += part.torque;
}
