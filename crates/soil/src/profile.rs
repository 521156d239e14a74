//! The lower side of solids that press the soil: the lowest point of a solid on a vertical
//! line, and the share of the node's cell that it covers. A wheel is an exact
//! cylinder at any attitude (an infinite cylinder cut by its end caps), a plate is a
//! horizontal rectangle. Cells at an edge count in part: a wheel gets the same force
//! whether its edge falls on a row of nodes or between two.

use nalgebra::Vector3;

use crate::tread::{Prints, Tread};

/// The lowest point of a solid above a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LowestPoint {
    /// Height of that point, m.
    pub(crate) height_m: f64,
    /// Share of the node's cell that the solid covers.
    pub(crate) share: f64,
}

/// A solid seen from below.
pub(crate) trait Profile {
    /// Bounds in x and y of the part of the solid below `ceiling_m`:
    /// [least x, least y], [greatest x, greatest y], m.
    fn bounds_m(&self, ceiling_m: f64) -> [[f64; 2]; 2];
    /// The solid's lowest point on the vertical through (x, y), m, unless it is above
    /// `ceiling_m`.
    fn lowest(&self, x: f64, y: f64, ceiling_m: f64) -> Option<LowestPoint>;
    /// Unit normal into the solid at a point of its underside; without one pressure acts
    /// along the terrain's normal.
    fn inward(&self, _point: Vector3<f64>) -> Option<Vector3<f64>> {
        None
    }
    /// The prints that it leaves at points of its underside, which the ground stores with the heights; smooth ones where
    /// there are none.
    fn prints(&self) -> Option<Prints> {
        None
    }
    /// The side wall, if the point is at one.
    fn side(&self, _point: Vector3<f64>) -> Option<SideWall> {
        None
    }
}

/// A side wall over a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SideWall {
    /// Unit vector out of the solid.
    pub(crate) outward: Vector3<f64>,
    /// Width of the band across the wall whose nodes belong to the wall, m.
    pub(crate) band_m: f64,
}

/// A solid cylinder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cylinder<'a> {
    pub(crate) centre_m: Vector3<f64>,
    /// Unit axis.
    pub(crate) axle: Vector3<f64>,
    pub(crate) radius_m: f64,
    pub(crate) half_width_m: f64,
    /// Half of a cell's width along the axle, m.
    pub(crate) edge_m: f64,
    tread: Option<Tread<'a>>,
    /// Square of the cosine of the axle's tilt, and its reciprocal.
    level: f64,
    per_level: f64,
}

/// The axle is level when the sine of its tilt is below this, and upright when the square of the cosine is.
const TILT_MIN: f64 = 1e-9;

/// A point this near an end cap's plane lies on the cap, m.
const CAP_TOLERANCE_M: f64 = 1e-6;

impl<'a> Cylinder<'a> {
    /// A cylinder on cells `spacing_m` wide.
    pub(crate) fn new(
        centre_m: Vector3<f64>,
        axle: Vector3<f64>,
        radius_m: f64,
        half_width_m: f64,
        spacing_m: f64,
    ) -> Self {
        let edge_m = 0.5 * spacing_m * (axle.x.abs() + axle.y.abs());
        let level = 1.0 - axle.z * axle.z;
        Self { centre_m, axle, radius_m, half_width_m, edge_m, tread: None, level, per_level: 1.0 / level }
    }

    /// Gives the cylinder grousers that leave prints.
    pub(crate) fn with_tread(self, tread: Tread<'a>) -> Self {
        Self { tread: Some(tread), ..self }
    }

    /// The part of a vertical line between the end caps: least and greatest height above
    /// the centre. `along_m` is the line's coordinate along the axle at the centre's height.
    #[inline]
    fn between_caps(&self, along_m: f64) -> Option<(f64, f64)> {
        if self.axle.z.abs() < TILT_MIN {
            return (along_m.abs() <= self.half_width_m).then_some((f64::NEG_INFINITY, f64::INFINITY));
        }
        let a = (-self.half_width_m - along_m) / self.axle.z;
        let b = (self.half_width_m - along_m) / self.axle.z;
        Some((a.min(b), a.max(b)))
    }

    /// The lowest point of a vertical line that is inside the infinite cylinder from `low` to
    /// `high`; heights are above the centre.
    #[inline]
    fn between(&self, along_m: f64, low: f64, high: f64) -> Option<LowestPoint> {
        let beside_m = along_m + self.axle.z * low;
        let excess_m = beside_m.abs() - self.half_width_m;
        if excess_m < self.edge_m {
            let height_m = low - self.axle.z * beside_m.signum() * excess_m.max(0.0);
            return Some(LowestPoint { height_m, share: (0.5 - 0.5 * excess_m / self.edge_m).min(1.0) });
        }
        let (cap_low, cap_high) = self.between_caps(along_m)?;
        let height_m = low.max(cap_low);
        (height_m <= high.min(cap_high)).then_some(LowestPoint { height_m, share: 1.0 })
    }

    /// The lowest point at (dx, dy) from the centre; its height and `ceiling` are above the centre.
    #[inline]
    fn lowest_from_centre(&self, dx: f64, dy: f64, ceiling: f64) -> Option<LowestPoint> {
        let along = dx * self.axle.x + dy * self.axle.y;
        // Inside the infinite cylinder level t² − 2 axle.z along t + c ≤ 0, with t the height above the centre.
        let c = dx * dx + dy * dy - along * along - self.radius_m * self.radius_m;
        if self.level < TILT_MIN {
            let (height_m, _) = self.between_caps(along)?;
            return (c <= 0.0).then_some(LowestPoint { height_m, share: 1.0 });
        }
        let middle = self.axle.z * along * self.per_level;
        let square = middle * middle - c * self.per_level;
        let below = middle - ceiling;
        // Saves the square root where the ceiling is below the cylinder.
        if square < 0.0 || (below > self.edge_m && (below - self.edge_m).powi(2) > square) {
            return None;
        }
        let half = square.sqrt();
        self.between(along, middle - half, middle + half)
    }
}

impl Profile for Cylinder<'_> {
    fn bounds_m(&self, ceiling_m: f64) -> [[f64; 2]; 2] {
        let (c, a) = (self.centre_m, self.axle);
        let width_m = self.half_width_m + self.edge_m;
        let level = a.x.hypot(a.y);
        if level < TILT_MIN {
            return [[c.x - self.radius_m, c.y - self.radius_m], [c.x + self.radius_m, c.y + self.radius_m]];
        }
        // Across the axle only the arc below the ceiling counts.
        let above_m = ((c.z - ceiling_m - width_m * a.z.abs()) / level).clamp(0.0, self.radius_m);
        let across_m = (self.radius_m * self.radius_m - above_m * above_m).sqrt();
        let along_m = width_m * level + self.radius_m * a.z.abs();
        let x = (across_m * a.y.abs() + along_m * a.x.abs()) / level;
        let y = (across_m * a.x.abs() + along_m * a.y.abs()) / level;
        [[c.x - x, c.y - y], [c.x + x, c.y + y]]
    }

    #[inline]
    fn lowest(&self, x: f64, y: f64, ceiling_m: f64) -> Option<LowestPoint> {
        let c = self.centre_m;
        let low = self.lowest_from_centre(x - c.x, y - c.y, ceiling_m - c.z)?;
        let height_m = low.height_m + c.z;
        (height_m <= ceiling_m).then_some(LowestPoint { height_m, ..low })
    }

    fn inward(&self, point: Vector3<f64>) -> Option<Vector3<f64>> {
        let arm = point - self.centre_m;
        let along = arm.dot(&self.axle);
        let radial = arm - self.axle * along;
        let inside_m = self.radius_m - radial.norm();
        let on_cap = self.half_width_m - along.abs() < CAP_TOLERANCE_M && inside_m > CAP_TOLERANCE_M;
        Some(if on_cap { -self.axle * along.signum() } else { -radial.normalize() })
    }

    fn prints(&self) -> Option<Prints> {
        self.tread.map(|tread| tread.prints(self.radius_m))
    }

    fn side(&self, point: Vector3<f64>) -> Option<SideWall> {
        let along = (point - self.centre_m).dot(&self.axle);
        let at_edge = self.edge_m > 0.0 && (along.abs() - self.half_width_m).abs() <= self.edge_m;
        at_edge.then(|| SideWall { outward: self.axle * along.signum(), band_m: 2.0 * self.edge_m })
    }
}

/// A horizontal rectangle around the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plate {
    pub(crate) size_m: [f64; 2],
    pub(crate) height_m: f64,
    /// Width of a cell, m.
    pub(crate) spacing_m: f64,
}

impl Profile for Plate {
    fn bounds_m(&self, _: f64) -> [[f64; 2]; 2] {
        let [x, y] = self.size_m.map(|size| 0.5 * (size + self.spacing_m));
        [[-x, -y], [x, y]]
    }

    fn lowest(&self, x: f64, y: f64, ceiling_m: f64) -> Option<LowestPoint> {
        let cover = |at: f64, size: f64| ((0.5 * size - at.abs()) / self.spacing_m + 0.5).clamp(0.0, 1.0);
        let share = cover(x, self.size_m[0]) * cover(y, self.size_m[1]);
        (share > 0.0 && self.height_m <= ceiling_m).then_some(LowestPoint { height_m: self.height_m, share })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cylinder, Profile};
    use nalgebra::Vector3;

    /// Bisection's and the closed form's rounding.
    const HEIGHT_TOLERANCE_M: f64 = 1e-7;
    const CEILING_M: f64 = 10.0;

    fn tilted(axle: [f64; 3]) -> Cylinder<'static> {
        let axle = Vector3::from(axle).normalize();
        Cylinder::new(Vector3::new(0.3, -0.2, 0.4), axle, 0.25, 0.1, 0.0)
    }

    fn height_m(cylinder: &Cylinder, x: f64, y: f64, ceiling_m: f64) -> Option<f64> {
        cylinder.lowest(x, y, ceiling_m).map(|low| low.height_m)
    }

    fn contains(cylinder: &Cylinder, point: Vector3<f64>) -> bool {
        let arm = point - cylinder.centre_m;
        let along = arm.dot(&cylinder.axle);
        along.abs() <= cylinder.half_width_m && (arm - cylinder.axle * along).norm() <= cylinder.radius_m
    }

    /// Steps up in small steps until inside, then bisects.
    fn lowest_by_search(cylinder: &Cylinder, x: f64, y: f64) -> Option<f64> {
        let inside = |z: f64| contains(cylinder, Vector3::new(x, y, z));
        let first = (0..4000).map(|i| i as f64 * 2e-4).find(|&z| inside(z))?;
        let (mut out, mut within) = (first - 2e-4, first);
        for _ in 0..40 {
            let middle = 0.5 * (out + within);
            if inside(middle) { within = middle } else { out = middle }
        }
        Some(within)
    }

    #[test]
    fn the_lowest_point_of_a_tilted_wheel_is_the_one_that_searching_finds() {
        for axle in [[0.0, 1.0, 0.0], [0.3, 1.0, 0.0], [0.1, 1.0, 0.2], [0.1, 0.2, -1.0], [0.0, 0.0, 1.0]] {
            let cylinder = tilted(axle);
            for i in 0..400 {
                let (x, y) = (f64::from(i % 20) * 0.033 - 0.03, f64::from(i / 20) * 0.033 - 0.53);
                let exact = height_m(&cylinder, x, y, CEILING_M);
                match lowest_by_search(&cylinder, x, y) {
                    Some(z) => assert!((exact.expect("hit") - z).abs() < HEIGHT_TOLERANCE_M, "{axle:?} {x} {y}"),
                    // The search steps over slivers.
                    None => assert!(
                        exact.is_none() || exact.is_some_and(|z| !contains(&cylinder, Vector3::new(x, y, z + 2e-4)))
                    ),
                }
            }
        }
    }

    #[test]
    fn a_ceiling_only_hides_what_is_above_it() {
        let cylinder = tilted([0.1, 1.0, 0.2]);
        for i in 0..400 {
            let (x, y) = (f64::from(i % 20) * 0.033 - 0.03, f64::from(i / 20) * 0.033 - 0.53);
            let free = height_m(&cylinder, x, y, CEILING_M);
            for ceiling in [0.0, 0.16, 0.3, 0.5, 0.8] {
                assert_eq!(height_m(&cylinder, x, y, ceiling), free.filter(|&z| z <= ceiling));
            }
        }
    }

    #[test]
    fn a_level_wheel_covers_its_own_width_wherever_the_nodes_are() {
        let (spacing, axle) = (0.02, Vector3::y());
        for shift in [0.0, 0.003, 0.007, 0.01, 0.013] {
            let cylinder = Cylinder::new(Vector3::new(0.0, shift, 0.2), axle, 0.25, 0.093, spacing);
            let row = |i: i32| cylinder.lowest(0.0, f64::from(i) * spacing, CEILING_M).map_or(0.0, |low| low.share);
            let width: f64 = (-10..=10).map(row).sum::<f64>() * spacing;
            assert!((width - 0.186).abs() < 1e-12, "{shift}: {width}");
        }
    }

    #[test]
    fn the_bounds_hold_every_point_below_the_ceiling() {
        for axle in [[0.5, 1.0, 0.3], [0.0, 1.0, 0.0], [1.0, 0.1, 0.1], [0.0, 0.0, 1.0]] {
            let cylinder = tilted(axle);
            for ceiling in [0.16, 0.2, 0.3, 0.5, CEILING_M] {
                let [least, greatest] = cylinder.bounds_m(ceiling);
                for i in 0..3600 {
                    let (x, y) = (f64::from(i % 60) * 0.02 - 0.3, f64::from(i / 60) * 0.02 - 0.8);
                    let inside = x >= least[0] && x <= greatest[0] && y >= least[1] && y <= greatest[1];
                    assert!(inside || height_m(&cylinder, x, y, ceiling).is_none(), "{axle:?} {ceiling} {x} {y}");
                }
            }
        }
    }
}
