//! A bucket drum as surfaces without thickness, in its own frame (axis z).
//!
//! Discs divide the drum into slices and close its ends. Each slice has `scoops` panels. A panel is a spiral that
//! begins at its lip on the drum's radius and runs back (against the digging rotation, which is positive about z) and
//! inwards by `c = channel / (2π/scoops)` per radian: `ρ(a) = R − c a` at the angle a behind the lip, for
//! `0 ≤ a ≤ 2π/scoops + overlap`. The tail of the panel ahead lies one channel depth below each lip; soil enters
//! through this gap, and runs out of it when the drum turns the other way. The lips of the slices are staggered evenly.
//!
//! This follows the principle of RASSOR's drum; its drawing is not published.

mod surfaces;

use std::f64::consts::{PI, TAU};

use nalgebra::{UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};

/// The most slices and scoops: `DrumSides` has 16 bits.
const SLICES_MAX: u32 = 14;
const SCOOPS_MAX: u32 = 12;
/// The fewest scoops: one panel alone would close its own way in.
const SCOOPS_MIN: u32 = 2;
/// The most that a panel reaches round, rad: the way from its tail on to its lip is then longer than any that
/// `sides_and_clearance` gives.
const EXTENT_MAX: f64 = TAU - PI / 6.0;
/// Bits that hold the number of a slice.
const SLICE_BITS: u32 = 4;
const SLICE: u16 = (1 << SLICE_BITS) - 1;
/// The least radius of a panel's tail, as a fraction of the drum's.
const TAIL_MIN: f64 = 0.2;

/// A drum that takes in soil when it turns about +z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drum {
    /// Radius of lips and discs, m.
    pub radius_m: f64,
    /// Half of the drum's length, m.
    pub half_length_m: f64,
    /// Slices along its axis, 1 to 14.
    pub slices: u32,
    /// Scoops per slice, 2 to 12.
    pub scoops: u32,
    /// Depth of the gap below a lip, through which soil enters, m.
    pub channel_m: f64,
    /// Angle by which a panel's tail runs on below the lip behind it, rad.
    pub overlap_rad: f64,
}

/// On which side of each of a drum's surfaces a position is: the number of its slice, then a bit for each panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DrumSides {
    /// Bits of the surfaces that exist at the position.
    pub(crate) near: u16,
    pub(crate) side: u16,
}

impl DrumSides {
    /// Bits that differ; 0 if no surface of the drum lies between the two positions.
    pub(crate) fn between(self, other: Self) -> u16 {
        self.near & other.near & (self.side ^ other.side)
    }

    fn slice(self) -> u16 {
        self.side & SLICE
    }
}

/// Unit normals of the surfaces at a position: of discs along the axis, of panels away from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DrumNormals {
    disc: Vector3<f64>,
    panel: Vector3<f64>,
}

impl DrumNormals {
    pub(crate) fn turned(self, rotation: &UnitQuaternion<f64>) -> Self {
        Self { disc: rotation * self.disc, panel: rotation * self.panel }
    }

    /// Normals, towards a position on the sides `own`, of the surfaces between it and one on the sides `other`.
    pub(crate) fn between(self, own: DrumSides, other: DrumSides) -> impl Iterator<Item = Vector3<f64>> + use<> {
        let between = own.between(other);
        let disc = if own.slice() > other.slice() { self.disc } else { -self.disc };
        let panel = move |scoop| if own.is_below(scoop) { -self.panel } else { self.panel };
        let panels = scoops_of(between);
        (between & SLICE != 0).then_some(disc).into_iter().chain(panels.map(panel))
    }
}

/// The scoops whose panels have their bits set.
fn scoops_of(bits: u16) -> impl Iterator<Item = u32> {
    let left = |bits: u16| (bits != 0).then_some(bits);
    let panels = std::iter::successors(left(bits >> SLICE_BITS), move |bits| left(bits & (bits - 1)));
    panels.map(u16::trailing_zeros)
}

impl Drum {
    /// What is wrong with the drum, and what is allowed; `None` if it is valid.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { radius_m, slices, scoops, channel_m, overlap_rad, .. } = *self;
        if !(1..=SLICES_MAX).contains(&slices) {
            return Some(format!("a drum of {slices} slices: must be 1 to {SLICES_MAX}"));
        }
        if !(SCOOPS_MIN..=SCOOPS_MAX).contains(&scoops) {
            return Some(format!("a drum of {scoops} scoops a slice: must be {SCOOPS_MIN} to {SCOOPS_MAX}"));
        }
        if !(overlap_rad >= 0.0 && self.extent_rad() <= EXTENT_MAX) {
            let most = EXTENT_MAX - self.pitch_rad();
            return Some(format!("panels of a drum that overlap by {overlap_rad} rad: must be 0 to {most:.3}"));
        }
        if !(channel_m > 0.0 && self.panel_m(self.extent_rad()) >= TAIL_MIN * radius_m) {
            let most_m = (1.0 - TAIL_MIN) * radius_m * self.pitch_rad() / self.extent_rad();
            return Some(format!("a drum's channel of {channel_m} m: must be more than 0, to {most_m:.4} m"));
        }
        None
    }

    /// Whether `at` (m, in the drum's frame) is in the cylinder that the drum fills.
    #[must_use]
    pub fn holds(&self, at: &Vector3<f64>) -> bool {
        at.xy().norm() < self.radius_m && at.z.abs() < self.half_length_m
    }

    /// Whether `at` (m, drum frame) is less than `margin_m` from the cylinder that the drum fills, along its axis and
    /// across it.
    #[inline]
    pub(crate) fn is_near(&self, at: &Vector3<f64>, margin_m: f64) -> bool {
        let across_m = self.radius_m + margin_m;
        at.z.abs() < self.half_length_m + margin_m && at.xy().norm_squared() < across_m * across_m
    }

    /// The sides of the drum's surfaces that a position (m, in the drum's frame) is on.
    pub(crate) fn sides(&self, at: &Vector3<f64>) -> DrumSides {
        self.sides_and_clearance(at).0
    }

    /// The sides, and a way, m, that a position can go in any direction without meeting one of these surfaces.
    pub(crate) fn sides_and_clearance(&self, at: &Vector3<f64>) -> (DrumSides, f64) {
        let (across, slice) = (at.xy().norm(), self.slice_at(at.z));
        let near = if across < self.radius_m { SLICE } else { 0 };
        let mut sides = DrumSides { near, side: slice };
        let mut clearance_m = self.distance_to_discs_m(at.z, slice);
        if (1..=self.slices as u16).contains(&slice) {
            // Along a way of at most half the distance from the axis, r − ρ changes at most so fast.
            let steepest = (1.0 + (2.0 * self.rise_m_rad() / across).powi(2)).sqrt();
            for (scoop, behind) in self.panels_at(at.y.atan2(at.x), slice) {
                let above_m = across - self.panel_m(behind);
                sides.near |= 1 << (SLICE_BITS + scoop);
                sides.side |= u16::from(above_m < 0.0) << (SLICE_BITS + scoop);
                clearance_m = clearance_m.min(above_m.abs() / steepest).min(0.5 * across);
            }
        }
        (sides, clearance_m)
    }

    /// Distance of `z_m` from the discs at the ends of its slice, m.
    fn distance_to_discs_m(&self, z_m: f64, slice: u16) -> f64 {
        let from_low_m = if slice > 0 { z_m - self.disc_m(slice - 1) } else { f64::INFINITY };
        let from_high_m = if u32::from(slice) <= self.slices { self.disc_m(slice) - z_m } else { f64::INFINITY };
        from_low_m.min(from_high_m).max(0.0)
    }

    /// The panels of a slice that reach over an angle, each with the angle behind its lip, rad.
    fn panels_at(&self, angle: f64, slice: u16) -> impl Iterator<Item = (u32, f64)> + use<> {
        let (pitch_rad, extent_rad, scoops) = (self.pitch_rad(), self.extent_rad(), self.scoops);
        let turned = f64::from(slice) / f64::from(self.slices) - angle / pitch_rad;
        let whole = turned.floor();
        let (first, fraction) = ((-whole).rem_euclid(f64::from(scoops)) as u32, turned - whole);
        (0..scoops)
            .map(move |n| ((first + n) % scoops, (fraction + f64::from(n)) * pitch_rad))
            .take_while(move |(_, behind)| *behind <= extent_rad)
    }

    /// Normals of the drum's surfaces at `at` (m, in the drum's frame).
    pub(crate) fn normals(&self, at: &Vector3<f64>) -> DrumNormals {
        let across = at.xy().norm();
        // Gradient of r − ρ, where ρ grows by c per radian of the angle.
        let along = if across > 0.0 { Vector3::new(-at.y, at.x, 0.0) / across } else { Vector3::y() };
        let out = if across > 0.0 { Vector3::new(at.x, at.y, 0.0) / across } else { Vector3::x() };
        DrumNormals { disc: Vector3::z(), panel: (out * across - along * self.rise_m_rad()).normalize() }
    }

    /// Position nearest to `to` that is on the `own` side of the surfaces between it and `other`, `skin_m` off them.
    pub(crate) fn beside(&self, to: &Vector3<f64>, own: DrumSides, other: DrumSides, skin_m: f64) -> Vector3<f64> {
        let between = own.between(other);
        let mut place = *to;
        if between & SLICE != 0 {
            let is_ahead = own.slice() > other.slice();
            place.z = if is_ahead { self.disc_m(own.slice() - 1) + skin_m } else { self.disc_m(own.slice()) - skin_m };
        }
        let (across, angle) = (to.xy().norm(), to.y.atan2(to.x));
        for (scoop, behind) in self.panels_at(angle, own.slice()) {
            if between & (1 << (SLICE_BITS + scoop)) != 0 {
                let wanted_m = self.panel_m(behind) + if own.is_below(scoop) { -skin_m } else { skin_m };
                place.x = to.x * wanted_m / across;
                place.y = to.y * wanted_m / across;
            }
        }
        place
    }

    /// Number of the slice at `z_m`: from 1; 0 and the number of slices + 1 are beyond the ends.
    fn slice_at(&self, z_m: f64) -> u16 {
        let along = ((z_m + self.half_length_m) / self.slice_m()).floor() + 1.0;
        along.clamp(0.0, f64::from(self.slices + 1)) as u16
    }

    /// Where the disc behind a slice is, m.
    fn disc_m(&self, slice: u16) -> f64 {
        f64::from(slice) * self.slice_m() - self.half_length_m
    }

    fn slice_m(&self) -> f64 {
        2.0 * self.half_length_m / f64::from(self.slices)
    }

    fn pitch_rad(&self) -> f64 {
        TAU / f64::from(self.scoops)
    }

    fn extent_rad(&self) -> f64 {
        self.pitch_rad() + self.overlap_rad
    }

    fn rise_m_rad(&self) -> f64 {
        self.channel_m / self.pitch_rad()
    }

    /// Radius of a panel at an angle behind its lip, m.
    fn panel_m(&self, behind_rad: f64) -> f64 {
        self.radius_m - self.rise_m_rad() * behind_rad
    }
}

impl DrumSides {
    fn is_below(self, scoop: u32) -> bool {
        self.side & (1 << (SLICE_BITS + scoop)) != 0
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use selene_base::random::{RngExt, stream};

    use super::Drum;

    /// One slice with three scoops; its lips are at 120°, 240° and 0°.
    const DRUM: Drum =
        Drum { radius_m: 0.2, half_length_m: 0.1, slices: 1, scoops: 3, channel_m: 0.05, overlap_rad: 1.0 };

    fn at(across_m: f64, degrees: f64, z_m: f64) -> Vector3<f64> {
        let angle = degrees.to_radians();
        Vector3::new(across_m * angle.cos(), across_m * angle.sin(), z_m)
    }

    #[test]
    fn panels_and_discs_divide_and_the_way_in_is_open() {
        let divided = |a: Vector3<f64>, b: Vector3<f64>| DRUM.sides(&a).between(DRUM.sides(&b)) != 0;
        // 60° behind the lip at 120°, its panel is at 0.175 m; the tail of the panel ahead ends 57.3° behind that lip.
        assert!(divided(at(0.18, 60.0, 0.0), at(0.17, 60.0, 0.0)));
        assert!(!divided(at(0.17, 60.0, 0.0), at(0.01, 60.0, 0.0)));
        // 30° behind the lip, the panel is at 0.1875 m; the tail ahead, 150° behind its own lip, is at 0.1375 m.
        assert!(divided(at(0.19, 90.0, 0.0), at(0.18, 90.0, 0.0)));
        assert!(divided(at(0.15, 90.0, 0.0), at(0.13, 90.0, 0.0)));
        assert!(!divided(at(0.18, 90.0, 0.0), at(0.15, 90.0, 0.0)));
        // Over the lip and into the drum.
        assert!(!divided(at(0.19, 125.0, 0.0), at(0.19, 115.0, 0.0)));
        // Discs close the ends up to the drum's radius.
        assert!(divided(at(0.1, 90.0, 0.099), at(0.1, 90.0, 0.101)));
        assert!(!divided(at(0.201, 90.0, 0.101), at(0.1, 90.0, 0.101)));
    }

    #[test]
    fn a_place_beyond_a_surface_is_set_back_to_its_side() {
        let skin_m = 1e-5;
        for (from, to) in [
            (at(0.17, 60.0, 0.0), at(0.18, 60.0, 0.0)),
            (at(0.18, 60.0, 0.0), at(0.17, 61.0, 0.0)),
            (at(0.1, 60.0, 0.099), at(0.1, 60.0, 0.102)),
            (at(0.1, 60.0, -0.102), at(0.11, 60.0, -0.098)),
        ] {
            let (own, other) = (DRUM.sides(&from), DRUM.sides(&to));
            assert_ne!(own.between(other), 0);
            let place = DRUM.beside(&to, own, other, skin_m);
            assert_eq!(own.between(DRUM.sides(&place)), 0, "{from} to {to} ends at {place}");
            assert!((place - to).norm() < (from - to).norm(), "{place}");
            for normal in DRUM.normals(&from).between(own, other) {
                assert!((normal.norm() - 1.0).abs() < 1e-12 && normal.dot(&(to - from)) < 0.0, "{normal}");
            }
        }
    }

    #[test]
    fn a_way_within_the_clearance_meets_no_surface() {
        let mut random = stream(1, "ways by a drum");
        for drum in [DRUM, Drum { slices: 4, ..DRUM }, Drum { scoops: 2, overlap_rad: 2.6, ..DRUM }] {
            for _ in 0..100_000 {
                let from = Vector3::from_fn(|axis, _| random.random_range(-1.0..1.0) * [0.25, 0.25, 0.12][axis]);
                let along = Vector3::from_fn(|_, _| random.random_range(-1.0..1.0)).normalize();
                let (sides, clearance_m) = drum.sides_and_clearance(&from);
                let to = from + along * (clearance_m.min(0.05) * random.random_range(0.0..0.9999));
                assert_eq!(sides.between(drum.sides(&to)), 0, "from {from} to {to} in {drum:?}");
            }
        }
    }

    #[test]
    fn drums_that_cannot_be_are_reported() {
        assert_eq!(DRUM.fault(), None);
        for (drum, reported) in [
            (Drum { slices: 0, ..DRUM }, "0 slices: must be 1 to 14"),
            (Drum { scoops: 13, ..DRUM }, "13 scoops a slice: must be 2 to 12"),
            (Drum { overlap_rad: 4.5, ..DRUM }, "overlap by 4.5 rad: must be 0 to 3.665"),
            (Drum { channel_m: 0.2, ..DRUM }, "channel of 0.2 m: must be more than 0, to 0.1083 m"),
            (Drum { channel_m: f64::NAN, ..DRUM }, "channel of NaN m"),
        ] {
            let fault = drum.fault().expect("must be refused");
            assert!(fault.contains(reported), "{fault}");
        }
    }
}
