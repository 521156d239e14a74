//! Driving commands from `cmd_vel`: TwistStamped, or Twist when asked for. They are
//! queued as they arrive and handed to the world between heartbeats.

use std::sync::mpsc::{Receiver, channel};

use selene_coherence::NodeError;
use selene_ros::transport::{Subscription, Transport, subscribe};
use selene_ros::{Qos, geometry_msgs};
use selene_sim::{Command, Scenario, World};

pub(crate) struct Commands {
    arrived: Receiver<Command>,
    _subscription: Subscription,
}

impl Commands {
    pub(crate) fn new(transport: &dyn Transport, scenario: &Scenario, unstamped: bool) -> Result<Self, NodeError> {
        let (sender, arrived) = channel();
        let topic = scenario.topic("cmd_vel");
        let queue = move |twist: &geometry_msgs::Twist| {
            // The queue closes with the node: nobody is then left to obey.
            let _ = sender.send(command(twist));
        };
        let subscription = if unstamped {
            subscribe(transport, &topic, Qos::reliable(), move |m: geometry_msgs::Twist| queue(&m))?
        } else {
            subscribe(transport, &topic, Qos::reliable(), move |m: geometry_msgs::TwistStamped| queue(&m.twist))?
        };
        Ok(Self { arrived, _subscription: subscription })
    }

    pub(crate) fn hand_to(&self, world: &mut World) {
        self.arrived.try_iter().for_each(|command| world.drive(command));
    }
}

fn command(twist: &geometry_msgs::Twist) -> Command {
    Command { forward_m_s: twist.linear.x, turn_rad_s: twist.angular.z }
}
