//! The ground around any place, made when asked for and shared by all who ask: one
//! process makes a place's windows once, however many nodes stand there. What is made
//! depends on the place alone, so that it matters to nobody who asked first, or whether
//! an old place was made again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::landscape::Landscape;
use crate::rock::RockShape;
use crate::showing::Showing;
use crate::windows::{Place, Vicinity, WindowPlan};

/// Places kept: the one that nodes stand on, the one before and the one to come.
const KEPT: usize = 3;

/// Who makes the windows of a place, from their first posts.
pub trait Make: Send + Sync {
    /// The windows that begin at these posts, finest first.
    fn vicinity(&self, firsts: &[[i64; 2]]) -> Vicinity;

    /// Makes a part of what such windows will need; whether there was one to make.
    fn foresee(&self, _firsts: &[[i64; 2]]) -> bool {
        false
    }
}

impl<F: Fn(&[[i64; 2]]) -> Vicinity + Send + Sync> Make for F {
    fn vicinity(&self, firsts: &[[i64; 2]]) -> Vicinity {
        self(firsts)
    }
}

/// A landscape and what it showed last.
struct ShownLandscape {
    landscape: Landscape,
    showing: Mutex<Showing>,
}

impl Make for ShownLandscape {
    fn vicinity(&self, firsts: &[[i64; 2]]) -> Vicinity {
        whole(&self.showing).vicinity(&self.landscape, firsts)
    }

    fn foresee(&self, firsts: &[[i64; 2]]) -> bool {
        whole(&self.showing).foresee(&self.landscape, firsts)
    }
}

/// All places of one landscape.
pub struct Surroundings {
    plan: WindowPlan,
    shapes: Arc<Vec<RockShape>>,
    make: Box<dyn Make>,
    made: Mutex<VecDeque<Vicinity>>,
    /// Held while a place is made: who asks for one that is there does not wait for another.
    making: Mutex<()>,
}

impl Surroundings {
    /// Places by `plan`, made by `make` from the first posts of their windows.
    #[must_use]
    pub fn new(plan: WindowPlan, shapes: Vec<RockShape>, make: impl Make + 'static) -> Self {
        Self { plan, shapes: Arc::new(shapes), make: Box::new(make), made: Mutex::default(), making: Mutex::default() }
    }

    /// All places of a landscape.
    #[must_use]
    pub fn of(landscape: Landscape) -> Self {
        let (plan, shapes) = (landscape.plan(), landscape.rock_shapes().to_vec());
        Self::new(plan, shapes, ShownLandscape { landscape, showing: Mutex::default() })
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
        self.known(place).unwrap_or_else(|| self.newly_made(place))
    }

    /// Makes a part, one coarse window, of what a place will need, so that it takes less long once it is
    /// asked for; whether there was one to make.
    #[must_use]
    pub fn foresee(&self, place: Place) -> bool {
        self.plan.has(place) && self.known(place).is_none() && self.make.foresee(&self.plan.first_posts(place))
    }

    fn newly_made(&self, place: Place) -> Vicinity {
        let _alone = whole(&self.making);
        // Another may have made it meanwhile.
        if let Some(known) = self.known(place) {
            return known;
        }
        let windows = Vicinity { place, ..self.make.vicinity(&self.plan.first_posts(place)) };
        let mut made = whole(&self.made);
        made.push_back(windows.clone());
        if made.len() > KEPT {
            made.pop_front();
        }
        windows
    }

    fn known(&self, place: Place) -> Option<Vicinity> {
        whole(&self.made).iter().find(|windows| windows.place == place).cloned()
    }
}

/// What a lock guards. A maker that panicked leaves whole windows behind: all is changed last.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("plan", &self.plan).finish_non_exhaustive()
    }
}
