//! Eight kinds of light on one ground, shown in docs/gallery.md: the Sun behind the camera, in front of it and in the
//! image, opposition, a lamp alone, a fisheye, a penumbra and earthshine.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use image::{DynamicImage, GrayImage, RgbImage};
use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::input::load_yaml;
use selene_observe::sun_in_sight;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Earth, Lamp, Material, Profile, Scene, Sun, Tracer, primitives,
};
use selene_sensors::{CameraSpec, Encoding, LightSpec, Pipeline, SensorSpec};
use selene_terrain::{Clipmap, SiteSpec};
use selene_tests::repository_file;

use crate::{SIZE, compare};

/// Yaw of all cameras, from +x.
const YAW_RAD: f64 = 0.15;
const EYE_M: f64 = 1.6;
/// Instance id of the only object in a scene.
const PART: u32 = 0xF000_0000;

fn site() -> &'static (SiteSpec, Clipmap) {
    static SITE: OnceLock<(SiteSpec, Clipmap)> = OnceLock::new();
    SITE.get_or_init(|| {
        let file = repository_file("config/site/polar.yaml");
        let spec: SiteSpec = load_yaml(&file).expect("site");
        let ground = Clipmap::of_site(&spec, &file, None, 1).expect("ground");
        (spec, ground)
    })
}

fn toward(elevation_deg: f64, azimuth_rad: f64) -> Vector3<f64> {
    let (sin, cos) = elevation_deg.to_radians().sin_cos();
    Vector3::new(cos * azimuth_rad.cos(), cos * azimuth_rad.sin(), sin)
}

/// The site under a Sun at an elevation and at an angle to the left of the camera's axis.
fn scene(sun_elevation_deg: f64, from_view_rad: f64) -> Scene {
    let (spec, ground) = site();
    let direction_to_sun = toward(sun_elevation_deg, YAW_RAD + from_view_rad);
    let mut scene = Scene::new(ground, Sun { direction_to_sun, irradiance_w_m2: 1361.0, angular_radius_rad: 0.00465 });
    scene.set_surface(spec);
    scene
}

fn camera(file: &str) -> CameraSpec {
    let spec = SensorSpec::load(&repository_file("config/sensor").join(file)).expect("good");
    let SensorSpec::Camera(mut spec) = spec else { panic!("{file} is no camera") };
    (spec.width, spec.height) = SIZE;
    // JPEG blocks differ by more than the light does.
    spec.stages = spec.stages.without("noise").without("jpeg");
    spec
}

/// Image of a camera `EYE_M` above the ground at the origin that looks `down_deg` below the horizontal.
fn take(spec: &CameraSpec, scene: &Scene, down_deg: f64) -> DynamicImage {
    let ground_m = site().1.height_m(0.0, 0.0).expect("ground");
    let forward = toward(-down_deg, YAW_RAD);
    let right = forward.cross(&Vector3::z()).normalize();
    let rotation = Rotation3::from_basis_unchecked(&[right, forward.cross(&right), forward]);
    let eye = Vector3::new(0.0, 0.0, ground_m + EYE_M);
    let pose = Pose::from_parts(eye.into(), UnitQuaternion::from_rotation_matrix(&rotation));
    developed(spec, scene, &spec.frame_view(pose, 1, 0))
}

fn developed(spec: &CameraSpec, scene: &Scene, view: &CameraView) -> DynamicImage {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    let sun = sun_in_sight(&mut CpuTracer, scene, view).expect("traced");
    let image = Pipeline::new(spec, 1).expect("stages").develop(&frame, sun.as_ref(), 0).expect("an image");
    match image.encoding {
        Encoding::Rgb8 => RgbImage::from_raw(SIZE.0, SIZE.1, image.data).expect("rgb8").into(),
        _ => GrayImage::from_raw(SIZE.0, SIZE.1, image.data).expect("mono8").into(),
    }
}

#[test]
fn sun_behind_the_camera_flattens_and_brightens() {
    compare("sun_behind", &take(&camera("navcam_left.yaml"), &scene(20.0, 0.5 * TAU - 0.2), 12.0));
}

#[test]
fn sun_against_the_camera_shows_relief_by_its_shadows() {
    compare("sun_against", &take(&camera("navcam_left.yaml"), &scene(18.0, 0.9), 12.0));
}

#[test]
fn opposition_brightens_the_ground_around_the_cameras_own_shadow() {
    compare("opposition", &take(&camera("navcam_left.yaml"), &scene(35.0, 0.5 * TAU), 30.0));
}

#[test]
fn a_lamp_beside_the_camera_is_all_the_light_there_is() {
    let mut scene = scene(-5.0, 0.0);
    let ground_m = site().1.height_m(0.0, 0.0).expect("ground");
    let turn = UnitQuaternion::from_euler_angles(0.0, 12_f64.to_radians(), YAW_RAD);
    let lamp = Lamp {
        world_from_lamp: Pose::from_parts(Vector3::new(0.0, 0.3, ground_m + EYE_M).into(), turn),
        flux_w: [20.0, 20.0, 20.0],
        profile: Profile { inner_rad: 0.15, outer_rad: 0.6, falloff: 2.0 },
        size_m: [0.0; 2],
    };
    scene.set_lamps(vec![lamp]).expect("room");
    compare("lamp_only", &take(&camera("navcam_left.yaml"), &scene, 12.0));
}

#[test]
fn a_stereographic_fisheye_sees_150_degrees() {
    compare("fisheye", &take(&camera("sorato_side.yaml"), &scene(15.0, 2.0), 5.0));
}

#[test]
fn the_sun_in_the_picture_flares() {
    compare("flare", &take(&camera("sorato_front.yaml"), &scene(8.0, 0.2), 0.0));
}

#[test]
fn the_shadow_of_a_mast_grows_soft_with_distance() {
    let mut scene = scene(6.0, 2.2);
    let mut spec = camera("navcam_left.yaml");
    spec.light = LightSpec { sun_samples: 32, ..spec.light };
    let mast = scene.add_mesh(&primitives::cylinder(0.03, 3.0)).expect("a mesh");
    let [x, y] = [3.5 * YAW_RAD.cos() - 1.2, 3.5 * YAW_RAD.sin() + 1.6];
    let foot = site().1.height_m(x, y).expect("ground");
    let pose = Pose::translation(x, y, foot + 1.5);
    scene.add_instance(mast, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.5 }).expect("room");
    compare("penumbra", &take(&spec, &scene, 25.0));
}

#[test]
fn earthshine_is_enough_to_see_by_at_night() {
    let mut scene = scene(-5.0, 0.0);
    let direction_to_earth = toward(30.0, YAW_RAD - 1.0);
    scene.set_earth(Some(Earth {
        direction_to_earth,
        irradiance_w_m2: 0.1,
        angular_radius_rad: 0.0166,
        sun_from_earth: -direction_to_earth,
    }));
    let mut spec = camera("navcam_left.yaml");
    spec.exposure_s = 10.0;
    spec.f_number = 2.0;
    compare("night_earthshine", &take(&spec, &scene, 12.0));
}
