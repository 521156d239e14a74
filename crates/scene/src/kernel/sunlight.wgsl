// How much of the Sun a surface sees: the twin of sunlight.rs.

// 1/(α + 2) with the exponent α of the limb darkening.
const LIMB_ROOT: f32 = 0.39872408;

// Fraction of the Sun's light that arrives, 0…1, and its mean direction.
struct Sunlight {
    share: f32,
    direction: vec3<f32>,
}

// The sunlight on a surface, by at most `samples` rays to the Sun's disc, including the shadow of relief too fine for
// rays.
fn sunlight(surface: Surface, samples: u32, seed: u32) -> Sunlight {
    let seen = disc_light(surface, samples, seed);
    return Sunlight(seen.share * surface.open, seen.direction);
}

// As `sunlight`, without the shadow of relief too fine for rays.
fn disc_light(surface: Surface, samples: u32, seed: u32) -> Sunlight {
    let sun = globals.sun_direction;
    let radius = globals.sun_radius;
    let sun_height = dot(surface.normal, sun);
    if !SUN_DISC {
        return Sunlight(select(0.0, 1.0, faces_openly(surface, sun)), sun);
    }
    if sun_height <= -radius {
        return Sunlight(0.0, sun);
    }
    let up = cross(sun, level_across(sun));
    let hidden = ground_hides_disc(surface, sun, up * radius);
    if hidden == ALL_HIDDEN {
        return Sunlight(0.0, sun);
    }
    let ground_cuts = hidden == PART_HIDDEN;
    if !ground_cuts && sun_height >= radius && !cone_meets_instances(surface_ray(surface, sun), radius) {
        return Sunlight(1.0, sun);
    }
    return sample_disc(surface, samples, seed, ground_cuts);
}

fn sample_disc(surface: Surface, samples: u32, seed: u32, ground_cuts: bool) -> Sunlight {
    let sun = globals.sun_direction;
    let shift = vec2(unit(seed, 0u), unit(seed, 1u));
    let count = min(samples, SAMPLES_MAX);
    let hidden = instances_hide(surface_ray(surface, sun), globals.sun_radius, Disc(false, count, shift));
    var seen = 0u;
    var toward = vec3(0.0);
    for (var index = 0u; index < count; index++) {
        let point = sun_point(stratified(index, count, shift));
        let open = ((hidden >> index) & 1u) == 0u && dot(surface.normal, point) > 0.0;
        if open && !(ground_cuts && ground_hides(surface, point)) {
            seen += 1u;
            toward += point;
        }
    }
    if seen == 0u || seen == count {
        return Sunlight(f32(seen) / f32(count), sun);
    }
    return Sunlight(f32(seen) / f32(count), normalize(toward));
}

// Direction of a point of the Sun's disc that two uniform numbers of 0…1 select, with a density proportional to
// brightness.
fn sun_point(even: vec2<f32>) -> vec3<f32> {
    let sun = globals.sun_direction;
    let side = level_across(sun);
    let mu = pow(1.0 - even.x, LIMB_ROOT);
    let radius = globals.sun_radius * sqrt(max(1.0 - mu * mu, 0.0));
    let turn = 2.0 * PI * even.y;
    return normalize(sun + side * (radius * cos(turn)) + cross(sun, side) * (radius * sin(turn)));
}
