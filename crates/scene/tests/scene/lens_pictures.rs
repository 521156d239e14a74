//! Tests pictures through every lens: the Sun and stars appear where the lens projects them and keep their light,
//! distances agree with `unproject` times depth, and outside the image circle there is nothing.

use crate::common;

use std::f64::consts::{PI, TAU};

use common::{look, sun};
use nalgebra::{Point3, Vector3};
use selene_scene::{
    CameraFrame, CameraView, CpuTracer, Lens, LensModel, LightSampling, Scene, Star, Tracer, panchromatic,
};
use selene_terrain::Clipmap;

/// 64 sample points per pixel on a disc of a few pixels.
const DISC_TOLERANCE: f64 = 0.04;

/// Accuracy of the disc's centre with the same sample points, pixels.
const CENTRE_PX: f64 = 0.05;

/// Rounding of `f32` at 50 m, m.
const POINT_M: f64 = 2e-4;

/// Lenses, each with its focal length in pixels for an image of 640 × 480.
fn lenses() -> [(Lens, f64); 7] {
    [
        (Lens::PINHOLE, 400.0),
        (Lens::new(LensModel::PlumbBob([-0.28, 0.07, 0.0002, 0.00002, 0.0])), 460.0),
        (Lens::new(LensModel::RationalPolynomial([0.51, -2.75, 0.0006, -0.0001, 1.6, 0.39, -2.57, 1.53])), 450.0),
        (Lens::new(LensModel::FieldOfView { half_fov_rad: 0.7 }), 430.0),
        (Lens::new(LensModel::Equidistant([0.0035, 0.0007, -0.002, 0.0002])), 170.0),
        (Lens::new(LensModel::Stereographic).with_circle(1.7), 120.0),
        (Lens::new(LensModel::Panorama), 640.0 / TAU),
    ]
}

fn view((lens, focal_px): (Lens, f64), target: [f64; 3]) -> CameraView {
    let light = LightSampling::POINT;
    CameraView { lens, fx_px: focal_px, fy_px: focal_px, light, ..look([0.0, 0.0, 2.0], target, 640, 480) }
}

fn picture(scene: &Scene, view: &CameraView) -> CameraFrame {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    frame
}

fn place(view: &CameraView, pixel: usize) -> [f64; 2] {
    [pixel % view.width as usize, pixel / view.width as usize].map(|c| c as f64)
}

#[test]
fn the_suns_disc_stands_where_the_lens_has_it_and_keeps_its_light() {
    let scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.6, 0.3));
    for lens in lenses() {
        let view = view(lens, [1.0, 0.05, 2.6]);
        let frame = picture(&scene, &view);
        let (mut sum, mut at) = (0.0, [0.0; 2]);
        for pixel in 0..frame.radiance.len() {
            let here = place(&view, pixel);
            let light = f64::from(panchromatic(frame.radiance[pixel])) * view.pixel_sr(here);
            if frame.class[pixel] == 0 {
                sum += light;
                at = [0, 1].map(|axis| at[axis] + light * here[axis]);
            }
        }
        let optical = view.world_from_optical.rotation.inverse() * scene.sun().direction_to_sun;
        let expected = view.project(optical).expect("in view");
        let off = (at[0] / sum - expected[0]).hypot(at[1] / sum - expected[1]);
        let share = sum / scene.sun().irradiance_w_m2;
        println!("{:?}: {share:.4} of the light, {off:.4} px off", lens.0.model());
        // A disc of two pixels has a dozen sample points across.
        let coarse = if lens.1 < 150.0 { 3.0 } else { 1.0 };
        assert!((share - 1.0).abs() < DISC_TOLERANCE * coarse, "{share} by {:?}", lens.0);
        assert!(off < CENTRE_PX * coarse, "{off} px by {:?}", lens.0);
    }
}

#[test]
fn a_star_is_in_its_pixel_in_every_lens() {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(-0.5, 2.0));
    let direction = sun(0.5, 0.2).direction_to_sun;
    scene.set_stars(vec![Star { direction, irradiance_w_m2: 1e-8 }]);
    for lens in lenses() {
        let view = view(lens, [1.0, 0.05, 2.6]);
        let frame = picture(&scene, &view);
        let lit: Vec<_> = (0..frame.radiance.len()).filter(|&i| frame.radiance[i][0] > 0.0).collect();
        let expected = view.project(view.world_from_optical.rotation.inverse() * direction).expect("in view");
        let [u, v] = expected.map(f64::round);
        assert_eq!(lit, [v as usize * 640 + u as usize], "{:?}", lens.0);
        let light = f64::from(panchromatic(frame.radiance[lit[0]])) * view.pixel_sr(expected);
        assert!((light / 1e-8 - 1.0).abs() < 1e-4, "{light}");
    }
}

#[test]
fn depth_times_the_lens_direction_is_the_point_on_the_ground() {
    let scene = Scene::new(&Clipmap::flat(0.1, 100.0), sun(0.5, 0.0));
    for lens in lenses() {
        let view = view(lens, [1.0, 0.05, 1.6]);
        let frame = picture(&scene, &view);
        let mut met = 0;
        for (pixel, depth_m) in frame.depth_m.iter().enumerate().filter(|(_, d)| **d < 40.0) {
            let direction = view.unproject(place(&view, pixel)).expect("seen");
            let point = view.world_from_optical * Point3::from(direction * f64::from(*depth_m));
            assert!(point.z.abs() < POINT_M, "{point} by {:?}", lens.0);
            met += 1;
        }
        assert!(met > 50_000, "{met} by {:?}", lens.0);
    }
}

#[test]
fn outside_the_image_circle_there_is_nothing_and_inside_all() {
    let scene = Scene::new(&Clipmap::flat(0.1, 100.0), sun(0.5, 0.0));
    let lens = Lens::new(LensModel::Stereographic).with_circle(1.2);
    let view = view((lens, 120.0), [0.0, 0.0, 0.0]);
    let frame = picture(&scene, &view);
    let radius_px = 240.0 * 0.6_f64.tan();
    for pixel in 0..frame.class.len() {
        let [u, v] = place(&view, pixel);
        let out = (u - view.cx_px).hypot(v - view.cy_px);
        if (out - radius_px).abs() > 0.01 {
            let seen = out < radius_px;
            assert_eq!((frame.class[pixel], frame.depth_m[pixel].is_finite()), (u16::from(seen), seen));
            assert_eq!(frame.radiance[pixel][0] > 0.0, seen);
        }
    }
    // Straight down from 2 m, the range at θ is 2/cos θ.
    let [u, v] = [(view.cx_px + 60.0).round(), view.cy_px.round()];
    let out = (u - view.cx_px).hypot(v - view.cy_px);
    let range = f64::from(frame.depth_m[v as usize * 640 + u as usize]);
    let theta = 2.0 * (out / 240.0).atan();
    assert!(theta < 0.5 * PI && (range - 2.0 / theta.cos()).abs() < POINT_M, "{range} m");
    let down: Vector3<f64> = view.world_from_optical * Vector3::z();
    assert!(down.z < -0.999);
}
