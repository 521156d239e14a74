//! Prints lines for `selene bench`, which starts a run as a separate process and reads its standard output.

use std::sync::{Arc, Once};

use selene_bench::RunLine;
use selene_coherence::qos_of;
use selene_ros::transport::{Subscription, Transport, subscribe};
use selene_ros::{Qos, selene_msgs, sensor_msgs};
use selene_sim::{RoverSetup, Scenario};
use selene_simulation::RunOutcome;

use crate::args::RunArgs;
use crate::fault::Fault;
use crate::output::print_line;

/// Prints events of a run as lines; dropping it ends them.
pub(crate) struct BenchLines {
    _subscriptions: Vec<Subscription>,
}

impl BenchLines {
    /// Prints a line at the first image of any camera and, if the run has console control, lines with the wheel rates
    /// of the first rover.
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
            subscriptions.push(report_wheels(transport, rover)?);
        }
        Ok(Self { _subscriptions: subscriptions })
    }

    /// Prints the line of the run's end.
    pub(crate) fn end(&self, outcome: &RunOutcome) {
        print_line(RunLine::end((outcome.simulated - outcome.since).secs_f64(), outcome.wall_s).text());
    }
}

/// Prints the rate of a rover's fastest wheel at each message with its true wheel states.
fn report_wheels(transport: &dyn Transport, rover: &RoverSetup) -> Result<Subscription, Fault> {
    let on = |reported: selene_msgs::WheelStates| {
        let rates = reported.wheels.iter().map(|wheel| wheel.angular_velocity.abs());
        print_line(RunLine::Wheels { fastest_rad_s: rates.fold(0.0, f64::max) }.text());
    };
    subscribe(transport, &rover.topic("ground_truth/wheels"), Qos::reliable(), on).map_err(Fault::run)
}
