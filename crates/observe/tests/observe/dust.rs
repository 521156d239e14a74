//! Tests of a driving rover's dust in its sensors' scene: it follows its parabolas, and is gone once it has landed.

use crate::common;

use std::sync::Arc;

use common::config;
use selene_base::SimTime;
use selene_observe::{Feed, History, TracedScene};
use selene_sim::{DustParcel, EntityId, LoadOptions, Scenario, World};

const GRAVITY_M_S2: f64 = 1.62;
const ROVER: EntityId = EntityId(1);

fn world() -> World {
    let text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: {GRAVITY_M_S2}\nstep_s: 0.001\n\
         heartbeat_s: 0.01\nsite: ../site/test_yard.yaml\nsoil: ../soil/lunar_dust.yaml\n\
         rover: {{ file: ../rover/rassor.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }}\n\
         route: {{ speed_m_s: 0.3, waypoints_m: [[4, 0]] }}\n"
    );
    let scenario = Scenario::parse(&text, &config().join("scenario/test.yaml"), &LoadOptions::default());
    World::new(Arc::new(scenario.unwrap_or_else(|e| panic!("{e}")))).unwrap_or_else(|e| panic!("{e}"))
}

/// Optical depth straight down through the position of a parcel at `time`.
fn depth(scene: &TracedScene, parcel: &DustParcel, time: SimTime) -> f64 {
    let above_m = parcel.place_at_m(time, GRAVITY_M_S2) + nalgebra::Vector3::z();
    f64::from(scene.scene().optical_depth(above_m.into(), [0.0, 0.0, -1.0], 2.0))
}

#[test]
fn dust_is_where_its_parabola_has_come_to_until_it_lands() {
    let mut world = world();
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut interval = feed.heartbeat(&mut world).expect("goes on");
    let mut scene = TracedScene::new(&interval.model, ROVER, &interval.previous, &world.state().ruts).expect("a scene");
    let mut history = History::new(SimTime::from_nanos(1_000_000_000));
    for _ in 0..80 {
        history.take(&interval, ROVER);
        scene.take(&interval).expect("taken");
        interval = feed.heartbeat(&mut world).expect("goes on");
    }
    history.take(&interval, ROVER);
    scene.take(&interval).expect("taken");
    // Between two heartbeats.
    let time = interval.next.time - SimTime::from_nanos(4_000_000);
    scene.move_to(&history, time).expect("moved");
    let (flying, landed): (Vec<&DustParcel>, Vec<&DustParcel>) =
        interval.next.dust.iter().filter(|parcel| parcel.from <= time).partition(|parcel| parcel.flies_at(time));
    assert!(flying.len() > 4, "{} parcels", flying.len());
    for parcel in &flying {
        let deviation_m = parcel.deviation_at_m(time);
        let own = parcel.cross_section_m2 / (std::f64::consts::TAU * deviation_m * deviation_m);
        assert!(depth(&scene, parcel, time) > 0.999 * own, "{parcel:?}");
    }
    scene.move_to(&history, SimTime::ZERO).expect("moved");
    for parcel in flying.iter().chain(&landed) {
        assert_eq!(depth(&scene, parcel, time), 0.0, "nobody had thrown any");
    }
}
