//! `contact_sheet.png`: camera images over the run, then one each of depth, segmentation and lidar, with captions.

use std::path::Path;

use image::RgbImage;

use super::PictureError;
use super::canvas::{Align, Canvas};
use super::colour;
use super::tile::{LidarRevolution, Still};

const COLUMNS: u32 = 4;
/// Width and height of a tile.
pub const TILE_PX: [u32; 2] = [480, 270];
const GAP_PX: u32 = 10;
const CAPTION_PX: u32 = 28;
const TITLE_PX: u32 = 52;
/// Distance between two tiles, to the right and down.
const STEP_PX: [u32; 2] = [TILE_PX[0] + GAP_PX, TILE_PX[1] + CAPTION_PX + GAP_PX];

/// An image of the sheet and its caption.
pub struct Tile {
    caption: String,
    image: RgbImage,
}

impl Tile {
    /// A tile with an image of a camera topic.
    pub fn still(source: &str, still: &Still) -> Self {
        let [width, height] = TILE_PX;
        Self { caption: format!("{source} · {:.1} s", still.stamp.secs_f64()), image: still.tile(width, height) }
    }

    /// A tile with a revolution of a lidar topic.
    pub fn sweep(source: &str, sweep: &LidarRevolution) -> Self {
        let [width, height] = TILE_PX;
        let points = sweep.points_m.len();
        Self {
            caption: format!("{source} · {:.1} s · {points} points from above", sweep.stamp.secs_f64()),
            image: sweep.tile(width, height),
        }
    }
}

/// Number of tiles on a full sheet of three rows.
pub const TILES: usize = 3 * COLUMNS as usize;

/// Position of the top left corner of a tile on the sheet, pixels; tiles are numbered row by row, from 0.
pub fn corner_px(index: u32) -> [u32; 2] {
    [GAP_PX + (index % COLUMNS) * STEP_PX[0], TITLE_PX + (index / COLUMNS) * STEP_PX[1]]
}

/// Draws the sheet to `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn save(title: &str, tiles: &[Tile], path: &Path) -> Result<(), PictureError> {
    let rows = (tiles.len() as u32).div_ceil(COLUMNS).max(1);
    let columns = (tiles.len() as u32).clamp(1, COLUMNS);
    let mut canvas = Canvas::new(GAP_PX + columns * STEP_PX[0], TITLE_PX + rows * STEP_PX[1], colour::BACKGROUND);
    canvas.text(title, (GAP_PX as i32 + 4, TITLE_PX as i32 / 2), 24, colour::INK, Align::Left);
    for (index, tile) in (0_u32..).zip(tiles) {
        let [x, y] = corner_px(index);
        canvas.place(&tile.image, x, y);
        let below = (x as i32 + 4, (y + TILE_PX[1] + CAPTION_PX / 2) as i32);
        canvas.text(&tile.caption, below, 16, colour::FAINT_INK, Align::Left);
    }
    canvas.save(path)
}
