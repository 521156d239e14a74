//! An hour of driving: whether steps stay as fast, and how much memory grows. VIPER drives an outward spiral on flat
//! soil that it has not pressed yet, on nodes of 5 cm in steps of 2 ms, which takes minutes of wall time.

use std::time::Instant;

use selene_base::SimTime;
use selene_sim::World;
use selene_terrain::TILE_NODES;

use crate::BenchError;
use crate::physics;
use crate::run_line::memory_bytes;
use crate::setting::Setting;

const HOUR_S: usize = 3600;
const MINUTE_S: usize = 60;
const SPEED_M_S: f64 = 0.2;
/// Distance between the turns of the spiral, m: somewhat more than two tracks.
const TURNS_APART_M: f64 = 1.4;
const FIRST_RADIUS_M: f64 = 2.0;
const SIDE_M: f64 = 80.0;
/// Simulated time after which memory is compared, s: buffers have reached their size then.
const WARM_S: usize = 120;

/// Figures of the hour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hour {
    /// Wall time of a step in the last minute relative to that in the first, minus one.
    pub(crate) step_drift: f64,
    /// Bytes of ruts per node of the touched tiles.
    pub(crate) rut_bytes_per_node: f64,
    /// Growth of the process's memory apart from the ruts, bytes per node of newly touched tiles; 0 where the system
    /// does not report it.
    pub(crate) other_bytes_per_node: f64,
}

/// Measures the hour of driving.
pub(crate) fn measure(setting: &Setting) -> Result<Hour, BenchError> {
    let scenario = physics::coarse_scenario(setting)?;
    let mut world = physics::start_on(scenario, physics::coarse_ground(SIDE_M))?;
    let mut minutes_s = Vec::with_capacity(HOUR_S / MINUTE_S);
    let mut beats_s = Vec::new();
    let mut warm = Memory::of(&world);
    for second in 0..HOUR_S {
        let end = SimTime::from_secs_f64((second + 1) as f64);
        while world.time() < end {
            let turn_rad_s = SPEED_M_S / radius_m(world.time().secs_f64());
            physics::drive(&mut world, physics::ROVER, SPEED_M_S, turn_rad_s)?;
            let begun = Instant::now();
            world.heartbeat().map_err(BenchError::new)?;
            beats_s.push(begun.elapsed().as_secs_f64());
        }
        if (second + 1) % MINUTE_S == 0 {
            minutes_s.push(median(&mut beats_s));
            beats_s.clear();
        }
        if second + 1 == WARM_S {
            warm = Memory::of(&world);
        }
    }
    let end = Memory::of(&world);
    let [first_s, last_s] = [minutes_s[0], minutes_s[minutes_s.len() - 1]];
    Ok(Hour {
        step_drift: last_s / first_s - 1.0,
        rut_bytes_per_node: end.ruts / end.nodes,
        other_bytes_per_node: end.beside(&warm),
    })
}

/// Radius of the spiral, which lies outside of its previous turn.
fn radius_m(time_s: f64) -> f64 {
    (FIRST_RADIUS_M * FIRST_RADIUS_M + SPEED_M_S * time_s * TURNS_APART_M / std::f64::consts::PI).sqrt()
}

/// Median time of several heartbeats: interruptions by the system are not part of a step.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bytes of the ruts and of the process, and number of the ruts' nodes.
struct Memory {
    ruts: f64,
    nodes: f64,
    process: f64,
}

impl Memory {
    fn of(world: &World) -> Self {
        let (soil, ruts) = (&world.state().soil, &world.state().ruts);
        let nodes = soil.tile_count() * TILE_NODES * TILE_NODES;
        Self { ruts: (soil.bytes() + ruts.bytes()) as f64, nodes: nodes as f64, process: resident_bytes() as f64 }
    }

    /// Growth of the process since `before` apart from that of the ruts, per newly touched node.
    fn beside(&self, before: &Self) -> f64 {
        let grown = self.process - before.process;
        if grown == 0.0 { 0.0 } else { (grown - (self.ruts - before.ruts)) / (self.nodes - before.nodes).max(1.0) }
    }
}

/// Resident memory of this process, bytes (Linux; 0 elsewhere).
pub(crate) fn resident_bytes() -> u64 {
    memory_bytes("VmRSS:")
}

#[cfg(test)]
mod tests {
    use super::{FIRST_RADIUS_M, HOUR_S, Memory, SIDE_M, median, radius_m};

    #[test]
    fn the_spiral_stays_on_its_ground_for_an_hour() {
        assert_eq!(radius_m(0.0), FIRST_RADIUS_M);
        assert!(radius_m(HOUR_S as f64) < 0.5 * SIDE_M - 10.0);
    }

    #[test]
    fn a_median_is_not_moved_by_one_interruption_and_memory_beside_ruts_is_reported_a_node() {
        assert_eq!(median(&mut [2.0, 900.0, 1.0, 3.0, 2.0]), 2.0);
        let before = Memory { ruts: 1600.0, nodes: 100.0, process: 1e6 };
        let after = Memory { ruts: 4800.0, nodes: 300.0, process: 1e6 + 3200.0 + 100.0 };
        assert!((after.beside(&before) - 0.5).abs() < 1e-12);
    }
}
