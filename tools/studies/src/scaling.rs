//! Weak scaling of one world over processes (A. Young et al., Enabling Artificial Intelligence Studies in Off-Road
//! Mobility Through Physics-Based Simulation of Multiagent Scenarios, 2022, §4.1, figure 5): each additional process
//! simulates an additional truck, so the time of a run would stay constant if each process had its own machine. Nodes
//! are 5 cm apart, steps 2 ms; processes exchange their changes every 10 ms (the paper names no period). Trucks drive
//! side by side, whereas the paper's two lines cross.
//!
//! A process sends the same bytes to each other one, and decodes and merges what each other one sends. The data rate
//! and the time of this work among 128 vehicles are extrapolated from them; times are those of this machine, whose cores
//! all processes share.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use selene_base::SimTime;
use selene_base::output::{self, FileKind};
use selene_pictures::chart::{Chart, Line, Mark, Panel};
use serde_json::json;

use crate::Failure;

/// Distance between trucks, m, their speed, m/s, and the most that they drive, m.
const APART_M: f64 = 8.0;
const SPEED_M_S: f64 = 3.0;
const WAY_M: f64 = 90.0;
/// Period of the exchange, s.
const EXCHANGE_S: f64 = 0.01;
/// Number of vehicles and data rate of the network for the extrapolation.
const VEHICLES: f64 = 128.0;
const GIGABIT_BYTES_S: f64 = 125e6;
/// Wall time over simulated time in the paper's figure 5, for up to 27 processes on nine machines of their own.
const PAPER_RIGID: f64 = 0.6;
const PAPER_SOIL: f64 = 1.0;
const YAML: FileKind = FileKind { name: "scenario", is: |head| head.starts_with(b"{") };

/// The ground that trucks drive on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Rigid ground.
    Rigid,
    /// Hard soil by SCM.
    Hard,
}

impl Ground {
    /// Both kinds of ground.
    pub const ALL: [Self; 2] = [Self::Rigid, Self::Hard];

    /// Name of its soil.
    #[must_use]
    pub fn soil(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Hard => "silt_hard",
        }
    }
}

/// Settings for running worlds.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Path of the `selene` program.
    pub program: PathBuf,
    /// Folder for the scenarios.
    pub folder: PathBuf,
    /// Simulated time of a run.
    pub duration: SimTime,
}

/// Result of a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// The ground.
    pub ground: Ground,
    /// Number of processes, and of trucks.
    pub processes: usize,
    /// Wall time over simulated time of the slowest process: the paper's real-time factor.
    pub wall_over_simulated: f64,
    /// Data that a truck sends to each other process, B/s of simulated time, mean over trucks; `None` with one process.
    pub bytes_s: Option<f64>,
    /// Wall time in which a process encodes, decodes and merges the parts of a heartbeat, s, mean over processes;
    /// `None` with one process.
    pub exchange_s: Option<f64>,
}

impl Scaled {
    /// Fraction of 1 Gbit/s that one of 128 vehicles would send in real time, each on its own machine.
    #[must_use]
    pub fn share_of_gigabit(&self) -> Option<f64> {
        self.bytes_s.map(|bytes_s| (VEHICLES - 1.0) * bytes_s / GIGABIT_BYTES_S)
    }

    /// Fraction of a heartbeat that each of 128 processes would spend encoding, decoding and merging, if this work
    /// grows with the number of other processes.
    #[must_use]
    pub fn share_of_heartbeat(&self) -> Option<f64> {
        let others = self.processes.saturating_sub(1) as f64;
        self.exchange_s.map(|exchange_s| exchange_s / others * (VEHICLES - 1.0) / EXCHANGE_S)
    }
}

/// Figures in the summary of a process.
struct ProcessFigures {
    wall_over_simulated: f64,
    sent_bytes: Option<u64>,
    exchange_us: Option<f64>,
}

impl Scaling {
    /// Runs a world with this number of processes.
    ///
    /// # Errors
    /// When a process cannot be started, fails, or its summary lacks a figure.
    pub fn run(&self, ground: Ground, processes: usize) -> Result<Scaled, Failure> {
        let file = self.folder.join(format!("{}_{processes}.yaml", ground.soil()));
        output::write_bytes(&file, &YAML, scenario(ground, processes).as_bytes())?;
        let run = format!("scaling_{}_{}_{processes}", std::process::id(), ground.soil());
        let started: Vec<_> = (0..processes).map(|i| self.start(&file, &run, i, processes)).collect();
        let figures = started.into_iter().map(|process| figures(process?)).collect::<Result<Vec<_>, Failure>>()?;
        let reported: u64 = figures.iter().filter_map(|figures| figures.sent_bytes).sum();
        let exchange_us: f64 = figures.iter().filter_map(|figures| figures.exchange_us).sum();
        let tellings = (processes * processes.saturating_sub(1)) as f64 * self.duration.secs_f64();
        Ok(Scaled {
            ground,
            processes,
            wall_over_simulated: figures.iter().map(|figures| figures.wall_over_simulated).fold(0.0, f64::max),
            bytes_s: (processes > 1).then(|| reported as f64 / tellings),
            exchange_s: (processes > 1).then(|| 1e-6 * exchange_us / processes as f64),
        })
    }

    fn start(&self, file: &Path, run: &str, i: usize, processes: usize) -> Result<Child, Failure> {
        let mut command = Command::new(&self.program);
        command.arg("simulation").arg("--scenario").arg(file).args(["--pace", "fast", "--run", run, "--for"]);
        command.arg(self.duration.secs_f64().to_string());
        if processes > 1 {
            command.args(["--own", &name(i)]);
        }
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
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
    let reported = json!({
        "name": "scaling", "seed": 1, "gravity_m_s2": 9.81, "step_s": 0.002, "heartbeat_s": EXCHANGE_S,
        "site": "learning_plain", "soil": ground.soil(), "rovers": (0..trucks).map(truck).collect::<Vec<_>>(),
    });
    format!("{reported:#}")
}

fn figures(process: Child) -> Result<ProcessFigures, Failure> {
    let output = process.wait_with_output()?;
    let [text, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let failed = || format!("a simulation failed: {text}{errors}").into();
    read(&text).filter(|_| output.status.success()).ok_or_else(failed)
}

/// Reads the figures from the summary of a process.
fn read(text: &str) -> Option<ProcessFigures> {
    let first = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)?.split_whitespace().next());
    let factor: f64 = first("real-time factor")?.parse().ok()?;
    let sent_bytes = first("sent to others").and_then(|bytes| bytes.parse().ok());
    let exchange_us = first("exchange").and_then(|us| us.parse().ok());
    Some(ProcessFigures { wall_over_simulated: 1.0 / factor, sent_bytes, exchange_us })
}

/// Results as CSV, with a line for each world.
#[must_use]
pub fn csv(all: &[Scaled]) -> String {
    let mut text = String::from(
        "soil,processes,wall_over_simulated,bytes_s_per_vehicle,share_of_gigabit_of_128,exchange_s,share_of_heartbeat_of_128\n",
    );
    for of in all {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
        let known = [of.bytes_s, of.share_of_gigabit(), of.exchange_s, of.share_of_heartbeat()].map(number).join(",");
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{},{},{:.6},{known}", of.ground.soil(), of.processes, of.wall_over_simulated);
    }
    text
}

/// Results as a text table.
#[must_use]
pub fn table(all: &[Scaled]) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "soil        processes  wall/simulated  kB/s a vehicle  exchange, µs   with 128: of 1 Gbit/s  of a heartbeat   ({cores} cores)\n"
    );
    for of in all {
        let [bytes_s, exchange_us] = [of.bytes_s.map(|bytes_s| bytes_s / 1e3), of.exchange_s.map(|s| 1e6 * s)]
            .map(|value| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}")));
        let [network, heartbeat] = [of.share_of_gigabit(), of.share_of_heartbeat()]
            .map(|share| share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share)));
        let (soil, processes, wall) = (of.ground.soil(), of.processes, of.wall_over_simulated);
        let _ = writeln!(
            text,
            "{soil:<11} {processes:>9}  {wall:>14.3}  {bytes_s:>14}  {exchange_us:>12}  {network:>21}  {heartbeat:>14}"
        );
    }
    text
}

/// Wall time over simulated time by the number of processes beside what the paper reports, and the data that a truck
/// sends.
#[must_use]
pub fn chart(all: &[Scaled]) -> Chart {
    let line = |colour: usize, ground: Ground, of: &dyn Fn(&Scaled) -> Option<f64>| {
        let of_ground = all.iter().filter(|scaled| scaled.ground == ground);
        let points = of_ground.filter_map(|scaled| Some((scaled.processes as f64, of(scaled)?))).collect();
        Line { name: ground.soil().to_owned(), colour, mark: Mark::Line, points }
    };
    let of_both = |of: &dyn Fn(&Scaled) -> Option<f64>| -> Vec<Line> {
        Ground::ALL.iter().enumerate().map(|(colour, ground)| line(colour, *ground, of)).collect()
    };
    let mut times = of_both(&|scaled| Some(scaled.wall_over_simulated));
    let most = all.iter().map(|scaled| scaled.processes as f64).fold(1.0, f64::max);
    times.extend(
        [("rigid in the paper", PAPER_RIGID), ("soil in the paper, most", PAPER_SOIL)].into_iter().enumerate().map(
            |(i, (name, factor))| {
                let points = vec![(1.0, factor), (most, factor)];
                Line { name: name.to_owned(), colour: Ground::ALL.len() + i, mark: Mark::Dashes, points }
            },
        ),
    );
    let panel = |y: &str, lines| Panel { x: "processes, one truck each".to_owned(), y: y.to_owned(), lines };
    let panels = vec![
        panel("wall time over simulated time", times),
        panel("sent to each other truck, kB/s", of_both(&|scaled| scaled.bytes_s.map(|bytes_s| 1e-3 * bytes_s))),
    ];
    Chart { title: "One world in several processes of this machine".to_owned(), columns: 2, panels }
}

#[cfg(test)]
mod tests {
    use super::{Ground, Scaled, csv, read, scenario};
    use selene_sim::{LoadOptions, Scenario};
    use std::path::Path;

    #[test]
    fn summaries_are_read() {
        let text = "  wall              2.000 s\n  real-time factor  2.500 (simulated over wall)\n  sent to others    81234 B\n  exchange          12.5 µs a heartbeat, without waiting\n";
        let figures = read(text).expect("read");
        assert_eq!(
            (figures.wall_over_simulated, figures.sent_bytes, figures.exchange_us),
            (0.4, Some(81_234), Some(12.5))
        );
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
    fn what_128_vehicles_exchange_is_what_one_exchanges_with_each_of_the_others() {
        let (bytes_s, exchange_s) = (Some(1e5), Some(2e-5));
        let scaled = Scaled { ground: Ground::Hard, processes: 3, wall_over_simulated: 0.5, bytes_s, exchange_s };
        assert!((scaled.share_of_gigabit().expect("a share") - 127.0 * 1e5 / 125e6).abs() < 1e-12);
        // 10 µs for each of two others, of a heartbeat of 10 ms.
        assert!((scaled.share_of_heartbeat().expect("a share") - 127.0 * 1e-3).abs() < 1e-12);
        assert!(csv(&[scaled]).contains("silt_hard,3,0.500000,100000.000000,0.101600,0.000020,0.127000"));
    }
}
