//! The view of a star tracker: its attitude in the map frame and the ICRF, its angular rate and the Sun's direction.

use nalgebra::UnitQuaternion;
use selene_base::SimTime;
use selene_sensors::StarView;
use selene_sim::EntityId;

use crate::ObserveError;
use crate::interval::Interval;

/// The view of a tracker on a link at `time` between the two snapshots; `None` if one of them lacks its rover. The
/// angular rate is the mean over the heartbeat.
///
/// # Errors
/// When the scenario's SPICE kernels do not cover `time`.
pub(crate) fn star_view(
    interval: &Interval,
    rover: EntityId,
    link: usize,
    time: SimTime,
) -> Result<Option<StarView>, ObserveError> {
    let (previous, next) = (&interval.previous, &interval.next);
    let Some(pose) = previous.link_at(next, rover, link, time) else { return Ok(None) };
    let scenario = interval.model.scenario();
    let sky = scenario.sky.at(scenario.utc.after(time + interval.sky_offset(time)))?;
    Ok(Some(StarView {
        map_from_sensor: pose.rotation,
        map_from_icrf: UnitQuaternion::from_rotation_matrix(&sky.enu_from_icrf),
        turn_rate_rad_s: turn_rate_rad_s(interval, rover, link),
        sun: sky.sun.unit_enu,
        sun_radius_rad: sky.sun.angular_radius_rad,
    }))
}

/// Mean angular rate of a link over the heartbeat, rad/s.
fn turn_rate_rad_s(interval: &Interval, rover: EntityId, link: usize) -> f64 {
    let (previous, next) = (&interval.previous, &interval.next);
    let span_s = (next.time - previous.time).secs_f64();
    let ends = (previous.link_at(next, rover, link, previous.time), previous.link_at(next, rover, link, next.time));
    let (Some(first), Some(last)) = ends else { return 0.0 };
    if span_s > 0.0 { first.rotation.angle_to(&last.rotation) / span_s } else { 0.0 }
}
