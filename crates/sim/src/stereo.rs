//! Which cameras of a rover are pairs, and what their links say of it. Relative poses are those
//! of the rover's model, so the two of a rectified pair must be fixed to one another.

use std::path::Path;

use nalgebra::Vector3;
use selene_base::{InputError, Pose};
use selene_sensors::{CameraSpec, Rectification, SensorSpec};

use crate::Scenario;

/// How exactly a stereo baseline must agree with the rover's links, m.
const STEREO_TOLERANCE_M: f64 = 1e-3;

impl Scenario {
    /// How a camera's rectified images are projected; none where its file asks for none.
    ///
    /// # Errors
    /// With what is wrong with its pair.
    pub fn rectification(&self, camera: &CameraSpec) -> Result<Option<Rectification>, String> {
        let Some(rectified) = &camera.rectified else { return Ok(None) };
        if let Some(name) = &rectified.left_camera {
            return Ok(Some(self.rectified_pair(name, camera)?[1]));
        }
        let has_left = |right: &&CameraSpec| left_camera_of(right) == Some(&camera.name);
        let rights: Vec<_> = self.cameras().filter(has_left).collect();
        match &rights[..] {
            [] => Ok(Some(Rectification::alone(camera))),
            [right] => Ok(Some(self.rectified_pair(&camera.name, right)?[0])),
            [one, other, ..] => {
                let named = format!("{} is left_camera of {} and of {}", camera.name, one.name, other.name);
                Err(format!("rectified: {named}: must be that of one camera"))
            }
        }
    }

    /// The left camera of this name with a right one.
    fn rectified_pair(&self, left: &str, right: &CameraSpec) -> Result<[Rectification; 2], String> {
        let told = |what: String| format!("{}: rectified: left_camera: {what}", right.name);
        let Some(left) = self.cameras().find(|camera| camera.name == left && camera.name != right.name) else {
            let others = self.cameras().map(|camera| camera.name.as_str()).filter(|name| *name != right.name);
            let others = others.collect::<Vec<_>>().join(", ");
            return Err(told(format!("'{left}' is not allowed: must be another camera of the scenario ({others})")));
        };
        if left.rectified.is_none() || left_camera_of(left).is_some() {
            return Err(told(format!("{}'s own file must have `rectified: {{}}`", left.name)));
        }
        let Some(left_from_right) = self.rigidly(left, right) else {
            let what = format!("{} and {} move to one another; must be fixed to one link", left.link, right.link);
            return Err(told(what));
        };
        let pair = Rectification::pair(left, right, &left_from_right).map_err(told)?;
        if (pair[1].baseline_m - right.stereo_baseline_m).abs() < STEREO_TOLERANCE_M {
            return Ok(pair);
        }
        let what = format!("value {} is not allowed: must be {:.4}", right.stereo_baseline_m, pair[1].baseline_m);
        Err(format!("{}: stereo_baseline_m: {what}, as the links of {} and {} lie", right.name, left.name, right.name))
    }

    /// The right camera's optical frame in the left one's; none where they are not fixed to one another.
    fn rigidly(&self, left: &CameraSpec, right: &CameraSpec) -> Option<Pose> {
        let links = [left, right].map(|camera| self.link_index(&camera.link));
        let bodies = links.map(|link| self.body_of(link));
        let base_from_links = self.rover.base_from_links_at_zero();
        (bodies[0] == bodies[1]).then(|| base_from_links[links[0]].inverse() * base_from_links[links[1]])
    }

    /// The outermost link that a link is fixed to.
    fn body_of(&self, mut link: usize) -> usize {
        let above = |link: usize| self.rover.links()[link].joint.map(|joint| &self.rover.joints()[joint]);
        while let Some(joint) = above(link).filter(|joint| !joint.moves()) {
            link = joint.parent;
        }
        link
    }

    fn cameras(&self) -> impl Iterator<Item = &CameraSpec> {
        self.sensors.iter().filter_map(|sensor| match sensor {
            SensorSpec::Camera(camera) => Some(camera),
            SensorSpec::Lidar(_) | SensorSpec::Imu(_) | SensorSpec::Position(_) => None,
        })
    }

    /// Refuses cameras whose camera_info would say what is not so: a pair that cannot be rectified,
    /// and a baseline without another camera that far to the left.
    pub(crate) fn refuse_cameras_that_are_no_pair(&self, path: &Path) -> Result<(), InputError> {
        for camera in self.cameras() {
            self.rectification(camera).map_err(|what| InputError::content(path, what))?;
            if camera.stereo_baseline_m != 0.0 && left_camera_of(camera).is_none() && !self.has_one_to_its_left(camera)
            {
                let told = format!(
                    "{}: stereo_baseline_m: {} m, but no other camera is that far to its left",
                    camera.name, camera.stereo_baseline_m
                );
                return Err(InputError::content(path, told));
            }
        }
        Ok(())
    }

    fn has_one_to_its_left(&self, right: &CameraSpec) -> bool {
        let base_from_links = self.rover.base_from_links_at_zero();
        let right_from_base = base_from_links[self.link_index(&right.link)].inverse();
        let expected = Vector3::new(-right.stereo_baseline_m, 0.0, 0.0);
        self.cameras().any(|left| {
            let at = right_from_base * base_from_links[self.link_index(&left.link)];
            (at.translation.vector - expected).norm() < STEREO_TOLERANCE_M
        })
    }
}

fn left_camera_of(camera: &CameraSpec) -> Option<&String> {
    camera.rectified.as_ref().and_then(|rectified| rectified.left_camera.as_ref())
}

#[cfg(test)]
mod tests {
    use crate::{LoadOptions, Scenario};
    use selene_sensors::{CameraSpec, RectifiedSpec, SensorSpec};
    use std::path::Path;

    /// The default scenario, its cameras rectified as a pair, changed by `change`.
    fn scenario(change: impl Fn(&mut CameraSpec)) -> Scenario {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/polar.yaml");
        let mut scenario = Scenario::load(&path, &LoadOptions::default()).expect("good");
        for sensor in &mut scenario.sensors {
            if let SensorSpec::Camera(camera) = sensor {
                let left_camera = (camera.name == "navcam_right").then(|| "navcam_left".to_owned());
                camera.rectified = Some(RectifiedSpec { left_camera });
                change(camera);
            }
        }
        scenario
    }

    #[test]
    fn the_links_of_a_pair_give_its_baseline() {
        let scenario = scenario(|_| {});
        let of = |name: &str| {
            let camera = scenario.cameras().find(|camera| camera.name == name).expect("a camera");
            scenario.rectification(camera).expect("a pair").expect("asked for")
        };
        let [left, right] = ["navcam_left", "navcam_right"].map(of);
        assert!(left.baseline_m == 0.0 && (right.baseline_m - 0.4).abs() < 1e-9, "{left:?} {right:?}");
        assert_eq!(left.intrinsics, right.intrinsics);
        scenario.refuse_cameras_that_are_no_pair(Path::new("polar.yaml")).expect("a pair");
    }

    #[test]
    fn cameras_that_are_no_pair_are_refused_with_what_is_allowed() {
        type Change = fn(&mut CameraSpec);
        let unknown: Change = |camera| camera.rectified = Some(RectifiedSpec { left_camera: Some("mast".to_owned()) });
        let cases: [(Change, &[&str]); 5] = [
            (unknown, &["'mast' is not allowed", "must be another camera", "navcam_"]),
            (
                |camera| camera.rectified.iter_mut().for_each(|r| r.left_camera = Some(camera.name.clone())),
                &["must be another"],
            ),
            (
                |camera| camera.rectified = camera.rectified.take().filter(|r| r.left_camera.is_some()),
                &["navcam_right: rectified", "navcam_left's own file must have"],
            ),
            (
                |camera| camera.stereo_baseline_m *= 0.5,
                &["navcam_right: stereo_baseline_m", "0.2 is not allowed: must be 0.4"],
            ),
            (
                |camera| {
                    if camera.name == "navcam_left" {
                        camera.link = "base_link".to_owned()
                    }
                },
                &["base_link and navcam_right_optical move to one another"],
            ),
        ];
        for (change, parts) in cases {
            let error = scenario(change).refuse_cameras_that_are_no_pair(Path::new("polar.yaml")).expect_err("no pair");
            let error = error.to_string();
            for part in parts.iter().chain(&["polar.yaml"]) {
                assert!(error.contains(part), "{part} is missing in: {error}");
            }
        }
    }
}
