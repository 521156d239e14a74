//! Fields of rocks: discs on the map that do not overlap, drawn one after the other. A disc that finds no room in a
//! hundred tries is left out, so that a field may have fewer rocks than were drawn.

use selene_base::random::{RngExt, Stream};
use selene_sim::LooseRockSpec;

use crate::draws::Draws;
use crate::randomise::RocksSpec;

/// Number of tries to find room for a rock.
const TRIES: usize = 100;
/// Density of rocks, kg/m³: basalt with a few pores.
const DENSITY_KG_M3: f64 = 2700.0;

/// A rock seen from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Disc {
    /// Its middle on the map, m.
    pub(crate) at_m: [f64; 2],
    /// Mean radius, m.
    pub(crate) radius_m: f64,
}

impl Disc {
    fn overlaps(&self, other: &Self) -> bool {
        apart_m(self.at_m, other.at_m) < self.radius_m + other.radius_m
    }

    /// The disc as a rock of a scenario.
    pub(crate) fn rock(&self) -> LooseRockSpec {
        let Self { at_m: [x_m, y_m], radius_m } = *self;
        let diameter_m = 2.0 * radius_m;
        LooseRockSpec { x_m, y_m, diameter_m, shape: None, density_kg_m3: DENSITY_KG_M3, yaw_deg: 0.0 }
    }

    /// Distance along a ray from `from_m`, whose direction is a unit vector, to the disc, m; 0 from within, `None` if
    /// the ray misses the disc.
    pub(crate) fn met_m(&self, from_m: [f64; 2], direction: [f64; 2]) -> Option<f64> {
        let to = [self.at_m[0] - from_m[0], self.at_m[1] - from_m[1]];
        let along = to[0] * direction[0] + to[1] * direction[1];
        let beside = to[0] * direction[1] - to[1] * direction[0];
        let half_chord2 = self.radius_m * self.radius_m - beside * beside;
        if half_chord2 < 0.0 {
            return None;
        }
        let half_chord = half_chord2.sqrt();
        (along + half_chord >= 0.0).then(|| (along - half_chord).max(0.0))
    }
}

/// The distance between two places, m.
pub(crate) fn apart_m(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Draws a field around `middle_m` that keeps the places `free_m` free.
pub(crate) fn draw(spec: &RocksSpec, middle_m: [f64; 2], free_m: &[[f64; 2]], draws: Draws) -> Vec<Disc> {
    let mut stream = draws.stream("randomise/rocks");
    let count = spec.count.draw(&mut stream).round() as usize;
    let kept_free: Vec<_> = free_m.iter().map(|at| Disc { at_m: *at, radius_m: spec.clear_m }).collect();
    let mut field: Vec<Disc> = Vec::with_capacity(count);
    for _ in 0..count {
        let radius_m = 0.5 * spec.diameter_m.draw(&mut stream);
        let mut tries = (0..TRIES).map(|_| Disc { at_m: within(middle_m, spec.disc_m, &mut stream), radius_m });
        let found = tries.find(|disc| !kept_free.iter().chain(&field).any(|other| disc.overlaps(other)));
        field.extend(found);
    }
    field
}

/// A place on a disc, uniformly distributed over its area.
fn within(middle_m: [f64; 2], disc_m: f64, stream: &mut Stream) -> [f64; 2] {
    let radius_m = disc_m * stream.random_range(0.0..1.0_f64).sqrt();
    let bearing_rad = stream.random_range(-std::f64::consts::PI..std::f64::consts::PI);
    [middle_m[0] + radius_m * bearing_rad.cos(), middle_m[1] + radius_m * bearing_rad.sin()]
}

#[cfg(test)]
mod tests {
    use super::{Disc, apart_m, draw};
    use crate::distribution::{Distribution, RangeSpec};
    use crate::draws::Draws;
    use crate::randomise::RocksSpec;

    #[test]
    fn a_field_overlaps_nothing_and_keeps_starts_and_goals_free() {
        let sizes = Distribution::Uniform(RangeSpec { low: 0.3, high: 0.9 });
        let spec = RocksSpec { count: Distribution::Choice(vec![30.0]), diameter_m: sizes, disc_m: 8.0, clear_m: 1.5 };
        let free = [[-4.0, 0.0], [4.0, 0.0]];
        let field = draw(&spec, [0.0, 0.0], &free, Draws { seed: 3, episode: 0 });
        assert_eq!(field.len(), 30);
        for (i, rock) in field.iter().enumerate() {
            assert!(apart_m(rock.at_m, [0.0, 0.0]) <= 8.0);
            assert!(free.iter().all(|at| apart_m(rock.at_m, *at) >= 1.5 + rock.radius_m));
            assert!(field[..i].iter().all(|other| !rock.overlaps(other)));
        }
        assert_ne!(field, draw(&spec, [0.0, 0.0], &free, Draws { seed: 3, episode: 1 }));
    }

    #[test]
    fn a_full_field_has_fewer_rocks_than_were_drawn() {
        let spec = RocksSpec {
            count: Distribution::Choice(vec![200.0]),
            diameter_m: Distribution::Choice(vec![1.0]),
            disc_m: 2.0,
            clear_m: 0.0,
        };
        let count = draw(&spec, [0.0, 0.0], &[], Draws { seed: 1, episode: 0 }).len();
        // Discs with a radius of 0.5 m and middles within 2 m: the area allows at most (2.5/0.5)² = 25.
        assert!((5..=25).contains(&count), "{count}");
    }

    #[test]
    fn a_ray_meets_a_disc_where_the_circle_is() {
        let disc = Disc { at_m: [5.0, 0.3], radius_m: 0.5 };
        let met_m = disc.met_m([0.0, 0.0], [1.0, 0.0]).expect("met");
        assert!((met_m - (5.0 - 0.4)).abs() < 1e-12, "{met_m}"); // 0.3, 0.4, 0.5
        assert_eq!(disc.met_m([0.0, 0.0], [-1.0, 0.0]), None);
        assert_eq!(disc.met_m([0.0, 0.0], [0.0, 1.0]), None);
        assert_eq!(disc.met_m([5.0, 0.2], [-1.0, 0.0]), Some(0.0));
    }
}
