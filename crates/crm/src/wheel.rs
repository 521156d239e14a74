//! A wheel with grousers, in its own frame (axis z): a cylinder, the rim, and plates that stand on it at equal angles.

use std::f64::consts::TAU;

use nalgebra::{Rotation3, Vector3};
use serde::{Deserialize, Serialize};

use crate::shape::{distance_to_box, distance_to_cylinder};

const HEIGHT_MAX_M: f64 = 1e4;

/// A wheel; a plate stands at angle 0, measured from x towards y.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wheel {
    /// Radius of the rim, m.
    pub rim_m: f64,
    /// Half of its length, m.
    pub half_length_m: f64,
    /// Number of grousers, 1 or more.
    pub grousers: u32,
    /// Height of the grousers above the rim, m.
    pub height_m: f64,
    /// Thickness of the grousers, m. A node in the half of a plate that turns away is not pushed: from two cells on, the
    /// other half always has nodes.
    pub thickness_m: f64,
}

impl Wheel {
    /// What is wrong with it beside the sizes of its rim.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { rim_m, grousers, height_m, thickness_m, .. } = *self;
        if grousers == 0 {
            return Some("a wheel with 0 grousers: must have 1 or more; without grousers, it is a cylinder".to_owned());
        }
        if !(height_m > 0.0 && height_m <= HEIGHT_MAX_M) {
            return Some(format!("grousers {height_m} m high: must be more than 0, to {HEIGHT_MAX_M} m"));
        }
        // The box of a plate begins at the axis. It is so thin that no place beyond the rim is near to that end of it.
        let most_m = f64::min(rim_m, TAU * (rim_m + height_m) / f64::from(grousers));
        let fits = thickness_m > 0.0 && thickness_m <= most_m;
        (!fits).then(|| format!("grousers {thickness_m} m thick: must be more than 0, to {most_m:.4} m"))
    }

    /// Radius of the sphere about the origin that encloses the wheel, m.
    pub(crate) fn bounding_radius_m(&self) -> f64 {
        Vector3::new(self.rim_m + self.height_m, 0.5 * self.thickness_m, self.half_length_m).norm()
    }

    /// Distance of a position from the surface, and the outward unit normal there. Exact outside; inside, the rim and a
    /// plate have each their own.
    pub(crate) fn distance(&self, at: &Vector3<f64>) -> (f64, Vector3<f64>) {
        let (from_rim, outward) = distance_to_cylinder(at, self.rim_m, self.half_length_m);
        if at.xy().norm_squared() <= self.rim_m * self.rim_m {
            return (from_rim, outward);
        }
        // The nearest plate, as a box from the axis to its tip.
        let apart_rad = TAU / f64::from(self.grousers);
        let turn = Rotation3::from_axis_angle(&Vector3::z_axis(), apart_rad * (at.y.atan2(at.x) / apart_rad).round());
        let half_high_m = 0.5 * (self.rim_m + self.height_m);
        let from_middle = turn.inverse_transform_vector(at) - Vector3::x() * half_high_m;
        let half_m = [half_high_m, 0.5 * self.thickness_m, self.half_length_m];
        let (from_plate, normal) = distance_to_box(&from_middle, half_m);
        if from_rim <= from_plate { (from_rim, outward) } else { (from_plate, turn * normal) }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Rotation3, Vector3};

    use super::Wheel;

    const WHEEL: Wheel = Wheel { rim_m: 1.0, half_length_m: 0.5, grousers: 4, height_m: 0.2, thickness_m: 0.1 };

    #[test]
    fn distances_are_those_to_rim_sides_and_tips() {
        let diagonal = 0.5_f64.sqrt();
        for (at, distance, normal) in [
            ([0.0, -0.9, 0.1], -0.1, [0.0, -1.0, 0.0]),
            ([1.17, 0.01, 0.0], -0.03, [1.0, 0.0, 0.0]),
            ([1.1, 0.04, 0.0], -0.01, [0.0, 1.0, 0.0]),
            ([1.1, 0.15, 0.0], 0.1, [0.0, 1.0, 0.0]),
            ([1.3, 0.0, 0.0], 0.1, [1.0, 0.0, 0.0]),
            ([1.1, 0.0, 0.6], 0.1, [0.0, 0.0, 1.0]),
            ([1.1 * diagonal, 1.1 * diagonal, 0.0], 0.1, [diagonal, diagonal, 0.0]),
        ] {
            for quarter in 0..4 {
                let turn =
                    Rotation3::from_axis_angle(&Vector3::z_axis(), f64::from(quarter) * 0.5 * std::f64::consts::PI);
                let (found, along) = WHEEL.distance(&(turn * Vector3::from(at)));
                assert!((found - distance).abs() < 1e-12, "{at:?}, quarter {quarter}: {found} is not {distance}");
                assert!((along - turn * Vector3::from(normal)).norm() < 1e-12, "{at:?}, quarter {quarter}: {along}");
            }
        }
    }

    #[test]
    fn its_sphere_encloses_it() {
        let reach_m = WHEEL.bounding_radius_m();
        let corner: Vector3<f64> = Vector3::new(1.2, 0.05, 0.5);
        assert!((corner.norm() - reach_m).abs() < 1e-12);
        assert!(WHEEL.distance(&corner).0.abs() < 1e-12);
    }
}
