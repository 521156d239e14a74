//! Models of radars that scan at one instant, like automotive ones. Rays over the field of view meet surfaces; each ray
//! represents the area that it illuminates and returns the power of the cross-section σ = σ⁰(θ) r² Ω/cos θ (`surface`)
//! by the radar equation
//!
//! S/N = P G_t G_r λ² σ T / ((4π)³ r⁴ k T₀ F L)
//!
//! with the power P and the gains G, the wavelength λ, the coherent integration time T, the noise figure F at
//! T₀ = 290 K and the losses L (Richards, Scheer and Holm (eds.), Principles of Modern Radar, 2010, chapter 2). Both
//! antennas have the pattern 2^(−(2α/w)²) about their axis, where w is the half-power width.
//!
//! Powers within a resolution cell of range, azimuth, elevation and Doppler speed add; the cell gives one return at
//! the power-weighted mean of its contents. The measured power of a cell of mean S/N is |√(S/N) + n|² with complex
//! normal noise n of power 1 or, where scatterers fluctuate (`swerling1`), (1 + S/N) times an exponential variate.
//! Cells over the threshold are reported. Range, angles and speed have noise of their own; a speed beyond the limits
//! because of noise is reported folded into them, a range beyond the limits is not reported. A radar that is set to
//! have no noise reports the mean S/N and no false alarms. The number of false alarms is a Poisson variate; they are
//! anywhere, with the power of noise that has passed the threshold.
//!
//! The speed is the range rate between the radar and the point that the ray meets, from the motion of both over T,
//! folded into the unambiguous interval. Left out: side lobes and leakage between cells, more than one reflection,
//! interference, polarisation, waves that enter the ground, and an estimate of the clutter's power: the threshold is
//! fixed relative to the noise.

mod spec;
mod surface;

use std::collections::BTreeMap;

use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::random::{RngExt, Stream, stream_at};
use selene_scene::{Beam, BeamReturn};

pub use spec::{Fluctuation, RadarSpec};
pub use surface::{RadarSurfaceSpec, SlopeLaw, SurfacesSpec};

use crate::Sample;
use crate::lidar::directions;
use crate::noise::gaussian;
use spec::to_db;

/// Distance in the noise stream from one cell to the next, in words: a cell uses about 12.
const CELL_WORDS: u128 = 32;

/// A return of a radar, in its frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadarReturn {
    /// Distance, m.
    pub range_m: f64,
    /// Azimuth from x toward y, rad.
    pub azimuth_rad: f64,
    /// Elevation, up, rad; 0 where the radar does not measure it.
    pub elevation_rad: f64,
    /// Range rate, m/s: negative for approaching targets.
    pub speed_m_s: f64,
    /// Signal-to-noise ratio of powers.
    pub snr: f64,
}

/// The reading of a radar, and that of a perfect one; strongest returns first.
#[derive(Clone, Debug, PartialEq)]
pub struct RadarReading {
    /// Measured returns, with noise and false alarms.
    pub returns: Vec<RadarReturn>,
    /// The cells whose mean power is over the threshold, without noise and false alarms.
    pub truth: Vec<RadarReturn>,
}

/// A radar with its rays.
#[derive(Clone, Debug)]
pub struct Radar {
    spec: RadarSpec,
    rays: Vec<Ray>,
    snr_at_1_m: f64,
}

#[derive(Clone, Copy, Debug)]
struct Ray {
    azimuth_rad: f64,
    elevation_rad: f64,
    solid_angle_sr: f64,
    /// Two-way antenna gain in this direction, relative to the axis.
    pattern: f64,
}

/// Indices of a cell in range, azimuth, elevation and speed.
type Cell = [i64; 4];

/// Contents of a cell: the sum of signal-to-noise ratios, and the sums of each quantity weighted by them.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    snr: f64,
    range: f64,
    azimuth: f64,
    elevation: f64,
    speed: f64,
}

impl RadarReturn {
    /// Signal-to-noise ratio, dB.
    #[must_use]
    pub fn amplitude_db(&self) -> f64 {
        to_db(self.snr)
    }

    /// Position in the radar's frame, m.
    #[must_use]
    pub fn position_m(&self) -> Vector3<f64> {
        let [toward, ..] = directions(self.azimuth_rad, self.elevation_rad);
        toward * self.range_m
    }
}

impl Radar {
    /// The radar of a spec; computes its rays.
    #[must_use]
    pub fn new(spec: RadarSpec) -> Self {
        Self { rays: rays(&spec), snr_at_1_m: spec.snr_at_1_m(), spec }
    }

    /// The spec that it was made from.
    #[must_use]
    pub fn spec(&self) -> &RadarSpec {
        &self.spec
    }

    /// All rays of the radar at this pose in the map frame, from the upper left, row by row.
    #[must_use]
    pub fn beams(&self, world_from_radar: &Pose) -> Vec<Beam> {
        let origin_m = world_from_radar.translation.vector.into();
        let beam = |ray: &Ray| {
            let [toward, ..] = directions(ray.azimuth_rad, ray.elevation_rad);
            Beam::new(origin_m, (world_from_radar.rotation * toward).map(|c| c as f32).into())
        };
        self.rays.iter().map(beam).collect()
    }

    /// Range rate along a ray from the radar to a point, m/s, from the velocities of both in the map frame, m/s.
    #[must_use]
    pub fn range_rate_m_s(beam: &Beam, of_point_m_s: &Vector3<f64>, of_radar_m_s: &Vector3<f64>) -> f64 {
        (of_point_m_s - of_radar_m_s).dot(&Vector3::from(beam.direction.map(f64::from)))
    }

    /// The reading at `sample` from the returns of its rays, in the order of `beams`. `speed_m_s` gives the range
    /// rate of a ray by its index, m/s; `seed` is the rover's.
    #[must_use]
    pub fn read(
        &self,
        met: &[BeamReturn],
        speed_m_s: impl Fn(usize) -> f64,
        seed: u64,
        sample: Sample,
    ) -> RadarReading {
        let mut cells: BTreeMap<Cell, Content> = BTreeMap::new();
        for (number, (met, ray)) in met.iter().zip(&self.rays).enumerate() {
            let snr = self.snr(met, ray);
            if snr > 0.0 {
                let echo = self.echo(met, ray, speed_m_s(number), snr);
                cells.entry(self.cell(&echo)).or_default().add(&echo);
            }
        }
        let mut noise = stream_at(seed, &self.spec.name, sample.index);
        let mut returns = Vec::new();
        for (cell, content) in &cells {
            noise.set_word_pos(self.number(cell) * CELL_WORDS);
            returns.extend(self.measured(content, &mut noise).filter(|reported| self.is_reported(reported)));
        }
        returns.append(&mut self.false_alarms(seed, sample));
        let truth = cells.values().filter_map(Content::mean).filter(|reported| self.is_reported(reported)).collect();
        RadarReading { returns: self.strongest(returns), truth: self.strongest(truth) }
    }

    /// Whether a return exceeds the threshold and is in range.
    fn is_reported(&self, reported: &RadarReturn) -> bool {
        reported.snr >= self.spec.threshold() && self.is_in_range(reported.range_m)
    }

    fn is_in_range(&self, range_m: f64) -> bool {
        (self.spec.min_range_m..=self.spec.max_range_m).contains(&range_m)
    }

    /// Mean signal-to-noise ratio of the return of a ray; 0 if it met nothing.
    fn snr(&self, met: &BeamReturn, ray: &Ray) -> f64 {
        let range_m = f64::from(met.range_m);
        let in_range = range_m > 0.0 && self.is_in_range(range_m);
        let Some(surface) = self.spec.surfaces.of(met).filter(|_| in_range) else { return 0.0 };
        let area_m2 = surface.cross_section_m2(f64::from(met.cos_incidence), range_m, ray.solid_angle_sr);
        self.snr_at_1_m * ray.pattern * area_m2 / range_m.powi(4)
    }

    fn echo(&self, met: &BeamReturn, ray: &Ray, speed_m_s: f64, snr: f64) -> RadarReturn {
        let reports_elevation = self.spec.elevation_resolution_deg.is_some();
        RadarReturn {
            range_m: f64::from(met.range_m),
            azimuth_rad: ray.azimuth_rad,
            elevation_rad: if reports_elevation { ray.elevation_rad } else { 0.0 },
            speed_m_s: self.spec.folded_m_s(speed_m_s),
            snr,
        }
    }

    /// The cell that an echo falls into.
    fn cell(&self, echo: &RadarReturn) -> Cell {
        let spec = &self.spec;
        let of_angle = |angle_rad: f64, full_deg: f64, cell_deg: f64| {
            ((angle_rad.to_degrees() + 0.5 * full_deg) / cell_deg).floor() as i64
        };
        let elevation = spec.elevation_resolution_deg;
        [
            (echo.range_m / spec.range_resolution_m).floor() as i64,
            of_angle(echo.azimuth_rad, spec.horizontal_fov_deg, spec.azimuth_resolution_deg),
            elevation.map_or(0, |cell_deg| of_angle(echo.elevation_rad, spec.vertical_fov_deg, cell_deg)),
            ((echo.speed_m_s - spec.speed_limits_m_s[0]) / spec.speed_resolution_m_s).floor() as i64,
        ]
    }

    /// A unique number of a cell, so that its noise does not depend on other cells.
    fn number(&self, cell: &Cell) -> u128 {
        let spec = &self.spec;
        let count = |full: f64, cell: f64| (full / cell).ceil() as u128 + 1;
        let counts = [
            count(spec.horizontal_fov_deg, spec.azimuth_resolution_deg),
            spec.elevation_resolution_deg.map_or(1, |cell_deg| count(spec.vertical_fov_deg, cell_deg)),
            count(spec.speed_limits_m_s[1] - spec.speed_limits_m_s[0], spec.speed_resolution_m_s),
        ];
        let [range, others @ ..] = cell.map(|number| number.max(0) as u128);
        others.iter().zip(counts).fold(range, |number, (of, count)| number * count + of)
    }

    /// The measured return of a cell.
    fn measured(&self, content: &Content, rng: &mut Stream) -> Option<RadarReturn> {
        let spec = &self.spec;
        // The number of draws is always the same.
        let [along, across, range, azimuth, elevation, speed] = [0; 6].map(|_| gaussian(rng));
        let measured = |mean: RadarReturn| {
            let snr = match spec.fluctuation {
                Fluctuation::Steady => {
                    let half = std::f64::consts::FRAC_1_SQRT_2;
                    (mean.snr.sqrt() + along * half).powi(2) + (across * half).powi(2)
                }
                Fluctuation::Noiseless => mean.snr,
                Fluctuation::Swerling1 => (1.0 + mean.snr) * 0.5 * (along * along + across * across),
            };
            let reported = spec.elevation_resolution_deg.map_or(0.0, |_| 1.0);
            RadarReturn {
                range_m: mean.range_m + spec.range_sigma_m * range,
                azimuth_rad: mean.azimuth_rad + spec.azimuth_sigma_deg.to_radians() * azimuth,
                elevation_rad: mean.elevation_rad + reported * spec.elevation_sigma_deg.to_radians() * elevation,
                speed_m_s: spec.folded_m_s(mean.speed_m_s + spec.speed_sigma_m_s * speed),
                snr,
            }
        };
        content.mean().map(measured)
    }

    /// Noise that passed the threshold, anywhere: above it, its power is exponentially distributed.
    fn false_alarms(&self, seed: u64, sample: Sample) -> Vec<RadarReturn> {
        let spec = &self.spec;
        let mut rng = stream_at(seed, &format!("{}/false_alarms", spec.name), sample.index);
        let mut alarms = Vec::new();
        // A Poisson variate: the number of exponential steps that fit into the mean.
        let mut passed = exponential(&mut rng);
        while passed < spec.false_alarms {
            let mut between = |[low, high]: [f64; 2]| low + (high - low) * rng.random::<f64>();
            let half_rad = |full_deg: f64| (0.5 * full_deg).to_radians();
            let (wide, high) = (half_rad(spec.horizontal_fov_deg), half_rad(spec.vertical_fov_deg));
            let elevation_rad = between([-high, high]);
            alarms.push(RadarReturn {
                range_m: between([spec.min_range_m, spec.max_range_m]),
                azimuth_rad: between([-wide, wide]),
                elevation_rad: if spec.elevation_resolution_deg.is_some() { elevation_rad } else { 0.0 },
                speed_m_s: between(spec.speed_limits_m_s),
                snr: spec.threshold() + exponential(&mut rng),
            });
            passed += exponential(&mut rng);
        }
        alarms
    }

    /// The strongest returns, at most `returns_max`, strongest first.
    fn strongest(&self, mut returns: Vec<RadarReturn>) -> Vec<RadarReturn> {
        returns.sort_by(|a, b| b.snr.total_cmp(&a.snr));
        returns.truncate(self.spec.returns_max as usize);
        returns
    }
}

impl Content {
    fn add(&mut self, echo: &RadarReturn) {
        self.snr += echo.snr;
        self.range += echo.snr * echo.range_m;
        self.azimuth += echo.snr * echo.azimuth_rad;
        self.elevation += echo.snr * echo.elevation_rad;
        self.speed += echo.snr * echo.speed_m_s;
    }

    /// The return of the cell without noise.
    fn mean(&self) -> Option<RadarReturn> {
        let mean = |sum: f64| sum / self.snr;
        (self.snr > 0.0).then(|| RadarReturn {
            range_m: mean(self.range),
            azimuth_rad: mean(self.azimuth),
            elevation_rad: mean(self.elevation),
            speed_m_s: mean(self.speed),
            snr: self.snr,
        })
    }
}

/// An exponential variate of mean 1.
fn exponential(rng: &mut Stream) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// The rays over a field of view, from the upper left, row by row.
fn rays(spec: &RadarSpec) -> Vec<Ray> {
    let [columns, rows] = spec.rays;
    let [wide_rad, high_rad] = [spec.horizontal_fov_deg, spec.vertical_fov_deg].map(f64::to_radians);
    let edge = |number: u32, count: u32| 0.5 - f64::from(number) / f64::from(count);
    let middle = |number: u32, count: u32| edge(number, count) - 0.5 / f64::from(count);
    let ray = |(row, column): (u32, u32)| {
        let (azimuth_rad, elevation_rad) = (wide_rad * middle(column, columns), high_rad * middle(row, rows));
        let [upper, lower] = [row, row + 1].map(|row| (high_rad * edge(row, rows)).sin());
        Ray {
            azimuth_rad,
            elevation_rad,
            solid_angle_sr: wide_rad / f64::from(columns) * (upper - lower),
            pattern: pattern(spec.half_power_deg, [azimuth_rad, elevation_rad]),
        }
    };
    (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(ray).collect()
}

/// Two-way antenna gain in a direction, relative to the axis.
fn pattern(widths_deg: [f64; 2], angles_rad: [f64; 2]) -> f64 {
    let off = |i: usize| (2.0 * angles_rad[i].to_degrees() / widths_deg[i]).powi(2);
    let one_way = (-(off(0) + off(1))).exp2();
    one_way * one_way
}

#[cfg(test)]
mod tests;
