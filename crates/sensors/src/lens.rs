//! A camera's lens spec: one of the models of `selene_scene`, with the coefficients of a `camera_info` file in its
//! order. The scale of the image on the detector comes either from the camera's `horizontal_fov_deg`, the angle
//! between the left and the right edge of the image through its middle, or from `fx_px` to `cy_px`, as calibration
//! gives them. A lens whose model does not hold over the whole image is refused.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::{finite, positive, within};
use selene_scene::{Lens, LensModel};
use serde::Deserialize;

use crate::camera::{CameraSpec, Intrinsics};

/// The lens of a camera. Left out, it is a pinhole.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct LensSpec {
    /// The projection model: how directions map to the image plane.
    #[garde(skip)]
    pub model: LensName,
    /// `plumb_bob`: k1, k2, p1, p2, k3; `rational_polynomial`: k1, k2, p1, p2, k3, k4, k5, k6;
    /// `equidistant`: k1, k2, k3, k4; the others have none.
    #[garde(custom(as_many_as_the_model_has(self.model)), inner(custom(finite)))]
    pub coefficients: Vec<f64>,
    /// Focal length along columns in the middle of the lens, pixels.
    #[garde(inner(custom(positive)))]
    pub fx_px: Option<f64>,
    /// Focal length along rows, pixels.
    #[garde(inner(custom(positive)))]
    pub fy_px: Option<f64>,
    /// Column of the principal point, pixels; 0 is the middle of the first column.
    #[garde(inner(custom(finite)))]
    pub cx_px: Option<f64>,
    /// Row of the principal point, pixels; 0 is the middle of the first row.
    #[garde(inner(custom(finite)))]
    pub cy_px: Option<f64>,
    /// Full angle of the image circle, degrees; outside it the image is black. Left out, the lens sees as far as its
    /// model holds.
    #[garde(inner(custom(within(1.0, 360.0))))]
    pub circle_deg: Option<f64>,
}

/// The lens models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LensName {
    /// Ideal perspective projection, r = tan θ (r in focal lengths, θ from the optical axis).
    #[default]
    Pinhole,
    /// Perspective with radial and tangential distortion, as in OpenCV and ROS.
    PlumbBob,
    /// As `PlumbBob`, with a second radial polynomial as denominator.
    RationalPolynomial,
    /// A single ball of glass (SENSOR eq. 1–2): tan θ ∝ tan(r tan ω), ω half of the horizontal field of view.
    FieldOfView,
    /// Kannala and Brandt's fisheye, r = θ + k1 θ³ + k2 θ⁵ + k3 θ⁷ + k4 θ⁹.
    Equidistant,
    /// Stereographic fisheye, r = 2 tan(θ/2).
    Stereographic,
    /// Equirectangular: longitude along columns, latitude along rows.
    Panorama,
}

impl LensName {
    /// Number of distortion coefficients of the model.
    #[must_use]
    pub fn coefficient_count(self) -> usize {
        match self {
            Self::PlumbBob => 5,
            Self::RationalPolynomial => 8,
            Self::Equidistant => 4,
            Self::Pinhole | Self::FieldOfView | Self::Stereographic | Self::Panorama => 0,
        }
    }

    /// The widest horizontal field of view allowed for the model, degrees.
    fn widest_deg(self) -> f64 {
        match self {
            Self::Pinhole | Self::PlumbBob | Self::RationalPolynomial => 170.0,
            // A little less than the limit tan ω < π/2 of SENSOR's tan(r tan ω).
            Self::FieldOfView => 114.0,
            Self::Stereographic => 350.0,
            Self::Equidistant | Self::Panorama => 360.0,
        }
    }
}

impl LensSpec {
    /// The `distortion_model` of `sensor_msgs/CameraInfo`: ROS's own name for the models that ROS knows (a pinhole is a
    /// `plumb_bob` without distortion), else the model's name here.
    #[must_use]
    pub fn distortion_model(&self) -> &'static str {
        match self.model {
            LensName::Pinhole | LensName::PlumbBob => "plumb_bob",
            LensName::RationalPolynomial => "rational_polynomial",
            LensName::Equidistant => "equidistant",
            LensName::FieldOfView => "field_of_view",
            LensName::Stereographic => "stereographic",
            LensName::Panorama => "panorama",
        }
    }

    /// The coefficients D of `sensor_msgs/CameraInfo`; empty for models that ROS does not know.
    #[must_use]
    pub fn distortion(&self) -> Vec<f64> {
        if self.model == LensName::Pinhole { vec![0.0; 5] } else { self.coefficients.clone() }
    }

    /// The lens; the field-of-view model takes its parameter from `horizontal_fov_deg`.
    #[must_use]
    pub fn lens(&self, horizontal_fov_deg: Option<f64>) -> Lens {
        let lens = Lens::new(self.lens_model(horizontal_fov_deg));
        self.circle_deg.map_or(lens, |deg| lens.with_circle(0.5 * deg.to_radians()))
    }

    fn lens_model(&self, horizontal_fov_deg: Option<f64>) -> LensModel {
        let k = |i: usize| self.coefficients.get(i).copied().unwrap_or(0.0);
        match self.model {
            LensName::Pinhole => LensModel::Pinhole,
            LensName::PlumbBob => LensModel::PlumbBob(std::array::from_fn(k)),
            LensName::RationalPolynomial => LensModel::RationalPolynomial(std::array::from_fn(k)),
            LensName::FieldOfView => {
                LensModel::FieldOfView { half_fov_rad: 0.5 * horizontal_fov_deg.unwrap_or(f64::NAN).to_radians() }
            }
            LensName::Equidistant => LensModel::Equidistant(std::array::from_fn(k)),
            LensName::Stereographic => LensModel::Stereographic,
            LensName::Panorama => LensModel::Panorama,
        }
    }

    /// Focal lengths and principal point of an image `width` × `height`; NaN where the field of view exceeds what the
    /// lens sees, which validation refuses.
    #[must_use]
    pub fn intrinsics(&self, [width, height]: [u32; 2], horizontal_fov_deg: Option<f64>) -> Intrinsics {
        let focal_px = horizontal_fov_deg.map_or(f64::NAN, |deg| self.focal_px(width, deg));
        Intrinsics {
            fx_px: self.fx_px.unwrap_or(focal_px),
            fy_px: self.fy_px.unwrap_or(focal_px),
            cx_px: self.cx_px.unwrap_or(f64::from(width) / 2.0 - 0.5),
            cy_px: self.cy_px.unwrap_or(f64::from(height) / 2.0 - 0.5),
        }
    }

    /// The focal length at which the field of view fills the columns, pixels.
    fn focal_px(&self, width: u32, horizontal_fov_deg: f64) -> f64 {
        let half_width = f64::from(width) / 2.0;
        let half_rad = horizontal_fov_deg.to_radians() / 2.0;
        match self.model {
            LensName::Pinhole => half_width / half_rad.tan(),
            LensName::Panorama => half_width / half_rad,
            _ => {
                let lens = Lens::new(self.lens_model(Some(horizontal_fov_deg)));
                let (sin, cos) = half_rad.sin_cos();
                let edge = |x: f64| lens.project([x, 0.0, cos].into()).map_or(f64::NAN, |[x, _]| x);
                f64::from(width) / (edge(sin) - edge(-sin))
            }
        }
    }
}

fn as_many_as_the_model_has(model: LensName) -> impl FnOnce(&Vec<f64>, &()) -> garde::Result {
    move |coefficients, ()| {
        let (count, given) = (model.coefficient_count(), coefficients.len());
        if given == count {
            return Ok(());
        }
        Err(garde::Error::new(format!("{given} numbers are not allowed: this model has {count} coefficients")))
    }
}

/// A garde check of `horizontal_fov_deg`: the focal length is given in exactly one way, and the model allows the field.
pub(crate) fn field_of(lens: &LensSpec) -> impl FnOnce(&Option<f64>, &()) -> garde::Result + '_ {
    move |horizontal_fov_deg, ()| {
        let focal_given = [lens.fx_px, lens.fy_px].map(|focal| focal.is_some());
        match (horizontal_fov_deg, focal_given) {
            (Some(deg), [false, false]) => within(1.0, lens.model.widest_deg())(deg, &()),
            (None, [true, true]) if lens.model != LensName::FieldOfView => Ok(()),
            (None, [true, true]) => Err(garde::Error::new("the field_of_view lens is made from horizontal_fov_deg")),
            _ => Err(garde::Error::new("must have either horizontal_fov_deg or both lens.fx_px and lens.fy_px")),
        }
    }
}

/// A garde check: the lens model holds over the camera's whole image.
pub(crate) fn covers_the_image(camera: &CameraSpec) -> impl FnOnce(&LensSpec, &()) -> garde::Result + '_ {
    move |lens, ()| {
        let reported_already = field_of(lens)(&camera.horizontal_fov_deg, &()).is_err()
            || lens.coefficients.len() != lens.model.coefficient_count();
        match lens.fault_over(camera).filter(|_| !reported_already) {
            Some(fault) => Err(garde::Error::new(fault)),
            None => Ok(()),
        }
    }
}

impl LensSpec {
    /// The error message if the lens cannot cover the camera's image.
    fn fault_over(&self, camera: &CameraSpec) -> Option<String> {
        let widest_deg = Lens::new(self.lens_model(camera.horizontal_fov_deg)).reach_rad().to_degrees();
        let sees = format!("this lens sees {widest_deg:.2}° from its axis");
        if self.circle_deg.is_some() && self.model == LensName::Panorama {
            return Some("a panorama has no circle_deg: leave it out".to_owned());
        }
        if self.circle_deg.is_some_and(|deg| 0.5 * deg > widest_deg) {
            return Some(format!("{sees}: circle_deg must be at most {:.2}", 2.0 * widest_deg));
        }
        let Intrinsics { fx_px, fy_px, .. } = camera.intrinsics();
        if !(fx_px > 0.0 && fy_px > 0.0) {
            return Some(format!("{sees}: horizontal_fov_deg must be less than {:.2}", 2.0 * widest_deg));
        }
        let [u, v] = camera.view(Pose::identity()).blind_place().filter(|_| !self.may_leave_black())?;
        let allowed = "it must see the whole image up to the corners, or circle_deg say where its image ends";
        Some(format!("{sees} and nothing at pixel ({u:.1}, {v:.1}): {allowed}"))
    }

    /// Whether the image may have pixels that the lens does not see: outside its circle, or beyond a whole sphere.
    fn may_leave_black(&self) -> bool {
        let whole_sphere = self.model == LensName::Equidistant && self.lens(None).reach_rad() >= std::f64::consts::PI;
        self.circle_deg.is_some() || whole_sphere
    }
}

#[cfg(test)]
mod tests {
    use super::{LensName, LensSpec};
    use crate::CameraSpec;
    use crate::camera::tests::camera;
    use selene_base::Pose;
    use selene_base::input::parse_yaml;
    use std::path::Path;

    /// A camera of 640 × 480 pixels with this field of view and lens.
    fn with(horizontal_fov_deg: f64, lens: LensSpec) -> CameraSpec {
        let (width, height) = (640, 480);
        CameraSpec { width, height, horizontal_fov_deg: Some(horizontal_fov_deg), lens, ..camera("navcam_left.yaml") }
    }

    fn lens(model: LensName, coefficients: &[f64]) -> LensSpec {
        LensSpec { model, coefficients: coefficients.to_vec(), ..LensSpec::default() }
    }

    #[test]
    fn the_field_of_view_reaches_from_edge_to_edge_for_every_lens() {
        const BENT: [f64; 8] = [-0.2, 0.05, 0.0, 0.0, 0.01, 0.02, 0.01, 0.001];
        for (deg, lens) in [
            (70.0, lens(LensName::Pinhole, &[])),
            (80.0, lens(LensName::PlumbBob, &BENT[..5])),
            (80.0, lens(LensName::RationalPolynomial, &BENT)),
            (100.0, lens(LensName::FieldOfView, &[])),
            (200.0, lens(LensName::Equidistant, &[0.01, -0.002, 0.0003, 0.0])),
            (150.0, lens(LensName::Stereographic, &[])),
            (360.0, lens(LensName::Panorama, &[])),
        ] {
            let model = lens.model;
            let view = with(deg, lens).view(Pose::identity());
            let middle = view.cy_px;
            let edges = [-0.5 + 1e-9, 639.5 - 1e-9].map(|u| view.unproject([u, middle]).expect("seen"));
            // The angle from the left edge over straight ahead to the right edge, also beyond 180°.
            let [left, right] = edges.map(|d| d.x.abs().atan2(d.z).to_degrees());
            assert!((left + right - deg).abs() < 1e-5, "{model:?}: {left} + {right}");
        }
    }

    fn parsed(lens: &str, horizontal_fov: &str) -> Result<CameraSpec, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/navcam_left.yaml");
        let text = std::fs::read_to_string(path).expect("read");
        let (_, body) = text.split_once("camera:\n").expect("a camera");
        let keys = format!("{horizontal_fov}\n  lens: {lens}");
        let body = body.replace("horizontal_fov_deg: 70", &keys).replace("\n  ", "\n");
        parse_yaml(body.trim_start(), Path::new("lens.yaml")).map_err(|e| e.to_string())
    }

    #[test]
    fn calibrations_are_taken_as_camera_info_has_them() {
        let calibrated = "{model: plumb_bob, fx_px: 458.7, fy_px: 457.3, cx_px: 367.2, cy_px: 248.4, \
                          coefficients: [-0.2834, 0.0739, 0.0002, 0.00002, 0]}";
        let spec = parsed(calibrated, "").expect("good");
        assert_eq!(spec.intrinsics().k(), [458.7, 0.0, 367.2, 0.0, 457.3, 248.4, 0.0, 0.0, 1.0]);
        assert_eq!((spec.lens.distortion_model(), spec.lens.distortion().len()), ("plumb_bob", 5));
        let pinhole = parsed("{}", "horizontal_fov_deg: 70").expect("good").lens;
        assert_eq!((pinhole.distortion_model(), pinhole.distortion()), ("plumb_bob", vec![0.0; 5]));
        let panorama = parsed("{model: panorama}", "horizontal_fov_deg: 320").expect("good").lens;
        assert!(panorama.distortion_model() == "panorama" && panorama.distortion().is_empty());
    }

    #[test]
    fn lenses_that_cannot_give_the_image_are_refused_with_what_is_allowed() {
        let fov = "horizontal_fov_deg: 70";
        for (lens, horizontal_fov, parts) in [
            ("{model: plumb_bob, coefficients: [1]}", fov, vec!["coefficients", "1 numbers", "5 coefficients"]),
            ("{model: plumb_bob, coefficients: [-0.9, 0, 0, 0, 0]}", fov, vec!["lens", "must be less than 62.65"]),
            (
                "{model: equidistant, coefficients: [-0.3, 0, 0, 0]}",
                "horizontal_fov_deg: 115",
                vec!["corners", "circle_deg"],
            ),
            (
                "{model: equidistant, coefficients: [-0.3, 0, 0, 0], circle_deg: 130}",
                "horizontal_fov_deg: 115",
                vec!["at most 120.79"],
            ),
            ("{model: field_of_view}", "horizontal_fov_deg: 120", vec!["horizontal_fov_deg", "120", "1 to 114"]),
            ("{model: field_of_view}", "horizontal_fov_deg: 113", vec!["corners"]),
            ("{model: pinhole}", "horizontal_fov_deg: 171", vec!["171", "1 to 170"]),
            ("{model: panorama, circle_deg: 90}", "horizontal_fov_deg: 360", vec!["leave it out"]),
            ("{model: wide}", fov, vec!["wide", "stereographic"]),
            ("{fx_px: 300, fy_px: 300}", fov, vec!["either", "fx_px"]),
            ("{fx_px: -3, fy_px: 300}", "", vec!["fx_px", "-3", "more than 0"]),
            ("{}", "", vec!["either horizontal_fov_deg or"]),
        ] {
            let message = parsed(lens, horizontal_fov).expect_err(lens);
            for part in parts {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}
