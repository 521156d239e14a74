//! The echoes of a lidar's beam. Each of its rays meets a diffuse surface of reflectance ρ at range r and incidence
//! angle i and returns the signal w ρ cos i / r², where w is the ray's part of the light; the beam's own light is the
//! only source. The unit of signals is the detection threshold: the return of a facing target of 10 % reflectance that
//! fills the beam at `range_at_10_percent`. Rays whose surfaces follow one another along the beam at less than the
//! pulse's resolution give one echo, at the mean of their ranges weighted by their signals. So a beam that meets an
//! edge gives two echoes, each fainter by the light that misses its surface.

use nalgebra::Vector3;

use crate::record::{EchoRecord, ReceiverRecord, ReportRecord, WideBeamRecord};

/// Reflectance of the target for which a lidar's range is given.
pub const REFERENCE_REFLECTANCE: f32 = 0.1;

/// The largest number of rays of one beam.
pub const RAYS_OF_BEAM_MAX: usize = 256;

/// Rays in a GPU workgroup, and beams in one that finds their echoes.
pub const ECHO_GROUP: u32 = 64;

/// The receiver reports the echo with the strongest signal.
pub const REPORTS_STRONGEST: u32 = 0;
/// The receiver reports the nearest echo.
pub const REPORTS_FIRST: u32 = 1;
/// The receiver reports the farthest echo.
pub const REPORTS_LAST: u32 = 2;
/// The receiver reports the strongest echo and the last; if they are the same, the second strongest beside it.
pub const REPORTS_DUAL: u32 = 3;
/// The receiver reports one echo at the mean range of all, weighted by their signals.
pub const REPORTS_MEAN: u32 = 4;

/// Nothing is reported.
pub const NO_ECHO: u32 = 0;
/// The strongest echo.
pub const STRONGEST: u32 = 1;
/// The nearest echo.
pub const FIRST: u32 = 2;
/// The farthest echo.
pub const LAST: u32 = 3;
/// The strongest echo, which is also the last.
pub const STRONGEST_AND_LAST: u32 = 4;
/// The echo with the second strongest signal.
pub const SECOND_STRONGEST: u32 = 5;
/// The mean of all echoes.
pub const MEAN: u32 = 6;

/// What a receiver keeps of the echoes that it has detected so far, nearest first.
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// Number of echoes.
    pub count: u32,
    /// The nearest.
    pub first: EchoRecord,
    /// The farthest.
    pub last: EchoRecord,
    /// The one with the strongest signal; of equal ones the farthest.
    pub best: EchoRecord,
    /// The one with the second strongest signal; no signal where there is none.
    pub second: EchoRecord,
    /// Whether the strongest is the last.
    pub best_is_last: bool,
    /// All of them joined.
    pub mean: EchoRecord,
}

/// Unit direction of a ray of a beam; `beside` and `above` are the tangents of its angles off the axis.
#[must_use]
pub fn direction_of(beam: &WideBeamRecord, beside: f32, above: f32) -> Vector3<f32> {
    let (axis, along_azimuth) = (Vector3::from(beam.axis), Vector3::from(beam.along_azimuth));
    if beside == 0.0 && above == 0.0 {
        return axis;
    }
    (axis + along_azimuth * beside + axis.cross(&along_azimuth) * above).normalize()
}

/// The echo of one ray that has met a surface: `reflected` is its reflectance times the cosine of incidence.
#[must_use]
pub fn ray_echo(receiver: &ReceiverRecord, weight: f32, range: f32, reflected: f32, code: u32) -> EchoRecord {
    let spread = receiver.range_at_10_percent / range;
    let is_ignored = code >= receiver.ignored_from && code < receiver.ignored_to;
    let is_echo = range > 0.0 && !is_ignored;
    let signal = if is_echo { weight * reflected / REFERENCE_REFLECTANCE * spread * spread } else { 0.0 };
    EchoRecord { range, signal, strongest: signal, code }
}

/// Two echoes as one: `far` is not nearer than `near`.
#[must_use]
pub fn joined(near: &EchoRecord, far: &EchoRecord) -> EchoRecord {
    let signal = near.signal + far.signal;
    let is_far = far.strongest >= near.strongest;
    EchoRecord {
        range: near.range + (far.range - near.range) * (far.signal / signal),
        signal,
        strongest: if is_far { far.strongest } else { near.strongest },
        code: if is_far { far.code } else { near.code },
    }
}

/// Sorts the echoes of a beam's rays, nearest first; equal ranges keep their order.
pub fn sort(rays: &mut [EchoRecord]) {
    rays.sort_by(|a, b| a.range.total_cmp(&b.range));
}

/// What the receiver reports of a beam whose rays gave these echoes, nearest first; those without a signal do not count.
#[must_use]
pub fn reported(receiver: &ReceiverRecord, rays: &[EchoRecord]) -> [ReportRecord; 2] {
    let mut reception = Reception::NOTHING;
    let mut echo = EchoRecord::NONE;
    let mut before = 0.0;
    for ray in rays.iter().filter(|ray| ray.signal > 0.0) {
        if echo.signal > 0.0 && ray.range - before > receiver.resolution {
            detect(receiver, &mut reception, &echo);
            echo = EchoRecord::NONE;
        }
        echo = if echo.signal > 0.0 { joined(&echo, ray) } else { *ray };
        before = ray.range;
    }
    detect(receiver, &mut reception, &echo);
    chosen(receiver, &reception)
}

/// Adds an echo to the reception, if it is strong enough and within range.
fn detect(receiver: &ReceiverRecord, reception: &mut Reception, echo: &EchoRecord) {
    let is_strong = echo.signal >= 1.0;
    if !(is_strong && echo.range >= receiver.nearest && echo.range <= receiver.farthest) {
        return;
    }
    let is_first = reception.count == 0;
    if is_first {
        reception.first = *echo;
    }
    reception.mean = if is_first { *echo } else { joined(&reception.mean, echo) };
    reception.last = *echo;
    reception.best_is_last = echo.signal >= reception.best.signal;
    if reception.best_is_last {
        reception.second = reception.best;
        reception.best = *echo;
    } else if echo.signal >= reception.second.signal {
        reception.second = *echo;
    }
    reception.count += 1;
}

/// The echoes that the receiver reports.
fn chosen(receiver: &ReceiverRecord, reception: &Reception) -> [ReportRecord; 2] {
    let Reception { first, last, best, second, best_is_last, mean, .. } = reception;
    match receiver.reports {
        REPORTS_FIRST => [report(first, FIRST), ReportRecord::NONE],
        REPORTS_LAST => [report(last, LAST), ReportRecord::NONE],
        REPORTS_MEAN => [report(mean, MEAN), ReportRecord::NONE],
        REPORTS_DUAL if !best_is_last => [report(best, STRONGEST), report(last, LAST)],
        REPORTS_DUAL => [report(best, STRONGEST_AND_LAST), report(second, SECOND_STRONGEST)],
        _ => [report(best, STRONGEST), ReportRecord::NONE],
    }
}

/// An echo as it is reported; nothing where it has no signal.
fn report(echo: &EchoRecord, kind: u32) -> ReportRecord {
    if echo.signal > 0.0 {
        ReportRecord { range: echo.range, signal: echo.signal, kind, code: echo.code }
    } else {
        ReportRecord::NONE
    }
}

impl Reception {
    /// No echo was detected.
    const NOTHING: Self = Self {
        count: 0,
        first: EchoRecord::NONE,
        last: EchoRecord::NONE,
        best: EchoRecord::NONE,
        second: EchoRecord::NONE,
        best_is_last: false,
        mean: EchoRecord::NONE,
    };
}
