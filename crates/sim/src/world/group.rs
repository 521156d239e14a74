//! Groups: rovers and rocks that may meet within one heartbeat, with the tiles of ground that they may
//! touch. The members of a group are stepped together, and different groups in parallel.
//!
//! The wheels of the rovers in a group press the soil one after the other, since they share it. Rovers
//! take turns by their positions at the start of the heartbeat, from west to east, then from south to
//! north: this order follows from the state of the world alone, not from a rover's name or its place in
//! the scenario's list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_base::SimTime;
use selene_base::Wrench;
use selene_base::random::stream_at;
use selene_soil::solid::{self, ConvexSolid, SolidMotion};
use selene_soil::{
    Conditions, Domain, DustSource, GranularError, MemoryPatch, SoilContext, WheelContact, WheelMotion, WrittenMemory,
};
use selene_terrain::{Edit, GroundPatch, TileIndex};
use selene_vehicle::contact::{
    Collider, ContactForces, ContactGroup, ContactMemory, ContactRover, ContactScratch, FloorMemory, LooseRock,
    LooseRockState, Obstacle,
};
use selene_vehicle::{Forces, Rover, Targets};

use crate::wheels::press_wheels_in;
use crate::world::dust::ThrownDust;
use crate::world::entity::EntityId;
use crate::world::exchange::{ProcessShare, SteppedBy};
use crate::world::granular::{GroupWindow, SoilSolvers};
use crate::world::model::{Model, RoverKind};
use crate::world::state::{RoverEntityState, State};

/// The members of a group, and the tiles that they may touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Members {
    pub(crate) rovers: Vec<EntityId>,
    pub(crate) rocks: Vec<u32>,
    pub(crate) objects: Vec<EntityId>,
    /// Granular windows.
    pub(crate) windows: Vec<u32>,
    pub(crate) tiles: BTreeSet<TileIndex>,
}

/// Working memory of one rover: values derived from its state, and results of a step.
#[derive(Debug)]
pub(crate) struct RoverScratch {
    pub(crate) rover: Rover,
    /// Where each wheel is: in the height field or in granular soil.
    pub(crate) domains: Vec<Domain>,
    pub(crate) contacts: Vec<WheelContact>,
    pub(crate) soil_on_wheel: Vec<Wrench>,
    pub(crate) forces: ContactForces,
    /// Links in granular soil, and its wrench on each about the link's origin.
    pub(crate) in_points: Vec<(usize, Wrench)>,
    pub(crate) targets: Targets,
    /// Velocity of the base when the heartbeat began, m/s.
    pub(crate) before_m_s: Vector3<f64>,
}

/// Working memory of one group.
#[derive(Debug)]
pub(crate) struct GroupScratch {
    tiles: BTreeSet<TileIndex>,
    pub(crate) ground: GroundPatch,
    memory: MemoryPatch,
    soil: selene_soil::PressScratch,
    contact: ContactScratch,
}

/// A rover in a group.
pub(crate) struct GroupRover {
    pub(crate) id: EntityId,
    pub(crate) kind: Arc<RoverKind>,
    pub(crate) state: RoverEntityState,
    pub(crate) scratch: RoverScratch,
    /// If another process steps it, it only moves on here with its last velocity.
    stepped_by: SteppedBy,
}

/// A group that is stepped: it owns its members' states until it gives them back.
pub(crate) struct Group {
    pub(crate) rovers: Vec<GroupRover>,
    rocks: Vec<LooseRock>,
    solids: Vec<ConvexSolid>,
    windows: Vec<GroupWindow>,
    /// Wrench of granular soil on each rock in it.
    on_rocks: Vec<Option<Wrench>>,
    obstacles: Vec<Obstacle>,
    contacts: ContactMemory,
    pub(crate) scratch: GroupScratch,
    pub(crate) edits: Vec<Edit>,
    /// Soil memory that was written, if other processes need it.
    pub(crate) memory: WrittenMemory,
}

impl RoverScratch {
    pub(crate) fn new(rover: Rover) -> Self {
        let wheels = rover.model().wheels().len();
        Self {
            domains: vec![Domain::Field; wheels],
            contacts: vec![WheelContact::default(); wheels],
            soil_on_wheel: vec![Wrench::default(); wheels],
            forces: ContactForces::default(),
            in_points: Vec::new(),
            targets: Targets::default(),
            before_m_s: Vector3::zeros(),
            rover,
        }
    }
}

impl RoverScratch {
    /// Takes the whole rover out of granular soil.
    fn leave_points(&mut self) {
        self.domains.fill(Domain::Field);
        self.in_points.clear();
    }
}

impl GroupScratch {
    pub(crate) fn tiles(&self) -> &BTreeSet<TileIndex> {
        &self.tiles
    }

    fn new(model: &Model, tiles: &BTreeSet<TileIndex>) -> Self {
        let ground = GroundPatch::new(model.terrain(), tiles);
        Self {
            memory: MemoryPatch::new(&ground),
            ground,
            tiles: tiles.clone(),
            soil: selene_soil::PressScratch::default(),
            contact: ContactScratch::default(),
        }
    }
}

impl Group {
    /// Takes the members and their ground out of the state. The caller gives them back in any case.
    pub(crate) fn take(
        model: &Model,
        state: &mut State,
        members: &Members,
        rovers: &mut BTreeMap<EntityId, RoverScratch>,
        share: Option<&ProcessShare>,
        solvers: &mut SoilSolvers,
        spare: &mut Vec<GroupScratch>,
    ) -> Self {
        let known = spare.iter().position(|scratch| scratch.tiles == members.tiles);
        let mut scratch = known.map_or_else(|| GroupScratch::new(model, &members.tiles), |at| spare.swap_remove(at));
        scratch.ground.borrow_from(&mut state.ruts);
        scratch.memory.borrow_from(&mut state.soil, &scratch.ground);
        let rover = |&id: &EntityId| {
            let kind = Arc::clone(model.rovers().get(&id)?);
            let (scratch, state) = (rovers.remove(&id)?, state.rovers.remove(&id)?);
            let stepped_by = share.map_or(SteppedBy::This, |share| share.steps(id));
            Some(GroupRover { id, kind, state, scratch, stepped_by })
        };
        let mut rovers: Vec<_> = members.rovers.iter().filter_map(rover).collect();
        rovers.sort_by(|a, b| a.stands_at().partial_cmp(&b.stands_at()).unwrap_or(std::cmp::Ordering::Equal));
        let rock = |&id: &u32| {
            let inertia = Arc::clone(model.rocks().get(&id)?);
            Some(LooseRock::new(id, inertia, state.rocks.remove(&id)?))
        };
        let rocks: Vec<_> = members.rocks.iter().filter_map(rock).collect();
        let is_member = |party: &Collider| match party {
            Collider::Rock(id) => members.rocks.binary_search(id).is_ok(),
            Collider::Wheel(id, _) | Collider::Part(id, _) => members.rovers.contains(&EntityId(*id)),
            Collider::FixedRock(_) | Collider::Obstacle(..) => false,
        };
        let window = |&id: &u32| {
            let window = Arc::clone(model.windows().get(id as usize)?);
            Some(GroupWindow::new(id, window, state.granular.remove(&id)?, solvers.take(id)))
        };
        let windows: Vec<_> = members.windows.iter().filter_map(window).collect();
        scratch.memory.set_windows(windows.iter().map(GroupWindow::nodes));
        let obstacles = members.objects.iter().filter_map(|id| Some(model.objects().get(id)?.obstacle.clone()));
        Self {
            solids: rocks.iter().map(|rock| solid_of(rock, &scratch.ground)).collect(),
            windows,
            on_rocks: vec![None; rocks.len()],
            contacts: state.contacts.split_off(is_member),
            obstacles: obstacles.collect(),
            rovers,
            rocks,
            scratch,
            edits: Vec::new(),
            memory: WrittenMemory::default(),
        }
    }

    /// Gives everything back to the state.
    pub(crate) fn give_back(
        mut self,
        state: &mut State,
        rovers: &mut BTreeMap<EntityId, RoverScratch>,
        solvers: &mut SoilSolvers,
        spare: &mut Vec<GroupScratch>,
    ) {
        for GroupRover { id, state: mut of, scratch, stepped_by, .. } in self.rovers {
            // A ghost's state comes from its own process.
            if stepped_by == SteppedBy::This {
                of.body = scratch.rover.state();
            }
            state.rovers.insert(id, of);
            rovers.insert(id, scratch);
        }
        state.rocks.extend(self.rocks.into_iter().map(|rock| (rock.id, rock.state)));
        for GroupWindow { id, state: of, solver, .. } in self.windows {
            // Soil that sleeps needs no working memory, nor any on a device.
            if of.is_flowing() {
                solvers.put(id, solver);
            }
            state.granular.insert(id, of);
        }
        state.contacts.join(&mut self.contacts);
        self.scratch.ground.give_back(&mut state.ruts);
        self.scratch.memory.give_back(&mut state.soil);
        spare.push(self.scratch);
    }

    /// Its granular windows, after a step of them failed.
    pub(crate) fn into_windows(self) -> Vec<GroupWindow> {
        self.windows
    }

    /// Makes all steps of a heartbeat.
    pub(crate) fn run(&mut self, model: &Model, steps: usize, shared: bool) -> Result<(), GranularError> {
        let conditions = model.conditions();
        self.windows.iter_mut().try_for_each(GroupWindow::mark)?;
        for step in 0..steps {
            self.move_points(step)?;
            self.press_soil(model, &conditions);
            self.touch(model, &conditions);
            for rover in &mut self.rovers {
                rover.step();
            }
            let gravity = model.gravity_m_s2();
            self.rocks.iter_mut().for_each(|rock| rock.step(&gravity, conditions.dt_s));
        }
        let elapsed_s = steps as f64 * conditions.dt_s;
        let ends: Vec<_> = self.windows.par_iter_mut().map(|window| window.end_heartbeat(elapsed_s)).collect();
        let GroupScratch { ground, memory, .. } = &mut self.scratch;
        for (window, end) in self.windows.iter_mut().zip(ends) {
            window.settle(ground, memory, end?)?;
        }
        self.edits = self.scratch.ground.take_edits();
        if shared {
            self.memory = self.scratch.memory.take_written();
        }
        Ok(())
    }

    /// Steps granular soil, and gives the bodies in it their wrenches.
    fn move_points(&mut self, step: usize) -> Result<(), GranularError> {
        if step > 0 && self.windows.is_empty() {
            return Ok(());
        }
        let Self { windows, rovers, rocks, on_rocks, scratch, .. } = self;
        let mut due = Vec::new();
        for window in windows.iter_mut() {
            if window.meet(step, rovers, rocks, &scratch.ground)? {
                due.push(window);
            }
        }
        // Windows do not touch, so they step at once. Of errors in their steps the first window's is returned.
        let stepped: Vec<_> = due.into_par_iter().map(GroupWindow::step).collect();
        stepped.into_iter().collect::<Result<(), _>>()?;
        rovers.iter_mut().for_each(|rover| rover.scratch.leave_points());
        on_rocks.fill(None);
        windows.iter().for_each(|window| window.share_out(rovers, on_rocks, &scratch.ground));
        Ok(())
    }

    /// Adds the dust that wheels and granular soil throw at the end of a heartbeat with this number and instant.
    ///
    /// # Errors
    /// When the device fails on which the soil is.
    pub(crate) fn throw_dust(
        &mut self,
        model: &Model,
        beat: (u64, SimTime),
        thrown: &mut ThrownDust,
    ) -> Result<(), GranularError> {
        for rover in self.rovers.iter().filter(|rover| !rover.is_ghost()) {
            rover.throw_dust(model, beat, &self.scratch.ground, thrown);
        }
        let Self { windows, scratch, .. } = self;
        windows.iter_mut().try_for_each(|window| window.throw_dust(model, beat, &scratch.ground, thrown))
    }

    /// Presses wheels, and loose rocks that are awake, into the soil; rocks stand on hard ground
    /// where the soil's law is for wheels only.
    fn press_soil(&mut self, model: &Model, conditions: &Conditions) {
        let GroupScratch { ground, memory, soil, .. } = &mut self.scratch;
        for rover in self.rovers.iter_mut().filter(|rover| !rover.is_ghost()) {
            let kind = Arc::clone(&rover.kind);
            let soils = model.soils(&kind);
            rover.press(&mut SoilContext { soils, ground, memory, scratch: soil }, conditions);
        }
        let mut context = SoilContext { soils: &model.scenario().soils, ground, memory, scratch: soil };
        let rocks = self.rocks.iter_mut().zip(&mut self.solids).zip(&self.on_rocks);
        for ((rock, solid), of_points) in rocks.filter(|((rock, _), _)| !rock.asleep()) {
            match of_points {
                Some(wrench) => rock.add(wrench),
                None => press_rock(&mut context, rock, solid, conditions),
            }
        }
    }

    /// Contacts of rovers and loose rocks with rocks, obstacles and each other, and of bodies with the ground.
    fn touch(&mut self, model: &Model, conditions: &Conditions) {
        let mut rovers: Vec<_> = self.rovers.iter_mut().map(GroupRover::in_contact).collect();
        let mut group = ContactGroup {
            ground: &self.scratch.ground,
            rock_solids: model.rock_solids(),
            obstacles: &self.obstacles,
            rovers: &mut rovers,
            rocks: &mut self.rocks,
        };
        group.act(&mut self.contacts, &mut self.scratch.contact, conditions.dt_s);
        for rover in self.rovers.iter_mut().filter(|rover| !rover.is_ghost()) {
            rover.add_contacts();
        }
    }

    /// The deepest current overlap of one of `those` with another body: the two, and its depth, m.
    pub(crate) fn deepest_overlap(
        &mut self,
        model: &Model,
        those: impl Fn(&Collider) -> bool,
    ) -> Option<([Collider; 2], f64)> {
        self.touch(model, &model.conditions());
        let overlaps_m = self.scratch.contact.overlaps_m().iter().copied();
        overlaps_m.filter(|(parties, _)| parties.iter().any(&those)).max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

impl GroupRover {
    fn stands_at(&self) -> [f64; 3] {
        self.state.body.world_from_base.translation.vector.into()
    }

    /// Whether this process does not step the rover.
    pub(crate) fn is_ghost(&self) -> bool {
        self.stepped_by != SteppedBy::This
    }

    fn press(&mut self, context: &mut SoilContext, conditions: &Conditions) {
        let Self { kind, state, scratch, .. } = self;
        let RoverScratch { rover, contacts, soil_on_wheel, domains, .. } = scratch;
        press_wheels_in(context, rover, &kind.wheel_shapes, &mut state.wheels, conditions, contacts, domains);
        for (contact, wrench) in contacts.iter().zip(soil_on_wheel) {
            state.notices.count(contact);
            *wrench = contact.wrench;
        }
    }

    /// Adds the dust that its wheels throw at the end of a heartbeat, as if they had touched the soil and slid
    /// through all of it as they do then.
    fn throw_dust(&self, model: &Model, (sequence, at): (u64, SimTime), ground: &GroundPatch, thrown: &mut ThrownDust) {
        let (soils, scenario) = (model.soils(&self.kind), model.scenario());
        if !soils.any_dust() {
            return;
        }
        let RoverScratch { rover, contacts, .. } = &self.scratch;
        for (wheel, (kinematics, contact)) in rover.wheel_motions().into_iter().zip(contacts).enumerate() {
            if contact.contact_nodes == 0 {
                continue;
            }
            let motion = WheelMotion {
                world_from_wheel: kinematics.world_from_wheel,
                linear_m_s: kinematics.linear,
                angular_rad_s: kinematics.angular,
            };
            let centre_m = motion.world_from_wheel.translation.vector;
            let Some(dust) = soils.at(centre_m.x, centre_m.y).dust() else { continue };
            let by = [self.id.0, wheel as u32];
            let throw = DustSource {
                by,
                wheel: &self.kind.wheel_shapes[wheel],
                motion: &motion,
                normal: contact.terrain_normal,
                duration_s: scenario.heartbeat.secs_f64(),
                at,
            };
            let mut rng = stream_at(scenario.seed, &format!("dust {} {}", by[0], by[1]), sequence);
            if let Some(parcel) = dust.thrown(&throw, |x, y| ground.height_m(x, y), &mut rng) {
                thrown.push(parcel, scenario.gravity_m_s2, ground);
            }
        }
    }

    fn in_contact(&mut self) -> ContactRover<'_> {
        let stands = self.stepped_by == SteppedBy::Nobody;
        // The floor memory of a ghost is that of its own process, or of none.
        let floors: &mut [FloorMemory] = if self.is_ghost() { &mut [] } else { &mut self.state.floors };
        ContactRover {
            id: self.id.0,
            rover: &self.scratch.rover,
            stands,
            shapes: &self.kind.contact_shapes,
            floors,
            in_points: &self.scratch.in_points,
            forces: &mut self.scratch.forces,
        }
    }

    /// Adds the forces of contacts on wheels to those of the soil, and the wrenches of granular soil on links.
    fn add_contacts(&mut self) {
        let RoverScratch { soil_on_wheel, forces, contacts, in_points, .. } = &mut self.scratch;
        forces.on_links.extend_from_slice(in_points);
        for ((soil, touched), contact) in soil_on_wheel.iter_mut().zip(&forces.on_wheels).zip(contacts) {
            soil.force += touched.force;
            soil.torque += touched.torque;
            contact.wrench = *soil;
        }
    }

    fn step(&mut self) {
        let RoverScratch { rover, soil_on_wheel, forces, targets, .. } = &mut self.scratch;
        match self.stepped_by {
            SteppedBy::This => rover.step(targets, &Forces { soil_on_wheel, on_links: &forces.on_links }),
            SteppedBy::Another => rover.coast(),
            SteppedBy::Nobody => {}
        }
    }
}

/// A loose rock as the solid that presses the soil.
fn solid_of(rock: &LooseRock, ground: &GroundPatch) -> ConvexSolid {
    let mut solid = ConvexSolid::new(&ground.shapes()[rock.inertia.shape], rock.inertia.radius_m);
    solid.place(&rock.state.world_from_rock);
    solid
}

fn press_rock(context: &mut SoilContext, rock: &mut LooseRock, solid: &mut ConvexSolid, conditions: &Conditions) {
    let LooseRockState { world_from_rock, twist, .. } = &rock.state;
    solid.place(world_from_rock);
    let motion = SolidMotion { linear_m_s: twist.linear, angular_rad_s: twist.angular, mass_kg: rock.inertia.mass_kg };
    match solid::step(context, solid, world_from_rock.translation.vector, &motion, conditions) {
        Some(contact) => rock.add(&contact.wrench),
        None => rock.stand_on(context.ground, conditions.dt_s),
    }
}

/// Embeds loose rocks that lie partly in the soil: it has given way under each of them.
pub(crate) fn embed_rocks(model: &Model, state: &mut State) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (id, rock) in state.rocks.clone() {
        let Some(inertia) = model.rocks().get(&id).cloned() else { continue };
        let at = rock.world_from_rock.translation;
        let mut ground = GroundPatch::of_square(model.terrain(), &Default::default(), [at.x, at.y], inertia.reach_m());
        ground.borrow_from(&mut state.ruts);
        let mut memory = MemoryPatch::lent_by(&mut state.soil, &ground);
        let solid = solid_of(&LooseRock::new(id, inertia, rock), &ground);
        let mut scratch = selene_soil::PressScratch::default();
        let soils = &model.scenario().soils;
        let mut context = SoilContext { soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        solid::embed(&mut context, &solid);
        edits.append(&mut ground.take_edits());
        ground.give_back(&mut state.ruts);
        memory.give_back(&mut state.soil);
    }
    edits
}
