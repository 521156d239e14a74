//! The driveline: an engine that drives wheels through a torque converter, gears and differentials.
//!
//! **Engine.** `J ω̇ = throttle · M_full(ω) − M_friction(ω) − M_pump`, torques by tables of speed. A governor opens the
//! throttle in proportion below the idling speed. It never turns backward.
//!
//! **Converter.** Pump and turbine share no shaft: `M_pump = (ω/K)²`, `M_turbine = M_pump · T`, with the capacity factor K
//! and the torque ratio T by tables of the speed ratio turbine over pump (J. Y. Wong, "Theory of Ground Vehicles", 4th
//! ed. 2008, §3.4; Chrono's shafts have the same law). Past the last ratio of K the torque falls linearly to nothing at
//! equal speeds. A turbine that is faster than the pump drives it as a fluid coupling, T = 1, with K of the inverse
//! ratio; one that turns backward is taken as standing.
//!
//! **Gearbox.** Shifts by the speed of its input, at once and without a gap in torque, and then not again for a while. It
//! changes between forward and reverse where the rover creeps, and is in neutral where it should stand and does.
//!
//! **Transfer case and differentials.** Each axle has a fixed share of the torque; its wheels share that alike, and a
//! limited-slip differential moves torque from the faster to the slower wheel, up to the bias B = M_slow/M_fast, fading in
//! over `LOCK_RAD_S` of difference (the law of Chrono's `ChSimpleDriveline`), or over more where a step would
//! turn the difference round. The output turns as the mean of the axles by their shares, so that an open driveline
//! passes power on without loss.
//!
//! **Driver.** A PI controller of the speed error moves one pedal: throttle when positive, brakes when negative. The
//! target speed is the mean of the driven wheels' targets; brakes act on all wheels that are not free.
//!
//! Shafts, turbine and gears have no inertia of their own and no backlash. There is no lock-up clutch, no low range and
//! no lock of the transfer case.
//!
//! **Over time.** Near equal speeds a converter is a stiff damper between engine and wheels. Engine and wheels are
//! therefore linearly implicit, each in its own speed: `Δω (J + dt k) = dt M`, with k the decrease of the torque M per
//! rad/s. All wheels use k as if they gained speed equally: one that gains it alone seems heavier by dt k at most.
//! Pedal, gears and shares are explicit.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::spec::{ConverterSpec, DrivelineSpec, EngineSpec};

/// Difference of the wheels' speeds from which on a limited-slip differential gives its whole bias, rad/s.
const LOCK_RAD_S: f64 = 0.5;
/// Difference of speeds over which slopes of torques are taken, rad/s.
const SLOPE_RAD_S: f64 = 1e-2;
/// Share of the idling speed over which the governor opens the throttle.
const GOVERNOR: f64 = 0.1;
/// Speed below which direction may change and a rover that should stand goes into neutral, m/s.
const CREEP_M_S: f64 = 0.5;
/// Speed of a wheel from which on a pedal brake gives its whole torque, rad/s.
pub(crate) const BRAKE_RAD_S: f64 = 0.2;

/// The state of a driveline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrivelineState {
    /// Speed of the engine, rad/s.
    pub engine_rad_s: f64,
    /// Gear: 1 and above ahead, 0 neutral, −1 reverse.
    pub gear: i8,
    /// Time until it may shift again, s.
    pub shift_wait_s: f64,
    /// Integral term of the driver, as a share of the pedal's full travel.
    pub pedal_integral: f64,
}

/// The constants of a driveline.
#[derive(Clone, Debug, PartialEq)]
pub struct Driveline {
    spec: DrivelineSpec,
    axles: Vec<Axle>,
}

/// A driven axle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axle {
    /// Indices of its left and right wheel among the rover's.
    pub wheels: [usize; 2],
    /// Share of the driveline's torque.
    pub torque_share: f64,
    /// Largest torque of the slower wheel over that of the faster one.
    pub torque_bias: f64,
}

/// A wheel as input of its driveline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turning {
    /// Target rate and present rate, rad/s, forward positive.
    pub(crate) requested_rad_s: f64,
    pub(crate) rad_s: f64,
    pub(crate) radius_m: f64,
    pub(crate) inertia_kg_m2: f64,
}

impl Driveline {
    pub(crate) fn new(spec: DrivelineSpec, axles: Vec<Axle>) -> Self {
        Self { spec, axles }
    }

    /// The parameters in the rover's file.
    #[must_use]
    pub fn spec(&self) -> &DrivelineSpec {
        &self.spec
    }

    /// The driven axles.
    #[must_use]
    pub fn axles(&self) -> &[Axle] {
        &self.axles
    }

    /// The state of an engine that idles in neutral.
    #[must_use]
    pub fn at_rest(&self) -> DrivelineState {
        let engine_rad_s = self.spec.engine.idle_rpm * TAU / 60.0;
        DrivelineState { engine_rad_s, gear: 0, shift_wait_s: 0.0, pedal_integral: 0.0 }
    }

    /// Whether a state is valid for this driveline.
    pub(crate) fn fits(&self, state: &DrivelineState) -> bool {
        let DrivelineState { engine_rad_s, gear, shift_wait_s, pedal_integral } = *state;
        let forward = self.spec.gearbox.forward.len();
        engine_rad_s >= 0.0
            && usize::try_from(gear).map_or(gear == -1, |gear| gear <= forward)
            && (0.0..=self.spec.gearbox.shift_pause_s).contains(&shift_wait_s)
            && (-1.0..=1.0).contains(&pedal_integral)
    }

    /// One step. Writes the torque of each wheel to `torque_nm`, forward positive, and returns the share of the brakes'
    /// torque.
    pub(crate) fn step(&self, state: &mut DrivelineState, wheels: &[Turning], dt_s: f64, torque_nm: &mut [f64]) -> f64 {
        let [requested_m_s, now_m_s] = self.speeds_m_s(wheels);
        self.select(state, requested_m_s, now_m_s);
        let output_rad_s = self.output_rad_s(wheels);
        self.shift(state, output_rad_s, dt_s);
        let pedal = self.pedal(state, requested_m_s, now_m_s, dt_s);
        let ratio = self.ratio(state.gear);
        let turbine_rad_s = ratio * output_rad_s;
        let of_converter_nm = |engine_rad_s: f64| match state.gear {
            0 => [0.0; 2],
            _ => self.spec.converter.torques_nm(engine_rad_s, turbine_rad_s),
        };
        let net_nm = |rad_s: f64| self.spec.engine.torque_nm(rad_s, pedal.max(0.0)) - of_converter_nm(rad_s)[0];
        let turbine_nm = of_converter_nm(state.engine_rad_s)[1];
        let engine_kg_m2 = self.spec.engine.inertia_kg_m2 + dt_s * fall(net_nm, state.engine_rad_s);
        let gained_rad_s = net_nm(state.engine_rad_s) / engine_kg_m2 * dt_s;
        state.engine_rad_s = (state.engine_rad_s + gained_rad_s).max(0.0);
        let passed_on = self.passed_on(turbine_nm, turbine_rad_s);
        self.share_out(turbine_nm * ratio * self.spec.final_drive * passed_on, wheels, dt_s, torque_nm);
        (-pedal).max(0.0)
    }

    /// Writes the decrease of each wheel's torque per rad/s that all wheels gain, N m s.
    pub(crate) fn damp(&self, state: &DrivelineState, wheels: &[Turning], damping_nm_s: &mut [f64]) {
        damping_nm_s.fill(0.0);
        let ratio = self.ratio(state.gear);
        let turbine_rad_s = ratio * self.output_rad_s(wheels);
        let turbine_nm = |rad_s: f64| self.spec.converter.torques_nm(state.engine_rad_s, rad_s)[1];
        let passed_on = self.passed_on(turbine_nm(turbine_rad_s), turbine_rad_s);
        let turns = ratio * self.spec.final_drive;
        let of_all_nm_s = fall(turbine_nm, turbine_rad_s) * turns * turns * passed_on;
        for axle in &self.axles {
            axle.wheels.iter().for_each(|&wheel| damping_nm_s[wheel] = 0.5 * axle.torque_share * of_all_nm_s);
        }
    }

    /// Efficiency factor of the torque from turbine to wheels, in the direction of the power.
    fn passed_on(&self, turbine_nm: f64, turbine_rad_s: f64) -> f64 {
        let drives = turbine_nm * turbine_rad_s >= 0.0;
        if drives { self.spec.efficiency } else { 1.0 / self.spec.efficiency }
    }

    /// Mean target and mean present rim speed of the driven wheels, m/s.
    fn speeds_m_s(&self, wheels: &[Turning]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for wheel in self.axles.iter().flat_map(|axle| axle.wheels).map(|wheel| wheels[wheel]) {
            sums[0] += wheel.requested_rad_s * wheel.radius_m;
            sums[1] += wheel.rad_s * wheel.radius_m;
        }
        sums.map(|sum| sum / (2 * self.axles.len()) as f64)
    }

    /// Speed of the gearbox's output, rad/s, forward positive.
    fn output_rad_s(&self, wheels: &[Turning]) -> f64 {
        let mean = |axle: &Axle| 0.5 * (wheels[axle.wheels[0]].rad_s + wheels[axle.wheels[1]].rad_s);
        self.spec.final_drive * self.axles.iter().map(|axle| axle.torque_share * mean(axle)).sum::<f64>()
    }

    /// Turns of the gearbox's input for one of its output, negative in reverse, zero in neutral.
    fn ratio(&self, gear: i8) -> f64 {
        let gearbox = &self.spec.gearbox;
        match gear {
            0 => 0.0,
            ..0 => -gearbox.reverse,
            gear => gearbox.forward.get(gear as usize - 1).copied().unwrap_or(0.0),
        }
    }

    /// Forward, reverse or neutral.
    fn select(&self, state: &mut DrivelineState, requested_m_s: f64, now_m_s: f64) {
        let creeps = now_m_s.abs() < CREEP_M_S;
        let before = state.gear;
        if requested_m_s == 0.0 && creeps {
            state.gear = 0;
        } else if requested_m_s > 0.0 && state.gear < 1 && now_m_s > -CREEP_M_S {
            state.gear = 1;
        } else if requested_m_s < 0.0 && state.gear > -1 && now_m_s < CREEP_M_S {
            state.gear = -1;
        }
        if state.gear != before {
            state.pedal_integral = 0.0;
        }
    }

    /// The next gear up or down by the speed of the input.
    fn shift(&self, state: &mut DrivelineState, output_rad_s: f64, dt_s: f64) {
        let gearbox = &self.spec.gearbox;
        state.shift_wait_s = (state.shift_wait_s - dt_s).max(0.0);
        if state.gear < 1 || state.shift_wait_s > 0.0 {
            return;
        }
        let input_rpm = self.ratio(state.gear) * output_rad_s * 60.0 / TAU;
        let up = input_rpm > gearbox.shift_up_rpm && (state.gear as usize) < gearbox.forward.len();
        let down = input_rpm < gearbox.shift_down_rpm && state.gear > 1;
        state.gear += i8::from(up) - i8::from(down);
        if up || down {
            state.shift_wait_s = gearbox.shift_pause_s;
        }
    }

    /// Throttle when positive, brake when negative; −1 to 1.
    fn pedal(&self, state: &mut DrivelineState, requested_m_s: f64, now_m_s: f64, dt_s: f64) -> f64 {
        if state.gear == 0 {
            return -(self.spec.speed_gain_s_m * now_m_s.abs()).min(1.0);
        }
        let error_m_s = f64::from(state.gear.signum()) * (requested_m_s - now_m_s);
        let pedal = self.spec.speed_gain_s_m * error_m_s + state.pedal_integral;
        // No wind-up: the integral only changes within the pedal's travel, or back towards it.
        if pedal.abs() < 1.0 || pedal * error_m_s < 0.0 {
            let gained = self.spec.speed_integral_1_m * error_m_s * dt_s;
            state.pedal_integral = (state.pedal_integral + gained).clamp(-1.0, 1.0);
        }
        pedal.clamp(-1.0, 1.0)
    }

    /// Shares the torque out among the wheels for a step.
    fn share_out(&self, output_nm: f64, wheels: &[Turning], dt_s: f64, torque_nm: &mut [f64]) {
        torque_nm.fill(0.0);
        for &Axle { wheels: [left, right], torque_share, torque_bias } in &self.axles {
            let axle_nm = output_nm * torque_share;
            let most_nm = 0.5 * axle_nm.abs() * (torque_bias - 1.0) / (torque_bias + 1.0);
            let turned_rad_s = [left, right].map(|wheel| dt_s * most_nm / wheels[wheel].inertia_kg_m2);
            let fading_rad_s = LOCK_RAD_S.max(turned_rad_s[0] + turned_rad_s[1]);
            let faster = ((wheels[left].rad_s - wheels[right].rad_s) / fading_rad_s).clamp(-1.0, 1.0);
            let moved_nm = most_nm * faster;
            torque_nm[left] = 0.5 * axle_nm - moved_nm;
            torque_nm[right] = 0.5 * axle_nm + moved_nm;
        }
    }
}

impl EngineSpec {
    /// Torque at a speed and throttle, N m.
    fn torque_nm(&self, rad_s: f64, throttle: f64) -> f64 {
        let rpm = rad_s * 60.0 / TAU;
        let governor = ((self.idle_rpm - rpm) / (GOVERNOR * self.idle_rpm)).clamp(0.0, 1.0);
        throttle.max(governor) * interpolate(&self.full_throttle, rpm) - interpolate(&self.friction, rpm)
    }
}

impl ConverterSpec {
    /// Torques of the pump, on the engine, and of the turbine, N m.
    fn torques_nm(&self, pump_rad_s: f64, turbine_rad_s: f64) -> [f64; 2] {
        if turbine_rad_s > pump_rad_s {
            let driven_nm = self.absorbed_nm(turbine_rad_s, pump_rad_s / turbine_rad_s);
            return [-driven_nm; 2];
        }
        if pump_rad_s <= 0.0 {
            return [0.0; 2];
        }
        let ratio = (turbine_rad_s / pump_rad_s).max(0.0);
        let pump_nm = self.absorbed_nm(pump_rad_s, ratio);
        [pump_nm, pump_nm * interpolate(&self.torque_ratio, ratio)]
    }

    /// Torque of the faster side at a speed ratio, N m.
    fn absorbed_nm(&self, rad_s: f64, ratio: f64) -> f64 {
        let last = self.capacity.last().map_or(0.0, |row| row[0]);
        let fading = ((1.0 - ratio) / (1.0 - last)).clamp(0.0, 1.0);
        (rad_s / interpolate(&self.capacity, ratio)).powi(2) * fading
    }
}

/// Decrease of a torque per rad/s at a speed, N m s; zero where it rises.
fn fall(torque_nm: impl Fn(f64) -> f64, rad_s: f64) -> f64 {
    ((torque_nm(rad_s) - torque_nm(rad_s + SLOPE_RAD_S)) / SLOPE_RAD_S).max(0.0)
}

/// Linear interpolation in a table of rows `[x, y]` with ascending x; constant beyond its ends.
fn interpolate(rows: &[[f64; 2]], x: f64) -> f64 {
    let after = rows.partition_point(|row| row[0] <= x);
    match (after.checked_sub(1).and_then(|before| rows.get(before)), rows.get(after)) {
        (Some([x0, y0]), Some([x1, y1])) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some([_, y]), None) | (None, Some([_, y])) => *y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Axle, Driveline, DrivelineState, Turning};
    use crate::spec::DrivelineSpec;

    const YAML: &str = "
engine: {full_throttle: [[0, 200], [1000, 400], [2000, 0]], friction: [[0, 0], [2000, 40]], inertia_kg_m2: 1.0, idle_rpm: 500}
converter: {capacity: [[0, 10], [0.9, 20]], torque_ratio: [[0, 2], [1, 1]]}
gearbox: {forward: [4, 2], reverse: 5, shift_up_rpm: 1500, shift_down_rpm: 600, shift_pause_s: 0.5}
final_drive: 3
efficiency: 1
axles:
  - {left: a, right: b, torque_share: 0.4, torque_bias: 3}
  - {left: c, right: d, torque_share: 0.6}
brake_torque_nm: 1000
speed_gain_s_m: 1
speed_integral_1_m: 0.5
";

    fn driveline() -> Driveline {
        let spec: DrivelineSpec =
            selene_base::input::parse_yaml(YAML, std::path::Path::new("x.yaml")).expect("a good driveline");
        let axle = |wheels, of: usize| {
            let spec = &spec.axles[of];
            Axle { wheels, torque_share: spec.torque_share, torque_bias: spec.torque_bias }
        };
        let axles = vec![axle([0, 1], 0), axle([2, 3], 1)];
        Driveline::new(spec, axles)
    }

    fn turning(requested_rad_s: f64, rad_s: [f64; 4]) -> [Turning; 4] {
        rad_s.map(|rad_s| Turning { requested_rad_s, rad_s, radius_m: 0.5, inertia_kg_m2: 10.0 })
    }

    #[test]
    fn at_stall_the_turbine_gives_the_stall_ratio_and_at_equal_speeds_nothing_either_way() {
        let converter = &driveline().spec.converter;
        assert_eq!(converter.torques_nm(100.0, 0.0), [100.0, 200.0]);
        assert_eq!(converter.torques_nm(100.0, -50.0), [100.0, 200.0]);
        assert_eq!(converter.torques_nm(100.0, 100.0), [0.0, 0.0]);
        let [before, after] = [99.99, 100.01].map(|turbine| converter.torques_nm(100.0, turbine)[1]);
        assert!(before > 0.0 && after < 0.0 && before - after < 0.1, "{before} {after}");
        assert!(converter.torques_nm(0.0, 50.0)[0] < 0.0, "a coasting rover turns the engine");
    }

    #[test]
    fn an_open_driveline_passes_on_the_power_and_a_limited_one_takes_of_it() {
        let line = driveline();
        let wheels = turning(20.0, [5.0, 7.0, 4.0, 6.5]);
        let mut torque_nm = [0.0; 4];
        line.share_out(900.0, &wheels, 1e-3, &mut torque_nm);
        assert!((torque_nm.iter().sum::<f64>() - 900.0).abs() < 1e-9);
        assert!((torque_nm[2] - torque_nm[3]).abs() < 1e-9, "open");
        assert!((torque_nm[0] / torque_nm[1] - 3.0).abs() < 1e-9, "the slower one has the bias");
        let given_w = 900.0 / line.spec.final_drive * line.output_rad_s(&wheels);
        let taken_w: f64 = torque_nm.iter().zip(&wheels).map(|(nm, wheel)| nm * wheel.rad_s).sum();
        assert!(taken_w < given_w, "{taken_w} {given_w}");
        let open_w: f64 = [180.0, 180.0, 270.0, 270.0].iter().zip(&wheels).map(|(nm, wheel)| nm * wheel.rad_s).sum();
        assert!((open_w - given_w).abs() < 1e-9);
        line.share_out(-900.0, &wheels, 1e-3, &mut torque_nm);
        let braked_w: f64 = torque_nm.iter().zip(&wheels).map(|(nm, wheel)| nm * wheel.rad_s).sum();
        assert!(braked_w < -given_w, "a differential makes no power: {braked_w} {given_w}");
    }

    /// The bias moves up to 90 N m: in a step of 0.1 s that is 0.9 rad/s for each wheel of 10 kg m².
    #[test]
    fn a_lock_turns_no_difference_round_within_a_step() {
        let line = driveline();
        for differs_rad_s in [0.1, 0.5, 1.5] {
            let wheels = turning(20.0, [5.0 + differs_rad_s, 5.0, 5.0, 5.0]);
            let mut torque_nm = [0.0; 4];
            line.share_out(900.0, &wheels, 0.1, &mut torque_nm);
            let after_rad_s = differs_rad_s - 0.1 * (torque_nm[1] - torque_nm[0]) / 10.0;
            assert!(torque_nm[1] > torque_nm[0] && after_rad_s > -1e-9, "{differs_rad_s}: {torque_nm:?}");
        }
    }

    #[test]
    fn the_damping_of_the_wheels_is_the_slope_of_their_torque() {
        const STEP_RAD_S: f64 = 1e-3;
        let line = driveline();
        let state = DrivelineState { engine_rad_s: 100.0, gear: 1, shift_wait_s: 0.5, pedal_integral: 0.0 };
        // 8.3 rad/s of the wheels are 99.6 of the turbine.
        for rad_s in [3.0, 8.2, 8.3, 8.4] {
            let of_all_nm = |rad_s: f64| {
                let (mut torque_nm, mut state) = ([0.0; 4], state);
                line.step(&mut state, &turning(20.0, [rad_s; 4]), 1e-3, &mut torque_nm);
                torque_nm
            };
            let mut damping_nm_s = [0.0; 4];
            line.damp(&state, &turning(20.0, [rad_s; 4]), &mut damping_nm_s);
            let (here, there) = (of_all_nm(rad_s), of_all_nm(rad_s + STEP_RAD_S));
            for (damping, (here_nm, there_nm)) in damping_nm_s.into_iter().zip(here.into_iter().zip(there)) {
                let expected = (here_nm - there_nm) / STEP_RAD_S;
                assert!((damping / expected - 1.0).abs() < 0.01, "{rad_s}: {damping} {expected}");
            }
        }
    }

    #[test]
    fn a_light_engine_comes_to_the_speed_of_the_wheels_in_a_long_step() {
        let mut line = driveline();
        line.spec.engine.inertia_kg_m2 = 0.01;
        let mut state = DrivelineState { engine_rad_s: 60.0, gear: 1, shift_wait_s: 0.0, pedal_integral: 0.0 };
        let wheels = turning(9.0, [9.0; 4]);
        let mut speeds_rad_s = [0.0; 3];
        for i in 0..200 {
            line.step(&mut state, &wheels, 0.02, &mut [0.0; 4]);
            speeds_rad_s[i % 3] = state.engine_rad_s;
        }
        let [a, b, c] = speeds_rad_s;
        assert!((a - b).abs().max((b - c).abs()) < 1e-6 && (a / 108.0 - 1.0).abs() < 0.2, "{speeds_rad_s:?}");
    }

    #[test]
    fn a_state_of_another_driveline_does_not_fit() {
        let line = driveline();
        let good = DrivelineState { engine_rad_s: 80.0, gear: 2, shift_wait_s: 0.5, pedal_integral: -1.0 };
        assert!(line.fits(&good) && line.fits(&DrivelineState { gear: -1, ..good }) && line.fits(&line.at_rest()));
        for bad in [
            DrivelineState { engine_rad_s: -1.0, ..good },
            DrivelineState { engine_rad_s: f64::NAN, ..good },
            DrivelineState { gear: 3, ..good },
            DrivelineState { gear: -2, ..good },
            DrivelineState { shift_wait_s: 0.6, ..good },
            DrivelineState { shift_wait_s: f64::NAN, ..good },
            DrivelineState { pedal_integral: 1.1, ..good },
        ] {
            assert!(!line.fits(&bad), "{bad:?}");
        }
    }

    #[test]
    fn it_shifts_up_down_into_reverse_and_neutral_by_speed_and_command() {
        let line = driveline();
        let (mut state, mut torque_nm) = (line.at_rest(), [0.0; 4]);
        let mut run = |requested: f64, rad_s: f64, steps: usize| {
            (0..steps).for_each(|_| {
                line.step(&mut state, &turning(requested, [rad_s; 4]), 1e-3, &mut torque_nm);
            });
            state.gear
        };
        assert_eq!(run(0.0, 0.0, 10), 0);
        assert_eq!(run(20.0, 0.0, 10), 1);
        // 14 rad/s of the wheels are 1604 rpm of the input in first gear, 802 in second.
        assert_eq!(run(20.0, 14.0, 10), 2);
        assert_eq!(run(20.0, 9.0, 400), 2, "516 rpm, but the pause is not over");
        assert_eq!(run(20.0, 9.0, 200), 1);
        assert_eq!(run(-5.0, 9.0, 10), 1, "brakes first");
        assert_eq!(run(-5.0, 0.5, 10), -1);
        assert_eq!(run(0.0, 0.0, 10), 0);
    }

    #[test]
    fn the_engine_idles_near_its_idling_speed_and_comes_to_the_stall_speed_of_the_converter() {
        let line = driveline();
        let (mut state, mut torque_nm) = (line.at_rest(), [0.0; 4]);
        (0..20_000).for_each(|_| {
            line.step(&mut state, &turning(0.0, [0.0; 4]), 1e-3, &mut torque_nm);
        });
        let rpm = state.engine_rad_s * 60.0 / std::f64::consts::TAU;
        assert!((460.0..=500.0).contains(&rpm), "{rpm}");
        (0..20_000).for_each(|_| {
            line.step(&mut state, &turning(50.0, [0.0; 4]), 1e-3, &mut torque_nm);
        });
        // At full throttle M(ω) − friction = (ω/10)²: solved by bisection, apart from the step.
        let balance = |rad_s: f64| line.spec.engine.torque_nm(rad_s, 1.0) - (rad_s / 10.0).powi(2);
        let (mut low, mut high) = (60.0, 209.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if balance(middle) > 0.0 { low = middle } else { high = middle }
        }
        assert!((state.engine_rad_s - low).abs() < 1e-3, "{} {low}", state.engine_rad_s);
        let expected_nm = 2.0 * (low / 10.0).powi(2) * 4.0 * 3.0;
        assert!((torque_nm.iter().sum::<f64>() / expected_nm - 1.0).abs() < 1e-4, "{torque_nm:?}");
    }

    #[test]
    fn the_brakes_answer_a_speed_above_the_requested_one() {
        let line = driveline();
        let (mut state, mut torque_nm) = (line.at_rest(), [0.0; 4]);
        line.step(&mut state, &turning(20.0, [0.0; 4]), 1e-3, &mut torque_nm);
        let share = line.step(&mut state, &turning(20.0, [21.0; 4]), 1e-3, &mut torque_nm);
        assert!((share - 0.5).abs() < 0.01, "0.5 m/s too fast: {share}");
    }
}
