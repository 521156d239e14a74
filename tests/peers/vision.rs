//! OpenCV on Selene's images: semi-global matching finds depth on a stereo pair of textured ground, calibration
//! recovers a lens from chessboards, and rectification of two cameras that are not parallel agrees with Selene's own.

use std::path::Path;

use image::{GrayImage, ImageBuffer};
use nalgebra::{Point3, Rotation3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::input::load_yaml;
use selene_base::random::{RngExt, Stream, stream};
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Lens, LensModel, LightSampling, Material, Mesh, Scene, Sun, Tracer,
};
use selene_sensors::{
    CameraSpec, DevelopedImage, Encoding, LensName, LensSpec, Pipeline, Rectification, Rectifier, SensorSpec,
};
use selene_terrain::{Clipmap, SiteSpec};
use selene_tests::repository_file;
use serde_json::{Value, json};

use crate::program::{folder, peer, succeeded};

/// Median relative error of depth allowed for semi-global matching.
const MEDIAN_DEPTH_ERROR: f64 = 0.01;
/// Least fraction matched of the positions that both cameras see in range of the matcher. The rest is hidden from the
/// right camera, or is far away with too little texture.
const MATCHED_SHARE: f64 = 0.7;
/// Largest fraction of the matches that may be off by more than a pixel: those at edges that hide what is behind them.
const OFF_SHARE: f64 = 0.1;
/// Largest relative error of the calibration's parameters, and of the largest distortion.
const CALIBRATION_ERROR: f64 = 0.005;

/// Runs `vision.py` on a folder; `None` if there is no OpenCV.
fn seen_by_opencv(what: &str, folder: &Path) -> Option<Value> {
    let mut script = peer("vision.py")?;
    let output = script.arg(what).arg(folder).output().expect("python");
    succeeded("vision.py", &output);
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key} in {of}"))
}

fn sun(elevation_deg: f64) -> Sun {
    let (sin, cos) = elevation_deg.to_radians().sin_cos();
    Sun {
        direction_to_sun: Vector3::new(0.3 * cos, 0.954 * cos, sin),
        irradiance_w_m2: 1361.0,
        angular_radius_rad: 0.00465,
    }
}

/// Pose of an optical frame at `eye` that looks at `target`, with a horizontal x axis.
fn looking(eye: Vector3<f64>, target: Vector3<f64>) -> Pose {
    let forward = (target - eye).normalize();
    let right = forward.cross(&Vector3::z()).normalize();
    let rotation = Rotation3::from_basis_unchecked(&[right, forward.cross(&right), forward]);
    Pose::from_parts(eye.into(), UnitQuaternion::from_rotation_matrix(&rotation))
}

fn navcam(file: &str) -> CameraSpec {
    match SensorSpec::load(&repository_file("config/sensor").join(file)).expect("good") {
        SensorSpec::Camera(spec) => spec,
        other => panic!("{other:?}"),
    }
}

/// Traces and develops a camera's image, including noise; its unprocessed frame stays in `frame`.
fn picture(spec: &CameraSpec, scene: &Scene, pose: Pose, frame: &mut CameraFrame) -> GrayImage {
    CpuTracer.camera(scene, &spec.frame_view(pose, 1, 0), frame).expect("traced");
    let image = Pipeline::new(spec, 1).expect("stages").develop(frame, None, 0).expect("an image");
    GrayImage::from_raw(image.width, image.height, image.data).expect("mono8")
}

#[test]
fn semi_global_matching_finds_the_depth_of_a_stereo_pair() {
    let file = repository_file("config/site/polar.yaml");
    let site: SiteSpec = load_yaml(&file).expect("site");
    let ground = Clipmap::of_site(&site, &file, None, 1).expect("ground");
    let mut scene = Scene::new(&ground, sun(25.0));
    scene.set_surface(&site);
    let (left, right) = (navcam("navcam_left.yaml"), navcam("navcam_right.yaml"));
    let eye = Vector3::new(0.0, 0.0, ground.height_m(0.0, 0.0).expect("ground") + 1.8);
    let pose = looking(eye, eye + Vector3::new(5.0, 1.0, -1.8));
    let out = folder("stereo");
    let mut frame = CameraFrame::default();
    let beside = pose * Pose::translation(right.stereo_baseline_m, 0.0, 0.0);
    picture(&right, &scene, beside, &mut frame).save(out.join("right.png")).expect("saved");
    picture(&left, &scene, pose, &mut frame).save(out.join("left.png")).expect("saved");
    let depth: Vec<u8> = frame.depth_m.iter().flat_map(|depth_m| depth_m.to_le_bytes()).collect();
    std::fs::write(out.join("depth.f32"), depth).expect("written");
    let info = json!({"fx_px": left.intrinsics().fx_px, "baseline_m": right.stereo_baseline_m});
    std::fs::write(out.join("camera.json"), info.to_string()).expect("written");
    let Some(found) = seen_by_opencv("stereo", &out) else { return };
    println!("{found}");
    assert!(number(&found, "matched_share") > MATCHED_SHARE && number(&found, "off_share") < OFF_SHARE, "{found}");
    assert!(number(&found, "median_error") < MEDIAN_DEPTH_ERROR, "{found}");
}

/// Number of inner corners along x and y, and the side of a square, m.
const CORNERS: [usize; 2] = [9, 6];
const SQUARE_M: f64 = 0.03;

/// The white or the black squares of the board with its border, in the plane z = 0; inner corner (0, 0) is the origin.
fn squares(black: bool) -> Mesh {
    let mut mesh = Mesh { vertices: Vec::new(), triangles: Vec::new() };
    let [columns, rows] = CORNERS.map(|corners| corners as i32);
    for (column, row) in (-2..=columns).flat_map(|column| (-2..=rows).map(move |row| (column, row))) {
        let on_board = (-1..columns).contains(&column) && (-1..rows).contains(&row);
        if black != (on_board && (column + row).rem_euclid(2) == 0) {
            continue;
        }
        let first = mesh.vertices.len() as u32;
        let corner = |[i, j]: [i32; 2]| [column + i, row + j].map(|at| (f64::from(at) * SQUARE_M) as f32);
        for [x, y] in [[0, 0], [1, 0], [1, 1], [0, 1]].map(corner) {
            mesh.vertices.push([x, y, 0.0]);
        }
        mesh.triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
    }
    mesh
}

/// Pose of a camera that looks roughly at the board's middle from about half a metre away, turned and shifted.
fn somewhere(rng: &mut Stream) -> Pose {
    let middle = Point3::new(0.5 * 8.0 * SQUARE_M, 0.5 * 5.0 * SQUARE_M, 0.0);
    let mut even = |reach: f64| rng.random_range(-reach..reach);
    let distance_m = 0.42 + even(0.08);
    let turn = UnitQuaternion::from_euler_angles(even(0.5), even(0.5), even(0.5));
    let aside = Vector3::new(even(0.04), even(0.03), 0.0);
    // The optical z axis points down at the board.
    let over = UnitQuaternion::from_euler_angles(std::f64::consts::PI, 0.0, 0.0);
    Pose::from_parts(middle.coords.into(), turn) * Pose::from_parts((aside + Vector3::z() * distance_m).into(), over)
}

/// A scene with a chessboard 5 m above flat ground.
fn chessboard() -> Scene {
    let ground = Clipmap::flat(0.5, 40.0);
    let mut scene = Scene::new(&ground, sun(60.0));
    for (black, albedo) in [(true, 0.04), (false, 0.8)] {
        let mesh = scene.add_mesh(&squares(black)).expect("a mesh");
        let board = Pose::translation(0.0, 0.0, 5.0);
        scene
            .add_instance(mesh, &board, Class::Rover.numbered(1 + u32::from(black)), &Material::Lambert { albedo })
            .expect("room");
    }
    scene
}

/// A view as a grey image.
fn grey(scene: &Scene, view: &CameraView) -> Vec<u8> {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    frame.radiance.iter().map(|l| (l[1] * 2.2).min(255.0) as u8).collect()
}

#[test]
fn calibration_on_chessboards_gives_back_the_lens() {
    const D: [f64; 5] = [-0.28, 0.09, 0.0006, -0.0004, -0.01];
    const PICTURES: usize = 20;
    let scene = chessboard();
    let out = folder("chessboards");
    let mut rng = stream(3, "chessboards");
    let light = LightSampling::POINT;
    let middle = CameraView::pinhole(Pose::identity(), [640, 480], 60_f64.to_radians());
    let [fx_px, fy_px, cx_px, cy_px] = [middle.fx_px, 1.01 * middle.fx_px, middle.cx_px + 6.3, middle.cy_px - 4.1];
    for index in 0..PICTURES {
        let pose = Pose::translation(0.0, 0.0, 5.0) * somewhere(&mut rng);
        let lens = Lens::new(LensModel::PlumbBob(D));
        let view =
            CameraView { world_from_optical: pose, fx_px, fy_px, cx_px, cy_px, lens, samples: 16, light, ..middle };
        let image: GrayImage = ImageBuffer::from_raw(view.width, view.height, grey(&scene, &view)).expect("an image");
        image.save(out.join(format!("chessboard_{index:02}.png"))).expect("saved");
    }
    let k = [fx_px, 0.0, cx_px, 0.0, fy_px, cy_px, 0.0, 0.0, 1.0];
    let info = json!({"corners": CORNERS, "square_m": SQUARE_M, "k": k, "d": D});
    std::fs::write(out.join("camera.json"), info.to_string()).expect("written");
    let Some(found) = seen_by_opencv("calibrate", &out) else { return };
    println!("{found}");
    assert!(number(&found, "boards") >= 0.8 * PICTURES as f64, "{found}");
    for i in [0, 2, 4, 5] {
        let fitted = found["k"][i].as_f64().expect("a number");
        assert!((fitted / k[i] - 1.0).abs() < CALIBRATION_ERROR, "k[{i}] {fitted} for {}", k[i]);
    }
    let most_px = number(&found, "distortion_most_px");
    assert!(number(&found, "distortion_error_px") < CALIBRATION_ERROR * most_px, "{found}");
}

/// OpenCV computes the two rotations with the same formulas.
const TURN_ERROR: f64 = 1e-9;
/// Both interpolate in `f32` and round.
const GREY_MOST: f64 = 1.0;
/// A corner is found to a tenth of a pixel; the mean of a board's 54 corners is more accurate.
const ROW_ERROR_PX: f64 = 0.1;
/// Error of the median size of 270 squares, each measured between corners 40 px apart.
const SQUARE_ERROR: f64 = 0.005;

/// A camera of 640 × 480 pixels with this lens.
fn bent(name: &str, focal_px: f64, principal_px: [f64; 2], d: [f64; 5]) -> CameraSpec {
    let [fx_px, fy_px] = [Some(focal_px), Some(1.01 * focal_px)];
    let [cx_px, cy_px] = principal_px.map(Some);
    let (model, coefficients) = (LensName::PlumbBob, d.to_vec());
    let lens = LensSpec { model, coefficients, fx_px, fy_px, cx_px, cy_px, circle_deg: None };
    let (width, height, horizontal_fov_deg) = (640, 480, None);
    CameraSpec {
        name: name.to_owned(),
        width,
        height,
        horizontal_fov_deg,
        lens,
        samples: 16,
        ..navcam("navcam_left.yaml")
    }
}

fn save(of: &DevelopedImage, path: &Path) {
    let image: GrayImage = ImageBuffer::from_raw(of.width, of.height, of.data.clone()).expect("mono8");
    image.save(path).expect("saved");
}

#[test]
fn opencv_rectifies_cameras_that_are_not_parallel_to_the_same_images_with_the_same_rows() {
    const PICTURES: usize = 6;
    let scene = chessboard();
    let left = bent("left", 560.0, [322.0, 236.0], [-0.28, 0.09, 0.0006, -0.0004, -0.01]);
    let right = bent("right", 575.0, [315.0, 243.0], [-0.2, 0.05, -0.0003, 0.0005, 0.0]);
    // Turned inwards by 5°, tilted and rolled.
    let turn = UnitQuaternion::from_euler_angles(0.02, -0.08, 0.03);
    let left_from_right = Pose::from_parts([0.06, 0.004, -0.003].into(), turn);
    let pair = Rectification::pair(&left, &right, &left_from_right).expect("a pair");
    let out = folder("rectified");
    let mut rng = stream(4, "rectified");
    for index in 0..PICTURES {
        let eye = Pose::translation(0.0, 0.0, 5.0) * somewhere(&mut rng);
        for (spec, pose, rectification) in [(&left, eye, pair[0]), (&right, eye * left_from_right, pair[1])] {
            let view = CameraView { light: LightSampling::POINT, ..spec.view(pose) };
            let (width, height, data) = (view.width, view.height, grey(&scene, &view));
            let raw = DevelopedImage { width, height, encoding: Encoding::Mono8, data, exposure_s: 0.01, gain: 1.0 };
            save(&raw, &out.join(format!("{}_raw_{index:02}.png", spec.name)));
            let rectified = Rectifier::new(spec, rectification).rectify(&raw).expect("of its size");
            save(&rectified, &out.join(format!("{}_rectified_{index:02}.png", spec.name)));
        }
    }
    let info = |spec: &CameraSpec, rectification: &Rectification| json!({"k": spec.intrinsics().k(), "d": spec.lens.distortion(), "r": rectification.r(), "p": rectification.p()});
    let right_from_left = left_from_right.inverse();
    let t: [f64; 3] = right_from_left.translation.vector.into();
    let rotation = right_from_left.rotation.to_rotation_matrix();
    let r: Vec<f64> = (0..9).map(|i| rotation[(i / 3, i % 3)]).collect();
    let reported = json!({
        "size": [640, 480], "corners": CORNERS, "pictures": PICTURES, "right_from_left": {"r": r, "t": t},
        "left": info(&left, &pair[0]), "right": info(&right, &pair[1]),
    });
    std::fs::write(out.join("camera.json"), reported.to_string()).expect("written");
    let Some(found) = seen_by_opencv("rectify", &out) else { return };
    println!("{found}");
    assert!(number(&found, "boards") >= 4.0 && number(&found, "inside_share") > 0.7, "{found}");
    assert!(number(&found, "turn_error") < TURN_ERROR, "{found}");
    assert!((number(&found, "baseline_m") - pair[1].baseline_m).abs() < TURN_ERROR, "{found}");
    assert!(number(&found, "grey_most") <= GREY_MOST, "{found}");
    assert!(["row_median_px", "row_mean_px"].iter().all(|key| number(&found, key) < ROW_ERROR_PX), "{found}");
    assert!((number(&found, "square_m") / SQUARE_M - 1.0).abs() < SQUARE_ERROR, "{found}");
}
