//! Motion during an image: rigid, from the pose at the start of the time span to that at its end, at constant speed
//! along a straight line and about one axis (as in `frames::interpolate`), by less than half a turn. Times within the
//! span are shares from 0 to 1.

use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::frames::interpolate;

use crate::record::{MotionRecord, moved};
use crate::tree::Bounds;
use crate::view::CameraView;

/// Number of poses at which a moving box is evaluated; between them the box grows by the sagitta of the arc.
const STATIONS: u32 = 8;

/// The shutter of a camera that moves or reads its rows one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShutterMotion {
    /// Pose of the optical frame at the start of the first row's exposure and at the end of the last row's.
    pub world_from_optical: [Pose; 2],
    /// Share of the time span for which a row is exposed.
    pub exposure_share: f64,
    /// Share of the time span between the exposures of successive rows.
    pub row_share: f64,
}

impl ShutterMotion {
    /// Share of the time span at the middle of a row's exposure.
    #[must_use]
    pub fn row_middle(&self, row: f64) -> f64 {
        0.5 * self.exposure_share + self.row_share * row
    }
}

impl CameraView {
    /// Pose of the optical frame in the middle of a row's exposure.
    #[must_use]
    pub fn world_from_optical_at(&self, row: f64) -> Pose {
        match &self.sweep {
            Some(sweep) => {
                let [start, end] = &sweep.world_from_optical;
                interpolate(start, end, sweep.row_middle(row))
            }
            None => self.world_from_optical,
        }
    }
}

impl MotionRecord {
    /// The motion between two poses, in a scene whose frame has its origin at `middle_m` in the map frame.
    #[must_use]
    pub fn between(poses: &[Pose; 2], middle_m: Vector3<f64>) -> Self {
        let [start, end] = poses.map(|pose| moved(&pose, middle_m));
        let turn = end.rotation * start.rotation.inverse();
        let (axis, angle) = turn.axis_angle().map_or((Vector3::z(), 0.0), |(axis, angle)| (axis.into_inner(), angle));
        Self {
            centre: start.translation.vector.cast::<f32>().into(),
            angle: angle as f32,
            axis: axis.cast::<f32>().into(),
            pad0: 0,
            shift: (end.translation.vector - start.translation.vector).cast::<f32>().into(),
            pad1: 0,
        }
    }
}

/// Bounding box of an object over a whole motion; `of` gives the box at a pose.
pub(crate) fn swept_bounds(poses: &[Pose; 2], of: impl Fn(&Pose) -> Bounds) -> Bounds {
    let [start, end] = poses;
    if start == end {
        return of(start);
    }
    let station = |i: u32| of(&interpolate(start, end, f64::from(i) / f64::from(STATIONS)));
    let all = (0..=STATIONS).map(station).fold(Bounds::NONE, |all, bounds| all.union(&bounds));
    let step = (end.rotation * start.rotation.inverse()).angle() / f64::from(STATIONS);
    all.widened((1.0 - (0.5 * step).cos()) as f32 * all.diagonal())
}
