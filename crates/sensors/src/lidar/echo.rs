//! The echoes of a beam. Each of its rays meets a diffuse surface of reflectance ρ at range r and incidence angle i
//! and returns the signal w ρ cos i / r², where w is the ray's part of the light; the beam's own light is the only
//! source. The unit of signals is the detection threshold: the return of a facing target of 10 % reflectance that
//! fills the beam at `range_at_10_percent_m`. Rays whose surfaces follow one another along the beam at less than the
//! pulse's resolution give one echo, at the mean of their ranges weighted by their signals. So a beam that meets an
//! edge gives two echoes, each fainter by the light that misses its surface. Dust in front of a surface gives echoes
//! of its own and weakens the surface's; see `selene_scene::Scene::see_dust`.

use selene_scene::{BeamReturn, DustReturn};

use super::spec::{LidarSpec, ReturnMode};

/// The reflectance for which `range_at_10_percent_m` is given.
pub(super) const REFERENCE_REFLECTANCE: f64 = 0.1;

/// Which of a beam's returns a point is.
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

/// The echo of a surface, or of several close ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Echo {
    pub(super) range_m: f64,
    /// In multiples of the detection threshold.
    pub(super) signal: f64,
    /// Signal of its strongest ray, which determines class and instance.
    strongest: f64,
    pub(super) class: u16,
    pub(super) instance: u32,
}

/// The echoes of a beam that the lidar reports.
pub(super) type ReportedEchoes = [Option<(ReturnKind, Echo)>; 2];

/// Buffers that are reused from beam to beam to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    rays: Vec<Echo>,
    echoes: Vec<Echo>,
}

/// The receiver of a lidar.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    weights: Vec<f64>,
    wavelength_nm: f64,
    range_at_10_percent_m: f64,
    resolution_m: f64,
    ranges_m: [f64; 2],
    mode: ReturnMode,
}

impl Receiver {
    /// The receiver of a lidar; `weights` are those of a beam's rays.
    pub(super) fn new(spec: &LidarSpec, weights: Vec<f64>) -> Self {
        Self {
            weights,
            wavelength_nm: spec.wavelength_nm,
            range_at_10_percent_m: spec.range_at_10_percent_m,
            resolution_m: spec.range_resolution_m,
            ranges_m: [spec.min_range_m, spec.max_range_m],
            mode: spec.returns,
        }
    }

    /// The reported echoes of a beam from the returns of its rays and of dust in front of them; the beam's first ray
    /// has the number `first` in `dust`.
    pub(super) fn reported(
        &self,
        met: &[BeamReturn],
        (dust, first): (&[DustReturn], usize),
        scratch: &mut Scratch,
    ) -> ReportedEchoes {
        scratch.rays.clear();
        scratch.rays.extend(met.iter().zip(&self.weights).filter_map(|(met, weight)| self.ray(met, *weight)));
        let weight = |dust: &DustReturn| dust.ray.checked_sub(first).and_then(|ray| self.weights.get(ray));
        scratch.rays.extend(dust.iter().filter_map(|dust| self.ray(&dust.met, *weight(dust)?)));
        scratch.rays.sort_by(|a, b| a.range_m.total_cmp(&b.range_m));
        scratch.echoes.clear();
        for one in scratch.rays.chunk_by(|a, b| b.range_m - a.range_m <= self.resolution_m) {
            scratch.echoes.extend(joined(one).filter(|echo| self.detects(echo)));
        }
        choose(self.mode, &scratch.echoes)
    }

    /// The echo of one ray; `None` where it meets nothing.
    fn ray(&self, met: &BeamReturn, weight: f64) -> Option<Echo> {
        let range_m = f64::from(met.range_m);
        if !(range_m > 0.0 && range_m.is_finite()) {
            return None;
        }
        let reflected = met.reflectance_at(self.wavelength_nm) * f64::from(met.cos_incidence);
        let spread = (self.range_at_10_percent_m / range_m).powi(2);
        let signal = weight * reflected / REFERENCE_REFLECTANCE * spread;
        let is_any = signal > 0.0;
        is_any.then_some(Echo { range_m, signal, strongest: signal, class: met.class, instance: met.instance })
    }

    fn detects(&self, echo: &Echo) -> bool {
        let [nearest_m, farthest_m] = self.ranges_m;
        (nearest_m..=farthest_m).contains(&echo.range_m) && echo.signal >= 1.0
    }
}

/// Merges several echoes into one.
fn joined(echoes: &[Echo]) -> Option<Echo> {
    if let [one] = echoes {
        return Some(*one);
    }
    let strongest = echoes.iter().max_by(|a, b| a.strongest.total_cmp(&b.strongest))?;
    let signal: f64 = echoes.iter().map(|echo| echo.signal).sum();
    let range_m = echoes.iter().map(|echo| echo.signal * echo.range_m).sum::<f64>() / signal;
    Some(Echo { range_m, signal, ..*strongest })
}

/// The echoes, sorted from the nearest, that a mode reports.
fn choose(mode: ReturnMode, echoes: &[Echo]) -> ReportedEchoes {
    let only = |kind: ReturnKind, echo: Option<Echo>| [echo.map(|echo| (kind, echo)), None];
    match mode {
        ReturnMode::First => only(ReturnKind::First, echoes.first().copied()),
        ReturnMode::Last => only(ReturnKind::Last, echoes.last().copied()),
        ReturnMode::Mean => only(ReturnKind::Mean, joined(echoes)),
        ReturnMode::Strongest => only(ReturnKind::Strongest, strongest(echoes, usize::MAX).map(|i| echoes[i])),
        ReturnMode::Dual => dual(echoes),
    }
}

fn dual(echoes: &[Echo]) -> ReportedEchoes {
    let Some(first) = strongest(echoes, usize::MAX) else { return [None; 2] };
    let last = echoes.len() - 1;
    if first != last {
        return [Some((ReturnKind::Strongest, echoes[first])), Some((ReturnKind::Last, echoes[last]))];
    }
    let second = strongest(echoes, first).map(|i| (ReturnKind::SecondStrongest, echoes[i]));
    [Some((ReturnKind::StrongestAndLast, echoes[first])), second]
}

/// Index of the echo with the strongest signal, except the index `but`.
fn strongest(echoes: &[Echo], but: usize) -> Option<usize> {
    let others = (0..echoes.len()).filter(|i| *i != but);
    others.max_by(|a, b| echoes[*a].signal.total_cmp(&echoes[*b].signal))
}
