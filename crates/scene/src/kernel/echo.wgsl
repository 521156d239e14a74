// The echoes of a lidar's beams: the twin of echo.rs. `ray_echoes` traces the rays of all beams; then `beam_echoes`
// makes of each beam's rays what the receiver reports, so that rays neither come from the host nor go there.

const REFERENCE_REFLECTANCE: f32 = 0.1;
const RAYS_OF_BEAM_MAX: u32 = 256u;
const ECHO_GROUP: u32 = 64u;
const REPORTS_STRONGEST: u32 = 0u;
const REPORTS_FIRST: u32 = 1u;
const REPORTS_LAST: u32 = 2u;
const REPORTS_DUAL: u32 = 3u;
const REPORTS_MEAN: u32 = 4u;
const NO_ECHO: u32 = 0u;
const STRONGEST: u32 = 1u;
const FIRST: u32 = 2u;
const LAST: u32 = 3u;
const STRONGEST_AND_LAST: u32 = 4u;
const SECOND_STRONGEST: u32 = 5u;
const MEAN: u32 = 6u;

@group(1) @binding(0) var<uniform> receiver: Receiver;
// Three entries for each beam, then one for the echo of each ray, then two for what is reported of each beam. Numbers
// are kept as their bits: a code read as a float may be flushed to zero.
@group(1) @binding(1) var<storage, read_write> lidar: array<vec4<u32>>;

const NOTHING: Echo = Echo(0.0, 0.0, 0.0, 0u);
const NO_REPORT: Report = Report(0.0, 0.0, NO_ECHO, 0u);

@compute @workgroup_size(ECHO_GROUP)
fn ray_echoes(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= receiver.beams * receiver.rays_of_beam {
        return;
    }
    let beam = wide_beam(id.x / receiver.rays_of_beam);
    let off_axis = receiver.rays[id.x % receiver.rays_of_beam];
    shutter = beam.share;
    let ray = Ray(beam.origin, direction_of(beam, off_axis.x, off_axis.y));
    let hit = trace_nearest(ray, SENSOR_MIP);
    if hit.t >= FAR {
        set_ray(id.x, Echo(FAR, 0.0, 0.0, 0u));
        return;
    }
    let surface = surface_at(ray, hit);
    let cosine = clamp(-dot(surface.normal, ray.direction), 0.0, 1.0);
    // As on the host, which looks it up by the code: grains, shown as ground, have the ground's near infrared.
    let near_infrared = materials[select(surface.material, 0u, surface.code == GROUND_CODE)].near_infrared;
    let reflectance = dot(receiver.of_bands, vec3(materials[surface.material].albedo, near_infrared));
    set_ray(id.x, ray_echo(off_axis.z, hit.t, reflectance * cosine, surface.code));
}

@compute @workgroup_size(ECHO_GROUP)
fn beam_echoes(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= receiver.beams {
        return;
    }
    let first = id.x * receiver.rays_of_beam;
    sort(first);
    let reports = reported(first);
    let at = 3u * receiver.beams + receiver.beams * receiver.rays_of_beam + 2u * id.x;
    lidar[at] = report_bits(reports[0]);
    lidar[at + 1u] = report_bits(reports[1]);
}

fn wide_beam(number: u32) -> WideBeam {
    let origin = bitcast<vec4<f32>>(lidar[3u * number]);
    let axis = bitcast<vec4<f32>>(lidar[3u * number + 1u]);
    let along_azimuth = bitcast<vec4<f32>>(lidar[3u * number + 2u]);
    return WideBeam(origin.xyz, origin.w, axis.xyz, 0.0, along_azimuth.xyz, 0.0);
}

fn ray_at(ray: u32) -> Echo {
    let bits = lidar[3u * receiver.beams + ray];
    return Echo(bitcast<f32>(bits.x), bitcast<f32>(bits.y), bitcast<f32>(bits.z), bits.w);
}

fn set_ray(ray: u32, echo: Echo) {
    let numbers = bitcast<vec3<u32>>(vec3(echo.range, echo.signal, echo.strongest));
    lidar[3u * receiver.beams + ray] = vec4(numbers, echo.code);
}

fn report_bits(report: Report) -> vec4<u32> {
    return vec4(bitcast<u32>(report.range), bitcast<u32>(report.signal), report.kind, report.code);
}

// Unit direction of a ray of a beam; `beside` and `above` are the tangents of its angles off the axis.
fn direction_of(beam: WideBeam, beside: f32, above: f32) -> vec3<f32> {
    if beside == 0.0 && above == 0.0 {
        return beam.axis;
    }
    return normalize(beam.axis + beam.along_azimuth * beside + cross(beam.axis, beam.along_azimuth) * above);
}

// The echo of one ray that has met a surface: `reflected` is its reflectance times the cosine of incidence.
fn ray_echo(weight: f32, range: f32, reflected: f32, code: u32) -> Echo {
    let spread = receiver.range_at_10_percent / range;
    let is_ignored = code >= receiver.ignored_from && code < receiver.ignored_to;
    let signal = select(0.0, weight * reflected / REFERENCE_REFLECTANCE * spread * spread, range > 0.0 && !is_ignored);
    return Echo(range, signal, signal, code);
}

// Two echoes as one: `far` is not nearer than `near`.
fn joined(near: Echo, far: Echo) -> Echo {
    let signal = near.signal + far.signal;
    let is_far = far.strongest >= near.strongest;
    return Echo(
        near.range + (far.range - near.range) * (far.signal / signal),
        signal,
        select(near.strongest, far.strongest, is_far),
        select(near.code, far.code, is_far),
    );
}

// Sorts the echoes of a beam's rays, nearest first; equal ranges keep their order. By insertion: without dust there are
// few, and most of them lie in order.
fn sort(first: u32) {
    for (var next = 1u; next < receiver.rays_of_beam; next++) {
        let ray = ray_at(first + next);
        var at = next;
        while at > 0u {
            let before = ray_at(first + at - 1u);
            if before.range <= ray.range {
                break;
            }
            set_ray(first + at, before);
            at--;
        }
        if at < next {
            set_ray(first + at, ray);
        }
    }
}

// What the receiver reports of a beam whose rays, from number `first` on, gave these echoes, nearest first; those without
// a signal do not count.
fn reported(first: u32) -> array<Report, 2> {
    var reception = Reception(0u, NOTHING, NOTHING, NOTHING, NOTHING, false, NOTHING);
    var echo = NOTHING;
    var before = 0.0;
    for (var number = 0u; number < receiver.rays_of_beam; number++) {
        let ray = ray_at(first + number);
        if !(ray.signal > 0.0) {
            continue;
        }
        if echo.signal > 0.0 && ray.range - before > receiver.resolution {
            detect(&reception, echo);
            echo = NOTHING;
        }
        if echo.signal > 0.0 {
            echo = joined(echo, ray);
        } else {
            echo = ray;
        }
        before = ray.range;
    }
    detect(&reception, echo);
    return chosen(reception);
}

// Adds an echo to the reception, if it is strong enough and within range.
fn detect(reception: ptr<function, Reception>, echo: Echo) {
    if !(echo.signal >= 1.0 && echo.range >= receiver.nearest && echo.range <= receiver.farthest) {
        return;
    }
    if (*reception).count == 0u {
        (*reception).first = echo;
        (*reception).mean = echo;
    } else {
        (*reception).mean = joined((*reception).mean, echo);
    }
    (*reception).last = echo;
    (*reception).best_is_last = echo.signal >= (*reception).best.signal;
    if (*reception).best_is_last {
        (*reception).second = (*reception).best;
        (*reception).best = echo;
    } else if echo.signal >= (*reception).second.signal {
        (*reception).second = echo;
    }
    (*reception).count++;
}

// The echoes that the receiver reports.
fn chosen(reception: Reception) -> array<Report, 2> {
    switch receiver.reports {
        case REPORTS_FIRST: {
            return array(report(reception.first, FIRST), NO_REPORT);
        }
        case REPORTS_LAST: {
            return array(report(reception.last, LAST), NO_REPORT);
        }
        case REPORTS_MEAN: {
            return array(report(reception.mean, MEAN), NO_REPORT);
        }
        case REPORTS_DUAL: {
            if !reception.best_is_last {
                return array(report(reception.best, STRONGEST), report(reception.last, LAST));
            }
            return array(report(reception.best, STRONGEST_AND_LAST), report(reception.second, SECOND_STRONGEST));
        }
        default: {
            return array(report(reception.best, STRONGEST), NO_REPORT);
        }
    }
}

// An echo as it is reported; nothing where it has no signal.
fn report(echo: Echo, kind: u32) -> Report {
    if echo.signal > 0.0 {
        return Report(echo.range, echo.signal, kind, echo.code);
    }
    return NO_REPORT;
}
