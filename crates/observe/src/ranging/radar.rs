//! Observers of radars: the surfaces that their rays meet, and their range rates. Velocities are means over the
//! coherent integration time, up to the stamp: that of the radar from the motion of its link, that of a target from
//! the motion of the body at the point that the ray meets, so that a wheel's rim is faster than its hub. The ground
//! and fixed rocks are at rest.

use std::collections::BTreeMap;

use nalgebra::{Point3, Vector3};
use selene_base::{Pose, SimTime};
use selene_scene::{Beam, BeamReturn, Class};
use selene_sensors::lidar::SelfHits;
use selene_sensors::{Radar, RadarReturn, RadarSpec, Sample};
use selene_sim::EntityId;

use super::{RangedWithTruth, RangingContext, clouds};
use crate::ObserveError;
use crate::instance::parts_of;
use crate::values::{RadarSample, Ranged};

/// The observer of a radar on a link.
#[derive(Debug)]
pub(super) struct RadarObserver {
    radar: Radar,
    link: usize,
    seed: u64,
    met: Vec<BeamReturn>,
}

/// Motion of the radar and all bodies over a time span.
struct Motion {
    span_s: f64,
    /// First and last poses of all moving bodies, by their instance numbers.
    bodies: BTreeMap<u32, [Pose; 2]>,
    radar_m_s: Vector3<f64>,
}

impl RadarObserver {
    pub(super) fn new(spec: &RadarSpec, link: usize, seed: u64) -> Self {
        Self { radar: Radar::new(spec.clone()), link, seed, met: Vec::new() }
    }

    pub(super) fn measure(
        &mut self,
        view: &mut RangingContext,
        sample: Sample,
        what: &str,
    ) -> Result<RangedWithTruth, ObserveError> {
        let span_s = self.radar.spec().coherent_s;
        let span = [sample.instant - SimTime::from_secs_f64(span_s), sample.instant];
        let pose = |time| view.link_at(&self.radar.spec().name, self.link, time);
        let radars = [pose(span[0])?, pose(span[1])?];
        let [first_m, last_m] = radars.map(|pose| pose.translation.vector);
        let bodies = view.scene.poses(&view.history, span);
        let motion = Motion { span_s, bodies, radar_m_s: (last_m - first_m) / span_s };
        let Self { radar, seed, met, .. } = self;
        let beams = radar.beams(&radars[1]);
        let RangingContext { scene, tracer, rover, .. } = view;
        let traced = tracer.trace(&what, |tracer| tracer.beams(scene.scene(), &beams, met));
        traced.map_err(|error| ObserveError::of(&radar.spec().name, &error))?;
        if radar.spec().self_hits == SelfHits::Drop {
            drop_hits_of(*rover, met);
        }
        let speed_m_s = |ray: usize| motion.range_rate_m_s(&beams[ray], &met[ray]);
        let reading = radar.read(met, speed_m_s, *seed, sample);
        let sample = |returns: Vec<RadarReturn>| {
            let cloud = radar.spec().cloud.then(|| clouds::of_returns(&returns));
            Ranged::Radar(RadarSample { returns, cloud })
        };
        Ok(RangedWithTruth { measured: sample(reading.returns), truth: sample(reading.truth) })
    }
}

impl Motion {
    fn range_rate_m_s(&self, beam: &Beam, met: &BeamReturn) -> f64 {
        let direction = Vector3::from(beam.direction.map(f64::from));
        let point = Point3::from(Vector3::from(beam.origin_m) + direction * f64::from(met.range_m));
        Radar::range_rate_m_s(beam, &self.velocity_m_s(met.instance, &point), &self.radar_m_s)
    }

    /// Mean velocity, map frame, of the point of a body that is at `point` at the end.
    fn velocity_m_s(&self, instance: u32, point: &Point3<f64>) -> Vector3<f64> {
        let Some([first, last]) = self.bodies.get(&instance) else { return Vector3::zeros() };
        (point - first * last.inverse_transform_point(point)) / self.span_s
    }
}

/// Removes the returns of rays that met a rover; nothing behind it is seen.
fn drop_hits_of(rover: EntityId, returns: &mut [BeamReturn]) {
    let own = parts_of(rover);
    for met in returns.iter_mut().filter(|met| met.class == Class::Rover as u16 && own.contains(&met.instance)) {
        *met = BeamReturn::NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::Motion;
    use nalgebra::{Point3, UnitQuaternion, Vector3};
    use selene_base::Pose;
    use selene_scene::{Beam, BeamReturn};

    const RATE_RAD_S: f64 = 2.0;
    const SPAN_S: f64 = 1e-3;

    /// A wheel about the y axis that rolls at 0.6 m/s along x, with its hub at the origin at the end.
    fn rolling() -> Motion {
        let turn = |angle: f64| UnitQuaternion::from_axis_angle(&Vector3::y_axis(), angle);
        let first = Pose::from_parts(Vector3::new(-0.6 * SPAN_S, 0.0, 0.0).into(), turn(-RATE_RAD_S * SPAN_S));
        let last = Pose::from_parts(Vector3::zeros().into(), turn(0.0));
        let radar_m_s = Vector3::new(0.25, 0.0, 0.0);
        Motion { span_s: SPAN_S, bodies: [(7, [first, last])].into(), radar_m_s }
    }

    #[test]
    fn a_wheels_points_move_by_its_speed_and_its_turn_and_the_ground_rests() {
        let motion = rolling();
        let at = |x, y, z| motion.velocity_m_s(7, &Point3::new(x, y, z));
        // ω × r: (2 z, 0, −2 x). The direction of the chord over the span is off by half of the angle.
        for (point, expected) in [([0.0, 0.0, 0.3], [1.2, 0.0, 0.0]), ([0.0, 0.0, -0.3], [0.0, 0.0, 0.0])] {
            let [x, y, z] = point;
            assert!((at(x, y, z) - Vector3::from(expected)).norm() < 2e-3, "{point:?}: {}", at(x, y, z));
        }
        assert!((at(0.3, 0.0, 0.0) - Vector3::new(0.6, 0.0, -0.6)).norm() < 2e-3);
        assert_eq!(motion.velocity_m_s(8, &Point3::origin()), Vector3::zeros());
    }

    #[test]
    fn what_rests_comes_nearer_as_fast_as_the_radar_goes_toward_it() {
        let motion = rolling();
        let met = BeamReturn { range_m: 5.0, ..BeamReturn::NONE };
        let rate = |direction| motion.range_rate_m_s(&Beam::new([0.0; 3], direction), &met);
        assert_eq!([rate([1.0, 0.0, 0.0]), rate([-1.0, 0.0, 0.0]), rate([0.0, 1.0, 0.0])], [-0.25, 0.25, 0.0]);
        let hub = BeamReturn { instance: 7, range_m: 5.0, ..BeamReturn::NONE };
        let rate = motion.range_rate_m_s(&Beam::new([-5.0, 0.0, 0.0], [1.0, 0.0, 0.0]), &hub);
        assert!((rate - 0.35).abs() < 2e-3, "{rate}");
    }
}
