//! Visibility of a change of detail, when the ground's windows move on by a step: detail appears where the finest
//! window appears, some 25 m away. For the change to be invisible in depth, features of the finer level must be smaller
//! than a pixel where that level begins.

use std::f64::consts::FRAC_PI_2;

use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::input::load_yaml;
use selene_scene::{CameraFrame, CameraView, CpuTracer, Scene, Sun, Tracer};
use selene_terrain::{Clipmap, SiteSpec};
use selene_tests::repository_file;

const COLUMNS: u32 = 640;
const ROWS: u32 = 360;
/// Field of view of a VIPER NavCam, degrees.
const FIELD_OF_VIEW_DEG: f64 = 70.0;
const EYE_M: f64 = 1.8;

/// A camera above `at_m` of the ground that looks along a yaw, 6° down, and is level sideways.
fn camera(at_m: [f64; 2], ground_m: f64, yaw_rad: f64) -> CameraView {
    let forward = Vector3::new(yaw_rad.cos(), yaw_rad.sin(), -0.105).normalize();
    let right = forward.cross(&Vector3::z()).normalize();
    let rotation = Rotation3::from_basis_unchecked(&[right, forward.cross(&right), forward]);
    let eye = Vector3::new(at_m[0], at_m[1], ground_m + EYE_M);
    let pose = Pose::from_parts(eye.into(), UnitQuaternion::from_rotation_matrix(&rotation));
    CameraView::pinhole(pose, [COLUMNS, ROWS], FIELD_OF_VIEW_DEG.to_radians())
}

fn seen(ground: &Clipmap, view: &CameraView) -> CameraFrame {
    let sun = Sun {
        direction_to_sun: Vector3::new(0.8, 0.6, 0.2).normalize(),
        irradiance_w_m2: 1361.0,
        angular_radius_rad: 0.00465,
    };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&Scene::new(ground, sun), view, &mut frame).expect("traced");
    frame
}

/// For each pixel that shows ground before and after, the change of depth relative to the pixel's extent in depth (up
/// to the next pixel above or below); and the number of pixels whose class changed.
fn moved_px(before: &CameraFrame, after: &CameraFrame) -> (Vec<f64>, usize) {
    let columns = COLUMNS as usize;
    let depth = |i: usize| f64::from(before.depth_m[i]);
    let span_m = |i: usize| (depth(i - columns) - depth(i)).abs().max((depth(i + columns) - depth(i)).abs());
    let inner = columns..before.depth_m.len() - columns;
    let both = inner.clone().filter(|&i| before.class[i] == after.class[i] && before.class[i] != 0);
    let moved = both.map(|i| (depth(i) - f64::from(after.depth_m[i])).abs() / span_m(i).max(1e-4)).collect();
    (moved, inner.filter(|&i| before.class[i] != after.class[i]).count())
}

#[test]
fn nothing_pops_in_depth_when_windows_go_a_step_on() {
    let file = repository_file("config/site/polar.yaml");
    let spec: SiteSpec = load_yaml(&file).expect("site");
    let mut ground = Clipmap::of_site(&spec, &file, None, 1).expect("ground");
    let step_m = ground.terrain().and_then(|terrain| terrain.plan()).expect("endless").step_m();
    // A window moves on when the rover is one step from its middle.
    let at_m = [step_m, 0.3];
    let ground_m = ground.height_m(at_m[0], at_m[1]).expect("on the ground");
    let views: Vec<_> = (0..4).map(|i| camera(at_m, ground_m, 0.1 + FRAC_PI_2 * f64::from(i))).collect();
    let before: Vec<_> = views.iter().map(|view| seen(&ground, view)).collect();
    ground.go_to(step_m, 0.0);
    assert_eq!(ground.centre(), [1, 0]);
    let mut changed = 0;
    for (view, before) in views.iter().zip(&before) {
        let (mut moved, other) = moved_px(before, &seen(&ground, view));
        moved.sort_by(f64::total_cmp);
        changed += moved.iter().filter(|&&px| px > 0.01).count();
        let most = moved[moved.len() * 999 / 1000];
        assert!(most < 0.5, "one pixel in a thousand moves by {most} of itself and more");
        // The finest window has every rock that wheels can touch, however many, so these rocks appear with it.
        assert!(other * 800 < before.class.len(), "{other} pixels see another thing");
    }
    assert!(changed > 1000, "another window shows other detail: {changed} pixels");
}
