//! What tells one run's world from another's: the effective content of every part of a scenario as a
//! hash, and the heights of a few places. Nodes in other processes and saved states compare it, so that
//! none goes on with another world without a word. Heights are compared with a tolerance: another machine's
//! last bits are the same ground, another elevation file or version of the laws is not.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write};

use nalgebra::Vector3;
use selene_base::Pose;
use selene_terrain::{GroundPatch, Ruts, SiteSpec, Terrain};
use selene_vehicle::{Joint, Visual};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::scenario::{ObjectSetup, RoverSetup, Scenario};

/// Heights of the same ground differ by less, m: the last bits of `f32` heights of kilometres.
const SAME_M: f64 = 1e-3;
/// Places whose heights are compared, as parts of the site's side from its middle.
const PLACES: [[f64; 2]; 3] = [[0.0, 0.0], [0.3, 0.2], [-0.2, -0.3]];
/// How far around each place heights are taken, m.
const AROUND_M: f64 = 0.5;
/// Poses are computed: numbers of one that differ by less are another machine's last bits.
const SAME_POSE: f64 = 1e-9;
/// The part that is the ground's seed.
const SEED: &str = "seed";
/// The part that is the scenario's name.
const SCENARIO: &str = "scenario";
/// What the names of a rover's parts begin with: those of its sensors, and of the frames that are theirs alone.
const SENSORS: &str = "sensors ";
const MOUNTS: &str = "mounts ";

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
        put(SCENARIO, scenario.name.clone());
        put("utc", scenario.utc.to_string());
        put("gravity_m_s2", scenario.gravity_m_s2.to_string());
        put("step_s", scenario.step.to_string());
        put("heartbeat_s", scenario.heartbeat.to_string());
        put("soil", hash(&scenario.soils));
        put("granular", hash(&scenario.granular));
        put("crumbs", hash(&scenario.crumbs));
        put("pebbles", hash(&scenario.pebbles));
        put("sky", hash(&scenario.sky_files));
        put("loose rocks", hash(&(&scenario.loose_rocks, &scenario.loose_from_site)));
        for rover in &scenario.rovers {
            put(&format!("rover {}", rover.name), rover_hash(rover));
            put(&format!("{MOUNTS}{}", rover.name), mounts_hash(rover));
            put(&format!("{SENSORS}{}", rover.name), hash(&rover.sensors));
        }
        for object in &scenario.objects {
            put(&format!("object {}", object.name), object_hash(object));
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
        self.difference_in(other, |_| true)
    }

    /// The first difference to another's world, whatever its rovers sense it with and whatever its scenario is
    /// called.
    #[must_use]
    pub fn world_difference(&self, other: &Self) -> Option<Difference> {
        self.difference_in(other, |part| part != SCENARIO && !part.starts_with(SENSORS) && !part.starts_with(MOUNTS))
    }

    /// Whether a rover has the same frames for its sensors in both, in the same order.
    #[must_use]
    pub fn has_same_mounts(&self, other: &Self, rover: &str) -> bool {
        let part = format!("{MOUNTS}{rover}");
        self.parts.get(&part) == other.parts.get(&part)
    }

    fn difference_in(&self, other: &Self, counts: impl Fn(&str) -> bool) -> Option<Difference> {
        let mut names = self.parts.keys().chain(other.parts.keys()).filter(|name| counts(name));
        let told = |of: &Self, name: &str| of.parts.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        let different = names.find(|name| self.parts.get(*name) != other.parts.get(*name));
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
    let RoverSetup { model, namespace, frame_prefix, start, route, motions, soils, .. } = rover;
    let texts = (model.spec(), model.urdf_text(), model.lamps());
    // The URDF's text has meshes by their files' names.
    let shapes = model.links().iter().flat_map(|link| {
        let visuals = link.visuals.iter().map(|visual| &visual.shape);
        visuals.chain(link.collisions.iter().map(|collision| &collision.shape))
    });
    let body = (texts, shapes.collect::<Vec<_>>());
    hash(&(body, namespace, frame_prefix, start, route, motions, soils))
}

/// Of the frames of mounted cameras, which the URDF's text lacks.
fn mounts_hash(rover: &RoverSetup) -> String {
    let mount = |joint: &Joint| (joint.name.clone(), joint.parent, rounded(&joint.parent_from_child_at_zero));
    hash(&rover.model.added_frames().iter().map(mount).collect::<Vec<_>>())
}

fn object_hash(object: &ObjectSetup) -> String {
    let ObjectSetup { model, x_m, y_m, z_m, world_from_object, material, .. } = object;
    let turn = rounded(&Pose::from_parts(Vector3::zeros().into(), *world_from_object));
    let visuals = model.visuals.iter().map(|(object_from_link, visual)| {
        let Visual { link_from_shape, shape, material, rgba } = visual;
        ([object_from_link, link_from_shape].map(rounded), shape, material, rgba)
    });
    let collisions = model.collisions.iter().map(|(object_from_link, collision)| {
        ([object_from_link, &collision.link_from_shape].map(rounded), &collision.shape)
    });
    hash(&(x_m, y_m, z_m, turn, material, visuals.collect::<Vec<_>>(), collisions.collect::<Vec<_>>()))
}

/// A pose's numbers in steps of `SAME_POSE`.
fn rounded(pose: &Pose) -> [i64; 7] {
    let (at, turn) = (pose.translation.vector, pose.rotation.coords);
    [at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w].map(|number| (number / SAME_POSE).round() as i64)
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
    use super::{Fingerprint, rover_hash};
    use crate::{LoadOptions, Scenario};
    use nalgebra::UnitQuaternion;
    use selene_base::Pose;
    use selene_terrain::ReflectanceSpec;
    use selene_vehicle::{ObjectModel, RoverModel, Shape};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    type Change = fn(&mut Scenario);

    fn config() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
    }

    fn load(file: &Path) -> Scenario {
        Scenario::load(file, &LoadOptions::default()).expect("good")
    }

    fn of(change: impl Fn(&mut Scenario)) -> Fingerprint {
        let mut scenario = load(&config().join("scenario/curiosity_rocks.yaml"));
        change(&mut scenario);
        Fingerprint::of(&scenario, &scenario.terrain().expect("made"))
    }

    fn lander(scenario: &mut Scenario) -> &mut ObjectModel {
        Arc::make_mut(&mut scenario.objects[0].model)
    }

    /// Sorato with a triangle of a mesh file on it, one corner of which is so high.
    fn with_a_plate(corner_m: f64) -> RoverModel {
        let folder = std::env::temp_dir().join(format!("selene-fingerprint-{}", std::process::id()));
        let text = |file: &str| std::fs::read_to_string(config().join(file)).expect("text");
        let base = r#"<link name="base_link">"#;
        let plate = format!(r#"{base}<visual><geometry><mesh filename="plate.stl"/></geometry></visual>"#);
        let triangle = format!("outer loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2 {corner_m}\nendloop\n");
        std::fs::create_dir_all(&folder).expect("folder");
        for (name, text) in [
            ("rover.yaml", text("rover/sorato.yaml").replace("../../urdf/sorato/sorato.urdf", "rover.urdf")),
            ("rover.urdf", text("../urdf/sorato/sorato.urdf").replace(base, &plate)),
            ("plate.stl", format!("solid plate\nfacet normal 0 0 1\n{triangle}endfacet\nendsolid plate\n")),
        ] {
            std::fs::write(folder.join(name), text).expect("written");
        }
        let model = RoverModel::load(&folder.join("rover.yaml")).unwrap_or_else(|e| panic!("{e}"));
        std::fs::remove_dir_all(&folder).expect("clean");
        model
    }

    #[test]
    fn a_world_is_like_itself_and_every_change_is_found_where_it_is() {
        let first = of(|_| {});
        assert_eq!(first.difference(&of(|_| {})), None);
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

    #[test]
    fn a_world_is_the_same_by_whatever_path_and_another_one_by_another_shape() {
        // Tests run in their package's folder.
        let [near, far] = [PathBuf::from("../../config"), config()];
        let [near, far] = [near, far].map(|folder| load(&folder.join("scenario/convoy.yaml")));
        let terrain = far.terrain().expect("made");
        let first = Fingerprint::of(&far, &terrain);
        assert_eq!(first.difference(&Fingerprint::of(&near, &terrain)), None);
        let changes: [(&str, Change); 5] = [
            ("object lander", |scenario| scenario.objects[0].material = Some(ReflectanceSpec::default())),
            ("object lander", |scenario| {
                let turn = UnitQuaternion::from_euler_angles(0.1, 0.0, 0.0);
                scenario.objects[0].world_from_object *= turn;
            }),
            ("object lander", |scenario| lander(scenario).collisions[0].1.shape = Shape::Sphere { radius_m: 0.7 }),
            ("object lander", |scenario| lander(scenario).visuals[0].1.link_from_shape.translation.x += 1e-3),
            ("mounts viper", |scenario| {
                let viper = Arc::make_mut(&mut scenario.rovers[0].model);
                assert!(viper.add_frame("eye", 0, Pose::translation(0.0, 0.0, 1.0)));
            }),
        ];
        for (part, change) in changes {
            let mut scenario = far.clone();
            change(&mut scenario);
            let difference = first.difference(&Fingerprint::of(&scenario, &terrain)).expect("another world");
            assert_eq!(difference.part, part);
        }
    }

    #[test]
    fn a_world_is_the_same_whatever_its_rovers_sense_it_with() {
        let scenario = load(&config().join("scenario/viper_views.yaml"));
        let terrain = scenario.terrain().expect("made");
        let first = Fingerprint::of(&scenario, &terrain);
        let of = |change: Change| {
            let mut other = scenario.clone();
            change(&mut other);
            Fingerprint::of(&other, &terrain)
        };
        let fewer = of(|scenario| {
            scenario.name.push_str(" with other eyes");
            scenario.rovers[0].sensors.truncate(1);
        });
        assert_eq!(first.difference(&fewer).map(|found| found.part).as_deref(), Some("scenario"));
        assert!(first.world_difference(&fewer).is_none() && first.has_same_mounts(&fewer, "viper"));
        let moved = of(|scenario| {
            let viper = Arc::make_mut(&mut scenario.rovers[0].model);
            assert!(viper.add_frame("eye", 0, Pose::translation(0.0, 0.0, 1.0)));
        });
        assert!(first.world_difference(&moved).is_none() && !first.has_same_mounts(&moved, "viper"));
        let elsewhere = of(|scenario| scenario.rovers[0].start.x_m += 1.0);
        let difference = first.world_difference(&elsewhere).expect("another world");
        assert_eq!(difference.part, "rover viper");
    }

    #[test]
    fn a_rover_is_another_one_with_other_triangles() {
        let mut scenario = load(&config().join("scenario/sorato.yaml"));
        let mut hash = |model: RoverModel| {
            scenario.rovers[0].model = Arc::new(model);
            rover_hash(&scenario.rovers[0])
        };
        assert_eq!(hash(with_a_plate(0.5)), hash(with_a_plate(0.5)));
        assert_ne!(hash(with_a_plate(0.5)), hash(with_a_plate(0.6)));
    }
}
