//! The state of one wheel's contact from step to step, beside that of the ground's nodes.
//! Laws that press node by node need none of it; a wheel that drives onto another soil keeps
//! its memory.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Laws by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LawKind {
    /// The wheel has been on no law yet.
    #[default]
    None,
    Scm,
    Data,
    Rigid,
    SlipMap,
    Points,
}

/// The contact state of one wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WheelMemory {
    /// The followed load, a smoothed normal force, N; zero while nothing is known of it.
    pub(crate) load_n: f64,
    /// Whether `load_n` has converged to the load.
    pub(crate) is_load_known: bool,
    /// Stretch of the friction bristle, map frame, m.
    pub(crate) stretch_m: Vector3<f64>,
    /// Whether the contact slides.
    pub(crate) is_sliding: bool,
    /// Whether the wheel touched the ground in the last step.
    pub(crate) is_down: bool,
    /// The law of the last step.
    pub(crate) on: LawKind,
    /// Whether the wheel was in contact on another law and has not yet been in contact on this one.
    pub(crate) has_crossed: bool,
    /// Slip-adjusted speed of the data-driven law, m/s.
    pub(crate) drive_m_s: f64,
    /// Depth to which the soil has yielded, m.
    pub(crate) yielded_m: f64,
    /// Angle turned about the axle, rad, within one turn.
    pub(crate) turned_rad: f64,
}

impl WheelMemory {
    /// The memory of a wheel that will carry about `load_n`, N: its contact has the stiffness for
    /// that load from the first touch on. Without it the followed load converges within a tenth of
    /// a second.
    #[must_use]
    pub fn carrying(load_n: f64) -> Self {
        let is_load_known = load_n.is_finite() && load_n > 0.0;
        Self { load_n: if is_load_known { load_n } else { 0.0 }, is_load_known, ..Self::default() }
    }

    /// Records that the wheel is in granular soil, which has a state of its own.
    pub fn enter_points(&mut self, is_down: bool) {
        self.enter(LawKind::Points);
        self.leave();
        self.is_down = is_down;
    }

    /// Records that the wheel is on a law of this kind.
    pub(crate) fn enter(&mut self, on: LawKind) {
        if self.on != on {
            let was_down = self.is_down;
            self.leave();
            (self.on, self.is_down, self.has_crossed) = (on, was_down, was_down);
        }
    }

    /// Lets a wheel that crosses a border of soils in its rut roll out instead of being thrown out.
    /// It lies below the new surface by `depth_m`: the excess over its depth at rest, `rest_m`, counts
    /// as already yielded.
    pub(crate) fn bring_hollow(&mut self, depth_m: f64, rest_m: f64) {
        if std::mem::take(&mut self.has_crossed) {
            self.yielded_m = (depth_m - rest_m).max(0.0);
        }
    }

    /// Resets the contact when nothing carries; the yielded depth only once the wheel is out of the rut.
    pub(crate) fn lift(&mut self, is_out: bool) {
        let yielded_m = if is_out { 0.0 } else { self.yielded_m };
        self.leave();
        self.yielded_m = yielded_m;
    }

    /// Resets the contact; load, angle turned and law stay.
    pub(crate) fn leave(&mut self) {
        let Self { load_n, is_load_known, turned_rad, on, .. } = *self;
        *self = Self { load_n, is_load_known, turned_rad, on, ..Self::default() };
    }
}
