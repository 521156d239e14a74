//! Radars that scan at one instant, as automotive ones do. Rays over the field of view meet surfaces; each stands for
//! the area that it lights and sends back the power of the cross-section σ = σ⁰(θ) r² Ω/cos θ (`surface`) by the radar
//! equation
//!
//! S/N = P G_t G_r λ² σ T / ((4π)³ r⁴ k T₀ F L)
//!
//! with the power P and the gains G, the wavelength λ, the time T over which echoes are summed in phase, the noise
//! figure F at T₀ = 290 K and the losses L (Richards, Scheer and Holm (eds.), Principles of Modern Radar, 2010, chapter
//! 2). Both antennas have the pattern 2^(−(2α/w)²) about their axis, w wide between the points of half the power.
//!
//! Powers of a resolution cell of range, azimuth, elevation and Doppler speed add; it is told at the mean of what is in
//! it, weighted by power: so what is in one cell is one return. The power that is measured of a cell of the mean S/N is
//! |√(S/N) + n|² with complex normal noise n of the power 1, or, where scatterers fluctuate (`swerling1`), (1 + S/N)
//! times an exponential variate. Cells over the threshold are told. Range, angles and speed have noise of their own; a
//! speed that it takes over the limits is told as one within, a range that it takes over the limits is not told. A
//! radar that is set to have no noise tells the mean S/N and no false alarms.
//! False alarms are as many as a Poisson variate says, anywhere, with the power of noise that has passed the threshold.
//!
//! The speed is the rate of the range between the radar and the point that the ray meets, by the motion of both over
//! T, in the limits that the radar tells apart. Left out: side lobes and leaking between cells, more than one
//! reflection, interference, polarisation, waves that enter the ground, and an estimate of the clutter's power: the
//! threshold is a fixed one over the noise.

mod spec;
mod surface;

use std::collections::BTreeMap;

use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::random::{RngExt, Stream, stream_at};
use selene_scene::{Beam, BeamReturn};

pub use spec::{Fluctuation, RadarSpec};
pub use surface::{SlopeLaw, SurfaceSpec, SurfacesSpec};

use crate::Sample;
use crate::lidar::directions;
use crate::noise::gaussian;
use spec::to_db;

/// From the noise of a cell to that of the next one, in words of the stream: a cell takes about 12.
const CELL_WORDS: u128 = 32;

/// A return of a radar, in its frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadarReturn {
    /// Distance, m.
    pub range_m: f64,
    /// From x toward y, rad.
    pub azimuth_rad: f64,
    /// Up, rad; 0 where the radar tells none.
    pub elevation_rad: f64,
    /// Rate of the range, m/s: below 0 of what comes nearer.
    pub speed_m_s: f64,
    /// Power over the noise.
    pub snr: f64,
}

/// What a radar tells, and what a perfect one would: the strongest first.
#[derive(Clone, Debug, PartialEq)]
pub struct RadarReading {
    /// What it tells.
    pub returns: Vec<RadarReturn>,
    /// The cells whose mean power is over the threshold, without noise and false alarms.
    pub truth: Vec<RadarReturn>,
}

/// A radar with its rays worked out.
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
    /// What both antennas have there of what they have in the middle.
    pattern: f64,
}

/// Numbers of a cell in range, azimuth, elevation and speed.
type Cell = [i64; 4];

/// What is in a cell: its power over the noise, and that times what is told.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    snr: f64,
    range: f64,
    azimuth: f64,
    elevation: f64,
    speed: f64,
}

impl RadarReturn {
    /// Power over the noise, dB.
    #[must_use]
    pub fn amplitude_db(&self) -> f64 {
        to_db(self.snr)
    }

    /// Where it is in the radar's frame, m.
    #[must_use]
    pub fn position_m(&self) -> Vector3<f64> {
        let [toward, ..] = directions(self.azimuth_rad, self.elevation_rad);
        toward * self.range_m
    }
}

impl Radar {
    /// Works out the rays.
    #[must_use]
    pub fn new(spec: RadarSpec) -> Self {
        Self { rays: rays(&spec), snr_at_1_m: spec.snr_at_1_m(), spec }
    }

    /// What it was made from.
    #[must_use]
    pub fn spec(&self) -> &RadarSpec {
        &self.spec
    }

    /// All rays of a radar at this pose in the map frame, from the upper left, row by row.
    #[must_use]
    pub fn beams(&self, world_from_radar: &Pose) -> Vec<Beam> {
        let origin_m = world_from_radar.translation.vector.into();
        let beam = |ray: &Ray| {
            let [toward, ..] = directions(ray.azimuth_rad, ray.elevation_rad);
            Beam::new(origin_m, (world_from_radar.rotation * toward).map(|c| c as f32).into())
        };
        self.rays.iter().map(beam).collect()
    }

    /// Rate of the range along a ray to a point, m/s, from the velocities of both in the map frame, m/s.
    #[must_use]
    pub fn range_rate_m_s(beam: &Beam, of_point_m_s: &Vector3<f64>, of_radar_m_s: &Vector3<f64>) -> f64 {
        (of_point_m_s - of_radar_m_s).dot(&Vector3::from(beam.direction.map(f64::from)))
    }

    /// What it tells at `sample` of what its rays met, in the order of `beams`. `speed_m_s` gives the rate of the range
    /// of a ray, by its number, m/s; `seed` is the rover's.
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
            returns.extend(self.measured(content, &mut noise).filter(|told| self.tells(told)));
        }
        returns.append(&mut self.false_alarms(seed, sample));
        let truth = cells.values().filter_map(Content::mean).filter(|told| self.tells(told)).collect();
        RadarReading { returns: self.strongest(returns), truth: self.strongest(truth) }
    }

    /// Whether a return is strong enough and in range.
    fn tells(&self, told: &RadarReturn) -> bool {
        told.snr >= self.spec.threshold() && self.is_in_range(told.range_m)
    }

    fn is_in_range(&self, range_m: f64) -> bool {
        (self.spec.min_range_m..=self.spec.max_range_m).contains(&range_m)
    }

    /// Mean power over the noise of what a ray met; 0 of nothing.
    fn snr(&self, met: &BeamReturn, ray: &Ray) -> f64 {
        let range_m = f64::from(met.range_m);
        let in_range = range_m > 0.0 && self.is_in_range(range_m);
        let Some(surface) = self.spec.surfaces.of(met).filter(|_| in_range) else { return 0.0 };
        let area_m2 = surface.cross_section_m2(f64::from(met.cos_incidence), range_m, ray.solid_angle_sr);
        self.snr_at_1_m * ray.pattern * area_m2 / range_m.powi(4)
    }

    fn echo(&self, met: &BeamReturn, ray: &Ray, speed_m_s: f64, snr: f64) -> RadarReturn {
        let tells_elevation = self.spec.elevation_resolution_deg.is_some();
        RadarReturn {
            range_m: f64::from(met.range_m),
            azimuth_rad: ray.azimuth_rad,
            elevation_rad: if tells_elevation { ray.elevation_rad } else { 0.0 },
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

    /// A number for each cell, so that what is in others does not shift its noise.
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

    /// A cell as it is measured.
    fn measured(&self, content: &Content, rng: &mut Stream) -> Option<RadarReturn> {
        let spec = &self.spec;
        // Always the same draws.
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
            let told = spec.elevation_resolution_deg.map_or(0.0, |_| 1.0);
            RadarReturn {
                range_m: mean.range_m + spec.range_sigma_m * range,
                azimuth_rad: mean.azimuth_rad + spec.azimuth_sigma_deg.to_radians() * azimuth,
                elevation_rad: mean.elevation_rad + told * spec.elevation_sigma_deg.to_radians() * elevation,
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
        // A Poisson variate: how many exponential steps fit into the mean.
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

    /// The strongest returns, as many as are told.
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

    /// What is told of it without noise.
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

/// One draw of the mean 1.
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

/// What both antennas have in a direction of what they have in the middle.
fn pattern(widths_deg: [f64; 2], angles_rad: [f64; 2]) -> f64 {
    let off = |i: usize| (2.0 * angles_rad[i].to_degrees() / widths_deg[i]).powi(2);
    let one_way = (-(off(0) + off(1))).exp2();
    one_way * one_way
}

#[cfg(test)]
mod tests;
