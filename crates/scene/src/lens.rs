//! Lens models: how a lens maps directions to the image plane and back. Positions on the plane are in units of the
//! focal length at its centre, x right and y down; `CameraView` scales them to pixels. Radial–tangential polynomials
//! follow Brown 1966 in the notation of OpenCV and ROS, the lens of a single ball of glass follows SENSOR eq. 1–2
//! (Devernay and Faugeras 2001), fisheyes follow Kannala and Brandt 2006 (REP-118's "equidistant"), and the
//! stereographic lens is that of HEADING, r = 2 f tan(θ/2). A model holds as long as the image radius grows with the
//! angle; directions beyond have no image, so no direction appears twice.

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::Vector3;

use crate::polynomial::{Polynomials, grows_until, inverse};

/// A projection law; r is the image radius in focal lengths and θ the angle to the optical axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LensModel {
    /// r = tan θ.
    Pinhole,
    /// Pinhole with radial and tangential distortion: k1, k2, p1, p2, k3.
    PlumbBob([f64; 5]),
    /// `PlumbBob` with a second polynomial as the divisor: k1, k2, p1, p2, k3, k4, k5, k6.
    RationalPolynomial([f64; 8]),
    /// tan θ ∝ tan(r tan ω) with ω half the horizontal field of view, rad.
    FieldOfView {
        /// ω, rad.
        half_fov_rad: f64,
    },
    /// r = θ + k1 θ³ + k2 θ⁵ + k3 θ⁷ + k4 θ⁹.
    Equidistant([f64; 4]),
    /// r = 2 tan(θ/2).
    Stereographic,
    /// Equirectangular, all around: longitude along columns, latitude along rows.
    Panorama,
}

/// A lens model and the limit up to which it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    model: LensModel,
    /// Limit of the view: tan θ for perspective lenses, else θ, rad.
    reach: f64,
}

impl Lens {
    /// The ideal perspective lens, without distortion.
    pub const PINHOLE: Self = Self { model: LensModel::Pinhole, reach: f64::INFINITY };

    /// A lens that sees as far as its model holds.
    #[must_use]
    pub fn new(model: LensModel) -> Self {
        let reach = match model {
            LensModel::Pinhole | LensModel::FieldOfView { .. } => f64::INFINITY,
            LensModel::PlumbBob(_) | LensModel::RationalPolynomial(_) => Polynomials::of(&model).reach(),
            LensModel::Equidistant(k) => {
                grows_until(PI, |theta| equidistant_slope(&k, theta) > 0.0 && equidistant(&k, theta).is_finite())
            }
            LensModel::Stereographic | LensModel::Panorama => PI,
        };
        Self { model, reach }
    }

    /// The same lens limited to `angle_rad` from the axis, the edge of its image circle.
    #[must_use]
    pub fn with_circle(self, angle_rad: f64) -> Self {
        let edge = if !self.is_perspective() {
            angle_rad
        } else if angle_rad < FRAC_PI_2 {
            angle_rad.tan()
        } else {
            f64::INFINITY
        };
        Self { reach: self.reach.min(edge), ..self }
    }

    /// The projection model.
    #[must_use]
    pub fn model(&self) -> &LensModel {
        &self.model
    }

    /// Largest angle to the axis that the lens sees, rad.
    #[must_use]
    pub fn reach_rad(&self) -> f64 {
        if self.is_perspective() { self.reach.atan() } else { self.reach }
    }

    /// Whether the lens sees only ahead, so that depth is measured along the axis and not along rays.
    #[must_use]
    pub fn is_perspective(&self) -> bool {
        match self.model {
            LensModel::Pinhole
            | LensModel::PlumbBob(_)
            | LensModel::RationalPolynomial(_)
            | LensModel::FieldOfView { .. } => true,
            LensModel::Equidistant(_) | LensModel::Stereographic | LensModel::Panorama => false,
        }
    }

    /// Position on the image plane, in focal lengths, of a direction in the optical frame; none where the lens does not
    /// see it.
    #[must_use]
    pub fn project(&self, direction: Vector3<f64>) -> Option<[f64; 2]> {
        if let LensModel::Panorama = self.model {
            let level = direction.x.hypot(direction.z);
            return Some([direction.x.atan2(direction.z), direction.y.atan2(level)]);
        }
        let out = direction.x.hypot(direction.y);
        if self.is_perspective() {
            let ahead = direction.z > 0.0 && out <= self.reach * direction.z;
            return ahead.then(|| self.distort([direction.x / direction.z, direction.y / direction.z]));
        }
        let theta = out.atan2(direction.z);
        // The direction straight back maps to a whole circle, not to one point.
        if theta > self.reach || (out == 0.0 && direction.z <= 0.0) {
            return None;
        }
        let radius = self.radius(theta);
        let along = if out > 0.0 { radius / out } else { 0.0 };
        Some([direction.x * along, direction.y * along])
    }

    /// Direction in the optical frame that maps to a position on the image plane, given in focal lengths. Its component
    /// along the axis is 1 for perspective lenses; for others it has length 1. None outside the field of view.
    #[must_use]
    pub fn unproject(&self, place: [f64; 2]) -> Option<Vector3<f64>> {
        let [x, y] = place;
        if let LensModel::Panorama = self.model {
            let around = x.abs() <= PI && y.abs() <= FRAC_PI_2;
            return around.then(|| Vector3::new(x.sin() * y.cos(), y.sin(), x.cos() * y.cos()));
        }
        if self.is_perspective() {
            let [x, y] = self.undistort(place)?;
            return (x.hypot(y) <= self.reach).then(|| Vector3::new(x, y, 1.0));
        }
        let radius = x.hypot(y);
        let theta = self.angle(radius)?;
        let along = if radius > 0.0 { theta.sin() / radius } else { 0.0 };
        Some(Vector3::new(x * along, y * along, theta.cos()))
    }

    /// Image position of a ray with slopes x, y (in tan θ), for perspective lenses; focal lengths.
    fn distort(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        match self.model {
            LensModel::FieldOfView { half_fov_rad } => {
                let scale = fov_scale(half_fov_rad);
                let out = x.hypot(y);
                let along = if out > 0.0 { scale * (out / scale).atan() / out } else { 1.0 };
                [x * along, y * along]
            }
            LensModel::PlumbBob(_) | LensModel::RationalPolynomial(_) => Polynomials::of(&self.model).distort([x, y]),
            _ => [x, y],
        }
    }

    fn undistort(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        match self.model {
            LensModel::FieldOfView { half_fov_rad } => {
                let scale = fov_scale(half_fov_rad);
                let radius = x.hypot(y);
                let along = if radius > 0.0 { scale * (radius / scale).tan() / radius } else { 1.0 };
                (radius < scale * FRAC_PI_2).then_some([x * along, y * along])
            }
            LensModel::PlumbBob(_) | LensModel::RationalPolynomial(_) => {
                Polynomials::of(&self.model).undistort([x, y], self.reach)
            }
            _ => Some([x, y]),
        }
    }

    /// Image radius at the angle θ to the axis, for fisheyes; focal lengths.
    fn radius(&self, theta: f64) -> f64 {
        match &self.model {
            LensModel::Equidistant(k) => equidistant(k, theta),
            _ => 2.0 * (0.5 * theta).tan(),
        }
    }

    /// Angle to the axis that maps to an image radius, rad, for fisheyes.
    fn angle(&self, radius: f64) -> Option<f64> {
        let theta = match &self.model {
            LensModel::Equidistant(k) => {
                inverse(radius, self.reach, |theta| [equidistant(k, theta), equidistant_slope(k, theta)])
            }
            _ => Some(2.0 * (0.5 * radius).atan()),
        };
        theta.filter(|theta| *theta <= self.reach)
    }

    /// The model's number and coefficients in the kernels' encoding; see kernel/lens.rs.
    pub(crate) fn record(&self) -> (u32, [[f32; 4]; 2]) {
        let zero = [0.0; 4];
        let (kind, coefficients) = match &self.model {
            LensModel::Pinhole => (0, [zero; 2]),
            LensModel::PlumbBob(_) | LensModel::RationalPolynomial(_) => (1, Polynomials::of(&self.model).rows()),
            LensModel::FieldOfView { half_fov_rad } => (2, [[fov_scale(*half_fov_rad), 0.0, 0.0, 0.0], zero]),
            LensModel::Equidistant(k) => (3, [*k, zero]),
            LensModel::Stereographic => (4, [zero; 2]),
            LensModel::Panorama => (5, [zero; 2]),
        };
        (kind, coefficients.map(|row| row.map(|x| x as f32)))
    }

    /// Limit of the view: tan θ for perspective lenses, else θ, rad.
    pub(crate) fn reach(&self) -> f64 {
        self.reach
    }
}

/// tan ω / tan(tan ω): the 1/s of SENSOR, which keeps the horizontal field of view.
fn fov_scale(half_fov_rad: f64) -> f64 {
    let edge = half_fov_rad.tan();
    edge / edge.tan()
}

fn equidistant(k: &[f64; 4], theta: f64) -> f64 {
    let u = theta * theta;
    theta * (1.0 + u * (k[0] + u * (k[1] + u * (k[2] + u * k[3]))))
}

fn equidistant_slope(k: &[f64; 4], theta: f64) -> f64 {
    let u = theta * theta;
    1.0 + u * (3.0 * k[0] + u * (5.0 * k[1] + u * (7.0 * k[2] + u * 9.0 * k[3])))
}
