//! What a step found out about a rover beside its state. Processes of one world send it each other in numbers of 32 bits;
//! on rigid ground it is a third of what a rover sends so. The process that steps the rover rounds it in the same way
//! before anything is made from it, so that all have the same snapshots, and the same sensors' memories follow from them.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

use crate::world::snapshot::{LinkLoad, RoverSnapshot, WheelTruth};

/// What a step found out about a rover that does not follow from its state: fields of [`RoverSnapshot`]. Serialization
/// rounds its numbers to 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "PackedReadings", try_from = "PackedReadings")]
pub struct RoverReadings {
    pub(crate) joint_effort: Vec<f64>,
    pub(crate) base_acceleration: Vector3<f64>,
    pub(crate) wheels: Vec<WheelTruth>,
    pub(crate) link_loads: Vec<LinkLoad>,
    pub(crate) drum_loads_kg: Vec<f64>,
}

/// Readings as they are sent.
#[derive(Serialize, Deserialize)]
struct PackedReadings {
    joints: u32,
    /// For each wheel, whether it touches something.
    in_contact: Vec<bool>,
    /// The link of each load.
    loaded: Vec<u32>,
    drums: u32,
    /// All numbers, in the order of [`RoverReadings::numbers_mut`].
    numbers: Vec<f32>,
}

impl RoverReadings {
    pub(super) fn of(rover: &RoverSnapshot) -> Self {
        Self {
            joint_effort: rover.joint_effort.clone(),
            base_acceleration: rover.base_acceleration,
            wheels: rover.wheels.clone(),
            link_loads: rover.link_loads.clone(),
            drum_loads_kg: rover.drum_loads_kg.clone(),
        }
    }

    /// The readings as they are sent.
    pub(crate) fn rounded(mut self) -> Self {
        self.numbers_mut().for_each(|number| *number = f64::from(*number as f32));
        self
    }

    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        // Without `..`, so that a new field is sent too, here and below.
        let Self { joint_effort, base_acceleration, wheels, link_loads, drum_loads_kg } = self;
        let of_wheels = wheels.iter_mut().flat_map(numbers_of_wheel);
        let of_rover = joint_effort.iter_mut().chain(base_acceleration).chain(drum_loads_kg);
        of_rover.chain(of_wheels).chain(link_loads.iter_mut().flat_map(numbers_of_load))
    }
}

fn numbers_of_wheel(wheel: &mut WheelTruth) -> impl Iterator<Item = &mut f64> {
    let WheelTruth {
        slip_ratio,
        slip_angle_rad,
        sinkage_m,
        force_n,
        torque_nm,
        rate_rad_s,
        drive_torque_nm,
        in_contact: _,
    } = wheel;
    [slip_ratio, slip_angle_rad, sinkage_m, rate_rad_s, drive_torque_nm].into_iter().chain(force_n).chain(torque_nm)
}

fn numbers_of_load(LinkLoad { link: _, wrench }: &mut LinkLoad) -> impl Iterator<Item = &mut f64> {
    wrench.force.iter_mut().chain(&mut wrench.torque)
}

impl From<RoverReadings> for PackedReadings {
    fn from(mut readings: RoverReadings) -> Self {
        Self {
            joints: readings.joint_effort.len() as u32,
            in_contact: readings.wheels.iter().map(|wheel| wheel.in_contact).collect(),
            loaded: readings.link_loads.iter().map(|load| load.link).collect(),
            drums: readings.drum_loads_kg.len() as u32,
            numbers: readings.numbers_mut().map(|number| *number as f32).collect(),
        }
    }
}

impl TryFrom<PackedReadings> for RoverReadings {
    type Error = &'static str;

    fn try_from(packed: PackedReadings) -> Result<Self, Self::Error> {
        let PackedReadings { joints, in_contact, loaded, drums, numbers } = packed;
        let of_wheel = numbers_of_wheel(&mut WheelTruth::default()).count();
        let of_load = numbers_of_load(&mut LinkLoad::default()).count();
        let of_body = joints as usize + Vector3::<f64>::zeros().len() + drums as usize;
        // Checked before anything is made, which would take more room than the message has.
        if numbers.len() != of_body + of_wheel * in_contact.len() + of_load * loaded.len() {
            return Err(OTHER_COUNT);
        }
        let mut readings = Self {
            joint_effort: vec![0.0; joints as usize],
            base_acceleration: Vector3::zeros(),
            wheels: in_contact
                .into_iter()
                .map(|in_contact| WheelTruth { in_contact, ..WheelTruth::default() })
                .collect(),
            link_loads: loaded.into_iter().map(|link| LinkLoad { link, ..LinkLoad::default() }).collect(),
            drum_loads_kg: vec![0.0; drums as usize],
        };
        readings.numbers_mut().zip(numbers).for_each(|(number, sent)| *number = f64::from(sent));
        Ok(readings)
    }
}

const OTHER_COUNT: &str = "readings of a rover: another count of numbers than its joints, wheels, loads and drums have";

#[cfg(test)]
mod tests {
    use selene_base::Wrench;

    use super::*;

    fn readings() -> RoverReadings {
        let wheel = |slip_ratio, in_contact| WheelTruth {
            slip_ratio,
            force_n: Vector3::new(0.1, -7.3, 900.7),
            in_contact,
            ..WheelTruth::default()
        };
        let wrench = Wrench { force: Vector3::new(1.1, 2.2, 3.3), torque: Vector3::new(4.4, 5.5, 6.6) };
        let rover = RoverSnapshot {
            joint_effort: vec![0.3, 1e-9],
            base_acceleration: Vector3::new(0.1, 0.2, -1.6),
            wheels: vec![wheel(0.3, true), wheel(-0.7, false)],
            link_loads: vec![LinkLoad { link: 7, wrench }],
            drum_loads_kg: vec![12.34],
            ..RoverSnapshot::default()
        };
        RoverReadings::of(&rover).rounded()
    }

    #[test]
    fn rounded_readings_are_read_as_they_were_sent() {
        let sent = readings();
        assert_eq!(sent.drum_loads_kg, [f64::from(12.34_f32)]);
        let bytes = postcard::to_allocvec(&sent).expect("written");
        assert_eq!(postcard::from_bytes::<RoverReadings>(&bytes).expect("read"), sent);
    }

    #[test]
    fn counts_that_do_not_fit_the_numbers_are_refused() {
        let spoil: [fn(&mut PackedReadings); 6] = [
            |packed| packed.joints = u32::MAX,
            |packed| packed.drums += 1,
            |packed| packed.in_contact.push(true),
            |packed| packed.loaded.clear(),
            |packed| packed.in_contact = vec![false; 1 << 20],
            |packed| packed.numbers.truncate(20),
        ];
        for spoil in spoil {
            let mut packed = PackedReadings::from(readings());
            spoil(&mut packed);
            assert_eq!(RoverReadings::try_from(packed), Err(OTHER_COUNT));
        }
    }
}
