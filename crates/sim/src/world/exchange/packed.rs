//! A part as it goes to other processes. Numbers of nodes are columns: for each tile the steps from node to node, then
//! memory and heights (`numbers`), and prints. Nearly all edits are of nodes whose memory was written too: they take its
//! address, and the height that follows from it.

use selene_soil::{DustParcel, KnownNode, NodeMemory, WrittenMemory};
use selene_terrain::{Edit, Print, TileIndex};
use selene_vehicle::contact::{ContactMemory, LooseRockState};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::numbers::{PackedNumbers, of_steps, signed, steps, unsigned};
use super::{NodeAddress, Part, RoverPart, address};

#[derive(Serialize)]
struct PackedPartRef<'a> {
    sequence: u64,
    rovers: &'a [RoverPart],
    rocks: &'a [(u32, LooseRockState)],
    contacts: &'a ContactMemory,
    nodes: PackedMemory,
    edits: PackedEdits,
    crumbs_m3: &'a [(TileIndex, f64)],
    dust: &'a [DustParcel],
}

#[derive(Deserialize)]
struct PackedPart {
    sequence: u64,
    rovers: Vec<RoverPart>,
    rocks: Vec<(u32, LooseRockState)>,
    contacts: ContactMemory,
    nodes: PackedMemory,
    edits: PackedEdits,
    crumbs_m3: Vec<(TileIndex, f64)>,
    dust: Vec<DustParcel>,
}

/// Nodes in their order: tiles with how many nodes follow, and the step from each node of a tile to the next.
#[derive(Serialize, Deserialize)]
struct PackedAddresses {
    tiles: Vec<(TileIndex, u32)>,
    steps: Vec<i16>,
}

/// Edits in order, one of a node.
#[derive(Serialize, Deserialize)]
struct PackedEdits {
    /// For each node with memory, which edit it has: [`NO_EDIT`], [`EDIT_AS_MEMORY`] or [`EDIT_APART`].
    #[serde(with = "serde_bytes")]
    edit_of_node: Vec<u8>,
    /// Nodes with an edit and without memory.
    alone: PackedAddresses,
    /// Steps between the bits of the heights of all edits but those as memory.
    heights_m: PackedNumbers,
    /// High bytes of the prints, then their low bytes.
    #[serde(with = "serde_bytes")]
    prints: Vec<u8>,
}

/// The node has memory and no edit.
const NO_EDIT: u8 = 0;
/// The node's edit has the height of its memory.
const EDIT_AS_MEMORY: u8 = 1;
/// The node's edit has another height than its memory.
const EDIT_APART: u8 = 2;

#[derive(Serialize, Deserialize)]
struct PackedMemory {
    at: PackedAddresses,
    /// Steps between the bits of the initial heights, steps between those of the sinkages, then the mobilised shares along
    /// x and along y.
    columns: PackedNumbers,
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
            nodes: PackedMemory::of(nodes),
            edits: PackedEdits::of(edits, nodes),
            crumbs_m3,
            dust,
        };
        packed.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PackedPart { sequence, rovers, rocks, contacts, nodes, edits, crumbs_m3, dust } =
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

/// The height that follows from a node's memory, m.
fn height_m(node: &KnownNode) -> f32 {
    node.memory.initial_m - node.memory.plastic_m
}

impl PackedEdits {
    /// Edits and nodes are in order.
    fn of(edits: &[Edit], nodes: &[KnownNode]) -> Self {
        let (mut edit_of_node, mut alone, mut heights_m) = (vec![NO_EDIT; nodes.len()], Vec::new(), Vec::new());
        for edit in edits {
            let known = nodes.binary_search_by_key(&address(edit), |node| (node.tile, node.within)).ok();
            let is_as_memory = known.is_some_and(|i| height_m(&nodes[i]).to_bits() == edit.height_m.to_bits());
            match known {
                Some(i) => edit_of_node[i] = if is_as_memory { EDIT_AS_MEMORY } else { EDIT_APART },
                None => alone.push(address(edit)),
            }
            if !is_as_memory {
                heights_m.push(edit.height_m.to_bits());
            }
        }
        let [high, low] = [8, 0].map(|shift| edits.iter().map(move |edit| (edit.print.bits() >> shift) as u8));
        Self {
            edit_of_node,
            alone: PackedAddresses::of(alone.into_iter()),
            heights_m: PackedNumbers::of(steps(heights_m.into_iter())),
            prints: high.chain(low).collect(),
        }
    }

    fn unpacked(&self, nodes: &[KnownNode]) -> Option<Vec<Edit>> {
        let at = self.addresses(nodes)?;
        let sent = self.heights_m.unpacked()?;
        if sent.len() != at.iter().filter(|(_, height_m)| height_m.is_none()).count() {
            return None;
        }
        let mut sent_m = of_steps(sent.into_iter()).map(f32::from_bits);
        let (high, low) = self.prints.split_at_checked(at.len()).filter(|(high, low)| high.len() == low.len())?;
        let prints = high.iter().zip(low).map(|(&high, &low)| Print::from_bits(u16::from_be_bytes([high, low])));
        let edit = |(((tile, within), height_m), print): ((NodeAddress, Option<f32>), Print)| {
            let height_m = height_m.or_else(|| sent_m.next())?;
            Some(Edit::new(tile, usize::from(within), height_m).with_print(print))
        };
        at.into_iter().zip(prints).map(edit).collect()
    }

    /// The edits' nodes in order, and their heights as far as these follow from memory, m.
    fn addresses(&self, nodes: &[KnownNode]) -> Option<Vec<(NodeAddress, Option<f32>)>> {
        if self.edit_of_node.len() != nodes.len() || self.edit_of_node.iter().any(|edit| *edit > EDIT_APART) {
            return None;
        }
        let with_edit = nodes.iter().zip(&self.edit_of_node).filter(|(_, edit)| **edit != NO_EDIT);
        let of_node = |(node, edit): (&KnownNode, &u8)| {
            ((node.tile, node.within), (*edit == EDIT_AS_MEMORY).then(|| height_m(node)))
        };
        let alone = self.alone.unpacked()?.into_iter().map(|at| (at, None));
        let mut all: Vec<_> = with_edit.map(of_node).chain(alone).collect();
        all.sort_by_key(|(at, _)| *at);
        Some(all)
    }
}

impl PackedMemory {
    fn of(nodes: &[KnownNode]) -> Self {
        let memory = || nodes.iter().map(|node| node.memory);
        let heights =
            steps(memory().map(|of| of.initial_m.to_bits())).chain(steps(memory().map(|of| of.plastic_m.to_bits())));
        let along = |axis: usize| memory().map(move |of| unsigned(of.mobilised_units()[axis]));
        let at = PackedAddresses::of(nodes.iter().map(|node| (node.tile, node.within)));
        Self { at, columns: PackedNumbers::of(heights.chain(along(0)).chain(along(1))) }
    }

    fn unpacked(&self) -> Option<Vec<KnownNode>> {
        let (at, columns) = (self.at.unpacked()?, self.columns.unpacked()?);
        if columns.len() != at.len().checked_mul(4)? {
            return None;
        }
        let column = |i: usize| columns[i * at.len()..][..at.len()].iter().copied();
        let heights_m = of_steps(column(0)).zip(of_steps(column(1)));
        let mobilised = column(2).zip(column(3));
        let node = |(((tile, within), (initial, plastic)), (x, y))| {
            let memory = NodeMemory::new(f32::from_bits(initial), f32::from_bits(plastic), [x, y].map(signed));
            KnownNode { tile, within, memory }
        };
        Some(at.iter().copied().zip(heights_m).zip(mobilised).map(node).collect())
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
    fn edits_are_read_as_they_were_written_whether_memory_has_their_node_and_height_or_not() {
        let print = Print::of_grousers(0.3, 1.0, 0.05);
        let edits = [
            Edit::new(TILES[0], 5, 1.0 - 0.03).with_print(print),
            Edit::new(TILES[0], 6, 0.4),
            Edit::new(TILES[0], 4095, -0.9),
            Edit::new(TILES[1], 0, 0.2 - 0.01),
            Edit::new(TILES[1], 9, 0.3).with_print(print),
        ];
        let packed = PackedEdits::of(&edits, &nodes());
        assert_eq!(packed.edit_of_node, [1, 2, 1]);
        assert_eq!(packed.unpacked(&nodes()), Some(edits.to_vec()));
        assert_eq!(PackedEdits::of(&[], &nodes()).unpacked(&nodes()), Some(Vec::new()));
        assert_eq!(PackedEdits::of(&edits, &[]).unpacked(&[]), Some(edits.to_vec()));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let edits = [Edit::new(TILES[0], 5, 1.0 - 0.03), Edit::new(TILES[0], 6, 0.4)];
        let spoil: [fn(&mut PackedEdits); 6] = [
            |packed| packed.edit_of_node.truncate(1),
            |packed| packed.edit_of_node[1] = 3,
            |packed| packed.alone.steps.clear(),
            |packed| packed.alone.tiles[0].1 = 3,
            |packed| packed.heights_m.lengths.clear(),
            |packed| packed.prints.truncate(3),
        ];
        for spoil in spoil {
            let mut packed = PackedEdits::of(&edits, &nodes());
            spoil(&mut packed);
            assert_eq!(packed.unpacked(&nodes()), None);
        }
        assert_eq!(PackedEdits::of(&edits, &nodes()).unpacked(&[]), None, "the memory that has a height is missing");
        for kept in [0, 11, 13] {
            let mut packed = PackedMemory::of(&nodes());
            packed.columns.lengths.resize(kept, 0);
            assert_eq!(packed.unpacked(), None, "{kept} numbers");
        }
    }
}
