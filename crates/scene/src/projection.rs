//! Where directions fall in a camera's image and back, in pixels, and what of a lens the
//! image uses.

use nalgebra::Vector3;
use selene_base::Pose;

use crate::lens::LensModel;
use crate::tracer::TraceError;
use crate::view::CameraView;

/// The most samples a pixel may have.
pub const PIXEL_SAMPLES_MAX: u32 = 1024;

/// Step of the differences that give a pixel's solid angle, pixels.
const DIFFERENCE_PX: f64 = 1e-3;

/// Places along each side of the image where a lens is looked at.
const PLACES: u32 = 16;

/// How far inside the image's edge the outermost of them are, so that rounding does not put them outside, pixels.
const INSIDE_PX: f64 = 1e-6;

/// How much wider the kernels' bounds are than what is seen at those places.
const MARGIN: f64 = 1.25;

/// A bound that excludes nothing; its square is a number too.
const NO_BOUND: f64 = 1e15;

/// Half a pixel's diagonal over its side, rounded up.
const HALF_DIAGONAL: f32 = 0.708;

impl CameraView {
    /// Where a direction in the optical frame falls in the image or beside it, (u, v) in
    /// pixels; none where the lens does not see it.
    #[must_use]
    pub fn project(&self, direction: Vector3<f64>) -> Option<[f64; 2]> {
        let [x, y] = self.lens.project(direction)?;
        Some([x * self.fx_px + self.cx_px, y * self.fy_px + self.cy_px])
    }

    /// The direction in the optical frame of what falls on (u, v): 1 along the optical axis
    /// for perspective lenses, of length 1 for others, so that times the pixel's depth it is
    /// the point itself; none outside what the lens sees.
    #[must_use]
    pub fn unproject(&self, [u, v]: [f64; 2]) -> Option<Vector3<f64>> {
        self.lens.unproject([(u - self.cx_px) / self.fx_px, (v - self.cy_px) / self.fy_px])
    }

    /// Solid angle of a pixel at (u, v), sr; 0 outside what the lens sees. For a pinhole
    /// cos³ of the angle to the axis over fx fy.
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

    /// Checks that the view is a camera.
    ///
    /// # Errors
    /// When it has no pixels, or a number that is not finite or no focal length.
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

    /// A place of the image, its edges and corners included, that the lens does not see,
    /// pixels; none where it sees them all.
    #[must_use]
    pub fn blind_place(&self) -> Option<[f64; 2]> {
        self.places().find(|place| self.unproject(*place).is_none())
    }

    /// The farthest from the axis that the image shows, in the measure of `CameraRecord`.
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

    /// Half the diagonal of the widest pixel, rad, or a little more.
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

    /// Places evenly over the image, its edges and corners included, pixels.
    pub(crate) fn places(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        let side = |pixels: u32| f64::from(pixels) - 2.0 * INSIDE_PX;
        let along = move |i: u32, pixels: u32| f64::from(i) / f64::from(PLACES) * side(pixels) + INSIDE_PX - 0.5;
        let place = move |i: u32| [along(i % (PLACES + 1), self.width), along(i / (PLACES + 1), self.height)];
        (0..(PLACES + 1).pow(2)).map(place)
    }
}
