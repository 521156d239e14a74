//! Four processes of one world, here threads that talk over the connections that real ones have, of which two die
//! in one heartbeat: those that are left go on and have one world, whomever the dead still reached.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use selene_coherence::{Links, NodeContext};
use selene_ros::in_process::InProcess;
use selene_sim::{AllowedFolders, LoadOptions, Model, Scenario, World};

use super::streams::{Arrived, Frame, Gone, Told, ToldPart};
use super::{Arrival, SharedRovers, Sharing};

/// Heartbeats that all make: the rovers drive then.
const TOGETHER: u64 = 30;
/// Heartbeats of those that are left.
const AFTER: u64 = 5;
/// Longer than anything that is waited for takes (wall time).
const PATIENCE: Duration = Duration::from_secs(20);

struct Process {
    sharing: Sharing,
    world: World,
}

/// Rovers a, b, c and d, which drive side by side.
fn model() -> Arc<Model> {
    let mut text = "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\n\
                    heartbeat_s: 0.01\nsite: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\nrovers:\n"
        .to_owned();
    for (name, y_m) in [("a", -6), ("b", -2), ("c", 2), ("d", 6)] {
        writeln!(
            text,
            "  - name: {name}\n    file: ../rover/rassor.yaml\n    start: {{x_m: 0, y_m: {y_m}, yaw_deg: 0}}\n    \
             route: {{speed_m_s: 0.3, waypoints_m: [[5, {y_m}]]}}"
        )
        .expect("text");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/test.yaml");
    let scenario = Scenario::parse(&text, &file, &LoadOptions::default()).expect("good");
    Arc::new(Model::new(Arc::new(scenario)).expect("made"))
}

impl Process {
    fn begin(bus: &InProcess, model: &Arc<Model>, own: &str) -> Self {
        let internal = Arc::new(bus.clone());
        let links = Links { public: internal.clone(), internal, run: "test".parse().expect("an id") };
        let folders = AllowedFolders::default();
        let context = NodeContext { links, model: Arc::clone(model), folders, told_until: None };
        let address = Some(Ipv4Addr::LOCALHOST.into());
        let shared = SharedRovers { own: vec![own.to_owned()], address, ..SharedRovers::default() };
        let mut sharing = Sharing::open(&context, &shared, "the start".to_owned()).expect("opened");
        let mut world = match sharing.arrive(model, &shared, &AtomicBool::new(false)).expect("all come") {
            Arrival::AtTheStart => World::begin(Arc::clone(model), None).expect("begins"),
            Arrival::Late(state) => World::resume(model, *state, &AllowedFolders::default()).expect("fits"),
        };
        sharing.begin(&mut world);
        Self { sharing, world }
    }

    /// So many heartbeats with the others.
    fn go_on(&mut self, heartbeats: u64) {
        for _ in 0..heartbeats {
            let snapshot = self.world.heartbeat().expect("steps");
            let merged = self.sharing.exchange(&mut self.world, snapshot, &AtomicBool::new(false));
            merged.expect("goes on");
        }
    }

    /// Leaves after so many more heartbeats; the hash of the world then.
    fn end_after(mut self, heartbeats: u64) -> u64 {
        self.go_on(heartbeats);
        self.sharing.leave();
        self.world.state().shared_hash()
    }

    /// Goes on until one takes part that was not there at the beginning.
    fn await_newcomer(&mut self) {
        while self.sharing.active.iter().all(|process| self.sharing.founders.contains(process)) {
            self.go_on(1);
        }
    }

    /// What it does in the next heartbeat; nobody is told yet.
    fn next_part(&mut self) -> Told {
        let snapshot = self.world.heartbeat().expect("steps");
        Told::Part(ToldPart { joined: Vec::new(), part: self.world.part(&snapshot) })
    }

    fn process_of(&self, rover: &str) -> String {
        let id = self.world.model().rover_named(rover).expect("there");
        let of = self.sharing.others.iter().find(|(_, other)| other.rovers.contains(&id));
        of.map(|(name, _)| name.clone()).expect("known")
    }

    /// Tells the process of one rover alone.
    fn tell(&self, rover: &str, told: &Told) {
        self.sharing.streams.tell(&self.process_of(rover), Frame::of(told));
    }

    /// Waits until both others that live have said that they lack what `of` did, and answers neither; what it did.
    fn await_lacking(&mut self, of: &str) -> ToldPart {
        let mut part = self.sharing.others.part(of, TOGETHER + 1).cloned();
        let mut lacking = BTreeSet::new();
        while part.is_none() || lacking.len() < 2 {
            match self.sharing.arrived.recv_timeout(PATIENCE).expect("something comes") {
                Arrived::Told { process, told: Told::Part(told) } if process == of => part = Some(told),
                Arrived::Told { process, told: Told::Gone(gone) } if gone.lacking.contains(of) => {
                    lacking.insert(process);
                }
                _ => {}
            }
        }
        part.expect("it came")
    }

    /// Its connections end once they have carried what it told.
    fn die(mut self) {
        self.sharing.streams.close();
    }
}

/// The hashes of the processes of a and b, where those of c and d do this after so many heartbeats together.
fn survivors(c: impl FnOnce(Process) + Send, d: impl FnOnce(Process) + Send) -> [u64; 2] {
    let (bus, model) = (InProcess::new(), model());
    let begin = |own: &str| Process::begin(&bus, &model, own);
    let doomed = |own: &str| {
        let mut process = begin(own);
        process.go_on(TOGETHER);
        process
    };
    std::thread::scope(|scope| {
        let [a, b] = ["a", "b"].map(|own| scope.spawn(move || begin(own).end_after(TOGETHER + AFTER)));
        scope.spawn(move || c(doomed("c")));
        scope.spawn(move || d(doomed("d")));
        [a, b].map(|process| process.join().expect("no panic"))
    })
}

#[test]
fn two_die_of_which_one_reached_one_of_the_others() {
    let reaches_one = |mut c: Process| {
        let part = c.next_part();
        c.tell("a", &part);
        c.die();
    };
    let [a, b] = survivors(reaches_one, Process::die);
    assert_eq!(a, b, "two worlds");
}

#[test]
fn who_alone_was_told_dies_while_it_passes_on_what_it_was_told() {
    // Nobody is gone before d listens.
    let told = Barrier::new(2);
    let reaches_d = |mut c: Process| {
        let part = c.next_part();
        c.tell("d", &part);
        told.wait();
        c.die();
    };
    let passes_on_to_a = |mut d: Process| {
        told.wait();
        let part = d.next_part();
        ["a", "b"].iter().for_each(|rover| d.tell(rover, &part));
        let c = d.process_of("c");
        let part = d.await_lacking(&c);
        d.tell("a", &Told::Passed { process: c, part });
        // Time for it to arrive: it is known then, and what is known counts.
        std::thread::sleep(Duration::from_millis(300));
        d.die();
    };
    let [a, b] = survivors(reaches_d, passes_on_to_a);
    assert_eq!(a, b, "two worlds");
}

#[test]
fn the_rover_of_one_that_died_is_taken_over_by_one_that_comes_late() {
    let (bus, model) = (InProcess::new(), model());
    let begin = |own: &str| Process::begin(&bus, &model, own);
    let stays = |own: &str| {
        let mut process = begin(own);
        process.await_newcomer();
        process.end_after(AFTER)
    };
    let dies = |own: &str| {
        let mut process = begin(own);
        process.go_on(TOGETHER);
        process.die();
    };
    let hashes = std::thread::scope(|scope| {
        let [a, b] = ["a", "b"].map(|own| scope.spawn(move || stays(own)));
        let dead = ["c", "d"].map(|own| scope.spawn(move || dies(own)));
        dead.into_iter().for_each(|process| process.join().expect("no panic"));
        // It is given the state before the heartbeat in which it takes part first.
        let late = scope.spawn(move || begin("c").end_after(1 + AFTER));
        [a, b, late].map(|process| process.join().expect("no panic"))
    });
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "they are of one world: {hashes:x?}");
}

#[test]
fn who_hears_somebody_that_is_gone_for_another_can_still_come_to_know_more() {
    let names = |of: &[&str]| of.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    let gone = |processes: &[&str], lacking: &[&str]| Gone {
        sequence: 7,
        processes: names(processes),
        lacking: names(lacking),
    };
    let ours = gone(&["c", "d"], &["c"]);
    assert!(ours.covers(&ours) && gone(&["c", "d"], &["c", "d"]).covers(&ours));
    assert!(!gone(&["c"], &["c"]).covers(&ours), "it may still hear of c from d");
    assert!(!gone(&["c", "d"], &[]).covers(&ours), "it has what c did");
}
