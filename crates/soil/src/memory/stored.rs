//! A tile of memory in a file: marks of touched nodes, then columns of numbers as byte planes
//! (`selene_terrain::planes`).

use std::sync::Arc;

use selene_terrain::{NodeSet, planes};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MemoryTile, PackedTile};

#[derive(Serialize, Deserialize)]
struct StoredTile {
    #[serde(with = "serde_bytes")]
    marks: Vec<u8>,
    /// Initial height of each touched node, m, as byte planes.
    #[serde(with = "serde_bytes")]
    initial_m: Vec<u8>,
    #[serde(with = "serde_bytes")]
    plastic_m: Vec<u8>,
    mobilised: Vec<(u16, [i32; 2])>,
    crumbs_m3: f64,
}

impl Serialize for MemoryTile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let packed = self.packed();
        // Without `..`, so that a new field is stored too.
        let PackedTile { marks, known, mobilised, crumbs_m3 } = &*packed;
        let column = |i: usize| planes::of(&known.iter().map(|known| known[i].to_bits()).collect::<Vec<_>>());
        let stored = StoredTile {
            marks: marks.to_bytes(),
            initial_m: column(0),
            plastic_m: column(1),
            mobilised: mobilised.clone(),
            crumbs_m3: *crumbs_m3,
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MemoryTile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredTile::deserialize(deserializer)?;
        packed(&stored)
            .map(|tile| Self::Packed(Arc::new(tile)))
            .map_err(|what| serde::de::Error::custom(format!("the soil's memory of a tile: {what}")))
    }
}

fn packed(stored: &StoredTile) -> Result<PackedTile, String> {
    let marks = NodeSet::from_bytes(&stored.marks).ok_or("marks must have 512 bytes")?;
    let column = |bytes: &[u8]| planes::read(bytes, marks.count()).ok_or("as many numbers as marks are needed");
    let (initial, plastic) = (column(&stored.initial_m)?, column(&stored.plastic_m)?);
    let known: Vec<_> = initial.into_iter().zip(plastic).map(|(a, b)| [f32::from_bits(a), f32::from_bits(b)]).collect();
    if let Some(m) = known.iter().flatten().find(|m| !m.is_finite()) {
        return Err(format!("{m} m is not allowed: must be finite"));
    }
    if !stored.crumbs_m3.is_finite() {
        return Err(format!("crumbs of {} m³ are not allowed: must be finite", stored.crumbs_m3));
    }
    let mobilised = &stored.mobilised;
    let in_order = mobilised.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if !in_order || !mobilised.iter().all(|(within, _)| marks.has(usize::from(*within))) {
        return Err("mobilised strength must be that of touched nodes in order".to_owned());
    }
    Ok(PackedTile { marks: Box::new(marks), known, mobilised: mobilised.clone(), crumbs_m3: stored.crumbs_m3 })
}
