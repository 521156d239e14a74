//! Bounding boxes of the instances in an image: in pixels, the smallest rectangle around an instance's visible pixels;
//! in the world, the box of its mesh along the mesh's own axes.

use std::collections::BTreeMap;

use selene_base::Pose;

use crate::view::CameraFrame;

/// An instance that an image shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visible {
    /// The instance's number, see `Label`.
    pub instance: u32,
    /// Its `Class` code.
    pub class: u16,
    /// First and last column that show the instance.
    pub columns: [u32; 2],
    /// First and last row that show the instance.
    pub rows: [u32; 2],
    /// Number of pixels that show the instance.
    pub pixels: u32,
}

/// An instance's box in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// Pose of the box's centre and axes in the map frame.
    pub world_from_centre: Pose,
    /// Edge lengths along the box's axes, m.
    pub size_m: [f64; 3],
}

/// The instances that an image shows, sorted by number. Sky and ground are left out.
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
