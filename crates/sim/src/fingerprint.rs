//! What tells one run's world from another's: the effective content of every part of a scenario as a
//! hash, and the heights of a few places. Nodes in other processes and saved states compare it, so that
//! none goes on with another world without a word. Heights are compared with a tolerance: another machine's
//! last bits are the same ground, another elevation file or version of the laws is not.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write};

use selene_terrain::{GroundPatch, Ruts, SiteSpec, Terrain};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::scenario::{RoverSetup, Scenario};

/// Heights of the same ground differ by less, m: the last bits of `f32` heights of kilometres.
const SAME_M: f64 = 1e-3;
/// Places whose heights are compared, as parts of the site's side from its middle.
const PLACES: [[f64; 2]; 3] = [[0.0, 0.0], [0.3, 0.2], [-0.2, -0.3]];
/// How far around each place heights are taken, m.
const AROUND_M: f64 = 0.5;
/// The part that is the ground's seed.
const SEED: &str = "seed";

/// What tells one world from another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Each part of the scenario by its name: the value itself, or a hash of its content.
    pub parts: BTreeMap<String, String>,
    /// Heights of the undisturbed ground at places that follow from the site, m.
    pub heights_m: Vec<f64>,
}

/// Where two worlds differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which part.
    pub part: String,
    /// What it is in the one that was asked.
    pub ours: String,
    /// What it is in the other one.
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: here {}, there {}", self.part, self.ours, self.theirs)
    }
}

impl Fingerprint {
    /// Of a scenario on its ground.
    #[must_use]
    pub fn of(scenario: &Scenario, terrain: &Terrain) -> Self {
        let mut parts = ground_parts(&scenario.site, scenario.seed);
        let mut put = |name: &str, value: String| drop(parts.insert(name.to_owned(), value));
        put("scenario", scenario.name.clone());
        put("utc", scenario.utc.to_string());
        put("gravity_m_s2", scenario.gravity_m_s2.to_string());
        put("step_s", scenario.step.to_string());
        put("heartbeat_s", scenario.heartbeat.to_string());
        put("soil", hash(&scenario.soils));
        put("sky", hash(&scenario.sky_files));
        put("loose rocks", hash(&(&scenario.loose_rocks, &scenario.loose_from_site)));
        for rover in &scenario.rovers {
            put(&format!("rover {}", rover.name), rover_hash(rover));
        }
        for object in &scenario.objects {
            let place = (object.x_m, object.y_m, object.z_m, object.yaw_rad);
            put(&format!("object {}", object.name), hash(&(place, object.model.collisions.len(), &object.file)));
        }
        Self { parts, heights_m: heights_m(&scenario.site, terrain) }
    }

    /// Of a site's ground alone.
    #[must_use]
    pub fn of_ground(site: &SiteSpec, seed: u64, terrain: &Terrain) -> Self {
        Self { parts: ground_parts(site, seed), heights_m: heights_m(site, terrain) }
    }

    /// The seed of the ground.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.parts.get(SEED)?.parse().ok()
    }

    /// The first difference to another; parts that only one of them has count.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let names = self.parts.keys().chain(other.parts.keys());
        let told = |of: &Self, name: &str| of.parts.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        let different = names.into_iter().find(|name| self.parts.get(*name) != other.parts.get(*name));
        match different {
            Some(name) => Some(Difference { part: name.clone(), ours: told(self, name), theirs: told(other, name) }),
            None => self.height_difference(other),
        }
    }

    fn height_difference(&self, other: &Self) -> Option<Difference> {
        let told = |m: Option<&f64>| m.map_or_else(|| "none".to_owned(), |m| format!("{m:.4} m"));
        let count = self.heights_m.len().max(other.heights_m.len());
        let pair = |i: usize| (self.heights_m.get(i), other.heights_m.get(i));
        let differs = |(a, b): &(Option<&f64>, Option<&f64>)| match (a, b) {
            (Some(a), Some(b)) => a.is_nan() || b.is_nan() || (*a - *b).abs() >= SAME_M,
            _ => true,
        };
        (0..count).map(pair).find(differs).map(|(ours, theirs)| Difference {
            part: "height of the ground (its laws, its elevation file or Selene's version)".to_owned(),
            ours: told(ours),
            theirs: told(theirs),
        })
    }
}

fn ground_parts(site: &SiteSpec, seed: u64) -> BTreeMap<String, String> {
    let levels = site.levels.iter().map(|level| format!("{} m on {} m", level.spacing_m, level.side_m));
    BTreeMap::from([
        ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("site".to_owned(), site.name.clone()),
        ("levels".to_owned(), levels.collect::<Vec<_>>().join(", ")),
        (SEED.to_owned(), seed.to_string()),
    ])
}

fn rover_hash(rover: &RoverSetup) -> String {
    let RoverSetup { namespace, frame_prefix, start, sensors, route, soils, .. } = rover;
    let model = (rover.model.spec(), rover.model.urdf_text(), rover.model.lamps());
    hash(&(model, namespace, frame_prefix, start, sensors, route, soils))
}

fn heights_m(site: &SiteSpec, terrain: &Terrain) -> Vec<f64> {
    let side_m = site.side_m();
    let of_place = |place: [f64; 2]| {
        let [x, y] = place.map(|part| part * side_m);
        let patch = GroundPatch::of_square(terrain, &Ruts::default(), [x, y], 2.0 * AROUND_M);
        let around = (-1..=1).flat_map(|i| (-1..=1).map(move |j| [i, j].map(|k| f64::from(k) * AROUND_M)));
        around.filter_map(move |[east, north]| patch.height_m(x + east, y + north)).collect::<Vec<_>>()
    };
    PLACES.into_iter().flat_map(of_place).collect()
}

/// A hash of a value's content as it is printed for developers: every number of it, to the last digit.
fn hash(value: &impl Debug) -> String {
    struct Hasher(Xxh3);
    impl Write for Hasher {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hasher = Hasher(Xxh3::new());
    // A hasher takes whatever it is told.
    let _ = write!(hasher, "{value:?}");
    format!("{:016x}", hasher.0.digest())
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;
    use crate::{LoadOptions, Scenario};
    use std::path::Path;

    fn of(change: impl Fn(&mut Scenario)) -> Fingerprint {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/curiosity_rocks.yaml");
        let mut scenario = Scenario::load(&path, &LoadOptions::default()).expect("good");
        change(&mut scenario);
        Fingerprint::of(&scenario, &scenario.terrain().expect("made"))
    }

    #[test]
    fn a_world_is_like_itself_and_every_change_is_found_where_it_is() {
        let first = of(|_| {});
        assert_eq!(first.difference(&of(|_| {})), None);
        type Change = fn(&mut Scenario);
        let changes: [(&str, Change); 5] = [
            ("seed", |scenario| scenario.seed += 1),
            ("gravity_m_s2", |scenario| scenario.gravity_m_s2 += 1e-9),
            ("rover curiosity", |scenario| scenario.rovers[0].start.x_m += 1e-9),
            ("loose rocks", |scenario| scenario.loose_rocks.truncate(1)),
            ("height of the ground", |scenario| scenario.site.relief.deviation_at_1m_m *= 1.5),
        ];
        for (part, change) in changes {
            let difference = of(change).difference(&first).expect("another world").to_string();
            assert!(difference.starts_with(part), "{part}: {difference}");
        }
    }
}
