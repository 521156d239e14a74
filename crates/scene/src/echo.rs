//! A lidar's receiver as sensors describe it, and what it reports of a scene's beams; `kernel::echo` is the model. Dust
//! in front of a surface gives echoes of its own and weakens the surface's, see `dust`; it is added on the host, whatever
//! device traced the rays.

use std::ops::{Range, RangeInclusive};

use nalgebra::Vector3;
use rayon::prelude::*;

use crate::dust::RangingDust;
use crate::kernel::echo::{
    FIRST, LAST, MEAN, RAYS_OF_BEAM_MAX, REPORTS_DUAL, REPORTS_FIRST, REPORTS_LAST, REPORTS_MEAN, REPORTS_STRONGEST,
    SECOND_STRONGEST, STRONGEST, STRONGEST_AND_LAST, direction_of, ray_echo, reported, sort,
};
use crate::kernel::{FAR, Ray};
use crate::record::{BeamRecord, EchoRecord, ReceiverRecord, ReportRecord, ReturnRecord, WideBeamRecord};
use crate::scene::Scene;
use crate::tracer::TraceError;
use crate::view::{Class, Label, band_weights};

/// Beams of one parallel task that finds their echoes.
const BEAMS_A_TASK: usize = 64;

/// A lidar's beam, sent at its own instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WideBeam {
    /// Start of the beam, map frame, m.
    pub origin_m: [f64; 3],
    /// Unit direction of its axis, map frame.
    pub axis: [f32; 3],
    /// Unit direction in which the azimuth grows, perpendicular to the axis, map frame.
    pub along_azimuth: [f32; 3],
    /// Share of the scene's time span that has passed when the beam leaves, as in `Beam`.
    pub share: f32,
}

/// A ray of a beam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayOfBeam {
    /// Tangents of the angles off the axis, along azimuth and elevation.
    pub off_axis: [f64; 2],
    /// Its fraction of the beam's light.
    pub weight: f64,
}

/// The receiver of a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct Receiver {
    /// The rays of each beam, 1 to 256.
    pub rays: Vec<RayOfBeam>,
    /// Wavelength of the laser, nm.
    pub wavelength_nm: f64,
    /// Range at which a facing target of 10 % reflectance that fills the beam is just detected, m.
    pub range_at_10_percent_m: f64,
    /// Surfaces along a beam that are closer together give one echo, m.
    pub resolution_m: f64,
    /// Least and greatest range, m.
    pub ranges_m: [f64; 2],
    /// Which of a beam's echoes it reports.
    pub reports: Reports,
    /// Numbers of the parts of rovers whose echoes it ignores; nothing behind them is seen.
    pub ignores: Option<RangeInclusive<u32>>,
}

/// Which of a beam's echoes a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// The one with the strongest signal.
    Strongest,
    /// The nearest.
    First,
    /// The farthest.
    Last,
    /// The strongest and the last; if they are the same, the strongest and the second strongest.
    Dual,
    /// One at the mean range of all, weighted by their signals.
    Mean,
}

/// Which of a beam's returns an echo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnKind {
    /// The mean of all returns.
    Mean,
    /// The farthest return.
    Last,
    /// The nearest return.
    First,
    /// The return with the strongest signal.
    Strongest,
    /// The strongest return, which is also the last.
    StrongestAndLast,
    /// The return with the second strongest signal.
    SecondStrongest,
}

/// An echo that a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Echo {
    /// Distance, m.
    pub range_m: f32,
    /// Signal in multiples of the detection threshold.
    pub signal: f32,
    /// Which of the beam's returns it is.
    pub kind: ReturnKind,
    /// `Class` code of what the strongest ray met.
    pub class: u16,
    /// Its instance number, see `Label`.
    pub instance: u32,
}

/// What is reported of a beam.
pub type Echoes = [Option<Echo>; 2];

impl WideBeamRecord {
    /// The record of a beam in a scene whose frame has its origin at `middle_m` in the map frame.
    #[must_use]
    pub fn new(beam: &WideBeam, middle_m: Vector3<f64>) -> Self {
        let WideBeam { origin_m, axis, along_azimuth, share } = *beam;
        let origin = (Vector3::from(origin_m) - middle_m).cast::<f32>().into();
        Self { origin, share, axis, pad0: 0.0, along_azimuth, pad1: 0.0 }
    }

    /// One of its rays.
    fn ray(&self, [beside, above, ..]: [f32; 4]) -> Ray {
        Ray { origin: self.origin.into(), direction: direction_of(self, beside, above) }
    }
}

impl ReceiverRecord {
    /// The record of a receiver of some beams in a scene.
    ///
    /// # Errors
    /// When its beams have no ray or too many, or the instances that it ignores do not follow one another.
    pub fn new(receiver: &Receiver, scene: &Scene, beams: u32) -> Result<Self, TraceError> {
        let ignored = receiver.ignores.as_ref().map_or(Some(0..0), |numbers| scene.codes_of(Class::Rover, numbers));
        let apart = || TraceError::Receiver("the instances that it ignores do not follow one another".to_owned());
        Self::ignoring(receiver, ignored.ok_or_else(apart)?, beams)
    }

    /// The record of a receiver of some beams that ignores what has these codes.
    ///
    /// # Errors
    /// When its beams have no ray or too many.
    pub fn ignoring(receiver: &Receiver, ignored: Range<u32>, beams: u32) -> Result<Self, TraceError> {
        let count = receiver.rays.len();
        if !(1..=RAYS_OF_BEAM_MAX).contains(&count) {
            let what = format!("a beam has {count} rays; 1 to {RAYS_OF_BEAM_MAX} are taken");
            return Err(TraceError::Receiver(what));
        }
        let mut rays = [[0.0; 4]; RAYS_OF_BEAM_MAX];
        for (record, RayOfBeam { off_axis: [beside, above], weight }) in rays.iter_mut().zip(&receiver.rays) {
            *record = [*beside as f32, *above as f32, *weight as f32, 0.0];
        }
        Ok(Self {
            of_bands: band_weights(receiver.wavelength_nm).map(|weight| weight as f32),
            beams,
            rays_of_beam: count as u32,
            reports: receiver.reports.code(),
            ignored_from: ignored.start,
            ignored_to: ignored.end,
            range_at_10_percent: receiver.range_at_10_percent_m as f32,
            resolution: receiver.resolution_m as f32,
            nearest: receiver.ranges_m[0] as f32,
            farthest: receiver.ranges_m[1] as f32,
            rays,
        })
    }

    /// The rays of a beam: tangents of their angles off the axis, and their parts of the light.
    fn rays(&self) -> &[[f32; 4]] {
        &self.rays[..self.rays_of_beam as usize]
    }

    /// The rays of some beams, beam by beam.
    pub(crate) fn rays_of(&self, beams: &[WideBeamRecord]) -> Vec<BeamRecord> {
        let ray = |beam: &WideBeamRecord, off_axis: &[f32; 4]| {
            let Ray { origin, direction } = beam.ray(*off_axis);
            BeamRecord { origin: origin.into(), code: 0, direction: direction.into(), share: beam.share }
        };
        beams.iter().flat_map(|beam| self.rays().iter().map(move |off_axis| ray(beam, off_axis))).collect()
    }

    /// The echo of what ray number `ray` of some beams has met.
    pub(crate) fn echo(&self, scene: &Scene, ray: usize, met: &ReturnRecord) -> EchoRecord {
        if met.range >= FAR {
            return EchoRecord { range: FAR, ..EchoRecord::NONE };
        }
        let [visible, near, far] = self.of_bands;
        let [at_near, at_far] = scene.near_infrared(met.code);
        let reflectance = visible * met.reflectance + near * at_near + far * at_far;
        let [.., weight, _] = self.rays[ray % self.rays_of_beam as usize];
        ray_echo(self, weight, met.range, reflectance * met.cos_incidence, met.code)
    }

    /// What is reported of some beams of a scene whose rays gave these echoes, beam by beam, with the scene's dust.
    #[must_use]
    pub fn reports_of(&self, scene: &Scene, beams: &[WideBeamRecord], rays: &[EchoRecord]) -> Vec<Echoes> {
        let dust = scene.ranging_dust();
        let report = |echoes: &mut Vec<EchoRecord>, (beam, rays): (&WideBeamRecord, &[EchoRecord])| {
            echoes.clear();
            echoes.extend_from_slice(rays);
            if let Some(dust) = &dust {
                self.see_dust(dust, beam, echoes);
            }
            sort(echoes);
            reported(self, echoes).map(|report| Echo::of(&report, scene.label(report.code)))
        };
        let beams = beams.par_iter().zip(rays.par_chunks_exact(self.rays_of_beam as usize));
        beams.with_min_len(BEAMS_A_TASK).map_init(Vec::new, report).collect()
    }

    /// Weakens the echoes of a beam's rays by the dust in front of them and adds those of the dust.
    fn see_dust(&self, dust: &RangingDust<'_>, beam: &WideBeamRecord, echoes: &mut Vec<EchoRecord>) {
        let [visible, near, far] = self.of_bands;
        let [near_over_visible, far_over_visible] = dust.near_infrared_over_visible;
        let at_wavelength = visible + near * near_over_visible + far * far_over_visible;
        for (number, off_axis) in self.rays().iter().enumerate() {
            let [.., weight, _] = *off_axis;
            let until = echoes[number].range;
            let kept = dust.cross(&beam.ray(*off_axis), until, |range, reflectance| {
                echoes.push(ray_echo(self, weight, range, reflectance * at_wavelength, Scene::DUST_CODE));
            });
            echoes[number].signal *= kept;
            echoes[number].strongest *= kept;
        }
    }
}

impl Reports {
    fn code(self) -> u32 {
        match self {
            Self::Strongest => REPORTS_STRONGEST,
            Self::First => REPORTS_FIRST,
            Self::Last => REPORTS_LAST,
            Self::Dual => REPORTS_DUAL,
            Self::Mean => REPORTS_MEAN,
        }
    }
}

impl ReturnKind {
    fn of(code: u32) -> Option<Self> {
        Some(match code {
            MEAN => Self::Mean,
            LAST => Self::Last,
            FIRST => Self::First,
            STRONGEST => Self::Strongest,
            STRONGEST_AND_LAST => Self::StrongestAndLast,
            SECOND_STRONGEST => Self::SecondStrongest,
            _ => return None,
        })
    }
}

impl Echo {
    /// A reported echo of what has this label; none where nothing is reported.
    #[must_use]
    pub fn of(report: &ReportRecord, Label { class, number }: Label) -> Option<Self> {
        let kind = ReturnKind::of(report.kind)?;
        Some(Self { range_m: report.range, signal: report.signal, kind, class: class as u16, instance: number })
    }
}
