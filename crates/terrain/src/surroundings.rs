//! The ground around any place, made when asked for and shared by all who ask: one
//! process makes a place's windows once, however many nodes stand there. What is made
//! depends on the place alone, so that it matters to nobody who asked first, or whether
//! an old place was made again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::landscape::Landscape;
use crate::rock::RockShape;
use crate::showing::Showing;
use crate::windows::{Place, Vicinity, WindowPlan};

/// Places kept: the one that nodes stand on, the one before and the one to come.
const KEPT: usize = 3;

/// Makes the windows of a place, from their first posts.
pub(crate) type Make = dyn Fn(&[[i64; 2]]) -> Vicinity + Send + Sync;

/// All places of one landscape.
pub struct Surroundings {
    plan: WindowPlan,
    shapes: Arc<Vec<RockShape>>,
    make: Box<Make>,
    made: Mutex<VecDeque<Vicinity>>,
}

impl Surroundings {
    /// Places by `plan`, made by `make` from the first posts of their windows.
    #[must_use]
    pub fn new(
        plan: WindowPlan,
        shapes: Vec<RockShape>,
        make: impl Fn(&[[i64; 2]]) -> Vicinity + Send + Sync + 'static,
    ) -> Self {
        Self { plan, shapes: Arc::new(shapes), make: Box::new(make), made: Mutex::default() }
    }

    /// All places of a landscape.
    #[must_use]
    pub fn of(landscape: Landscape) -> Self {
        let shapes = landscape.rock_shapes().to_vec();
        let showing = Mutex::new(Showing::default());
        Self::new(landscape.plan(), shapes, move |firsts| {
            showing.lock().unwrap_or_else(PoisonError::into_inner).vicinity(&landscape, firsts)
        })
    }

    /// How windows move.
    #[must_use]
    pub fn plan(&self) -> &WindowPlan {
        &self.plan
    }

    /// Shapes of the rocks, the same at every place.
    #[must_use]
    pub fn shapes(&self) -> Arc<Vec<RockShape>> {
        Arc::clone(&self.shapes)
    }

    /// The undisturbed windows of a place. Makes them (seconds at worst) unless they were made lately.
    #[must_use]
    pub fn vicinity(&self, place: Place) -> Vicinity {
        // A maker that panicked left whole windows behind: the queue is changed last.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.iter().find(|windows| windows.place == place) {
            return known.clone();
        }
        let windows = Vicinity { place, ..(self.make)(&self.plan.first_posts(place)) };
        made.push_back(windows.clone());
        if made.len() > KEPT {
            made.pop_front();
        }
        windows
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("plan", &self.plan).finish_non_exhaustive()
    }
}
