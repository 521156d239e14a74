//! The lean of the truck's corners, from the hardpoints of the double wishbones of Project Chrono's HMMWV
//! (`HMMWV_DoubleWishbone.cpp`). Seen from the front, an upright turns about the point where the planes of its two
//! wishbones meet beside the wheel's centre, so a tyre's contact moves across the line from there to it. The wishbones
//! stand as under Chrono's truck at rest, 0.1 m below where they are drawn.

use nalgebra::{Matrix2, Unit, UnitQuaternion, Vector2, Vector3};

use crate::truck::Truck;

/// Hardpoints of a wishbone on the left, inches: its two joints on the chassis and that on the upright, where they are
/// drawn.
type Wishbone = [[f64; 3]; 3];

/// One corner: the upper and the lower wishbone, and the wheel's centre.
struct Corner {
    name: &'static str,
    upper: Wishbone,
    lower: Wishbone,
    centre: [f64; 3],
}

const CORNERS: [Corner; 2] = [
    Corner {
        name: "front",
        upper: [[-1.8864, 17.5575, 9.6308], [-10.5596, 18.8085, 7.6992], [-2.088, 28.17, 8.484]],
        lower: [[8.79, 12.09, 0.0], [-8.79, 12.09, 0.0], [-1.40, 30.965, -4.65]],
        centre: [-1.59, 35.815, -1.035],
    },
    Corner {
        name: "rear",
        upper: [[13.7445, 18.1991, 8.9604], [3.0355, 18.1909, 8.8096], [1.40, 28.17, 8.5]],
        lower: [[8.79, 12.09, 0.0], [-8.79, 12.09, 0.0], [1.40, 30.965, -4.65]],
        centre: [1.40, 35.815, -1.035],
    },
];
const INCH_M: f64 = 0.0254;
/// Height of the wheels' centres in the chassis' frame as Chrono's truck stands, m.
const STANDING_M: f64 = -0.1281;

/// A wishbone turned about its joints on the chassis.
fn turned([front, back, upright]: &Wishbone, angle_rad: f64) -> [Vector3<f64>; 3] {
    let [front, back, upright] = [front, back, upright].map(|point| Vector3::from(*point));
    let turn = UnitQuaternion::from_axis_angle(&Unit::new_normalize(back - front), angle_rad);
    [front, back, front + turn * (upright - front)]
}

/// Where a function that has another sign at either end is zero.
fn zero_of(of: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2]) -> f64 {
    let sign = of(low).signum();
    assert!(sign != of(high).signum());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if of(middle).signum() == sign { low = middle } else { high = middle }
    }
    low
}

impl Corner {
    /// Both wishbones with the lower one turned by an angle, and the wheel's centre. Seen from the front: the upright
    /// leans as the line between its joints does.
    fn at(&self, angle_rad: f64) -> ([[Vector3<f64>; 3]; 2], Vector3<f64>) {
        let lower = turned(&self.lower, angle_rad);
        let drawn = Vector3::from(self.upper[2]) - Vector3::from(self.lower[2]);
        let too_long = |upper_rad: f64| (turned(&self.upper, upper_rad)[2] - lower[2]).norm() - drawn.norm();
        let upper = turned(&self.upper, zero_of(too_long, [angle_rad - 0.3, angle_rad + 0.3]));
        let upright = upper[2] - lower[2];
        let lean_rad = upright.y.atan2(upright.z) - drawn.y.atan2(drawn.z);
        let lean = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), -lean_rad);
        let centre = lower[2] + lean * (Vector3::from(self.centre) - Vector3::from(self.lower[2]));
        ([upper, lower], centre)
    }

    /// How far the contact of a left tyre moves outward for each unit that it rises, as the truck stands.
    fn outward_over_up(&self) -> f64 {
        let sinks = |angle_rad: f64| self.at(angle_rad).1.z * INCH_M - STANDING_M;
        let (wishbones, centre) = self.at(zero_of(sinks, [0.0, 0.3]));
        // Factors of y and z in the equation of a plane, and their sum at the x of the centre.
        let [upper, lower] = wishbones.map(|[front, back, upright]| {
            let normal = (back - front).cross(&(upright - front));
            (normal.y, normal.z, normal.dot(&upright) - normal.x * centre.x)
        });
        let both = Matrix2::new(upper.0, upper.1, lower.0, lower.1);
        let pivot = both.try_inverse().unwrap() * Vector2::new(upper.2, lower.2);
        let to_contact = Vector2::new(centre.y, centre.z - 0.467 / INCH_M) - pivot;
        -to_contact.y / to_contact.x
    }
}

#[test]
fn its_corners_lean_as_the_contacts_of_chronos_wishbones_move() {
    let truck = Truck::level();
    let model = truck.rover.model();
    for corner in CORNERS {
        for (side, sign) in [("left", 1.0), ("right", -1.0)] {
            let name = format!("{}_{side}_suspension", corner.name);
            let joint = model.joints().iter().find(|joint| joint.name == name).unwrap();
            let (leans, expected) = (joint.axis.y / joint.axis.z, sign * corner.outward_over_up());
            println!("{name}: {leans:.4} and {expected:.4}");
            assert!((leans - expected).abs() < 2e-3 && joint.axis.x == 0.0, "{name}: {leans} and {expected}");
        }
    }
}
