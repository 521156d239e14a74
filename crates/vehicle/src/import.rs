//! Writes a first rover file for any URDF (`selene import`): [`guess`] guesses the roles of its joints, [`extent`]
//! measures its wheels, and this module writes both with the values that a URDF lacks. Every guess is marked
//! `# check`.
//!
//! The guessed motors suit a robot made for the Earth: together they pull at the rims with twice its weight there,
//! and turn the wheels once a second. A robot's own limits of effort and velocity count instead where they are of that
//! order; many URDFs have 0 or 1000 there.

mod extent;
mod guess;

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use nalgebra::Point3;

use self::guess::{GuessedRoles, WheelGuess, has_word};
use crate::VehicleError;
use crate::model::{read_urdf, summed_mass_kg};
use crate::packages::Packages;
use crate::shape::{Joint, JointKind, Link};
use crate::spec::WheelRole;
use crate::urdf;

/// Weight on the Earth and on the Moon, N/kg.
const EARTH_N_KG: f64 = 9.81;
const MOON_N_KG: f64 = 1.62;
/// Force of all motors together at the rims, over the weight on the Earth.
const PULL: f64 = 2.0;
/// Turns a second of a wheel at the rover's speed, and of one without load.
const TURNS_HZ: f64 = 1.0;
const NO_LOAD_HZ: f64 = 1.5;
/// Motors droop by this share of their speed at full torque.
const DROOP: f64 = 0.05;
/// A URDF's own limit counts within this factor of the guess.
const OF_THE_ORDER: f64 = 10.0;
/// The smallest wheel that a rover file takes, m, and one of unknown size.
const WHEEL_M_MIN: f64 = 0.01;
const WHEEL_M: f64 = 0.1;
/// Off-centre wheels by less than this are taken for centred, m.
const CENTRED_M: f64 = 1e-3;
/// Friction of a caster that is fixed: its ball is not modelled.
const CASTER_FRICTION: f64 = 0.1;
/// Words in the names of links that carry sensors.
const SENSOR_WORDS: [&str; 9] = ["camera", "optical", "scan", "laser", "lidar", "velodyne", "imu", "gps", "gnss"];

/// Names and paths for the new rover file.
#[derive(Clone, Debug)]
pub struct Import<'a> {
    /// The rover's name.
    pub name: &'a str,
    /// The URDF.
    pub urdf: &'a Path,
    /// Path of the URDF as written into the rover file.
    pub urdf_as_written: &'a Path,
    /// Folders of packages as written into the rover file.
    pub packages_as_written: &'a BTreeMap<String, PathBuf>,
}

/// The text of a rover file for a URDF whose meshes are beside it and in `packages`.
///
/// # Errors
/// When the URDF is refused, or has no two wheels.
pub fn rover_file(import: &Import, packages: &Packages) -> Result<String, VehicleError> {
    let (links, joints, text) = read_urdf(import.urdf, packages)?;
    let guess = GuessedRoles::of(&links, &joints, &urdf::actuated_joints(&text));
    if guess.wheels.len() < 2 || guess.wheels.iter().all(|wheel| wheel.role == WheelRole::Free) {
        let moving = joints.iter().filter(|joint| joint.moves()).map(|joint| joint.name.as_str());
        let what = format!(
            "two wheels or more are needed, one of them driven: continuous joints about y of \"{}\", round or with \
             wheel in their name; joints that move are: {}",
            links[0].name,
            moving.collect::<Vec<_>>().join(", ")
        );
        return Err(VehicleError::urdf(import.urdf, 1, what));
    }
    let mass_kg = summed_mass_kg(&links);
    Ok(RoverFile { import, links: &links, joints: &joints, guess: &guess, mass_kg }.text())
}

/// The data from which the file is written.
struct RoverFile<'a> {
    import: &'a Import<'a>,
    links: &'a [Link],
    joints: &'a [Joint],
    guess: &'a GuessedRoles,
    mass_kg: f64,
}

impl RoverFile<'_> {
    fn text(&self) -> String {
        [
            self.head(),
            self.wheels(),
            self.drive(),
            self.steering(),
            self.others(),
            self.friction(),
            self.limits(),
            self.sensors(),
        ]
        .concat()
    }

    fn head(&self) -> String {
        let Import { name, urdf_as_written, packages_as_written, .. } = self.import;
        let mut text = format!(
            "# Written by `selene import`: what turns the URDF of {name} into a rover. Lines with `# check` hold\n\
             # guesses; `selene check` on this file reports what does not fit.\n\
             # Mass of all links: {} kg. Root, the frame that is driven: {}.\n\
             name: {}\nurdf: {}\n",
            figure(self.mass_kg),
            self.links[0].name,
            word(name),
            word(&urdf_as_written.display().to_string()),
        );
        if !packages_as_written.is_empty() {
            text += "packages:\n";
        }
        for (package, folder) in *packages_as_written {
            text += &format!("  {}: {}\n", word(package), word(&folder.display().to_string()));
        }
        text
    }

    fn wheels(&self) -> String {
        let wheels = self.guess.wheels.iter().map(|wheel| self.wheel(wheel));
        format!("\n# In the order of commands and tables.\nwheels:\n{}", wheels.collect::<String>())
    }

    fn wheel(&self, wheel: &WheelGuess) -> String {
        let joint = &self.joints[wheel.joint];
        let link = &self.links[joint.child].name;
        let name = link.strip_suffix("_link").unwrap_or(link);
        let mut keys = format!("name: {}", word(name.rsplit('/').next().unwrap_or(name)));
        if wheel.role == WheelRole::Free {
            keys += ", role: free";
        }
        let joints = [
            ("drive", Some(wheel.joint)),
            ("steer", wheel.steer),
            ("swivel", wheel.swivel),
            ("suspension", wheel.suspension),
        ];
        for (role, joint) in joints.into_iter().filter_map(|(role, joint)| Some((role, joint?))) {
            keys += &format!(", {role}_joint: {}", word(&self.joints[joint].name));
        }
        let Some(extent) = wheel.extent else {
            return format!(
                "  - {{{keys}, radius_m: {WHEEL_M}, width_m: {WHEEL_M}}}  # check: it has no shape; give its size\n"
            );
        };
        let centre_m = joint.axis.into_inner() * extent.middle_m();
        if centre_m.norm() > CENTRED_M {
            keys += &format!(", centre_m: [{}]", centre_m.map(figure).as_slice().join(", "));
        }
        let [radius_m, width_m] = [extent.radius_m, extent.width_m()].map(|m| m.max(WHEEL_M_MIN));
        format!(
            "  - {{{keys}, radius_m: {}, width_m: {}}}  # check: of its shapes, 0.01 at least\n",
            figure(radius_m),
            figure(width_m)
        )
    }

    fn driven(&self) -> impl Iterator<Item = &WheelGuess> {
        self.guess.wheels.iter().filter(|wheel| wheel.role == WheelRole::Driven)
    }

    /// The mean radius of the driven wheels, m.
    fn radius_m(&self) -> f64 {
        let radius_m = |wheel: &WheelGuess| wheel.extent.map_or(WHEEL_M, |extent| extent.radius_m.max(WHEEL_M_MIN));
        self.driven().map(radius_m).sum::<f64>() / self.driven().count() as f64
    }

    /// Rate of a wheel without load, rad/s.
    fn no_load_rad_s(&self) -> f64 {
        self.stated(NO_LOAD_HZ * TAU, |joint| joint.speed_max)
    }

    /// The least limit that the driven wheels' joints state, where it is of the order of a guess; else the guess.
    fn stated(&self, guess: f64, limit: impl Fn(&Joint) -> Option<f64>) -> f64 {
        let stated = self.driven().filter_map(|wheel| limit(&self.joints[wheel.joint])).fold(f64::INFINITY, f64::min);
        if (guess / OF_THE_ORDER..guess * OF_THE_ORDER).contains(&stated) { stated } else { guess }
    }

    fn drive(&self) -> String {
        let pull_nm = PULL * self.mass_kg * EARTH_N_KG * self.radius_m() / self.driven().count() as f64;
        let stall_nm = self.stated(pull_nm, |joint| joint.effort_max);
        let no_load_rad_s = self.no_load_rad_s();
        format!(
            "\n# The motor of each driven wheel: torque falls linearly from stall to nothing at the no-load speed.\n\
             drive:\n  stall_torque_nm: {}  # check\n  no_load_speed_rad_s: {}  # check\n  velocity_gain_nm_s: {}  # check\n",
            figure(stall_nm),
            figure(no_load_rad_s),
            figure(stall_nm / (DROOP * no_load_rad_s)),
        )
    }

    /// Steering servo and suspension, where wheels have them.
    fn steering(&self) -> String {
        let mut text = String::new();
        let wheels = &self.guess.wheels;
        let steers: Vec<_> = wheels.iter().filter_map(|wheel| wheel.steer).collect();
        if !steers.is_empty() {
            let limits_deg = steers.iter().filter_map(|&joint| self.joints[joint].limits);
            let limits_deg = limits_deg.map(|[lowest, highest]| highest.min(-lowest).to_degrees());
            let limit_deg = Some(limits_deg.fold(89.0, f64::min)).filter(|deg| *deg > 0.0).unwrap_or(30.0);
            let stiffness_nm = 20.0 * self.mass_kg * EARTH_N_KG * self.radius_m();
            text += &format!(
                "\nsteering:\n  limit_deg: {}  # check: of the joints' limits\n  rate_deg_s: 30  # check\n  \
                 stiffness_nm: {}  # check\n  damping_nm_s: {}  # check\n",
                figure(limit_deg),
                figure(stiffness_nm),
                figure(0.01 * stiffness_nm),
            );
        }
        if wheels.iter().any(|wheel| wheel.suspension.is_some()) {
            let share_kg = self.mass_kg / wheels.len() as f64;
            // It gives by a centimetre under the weight on the Moon, damped at 0.7 of the critical damping.
            let stiffness_n_m = share_kg * MOON_N_KG / 0.01;
            text += &format!(
                "\nsuspension:\n  stiffness_n_m: {}  # check\n  damping_n_s_m: {}  # check\n",
                figure(stiffness_n_m),
                figure(1.4 * (stiffness_n_m * share_kg).sqrt()),
            );
        }
        text
    }

    /// Joints that swing, servos and joints that are held.
    fn others(&self) -> String {
        let mut text = String::new();
        let name = |joint: &usize| word(&self.joints[*joint].name);
        let swing = |joint: &usize| {
            let damping_nm_s = 0.1 * self.mass_kg * EARTH_N_KG * self.radius_m();
            format!(
                "  - {{joint: {}, damping_nm_s: {}{}}}  # check\n",
                name(joint),
                figure(damping_nm_s),
                self.stops(*joint)
            )
        };
        text += &list("\n# What swings by itself.\npassive:\n", &self.guess.passive, swing);
        text += &list("\nservos:\n", &self.guess.servos, |joint| self.servo(*joint));
        let held = |joint: &usize| format!("  - {}  # check\n", name(joint));
        text += &list("\n# What is held at zero, and all that mimics it.\nheld:\n", &self.guess.held, held);
        text
    }

    /// The limits of a joint, as a key after others.
    fn stops(&self, joint: usize) -> String {
        let Some([lowest, highest]) = self.joints[joint].limits.filter(|[lowest, highest]| lowest < highest) else {
            return String::new();
        };
        let [lowest, highest] = [lowest, highest].map(|rad| figure(rad.to_degrees().clamp(-180.0, 180.0)));
        format!(", limit_deg: [{lowest}, {highest}]")
    }

    fn servo(&self, joint: usize) -> String {
        let Joint { name, kind, effort_max, speed_max, .. } = &self.joints[joint];
        let torque_nm = effort_max.filter(|nm| *nm <= 1e4).unwrap_or(10.0);
        let rate_deg_s = speed_max.map(f64::to_degrees).filter(|deg| *deg <= 360.0).unwrap_or(30.0);
        // Full torque at 0.1 rad, or at 1 rad/s, off the target.
        let keys = match kind {
            JointKind::Continuous => format!("kind: rate, damping_nm_s: {}", figure(torque_nm)),
            _ => {
                let stiffness_nm = 10.0 * torque_nm;
                let [stiffness, damping] = [stiffness_nm, 0.1 * stiffness_nm].map(figure);
                format!("kind: position{}, stiffness_nm: {stiffness}, damping_nm_s: {damping}", self.stops(joint))
            }
        };
        let (name, rate, torque) = (word(name), figure(rate_deg_s), figure(torque_nm));
        format!("  - {{joint: {name}, {keys}, rate_deg_s: {rate}, torque_nm: {torque}}}  # check\n")
    }

    fn friction(&self) -> String {
        let line = |link: &usize| {
            let name = word(&self.links[*link].name);
            format!("  - {{link: {name}, friction: {CASTER_FRICTION}}}  # check: a caster whose ball is not modelled\n")
        };
        list("\n# Shapes that rub the ground otherwise than bare metal.\nground_friction:\n", &self.guess.rubbing, line)
    }

    fn limits(&self) -> String {
        let speed_m_s = (TURNS_HZ * TAU).min(0.8 * self.no_load_rad_s()) * self.radius_m();
        let place = |wheel: &WheelGuess| {
            let centre =
                self.joints[wheel.joint].axis.into_inner() * wheel.extent.map_or(0.0, |extent| extent.middle_m());
            (wheel.base_from_link * Point3::from(centre)).coords
        };
        let half_track_m = self.driven().map(|wheel| place(wheel).y.abs()).fold(WHEEL_M_MIN, f64::max);
        let [front_m, rear_m] = [f64::max as fn(f64, f64) -> f64, f64::min]
            .map(|end| self.driven().map(|wheel| place(wheel).x).reduce(end).unwrap_or_default());
        let skids = self.driven().all(|wheel| wheel.steer.is_none()) && front_m - rear_m > self.radius_m();
        let track = if skids { "\n  track_factor: 1.5  # check: it turns by skidding" } else { "" };
        format!(
            "\n# A body command beyond these is scaled down as a whole.\nlimits:\n  speed_m_s: {}  # check\n  \
             turn_rate_rad_s: {}  # check{track}\n",
            figure(speed_m_s),
            figure(speed_m_s / half_track_m),
        )
    }

    fn sensors(&self) -> String {
        let names = self.links.iter().map(|link| link.name.as_str()).filter(|name| has_word(name, &SENSOR_WORDS));
        let names = names.collect::<Vec<_>>().join(", ");
        let reported = if names.is_empty() { "none of its links is called so".to_owned() } else { names };
        format!("\n# Files of sensors that it carries. Links that look like theirs: {reported}.\nsensors: []\n")
    }
}

/// A heading and a line for each item; empty without items.
fn list<T>(heading: &str, items: &[T], line: impl Fn(&T) -> String) -> String {
    if items.is_empty() { String::new() } else { heading.to_owned() + &items.iter().map(line).collect::<String>() }
}

/// A number to four digits.
fn figure(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = usize::try_from(3 - magnitude).unwrap_or(0).min(6);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(text, "{value:.decimals$}");
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        return "0".to_owned();
    }
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A name as YAML has it: in quotes unless it is plain.
fn word(name: &str) -> String {
    let is_plain = name.len() > 3
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_/.-".contains(c))
        && !["true", "false", "null"].contains(&name.to_ascii_lowercase().as_str());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")) }
}

#[cfg(test)]
mod tests {
    use super::{figure, word};

    #[test]
    fn figures_have_four_digits() {
        let reported = [0.0, -1e-17, 0.033, 1.0 / 3.0, 12.5, 1234.6, 1e-5, -0.04485].map(figure);
        assert_eq!(reported, ["0", "0", "0.033", "0.3333", "12.5", "1235", "0.00001", "-0.04485"]);
    }

    #[test]
    fn names_that_yaml_takes_for_something_else_are_quoted() {
        let reported = ["wheel_FL", "on", "true", "a: b", "../x.urdf", "4wd"].map(word);
        assert_eq!(reported, ["wheel_FL", "\"on\"", "\"true\"", "\"a: b\"", "\"../x.urdf\"", "\"4wd\""]);
    }
}
