// Turns by quaternions (x, y, z, w), and directions.

fn quaternion_product(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

fn turned(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

fn turned_back(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    return turned(vec4<f32>(-q.xyz, q.w), v);
}

fn sides(v: vec3<f32>) -> vec3<f32> {
    return select(vec3<f32>(-1.0), vec3<f32>(1.0), v >= vec3<f32>(0.0));
}

fn unit_or_up(v: vec3<f32>) -> vec3<f32> {
    let size = length(v);
    return select(vec3<f32>(0.0, 0.0, 1.0), v / size, size > 0.0);
}
