//! The ground ahead of the rover. The windows of the place that it drives toward are made in
//! the background as soon as it drives; a whole step from the window's middle the
//! ground goes there, at an instant that depends on the rover alone. Should the windows
//! not be ready by then they are waited for, so that what is stepped on is always the same.
//! A rover that drives along the line between two places has both made ready, once.
//!
//! Coarse windows move seldom, several levels at once at worst: between two places the
//! maker looks at those farther along the same way, and makes the coarse windows they need.
//! It works on all cores but one: a heartbeat that shares its core waits for milliseconds.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use nalgebra::Vector2;
use rayon::{ThreadPool, ThreadPoolBuilder};
use selene_terrain::{Ground, Place, Surroundings, Vicinity};

/// Distance from the window's middle, in its steps, at which the ground goes on.
const GO_STEPS: f64 = 1.0;

/// So far ahead the rover is looked after, s: one that trembles where it stands goes nowhere.
const AHEAD_S: f64 = 60.0;

/// Places made ready at once.
const COMING_MAX: usize = 2;

/// Places beyond the next one whose coarse windows are made ahead.
const FORESEEN: i32 = 6;

/// Makes ready the next place.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    maker: Option<Maker>,
    /// Asked of the maker, the one asked for last at the end.
    coming: Vec<Place>,
    /// Those of them that it has told.
    ready: Vec<Vicinity>,
}

/// Threads that make places; they end with their orders.
#[derive(Debug)]
struct Maker {
    orders: Sender<Order>,
    made: Receiver<Vicinity>,
    _pool: ThreadPool,
}

/// A place to make, and those that may follow.
#[derive(Debug)]
struct Order {
    next: Place,
    later: VecDeque<Place>,
}

impl Outlook {
    /// The windows to go to, when a rover at `at_m` that moves at `velocity_m_s` has to.
    pub(crate) fn next(&mut self, ground: &Ground, at_m: Vector2<f64>, velocity_m_s: Vector2<f64>) -> Option<Vicinity> {
        let surroundings = ground.surroundings()?;
        let step_m = surroundings.plan().step_m();
        let middle = Vector2::from(ground.place().map(f64::from));
        let from_middle = at_m / step_m - middle;
        if from_middle.amax() >= GO_STEPS {
            let place = surroundings.plan().place_of(at_m.x, at_m.y);
            return surroundings.plan().has(place).then(|| self.windows(surroundings, place));
        }
        if let Some(there) = heading_for(from_middle, velocity_m_s / step_m) {
            self.ask(surroundings, ground.place(), [there.x, there.y].map(|steps| steps as i32));
        }
        None
    }

    /// Has the place made that lies `steps` from where the ground is.
    fn ask(&mut self, surroundings: &Arc<Surroundings>, from: Place, steps: [i32; 2]) {
        let along = |times: i32| [0, 1].map(|axis| from[axis] + times * steps[axis]);
        let next = along(1);
        if self.coming.contains(&next) || !surroundings.plan().has(next) {
            return;
        }
        if self.maker.is_none() {
            self.maker = Maker::start(surroundings);
        }
        let Some(maker) = &self.maker else { return };
        let order = Order { next, later: (2..=1 + FORESEEN).map(along).collect() };
        if maker.orders.send(order).is_ok() {
            self.coming.push(next);
        }
        if self.coming.len() > COMING_MAX {
            self.coming.remove(0);
        }
        // Nobody waits for what was asked in vain.
        self.ready.extend(maker.made.try_iter());
        self.ready.retain(|windows| self.coming.contains(&windows.place()));
    }

    fn windows(&mut self, surroundings: &Surroundings, place: Place) -> Vicinity {
        let is_coming = std::mem::take(&mut self.coming).contains(&place);
        let ready = std::mem::take(&mut self.ready).into_iter();
        // A maker that came to grief sends no more and leaves its work to who waits.
        let made = self.maker.iter().filter(|_| is_coming).flat_map(|maker| maker.made.iter());
        let there = ready.chain(made).find(|windows| windows.place() == place);
        there.unwrap_or_else(|| surroundings.vicinity(place).owned())
    }
}

impl Maker {
    /// None where threads cannot start: the work is left for later.
    fn start(surroundings: &Arc<Surroundings>) -> Option<Self> {
        let (orders, taken) = channel();
        let (sender, made) = channel();
        let source = Arc::clone(surroundings);
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = ThreadPoolBuilder::new().num_threads((cores - 1).max(1));
        // Else a panic in the pool would end the process; so it ends the maker, and who waits is told.
        let threads = threads.panic_handler(drop);
        let pool = threads.thread_name(|i| format!("ground ahead {i}")).build().ok()?;
        pool.spawn(move || work(&source, &taken, &sender));
        Some(Self { orders, made, _pool: pool })
    }
}

/// Makes places in the order in which they are asked for; between two orders a part of what later ones need.
fn work(source: &Surroundings, orders: &Receiver<Order>, made: &Sender<Vicinity>) {
    let mut later = VecDeque::new();
    loop {
        let order = match later.front() {
            Some(_) => orders.try_recv(),
            None => orders.recv().map_err(|_| TryRecvError::Disconnected),
        };
        match (order, later.front()) {
            (Ok(order), _) => {
                if made.send(source.vicinity(order.next).owned()).is_err() {
                    return;
                }
                later = order.later;
            }
            (Err(TryRecvError::Empty), Some(&place)) => {
                if !source.foresee(place) {
                    later.pop_front();
                }
            }
            (Err(_), _) => return,
        }
    }
}

/// The steps that a rover will be asked to go, if it goes on as it does: those nearest to where it
/// is `GO_STEPS` off the middle along either axis first; none where that is later than `AHEAD_S`.
fn heading_for(from_middle: Vector2<f64>, steps_a_second: Vector2<f64>) -> Option<Vector2<f64>> {
    let until = |(at, speed): (&f64, &f64)| (GO_STEPS - at * speed.signum()) / speed.abs();
    let first_s = from_middle.iter().zip(&steps_a_second).map(until).fold(f64::INFINITY, f64::min);
    (first_s < AHEAD_S).then(|| (from_middle + steps_a_second * first_s).map(f64::round))
}

#[cfg(test)]
mod tests {
    use super::{Outlook, heading_for};
    use nalgebra::Vector2;
    use selene_terrain::{Ground, Level, LevelSpec, Surroundings, Vicinity, WindowPlan};
    use std::sync::Arc;

    /// Level ground of one window, 16 m wide; `check` is called where it is made.
    fn ground(check: fn()) -> Ground {
        let spec = LevelSpec { spacing_m: 0.05, side_m: 16.0 };
        let make = move |firsts: &[[i64; 2]]| {
            check();
            let level = Level::sample(firsts[0].map(|post| post as f64 * 0.05), 0.05, spec.posts(), |_, _| 0.0);
            Vicinity::new([0, 0], vec![Arc::new(level)], Vec::new(), &[])
        };
        Ground::around_origin(Arc::new(Surroundings::new(WindowPlan::new(&[spec], 0), Vec::new(), make)))
    }

    #[test]
    fn a_maker_that_comes_to_grief_leaves_its_work_to_who_waits() {
        let fails: fn() = || {
            let thread = std::thread::current();
            assert!(!thread.name().is_some_and(|name| name.starts_with("ground ahead")), "the maker comes to grief");
        };
        for check in [(|| ()) as fn(), fails] {
            let (ground, mut outlook) = (ground(check), Outlook::default());
            let step_m = ground.surroundings().expect("endless").plan().step_m();
            let mut at = |steps: f64| outlook.next(&ground, Vector2::new(steps * step_m, 0.0), Vector2::new(0.2, 0.0));
            assert!(at(0.0).is_none(), "it is asked for and not yet gone to");
            assert_eq!(at(1.01).expect("gone to").place(), [1, 0]);
        }
    }

    #[test]
    fn a_rover_is_expected_where_it_drives() {
        let there = |at: [f64; 2], velocity: [f64; 2]| {
            heading_for(Vector2::from(at), Vector2::from(velocity)).expect("it moves")
        };
        assert_eq!(there([0.5, 0.0], [0.2, 0.0]), Vector2::new(1.0, 0.0));
        assert_eq!(there([-0.5, 0.45], [-0.1, 0.1]), Vector2::new(-1.0, 1.0));
        assert_eq!(there([0.1, -0.6], [0.2, 0.0]), Vector2::new(1.0, -1.0));
        // A slow drift to the side does not come first, however near that border is.
        assert_eq!(there([0.3, 0.9], [0.2, 1e-6]), Vector2::new(1.0, 1.0));
        for trembling in [[0.0, 0.0], [1e-4, -2e-4]] {
            assert_eq!(heading_for(Vector2::new(0.4, 0.3), Vector2::from(trembling)), None);
        }
    }
}
