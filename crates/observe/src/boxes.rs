//! Bounding boxes of the instances visible in an image, in the image and in space.

use selene_scene::{CameraView, Scene, Visible};

use crate::values::{Box2d, Box3d};

/// The smallest boxes in the image around the visible pixels of each instance.
pub(crate) fn in_image(visible: &[Visible]) -> Vec<Box2d> {
    let of = |seen: &Visible| {
        let middle = |[first, last]: [u32; 2]| 0.5 * (f64::from(first) + f64::from(last));
        let size = |[first, last]: [u32; 2]| f64::from(last - first + 1);
        Box2d {
            class: seen.class,
            instance: seen.instance,
            centre_px: [middle(seen.columns), middle(seen.rows)],
            size_px: [size(seen.columns), size(seen.rows)],
        }
    };
    visible.iter().map(of).collect()
}

/// The boxes, along the meshes' own axes, of all meshes that are at least partly visible, in the optical frame at the
/// stamp.
pub(crate) fn in_space(visible: &[Visible], scene: &Scene, view: &CameraView) -> Vec<Box3d> {
    let optical_from_world = view.world_from_optical.inverse();
    let of = |seen: &Visible| {
        let solid = scene.solid(seen.instance)?;
        Some(Box3d {
            class: seen.class,
            instance: seen.instance,
            optical_from_centre: optical_from_world * solid.world_from_centre,
            size_m: solid.size_m.into(),
        })
    };
    visible.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::in_image;
    use selene_scene::Visible;

    #[test]
    fn a_box_of_one_pixel_is_one_pixel_wide_about_its_centre() {
        let seen = Visible { instance: 0xF000_1000, class: 3, columns: [7, 7], rows: [2, 5], pixels: 3 };
        let found = in_image(&[seen])[0];
        assert_eq!((found.centre_px, found.size_px), ([7.0, 3.5], [1.0, 4.0]));
        assert_eq!((found.instance, found.class), (0xF000_1000, 3));
    }
}
