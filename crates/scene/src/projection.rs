//! Projection of directions to a camera's pixels and back, and the part of a lens that an image uses.

use nalgebra::Vector3;
use selene_base::Pose;

use crate::lens::LensModel;
use crate::tracer::TraceError;
use crate::view::CameraView;

/// Most samples per pixel.
pub const PIXEL_SAMPLES_MAX: u32 = 1024;

/// Step of the finite differences that give a pixel's solid angle, pixels.
const DIFFERENCE_PX: f64 = 1e-3;

/// Sample points along each side of the image at which a lens is evaluated.
const PLACES: u32 = 16;

/// Distance of the outermost sample points from the image's edge, so that rounding does not put them outside, pixels.
const INSIDE_PX: f64 = 1e-6;

/// Safety factor of the kernels' bounds over the values at those sample points.
const MARGIN: f64 = 1.25;

/// A bound that excludes nothing; its square is still finite.
const NO_BOUND: f64 = 1e15;

/// Half a pixel's diagonal relative to its side, rounded up.
const HALF_DIAGONAL: f32 = 0.708;

impl CameraView {
    /// Image position (u, v), pixels, of a direction in the optical frame, inside the image or beside it; none where
    /// the lens does not see the direction.
    #[must_use]
    pub fn project(&self, direction: Vector3<f64>) -> Option<[f64; 2]> {
        let [x, y] = self.lens.project(direction)?;
        Some([x * self.fx_px + self.cx_px, y * self.fy_px + self.cy_px])
    }

    /// Direction in the optical frame that maps to (u, v): its component along the optical axis is 1 for perspective
    /// lenses, its length 1 for others, so that the direction times the pixel's depth is the surface point. None
    /// outside the lens's field of view.
    #[must_use]
    pub fn unproject(&self, [u, v]: [f64; 2]) -> Option<Vector3<f64>> {
        self.lens.unproject([(u - self.cx_px) / self.fx_px, (v - self.cy_px) / self.fy_px])
    }

    /// Solid angle of a pixel at (u, v), sr; 0 outside the lens's field of view. For a pinhole it is cos³ of the angle
    /// to the axis over fx fy.
    #[must_use]
    pub fn pixel_sr(&self, [u, v]: [f64; 2]) -> f64 {
        if let LensModel::Pinhole = self.lens.model() {
            let [x, y] = [(u - self.cx_px) / self.fx_px, (v - self.cy_px) / self.fy_px];
            return (1.0 + x * x + y * y).powf(-1.5) / (self.fx_px * self.fy_px);
        }
        let across = |step: [f64; 2]| {
            let [to, from] = [1.0, -1.0].map(|side| self.unproject([u + side * step[0], v + side * step[1]]));
            Some((to?.normalize() - from?.normalize()) / (2.0 * DIFFERENCE_PX))
        };
        match (across([DIFFERENCE_PX, 0.0]), across([0.0, DIFFERENCE_PX])) {
            (Some(along_row), Some(along_column)) => along_row.cross(&along_column).norm(),
            _ => 0.0,
        }
    }

    /// Checks that the view describes a camera.
    ///
    /// # Errors
    /// When it has no pixels, no focal length, a number that is not finite or a bad number of samples.
    pub fn check(&self) -> Result<(), TraceError> {
        if self.width == 0 || self.height == 0 {
            return Err(TraceError::View(format!("{} × {} pixels; at least 1 × 1", self.width, self.height)));
        }
        if !(self.fx_px > 0.0 && self.fy_px > 0.0 && self.fx_px.is_finite() && self.fy_px.is_finite()) {
            let focal = format!("focal lengths {} and {} px; must be above 0", self.fx_px, self.fy_px);
            return Err(TraceError::View(focal));
        }
        if !(1..=PIXEL_SAMPLES_MAX).contains(&self.samples) {
            let why = format!("{} samples a pixel; must be 1 to {PIXEL_SAMPLES_MAX}", self.samples);
            return Err(TraceError::View(why));
        }
        let finite =
            |pose: &Pose| pose.translation.vector.iter().chain(pose.rotation.coords.iter()).all(|x| x.is_finite());
        let swept = self.sweep.iter().flat_map(|sweep| sweep.world_from_optical.iter());
        let poses_finite = std::iter::once(&self.world_from_optical).chain(swept).all(finite);
        if poses_finite && self.cx_px.is_finite() && self.cy_px.is_finite() {
            return Ok(());
        }
        Err(TraceError::View("pose or principal point is not finite".to_owned()))
    }

    /// A sample point of the image, edges and corners included, that the lens does not see, pixels; none where it sees
    /// them all.
    #[must_use]
    pub fn blind_place(&self) -> Option<[f64; 2]> {
        self.places().find(|place| self.unproject(*place).is_none())
    }

    /// Limit of the image from the axis, in the units of `CameraRecord::reach`.
    pub(crate) fn reach(&self) -> f64 {
        let most = self.lens.reach().min(NO_BOUND);
        let out = |direction: Vector3<f64>| {
            let across = direction.x.hypot(direction.y);
            if self.lens.is_perspective() { across } else { across.atan2(direction.z) }
        };
        match self.lens.model() {
            LensModel::PlumbBob(_) | LensModel::RationalPolynomial(_) | LensModel::Equidistant(_) => {
                let at = |place| self.unproject(place).map(out);
                let farthest = self.places().map(at).try_fold(0.0, |most, at| Some(f64::max(most, at?)));
                farthest.map_or(most, |farthest| most.min(farthest * MARGIN))
            }
            _ => most,
        }
    }

    /// Half the diagonal of the widest pixel, rad, or slightly more.
    pub(crate) fn pixel_reach(&self) -> f32 {
        if let LensModel::Pinhole = self.lens.model() {
            let inverse_focal = [(1.0 / self.fx_px) as f32, (1.0 / self.fy_px) as f32];
            return HALF_DIAGONAL * inverse_focal[0].max(inverse_focal[1]);
        }
        let half = |[u, v]: [f64; 2]| {
            let corner = |x: f64, y: f64| self.unproject([u + 0.5 * x, v + 0.5 * y]);
            let diagonal = |x: f64| Some(corner(x, 1.0)?.angle(&corner(-x, -1.0)?));
            0.5 * f64::max(diagonal(1.0).unwrap_or(0.0), diagonal(-1.0).unwrap_or(0.0))
        };
        (MARGIN * self.places().map(half).fold(0.0, f64::max)) as f32
    }

    /// Sample points spread evenly over the image, edges and corners included, pixels.
    pub(crate) fn places(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        let side = |pixels: u32| f64::from(pixels) - 2.0 * INSIDE_PX;
        let along = move |i: u32, pixels: u32| f64::from(i) / f64::from(PLACES) * side(pixels) + INSIDE_PX - 0.5;
        let place = move |i: u32| [along(i % (PLACES + 1), self.width), along(i / (PLACES + 1), self.height)];
        (0..(PLACES + 1).pow(2)).map(place)
    }
}
