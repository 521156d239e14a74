//! All changes to the ground, kept permanently: which posts of the finest level have new heights, and those heights. It
//! has value semantics: a copy shares all tiles and costs no more than their list; a tile is copied when it is written.
//!
//! A tile near a wheel is open, with the heights of all its posts available. Other tiles are packed: one bit per post,
//! and six bytes per changed post, four for its height and two for its wheel print. The choice affects only time and
//! memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::surface::node_set::NodeSet;
use crate::surface::print::Print;
use crate::surface::tile::{Edit, TILE_AREA, TileIndex, TileRect};

/// All changed posts, by tile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ruts {
    tiles: BTreeMap<TileIndex, RutTile>,
}

#[derive(Clone, Debug)]
enum RutTile {
    Open(Arc<OpenTile>),
    Packed(Arc<PackedTile>),
}

/// A tile with the heights of all its posts, m, row by row; undisturbed heights where nothing changed.
#[derive(Clone, Debug)]
pub(crate) struct OpenTile {
    pub(crate) heights_m: [f32; TILE_AREA],
    /// The wheel print of each post.
    prints: [Print; TILE_AREA],
    /// The changed nodes.
    marks: NodeSet,
}

/// The changed nodes of a tile with their heights, m, and prints, in order of the nodes.
#[derive(Clone, Debug, Default, PartialEq)]
struct PackedTile {
    marks: Box<NodeSet>,
    heights_m: Vec<f32>,
    prints: Vec<Print>,
}

impl Ruts {
    /// Every changed post with its height, in order of tile and node: what a late joiner needs.
    pub fn edits(&self) -> impl Iterator<Item = Edit> + '_ {
        self.tiles.iter().flat_map(|(&tile, ruts)| {
            ruts.posts().map(move |(node, height_m, print)| Edit::new(tile, node, height_m).with_print(print))
        })
    }

    /// Number of changed posts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tiles.values().map(|tile| tile.marks().count()).sum()
    }

    /// Whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// Sets posts to new heights, in any order; ignores edits without a valid node or a finite height.
    pub fn apply(&mut self, edits: &[Edit]) {
        for some in edits.chunk_by(|a, b| a.tile == b.tile) {
            let sound = some.iter().filter(|edit| edit.is_sound());
            let sound = sound.map(|edit| (usize::from(edit.node), edit.height_m, edit.print));
            self.write(some[0].tile_index(), sound);
        }
    }

    /// The changed nodes of a tile with their heights, m, in order of the nodes.
    pub fn of_tile(&self, tile: TileIndex) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.tiles.get(&tile).into_iter().flat_map(RutTile::posts).map(|(node, height_m, _)| (node, height_m))
    }

    /// The nodes of a tile that have wheel prints, in order.
    pub(crate) fn prints_of_tile(&self, tile: TileIndex) -> impl Iterator<Item = (usize, Print)> + '_ {
        let posts = self.tiles.get(&tile).into_iter().flat_map(RutTile::posts);
        posts.filter_map(|(node, _, print)| (print != Print::NONE).then_some((node, print)))
    }

    /// The changed tiles of a rectangle, in order.
    pub(crate) fn tiles_within(&self, rect: &TileRect) -> Vec<TileIndex> {
        rect.tiles_in(&self.tiles)
    }

    /// Memory of the tiles, bytes, without the list of tiles.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = |tile: &RutTile| match tile {
            RutTile::Open(_) => size_of::<OpenTile>(),
            RutTile::Packed(packed) => {
                size_of::<NodeSet>() + size_of_val(&packed.heights_m[..]) + size_of_val(&packed.prints[..])
            }
        };
        self.tiles.values().map(bytes).sum()
    }

    fn write(&mut self, tile: TileIndex, news: impl Iterator<Item = (usize, f32, Print)>) {
        let mut news = news.peekable();
        if news.peek().is_none() {
            return;
        }
        let kept = self.tiles.entry(tile).or_insert_with(|| RutTile::Packed(Arc::default()));
        match kept {
            RutTile::Open(open) => {
                let open = Arc::make_mut(open);
                news.for_each(|(node, height_m, print)| open.set(node, height_m, print));
            }
            RutTile::Packed(packed) => {
                let packed = Arc::make_mut(packed);
                news.for_each(|(node, height_m, print)| packed.set(node, height_m, print));
            }
        }
    }

    /// Hands out a tile, open; none where nothing was changed. `undisturbed` fills in a tile's heights before all
    /// changes.
    pub(crate) fn lend(
        &mut self,
        tile: TileIndex,
        undisturbed: impl Fn(&mut [f32; TILE_AREA]),
    ) -> Option<Arc<OpenTile>> {
        Some(match self.tiles.remove(&tile)? {
            RutTile::Open(open) => open,
            RutTile::Packed(packed) => {
                let mut open = Arc::new(OpenTile::undisturbed([f32::NAN; TILE_AREA]));
                let tile = Arc::make_mut(&mut open);
                undisturbed(&mut tile.heights_m);
                packed.posts().for_each(|(node, height_m, print)| tile.set(node, height_m, print));
                open
            }
        })
    }

    /// Takes a tile back from `lend`.
    pub(crate) fn give_back(&mut self, tile: TileIndex, open: Arc<OpenTile>) {
        self.tiles.insert(tile, RutTile::Open(open));
    }

    /// Packs a tile that is not needed soon.
    pub fn pack(&mut self, tile: TileIndex) {
        if let Some(kept) = self.tiles.get_mut(&tile)
            && let RutTile::Open(open) = kept
        {
            *kept = RutTile::Packed(Arc::new(open.packed()));
        }
    }
}

/// Ruts are equal when they have the same posts with the same heights and prints, bit for bit.
impl PartialEq for Ruts {
    fn eq(&self, other: &Self) -> bool {
        // Without `..`, here and below, so that a new field is neither left out of comparisons nor of saved states.
        let bits = |Edit { tile, node, print, height_m }: Edit| (tile, node, print, height_m.to_bits());
        self.edits().map(bits).eq(other.edits().map(bits))
    }
}

impl RutTile {
    fn marks(&self) -> &NodeSet {
        match self {
            Self::Open(open) => &open.marks,
            Self::Packed(packed) => &packed.marks,
        }
    }

    /// The changed nodes with their heights, m, and prints.
    fn posts(&self) -> impl Iterator<Item = (usize, f32, Print)> + '_ {
        self.marks().nodes().enumerate().map(move |(at, node)| match self {
            Self::Open(open) => {
                let OpenTile { heights_m, prints, marks: _ } = &**open;
                (node, heights_m[node], prints[node])
            }
            Self::Packed(packed) => {
                let PackedTile { heights_m, prints, marks: _ } = &**packed;
                (node, heights_m[at], prints[at])
            }
        })
    }
}

impl OpenTile {
    /// A tile without changes.
    pub(crate) fn undisturbed(heights_m: [f32; TILE_AREA]) -> Self {
        Self { heights_m, prints: [Print::NONE; TILE_AREA], marks: NodeSet::default() }
    }

    pub(crate) fn print(&self, node: usize) -> Print {
        self.prints[node]
    }

    pub(crate) fn set(&mut self, node: usize, height_m: f32, print: Print) {
        self.marks.mark(node);
        self.heights_m[node] = height_m;
        self.prints[node] = print;
    }

    fn packed(&self) -> PackedTile {
        // Thousands of packed tiles are kept, so their vectors have no spare capacity.
        let count = self.marks.count();
        let (mut heights_m, mut prints) = (Vec::with_capacity(count), Vec::with_capacity(count));
        heights_m.extend(self.marks.nodes().map(|node| self.heights_m[node]));
        prints.extend(self.marks.nodes().map(|node| self.prints[node]));
        PackedTile { marks: Box::new(self.marks), heights_m, prints }
    }
}

impl PackedTile {
    fn posts(&self) -> impl Iterator<Item = (usize, f32, Print)> + '_ {
        let posts = self.marks.nodes().zip(&self.heights_m).zip(&self.prints);
        posts.map(|((node, &height_m), &print)| (node, height_m, print))
    }

    fn set(&mut self, node: usize, height_m: f32, print: Print) {
        let at = self.marks.rank(node);
        if self.marks.has(node) {
            (self.heights_m[at], self.prints[at]) = (height_m, print);
        } else {
            self.marks.mark(node);
            self.heights_m.insert(at, height_m);
            self.prints.insert(at, print);
        }
    }
}

/// A tile in a file: its marks, and the changed heights as byte planes (the first bytes of all heights, then the second
/// ones, and so on), so that similar bytes are adjacent and compress well. Prints are stored as two planes likewise.
#[derive(Serialize, Deserialize)]
struct StoredTile {
    #[serde(with = "serde_bytes")]
    marks: Vec<u8>,
    #[serde(with = "serde_bytes")]
    planes: Vec<u8>,
    #[serde(with = "serde_bytes")]
    prints: Vec<u8>,
}

impl Serialize for RutTile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let heights: Vec<u32> = self.posts().map(|(_, height_m, _)| height_m.to_bits()).collect();
        let prints = [8, 0].into_iter().flat_map(|shift| self.posts().map(move |post| (post.2.bits() >> shift) as u8));
        let (marks, prints) = (self.marks().to_bytes(), prints.collect());
        StoredTile { marks, planes: planes::of(&heights), prints }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RutTile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let StoredTile { marks, planes, prints } = StoredTile::deserialize(deserializer)?;
        let refuse = |what: &str| serde::de::Error::custom(format!("ruts of a tile: {what}"));
        let marks = NodeSet::from_bytes(&marks).ok_or_else(|| refuse("marks must have 512 bytes"))?;
        let heights = planes::read(&planes, marks.count());
        let heights = heights.ok_or_else(|| refuse("as many heights as marks are needed"))?;
        let heights_m: Vec<f32> = heights.into_iter().map(f32::from_bits).collect();
        let prints = prints_of(&prints, heights_m.len());
        let prints = prints.ok_or_else(|| refuse("as many prints as marks are needed"))?;
        match heights_m.iter().find(|height_m| !height_m.is_finite()) {
            Some(height_m) => Err(refuse(&format!("height {height_m} is not allowed: must be finite"))),
            None => Ok(Self::Packed(Arc::new(PackedTile { marks: Box::new(marks), heights_m, prints }))),
        }
    }
}

/// The prints from two byte planes; none when there are not `count`.
fn prints_of(planes: &[u8], count: usize) -> Option<Vec<Print>> {
    let (high, low) = planes.split_at_checked(count).filter(|(high, low)| high.len() == low.len())?;
    Some(high.iter().zip(low).map(|(&high, &low)| Print::from_bits(u16::from_be_bytes([high, low]))).collect())
}

/// Converts 32-bit numbers to four byte planes and back, the highest byte first.
pub mod planes {
    /// The planes of a sequence of numbers, each XOR its predecessor, so that slowly changing numbers have zero high
    /// bytes.
    #[must_use]
    pub fn of(numbers: &[u32]) -> Vec<u8> {
        let steps: Vec<u32> =
            numbers.iter().scan(0, |last, &number| Some(number ^ std::mem::replace(last, number))).collect();
        [24, 16, 8, 0].into_iter().flat_map(|shift| steps.iter().map(move |step| (step >> shift) as u8)).collect()
    }

    /// The numbers from four planes; none when there are not `count`.
    #[must_use]
    pub fn read(planes: &[u8], count: usize) -> Option<Vec<u32>> {
        if planes.len() != count.checked_mul(4)? {
            return None;
        }
        let step = |i: usize| (0..4).fold(0_u32, |step, plane| step << 8 | u32::from(planes[plane * count + i]));
        let numbers = (0..count).scan(0, |last, i| {
            *last ^= step(i);
            Some(*last)
        });
        Some(numbers.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Ruts, planes, prints_of};
    use crate::surface::print::Print;
    use crate::surface::tile::{Edit, TileIndex};

    const TILE: TileIndex = TileIndex { row: -3, column: 7 };

    fn edit(node: u16, height_m: f32) -> Edit {
        Edit { tile: [7, -3], node, print: Print::NONE, height_m }
    }

    #[test]
    fn what_is_written_to_a_copy_is_not_in_the_original() {
        let mut ruts = Ruts::default();
        ruts.apply(&[edit(4095, 1.0), edit(0, 2.0), edit(64, 3.0)]);
        let mut copy = ruts.clone();
        copy.apply(&[edit(64, 4.0), edit(5, 5.0)]);
        let reported = |ruts: &Ruts| ruts.edits().map(|edit| (edit.node, edit.height_m)).collect::<Vec<_>>();
        assert_eq!(reported(&ruts), [(0, 2.0), (64, 3.0), (4095, 1.0)]);
        assert_eq!(reported(&copy), [(0, 2.0), (5, 5.0), (64, 4.0), (4095, 1.0)]);
        assert_eq!((ruts.count(), copy.count()), (3, 4));
        assert!(ruts != copy);
    }

    #[test]
    fn a_tile_is_the_same_open_and_packed() {
        let mut ruts = Ruts::default();
        ruts.apply(&[edit(64, 3.0), edit(7, -1.0)]);
        let mut open = ruts.clone();
        let tile = open.lend(TILE, |heights_m| heights_m.fill(0.5)).expect("driven");
        assert_eq!([tile.heights_m[64], tile.heights_m[8]], [3.0, 0.5]);
        assert!(open.is_empty());
        open.give_back(TILE, tile);
        assert!(open == ruts);
        open.apply(&[edit(9, 9.0)]);
        open.pack(TILE);
        ruts.apply(&[edit(9, 9.0)]);
        assert!(open == ruts && open.bytes() == ruts.bytes());
    }

    #[test]
    fn prints_stay_with_their_posts_packed_and_open_and_go_with_what_moves_the_soil() {
        let print = |number: u16| Print::from_bits(0x8000 | number);
        let mut ruts = Ruts::default();
        ruts.apply(&[edit(64, 3.0).with_print(print(3)), edit(7, -1.0).with_print(print(258)), edit(9, 0.0)]);
        let reported = |ruts: &Ruts| ruts.edits().map(|edit| (edit.node, edit.print)).collect::<Vec<_>>();
        let expected = [(7, print(258)), (9, Print::NONE), (64, print(3))];
        assert_eq!(reported(&ruts), expected);
        let mut open = ruts.clone();
        let tile = open.lend(TILE, |heights_m| heights_m.fill(0.5)).expect("driven");
        open.give_back(TILE, tile);
        assert_eq!(reported(&open), expected);
        let of_tile: Vec<_> = open.prints_of_tile(TILE).collect();
        assert_eq!(of_tile, [(7, print(258)), (64, print(3))]);
        open.apply(&[edit(7, -1.0)]);
        assert!(open != ruts && reported(&open)[0] == (7, Print::NONE));
        assert_eq!(prints_of(&[0x81, 0x00, 0x02, 0x07], 2), Some(vec![print(258), Print::NONE]));
        assert!(prints_of(&[0x80; 3], 2).is_none() && prints_of(&[0x80; 2], 3).is_none());
    }

    #[test]
    fn what_names_no_node_or_no_height_is_left_out() {
        let mut ruts = Ruts::default();
        ruts.apply(&[edit(4096, 1.0), edit(0, f32::NAN), edit(1, f32::INFINITY)]);
        assert_eq!(ruts.count(), 0);
    }

    #[test]
    fn planes_come_back_bit_for_bit_and_only_whole() {
        let numbers = [0, 1, u32::MAX, 0x3f80_0000, 7];
        let bytes = planes::of(&numbers);
        assert_eq!(planes::read(&bytes, 5).as_deref(), Some(&numbers[..]));
        assert_eq!(planes::read(&bytes, 4), None);
        assert_eq!(planes::read(&bytes[1..], 5), None);
    }
}
