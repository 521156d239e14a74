//! Lens flare: stray light by diffraction, scatter and reflections in the lens. Irradiance to irradiance.
//!
//! The light of every point of the scene, and of the Sun inside or beside the frame, is spread over the whole frame.
//! As a function of the distance t from its image (in focal lengths, on the image plane), light is:
//! - diffracted at a round aperture: Airy's pattern, whose rings (narrower than a pixel) have the mean λ/(π³ D t³)
//!   far out (M. Born and E. Wolf, Principles of Optics, §8.5.2); here 1/(2π r²) (1 + t²/r²)^(−3/2) with r = 2 λ/(π²
//!   D), which has the same tail and contains all of the light. D is the focal length over the f-number: for a lens
//!   of 0.6 mm at f/2.4, 1.4 % goes beyond 1.7°;
//! - scattered by rough and soiled glass, in lobes of Harvey's form (J. E. Harvey, "Light-scattering characteristics
//!   of optical surfaces", 1976): n (1 + t²/l²)^(−s/2) up to two focal lengths away. With s = 2 it is the aureole
//!   r^−2 of star images (I. R. King, "The profile of a star image", PASP 83, 1971). A share of 1 % is a clean lens
//!   (veiling glare by ISO 9358 is 1 to 3 % for good lenses of several elements);
//! - with an aperture of straight blades, diffracted into streaks instead, as many as blades, or twice that if their
//!   number is odd: the same light beyond a distance, in equal parts;
//! - for the Sun alone, reflected twice between lens elements into ghosts: images of the aperture on the line from the
//!   Sun's image through the principal point: `along` 1 is the Sun's image, 0 the principal point, −1 the point
//!   opposite.
//!
//! The light of the Sun's image is (π/4) E V/Ω, irradiance times pixels: E is the irradiance of the visible part of
//! the disc, Ω the solid angle of a pixel there, V the fraction that vignetting before this stage leaves. A traced
//! disc holds the same light, so Sun and ground have the right ratio. Beside the frame it is that at the frame's
//! edge, less what a hood takes (`reach`). The stray light of the scene itself is computed between blocks of pixels
//! (`veil`).
//!
//! Sensors saturate after this stage: the bloom is where the light exceeds the full scale.

mod ghosts;
mod profile;
mod streaks;
mod veiling_glare;

use std::f64::consts::{FRAC_PI_4, PI};

use garde::Validate;
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::within;
use selene_scene::{CameraView, Class};
use serde::Deserialize;

use self::ghosts::Ghosts;
use self::profile::{Lobe, PointSpread, Profile};
use self::streaks::Streaks;
use self::veiling_glare::VeilingGlare;
use super::SunSight;
use super::plate::Plate;
use super::shot::Shot;
use super::stage::StageSpec;
use super::vignetting::VignettingSpec;
use crate::camera::CameraSpec;

/// Wavelength of all bands together, m.
const ALL_M: f64 = 550e-9;
/// Wavelengths of red, green and blue, m.
const RGB_M: [f64; 3] = [650e-9, 550e-9, 450e-9];
/// Angular radius of the Sun at one astronomical unit, rad.
const SUN_RADIUS_RAD: f64 = 4.65e-3;
/// Width of the ring around the Sun's disc that is not a source of stray light, because defocus may have spread the
/// disc there, pixels.
const AROUND_SUN_PX: f64 = 6.0;
/// The largest fraction of the light that all lobes together may scatter.
const SCATTER_MAX: f64 = 0.5;

/// `flare`: stray light in the lens.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct FlareSpec {
    /// Scatter on and in the glass, one lobe for each cause.
    #[garde(length(max = 8), dive, custom(scatter_at_most))]
    pub scatter: Vec<ScatterSpec>,
    /// Number of blades of the aperture; round when left out.
    #[garde(inner(range(min = 3, max = 32)))]
    pub blades: Option<u32>,
    /// Ghosts of the Sun.
    #[garde(length(max = 32), dive)]
    pub ghosts: Vec<GhostSpec>,
    /// Growth of radii and positions of ghosts with the wavelength: 1 is proportional, 0 none.
    #[garde(custom(within(0.0, 2.0)))]
    pub chromatic: f64,
    /// Distance outside the frame beyond which the Sun has no effect, as a fraction of the image's width: like with a
    /// hood, the flare fades linearly from the frame's edge.
    #[garde(custom(within(0.0, 2.0)))]
    pub reach: f64,
}

/// One lobe of scattered light.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScatterSpec {
    /// Fraction of the light.
    #[garde(custom(within(0.0, SCATTER_MAX)))]
    pub share: f64,
    /// l: angle at which the lobe begins to fall, degrees.
    #[garde(custom(within(0.01, 60.0)))]
    pub radius_deg: f64,
    /// s: the lobe falls as t^−s.
    #[garde(custom(within(0.0, 8.0)))]
    pub slope: f64,
}

/// One ghost.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct GhostSpec {
    /// Position on the line: 1 is the Sun's image, 0 the principal point, −1 the point opposite the Sun.
    #[garde(custom(within(-4.0, 4.0)))]
    pub along: f64,
    /// Distance from its middle to an edge, as a fraction of the image's width.
    #[garde(custom(within(0.001, 1.0)))]
    pub radius: f64,
    /// Fraction of the Sun's light.
    #[garde(custom(within(0.0, 0.1)))]
    pub share: f64,
}

fn scatter_at_most(lobes: &[ScatterSpec], (): &()) -> garde::Result {
    let all: f64 = lobes.iter().map(|lobe| lobe.share).sum();
    if all <= SCATTER_MAX {
        return Ok(());
    }
    Err(garde::Error::new(format!("shares of {all} together are not allowed: must be at most {SCATTER_MAX}")))
}

impl Default for FlareSpec {
    /// A small clean lens of several elements behind a round aperture. The ghosts are not those of a real lens: they
    /// are chosen to resemble the pictures of Apollo.
    fn default() -> Self {
        let ghost = |along, radius, share| GhostSpec { along, radius, share };
        Self {
            scatter: vec![ScatterSpec { share: 0.01, radius_deg: 0.1, slope: 2.0 }],
            blades: None,
            ghosts: vec![
                ghost(0.55, 0.016, 2e-6),
                ghost(0.3, 0.009, 1.2e-6),
                ghost(-0.25, 0.022, 3e-6),
                ghost(-0.5, 0.05, 1e-5),
                ghost(-0.8, 0.03, 4e-6),
                ghost(-1.3, 0.09, 1.5e-5),
            ],
            chromatic: 0.15,
            reach: 0.3,
        }
    }
}

/// The flare of one lens.
#[derive(Clone, Debug)]
pub(super) struct Flare {
    spec: FlareSpec,
    view: CameraView,
    vignetting: Vec<VignettingSpec>,
    channels: Vec<Channel>,
}

/// Stray light of one channel.
#[derive(Clone, Debug)]
struct Channel {
    /// The wavelength over that of green.
    wave: f64,
    glare: Profile,
    streaks: Option<Streaks>,
    veil: VeilingGlare,
}

/// The Sun's flare in one channel of one image.
struct SunFlare<'a> {
    channel: &'a Channel,
    light: f64,
    at_px: [f64; 2],
    ghosts: Ghosts,
}

impl Flare {
    pub(super) fn new(spec: &FlareSpec, camera: &CameraSpec, channels: usize) -> Self {
        let before = camera.stages.0.iter().take_while(|stage| !matches!(stage, StageSpec::Flare(_)));
        let vignetting = before.filter_map(|stage| match stage {
            StageSpec::Vignetting(vignetting) => Some(*vignetting),
            _ => None,
        });
        let wavelength_m = |channel: usize| if channels == 3 { RGB_M[channel] } else { ALL_M };
        Self {
            spec: spec.clone(),
            view: camera.view(Pose::identity()),
            vignetting: vignetting.collect(),
            channels: (0..channels).map(|channel| Channel::new(spec, camera, wavelength_m(channel))).collect(),
        }
    }

    /// Spreads the light of a plate, and that of the Sun if it is visible.
    pub(super) fn add(&self, plate: &mut Plate, shot: &Shot<'_>) {
        let width = plate.width;
        let is_source = |row: usize, column: usize| self.is_source(shot, width, row, column);
        let received = self.channels.iter().zip(&plate.planes);
        let received: Vec<_> = received.map(|(channel, plane)| channel.veil.received(plane, is_source)).collect();
        let suns = shot.sun.map_or(Vec::new(), |sun| self.suns(sun));
        plate.for_each_row(|channel, row, values| {
            self.channels[channel].veil.spread(&received[channel], row, values);
            if let Some(sun) = suns.get(channel) {
                sun.add(&self.view, row, values);
            }
        });
    }

    /// Whether a pixel is a source of stray light. The Sun's disc is not, because its flare is added as a whole;
    /// neither is the sky, whose other light is negligible.
    fn is_source(&self, shot: &Shot<'_>, width: usize, row: usize, column: usize) -> bool {
        if shot.frame.class[row * width + column] == Class::Sky as u16 {
            return false;
        }
        let near = SUN_RADIUS_RAD * self.view.fx_px + AROUND_SUN_PX;
        shot.sun.is_none_or(|sun| {
            let [right, down] = [column as f64 - sun.at_px[0], row as f64 - sun.at_px[1]];
            right * right + down * down > near * near
        })
    }

    /// The Sun's flare, channel by channel.
    fn suns(&self, sun: &SunSight) -> Vec<SunFlare<'_>> {
        let light = self.light(sun) / self.channels.len().max(1) as f64;
        let seen = self.channels.iter().filter(|_| light > 0.0);
        let flare =
            |channel| SunFlare { channel, light, at_px: sun.at_px, ghosts: self.ghosts(sun.at_px, light, channel) };
        seen.map(flare).collect()
    }

    fn ghosts(&self, sun_px: [f64; 2], light: f64, channel: &Channel) -> Ghosts {
        Ghosts::new(&self.spec, &self.view, sun_px, light, channel.wave)
    }

    /// The light of the Sun's image, irradiance times pixels.
    fn light(&self, sun: &SunSight) -> f64 {
        let CameraView { fx_px, fy_px, .. } = self.view;
        let size = [self.view.width, self.view.height].map(f64::from);
        let nearest = [0, 1].map(|axis: usize| sun.at_px[axis].clamp(-0.5, size[axis] - 0.5));
        let outside_px = (sun.at_px[0] - nearest[0]).hypot(sun.at_px[1] - nearest[1]);
        let reach_px = (self.spec.reach * size[0]).max(f64::MIN_POSITIVE);
        let hood = (1.0 - outside_px / reach_px).max(0.0);
        let pixel_sr = match self.view.pixel_sr(nearest) {
            seen if seen > 0.0 => seen,
            _ => 1.0 / (fx_px * fy_px),
        };
        FRAC_PI_4 * sun.irradiance_w_m2 * self.vignetted(nearest) * hood / pixel_sr
    }

    /// Fraction of light that vignetting leaves at a position in the image.
    fn vignetted(&self, [u, v]: [f64; 2]) -> f64 {
        let CameraView { fx_px, fy_px, cx_px, cy_px, .. } = self.view;
        let [a, b] = [(u - cx_px) / fx_px, (v - cy_px) / fy_px];
        self.vignetting.iter().map(|vignetting| vignetting.left(1.0 + a * a + b * b)).product()
    }
}

impl Channel {
    fn new(spec: &FlareSpec, camera: &CameraSpec, wavelength_m: f64) -> Self {
        let lens = camera.intrinsics();
        let aperture_m = camera.focal_length_m() / camera.f_number;
        let diffraction_rad = 2.0 * wavelength_m / (PI * PI * aperture_m);
        let diffracted = Lobe::new(1.0, diffraction_rad, 3.0);
        let scattered = || spec.scatter.iter().map(|of| Lobe::new(of.share, of.radius_deg.to_radians(), of.slope));
        let all = PointSpread(std::iter::once(diffracted).chain(scattered()).collect());
        let about_sun = if spec.blades.is_some() { PointSpread(scattered().collect()) } else { all.clone() };
        let soft_rad = SUN_RADIUS_RAD.hypot(0.5 / lens.fx_px);
        let [width, height] = camera.size();
        let beside_px = spec.reach * width as f64;
        let out = [(width as f64 + beside_px) / lens.fx_px, (height as f64 + beside_px) / lens.fy_px];
        Self {
            wave: wavelength_m / ALL_M,
            glare: Profile::new(&about_sun, soft_rad, out[0].hypot(out[1])),
            streaks: spec.blades.map(|blades| Streaks::new(blades, diffraction_rad, soft_rad, lens.fx_px)),
            veil: VeilingGlare::new(&all, lens, [width, height]),
        }
    }
}

impl SunFlare<'_> {
    fn add(&self, view: &CameraView, row: usize, values: &mut [f32]) {
        let [u, v] = self.at_px;
        let per_px = [1.0 / view.fx_px, 1.0 / view.fy_px];
        let peak = self.light * per_px[0] * per_px[1];
        self.channel.glare.add(peak, [u, (row as f64 - v) * per_px[1]], per_px[0], values);
        if let Some(streaks) = &self.channel.streaks {
            streaks.add(self.light, self.at_px, row, values);
        }
        self.ghosts.add(row, values);
    }
}

/// The range of whole columns between two positions, clipped to a row of `count` columns.
fn columns(from: f64, to: f64, count: usize) -> std::ops::Range<usize> {
    let inside = |at: f64| (at.max(0.0) as usize).min(count);
    inside(from.ceil())..inside(to.floor() + 1.0)
}

/// Unit vectors at equal angles, the first slightly rotated from the image's axes.
fn spokes(count: u32) -> Vec<[f64; 2]> {
    const TURN: f64 = 0.2;
    let angle = |k: u32| std::f64::consts::TAU * (f64::from(k) + TURN) / f64::from(count);
    (0..count).map(|k| angle(k).sin_cos().into()).collect()
}

#[cfg(test)]
mod tests;
