//! The scene as flat records that the kernels read, byte for byte the same in Rust and in WGSL (a test compares every
//! field's offset). Lengths are metres in the scene's frame, `f32`: the map frame moved to the centre of the detailed
//! ground, so that nearby positions keep full precision however far the rover travels.

use bytemuck::{Pod, Zeroable};
use nalgebra::Vector3;
use selene_base::Pose;

use crate::kernel::FAR;
use crate::kernel::echo::{NO_ECHO, RAYS_OF_BEAM_MAX};
use crate::light::{EARTH_BANDS, Earth, Sun};
use crate::view::{Beam, CameraView};

/// Most mips of a level; enough for a side of 2^16 cells.
pub const MIPS_MAX: usize = 16;

/// Most height levels; a device's uniform buffer holds no more.
pub const LEVELS_MAX: usize = 8;

/// One nested height level: its position and where its data starts in the common array of heights.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct LevelRecord {
    /// Position of post (0, 0) in the scene's frame, m.
    pub origin: [f32; 2],
    /// Distance between posts, m.
    pub spacing: f32,
    /// 1 / spacing.
    pub inverse_spacing: f32,
    /// Cells on a side: posts − 1.
    pub cells: u32,
    /// The mip that consists of one cell.
    pub top_mip: u32,
    /// Index of post (0, 0) in the array of heights.
    pub heights: u32,
    /// Index of the level's table of prints: a number for each tile of 64 × 64 posts, row by row; 0 for a tile without
    /// prints, else the number of its page. Pages follow the table and count from 1; they hold the bits of
    /// `selene_terrain::Print`s as floats. 0 for a level without prints.
    pub prints: u32,
    /// Index of each mip's first cell; mip 0 is not stored.
    pub mips: [[u32; 4]; MIPS_MAX / 4],
}

/// A node of a bounding volume hierarchy in depth-first order: traversal continues at `escape` where a ray misses the
/// box, else at the next node.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct NodeRecord {
    /// Lower corner of the box, m.
    pub min: [f32; 3],
    /// Index of the node after this one's subtree.
    pub escape: u32,
    /// Upper corner of the box, m.
    pub max: [f32; 3],
    /// 0 for an inner node, else (index of the first item) · 8 + (number of items).
    pub leaf: u32,
}

/// A triangle, as one vertex and the two edges from it, counter-clockwise; or a grain, as a sphere around that vertex, from
/// which three pairs of parallel planes may cut a fragment: the points p from the centre with |n · p| ≤ 1 for each n of
/// `edge1`, `edge2` and `third` · `edge1` × `edge2`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TriangleRecord {
    /// The first vertex, or the centre of a sphere, m.
    pub corner: [f32; 3],
    /// Radius of a sphere, m; 0 for a triangle.
    pub radius: f32,
    /// Edge to the second vertex, m; or the first normal of a fragment, 1/m.
    pub edge1: [f32; 3],
    /// Factor of a fragment's third normal, m; 0 for a sphere and for a triangle.
    pub third: f32,
    /// Edge to the third vertex, m; or the second normal of a fragment, 1/m.
    pub edge2: [f32; 3],
    /// Padding.
    pub pad: u32,
}

/// A mesh placed in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct InstanceRecord {
    /// Rows of the affine transform from the scene's frame to the mesh's frame.
    pub object_from_world: [[f32; 4]; 3],
    /// Index of the mesh's first node.
    pub first_node: u32,
    /// Index after the mesh's last node.
    pub end_node: u32,
    /// Index of the instance's material.
    pub material: u32,
    /// Code that `Scene::label` turns into a label: instances count from 2; 0 is the sky and 1 the ground.
    pub code: u32,
}

/// Parameters of a material; `kind` says which of them apply.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct MaterialRecord {
    /// 0 Lambert, 1 Hapke, 2 principled.
    pub kind: u32,
    /// Diffuse reflectance, 0…1.
    pub albedo: f32,
    /// Single-scattering albedo.
    pub w: f32,
    /// Width of the phase function.
    pub b: f32,
    /// Balance of the phase function's lobes.
    pub c: f32,
    /// Height of the opposition surge.
    pub bs0: f32,
    /// Width of the opposition surge.
    pub hs: f32,
    /// Porosity factor K.
    pub k: f32,
    /// Tangent of the mean slope of the unresolved roughness.
    pub tan_theta: f32,
    /// Hapke's χ of that roughness.
    pub chi: f32,
    /// Hapke's r0 of the H function.
    pub r0: f32,
    /// Metallic fraction, 0…1.
    pub metallic: f32,
    /// Colour: red, green and blue relative to their mean.
    pub tint: [f32; 3],
    /// Width of the distribution of the facets' slopes: roughness squared.
    pub alpha: f32,
    /// Normal reflectance of non-metallic facets.
    pub specular: f32,
    /// Padding.
    pub pad: u32,
    /// Diffuse reflectance at each of `NEAR_INFRARED_NM`, 0…1.
    pub near_infrared: [f32; 2],
}

/// A lamp, in the scene's frame.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct LampRecord {
    /// Centre of the face, m.
    pub position: [f32; 3],
    /// Intensity on the axis, sum of all bands, W/sr.
    pub peak: f32,
    /// Unit vector along the axis.
    pub axis: [f32; 3],
    /// Cosine of the profile's outer angle.
    pub cos_outer: f32,
    /// From the centre to the end of the face's width, m.
    pub side: [f32; 3],
    /// Reciprocal of the difference between the cosines of the profile's inner and outer angles.
    pub inverse_fall: f32,
    /// From the centre to the end of the face's height, m.
    pub up: [f32; 3],
    /// Exponent of the profile's fall.
    pub falloff: f32,
    /// Intensity on the axis in each band, W/sr.
    pub intensity: [f32; 3],
    /// Distance from the centre to a corner of the face, m.
    pub radius: f32,
}

/// Values that hold for the whole scene.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct GlobalsRecord {
    /// Unit vector toward the Sun.
    pub sun_direction: [f32; 3],
    /// The Sun's irradiance on a surface facing it, W/m².
    pub sun_irradiance: f32,
    /// Unit vector toward the Earth.
    pub earth_direction: [f32; 3],
    /// The Earth's irradiance on a surface facing it, W/m².
    pub earth_irradiance: f32,
    /// Unit vector from the Earth toward the Sun.
    pub sun_from_earth: [f32; 3],
    /// Radiance of the Earth's subsolar point, W/(m² sr).
    pub earth_radiance: f32,
    /// Sine of the Sun's angular radius.
    pub sun_radius: f32,
    /// Radiance of the centre of the Sun's disc, W/(m² sr).
    pub sun_radiance: f32,
    /// Sine of the Earth's angular radius; 0 without the Earth.
    pub earth_radius: f32,
    /// Number of height levels.
    pub level_count: u32,
    /// Number of nodes of the trees over the instances.
    pub node_count: u32,
    /// Number of beams, when beams are traced.
    pub beam_count: u32,
    /// Number of lamps.
    pub lamp_count: u32,
    /// Standard deviation of each octave of the albedo's detail, relative.
    pub detail_mottle: f32,
    /// Fractions of the Earth's light in red, green and blue.
    pub earth_bands: [f32; 3],
    /// Standard deviation of the slopes of the detail's octave at the finest grid's spacing.
    pub detail_slope: f32,
    /// Posts from the map's origin to the finest grid's first post.
    pub detail_origin: [i32; 2],
    /// Ratio of the slopes of an octave of detail to those of the next coarser one.
    pub detail_gain: f32,
    /// Index of the first instance that moves during an image; all later ones move too.
    pub moving_from: u32,
    /// Share of the cells of a lattice of craterlets that have one.
    pub detail_craterlets: f32,
    /// Padding.
    pub pad0: u32,
    /// Padding.
    pub pad1: u32,
    /// Padding.
    pub pad2: u32,
}

/// Rigid motion during an image: from its start pose, a body turns about an axis through its centre and shifts, both in
/// proportion to the elapsed share of the time span.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct MotionRecord {
    /// Origin of the body's frame at the start, m.
    pub centre: [f32; 3],
    /// Angle of the whole turn, rad.
    pub angle: f32,
    /// Unit axis of the turn.
    pub axis: [f32; 3],
    /// Padding.
    pub pad0: u32,
    /// Shift over the whole span, m.
    pub shift: [f32; 3],
    /// Padding.
    pub pad1: u32,
}

/// A camera and its lens.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct CameraRecord {
    /// Rows of the transform from the optical frame to the scene's frame.
    pub world_from_optical: [[f32; 4]; 3],
    /// (1/fx, 1/fy), 1/pixels.
    pub inverse_focal: [f32; 2],
    /// (cx, cy), pixels.
    pub principal: [f32; 2],
    /// Number of columns and rows.
    pub size: [u32; 2],
    /// As `LightSampling::sun_samples`.
    pub sun_samples: u32,
    /// As `LightSampling::bounce_rays`.
    pub bounce_rays: u32,
    /// As `LightSampling::seed`.
    pub seed: u32,
    /// Lens model: 0 pinhole, 1 polynomials, 2 field of view, 3 equidistant, 4 stereographic, 5 panorama.
    pub lens: u32,
    /// Limit from the axis of what the image shows, or slightly more: tan θ for perspective lenses, else θ, rad.
    pub reach: f32,
    /// Half the diagonal of the widest pixel, rad, or slightly more.
    pub pixel_reach: f32,
    /// Coefficients of the lens: k1, k2, k3, p1 and k4, k5, k6, p2 of polynomials; tan ω/tan(tan ω) of the field of
    /// view; k1 to k4 of an equidistant lens.
    pub coefficients: [[f32; 4]; 2],
    /// Motion of the camera; `world_from_optical` is its start pose.
    pub motion: MotionRecord,
    /// 1 where the camera or an instance moves, or rows are exposed at different instants.
    pub moves: u32,
    /// Rays per pixel that sample light; 1 uses the ray through the pixel's centre.
    pub samples: u32,
    /// As `ShutterMotion::exposure_share`; 0 where nothing moves.
    pub exposure_share: f32,
    /// As `ShutterMotion::row_share`; 0 where nothing moves.
    pub row_share: f32,
    /// First row to trace, where an image is traced in parts.
    pub first_row: u32,
    /// As `LightSampling::earth_samples`.
    pub earth_samples: u32,
    /// As `LightSampling::bounces`.
    pub bounces: u32,
    /// Padding.
    pub pad: u32,
}

/// Radiance, depth and code of what a pixel sees.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct PixelRecord {
    /// Radiance in red, green and blue without `scattered`, W/(m² sr).
    pub radiance: [f32; 3],
    /// Distance along the optical axis (along the ray for fisheyes and panoramas), m; `FAR` or more for the sky.
    pub depth: f32,
    /// Radiance from light that other surfaces scatter onto this one, red, green and blue, W/(m² sr).
    pub scattered: [f32; 3],
    /// Code of what is seen, as in `InstanceRecord`.
    pub code: u32,
}

/// A `PixelRecord` without scattered light.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BarePixelRecord {
    /// Radiance in red, green and blue, W/(m² sr).
    pub radiance: [f32; 3],
    /// As in `PixelRecord`.
    pub depth: f32,
    /// As in `PixelRecord`.
    pub code: u32,
}

impl From<BarePixelRecord> for PixelRecord {
    fn from(pixel: BarePixelRecord) -> Self {
        let BarePixelRecord { radiance, depth, code } = pixel;
        Self { radiance, depth, scattered: [0.0; 3], code }
    }
}

/// Ground truth of what a pixel sees, beside its `PixelRecord`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TruthRecord {
    /// Unit normal of the surface, toward the camera's side, optical frame.
    pub normal: [f32; 3],
    /// Diffuse reflectance, 0…1.
    pub albedo: f32,
    /// Fraction of sunlight that arrives, 0…1.
    pub sun_share: f32,
    /// Padding.
    pub pad: [u32; 3],
}

impl PixelRecord {
    /// A pixel that sees nothing.
    pub const NOTHING: Self = Self { radiance: [0.0; 3], depth: FAR, scattered: [0.0; 3], code: 0 };
}

impl TruthRecord {
    /// A pixel that sees nothing.
    pub const NOTHING: Self = Self { normal: [0.0; 3], albedo: 0.0, sun_share: 0.0, pad: [0; 3] };
}

/// A beam to trace. On a device the return overwrites it, see `ReturnRecord::in_place_of`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BeamRecord {
    /// Start of the beam, m.
    pub origin: [f32; 3],
    /// Unused in a beam; the code of what was met in a return.
    pub code: u32,
    /// Unit direction.
    pub direction: [f32; 3],
    /// Share of the scene's time span at which the beam leaves, 0…1; unused in a return.
    pub share: f32,
}

/// What a beam met.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ReturnRecord {
    /// Distance, m; `FAR` or more when the beam met nothing.
    pub range: f32,
    /// Cosine of the angle of incidence.
    pub cos_incidence: f32,
    /// Diffuse reflectance in visible light, 0…1.
    pub reflectance: f32,
    /// Code of what was met, as in `InstanceRecord`.
    pub code: u32,
}

/// A lidar's beam, of which the kernels make rays.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct WideBeamRecord {
    /// Start of the beam, m.
    pub origin: [f32; 3],
    /// Share of the scene's time span at which the beam leaves, 0…1.
    pub share: f32,
    /// Unit direction of its axis.
    pub axis: [f32; 3],
    /// Padding.
    pub pad0: f32,
    /// Unit direction in which the azimuth grows, perpendicular to the axis.
    pub along_azimuth: [f32; 3],
    /// Padding.
    pub pad1: f32,
}

/// The receiver of a lidar, for some of a scan's beams.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ReceiverRecord {
    /// Parts of the reflectances in visible light and at each of `NEAR_INFRARED_NM` in that at its wavelength.
    pub of_bands: [f32; 3],
    /// Number of beams.
    pub beams: u32,
    /// Number of rays of each beam.
    pub rays_of_beam: u32,
    /// Which echoes it reports, one of `REPORTS_STRONGEST` and so on.
    pub reports: u32,
    /// The first code whose echoes are ignored.
    pub ignored_from: u32,
    /// The code after the last one whose echoes are ignored.
    pub ignored_to: u32,
    /// Range at which a facing target of 10 % reflectance that fills the beam is just detected, m.
    pub range_at_10_percent: f32,
    /// Surfaces along a beam that are closer together give one echo, m.
    pub resolution: f32,
    /// Least range, m.
    pub nearest: f32,
    /// Greatest range, m.
    pub farthest: f32,
    /// For each ray of a beam the tangents of its angles off the axis, along azimuth and elevation, its part of the
    /// light, and padding.
    pub rays: [[f32; 4]; RAYS_OF_BEAM_MAX],
}

/// The echo of a ray, or of several rays of a beam.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct EchoRecord {
    /// Distance, m; `FAR` where a ray met nothing.
    pub range: f32,
    /// Signal in multiples of the detection threshold; zero for no echo.
    pub signal: f32,
    /// Signal of its strongest ray.
    pub strongest: f32,
    /// Code of what that ray met, as in `InstanceRecord`.
    pub code: u32,
}

impl EchoRecord {
    /// No echo.
    pub const NONE: Self = Self { range: 0.0, signal: 0.0, strongest: 0.0, code: 0 };
}

/// An echo that a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ReportRecord {
    /// Distance, m.
    pub range: f32,
    /// Signal in multiples of the detection threshold.
    pub signal: f32,
    /// Which of the beam's echoes it is, one of `STRONGEST` and so on; `NO_ECHO` for none.
    pub kind: u32,
    /// Code of what was met, as in `InstanceRecord`.
    pub code: u32,
}

impl ReportRecord {
    /// Nothing is reported.
    pub const NONE: Self = Self { range: 0.0, signal: 0.0, kind: NO_ECHO, code: 0 };
}

/// Views of the scene's records that the kernels read.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// Values that hold for the whole scene.
    pub globals: GlobalsRecord,
    /// Height levels, finest first.
    pub levels: &'a [LevelRecord],
    /// Posts and mips of all levels, then the prints of the finest one.
    pub heights: &'a [f32],
    /// Trees over the instances: rocks, heaps and movables, one after the other.
    pub instance_nodes: &'a [NodeRecord],
    /// Trees over the triangles or grains of each mesh.
    pub mesh_nodes: &'a [NodeRecord],
    /// Triangles and grains in the order of the trees' leaves.
    pub triangles: &'a [TriangleRecord],
    /// Instances: rocks, heaps, then movables.
    pub instances: &'a [InstanceRecord],
    /// Materials; index 0 is the ground's, 1 the rocks'.
    pub materials: &'a [MaterialRecord],
    /// Motions of the instances, starting at `GlobalsRecord::moving_from`.
    pub motions: &'a [MotionRecord],
    /// Share of the time span at which the scene is sampled, 0…1.
    pub shutter: f32,
    /// Rays from surfaces toward the sky meet no ground farther away than this, m; `FAR` where no limit is known.
    pub ground_reach: f32,
    /// Lamps that have flux.
    pub lamps: &'a [LampRecord],
    /// Origin of the scene's frame in the map frame, m.
    pub middle_m: Vector3<f64>,
}

impl GlobalsRecord {
    /// A record with the lights of the sky; all counts are 0.
    #[must_use]
    pub fn of_lights(sun: &Sun, earth: Option<&Earth>) -> Self {
        let mut record = Self {
            sun_direction: sun.direction_to_sun.cast::<f32>().into(),
            sun_irradiance: sun.irradiance_w_m2 as f32,
            sun_radius: sun.angular_radius_rad.sin() as f32,
            sun_radiance: sun.central_radiance() as f32,
            earth_direction: [0.0, 0.0, 1.0],
            moving_from: u32::MAX,
            ..Self::zeroed()
        };
        if let Some(earth) = earth {
            record.earth_direction = earth.direction_to_earth.cast::<f32>().into();
            record.earth_irradiance = earth.irradiance_w_m2 as f32;
            record.earth_radius = earth.angular_radius_rad.sin() as f32;
            record.earth_radiance = earth.subsolar_radiance() as f32;
            record.sun_from_earth = earth.sun_from_earth.cast::<f32>().into();
            record.earth_bands = EARTH_BANDS.map(|part| part as f32);
        }
        record
    }
}

impl CameraRecord {
    /// The record of a view in a scene whose frame has its origin at `middle_m` in the map frame.
    #[must_use]
    pub fn new(view: &CameraView, middle_m: Vector3<f64>) -> Self {
        let (lens, coefficients) = view.lens.record();
        let sweep = view.sweep.as_ref();
        let start = sweep.map_or(view.world_from_optical, |sweep| sweep.world_from_optical[0]);
        Self {
            world_from_optical: affine_rows(&moved(&start, middle_m), 1.0),
            inverse_focal: [(1.0 / view.fx_px) as f32, (1.0 / view.fy_px) as f32],
            principal: [view.cx_px as f32, view.cy_px as f32],
            size: [view.width, view.height],
            sun_samples: view.light.sun_samples,
            bounce_rays: view.light.bounce_rays,
            seed: view.light.seed,
            lens,
            reach: view.reach() as f32,
            pixel_reach: view.pixel_reach(),
            coefficients,
            motion: sweep.map_or(MotionRecord::zeroed(), |s| MotionRecord::between(&s.world_from_optical, middle_m)),
            moves: u32::from(sweep.is_some()),
            samples: view.samples,
            exposure_share: sweep.map_or(0.0, |sweep| sweep.exposure_share as f32),
            row_share: sweep.map_or(0.0, |sweep| sweep.row_share as f32),
            first_row: 0,
            earth_samples: view.light.earth_samples,
            bounces: view.light.bounces,
            pad: 0,
        }
    }
}

impl BeamRecord {
    /// The record of a beam in a scene whose frame has its origin at `middle_m` in the map frame.
    #[must_use]
    pub fn new(beam: &Beam, middle_m: Vector3<f64>) -> Self {
        let origin = Vector3::from(beam.origin_m) - middle_m;
        Self { origin: origin.cast::<f32>().into(), code: 0, direction: beam.direction, share: beam.share }
    }
}

impl ReturnRecord {
    /// Reads the return that a device wrote over its beam: range, cosine and reflectance take the place of the origin.
    #[must_use]
    pub fn in_place_of(record: &BeamRecord) -> Self {
        let [range, cos_incidence, reflectance] = record.origin;
        Self { range, cos_incidence, reflectance, code: record.code }
    }
}

/// Moves a pose from the map frame to the frame with its origin at `middle_m`.
pub(crate) fn moved(pose: &Pose, middle_m: Vector3<f64>) -> Pose {
    Pose::from_parts((pose.translation.vector - middle_m).into(), pose.rotation)
}

/// Rows of the affine matrix of rotation · scale and translation.
pub(crate) fn affine_rows(pose: &Pose, scale: f64) -> [[f32; 4]; 3] {
    let r = pose.rotation.to_rotation_matrix();
    let t = pose.translation.vector;
    std::array::from_fn(|row| {
        let turned = |column| (r[(row, column)] * scale) as f32;
        [turned(0), turned(1), turned(2), t[row] as f32]
    })
}
