//! What Selene says to ROS 2 and how: messages generated from `.msg` text, their
//! CDR bytes, quality of service, the [`transport::Transport`] port that moves
//! those bytes by topic, and its adapters (in-process, DDS, the machine's own
//! ROS 2, a bag).
//!
//! A message is encoded once; the wire, the bag and the neighbour in the same
//! process all get the same bytes.

pub mod bag;
pub mod cdr;
#[cfg(feature = "dds")]
pub mod dds;
pub mod fanout;
pub mod in_process;
pub mod message;
pub mod qos;
#[cfg(feature = "r2r")]
pub mod r2r;
pub mod transport;

pub use bag::BagRecorder;
pub use cdr::{CdrError, Encoded, decode, encode};
pub use message::{
    Message, ackermann_msgs, builtin_interfaces, diagnostic_msgs, geometry_msgs, grid_map_msgs, nav_msgs,
    rosgraph_msgs, selene_msgs, sensor_msgs, std_msgs, tf2_msgs, trajectory_msgs, vision_msgs,
};
pub use qos::{Qos, Topic};
