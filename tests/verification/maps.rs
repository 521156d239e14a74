//! Published maps and rocks agree with the ground that the simulation uses.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::in_process::InProcess;
use selene_ros::service::Client;
use selene_ros::simulation_interfaces::srv;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, diagnostic_msgs, grid_map_msgs, nav_msgs, rosgraph_msgs, selene_msgs};
use selene_sim::Model;
use selene_simulation::{ControlOptions, RunStart, SharedRovers, SimulationOptions, run};
use selene_terrain::Clipmap;
use selene_tests::control_client::NODE;
use selene_tests::{context, model, options, scenario};

/// Timeout for anything that a test waits for, in wall time.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two requests for a map (wall time).
const REQUEST_EVERY: Duration = Duration::from_secs(1);
/// Longer than a test needs; the test stops its run.
const LONG: SimTime = SimTime::from_nanos(60_000_000_000);

/// Lets a run in lockstep with the participant `test` advance by half a second of simulated time and no further.
fn hold(bus: &InProcess) -> Subscription {
    let acknowledge = Publisher::new(bus, "/selene/test/acknowledge", Qos::state()).expect("publisher");
    let on_state = move |_: selene_msgs::WorldState| {
        let first = selene_msgs::Acknowledge { participant: "test".to_owned(), epoch: 0, sequence: 0 };
        acknowledge.publish(&first, SimTime::ZERO).expect("published");
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
    let requested = selene_msgs::MapRequest { length_x: 8.0, length_y: 6.0, resolution: 0.1, ..Default::default() };
    let absurd = selene_msgs::MapRequest { length_x: 8e6, ..requested.clone() };
    let limitless = selene_msgs::MapRequest { slope_limit: 0.0, ..requested.clone() };
    let (context, options) = (context(Arc::new(bus.clone()), &model), options(LONG, &["test"]));
    let (_held, stop) = (hold(&bus), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&context, RunStart::Start(None), &options, &stop).expect("runs"));
        while rocks.lock().expect("lock").is_empty() && !running.is_finished() {
            std::thread::yield_now();
        }
        for request in [&absurd, &limitless, &requested] {
            requests.publish(request, SimTime::ZERO).expect("requested");
        }
        while grids.lock().expect("lock").is_empty() && !running.is_finished() {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let maps = maps.lock().expect("lock");
    assert_eq!(maps.len(), 1, "absurd requests are refused");
    let rocks = rocks.lock().expect("lock");
    let reported = &rocks.last().expect("published").rocks;
    assert_heights(&maps[0].data[0].data, &ground, &model, reported);
    assert_eq!(reported.iter().filter(|rock| !rock.is_loose).count(), ground.rocks().len());
    assert_eq!(reported.iter().filter(|rock| rock.is_loose).count(), model.rocks().len());
    let grids = grids.lock().expect("lock");
    let [grid] = &grids[..] else { panic!("{} grids", grids.len()) };
    assert_occupied_by(grid, reported);
}

#[test]
fn a_new_leader_publishes_maps_with_the_ruts_made_until_then_and_serves() {
    /// Simulated time at which the first process leaves.
    const LEAVES_AT: SimTime = SimTime::from_nanos(1_000_000_000);
    /// A cell that is lower by this much was pressed by a wheel, m.
    const PRESSED_M: f64 = 1e-3;
    let (model, bus) = (model(scenario("convoy", None)), InProcess::new());
    let sharing = |own: &[&str]| {
        let own = own.iter().map(|&name| name.to_owned()).collect();
        let shared = SharedRovers { own, ..SharedRovers::default() };
        let control = ControlOptions { node: Some(NODE.to_owned()), ..ControlOptions::default() };
        SimulationOptions { shared: Some(shared), control, ..options(LONG, &[]) }
    };
    let (map_reported, maps) = std::sync::mpsc::channel();
    let on_map = move |map: grid_map_msgs::GridMap| drop(map_reported.send(map));
    let _maps = subscribe(&bus, "/viper/ground_truth/map", Qos::latched(), on_map).expect("maps");
    let stops: [Arc<AtomicBool>; 2] = Default::default();
    let leaves = Arc::clone(&stops[0]);
    let _clock = subscribe(&bus, "/clock", Qos::clock(), move |clock: rosgraph_msgs::Clock| {
        leaves.fetch_or(SimTime::from(clock.clock) >= LEAVES_AT, Ordering::Relaxed);
    });
    let requests = Publisher::new(&bus, "/viper/ground_truth/map_request", Qos::latched()).expect("publisher");
    let requested = selene_msgs::MapRequest {
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
            scope.spawn(move || run(context, RunStart::Start(None), &options, stop).expect("runs"))
        };
        let [first, _second] = [begin(0, &["viper"]), begin(1, &["ex1", "sorato"])];
        let simulated = first.join().expect("no panic").simulated;
        // Between two leaders nobody takes requests.
        let request = || {
            requests.publish(&requested, SimTime::ZERO).expect("requested");
            maps.recv_timeout(REQUEST_EVERY).ok()
        };
        let asked = Instant::now();
        let map = std::iter::repeat_with(request).take_while(|_| asked.elapsed() < TIMEOUT).flatten().next();
        let client = Client::<srv::GetEntities>::new(&bus, &format!("{NODE}/get_entities")).expect("client");
        let names = client.call(&srv::GetEntitiesRequest::default()).expect("called").recv_timeout(TIMEOUT);
        stops[1].store(true, Ordering::Relaxed);
        assert!(simulated >= LEAVES_AT && simulated < LONG, "the first left at {simulated}");
        assert!(names.expect("the second one leads and serves").entities.contains(&"viper".to_owned()));
        map.expect("the second one leads and publishes maps")
    });
    let ground = Clipmap::at(model.terrain(), [0, 0]);
    let pressed = map.data[0].data.iter().enumerate().filter(|(i, height_m)| {
        // Cells run along −x first, then along −y.
        let [x, y] = [1.5 - 0.05 * ((i % 60) as f64 + 0.5), 0.35 + 1.5 - 0.05 * ((i / 60) as f64 + 0.5)];
        ground.height_m(x, y).expect("inside") - f64::from(**height_m) > PRESSED_M
    });
    let pressed = pressed.count();
    // VIPER stands there, and no other rover comes near.
    assert!(pressed > 10, "{pressed} cells are pressed");
}

/// Number of heartbeats so far, and whether all requests were sent.
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

    /// Waits until all requests were sent and `more` heartbeats passed; false on a timeout.
    fn await_heartbeats(&self, more: u64) -> bool {
        let state = self.state.lock().expect("lock");
        let until = state.0 + more;
        let is_short = |(heartbeats, all_requested): &mut (u64, bool)| *heartbeats < until || !*all_requested;
        let (_state, waited) = self.changed.wait_timeout_while(state, TIMEOUT, is_short).expect("lock");
        !waited.timed_out()
    }
}

fn value(reported: &diagnostic_msgs::DiagnosticArray, key: &str) -> Option<u64> {
    let status = reported.status.iter().find(|status| status.name == "selene: simulation")?;
    status.values.iter().find(|value| value.key == key)?.value.parse().ok()
}

#[test]
fn a_flood_of_requests_is_refused_and_reported_and_heartbeats_go_on_while_a_map_is_made() {
    /// Number of requests, and how many of them may wait; one more may be in progress.
    const REQUIRED: u64 = 100;
    const WAITING_MAX: u64 = 8;
    /// Number of heartbeats that must pass while a map is delivered.
    const HEARTBEATS: u64 = 50;
    let model = model(scenario("curiosity_rocks", None));
    let bus = InProcess::new();
    let (progress, answered, refused) = (Arc::new(Progress::default()), Arc::default(), Arc::default());
    let (counting, reported): (Arc<AtomicU64>, Arc<AtomicU64>) = (Arc::clone(&answered), Arc::clone(&refused));
    let (on_clock, on_map) = (Arc::clone(&progress), Arc::clone(&progress));
    let _clock = subscribe(&bus, "/clock", Qos::clock(), move |_: rosgraph_msgs::Clock| {
        on_clock.change(|(heartbeats, _)| *heartbeats += 1);
    });
    // The thread that makes maps also delivers them: while it waits here it makes no other map.
    let _maps = subscribe(&bus, "/ground_truth/map", Qos::latched(), move |_: grid_map_msgs::GridMap| {
        if on_map.await_heartbeats(HEARTBEATS) {
            counting.fetch_add(1, Ordering::Relaxed);
        }
    });
    let _reported = subscribe(&bus, "/diagnostics", Qos::reliable(), move |array: diagnostic_msgs::DiagnosticArray| {
        reported.store(value(&array, "map_requests_refused").unwrap_or_default(), Ordering::Relaxed);
    });
    let (rocks_reported, rocks) = std::sync::mpsc::channel();
    let _rocks = subscribe(&bus, "/ground_truth/rocks", Qos::latched(), move |_: selene_msgs::Rocks| {
        let _ = rocks_reported.send(());
    });
    let requests = Publisher::new(&bus, "/ground_truth/map_request", Qos::reliable()).expect("publisher");
    let requested = selene_msgs::MapRequest { length_x: 4.0, length_y: 4.0, resolution: 0.1, ..Default::default() };
    let (context, options) = (context(Arc::new(bus.clone()), &model), options(LONG, &[]));
    let stop = AtomicBool::new(false);
    let counts = || (answered.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&context, RunStart::Start(None), &options, &stop).expect("runs"));
        rocks.recv_timeout(TIMEOUT).expect("the world begins");
        (0..REQUIRED).for_each(|_| requests.publish(&requested, SimTime::ZERO).expect("requested"));
        progress.change(|(_, all_requested)| *all_requested = true);
        while counts().0 + counts().1 < REQUIRED && !running.is_finished() {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let (answered, refused) = counts();
    assert_eq!(answered + refused, REQUIRED, "{answered} answered, {refused} refused");
    assert!((WAITING_MAX..=WAITING_MAX + 1).contains(&answered), "{answered} answered");
}

/// Checks that every cell of the requested 8 × 6 m is as high as the ground. Near wheels and rocks the difference must
/// be less than the sinkage of a wheel.
fn assert_heights(elevation_m: &[f32], ground: &Clipmap, model: &Model, reported: &[selene_msgs::Rock]) {
    /// Radius around a wheel's middle, m: the wheel's radius, half a second of driving, and soil that slides.
    const REACH_M: f64 = 0.5;
    const SUNK_M: f64 = 0.1;
    assert_eq!(elevation_m.len(), 80 * 60);
    let setup = &model.scenario().rovers[0];
    let wheels = setup.model.wheels().iter().map(|wheel| {
        let at = wheel.centre_in_base_m;
        ([setup.start.x_m + at.x, setup.start.y_m + at.y], REACH_M)
    });
    let loose = reported.iter().filter(|rock| rock.is_loose);
    let rocks = loose.map(|rock| ([rock.pose.position.x, rock.pose.position.y], REACH_M + 0.5 * rock.diameter));
    let pressing: Vec<_> = wheels.chain(rocks).collect();
    let mut untouched = 0;
    for (i, height_m) in elevation_m.iter().enumerate() {
        // Cells run along −x first, then along −y.
        let [x, y] = [4.0 - 0.1 * ((i % 80) as f64 + 0.5), 3.0 - 0.1 * ((i / 80) as f64 + 0.5)];
        let off_m = (f64::from(*height_m) - ground.height_m(x, y).expect("inside")).abs();
        let is_near = pressing.iter().any(|(at, reach_m)| (x - at[0]).hypot(y - at[1]) < *reach_m);
        let most_m = if is_near { SUNK_M } else { 1e-6 };
        assert!(off_m < most_m, "{off_m} m off at {x}, {y}");
        untouched += usize::from(!is_near);
    }
    assert!(untouched > 3000, "{untouched} cells are untouched");
}

/// Checks that the grid of the requested 8 × 6 m is all on the ground, and occupied where loose rocks stand.
fn assert_occupied_by(grid: &nav_msgs::OccupancyGrid, reported: &[selene_msgs::Rock]) {
    assert_eq!((grid.info.width, grid.info.height, grid.data.len()), (80, 60, 80 * 60));
    assert_eq!((grid.info.origin.position.x, grid.info.origin.position.y), (-4.0, -3.0));
    assert!(grid.data.iter().all(|cost| (0..=100).contains(cost)), "all of it is on the ground");
    // A rock's own cell is occupied exactly if the rock stands 0.1 m above the soil.
    let mut high = 0;
    for rock in reported.iter().filter(|rock| rock.is_loose) {
        let [x, y] = [rock.pose.position.x + 4.0, rock.pose.position.y + 3.0];
        if (0.0..8.0).contains(&x) && (0.0..6.0).contains(&y) && rock.diameter > 0.25 {
            high += 1;
            assert_eq!(grid.data[(y / 0.1) as usize * 80 + (x / 0.1) as usize], 100, "rock {}", rock.id);
        }
    }
    assert!(high > 0, "there are such rocks");
}
