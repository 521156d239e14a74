//! A polyline in the plane, with distances along it.

/// A path of straight segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyline {
    points_m: Vec<[f64; 2]>,
    /// Distance along the path to each point, m.
    along_m: Vec<f64>,
}

/// A point on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPoint {
    /// Index of the first point of its segment.
    pub line: usize,
    /// Position along that segment, 0 to 1.
    pub share: f64,
    /// Distance along the path, m.
    pub along_m: f64,
    /// Its position, m.
    pub at_m: [f64; 2],
    /// Distance from the point that was searched for, m.
    pub apart_m: f64,
}

impl Polyline {
    /// Creates a path through these points.
    #[must_use]
    pub fn new(points_m: Vec<[f64; 2]>) -> Self {
        let mut along_m = Vec::with_capacity(points_m.len());
        let mut way_m = 0.0;
        for (i, point) in points_m.iter().enumerate() {
            way_m += if i == 0 { 0.0 } else { apart_m(points_m[i - 1], *point) };
            along_m.push(way_m);
        }
        Self { points_m, along_m }
    }

    /// Points of the path, m.
    #[must_use]
    pub fn points_m(&self) -> &[[f64; 2]] {
        &self.points_m
    }

    /// Length of the path, m.
    #[must_use]
    pub fn length_m(&self) -> f64 {
        self.along_m.last().copied().unwrap_or(0.0)
    }

    /// Position at a distance along the path, m; beyond its ends, the nearest end.
    #[must_use]
    pub fn at_m(&self, along_m: f64) -> [f64; 2] {
        let (line, share) = self.segment_at(along_m);
        let Some(pair) = self.points_m.get(line..line + 2) else {
            return self.points_m.first().copied().unwrap_or_default();
        };
        between(pair[0], pair[1], share)
    }

    /// The segment at a distance along the path, m, as the index of its first point, and the position along it, 0 to 1;
    /// beyond the ends of the path, that of the nearest end.
    #[must_use]
    pub fn segment_at(&self, along_m: f64) -> (usize, f64) {
        let line = self.along_m.partition_point(|of| *of <= along_m).clamp(1, self.points_m.len().max(2) - 1) - 1;
        let Some([from_m, to_m]) = self.along_m.get(line..line + 2).map(|pair| [pair[0], pair[1]]) else {
            return (0, 0.0);
        };
        let length_m = to_m - from_m;
        (line, if length_m > 0.0 { ((along_m - from_m) / length_m).clamp(0.0, 1.0) } else { 0.0 })
    }

    /// Distance along the path to the point with this index, m; that of the nearest end if there is no such point.
    #[must_use]
    pub fn along_m(&self, point: usize) -> f64 {
        self.along_m.get(point).copied().unwrap_or(self.length_m())
    }

    /// Heading at the start, counter-clockwise from x, rad.
    #[must_use]
    pub fn first_heading_rad(&self) -> f64 {
        let ([x, y], [to_x, to_y]) = (self.at_m(0.0), self.at_m(1.0));
        (to_y - y).atan2(to_x - x)
    }

    /// The point of the path nearest to `to_m`; `None` for a path without a segment.
    #[must_use]
    pub fn nearest(&self, to_m: [f64; 2]) -> Option<PathPoint> {
        let lines = self.points_m.windows(2).enumerate().map(|(line, pair)| {
            let (share, at_m) = nearest_on([pair[0], pair[1]], to_m);
            let along_m = self.along_m[line] + share * (self.along_m[line + 1] - self.along_m[line]);
            PathPoint { line, share, along_m, at_m, apart_m: apart_m(at_m, to_m) }
        });
        // Of equally near points, the first.
        lines.reduce(|best, next| if next.apart_m < best.apart_m { next } else { best })
    }
}

/// Distance between two points, m.
#[must_use]
pub(super) fn apart_m([x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) -> f64 {
    let [dx, dy] = [to_x - x, to_y - y];
    (dx * dx + dy * dy).sqrt()
}

/// The position along a segment, 0 to 1, of its point nearest to another, and that point.
#[must_use]
pub(super) fn nearest_on([from, to]: [[f64; 2]; 2], point: [f64; 2]) -> (f64, [f64; 2]) {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let square = dx * dx + dy * dy;
    let dot = (point[0] - from[0]) * dx + (point[1] - from[1]) * dy;
    let share = if square > 0.0 { (dot / square).clamp(0.0, 1.0) } else { 0.0 };
    (share, between(from, to, share))
}

fn between([x, y]: [f64; 2], [to_x, to_y]: [f64; 2], share: f64) -> [f64; 2] {
    [x + share * (to_x - x), y + share * (to_y - y)]
}

#[cfg(test)]
mod tests {
    use super::Polyline;

    #[test]
    fn places_are_found_by_way_and_by_nearness() {
        let path = Polyline::new(vec![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]);
        assert_eq!(path.length_m(), 7.0);
        assert_eq!(
            [-1.0, 1.5, 3.0, 5.0, 9.0].map(|way| path.at_m(way)),
            [[0.0, 0.0], [1.5, 0.0], [3.0, 0.0], [3.0, 2.0], [3.0, 4.0]]
        );
        let place = path.nearest([4.0, 1.0]).expect("a line");
        assert_eq!((place.line, place.share, place.along_m, place.apart_m), (1, 0.25, 4.0, 1.0));
        assert_eq!(Polyline::new(vec![[1.0, 2.0]]).nearest([0.0, 0.0]), None);
        assert_eq!(Polyline::new(vec![[1.0, 2.0]]).at_m(3.0), [1.0, 2.0]);
    }
}
