//! A battery and its telemetry: an open-circuit voltage that falls linearly with the charge q from full (1) to empty
//! (0), V₀ = V_e + (V_f − V_e) q, in series with an internal resistance R. The load is
//! P = idle + Σ |torque · rate| / efficiency over all motor-driven joints; braking recovers nothing. The current
//! follows from P = (V₀ − R I) I:
//!
//!   I = (V₀ − √(V₀² − 4 R P)) / (2 R).
//!
//! It can deliver at most V₀²/(4 R); a larger load is reported as an overload and not delivered. Charge and energy are
//! integrated heartbeat by heartbeat, each with the power at its end. An empty battery delivers nothing and reports
//! that it is dead; it does not stop the rover. Temperature, ageing and charging are left out.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::SimTime;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::stream_at;
use serde::Deserialize;

use super::{BodyHeartbeat, BodyPlan, BodyReading, BodySample, Posture};
use crate::augment::{Augments, DataType, fits};
use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::{Sample, SensorQos};

/// Ampere seconds in an ampere hour.
const AS_PER_AH: f64 = 3600.0;

/// A battery and its telemetry.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct BatterySpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link that contains it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Sampling rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from measurement to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topic.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the readings pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::Battery, self.rate_hz)))]
    pub stages: Augments,
    /// Charge of the full battery, A h.
    #[garde(custom(positive))]
    pub capacity_ah: f64,
    /// State of charge at the start, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default = "full")]
    pub initial_charge: f64,
    /// Open-circuit voltage of the empty battery, V.
    #[garde(custom(positive))]
    pub empty_v: f64,
    /// Open-circuit voltage of the full battery, V; at least `empty_v`.
    #[garde(custom(positive), custom(not_below(self.empty_v)))]
    pub full_v: f64,
    /// Internal resistance, ohm.
    #[garde(custom(non_negative))]
    pub resistance_ohm: f64,
    /// Power consumption without motion, W.
    #[garde(custom(non_negative))]
    pub idle_w: f64,
    /// Efficiency of the motors: mechanical over electrical power, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub motor_efficiency: f64,
    /// Standard deviation of the measured voltage, V.
    #[garde(custom(non_negative))]
    #[serde(default)]
    pub voltage_sigma_v: f64,
    /// Standard deviation of the measured current, A.
    #[garde(custom(non_negative))]
    #[serde(default)]
    pub current_sigma_a: f64,
    /// Whether the truth is published beside its readings.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

fn full() -> f64 {
    1.0
}

fn not_below(empty_v: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| {
        if *value >= empty_v {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {value} is not allowed: must be at least empty_v ({empty_v})")))
    }
}

/// State of a battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatteryHealth {
    /// It delivers the load.
    Good,
    /// The load exceeds what it can deliver.
    Overloaded,
    /// It is empty.
    Empty,
}

/// Telemetry of a battery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatteryReading {
    /// Voltage at its terminals, V.
    pub voltage_v: f64,
    /// Discharge current, A.
    pub current_a: f64,
    /// Remaining charge, A h.
    pub charge_ah: f64,
    /// Charge of the full battery, A h.
    pub capacity_ah: f64,
    /// Energy delivered since the start, J.
    pub energy_j: f64,
    /// Its state.
    pub health: BatteryHealth,
}

/// A rover's battery.
#[derive(Clone, Debug)]
pub(super) struct Battery {
    spec: BatterySpec,
    motors: Vec<usize>,
    seed: u64,
}

/// The memory of a battery.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    /// Remaining charge, A s.
    charge_as: f64,
    /// Energy delivered, J.
    energy_j: f64,
}

/// Output under a load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Draw {
    voltage_v: f64,
    current_a: f64,
    health: BatteryHealth,
}

impl Battery {
    pub(super) fn new(spec: BatterySpec, plan: &BodyPlan, seed: u64) -> Self {
        Self { spec, motors: plan.motors.clone(), seed }
    }

    pub(super) fn take(
        &self,
        known: Option<&[f64]>,
        beat: &BodyHeartbeat,
        samples: impl Iterator<Item = Sample>,
        mut reported: impl FnMut(BodySample),
    ) -> Vec<f64> {
        let power_w = self.power_w(&beat.now);
        let at_start = known.and_then(remembered).unwrap_or_else(|| self.begun());
        let after = |until: SimTime| self.drained(at_start, power_w, (until - beat.from).secs_f64().max(0.0));
        for sample in samples {
            let truth = self.exact(after(sample.instant), power_w);
            let reading = self.noisy(&truth, sample);
            reported(BodySample {
                sample,
                reported: BodyReading::Battery(reading),
                truth: Some(BodyReading::Battery(truth)),
            });
        }
        let Memory { charge_as, energy_j } = after(beat.until);
        vec![charge_as, energy_j]
    }

    fn begun(&self) -> Memory {
        Memory { charge_as: self.spec.initial_charge * self.spec.capacity_ah * AS_PER_AH, energy_j: 0.0 }
    }

    /// Power consumption of the rover, W.
    fn power_w(&self, now: &Posture) -> f64 {
        let mechanical_w = |&joint: &usize| {
            let of = |numbers: &[f64]| numbers.get(joint).copied().unwrap_or_default();
            (of(now.effort) * of(now.velocity)).abs()
        };
        self.spec.idle_w + self.motors.iter().map(mechanical_w).sum::<f64>() / self.spec.motor_efficiency
    }

    /// Its output under a load of `power_w`.
    fn draw(&self, of: Memory, power_w: f64) -> Draw {
        let BatterySpec { empty_v, full_v, resistance_ohm: r, .. } = self.spec;
        let open_v = empty_v + (full_v - empty_v) * of.charge_as / (self.spec.capacity_ah * AS_PER_AH);
        if of.charge_as <= 0.0 {
            return Draw { voltage_v: open_v, current_a: 0.0, health: BatteryHealth::Empty };
        }
        let square = open_v * open_v - 4.0 * r * power_w;
        let (current_a, health) = if square < 0.0 {
            (open_v / (2.0 * r), BatteryHealth::Overloaded)
        } else {
            // The equation of the module in a form that is accurate for small and defined for zero resistance.
            (2.0 * power_w / (open_v + square.sqrt()), BatteryHealth::Good)
        };
        Draw { voltage_v: open_v - r * current_a, current_a, health }
    }

    fn drained(&self, from: Memory, power_w: f64, span_s: f64) -> Memory {
        let Draw { voltage_v, current_a, .. } = self.draw(from, power_w);
        Memory {
            charge_as: (from.charge_as - current_a * span_s).max(0.0),
            energy_j: from.energy_j + voltage_v * current_a * span_s,
        }
    }

    fn exact(&self, of: Memory, power_w: f64) -> BatteryReading {
        let Draw { voltage_v, current_a, health } = self.draw(of, power_w);
        BatteryReading {
            voltage_v,
            current_a,
            charge_ah: of.charge_as / AS_PER_AH,
            capacity_ah: self.spec.capacity_ah,
            energy_j: of.energy_j,
            health,
        }
    }

    fn noisy(&self, truth: &BatteryReading, sample: Sample) -> BatteryReading {
        let mut rng = stream_at(self.seed, &self.spec.name, sample.index);
        BatteryReading {
            voltage_v: truth.voltage_v + self.spec.voltage_sigma_v * gaussian(&mut rng),
            current_a: truth.current_a + self.spec.current_sigma_a * gaussian(&mut rng),
            ..*truth
        }
    }
}

fn remembered(numbers: &[f64]) -> Option<Memory> {
    let &[charge_as, energy_j] = numbers else { return None };
    Some(Memory { charge_as, energy_j })
}

#[cfg(test)]
mod tests {
    use super::{AS_PER_AH, Battery, BatteryHealth, BatteryReading, BatterySpec};
    use crate::body::{BodyHeartbeat, BodyPlan, BodyReading, Posture};
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::SimTime;

    const IDLE_W: f64 = 20.0;
    const EFFICIENCY: f64 = 0.5;

    fn battery(capacity_ah: f64, resistance_ohm: f64) -> Battery {
        let spec = BatterySpec {
            name: "battery".into(),
            link: "base_link".into(),
            rate_hz: 10.0,
            lag_s: 0.0,
            qos: SensorQos::Reliable,
            stages: crate::Augments::default(),
            capacity_ah,
            initial_charge: 1.0,
            empty_v: 24.0,
            full_v: 32.0,
            resistance_ohm,
            idle_w: IDLE_W,
            motor_efficiency: EFFICIENCY,
            voltage_sigma_v: 0.0,
            current_sigma_a: 0.0,
            truth: false,
        };
        let plan = BodyPlan { joints: vec!["sprung".into(), "wheel".into()], wheels: Vec::new(), motors: vec![1] };
        Battery::new(spec, &plan, 1)
    }

    /// The last reading after `beats` heartbeats; the wheel's torque follows time, its rate is 2 rad/s, and the other
    /// joint is driven by a spring, not a motor.
    fn run(battery: &Battery, beats: u64, torque_nm: impl Fn(f64) -> f64) -> BatteryReading {
        let (mut numbers, mut last) = (None, None);
        for index in 1..=beats {
            let time = |index: u64| SimTime::from_nanos(100_000_000 * index as i64);
            let (from, until) = (time(index - 1), time(index));
            let effort = [500.0, torque_nm(until.secs_f64())];
            let body = Posture { world_from_links: &[], position: &[], velocity: &[1.0, 2.0], effort: &effort };
            let beat = BodyHeartbeat { after: from, from, until, before: body, now: body, sun: Vector3::z() };
            let sample = std::iter::once(Sample { index, instant: until });
            let next = battery.take(numbers.as_deref(), &beat, sample, |read| {
                if let BodyReading::Battery(reported) = read.reported {
                    last = Some(reported);
                }
            });
            numbers = Some(next);
        }
        last.expect("a reading")
    }

    #[test]
    fn energy_is_the_integral_of_power_and_braking_costs_as_much() {
        // P = 20 + |10 sin(t)| * 2 / 0.5 W over 2 pi * 10 s: the mean of |sin| is 2/pi.
        let beats = 628;
        let reported = run(&battery(100.0, 0.05), beats, |t| 10.0 * t.sin());
        let expected = 62.8 * (IDLE_W + 10.0 * 2.0 / EFFICIENCY * std::f64::consts::FRAC_2_PI);
        assert!((reported.energy_j / expected - 1.0).abs() < 2e-3, "{} J, not {expected}", reported.energy_j);
    }

    #[test]
    fn terminals_give_the_power_requested_and_charge_falls_by_the_current() {
        let reported = run(&battery(100.0, 0.05), 100, |_| 10.0);
        let power_w = IDLE_W + 10.0 * 2.0 / EFFICIENCY;
        assert!((reported.voltage_v * reported.current_a - power_w).abs() < 1e-9, "{reported:?}");
        assert!(reported.voltage_v < 32.0 && reported.health == BatteryHealth::Good);
        let charge_as = (100.0 - reported.charge_ah) * AS_PER_AH;
        assert!((charge_as / (reported.current_a * 10.0) - 1.0).abs() < 1e-3, "{reported:?}");
        let open_v = 32.0 - 8.0 * power_w / 32.0 * 0.1 / (100.0 * AS_PER_AH);
        let without_resistance = run(&battery(100.0, 0.0), 1, |_| 10.0);
        assert!((without_resistance.voltage_v - open_v).abs() < 1e-9, "{without_resistance:?}");
    }

    #[test]
    fn too_much_is_a_failure_and_an_empty_battery_gives_nothing() {
        // 32 V behind 1 ohm give 256 W at most.
        let overloaded = run(&battery(100.0, 1.0), 1, |_| 200.0);
        assert_eq!(overloaded.health, BatteryHealth::Overloaded);
        assert!((overloaded.voltage_v * overloaded.current_a - 256.0).abs() < 0.1, "{overloaded:?}");
        // 0.01 A h at 32 V are about 1 kJ: less than 20 W take in a minute.
        let empty = run(&battery(0.01, 0.05), 700, |_| 0.0);
        assert_eq!((empty.health, empty.charge_ah, empty.current_a), (BatteryHealth::Empty, 0.0, 0.0));
        assert!((empty.energy_j / (0.01 * AS_PER_AH * 28.0) - 1.0).abs() < 0.01, "{empty:?}");
    }
}
