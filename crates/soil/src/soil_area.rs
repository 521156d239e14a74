//! Areas of ground that one soil covers, loaded and ready for point queries.

use std::f64::consts::FRAC_1_SQRT_2;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use selene_base::InputError;
use selene_base::input::read_bytes;
use selene_base::random::{Rng, stream_at};

use crate::soil_map::{CircleSpec, HalfPlaneSpec, ImageSpec, PatchesSpec, PolygonSpec, RectangleSpec, ShapeSpec};

/// Largest accepted picture: bytes of the file, and pixels on a side.
const FILE_BYTES_MAX: u64 = 256 << 20;
const SIDE_MAX: u32 = 16_384;
/// Points along a side of the sample that finds the noise level for a coverage.
const LEVEL_SAMPLE: usize = 200;

/// The area in which one soil lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Circle(CircleSpec),
    Rectangle(RectangleSpec),
    Polygon(PolygonSpec),
    HalfPlane(HalfPlaneSpec),
    Image(Arc<Mask>),
    BekkerPatches(BekkerPatches),
}

impl Shape {
    pub(crate) fn load(spec: &ShapeSpec, scenario_dir: &Path, seed: u64) -> Result<Self, InputError> {
        Ok(match spec {
            ShapeSpec::Circle(circle) => Self::Circle(*circle),
            ShapeSpec::Rectangle(rectangle) => Self::Rectangle(*rectangle),
            ShapeSpec::Polygon(polygon) => Self::Polygon(polygon.clone()),
            ShapeSpec::HalfPlane(half_plane) => Self::HalfPlane(*half_plane),
            ShapeSpec::Image(image) => Self::Image(Arc::new(Mask::load(image, scenario_dir)?)),
            ShapeSpec::BekkerPatches(patches) => Self::BekkerPatches(BekkerPatches::new(patches, seed)),
        })
    }

    pub(crate) fn holds(&self, x: f64, y: f64) -> bool {
        match self {
            Self::Circle(circle) => (x - circle.centre_m[0]).hypot(y - circle.centre_m[1]) <= circle.radius_m,
            Self::Rectangle(rectangle) => {
                let lies = |at: f64, axis: usize| (rectangle.from_m[axis]..=rectangle.to_m[axis]).contains(&at);
                lies(x, 0) && lies(y, 1)
            }
            Self::Polygon(polygon) => surrounds(&polygon.corners_m, x, y),
            Self::HalfPlane(line) => {
                let (sin, cos) = line.toward_deg.to_radians().sin_cos();
                (x - line.through_m[0]) * cos + (y - line.through_m[1]) * sin >= 0.0
            }
            Self::Image(mask) => mask.holds(x, y),
            Self::BekkerPatches(patches) => patches.holds(x, y),
        }
    }
}

/// Whether a line from (x, y) to the east crosses an odd number of sides.
fn surrounds(corners: &[[f64; 2]], x: f64, y: f64) -> bool {
    let sides = corners.iter().zip(corners.iter().cycle().skip(1));
    sides.filter(|([ax, ay], [bx, by])| (*ay > y) != (*by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)).count() % 2
        == 1
}

/// The pixels of a picture whose grey is that of the soil.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mask {
    from_m: [f64; 2],
    to_m: [f64; 2],
    columns: usize,
    rows: usize,
    /// Whether each pixel is soil, row by row from the north-west.
    is_soil: Vec<bool>,
}

impl Mask {
    fn load(spec: &ImageSpec, scenario_dir: &Path) -> Result<Self, InputError> {
        let path = scenario_dir.join(&spec.file);
        let mut reader = ImageReader::with_format(Cursor::new(read_bytes(&path, FILE_BYTES_MAX)?), ImageFormat::Png);
        let mut limits = Limits::default();
        limits.max_image_width = Some(SIDE_MAX);
        limits.max_image_height = Some(SIDE_MAX);
        reader.limits(limits);
        let refuse = |what: String| InputError::content(&path, what);
        let picture = reader.decode().map_err(|e| refuse(format!("{e} (at most {SIDE_MAX} pixels on a side)")))?;
        let [columns, rows] = [picture.width() as usize, picture.height() as usize];
        let within = |grey: f64| (spec.grey[0]..=spec.grey[1]).contains(&grey);
        let is_soil = match picture {
            DynamicImage::ImageLuma8(grey) => grey.iter().map(|&v| within(f64::from(v) / 255.0)).collect(),
            DynamicImage::ImageLuma16(grey) => grey.iter().map(|&v| within(f64::from(v) / 65_535.0)).collect(),
            other => return Err(refuse(format!("its pixels are {:?}; must be 8- or 16-bit grey", other.color()))),
        };
        Ok(Self { from_m: spec.from_m, to_m: spec.to_m, columns, rows, is_soil })
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        let share = |at: f64, axis: usize| (at - self.from_m[axis]) / (self.to_m[axis] - self.from_m[axis]);
        let (u, v) = (share(x, 0), 1.0 - share(y, 1));
        let cell = |share: f64, cells: usize| (0.0..1.0).contains(&share).then_some((share * cells as f64) as usize);
        let (Some(column), Some(row)) = (cell(u, self.columns), cell(v, self.rows)) else { return false };
        self.is_soil[row * self.columns + column]
    }
}

/// Patches where smooth noise is above a level. The noise is the sum of two interpolated lattices of random numbers,
/// one turned by 45°.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BekkerPatches {
    lattice_m: f64,
    key: u64,
    level: f64,
}

impl BekkerPatches {
    fn new(spec: &PatchesSpec, seed: u64) -> Self {
        let key = stream_at(seed, "soil patches", spec.variant).next_u64();
        let mut patches = Self { lattice_m: 0.5 * spec.wavelength_m, key, level: 0.0 };
        patches.level = patches.level_of(spec.coverage);
        patches
    }

    /// The noise level that a share `coverage` of the ground exceeds.
    fn level_of(&self, coverage: f64) -> f64 {
        let at = |i: usize| self.lattice_m * 0.37 * (i as f64 - 0.5 * LEVEL_SAMPLE as f64);
        let count = LEVEL_SAMPLE * LEVEL_SAMPLE;
        let mut values: Vec<f64> = (0..count).map(|i| self.value(at(i % LEVEL_SAMPLE), at(i / LEVEL_SAMPLE))).collect();
        values.sort_by(f64::total_cmp);
        let above = (coverage * count as f64).round() as usize;
        match values.len().checked_sub(above) {
            Some(0) | None => f64::NEG_INFINITY,
            Some(i) => values.get(i).copied().unwrap_or(f64::INFINITY),
        }
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        self.value(x, y) >= self.level
    }

    fn value(&self, x: f64, y: f64) -> f64 {
        let (u, v) = (x / self.lattice_m, y / self.lattice_m);
        let turned = [(u - v) * FRAC_1_SQRT_2, (u + v) * FRAC_1_SQRT_2];
        self.lattice(u, v, 0) + self.lattice(turned[0], turned[1], 1)
    }

    fn lattice(&self, u: f64, v: f64, which: u64) -> f64 {
        let (column, row) = (u.floor(), v.floor());
        let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
        let (s, t) = (smooth(u - column), smooth(v - row));
        let at = |right: i64, up: i64| {
            let cell = [column as i64 + right, row as i64 + up].map(|cell| cell as u64);
            mix(mix(mix(self.key ^ which).wrapping_add(cell[0])).wrapping_add(cell[1])) as f64 / u64::MAX as f64
        };
        let (low, high) = (at(0, 0) * (1.0 - s) + at(1, 0) * s, at(0, 1) * (1.0 - s) + at(1, 1) * s);
        low * (1.0 - t) + high * t
    }
}

/// A bijective scramble of 64 bits (SplitMix64's finaliser, Steele et al. 2014).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::{BekkerPatches, surrounds};
    use crate::soil_map::PatchesSpec;

    #[test]
    fn patches_cover_the_share_requested_and_follow_their_seed() {
        let spec = PatchesSpec { wavelength_m: 3.0, coverage: 0.3, variant: 0 };
        let patches = BekkerPatches::new(&spec, 7);
        let places = || (0..90_000).map(|i| (f64::from(i % 300) * 0.61 + 200.0, f64::from(i / 300) * 0.47 - 900.0));
        let covered = places().filter(|&(x, y)| patches.holds(x, y)).count() as f64 / 90_000.0;
        assert!((covered - 0.3).abs() < 0.03, "{covered}");
        assert_eq!(patches, BekkerPatches::new(&spec, 7));
        let other = BekkerPatches::new(&PatchesSpec { variant: 1, ..spec.clone() }, 7);
        assert!(places().any(|(x, y)| patches.holds(x, y) != other.holds(x, y)));
        for (coverage, is_soil) in [(0.0, false), (1.0, true)] {
            let all = BekkerPatches::new(&PatchesSpec { coverage, ..spec.clone() }, 7);
            assert!(places().all(|(x, y)| all.holds(x, y) == is_soil));
        }
    }

    #[test]
    fn a_polygon_holds_what_it_surrounds() {
        let bay = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [2.0, 1.0], [0.0, 4.0]];
        for (x, y, inside) in [(2.0, 0.5, true), (2.0, 2.0, false), (0.2, 3.0, true), (5.0, 1.0, false)] {
            assert_eq!(surrounds(&bay, x, y), inside, "{x} {y}");
        }
    }
}
