// Ground truth at the centre of a pixel: the twin of truth.rs.

@group(1) @binding(1) var<storage, read_write> truths: array<Truth>;

@compute @workgroup_size(CAMERA_GROUP, CAMERA_GROUP)
fn truth(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = view.first_row + id.y;
    if id.x < view.size.x && row < view.size.y {
        truths[id.y * view.size.x + id.x] = truth_pixel(id.x, row);
    }
}

// Ground truth of what the pixel at (column, row) sees; all zero where it sees nothing.
fn truth_pixel(column: u32, row: u32) -> Truth {
    shutter = row_middle(row);
    let nothing = Truth(vec3(0.0), 0.0, 0.0, array<u32, 3>());
    let ray = camera_ray(vec2(f32(column), f32(row)));
    if all(ray.direction == vec3(0.0)) {
        return nothing;
    }
    let hit = trace_nearest(ray, SENSOR_MIP);
    if hit.t >= FAR {
        return nothing;
    }
    let surface = surface_at(ray, hit);
    let sun = sunlight(surface, view.sun_samples, pixel_seed(view.seed, column, row));
    return Truth(in_optical(surface.normal), materials[surface.material].albedo, sun.share, array<u32, 3>());
}

// Transforms a direction from the scene's frame to the optical frame.
fn in_optical(direction: vec3<f32>) -> vec3<f32> {
    let rows = view.world_from_optical;
    var d = direction;
    if view.moves != 0u {
        d = turned(direction, view.motion.axis, -shutter * view.motion.angle);
    }
    return rows[0].xyz * d.x + rows[1].xyz * d.y + rows[2].xyz * d.z;
}
