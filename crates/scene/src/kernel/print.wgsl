// Prints that grousers left on pressed posts of the finest grid: the twin of print.rs.

const TILE_SIDE: u32 = 64u;
const PRESSED: u32 = 0x8000u;
const PITCH_STEP: f32 = 0.01;
const GROOVE: f32 = 0.1;
const STEEP: f32 = 2.513274;
const SHADOW_STEPS: u32 = 5u;
const SHADOW_STEP: f32 = 0.0625;
const SHADOW_EDGE: f32 = 0.015;
const LEAST_ALONG: f32 = 0.02;
const SMOOTHED: f32 = 0.75;
const DARKER: f32 = 0.08;

// The effect of wheels on the ground at a point: slope along x and y, the fraction that is pressed, and the fraction of
// sunlight that the grooves let through.
struct PrintEffect {
    slope: vec2<f32>,
    pressed: f32,
    open: f32,
}

// The surface with this print on it.
fn with_print(print: PrintEffect, bare: Surface) -> Surface {
    var surface = bare;
    if print.pressed == 0.0 {
        return surface;
    }
    surface.normal = tilted(surface.normal, print.slope);
    surface.shade *= 1.0 - DARKER * print.pressed;
    surface.open *= print.open;
    return surface;
}

// The wheel print at a position of the finest grid, in cells from its first post, for ground with the given normal and
// a pixel with the given footprint in cells.
fn print_at(place: vec2<f32>, normal: vec3<f32>, footprint: f32) -> PrintEffect {
    let last = f32(levels[0].cells - 1u);
    let cell = min(max(floor(place), vec2(0.0)), vec2(last));
    let within = min(max(place - cell, vec2(0.0)), vec2(1.0));
    let x = u32(cell.x);
    let y = u32(cell.y);
    let bits = vec4(print_bits(x, y), print_bits(x + 1u, y), print_bits(x, y + 1u), print_bits(x + 1u, y + 1u));
    if ((bits.x | bits.y | bits.z | bits.w) & PRESSED) == 0u {
        return PrintEffect(vec2(0.0), 0.0, 1.0);
    }
    let spacing = levels[0].spacing;
    return blended(bits, within, spacing, footprint * spacing, dot(globals.sun_direction, normal));
}

// The bits of a post's print; 0 without a print.
fn print_bits(x: u32, y: u32) -> u32 {
    let side = levels[0].cells / TILE_SIDE + 1u;
    let page = u32(heights[levels[0].prints + y / TILE_SIDE * side + x / TILE_SIDE]);
    if page == 0u {
        return 0u;
    }
    let first = levels[0].prints + side * side + (page - 1u) * (TILE_SIDE * TILE_SIDE);
    return u32(heights[first + y % TILE_SIDE * TILE_SIDE + x % TILE_SIDE]);
}

// Blends the waves of a cell's four posts at a position within the cell.
fn blended(bits: vec4<u32>, within: vec2<f32>, spacing: f32, footprint: f32, sun_height: f32) -> PrintEffect {
    var pressed = 0.0;
    var waves = 0.0;
    var pitch = 0.0;
    var wave = vec2(0.0);
    var along = vec2(0.0);
    for (var corner = 0u; corner < 4u; corner++) {
        let print = bits[corner];
        if (print & PRESSED) == 0u {
            continue;
        }
        let at = vec2(f32(corner & 1u), f32(corner >> 1u));
        let near = 1.0 - abs(at - within);
        let weight = near.x * near.y;
        pressed += weight;
        let steps = (print >> 11u) & 15u;
        if steps == 0u {
            continue;
        }
        let heading = f32((print >> 6u) & 31u) * (1.0 / 32.0);
        let ahead = vec2(sine(heading + 0.25), sine(heading));
        let distance_here = f32(steps) * PITCH_STEP;
        let apart = (ahead.x * (within.x - at.x) + ahead.y * (within.y - at.y)) * spacing;
        let phase = f32(print & 63u) * (1.0 / 64.0) + apart / distance_here;
        waves += weight;
        pitch += weight * distance_here;
        wave += weight * vec2(sine(phase + 0.25), sine(phase));
        along += ahead * weight;
    }
    let agreed = sqrt(wave.x * wave.x + wave.y * wave.y);
    let mean_pitch = pitch / max(waves, 1e-6);
    let shown = min(max(0.25 * mean_pitch / footprint - 1.0, 0.0), 1.0) * agreed;
    if shown <= 0.0 {
        return PrintEffect(vec2(0.0), pressed, 1.0);
    }
    let unit_wave = wave / agreed;
    let b = 0.5 + 0.5 * unit_wave.x;
    let b3 = b * b * b;
    let slope = along * (STEEP * shown * b3 * b3 * b * unit_wave.y);
    let sun = globals.sun_direction;
    let open = grooves_open(unit_wave, shown, sun.x * along.x + sun.y * along.y, sun_height);
    return PrintEffect(slope, pressed, open);
}

// Fraction of the Sun's disc visible from a point of this phase; `shown` scales the grooves' depth.
fn grooves_open(wave: vec2<f32>, shown: f32, sun_along: f32, sun_height: f32) -> f32 {
    let toward = select(1.0, -1.0, sun_along < 0.0);
    let rise = max(sun_height, 0.0) / max(abs(sun_along), LEAST_ALONG);
    let depth = GROOVE * shown;
    let here = -depth * eighth(wave.x);
    var hidden = 0.0;
    for (var index = 1u; index <= SHADOW_STEPS; index++) {
        let apart = f32(index) * SHADOW_STEP;
        let there = wave.x * sine(apart + 0.25) - wave.y * toward * sine(apart);
        hidden = max(hidden, -depth * eighth(there) - here - apart * rise);
    }
    return 1.0 - min(hidden * (1.0 / SHADOW_EDGE), 1.0);
}

// b⁸ for the cosine of a phase.
fn eighth(cosine: f32) -> f32 {
    let b = 0.5 + 0.5 * cosine;
    let b2 = b * b;
    return b2 * b2 * b2 * b2;
}

// Sine of an angle in turns.
fn sine(turns: f32) -> f32 {
    let t = turns - floor(turns + 0.5);
    let y = t * (8.0 - 16.0 * abs(t));
    return y * (0.775 + 0.225 * abs(y));
}
