//! A small rough site with craters and rocks, and other helpers of the tests and the snapshot example.
#![allow(dead_code, missing_docs, unreachable_pub)]

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_scene::{CameraView, Sun};
use selene_terrain::{Clipmap, Level, Rock, RockShape};

/// Instance number of the first movable part, beyond the rocks' numbers.
pub const PART: u32 = 0xF000_0000;

/// A hash of two integers and a salt, 0…1.
fn chance(i: i64, j: i64, salt: u64) -> f64 {
    let mut h = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f) ^ salt;
    for _ in 0..3 {
        h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (h >> 11) as f64 / (1u64 << 53) as f64
}

fn value_noise(x: f64, y: f64, salt: u64) -> f64 {
    let [i, j] = [x.floor(), y.floor()];
    let smooth = |t: f64| t * t * t * (t * (6.0 * t - 15.0) + 10.0);
    let [u, v] = [smooth(x - i), smooth(y - j)];
    let at = |di: i64, dj: i64| chance(i as i64 + di, j as i64 + dj, salt) * 2.0 - 1.0;
    let low = at(0, 0) * (1.0 - u) + at(1, 0) * u;
    let high = at(0, 1) * (1.0 - u) + at(1, 1) * u;
    low * (1.0 - v) + high * v
}

fn craters(x: f64, y: f64) -> f64 {
    let mut h = 0.0;
    for (n, size) in [0.7, 2.0, 6.0, 18.0, 60.0, 200.0, 700.0].into_iter().enumerate() {
        let salt = 1000 + n as u64;
        let cell = 3.0 * size;
        let [ci, cj] = [(x / cell).floor() as i64, (y / cell).floor() as i64];
        for (i, j) in (-1..=1).flat_map(|i| (-1..=1).map(move |j| (ci + i, cj + j))) {
            let cx = (i as f64 + chance(i, j, salt)) * cell;
            let cy = (j as f64 + chance(j, i, salt + 77)) * cell;
            let radius = size * (0.3 + 0.5 * chance(i, j, salt + 99)) * 0.5;
            let r = ((x - cx).powi(2) + (y - cy).powi(2)).sqrt() / radius;
            let depth = 0.2 * radius * chance(i, j, salt + 5);
            h += if r < 1.0 { depth * (1.3 * r * r - 1.0) } else { 0.3 * depth * (-(r - 1.0) * 4.0).exp() };
        }
    }
    h
}

/// Height of the rough site, m; zero at the origin.
pub fn bumpy_height_m(x: f64, y: f64) -> f64 {
    raw_height_m(x, y) - raw_height_m(0.0, 0.0)
}

fn raw_height_m(x: f64, y: f64) -> f64 {
    let octave = |k: i32| {
        let wave = 800.0 / 2f64.powi(k);
        wave.powf(0.85) * 0.035 * value_noise(x / wave + 17.3, y / wave - 5.1, k as u64)
    };
    (0..15).map(octave).sum::<f64>() + craters(x, y)
}

/// Nested levels of `bumpy_height_m`: (spacing, posts), finest first.
pub fn bumpy_ground(levels: &[(f64, usize)], rocks: usize) -> Clipmap {
    let datum = raw_height_m(0.0, 0.0);
    let level = |&(spacing, posts): &(f64, usize)| {
        let origin = -0.5 * spacing * (posts - 1) as f64;
        Level::sample([origin, origin], spacing, posts, |x, y| raw_height_m(x, y) - datum)
    };
    let levels: Vec<_> = levels.iter().map(level).collect();
    let half = 0.5 * levels[0].side_m();
    let rock = |id: u32| {
        let n = i64::from(id);
        let [x, y] = [2, 3].map(|k| (chance(n, k, 1) * 2.0 - 1.0) * half);
        let radius_m = 0.03 * (1.0 - chance(n, 4, 1)).powf(-0.5).min(15.0);
        let turn = UnitQuaternion::from_euler_angles(0.0, 0.0, 6.0 * chance(n, 5, 1));
        let z = bumpy_height_m(x, y) + 0.3 * radius_m;
        Rock {
            id,
            shape: id as usize % 3,
            world_from_rock: Pose::from_parts(Vector3::new(x, y, z).into(), turn),
            radius_m,
        }
    };
    Clipmap::new(levels, (0..rocks as u32).map(rock).collect(), (0..3).map(rock_shape).collect())
}

/// A sphere with lumps.
fn rock_shape(salt: u64) -> RockShape {
    let ball = selene_scene::primitives::sphere(1.0);
    let lump = |v: &[f32; 3]| {
        let [x, y, z] = v.map(f64::from);
        let noise = value_noise(x * 1.7 + 9.0 * z, y * 1.7 + 3.0 * z, salt) * 0.35;
        v.map(|c| c * (1.0 + noise as f32))
    };
    RockShape { vertices: ball.vertices.iter().map(lump).collect(), triangles: ball.triangles }
}

/// A Sun at an elevation and an azimuth counter-clockwise from east, rad.
pub fn sun(elevation_rad: f64, azimuth_rad: f64) -> Sun {
    let (sin, cos) = elevation_rad.sin_cos();
    Sun {
        direction_to_sun: Vector3::new(cos * azimuth_rad.cos(), cos * azimuth_rad.sin(), sin),
        irradiance_w_m2: 1361.0,
        angular_radius_rad: 0.00465,
    }
}

/// A camera at `eye` that looks at `target`, with a field of view of 70°.
pub fn look(eye: [f64; 3], target: [f64; 3], width: u32, height: u32) -> CameraView {
    let forward = (Vector3::from(target) - Vector3::from(eye)).normalize();
    let right = forward.cross(&Vector3::z()).try_normalize(1e-9).unwrap_or(Vector3::x());
    let down = forward.cross(&right);
    let rotation = nalgebra::Rotation3::from_basis_unchecked(&[right, down, forward]);
    let pose = Pose::from_parts(Vector3::from(eye).into(), UnitQuaternion::from_rotation_matrix(&rotation));
    let light = selene_scene::LightSampling::default();
    CameraView { light, ..CameraView::pinhole(pose, [width, height], 70f64.to_radians()) }
}
