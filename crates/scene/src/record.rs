//! The scene as flat records: what the kernels read, byte for byte the same in
//! Rust and in WGSL (a test compares every field's offset). Lengths are metres in
//! the scene's frame, `f32`: the map frame moved to the middle of the detailed ground, so
//! that what is near has all digits however far the rover went.

use bytemuck::{Pod, Zeroable};
use nalgebra::Vector3;
use selene_base::Pose;

use crate::kernel::FAR;
use crate::light::{EARTH_BANDS, Earth, Sun};
use crate::view::{Beam, CameraView};

/// Most mips of a level: a side of 2^16 cells.
pub const MIPS_MAX: usize = 16;

/// Most height levels that a device takes: as many as its uniform buffer holds.
pub const LEVELS_MAX: usize = 8;

/// One nested height level: where it lies and where its numbers start in the
/// common array of heights.
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
    /// The mip that is one cell.
    pub top_mip: u32,
    /// Index of post (0, 0).
    pub heights: u32,
    /// Index of its table of prints: a number for each tile of 64 × 64 posts, row by row, 0 of a tile without prints, else
    /// that of its page. Pages follow the table, the first is number 1; they have the bits of `selene_terrain::Print`s as
    /// numbers. 0 of a level without.
    pub prints: u32,
    /// Index of each mip's first cell; mip 0 is not stored.
    pub mips: [[u32; 4]; MIPS_MAX / 4],
}

/// A node of a bounding volume hierarchy in depth-first order: where its box is
/// missed the walk goes on at `escape`, else at the next node.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct NodeRecord {
    /// Lower corner.
    pub min: [f32; 3],
    /// The node after this one's subtree.
    pub escape: u32,
    /// Upper corner.
    pub max: [f32; 3],
    /// 0 for an inner node, else first item · 8 + number of items.
    pub leaf: u32,
}

/// A triangle: a corner and the two edges that leave it, counter-clockwise. Or a grain: a sphere
/// about the corner.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TriangleRecord {
    /// The corner; a sphere's centre.
    pub corner: [f32; 3],
    /// 0 of a triangle; a sphere's radius, m.
    pub radius: f32,
    /// To the second corner.
    pub edge1: [f32; 3],
    /// Nothing.
    pub pad0: u32,
    /// To the third corner.
    pub edge2: [f32; 3],
    /// Nothing.
    pub pad1: u32,
}

/// A mesh somewhere in the world.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct InstanceRecord {
    /// Rows of the affine map from the world to the mesh.
    pub object_from_world: [[f32; 4]; 3],
    /// The mesh's first node.
    pub first_node: u32,
    /// The node after the mesh's last.
    pub end_node: u32,
    /// Index of its material.
    pub material: u32,
    /// Which of the scene's labels it has, from 2 on; 0 is the sky's and 1 the ground's, see `Scene::label`.
    pub code: u32,
}

/// A material's numbers; what they mean depends on `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct MaterialRecord {
    /// 0 Lambert, 1 Hapke, 2 principled.
    pub kind: u32,
    /// Diffuse reflectance, 0…1.
    pub albedo: f32,
    /// Single-scattering albedo.
    pub w: f32,
    /// Phase function's width.
    pub b: f32,
    /// Phase function's balance.
    pub c: f32,
    /// Opposition surge's height.
    pub bs0: f32,
    /// Opposition surge's width.
    pub hs: f32,
    /// Porosity factor K.
    pub k: f32,
    /// Tangent of the mean slope of the unresolved roughness.
    pub tan_theta: f32,
    /// χ of that roughness.
    pub chi: f32,
    /// r0 of the H function.
    pub r0: f32,
    /// Part that is metal, 0…1.
    pub metallic: f32,
    /// Colour: red, green and blue about their mean, 1.
    pub tint: [f32; 3],
    /// Width of the facets' slopes: roughness squared.
    pub alpha: f32,
    /// What facets that are no metal send straight back.
    pub specular: f32,
    /// Nothing.
    pub pad: [u32; 3],
}

/// A lamp.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct LampRecord {
    /// Middle of its face, m.
    pub position: [f32; 3],
    /// Intensity on its axis, all bands together, W/sr.
    pub peak: f32,
    /// Its axis, unit.
    pub axis: [f32; 3],
    /// Cosine of the profile's outer angle.
    pub cos_outer: f32,
    /// From its middle to the end of its width, m.
    pub side: [f32; 3],
    /// 1 over the cosines between the profile's angles.
    pub inverse_fall: f32,
    /// From its middle to the end of its height, m.
    pub up: [f32; 3],
    /// Power of the profile's fall.
    pub falloff: f32,
    /// Intensity on its axis in each band, W/sr.
    pub intensity: [f32; 3],
    /// From its middle to a corner, m.
    pub radius: f32,
}

/// What holds for the whole scene.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct GlobalsRecord {
    /// Unit vector toward the Sun.
    pub sun_direction: [f32; 3],
    /// The Sun's irradiance on a surface that faces it, W/m².
    pub sun_irradiance: f32,
    /// Unit vector toward the Earth.
    pub earth_direction: [f32; 3],
    /// The Earth's irradiance on a surface that faces it, W/m².
    pub earth_irradiance: f32,
    /// Unit vector from the Earth toward the Sun.
    pub sun_from_earth: [f32; 3],
    /// The Earth's radiance where the Sun is in its zenith, W/(m² sr).
    pub earth_radiance: f32,
    /// Sine of the Sun's angular radius.
    pub sun_radius: f32,
    /// Radiance of the middle of the Sun's disc, W/(m² sr).
    pub sun_radiance: f32,
    /// Sine of the Earth's angular radius; 0 where there is no Earth.
    pub earth_radius: f32,
    /// Number of height levels.
    pub level_count: u32,
    /// Number of nodes over the instances.
    pub node_count: u32,
    /// Number of beams, where beams are traced.
    pub beam_count: u32,
    /// Number of lamps.
    pub lamp_count: u32,
    /// Standard deviation of the albedo of each octave of detail.
    pub detail_mottle: f32,
    /// The Earth's light in the three bands, as parts of its sum.
    pub earth_bands: [f32; 3],
    /// Standard deviation of the slopes of the detail of the finest grid's spacing.
    pub detail_slope: f32,
    /// Posts from the map's origin to the finest grid's first.
    pub detail_origin: [i32; 2],
    /// Slopes of an octave of detail over those of the one before.
    pub detail_gain: f32,
    /// The first instance that moves while an image is taken; all after it do.
    pub moving_from: u32,
}

/// How something moves in the span of an image: from where it starts, turned about an axis
/// through its centre and shifted, both in proportion to the share of the span that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct MotionRecord {
    /// The origin of its frame at the start, m.
    pub centre: [f32; 3],
    /// The whole turn, rad.
    pub angle: f32,
    /// Unit axis of the turn.
    pub axis: [f32; 3],
    /// Nothing.
    pub pad0: u32,
    /// The whole shift, m.
    pub shift: [f32; 3],
    /// Nothing.
    pub pad1: u32,
}

/// A camera and its lens.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct CameraRecord {
    /// Rows of the map from the optical frame to the scene's.
    pub world_from_optical: [[f32; 4]; 3],
    /// (1/fx, 1/fy), 1/pixels.
    pub inverse_focal: [f32; 2],
    /// (cx, cy), pixels.
    pub principal: [f32; 2],
    /// Columns and rows.
    pub size: [u32; 2],
    /// As in `LightSampling`.
    pub sun_samples: u32,
    /// As in `LightSampling`.
    pub bounce_rays: u32,
    /// As in `LightSampling`.
    pub seed: u32,
    /// Which lens: 0 pinhole, 1 polynomials, 2 field of view, 3 equidistant, 4
    /// stereographic, 5 panorama.
    pub lens: u32,
    /// The farthest from the axis that is seen in the image, or a little more: tan θ for
    /// perspective lenses, else θ, rad.
    pub reach: f32,
    /// Half the diagonal of the widest pixel, rad, or a little more.
    pub pixel_reach: f32,
    /// The lens's: k1, k2, k3, p1 and k4, k5, k6, p2 of polynomials; tan ω/tan(tan ω) of the
    /// field of view; k1 to k4 of an equidistant lens.
    pub coefficients: [[f32; 4]; 2],
    /// How the camera moves; `world_from_optical` is where it starts.
    pub motion: MotionRecord,
    /// 1 where it or anything moves, or rows have instants of their own.
    pub moves: u32,
    /// Rays for light; with 1, that through the pixel's centre.
    pub samples: u32,
    /// As in `Sweep`; 0 where nothing moves.
    pub exposure_share: f32,
    /// As in `Sweep`; 0 where nothing moves.
    pub row_share: f32,
    /// The first row that is traced, where an image is traced in parts.
    pub first_row: u32,
    /// As in `LightSampling`.
    pub earth_samples: u32,
    /// As in `LightSampling`.
    pub bounces: u32,
    /// Nothing.
    pub pad: u32,
}

/// What one pixel sees.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct PixelRecord {
    /// Radiance without what is scattered here, red, green and blue, W/(m² sr).
    pub radiance: [f32; 3],
    /// Distance along the optical axis, m; `FAR` or more for the sky.
    pub depth: f32,
    /// Radiance of sunlight that other surfaces scatter here, W/(m² sr).
    pub scattered: [f32; 3],
    /// As in `InstanceRecord`.
    pub code: u32,
}

/// What is true of what one pixel sees.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TruthRecord {
    /// Unit, toward the camera's side, optical frame.
    pub normal: [f32; 3],
    /// Diffuse reflectance.
    pub albedo: f32,
    /// The part of the Sun's light that arrives, 0…1.
    pub sun_share: f32,
    /// Nothing.
    pub pad: [u32; 3],
}

impl PixelRecord {
    /// Of a pixel that sees nothing.
    pub const NOTHING: Self = Self { radiance: [0.0; 3], depth: FAR, scattered: [0.0; 3], code: 0 };
}

impl TruthRecord {
    /// Of a pixel that sees nothing.
    pub const NOTHING: Self = Self { normal: [0.0; 3], albedo: 0.0, sun_share: 0.0, pad: [0; 3] };
}

/// A beam to trace. On a device its return takes its place, see `ReturnRecord::in_place_of`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BeamRecord {
    /// Where it starts, m.
    pub origin: [f32; 3],
    /// Nothing; a return's code.
    pub code: u32,
    /// Unit direction.
    pub direction: [f32; 3],
    /// The share of the scene's span at which it leaves; nothing in a return.
    pub share: f32,
}

/// What a beam met.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ReturnRecord {
    /// Distance, m; `FAR` or more when nothing was met.
    pub range: f32,
    /// Cosine of incidence.
    pub cos_incidence: f32,
    /// Diffuse reflectance.
    pub reflectance: f32,
    /// As in `InstanceRecord`.
    pub code: u32,
}

/// The scene's records, as a kernel takes them.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// What holds everywhere.
    pub globals: GlobalsRecord,
    /// Height levels, finest first.
    pub levels: &'a [LevelRecord],
    /// Posts and mips of all levels.
    pub heights: &'a [f32],
    /// Trees over the instances, one after the other.
    pub instance_nodes: &'a [NodeRecord],
    /// Trees over the triangles of each mesh.
    pub mesh_nodes: &'a [NodeRecord],
    /// Triangles and grains in the order of the trees' leaves.
    pub triangles: &'a [TriangleRecord],
    /// Instances.
    pub instances: &'a [InstanceRecord],
    /// Materials; 0 is the ground's, 1 the rocks'.
    pub materials: &'a [MaterialRecord],
    /// Motions of the instances from `GlobalsRecord::moving_from` on.
    pub motions: &'a [MotionRecord],
    /// The share of the span at which everything is looked at.
    pub shutter: f32,
    /// Rays from surfaces toward the sky meet no ground farther than this, m; `FAR` where no
    /// more is known.
    pub ground_reach: f32,
    /// Lamps that shine.
    pub lamps: &'a [LampRecord],
    /// Where the scene's frame lies in the map frame, m.
    pub middle_m: Vector3<f64>,
}

impl GlobalsRecord {
    /// The record of the sky's lights; counts are 0.
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
    /// The record of a view in a scene whose frame lies at `middle_m`.
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
    /// The record of a beam in a scene whose frame lies at `middle_m`.
    #[must_use]
    pub fn new(beam: &Beam, middle_m: Vector3<f64>) -> Self {
        let origin = Vector3::from(beam.origin_m) - middle_m;
        Self { origin: origin.cast::<f32>().into(), code: 0, direction: beam.direction, share: beam.share }
    }
}

impl ReturnRecord {
    /// The return that a device wrote in its beam's place: range, cosine and reflectance where
    /// the origin was.
    #[must_use]
    pub fn in_place_of(record: &BeamRecord) -> Self {
        let [range, cos_incidence, reflectance] = record.origin;
        Self { range, cos_incidence, reflectance, code: record.code }
    }
}

/// A pose in a frame that lies at `middle_m`.
pub(crate) fn moved(pose: &Pose, middle_m: Vector3<f64>) -> Pose {
    Pose::from_parts((pose.translation.vector - middle_m).into(), pose.rotation)
}

/// Rows of rotation · scale and translation.
pub(crate) fn affine_rows(pose: &Pose, scale: f64) -> [[f32; 4]; 3] {
    let r = pose.rotation.to_rotation_matrix();
    let t = pose.translation.vector;
    std::array::from_fn(|row| {
        let turned = |column| (r[(row, column)] * scale) as f32;
        [turned(0), turned(1), turned(2), t[row] as f32]
    })
}
