//! Drives a convoy over a course, its followers by the plain controller or by a learned policy.

use std::path::Path;
use std::sync::Arc;

use selene_sim::{LoadOptions, Model, Scenario};

use super::course::ConvoyCourse;
use super::follower::{FollowerOutput, plain};
use super::metrics::Track;
use super::policy::Policy;
use super::scenario::scenario;
use super::world::Convoy;
use super::{CourseGround, FOLLOWERS};
use crate::Failure;

/// The driver of the followers.
#[derive(Clone, Debug)]
pub enum Follower {
    /// The plain controller, by bearing, gap and closing speed.
    Plain,
    /// A learned policy with a camera.
    Learned(Box<Policy>),
}

impl Follower {
    /// Names of the drivers, in the order of tables.
    pub const NAMES: [&str; 2] = ["plain", "learned"];

    /// Name of the driver.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Plain => Self::NAMES[0],
            Self::Learned(_) => Self::NAMES[1],
        }
    }
}

/// Result of a convoy on a course.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvoyResult {
    /// Tracks of the leader and of each follower.
    pub tracks: Vec<Track>,
    /// Number of obstacles that each truck hit.
    pub hits: Vec<usize>,
    /// Whether the leader reached the end.
    pub is_done: bool,
    /// Hash of the world's state at the end.
    pub state_hash: u64,
}

/// Drives a course on a terrain. Writes course and scenario to `folder`.
///
/// # Errors
/// When the world cannot be created or a heartbeat fails, or an image cannot be traced.
pub fn drive(
    course: &ConvoyCourse,
    terrain: CourseGround,
    follower: &Follower,
    folder: &Path,
    options: &LoadOptions,
) -> Result<ConvoyResult, Failure> {
    let file = scenario(course, terrain, folder, options)?;
    let model = Arc::new(Model::new(Arc::new(Scenario::load(&file, options)?))?);
    let mut convoy = Convoy::begin(&model, course, matches!(follower, Follower::Learned(_)))?;
    while !convoy.is_over() {
        let mut actions = [FollowerOutput::default(); FOLLOWERS];
        for (i, action) in actions.iter_mut().enumerate() {
            *action = decide(follower, &mut convoy, i)?;
        }
        convoy.step(&actions)?;
    }
    Ok(convoy.driven())
}

/// Decision of the follower with index `i`.
fn decide(follower: &Follower, convoy: &mut Convoy, i: usize) -> Result<FollowerOutput, Failure> {
    match follower {
        Follower::Plain => Ok(plain(&convoy.follower(i).seen)),
        // At the start there is no image yet.
        Follower::Learned(_) if !convoy.has_begun() => Ok(FollowerOutput::default()),
        Follower::Learned(policy) => policy.act(&convoy.image(i)?, &convoy.follower(i).numbers()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Follower, drive};
    use crate::convoy::{ConvoyCourse, CourseGround};
    use selene_sim::LoadOptions;
    use std::path::Path;

    #[test]
    fn a_convoy_drives_its_course_the_same_way_each_time() {
        let folder = std::env::temp_dir().join(format!("selene-convoy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").canonicalize().expect("there");
        let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
        let course = ConvoyCourse::draw(1, 0).expect("a course");
        let drive = || drive(&course, CourseGround::Rigid, &Follower::Plain, &folder, &options).expect("driven");
        let driven = drive();
        assert!(driven.is_done, "the leader came to {:?}", driven.tracks[0].points_m.last());
        assert_eq!((driven.tracks.len(), driven.hits[0]), (4, 0), "the leader hits nothing");
        assert_eq!(driven, drive());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
