//! Traces a scan slice by slice. While a device traces one slice, the CPU makes the points of the slice before and the
//! beams of the one after.

use selene_base::{Pose, SimTime};
use selene_scene::{Receiver, Scene, TraceError, Tracer};

use super::{LidarPoint, Scan};

/// A scene that changes with time.
pub trait SceneOverTime {
    /// The scene during a span of time.
    fn during(&mut self, span: [SimTime; 2]) -> &Scene;
}

impl Scan<'_> {
    /// The points of the scan; `receiver` is the lidar's, `world_from_lidar_at` gives the sensor's pose at an instant,
    /// `seed` is the scenario's, `index` the scan's number. `None` if a pose is not known.
    ///
    /// # Errors
    /// When the scene cannot be traced.
    pub fn trace(
        &self,
        tracer: &mut dyn Tracer,
        scene: &mut dyn SceneOverTime,
        receiver: &Receiver,
        world_from_lidar_at: impl Fn(SimTime) -> Option<Pose> + Sync,
        [seed, index]: [u64; 2],
    ) -> Result<Option<Vec<LidarPoint>>, TraceError> {
        let slices = self.slices();
        let beams_of = |number: usize| slices.get(number).map(|slice| self.beams(slice, &world_from_lidar_at));
        let points_of = |number: Option<usize>, echoes: &[_]| {
            number.map_or(Vec::new(), |number| self.points(&slices[number], echoes, seed, index))
        };
        let (mut points, mut traced, mut echoes) = (Vec::new(), Vec::new(), Vec::new());
        let mut beams = beams_of(0);
        for (number, slice) in slices.iter().enumerate() {
            let Some(Some(of_slice)) = beams else { return Ok(None) };
            let scene = scene.during(slice.span);
            let (mut before, mut next) = (Vec::new(), None);
            // The caller's thread traces, so that no thread of the pool waits for a device.
            rayon::in_place_scope(|scope| {
                let beside = || (points_of(number.checked_sub(1), &traced), beams_of(number + 1));
                let kept = (&mut before, &mut next);
                scope.spawn(move |_| (*kept.0, *kept.1) = beside());
                tracer.echoes(scene, &of_slice, receiver, &mut echoes)
            })?;
            points.append(&mut before);
            std::mem::swap(&mut traced, &mut echoes);
            beams = next;
        }
        points.append(&mut points_of(slices.len().checked_sub(1), &traced));
        Ok(Some(points))
    }
}
