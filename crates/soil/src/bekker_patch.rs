//! Finds the contact patches, each a set of connected nodes, and computes for each the
//! 1/b = perimeter/(2 area) of Bekker's formula. Area and perimeter are those of the convex
//! hull of the patch's cells, that is the hull of its nodes grown by half a spacing on all
//! sides, so that they are right for a plate of any size and a single node is one cell.

/// Label of a node that does not touch.
const FREE: u16 = 0;
/// Label of a node that touches and waits for its patch.
const WAITING: u16 = u16::MAX;

/// Label of a node that lies under the solid without touching it: it is in no patch.
const COVERED: u16 = u16::MAX - 1;

/// Nodes of a window and the patches among them. The window's outermost nodes are never marked, so that every marked
/// one has four neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct BekkerPatches {
    columns: usize,
    labels: Vec<u16>,
    /// Rows and columns of nodes of the current patch whose neighbours are still to be looked at.
    todo: Vec<[usize; 2]>,
    /// Least and greatest column of the current patch in each row; none where the first is beyond the last.
    ends: Vec<[u32; 2]>,
    hull: Vec<[f64; 2]>,
    inverse_b_per_m: Vec<f64>,
}

impl BekkerPatches {
    /// Empties the window and gives it a size.
    pub(crate) fn reset(&mut self, columns: usize, rows: usize) {
        self.columns = columns;
        self.labels.clear();
        self.labels.resize(columns * rows, FREE);
        self.inverse_b_per_m.clear();
    }

    /// Marks a node (row · columns + column), not one of the outermost, as touching.
    pub(crate) fn mark(&mut self, node: usize) {
        debug_assert!((1..self.columns - 1).contains(&(node % self.columns)), "an outermost column");
        debug_assert!((self.columns..self.labels.len() - self.columns).contains(&node), "an outermost row");
        self.labels[node] = WAITING;
    }

    /// Marks a node that lies under the solid without touching it.
    pub(crate) fn mark_covered(&mut self, node: usize) {
        self.labels[node] = COVERED;
    }

    /// Whether a node is marked.
    pub(crate) fn covers(&self, node: usize) -> bool {
        self.labels[node] != FREE
    }

    /// Finds the patches among the marked nodes.
    pub(crate) fn find(&mut self, nodes: impl Iterator<Item = usize>, spacing_m: f64) {
        for node in nodes {
            if self.labels[node] == WAITING {
                self.flood(node);
                let inverse_b = self.inverse_b(spacing_m);
                self.inverse_b_per_m.push(inverse_b);
            }
        }
    }

    /// 1/b of the patch that a marked node belongs to, 1/m, after `find`.
    pub(crate) fn inverse_b_per_m(&self, node: usize) -> f64 {
        self.inverse_b_per_m[usize::from(self.labels[node]) - 1]
    }

    fn flood(&mut self, seed: usize) {
        // More patches than labels share the last one: a window has far fewer.
        let label = (self.inverse_b_per_m.len() + 1).min(usize::from(COVERED) - 1) as u16;
        self.ends.clear();
        self.ends.resize(self.labels.len() / self.columns, [u32::MAX, 0]);
        self.take([seed / self.columns, seed % self.columns], label);
        while let Some([row, column]) = self.todo.pop() {
            let [least, greatest] = &mut self.ends[row];
            (*least, *greatest) = ((*least).min(column as u32), (*greatest).max(column as u32));
            for next in [[row, column - 1], [row, column + 1], [row - 1, column], [row + 1, column]] {
                self.take(next, label);
            }
        }
    }

    /// Takes a node into the current patch, if it waits for one.
    fn take(&mut self, [row, column]: [usize; 2], label: u16) {
        let label_now = &mut self.labels[row * self.columns + column];
        if *label_now == WAITING {
            *label_now = label;
            self.todo.push([row, column]);
        }
    }

    /// 1/b of the current patch's hull grown by half a cell on all sides, 1/m.
    fn inverse_b(&mut self, spacing_m: f64) -> f64 {
        self.build_hull();
        let (mut twice_area, mut perimeter) = (0.0, 0.0);
        for (i, p) in self.hull.iter().enumerate() {
            let q = self.hull[(i + 1) % self.hull.len()];
            twice_area += p[0] * q[1] - p[1] * q[0];
            perimeter += (q[0] - p[0]).hypot(q[1] - p[1]);
        }
        let extent = |axis: usize| {
            let along = self.hull.iter().map(|p| p[axis]);
            along.clone().fold(f64::NEG_INFINITY, f64::max) - along.fold(f64::INFINITY, f64::min)
        };
        // Minkowski sum of a convex figure with a unit square.
        let area = 0.5 * twice_area + extent(0) + extent(1) + 1.0;
        (perimeter + 4.0) / (2.0 * area * spacing_m)
    }

    /// Builds the hull by Andrew's monotone chain over the ends of the rows; in columns and rows. Going up, only
    /// the greatest columns can be corners, and going down only the least.
    fn build_hull(&mut self) {
        let rows = self.ends.iter().enumerate().filter(|(_, [least, greatest])| least <= greatest);
        let least = rows.clone().map(|(row, ends)| [f64::from(ends[0]), row as f64]);
        let greatest = rows.map(|(row, ends)| [f64::from(ends[1]), row as f64]);
        self.hull.clear();
        self.hull.extend(least.clone().next());
        chain_from(&mut self.hull, 0, greatest);
        let tail_start = self.hull.len() - 1;
        chain_from(&mut self.hull, tail_start, least.rev());
        if self.hull.len() > 1 {
            self.hull.pop();
        }
    }
}

/// Adds points, keeping right turns out of what lies after `start`. Sorted by row
/// (y) first, the chain runs along the greater-x side going up.
fn chain_from(hull: &mut Vec<[f64; 2]>, start: usize, points: impl Iterator<Item = [f64; 2]>) {
    for p in points {
        while hull.len() >= start + 2 && turn(hull[hull.len() - 2], hull[hull.len() - 1], p) <= 0.0 {
            hull.pop();
        }
        hull.push(p);
    }
}

fn turn(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

#[cfg(test)]
mod tests {
    use super::BekkerPatches;

    const SPACING_M: f64 = 0.01;
    /// Rounding of sums.
    const TOLERANCE: f64 = 1e-9;

    /// Index of a node within the window, whose outermost nodes are left free.
    fn at(column: usize, row: usize) -> usize {
        (row + 1) * 42 + column + 1
    }

    fn patches(marked: impl Fn(usize, usize) -> bool) -> BekkerPatches {
        let mut patches = BekkerPatches::default();
        patches.reset(42, 32);
        let is_marked = |&(column, row): &(usize, usize)| marked(column, row);
        let all = (0..30).flat_map(|row| (0..40).map(move |column| (column, row)));
        let nodes: Vec<_> = all.filter(is_marked).map(|(column, row)| at(column, row)).collect();
        nodes.iter().for_each(|&node| patches.mark(node));
        patches.find(nodes.iter().copied(), SPACING_M);
        patches
    }

    #[test]
    fn a_rectangle_has_its_own_perimeter_over_twice_its_area() {
        let found = patches(|c, r| (5..25).contains(&c) && (5..15).contains(&r));
        assert!((found.inverse_b_per_m(at(5, 5)) - 0.6 / (2.0 * 0.02)).abs() < TOLERANCE);
    }

    #[test]
    fn single_nodes_and_single_rows_are_cells_and_strips() {
        let one = patches(|c, r| (c, r) == (7, 7));
        assert!((one.inverse_b_per_m(at(7, 7)) - 0.04 / 2e-4).abs() < TOLERANCE);
        let row = patches(|c, r| r == 3 && c < 10);
        assert!((row.inverse_b_per_m(at(0, 3)) - 0.22 / 2e-3).abs() < TOLERANCE);
    }

    #[test]
    fn nodes_that_do_not_meet_are_patches_of_their_own() {
        let found = patches(|c, r| r < 10 && !(10..20).contains(&c));
        assert!((found.inverse_b_per_m(at(0, 0)) - 0.4 / 0.02).abs() < TOLERANCE);
        assert!((found.inverse_b_per_m(at(20, 0)) - 0.6 / 0.04).abs() < TOLERANCE);
    }

    #[test]
    fn a_disc_tends_to_one_over_its_radius() {
        let found = patches(|c, r| (c as f64 - 15.0).hypot(r as f64 - 15.0) < 12.5);
        // 2πr/(2πr²) = 1/r, within a tenth of a cell's staircase.
        assert!((found.inverse_b_per_m(at(15, 15)) * 0.125 - 1.0).abs() < 0.05);
    }

    #[test]
    fn the_hull_spans_what_is_hollow_and_what_is_slanted() {
        // A column one node wide.
        let column = patches(|c, r| c == 3 && r < 10);
        assert!((column.inverse_b_per_m(at(3, 0)) - 0.22 / 2e-3).abs() < TOLERANCE);
        // A C that is open to the right: 10 × 9 cells.
        let hollow = patches(|c, r| c < 10 && r < 9 && (c < 2 || !(2..7).contains(&r)));
        assert!((hollow.inverse_b_per_m(at(0, 0)) - 0.38 / (2.0 * 9e-3)).abs() < TOLERANCE);
        // An L, one node wide: cells from (0, 0) to (9, 0) and to (0, 9). The hull is a triangle with legs of nine
        // cells, grown by half a cell on all sides.
        let corner = patches(|c, r| (c == 0 && r < 10) || (r == 0 && c < 10));
        let (around_m, area_m2) = (0.01 * (18.0 + 9.0 * 2.0_f64.sqrt() + 4.0), 1e-4 * (40.5 + 18.0 + 1.0));
        assert!((corner.inverse_b_per_m(at(0, 0)) - around_m / (2.0 * area_m2)).abs() < TOLERANCE);
    }
}
