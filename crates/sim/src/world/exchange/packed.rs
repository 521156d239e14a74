//! A part as it goes to other processes. Numbers of nodes are columns, so that compression finds equal high bytes: for
//! each tile the steps from node to node, then heights, prints and memory as byte planes (`selene_terrain::planes`). The
//! height of a pressed node follows from its memory in nearly all cases and is then left out.

use selene_soil::{DustParcel, KnownNode, NodeMemory, WrittenMemory};
use selene_terrain::{Edit, Print, TileIndex, planes};
use selene_vehicle::contact::{ContactMemory, LooseRockState};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{NodeAddress, Part, RoverPart};

#[derive(Serialize)]
struct PackedPartRef<'a> {
    sequence: u64,
    rovers: &'a [RoverPart],
    rocks: &'a [(u32, LooseRockState)],
    contacts: &'a ContactMemory,
    edits: PackedEdits,
    nodes: PackedMemory,
    crumbs_m3: &'a [(TileIndex, f64)],
    dust: &'a [DustParcel],
}

#[derive(Deserialize)]
struct PackedPart {
    sequence: u64,
    rovers: Vec<RoverPart>,
    rocks: Vec<(u32, LooseRockState)>,
    contacts: ContactMemory,
    edits: PackedEdits,
    nodes: PackedMemory,
    crumbs_m3: Vec<(TileIndex, f64)>,
    dust: Vec<DustParcel>,
}

/// Nodes in their order: tiles with how many nodes follow, and the step from each node of a tile to the next.
#[derive(Serialize, Deserialize)]
struct PackedAddresses {
    tiles: Vec<(TileIndex, u32)>,
    steps: Vec<i16>,
}

#[derive(Serialize, Deserialize)]
struct PackedEdits {
    at: PackedAddresses,
    /// For each edit, whether its height is not that of its node's memory: 0 or 1.
    #[serde(with = "serde_bytes")]
    has_height: Vec<u8>,
    /// Those heights.
    #[serde(with = "serde_bytes")]
    heights_m: Vec<u8>,
    /// High bytes of the prints, then their low bytes.
    #[serde(with = "serde_bytes")]
    prints: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct PackedMemory {
    at: PackedAddresses,
    /// The four columns of [`NodeMemory::bits`], one after the other.
    #[serde(with = "serde_bytes")]
    columns: Vec<u8>,
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Without `..`, so that a new field is sent too.
        let Self { sequence, rovers, rocks, contacts, edits, memory, dust } = self;
        let WrittenMemory { nodes, crumbs_m3 } = memory;
        let packed = PackedPartRef {
            sequence: *sequence,
            rovers,
            rocks,
            contacts,
            edits: PackedEdits::of(edits, nodes),
            nodes: PackedMemory::of(nodes),
            crumbs_m3,
            dust,
        };
        packed.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PackedPart { sequence, rovers, rocks, contacts, edits, nodes, crumbs_m3, dust } =
            PackedPart::deserialize(deserializer)?;
        let refuse = |what: &str| serde::de::Error::custom(format!("a part of a heartbeat: {what}"));
        let nodes = nodes.unpacked().ok_or_else(|| refuse("as many columns of memory as nodes are needed"))?;
        let edits = edits.unpacked(&nodes).ok_or_else(|| refuse("as many heights and prints as edits are needed"))?;
        Ok(Self { sequence, rovers, rocks, contacts, edits, memory: WrittenMemory { nodes, crumbs_m3 }, dust })
    }
}

impl PackedAddresses {
    fn of(nodes: impl Iterator<Item = NodeAddress>) -> Self {
        let mut packed = Self { tiles: Vec::new(), steps: Vec::new() };
        let mut last = 0_u16;
        for (tile, within) in nodes {
            match packed.tiles.last_mut().filter(|(known, _)| *known == tile) {
                Some((_, count)) => *count += 1,
                None => {
                    packed.tiles.push((tile, 1));
                    last = 0;
                }
            }
            packed.steps.push(within.wrapping_sub(last).cast_signed());
            last = within;
        }
        packed
    }

    fn unpacked(&self) -> Option<Vec<NodeAddress>> {
        let mut steps = self.steps.iter();
        let mut nodes = Vec::with_capacity(self.steps.len());
        for (tile, count) in &self.tiles {
            let mut within = 0_u16;
            for _ in 0..*count {
                within = within.wrapping_add(steps.next()?.cast_unsigned());
                nodes.push((*tile, within));
            }
        }
        steps.next().is_none().then_some(nodes)
    }
}

/// Height of a node by its memory, m, if `nodes` has it; they are in order.
fn height_m(nodes: &[KnownNode], at: NodeAddress) -> Option<f32> {
    let found = nodes.binary_search_by_key(&at, |node| (node.tile, node.within)).ok()?;
    Some(nodes[found].memory.initial_m - nodes[found].memory.plastic_m)
}

impl PackedEdits {
    fn of(edits: &[Edit], nodes: &[KnownNode]) -> Self {
        let address = |edit: &Edit| (edit.tile_index(), edit.node);
        let of_memory = |edit: &Edit| height_m(nodes, address(edit));
        let is_apart = |edit: &Edit| of_memory(edit).is_none_or(|known_m| known_m.to_bits() != edit.height_m.to_bits());
        let apart: Vec<_> = edits.iter().filter(|edit| is_apart(edit)).map(|edit| edit.height_m.to_bits()).collect();
        let [high, low] = [8, 0].map(|shift| edits.iter().map(move |edit| (edit.print.bits() >> shift) as u8));
        Self {
            at: PackedAddresses::of(edits.iter().map(address)),
            has_height: edits.iter().map(|edit| is_apart(edit).into()).collect(),
            heights_m: planes::of(&apart),
            prints: high.chain(low).collect(),
        }
    }

    fn unpacked(&self, nodes: &[KnownNode]) -> Option<Vec<Edit>> {
        let at = self.at.unpacked()?;
        let apart = planes::read(&self.heights_m, self.has_height.iter().filter(|has| **has != 0).count())?;
        let (high, low) = self.prints.split_at_checked(at.len()).filter(|(high, low)| high.len() == low.len())?;
        let (mut apart, is_complete) = (apart.into_iter(), self.has_height.len() == at.len());
        let edit = |(i, (tile, within)): (usize, NodeAddress)| {
            let of_memory = || height_m(nodes, (tile, within));
            let height_m = if self.has_height[i] == 0 { of_memory()? } else { f32::from_bits(apart.next()?) };
            let print = Print::from_bits(u16::from_be_bytes([high[i], low[i]]));
            Some(Edit::new(tile, usize::from(within), height_m).with_print(print))
        };
        is_complete.then(|| at.into_iter().enumerate().map(edit).collect()).flatten()
    }
}

impl PackedMemory {
    fn of(nodes: &[KnownNode]) -> Self {
        let column = |i: usize| planes::of(&nodes.iter().map(|node| node.memory.bits()[i]).collect::<Vec<_>>());
        let at = PackedAddresses::of(nodes.iter().map(|node| (node.tile, node.within)));
        Self { at, columns: (0..4).flat_map(column).collect() }
    }

    fn unpacked(&self) -> Option<Vec<KnownNode>> {
        let at = self.at.unpacked()?;
        let columns = self.columns.chunks(4 * at.len().max(1)).map(|planes| planes::read(planes, at.len()));
        let columns: Vec<Vec<u32>> = columns.collect::<Option<_>>()?;
        if at.is_empty() {
            return self.columns.is_empty().then(Vec::new);
        }
        let [initial, plastic, x, y] = &columns[..] else { return None };
        let node = |(i, (tile, within)): (usize, NodeAddress)| {
            let mobilised = [x[i], y[i]].map(u32::cast_signed);
            let memory = NodeMemory::new(f32::from_bits(initial[i]), f32::from_bits(plastic[i]), mobilised);
            KnownNode { tile, within, memory }
        };
        Some(at.into_iter().enumerate().map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, KnownNode, NodeMemory, PackedEdits, PackedMemory, Print, TileIndex};

    const TILES: [TileIndex; 2] = [TileIndex { row: 3, column: -2 }, TileIndex { row: 4, column: 9 }];

    fn known(tile: TileIndex, within: u16, initial_m: f32, plastic_m: f32) -> KnownNode {
        KnownNode { tile, within, memory: NodeMemory::new(initial_m, plastic_m, [i32::MIN, 77]) }
    }

    /// Nodes of two tiles, the highest of one before the lowest of the other.
    fn nodes() -> Vec<KnownNode> {
        vec![known(TILES[0], 5, 1.0, 0.03), known(TILES[0], 4095, -0.7, 0.0), known(TILES[1], 0, 0.2, 0.01)]
    }

    #[test]
    fn memory_is_read_as_it_was_written() {
        for nodes in [nodes(), Vec::new()] {
            assert_eq!(PackedMemory::of(&nodes).unpacked(), Some(nodes));
        }
    }

    #[test]
    fn edits_are_read_as_they_were_written_whether_memory_has_their_height_or_not() {
        let print = Print::of_grousers(0.3, 1.0, 0.05);
        let edits = [
            Edit::new(TILES[0], 5, 1.0 - 0.03).with_print(print),
            Edit::new(TILES[0], 6, 0.4),
            Edit::new(TILES[0], 4095, -0.9),
            // Of one node twice, and out of order.
            Edit::new(TILES[0], 5, 0.1),
            Edit::new(TILES[1], 0, 0.2 - 0.01),
        ];
        let packed = PackedEdits::of(&edits, &nodes());
        assert_eq!(packed.has_height, [0, 1, 1, 1, 0]);
        assert_eq!(packed.unpacked(&nodes()), Some(edits.to_vec()));
        assert_eq!(PackedEdits::of(&[], &nodes()).unpacked(&nodes()), Some(Vec::new()));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let edits = [Edit::new(TILES[0], 5, 1.0 - 0.03), Edit::new(TILES[0], 6, 0.4)];
        let spoil: [fn(&mut PackedEdits); 5] = [
            |packed| packed.at.steps.truncate(1),
            |packed| packed.at.tiles[0].1 = 3,
            |packed| packed.has_height.truncate(1),
            |packed| packed.heights_m.truncate(3),
            |packed| packed.prints.truncate(3),
        ];
        for spoil in spoil {
            let mut packed = PackedEdits::of(&edits, &nodes());
            spoil(&mut packed);
            assert_eq!(packed.unpacked(&nodes()), None);
        }
        assert_eq!(PackedEdits::of(&edits, &nodes()).unpacked(&[]), None, "the memory that has a height is missing");
        for kept in [0, 47, 64] {
            let mut packed = PackedMemory::of(&nodes());
            packed.columns.resize(kept, 0);
            assert_eq!(packed.unpacked(), None, "{kept} bytes");
        }
    }
}
