//! Courses of the convoy (MULTI, §4.2): a square of 100 m with 30 round obstacles of 5 to 7 m at random positions,
//! which overlap by at most half a radius, and four of 8 m evenly along the diagonal from the south-west corner to the
//! north-east one; between these a shortest path (`planner`). We take the sizes as radii, since those of the four are
//! given as such. Then each obstacle shrinks until it leaves 2 m beside the path. A course without a path is generated
//! again. The origin is the middle of the square, x east, y north.

use std::fmt::Write as _;

use selene_base::random::{RngExt, Stream, stream_at};

use super::planner;
use super::polyline::{Polyline, apart_m};
use crate::Failure;

/// Half the side of the square, m.
pub(super) const HALF_SIDE_M: f64 = 50.0;
/// Start and end of the leader's path, m.
pub(super) const ENDS_M: [[f64; 2]; 2] = [[-HALF_SIDE_M, -HALF_SIDE_M], [HALF_SIDE_M, HALF_SIDE_M]];
/// Number of obstacles at random positions.
const RANDOM: usize = 30;
/// Radii of the random obstacles, m.
const RADIUS_M: std::ops::Range<f64> = 5.0..7.0;
/// Number of obstacles along the diagonal, and their radius, m.
const FIXED: usize = 4;
const FIXED_RADIUS_M: f64 = 8.0;
/// The most that two obstacles overlap, as a fraction of the smaller radius.
const OVERLAP: f64 = 0.5;
/// Free distance beside the path, m: a vehicle's width.
const BESIDE_M: f64 = 2.0;
/// Radius of free ground around both ends, m.
const END_FREE_M: f64 = 4.0;
/// Smallest radius, m; smaller obstacles are omitted.
const LEAST_RADIUS_M: f64 = 0.5;
/// Length of the convoy behind its leader, m; its way to the start is also kept free.
const BEHIND_M: f64 = 50.0;
/// Height of obstacles above the ground and depth below it, m: our choice.
const HEIGHT_M: f64 = 3.0;
const DEPTH_M: f64 = 0.5;
/// Attempts to place an obstacle before the course is begun again, and to generate a course before giving up.
const DRAWS_MAX: usize = 1000;
const COURSES_MAX: u64 = 20;

/// A round obstacle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CourseObstacle {
    /// Position of its centre, m.
    pub at_m: [f64; 2],
    /// Its radius, m.
    pub radius_m: f64,
}

/// A course with the leader's path.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvoyCourse {
    /// Number of the course.
    pub number: u64,
    /// Obstacles after shrinking.
    pub obstacles: Vec<CourseObstacle>,
    /// The leader's path.
    pub path: Polyline,
}

impl ConvoyCourse {
    /// Generates the course of a number from a seed.
    ///
    /// # Errors
    /// When none of twenty fields of obstacles has a path.
    pub fn draw(seed: u64, number: u64) -> Result<Self, Failure> {
        for attempt in 0..COURSES_MAX {
            let mut stream = stream_at(seed, &format!("convoy/course/{attempt}"), number);
            let Some(field) = field(&mut stream) else { continue };
            if let Some(path) = planner::shortest(&field, &mut stream)? {
                let obstacles = field.iter().filter_map(|obstacle| obstacle.shrunk_beside(&path)).collect();
                return Ok(Self { number, obstacles, path });
            }
        }
        Err(format!("course {number} of seed {seed}: none of {COURSES_MAX} fields has a path").into())
    }

    /// The obstacles as a URDF of one fixed object.
    #[must_use]
    pub fn urdf(&self) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\"?>\n<robot name=\"course\">\n  <material name=\"rock\"><color rgba=\"0.45 0.42 0.4 1\"/></material>\n  \
             <link name=\"base_link\">\n",
        );
        let (length_m, z_m) = (HEIGHT_M + DEPTH_M, 0.5 * (HEIGHT_M - DEPTH_M));
        for CourseObstacle { at_m: [x, y], radius_m } in &self.obstacles {
            let shape = format!(
                "<origin xyz=\"{x:.4} {y:.4} {z_m}\"/><geometry><cylinder radius=\"{radius_m:.4}\" length=\"{length_m}\"/></geometry>"
            );
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "    <visual>{shape}<material name=\"rock\"/></visual>\n    <collision>{shape}</collision>"
            );
        }
        text.push_str("  </link>\n</robot>\n");
        text
    }
}

impl CourseObstacle {
    /// Distance of a point from the obstacle's rim, m; negative inside.
    #[must_use]
    pub fn clear_m(&self, of_m: [f64; 2]) -> f64 {
        apart_m(self.at_m, of_m) - self.radius_m
    }

    /// Whether a point is inside. It takes no root: a planner asks it hundreds of millions of times.
    #[must_use]
    pub(super) fn covers(&self, [x, y]: [f64; 2]) -> bool {
        let [dx, dy] = [x - self.at_m[0], y - self.at_m[1]];
        dx * dx + dy * dy < self.radius_m * self.radius_m
    }

    /// The obstacle shrunk to leave space beside a path and behind its start; `None` if too little remains.
    fn shrunk_beside(&self, path: &Polyline) -> Option<Self> {
        let (heading_rad, start) = (path.first_heading_rad(), path.at_m(0.0));
        let behind = [start[0] - BEHIND_M * heading_rad.cos(), start[1] - BEHIND_M * heading_rad.sin()];
        let driven = Polyline::new([&[behind][..], path.points_m()].concat());
        let apart_m = driven.nearest(self.at_m).map_or(f64::INFINITY, |place| place.apart_m);
        let radius_m = self.radius_m.min(apart_m - BESIDE_M);
        (radius_m >= LEAST_RADIUS_M).then_some(Self { radius_m, ..*self })
    }
}

/// Generates all obstacles; `None` if the random ones do not fit.
fn field(stream: &mut Stream) -> Option<Vec<CourseObstacle>> {
    let fixed = (1..=FIXED).map(|i| {
        let along_m = HALF_SIDE_M * (2.0 * i as f64 / (FIXED + 1) as f64 - 1.0);
        CourseObstacle { at_m: [along_m; 2], radius_m: FIXED_RADIUS_M }
    });
    let mut field: Vec<CourseObstacle> = fixed.collect();
    let mut draws = 0;
    while field.len() < FIXED + RANDOM {
        let mut within = |range: std::ops::Range<f64>| stream.random_range(range);
        let at_m = [within(-HALF_SIDE_M..HALF_SIDE_M), within(-HALF_SIDE_M..HALF_SIDE_M)];
        let drawn = CourseObstacle { at_m, radius_m: within(RADIUS_M) };
        let is_free = ENDS_M.iter().all(|end| drawn.clear_m(*end) >= END_FREE_M);
        if is_free && field.iter().all(|other| overlap_is_allowed(other, &drawn)) {
            field.push(drawn);
        }
        draws += 1;
        if draws > DRAWS_MAX {
            return None;
        }
    }
    Some(field)
}

fn overlap_is_allowed(a: &CourseObstacle, b: &CourseObstacle) -> bool {
    let overlap_m = a.radius_m + b.radius_m - apart_m(a.at_m, b.at_m);
    overlap_m <= OVERLAP * a.radius_m.min(b.radius_m)
}

#[cfg(test)]
mod tests {
    use super::{BESIDE_M, ConvoyCourse, ENDS_M, HALF_SIDE_M, field, overlap_is_allowed};
    use crate::convoy::polyline::apart_m;
    use selene_base::random::stream;

    #[test]
    fn a_field_has_the_papers_obstacles_and_its_overlaps_are_allowed() {
        let field = field(&mut stream(3, "test")).expect("a field");
        assert_eq!(field.len(), 34);
        assert!((field[0].at_m[0] + 30.0).abs() < 1e-9 && field[..4].iter().all(|fixed| fixed.radius_m == 8.0));
        for (i, a) in field.iter().enumerate() {
            assert!(field[..i].iter().all(|b| overlap_is_allowed(a, b)), "{i}");
        }
    }

    #[test]
    fn a_path_leads_from_end_to_end_with_room_for_a_vehicle() {
        let course = ConvoyCourse::draw(1, 0).expect("a course");
        let points = course.path.points_m();
        assert_eq!([points[0], points[points.len() - 1]], ENDS_M);
        let straight_m = apart_m(ENDS_M[0], ENDS_M[1]);
        let length_m = course.path.length_m();
        // The obstacles on the diagonal make the path longer than straight; half as much again would not be a short
        // path.
        assert!(length_m > straight_m && length_m < 1.5 * straight_m, "{length_m}");
        for obstacle in &course.obstacles {
            let clear_m = course.path.nearest(obstacle.at_m).expect("a path").apart_m - obstacle.radius_m;
            assert!(clear_m >= BESIDE_M - 1e-9, "{clear_m}");
        }
        let inside = |at: &[f64; 2]| at.iter().all(|x| x.abs() <= HALF_SIDE_M + 1e-9);
        assert!(points.iter().all(inside));
        assert_eq!(course, ConvoyCourse::draw(1, 0).expect("the same"));
    }
}
