//! What `selene bench` wants to know of a run in a process of its own, on standard output.

use std::sync::{Arc, Once};

use selene_bench::RunLine;
use selene_coherence::qos_of;
use selene_ros::transport::{Subscription, Transport, subscribe};
use selene_ros::{Qos, selene_msgs, sensor_msgs};
use selene_sim::{RoverSetup, Scenario};
use selene_simulation::Outcome;

use crate::args::RunArgs;
use crate::fault::Fault;
use crate::output::print_line;

/// Tells of a run.
pub(crate) struct BenchLines {
    _subscriptions: Vec<Subscription>,
}

impl BenchLines {
    /// Tells the first image of any camera and, of a run that the bench can drive, the wheels of the first rover.
    pub(crate) fn open(transport: &dyn Transport, scenario: &Scenario, args: &RunArgs) -> Result<Self, Fault> {
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
        if let Some(rover) = scenario.rovers.first().filter(|_| args.console.console_control) {
            subscriptions.push(tell_wheels(transport, rover)?);
        }
        Ok(Self { _subscriptions: subscriptions })
    }

    /// Tells the run's end.
    pub(crate) fn end(&self, outcome: &Outcome) {
        print_line(RunLine::end((outcome.simulated - outcome.since).secs_f64(), outcome.wall_s).text());
    }
}

/// Tells how fast the fastest wheel of a rover turns, each time that its truth is told.
fn tell_wheels(transport: &dyn Transport, rover: &RoverSetup) -> Result<Subscription, Fault> {
    let on = |told: selene_msgs::WheelStates| {
        let rates = told.wheels.iter().map(|wheel| wheel.angular_velocity.abs());
        print_line(RunLine::Wheels { fastest_rad_s: rates.fold(0.0, f64::max) }.text());
    };
    subscribe(transport, &rover.topic("ground_truth/wheels"), Qos::reliable(), on).map_err(Fault::run)
}
