// Slopes and albedo of the ground finer than its grid: the twin of detail.rs.

const FINEST_OCTAVE: i32 = 6;
const COARSEST_OCTAVE: i32 = -10;
const VALUE_SCALE: f32 = 2.212;
const SLOPE_SCALE: f32 = 1.159;
const GRAZING: f32 = 0.05;

// Adds detail to the ground that a camera ray of direction `direction` has met; other surfaces stay unchanged. `pixel`
// is the angle of one pixel.
fn detailed(direction: vec3<f32>, pixel: f32, hit: Hit, surface: Surface) -> Surface {
    if hit.instance != GROUND {
        return surface;
    }
    let far = length(direction);
    let facing = max(-dot(surface.normal, direction) / far, GRAZING);
    let inverse_spacing = levels[0].inverse_spacing;
    let footprint = hit.t * far * pixel * inverse_spacing / facing;
    let cells = levels[hit.part].spacing * inverse_spacing;
    let place = (surface.point.xy - levels[0].origin) * inverse_spacing;
    var print = PrintEffect(vec2(0.0), 0.0, 1.0);
    if hit.part == 0u {
        print = print_at(place, surface.normal, footprint);
    }
    var after = surface;
    if globals.detail_slope > 0.0 || globals.detail_mottle > 0.0 {
        after = add_octaves(place, cells, footprint, 1.0 - SMOOTHED * print.pressed, surface);
    }
    if globals.detail_craterlets > 0.0 {
        let craterlets = craterlets_at(place, after.normal, footprint, 1.0 - print.pressed);
        after.normal = tilted(after.normal, craterlets.slope);
        after.open = craterlets.open;
    }
    return with_print(print, after);
}

// Adds the octaves between a grid spacing of `cells` and a pixel's `footprint`, each scaled by `rough`. Lengths are in
// cells of the finest grid; `place` counts from its first post.
fn add_octaves(place: vec2<f32>, cells: f32, footprint: f32, rough: f32, bare: Surface) -> Surface {
    var surface = bare;
    // Heights already contain everything at least as large as the grid's spacing.
    let largest = 0.75 * cells;
    if largest <= footprint {
        return surface;
    }
    var slope = vec2(0.0);
    var octave = COARSEST_OCTAVE;
    var cell = 1024.0;
    var amplitude = globals.detail_slope * pow(globals.detail_gain, f32(octave));
    while octave <= FINEST_OCTAVE && cell > footprint {
        if cell < largest {
            let shown = min(cell / footprint - 1.0, 1.0) * rough;
            let of_octave = noise(place, octave);
            slope += of_octave.yz * (amplitude * SLOPE_SCALE * shown);
            surface.shade *= 1.0 + globals.detail_mottle * VALUE_SCALE * shown * of_octave.x;
        }
        octave += 1;
        cell *= 0.5;
        amplitude *= globals.detail_gain;
    }
    surface.normal = tilted(surface.normal, slope);
    return surface;
}

// Value noise of an octave, −1…1, and its slopes per cell along x and y.
fn noise(place: vec2<f32>, octave: i32) -> vec3<f32> {
    let along_x = octave_cell(place.x, globals.detail_origin.x, octave);
    let along_y = octave_cell(place.y, globals.detail_origin.y, octave);
    let salt = scramble(u32(octave));
    let low = scramble(along_y.cell + salt);
    let high = scramble(along_y.cell + 1u + salt);
    let x = along_x.cell;
    let corners = vec4(scramble(x + low), scramble(x + 1u + low), scramble(x + high), scramble(x + 1u + high));
    let within = vec2(along_x.within, along_y.within);
    let value = blend(vec4<f32>(corners & vec4(0xffffu)) * (1.0 / 32768.0) - 1.0, within);
    let height = blend(vec4<f32>(corners >> vec4(16u)) * (1.0 / 32768.0) - 1.0, within);
    return vec3(value.x, height.yz);
}

// Index of an octave's cell, wrapped, and the position within it, 0…1.
struct OctaveCell {
    cell: u32,
    within: f32,
}

fn octave_cell(place: f32, origin: i32, octave: i32) -> OctaveCell {
    let whole = floor(place);
    let post = i32(whole) + origin;
    let within = place - whole;
    if octave < 0 {
        let shift = u32(-octave);
        let rest = f32(post & ((1 << shift) - 1));
        return OctaveCell(u32(post >> shift), (rest + within) / f32(1 << shift));
    }
    let scaled = within * f32(1 << u32(octave));
    let cell = (post << u32(octave)) + i32(floor(scaled));
    return OctaveCell(u32(cell), scaled - floor(scaled));
}

// Interpolates four corners with Perlin's quintic: the value and its slopes.
fn blend(corners: vec4<f32>, at: vec2<f32>) -> vec3<f32> {
    let fade = at * at * at * (at * (6.0 * at - 15.0) + 10.0);
    let rate = 30.0 * at * at * (at - 1.0) * (at - 1.0);
    let right = corners.y - corners.x;
    let up = corners.z - corners.x;
    let both = corners.x - corners.y - corners.z + corners.w;
    let value = corners.x + right * fade.x + up * fade.y + both * fade.x * fade.y;
    return vec3(value, rate.x * (right + both * fade.y), rate.y * (up + both * fade.x));
}
