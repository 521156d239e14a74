//! What one wheel remembers of its contact from step to step, beside what the nodes of
//! the ground do. Laws that press node by node need none of it; a wheel that comes to
//! another soil takes its memory along.

use nalgebra::Vector3;

/// What one wheel remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

    /// Every number of it, in a fixed order: for state hashes.
    #[must_use]
    pub fn numbers(&self) -> [f64; 10] {
        let [x, y, z] = self.stretch_m.into();
        let [known, sliding, down] =
            [self.is_load_known, self.is_sliding, self.is_down].map(|is| f64::from(u8::from(is)));
        [self.load_n, known, x, y, z, sliding, down, self.drive_m_s, self.yielded_m, self.turned_rad]
    }

    /// Contact is lost: only the load is still true.
    pub(crate) fn leave(&mut self) {
        let Self { load_n, is_load_known, turned_rad, .. } = *self;
        *self = Self { load_n, is_load_known, turned_rad, ..Self::default() };
    }
}
