//! Inputs and outputs of a tracer: plain data, the same for the CPU and the GPU. All positions are in the map frame,
//! metres.

use selene_base::Pose;

use crate::lens::Lens;
use crate::light::LightSampling;
use crate::record::TruthRecord;
use crate::shutter_motion::ShutterMotion;

/// The semantic classes that truth images carry (16-bit codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Class {
    /// Nothing was hit.
    Sky = 0,
    /// Regolith.
    Ground = 1,
    /// A rock.
    Rock = 2,
    /// Part of a rover.
    Rover = 3,
    /// Part of a static object, such as a lander or a mast.
    Object = 4,
    /// Dust in the air: only in lidar returns; images do not show it as a class.
    Dust = 5,
}

/// How truth images label something: class and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Semantic class.
    pub class: Class,
    /// Unique number of the instance; 0 for sky and ground.
    pub number: u32,
}

impl Label {
    /// The label of the sky.
    pub const SKY: Self = Self { class: Class::Sky, number: 0 };
    /// The label of the ground.
    pub const GROUND: Self = Self { class: Class::Ground, number: 0 };
}

impl Class {
    /// The name of a class code in detections.
    #[must_use]
    pub fn name_of(code: u16) -> &'static str {
        const NAMES: [&str; 6] = ["sky", "ground", "rock", "rover", "object", "dust"];
        NAMES.get(usize::from(code)).copied().unwrap_or("unknown")
    }

    /// The label of an instance of this class.
    #[must_use]
    pub fn numbered(self, number: u32) -> Label {
        Label { class: self, number }
    }
}

/// A camera at one instant. Pixel (column u, row v) has its centre at (u, v). Its ray leaves in the direction that the
/// lens maps to ((u − cx)/fx, (v − cy)/fy); for a pinhole that is (x, y, 1) in the optical frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraView {
    /// Pose of the optical frame (z forward, x right, y down) in the map frame at the image's stamp.
    pub world_from_optical: Pose,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Focal length along columns at the lens's centre, pixels.
    pub fx_px: f64,
    /// Focal length along rows at the lens's centre, pixels.
    pub fy_px: f64,
    /// Principal point's column, pixels.
    pub cx_px: f64,
    /// Principal point's row, pixels.
    pub cy_px: f64,
    /// Projection and field of view of the lens.
    pub lens: Lens,
    /// Motion and row-by-row readout during the image; none where the whole image is one instant.
    pub sweep: Option<ShutterMotion>,
    /// Rays per pixel that sample light: 1 goes through the pixel's centre, more are spread over the pixel and its
    /// exposure.
    pub samples: u32,
    /// How light is sampled.
    pub light: LightSampling,
}

impl CameraView {
    /// A pinhole with square pixels and a horizontal field of view, rad, from edge to edge; the Sun is a point and
    /// scattered light is left out.
    #[must_use]
    pub fn pinhole(world_from_optical: Pose, [width, height]: [u32; 2], horizontal_fov_rad: f64) -> Self {
        let focal_px = 0.5 * f64::from(width) / (0.5 * horizontal_fov_rad).tan();
        let [cx_px, cy_px] = [width, height].map(|count| 0.5 * (f64::from(count) - 1.0));
        let light = LightSampling::POINT;
        Self {
            world_from_optical,
            width,
            height,
            fx_px: focal_px,
            fy_px: focal_px,
            cx_px,
            cy_px,
            lens: Lens::PINHOLE,
            sweep: None,
            samples: 1,
            light,
        }
    }

    /// The same view with another number of columns and rows. The field of view stays; pixels stay square if the ratio of
    /// columns to rows does.
    #[must_use]
    pub fn resized(&self, [width, height]: [u32; 2]) -> Self {
        let times = [f64::from(width) / f64::from(self.width), f64::from(height) / f64::from(self.height)];
        // Pixel centres are at whole numbers, the image's edge is half a pixel before the first.
        let moved = |centre_px: f64, times: f64| (centre_px + 0.5) * times - 0.5;
        Self {
            width,
            height,
            fx_px: self.fx_px * times[0],
            fy_px: self.fy_px * times[1],
            cx_px: moved(self.cx_px, times[0]),
            cy_px: moved(self.cy_px, times[1]),
            ..*self
        }
    }
}

/// A traced camera image, row by row from the top left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CameraFrame {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Radiance toward the camera in red, green and blue (600 to 700, 500 to 600, 400 to 500 nm), W/(m² sr) in units of
    /// sunlight; see `panchromatic`.
    pub radiance: Vec<[f32; 3]>,
    /// The part of the radiance that other surfaces scattered onto what is seen.
    pub scattered: Vec<[f32; 3]>,
    /// Distance along the optical axis, or along the ray for lenses that see behind themselves (fisheyes, panoramas),
    /// m; infinite where the sky is seen.
    pub depth_m: Vec<f32>,
    /// `Class` codes.
    pub class: Vec<u16>,
    /// Instance numbers, see `Label`.
    pub instance: Vec<u32>,
}

impl CameraFrame {
    /// An empty frame of the given size.
    #[must_use]
    pub fn sized(width: u32, height: u32) -> Self {
        let pixels = width as usize * height as usize;
        Self {
            width,
            height,
            radiance: vec![[0.0; 3]; pixels],
            scattered: vec![[0.0; 3]; pixels],
            depth_m: vec![f32::INFINITY; pixels],
            class: vec![0; pixels],
            instance: vec![0; pixels],
        }
    }
}

/// Radiance or irradiance that a camera without colour filters receives from three bands: their sum, which is the Sun's
/// whole irradiance where the Sun is the only source.
#[must_use]
pub fn panchromatic(bands: [f32; 3]) -> f32 {
    bands[0] + bands[1] + bands[2]
}

/// Ground truth of what a camera sees, beside its `CameraFrame`, row by row from the top left; all zero where nothing
/// is seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TruthFrame {
    /// Unit normals of the surfaces, toward the camera's side, in the optical frame.
    pub normal: Vec<[f32; 3]>,
    /// Diffuse reflectance, 0…1.
    pub albedo: Vec<f32>,
    /// Fraction of sunlight that arrives, 0…1.
    pub sun_share: Vec<f32>,
}

impl TruthFrame {
    /// Removes all pixels.
    pub fn clear(&mut self) {
        self.normal.clear();
        self.albedo.clear();
        self.sun_share.clear();
    }

    /// Appends the next traced pixels, row by row.
    pub fn append(&mut self, pixels: &[TruthRecord]) {
        self.normal.extend(pixels.iter().map(|pixel| pixel.normal));
        self.albedo.extend(pixels.iter().map(|pixel| pixel.albedo));
        self.sun_share.extend(pixels.iter().map(|pixel| pixel.sun_share));
    }
}

/// Wavelength assigned to visible reflectances, nm.
pub const VISIBLE_NM: f64 = 550.0;

/// Lidar wavelengths at which materials have reflectances of their own, nm.
pub const NEAR_INFRARED_NM: [f64; 2] = [905.0, 1550.0];

/// One ray of a ranging sensor, sent at its own instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    /// Start of the ray, map frame, m.
    pub origin_m: [f64; 3],
    /// Unit direction, map frame.
    pub direction: [f32; 3],
    /// Share of the scene's time span that has passed when the ray leaves, 0…1, see `Scene::sweep_instances`; no effect
    /// where nothing moves.
    pub share: f32,
}

impl Beam {
    /// A ray at the start of the scene's time span; `origin_m` in the map frame, `direction` of unit length.
    #[must_use]
    pub const fn new(origin_m: [f64; 3], direction: [f32; 3]) -> Self {
        Self { origin_m, direction, share: 0.0 }
    }
}

/// The first thing that a beam met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamReturn {
    /// Distance, m; infinite when the beam met nothing.
    pub range_m: f32,
    /// Cosine of the angle between the beam and the surface normal, 0…1.
    pub cos_incidence: f32,
    /// Diffuse reflectance of what was met in visible light, 0…1.
    pub reflectance: f32,
    /// Diffuse reflectance at each of `NEAR_INFRARED_NM`, 0…1.
    pub near_infrared: [f32; 2],
    /// Radar backscatter of the material, by facets and diffuse, as cross-sections of a large sphere divided by its
    /// disc's area; none where the material gives no values.
    pub radar: Option<[f32; 2]>,
    /// `Class` code of what was met.
    pub class: u16,
    /// Instance number, see `Label`.
    pub instance: u32,
}

impl BeamReturn {
    /// The beam met nothing.
    pub const NONE: Self = Self {
        range_m: f32::INFINITY,
        cos_incidence: 0.0,
        reflectance: 0.0,
        near_infrared: [0.0; 2],
        radar: None,
        class: 0,
        instance: 0,
    };

    /// Diffuse reflectance at a wavelength, 0…1: linear interpolation between visible light, at `VISIBLE_NM`, and
    /// `NEAR_INFRARED_NM`; constant outside.
    #[must_use]
    pub fn reflectance_at(&self, wavelength_nm: f64) -> f64 {
        let bands = [self.reflectance, self.near_infrared[0], self.near_infrared[1]].map(f64::from);
        bands.iter().zip(band_weights(wavelength_nm)).map(|(band, weight)| band * weight).sum()
    }
}

/// Parts of the reflectances in visible light and at each of `NEAR_INFRARED_NM` in that at a wavelength, see
/// `BeamReturn::reflectance_at`.
pub(crate) fn band_weights(wavelength_nm: f64) -> [f64; 3] {
    let [near_nm, far_nm] = NEAR_INFRARED_NM;
    let share = |[a_nm, b_nm]: [f64; 2]| ((wavelength_nm - a_nm) / (b_nm - a_nm)).clamp(0.0, 1.0);
    if wavelength_nm <= near_nm {
        let share = share([VISIBLE_NM, near_nm]);
        [1.0 - share, share, 0.0]
    } else {
        let share = share([near_nm, far_nm]);
        [0.0, 1.0 - share, share]
    }
}
