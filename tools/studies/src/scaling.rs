//! Weak scaling of one world over processes (A. Young et al., Enabling Artificial Intelligence Studies in Off-Road Mobility
//! Through Physics-Based Simulation of Multiagent Scenarios, 2022, §4.1, figure 5): a truck more for each process more, so
//! that the time of a run would stay the same if each process had a machine of its own. Nodes are 5 cm apart, steps 2 ms;
//! processes exchange what they did each 10 ms (the paper names no period). Trucks drive beside one another, where the
//! paper's two lines cross.
//!
//! A process tells each other one the same bytes. What it would send among 128 vehicles follows from that count; times are
//! those of this machine, whose cores all processes share.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use selene_base::SimTime;
use selene_base::output::{self, FileKind};
use serde_json::json;

use crate::Failure;

/// How far trucks are apart, m, how fast they drive, m/s, and how far at most, m.
const APART_M: f64 = 8.0;
const SPEED_M_S: f64 = 3.0;
const WAY_M: f64 = 90.0;
/// Vehicles and network of the estimate.
const VEHICLES: f64 = 128.0;
const GIGABIT_BYTES_S: f64 = 125e6;
const YAML: FileKind = FileKind { name: "scenario", is: |head| head.starts_with(b"{") };

/// What is driven on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Rigid ground.
    Rigid,
    /// Hard soil by SCM.
    Hard,
}

impl Ground {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Rigid, Self::Hard];

    /// Its soil.
    #[must_use]
    pub fn soil(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Hard => "silt_hard",
        }
    }
}

/// How worlds are run.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// The program.
    pub program: PathBuf,
    /// Where scenarios are left.
    pub folder: PathBuf,
    /// Simulated time of a run.
    pub duration: SimTime,
}

/// What came of a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// What was driven on.
    pub ground: Ground,
    /// Processes, and trucks.
    pub processes: usize,
    /// Wall over simulated time of the slowest process: the paper's real-time factor.
    pub wall_over_simulated: f64,
    /// What one truck tells each other process, mean over trucks, B/s of simulated time; none where there is one.
    pub bytes_s: Option<f64>,
}

impl Scaled {
    /// Share of 1 Gbit/s that one of 128 vehicles would take at real time, each on a machine of its own.
    #[must_use]
    pub fn share_of_gigabit(&self) -> Option<f64> {
        self.bytes_s.map(|bytes_s| (VEHICLES - 1.0) * bytes_s / GIGABIT_BYTES_S)
    }
}

/// What a process says at its end.
struct Said {
    wall_over_simulated: f64,
    told_bytes: Option<u64>,
}

impl Scaling {
    /// Runs a world with so many processes.
    ///
    /// # Errors
    /// When a process cannot be started, fails, or does not say what is asked of it.
    pub fn run(&self, ground: Ground, processes: usize) -> Result<Scaled, Failure> {
        let file = self.folder.join(format!("{}_{processes}.yaml", ground.soil()));
        output::write_bytes(&file, &YAML, scenario(ground, processes).as_bytes())?;
        let run = format!("scaling_{}_{}_{processes}", std::process::id(), ground.soil());
        let started: Vec<_> = (0..processes).map(|i| self.start(&file, &run, i, processes)).collect();
        let said = started.into_iter().map(|process| said(process?)).collect::<Result<Vec<_>, Failure>>()?;
        let told: u64 = said.iter().filter_map(|said| said.told_bytes).sum();
        let tellings = (processes * processes.saturating_sub(1)) as f64 * self.duration.secs_f64();
        Ok(Scaled {
            ground,
            processes,
            wall_over_simulated: said.iter().map(|said| said.wall_over_simulated).fold(0.0, f64::max),
            bytes_s: (processes > 1).then(|| told as f64 / tellings),
        })
    }

    fn start(&self, file: &Path, run: &str, i: usize, processes: usize) -> Result<Child, Failure> {
        let mut command = Command::new(&self.program);
        command.arg("simulation").arg("--scenario").arg(file).args(["--pace", "fast", "--run", run, "--for"]);
        command.arg(self.duration.secs_f64().to_string());
        if processes > 1 {
            command.args(["--own", &name(i)]);
        }
        let started = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        started.map_err(|error| format!("a simulation cannot be started: {error}").into())
    }
}

fn name(i: usize) -> String {
    format!("truck_{i}")
}

fn scenario(ground: Ground, trucks: usize) -> String {
    let truck = |i: usize| {
        let y_m = (i as f64 - 0.5 * trucks.saturating_sub(1) as f64) * APART_M;
        let start = json!({"x_m": -0.5 * WAY_M, "y_m": y_m, "yaw_deg": 0});
        let route = json!({"speed_m_s": SPEED_M_S, "waypoints_m": [[0.5 * WAY_M, y_m]]});
        json!({"name": name(i), "file": "hmmwv", "start": start, "route": route})
    };
    let told = json!({
        "name": "scaling", "seed": 1, "gravity_m_s2": 9.81, "step_s": 0.002, "heartbeat_s": 0.01,
        "site": "learning_plain", "soil": ground.soil(), "rovers": (0..trucks).map(truck).collect::<Vec<_>>(),
    });
    format!("{told:#}")
}

fn said(process: Child) -> Result<Said, Failure> {
    let output = process.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    read(&text).filter(|_| output.status.success()).ok_or_else(|| format!("a simulation failed: {text}").into())
}

/// What the summary of a process says.
fn read(text: &str) -> Option<Said> {
    let first = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)?.split_whitespace().next());
    let factor: f64 = first("real-time factor")?.parse().ok()?;
    let told_bytes = first("told the others").and_then(|bytes| bytes.parse().ok());
    Some(Said { wall_over_simulated: 1.0 / factor, told_bytes })
}

/// A line for each world.
#[must_use]
pub fn csv(all: &[Scaled]) -> String {
    let mut text = String::from("soil,processes,wall_over_simulated,bytes_s_per_vehicle,share_of_gigabit_of_128\n");
    for of in all {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
        let (soil, bytes_s, share) = (of.ground.soil(), number(of.bytes_s), number(of.share_of_gigabit()));
        // A text takes all that is written to it, here and below.
        let _ = writeln!(text, "{soil},{},{:.6},{bytes_s},{share}", of.processes, of.wall_over_simulated);
    }
    text
}

/// The same for people.
#[must_use]
pub fn table(all: &[Scaled]) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text =
        format!("soil        processes  wall/simulated  kB/s a vehicle  of 1 Gbit/s with 128   ({cores} cores)\n");
    for of in all {
        let bytes_s = of.bytes_s.map_or_else(|| "-".to_owned(), |bytes_s| format!("{:.2}", bytes_s / 1e3));
        let share = of.share_of_gigabit().map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        let (soil, processes, wall) = (of.ground.soil(), of.processes, of.wall_over_simulated);
        let _ = writeln!(text, "{soil:<11} {processes:>9}  {wall:>14.3}  {bytes_s:>14}  {share:>21}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Ground, Scaled, csv, read, scenario};
    use selene_sim::{LoadOptions, Scenario};
    use std::path::Path;

    #[test]
    fn summaries_are_read() {
        let text = "  wall              2.000 s\n  real-time factor  2.500 (simulated over wall)\n  told the others   81234 B\n";
        let said = read(text).expect("read");
        assert_eq!((said.wall_over_simulated, said.told_bytes), (0.4, Some(81_234)));
        assert!(read("  wall 2 s\n").is_none());
    }

    #[test]
    fn the_scenario_has_a_truck_for_each_process() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").canonicalize().expect("there");
        let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
        let scenario = Scenario::parse(&scenario(Ground::Hard, 8), Path::new("x.yaml"), &options).expect("a scenario");
        assert_eq!(scenario.rovers.len(), 8);
        assert!(scenario.rovers.iter().all(|rover| rover.route.is_some()));
    }

    #[test]
    fn what_128_vehicles_send_is_what_one_tells_each_of_the_others() {
        let scaled = Scaled { ground: Ground::Hard, processes: 2, wall_over_simulated: 0.5, bytes_s: Some(1e5) };
        assert!((scaled.share_of_gigabit().expect("a share") - 127.0 * 1e5 / 125e6).abs() < 1e-12);
        assert!(csv(&[scaled]).contains("silt_hard,2,0.500000,100000.000000,0.101600"));
    }
}
