//! Tests lenses against their closed forms as OpenCV and the papers print them, written here independently; inverses;
//! the limits of the field of view; the kernel's `f32` against `f64`.

use crate::common;

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use common::look;
use nalgebra::Vector3;
use selene_base::random::{RngExt, stream};
use selene_scene::kernel::lens::lens_direction;
use selene_scene::record::CameraRecord;
use selene_scene::{CameraView, Lens, LensModel};

/// Accuracy of projecting back a direction in `f64`, pixels.
const INVERSE_PX: f64 = 1e-6;

/// Error of the kernel's `f32`, pixels: rounding of a few 1e-7 at 1000 px, times the slope of the lens there, up to ten
/// times that at its centre.
const KERNEL_PX: f64 = 0.01;

/// Rounding of `f64` after some dozen operations.
const EXACT: f64 = 1e-12;

fn view(model: LensModel, size: [u32; 2], focal_px: [f64; 2], principal_px: [f64; 2]) -> CameraView {
    let [fx_px, fy_px] = focal_px;
    let [cx_px, cy_px] = principal_px;
    let lens = Lens::new(model);
    CameraView { lens, fx_px, fy_px, cx_px, cy_px, ..look([0.0, 0.0, 2.0], [1.0, 0.2, 2.0], size[0], size[1]) }
}

/// Published calibrations of data sets, and lenses without coefficients.
fn cameras() -> Vec<(&'static str, CameraView)> {
    let euroc = LensModel::PlumbBob([-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05, 0.0]);
    let freiburg = LensModel::PlumbBob([0.2624, -0.9531, -0.0054, 0.0026, 1.1633]);
    let kitti = LensModel::PlumbBob([-0.3728755, 0.2037299, 0.002219027, 0.001383707, -0.07233722]);
    let kinect = LensModel::RationalPolynomial([0.5127, -2.7526, 0.00062, -0.00011, 1.6024, 0.3941, -2.5718, 1.5265]);
    let tum_vi = LensModel::Equidistant([0.0034823894, 0.0007150348, -0.0020532361, 0.00020293673]);
    let middle = |width: f64, height: f64| [0.5 * (width - 1.0), 0.5 * (height - 1.0)];
    let square = middle(640.0, 640.0);
    vec![
        ("pinhole", view(LensModel::Pinhole, [640, 480], [500.0, 498.0], [318.0, 241.0])),
        ("EuRoC", view(euroc, [752, 480], [458.654, 457.296], [367.215, 248.375])),
        ("Freiburg 1", view(freiburg, [640, 480], [517.3, 516.5], [318.6, 255.3])),
        ("KITTI", view(kitti, [1392, 512], [984.2439, 980.8141], [690.0, 233.1966])),
        ("Azure Kinect", view(kinect, [1280, 720], [610.3, 610.1], [637.4, 366.1])),
        ("field of view", view(fov(0.704), [640, 480], [fov_focal_px(0.704); 2], middle(640.0, 480.0))),
        ("TUM VI", view(tum_vi, [512, 512], [190.978, 190.973], [254.931, 256.897])),
        ("equidistant", view(LensModel::Equidistant([0.0; 4]), [640, 640], [100.0; 2], square)),
        ("stereographic", view(LensModel::Stereographic, [640, 640], [80.0; 2], square)),
        ("panorama", view(LensModel::Panorama, [1024, 512], [1024.0 / TAU; 2], middle(1024.0, 512.0))),
    ]
}

fn fov(half_fov_rad: f64) -> LensModel {
    LensModel::FieldOfView { half_fov_rad }
}

/// Focal length at the centre for which 640 pixels cover the field of view.
fn fov_focal_px(half_fov_rad: f64) -> f64 {
    let edge = half_fov_rad.tan();
    320.0 / edge * edge.tan() / edge
}

/// Positions on all edges, in the corners and at random.
fn places(view: &CameraView) -> Vec<[f64; 2]> {
    let [width, height] = [f64::from(view.width), f64::from(view.height)];
    let mut random = stream(5, "places");
    let mut places: Vec<[f64; 2]> =
        (0..4000).map(|_| [random.random_range(-0.5..width - 0.5), random.random_range(-0.5..height - 0.5)]).collect();
    for k in 0..=200 {
        let [u, v] = [width, height].map(|side| f64::from(k) / 200.0 * side - 0.5);
        places.extend([[u, -0.5], [u, height - 0.5], [-0.5, v], [width - 0.5, v]]);
    }
    places.extend([[view.cx_px, view.cy_px], [view.cx_px + 1e-9, view.cy_px]]);
    places
}

fn distance([u, v]: [f64; 2], [a, b]: [f64; 2]) -> f64 {
    (u - a).hypot(v - b)
}

#[test]
fn project_undoes_unproject_to_a_millionth_of_a_pixel_over_the_whole_image() {
    for (name, view) in cameras() {
        let mut seen = 0;
        for place in places(&view) {
            let Some(direction) = view.unproject(place) else { continue };
            let back = view.project(direction).unwrap_or_else(|| panic!("{name}: {place:?} is seen"));
            assert!(distance(place, back) < INVERSE_PX, "{name}: {place:?} comes back to {back:?}");
            seen += 1;
        }
        // Circles of 180° and more leave out the corners of a square; the other lenses fill the image.
        assert!(seen > 3000, "{name} sees {seen} places");
        assert!(seen > 4800 || name == "equidistant" || name == "stereographic", "{name} sees {seen}");
    }
}

#[test]
fn unproject_undoes_project_for_lenses_of_any_coefficients() {
    let mut random = stream(6, "lenses");
    let mut kept = 0;
    for _ in 0..400 {
        let mut k = |size: f64| random.random_range(-size..size);
        let model = match kept % 3 {
            0 => LensModel::PlumbBob([k(0.4), k(0.2), k(0.005), k(0.005), k(0.1)]),
            1 => LensModel::RationalPolynomial([k(0.6), k(0.4), k(0.003), k(0.003), k(0.1), k(0.5), k(0.3), k(0.1)]),
            _ => LensModel::Equidistant([k(0.1), k(0.05), k(0.02), k(0.005)]),
        };
        let lens = Lens::new(model);
        // Almost to the lens's limit: at the limit itself, one pixel covers a wide range of directions.
        let angle = random.random_range(0.0..0.97) * lens.reach_rad().min(1.2);
        let turn: f64 = random.random_range(0.0..TAU);
        let direction = Vector3::new(angle.sin() * turn.cos(), angle.sin() * turn.sin(), angle.cos());
        let Some(place) = lens.project(direction) else { continue };
        let Some(back) = lens.unproject(place) else { panic!("{model:?} at {angle}") };
        assert!(back.angle(&direction) < 1e-7, "{model:?} at {angle}: {back:?}, not {direction:?}");
        kept += 1;
    }
    assert!(kept > 390, "{kept}");
}

#[test]
fn polynomials_are_those_that_opencv_documents() {
    let [k1, k2, p1, p2, k3, k4, k5, k6] = [0.21, -0.13, 0.004, -0.003, 0.05, 0.11, 0.02, -0.01];
    let rational = Lens::new(LensModel::RationalPolynomial([k1, k2, p1, p2, k3, k4, k5, k6]));
    let plumb_bob = Lens::new(LensModel::PlumbBob([k1, k2, p1, p2, k3]));
    for [x, y] in [[0.3, -0.2], [-0.6, 0.45], [0.0, 0.7], [0.5, 0.0]] {
        let r2: f64 = x * x + y * y;
        let above = 1.0 + k1 * r2 + k2 * r2.powi(2) + k3 * r2.powi(3);
        let below = 1.0 + k4 * r2 + k5 * r2.powi(2) + k6 * r2.powi(3);
        let with = |factor: f64| {
            let u = x * factor + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x);
            [u, y * factor + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y]
        };
        let direction = 3.0 * Vector3::new(x, y, 1.0);
        assert!(distance(rational.project(direction).expect("seen"), with(above / below)) < EXACT);
        assert!(distance(plumb_bob.project(direction).expect("seen"), with(above)) < EXACT);
    }
}

#[test]
fn the_field_of_view_lens_follows_its_equations_and_keeps_the_field() {
    let view = view(fov(0.704), [640, 480], [fov_focal_px(0.704); 2], [319.5, 239.5]);
    let edge = view.unproject([639.5, 239.5]).expect("seen");
    assert!((edge.x - 0.704_f64.tan()).abs() < EXACT && edge.y == 0.0);
    // SENSOR eq. 1–2: r1 of the half width, r2 of its tangent, divided by s.
    let omega = 0.704_f64;
    for [u, v] in [[100.0, 50.0], [400.0, 300.0], [319.5, 20.0]] {
        let [x1, y1] = [(u - 319.5) / 320.0, (v - 239.5) / 320.0];
        let r1 = f64::hypot(x1, y1);
        let r2 = (r1 * omega.tan()).tan() / omega.tan();
        let s = omega.tan().tan() / omega.tan();
        let expected = [x1, y1].map(|c| c * r2 / r1 / s * omega.tan());
        let got = view.unproject([u, v]).expect("seen");
        assert!(distance([got.x, got.y], expected) < EXACT, "{got:?}, not {expected:?}");
    }
}

#[test]
fn fisheyes_see_behind_them_by_their_laws_and_a_panorama_all_around() {
    let k = [0.01, -0.002, 0.0004, 0.0];
    let at = |lens: &Lens, theta: f64| lens.project(Vector3::new(0.0, theta.sin(), theta.cos())).expect("seen")[1];
    for theta in [0.1, 1.0, FRAC_PI_2, 2.0, 3.0_f64] {
        let bent = theta * (1.0 + k[0] * theta.powi(2) + k[1] * theta.powi(4) + k[2] * theta.powi(6));
        assert!((at(&Lens::new(LensModel::Equidistant(k)), theta) - bent).abs() < EXACT * 10.0);
        assert!((at(&Lens::new(LensModel::Stereographic), theta) - 2.0 * (theta / 2.0).tan()).abs() < EXACT * 100.0);
    }
    let panorama = Lens::new(LensModel::Panorama);
    let close = |got: Option<[f64; 2]>, expected| distance(got.expect("seen"), expected) < EXACT;
    assert!(close(panorama.project(Vector3::new(1.0, 0.0, -1.0)), [0.75 * PI, 0.0]));
    assert!(close(panorama.project(Vector3::new(-1.0, 1.0, 0.0)), [-FRAC_PI_2, 0.25 * PI]));
}

#[test]
fn a_lens_ends_where_its_image_would_fold_and_at_its_circle() {
    // d(r + k1 r³)/dr = 0 at r² = −1/(3 k1).
    let lens = Lens::new(LensModel::PlumbBob([-0.5, 0.0, 0.0, 0.0, 0.0]));
    let end = (2.0_f64 / 3.0).sqrt();
    assert!((lens.reach_rad() - end.atan()).abs() < 1e-9);
    assert!(lens.project(Vector3::new(end + 0.01, 0.0, 1.0)).is_none(), "it would come back into the image");
    assert!(lens.unproject([end * (1.0 - 0.5 * end * end) + 1e-6, 0.0]).is_none());
    // The slope of θ + k1 θ³ is zero at θ² = −1/(3 k1).
    let fisheye = Lens::new(LensModel::Equidistant([-0.1, 0.0, 0.0, 0.0]));
    assert!((fisheye.reach_rad() - (1.0_f64 / 0.3).sqrt()).abs() < 1e-9);
    let circle = Lens::new(LensModel::Stereographic).with_circle(1.3);
    assert!(circle.unproject([2.0 * 0.651_f64.tan(), 0.0]).is_none());
    assert!(circle.unproject([2.0 * 0.649_f64.tan(), 0.0]).is_some());
    assert!(circle.project(Vector3::new(1.31_f64.sin(), 0.0, 1.31_f64.cos())).is_none());
    assert!(Lens::PINHOLE.project(Vector3::new(0.0, 0.0, -1.0)).is_none());
}

#[test]
fn pixels_share_out_the_sphere() {
    for (name, view) in cameras() {
        let whole: f64 = match name {
            "panorama" | "equidistant" => 2.0 * TAU,
            _ => continue,
        };
        let pixel = |i: u32| view.pixel_sr([f64::from(i % view.width), f64::from(i / view.width)]);
        let sum: f64 = (0..view.width * view.height).map(pixel).sum();
        // A pixel on the rim counts as a whole or not at all.
        assert!((sum / whole - 1.0).abs() < 2e-3, "{name}: {sum} sr");
    }
    // On the axis, every lens has the pixel size of its focal length.
    for (name, view) in cameras() {
        let got = view.pixel_sr([view.cx_px, view.cy_px]) * view.fx_px * view.fy_px;
        assert!((got - 1.0).abs() < 1e-5, "{name}: {got}");
    }
}

#[test]
fn the_kernels_rays_are_the_lens_to_a_hundredth_of_a_pixel() {
    for (name, view) in cameras() {
        let record = CameraRecord::new(&view, Vector3::zeros());
        let mut worst = 0.0_f64;
        for [u, v] in places(&view) {
            let [u, v] = [u.round().max(0.0), v.round().max(0.0)];
            let got = lens_direction(&record, u as f32, v as f32);
            let Some(expected) = view.unproject([u, v]) else {
                assert!(got == Vector3::zeros(), "{name}: ({u}, {v}) is outside, not {got:?}");
                continue;
            };
            assert!(
                (got.cast::<f64>().norm() - expected.norm()).abs() < 1e-5 * expected.norm(),
                "{name} at ({u}, {v})"
            );
            let place = view.project(got.cast()).unwrap_or_else(|| panic!("{name}: ({u}, {v}) is seen"));
            worst = worst.max(distance(place, [u, v]));
        }
        println!("{name}: {worst:.1e} px");
        assert!(worst < KERNEL_PX, "{name}: {worst} px");
    }
}
