//! The lines printed before a run begins: what it runs, for how long, and where its output is.

use std::fmt::{self, Display, Formatter};

use selene_sim::{RoverSetup, Scenario};

use crate::args::{PaceArg, RunArgs};
use crate::places;

/// A run that is about to begin.
pub(crate) struct Announcement<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) args: &'a RunArgs,
    /// The device that traces its rays.
    pub(crate) tracer: &'a str,
    /// The ROS domain that it publishes on; `None` without DDS.
    pub(crate) domain: Option<u16>,
}

impl Display for Announcement<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { scenario, args, tracer, domain } = self;
        writeln!(
            f,
            "{}: {} at {} · tracing on: {tracer}",
            scenario.name,
            rovers(&scenario.rovers),
            scenario.site.name
        )?;
        writeln!(f, "  {} until {}", pace(args.pacing.pace), end(scenario, args))?;
        match domain {
            Some(domain) => writeln!(f, "  topics on ROS domain {domain}: see `ros2 topic list`")?,
            None => writeln!(f, "  no topics outside this process")?,
        }
        if let Some(bag) = &args.record {
            writeln!(f, "  recording to {}", places::whole(bag).display())?;
        }
        if args.no_pictures {
            write!(f, "  no pictures")
        } else {
            write!(f, "  pictures at the end in {}", places::whole(&args.out).display())
        }
    }
}

fn rovers(rovers: &[RoverSetup]) -> String {
    match rovers {
        [rover] => rover.model.spec().name.clone(),
        several => format!("{} rovers", several.len()),
    }
}

fn pace(pace: PaceArg) -> String {
    match pace {
        PaceArg::RealTime => "in real time".to_owned(),
        PaceArg::Fast => "as fast as it goes".to_owned(),
        PaceArg::Times(factor) => format!("{factor} times as fast as real time"),
    }
}

fn end(scenario: &Scenario, args: &RunArgs) -> String {
    match args.pacing.duration {
        Some(duration) => {
            let from = if args.checkpoints.resume.is_some() { " since the checkpoint" } else { "" };
            format!("{:.1} s have passed{from}, or Ctrl-C", duration.secs_f64())
        }
        None if scenario.rovers.iter().any(|rover| rover.route.is_some()) => "every route's end, or Ctrl-C".to_owned(),
        None => "Ctrl-C".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Announcement;
    use crate::args::{Command, CommandLine};
    use clap::Parser;
    use selene_sim::{LoadOptions, Scenario};
    use std::path::Path;

    #[test]
    fn a_run_says_what_it_does_until_when_and_where_to_look() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/polar.yaml");
        let scenario = Scenario::load(&file, &LoadOptions::default()).expect("a scenario");
        let reported = |words: &[&str], domain| {
            let typed = CommandLine::parse_from([&["selene", "run"][..], words].concat());
            let Some(Command::Run(args)) = typed.command else { panic!("a run") };
            Announcement { scenario: &scenario, args: &args, tracer: "CPU", domain }.to_string()
        };
        let usual = reported(&["--out", "/tmp/pictures"], Some(7));
        let lines = [
            "polar: viper at polar · tracing on: CPU",
            "  in real time until every route's end, or Ctrl-C",
            "  topics on ROS domain 7: see `ros2 topic list`",
            "  pictures at the end in /tmp/pictures",
        ];
        assert_eq!(usual.lines().collect::<Vec<_>>(), lines);
        let other = reported(&["--pace", "fast", "--for", "20", "--record", "bag"], None);
        for part in ["as fast as it goes until 20.0 s", "no topics outside", "recording to /"] {
            assert!(other.contains(part), "{part:?} is missing in: {other}");
        }
        let resumed = reported(&["--no-pictures", "--resume", "a.state", "--for", "12"], None);
        assert!(resumed.contains("12.0 s have passed since the checkpoint,") && resumed.ends_with("no pictures"));
    }
}
