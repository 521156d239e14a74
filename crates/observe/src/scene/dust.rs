//! Thrown dust, for rendering: each parcel in flight is a cloud at its point of the parabola.

use selene_base::SimTime;
use selene_scene::Puff;
use selene_sim::{DustParcel, Snapshot};

/// The clouds at an instant; `next` is the first snapshot at or after it.
pub(super) fn puffs(next: &Snapshot, time: SimTime, gravity_m_s2: f64) -> Vec<Puff> {
    let puff = |parcel: &DustParcel| Puff {
        centre_m: parcel.place_at_m(time, gravity_m_s2),
        deviation_m: parcel.deviation_at_m(time),
        cross_section_m2: parcel.cross_section_m2,
    };
    next.dust.iter().filter(|parcel| parcel.flies_at(time)).map(puff).collect()
}
