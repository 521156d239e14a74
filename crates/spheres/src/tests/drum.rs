//! Drums among grains: thin surfaces that hold, carry and divide grains.

use std::f64::consts::{FRAC_PI_2, TAU};

use nalgebra::{Isometry3, Point3, Vector3};
use selene_crm::{Body, BodyShape, Drum, Wall};

use super::{CLOSED, GLASS, GRAVITY_M_S2, SMOOTH, close, model, run};
use crate::{Filling, Model, Partner, Scratch, Sphere, SpheresSpec, State, step};

/// Its lips are at 120°, 240° and 0° in its own frame.
const DRUM: Drum = Drum { radius_m: 0.1, half_length_m: 0.03, slices: 1, scoops: 3, channel_m: 0.03, overlap_rad: 1.0 };
/// Middle of a box 0.3 m wide.
const MIDDLE_M: f64 = 0.15;

/// The drum, axis along y, which turns at this rate about it, in the middle of the box. Its own x and y are the box's x
/// and −z, turned by `angle_rad` about y.
fn drum(shape: Drum, angle_rad: f64, turn_rad_s: f64) -> Body {
    let lying = Isometry3::new(Vector3::repeat(MIDDLE_M), Vector3::x() * -FRAC_PI_2);
    let turned = Isometry3::rotation(Vector3::z() * angle_rad);
    Body {
        shape: BodyShape::Drum(shape),
        pose: lying * turned,
        velocity_m_s: Vector3::zeros(),
        angular_velocity_rad_s: Vector3::y() * turn_rad_s,
        friction: 0.5,
    }
}

fn in_drum(body: &Body, sphere: &Sphere) -> Vector3<f64> {
    (body.pose.inverse() * Point3::from(sphere.position_m)).coords
}

/// Grains in the drum's cylinder that are off its surfaces by 1 % of their radius at least.
fn filled(model: &Model, body: &Body, radius_m: [f64; 2]) -> State {
    let mut state = State::default();
    let size_m = model.container().size_m;
    let filling = Filling { low_m: [0.0; 3], high_m: size_m, radius_m, velocity_m_s: Vector3::zeros(), seed: 2 };
    state.fill(model, &filling).expect("grains");
    let BodyShape::Drum(shape) = body.shape else { unreachable!("it is a drum") };
    state.retain(|sphere| {
        let at = in_drum(body, sphere);
        let is_free = |surface| shape.off_surface_m(surface, &at).norm() > 1.01 * sphere.radius_m;
        shape.holds(&at) && (0..shape.surface_count()).all(is_free)
    });
    state
}

/// A grain that falls on the inner side of the lowest panel rolls to its lowest place, touches nothing else, and its
/// weight is on the drum.
#[test]
fn a_grain_rests_in_a_scoop() {
    let model =
        model(&SpheresSpec { rolling_friction: 0.2, restitution: 0.2, ..GLASS }, [0.3; 3], CLOSED, GRAVITY_M_S2);
    // The lip of panel 0 is 40° before the lowest place, so that the panel passes under the axis.
    let body = drum(DRUM, FRAC_PI_2 - TAU / 3.0 + 0.7, 0.0);
    let mut state = State::default();
    let radius_m = 0.008;
    state.add(radius_m, Vector3::new(MIDDLE_M, MIDDLE_M, MIDDLE_M - 0.076), Vector3::zeros());
    run(&model, &mut state, &[body], 2.0);
    let given_n = run(&model, &mut state, &[body], 0.1).reactions[0].impulse_n_s / 0.1;
    let sphere = state.spheres[0];
    close("on the drum, N", -given_n.z, state.mass_kg(&model) * GRAVITY_M_S2, 1e-3);
    assert!(sphere.velocity_m_s.norm() < 1e-4, "{sphere:?}");
    let [contact] = &state.contacts[..] else { panic!("{:?}", state.contacts) };
    assert!(matches!(contact.partner, Partner::Shell { body: 0, surface: 2.. }), "{contact:?}");
}

/// A disc and a panel are touched at once, each with its own memory; so are, where three scoops overlap, two panels.
#[test]
fn a_grain_touches_several_surfaces_at_once() {
    let model = model(&GLASS, [0.3; 3], CLOSED, 0.0);
    let body = drum(DRUM, 0.0, 0.0);
    let mut state = State::default();
    // In the drum's frame: 60° behind the lip at 120°, its panel is at 0.085 m; the disc is at 0.03 m.
    let at = |across_m: f64, degrees: f64, z_m: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        (body.pose * Point3::new(cos * across_m, sin * across_m, z_m)).coords
    };
    state.add(0.01, at(0.0755, 60.0, 0.0205), Vector3::zeros());
    // 30° behind the lip, between its panel at 0.0925 m and the tail ahead at 0.0625 m.
    state.add(0.0149, at(0.0775, 90.0, -0.0155), Vector3::zeros());
    run(&model, &mut state, &[body], 1e-4);
    let partners: Vec<_> = state.contacts.iter().map(|contact| (contact.sphere, contact.partner)).collect();
    let shell = |surface| Partner::Shell { body: 0, surface };
    assert_eq!(partners, [(0, shell(1)), (0, shell(2)), (1, shell(0)), (1, shell(2)), (1, shell(3))]);
}

/// Grains in a drum that turns are carried up on the side that rises, and none leaves through its panels or discs: in
/// the digging sense they stay in it.
#[test]
fn grains_are_carried_round_in_a_turning_drum_and_stay_in_it() {
    let model = model(&GLASS, [0.3; 3], CLOSED, GRAVITY_M_S2);
    let mut body = drum(DRUM, 0.0, 4.0);
    let mut state = filled(&model, &body, [0.005, 0.007]);
    state.retain(|sphere| in_drum(&body, sphere).xy().norm() < 0.05);
    let (count, mut scratch, mut mean_x_m) = (state.spheres.len(), Scratch::default(), 0.0);
    assert!(count > 50, "{count}");
    for number in 0..50 {
        step(&model, &mut state, &[body], 0.02, &mut scratch).expect("a step");
        body = body.moved(0.02);
        if number >= 25 {
            let sum_m: f64 = state.spheres.iter().map(|sphere| sphere.position_m.x - MIDDLE_M).sum();
            mean_x_m += sum_m / (25.0 * count as f64);
        }
    }
    let held = state.spheres.iter().filter(|sphere| DRUM.holds(&in_drum(&body, sphere))).count();
    println!("{held} of {count} grains are held, {:.1} mm off the axis", 1e3 * mean_x_m);
    assert_eq!(held, count);
    // About +y the lowest place of the drum moves towards −x.
    assert!(mean_x_m < -0.005, "{mean_x_m} m");
}

/// Grains are poured against both ends of a standing drum and into it: no centre ever changes the side of a disc.
#[test]
fn nothing_passes_a_disc() {
    let model = model(&GLASS, [0.3; 3], CLOSED, GRAVITY_M_S2);
    let shape = Drum { slices: 2, half_length_m: 0.04, ..DRUM };
    // Standing on end: its discs bear what falls.
    let turning = Body {
        pose: Isometry3::translation(MIDDLE_M, MIDDLE_M, MIDDLE_M),
        angular_velocity_rad_s: Vector3::z() * 6.0,
        velocity_m_s: Vector3::z() * 0.2,
        ..drum(shape, 0.0, 0.0)
    };
    let mut body = turning;
    let mut state = State::default();
    let filling = Filling {
        low_m: [0.05; 3],
        high_m: [0.25; 3],
        radius_m: [0.006, 0.008],
        velocity_m_s: Vector3::z() * -1.0,
        seed: 7,
    };
    state.fill(&model, &filling).expect("grains");
    state.retain(|sphere| {
        let at = in_drum(&body, sphere);
        (0..shape.surface_count()).all(|surface| shape.off_surface_m(surface, &at).norm() > 1.01 * sphere.radius_m)
    });
    let side = |body: &Body, sphere: &Sphere| {
        let at = in_drum(body, sphere);
        (at.xy().norm() < shape.radius_m).then(|| (at.z / 0.04).floor().clamp(-2.0, 1.0))
    };
    let mut scratch = Scratch::default();
    for _ in 0..100 {
        let before: Vec<_> = state.spheres.iter().map(|sphere| side(&body, sphere)).collect();
        step(&model, &mut state, &[body], 2e-3, &mut scratch).expect("a step");
        body = body.moved(2e-3);
        for (sphere, before) in state.spheres.iter().zip(before) {
            let after = side(&body, sphere);
            assert!(before.is_none() || after.is_none() || before == after, "{before:?} to {after:?}: {sphere:?}");
        }
    }
    let touching = state.contacts.iter().filter(|contact| matches!(contact.partner, Partner::Shell { .. })).count();
    assert!(touching > 20, "{touching}");
}

/// A drum digs in a bed: gravity's impulse is shared by grains, walls and drum to rounding.
#[test]
fn momentum_given_is_momentum_taken() {
    let (model, mut state, body) = dug();
    let (before_n_s, duration_s) = (state.momentum_n_s(&model), 0.1);
    let outcome = run(&model, &mut state, &[body], duration_s);
    let weight_n_s = model.gravity_m_s2() * (state.mass_kg(&model) * duration_s);
    let walls_n_s: Vector3<f64> = outcome.walls_n_s.iter().flatten().sum();
    let on_drum = outcome.reactions[0];
    assert!(on_drum.impulse_n_s.z > 1e-3 && on_drum.angular_impulse_n_m_s.y < -1e-4, "{on_drum:?}");
    let missing_n_s = before_n_s + weight_n_s - state.momentum_n_s(&model) - walls_n_s - on_drum.impulse_n_s;
    assert!(missing_n_s.norm() < 1e-11 * weight_n_s.norm(), "{missing_n_s} of {weight_n_s}");
}

/// Far from walls and without gravity, the drum gets the angular momentum that a cloud of grains loses.
#[test]
fn a_drum_takes_the_angular_momentum_that_grains_lose() {
    let model = model(&GLASS, [0.3; 3], [[Wall::Open; 2]; 3], 0.0);
    let body = drum(DRUM, 0.0, 3.0);
    let mut state = filled(&model, &body, [0.005, 0.007]);
    let before = (state.momentum_n_s(&model), state.angular_momentum_n_m_s(&model));
    // Its origin does not move, so the moment about the corner is that about the origin and of the force there.
    let on_drum = run(&model, &mut state, &[body], 0.02).reactions[0];
    let given_n_m_s = on_drum.angular_impulse_n_m_s + body.pose.translation.vector.cross(&on_drum.impulse_n_s);
    let lost_n_s = before.0 - state.momentum_n_s(&model);
    let lost_n_m_s = before.1 - state.angular_momentum_n_m_s(&model);
    println!("{given_n_m_s} N m s of {lost_n_m_s}");
    assert!(given_n_m_s.norm() > 1e-6, "they must have met");
    assert!((lost_n_s - on_drum.impulse_n_s).norm() < 1e-12, "{lost_n_s} {on_drum:?}");
    assert!((lost_n_m_s - given_n_m_s).norm() < 1e-12, "{lost_n_m_s} {given_n_m_s}");
}

/// Smooth elastic grains fly about in and around a standing drum of two slices, over its rims and lips too. To 2 %: the
/// sum of the errors of some collisions per grain, as without a drum.
#[test]
fn a_standing_drum_gives_and_takes_no_energy() {
    let model = model(&SpheresSpec { restitution: 1.0, friction: 0.0, ..GLASS }, [0.3; 3], CLOSED, 0.0);
    let shape = Drum { slices: 2, half_length_m: 0.06, ..DRUM };
    let body = Body { friction: 0.0, ..drum(shape, 0.0, 0.0) };
    let mut state = filled(&model, &body, [0.008, 0.01]);
    for (number, sphere) in (0..).zip(&mut state.spheres) {
        let angle = 2.4 * f64::from(number);
        sphere.velocity_m_s = Vector3::new(angle.cos(), angle.sin(), (0.7 * angle).sin());
    }
    let begun_j = state.energy_j(&model);
    let (mut scratch, mut met) = (Scratch::default(), 0);
    for _ in 0..40 {
        step(&model, &mut state, &[body], 5e-3, &mut scratch).expect("a step");
        met += state.contacts.iter().filter(|contact| matches!(contact.partner, Partner::Shell { .. })).count();
    }
    assert!(met > 50, "{met}");
    let outside = state.spheres.iter().filter(|sphere| !shape.holds(&in_drum(&body, sphere))).count();
    assert!(outside > 5, "{outside} left");
    close("energy, J", state.energy_j(&model), begun_j, 0.02);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let after = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let (model, mut state, body) = dug();
            let outcome = run(&model, &mut state, &[body], 0.05);
            (state.hash(), outcome, state)
        })
    };
    let one = after(1);
    assert!(one.2.contacts.iter().any(|contact| matches!(contact.partner, Partner::Shell { .. })));
    assert!(one == after(2) && one == after(4), "bytes differ");
    let bytes = postcard::to_stdvec(&one.2).expect("bytes");
    let read: State = postcard::from_bytes(&bytes).expect("a state");
    assert_eq!(read.hash(), one.0);
}

/// A drum that comes down into a bed while it turns; its first 0.1 s.
fn dug() -> (Model, State, Body) {
    let floor = [Wall::Rough, Wall::Open];
    let model = model(&GLASS, [0.3, 0.12, 0.3], [[SMOOTH; 2], [SMOOTH; 2], floor], GRAVITY_M_S2);
    let mut state = State::default();
    let filling = Filling {
        low_m: [0.0; 3],
        high_m: [0.3, 0.12, 0.08],
        radius_m: [0.006, 0.008],
        velocity_m_s: Vector3::zeros(),
        seed: 9,
    };
    state.fill(&model, &filling).expect("grains");
    run(&model, &mut state, &[], 0.3);
    let top_m = state.spheres.iter().map(|sphere| sphere.position_m.z + sphere.radius_m).fold(0.0, f64::max);
    let above = drum(DRUM, 0.0, 3.0);
    let body = Body {
        pose: Isometry3::from_parts(Vector3::new(0.12, 0.06, top_m + DRUM.radius_m).into(), above.pose.rotation),
        velocity_m_s: Vector3::new(0.1, 0.0, -0.2),
        ..above
    };
    run(&model, &mut state, &[body], 0.1);
    (model, state, body.moved(0.1))
}
