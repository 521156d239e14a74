//! Grains on their way to a device and back.

use nalgebra::Vector3;
use rayon::prelude::*;

use super::{
    Arrangement, CROWDED, ClockRecord, FIRST_BODY, FIRST_WALL, NO_PARTNER, NOT_FINITE, OUTSIDE, TOO_DEEP, UNSTABLE,
};
use crate::error::SpheresError;
use crate::law::Memory;
use crate::model::Model;
use crate::state::{Partner, Sphere, SphereContact, State, check_spheres};

/// Four words each of a grain, and of a slot.
const GRAIN_WORDS: usize = 4;
const SLOT_WORDS: usize = 2;
const GRAINS_A_TASK: usize = 4096;

/// Grains and their partners as a device has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grains {
    /// Four words of each grain.
    pub grains: Vec<[u32; 4]>,
    /// Two words of each slot, one plane of all grains after the other; of as many slots as are in use, and of one more
    /// that ends each list, if there is one.
    pub pairs: Vec<[u32; 4]>,
}

/// The grains of `state` and the memory of their contacts, and the most contacts of a grain.
///
/// # Errors
/// When a grain has more contacts than slots.
pub fn pack(arrangement: &Arrangement, state: &State) -> Result<(Grains, u32), SpheresError> {
    let words = |sphere: &Sphere| grain_words(arrangement, sphere);
    let grains = state.spheres.par_iter().with_min_len(GRAINS_A_TASK).flat_map_iter(words).collect();
    let contacts = contacts_of(state);
    let mut used = vec![0_u32; arrangement.grains];
    contacts.iter().for_each(|(grain, ..)| used[*grain] += 1);
    let most = used.iter().copied().max().unwrap_or(0);
    if let Some(grain) = used.iter().position(|used| *used as usize > arrangement.slots) {
        return Err(crowded(arrangement, state, grain));
    }
    let planes = (most as usize + 1).min(arrangement.slots);
    let mut pairs = vec![[NO_PARTNER, 0, 0, 0]; SLOT_WORDS * planes * arrangement.grains];
    used.fill(0);
    // They are sorted so that the partners of each grain ascend.
    for (grain, partner, memory) in contacts {
        let first = SLOT_WORDS * used[grain] as usize * arrangement.grains + grain;
        [pairs[first], pairs[first + arrangement.grains]] = slot_words(partner, &memory);
        used[grain] += 1;
    }
    Ok((Grains { grains, pairs }, most))
}

/// Grain, number of the partner and memory: a contact of two grains twice, those of missing grains not at all.
fn contacts_of(state: &State) -> Vec<(usize, u32, Memory)> {
    let place = |id: u32| state.spheres.binary_search_by_key(&id, |sphere| sphere.id).ok();
    let mut contacts = Vec::new();
    for SphereContact { sphere, partner, memory } in &state.contacts {
        let Some(grain) = place(*sphere) else { continue };
        match *partner {
            Partner::Sphere(other) => {
                let Some(other) = place(other).filter(|other| *other > grain) else { continue };
                contacts.push((grain, other as u32, *memory));
                contacts.push((other, grain as u32, *memory));
            }
            Partner::Wall(face) => contacts.push((grain, FIRST_WALL + u32::from(face), *memory)),
            Partner::Body(body) => contacts.push((grain, FIRST_BODY.saturating_add(body).min(NO_PARTNER - 1), *memory)),
            // A step with a drum is refused.
            Partner::Shell { .. } => {}
        }
    }
    contacts
}

fn grain_words(arrangement: &Arrangement, sphere: &Sphere) -> [[u32; 4]; GRAIN_WORDS] {
    let (fixed, rest) = arrangement.units(&sphere.position_m);
    let velocity: Vector3<f32> = sphere.velocity_m_s.cast();
    let left: Vector3<f32> = (sphere.velocity_m_s - velocity.cast()).cast();
    let with = |[x, y, z]: [f32; 3], fourth: f32| [x, y, z, fourth].map(f32::to_bits);
    let [x, y, z] = fixed.map(|along| along as u32);
    [
        [x, y, z, (sphere.radius_m as f32).to_bits()],
        with(rest, left.x),
        with(velocity.into(), left.y),
        with(sphere.angular_velocity_rad_s.cast().into(), left.z),
    ]
}

fn slot_words(partner: u32, memory: &Memory) -> [[u32; 4]; SLOT_WORDS] {
    let [sx, sy, sz] = memory.shear_n.map(|along| (along as f32).to_bits()).into();
    let [rx, ry, rz] = memory.rolling_n_m.map(|along| (along as f32).to_bits()).into();
    [[partner, (memory.contact_radius_m as f32).to_bits(), sx, sy], [sz, rx, ry, rz]]
}

/// Sets the grains of `state`, which are those that were packed in this order, and its contacts to those of a device.
pub fn unpack(arrangement: &Arrangement, from: &Grains, state: &mut State) {
    let spheres = state.spheres.par_iter_mut().zip(from.grains.par_chunks_exact(GRAIN_WORDS));
    spheres.with_min_len(GRAINS_A_TASK).for_each(|(sphere, words)| {
        let [place, rest, velocity, spin] = [0, 1, 2, 3].map(|word| first_three(words[word]));
        sphere.position_m = arrangement.position_m(place.map(|word| word as i32), rest.map(f32::from_bits));
        // 49 bits: the sum is exact.
        sphere.velocity_m_s = vector(velocity) + vector([1, 2, 3].map(|word| words[word][3]));
        sphere.angular_velocity_rad_s = vector(spin);
    });
    let spheres = &state.spheres;
    let grains = (0..spheres.len()).into_par_iter().with_min_len(GRAINS_A_TASK);
    state.contacts = grains.flat_map_iter(|grain| contacts_at(from, spheres, grain)).collect();
}

/// The contacts of a grain with partners of a higher number, walls and bodies.
fn contacts_at<'a>(
    from: &'a Grains,
    spheres: &'a [Sphere],
    grain: usize,
) -> impl Iterator<Item = SphereContact> + use<'a> {
    let plane = spheres.len();
    let slots = (grain..from.pairs.len()).step_by(SLOT_WORDS * plane);
    let words = slots.map(move |first| (from.pairs[first], from.pairs[first + plane]));
    let listed = words.take_while(|(first, _)| first[0] != NO_PARTNER);
    let met = listed.filter(move |(first, _)| first[0] as usize > grain && f32::from_bits(first[1]) != 0.0);
    met.map(move |([partner, contact, sx, sy], [sz, rx, ry, rz])| SphereContact {
        sphere: spheres[grain].id,
        partner: partner_of(spheres, partner),
        memory: Memory {
            shear_n: vector([sx, sy, sz]),
            rolling_n_m: vector([rx, ry, rz]),
            contact_radius_m: f32::from_bits(contact).into(),
        },
    })
}

fn partner_of(spheres: &[Sphere], number: u32) -> Partner {
    match number {
        FIRST_BODY.. => Partner::Body(number - FIRST_BODY),
        FIRST_WALL.. => Partner::Wall((number - FIRST_WALL) as u8),
        _ => Partner::Sphere(spheres[number as usize].id),
    }
}

fn first_three([x, y, z, _]: [u32; 4]) -> [u32; 3] {
    [x, y, z]
}

fn vector(words: [u32; 3]) -> Vector3<f64> {
    Vector3::from(words.map(|word| f64::from(f32::from_bits(word))))
}

/// What a clock with faults reports. `state` has the grains as they are on the device.
#[must_use]
pub fn fault(model: &Model, arrangement: &Arrangement, clock: &ClockRecord, state: &State) -> SpheresError {
    let is = |fault: u32| clock.faults & fault != 0;
    if is(CROWDED) {
        return crowded(arrangement, state, clock.crowded as usize);
    }
    if is(UNSTABLE) {
        return SpheresError::Unstable { speed_m_s: clock.speed.into(), substep_s: clock.failed_s.into() };
    }
    let of_grains = (is(OUTSIDE) || is(NOT_FINITE)).then(|| check_spheres(model, &state.spheres).err());
    let too_deep = || is(TOO_DEEP).then(|| deepest(model, state));
    let unknown = || SpheresError::Device(format!("faults {} in substep {}", clock.faults, clock.substeps));
    of_grains.flatten().or_else(|| too_deep().flatten()).unwrap_or_else(unknown)
}

fn crowded(arrangement: &Arrangement, state: &State, grain: usize) -> SpheresError {
    let id = state.spheres.get(grain).map_or(0, |sphere| sphere.id);
    SpheresError::Crowded { id, allowed: arrangement.slots }
}

/// The overlap that is deepest relative to what is allowed.
fn deepest(model: &Model, state: &State) -> Option<SpheresError> {
    let overlap = |contact: &SphereContact| {
        let radius_m = state.sphere(contact.sphere)?.radius_m;
        let pairing = match contact.partner {
            Partner::Sphere(other) => model.between(radius_m, state.sphere(other)?.radius_m),
            _ => model.against(radius_m, 0.0),
        };
        let (overlap_m, limit_m) = pairing.overlap(&contact.memory);
        Some((contact.sphere, overlap_m, limit_m))
    };
    let overlaps = state.contacts.iter().filter_map(overlap);
    let deepest = overlaps.max_by(|one, other| (one.1 / one.2).total_cmp(&(other.1 / other.2)));
    deepest.map(|(id, overlap_m, limit_m)| SpheresError::Overlap { id, overlap_m, limit_m })
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use selene_crm::Wall;

    use super::{pack, unpack};
    use crate::kernel::Arrangement;
    use crate::law::Memory;
    use crate::{Container, Model, Partner, SphereContact, SpheresError, SpheresSpec, State};

    const GRAINS: SpheresSpec = SpheresSpec {
        density_kg_m3: 2500.0,
        young_pa: 5e6,
        poisson: 0.3,
        restitution: 0.9,
        friction: 0.5,
        rolling_friction: 0.0,
    };

    fn contact(sphere: u32, partner: Partner) -> SphereContact {
        let numbers = Vector3::new(1.0, 0.5, -0.25) * f64::from(sphere + 1);
        let memory = Memory { shear_n: numbers, rolling_n_m: numbers * 0.125, contact_radius_m: 0.0625 };
        SphereContact { sphere, partner, memory }
    }

    /// Three grains with the ids 0, 5 and 6.
    fn state() -> State {
        let mut state = State::default();
        state.add(0.25, Vector3::new(0.5, 0.25, 0.5), Vector3::new(0.1, -1.0, 1e-9));
        state.add(0.25, Vector3::new(1.0, 0.25, 0.5), Vector3::zeros());
        state.spheres[1].id = 5;
        state.add(0.5, Vector3::new(1.5, 1.0, 0.5), Vector3::y());
        state.contacts = vec![
            contact(0, Partner::Sphere(5)),
            contact(0, Partner::Sphere(6)),
            contact(0, Partner::Wall(2)),
            contact(5, Partner::Sphere(6)),
            contact(5, Partner::Body(3)),
            contact(6, Partner::Wall(4)),
        ];
        state
    }

    fn model() -> Model {
        let container = Container { size_m: [2.0; 3], walls: [[Wall::Rough; 2]; 3] };
        Model::new(&GRAINS, &container, Vector3::zeros()).expect("a model")
    }

    /// A velocity has 48 bits there.
    #[test]
    fn grains_and_contacts_come_back_as_they_went() {
        let before = state();
        let arrangement = Arrangement::new(&model(), &before.spheres).expect("grains");
        let (grains, most) = pack(&arrangement, &before).expect("room");
        assert_eq!(most, 3);
        let mut after = State { contacts: Vec::new(), ..before.clone() };
        after.spheres.iter_mut().for_each(|sphere| sphere.velocity_m_s = Vector3::zeros());
        unpack(&arrangement, &grains, &mut after);
        assert_eq!(after.contacts, before.contacts);
        for (sphere, wanted) in after.spheres.iter().zip(&before.spheres) {
            assert_eq!(sphere.position_m, wanted.position_m);
            assert!((sphere.velocity_m_s - wanted.velocity_m_s).norm() < 1e-14);
        }
    }

    /// A contact whose grain is gone is forgotten; so many that there is no slot for them are refused.
    #[test]
    fn contacts_that_cannot_be_kept_are_dropped_or_refused() {
        let mut few = state();
        let arrangement = Arrangement::new(&model(), &few.spheres).expect("grains");
        few.contacts.push(contact(7, Partner::Wall(0)));
        few.contacts.insert(5, contact(5, Partner::Sphere(99)));
        let (grains, _) = pack(&arrangement, &few).expect("room");
        let mut after = few.clone();
        unpack(&arrangement, &grains, &mut after);
        assert_eq!(after.contacts, state().contacts);
        let mut many = state();
        many.contacts = (0..100).map(|body| contact(5, Partner::Body(body))).collect();
        let refused = pack(&arrangement, &many).expect_err("no room");
        assert_eq!(refused, SpheresError::Crowded { id: 5, allowed: arrangement.slots });
    }
}
