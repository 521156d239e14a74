//! The shortest path between obstacles by particle swarm (argmin's; M. Zambrano-Bigiarini et al., CEC 2013), in the
//! form that MULTI names (Yarpiz, path planning using PSO): a smooth curve through some control points, whose positions
//! are optimised. The cost is the curve's length times one plus a weight times its violation. Violated may be obstacles
//! (by the mean depth inside each, in radii), the border of the square, and the least radius of a bend that a truck can
//! drive.

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::particleswarm::ParticleSwarm;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use selene_base::random::{Rng, Stream};

use super::course::{CourseObstacle, ENDS_M, HALF_SIDE_M};
use super::polyline::{Polyline, apart_m};
use crate::Failure;

/// Number of control points of the curve.
const HANDLES: usize = 5;
/// Largest distance of a control point from the straight line, m.
const BESIDE_M: f64 = 40.0;
/// Points of the curve between two control points.
const POINTS_EACH: usize = 20;
/// Number of particles, and of their iterations.
const PARTICLES: usize = 80;
const MOVES: u64 = 250;
/// The most swarms to run, and the number of their paths that must violate nothing; the shortest of these is used.
const SWARMS_MAX: usize = 16;
const SWARMS_GOOD: usize = 2;
/// Weight of the violation, and the largest violation that counts as rounding.
const WEIGHT: f64 = 1000.0;
const ROUNDING: f64 = 1e-9;
/// The least radius of a bend, m: a margin over the 5.9 m of 30° with a wheelbase of 3.378 m.
const BEND_RADIUS_M: f64 = 9.0;

/// The shortest path found from end to end; `None` if too few of the paths found violate nothing.
///
/// # Errors
/// When the optimiser fails.
pub(super) fn shortest(field: &[CourseObstacle], stream: &mut Stream) -> Result<Option<Polyline>, Failure> {
    let mut good: Vec<Polyline> = Vec::new();
    for _ in 0..SWARMS_MAX {
        let found = swarm(field, stream.next_u64())?;
        good.extend((violation(&found, field) < ROUNDING).then_some(found));
        if good.len() == SWARMS_GOOD {
            return Ok(good.into_iter().min_by(|a, b| a.length_m().total_cmp(&b.length_m())));
        }
    }
    Ok(None)
}

fn swarm(field: &[CourseObstacle], seed: u64) -> Result<Polyline, Failure> {
    let bounds = (vec![-1.0; 2 * HANDLES], vec![1.0; 2 * HANDLES]);
    let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let solver = ParticleSwarm::new(bounds, PARTICLES).with_rng_generator(chance);
    let ended = Executor::new(Detour { field }, solver).configure(|state| state.max_iters(MOVES)).run()?;
    let best = ended.state().best_individual.as_ref().ok_or("the swarm has no best particle")?;
    Ok(curve(&best.position))
}

/// The cost function.
struct Detour<'a> {
    field: &'a [CourseObstacle],
}

impl CostFunction for Detour<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, handles: &Vec<f64>) -> Result<f64, Error> {
        let path = curve(handles);
        Ok(path.length_m() * (1.0 + WEIGHT * violation(&path, self.field)))
    }
}

/// Curve of a particle. Each control point lies along the straight line at its even share, moved by up to half of the
/// distance to the next, and displaced sideways.
fn curve(particle: &[f64]) -> Polyline {
    let ([from, to], count) = (ENDS_M, HANDLES as f64 + 1.0);
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let length_m = apart_m(from, to);
    let handle = |(i, pair): (usize, &[f64])| {
        let (along, beside_m) = ((i as f64 + 1.0 + 0.5 * pair[0]) / count, BESIDE_M * pair[1]);
        [from[0] + along * dx - beside_m * dy / length_m, from[1] + along * dy + beside_m * dx / length_m]
    };
    let handles = particle.chunks_exact(2).enumerate().map(handle);
    let through: Vec<[f64; 2]> = std::iter::once(from).chain(handles).chain([to]).collect();
    smooth(&through)
}

/// A Catmull–Rom curve through points.
fn smooth(through: &[[f64; 2]]) -> Polyline {
    let last = through.len() - 1;
    let mut points = vec![through[0]];
    for i in 0..last {
        let four = [through[i.saturating_sub(1)], through[i], through[i + 1], through[(i + 2).min(last)]];
        points.extend((1..POINTS_EACH).map(|k| catmull_rom(four, k as f64 / POINTS_EACH as f64)));
        points.push(through[i + 1]);
    }
    Polyline::new(points)
}

fn catmull_rom([a, b, c, d]: [[f64; 2]; 4], t: f64) -> [f64; 2] {
    [0, 1].map(|axis| {
        let (a, b, c, d) = (a[axis], b[axis], c[axis], d[axis]);
        b + 0.5 * t * (c - a + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a)))
    })
}

/// Violation of a path: zero for one that can be driven.
fn violation(path: &Polyline, field: &[CourseObstacle]) -> f64 {
    let points = path.points_m();
    let count = points.len() as f64;
    let parts: Vec<_> = points.chunks(POINTS_EACH).map(|part| (part, bounds(part))).collect();
    let inside = |obstacle: &CourseObstacle| -> f64 {
        let near = parts.iter().filter(|(_, [least, most])| obstacle.covers(nearest_in(obstacle.at_m, *least, *most)));
        let within = near.flat_map(|(part, _)| *part).filter(|point| obstacle.covers(**point));
        within.map(|point| -obstacle.clear_m(*point) / obstacle.radius_m).sum::<f64>() / count
    };
    let beyond = |point: &[f64; 2]| point.iter().map(|x| (x.abs() - HALF_SIDE_M).max(0.0) / HALF_SIDE_M).sum::<f64>();
    let tight = |three: &[[f64; 2]]| (BEND_RADIUS_M * curvature_1_m([three[0], three[1], three[2]]) - 1.0).max(0.0);
    field.iter().map(inside).sum::<f64>()
        + points.iter().map(beyond).sum::<f64>() / count
        + points.windows(3).map(tight).sum::<f64>() / count
}

/// The corners of the box around some points with the least and the greatest coordinates.
fn bounds(points: &[[f64; 2]]) -> [[f64; 2]; 2] {
    points.iter().fold([[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]], |[least, most], point| {
        [[0, 1].map(|axis| least[axis].min(point[axis])), [0, 1].map(|axis| most[axis].max(point[axis]))]
    })
}

/// The point of a box that is nearest to another.
fn nearest_in(point: [f64; 2], least: [f64; 2], most: [f64; 2]) -> [f64; 2] {
    [0, 1].map(|axis| point[axis].max(least[axis]).min(most[axis]))
}

/// Curvature of the circle through three points, 1/m.
fn curvature_1_m([a, b, c]: [[f64; 2]; 3]) -> f64 {
    let twice_area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs();
    let sides = apart_m(a, b) * apart_m(b, c) * apart_m(c, a);
    if sides > 0.0 { 2.0 * twice_area / sides } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{CourseObstacle, ENDS_M, curvature_1_m, curve, shortest, violation};
    use crate::convoy::polyline::apart_m;
    use selene_base::random::stream;

    #[test]
    fn a_particle_at_rest_is_the_straight_line() {
        let path = curve(&[0.0; 10]);
        assert!((path.length_m() - apart_m(ENDS_M[0], ENDS_M[1])).abs() < 1e-9);
        assert_eq!(violation(&path, &[]), 0.0);
        let through = CourseObstacle { at_m: [0.0, 0.0], radius_m: 8.0 };
        assert!(violation(&path, &[through]) > 0.01);
    }

    #[test]
    fn a_circles_curvature_is_that_of_three_of_its_points() {
        let on = |angle: f64| [5.0 + 4.0 * angle.cos(), 4.0 * angle.sin()];
        assert!((curvature_1_m([on(0.1), on(0.4), on(1.0)]) - 0.25).abs() < 1e-12);
        assert_eq!(curvature_1_m([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]), 0.0);
    }

    #[test]
    fn the_way_about_one_obstacle_is_nearly_the_shortest_there_is() {
        let (from, to) = (ENDS_M[0], ENDS_M[1]);
        let obstacle = CourseObstacle { at_m: [0.0, 0.0], radius_m: 20.0 };
        let path = shortest(&[obstacle], &mut stream(5, "test")).expect("moved").expect("a path");
        // Two tangents and the arc between them.
        let half_m = 0.5 * apart_m(from, to);
        let tangent_m = (half_m * half_m - 400.0_f64).sqrt();
        let arc_m = 20.0 * (std::f64::consts::PI - 2.0 * (20.0 / half_m).acos());
        let least_m = 2.0 * tangent_m + arc_m;
        let length_m = path.length_m();
        assert!(length_m > 0.999 * least_m && length_m < 1.05 * least_m, "{length_m} {least_m}");
    }
}
