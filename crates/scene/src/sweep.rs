//! What moves while an image is taken: a rigid motion from the pose at the span's start
//! to that at its end, at an even pace along a straight line and about one axis (as
//! `frames::interpolate` has it), by less than half a turn. A share of 0 to 1 counts within
//! the span.

use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::frames::interpolate;

use crate::record::{MotionRecord, moved};
use crate::tree::Bounds;
use crate::view::CameraView;

/// Poses at which a moving box is taken; between them it bulges by a sagitta.
const STATIONS: u32 = 8;

/// The shutter of a camera that moves or reads its rows one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    /// Pose of the optical frame where the first row begins to be exposed, and where the last
    /// one ends.
    pub world_from_optical: [Pose; 2],
    /// The part of the span in which a row is exposed.
    pub exposure_share: f64,
    /// The part of the span from one row's exposure to the next one's.
    pub row_share: f64,
}

impl Sweep {
    /// Where in the span the middle of a row's exposure is.
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
    /// The motion from one pose to another in a scene whose frame lies at `middle_m`.
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

/// A box that holds an object's box all along a motion.
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
