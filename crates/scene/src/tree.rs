//! Builds bounding volume hierarchies: split where the surface area heuristic is least along any axis (Wald 2007),
//! written in depth-first order with escape links. Trees of very many items that change often are split by Morton codes
//! instead (Lauterbach et al. 2009): such a tree is slightly slower to traverse and a hundred times as fast to build.

use rayon::slice::ParallelSliceMut;

use crate::record::NodeRecord;

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) min: [f32; 3],
    pub(crate) max: [f32; 3],
}

impl Bounds {
    pub(crate) const NONE: Self = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

    pub(crate) fn of_points(points: impl IntoIterator<Item = [f32; 3]>) -> Self {
        points.into_iter().fold(Self::NONE, |bounds, p| bounds.union(&Self { min: p, max: p }))
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        Self {
            min: std::array::from_fn(|i| self.min[i].min(other.min[i])),
            max: std::array::from_fn(|i| self.max[i].max(other.max[i])),
        }
    }

    /// The box enlarged by `by` on all sides.
    pub(crate) fn widened(&self, by: f32) -> Self {
        Self { min: self.min.map(|x| x - by), max: self.max.map(|x| x + by) }
    }

    /// Length of the box's diagonal.
    pub(crate) fn diagonal(&self) -> f32 {
        (0..3).map(|i| (self.max[i] - self.min[i]).powi(2)).sum::<f32>().sqrt()
    }

    /// The box enlarged slightly, so that rounding never lets a ray miss it.
    fn padded(&self) -> Self {
        let pad = |i: usize| 1e-6 * (self.min[i].abs().max(self.max[i].abs()) + (self.max[i] - self.min[i]));
        Self { min: std::array::from_fn(|i| self.min[i] - pad(i)), max: std::array::from_fn(|i| self.max[i] + pad(i)) }
    }

    fn centre2(&self, axis: usize) -> f32 {
        self.min[axis] + self.max[axis]
    }

    fn half_area(&self) -> f32 {
        let [x, y, z] = std::array::from_fn(|i| (self.max[i] - self.min[i]).max(0.0));
        x * y + y * z + z * x
    }
}

/// Builds the tree of `bounds` with at most `leaf_items` (≤ 7) items per leaf. Node and item numbers start at
/// `first_node` and `first_item`. Returns the nodes and the order in which the items must be stored.
pub(crate) fn build(
    bounds: &[Bounds],
    leaf_items: usize,
    first_node: u32,
    first_item: u32,
) -> (Vec<NodeRecord>, Vec<u32>) {
    let mut builder = Builder { bounds, leaf_items, first_node, first_item, nodes: Vec::new(), order: Vec::new() };
    let mut items: Vec<u32> = (0..bounds.len() as u32).collect();
    if !items.is_empty() {
        builder.add(&mut items);
    }
    (builder.nodes, builder.order)
}

struct Builder<'a> {
    bounds: &'a [Bounds],
    leaf_items: usize,
    first_node: u32,
    first_item: u32,
    nodes: Vec<NodeRecord>,
    order: Vec<u32>,
}

impl Builder<'_> {
    fn add(&mut self, items: &mut [u32]) {
        let all = items.iter().fold(Bounds::NONE, |b, &i| b.union(&self.bounds[i as usize])).padded();
        let place = self.nodes.len();
        self.nodes.push(NodeRecord { min: all.min, escape: 0, max: all.max, leaf: 0 });
        if items.len() <= self.leaf_items {
            let first = self.first_item + self.order.len() as u32;
            self.nodes[place].leaf = first << 3 | items.len() as u32;
            self.order.extend_from_slice(items);
        } else {
            let split = self.split(items);
            let (low, high) = items.split_at_mut(split);
            self.add(low);
            self.add(high);
        }
        self.nodes[place].escape = self.first_node + self.nodes.len() as u32;
    }

    /// Sorts the items along the best axis and returns the index at which to split.
    fn split(&self, items: &mut [u32]) -> usize {
        let mut best = (f32::INFINITY, 0, items.len() / 2);
        for axis in 0..3 {
            self.sort(items, axis);
            let (cost, cut) = self.cheapest_cut(items);
            if cost < best.0 {
                best = (cost, axis, cut);
            }
        }
        self.sort(items, best.1);
        best.2
    }

    /// Sorts by centre, then by number, so that the tree is the same on every machine.
    fn sort(&self, items: &mut [u32], axis: usize) {
        let centre = |i: u32| self.bounds[i as usize].centre2(axis);
        items.sort_unstable_by(|&a, &b| centre(a).total_cmp(&centre(b)).then(a.cmp(&b)));
    }

    fn cheapest_cut(&self, items: &[u32]) -> (f32, usize) {
        let mut behind = Bounds::NONE;
        let mut areas = vec![0.0; items.len()];
        for (k, &item) in items.iter().enumerate().rev() {
            behind = behind.union(&self.bounds[item as usize]);
            areas[k] = behind.half_area();
        }
        let mut before = Bounds::NONE;
        let mut best = (f32::INFINITY, items.len() / 2);
        for cut in 1..items.len() {
            before = before.union(&self.bounds[items[cut - 1] as usize]);
            let cost = before.half_area() * cut as f32 + areas[cut] * (items.len() - cut) as f32;
            if cost < best.0 {
                best = (cost, cut);
            }
        }
        best
    }
}

/// Like `build`, but splits where the highest bit of the items' Morton codes changes.
pub(crate) fn build_by_code(
    bounds: &[Bounds],
    leaf_items: usize,
    first_node: u32,
    first_item: u32,
) -> (Vec<NodeRecord>, Vec<u32>) {
    let mut coded = codes(bounds);
    // Sorted by code, then by number, so that the tree is the same for any number of threads.
    coded.par_sort_unstable();
    let mut nodes = Vec::with_capacity(2 * bounds.len().div_ceil(leaf_items.div_ceil(2).max(1)));
    let numbers = Numbers { leaf_items, first_node, first_item };
    if !coded.is_empty() {
        add_coded(bounds, &coded, 0, numbers, &mut nodes);
    }
    (nodes, coded.into_iter().map(|(_, item)| item).collect())
}

/// First node and item numbers of a tree, and the most items per leaf.
#[derive(Clone, Copy)]
struct Numbers {
    leaf_items: usize,
    first_node: u32,
    first_item: u32,
}

/// Adds the tree of `coded`, whose first item is number `before` of the whole tree; returns the bounding box.
fn add_coded(
    bounds: &[Bounds],
    coded: &[(u64, u32)],
    before: usize,
    numbers: Numbers,
    nodes: &mut Vec<NodeRecord>,
) -> Bounds {
    let place = nodes.len();
    nodes.push(NodeRecord { min: [0.0; 3], escape: 0, max: [0.0; 3], leaf: 0 });
    let mut leaf = 0;
    let all = if coded.len() <= numbers.leaf_items {
        leaf = (numbers.first_item + before as u32) << 3 | coded.len() as u32;
        coded.iter().fold(Bounds::NONE, |all, &(_, item)| all.union(&bounds[item as usize]))
    } else {
        let cut = highest_change(coded);
        let low = add_coded(bounds, &coded[..cut], before, numbers, nodes);
        low.union(&add_coded(bounds, &coded[cut..], before + cut, numbers, nodes))
    };
    let Bounds { min, max } = all.padded();
    nodes[place] = NodeRecord { min, escape: numbers.first_node + nodes.len() as u32, max, leaf };
    all
}

/// Index at which the highest bit that differs among sorted codes changes; the middle where all codes are equal.
fn highest_change(coded: &[(u64, u32)]) -> usize {
    let differ = coded[0].0 ^ coded[coded.len() - 1].0;
    if differ == 0 {
        return coded.len() / 2;
    }
    let bit = 1u64 << (63 - differ.leading_zeros());
    coded.partition_point(|(code, _)| code & bit == 0)
}

/// Each item's Morton code, 21 bits per axis over the bounding box of all centres, with its number.
fn codes(bounds: &[Bounds]) -> Vec<(u64, u32)> {
    let centre = |b: &Bounds| -> [f32; 3] { std::array::from_fn(|axis| 0.5 * b.centre2(axis)) };
    let all = Bounds::of_points(bounds.iter().map(centre));
    let steps = f64::from((1u32 << 21) - 1);
    let code = |b: &Bounds| {
        let place = centre(b);
        (0..3).fold(0, |code, axis| {
            let side = f64::from(all.max[axis] - all.min[axis]).max(f64::MIN_POSITIVE);
            let share = f64::from(place[axis] - all.min[axis]) / side;
            code | spread((share * steps) as u64) << axis
        })
    };
    bounds.iter().zip(0..).map(|(b, item)| (code(b), item)).collect()
}

/// Spreads the lowest 21 bits: two zeros between each bit and the next.
fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

#[cfg(test)]
mod tests {
    use super::{Bounds, build, build_by_code, spread};
    use crate::record::NodeRecord;

    #[test]
    fn every_item_is_in_exactly_one_leaf_and_inside_its_ancestors() {
        let bounds: Vec<_> = (0..100u32)
            .map(|i| {
                let p = [(i * 37 % 101) as f32, (i * 53 % 97) as f32, (i * 11 % 89) as f32];
                Bounds { min: p, max: p.map(|x| x + 1.5) }
            })
            .collect();
        let same = vec![Bounds { min: [1.0; 3], max: [2.0; 3] }; 100];
        let builders = [build, build_by_code];
        for (bounds, build) in [&bounds, &same].into_iter().flat_map(|b| builders.map(|build| (b, build))) {
            let (nodes, order) = build(bounds, 4, 1000, 500);
            holds_each_once(&nodes, &order);
        }
        assert_eq!(spread(0x1f_ffff), 0x1249_2492_4924_9249);
    }

    fn holds_each_once(nodes: &[NodeRecord], order: &[u32]) {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_eq!(nodes[0].escape as usize, 1000 + nodes.len());
        for (place, node) in nodes.iter().enumerate() {
            for inner in &nodes[place..node.escape as usize - 1000] {
                for i in 0..3 {
                    assert!(node.min[i] <= inner.min[i] + 1e-3 && node.max[i] >= inner.max[i] - 1e-3);
                }
            }
        }
        let in_leaves: u32 = nodes.iter().map(|n| n.leaf & 7).sum();
        assert_eq!(in_leaves, 100);
    }
}
