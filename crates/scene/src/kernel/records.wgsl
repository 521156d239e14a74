// Records with the same layout as in record.rs; a test compares every field.

struct Level {
    origin: vec2<f32>,
    spacing: f32,
    inverse_spacing: f32,
    cells: u32,
    top_mip: u32,
    heights: u32,
    prints: u32,
    mips: array<vec4<u32>, 4>,
}

struct Node {
    min: vec3<f32>,
    escape: u32,
    max: vec3<f32>,
    leaf: u32,
}

struct Triangle {
    corner: vec3<f32>,
    radius: f32,
    edge1: vec3<f32>,
    third: f32,
    edge2: vec3<f32>,
    pad: u32,
}

struct Instance {
    object_from_world: array<vec4<f32>, 3>,
    first_node: u32,
    end_node: u32,
    material: u32,
    code: u32,
}

struct Material {
    kind: u32,
    albedo: f32,
    w: f32,
    b: f32,
    c: f32,
    bs0: f32,
    hs: f32,
    k: f32,
    tan_theta: f32,
    chi: f32,
    r0: f32,
    metallic: f32,
    tint: vec3<f32>,
    alpha: f32,
    specular: f32,
    pad: u32,
    near_infrared: vec2<f32>,
}

struct Lamp {
    position: vec3<f32>,
    peak: f32,
    axis: vec3<f32>,
    cos_outer: f32,
    side: vec3<f32>,
    inverse_fall: f32,
    up: vec3<f32>,
    falloff: f32,
    intensity: vec3<f32>,
    radius: f32,
}

struct Globals {
    sun_direction: vec3<f32>,
    sun_irradiance: f32,
    earth_direction: vec3<f32>,
    earth_irradiance: f32,
    sun_from_earth: vec3<f32>,
    earth_radiance: f32,
    sun_radius: f32,
    sun_radiance: f32,
    earth_radius: f32,
    level_count: u32,
    node_count: u32,
    beam_count: u32,
    lamp_count: u32,
    detail_mottle: f32,
    earth_bands: vec3<f32>,
    detail_slope: f32,
    detail_origin: vec2<i32>,
    detail_gain: f32,
    moving_from: u32,
    detail_craterlets: f32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

struct Motion {
    centre: vec3<f32>,
    angle: f32,
    axis: vec3<f32>,
    pad0: u32,
    shift: vec3<f32>,
    pad1: u32,
}

struct Camera {
    world_from_optical: array<vec4<f32>, 3>,
    inverse_focal: vec2<f32>,
    principal: vec2<f32>,
    size: vec2<u32>,
    sun_samples: u32,
    bounce_rays: u32,
    seed: u32,
    lens: u32,
    reach: f32,
    pixel_reach: f32,
    coefficients: array<vec4<f32>, 2>,
    motion: Motion,
    moves: u32,
    samples: u32,
    exposure_share: f32,
    row_share: f32,
    first_row: u32,
    earth_samples: u32,
    bounces: u32,
    pad: u32,
}

struct Pixel {
    radiance: vec3<f32>,
    depth: f32,
    scattered: vec3<f32>,
    code: u32,
}

// A pixel of an image without scattered light.
struct BarePixel {
    radiance: array<f32, 3>,
    depth: f32,
    code: u32,
}

struct Truth {
    normal: vec3<f32>,
    albedo: f32,
    sun_share: f32,
    pad: array<u32, 3>,
}

struct Beam {
    origin: vec3<f32>,
    code: u32,
    direction: vec3<f32>,
    share: f32,
}

struct WideBeam {
    origin: vec3<f32>,
    share: f32,
    axis: vec3<f32>,
    pad0: f32,
    along_azimuth: vec3<f32>,
    pad1: f32,
}

struct Receiver {
    of_bands: vec3<f32>,
    beams: u32,
    rays_of_beam: u32,
    reports: u32,
    ignored_from: u32,
    ignored_to: u32,
    range_at_10_percent: f32,
    resolution: f32,
    nearest: f32,
    farthest: f32,
    rays: array<vec4<f32>, RAYS_OF_BEAM_MAX>,
}

struct Echo {
    range: f32,
    signal: f32,
    strongest: f32,
    code: u32,
}

struct Report {
    range: f32,
    signal: f32,
    kind: u32,
    code: u32,
}

// What a receiver keeps of the echoes that it has detected so far, nearest first.
struct Reception {
    count: u32,
    first: Echo,
    last: Echo,
    best: Echo,
    second: Echo,
    best_is_last: bool,
    mean: Echo,
}

struct Return {
    range: f32,
    cos_incidence: f32,
    reflectance: f32,
    code: u32,
}

// A ray; its direction has any length, which is the unit of t.
struct Ray {
    origin: vec3<f32>,
    direction: vec3<f32>,
}

// A ray's hit: t is FAR when the ray met nothing, instance is GROUND on the ground.
struct Hit {
    t: f32,
    instance: u32,
    part: u32,
}

const FAR: f32 = 1e30;
const GROUND: u32 = 0xffffffffu;
const LAMBERT: u32 = 0u;
const HAPKE: u32 = 1u;
const PI: f32 = 3.14159265358979;
const LEVELS_MAX: u32 = 8u;
const LAMPS_MAX: u32 = 64u;
const SAMPLES_MAX: u32 = 32u;
const BOUNCES_MAX: u32 = 8u;
// Side of a camera workgroup in pixels, and number of beams in a workgroup.
const CAMERA_GROUP: u32 = 8u;
const BEAM_GROUP: u32 = 64u;
// Fraction of the Sun's light in each of the three bands.
const SUN_BAND: f32 = 0.33333334;

// What a pipeline's images need, exactly. The rest is left out of the compiled kernel, where it would take registers even
// without running.
// Whether images take several rays to the Sun's disc.
override SUN_DISC: bool = true;
// Whether they take several rays to the Earth's disc.
override EARTH_DISC: bool = true;
// Whether there are lamps.
override LAMPS: bool = true;

@group(0) @binding(0) var<uniform> globals: Globals;
@group(0) @binding(1) var<uniform> levels: array<Level, LEVELS_MAX>;
@group(0) @binding(2) var<storage, read> heights: array<f32>;
@group(0) @binding(3) var<storage, read> instance_nodes: array<Node>;
@group(0) @binding(4) var<storage, read> mesh_nodes: array<Node>;
@group(0) @binding(5) var<storage, read> triangles: array<Triangle>;
@group(0) @binding(6) var<storage, read> instances: array<Instance>;
@group(0) @binding(7) var<storage, read> materials: array<Material>;
@group(0) @binding(8) var<storage, read> motions: array<Motion>;
@group(0) @binding(9) var<uniform> lamps: array<Lamp, LAMPS_MAX>;
