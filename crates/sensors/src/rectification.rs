//! The projection of rectified images: a pinhole's, turned from the camera's optical frame by R of
//! `sensor_msgs/CameraInfo` and with its P. A single camera keeps its axis and the scale of the middle of its lens. The
//! cameras of a pair are first turned toward each other by half of the rotation between them, then to a common image
//! plane along their baseline (Bouguet, as OpenCV's `stereoRectify`). They share focal length and principal point, so
//! that a point has the same row in both images, and a point at infinity the same column.

use garde::Validate;
use nalgebra::{UnitQuaternion, Vector3};
use schemars::JsonSchema;
use selene_base::Pose;
use serde::Deserialize;

use crate::camera::{CameraSpec, Intrinsics};
use crate::lens::LensName;

/// `rectified`: publishes rectified images beside the raw ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct RectifiedSpec {
    /// In the file of the right camera of a stereo pair: the name of the left camera, whose file must have `rectified`
    /// too.
    #[garde(skip)]
    pub left_camera: Option<String>,
}

/// The projection of a camera's rectified images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectification {
    /// Rotation from the camera's optical frame to the frame of its rectified image.
    pub rectified_from_optical: UnitQuaternion<f64>,
    /// Focal length and principal point of the rectified image.
    pub intrinsics: Intrinsics,
    /// Distance along x from the left camera of the pair, m; 0 for the left and for a single camera.
    pub baseline_m: f64,
}

/// Why two cameras are not a stereo pair; the errors give their names.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PairError {
    /// Their images differ in size.
    #[error(
        "{left} has {} × {} pixels and {right} {} × {}: must be as many",
        left_px[0], left_px[1], right_px[0], right_px[1]
    )]
    Sizes {
        /// Name of the left camera.
        left: String,
        /// Its columns and rows, pixels.
        left_px: [u32; 2],
        /// Name of the right camera.
        right: String,
        /// Its columns and rows, pixels.
        right_px: [u32; 2],
    },
    /// The right camera is not to the right of the left one.
    #[error(
        "{right} lies at ({:.3}, {:.3}, {:.3}) m from {left} in between their optical frames: \
         must lie to its right (x) rather than below or ahead",
        at_m[0], at_m[1], at_m[2]
    )]
    Place {
        /// Name of the left camera.
        left: String,
        /// Name of the right camera.
        right: String,
        /// Its position relative to the left camera: right, down and ahead, m.
        at_m: [f64; 3],
    },
}

impl Rectification {
    /// The rectification of a single camera.
    #[must_use]
    pub fn alone(camera: &CameraSpec) -> Self {
        let (intrinsics, baseline_m) = (camera.intrinsics(), camera.stereo_baseline_m);
        Self { rectified_from_optical: UnitQuaternion::identity(), intrinsics, baseline_m }
    }

    /// The rectifications of a left and a right camera, whose optical frames have this relative pose.
    ///
    /// # Errors
    /// When their images differ in size, or the right camera is not to the right of the left one.
    pub fn pair(left: &CameraSpec, right: &CameraSpec, left_from_right: &Pose) -> Result<[Self; 2], PairError> {
        let names = || [left, right].map(|camera| camera.name.clone());
        let [left_px, right_px] = [left, right].map(|camera| [camera.width, camera.height]);
        if left_px != right_px {
            let [left, right] = names();
            return Err(PairError::Sizes { left, left_px, right, right_px });
        }
        let half = UnitQuaternion::from_scaled_axis(0.5 * left_from_right.rotation.scaled_axis());
        // The right camera's position in axes halfway between the two.
        let across = half.inverse() * left_from_right.translation.vector;
        let baseline_m = across.norm();
        if across.x.is_nan() || across.x <= across.y.hypot(across.z) {
            let [left, right] = names();
            return Err(PairError::Place { left, right, at_m: across.into() });
        }
        // `across` has x > 0, so the rotation onto the x axis is unique.
        let level = UnitQuaternion::rotation_between(&across, &Vector3::x()).unwrap_or_default();
        let turns = [level * half.inverse(), level * half];
        let intrinsics = common([left, right], turns);
        let of = |turn, baseline_m| Self { rectified_from_optical: turn, intrinsics, baseline_m };
        Ok([of(turns[0], 0.0), of(turns[1], baseline_m)])
    }

    /// The matrix R of `sensor_msgs/CameraInfo`, row by row.
    #[must_use]
    pub fn r(&self) -> [f64; 9] {
        let rotation = self.rectified_from_optical.to_rotation_matrix();
        std::array::from_fn(|i| rotation[(i / 3, i % 3)])
    }

    /// The matrix P of `sensor_msgs/CameraInfo`, row by row.
    #[must_use]
    pub fn p(&self) -> [f64; 12] {
        self.intrinsics.p(self.baseline_m)
    }
}

/// The intrinsics that two turned cameras share: the shorter focal length, so that no image is enlarged, and the
/// principal point that keeps the middles of both images as near to the middle as possible.
fn common(cameras: [&CameraSpec; 2], turns: [UnitQuaternion<f64>; 2]) -> Intrinsics {
    let focal_px = cameras.map(|camera| camera.intrinsics().fx_px.min(camera.intrinsics().fy_px));
    let focal_px = focal_px[0].min(focal_px[1]);
    let principal = |i: usize| {
        let (camera, turn): (&CameraSpec, UnitQuaternion<f64>) = (cameras[i], turns[i]);
        let middle = [camera.width, camera.height].map(|pixels| 0.5 * (f64::from(pixels) - 1.0));
        let ahead = turn * camera.view(Pose::identity()).unproject(middle).unwrap_or_else(Vector3::z);
        [middle[0] - focal_px * ahead.x / ahead.z, middle[1] - focal_px * ahead.y / ahead.z]
    };
    let [[left_x, left_y], [right_x, right_y]] = [principal(0), principal(1)];
    let (cx_px, cy_px) = (0.5 * (left_x + right_x), 0.5 * (left_y + right_y));
    Intrinsics { fx_px: focal_px, fy_px: focal_px, cx_px, cy_px }
}

/// A garde check: a flat image can show the camera's field of view, less than 90° from its axis.
pub(crate) fn shows_less_than_half_of_all(
    camera: &CameraSpec,
) -> impl FnOnce(&Option<RectifiedSpec>, &()) -> garde::Result + '_ {
    move |rectified, ()| {
        if rectified.is_none() {
            return Ok(());
        }
        if camera.lens.model == LensName::Panorama {
            return Err(garde::Error::new("a panorama has no flat image: leave it out, or have another lens"));
        }
        let farthest_deg = farthest_rad(camera).to_degrees();
        // NaN means an invalid lens, which its own check refuses.
        if farthest_deg.is_nan() || farthest_deg < 90.0 {
            return Ok(());
        }
        Err(garde::Error::new(format!(
            "the image shows directions {farthest_deg:.2}° from its axis and must show less than 90° for a flat one: \
             leave it out, or have a smaller field of view or lens: circle_deg below 180"
        )))
    }
}

/// The largest angle from the axis that an image shows, rad.
fn farthest_rad(camera: &CameraSpec) -> f64 {
    const PLACES: u32 = 64;
    const INSIDE_PX: f64 = 1e-6;
    let view = camera.view(Pose::identity());
    let [right, bottom] = [camera.width, camera.height].map(|pixels| f64::from(pixels) - 0.5 - INSIDE_PX);
    let first = INSIDE_PX - 0.5;
    let along = |i: u32, last: f64| first + (last - first) * f64::from(i) / f64::from(PLACES);
    let border = (0..=PLACES).flat_map(|i| {
        let [u, v] = [along(i, right), along(i, bottom)];
        [[u, first], [u, bottom], [first, v], [right, v]]
    });
    let angle = |place| match view.unproject(place) {
        Some(direction) => direction.x.hypot(direction.y).atan2(direction.z),
        // Not seen by the lens, so the edge of its field of view is inside the image.
        None => view.lens.reach_rad(),
    };
    border.map(angle).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::Rectification;
    use crate::camera::tests::camera;
    use crate::{CameraSpec, LensName, LensSpec, SensorSpec};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;
    use selene_base::random::{RngExt, stream};
    use std::path::Path;

    fn pair() -> [CameraSpec; 2] {
        ["navcam_left.yaml", "navcam_right.yaml"].map(camera)
    }

    #[test]
    fn parallel_cameras_of_one_make_need_no_turn_and_keep_k() {
        let [left, right] = pair();
        let baseline = Pose::translation(right.stereo_baseline_m, 0.0, 0.0);
        let [of_left, of_right] = Rectification::pair(&left, &right, &baseline).expect("a pair");
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        for rectification in [&of_left, &of_right, &Rectification::alone(&left)] {
            assert!(close(&rectification.r(), &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]));
        }
        assert!(close(&of_left.p(), &left.intrinsics().p(0.0)));
        assert!(close(&of_right.p(), &right.intrinsics().p(right.stereo_baseline_m)));
    }

    #[test]
    fn a_point_has_one_row_in_both_images_and_its_disparity_is_f_b_over_z() {
        let [mut left, mut right] = pair();
        (left.lens.fx_px, left.lens.fy_px, left.horizontal_fov_deg) = (Some(450.0), Some(455.0), None);
        (right.lens.cx_px, right.lens.cy_px) = (Some(310.0), Some(190.0));
        let turn = UnitQuaternion::from_euler_angles(0.03, -0.12, 0.05);
        let left_from_right = Pose::from_parts([0.5, 0.03, -0.02].into(), turn);
        let [of_left, of_right] = Rectification::pair(&left, &right, &left_from_right).expect("a pair");
        assert!((of_right.baseline_m - left_from_right.translation.vector.norm()).abs() < 1e-12);
        let mut rng = stream(5, "points");
        for _ in 0..100 {
            let point =
                Vector3::new(rng.random_range(-2.0..2.0), rng.random_range(-1.0..1.0), rng.random_range(2.0..9.0));
            // As in CameraInfo: both P apply to points in the left camera's rectified frame.
            let place = |rectification: &Rectification, [x, y, z]: [f64; 3]| {
                let p = rectification.p();
                [(p[0] * x + p[2] * z + p[3]) / z, (p[5] * y + p[6] * z) / z]
            };
            let rectified = of_left.rectified_from_optical * point;
            let by_p = place(&of_right, rectified.into());
            // The same point through the right camera's own frame.
            let in_right =
                of_right.rectified_from_optical * (left_from_right.inverse() * nalgebra::Point3::from(point)).coords;
            let seen = [
                of_right.intrinsics.fx_px * in_right.x / in_right.z + of_right.intrinsics.cx_px,
                of_right.intrinsics.fy_px * in_right.y / in_right.z + of_right.intrinsics.cy_px,
            ];
            assert!((seen[0] - by_p[0]).abs() < 1e-9 && (seen[1] - by_p[1]).abs() < 1e-9, "{seen:?} {by_p:?}");
            let in_left = place(&of_left, rectified.into());
            assert!((in_left[1] - seen[1]).abs() < 1e-9, "rows {} and {}", in_left[1], seen[1]);
            let disparity = of_left.intrinsics.fx_px * of_right.baseline_m / rectified.z;
            assert!((in_left[0] - seen[0] - disparity).abs() < 1e-9);
        }
    }

    #[test]
    fn cameras_that_are_no_pair_are_refused() {
        let [left, right] = pair();
        for (at, part) in [([-0.4, 0.0, 0.0], "to its right"), ([0.1, 0.4, 0.0], "below"), ([0.0; 3], "to its right")] {
            let error =
                Rectification::pair(&left, &right, &Pose::translation(at[0], at[1], at[2])).expect_err("no pair");
            let error = error.to_string();
            assert!(error.contains(part) && error.contains("navcam_right"), "{error}");
        }
        let small = CameraSpec { height: 100, ..left };
        let error = Rectification::pair(&small, &right, &Pose::translation(0.4, 0.0, 0.0)).expect_err("sizes");
        let error = error.to_string();
        assert!(error.contains("640 × 100") && error.contains("640 × 360"), "{error}");
    }

    #[test]
    fn what_no_flat_image_can_show_is_refused_by_file_and_line() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor");
        let text = std::fs::read_to_string(folder.join("navcam_left.yaml")).expect("read");
        let path = std::env::temp_dir().join(format!("selene_rectified_{}.yaml", std::process::id()));
        let loaded = |fov: &str, lens: &str| {
            let keys = format!("{fov}\n  lens: {lens}\n  rectified: {{}}");
            std::fs::write(&path, text.replace("horizontal_fov_deg: 70", &keys)).expect("written");
            SensorSpec::load(&path).map_err(|error| error.to_string())
        };
        for (fov, lens, part) in [
            ("horizontal_fov_deg: 360", "{model: panorama}", "a panorama has no flat image"),
            ("horizontal_fov_deg: 190", "{model: stereographic}", "must show less than 90°"),
            ("horizontal_fov_deg: 190", "{model: equidistant, coefficients: [0, 0, 0, 0]}", "circle_deg below 180"),
        ] {
            let error = loaded(fov, lens).expect_err(lens);
            for part in [part, "rectified", &path.display().to_string(), "line"] {
                assert!(error.contains(part), "{part} is missing in: {error}");
            }
        }
        let circle = "{model: equidistant, coefficients: [0, 0, 0, 0], circle_deg: 170}";
        assert!(loaded("horizontal_fov_deg: 190", circle).is_ok());
        assert!(loaded("horizontal_fov_deg: 70", "{}").is_ok());
        std::fs::remove_file(&path).expect("removed");
        let wide = LensSpec { model: LensName::Stereographic, ..LensSpec::default() };
        let sorato = CameraSpec { lens: wide, horizontal_fov_deg: Some(150.0), ..camera("sorato_side.yaml") };
        assert!(super::farthest_rad(&sorato).to_degrees() > 75.0);
    }
}
