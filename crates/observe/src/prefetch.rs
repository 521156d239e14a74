//! Prefetching of terrain windows: makes the windows that a rover drives toward in the background. If they are not
//! ready when the rover's snapshot needs them, the caller waits, so that the rendered ground is always the same. For
//! a rover that drives along the boundary between two positions of the windows, both are made, once.
//!
//! Coarse windows move seldom, in the worst case several levels at once: between requests the maker looks at positions
//! farther along the same direction and makes the coarse windows that they need. It uses all cores but one, because a
//! heartbeat that shares its core waits for milliseconds.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use nalgebra::Vector2;
use rayon::{ThreadPool, ThreadPoolBuilder};
use selene_terrain::{ClipmapCentre, ClipmapWindows, Terrain};

/// Distance from the windows' centre, in steps of the windows, at which the simulation moves them.
const GO_STEPS: f64 = 1.0;
/// Time over which a rover's motion is extrapolated, s: a rover that only vibrates in place reaches no other window
/// position within it.
const AHEAD_S: f64 = 60.0;
/// The largest number of window positions made at the same time.
const COMING_MAX: usize = 2;
/// Number of window positions beyond the next one whose coarse windows are made in advance.
const FORESEEN: i32 = 6;

/// Makes the next windows in the background.
#[derive(Debug, Default)]
pub(crate) struct WindowPrefetch {
    is_off: bool,
    maker: Option<WindowMaker>,
    /// Positions requested from the maker, the latest request at the end.
    coming: Vec<ClipmapCentre>,
    /// Windows that the maker has finished.
    ready: Vec<ClipmapWindows>,
}

/// Threads that make windows; they end when the sender of requests is dropped.
#[derive(Debug)]
struct WindowMaker {
    requests: Sender<Request>,
    made: Receiver<ClipmapWindows>,
    _pool: ThreadPool,
}

/// Centre of the windows to make, and centres that may follow.
#[derive(Debug)]
struct Request {
    next: ClipmapCentre,
    later: VecDeque<ClipmapCentre>,
}

impl WindowPrefetch {
    /// A prefetch that makes nothing in advance, for many scenes in one process.
    pub(crate) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Requests the next windows for a rover at `at_m`, moving at `velocity_m_s`, on windows centred at `from`.
    pub(crate) fn look_ahead(
        &mut self,
        terrain: &Arc<Terrain>,
        from: ClipmapCentre,
        at_m: Vector2<f64>,
        velocity_m_s: Vector2<f64>,
    ) {
        let Some(plan) = terrain.plan() else { return };
        let from_middle = at_m / plan.step_m() - Vector2::from(from.map(f64::from));
        if let Some(there) = heading_for(from_middle, velocity_m_s / plan.step_m()) {
            self.request(terrain, from, [there.x, there.y].map(|steps| steps as i32));
        }
    }

    /// The windows around a centre; waits for the maker if they were requested, otherwise makes them here.
    pub(crate) fn windows(&mut self, terrain: &Terrain, centre: ClipmapCentre) -> Option<ClipmapWindows> {
        let is_coming = std::mem::take(&mut self.coming).contains(&centre);
        let ready = std::mem::take(&mut self.ready).into_iter();
        // A maker that panicked sends nothing more: the windows are then made here.
        let made = self.maker.iter().filter(|_| is_coming).flat_map(|maker| maker.made.iter());
        let there = ready.chain(made).find(|windows| windows.centre() == centre);
        there.or_else(|| terrain.windows(centre).map(ClipmapWindows::owned))
    }

    /// Requests the windows that are `steps` from the current ones.
    fn request(&mut self, terrain: &Arc<Terrain>, from: ClipmapCentre, steps: [i32; 2]) {
        let along = |times: i32| [0, 1].map(|axis| from[axis] + times * steps[axis]);
        let next = along(1);
        if self.is_off || self.coming.contains(&next) || !terrain.plan().is_some_and(|plan| plan.has(next)) {
            return;
        }
        if self.maker.is_none() {
            self.maker = WindowMaker::start(terrain);
        }
        let Some(maker) = &self.maker else { return };
        let request = Request { next, later: (2..=1 + FORESEEN).map(along).collect() };
        if maker.requests.send(request).is_ok() {
            self.coming.push(next);
        }
        if self.coming.len() > COMING_MAX {
            self.coming.remove(0);
        }
        // Drops finished windows that are no longer needed.
        self.ready.extend(maker.made.try_iter());
        self.ready.retain(|windows| self.coming.contains(&windows.centre()));
    }
}

impl WindowMaker {
    /// Starts the threads; `None` if they cannot start: windows are then made on demand.
    fn start(terrain: &Arc<Terrain>) -> Option<Self> {
        let (requests, taken) = channel();
        let (sender, made) = channel();
        let source = Arc::clone(terrain);
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = ThreadPoolBuilder::new().num_threads((cores - 1).max(1));
        // Without a handler a panic in the pool would end the process; with it the maker alone ends, and its
        // channel closes.
        let threads = threads.panic_handler(drop);
        let pool = threads.thread_name(|i| format!("windows ahead {i}")).build().ok()?;
        pool.spawn(move || work(&source, &taken, &sender));
        Some(Self { requests, made, _pool: pool })
    }
}

/// Makes windows in the order of requests; between two requests, makes a part of the windows that later ones need.
fn work(source: &Terrain, requests: &Receiver<Request>, made: &Sender<ClipmapWindows>) {
    let mut later = VecDeque::new();
    loop {
        let request = match later.front() {
            Some(_) => requests.try_recv(),
            None => requests.recv().map_err(|_| TryRecvError::Disconnected),
        };
        match (request, later.front()) {
            (Ok(request), _) => {
                let windows = source.windows(request.next).map(ClipmapWindows::owned);
                if windows.is_none_or(|windows| made.send(windows).is_err()) {
                    return;
                }
                later = request.later;
            }
            (Err(TryRecvError::Empty), Some(&centre)) => {
                if !source.prefetch_windows(centre) {
                    later.pop_front();
                }
            }
            (Err(_), _) => return,
        }
    }
}

/// The next steps of the windows if the rover continues its motion: the nearest to its position when it is `GO_STEPS`
/// off the centre along either axis; `None` if that is later than `AHEAD_S`.
fn heading_for(from_middle: Vector2<f64>, steps_a_second: Vector2<f64>) -> Option<Vector2<f64>> {
    let until = |(at, speed): (&f64, &f64)| (GO_STEPS - at * speed.signum()) / speed.abs();
    let first_s = from_middle.iter().zip(&steps_a_second).map(until).fold(f64::INFINITY, f64::min);
    (first_s < AHEAD_S).then(|| (from_middle + steps_a_second * first_s).map(f64::round))
}

#[cfg(test)]
mod tests {
    use super::{WindowPrefetch, heading_for};
    use nalgebra::Vector2;
    use selene_terrain::{LevelSpec, Terrain};
    use std::sync::Arc;

    #[test]
    fn windows_are_made_by_who_waits_for_them_when_the_maker_panics() {
        let fails: fn(f64, f64) -> f64 = |_, _| {
            let thread = std::thread::current();
            assert!(!thread.name().is_some_and(|name| name.starts_with("windows ahead")), "the maker panics");
            0.0
        };
        for height_m in [(|_, _| 0.0) as fn(f64, f64) -> f64, fails] {
            let terrain = Arc::new(Terrain::of_formula(&[LevelSpec { spacing_m: 0.05, side_m: 16.0 }], height_m));
            let mut prefetch = WindowPrefetch::default();
            prefetch.look_ahead(&terrain, [0, 0], Vector2::zeros(), Vector2::new(0.2, 0.0));
            assert_eq!(prefetch.windows(&terrain, [1, 0]).expect("endless").centre(), [1, 0]);
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
        // A slow sideways drift does not reach its boundary first, however near the boundary is.
        assert_eq!(there([0.3, 0.9], [0.2, 1e-6]), Vector2::new(1.0, 1.0));
        for trembling in [[0.0, 0.0], [1e-4, -2e-4]] {
            assert_eq!(heading_for(Vector2::new(0.4, 0.3), Vector2::from(trembling)), None);
        }
    }
}
