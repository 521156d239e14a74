//! Stereo pairs among a rover's cameras. The relative pose of a pair comes from the links of the
//! rover's model, so the two cameras of a rectified pair must be fixed to one another.

use nalgebra::Vector3;
use selene_base::Pose;
use selene_sensors::{CameraSpec, Rectification};

use crate::scenario::rover::{Mounted, RoverSetup};

/// Tolerance between a stereo baseline and the rover's links, m.
const STEREO_TOLERANCE_M: f64 = 1e-3;

/// Two cameras are no stereo pair; the message says why, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StereoError(String);

impl RoverSetup {
    /// The projection of a camera's rectified images; `None` if its file asks for none.
    ///
    /// # Errors
    /// When the camera and the other one of its pair do not fit together.
    pub fn rectification(&self, camera: &CameraSpec) -> Result<Option<Rectification>, StereoError> {
        let Some(rectified) = &camera.rectified else { return Ok(None) };
        let own = self.cameras().find(|of| of.spec.name == camera.name);
        let own = own.ok_or_else(|| StereoError(format!("{} is no camera of {}", camera.name, self.name)))?;
        if let Some(name) = &rectified.left_camera {
            return Ok(Some(self.rectified_pair(name, &own)?[1]));
        }
        let has_left = |right: &Mounted<CameraSpec>| left_camera_of(right.spec) == Some(&camera.name);
        let rights: Vec<_> = self.cameras().filter(has_left).collect();
        match &rights[..] {
            [] => Ok(Some(Rectification::alone(camera))),
            [right] => Ok(Some(self.rectified_pair(&camera.name, right)?[0])),
            [one, other, ..] => {
                let named = format!("{} is left_camera of {} and of {}", camera.name, one.spec.name, other.spec.name);
                Err(StereoError(format!("rectified: {named}: must be that of one camera")))
            }
        }
    }

    /// The pair of the left camera with this name and a right camera, left first.
    fn rectified_pair(&self, left: &str, right: &Mounted<CameraSpec>) -> Result<[Rectification; 2], StereoError> {
        let reported = |what: String| StereoError(format!("{}: rectified: left_camera: {what}", right.spec.name));
        let is_left = |of: &Mounted<CameraSpec>| of.spec.name == left && of.spec.name != right.spec.name;
        let Some(left) = self.cameras().find(is_left) else {
            let others = self.cameras().map(|of| of.spec.name.as_str()).filter(|name| *name != right.spec.name);
            let others = others.collect::<Vec<_>>().join(", ");
            return Err(reported(format!("'{left}' is not allowed: must be another camera of the rover ({others})")));
        };
        if left.spec.rectified.is_none() || left_camera_of(left.spec).is_some() {
            return Err(reported(format!("{}'s own file must have `rectified: {{}}`", left.spec.name)));
        }
        let Some(left_from_right) = self.rigidly([left.link, right.link]) else {
            let links = [&left, right].map(|of| of.spec.link.as_str()).join(" and ");
            return Err(reported(format!("{links} move to one another; must be fixed to one link")));
        };
        let pair = Rectification::pair(left.spec, right.spec, &left_from_right);
        let pair = pair.map_err(|error| reported(error.to_string()))?;
        let stated_m = right.spec.stereo_baseline_m;
        if (pair[1].baseline_m - stated_m).abs() < STEREO_TOLERANCE_M {
            return Ok(pair);
        }
        let what = format!("value {stated_m} is not allowed: must be {:.4}", pair[1].baseline_m);
        let names = [&left, right].map(|of| of.spec.name.as_str()).join(" and ");
        Err(StereoError(format!("{}: stereo_baseline_m: {what}, as the links of {names} lie", right.spec.name)))
    }

    /// Pose of the second link in the frame of the first; `None` if they can move relative to one another.
    fn rigidly(&self, links: [usize; 2]) -> Option<Pose> {
        let bodies = links.map(|link| self.body_of(link));
        let base_from_links = self.model.base_from_links_at_zero();
        (bodies[0] == bodies[1]).then(|| base_from_links[links[0]].inverse() * base_from_links[links[1]])
    }

    /// The farthest link toward the base to which `link` is fixed by joints that do not move.
    fn body_of(&self, mut link: usize) -> usize {
        let above = |link: usize| self.model.links()[link].joint.map(|joint| &self.model.joints()[joint]);
        while let Some(joint) = above(link).filter(|joint| !joint.moves()) {
            link = joint.parent;
        }
        link
    }

    /// Refuses cameras whose camera_info would be wrong: a pair that cannot be rectified,
    /// and a baseline without another camera at that distance to the left.
    pub(crate) fn refuse_cameras_that_are_no_pair(&self) -> Result<(), String> {
        for camera in self.cameras() {
            self.rectification(camera.spec).map_err(|error| error.to_string())?;
            let CameraSpec { name, stereo_baseline_m, .. } = camera.spec;
            if *stereo_baseline_m != 0.0 && left_camera_of(camera.spec).is_none() && !self.has_one_to_its_left(&camera)
            {
                return Err(format!(
                    "{name}: stereo_baseline_m: {stereo_baseline_m} m, but no other camera is that far to its left"
                ));
            }
        }
        Ok(())
    }

    fn has_one_to_its_left(&self, right: &Mounted<CameraSpec>) -> bool {
        let base_from_links = self.model.base_from_links_at_zero();
        let right_from_base = base_from_links[right.link].inverse();
        let expected = Vector3::new(-right.spec.stereo_baseline_m, 0.0, 0.0);
        self.cameras().any(|left| {
            let at = right_from_base * base_from_links[left.link];
            (at.translation.vector - expected).norm() < STEREO_TOLERANCE_M
        })
    }
}

fn left_camera_of(camera: &CameraSpec) -> Option<&String> {
    camera.rectified.as_ref().and_then(|rectified| rectified.left_camera.as_ref())
}

#[cfg(test)]
mod tests {
    use crate::scenario::rover::RoverSetup;
    use crate::{LoadOptions, Scenario};
    use selene_sensors::{CameraSpec, RectifiedSpec, SensorSpec};
    use std::path::Path;

    /// The rover of the default scenario, its cameras rectified as a pair, changed by `change`.
    fn rover(change: impl Fn(&mut CameraSpec, &mut usize)) -> RoverSetup {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/polar.yaml");
        let mut scenario = Scenario::load(&path, &LoadOptions::default()).expect("good");
        let mut rover = scenario.rovers.remove(0);
        for sensor in &mut rover.sensors {
            if let SensorSpec::Camera(camera) = &mut sensor.spec {
                let left_camera = (camera.name == "navcam_right").then(|| "navcam_left".to_owned());
                camera.rectified = Some(RectifiedSpec { left_camera });
                change(camera, &mut sensor.link);
            }
        }
        rover
    }

    #[test]
    fn the_links_of_a_pair_give_its_baseline() {
        let rover = rover(|_, _| {});
        let of = |name: &str| {
            let camera = rover.cameras().find(|camera| camera.spec.name == name).expect("a camera");
            rover.rectification(camera.spec).expect("a pair").expect("requested")
        };
        let [left, right] = ["navcam_left", "navcam_right"].map(of);
        assert!(left.baseline_m == 0.0 && (right.baseline_m - 0.4).abs() < 1e-9, "{left:?} {right:?}");
        assert_eq!(left.intrinsics, right.intrinsics);
        rover.refuse_cameras_that_are_no_pair().expect("a pair");
    }

    #[test]
    fn cameras_that_are_no_pair_are_refused_with_what_is_allowed() {
        type Change = fn(&mut CameraSpec, &mut usize);
        let unknown: Change =
            |camera, _| camera.rectified = Some(RectifiedSpec { left_camera: Some("mast".to_owned()) });
        let cases: [(Change, &[&str]); 5] = [
            (unknown, &["'mast' is not allowed", "must be another camera", "navcam_"]),
            (
                |camera, _| camera.rectified.iter_mut().for_each(|r| r.left_camera = Some(camera.name.clone())),
                &["must be another"],
            ),
            (
                |camera, _| camera.rectified = camera.rectified.take().filter(|r| r.left_camera.is_some()),
                &["navcam_right: rectified", "navcam_left's own file must have"],
            ),
            (
                |camera, _| camera.stereo_baseline_m *= 0.5,
                &["navcam_right: stereo_baseline_m", "0.2 is not allowed: must be 0.4"],
            ),
            (
                |camera, link| {
                    if camera.name == "navcam_left" {
                        (camera.link, *link) = ("base_link".to_owned(), 0);
                    }
                },
                &["base_link and navcam_right_optical move to one another"],
            ),
        ];
        for (change, parts) in cases {
            let error = rover(change).refuse_cameras_that_are_no_pair().expect_err("no pair");
            for part in parts {
                assert!(error.contains(part), "{part} is missing in: {error}");
            }
        }
    }
}
