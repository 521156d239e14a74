//! What a lidar's receiver reports of beams that meet two boxes, by the model of `kernel::echo`.

use std::f64::consts::PI;

use selene_base::Pose;
use selene_scene::{
    Class, CpuTracer, Echoes, Material, RayOfBeam, Receiver, Reports, Scene, TraceError, Tracer, WideBeam, primitives,
};
use selene_terrain::Clipmap;

use crate::common::{PART, sun};

/// Rays to the left and to the right of the axis.
const BESIDE: f64 = 0.02;
/// Height of the sensor and of the boxes' middles, m.
const HEIGHT_M: f64 = 5.0;

/// Two boxes side by side with their faces `near_m` (on the left) and `far_m` (on the right) ahead, of these albedos and
/// instance numbers.
fn boxes(faces_m: [f64; 2], albedos: [f64; 2], numbers: [u32; 2]) -> Scene {
    let mut scene = Scene::new(&Clipmap::flat(0.5, 40.0), sun(0.3, PI));
    let mesh = scene.add_mesh(&primitives::cuboid([2.0, 2.0, 2.0])).expect("a mesh");
    for (side, ((face_m, albedo), number)) in [1.0, -1.0].into_iter().zip(faces_m.into_iter().zip(albedos).zip(numbers))
    {
        let place = Pose::translation(face_m + 1.0, side, HEIGHT_M);
        scene.add_instance(mesh, &place, Class::Rover.numbered(number), &Material::Lambert { albedo }).expect("room");
    }
    scene
}

/// A receiver of two rays, of which the left one has three quarters of the light.
fn receiver(reports: Reports) -> Receiver {
    let ray = |beside, weight| RayOfBeam { off_axis: [beside, 0.0], weight };
    Receiver {
        rays: vec![ray(BESIDE, 0.75), ray(-BESIDE, 0.25)],
        wavelength_nm: 905.0,
        range_at_10_percent_m: 100.0,
        resolution_m: 0.5,
        ranges_m: [0.5, 80.0],
        reports,
        ignores: None,
    }
}

fn traced(scene: &Scene, receiver: &Receiver) -> Result<Echoes, TraceError> {
    let beam =
        WideBeam { origin_m: [0.0, 0.0, HEIGHT_M], axis: [1.0, 0.0, 0.0], along_azimuth: [0.0, 1.0, 0.0], share: 0.0 };
    let mut echoes = Vec::new();
    CpuTracer.echoes(scene, &[beam], receiver, &mut echoes)?;
    Ok(echoes[0])
}

/// Signal of a part of the beam from a Lambert face at a distance ahead.
fn signal(weight: f64, albedo: f64, ahead_m: f64) -> f64 {
    let cos = BESIDE.atan().cos();
    weight * albedo * cos / 0.1 * (100.0 * cos / ahead_m).powi(2)
}

fn close(a: f32, b: f64) -> bool {
    (f64::from(a) / b - 1.0).abs() < 1e-5
}

#[test]
fn faces_within_the_resolution_are_one_echo_of_the_class_and_number_of_the_strongest_ray() {
    let cos = BESIDE.atan().cos();
    for (albedos, strongest) in [([0.4, 0.4], PART), ([0.1, 0.9], PART + 1)] {
        let [echo, none] =
            traced(&boxes([10.0, 10.3], albedos, [PART, PART + 1]), &receiver(Reports::Dual)).expect("one");
        let echo = echo.expect("an echo");
        let (near, far) = (signal(0.75, albedos[0], 10.0), signal(0.25, albedos[1], 10.3));
        assert!(none.is_none() && echo.instance == strongest && echo.class == Class::Rover as u16, "{echo:?}");
        assert!(close(echo.signal, near + far), "{echo:?}, not {}", near + far);
        assert!(close(echo.range_m, (near * 10.0 + far * 10.3) / (near + far) / cos), "{echo:?}");
    }
}

#[test]
fn faces_farther_apart_are_two_and_an_ignored_one_is_none_and_hides_what_is_behind() {
    let scene = boxes([10.0, 12.0], [0.4; 2], [PART, PART + 1]);
    let [near, far] = traced(&scene, &receiver(Reports::Dual)).expect("two").map(|echo| echo.expect("an echo"));
    assert!(close(near.signal, signal(0.75, 0.4, 10.0)) && close(far.signal, signal(0.25, 0.4, 12.0)));
    let ignoring = |numbers| Receiver { ignores: Some(numbers), ..receiver(Reports::Dual) };
    let [left, none] = traced(&scene, &ignoring(PART..=PART)).expect("one");
    assert!(none.is_none() && left.is_some_and(|echo| echo.instance == PART + 1));
    assert_eq!(traced(&scene, &ignoring(PART..=PART + 1)).expect("none"), [None; 2]);
    assert_eq!(traced(&scene, &ignoring(5..=6)).expect("both"), [Some(near), Some(far)], "no such parts");
}

#[test]
fn a_receiver_that_is_none_is_refused() {
    let mut scene = boxes([10.0, 12.0], [0.4; 2], [PART, PART + 2]);
    let refused = |scene: &Scene, receiver: &Receiver| {
        let error = traced(scene, receiver).expect_err("refused");
        assert!(matches!(error, TraceError::Receiver(_)) && !error.is_of_device());
        error.to_string()
    };
    for count in [0, 257] {
        let rays = vec![RayOfBeam { off_axis: [0.0; 2], weight: 1.0 }; count];
        let message = refused(&scene, &Receiver { rays, ..receiver(Reports::First) });
        assert!(message.contains(&format!("{count} rays; 1 to 256")), "{message}");
    }
    let mesh = scene.add_mesh(&primitives::sphere(0.2)).expect("a mesh");
    let (place, paint) = (Pose::translation(-5.0, 0.0, 1.0), Material::Lambert { albedo: 0.2 });
    scene.add_instance(mesh, &place, Class::Object.numbered(PART + 9), &paint).expect("room");
    scene.add_instance(mesh, &place, Class::Rover.numbered(PART + 1), &paint).expect("room");
    let message = refused(&scene, &Receiver { ignores: Some(PART..=PART + 2), ..receiver(Reports::First) });
    assert!(message.contains("do not follow one another"), "{message}");
}
