//! Finds the ranges of the heights array that changed, for a device to copy: the posts of the changed tiles, their
//! prints and the mip cells above them.

use std::ops::Range;

use selene_terrain::TILE_NODES;

use crate::pyramid::{Pyramid, mip_first, mip_side};
use crate::record::LevelRecord;

/// Ranges closer than this many unchanged heights are joined into one copy; about a row of the usual site.
const RANGE_GAP: usize = 4096;

/// Sorted ranges that hold every height changed after `version`; neighbouring ranges are joined.
pub(crate) fn height_ranges(pyramid: &Pyramid, version: u64) -> Vec<Range<usize>> {
    let Some(level) = pyramid.levels.first() else { return Vec::new() };
    let of_tile = |tile| tile_ranges(level, tile).into_iter().chain(pyramid.print_ranges(level, tile));
    let mut ranges: Vec<_> = pyramid.tiles_changed_after(version).flat_map(of_tile).collect();
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    join_close(&ranges)
}

/// Joins sorted ranges that overlap or lie within `RANGE_GAP` of each other.
fn join_close(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end + RANGE_GAP => last.end = last.end.max(range.end),
            _ => joined.push(range.clone()),
        }
    }
    joined
}

/// Index ranges of a tile's posts and of the mip cells above them, row by row.
fn tile_ranges(level: &LevelRecord, tile: [usize; 2]) -> Vec<Range<usize>> {
    let posts = level.cells as usize + 1;
    let grid = |first: usize, stride: usize, low: [usize; 2], high: [usize; 2]| {
        let columns = low[0]..high[0].min(stride);
        (low[1]..high[1].min(stride)).map(move |y| first + y * stride + columns.start..first + y * stride + columns.end)
    };
    let start = tile.map(|t| t * TILE_NODES);
    let mut ranges: Vec<_> = grid(level.heights as usize, posts, start, start.map(|s| s + TILE_NODES)).collect();
    for mip in 1..=level.top_mip {
        let low = start.map(|s| s.saturating_sub(1) >> mip);
        let high = start.map(|s| ((s + TILE_NODES - 1) >> mip) + 1);
        ranges.extend(grid(mip_first(level, mip), mip_side(level.cells, mip), low, high));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::height_ranges;
    use crate::pyramid::Pyramid;
    use selene_terrain::{Clipmap, Edit, Node, Print};

    #[test]
    fn copying_the_ranges_gives_the_changed_heights() {
        let mut clipmap = Clipmap::flat(0.02, 6.0);
        let mut pyramid = Pyramid::new(&clipmap);
        let mut copy = pyramid.heights.to_vec();
        for (column, row) in [(0, 0), (63, 64), (128, 127), (300, 300), (191, 5)] {
            let seen = pyramid.version();
            pyramid.apply(&clipmap.apply(&[Edit::of(Node { column, row }, 0.5).with_print(Print::SMOOTH)]));
            for range in height_ranges(&pyramid, seen) {
                copy[range.clone()].copy_from_slice(&pyramid.heights[range]);
            }
            assert!(copy == *pyramid.heights, "after the edit at {column}, {row}");
        }
        assert!(height_ranges(&pyramid, pyramid.version()).is_empty());
    }
}
