//! Lens flare (what HEADING §III names, by a model of ours): light of the Sun that does not
//! go where the lens means it to. Irradiance to irradiance, added to the picture while any
//! of the Sun is seen from the lens, in the frame or up to `reach` outside it.
//!
//! The Sun's own image has the light F = (π/4) E cos θ/Ω, in irradiance times pixels, Ω the
//! solid angle of a pixel on the axis. Of it go:
//! - to the bloom, scatter on and in the glass: (s/2 − 1)/(π R²) (1 + r²/R²)^(−s/2) around
//!   the Sun's image, a halo that falls as r^−s;
//! - to streaks, diffraction at the blades of the aperture: as many rays as blades, or twice
//!   that where their number is odd; along a ray 1/(l (1 + r/l)²), across it a Gaussian of
//!   0.05°, half a pixel at the least;
//! - to ghosts, light reflected twice between glasses: images of the aperture, regular
//!   polygons with a brighter rim, on the line from the Sun's image through the principal
//!   point: `along` 1 is the Sun's image, 0 the principal point, −1 the point opposite.
//!
//! Radii and places grow with the wavelength by `chromatic`: red outside, blue inside.
//! Shares are of the light that comes in and are not taken from the Sun's own image, which
//! is far beyond the full scale with or without them: that is what saturates around it.

use std::f64::consts::{FRAC_PI_4, PI, TAU};

use garde::Validate;
use selene_base::input::within;
use serde::Deserialize;

use super::SunSight;
use super::stage::RowWork;
use crate::camera::Intrinsics;

/// Wavelengths of red, green and blue over that of green.
const WAVES: [f64; 3] = [650.0 / 550.0, 1.0, 450.0 / 550.0];
/// Half width of a streak, rad.
const STREAK_SIGMA_RAD: f64 = 0.05 * PI / 180.0;
/// The narrowest streak that pixels show, px.
const STREAK_SIGMA_LEAST_PX: f64 = 0.5;
/// A Gaussian is nothing beyond so many sigmas.
const SIGMAS: f64 = 4.0;
/// A ghost's light in its middle, at its rim, and their mean over a polygon.
const GHOST: [f64; 3] = [0.7, 1.0, 0.85];
/// Width of a ghost's edge over its radius.
const GHOST_EDGE: f64 = 0.08;

/// `flare`.
#[derive(Clone, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct FlareSpec {
    /// Share of the Sun's light in the bloom.
    #[garde(custom(within(0.0, 0.5)))]
    pub bloom_share: f64,
    /// R: where the bloom begins to fall, degrees.
    #[garde(custom(within(0.01, 20.0)))]
    pub bloom_radius_deg: f64,
    /// s: the bloom falls as r^−s.
    #[garde(custom(within(2.1, 8.0)))]
    pub bloom_slope: f64,
    /// Blades of the aperture.
    #[garde(range(min = 3, max = 32))]
    pub blades: u32,
    /// Share of the Sun's light in all streaks together.
    #[garde(custom(within(0.0, 0.5)))]
    pub streak_share: f64,
    /// l: where streaks begin to fall, degrees.
    #[garde(custom(within(0.01, 20.0)))]
    pub streak_length_deg: f64,
    /// The ghosts.
    #[garde(length(max = 32), dive)]
    pub ghosts: Vec<GhostSpec>,
    /// How much radii and places grow with the wavelength: 1 in proportion, 0 not at all.
    #[garde(custom(within(0.0, 2.0)))]
    pub chromatic: f64,
    /// How far outside the frame the Sun stops to matter, as a share of the image's width:
    /// the flare weakens evenly from the edge on, as a hood takes the light away.
    #[garde(custom(within(0.0, 2.0)))]
    pub reach: f64,
}

/// One ghost.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct GhostSpec {
    /// Place on the line: 1 the Sun's image, 0 the principal point, −1 opposite the Sun.
    #[garde(custom(within(-4.0, 4.0)))]
    pub along: f64,
    /// From its middle to an edge, as a share of the image's width.
    #[garde(custom(within(0.001, 1.0)))]
    pub radius: f64,
    /// Share of the Sun's light.
    #[garde(custom(within(0.0, 0.1)))]
    pub share: f64,
}

impl Default for FlareSpec {
    /// A small lens of several glasses: no maker's; chosen to look as Apollo's pictures do.
    fn default() -> Self {
        let ghost = |along, radius, share| GhostSpec { along, radius, share };
        Self {
            bloom_share: 0.01,
            bloom_radius_deg: 0.35,
            bloom_slope: 3.2,
            blades: 6,
            streak_share: 3e-4,
            streak_length_deg: 1.0,
            ghosts: vec![
                ghost(0.55, 0.016, 2e-6),
                ghost(0.3, 0.009, 1.2e-6),
                ghost(-0.25, 0.022, 3e-6),
                ghost(-0.5, 0.05, 1e-5),
                ghost(-0.8, 0.03, 4e-6),
                ghost(-1.3, 0.09, 1.5e-5),
            ],
            chromatic: 0.35,
            reach: 0.3,
        }
    }
}

/// What one channel adds, in pixels and irradiance.
struct Channel {
    sun_px: [f64; 2],
    /// Bloom: peak, 1/R², −s/2.
    bloom: [f32; 3],
    /// Streaks: light along a ray, length, sigma across.
    streaks: [f64; 3],
    rays: Vec<[f64; 2]>,
    ghosts: Vec<Ghost>,
    /// Normals of a ghost's edges.
    edges: Vec<[f64; 2]>,
}

struct Ghost {
    at_px: [f64; 2],
    radius_px: f64,
    middle: f64,
}

impl FlareSpec {
    /// Adds the flare of `sun`; nothing where there is none.
    pub(super) fn rows(
        &self,
        sun: Option<&SunSight>,
        channels: usize,
        lens: Intrinsics,
        size: [usize; 2],
    ) -> RowWork<'static> {
        let light = sun.map_or(0.0, |sun| self.light(sun, lens, size)) / channels.max(1) as f64;
        let Some(sun) = sun.filter(|_| light > 0.0) else { return Box::new(|_, _, _| {}) };
        let of = |channel: usize| {
            let wave = if channels == 3 { WAVES[channel] } else { 1.0 };
            self.channel(sun.at_px, light, 1.0 + self.chromatic * (wave - 1.0), lens, size)
        };
        let channels: Vec<Channel> = (0..channels).map(of).collect();
        Box::new(move |channel, row, values| channels[channel].add(row, values))
    }

    /// F, less what the hood takes, irradiance times pixels.
    fn light(&self, sun: &SunSight, lens: Intrinsics, size: [usize; 2]) -> f64 {
        let outside =
            [0, 1].map(|axis| (-0.5 - sun.at_px[axis]).max(sun.at_px[axis] - (size[axis] as f64 - 0.5)).max(0.0));
        let away = outside[0].hypot(outside[1]) / (self.reach * size[0] as f64).max(f64::MIN_POSITIVE);
        FRAC_PI_4 * sun.on_lens_w_m2() * lens.fx_px * lens.fy_px * (1.0 - away).max(0.0)
    }

    fn channel(&self, sun_px: [f64; 2], light: f64, grown: f64, lens: Intrinsics, size: [usize; 2]) -> Channel {
        let pixels = |angle_deg: f64| angle_deg.to_radians() * lens.fx_px * grown;
        let radius2 = pixels(self.bloom_radius_deg).powi(2);
        let peak = light * self.bloom_share * (self.bloom_slope / 2.0 - 1.0) / (PI * radius2);
        let rays = if self.blades.is_multiple_of(2) { self.blades } else { 2 * self.blades };
        let sigma = (STREAK_SIGMA_RAD * lens.fx_px).max(STREAK_SIGMA_LEAST_PX);
        let length = pixels(self.streak_length_deg);
        let streak = light * self.streak_share / f64::from(rays) / (length * sigma * TAU.sqrt());
        let spokes = |count: u32, turn: f64| {
            (0..count).map(move |k| (TAU * (f64::from(k) + turn) / f64::from(count)).sin_cos().into()).collect()
        };
        let ghost = |spec: &GhostSpec| self.ghost(spec, sun_px, light, grown, lens, size);
        Channel {
            sun_px,
            bloom: [peak as f32, (1.0 / radius2) as f32, (-self.bloom_slope / 2.0) as f32],
            streaks: [streak, length, sigma],
            rays: spokes(rays, 0.2),
            ghosts: self.ghosts.iter().map(ghost).collect(),
            edges: spokes(self.blades, 0.2),
        }
    }

    fn ghost(
        &self,
        spec: &GhostSpec,
        sun_px: [f64; 2],
        light: f64,
        grown: f64,
        lens: Intrinsics,
        size: [usize; 2],
    ) -> Ghost {
        let radius_px = spec.radius * size[0] as f64 * grown;
        let blades = f64::from(self.blades);
        let area = blades * (PI / blades).tan() * radius_px.powi(2);
        let place = |sun: f64, middle: f64| middle + spec.along * grown * (sun - middle);
        Ghost {
            at_px: [place(sun_px[0], lens.cx_px), place(sun_px[1], lens.cy_px)],
            radius_px,
            middle: light * spec.share / (area * GHOST[2]),
        }
    }
}

impl Channel {
    fn add(&self, row: usize, values: &mut [f32]) {
        self.add_bloom(row, values);
        if self.streaks[0] > 0.0 {
            self.rays.iter().for_each(|ray| self.add_ray(*ray, row, values));
        }
        self.ghosts.iter().for_each(|ghost| ghost.add(&self.edges, row, values));
    }

    fn add_bloom(&self, row: usize, values: &mut [f32]) {
        let [peak, inverse_radius2, power] = self.bloom;
        let y2 = (row as f64 - self.sun_px[1]).powi(2) as f32;
        let sun_u = self.sun_px[0] as f32;
        for (column, value) in values.iter_mut().enumerate() {
            let x = column as f32 - sun_u;
            *value += peak * (1.0 + (x * x + y2) * inverse_radius2).powf(power);
        }
    }

    /// The pixels of a row that a ray comes near to.
    fn add_ray(&self, [x, y]: [f64; 2], row: usize, values: &mut [f32]) {
        let [light, length, sigma] = self.streaks;
        let down = row as f64 - self.sun_px[1];
        let reach = SIGMAS * sigma;
        // |down · x − right · y| < reach; a level ray has all columns of its rows.
        let [from, to] = if y.abs() > 1e-9 {
            let [a, b] = [(down * x - reach) / y, (down * x + reach) / y];
            [a.min(b), a.max(b)]
        } else if down.abs() < reach {
            [f64::NEG_INFINITY, f64::INFINITY]
        } else {
            return;
        };
        for column in columns(self.sun_px[0] + from, self.sun_px[0] + to, values.len()) {
            let right = column as f64 - self.sun_px[0];
            let (out, across) = (right * x + down * y, down * x - right * y);
            if out >= 0.0 {
                let across = (-0.5 * (across / sigma).powi(2)).exp();
                values[column] += (light * across / (1.0 + out / length).powi(2)) as f32;
            }
        }
    }
}

impl Ghost {
    fn add(&self, edges: &[[f64; 2]], row: usize, values: &mut [f32]) {
        // A triangle's corners are twice as far out as its edges, those of more edges nearer.
        let reach = 2.1 * self.radius_px;
        let down = row as f64 - self.at_px[1];
        if down.abs() > reach {
            return;
        }
        for column in columns(self.at_px[0] - reach, self.at_px[0] + reach, values.len()) {
            let right = column as f64 - self.at_px[0];
            let out = edges.iter().map(|[x, y]| right * x + down * y).fold(f64::NEG_INFINITY, f64::max);
            let out = out / self.radius_px;
            let edge = ((1.0 + GHOST_EDGE / 2.0 - out) / GHOST_EDGE).clamp(0.0, 1.0);
            let light = GHOST[0] + (GHOST[1] - GHOST[0]) * out.min(1.0).powi(2);
            values[column] += (self.middle * light * edge) as f32;
        }
    }
}

/// The whole columns from one place to another that a row has.
fn columns(from: f64, to: f64, count: usize) -> std::ops::Range<usize> {
    let inside = |at: f64| (at.max(0.0) as usize).min(count);
    inside(from.ceil())..inside(to.floor() + 1.0)
}

#[cfg(test)]
mod tests {
    use super::{FlareSpec, GhostSpec};
    use crate::camera::Intrinsics;
    use crate::develop::SunSight;
    use std::f64::consts::FRAC_PI_4;

    const SIZE: [usize; 2] = [320, 180];
    const LENS: Intrinsics = Intrinsics { fx_px: 343.0, fy_px: 343.0, cx_px: 159.5, cy_px: 89.5 };

    fn sun(u: f64, v: f64) -> SunSight {
        let tan = (u - LENS.cx_px).hypot(v - LENS.cy_px) / LENS.fx_px;
        SunSight { at_px: [u, v], irradiance_w_m2: 1361.0, cos_axis: (1.0 + tan * tan).sqrt().recip() }
    }

    /// The flare alone, channel by channel.
    fn flare(spec: &FlareSpec, sun: Option<&SunSight>, channels: usize) -> Vec<Vec<f64>> {
        let work = spec.rows(sun, channels, LENS, SIZE);
        let of_channel = |channel| {
            let mut plane = vec![0.0_f32; SIZE[0] * SIZE[1]];
            plane.chunks_exact_mut(SIZE[0]).enumerate().for_each(|(row, values)| work(channel, row, values));
            plane.into_iter().map(f64::from).collect()
        };
        (0..channels).map(of_channel).collect()
    }

    fn only_bloom() -> FlareSpec {
        FlareSpec { streak_share: 0.0, ghosts: Vec::new(), ..FlareSpec::default() }
    }

    fn only_ghost(along: f64) -> FlareSpec {
        let ghosts = vec![GhostSpec { along, radius: 0.04, share: 1e-4 }];
        FlareSpec { bloom_share: 0.0, streak_share: 0.0, ghosts, ..FlareSpec::default() }
    }

    fn sum(plane: &[f64]) -> f64 {
        plane.iter().sum()
    }

    fn centroid(plane: &[f64]) -> [f64; 2] {
        let moment = |along: fn(usize) -> usize| {
            plane.iter().enumerate().map(|(i, value)| value * along(i) as f64).sum::<f64>() / sum(plane)
        };
        [moment(|i| i % SIZE[0]), moment(|i| i / SIZE[0])]
    }

    #[test]
    fn the_bloom_follows_its_formula_and_has_its_share_of_the_suns_light() {
        const ROUNDING: f64 = 1e-5; // f32 powers
        let spec = FlareSpec { bloom_slope: 5.0, ..only_bloom() };
        let sun = sun(150.3, 80.6);
        let bloom = flare(&spec, Some(&sun), 1).remove(0);
        let light = FRAC_PI_4 * 1361.0 * sun.cos_axis * 343.0 * 343.0;
        let radius = 0.35_f64.to_radians() * 343.0;
        for (u, v) in [(150, 81), (160, 81), (20, 170)] {
            let r = (u as f64 - 150.3).hypot(v as f64 - 80.6);
            let expected =
                light * 0.01 * 1.5 / (std::f64::consts::PI * radius * radius) * (1.0 + (r / radius).powi(2)).powf(-2.5);
            assert!((bloom[v * SIZE[0] + u] / expected - 1.0).abs() < ROUNDING, "{u} {v}");
        }
        // Pixels are coarse for the peak, and the frame cuts the tail.
        assert!((sum(&bloom) / (0.01 * light) - 1.0).abs() < 0.02, "{}", sum(&bloom) / light);
    }

    #[test]
    fn the_blooms_middle_is_the_sun() {
        // What is above half the full scale: saturated, as a detector has it.
        for at in [[160.0, 90.0], [61.3, 40.2], [250.0, 130.0]] {
            let bloom = flare(&FlareSpec::default(), Some(&sun(at[0], at[1])), 1).remove(0);
            let bright: Vec<f64> = bloom.iter().map(|value| f64::from(u8::from(*value > 20.0))).collect();
            let middle = centroid(&bright);
            assert!((middle[0] - at[0]).hypot(middle[1] - at[1]) < 0.5, "{at:?} {middle:?}");
        }
    }

    #[test]
    fn ghosts_lie_on_the_line_through_the_principal_point_and_have_their_share() {
        const OFF_PX: f64 = 0.1; // edges cut by pixels
        let sun = sun(100.0, 60.0);
        for along in [0.5, -0.5, -0.9] {
            let ghost = flare(&only_ghost(along), Some(&sun), 1).remove(0);
            let expected = [159.5 + along * (100.0 - 159.5), 89.5 + along * (60.0 - 89.5)];
            let middle = centroid(&ghost);
            assert!((middle[0] - expected[0]).hypot(middle[1] - expected[1]) < OFF_PX, "{along}: {middle:?}");
            let light = FRAC_PI_4 * 1361.0 * sun.cos_axis * 343.0 * 343.0;
            assert!((sum(&ghost) / (1e-4 * light) - 1.0).abs() < 0.02, "{}", sum(&ghost) / light);
        }
    }

    #[test]
    fn streaks_are_as_many_as_even_blades_and_twice_as_many_as_odd_ones() {
        for (blades, rays) in [(6, 6), (5, 10)] {
            let spec = FlareSpec { blades, bloom_share: 0.0, ghosts: Vec::new(), ..FlareSpec::default() };
            let streaks = flare(&spec, Some(&sun(160.0, 90.0)), 1).remove(0);
            // Around a circle of 60 px, peaks above their neighbourhood.
            let around: Vec<f64> = (0..720)
                .map(|k| {
                    let (sin, cos) = (f64::from(k) * std::f64::consts::PI / 360.0).sin_cos();
                    let [u, v] = [160.0 + 60.0 * cos, 90.0 + 60.0 * sin].map(|at| at.round() as usize);
                    streaks[v * SIZE[0] + u]
                })
                .collect();
            let half = around.iter().copied().fold(0.0, f64::max) * 0.2;
            let lit = |k: usize| around[k % 720] > half;
            let peaks = (0..720).filter(|k| lit(k + 1) && !lit(*k)).count();
            assert_eq!(peaks, rays, "{blades}");
        }
    }

    #[test]
    fn red_is_outside_and_blue_inside() {
        let [red, green, blue]: [Vec<f64>; 3] =
            flare(&only_ghost(-0.6), Some(&sun(100.0, 60.0)), 3).try_into().expect("three channels");
        let out = |plane: &[f64]| {
            let [u, v] = centroid(plane);
            (u - LENS.cx_px).hypot(v - LENS.cy_px)
        };
        assert!(out(&red) > out(&green) && out(&green) > out(&blue));
        let grey = flare(&FlareSpec { chromatic: 0.0, ..only_ghost(-0.6) }, Some(&sun(100.0, 60.0)), 3);
        assert!(grey[0] == grey[1] && grey[1] == grey[2]);
    }

    #[test]
    fn there_is_none_without_a_sun_and_it_fades_as_the_sun_leaves_the_frame() {
        assert_eq!(sum(&flare(&FlareSpec::default(), None, 1)[0]), 0.0);
        let behind = SunSight { cos_axis: -0.5, ..sun(100.0, 60.0) };
        assert_eq!(sum(&flare(&FlareSpec::default(), Some(&behind), 1)[0]), 0.0);
        // Reach: 0.3 of 320 px. Ghosts of a Sun beside the frame lie within it.
        let light = |u: f64| sum(&flare(&only_ghost(-0.2), Some(&SunSight { cos_axis: 0.9, ..sun(u, 90.0) }), 1)[0]);
        let edge = 319.5;
        assert!((light(edge + 48.0) / light(edge) - 0.5).abs() < 1e-3);
        assert!(light(edge + 20.0) > 0.0 && light(edge + 97.0) == 0.0);
    }
}
