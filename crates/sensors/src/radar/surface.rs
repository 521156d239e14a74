//! Radar backscatter of a surface: its cross-section per area, σ⁰, at the angle of incidence θ.
//!
//! σ⁰(θ) = q · g(θ) + d · (n + 1)/2 · cosⁿθ
//!
//! The quasi-specular part comes from facets that face the radar, with root mean square slope s:
//!
//! - `hagfors`: g = C/2 · (cos⁴θ + C sin²θ)^(−3/2), C = 1/s² (Hagfors, Backscattering from an undulating surface with
//!   applications to radar returns from the Moon, Journal of Geophysical Research 69, 1964), for natural ground;
//! - `gaussian`: g = s⁻² sec⁴θ exp(−tan²θ/s²) (Barrick, Rough surface scattering based on the specular point theory,
//!   IEEE Transactions on Antennas and Propagation 16, 1968), for made surfaces.
//!
//! The diffuse part has the exponent n: 2 is Lambert's law. Both are scaled so that a large sphere of radius a has
//! the cross-section (q + d) πa², as is usual for planets; for the quasi-specular part that holds for gentle slopes
//! (11 % too much at s = ½).
//!
//! q and d are those of the material if it specifies them (`BeamReturn::radar`), because they follow from its
//! composition. The slopes and n are those of its class: they follow from its shape at the radar's wavelength.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_scene::{BeamReturn, Class};
use serde::Deserialize;

/// Cosine of incidence below which a surface returns nothing, because its own roughness shadows it.
const COS_MIN: f64 = 1e-3;

/// Radar scattering of one class of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RadarSurfaceSpec {
    /// q: quasi-specular cross-section of a large sphere over πa², 0 to 1; 1 for a perfect conductor.
    #[garde(custom(within(0.0, 1.0)))]
    pub quasi_specular: f64,
    /// s: root mean square slope of the facets, 0.02 to 2.
    #[garde(custom(within(0.02, 2.0)))]
    pub slope: f64,
    /// Distribution of the slopes.
    #[garde(skip)]
    pub slopes: SlopeLaw,
    /// d: diffuse cross-section of a large sphere over πa², 0 to 8/3; a sphere that reflects everything by Lambert's
    /// law (n = 2) has 8/3.
    #[garde(custom(within(0.0, 8.0 / 3.0)))]
    pub diffuse: f64,
    /// n: exponent of the diffuse part, 1 to 4.
    #[garde(custom(within(1.0, 4.0)))]
    pub diffuse_exponent: f64,
}

/// Distribution of the slopes of facets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlopeLaw {
    /// Hagfors's law, with a long tail.
    Hagfors,
    /// A normal distribution.
    Gaussian,
}

/// Radar scattering by the classes of truth images; materials may override `quasi_specular` and `diffuse`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SurfacesSpec {
    /// Regolith.
    #[garde(dive)]
    pub ground: RadarSurfaceSpec,
    /// Rocks.
    #[garde(dive)]
    pub rock: RadarSurfaceSpec,
    /// Parts of rovers.
    #[garde(dive)]
    pub rover: RadarSurfaceSpec,
    /// Fixed objects.
    #[garde(dive)]
    pub object: RadarSurfaceSpec,
}

impl SurfacesSpec {
    /// The surface that a ray met: that of its class with the material's own shares; `None` for the sky.
    pub(super) fn of(&self, met: &BeamReturn) -> Option<RadarSurfaceSpec> {
        let all = [
            (Class::Ground, &self.ground),
            (Class::Rock, &self.rock),
            (Class::Rover, &self.rover),
            (Class::Object, &self.object),
        ];
        let class = all.into_iter().find_map(|(of, surface)| (of as u16 == met.class).then_some(*surface))?;
        let Some([quasi_specular, diffuse]) = met.radar.map(|shares| shares.map(f64::from)) else { return Some(class) };
        Some(RadarSurfaceSpec { quasi_specular, diffuse, ..class })
    }
}

impl RadarSurfaceSpec {
    /// Cross-section per area at an angle of incidence of this cosine, 0 to 1.
    #[must_use]
    pub fn sigma0(&self, cos: f64) -> f64 {
        if cos < COS_MIN {
            return 0.0;
        }
        let n = self.diffuse_exponent;
        self.quasi_specular * self.facets(cos) + self.diffuse * 0.5 * (n + 1.0) * cos.powf(n)
    }

    /// g of the module's equation.
    fn facets(&self, cos: f64) -> f64 {
        let cos2 = cos * cos;
        let sin2 = (1.0 - cos2).max(0.0);
        let steepness = 1.0 / (self.slope * self.slope);
        match self.slopes {
            SlopeLaw::Hagfors => 0.5 * steepness * (cos2 * cos2 + steepness * sin2).powf(-1.5),
            SlopeLaw::Gaussian => steepness * (-steepness * sin2 / cos2).exp() / (cos2 * cos2),
        }
    }

    /// Cross-section, m², of the surface that a ray of solid angle `solid_angle_sr` meets at `range_m`: the ray
    /// illuminates the area r² Ω/cos θ.
    pub(super) fn cross_section_m2(&self, cos: f64, range_m: f64, solid_angle_sr: f64) -> f64 {
        if cos < COS_MIN { 0.0 } else { self.sigma0(cos) * range_m * range_m * solid_angle_sr / cos }
    }
}
