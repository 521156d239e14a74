// Craterlets too small for the ground's posts: the twin of craterlet.rs.

const COARSEST: i32 = -2;
const FINEST: i32 = 3;
const SALT: u32 = 0x5bd1e995u;
const LEAST_RADIUS: f32 = 0.17;
const OUTER: f32 = 1.4;
const SHALLOW: f32 = 0.06;
const FRESHER: f32 = 0.24;
const STEEPER: f32 = 3.6;
const CREST: f32 = 0.2009;
const CREST_AT: f32 = 0.5185;
const LEAST_ALONG_GROUND: f32 = 0.02;
const EDGE: f32 = 0.05;

// The effect of craterlets at a place: slope of the ground, and fraction of sunlight that they let through.
struct Craterlets {
    slope: vec2<f32>,
    open: f32,
}

// The Sun above a place: its horizontal direction, and how much its rays rise over a horizontal distance of 1.
struct LowSun {
    along: vec2<f32>,
    rise: f32,
}

// What craterlets do at a position of the finest grid, in cells from its first post, under a pixel with this footprint in
// cells; `whole` is the share of the ground there that nothing has pressed.
fn craterlets_at(place: vec2<f32>, normal: vec3<f32>, footprint: f32, whole: f32) -> Craterlets {
    let sun = globals.sun_direction;
    let level = max(length(sun.xy), LEAST_ALONG_GROUND);
    let low_sun = LowSun(sun.xy / level, max(dot(sun, normal), 0.0) / level);
    var found = Craterlets(vec2(0.0), 1.0);
    var octave = COARSEST;
    var cell = 4.0;
    while octave <= FINEST && 0.5 * cell > footprint {
        let along_x = octave_cell(place.x, globals.detail_origin.x, octave);
        let along_y = octave_cell(place.y, globals.detail_origin.y, octave);
        let bits = scramble(along_x.cell + scramble(along_y.cell + scramble(SALT + u32(octave))));
        if f32(bits >> 16u) * (1.0 / 65536.0) < globals.detail_craterlets {
            let shown = min(0.5 * cell / footprint - 1.0, 1.0) * whole;
            let within = vec2(along_x.within, along_y.within);
            let one = craterlet(scramble(bits), within, low_sun, shown);
            found.slope += one.slope;
            found.open *= one.open;
        }
        octave += 1;
        cell *= 0.5;
    }
    return found;
}

// What a craterlet does at a position in its cell, 0…1 along each axis. Random bits give its size, wear and place; `shown`
// scales its depth.
fn craterlet(bits: u32, within: vec2<f32>, sun: LowSun, shown: f32) -> Craterlets {
    let draws = vec4<f32>((vec4(bits) >> vec4(0u, 8u, 16u, 24u)) & vec4(255u)) * (1.0 / 256.0);
    let radius = LEAST_RADIUS / sqrt(1.0 - draws.x * 0.75);
    let room = 0.5 - radius * OUTER;
    let from_middle = (within - (room * (draws.zw * 2.0 - 1.0) + 0.5)) / radius;
    let square = dot(from_middle, from_middle);
    let at = min(square * (1.0 / (OUTER * OUTER)), 1.0);
    let depth = (draws.y * draws.y * FRESHER + SHALLOW) * shown;
    let rest = 1.0 - at;
    let steep = depth * rest * (at * (-3.0 * STEEPER) + (STEEPER + 2.0)) * (2.0 / (OUTER * OUTER));
    let toward = dot(from_middle, sun.along);
    let below_crest = depth * (rest * rest * (1.0 - at * STEEPER) + CREST);
    let to_crest = sqrt(max(1.0 - square + toward * toward, 0.0)) - toward;
    let hidden = clamp((below_crest - to_crest * sun.rise) * (1.0 / EDGE), 0.0, 1.0);
    return Craterlets(from_middle * steep, select(1.0, 1.0 - hidden, at < CREST_AT));
}
