//! The engine and driveline in a rover's YAML; see [`crate::driveline`].

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use serde::Deserialize;

/// Smallest accepted efficiency of a driveline.
const EFFICIENCY_MIN: f64 = 0.1;

/// An engine that drives wheels through a converter, gears and differentials, in place of a motor for each.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DrivelineSpec {
    /// The engine.
    #[garde(dive)]
    pub engine: EngineSpec,
    /// The torque converter.
    #[garde(dive)]
    pub converter: ConverterSpec,
    /// The automatic gearbox.
    #[garde(dive)]
    pub gearbox: GearboxSpec,
    /// Turns of the gearbox's output for one of the wheels.
    #[garde(custom(positive))]
    pub final_drive: f64,
    /// Share of the power that passes from converter to wheels, either way; 0.1 to 1.
    #[garde(custom(within(EFFICIENCY_MIN, 1.0)))]
    pub efficiency: f64,
    /// The driven axles. Their shares of the torque add up to 1.
    #[garde(length(min = 1, max = 8), dive)]
    pub axles: Vec<AxleSpec>,
    /// Largest torque of the pedal brake on each wheel that is not free, N m.
    #[garde(custom(positive))]
    pub brake_torque_nm: f64,
    /// Share of the pedal's full travel for each m/s of speed error.
    #[garde(custom(positive))]
    pub speed_gain_s_m: f64,
    /// Share of the pedal's full travel for each metre of the integrated speed error.
    #[garde(custom(non_negative))]
    pub speed_integral_1_m: f64,
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct EngineSpec {
    /// Speed, rpm, and torque at full throttle, N m, before friction. Speeds ascend; beyond them the first and last
    /// torque hold.
    #[garde(length(min = 2, max = 1000), custom(rising_from(0.0, f64::INFINITY)))]
    pub full_throttle: Vec<[f64; 2]>,
    /// Speed, rpm, and torque of friction, N m, 0 or more.
    #[garde(length(min = 1, max = 1000), custom(rising_from(0.0, f64::INFINITY)), custom(column_from(0.0)))]
    pub friction: Vec<[f64; 2]>,
    /// Inertia of crankshaft and the converter's pump, kg m².
    #[garde(custom(positive))]
    pub inertia_kg_m2: f64,
    /// Idling speed, which the governor keeps, rpm.
    #[garde(custom(positive))]
    pub idle_rpm: f64,
}

/// A torque converter.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ConverterSpec {
    /// Speed ratio, turbine over pump, and capacity factor K = ω/√M of the pump, rad/s/√(N m). Ratios rise and are
    /// below 1; from the last one on the pump's torque falls to nothing at equal speeds.
    #[garde(length(min = 1, max = 1000), custom(rising_from(0.0, 0.999)), custom(column_from(1e-3)))]
    pub capacity: Vec<[f64; 2]>,
    /// Speed ratio, and torque of the turbine over that of the pump; 1 or more.
    #[garde(length(min = 1, max = 1000), custom(rising_from(0.0, 1.0)), custom(column_from(1.0)))]
    pub torque_ratio: Vec<[f64; 2]>,
}

/// An automatic gearbox.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct GearboxSpec {
    /// Turns of the input for one of the output, from the first gear on; they fall.
    #[garde(length(min = 1, max = 24), custom(falling))]
    pub forward: Vec<f64>,
    /// Turns of the input for one of the output in reverse, as a positive number.
    #[garde(custom(positive))]
    pub reverse: f64,
    /// Speed of the input above which it shifts up, rpm.
    #[garde(custom(positive))]
    pub shift_up_rpm: f64,
    /// Speed of the input below which it shifts down, rpm; less than the speed after any shift up.
    #[garde(custom(positive), custom(below_shifts_up(self.shift_up_rpm, &self.forward)))]
    pub shift_down_rpm: f64,
    /// Shortest time between two shifts, s.
    #[garde(custom(non_negative))]
    pub shift_pause_s: f64,
}

/// A driven axle with its differential.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct AxleSpec {
    /// Name of its left wheel.
    #[garde(length(min = 1))]
    pub left: String,
    /// Name of its right wheel.
    #[garde(length(min = 1))]
    pub right: String,
    /// Share of the driveline's torque, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub torque_share: f64,
    /// Largest torque of the slower wheel over that of the faster one, 1 (open, the default) to 10.
    #[garde(custom(within(1.0, 10.0)))]
    #[serde(default = "open")]
    pub torque_bias: f64,
}

fn open() -> f64 {
    1.0
}

/// Refuses a table whose first column does not rise within `least` to `most`, or that has no finite second one.
fn rising_from(least: f64, most: f64) -> impl FnOnce(&Vec<[f64; 2]>, &()) -> garde::Result {
    move |rows, ()| {
        let mut before = f64::NEG_INFINITY;
        for &[x, y] in rows {
            if !(x > before && x >= least && x <= most && x.is_finite() && y.is_finite()) {
                let allowed = format!("the first column must rise within {least} to {most}, all must be finite");
                return Err(garde::Error::new(format!("row [{x}, {y}] is not allowed: {allowed}")));
            }
            before = x;
        }
        Ok(())
    }
}

/// Refuses a table with a number below `least` in its second column.
fn column_from(least: f64) -> impl FnOnce(&Vec<[f64; 2]>, &()) -> garde::Result {
    move |rows, ()| match rows.iter().find(|[_, y]| *y < least) {
        Some([x, y]) => {
            let allowed = format!("the second column must be {least} or more");
            Err(garde::Error::new(format!("row [{x}, {y}] is not allowed: {allowed}")))
        }
        None => Ok(()),
    }
}

fn falling(ratios: &[f64], (): &()) -> garde::Result {
    let mut before = f64::INFINITY;
    for &ratio in ratios {
        if !(ratio > 0.0 && ratio < before) {
            let allowed = "ratios must be above 0, each below the one before";
            return Err(garde::Error::new(format!("ratio {ratio} is not allowed: {allowed}")));
        }
        before = ratio;
    }
    Ok(())
}

/// Refuses a gearbox that would shift down again at once after a shift up.
fn below_shifts_up(up_rpm: f64, ratios: &[f64]) -> impl FnOnce(&f64, &()) -> garde::Result {
    let after = ratios.windows(2).map(|pair| up_rpm * pair[1] / pair[0]).fold(up_rpm, f64::min);
    move |down_rpm, ()| {
        if *down_rpm < after {
            return Ok(());
        }
        let allowed = format!("must be below {after:.0} rpm, which a shift up leaves");
        Err(garde::Error::new(format!("value {down_rpm} is not allowed: {allowed}")))
    }
}
