//! Visibility of the Sun from a position, a lens's or a Sun sensor's: traces rays from there to points of the disc,
//! evenly spaced; points whose ray meets nothing are visible.

use nalgebra::Vector3;
use selene_scene::{Beam, CameraView, Scene, TraceError, Tracer};
use selene_sensors::SunSight;

/// Number of points of the disc.
const POINTS: u32 = 32;

/// The Sun as seen from a view, with the irradiance of its visible part; `None` if it is hidden, or in a direction that
/// the lens does not image.
///
/// # Errors
/// When the device cannot trace.
pub fn sun_in_sight(tracer: &mut dyn Tracer, scene: &Scene, view: &CameraView) -> Result<Option<SunSight>, TraceError> {
    let sun = scene.sun();
    let towards = view.world_from_optical.rotation.inverse() * sun.direction_to_sun;
    let Some(at_px) = view.project(towards) else { return Ok(None) };
    let share = sun_share(tracer, scene, view.world_from_optical.translation.vector)?;
    let sight = SunSight { at_px, irradiance_w_m2: share * sun.irradiance_w_m2, cos_axis: towards.z };
    Ok((share > 0.0).then_some(sight))
}

/// The visible fraction of the Sun's disc from a position in the map frame, 0 to 1.
///
/// # Errors
/// When the device cannot trace.
pub(crate) fn sun_share(tracer: &mut dyn Tracer, scene: &Scene, place_m: Vector3<f64>) -> Result<f64, TraceError> {
    let sun = scene.sun();
    let origin_m = place_m.into();
    let point = |direction: Vector3<f64>| Beam::new(origin_m, direction.cast().into());
    let beams: Vec<Beam> = points(sun.direction_to_sun, sun.angular_radius_rad).map(point).collect();
    let mut returns = Vec::new();
    tracer.beams(scene, &beams, &mut returns)?;
    let free = returns.iter().filter(|beam| beam.range_m.is_infinite()).count();
    Ok(free as f64 / f64::from(POINTS))
}

/// Directions to points of a disc on Vogel's spiral: each point represents the same area.
fn points(axis: Vector3<f64>, radius_rad: f64) -> impl Iterator<Item = Vector3<f64>> {
    const GOLDEN_ANGLE_RAD: f64 = 2.399_963_229_728_653;
    let least = if axis.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
    let side = axis.cross(&least).normalize();
    let up = axis.cross(&side);
    (0..POINTS).map(move |k| {
        let out = radius_rad * ((f64::from(k) + 0.5) / f64::from(POINTS)).sqrt();
        let (sin, cos) = (GOLDEN_ANGLE_RAD * f64::from(k)).sin_cos();
        (axis + (side * cos + up * sin) * out).normalize()
    })
}

#[cfg(test)]
mod tests {
    use super::{points, sun_in_sight};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;
    use selene_scene::{CameraView, CpuTracer, Scene, Sun};
    use selene_terrain::Clipmap;
    use std::f64::consts::FRAC_PI_2;

    /// A camera 2 m over flat ground that looks north, with the Sun at this azimuth from north (clockwise) and
    /// elevation.
    fn sight(azimuth_deg: f64, elevation_deg: f64) -> Option<selene_sensors::SunSight> {
        let (azimuth, elevation) = (azimuth_deg.to_radians(), elevation_deg.to_radians());
        let direction = Vector3::new(azimuth.sin() * elevation.cos(), azimuth.cos() * elevation.cos(), elevation.sin());
        let sun = Sun { direction_to_sun: direction, irradiance_w_m2: 1361.0, angular_radius_rad: 0.00465 };
        let scene = Scene::new(&Clipmap::flat(0.5, 400.0), sun);
        let looking_north = UnitQuaternion::from_euler_angles(-FRAC_PI_2, 0.0, 0.0);
        let eye = Pose::from_parts(Vector3::new(0.0, 0.0, 2.0).into(), looking_north);
        let view = CameraView::pinhole(eye, [200, 100], FRAC_PI_2);
        sun_in_sight(&mut CpuTracer, &scene, &view).expect("traced")
    }

    #[test]
    fn the_sun_is_in_sight_in_front_and_beside_the_frame_and_neither_behind_nor_underground() {
        let ahead = sight(0.0, 10.0).expect("in sight");
        assert!((ahead.irradiance_w_m2 - 1361.0).abs() < 1e-9);
        assert!((ahead.at_px[0] - 99.5).abs() < 1e-6 && ahead.at_px[1] < 49.5, "{ahead:?}");
        assert!((ahead.cos_axis - 10.0_f64.to_radians().cos()).abs() < 1e-9);
        let beside = sight(50.0, 5.0).expect("in sight");
        assert!(beside.at_px[0] > 200.0);
        assert_eq!(sight(180.0, 10.0), None);
        assert_eq!(sight(0.0, -10.0), None);
    }

    #[test]
    fn points_lie_within_the_disc_around_its_middle() {
        let axis = Vector3::new(0.3, -0.5, 0.2).normalize();
        let all: Vec<Vector3<f64>> = points(axis, 0.005).collect();
        assert!(all.iter().all(|point| point.angle(&axis) < 0.005));
        let mean = all.iter().sum::<Vector3<f64>>() / all.len() as f64;
        assert!(mean.angle(&axis) < 3e-4);
    }
}
