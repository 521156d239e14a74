//! What one wheel remembers of its contact from step to step, beside what the nodes of
//! the ground do. Laws that press node by node need none of it; a wheel that comes to
//! another soil takes its memory along.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Laws by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LawKind {
    /// On none yet.
    #[default]
    None,
    Scm,
    Data,
    Rigid,
    SlipMap,
    Points,
}

/// What one wheel remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WheelMemory {
    /// The load lately carried, N; zero before it is known.
    pub(crate) load_n: f64,
    /// Whether that is the load and not a first guess.
    pub(crate) is_load_known: bool,
    /// Stretch of the bristle that holds it, map frame, m.
    pub(crate) stretch_m: Vector3<f64>,
    /// Whether friction has let go.
    pub(crate) is_sliding: bool,
    /// Whether it touched in the last step.
    pub(crate) is_down: bool,
    /// The law that it was on.
    pub(crate) on: LawKind,
    /// Whether it came down on another law and has not yet stood on this one.
    pub(crate) has_crossed: bool,
    /// Speed that the ground lets it drive at, m/s.
    pub(crate) drive_m_s: f64,
    /// Depth that the soil gives way to, m.
    pub(crate) yielded_m: f64,
    /// Angle turned about the axle, rad, within one turn.
    pub(crate) turned_rad: f64,
}

impl WheelMemory {
    /// The memory of a wheel that will carry about `load_n`: contact is as stiff as that
    /// load asks from the first touch on. Without it a wheel finds its load within
    /// a tenth of a second.
    #[must_use]
    pub fn carrying(load_n: f64) -> Self {
        let is_load_known = load_n.is_finite() && load_n > 0.0;
        Self { load_n: if is_load_known { load_n } else { 0.0 }, is_load_known, ..Self::default() }
    }

    /// The wheel is in granular soil now, which remembers for itself.
    pub fn enter_points(&mut self, is_down: bool) {
        self.enter(LawKind::Points);
        self.leave();
        self.is_down = is_down;
    }

    /// The wheel is on a law of this kind now.
    pub(crate) fn enter(&mut self, on: LawKind) {
        if self.on != on {
            let was_down = self.is_down;
            self.leave();
            (self.on, self.is_down, self.has_crossed) = (on, was_down, was_down);
        }
    }

    /// A wheel that comes over a border in its rut lies below the new surface: as deep as it
    /// does, beyond the `rest_m` that its load makes, the ground is taken as hollow at first,
    /// so that it rolls out and is not thrown out.
    pub(crate) fn bring_hollow(&mut self, depth_m: f64, rest_m: f64) {
        if std::mem::take(&mut self.has_crossed) {
            self.yielded_m = (depth_m - rest_m).max(0.0);
        }
    }

    /// Nothing carries: what held is gone, and the hollow too once the wheel is out of it.
    pub(crate) fn lift(&mut self, is_out: bool) {
        let yielded_m = if is_out { 0.0 } else { self.yielded_m };
        self.leave();
        self.yielded_m = yielded_m;
    }

    /// Contact is lost: only the load is still true.
    pub(crate) fn leave(&mut self) {
        let Self { load_n, is_load_known, turned_rad, on, .. } = *self;
        *self = Self { load_n, is_load_known, turned_rad, on, ..Self::default() };
    }
}
