//! A camera in a process of its own sees what is added to a running world, by its instance number, until it is taken
//! away; and does not take a file for what the world was given when the file was changed since.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::{instance_of_part, instance_of_rock};
use selene_ros::dds::Dds;
use selene_ros::service::{Client, Service};
use selene_ros::simulation_interfaces::srv;
use selene_ros::transport::{Subscription, subscribe};
use selene_ros::{Qos, sensor_msgs};
use selene_sim::{Entity, EntityId};
use selene_tests::control_client::{TIMEOUT, at, spawning, well};
use selene_tests::repository_file;

use crate::processes::{dds, node_of, small_camera};
use crate::program::{Running, alone, folder, text};

const DOMAIN: u16 = 79;
/// A box of 1 m about its origin, as a mesh.
const CUBE: &str = "v -.5 -.5 -.5\nv .5 -.5 -.5\nv .5 .5 -.5\nv -.5 .5 -.5\nv -.5 -.5 .5\nv .5 -.5 .5\nv .5 .5 .5\n\
    v -.5 .5 .5\nf 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

/// Writes a scenario in which VIPER stands in a yard and its camera tells instances; returns its path.
fn standing_viper(folder: &Path) -> String {
    let camera = small_camera("navcam_left", folder);
    let spec = std::fs::read_to_string(&camera).expect("a camera");
    // A lost image would only cost time.
    let spec = spec.replacen("segmentation: true", "instances: true", 1).replacen("sensor_data", "reliable", 1);
    std::fs::write(&camera, spec).expect("written");
    let [site, rover] =
        ["site/test_yard.yaml", "rover/viper.yaml"].map(|file| text(&repository_file("config").join(file)));
    let scenario = folder.join("yard.yaml");
    let keys = format!("name: yard\nsite: {site}\nrover: {{ file: {rover} }}\nsensors: [{camera}]\n");
    std::fs::write(&scenario, keys).expect("written");
    text(&scenario)
}

/// What a camera's process publishes, and the services of the simulation beside it.
struct Watched {
    dds: Dds,
    images: Receiver<sensor_msgs::Image>,
    _subscription: Subscription,
}

impl Watched {
    fn open() -> Self {
        let dds = dds(DOMAIN, "watcher");
        let (to_images, images) = channel();
        // Sending fails only when the test has ended.
        let receive = move |image: sensor_msgs::Image| _ = to_images.send(image);
        let subscription = subscribe(&dds, "/navcam_left/instances/image", Qos::reliable(), receive).expect("a topic");
        Self { dds, images, _subscription: subscription }
    }

    fn call<S: Service>(&self, name: &str, request: &S::Request) -> S::Response {
        let client = Client::<S>::new(&self.dds, &format!("/selene_simulation/{name}")).expect("a client");
        let begun = Instant::now();
        while !client.is_served() {
            assert!(begun.elapsed() < TIMEOUT, "nobody serves {name}");
            std::thread::sleep(Duration::from_millis(20));
        }
        client.call(request).expect("sent").recv_timeout(TIMEOUT).expect("answered")
    }

    /// Simulated time.
    fn time(&self) -> SimTime {
        let request = srv::GetEntityStateRequest { entity: "viper".to_owned() };
        let answer = self.call::<srv::GetEntityState>("get_entity_state", &request);
        well(&answer.result);
        answer.state.header.stamp.into()
    }

    /// The numbers in an image of the world as it is now.
    fn numbers(&self) -> BTreeSet<u32> {
        let now = self.time();
        let images = std::iter::repeat_with(|| self.images.recv_timeout(TIMEOUT).expect("an image"));
        let mut later = images.filter(|image| SimTime::from(image.header.stamp) > now);
        // The exposure of the first one may have begun before.
        let image = later.nth(1).expect("there is always one more");
        assert_eq!((image.encoding.as_str(), image.is_bigendian, image.data.len()), ("32SC1", 0, 4 * 128 * 96));
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        image.data.chunks_exact(4).map(number).collect()
    }
}

/// Whether an image with these numbers shows an entity.
fn shows(numbers: &BTreeSet<u32>, entity: Entity) -> bool {
    match entity {
        Entity::Rock(id) => numbers.contains(&instance_of_rock(id)),
        Entity::Rover(id) | Entity::Object(id) => {
            let of_next = instance_of_part(EntityId(id.0 + 1), 0);
            numbers.range(instance_of_part(id, 0)..of_next).next().is_some()
        }
    }
}

#[test]
fn a_camera_process_shows_what_is_spawned_until_it_is_deleted_and_refuses_a_file_that_was_changed() {
    let _turn = alone();
    let (out, domain) = (folder("entities"), DOMAIN.to_string());
    let (scenario, mesh) = (standing_viper(&out), out.join("cube.obj"));
    std::fs::write(&mesh, CUBE).expect("written");
    let mut camera = Running(node_of(&scenario, "camera", &domain).spawn().expect("camera"));
    let mut simulation = node_of(&scenario, "simulation", &domain);
    let endless = ["--pace", "real-time", "--for", "600", "--participants", "camera"];
    let mut simulation = Running(simulation.args(endless).stdout(Stdio::null()).spawn().expect("simulation"));
    let watched = Watched::open();

    // The world gives these ids: VIPER is the first entity, and the yard has no loose rocks.
    let entities = [
        (spawning("boulder", "selene:rock?diameter_m=1", at(6.0, 2.0)), Entity::Rock(7 << 29)),
        (spawning("cube", &text(&mesh), at(6.0, -2.0)), Entity::Object(EntityId(2))),
        (spawning("second", "rover/sorato.yaml", at(5.0, 0.0)), Entity::Rover(EntityId(3))),
    ];
    for (request, entity) in &entities {
        assert!(!shows(&watched.numbers(), *entity), "{} is seen before it is there", request.name);
        well(&watched.call::<srv::SpawnEntity>("spawn_entity", request).result);
        let seen = watched.numbers();
        assert!(shows(&seen, *entity), "{} is not in {seen:x?}", request.name);
    }

    // A camera that starts now would show another cube than the first one.
    std::fs::write(&mesh, CUBE.replace("v .5 .5 .5\n", "v .5 .5 .6\n")).expect("written");
    let late = node_of(&scenario, "camera", &domain).output().expect("camera");
    let reported = String::from_utf8_lossy(&late.stderr).into_owned();
    let named = reported.contains("cube.obj: it, or a file that it names, differs from what the world was given");
    assert!(!late.status.success() && named, "{reported}");

    for (request, entity) in &entities {
        assert!(shows(&watched.numbers(), *entity), "{} is gone before it is deleted", request.name);
        let deleted = srv::DeleteEntityRequest { entity: request.name.clone() };
        well(&watched.call::<srv::DeleteEntity>("delete_entity", &deleted).result);
        let seen = watched.numbers();
        assert!(!shows(&seen, *entity), "{} is still in {seen:x?}", request.name);
    }
    for process in [&mut camera, &mut simulation] {
        assert!(process.0.try_wait().expect("state").is_none(), "a process ended by itself");
    }
    std::fs::remove_dir_all(out).expect("clean");
}
