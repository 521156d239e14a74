// Twin of law.rs.

// Volume, relative to that at rest, beyond which soil bears no stress.
const OPEN_RATIO: f32 = 1.02;

// Sets a point's stress to that after `substep_s` in its gradient of velocity.
fn strain(point: ptr<function, Point>, substep_s: f32) {
    let l = (*point).affine;
    let n = (*point).normal_stress;
    let s = (*point).shear_stress;
    // Twice the upper half of the spin: xy, xz, yz.
    let spin = vec3<f32>(l[1].x - l[0].y, l[2].x - l[0].z, l[2].y - l[1].z);
    let dilated = (l[0].x + l[1].y + l[2].z) * (model.bulk_pa - 2.0 / 3.0 * model.shear_pa);
    let stretched = vec3<f32>(l[0].x, l[1].y, l[2].z) * (2.0 * model.shear_pa) + dilated;
    let turned = vec3<f32>(
        spin.x * s.x + spin.y * s.y,
        spin.z * s.z - spin.x * s.x,
        -(spin.y * s.y + spin.z * s.z),
    );
    let sheared = vec3<f32>(l[1].x + l[0].y, l[2].x + l[0].z, l[2].y + l[1].z) * model.shear_pa;
    let turned_shear = vec3<f32>(
        spin.x * (n.y - n.x) + spin.y * s.z + spin.z * s.y,
        spin.x * s.z + spin.y * (n.z - n.x) - spin.z * s.x,
        spin.z * (n.z - n.y) - spin.y * s.x - spin.x * s.y,
    );
    let normal = n + (stretched + turned) * substep_s;
    let shear = s + (sheared + turned_shear * 0.5) * substep_s;
    let pressure = (normal.x + normal.y + normal.z) * (-1.0 / 3.0);
    if pressure <= 0.0 || (*point).volume_ratio > OPEN_RATIO {
        (*point).normal_stress = vec3<f32>(0.0);
        (*point).shear_stress = vec3<f32>(0.0);
        return;
    }
    let deviator = normal + pressure;
    let left = remaining_shear(sqrt(0.5 * dot(deviator, deviator) + dot(shear, shear)), pressure, substep_s);
    (*point).normal_stress = deviator * left - pressure;
    (*point).shear_stress = shear * left;
}

// Fraction of the trial shear stress that remains after yield.
fn remaining_shear(shear: f32, pressure: f32, substep_s: f32) -> f32 {
    let strength = pressure + model.cohesion_pa / model.friction_static;
    let slow = strength * model.friction_static;
    let fast = strength * model.friction_dynamic;
    if shear <= slow {
        return 1.0;
    }
    let alpha = sqrt(pressure) * (model.viscous * substep_s);
    let b = fast + shear + alpha;
    let h = fast * shear + slow * alpha;
    return h * 2.0 / ((b + sqrt(max(b * b - h * 4.0, 0.0))) * shear);
}
