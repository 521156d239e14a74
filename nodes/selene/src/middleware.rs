//! How the process reaches other ROS 2 nodes: DDS of its own, or, where the
//! program was built with the feature `r2r`, the machine's own ROS 2.

use std::sync::Arc;

use selene_ros::transport::Transport;

use crate::fault::Fault;

/// Joins the ROS domain as node `node_name`.
#[cfg(all(feature = "dds", not(feature = "r2r")))]
pub(crate) fn open(domain_id: u16, node_name: &str) -> Result<Arc<dyn Transport>, Fault> {
    use selene_ros::dds::{Dds, DdsOptions};
    let options = DdsOptions { domain_id, node_name: node_name.to_owned(), namespace: "/".to_owned() };
    Ok(Arc::new(Dds::open(options).map_err(Fault::input)?))
}

/// Joins the ROS domain as node `node_name`. The machine's ROS 2 reads the domain
/// from the environment itself.
#[cfg(feature = "r2r")]
pub(crate) fn open(_domain_id: u16, node_name: &str) -> Result<Arc<dyn Transport>, Fault> {
    Ok(Arc::new(selene_ros::r2r::R2r::open(node_name, "").map_err(Fault::input)?))
}

/// Refuses: there is nothing to join with.
#[cfg(not(any(feature = "dds", feature = "r2r")))]
pub(crate) fn open(_domain_id: u16, _node_name: &str) -> Result<Arc<dyn Transport>, Fault> {
    Err(Fault::input("this program was built without DDS and without ROS 2: run it with --no-dds"))
}
