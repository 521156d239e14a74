//! Makes the ground ahead of rovers in the background: pages of the finest level that a rover will
//! reach, so that no heartbeat waits for them. A page depends on its place alone: whether it is made
//! in time, or in advance at all, changes no result.
//!
//! It uses all cores but one: a heartbeat that shares its core waits for milliseconds.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use rayon::{ThreadPool, ThreadPoolBuilder};
use selene_terrain::Terrain;

use crate::world::entity::EntityId;
use crate::world::model::Model;
use crate::world::state::State;

/// Distance around a rover within which ground is made, m.
const REACH_M: f64 = 8.0;
/// Ground is also made around the rover's expected place after this time, s.
const AHEAD_S: f64 = 10.0;
/// Distance that a rover moves before ground is made for it again, m.
const AGAIN_M: f64 = 1.0;
/// Maximum number of queued places; a rover that finds no room asks again.
const WAITING_MAX: usize = 64;

/// Makes ground ahead of rovers.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    is_off: bool,
    maker: Option<WindowMaker>,
    /// Where each rover was when ground was last made for it, m.
    last_m: BTreeMap<EntityId, [f64; 2]>,
}

/// Threads that make pages; they end when the sender of places is dropped.
#[derive(Debug)]
struct WindowMaker {
    places: SyncSender<[f64; 2]>,
    _pool: ThreadPool,
}

impl Prefetch {
    /// Makes nothing in advance: ground is made when a wheel reaches it.
    pub(crate) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Requests ground where rovers are and where they drive to.
    pub(crate) fn look_ahead(&mut self, model: &Model, state: &State) {
        if self.is_off {
            return;
        }
        for (id, of) in &state.rovers {
            let (at, velocity) = (of.body.world_from_base.translation, of.body.base_twist.linear);
            let is_near = |was: &[f64; 2]| (at.x - was[0]).hypot(at.y - was[1]) < AGAIN_M;
            if self.last_m.get(id).is_some_and(is_near) {
                continue;
            }
            let ahead_m = [at.x + AHEAD_S * velocity.x, at.y + AHEAD_S * velocity.y];
            if self.request(model.terrain(), [at.x, at.y]) && self.request(model.terrain(), ahead_m) {
                self.last_m.insert(*id, [at.x, at.y]);
            }
        }
    }

    /// Requests ground around a place; returns whether there was room for the request.
    fn request(&mut self, terrain: &Arc<Terrain>, place_m: [f64; 2]) -> bool {
        if self.maker.is_none() {
            self.maker = WindowMaker::start(terrain);
        }
        let Some(maker) = &self.maker else { return true };
        match maker.places.try_send(place_m) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => false,
            // The maker panicked: the ground is then made when a wheel reaches it.
            Err(TrySendError::Disconnected(_)) => true,
        }
    }
}

impl WindowMaker {
    /// `None` if threads cannot start: ground is then made when a wheel reaches it.
    fn start(terrain: &Arc<Terrain>) -> Option<Self> {
        let (places, taken) = sync_channel(WAITING_MAX);
        let source = Arc::clone(terrain);
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = ThreadPoolBuilder::new().num_threads((cores - 1).max(1));
        // Without a handler a panic in the pool would end the process; with it the maker alone ends.
        let threads = threads.panic_handler(drop);
        let pool = threads.thread_name(|i| format!("ground ahead {i}")).build().ok()?;
        pool.spawn(move || work(&source, &taken));
        Some(Self { places, _pool: pool })
    }
}

fn work(terrain: &Terrain, places: &Receiver<[f64; 2]>) {
    while let Ok(place_m) = places.recv() {
        terrain.prefetch_pages(place_m, REACH_M);
    }
}
