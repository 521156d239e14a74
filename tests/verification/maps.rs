//! Maps and rocks that the simulation tells are those of the ground it steps on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use selene_base::SimTime;
use selene_ros::in_process::InProcess;
use selene_ros::service::Client;
use selene_ros::simulation_interfaces::srv;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, diagnostic_msgs, grid_map_msgs, nav_msgs, rosgraph_msgs, selene_msgs};
use selene_sim::Model;
use selene_simulation::{Begin, ControlOptions, SharedRovers, SimulationOptions, run};
use selene_terrain::Clipmap;
use selene_tests::asker::NODE;
use selene_tests::{context, model, options, scenario};

/// Longer than anything that is waited for takes (wall time).
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a test needs: it stops its run.
const LONG: SimTime = SimTime::from_nanos(60_000_000_000);

/// Lets a run that waits for the participant `test` go on for half a second of simulated time and no further.
fn hold(bus: &InProcess) -> Subscription {
    let acknowledge = Publisher::new(bus, "/selene/test/acknowledge", Qos::state()).expect("publisher");
    let on_state = move |_: selene_msgs::WorldState| {
        let first = selene_msgs::Acknowledge { participant: "test".to_owned(), epoch: 0, sequence: 0 };
        acknowledge.publish(&first, SimTime::ZERO).expect("told");
    };
    subscribe(bus, "/selene/test/world_state", Qos::state(), on_state).expect("states")
}

#[test]
fn a_map_on_request_and_the_rocks_around_agree_with_the_ground() {
    let model = model(scenario("curiosity_rocks", None));
    let ground = Clipmap::at(model.terrain(), [0, 0]);
    let bus = InProcess::new();
    let maps = Arc::new(Mutex::new(Vec::<grid_map_msgs::GridMap>::new()));
    let grids = Arc::new(Mutex::new(Vec::<nav_msgs::OccupancyGrid>::new()));
    let rocks = Arc::new(Mutex::new(Vec::<selene_msgs::Rocks>::new()));
    let to_grids = Arc::clone(&grids);
    let _on_grid = subscribe(&bus, "/ground_truth/occupancy", Qos::latched(), move |grid| {
        to_grids.lock().expect("lock").push(grid);
    });
    let (to_maps, to_rocks) = (Arc::clone(&maps), Arc::clone(&rocks));
    let _on_map = subscribe(&bus, "/ground_truth/map", Qos::latched(), move |map| {
        to_maps.lock().expect("lock").push(map);
    });
    let _on_rocks = subscribe(&bus, "/ground_truth/rocks", Qos::latched(), move |message| {
        to_rocks.lock().expect("lock").push(message);
    });
    let requests = Publisher::new(&bus, "/ground_truth/map_request", Qos::latched()).expect("publisher");
    let asked = selene_msgs::MapRequest { length_x: 8.0, length_y: 6.0, resolution: 0.1, ..Default::default() };
    let absurd = selene_msgs::MapRequest { length_x: 8e6, ..asked.clone() };
    let limitless = selene_msgs::MapRequest { slope_limit: 0.0, ..asked.clone() };
    let (context, options) = (context(Arc::new(bus.clone()), &model), options(LONG, &["test"]));
    let (_held, stop) = (hold(&bus), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&context, Begin::Start(None), &options, &stop).expect("runs"));
        while rocks.lock().expect("lock").is_empty() && !running.is_finished() {
            std::thread::yield_now();
        }
        for request in [&absurd, &limitless, &asked] {
            requests.publish(request, SimTime::ZERO).expect("asked");
        }
        while grids.lock().expect("lock").is_empty() && !running.is_finished() {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let maps = maps.lock().expect("lock");
    assert_eq!(maps.len(), 1, "absurd requests are refused");
    let rocks = rocks.lock().expect("lock");
    let told = &rocks.last().expect("told").rocks;
    assert_heights(&maps[0].data[0].data, &ground, &model, told);
    assert_eq!(told.iter().filter(|rock| !rock.is_loose).count(), ground.rocks().len());
    assert_eq!(told.iter().filter(|rock| rock.is_loose).count(), model.rocks().len());
    let grids = grids.lock().expect("lock");
    let [grid] = &grids[..] else { panic!("{} grids", grids.len()) };
    assert_occupied_by(grid, told);
}

#[test]
fn who_comes_to_lead_tells_maps_with_the_ruts_made_until_then_and_serves() {
    /// The first process leaves then.
    const LEAVES_AT: SimTime = SimTime::from_nanos(1_000_000_000);
    /// A cell that is so much lower was pressed.
    const PRESSED_M: f64 = 1e-3;
    let (model, bus) = (model(scenario("convoy", None)), InProcess::new());
    let sharing = |own: &[&str]| {
        let own = own.iter().map(|&name| name.to_owned()).collect();
        let shared = SharedRovers { own, ..SharedRovers::default() };
        let control = ControlOptions { node: Some(NODE.to_owned()), ..ControlOptions::default() };
        SimulationOptions { shared: Some(shared), control, ..options(LONG, &[]) }
    };
    let (map_told, maps) = std::sync::mpsc::channel();
    let on_map = move |map: grid_map_msgs::GridMap| drop(map_told.send(map));
    let _maps = subscribe(&bus, "/viper/ground_truth/map", Qos::latched(), on_map).expect("maps");
    let stops: [Arc<AtomicBool>; 2] = Default::default();
    let leaves = Arc::clone(&stops[0]);
    let _clock = subscribe(&bus, "/clock", Qos::clock(), move |clock: rosgraph_msgs::Clock| {
        leaves.fetch_or(SimTime::from(clock.clock) >= LEAVES_AT, Ordering::Relaxed);
    });
    let requests = Publisher::new(&bus, "/viper/ground_truth/map_request", Qos::latched()).expect("publisher");
    let asked = selene_msgs::MapRequest {
        center_y: 0.35,
        length_x: 3.0,
        length_y: 3.0,
        resolution: 0.05,
        ..Default::default()
    };
    let context = context(Arc::new(bus.clone()), &model);
    let map = std::thread::scope(|scope| {
        let begin = |i: usize, own: &[&str]| {
            let (options, context, stop) = (sharing(own), &context, &stops[i]);
            scope.spawn(move || run(context, Begin::Start(None), &options, stop).expect("runs"))
        };
        let [first, _second] = [begin(0, &["viper"]), begin(1, &["ex1", "sorato"])];
        let simulated = first.join().expect("no panic").simulated;
        requests.publish(&asked, SimTime::ZERO).expect("asked");
        let map = maps.recv_timeout(PATIENCE);
        let client = Client::<srv::GetEntities>::new(&bus, &format!("{NODE}/get_entities")).expect("client");
        let names = client.call(&srv::GetEntitiesRequest::default()).expect("called").recv_timeout(PATIENCE);
        stops[1].store(true, Ordering::Relaxed);
        assert!(simulated >= LEAVES_AT && simulated < LONG, "the first left at {simulated}");
        assert!(names.expect("the second one leads and serves").entities.contains(&"viper".to_owned()));
        map.expect("the second one leads and tells maps")
    });
    let ground = Clipmap::at(model.terrain(), [0, 0]);
    let pressed = map.data[0].data.iter().enumerate().filter(|(i, height_m)| {
        // Along −x first, then along −y.
        let [x, y] = [1.5 - 0.05 * ((i % 60) as f64 + 0.5), 0.35 + 1.5 - 0.05 * ((i / 60) as f64 + 0.5)];
        ground.height_m(x, y).expect("inside") - f64::from(**height_m) > PRESSED_M
    });
    let pressed = pressed.count();
    // Viper stands there and nobody else comes near.
    assert!(pressed > 10, "{pressed} cells are pressed");
}

/// Heartbeats so far, and whether all requests were made.
#[derive(Default)]
struct Progress {
    state: Mutex<(u64, bool)>,
    changed: Condvar,
}

impl Progress {
    fn change(&self, change: impl FnOnce(&mut (u64, bool))) {
        change(&mut self.state.lock().expect("lock"));
        self.changed.notify_all();
    }

    /// Waits until all requests were made and so many heartbeats went on meanwhile; false if they did not.
    fn await_heartbeats(&self, more: u64) -> bool {
        let state = self.state.lock().expect("lock");
        let until = state.0 + more;
        let is_short = |(heartbeats, all_asked): &mut (u64, bool)| *heartbeats < until || !*all_asked;
        let (_state, waited) = self.changed.wait_timeout_while(state, PATIENCE, is_short).expect("lock");
        !waited.timed_out()
    }
}

fn value(told: &diagnostic_msgs::DiagnosticArray, key: &str) -> Option<u64> {
    let status = told.status.iter().find(|status| status.name == "selene: simulation")?;
    status.values.iter().find(|value| value.key == key)?.value.parse().ok()
}

#[test]
fn a_flood_of_requests_is_refused_and_told_and_heartbeats_go_on_while_a_map_is_made() {
    /// Requests, and how many may wait; one more may be in the making.
    const ASKED: u64 = 100;
    const WAITING_MAX: u64 = 8;
    /// How many go on while a map is handed over.
    const HEARTBEATS: u64 = 50;
    let model = model(scenario("curiosity_rocks", None));
    let bus = InProcess::new();
    let (progress, answered, refused) = (Arc::new(Progress::default()), Arc::default(), Arc::default());
    let (counting, told): (Arc<AtomicU64>, Arc<AtomicU64>) = (Arc::clone(&answered), Arc::clone(&refused));
    let (on_clock, on_map) = (Arc::clone(&progress), Arc::clone(&progress));
    let _clock = subscribe(&bus, "/clock", Qos::clock(), move |_: rosgraph_msgs::Clock| {
        on_clock.change(|(heartbeats, _)| *heartbeats += 1);
    });
    // The thread that makes maps hands them over: as long as it is here it makes no other.
    let _maps = subscribe(&bus, "/ground_truth/map", Qos::latched(), move |_: grid_map_msgs::GridMap| {
        if on_map.await_heartbeats(HEARTBEATS) {
            counting.fetch_add(1, Ordering::Relaxed);
        }
    });
    let _told = subscribe(&bus, "/diagnostics", Qos::reliable(), move |array: diagnostic_msgs::DiagnosticArray| {
        told.store(value(&array, "map_requests_refused").unwrap_or_default(), Ordering::Relaxed);
    });
    let (rocks_told, rocks) = std::sync::mpsc::channel();
    let _rocks = subscribe(&bus, "/ground_truth/rocks", Qos::latched(), move |_: selene_msgs::Rocks| {
        let _ = rocks_told.send(());
    });
    let requests = Publisher::new(&bus, "/ground_truth/map_request", Qos::reliable()).expect("publisher");
    let asked = selene_msgs::MapRequest { length_x: 4.0, length_y: 4.0, resolution: 0.1, ..Default::default() };
    let (context, options) = (context(Arc::new(bus.clone()), &model), options(LONG, &[]));
    let stop = AtomicBool::new(false);
    let counts = || (answered.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&context, Begin::Start(None), &options, &stop).expect("runs"));
        rocks.recv_timeout(PATIENCE).expect("the world begins");
        (0..ASKED).for_each(|_| requests.publish(&asked, SimTime::ZERO).expect("asked"));
        progress.change(|(_, all_asked)| *all_asked = true);
        while counts().0 + counts().1 < ASKED && !running.is_finished() {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let (answered, refused) = counts();
    assert_eq!(answered + refused, ASKED, "{answered} answered, {refused} refused");
    assert!((WAITING_MAX..=WAITING_MAX + 1).contains(&answered), "{answered} answered");
}

/// Every cell of the asked 8 × 6 m is as high as the ground, but for those near what presses it: they are off by less
/// than a wheel sinks.
fn assert_heights(elevation_m: &[f32], ground: &Clipmap, model: &Model, told: &[selene_msgs::Rock]) {
    /// About a wheel's middle: its radius, half a second's way, and soil that slides.
    const REACH_M: f64 = 0.5;
    const SUNK_M: f64 = 0.1;
    assert_eq!(elevation_m.len(), 80 * 60);
    let setup = &model.scenario().rovers[0];
    let wheels = setup.model.wheels().iter().map(|wheel| {
        let at = wheel.centre_in_base_m;
        ([setup.start.x_m + at.x, setup.start.y_m + at.y], REACH_M)
    });
    let loose = told.iter().filter(|rock| rock.is_loose);
    let rocks = loose.map(|rock| ([rock.pose.position.x, rock.pose.position.y], REACH_M + 0.5 * rock.diameter));
    let pressing: Vec<_> = wheels.chain(rocks).collect();
    let mut untouched = 0;
    for (i, height_m) in elevation_m.iter().enumerate() {
        // Along −x first, then along −y.
        let [x, y] = [4.0 - 0.1 * ((i % 80) as f64 + 0.5), 3.0 - 0.1 * ((i / 80) as f64 + 0.5)];
        let off_m = (f64::from(*height_m) - ground.height_m(x, y).expect("inside")).abs();
        let is_near = pressing.iter().any(|(at, reach_m)| (x - at[0]).hypot(y - at[1]) < *reach_m);
        let most_m = if is_near { SUNK_M } else { 1e-6 };
        assert!(off_m < most_m, "{off_m} m off at {x}, {y}");
        untouched += usize::from(!is_near);
    }
    assert!(untouched > 3000, "{untouched} cells are untouched");
}

/// The grid of the asked 8 × 6 m is all on the ground, and occupied where loose rocks stand.
fn assert_occupied_by(grid: &nav_msgs::OccupancyGrid, told: &[selene_msgs::Rock]) {
    assert_eq!((grid.info.width, grid.info.height, grid.data.len()), (80, 60, 80 * 60));
    assert_eq!((grid.info.origin.position.x, grid.info.origin.position.y), (-4.0, -3.0));
    assert!(grid.data.iter().all(|cost| (0..=100).contains(cost)), "all of it is on the ground");
    // A rock's own cell is occupied just when it stands 0.1 m over the soil.
    let mut high = 0;
    for rock in told.iter().filter(|rock| rock.is_loose) {
        let [x, y] = [rock.pose.position.x + 4.0, rock.pose.position.y + 3.0];
        if (0.0..8.0).contains(&x) && (0.0..6.0).contains(&y) && rock.diameter > 0.25 {
            high += 1;
            assert_eq!(grid.data[(y / 0.1) as usize * 80 + (x / 0.1) as usize], 100, "rock {}", rock.id);
        }
    }
    assert!(high > 0, "there are such rocks");
}
