//! `selene conformance`: tests whether a running Selene, or a program that acts as one, keeps to docs/topics.md.

use std::time::Duration;

use selene_conformance::{CheckOptions, check};
use selene_ros::{Qos, Topic, std_msgs};

use crate::args::ConformanceArgs;
use crate::fault::Fault;
use crate::interrupt;
use crate::middleware::Network;
use crate::output::print_line;
use crate::remap::Names;
use crate::verbosity::Verbosity;

/// Name of the ROS node that subscribes.
const NODE: &str = "selene_conformance";

/// Runs the checks and prints their findings.
pub(crate) fn conformance(args: &ConformanceArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let rover = args.rover.as_deref().map(prefix).transpose()?;
    let duration = Duration::from_secs_f64(args.duration.secs_f64());
    let network = Network::requested(&args.network)?;
    let transport = network.join(&Names::plain(NODE))?;
    verbosity.note(format_args!("listening on ROS domain {} …", network.domain_id()));
    let findings = check(transport.as_ref(), &CheckOptions { duration, rover }, &stop).map_err(Fault::run)?;
    if args.json {
        print_line(serde_json::to_string_pretty(&findings).map_err(Fault::run)?);
    } else {
        findings.iter().for_each(print_line);
    }
    match findings.iter().filter(|finding| finding.is_failure()).count() {
        0 => Ok(()),
        failed => Err(Fault::run(format!("{failed} of {} checks failed", findings.len()))),
    }
}

/// The topic prefix of a namespace, such as `/viper`; empty for none.
fn prefix(namespace: &str) -> Result<String, Fault> {
    let bare = namespace.trim_matches('/');
    if bare.is_empty() {
        return Ok(String::new());
    }
    let topic = Topic::new::<std_msgs::String>(format!("/{bare}"), Qos::latched());
    topic.map(|topic| topic.name).map_err(|error| Fault::input(format!("--rover {namespace}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn a_namespace_may_have_its_slash_or_not() {
        for (typed, expected) in [("viper", "/viper"), ("/fleet/ex1/", "/fleet/ex1"), ("/", ""), ("", "")] {
            assert_eq!(prefix(typed).expect(typed), expected);
        }
        assert!(prefix("1 viper").is_err());
    }
}
