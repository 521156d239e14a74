//! Reflectance of surfaces. Regolith follows Hapke's photometric function (Hapke 2012; parameters of Sato et al. 2014,
//! doi 10.1002/2013JE004580, App. A) without coherent backscatter. Those parameters hold for 30° S to 30° N; they also
//! serve the poles until a polar set is added. Rover parts use the principled reflectance (Burley 2012), tests use
//! Lambert's.

use std::f64::consts::{FRAC_PI_2, PI};

use bytemuck::Zeroable;
use nalgebra::Vector3;
use selene_terrain::{HapkeSpec, LambertSpec, PrincipledSpec, ReflectanceSpec};

use crate::kernel::{HAPKE, LAMBERT, PRINCIPLED, hapke};
use crate::record::MaterialRecord;

/// Lower limit of the mean slope of the unresolved roughness, because the equations divide by its tangent.
const SMOOTHEST_THETA_RAD: f64 = 1e-3;

/// Steps across each angle of the numerical integral over the hemisphere.
const HEMISPHERE_STEPS: usize = 32;

/// Parameters of Hapke's photometric function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HapkeParams {
    /// Single-scattering albedo w, 0…1.
    pub w: f64,
    /// Width b of the double Henyey–Greenstein phase function, 0…1.
    pub b: f64,
    /// Balance c of the phase function's two lobes.
    pub c: f64,
    /// Height of the shadow-hiding opposition surge.
    pub bs0: f64,
    /// Angular width of the opposition surge.
    pub hs: f64,
    /// Filling factor Φ, above 0 and below 0.75.
    pub filling: f64,
    /// Mean slope θp of the unresolved roughness, rad.
    pub theta_rad: f64,
    /// Colour: reflectance in red, green and blue, relative to their mean.
    pub tint: [f64; 3],
    /// Reflectance at each of `NEAR_INFRARED_NM`, relative to visible light.
    pub near_infrared: [f64; 2],
    /// Radar backscatter, as in `PrincipledParams`.
    pub radar: Option<[f64; 2]>,
}

impl HapkeParams {
    /// Mean lunar regolith. Its colour is the Moon's at 30° to 60° of phase: a line through the disc's reflectances in
    /// twelve bands from 405 to 693 nm (Kieffer and Stone 2005, AJ 129, 2887, Table 4), read at 650, 550 and 450 nm.
    /// Its
    /// near infrared uses the same table's constant terms a0, which hold toward zero phase, where a lidar looks: the
    /// mean
    /// at 544 to 554 nm against those between 882 and 928 nm, and between 1539 and 1634 nm.
    pub const REGOLITH: Self = Self {
        w: 0.32357,
        b: 0.23955,
        c: 0.30452,
        bs0: 1.80238,
        hs: 0.07145,
        filling: 0.3,
        theta_rad: 23.4 * PI / 180.0,
        tint: [1.2, 1.0, 0.8],
        near_infrared: [1.46, 2.19],
        radar: None,
    };

    /// Rock: regolith's parameters with a brighter grain, a smoother, closed surface and half the colour, because
    /// weathering causes the colour. A choice, not a measurement.
    pub const ROCK: Self = Self {
        w: 0.42,
        filling: 0.6,
        theta_rad: 15.0 * PI / 180.0,
        tint: [1.1, 1.0, 0.9],
        near_infrared: [1.23, 1.6],
        ..Self::REGOLITH
    };

    /// These parameters with those replaced that a site's file gives.
    #[must_use]
    pub fn but(&self, given: &HapkeSpec) -> Self {
        Self {
            w: given.w.unwrap_or(self.w),
            b: given.b.unwrap_or(self.b),
            c: given.c.unwrap_or(self.c),
            bs0: given.bs0.unwrap_or(self.bs0),
            hs: given.hs.unwrap_or(self.hs),
            filling: given.filling.unwrap_or(self.filling),
            theta_rad: given.theta_deg.map_or(self.theta_rad, f64::to_radians),
            tint: given.tint.unwrap_or(self.tint),
            near_infrared: given.near_infrared.unwrap_or(self.near_infrared),
            radar: given.radar.or(self.radar),
        }
    }

    /// Reflectance f(i, e, ψ), 1/sr, such that radiance = f · irradiance · cos i. Angles in radians; ψ is the azimuth
    /// between the planes of incidence and emission. Zero when the source or the viewer is below the horizon.
    #[must_use]
    pub fn reflectance_per_sr(&self, incidence_rad: f64, emission_rad: f64, azimuth_rad: f64) -> f64 {
        let toward = |angle: f64, azimuth: f64| {
            Vector3::new(angle.sin() * azimuth.cos(), angle.sin() * azimuth.sin(), angle.cos()).cast::<f32>()
        };
        let (sun, viewer) = (toward(incidence_rad, 0.0), toward(emission_rad, azimuth_rad));
        if sun.z <= 0.0 || viewer.z <= 0.0 {
            return 0.0;
        }
        f64::from(hapke::reflected(&self.record(0.0), &Vector3::z(), &sun, &viewer) / sun.z)
    }

    /// Fraction of light incident at `incidence_rad` that is reflected into all directions.
    #[must_use]
    pub fn hemispherical_albedo(&self, incidence_rad: f64) -> f64 {
        let step = FRAC_PI_2 / HEMISPHERE_STEPS as f64;
        let middle = |i: usize| (i as f64 + 0.5) * step;
        let ring = |e: f64| {
            let around: f64 =
                (0..2 * HEMISPHERE_STEPS).map(|j| self.reflectance_per_sr(incidence_rad, e, middle(j))).sum();
            2.0 * around * step * step * e.cos() * e.sin()
        };
        (0..HEMISPHERE_STEPS).map(|i| ring(middle(i))).sum()
    }

    fn record(&self, albedo: f64) -> MaterialRecord {
        let theta = self.theta_rad.max(SMOOTHEST_THETA_RAD);
        let k_phi = 1.209 * self.filling.powf(2.0 / 3.0);
        let root = (1.0 - self.w).max(0.0).sqrt();
        MaterialRecord {
            kind: HAPKE,
            albedo: albedo as f32,
            w: self.w as f32,
            b: self.b as f32,
            c: self.c as f32,
            bs0: self.bs0 as f32,
            hs: self.hs as f32,
            k: (-(1.0 - k_phi).ln() / k_phi) as f32,
            tan_theta: theta.tan() as f32,
            chi: (1.0 + PI * theta.tan().powi(2)).sqrt().recip() as f32,
            r0: ((1.0 - root) / (1.0 + root)) as f32,
            tint: self.tint.map(|band| band as f32),
            ..MaterialRecord::zeroed()
        }
    }
}

/// Least roughness of a principled material: with this, the Sun's disc and neighbouring pixels still show a glint
/// instead of isolated specks.
pub const ROUGHNESS_MIN: f64 = 0.1;

/// Normal reflectance of non-metallic facets with `specular` 1 (Burley 2012).
const SPECULAR_SCALE: f64 = 0.08;

/// Parameters of the principled reflectance, all 0…1 unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrincipledParams {
    /// Red, green and blue: reflectance of the diffuse part, or normal reflectance of the metal.
    pub base: [f64; 3],
    /// Metallic fraction.
    pub metallic: f64,
    /// Roughness of the facets; values below `ROUGHNESS_MIN` are raised to it.
    pub roughness: f64,
    /// Specular strength of the non-metallic part; 0.5 for plastics and paints.
    pub specular: f64,
    /// Diffuse reflectance at each of `NEAR_INFRARED_NM`; none means the same as in visible light.
    pub near_infrared: Option<[f64; 2]>,
    /// Radar backscatter by facets, 0…1, and diffuse, 0…8/3, as cross-sections of a large sphere divided by its disc's
    /// area; none where the radar's file gives values for the whole class.
    pub radar: Option<[f64; 2]>,
}

impl PrincipledParams {
    fn record(&self) -> MaterialRecord {
        let mean = self.base.iter().sum::<f64>() / 3.0;
        let tint = self.base.map(|band| if mean > 0.0 { (band / mean) as f32 } else { 1.0 });
        MaterialRecord {
            kind: PRINCIPLED,
            albedo: mean as f32,
            tint,
            metallic: self.metallic as f32,
            alpha: self.roughness.max(ROUGHNESS_MIN).powi(2) as f32,
            specular: (SPECULAR_SCALE * self.specular) as f32,
            ..MaterialRecord::zeroed()
        }
    }
}

/// Reflectance of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Material {
    /// Rough particulate matter: soil and rock.
    Hapke(HapkeParams),
    /// Paint, plastic and metal.
    Principled(PrincipledParams),
    /// Equal radiance in all directions.
    Lambert {
        /// Fraction of light that is reflected, 0…1.
        albedo: f64,
    },
}

impl Material {
    /// The material that a file describes; `usual` supplies the Hapke parameters that the file leaves out.
    #[must_use]
    pub fn of(spec: &ReflectanceSpec, usual: &HapkeParams) -> Self {
        match *spec {
            ReflectanceSpec::Hapke(given) => Self::Hapke(usual.but(&given)),
            ReflectanceSpec::Principled(spec) => {
                let PrincipledSpec { base, metallic, roughness, specular, near_infrared, radar } = spec;
                Self::Principled(PrincipledParams { base, metallic, roughness, specular, near_infrared, radar })
            }
            ReflectanceSpec::Lambert(LambertSpec { albedo }) => Self::Lambert { albedo },
        }
    }

    /// Diffuse reflectance at each of `NEAR_INFRARED_NM`, 0…1; `visible` is the reflectance in visible light, the
    /// record's albedo. Values above 1 are clamped to 1: no white surface has a spectrum that rises so far.
    fn near_infrared(&self, visible: f32) -> [f32; 2] {
        match self {
            Self::Hapke(params) => params.near_infrared.map(|over_visible| (over_visible as f32 * visible).min(1.0)),
            Self::Principled(PrincipledParams { near_infrared: Some(given), .. }) => given.map(|part| part as f32),
            Self::Principled(_) | Self::Lambert { .. } => [visible; 2],
        }
    }

    /// Radar backscatter, as in `PrincipledParams`.
    #[must_use]
    pub(crate) fn radar(&self) -> Option<[f32; 2]> {
        let given = match self {
            Self::Hapke(params) => params.radar,
            Self::Principled(params) => params.radar,
            Self::Lambert { .. } => None,
        };
        given.map(|shares| shares.map(|share| share as f32))
    }

    /// The material as the kernels read it.
    #[must_use]
    pub fn record(&self) -> MaterialRecord {
        let record = match self {
            Self::Hapke(params) => params.record(params.hemispherical_albedo(0.0)),
            Self::Principled(params) => params.record(),
            Self::Lambert { albedo } => {
                MaterialRecord { kind: LAMBERT, albedo: *albedo as f32, tint: [1.0; 3], ..MaterialRecord::zeroed() }
            }
        };
        MaterialRecord { near_infrared: self.near_infrared(record.albedo), ..record }
    }
}
