//! Numbering of the posts of the finest level: post (column, row) is at (column, row) · spacing from the map's origin,
//! and square tiles of 64 × 64 posts cover the whole plane from there, so that a post has the same number from
//! everywhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::surface::print::Print;

/// Nodes along a side of a tile.
pub const TILE_NODES: usize = 64;
/// Number of nodes of a tile.
pub(crate) const TILE_AREA: usize = TILE_NODES * TILE_NODES;

/// A node: a post of the finest level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Column (x).
    pub column: i32,
    /// Row (y).
    pub row: i32,
}

/// Index of a tile. Tiles are ordered by rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TileIndex {
    /// Row (y): its nodes start at row 64 · `row`.
    pub row: i16,
    /// Column (x).
    pub column: i16,
}

/// A new height of one node, and the print that comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The node's tile: column and row.
    pub tile: [i16; 2],
    /// Node within the tile: row · 64 + column.
    pub node: u16,
    /// Print of the wheel that pressed the node to this height; `Print::NONE` for any other change.
    pub print: Print,
    /// New height of the node, m.
    pub height_m: f32,
}

/// A rectangle of tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileRect {
    /// The tile with the least column and row.
    pub first: TileIndex,
    /// Number of tiles along x.
    pub columns: usize,
    /// Number of tiles along y.
    pub rows: usize,
}

impl Node {
    /// The last node at or before a place, which is given in node spacings from node zero along x and y.
    #[inline]
    #[must_use]
    pub fn before([columns, rows]: [f64; 2]) -> Self {
        Self { column: floor(columns), row: floor(rows) }
    }

    /// The tile that contains the node; for a node beyond the numbered tiles, one at their border.
    #[inline]
    #[must_use]
    pub fn tile(self) -> TileIndex {
        let last = i32::from(i16::MAX);
        let tile = |post: i32| (post >> TILE_NODES.trailing_zeros()).clamp(-last - 1, last) as i16;
        TileIndex { row: tile(self.row), column: tile(self.column) }
    }

    /// The node's number within its tile: row · 64 + column.
    #[inline]
    #[must_use]
    pub fn within(self) -> usize {
        let within = |post: i32| (post as usize) & (TILE_NODES - 1);
        within(self.row) * TILE_NODES + within(self.column)
    }
}

impl TileIndex {
    /// The node with this number within the tile.
    #[must_use]
    pub fn node(self, within: usize) -> Node {
        let post = |tile: i16, within: usize| i32::from(tile) * TILE_NODES as i32 + within as i32;
        Node { column: post(self.column, within % TILE_NODES), row: post(self.row, within / TILE_NODES) }
    }
}

impl Edit {
    /// A new height of a node, m, without a wheel's print.
    #[must_use]
    pub fn of(node: Node, height_m: f32) -> Self {
        Self::new(node.tile(), node.within(), height_m)
    }

    /// The node that the edit changes.
    #[must_use]
    pub fn at(&self) -> Node {
        self.tile_index().node(usize::from(self.node))
    }

    /// The tile of the node.
    #[must_use]
    pub fn tile_index(&self) -> TileIndex {
        TileIndex { row: self.tile[1], column: self.tile[0] }
    }

    /// The new height, m, of node `within` (row · 64 + column) of a tile, without a wheel's print.
    #[must_use]
    pub fn new(tile: TileIndex, within: usize, height_m: f32) -> Self {
        Self { tile: [tile.column, tile.row], node: within as u16, print: Print::NONE, height_m }
    }

    /// The same edit with a wheel's print.
    #[must_use]
    pub fn with_print(self, print: Print) -> Self {
        Self { print, ..self }
    }

    /// Whether the node number is valid and the height is finite.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        usize::from(self.node) < TILE_AREA && self.height_m.is_finite()
    }
}

impl TileRect {
    /// The tiles that contain the nodes of a rectangle, its last column and row included.
    #[must_use]
    pub fn of_nodes(first: Node, last: Node) -> Self {
        let (first, last) = (first.tile(), last.tile());
        let count = |first: i16, last: i16| usize::try_from(i32::from(last) - i32::from(first) + 1).unwrap_or_default();
        Self { first, columns: count(first.column, last.column), rows: count(first.row, last.row) }
    }

    /// Index of a tile in a row-by-row table; none outside.
    #[inline]
    #[must_use]
    pub fn index(&self, tile: TileIndex) -> Option<usize> {
        let along = |tile: i16, first: i16, count: usize| {
            usize::try_from(i32::from(tile) - i32::from(first)).ok().filter(|&at| at < count)
        };
        let row = along(tile.row, self.first.row, self.rows)?;
        Some(row * self.columns + along(tile.column, self.first.column, self.columns)?)
    }

    /// The tiles of the rectangle, in order.
    pub fn tiles(&self) -> impl Iterator<Item = TileIndex> + use<> {
        let Self { first, columns, rows } = *self;
        (0..rows * columns).map(move |at| TileIndex {
            row: first.row + (at / columns) as i16,
            column: first.column + (at % columns) as i16,
        })
    }

    /// The tiles of the rectangle that are keys of a map, in order.
    #[must_use]
    pub fn tiles_in<T>(&self, map: &BTreeMap<TileIndex, T>) -> Vec<TileIndex> {
        let Self { first, columns, rows } = *self;
        let of_row = |row: usize| {
            let first = TileIndex { row: first.row + row as i16, ..first };
            let last = TileIndex { column: (i32::from(first.column) + columns as i32 - 1) as i16, ..first };
            map.range(first..=last).map(|(&tile, _)| tile)
        };
        (0..rows).flat_map(of_row).collect()
    }

    /// Number of tiles.
    #[must_use]
    pub fn area(&self) -> usize {
        self.columns * self.rows
    }

    /// Whether two rectangles share a tile.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let along = |a: i16, a_count: usize, b: i16, b_count: usize| {
            let (a, b) = (i64::from(a), i64::from(b));
            a < b + b_count as i64 && b < a + a_count as i64
        };
        along(self.first.column, self.columns, other.first.column, other.columns)
            && along(self.first.row, self.rows, other.first.row, other.rows)
    }

    /// Whether it contains all tiles of another rectangle.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        let along = |a: i16, a_count: usize, b: i16, b_count: usize| {
            let (a, b) = (i64::from(a), i64::from(b));
            a <= b && b + b_count as i64 <= a + a_count as i64
        };
        along(self.first.column, self.columns, other.first.column, other.columns)
            && along(self.first.row, self.rows, other.first.row, other.rows)
    }

    /// The smallest rectangle that contains both.
    #[must_use]
    pub fn around(&self, other: &Self) -> Self {
        let end = |first: i16, count: usize| i32::from(first) + count as i32;
        let first =
            TileIndex { row: self.first.row.min(other.first.row), column: self.first.column.min(other.first.column) };
        let columns = end(self.first.column, self.columns).max(end(other.first.column, other.columns));
        let rows = end(self.first.row, self.rows).max(end(other.first.row, other.rows));
        Self {
            first,
            columns: (columns - i32::from(first.column)) as usize,
            rows: (rows - i32::from(first.row)) as usize,
        }
    }
}

/// `value.floor() as i32`, without the call into the C library that `floor` is where the processor may lack SSE 4.1.
#[inline]
fn floor(value: f64) -> i32 {
    let toward_zero = value as i32;
    if f64::from(toward_zero) > value { toward_zero.saturating_sub(1) } else { toward_zero }
}

#[cfg(test)]
mod tests {
    use super::{Node, TILE_NODES, TileIndex, TileRect};

    #[test]
    fn the_floor_of_a_number_is_that_of_the_standard_library() {
        let tiny = f64::MIN_POSITIVE;
        let beyond = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, -0.0, tiny, -tiny];
        let near = (-40..40).map(|quarter| f64::from(quarter) * 0.25);
        let ends = [i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX].map(f64::from);
        let around = |value: f64| [value, value.next_up(), value.next_down(), value + 0.5, value - 0.5];
        for value in near.chain(ends).flat_map(around).chain(beyond) {
            assert_eq!(super::floor(value), value.floor() as i32, "{value}");
        }
    }

    #[test]
    fn a_node_is_found_again_in_its_tile_on_both_sides_of_the_origin() {
        for (column, row) in [(0, 0), (63, 64), (-1, -64), (-65, 127), (1000, -1000)] {
            let node = Node { column, row };
            assert_eq!(node.tile().node(node.within()), node);
            assert!(node.within() < TILE_NODES * TILE_NODES);
        }
        assert_eq!(Node { column: -1, row: 64 }.tile(), TileIndex { column: -1, row: 1 });
    }

    #[test]
    fn rectangles_of_tiles_hold_meet_and_join() {
        let rect = |column, row, columns, rows| TileRect { first: TileIndex { column, row }, columns, rows };
        let [a, b] = [rect(-1, 2, 3, 2), rect(1, 3, 4, 1)];
        assert!(a.meets(&b) && !a.meets(&rect(2, 3, 4, 1)) && !a.meets(&rect(0, 4, 1, 1)));
        assert_eq!(a.around(&b), rect(-1, 2, 6, 2));
        assert!(a.around(&b).holds(&a) && a.around(&b).holds(&b) && !a.holds(&b));
        assert!(a.tiles().enumerate().all(|(at, tile)| a.index(tile) == Some(at)) && a.tiles().count() == 6);
        assert_eq!(a.index(TileIndex { column: 2, row: 2 }), None);
        let of_nodes = TileRect::of_nodes(Node { column: -64, row: 0 }, Node { column: 64, row: 63 });
        assert_eq!(of_nodes, rect(-1, 0, 3, 1));
    }
}
