//! Three rovers in one world: images of one from another's camera, and the ground that all of them drove on.

use selene_sim::EntityId;
use selene_tests::scenario;

use crate::{compare, images_of, images_of_rover};

const SORATO: EntityId = EntityId(3);
/// Simulated time by which EX1 has crossed VIPER's path.
const CROSSED_S: f64 = 14.0;

#[test]
fn sorato_sees_viper_and_ex1_as_it_did() {
    let convoy = scenario("convoy", None);
    for (name, seconds) in [("convoy_start", 0.05), ("convoy_crossed", CROSSED_S)] {
        compare(name, &images_of_rover(SORATO, &convoy, seconds, &["sorato_front"])[0]);
    }
}

#[test]
fn viper_sees_the_lander_as_it_did() {
    compare("convoy_lander", &images_of(&scenario("convoy", None), 0.05, &["navcam_left"])[0]);
}
