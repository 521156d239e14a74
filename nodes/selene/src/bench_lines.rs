//! What `selene bench` wants to know of a run in a process of its own, on standard output.

use std::sync::{Arc, Once};

use selene_bench::RunLine;
use selene_coherence::qos_of;
use selene_ros::sensor_msgs;
use selene_ros::transport::{Subscription, Transport, subscribe};
use selene_sim::Scenario;
use selene_simulation::Outcome;

use crate::fault::Fault;
use crate::output::print_line;

/// Tells of a run.
pub(crate) struct BenchLines {
    _subscriptions: Vec<Subscription>,
}

impl BenchLines {
    /// Tells the first image of any camera.
    pub(crate) fn open(transport: &dyn Transport, scenario: &Scenario) -> Result<Self, Fault> {
        let first = Arc::new(Once::new());
        let mut subscriptions = Vec::new();
        for rover in &scenario.rovers {
            for camera in rover.cameras() {
                let topic = rover.topic(&format!("{}/image_raw", camera.spec.name));
                let first = Arc::clone(&first);
                let on = move |_: sensor_msgs::Image| first.call_once(|| print_line(RunLine::FirstImage.text()));
                subscriptions.push(subscribe(transport, &topic, qos_of(camera.spec.qos), on).map_err(Fault::run)?);
            }
        }
        Ok(Self { _subscriptions: subscriptions })
    }

    /// Tells the run's end.
    pub(crate) fn end(&self, outcome: &Outcome) {
        print_line(RunLine::end((outcome.simulated - outcome.since).secs_f64(), outcome.wall_s).text());
    }
}
