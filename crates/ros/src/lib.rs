//! Selene's interface to ROS 2: messages, services and actions generated from `.msg`, `.srv` and `.action` text, their
//! CDR bytes, quality of service, the trait [`transport::Transport`] that moves those bytes by topic and service, and
//! its adapters (in-process, DDS, the machine's own ROS 2, a bag, a deliberately impaired link for tests).
//!
//! A message is encoded once; the network, the bag and subscribers in the same process all get the same bytes.

pub mod action;
pub mod bag;
pub mod cdr;
#[cfg(feature = "dds")]
pub mod dds;
mod dropped;
pub mod fanout;
pub mod impaired;
pub mod in_process;
pub mod layer;
pub mod message;
mod own_address;
pub mod parameters;
pub mod qos;
#[cfg(feature = "r2r")]
pub mod r2r;
pub mod service;
pub mod stamp;
pub mod tap;
pub mod transport;
pub mod type_description;

pub use action::{Action, GoalHandle, serve_action};
pub use bag::BagRecorder;
pub use cdr::{CdrError, Encoded, decode, encode};
pub use message::{
    Message, ackermann_msgs, action_msgs, builtin_interfaces, diagnostic_msgs, geometry_msgs, grid_map_msgs, nav_msgs,
    radar_msgs, rcl_interfaces, rosgraph_msgs, selene_msgs, sensor_msgs, simulation_interfaces, std_msgs, std_srvs,
    tf2_msgs, trajectory_msgs, type_description_interfaces, unique_identifier_msgs, vision_msgs,
};
pub use own_address::own_address;
pub use qos::{Qos, Topic};
pub use service::{Client, Reply, Service, ServiceName, serve};
