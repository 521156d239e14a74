//! Convoys to train followers in, on rigid ground: the world, leader, inputs and images of the study, and beside them
//! what a teacher would do. `tools/studies/examples/convoy_worlds.rs` offers them to a program that learns.

use std::path::Path;
use std::sync::Arc;

use image::RgbImage;
use selene_sim::{LoadOptions, Model, Scenario};

use super::course::ConvoyCourse;
use super::follower::FollowerOutput;
use super::scenario::scenario;
use super::teacher::{LedPath, Lesson};
use super::trail::NUMBERS;
use super::world::{Convoy, TRUCK_X_M};
use super::{CourseGround, FOLLOWERS};
use crate::Failure;

/// Distance from the leader's path at which a follower is lost, m.
const LOST_M: f64 = 4.0;

/// A convoy to train in.
pub struct Practice {
    model: Arc<Model>,
    convoy: Convoy,
    lessons: [Lesson; FOLLOWERS],
}

impl Practice {
    /// Begins a convoy on a course. Writes the scenario to `folder`; uses the ground of `before` if there is one.
    ///
    /// # Errors
    /// When the world cannot be created.
    pub fn begin(
        course: &ConvoyCourse,
        before: Option<&Self>,
        folder: &Path,
        options: &LoadOptions,
    ) -> Result<Self, Failure> {
        let file = scenario(course, CourseGround::Rigid, folder, options)?;
        let scenario = Arc::new(Scenario::load(&file, options)?);
        let model = match before {
            Some(before) => before.model.with_scenario(scenario)?,
            None => Model::new(scenario)?,
        };
        let model = Arc::new(model);
        let convoy = Convoy::begin(&model, course, true)?;
        let mut practice = Self { model, convoy, lessons: Default::default() };
        // After one step there are images.
        practice.step(&Default::default())?;
        Ok(practice)
    }

    /// Takes an action of each follower and drives for a control step.
    ///
    /// # Errors
    /// When a heartbeat fails.
    pub fn step(&mut self, actions: &[FollowerOutput; FOLLOWERS]) -> Result<(), Failure> {
        self.convoy.step(actions)?;
        let led = LedPath::of(&self.convoy);
        for (i, lesson) in self.lessons.iter_mut().enumerate() {
            *lesson = led.lesson(&self.convoy, i)?;
        }
        Ok(())
    }

    /// What the teacher would do, and how each follower deviates from the leader.
    #[must_use]
    pub fn lessons(&self) -> &[Lesson; FOLLOWERS] {
        &self.lessons
    }

    /// Input of the policy of the follower with this index, beside its image.
    #[must_use]
    pub fn numbers(&self, i: usize) -> [f32; NUMBERS] {
        self.convoy.follower(i).numbers()
    }

    /// Image of the follower with this index.
    ///
    /// # Errors
    /// When it cannot be traced.
    pub fn image(&mut self, i: usize) -> Result<RgbImage, Failure> {
        self.convoy.image(i)
    }

    /// Whether the follower with this index has lost the leader's path, touched the truck ahead, or hit an obstacle.
    #[must_use]
    pub fn has_failed(&self, i: usize) -> bool {
        let [tail_m, nose_m] = TRUCK_X_M;
        let is_at_truck = self.convoy.follower(i).seen.apart_m() < nose_m - tail_m;
        self.lessons[i].path_m > LOST_M || is_at_truck || self.convoy.hits(i + 1) > 0
    }

    /// Whether the course is over: the leader has come to the end, a follower failed, or time is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.convoy.is_over() || (0..FOLLOWERS).any(|i| self.has_failed(i))
    }
}
