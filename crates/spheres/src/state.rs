//! The state of a simulation, which determines its future: the grains, and the memory of their contacts.

use nalgebra::Vector3;
use selene_base::random::{RngExt, Stream, stream_at};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::SpheresError;
use crate::law::Memory;
use crate::model::Model;

/// The most grains of a state.
const SPHERES_MAX: usize = 1 << 20;
/// Allowed radii of grains, m.
const RADII_M: std::ops::RangeInclusive<f64> = 1e-5..=10.0;

/// A grain: a sphere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sphere {
    /// Number that identifies the grain, and never changes.
    pub id: u32,
    /// Radius, m: 10 µm to 10 m.
    pub radius_m: f64,
    /// Position of its centre, m from the container's low corner.
    pub position_m: Vector3<f64>,
    /// Velocity of its centre, m/s.
    pub velocity_m_s: Vector3<f64>,
    /// Angular velocity in the container's axes, rad/s.
    pub angular_velocity_rad_s: Vector3<f64>,
}

/// What a sphere is in contact with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Partner {
    /// The sphere with this id.
    Sphere(u32),
    /// A face of the container: 0 to 5, the low one of x first, then the high one.
    Wall(u8),
    /// The body at this position of the list; the caller of `step` must keep their order.
    Body(u32),
    /// A surface of the drum at this position of the list of bodies. A grain may touch several of them at once.
    Shell {
        /// The drum's position in the list.
        body: u32,
        /// Number of the surface, as `selene_crm::Drum` counts them.
        surface: u16,
    },
}

/// A contact that lasts from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SphereContact {
    /// Id of the sphere; for two spheres, the lower one.
    pub sphere: u32,
    /// The surface that it touches.
    pub partner: Partner,
    /// Memory of the contact.
    pub memory: Memory,
}

/// A box of grains that do not touch yet, to settle under gravity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// Low corner, m.
    pub low_m: [f64; 3],
    /// High corner, m.
    pub high_m: [f64; 3],
    /// The least and the greatest radius, m; radii are evenly distributed between them.
    pub radius_m: [f64; 2],
    /// Initial velocity of the grains, m/s.
    pub velocity_m_s: Vector3<f64>,
    /// Seed of radii and positions.
    pub seed: u64,
}

impl Filling {
    /// Radius of the grain with this number in an empty state that was filled, m.
    #[must_use]
    pub fn radius_m(&self, number: u64) -> f64 {
        self.radius_and_chance(number).0
    }

    /// Radius of a grain, m, and the stream that its position is drawn from.
    fn radius_and_chance(&self, number: u64) -> (f64, Stream) {
        let [least_m, most_m] = self.radius_m;
        let mut stream = stream_at(self.seed, "grains", number);
        (least_m + (most_m - least_m) * stream.random::<f64>(), stream)
    }
}

/// Grains and their contacts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Grains, sorted by id.
    pub spheres: Vec<Sphere>,
    /// Contacts, sorted by id of the sphere, then partner.
    pub contacts: Vec<SphereContact>,
}

impl State {
    /// Adds a grain that does not spin, and returns its id.
    pub fn add(&mut self, radius_m: f64, position_m: Vector3<f64>, velocity_m_s: Vector3<f64>) -> u32 {
        let id = self.spheres.last().map_or(0, |last| last.id.saturating_add(1));
        self.spheres.push(Sphere { id, radius_m, position_m, velocity_m_s, angular_velocity_rad_s: Vector3::zeros() });
        id
    }

    /// Adds `filling`: one grain at a random position in each cell of a lattice as wide as the greatest grain.
    ///
    /// # Errors
    /// When it is not inside of the container, is thinner than a grain, or has too many grains, or when radii are out
    /// of range.
    pub fn fill(&mut self, model: &Model, filling: &Filling) -> Result<(), SpheresError> {
        let [least_m, most_m] = filling.radius_m;
        if !(RADII_M.contains(&least_m) && least_m <= most_m && RADII_M.contains(&most_m)) {
            let reported = format!("radii from {least_m} to {most_m} m: must ascend within 0.00001 to 10 m");
            return Err(SpheresError::Filling(reported));
        }
        let counts = lattice(model, filling)?;
        let wanted = counts.map(|count| count as f64).iter().product::<f64>() + self.spheres.len() as f64;
        if wanted > SPHERES_MAX as f64 {
            return Err(SpheresError::Filling(format!("{wanted} grains: at most {SPHERES_MAX} are allowed")));
        }
        for number in 0..counts.iter().product::<usize>() {
            let cell = [number % counts[0], number / counts[0] % counts[1], number / (counts[0] * counts[1])];
            let (radius_m, mut stream) = filling.radius_and_chance(number as u64);
            let mut from_to = |low: f64, high: f64| low + (high - low) * stream.random::<f64>();
            let free_m = 2.0 * (most_m - radius_m);
            let position_m = Vector3::from_fn(|axis, _| {
                filling.low_m[axis] + 2.0 * most_m * cell[axis] as f64 + radius_m + from_to(0.0, free_m)
            });
            self.add(radius_m, position_m, filling.velocity_m_s);
        }
        Ok(())
    }

    /// Keeps the grains for which `is_kept` is true, and the memory of contacts between them.
    pub fn retain(&mut self, is_kept: impl Fn(&Sphere) -> bool) {
        self.spheres.retain(is_kept);
        let spheres = &self.spheres;
        let is_there = |id: u32| at(spheres, id).is_some();
        self.contacts.retain(|contact| match contact.partner {
            Partner::Sphere(other) => is_there(contact.sphere) && is_there(other),
            Partner::Wall(_) | Partner::Body(_) | Partner::Shell { .. } => is_there(contact.sphere),
        });
    }

    /// Gives bodies other positions in the list: that of `at`, or none for a body whose contacts are forgotten.
    pub fn renumber_bodies(&mut self, at: impl Fn(u32) -> Option<u32>) {
        self.contacts.retain_mut(|contact| match &mut contact.partner {
            Partner::Body(body) | Partner::Shell { body, .. } => at(*body).map(|at| *body = at).is_some(),
            Partner::Sphere(_) | Partner::Wall(_) => true,
        });
        self.contacts.sort_unstable_by_key(SphereContact::key);
    }

    /// The grain with this id.
    #[must_use]
    pub fn sphere(&self, id: u32) -> Option<&Sphere> {
        at(&self.spheres, id).map(|place| &self.spheres[place])
    }

    /// Hash of all bits of the state (XXH3).
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        let vector = |hasher: &mut Xxh3, vector: &Vector3<f64>| {
            vector.iter().for_each(|number| hasher.update(&number.to_bits().to_le_bytes()));
        };
        hasher.update(&(self.spheres.len() as u64).to_le_bytes());
        for sphere in &self.spheres {
            hasher.update(&sphere.id.to_le_bytes());
            hasher.update(&sphere.radius_m.to_bits().to_le_bytes());
            [&sphere.position_m, &sphere.velocity_m_s, &sphere.angular_velocity_rad_s]
                .into_iter()
                .for_each(|numbers| vector(&mut hasher, numbers));
        }
        for SphereContact { sphere, partner, memory } in &self.contacts {
            let (kind, number, part) = match *partner {
                Partner::Sphere(other) => (0, other, 0),
                Partner::Wall(face) => (1, u32::from(face), 0),
                Partner::Body(body) => (2, body, 0),
                Partner::Shell { body, surface } => (3, body, u32::from(surface)),
            };
            [*sphere, kind, number, part].iter().for_each(|number| hasher.update(&number.to_le_bytes()));
            vector(&mut hasher, &memory.shear_n);
            vector(&mut hasher, &memory.rolling_n_m);
            hasher.update(&memory.contact_radius_m.to_bits().to_le_bytes());
        }
        hasher.digest()
    }

    /// Checks a state, perhaps read from a file, as each step does.
    ///
    /// # Errors
    /// When grains or contacts are not in their order, are too many, no finite numbers, or out of the container.
    pub fn check(&self, model: &Model) -> Result<(), SpheresError> {
        if !self.spheres.is_sorted_by(|one, next| one.id < next.id) {
            return Err(SpheresError::Order("grains"));
        }
        if !self.contacts.is_sorted_by(|one, next| one.key() < next.key()) {
            return Err(SpheresError::Order("contacts"));
        }
        if self.spheres.len() > SPHERES_MAX {
            let reported = format!("{} grains in a state: at most {SPHERES_MAX} are allowed", self.spheres.len());
            return Err(SpheresError::Filling(reported));
        }
        if let Some(contact) = self.contacts.iter().find(|contact| !contact.memory.is_sound()) {
            let what = "its contact remembers what is no finite number".to_owned();
            return Err(SpheresError::Sphere { id: contact.sphere, what });
        }
        check_spheres(model, &self.spheres)
    }
}

/// Checks that grains are valid and within the container.
pub(crate) fn check_spheres(model: &Model, spheres: &[Sphere]) -> Result<(), SpheresError> {
    spheres.iter().try_for_each(|sphere| sphere.check(model))
}

/// Index of an id in a list sorted by id.
fn at(spheres: &[Sphere], id: u32) -> Option<usize> {
    spheres.binary_search_by_key(&id, |sphere| sphere.id).ok()
}

impl SphereContact {
    pub(crate) fn key(&self) -> (u32, Partner) {
        (self.sphere, self.partner)
    }
}

impl Memory {
    fn is_sound(&self) -> bool {
        let numbers = self.shear_n.iter().chain(&self.rolling_n_m);
        numbers.chain([&self.contact_radius_m]).all(|number| number.is_finite()) && self.contact_radius_m >= 0.0
    }
}

impl Sphere {
    /// Velocity of the grain's material at an arm from its centre, m/s.
    pub(crate) fn velocity_at(&self, arm_m: &Vector3<f64>) -> Vector3<f64> {
        self.velocity_m_s + self.angular_velocity_rad_s.cross(arm_m)
    }

    fn check(&self, model: &Model) -> Result<(), SpheresError> {
        let Self { id, radius_m, position_m, velocity_m_s, angular_velocity_rad_s } = self;
        let refuse = |what| Err(SpheresError::Sphere { id: *id, what });
        if !RADII_M.contains(radius_m) {
            return refuse(format!("radius {radius_m} m: must be 0.00001 to 10 m"));
        }
        let mut numbers = position_m.iter().chain(velocity_m_s).chain(angular_velocity_rad_s);
        if !numbers.all(|number| number.is_finite()) {
            return refuse("place or motion is no finite number".to_owned());
        }
        let size_m = model.container().size_m;
        let is_inside = |axis: usize| (-radius_m..=size_m[axis] + radius_m).contains(&position_m[axis]);
        if (0..3).all(is_inside) {
            return Ok(());
        }
        Err(SpheresError::Outside { id: *id, position_m: (*position_m).into() })
    }
}

/// Number of lattice cells along x, y and z.
fn lattice(model: &Model, filling: &Filling) -> Result<[usize; 3], SpheresError> {
    let (size_m, step_m) = (model.container().size_m, 2.0 * filling.radius_m[1]);
    let mut counts = [0; 3];
    for axis in 0..3 {
        let (low, high, end) = (filling.low_m[axis], filling.high_m[axis], size_m[axis]);
        let is_inside = low >= 0.0 && high <= end * (1.0 + 1e-9);
        if !is_inside || high - low < step_m * 0.999 {
            return Err(SpheresError::Filling(format!(
                "from {low} to {high} m: must be inside of 0 to {end} m and at least {step_m} m thick"
            )));
        }
        counts[axis] = ((high - low) / step_m * (1.0 + 1e-9)).floor().max(1.0) as usize;
    }
    Ok(counts)
}
