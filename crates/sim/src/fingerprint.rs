//! Fingerprints of worlds: a hash of the effective content of every part of a scenario, and the heights of a
//! few places. Nodes in other processes and saved states compare fingerprints, so that none continues silently
//! with another world. Heights are compared with a tolerance: ground whose last bits differ, as on another
//! machine, is the same; ground of another elevation file or another version of the laws is not. The Sun's place at
//! the start, rounded, tells apart kernels that have the same name and another content.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write};

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_sky::{CatalogueStar, Direction};
use selene_terrain::{GroundPatch, Ruts, SiteSpec, SurfaceSpec, Terrain};
use selene_vehicle::{Collision, Joint, ObjectModel, RoverModel, Visual};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::scenario::{MountedSensor, ObjectSetup, RoverSetup, Scenario, SkySpec};

/// Heights that differ by less are the same ground, m: the last bits of `f32` heights of kilometres.
const SAME_M: f64 = 1e-3;
/// Places whose heights are compared, relative to the middle of the site, as fractions of its side.
const PLACES: [[f64; 2]; 3] = [[0.0, 0.0], [0.3, 0.2], [-0.2, -0.3]];
/// Distance around each place at which heights are compared too, m.
const AROUND_M: f64 = 0.5;
/// Step to which the numbers of poses are rounded: poses are computed, and their last bits differ between machines.
const SAME_POSE: f64 = 1e-9;
/// Step to which directions of stars are rounded, for the same reason. It is coarser, because of a catalogue's many
/// thousand numbers any one may lie at the border of two steps.
const SAME_STAR: f64 = 1e-6;
/// Name of the part with the ground's seed.
const SEED: &str = "seed";
/// Name of the part with the scenario's name.
const SCENARIO: &str = "scenario";
/// Prefixes of a rover's parts for its sensors, and for the frames in which they are mounted.
const SENSORS: &str = "sensors ";
const MOUNTS: &str = "mounts ";

/// Fingerprint of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Each part of the scenario by its name: the value itself, or a hash of its content.
    pub parts: BTreeMap<String, String>,
    /// Heights of the undisturbed ground at places that follow from the site, m.
    pub heights_m: Vec<f64>,
}

/// A difference between two worlds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the part.
    pub part: String,
    /// Value of the part in this world.
    pub ours: String,
    /// Value of the part in the other world.
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: here {}, there {}", self.part, self.ours, self.theirs)
    }
}

impl Fingerprint {
    /// Fingerprint of a scenario on its ground.
    #[must_use]
    pub fn of(scenario: &Scenario, terrain: &Terrain) -> Self {
        // Without `..`, so that a new field is not forgotten. Files have been read; `sky` follows from the site and the
        // kernels; `lockstep` says when time waits, not what happens in it.
        let Scenario {
            name,
            seed,
            utc,
            gravity_m_s2,
            step,
            heartbeat,
            site,
            sky: _,
            stars,
            soils,
            granular,
            crumbs,
            pebbles,
            rovers,
            objects,
            loose_rocks,
            loose_from_site,
            end_at_site_border,
            lockstep: _,
            sky_files,
            file: _,
            site_file: _,
            data_dir: _,
        } = scenario;
        let mut parts = ground_parts(site, *seed);
        let mut put = |name: &str, value: String| drop(parts.insert(name.to_owned(), value));
        put(SCENARIO, name.clone());
        put("utc", utc.to_string());
        put("where the Sun is", sun(scenario));
        put("gravity_m_s2", gravity_m_s2.to_string());
        put("step_s", step.to_string());
        put("heartbeat_s", heartbeat.to_string());
        put("end_at_site_border", end_at_site_border.to_string());
        put("site surface", hash(&site.surface));
        put("soil", hash(soils));
        put("granular", hash(granular));
        put("crumbs", hash(crumbs));
        put("pebbles", hash(pebbles));
        put("sky", sky_hash(sky_files, stars));
        put("loose rocks", hash(&(loose_rocks, loose_from_site)));
        for rover in rovers {
            put(&format!("rover {}", rover.name), rover_hash(rover));
            put(&format!("{MOUNTS}{}", rover.name), mounts_hash(rover));
            put(&format!("{SENSORS}{}", rover.name), hash(&(&rover.sensors, rover.sensor_seed)));
        }
        for object in objects {
            put(&format!("object {}", object.name), object_hash(object));
        }
        Self { parts, heights_m: heights_m(site, terrain) }
    }

    /// Fingerprint of a site's ground alone, without its surface, which changes only what sensors see.
    #[must_use]
    pub fn of_ground(site: &SiteSpec, seed: u64, terrain: &Terrain) -> Self {
        Self { parts: ground_parts(site, seed), heights_m: heights_m(site, terrain) }
    }

    /// The seed of the ground.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.parts.get(SEED)?.parse().ok()
    }

    /// The first difference to another fingerprint, the scenario's name before all others; a part that only one of them
    /// has is a difference.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        self.difference_in(other, |_| true)
    }

    /// The first difference to another world, except for the rovers' sensors with their frames, and the
    /// scenario's name.
    #[must_use]
    pub fn world_difference(&self, other: &Self) -> Option<Difference> {
        self.difference_in(other, |part| part != SCENARIO && !part.starts_with(SENSORS) && !part.starts_with(MOUNTS))
    }

    /// Whether a rover has the same frames for its sensors in both worlds, in the same order.
    #[must_use]
    pub fn has_same_mounts(&self, other: &Self, rover: &str) -> bool {
        let part = format!("{MOUNTS}{rover}");
        self.parts.get(&part) == other.parts.get(&part)
    }

    fn difference_in(&self, other: &Self, counts: impl Fn(&str) -> bool) -> Option<Difference> {
        let parts = self.parts.keys().chain(other.parts.keys()).map(String::as_str);
        let mut names = std::iter::once(SCENARIO).chain(parts).filter(|name| counts(name));
        let reported = |of: &Self, name: &str| of.parts.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        let different = names.find(|name| self.parts.get(*name) != other.parts.get(*name));
        match different {
            Some(name) => {
                Some(Difference { part: name.to_owned(), ours: reported(self, name), theirs: reported(other, name) })
            }
            None => self.height_difference(other),
        }
    }

    fn height_difference(&self, other: &Self) -> Option<Difference> {
        let reported = |m: Option<&f64>| m.map_or_else(|| "none".to_owned(), |m| format!("{m:.4} m"));
        let count = self.heights_m.len().max(other.heights_m.len());
        let pair = |i: usize| (self.heights_m.get(i), other.heights_m.get(i));
        let differs = |(a, b): &(Option<&f64>, Option<&f64>)| match (a, b) {
            (Some(a), Some(b)) => a.is_nan() || b.is_nan() || (*a - *b).abs() >= SAME_M,
            _ => true,
        };
        (0..count).map(pair).find(differs).map(|(ours, theirs)| Difference {
            part: "height of the ground (its laws, its elevation file or Selene's version)".to_owned(),
            ours: reported(ours),
            theirs: reported(theirs),
        })
    }
}

fn ground_parts(site: &SiteSpec, seed: u64) -> BTreeMap<String, String> {
    let levels = site.levels.iter().map(|level| format!("{} m on {} m", level.spacing_m, level.side_m));
    BTreeMap::from([
        ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("site".to_owned(), site.name.clone()),
        ("site file".to_owned(), hash(&SiteSpec { surface: SurfaceSpec::default(), ..site.clone() })),
        ("levels".to_owned(), levels.collect::<Vec<_>>().join(", ")),
        (SEED.to_owned(), seed.to_string()),
    ])
}

/// Where the Sun is at the start.
fn sun(scenario: &Scenario) -> String {
    let told = |sun: Direction| {
        let [azimuth_deg, elevation_deg] = [sun.azimuth_rad, sun.elevation_rad].map(f64::to_degrees);
        format!("azimuth {azimuth_deg:.4}°, elevation {elevation_deg:.4}°")
    };
    scenario.sun(SimTime::ZERO).map_or_else(|error| error.to_string(), told)
}

fn sky_hash(files: &SkySpec, stars: &[CatalogueStar]) -> String {
    let star = |star: &CatalogueStar| {
        let CatalogueStar { id, unit_icrf, magnitude, colour_index } = *star;
        (id, <[f64; 3]>::from(unit_icrf).map(|part| steps(part, SAME_STAR)), magnitude, colour_index)
    };
    hash(&(files, stars.iter().map(star).collect::<Vec<_>>()))
}

fn rover_hash(rover: &RoverSetup) -> String {
    // Name, sensors and their seed are in other parts; the file has been read.
    let RoverSetup {
        name: _,
        model,
        namespace,
        frame_prefix,
        start,
        sensors: _,
        route,
        motions,
        soils,
        sensor_seed: _,
        file: _,
    } = rover;
    hash(&(rover_body(model), namespace, frame_prefix, start, route, motions, soils))
}

/// What a rover's file holds, and the files that it names.
fn rover_body(model: &RoverModel) -> impl Debug {
    let texts = (model.spec(), model.urdf_text(), model.lamps());
    // The URDF's text has only the names of mesh files, not their content.
    let shapes = model.links().iter().flat_map(|link| {
        let visuals = link.visuals.iter().map(|visual| &visual.shape);
        visuals.chain(link.collisions.iter().map(|collision| &collision.shape))
    });
    (texts, shapes.collect::<Vec<_>>())
}

/// Fingerprints of the files that a rover was read from, with the files that they name: its own, then those of its
/// sensors, in their order. Name and place of the rover are not in them.
pub(crate) fn of_rover_files(rover: &RoverSetup) -> Vec<String> {
    // The frame of a mounted sensor is in the rover's model and not in the sensor's parameters any more.
    let of_sensor = |sensor: &MountedSensor| {
        let frame = rover.model.added_frames().iter().find(|joint| joint.child == sensor.link);
        hash(&(sensor, frame.map(mount)))
    };
    std::iter::once(hash(&rover_body(&rover.model))).chain(rover.sensors.iter().map(of_sensor)).collect()
}

/// Fingerprint of the file that an object was read from, with the files that it names. Name and place of the object are
/// not in it.
pub(crate) fn of_object_file(model: &ObjectModel) -> String {
    hash(&object_shapes(model))
}

/// Hash of the frames of mounted sensors, which are not in the URDF's text: `RoverModel::add_frame` gives them a name,
/// a parent and a pose.
fn mounts_hash(rover: &RoverSetup) -> String {
    hash(&rover.model.added_frames().iter().map(mount).collect::<Vec<_>>())
}

fn mount(joint: &Joint) -> (String, usize, [i64; 7]) {
    (joint.name.clone(), joint.parent, rounded(&joint.parent_from_child_at_zero))
}

fn object_hash(object: &ObjectSetup) -> String {
    let ObjectSetup { name: _, model, x_m, y_m, z_m, world_from_object, material } = object;
    let turn = rounded(&Pose::from_parts(Vector3::zeros().into(), *world_from_object));
    let (visuals, collisions) = object_shapes(model);
    hash(&(x_m, y_m, z_m, turn, material, visuals, collisions))
}

/// Visual and collision shapes of an object.
fn object_shapes(model: &ObjectModel) -> (Vec<impl Debug>, Vec<impl Debug>) {
    let ObjectModel { visuals, collisions } = model;
    let visuals = visuals.iter().map(|(object_from_link, visual)| {
        let Visual { link_from_shape, shape, material, rgba } = visual;
        ([object_from_link, link_from_shape].map(rounded), shape, material, rgba)
    });
    let collisions = collisions.iter().map(|(object_from_link, collision)| {
        let Collision { link_from_shape, shape } = collision;
        ([object_from_link, link_from_shape].map(rounded), shape)
    });
    (visuals.collect::<Vec<_>>(), collisions.collect::<Vec<_>>())
}

/// A pose's numbers, rounded to steps of `SAME_POSE`.
fn rounded(pose: &Pose) -> [i64; 7] {
    let (at, turn) = (pose.translation.vector, pose.rotation.coords);
    [at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w].map(|number| steps(number, SAME_POSE))
}

/// A number in whole steps.
fn steps(number: f64, step: f64) -> i64 {
    (number / step).round() as i64
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

/// Hash of a value's `Debug` output, which has every number to the last digit.
fn hash(value: &impl Debug) -> String {
    struct Hasher(Xxh3);
    impl Write for Hasher {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hasher = Hasher(Xxh3::new());
    // Writing to a hasher cannot fail.
    let _ = write!(hasher, "{value:?}");
    format!("{:016x}", hasher.0.digest())
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, rover_hash};
    use crate::{LoadOptions, Scenario};
    use nalgebra::UnitQuaternion;
    use selene_base::{Pose, SimTime};
    use selene_sky::{CatalogueStar, SiteSky};
    use selene_terrain::{
        CraterRocksSpec, CraterSizes, ElevationSpec, LambertSpec, LandformSpec, ProceduralSpec, ReflectanceSpec,
        RiseSpec, RockSizes,
    };
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

    fn rise() -> ElevationSpec {
        let rise = RiseSpec { at_m: [500.0, 0.0], height_m: 1.0, radius_m: 5.0 };
        ElevationSpec::Procedural(ProceduralSpec { landforms: vec![LandformSpec::Rise(rise)] })
    }

    fn matt() -> ReflectanceSpec {
        ReflectanceSpec::Lambert(LambertSpec { albedo: 0.12 })
    }

    fn lander(scenario: &mut Scenario) -> &mut ObjectModel {
        Arc::make_mut(&mut scenario.objects[0].model)
    }

    /// Sorato with a triangle from a mesh file on it, one corner of which is at the height `corner_m`.
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
            ("site file", |scenario| scenario.site.relief.deviation_at_1m_m *= 1.5),
        ];
        for (part, change) in changes {
            let difference = of(change).difference(&first).expect("another world").to_string();
            assert!(difference.starts_with(part), "{part}: {difference}");
        }
    }

    #[test]
    fn every_key_of_a_site_and_of_the_sky_is_compared_and_its_part_is_told() {
        let scenario = load(&config().join("scenario/curiosity_rocks.yaml"));
        let terrain = scenario.terrain().expect("made");
        let first = Fingerprint::of(&scenario, &terrain);
        let changes: [(&str, Change); 28] = [
            ("end_at_site_border", |scenario| scenario.end_at_site_border = true),
            ("levels", |scenario| scenario.site.levels[0].side_m *= 2.0),
            ("site", |scenario| scenario.site.name.push('x')),
            ("site file", |scenario| scenario.site.latitude_deg += 1e-9),
            ("site file", |scenario| scenario.site.longitude_deg += 1e-9),
            ("site file", |scenario| scenario.site.datum_m += 1e-9),
            ("site file", |scenario| scenario.site.elevation = rise()),
            ("site file", |scenario| scenario.site.relief.wavelength_max_m += 1e-9),
            ("site file", |scenario| scenario.site.relief.hurst_above_1m += 1e-9),
            ("site file", |scenario| scenario.site.relief.hurst_below_1m += 1e-9),
            ("site file", |scenario| scenario.site.craters.law = CraterSizes::Trask),
            ("site file", |scenario| scenario.site.craters.diameter_min_m += 1e-9),
            ("site file", |scenario| scenario.site.craters.diameter_max_m += 1e-9),
            ("site file", |scenario| scenario.site.rocks.law = RockSizes::Haworth),
            ("site file", |scenario| {
                let law = CraterRocksSpec { law: RockSizes::Haworth, crater_diameter_min_m: 5.0 };
                scenario.site.rocks.around_craters = Some(law);
            }),
            ("site file", |scenario| scenario.site.rocks.diameter_min_m += 1e-9),
            ("site file", |scenario| scenario.site.rocks.diameter_max_m += 1e-9),
            ("site file", |scenario| scenario.site.rocks.clear_radius_m += 1e-9),
            ("site file", |scenario| scenario.site.rocks.count_max += 1),
            ("site surface", |scenario| scenario.site.surface.regolith = matt()),
            ("site surface", |scenario| scenario.site.surface.rock = matt()),
            ("site surface", |scenario| scenario.site.surface.detail.strength += 1e-9),
            ("site surface", |scenario| scenario.site.surface.detail.mottle += 1e-9),
            ("site surface", |scenario| scenario.site.surface.detail.craterlets += 1e-9),
            ("sky", |scenario| scenario.stars = vec![CatalogueStar::new(1, 0.0, 0.0, 1.0)].into()),
            ("utc", |scenario| scenario.utc = scenario.utc.after(SimTime::from_nanos(3_600_000_000_000))),
            ("where the Sun is", |scenario| scenario.sky = SiteSky::new(-85.4, 31.7)),
            ("sensors curiosity", |scenario| scenario.rovers[0].sensor_seed += 1),
        ];
        for (part, change) in changes {
            let mut other = scenario.clone();
            change(&mut other);
            let difference = Fingerprint::of(&other, &terrain).difference(&first).expect(part).to_string();
            assert!(difference.starts_with(&format!("{part}: here ")), "{part}: {difference}");
        }
    }

    #[test]
    fn other_heights_are_found_under_the_same_keys() {
        let scenario = load(&config().join("scenario/curiosity_rocks.yaml"));
        let mut other = scenario.clone();
        other.site.relief.deviation_at_1m_m *= 1.5;
        let [ours, theirs] =
            [&scenario, &other].map(|ground| Fingerprint::of(&scenario, &ground.terrain().expect("made")));
        let difference = ours.difference(&theirs).expect("other ground").to_string();
        assert!(difference.starts_with("height of the ground"), "{difference}");
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
