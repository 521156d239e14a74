//! Boxes around what an image shows: in the image the smallest that holds an instance's
//! visible pixels, in the world the box of its mesh along the mesh's own axes.

use std::collections::BTreeMap;

use selene_base::Pose;

use crate::view::CameraFrame;

/// An instance as an image shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visible {
    /// Its number.
    pub instance: u32,
    /// Its `Class` code.
    pub class: u16,
    /// The first and the last column with a pixel of it.
    pub columns: [u32; 2],
    /// The first and the last row.
    pub rows: [u32; 2],
    /// How many pixels show it.
    pub pixels: u32,
}

/// An instance's box in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// Where the box's centre is and how its axes lie, map frame.
    pub world_from_centre: Pose,
    /// Its edges along these axes, m.
    pub size_m: [f64; 3],
}

/// The instances that an image shows, by number. Sky and ground are none.
#[must_use]
pub fn visible(frame: &CameraFrame) -> Vec<Visible> {
    let columns = frame.width.max(1) as usize;
    let mut seen: BTreeMap<u32, Visible> = BTreeMap::new();
    for (i, &instance) in frame.instance.iter().enumerate().filter(|(_, instance)| **instance != 0) {
        let [column, row] = [i % columns, i / columns].map(|c| c as u32);
        let first = Visible { instance, class: frame.class[i], columns: [column; 2], rows: [row; 2], pixels: 0 };
        let all = seen.entry(instance).or_insert(first);
        all.columns = [all.columns[0].min(column), all.columns[1].max(column)];
        all.rows[1] = row;
        all.pixels += 1;
    }
    seen.into_values().collect()
}
